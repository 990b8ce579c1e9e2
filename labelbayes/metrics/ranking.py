"""Ranking metrics as functions of the positives and negatives at each distinct score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelbayes._checks import FloatArray, IntArray
from labelbayes.data.evaluation_set import EvaluationSet

#: (positives, negatives), each with the steps of the ranking on the last axis -> values.
StepFunction = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class RankingMetric:
    """A metric of how scores order the rows.

    Rows with equal scores form one step, and steps go from the highest score to the lowest. The
    metric depends only on the positives and the negatives of each step, in rows or in weight.

    Parameters
    ----------
    name : str
        scikit-learn's name for it.
    undefined_when : str
        When the metric is 0/0, as the end of "undefined when ...".
    value : callable
        ``value(positive, negative)`` with arrays of shape (..., n_steps) gives values of shape
        (...,), nan where undefined.
    lowest, highest : float
        Range of the metric.
    """

    name: str
    undefined_when: str
    value: StepFunction
    lowest: float = 0.0
    highest: float = 1.0

    def __call__(
        self,
        y_true: npt.ArrayLike,
        y_score: npt.ArrayLike,
        count: npt.ArrayLike | None = None,
    ) -> float:
        """Return the metric of rows whose labels are all known.

        Parameters
        ----------
        y_true : array_like, shape (n_rows,)
            Labels, 0 or 1, none missing.
        y_score : array_like of float, shape (n_rows,)
            Scores, higher for positives.
        count : array_like of int, shape (n_rows,), optional
            Multiplicity of each row. Default: 1.

        Returns
        -------
        float
            The metric, nan where undefined.

        Raises
        ------
        ValueError
            If a label is missing, or the columns are not as above.

        Examples
        --------
        >>> round(RANKING_METRICS["average_precision"]([1, 0, 1], [0.9, 0.8, 0.3]), 4)
        0.8333
        """
        return float(self.value(*count_steps(y_true, y_score, count)))


def count_steps(
    y_true: npt.ArrayLike, y_score: npt.ArrayLike, count: npt.ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the positives and the negatives at each distinct score, highest score first.

    Parameters
    ----------
    y_true : array_like, shape (n_rows,)
        Labels, 0 or 1, none missing.
    y_score : array_like of float, shape (n_rows,)
        Scores.
    count : array_like of int, shape (n_rows,), optional
        Multiplicity of each row. Default: 1.

    Returns
    -------
    tuple of ndarray of float, each of shape (n_steps,)
        Positives and negatives.

    Raises
    ------
    ValueError
        If a label is missing, or the columns are not as above.

    Examples
    --------
    >>> count_steps([1, 0, 1], [0.9, 0.9, 0.3])
    (array([1., 1.]), array([1., 0.]))
    """
    rows = EvaluationSet(y_true, y_score, count=count)
    missing = np.flatnonzero(~rows.is_labeled)
    if len(missing):
        raise ValueError(
            f"`y_true` must hold every label; {len(missing):,} are missing, the first at position "
            f"{missing[0]}. Use an estimator such as `estimate_pemi` for labels in part."
        )
    assert rows.y_score is not None
    order, step = order_by_score(rows.y_score)
    weight = rows.count[order].astype(np.float64)
    positive = weight * rows.y_true[order]
    n_steps = int(step[-1]) + 1
    at_step: FloatArray = np.bincount(step, weights=positive, minlength=n_steps).astype(np.float64)
    rest = np.bincount(step, weights=weight - positive, minlength=n_steps).astype(np.float64)
    return at_step, rest


