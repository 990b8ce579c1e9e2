"""Missing rows in rank order, equal ones put together, and the rates that a belief gives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from labelbayes._checks import BoolArray, FloatArray, IntArray, read_only
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.missing_counts import check_made_from
from labelbayes.laws.ranked_rows import RankedRows


@dataclass(frozen=True, eq=False, repr=False)
class MissingCells:
    """Missing rows by descending score; rows that nothing tells apart form one cell.

    Parameters
    ----------
    step : ndarray of int, shape (k,)
        Step of the ranking of each cell, ascending.
    is_positive : ndarray of bool, shape (k,)
        Whether its rows are predicted positive.
    count : ndarray of int, shape (k,)
        Its rows, multiplicities counted.
    bin : ndarray of int, shape (k,)
        Which rate its labels have.
    row : ndarray of int, shape (k,)
        Position in the evaluation of one of its rows.
    n_bins : int
        Number of rates.
    """

    step: IntArray
    is_positive: BoolArray
    count: IntArray
    bin: IntArray
    row: IntArray
    n_bins: int

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle or deep copy; NumPy forgets there that arrays are read-only."""
        for name, value in state.items():
            kept = read_only(value) if isinstance(value, np.ndarray) else value
            object.__setattr__(self, name, kept)


@dataclass(frozen=True, eq=False)
class Fits:
    """The ways a belief could have come out, each as likely as every other.

    Parameters
    ----------
    n_fits : int
        How many.
    rates : callable
        ``rates(i)`` -> P(y = 1) of each bin of the cells under fit i, shape (n_bins,).
    """

    n_fits: int
    rates: Callable[[int], FloatArray]

    def told(self, which: IntArray) -> Callable[..., tuple[IntArray, Callable[[int], FloatArray]]]:
        """Return rates of draws whose fits are told, as where several samplers share them.

        Parameters
        ----------
        which : ndarray of int, shape (n_draws,)
            Fit of each draw.

        Returns
        -------
        callable
            ``rates(n, rng)`` -> fit of each draw, and the rates of a fit.
        """
        return lambda *_: (which, self.rates)


def cells_of(
    ranked: RankedRows, evaluation: EvaluationSet, bin_index: npt.NDArray[Any]
) -> MissingCells:
    """Put missing rows of one step, decision and bin together.

    Parameters
    ----------
    ranked : RankedRows
        Rows by score.
    evaluation : EvaluationSet
        The same rows: their decisions.
    bin_index : ndarray of int, shape (n_rows,)
        Which rate each row has; read on missing rows only.

    Returns
    -------
    MissingCells
        Cells whose `bin` is that of their rows.

    Examples
    --------
    >>> evaluation = EvaluationSet([None, None, 1, None], [0.9, 0.9, 0.9, 0.2])
    >>> cells = cells_of(RankedRows.from_evaluation(evaluation), evaluation, np.zeros(4, int))
    >>> cells.step.tolist(), cells.count.tolist()
    ([0, 1], [2, 1])
    """
    key = bin_index[ranked.row]
    order, starts = _group(ranked, evaluation, key, merge=True)
    n_bins = int(key.max()) + 1 if len(key) else 0
    return _cells(ranked, evaluation, order, starts, key[order[starts]], n_bins)


def cells_and_fits(
    ranked: RankedRows, evaluation: EvaluationSet, imputation: Imputation
) -> tuple[MissingCells, Fits]:
    """Return the missing rows in cells, and their rates under each fit of a belief.

    Parameters
    ----------
    ranked : RankedRows
        Rows by score.
    evaluation : EvaluationSet
        The same rows.
    imputation : Imputation
        Belief about them. Refits stand for the fit where there are some.

    Returns
    -------
    tuple of MissingCells and Fits
        Cells, and the rates of their bins.

    Raises
    ------
    ValueError
        If the imputation was made for other rows or scores.
    """
    check_made_from(evaluation, imputation)
    if imputation.bin_index is not None and imputation.bin_values is not None:
        cells = cells_of(ranked, evaluation, imputation.bin_index)
        values = imputation.bin_values[1:] if imputation.n_refits else imputation.bin_values
        return cells, Fits(len(values), partial(_take_fit, values[:, : cells.n_bins]))
    key = imputation.p[ranked.row]
    # Rows of one probability may part under the refits, so they stay single there.
    order, starts = _group(ranked, evaluation, key, merge=not imputation.n_refits)
    bins = np.arange(len(starts))
    cells = _cells(ranked, evaluation, order, starts, bins, len(bins))
    if imputation.n_refits:
        return cells, Fits(imputation.n_refits, partial(_take_refit, imputation, cells.row))
    of_cells = key if starts is order else key[order[starts]]
    return cells, Fits(1, partial(_take_fit, of_cells[np.newaxis]))


