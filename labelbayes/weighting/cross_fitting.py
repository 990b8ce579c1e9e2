"""Predictions for every row by models that did not see it: in random folds, or from the past."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import has_fit_parameter

from labelbayes._checks import BoolArray, FloatArray, IntArray, check_whole, make_rng
from labelbayes._user_models import filters_kept, fresh_copy
from labelbayes.data.columns import as_column
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.features import MOST_LEVELS, as_numbers

#: Inverse strength of the ridge in the default model: it keeps separable data finite and moves
#: probabilities of ordinary data in the fourth digit.
DEFAULT_C = 1e3


def read_features(
    X: Any, n_rows: int, *, argument: str = "X"
) -> tuple[FloatArray, tuple[str, ...], tuple[str, ...]]:
    """Return the matrix of features and their names; text columns become indicators.

    Parameters
    ----------
    X : DataFrame or array_like, shape (n_rows, k) or (n_rows,)
        One row per row of the evaluation.
    n_rows : int
        Rows expected.
    argument : str, default "X"
        Its name, for the sentence of an error.

    Returns
    -------
    ndarray of float, shape (n_rows, k')
        Numbers, times in days; an indicator for each value of a column of words or categories.
    tuple of str
        Names of the columns of `X`.
    tuple of str, length k'
        Names of the columns of the matrix.

    Raises
    ------
    ValueError
        If the number of rows differs, there is no column or one twice, a value is missing or
        infinite, or a column has more than 200 different words.
    TypeError
        If `X` is no table.
    """
    frame = _as_frame(X, argument)
    if len(frame) != n_rows or frame.shape[1] == 0:
        raise ValueError(
            f"`{argument}` must hold one row per row of the evaluation and at least one column, "
            f"shape ({n_rows}, k); got {frame.shape}."
        )
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise ValueError(
            f"`{argument}` must have one column per name; got {twice[0]!r} twice. Rename one."
        )
    names = tuple(str(name) for name in frame.columns)
    parts: list[FloatArray] = []
    columns: list[str] = []
    for name, label in zip(names, frame.columns, strict=True):
        part, levels = _encode(argument, name, frame[label])
        parts.append(part)
        columns += [f"{name}={level}" for level in levels] or [name]
    return np.hstack(parts), names, tuple(columns)


def _as_frame(X: Any, argument: str) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame):
        return X
    if isinstance(X, pd.Series):
        return X.to_frame(name="x" if X.name is None else X.name)
    # NumPy makes words of numbers beside words, and forgets what is masked.
    is_list = isinstance(X, (list, tuple))
    array = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X, object if is_list else None)
    if array.ndim not in (1, 2):
        raise TypeError(
            f"`{argument}` must be a table of one row per row of the evaluation; got shape "
            f"{array.shape}."
        )
    table = array[:, None] if array.ndim == 1 else array
    return pd.DataFrame(table, columns=[f"x{k}" for k in range(table.shape[1])])


def _encode(argument: str, name: str, values: pd.Series) -> tuple[FloatArray, list[str]]:
    """Return a column as numbers, or one indicator for each of its words, and these words."""
    column = as_column(f"{argument}[{name!r}]", values)
    is_category = isinstance(values.dtype, pd.CategoricalDtype)
    numbers = None if is_category else as_numbers(f"{argument}[{name!r}]", column)
    bad = column.is_missing if numbers is None else ~np.isfinite(numbers)
    if bad.any():
        where = int(np.argmax(bad))
        found = "nan" if column.is_missing[where] else column.values[where]
        raise ValueError(
            f"`{argument}` must hold no missing and no infinite values; column {name!r} has "
            f"{found} at row {where} ({int(bad.sum())} such values). Fill them in, and add a "
            "column that says where."
        )
    if numbers is not None:
        return numbers[:, None], []
    try:
        codes, levels = pd.factorize(column.values)
    except TypeError:
        raise TypeError(
            f"`{argument}` must hold one number or word per cell; column {name!r} holds "
            "collections."
        ) from None
    if len(levels) > MOST_LEVELS:
        raise ValueError(
            f"`{argument}` must hold at most {MOST_LEVELS} different words per column; column "
            f"{name!r} has {len(levels):,}. Group them, or pass numbers."
        )
    words = np.array([str(level) for level in levels], dtype=object)
    sorted_words = np.unique(words)
    return (words[codes][:, None] == sorted_words).astype(np.float64), sorted_words.tolist()


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
    if model is not None:
        _check_model(model)
    if time is None and folds > len(target):
        raise ValueError(
            f"`n_folds` must be at most the number of rows, {len(target)}; got {folds}. Lower it."
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
        if not test.any():
            continue  # more folds than rows of a kind
        learned = order[(train & is_known)[order]]
        ready = fresh_copy(model, generator)
        with filters_kept():
            p[test] = _fit_predict(
                ready, X[learned], target[learned], evaluation.count[learned], X[test]
            )
    return p


def _check_model(model: Any) -> None:
    is_class = isinstance(model, type)
    if is_class or not (hasattr(model, "predict_proba") and hasattr(model, "get_params")):
        found = f"the class {model.__name__}" if is_class else type(model).__name__
        raise TypeError(
            f"`model` must be a scikit-learn classifier with `predict_proba`; got {found}."
        )


def _canonical_order(X: FloatArray, evaluation: EvaluationSet, target: FloatArray) -> IntArray:
    score = np.zeros(len(target)) if evaluation.y_score is None else evaluation.y_score
    keys = [*X.T, score, evaluation.y_pred, np.nan_to_num(target, nan=2.0), evaluation.count]
    return np.lexsort(keys)


def _standardize(X: FloatArray) -> FloatArray:
    top = np.abs(X).max(axis=0)
    X = X / np.where(top > 1e100, top, 1.0)  # squares would overflow
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
    p = np.asarray(model.predict_proba(X_test), dtype=np.float64)
    is_table = p.shape == (len(X_test), len(model.classes_))
    if not is_table or not ((p >= 0) & (p <= 1 + 1e-9)).all():
        raise ValueError(
            f"`model` must give a probability in [0, 1] per row and class; the `predict_proba` of "
            f"{type(model).__name__} does not."
        )
    return np.minimum(p[:, list(model.classes_).index(1)], 1.0)
