"""PEMI-Gauss: the normal law with the mean and variance of a ratio of label sums."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from labelbayes.data.evaluation_set import Counts
from labelbayes.laws.missing_counts import CountPair
from labelbayes.metrics.confusion import CountMetric, RatioMetric
from labelbayes.results.continuous import NormalLaw, RatioLaw
from labelbayes.results.count_law import CountLaw
from labelbayes.results.distribution import Law
from labelbayes.results.mixture import MixtureLaw

#: A standard deviation below this share of a metric's range is round-off of its slope.
ROUND_OFF = 8 * math.ulp(1.0)


def _mean_cells(known: Counts, pair: CountPair) -> list[float]:
    """Return the expected tp, fp, fn, tn."""
    u, v = pair
    return [
        known.tp + u.mean,
        known.fp + (u.n - u.mean),
        known.fn + v.mean,
        known.tn + (v.n - v.mean),
    ]


def normal_law(metric: CountMetric, known: Counts, pair: CountPair) -> NormalLaw:
    """Return the matched normal law of a metric: value and slope at the expected cells.

    Parameters
    ----------
    metric : CountMetric
        Any count metric; for a ratio of weighted label sums this is the published PEMI-Gauss.
    known : Counts
        Confusion matrix of the labeled rows.
    pair : tuple of IntegerLaw
        Laws of U and V; only their means and variances enter.

    Returns
    -------
    NormalLaw
        Undefined where the metric is undefined at the expected cells.

    References
    ----------
    .. [1] D. Dervovic and M. Cashmore, arXiv 2504.18385, 2025, Algorithm 2.
    """
    cells = _mean_cells(known, pair)
    u, v = pair
    # How often the metric is undefined is known exactly, whatever stands in for its law.
    exact = CountLaw(metric, (known.tp, known.fp, known.fn, known.tn), u, v)
    lost, reason = exact.undefined_prob, exact.undefined_reason
    mean = float(metric(*cells))
    if math.isnan(mean) or exact.is_undefined:
        return NormalLaw(undefined_prob=1.0, undefined_reason=metric.undefined_when)
    by_tp, by_fp, by_fn, by_tn = metric.gradient(cells)
    variance = (by_tp - by_fp) ** 2 * u.variance + (by_fn - by_tn) ** 2 * v.variance
    sd = math.sqrt(variance)
    if sd < ROUND_OFF * (metric.highest - metric.lowest):
        sd = 0.0  # TN / (TN + 0) is 1, and its slope 0, up to round-off
    return NormalLaw(mean, sd, metric.lowest, metric.highest, lost, reason)


def gaussian_law(metric: CountMetric, known: Counts, pairs: Sequence[CountPair]) -> Law:
    """Return the matched normal law, mixed over the pairs.

    Parameters
    ----------
    metric : CountMetric
        The metric.
    known : Counts
        Confusion matrix of the labeled rows.
    pairs : sequence of tuple of IntegerLaw
        Laws of U and V, one pair for each way the belief could have come out.

    Returns
    -------
    NormalLaw or MixtureLaw
        A normal law for one pair, a mixture for several.
    """
    laws = tuple(normal_law(metric, known, pair) for pair in pairs)
    return laws[0] if len(laws) == 1 else MixtureLaw(laws)


def fieller_law(metric: RatioMetric, known: Counts, pair: CountPair) -> RatioLaw:
    """Return the law of the metric as a ratio of two correlated normals.

    Parameters
    ----------
    metric : RatioMetric
        A weighted sum of the cells over another.
    known : Counts
        Confusion matrix of the labeled rows.
    pair : tuple of IntegerLaw
        Laws of U and V; only their means and variances enter.

    Returns
    -------
    RatioLaw
        Fieller's law.
    """
    cells = _mean_cells(known, pair)
    numerator, denominator = np.array(metric.numerator), np.array(metric.denominator)
    variances = np.array([pair[0].variance, pair[1].variance])
    # One more positive moves a row from fp to tp (first), or from tn to fn (second).
    top = np.array([numerator[0] - numerator[1], numerator[2] - numerator[3]])
    bottom = np.array([denominator[0] - denominator[1], denominator[2] - denominator[3]])
    return RatioLaw(
        float(numerator @ cells),
        float(denominator @ cells),
        float(top**2 @ variances),
        float(bottom**2 @ variances),
        float((top * bottom) @ variances),
        metric.lowest,
        metric.highest,
    )
