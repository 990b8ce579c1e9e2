"""Value and influence of each row, for any metric of weighted rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import Metric
from labelbayes.weighting.ranking import ranking_slopes
from labelbayes.weighting.rows import WeightedRows, effective_size

#: A value this close to the end of the metric's range is at the end.
END_WIDTH = 1e-9
_NEGATIVE = "weights took a cell of the confusion matrix below 0, or the metric is 0/0"


@dataclass(frozen=True, eq=False)
class Masses:
    """How much each row counts as a positive and as a negative.

    Parameters
    ----------
    positive, negative : ndarray of float, shape (n_rows,)
        Masses; an outcome model may make them negative.
    moved_positive, moved_negative : ndarray of float, shape (n_rows,), or None
        The part that the draw of labels moves; None where the target is the population.
    noise : ndarray of float, shape (n_rows,), optional
        Variance of the pseudo-label of each row around its label, where an outcome model tells it.
    """

    positive: FloatArray
    negative: FloatArray
    moved_positive: FloatArray | None = None
    moved_negative: FloatArray | None = None
    noise: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Scored:
    """An estimate and what each row does to it.

    Parameters
    ----------
    value : float
        The estimate; nan where undefined.
    score : ndarray of float, shape (n_rows,)
        Influence of each row over the number of rows: the error of the estimate is close to the
        sum, multiplicities counted, over rows drawn anew.
    moved : ndarray of float, shape (n_rows,), or None
        The part of it that the draw of labels moves.
    n_effective : float
        Effective number of labeled rows that the metric rests on; nan where the metric is inside
        its range, as nothing asks for it there.
    reason : str, default ""
        Why there is no value, where it is not that the metric is 0/0.
    noise : ndarray of float, shape (n_rows,), optional
        Each row's part of the variance around the value of these rows; takes the place of what
        `moved` gives, unless it sums to nothing.
    """

    value: float
    score: FloatArray
    moved: FloatArray | None
    n_effective: float
    reason: str = ""
    noise: FloatArray | None = None


def score_metric(
    metric: Metric, evaluation: EvaluationSet, masses: Masses, rows: WeightedRows
) -> Scored:
    """Return a metric of weighted rows, and each row's influence on it.

    Parameters
    ----------
    metric : CountMetric or RankingMetric
        What is asked for.
    evaluation : EvaluationSet
        The rows that are kept.
    masses : Masses
        Theirs.
    rows : WeightedRows
        Theirs.

    Returns
    -------
    Scored
        Estimate and influence.

    Notes
    -----
    Every metric here is a smooth function of sums over rows that does not change when all rows
    are doubled, so its influence function is the slope times the row's masses and needs no
    centering.
    """
    if isinstance(metric, CountMetric):
        value, slope_positive, slope_negative, n_effective = _count_slopes(
            metric, evaluation, masses, rows
        )
    else:
        assert evaluation.y_score is not None
        value, slope_positive, slope_negative = ranking_slopes(
            metric.name, evaluation.y_score, masses.positive, masses.negative, rows.count
        )
        # The smaller class decides how much is known of a ranking.
        of_positives = (evaluation.y_true == 1) * rows.weight
        n_effective = min(
            effective_size(of_positives, rows.count),
            effective_size(rows.weight - of_positives, rows.count),
        )
    moved = None
    if masses.moved_positive is not None and masses.moved_negative is not None:
        moved = masses.moved_positive * slope_positive + masses.moved_negative * slope_negative
    noise = None
    if masses.noise is not None:
        noise = masses.noise * np.square(slope_positive - slope_negative)
    slope_positive *= masses.positive
    slope_negative *= masses.negative
    slope_positive += slope_negative
    is_lost = np.isnan(value) and bool((masses.positive < 0).any() or (masses.negative < 0).any())
    reason = _NEGATIVE if is_lost else ""
    return Scored(value, slope_positive, moved, n_effective, reason, noise)


def _count_slopes(
    metric: CountMetric, evaluation: EvaluationSet, masses: Masses, rows: WeightedRows
) -> tuple[float, FloatArray, FloatArray, float]:
    is_predicted = evaluation.y_pred == 1
    cells = []
    for mass in (masses.positive, masses.negative):
        above = rows.total(np.where(is_predicted, mass, 0.0))
        cells.append((above, rows.total(mass) - above))
    (tp, fn), (fp, tn) = cells
    # A total that is zero but for rounding is zero: what is 0/0 stays so.
    noise = 1e-14 * rows.n
    table = [0.0 if abs(cell) < noise else cell for cell in (tp, fp, fn, tn)]
    # Weights may take a cell below 0, where some metrics have no value.
    with np.errstate(invalid="ignore"):
        value = float(metric(*table))
    if np.isnan(value):
        nothing = np.full(len(is_predicted), np.nan)
        return value, nothing, nothing.copy(), 0.0
    d_tp, d_fp, d_fn, d_tn = metric.gradient(table)
    is_at_end = min(abs(value - metric.lowest), abs(value - metric.highest)) < END_WIDTH
    return (
        value,
        np.where(is_predicted, d_tp, d_fn),
        np.where(is_predicted, d_fp, d_tn),
        _count_effective(metric, evaluation, rows, table) if is_at_end else math.nan,
    )


def _count_effective(
    metric: CountMetric, evaluation: EvaluationSet, rows: WeightedRows, table: list[float]
) -> float:
    """Effective number of labeled rows in the cells that could move the metric."""
    # Half a row more in each cell, so that a metric at its end has a slope as well.
    slopes = np.abs(metric.gradient([max(cell, 0.0) + 0.5 for cell in table]))
    matters = slopes > 1e-9 * slopes.max()
    cell = np.where(evaluation.y_pred == 1, 0, 2) + np.where(evaluation.y_true == 1, 0, 1)
    return effective_size(np.where(matters[cell], rows.weight, 0.0), rows.count)
