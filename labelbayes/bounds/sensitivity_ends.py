"""The two ends of a bound under an odds ratio, in the range of the metric, for a population too."""

from __future__ import annotations

import math

import numpy as np

from labelbayes._checks import BoolArray, FloatArray
from labelbayes.bounds.imbens_manski import cover_bounds
from labelbayes.bounds.odds_limits import Limits, limit_slopes, rank_cut
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import Metric
from labelbayes.results.interval import Interval
from labelbayes.weighting.rows import WeightedRows
from labelbayes.weighting.score_law import EndLaw
from labelbayes.weighting.scores import END_WIDTH, Masses, Scored, score_metric
from labelbayes.weighting.standard_errors import standard_error


def model_end(
    metric: Metric,
    is_upper: bool,
    evaluation: EvaluationSet,
    rows: WeightedRows,
    m: FloatArray,
    limits: Limits,
    largest: float,
) -> Scored:
    """Return one end by the outcome model, its errors on labeled rows corrected by weights.

    Parameters
    ----------
    metric : CountMetric or RankingMetric
        What is bounded.
    is_upper : bool
        Whether the upper end is meant.
    evaluation : EvaluationSet
        The rows that are kept.
    rows : WeightedRows
        Their weights; 1 where no propensity is given.
    m : ndarray of float, shape (n_kept,)
        Outcome model.
    limits : Limits
        Smallest and largest P(y = 1) of missing rows.
    largest : float >= 1
        Largest odds ratio.

    Returns
    -------
    Scored
        The end and its influence.
    """
    if isinstance(metric, CountMetric):
        takes_high = (evaluation.y_pred == 1) == is_upper
    else:
        takes_high = rank_cut(evaluation, limits, is_upper=is_upper)
    missing = np.where(takes_high, limits.high, limits.low)
    slope = limit_slopes(m, largest, takes_high)
    # Where no propensity is given the weights are 1, and nothing is corrected.
    seen = evaluation.y_true + (rows.weight - 1) * slope * (evaluation.y_true - m)
    positive = np.where(rows.is_labeled, seen, missing)
    return score_metric(metric, evaluation, Masses(positive, 1.0 - positive), rows)


def hajek_end(
    metric: Metric, is_upper: bool, evaluation: EvaluationSet, rows: WeightedRows, largest: float
) -> Scored:
    """Return one extreme of the Hajek estimate: right rows at one end of their weight, wrong not.

    Parameters
    ----------
    metric : CountMetric
        What is bounded.
    is_upper : bool
        Whether the upper end is meant.
    evaluation : EvaluationSet
        The rows that are kept.
    rows : WeightedRows
        Their weights.
    largest : float >= 1
        Largest odds ratio.

    Returns
    -------
    Scored
        The end and its influence.
    """
    is_right = evaluation.y_true == evaluation.y_pred
    factor = np.where(is_right == is_upper, largest, 1 / largest)
    weight = _moved_weights(rows, factor, rows.is_labeled)
    positive = np.where(evaluation.y_true == 1, weight, 0.0)
    return score_metric(metric, evaluation, Masses(positive, weight - positive), rows)


def _moved_weights(rows: WeightedRows, factor: FloatArray, is_labeled: BoolArray) -> FloatArray:
    return np.where(is_labeled, 1 + (rows.weight - 1) * factor, 0.0)


def range_notes(metric: Metric, low: float, high: float) -> list[str]:
    """Return what to say of bounds that left the range of the metric.

    Parameters
    ----------
    metric : CountMetric or RankingMetric
        What is bounded.
    low, high : float
        Bounds, not yet cut.

    Returns
    -------
    list of str
        A sentence; none where they are inside.
    """
    if not (low < metric.lowest - END_WIDTH or high > metric.highest + END_WIDTH):
        return []
    said = (
        f"The bounds of {metric.name}, {low:.4g} to {high:.4g}, leave [{metric.lowest:g}, "
        f"{metric.highest:g}]: the correction by weights took them there. They are cut at the "
        "range."
    )
    return [said]


def cover_ends(
    span: Interval, ends: tuple[Scored, Scored], rows: WeightedRows, metric: Metric, share: float
) -> Interval:
    """Return an Imbens-Manski interval; an end without spread reaches as far as a score test.

    Parameters
    ----------
    span : Interval
        Bounds, inside the range of the metric.
    ends : tuple of Scored
        Both with their influence.
    rows : WeightedRows
        Weights.
    metric : CountMetric or RankingMetric
        What is bounded.
    share : float
        Coverage.

    Returns
    -------
    Interval
        Of kind "confidence".
    """
    errors = [standard_error(end, rows, "population") for end in ends]
    found = cover_bounds(span, *errors, ci_prob=share, lowest=metric.lowest, highest=metric.highest)
    reach = []
    for end, at in zip(ends, (metric.highest, metric.lowest), strict=True):
        known = rows.ess if math.isnan(end.n_effective) else end.n_effective
        reach.append(EndLaw(at, known, 1.0, metric.lowest, metric.highest).interval(share))
    low, high = found.low, found.high
    # Where all labels agree the influence is 0 and knows nothing of the next row.
    if errors[0] <= END_WIDTH and abs(span.low - metric.highest) <= END_WIDTH:
        low = reach[0].low
    if errors[1] <= END_WIDTH and abs(span.high - metric.lowest) <= END_WIDTH:
        high = reach[1].high
    return Interval(low, high, found.ci_prob, found.ci_kind)
