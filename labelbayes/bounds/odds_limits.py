"""What P(y = 1) of a missing row can be under a largest odds ratio, and where each end is taken."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from labelbayes._checks import BoolArray, FloatArray
from labelbayes.data.evaluation_set import EvaluationSet


class Limits(NamedTuple):
    """Smallest and largest P(y = 1) of each row.

    Attributes
    ----------
    low, high : ndarray of float, shape (n_rows,)
        Probabilities.
    """

    low: FloatArray
    high: FloatArray


def odds_limits(outcome: npt.ArrayLike, max_odds_ratio: float) -> Limits:
    """Return the range of P(y = 1) of missing rows that a largest odds ratio leaves.

    Parameters
    ----------
    outcome : array_like of float, shape (n_rows,)
        P(y = 1) of labeled rows with the same features.
    max_odds_ratio : float >= 1
        Largest odds ratio of selection.

    Returns
    -------
    Limits
        Both ends; every value between is possible.

    References
    ----------
    .. [1] Z. Tan, "A distributional approach for causal inference using propensity scores",
       Journal of the American Statistical Association 101(476), 1619-1637, 2006.

    Examples
    --------
    >>> low, high = odds_limits([0.8], 2.0)
    >>> low.round(6), high.round(6)
    (array([0.6]), array([0.9]))
    """
    m, g = np.asarray(outcome, dtype=np.float64), max_odds_ratio
    return Limits(np.maximum(m / g, 1 - g * (1 - m)), np.minimum(g * m, 1 - (1 - m) / g))


def limit_slopes(m: FloatArray, max_odds_ratio: float, takes_high: BoolArray) -> FloatArray:
    """Return how fast the end that each row takes moves with its outcome model.

    Parameters
    ----------
    m : ndarray of float, shape (n_rows,)
        Outcome model.
    max_odds_ratio : float >= 1
        Largest odds ratio.
    takes_high : ndarray of bool, shape (n_rows,)
        Which end.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        The odds ratio on the steep side of the kink, its inverse on the other.

    Examples
    --------
    >>> limit_slopes(np.array([0.2, 0.8]), 2.0, np.array([True, True]))
    array([2. , 0.5])
    """
    g = max_odds_ratio
    is_steep = np.where(takes_high, m < 1 / (1 + g), m >= g / (1 + g))
    return np.where(is_steep, g, 1 / g)


def rank_cut(evaluation: EvaluationSet, limits: Limits, *, is_upper: bool) -> BoolArray:
    """Return which missing rows take their upper end where ROC-AUC is extreme.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels and scores.
    limits : Limits
        Ends of each row.
    is_upper : bool
        Whether the largest area is sought.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
        True above the best cut of the score for the largest area, below it for the smallest.
        Labeled rows are put on the same sides.

    Notes
    -----
    At a fixed expected number of positives the area is linear in P(y = 1) with the rank as
    coefficient, so one end is taken above a cut and the other below; all cuts are tried, by
    running sums.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, None], [0.9, 0.2, 0.7, 0.1])
    >>> rank_cut(evaluation, odds_limits([0.5] * 4, 3.0), is_upper=True)
    array([ True, False,  True, False])
    """
    assert evaluation.y_score is not None
    score, count = evaluation.y_score, evaluation.count.astype(np.float64)
    above, below = (limits.high, limits.low) if is_upper else (limits.low, limits.high)
    # Among equal scores the row with the widest range comes first, whatever their order.
    order = np.lexsort((limits.low - limits.high, -score))
    missing = order[~evaluation.is_labeled[order]]
    rank = _ranks(score, count)
    known = evaluation.is_labeled
    start = np.where(known, np.nan_to_num(evaluation.y_true), below)
    change = above[missing] - below[missing]
    squares = above[missing] ** 2 - below[missing] ** 2

    def running(first: float, steps: FloatArray) -> FloatArray:
        return first + np.concatenate([[0.0], np.cumsum(count[missing] * steps)])

    positive = running(float(count @ start), change)
    ranked = running(float((count * rank) @ start), rank[missing] * change)
    own = running(float(count @ start**2), squares)
    pairs = positive**2 - own
    area = _divide(ranked - pairs / 2, (count.sum() - 1) * positive - pairs, is_upper)
    best = int(np.argmax(area) if is_upper else np.argmin(area))
    # Rows in rank order down to the last missing one above the cut.
    is_above = np.zeros(len(score), dtype=bool)
    if best:
        is_above[order[: int(np.flatnonzero(order == missing[best - 1])[0]) + 1]] = True
    return is_above if is_upper else ~is_above


def _ranks(score: FloatArray, count: FloatArray) -> FloatArray:
    """Return how many other units each row outranks, ties counted half."""
    _, step = np.unique(score, return_inverse=True)
    size = np.bincount(step, weights=count)
    return (np.cumsum(size) - size + (size - 1) / 2)[step]


def _divide(pairs: FloatArray, all_pairs: FloatArray, is_upper: bool) -> FloatArray:
    """Divide; where there is no pair the cut is no candidate."""
    worst = -np.inf if is_upper else np.inf
    return np.divide(pairs, all_pairs, out=np.full(len(pairs), worst), where=all_pairs > 1e-12)
