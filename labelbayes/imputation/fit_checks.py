"""Checks that the calibrators share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelbayes._checks import BoolArray, FloatArray


def first_column(X: npt.ArrayLike) -> FloatArray:
    """Return the score: the first column of X, or X itself where it has one dimension.

    Parameters
    ----------
    X : array_like of float, shape (n,) or (n, k)
        Scores, and perhaps features beside them.

    Returns
    -------
    ndarray of float, shape (n,)
        Scores.

    Raises
    ------
    ValueError
        If X has another shape, or a score is nan or infinite.
    """
    array = _as_rows(X)
    score = array if array.ndim == 1 else array[:, 0]
    _refuse_infinite(score, "finite scores in its first column")
    return score


def all_columns(X: npt.ArrayLike) -> FloatArray:
    """Return X with two dimensions.

    Parameters
    ----------
    X : array_like of float, shape (n,) or (n, k)
        Scores, and perhaps features beside them.

    Returns
    -------
    ndarray of float, shape (n, k)
        Columns.

    Raises
    ------
    ValueError
        If X has another shape, or a value is nan or infinite.
    """
    array = _as_rows(X)
    columns = array[:, None] if array.ndim == 1 else array
    for j, column in enumerate(columns.T):
        where = "its first column" if j == 0 else f"column {j}"
        _refuse_infinite(column, f"finite {'scores' if j == 0 else 'values'} in {where}")
    return columns


def _as_rows(X: npt.ArrayLike) -> FloatArray:
    array = np.asarray(X, dtype=np.float64)
    if array.ndim not in (1, 2) or array.shape[-1:] == (0,):
        raise ValueError(f"`X` must have shape (n, 1) or (n, k), rows first; got {array.shape}.")
    return array


def _refuse_infinite(column: FloatArray, rule: str) -> None:
    bad = ~np.isfinite(column)
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"`X` must hold {rule}; got {column[first]} at row {first} "
            f"({int(bad.sum())} such values). Drop or fix these rows."
        )


def check_labels(
    X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return score, label and weight of the rows that weigh anything.

    Parameters
    ----------
    X : array_like of float, shape (n,) or (n, k)
        The score in the first column.
    y : array_like of 0 and 1, shape (n,)
        Labels.
    sample_weight : array_like of float >= 0, shape (n,), or None
        Weight of each row; None is 1.

    Returns
    -------
    tuple of ndarray of float, shape (n_weighed,)
        Score, label, weight.

    Raises
    ------
    ValueError
        If no row has a weight, or a value or a shape is not as above.
    """
    score = first_column(X)
    label = np.asarray(y, dtype=np.float64)
    weight = np.ones(len(score)) if sample_weight is None else np.asarray(sample_weight, float)
    for name, array in (("y", label), ("sample_weight", weight)):
        if array.shape != score.shape:
            raise ValueError(
                f"`{name}` must have one value per row of `X`, shape {score.shape}; "
                f"got {array.shape}."
            )
    _refuse("y", label, (label != 0) & (label != 1), "0 or 1 in every row")
    _refuse("sample_weight", weight, ~((weight >= 0) & np.isfinite(weight)), "finite weights >= 0")
    used = weight > 0
    if not used.any():
        raise ValueError("`y` must hold at least one label with weight; got none.")
    return score[used], label[used], weight[used]


def check_classes(label: FloatArray) -> None:
    """Raise unless labels of both classes are there.

    Parameters
    ----------
    label : ndarray of float, shape (n,)
        Labels with weight, 0 or 1.

    Raises
    ------
    ValueError
        If they are of one class.
    """
    if not 0 < label.mean() < 1:
        raise ValueError(
            f"`y` must hold both classes for this calibrator; all {len(label)} labels with "
            f"weight are {int(label[0])}. Label rows of the other class."
        )


def _refuse(name: str, array: FloatArray, bad: BoolArray, rule: str) -> None:
    """Raise at the first bad value."""
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"`{name}` must hold {rule}; got {array[first]} at row {first} "
            f"({int(bad.sum())} such values). Leave these rows out."
        )
