"""Worst-case bounds of ranking metrics: every completion of the missing labels lies inside."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from labelbayes._checks import FloatArray, IntArray
from labelbayes.bounds.imbens_manski import cover_bounds
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.metrics.ranking import RankingMetric
from labelbayes.results.interval import Interval

#: Stands beside bounds of average precision that are not attained.
OUTER = (
    "The bounds of average_precision hold for every completion of the missing labels, but with "
    "tied scores none need reach them."
)

#: Missing rows that are looked at one by one; of more, tied ones are taken in blocks.
MOST_BLOCKS = 1 << 21

#: A bound, and how many missing rows are positive there.
_End = tuple[float, int]


class RankingBounds(NamedTuple):
    """Bounds of a ranking metric over the completions that define it.

    Attributes
    ----------
    interval : Interval
        Bare bounds; nan where no completion defines the metric.
    some_undefined : bool
        Whether some completion leaves the metric undefined.
    is_attained : bool
        Whether completions exist that reach both ends.
    at_low, at_high : int
        Missing rows that are positive in the completion at (or, where not attained, next to) each
        end: the lowest ranked ones at the low end, the highest ranked ones at the high end.
    """

    interval: Interval
    some_undefined: bool
    is_attained: bool
    at_low: int
    at_high: int


class _Steps(NamedTuple):
    """Steps of the ranking from one end to the other."""

    known_positive: IntArray
    missing: IntArray
    midrank: FloatArray
    n: int


def bound_ranking(metric: RankingMetric, ranked: RankedRows) -> RankingBounds:
    r"""Return the smallest and largest value of a ranking metric over all completions.

    Parameters
    ----------
    metric : RankingMetric
        One of `RANKING_METRICS`.
    ranked : RankedRows
        Rows by score.

    Returns
    -------
    RankingBounds
        The bounds, and whether they are attained.

    Raises
    ------
    ValueError
        If the metric is another one.

    Notes
    -----
    **Assumes** nothing about the missing labels.

    *Area under the ROC curve.* With k missing positives it is linear in their ranks, so it is
    largest when they are the k highest ranked rows and smallest when they are the k lowest; the
    best k follows from a quadratic in every step. The bounds are attained.

    *Average precision.* S of `labelbayes.laws.precision_sums` is the sum over missing positives
    i = 1, 2, ... in rank order of :math:`\hat g_s + i / r_s`, which only falls with the step s,
    plus :math:`\sum_s X_s (\kappa_s + (X_s - 1) / 2) / r_s` with :math:`\kappa_s` known positives
    and :math:`X_s` missing ones at step s: what tied positives gain from each other. The first
    part is largest (smallest) for the highest (lowest) ranked k rows, the second is bounded for
    each k by itself: from above by its concave envelope, from below exactly, one row at a time.
    Beyond two million missing rows tied ones go in blocks, which are bounded by their ends.
    Where no missing row is tied with a possible positive the second part is 0 and the bounds are
    attained; with ties they are outer bounds that need not be.

    References
    ----------
    .. [1] C. F. Manski, "Nonparametric bounds on treatment effects", American Economic Review
       80(2), 319-323, 1990.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.metrics.ranking import RANKING_METRICS
    >>> ranked = RankedRows.from_evaluation(EvaluationSet([1, None, 0], [0.9, 0.5, 0.2]))
    >>> print(bound_ranking(RANKING_METRICS["roc_auc"], ranked).interval)
    [1.000, 1.000] (bounds)
    """
    missing = ranked.step_count - ranked.known_positive - ranked.known_negative
    n_missing, n_known = ranked.n_missing, ranked.n_known_positive
    some_undefined = n_known == 0
    if metric.name == "roc_auc":
        some_undefined = some_undefined or n_known + n_missing == ranked.n
        steps = _Steps(ranked.known_positive, missing, ranked.midrank, ranked.n)
        high, at_high = _largest_area(steps)
        mirrored = _Steps(
            ranked.known_positive[::-1],
            missing[::-1],
            ranked.n - 1 - ranked.midrank[::-1],
            ranked.n,
        )
        largest_mirrored, at_low = _largest_area(mirrored)
        low, is_attained = 1.0 - largest_mirrored, True
    elif metric.name == "average_precision":
        (low, at_low), (high, at_high) = _bound_precision(ranked, missing)
        held = missing > 0
        is_attained = bool(((ranked.known_positive + missing)[held] == 1).all())
    else:
        raise ValueError(
            f"`metric` must be 'roc_auc' or 'average_precision'; got {metric.name!r}, of which "
            "no bounds are known."
        )
    interval = Interval(low, high, math.nan, "bounds")
    return RankingBounds(interval, some_undefined, is_attained, at_low, at_high)


def _largest_area(steps: _Steps) -> _End:
    """Return the largest area, and how many of the first missing rows are positive there."""
    used = np.flatnonzero(steps.missing)
    count, a = steps.missing[used], steps.midrank[used]
    before = np.concatenate([[0], np.cumsum(count)])
    rank_sum = float(steps.midrank @ steps.known_positive)
    sums = rank_sum + np.concatenate([[0.0], np.cumsum(a * count)])
    n, n_known = float(steps.n), float(steps.known_positive.sum())
    inner, k = _stationary(count, a, sums[:-1] - a * (n_known + before[:-1]), before, n, n_known)
    last = len(used) - 1
    # One positive and one negative are the least that define the area.
    ends = ([0, last], [1.0, float(before[-1]) - 1.0]) if len(used) else ([], [])
    place = np.concatenate([np.arange(len(used)), inner, ends[0], [last]]).astype(np.int64)
    every_k = np.concatenate([before[:-1], k, ends[1], before[-1:]])
    if not len(used):
        place, a, count = np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1, dtype=np.int64)
    extra = a[place] * (every_k - before[place])
    total = n_known + every_k
    pairs = sums[place] + extra - total * (total - 1.0) / 2.0
    below = total * (n - total)
    if not (below > 0).any():
        return math.nan, 0
    area = np.where(below > 0, pairs / np.where(below > 0, below, 1.0), -np.inf)
    best = int(np.argmax(area))
    return float(area[best]), int(every_k[best])


def _stationary(
    count: IntArray, a: FloatArray, line: FloatArray, before: IntArray, n: float, n_known: float
) -> tuple[IntArray, FloatArray]:
    """Return the whole k around stationary points of the area inside steps, and their steps.

    Inside a step the rank sum is line + a N, and the area is stationary where
    (a + 1/2 - n/2) N^2 + 2 line N - line n = 0. A step of one row has no inside.
    """
    wide = np.flatnonzero(count > 1)
    line, square = line[wide], a[wide] + 0.5 - n / 2.0
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(line**2 + square * line * n)
        # Both roots without cancellation, also where the quadratic is a line.
        shifted = -(line + np.copysign(root, line))
        k = np.concatenate([shifted / square, -line * n / shifted]) - n_known
    inner, k = np.tile(wide, 4), np.concatenate([np.floor(k), np.ceil(k)])
    inside = (k >= before[inner]) & (k <= before[inner + 1])
    return inner[inside], k[inside]


def _bound_precision(ranked: RankedRows, missing: IntArray) -> tuple[_End, _End]:
    """Return lower and upper bound of average precision, and the k at which they are."""
    inverse = 1.0 / np.cumsum(ranked.step_count)
    known = ranked.known_positive.astype(np.float64)
    share = known * inverse
    above = np.cumsum(known)
    constant = float(share @ above)
    # g without what a missing positive gains from known ones at its own step.
    slope = above * inverse + np.cumsum(share[::-1])[::-1] - share
    step, width, within = _blocks(missing)
    k, from_end = _sums(width), _sums(width[::-1])
    # Rows of a block are numbers i + 1 to j of all, which add (i + 1 + ... + j) / r.
    added = slope[step] * width + inverse[step] * width * (k[:-1] + k[1:] + 1.0) / 2.0
    highest = _sums(added)
    # The lowest k rows: the j-th of all is number j - (m - k) among them.
    lowest = _sums(added[::-1]) - (k[-1] - from_end) * _sums((inverse[step] * width)[::-1])
    used = missing > 0
    count, kappa, r = missing[used], known[used], inverse[used]
    most = (kappa + (count - 1) / 2.0) * r
    order = np.argsort(-most)
    ends = np.concatenate([[0.0], np.cumsum(count[order])])
    gained = np.concatenate([[0.0], np.cumsum((most * count)[order])])
    at_most = np.interp(k, ends, gained)
    # No row of a block gains less than its first.
    gain = (known[step] + within) * inverse[step]
    order = np.argsort(gain)
    at_least = np.interp(from_end, _sums(width[order]), _sums((gain * width)[order]))
    n_known = ranked.n_known_positive
    if n_known + k[-1] == 0:
        return (math.nan, 0), (math.nan, 0)
    # Both sums rise with k: inside a block the value lies beyond neither quotient.
    below_low = n_known + np.append(from_end[1:] - 1.0, from_end[-1])
    below_high = n_known + np.append(0.0, k[:-1] + 1.0)
    low = np.where(below_low > 0, (constant + lowest + at_least) / np.maximum(below_low, 1), np.inf)
    high = np.where(below_high > 0, (constant + highest + at_most) / np.maximum(below_high, 1), 0.0)
    at_low, at_high = int(np.argmin(low)), int(np.argmax(high))
    return (
        (max(0.0, float(low[at_low])), int(from_end[at_low])),
        (min(1.0, float(high[at_high])), int(k[at_high])),
    )


def _sums(values: FloatArray) -> FloatArray:
    """Return 0 and the cumulative sums."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _blocks(missing: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return step, rows, and rows of the step before it, of each block of missing rows."""
    size = max(1, -(-int(missing.sum()) // MOST_BLOCKS))
    n_blocks = -(-missing // size)
    step = np.repeat(np.arange(len(missing)), n_blocks)
    first = np.cumsum(n_blocks) - n_blocks
    within = size * (np.arange(len(step)) - first[step])
    width = np.minimum(missing[step] - within, size)
    return step, width.astype(np.float64), within.astype(np.float64)


def cover_ranking(
    metric: RankingMetric, ranked: RankedRows, bounds: RankingBounds, ci_prob: float
) -> Interval:
    r"""Return an Imbens-Manski interval for the metric of rows drawn like these.

    Parameters
    ----------
    metric : RankingMetric
        One of `RANKING_METRICS`.
    ranked : RankedRows
        Rows by score.
    bounds : RankingBounds
        From `bound_ranking`.
    ci_prob : float
        Coverage, in (0, 1).

    Returns
    -------
    Interval
        Of kind "confidence".

    Notes
    -----
    **Assumes** independent rows. Either end is an extremum over the number k of missing
    positives. At an extremum the end does not move with k to first order, so its error is that of
    the metric with the labels completed there: :math:`\sum_i \psi_i^2` with :math:`\psi_i` the
    derivative with respect to the weight of row i. Where the bounds of average precision are not
    attained, the completion next to them stands in.

    References
    ----------
    .. [1] G. W. Imbens and C. F. Manski, "Confidence intervals for partially identified
       parameters", Econometrica 72(6), 1845-1857, 2004.
    """
    missing = ranked.step_count - ranked.known_positive - ranked.known_negative
    ends = np.cumsum(missing)
    from_top = np.clip(bounds.at_high - (ends - missing), 0, missing)
    from_bottom = np.clip(bounds.at_low - (ends[-1] - ends), 0, missing)
    errors = []
    for extra in (from_bottom, from_top):
        positive = (ranked.known_positive + extra).astype(np.float64)
        errors.append(standard_error(metric, positive, ranked.step_count - positive))
    return cover_bounds(
        bounds.interval,
        *errors,
        ci_prob=ci_prob,
        lowest=metric.lowest,
        highest=metric.highest,
    )


def standard_error(metric: RankingMetric, positive: FloatArray, negative: FloatArray) -> float:
    """Return the standard error of a ranking metric of rows drawn like these.

    Parameters
    ----------
    metric : RankingMetric
        One of `RANKING_METRICS`.
    positive, negative : ndarray of float, shape (n_steps,)
        Rows at each distinct score, highest score first.

    Returns
    -------
    float
        By the delta method on the weights of rows; nan where the metric is undefined.
    """
    value = float(metric.value(positive, negative))
    if math.isnan(value):
        return math.nan
    above, total = np.cumsum(positive), float(positive.sum())
    if metric.name == "roc_auc":
        n_negative = float(negative.sum())
        outranked = n_negative - np.cumsum(negative) + negative / 2.0
        of_positive = (outranked / n_negative - value) / total
        of_negative = ((above - positive / 2.0) / total - value) / n_negative
    else:
        rows = np.cumsum(positive + negative)
        share = positive / rows
        to_end = np.cumsum(share[::-1])[::-1]
        lost = np.cumsum((share * above / rows)[::-1])[::-1]
        of_positive = (above / rows + to_end - lost - value) / total
        of_negative = -lost / total
    return math.sqrt(float(positive @ of_positive**2 + negative @ of_negative**2))
