"""What a user should be told about an evaluation set: one sentence each, nothing is changed."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.data.columns import Int8Array

# The wrong direction is reported where chance would show it less than about once in 40 times.
_CLEARLY_LOW_AUC = 0.45
_CLEARLY_LOW_Z = -2.0

# With fewer rows, all scores above a half are no surprise.
_FEWEST_FOR_CONFIDENCE = 6


def labeled_auc(y_true: FloatArray, y_score: FloatArray, count: IntArray) -> float:
    """ROC-AUC of the labeled rows, ties counted half, in O(n log n).

    Parameters
    ----------
    y_true : ndarray of float, shape (n_rows,)
        1, 0, or nan where the label is missing.
    y_score : ndarray of float, shape (n_rows,)
        Finite scores, any unit.
    count : ndarray of int, shape (n_rows,)
        Multiplicity of each row.

    Returns
    -------
    float
        Share of (positive, negative) pairs that the score orders; nan without both labels.

    Examples
    --------
    >>> labeled_auc(np.array([1.0, 0.0, np.nan]), np.array([0.9, 0.2, 0.5]), np.ones(3, int))
    1.0
    """
    is_labeled = ~np.isnan(y_true)
    score, label, weight = y_score[is_labeled], y_true[is_labeled], count[is_labeled]
    order = np.argsort(score)
    score = score[order]
    positive = (label * weight)[order]
    total, total_positive = float(weight.sum()), float(positive.sum())
    total_negative = total - total_positive
    if total_positive == 0 or total_negative == 0:
        return math.nan
    starts = np.flatnonzero(np.r_[True, score[1:] != score[:-1]])
    positive_here = np.add.reduceat(positive, starts)
    negative_here = np.add.reduceat(weight[order], starts) - positive_here
    negative_below = np.cumsum(negative_here) - negative_here
    ordered = float(positive_here @ (negative_below + 0.5 * negative_here))
    return ordered / (total_positive * total_negative)


def describe_labels(n_positive: int, n_negative: int, n_unlabeled: int) -> Iterator[str]:
    """Say which labels are not there at all.

    Parameters
    ----------
    n_positive, n_negative, n_unlabeled : int
        Rows known positive, known negative, and without a label.

    Yields
    ------
    str
        A sentence.
    """
    if n_positive == n_negative == 0:
        yield "No label is known: every number rests on what is assumed about the missing labels."
    elif n_negative == 0:
        text = (
            f"No negative is known (labels: {n_positive:,}, all positive): specificity and ROC-AUC "
            "of the labeled rows are undefined, and their precision is 1 by construction."
        )
        if n_unlabeled:
            text += (
                " If only positives were ever marked, a blank is not a negative: use the "
                "positive-unlabeled bounds."
            )
        yield text
    elif n_positive == 0:
        yield (
            f"No positive is known (labels: {n_negative:,}, all negative): recall and ROC-AUC of "
            "the labeled rows are undefined, and their precision is 0 by construction."
        )


def describe_decisions(
    y_pred: Int8Array, y_score: FloatArray | None, threshold: float | None
) -> Iterator[str]:
    """Say whether every row was decided alike.

    Parameters
    ----------
    y_pred : ndarray of int, shape (n_rows,)
        0 or 1.
    y_score : ndarray of float or None
        Scores.
    threshold : float or None
        The threshold that made the decisions; None if they were given.

    Yields
    ------
    str
        A sentence.
    """
    if y_pred.min() != y_pred.max():
        return
    what = "positive" if y_pred[0] else "negative"
    consequence = (
        "recall is 1 and specificity 0 whatever the labels are"
        if y_pred[0]
        else "recall is 0 and precision undefined whatever the labels are"
    )
    text = f"Every row is predicted {what}, a degenerate classifier: {consequence}."
    if threshold is not None and y_score is not None:
        text += (
            f" Scores run from {y_score.min():g} to {y_score.max():g} and the threshold is "
            f"{threshold:g}: pass a `threshold` in the units of the score."
        )
    yield text


def describe_scores(
    y_true: FloatArray, y_score: FloatArray, y_pred: Int8Array, count: IntArray, threshold: float
) -> Iterator[str]:
    """Say what the scores seem to be: the wrong way round, a confidence, no probability.

    Parameters
    ----------
    y_true : ndarray of float, shape (n_rows,)
        1, 0 or nan.
    y_score : ndarray of float, shape (n_rows,)
        Scores.
    y_pred : ndarray of int, shape (n_rows,)
        Decisions.
    count : ndarray of int, shape (n_rows,)
        Multiplicities.
    threshold : float
        In the units of the score.

    Yields
    ------
    str
        A sentence.
    """
    lowest, highest = float(y_score.min()), float(y_score.max())
    auc = labeled_auc(y_true, y_score, count)
    n_positive = float(count[y_true == 1].sum())
    n_negative = float(count[y_true == 0].sum())
    if auc < _CLEARLY_LOW_AUC and _auc_z(auc, n_positive, n_negative) < _CLEARLY_LOW_Z:
        yield (
            f"Most labeled pairs are ordered the other way: the score puts the positive above the "
            f"negative in {auc:.1%} of them. Nothing was flipped; if a low score means positive, "
            "pass `-y_score` and a threshold with its sign changed too."
        )
    if lowest < 0 or highest > 1:
        yield (
            f"Scores run from {lowest:g} to {highest:g}, so they are no probabilities: they rank "
            f"as they are, and the threshold {threshold:g} is in their units."
        )
    elif _looks_like_confidence(y_true == 0, y_score, y_pred):
        yield (
            f"No score is below 0.5 (they run from {lowest:g} to {highest:g}), yet both classes "
            "occur: this looks like the confidence in the predicted class. `y_score` must rise "
            "with P(positive): pass 1 - confidence where the prediction is negative."
        )


def _auc_z(auc: float, n_positive: float, n_negative: float) -> float:
    # Standard error of the area when scores say nothing (Mann and Whitney 1947).
    null_se = math.sqrt((n_positive + n_negative + 1) / (12 * n_positive * n_negative))
    return (auc - 0.5) / null_se


def _looks_like_confidence(is_negative: BoolArray, y_score: FloatArray, y_pred: Int8Array) -> bool:
    lowest, highest = y_score.min(), y_score.max()
    if len(y_score) < _FEWEST_FOR_CONFIDENCE or lowest < 0.5 or lowest == highest:
        return False
    return bool((y_pred == 0).any() or is_negative.any())
