"""Predictions for every row by models that did not see it: in random folds, or from the past."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import has_fit_parameter

from labelbayes._checks import BoolArray, FloatArray, IntArray, check_whole, make_rng
from labelbayes.data.columns import as_column
from labelbayes.data.evaluation_set import EvaluationSet

#: Inverse strength of the ridge in the default model: it keeps separable data finite and moves
#: probabilities of ordinary data in the fourth digit.
DEFAULT_C = 1e3


def read_features(X: Any, n_rows: int) -> tuple[FloatArray, tuple[str, ...], tuple[str, ...]]:
    """Return the matrix of features and their names; text columns become indicators.

    Parameters
    ----------
    X : DataFrame or array_like, shape (n_rows, k) or (n_rows,)
        One row per row of the evaluation.
    n_rows : int
        Rows expected.

    Returns
    -------
    ndarray of float, shape (n_rows, k')
        Numbers; an indicator for each value of a column of words.
    tuple of str
        Names of the columns of `X`.
    tuple of str, length k'
        Names of the columns of the matrix.

    Raises
    ------
    ValueError
        If the number of rows differs, there is no column, or a number is missing or infinite.
    TypeError
        If `X` is no table.
    """
    frame = _as_frame(X)
    if len(frame) != n_rows or frame.shape[1] == 0:
        raise ValueError(
            f"`X` must hold one row per row of the evaluation and at least one column, "
            f"shape ({n_rows}, k); got {frame.shape}."
        )
    names = tuple(str(name) for name in frame.columns)
    parts: list[npt.NDArray[Any]] = []
    columns: list[str] = []
    for name, label in zip(names, frame.columns, strict=True):
        column = frame[label]
        if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
            parts.append(_as_numbers(name, column)[:, None])
            columns.append(name)
        else:
            words = column.astype(str).to_numpy(dtype=object)
            levels = np.unique(words)
            parts.append(words[:, None] == levels[None, :])
            columns += [f"{name}={level}" for level in levels]
    matrix = np.hstack([np.asarray(part, dtype=np.float64) for part in parts])
    return matrix, names, tuple(columns)


def _as_frame(X: Any) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame):
        return X
    if isinstance(X, pd.Series):
        return X.to_frame(name="x" if X.name is None else X.name)
    array = np.asarray(X)
    if array.ndim not in (1, 2):
        raise TypeError(
            f"`X` must be a table of one row per row of the evaluation; got shape {array.shape}."
        )
    table = array[:, None] if array.ndim == 1 else array
    return pd.DataFrame(table, columns=[f"x{k}" for k in range(table.shape[1])])


def _as_numbers(name: str, column: pd.Series) -> FloatArray:
    values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    bad = ~np.isfinite(values)
    if bad.any():
        where = int(np.argmax(bad))
        raise ValueError(
            f"`X` must hold finite numbers; column {name!r} has {values[where]} at row {where} "
            f"({int(bad.sum())} such values). Fill them in, and add a column that says where."
        )
    return values


def read_time(time: npt.ArrayLike | None, n_rows: int) -> IntArray | None:
    """Return the rank of each row's time among the distinct times.

    Parameters
    ----------
    time : array_like, shape (n_rows,), optional
        Times, dates or numbers that can be sorted; none missing.
    n_rows : int
        Rows expected.

    Returns
    -------
    ndarray of int, shape (n_rows,), or None
        0 for the earliest; None where there is no time.

    Raises
    ------
    ValueError
        If the length is wrong, or a time is missing.
    """
    return None if time is None else _codes("time", time, n_rows)


def read_clusters(clusters: npt.ArrayLike | None, n_rows: int) -> IntArray | None:
    """Return a number for each row's cluster.

    Parameters
    ----------
    clusters : array_like, shape (n_rows,), optional
        Names of the clusters; none missing.
    n_rows : int
        Rows expected.

    Returns
    -------
    ndarray of int, shape (n_rows,), or None
        Codes from 0; None where there are no clusters.

    Raises
    ------
    ValueError
        If the length is wrong, or a cluster is missing.
    """
    return None if clusters is None else _codes("clusters", clusters, n_rows)


def _codes(name: str, values: npt.ArrayLike, n_rows: int) -> IntArray:
    column = as_column(name, values)
    if len(column) != n_rows:
        raise ValueError(
            f"`{name}` must hold one value per row, shape ({n_rows},); got ({len(column)},)."
        )
    if column.is_missing.any():
        where = int(np.argmax(column.is_missing))
        raise ValueError(
            f"`{name}` must not be missing; it is at row {where} "
            f"({int(column.is_missing.sum())} such rows). Give each such row a value of its own."
        )
    codes, _ = pd.factorize(pd.Series(column.values), sort=True)
    return np.asarray(codes, dtype=np.int64)


def cross_fit(
    X: FloatArray,
    evaluation: EvaluationSet,
    target: FloatArray,
    *,
    model: Any,
    n_folds: int,
    time: IntArray | None,
    rng: np.random.Generator | int | None,
    units: IntArray | None = None,
) -> FloatArray:
    """Return P(target = 1) of every row, from models that were fitted without it.

    Parameters
    ----------
    X : ndarray of float, shape (n_rows, k)
        Features.
    evaluation : EvaluationSet
        Multiplicities, and what tells rows apart.
    target : ndarray of float, shape (n_rows,)
        0, 1, or nan where it is unknown: such rows are predicted and not learned from.
    model : scikit-learn classifier or None
        Cloned for each fold; None stands for logistic regression on standardized features.
    n_folds : int >= 1
        1 fits one model on all rows.
    time : ndarray of int, shape (n_rows,), or None
        Ranks of times: each block is then predicted from the blocks before it.
    rng : numpy.random.Generator, int, optional
        What deals rows to folds.
    units : ndarray of int, shape (n_rows,), optional
        Rows that must share a fold, such as copies of one row.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        Probabilities.
    """
    folds = check_whole("n_folds", n_folds, least=1)
    if model is not None and not hasattr(model, "predict_proba"):
        raise TypeError(
            f"`model` must be a classifier with `predict_proba`; got {type(model).__name__}."
        )
    # Rows are put into an order of their own, so that theirs in the table changes nothing.
    order = _canonical_order(X, evaluation, target)
    if model is None:
        X = _standardize(X[order])[np.argsort(order)]
        model = LogisticRegression(C=DEFAULT_C, max_iter=1_000)
    p = np.full(len(target), np.nan)
    is_known = ~np.isnan(target)
    generator = make_rng(rng)
    for train, test in _splits(order, target, folds, time, generator, units):
        learned = order[(train & is_known)[order]]
        ready = _seeded(model, generator)
        p[test] = _fit_predict(
            ready, X[learned], target[learned], evaluation.count[learned], X[test]
        )
    return p


def _canonical_order(X: FloatArray, evaluation: EvaluationSet, target: FloatArray) -> IntArray:
    score = np.zeros(len(target)) if evaluation.y_score is None else evaluation.y_score
    keys = [*X.T, score, evaluation.y_pred, np.nan_to_num(target, nan=2.0), evaluation.count]
    return np.lexsort(keys)


def _standardize(X: FloatArray) -> FloatArray:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _splits(
    order: IntArray,
    target: FloatArray,
    n_folds: int,
    time: IntArray | None,
    rng: np.random.Generator,
    units: IntArray | None,
) -> Iterator[tuple[BoolArray, BoolArray]]:
    """Yield which rows to learn from, and which to predict."""
    everything = np.ones(len(target), dtype=bool)
    if n_folds == 1:
        yield everything, everything
        return
    if time is None:
        fold = _deal(order, target, n_folds, rng, units)
        for k in range(n_folds):
            yield fold != k, fold == k
        return
    # Blocks of about as many rows, cut between times.
    share = np.cumsum(np.bincount(time)) / len(time)
    block = np.minimum((share - 1e-12) * (n_folds + 1), n_folds).astype(np.int64)[time]
    # The first block has no past: its two halves predict each other.
    first = block == block.min()
    early = first & (time <= np.median(time[first]))
    if (early == first).all():
        early = first & (time < time[first].max())
    if not early.any():
        raise ValueError(
            "`time` must have at least two distinct times among the first rows; got one. Leave "
            "`time` out, or lower `n_folds`."
        )
    yield early, first & ~early
    yield first & ~early, early
    for k in np.unique(block)[1:]:
        yield block < k, block == k


def _deal(
    order: IntArray,
    target: FloatArray,
    n_folds: int,
    rng: np.random.Generator,
    units: IntArray | None,
) -> IntArray:
    """Deal rows to folds at random, those with the same target evenly."""
    fold = np.empty(len(target), dtype=np.int64)
    if units is not None:
        return (rng.permutation(int(units.max()) + 1) % n_folds)[units]
    stratum = np.nan_to_num(target, nan=2.0)[order]
    for value in np.unique(stratum):
        rows = order[stratum == value]
        fold[rows] = rng.permutation(len(rows)) % n_folds
    return fold


def _seeded(model: Any, rng: np.random.Generator) -> Any:
    """Return an unfitted copy; one that would draw from the global state gets a seed of ours."""
    copy = clone(model)
    if copy.get_params().get("random_state", 0) is None:
        copy.set_params(random_state=int(rng.integers(2**31)))
    return copy


def _fit_predict(
    model: Any, X: FloatArray, target: FloatArray, count: IntArray, X_test: FloatArray
) -> FloatArray:
    if len(target) == 0:
        raise ValueError(
            "There must be rows to learn from in every fold; one has none. Lower `n_folds`, or "
            "leave `time` out."
        )
    if len(np.unique(target)) == 1:
        return np.full(len(X_test), target[0])
    if (count == 1).all():
        model.fit(X, target.astype(np.int64))
    elif has_fit_parameter(model, "sample_weight"):
        model.fit(X, target.astype(np.int64), sample_weight=count)
    else:
        raise ValueError(
            f"`model` must take `sample_weight` where rows have a count above 1; "
            f"{type(model).__name__} does not. Repeat the rows instead."
        )
    p = model.predict_proba(X_test)
    return np.asarray(p[:, list(model.classes_).index(1)], dtype=np.float64)