def order_by_score(y_score: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the rows from the highest score to the lowest, and the step of each.

    Parameters
    ----------
    y_score : ndarray of float, shape (n_rows,)
        Scores, at least one.

    Returns
    -------
    tuple of ndarray of int, each of shape (n_rows,)
        Row numbers in rank order (any order among equal scores), and for each the number of
        distinct scores above its own.

    Examples
    --------
    >>> order, step = order_by_score(np.array([0.2, 0.9, 0.5]))
    >>> order, step
    (array([1, 2, 0]), array([0, 1, 2]))
    """
    order = np.argsort(-y_score)
    ranked = y_score[order]
    step = np.zeros(len(order), dtype=np.int64)
    np.cumsum(ranked[1:] != ranked[:-1], out=step[1:])
    return order, step


def _divide(numerator: Any, denominator: Any) -> Any:
    """Divide, nan where the denominator is 0."""
    defined = denominator != 0
    return np.where(defined, numerator, np.nan) / np.where(defined, denominator, 1.0)


def roc_auc(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Return the area under the ROC curve: P(a positive outranks a negative), ties counted half.

    Parameters
    ----------
    positive, negative : ndarray of float, shape (..., n_steps)
        Positives and negatives at each distinct score, highest score first.

    Returns
    -------
    ndarray of float, shape (...,)
        The area, nan where one class is empty.

    References
    ----------
    .. [1] J. A. Hanley and B. J. McNeil, "The meaning and use of the area under a receiver
       operating characteristic (ROC) curve", Radiology 143(1), 29-36, 1982.

    Examples
    --------
    >>> float(roc_auc(np.array([1.0, 1.0]), np.array([1.0, 0.0])))
    0.25
    """
    above = np.cumsum(positive, axis=-1)
    pairs = np.sum(negative * (above - positive / 2), axis=-1)
    return np.asarray(_divide(pairs, above[..., -1] * np.sum(negative, axis=-1)))


def average_precision(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Return the average precision: precision at each step, weighted by the recall it adds.

    Parameters
    ----------
    positive, negative : ndarray of float, shape (..., n_steps)
        Positives and negatives at each distinct score, highest score first.

    Returns
    -------
    ndarray of float, shape (...,)
        The average precision, nan where no row is positive.

    Notes
    -----
    Rows with equal scores are one step, as in scikit-learn; nothing is interpolated.

    References
    ----------
    .. [1] M. Zhu, "Recall, precision and average precision", working paper, University of
       Waterloo, 2004.

    Examples
    --------
    >>> round(float(average_precision(np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]))), 4)
    0.8333
    """
    above = np.cumsum(positive, axis=-1)
    rows = np.cumsum(positive + negative, axis=-1)
    # A step of weight 0 adds nothing, also where it comes first.
    precision = above / np.where(rows > 0, rows, 1.0)
    return np.asarray(_divide(np.sum(positive * precision, axis=-1), above[..., -1]))


def roc_points(positive: FloatArray, negative: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ROC curve: rates when every row down to a step is called positive.

    Parameters
    ----------
    positive, negative : ndarray of float, shape (..., n_steps)
        Positives and negatives at each distinct score, highest score first.

    Returns
    -------
    tuple of ndarray of float, each of shape (..., 1 + n_steps)
        False and true positive rates, from (0, 0) to (1, 1); nan where the class is empty.

    Examples
    --------
    >>> roc_points(np.array([1.0, 1.0]), np.array([0.0, 2.0]))
    (array([0., 0., 1.]), array([0. , 0.5, 1. ]))
    """
    return _shares(negative), _shares(positive)


def _shares(amount: FloatArray) -> FloatArray:
    total = np.zeros((*amount.shape[:-1], amount.shape[-1] + 1))
    np.cumsum(amount, axis=-1, out=total[..., 1:])
    return np.asarray(_divide(total, total[..., -1:]))


def precision_recall_points(
    positive: FloatArray, negative: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the precision-recall curve: both when every row down to a step is called positive.

    Parameters
    ----------
    positive, negative : ndarray of float, shape (..., n_steps)
        Positives and negatives at each distinct score, highest score first.

    Returns
    -------
    tuple of ndarray of float, each of shape (..., n_steps)
        Precision and recall; recall is nan where no row is positive.

    Examples
    --------
    >>> precision_recall_points(np.array([1.0, 1.0]), np.array([0.0, 2.0]))
    (array([1. , 0.5]), array([0.5, 1. ]))
    """
    above = np.cumsum(positive, axis=-1)
    rows = np.cumsum(positive + negative, axis=-1)
    return np.asarray(_divide(above, rows)), np.asarray(_divide(above, above[..., -1:]))


#: The ranking metrics by name.
RANKING_METRICS: dict[str, RankingMetric] = {
    metric.name: metric
    for metric in (
        RankingMetric("average_precision", "no row is positive", average_precision),
        RankingMetric("roc_auc", "no row is positive, or none is negative", roc_auc),
    )
}
