"""ROC-AUC and average precision of weighted rows, and how each row moves them."""

from __future__ import annotations

import math

import numpy as np

from labelbayes._checks import FloatArray, IntArray
from labelbayes.metrics.ranking import order_by_score

Slopes = tuple[float, FloatArray, FloatArray]


def ranking_slopes(
    name: str,
    y_score: FloatArray,
    positive: FloatArray,
    negative: FloatArray,
    count: IntArray | None = None,
) -> Slopes:
    """Return a ranking metric, and its slope in each row's positive and negative mass.

    Parameters
    ----------
    name : {"roc_auc", "average_precision"}
        Which.
    y_score : ndarray of float, shape (n_rows,)
        Scores.
    positive, negative : ndarray of float, shape (n_rows,)
        Masses of each row.
    count : ndarray of int, shape (n_rows,), optional
        Multiplicities.

    Returns
    -------
    value : float
        The metric; nan where undefined.
    slope_positive, slope_negative : ndarray of float, shape (n_rows,)
        Derivatives of the metric with respect to the masses of one copy of each row.

    Raises
    ------
    ValueError
        If there is no weighted form of the metric.

    Notes
    -----
    One sort, then sums over steps of equal score: O(n log n). A row is no pair with itself, so
    that ROC-AUC is unbiased where an outcome model gives rows both masses.

    References
    ----------
    .. [1] A. Rotnitzky, D. Faraggi and E. Schisterman, "Doubly robust estimation of the area
       under the receiver-operating characteristic curve in the presence of verification bias",
       Journal of the American Statistical Association 101(475), 1276-1288, 2006.

    Examples
    --------
    >>> score = np.array([0.9, 0.8, 0.3])
    >>> value, *_ = ranking_slopes("roc_auc", score, np.array([2.0, 0, 1]), np.array([0, 1.0, 0]))
    >>> round(value, 4)
    0.6667
    """
    if name == "roc_auc":
        return _auc_slopes(y_score, positive, negative, count)
    if name == "average_precision":
        return _precision_slopes(y_score, positive, negative, count)
    raise ValueError(
        f"`metrics` must have a weighted form; got {name!r}. Ranking metrics that have one are "
        "'roc_auc' and 'average_precision'."
    )


def _auc_slopes(
    y_score: FloatArray, positive: FloatArray, negative: FloatArray, count: IntArray | None
) -> Slopes:
    order, step = order_by_score(y_score)
    # Negatives below each row and positives above it, half of those beside it.
    below, all_negative = _cumulate(order, step, negative, count)
    np.subtract(all_negative, below, out=below)
    above, all_positive = _cumulate(order, step, positive, count)
    below -= negative / 2
    above -= positive / 2
    units = positive if count is None else count * positive
    pairs = all_positive * all_negative - float(units @ negative)
    if not _is_pair_mass(pairs, all_positive, all_negative):
        return math.nan, below * math.nan, above * math.nan
    value = float(units @ below) / pairs
    scale = all_positive * all_negative
    below -= value * all_negative
    below /= scale
    above -= value * all_positive
    above /= scale
    return value, below, above


def _is_pair_mass(pairs: float, all_positive: float, all_negative: float) -> bool:
    scale = abs(all_positive) + abs(all_negative)
    return pairs != 0 and min(abs(all_positive), abs(all_negative)) > 1e-14 * scale


def _cumulate(
    order: IntArray, step: IntArray, mass: FloatArray, count: IntArray | None
) -> tuple[FloatArray, float]:
    """Return for each row the mass of higher scores plus half that of its own step, and all."""
    ranked = (mass if count is None else mass * count).take(order)
    n_steps = int(step[-1]) + 1
    has_ties = n_steps < len(order)
    if has_ties:
        ranked = np.asarray(np.bincount(step, weights=ranked, minlength=n_steps), dtype=np.float64)
    total = np.cumsum(ranked)
    everything = float(total[-1])
    ranked *= 0.5
    total -= ranked
    by_row = np.empty(len(order))
    by_row[order] = total[step] if has_ties else total
    return by_row, everything


def _precision_slopes(
    y_score: FloatArray, positive: FloatArray, negative: FloatArray, count: IntArray | None
) -> Slopes:
    order, step = order_by_score(y_score)
    units = 1 if count is None else count
    gained = np.bincount(step, weights=(units * positive)[order])
    lost = np.bincount(step, weights=(units * negative)[order])
    above, rows = np.cumsum(gained), np.cumsum(gained + lost)
    everything = float(above[-1])
    noise = 1e-14 * (float(np.abs(gained).sum()) + float(np.abs(lost).sum()))
    by_row = np.empty(len(order), dtype=np.int64)
    by_row[order] = step
    if abs(everything) <= noise:
        nothing = np.full(len(order), math.nan)
        return math.nan, nothing, nothing.copy()
    # Steps before the first weight add nothing.
    is_counted = np.abs(rows) > noise
    depth = np.where(is_counted, rows, 1.0)
    precision = np.where(is_counted, above / depth, 0.0)
    value = float(gained @ precision) / everything
    # One unit more at a step changes the precision of that step and of all below it.
    from_here = np.cumsum((gained * (1 - precision) / depth * is_counted)[::-1])[::-1]
    and_less = np.cumsum((gained * precision / depth * is_counted)[::-1])[::-1]
    slope_positive = (precision + from_here - value) / everything
    return value, slope_positive[by_row], (-and_less / everything)[by_row]
