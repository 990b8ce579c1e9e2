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
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.full_columns import read_full_column

#: Inverse strength of the ridge in the default model: it keeps separable data finite and moves
#: probabilities of ordinary data in the fourth digit.
DEFAULT_C = 1e3


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
    TypeError
        If times cannot be sorted.
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
    TypeError
        If the names cannot be told apart, as collections cannot.
    """
    return None if clusters is None else _codes("clusters", clusters, n_rows)


def _codes(name: str, values: npt.ArrayLike, n_rows: int) -> IntArray:
    column = read_full_column(name, values, n_rows)
    try:
        codes, _ = pd.factorize(pd.Series(column.values), sort=True)
    except TypeError as error:
        raise TypeError(
            f"`{name}` must hold values of one kind that can be sorted, one per row; got others "
            f"({error}). Name them by text or numbers."
        ) from error
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