def _take_fit(values: FloatArray, i: int) -> FloatArray:
    return values[i]


def _take_refit(imputation: Imputation, row: IntArray, i: int) -> FloatArray:
    return imputation.refit(i)[row]


def _cells(
    ranked: RankedRows,
    evaluation: EvaluationSet,
    order: IntArray,
    starts: IntArray,
    bins: IntArray,
    n_bins: int,
) -> MissingCells:
    if starts is order:  # nothing is tied: each row is a cell where it stands
        is_positive = read_only(evaluation.y_pred[ranked.row] == 1)
        return MissingCells(
            ranked.step, is_positive, ranked.count, read_only(bins), ranked.row, n_bins
        )
    first = order[starts]
    row = ranked.row[first]
    count = ranked.count[order]
    is_single = len(starts) == len(order)
    return MissingCells(
        step=read_only(ranked.step[first]),
        is_positive=read_only(evaluation.y_pred[row] == 1),
        count=read_only(count if is_single else np.add.reduceat(count, starts)),
        bin=read_only(bins),
        row=read_only(row),
        n_bins=n_bins,
    )


def _group(
    ranked: RankedRows, evaluation: EvaluationSet, key: npt.NDArray[Any], *, merge: bool
) -> tuple[IntArray, IntArray]:
    """Order missing rows by step, decision and key, and find where each cell starts.

    Tied rows come in no order; sorted by what tells them apart they give the same cells, and so
    the same draws, whatever the order of the rows.
    """
    step = ranked.step
    order = np.arange(len(step))
    is_tied = step[1:] == step[:-1]
    if not is_tied.any():
        return order, order
    is_positive = evaluation.y_pred[ranked.row]
    parts = (key[1:] != key[:-1]) | (is_positive[1:] != is_positive[:-1])
    mixed = np.zeros(ranked.n_steps, dtype=np.bool_)
    mixed[step[1:][is_tied & parts]] = True
    if mixed.any():
        rows = np.flatnonzero(mixed[step])
        order[rows] = rows[np.lexsort((key[rows], is_positive[rows], step[rows]))]
        key, is_positive = key[order], is_positive[order]
        parts = (key[1:] != key[:-1]) | (is_positive[1:] != is_positive[:-1])
    if not merge:
        return order, np.arange(len(step))
    return order, np.concatenate([[0], 1 + np.flatnonzero(~is_tied | parts)])


def step_blocks(step: IntArray, size: int) -> list[tuple[int, int]]:
    """Cut cells in rank order into blocks of about equal size that never part a step.

    Parameters
    ----------
    step : ndarray of int, shape (k,)
        Step of each cell, ascending.
    size : int
        Cells of a block; more only where one step has more.

    Returns
    -------
    list of tuple of int
        First cell of each block, and the one past its last.

    Examples
    --------
    >>> step_blocks(np.array([0, 1, 1, 1, 2, 3]), 2)
    [(0, 1), (1, 4), (4, 6)]
    """
    blocks, start, n = [], 0, len(step)
    while start < n:
        stop = min(start + size, n)
        if stop < n and step[stop] == step[stop - 1]:
            first = int(np.searchsorted(step, step[stop], side="left"))
            last = int(np.searchsorted(step, step[stop], side="right"))
            stop = first if first > start else last
        blocks.append((start, stop))
        start = stop
    return blocks
