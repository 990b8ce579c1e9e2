"""The law of average precision with missing labels: exact where rows are few, else sampled."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from labelbayes._checks import FloatArray, check_choice
from labelbayes.laws.average_precision_mean import (
    average_precision_mean,
    some_positive_prob,
    step_starts,
)
from labelbayes.laws.missing_cells import Fits, MissingCells
from labelbayes.laws.precision_sums import PrecisionSums
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.metrics.ranking import RANKING_METRICS
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.count_law import merge_atoms
from labelbayes.results.distribution import DiscreteLaw, Law
from labelbayes.results.mixture import MixtureLaw
from labelbayes.results.sampled import SampledLaw, draws_text

REASON = RANKING_METRICS["average_precision"].undefined_when

#: How a law can be asked for. "exact" lists the law where it can and draws where it cannot.
KINDS = ("exact", "enumerated", "sampled", "gauss")

#: Most completions that the exact law visits.
MAX_COMPLETIONS = 1 << 16


class AveragePrecisionLaw(NamedTuple):
    """A law, and what kind it is in words.

    Attributes
    ----------
    law : Law
        The law given that some row is positive.
    method : str
        For the method of a result.
    """

    law: Law
    method: str


def average_precision_law(
    ranked: RankedRows,
    cells: MissingCells,
    fits: Fits,
    draw: Callable[[], FloatArray],
    *,
    kind: str = "exact",
) -> AveragePrecisionLaw:
    """Return the law of average precision, mixed over the fits of a belief.

    Parameters
    ----------
    ranked : RankedRows
        Rows by score.
    cells : MissingCells
        Their missing rows.
    fits : Fits
        Rates of the bins of these cells.
    draw : callable
        Returns draws of the metric from the same belief, nan where undefined; called only where
        the law is sampled.
    kind : {"exact", "enumerated", "sampled", "gauss"}, default "exact"
        "exact" visits every completion where there are at most 65,536 and else draws; the mean
        and the probability undefined are exact in any case. "gauss" is the matched normal, whose
        mean and sd are those of the delta method.

    Returns
    -------
    AveragePrecisionLaw
        The law given that some row is positive, and its kind in words.

    Raises
    ------
    ValueError
        If a law is to be enumerated that has more completions.

    Notes
    -----
    **Assumes** that missing labels are independent draws with these rates.

    References
    ----------
    .. [1] D. Dervovic and M. Cashmore, arXiv 2504.18385, 2025.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.imputation.impute import impute
    >>> from labelbayes.laws.missing_cells import cells_and_fits
    >>> evaluation = EvaluationSet([1, 0, None], [0.4, 0.9, 0.2])
    >>> ranked = RankedRows.from_evaluation(evaluation)
    >>> missing = cells_and_fits(ranked, evaluation, impute(evaluation, [1, 0, 0.25]))
    >>> law, method = average_precision_law(ranked, *missing, lambda: np.empty(0))
    >>> round(law.mean, 4), method
    (0.5208, 'exact law, all 2 completions')
    """
    check_choice("kind", kind, KINDS)
    law: Law
    if kind == "gauss":
        laws = tuple(_matched_normal(ranked, cells, fits.rates(i)) for i in range(fits.n_fits))
        law = laws[0] if len(laws) == 1 else MixtureLaw(laws)
        return AveragePrecisionLaw(law, "matched normal law")
    size = n_completions(cells)
    if kind != "sampled" and size <= MAX_COMPLETIONS:
        law = enumerate_law(ranked, cells, fits)
        return AveragePrecisionLaw(law, f"exact law, all {size:,.0f} completions")
    if kind == "enumerated":
        raise ValueError(
            f"`kind` must serve these rows; 'enumerated' would visit {size:.3g} completions, "
            f"more than {MAX_COMPLETIONS:,}. Use 'exact', which draws where it must."
        )
    mean, defined = average_precision_mean(ranked, cells, fits)
    if defined == 0.0:
        law = DiscreteLaw(np.empty(0), np.empty(0), 1.0, REASON)
        return AveragePrecisionLaw(law, "exact law")
    values = draw()
    law = SampledLaw(
        values,
        REASON if defined < 1.0 or np.isnan(values).any() else "",
        known_mean=mean,
        known_undefined_prob=1.0 - defined,
    )
    return AveragePrecisionLaw(law, f"exact mean; {draws_text(len(values))}")


def _matched_normal(ranked: RankedRows, cells: MissingCells, rates: FloatArray) -> NormalLaw:
    """Return the normal law with the moments of the delta method for S / N."""
    metric = RANKING_METRICS["average_precision"]
    sums = PrecisionSums.from_cells(ranked, cells)
    p, count = rates[cells.bin], cells.count.astype(np.float64)
    inverse = sums.inverse_rows
    defined = some_positive_prob(sums.n_known_positive, p, count)
    reason = REASON if defined < 1.0 else ""
    mean_count = sums.n_known_positive + float(count @ p)
    if mean_count == 0.0:
        return NormalLaw(undefined_prob=1.0, undefined_reason=REASON)
    v, starts = p * (1.0 - p), step_starts(cells.step)
    size = np.diff(np.append(starts, len(p)))
    at_step, spread, squares = (
        np.add.reduceat(count * column, starts) if len(starts) else np.zeros(0)
        for column in (p, v, v**2)
    )
    r = inverse[starts]
    above = np.cumsum(at_step) - at_step
    below = np.cumsum((at_step * r)[::-1])[::-1] - at_step * r
    mean_sum = (
        sums.constant
        + sums.slope @ (count * p)
        + (at_step * r) @ (above + at_step)
        + inverse @ (count * v)
    )
    # S is a quadratic form; a positive row meets those above, below, and twice those beside it.
    slope = sums.slope + np.repeat(r * (1.0 + above + 2.0 * at_step) + below, size)
    slope = slope - 2.0 * inverse * p
    pairs = r**2 @ (spread * (np.cumsum(spread) - spread) + 2.0 * (spread**2 - squares))
    weight = count * v
    mean = mean_sum / mean_count
    variance = weight @ slope**2 + pairs - 2.0 * mean * (weight @ slope) + mean**2 * weight.sum()
    sd = math.sqrt(max(0.0, float(variance))) / mean_count
    return NormalLaw(float(mean), sd, metric.lowest, metric.highest, 1.0 - defined, reason)


def n_completions(cells: MissingCells) -> float:
    """Return how many completions an exact law has to visit.

    Parameters
    ----------
    cells : MissingCells
        Missing rows; those of one cell are interchangeable.

    Returns
    -------
    float
        Product of (rows + 1) over the cells; inf where it is beyond all measure.
    """
    logarithm = float(np.log1p(cells.count.astype(np.float64)).sum())
    return math.inf if logarithm > 60.0 else math.prod(int(c) + 1 for c in cells.count)


def enumerate_law(ranked: RankedRows, cells: MissingCells, fits: Fits) -> DiscreteLaw:
    """Return the exact law of average precision by visiting every completion.

    Parameters
    ----------
    ranked : RankedRows
        Rows by score.
    cells : MissingCells
        Their missing rows: at most `MAX_COMPLETIONS` completions (`n_completions`).
    fits : Fits
        Rates of the cells; the law is the mixture over them.

    Returns
    -------
    DiscreteLaw
        Values and probabilities given that some row is positive.
    """
    sizes = cells.count + 1
    total = int(np.prod(sizes))
    number, positives = np.arange(total), np.empty((len(sizes), total), dtype=np.int64)
    for k, size in enumerate(sizes):
        number, positives[k] = np.divmod(number, size)
    sums = PrecisionSums.from_cells(ranked, cells)
    starts = step_starts(cells.step)
    at_step = np.add.reduceat(positives, starts, axis=0) if len(starts) else positives
    pairs = sums.inverse_rows[starts] @ (at_step * np.cumsum(at_step, axis=0))
    n_positive = sums.n_known_positive + positives.sum(axis=0)
    is_defined = n_positive > 0
    value = (sums.constant + sums.slope @ positives + pairs) / np.maximum(n_positive, 1)
    mass = np.zeros(total)
    count = cells.count[:, np.newaxis]
    choices = gammaln(count + 1) - gammaln(positives + 1) - gammaln(count - positives + 1)
    for i in range(fits.n_fits):
        p = fits.rates(i)[cells.bin][:, np.newaxis]
        logs = choices + xlogy(positives, p) + xlog1py(count - positives, -p)
        mass += np.exp(logs.sum(axis=0)) / fits.n_fits
    undefined = float(mass[~is_defined].sum())
    reason = REASON if undefined > 0 else ""
    support, pmf = merge_atoms(np.minimum(value[is_defined], 1.0), mass[is_defined])
    if not len(support):
        return DiscreteLaw(np.empty(0), np.empty(0), 1.0, REASON)
    return DiscreteLaw(support, pmf / pmf.sum(), undefined, reason)
