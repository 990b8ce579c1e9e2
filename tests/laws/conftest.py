"""Laws by enumeration of every completion, and what differs between two laws."""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from labelbayes.metrics.confusion import CountMetric
from labelbayes.results.protocol import MetricDistribution

LEVELS = (0.025, 0.1, 0.5, 0.9, 0.975)


class Listed(NamedTuple):
    """A law as a list: probability undefined, values given "defined", their probabilities."""

    undefined_prob: float
    support: npt.NDArray[np.float64]
    pmf: npt.NDArray[np.float64]


Enumerate = Callable[[CountMetric, Sequence[float], Sequence[int], Sequence[float]], Listed]
Compare = Callable[..., list[str]]


def _enumerate(
    metric: CountMetric, y_true: Sequence[float], y_pred: Sequence[int], p: Sequence[float]
) -> Listed:
    y, z, q = (np.asarray(values, dtype=float) for values in (y_true, y_pred, p))
    missing = np.flatnonzero(np.isnan(y))
    labels = np.array(list(itertools.product([0.0, 1.0], repeat=len(missing)))).reshape(
        2 ** len(missing), len(missing)
    )
    weights = np.where(labels == 1.0, q[missing], 1.0 - q[missing]).prod(axis=1)
    completed = np.tile(y, (len(labels), 1))
    completed[:, missing] = labels
    cells = [
        ((completed == label) & (z == decision)).sum(axis=1)
        for label, decision in [(1, 1), (0, 1), (1, 0), (0, 0)]
    ]
    values = metric(*cells)
    defined = ~np.isnan(values)
    undefined_prob = float(weights[~defined].sum())
    support = np.unique(values[defined & (weights > 0)].round(12))
    pmf = np.array([weights[defined & (abs(values - x) < 1e-10)].sum() for x in support])
    return Listed(undefined_prob, support, pmf / max(pmf.sum(), 1e-300))


def _compare(law: MetricDistribution, listed: Listed, tolerance: float = 1e-12) -> list[str]:
    found = []

    def check(what: str, got: npt.ArrayLike, wanted: npt.ArrayLike) -> None:
        if not np.allclose(got, wanted, rtol=0, atol=tolerance, equal_nan=True):
            found.append(f"{what}: {got} for {wanted}")

    check("undefined_prob", law.undefined_prob, listed.undefined_prob)
    x, pmf = listed.support, listed.pmf
    if not len(x):
        check("mean", law.mean, np.nan)
        check("sd", law.sd, np.nan)
        check("cdf", law.cdf([0.0, 0.5]), [np.nan, np.nan])
        check("quantile", law.quantile(LEVELS), np.full(len(LEVELS), np.nan))
        return found
    mean = float(x @ pmf)
    check("mean", law.mean, mean)
    sd = float(np.sqrt((x - mean) ** 2 @ pmf))
    # A point has spread 0 in exact numbers, and the root of a rounding error in floats.
    check("sd", law.sd, sd if len(x) > 1 else 0.0)
    cumulative = np.cumsum(pmf)
    # The support is rounded to 1e-12, so it is approached from either side.
    check("cdf at atoms", law.cdf(x + 1e-11), cumulative)
    check("cdf below atoms", law.cdf(x - 1e-11), cumulative - pmf)
    check("prob_at_least", [law.prob_at_least(t - 1e-11) for t in x], 1 - cumulative + pmf)
    for q in LEVELS:
        if abs(cumulative - q).min() > 1e-9:  # else round-off may step an atom
            wanted = x[np.argmax(cumulative >= q)]
            if abs(float(law.quantile(q)) - wanted) > 1e-11:
                found.append(f"quantile {q}: {law.quantile(q)} for {wanted}")
    return found


@pytest.fixture(scope="session")
def enumerate_law() -> Enumerate:
    """Return ``enumerate_law(metric, y_true, y_pred, p)``: all 2^m completions."""
    return _enumerate


@pytest.fixture(scope="session")
def law_faults() -> Compare:
    """Return ``law_faults(law, listed, tolerance=1e-12)``: what differs, as sentences."""
    return _compare
