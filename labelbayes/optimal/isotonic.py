"""Labels in the order of their soft labels, and what is best among all increasing functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from labelbayes._checks import FloatArray, IntArray
from labelbayes.optimal.soft_labels import check_hard_labels, check_soft_labels

#: Buckets of [0, 1] in which blocks are looked up.
N_BUCKETS = 2**15


@dataclass(frozen=True, eq=False)
class RankedLabels:
    """Labels in ascending order of a score, and where neighbors may be taken together.

    A cell is a run of items that no increasing function has a reason to part: equal scores, and
    neighboring scores that all have label 0 or all have label 1. Isotonic regression is constant
    on it, and thresholds inside it are never best.

    Parameters
    ----------
    order : ndarray of int, shape (n,)
        Items from the lowest score to the highest.
    label : ndarray of float, shape (n,)
        Their labels in that order; fractions are shares of both classes.
    starts : ndarray of int, shape (n_cells,)
        First item of each cell.
    ties : ndarray of int, shape (n_groups,)
        First item of each group of equal scores.
    """

    order: IntArray
    label: FloatArray
    starts: IntArray
    ties: IntArray

    def cells(self, weight: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the weight of negative and of positive labels in each cell.

        Parameters
        ----------
        weight : ndarray of float, shape (n,), optional
            Weight of each item, in ascending order of the score; None stands for 1.

        Returns
        -------
        tuple of ndarray of float, shape (n_cells,)
            Negative and positive.
        """
        if weight is None:
            total = np.diff(self.starts, append=len(self.label)).astype(np.float64)
            positive = np.add.reduceat(self.label, self.starts)
        else:
            total = np.add.reduceat(weight, self.starts)
            positive = np.add.reduceat(weight * self.label, self.starts)
        return total - positive, positive


def rank_labels(
    score: FloatArray, label: FloatArray, rng: np.random.Generator | None = None
) -> RankedLabels:
    """Return labels in ascending order of a score.

    Parameters
    ----------
    score : ndarray of float, shape (n,)
        Soft labels.
    label : ndarray of float, shape (n,)
        Labels in [0, 1].
    rng : numpy.random.Generator, optional
        Puts items of equal scores in random order; None leaves any order.

    Returns
    -------
    RankedLabels
        Order and cells.

    Examples
    --------
    >>> rank_labels(np.array([0.3, 0.1, 0.2]), np.array([1.0, 0.0, 0.0])).starts
    array([0, 2])
    """
    order = np.argsort(score)
    ordered = score[order]
    if rng is not None:
        is_tied = ordered[1:] == ordered[:-1]
        if is_tied.any():
            group = np.concatenate(([0], np.cumsum(~is_tied)))
            order = order[np.lexsort((rng.random(len(score)), group))]
    values = label[order]
    starts, ties = _find_cells(ordered, values)
    return RankedLabels(order, values, starts, ties)


def _find_cells(ordered: FloatArray, values: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the first item of each cell and of each group of equal scores, in ascending order."""
    n = len(ordered)
    is_new = np.ones(n, dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    share, ties = values, np.arange(n)
    if not is_new.all():
        ties = np.flatnonzero(is_new)
        share = np.add.reduceat(values, ties) / np.diff(ties, append=n)
    # A mixed group stays alone; a pure one joins a neighbor of its class.
    is_start = np.ones(len(ties), dtype=bool)
    np.not_equal(share[1:], share[:-1], out=is_start[1:])
    is_start |= (share != 0) & (share != 1)
    return ties[is_start], ties


def merge_blocks(negative: FloatArray, positive: FloatArray) -> IntArray:
    """Return the first cell of each block of the isotonic fit.

    Parameters
    ----------
    negative, positive : ndarray of float, shape (n_cells,)
        Weight of both classes in cells of ascending score, of positive sum in each.

    Returns
    -------
    ndarray of int, shape (n_blocks,)
        Blocks have increasing shares of positives.

    Examples
    --------
    >>> merge_blocks(np.array([1.0, 0.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0, 1.0]))
    array([0, 1, 3])
    """
    total = negative + positive
    return isotonic_regression(positive / total, weights=total).blocks[:-1]


def fit_isotonic(soft_labels: npt.ArrayLike, y_true: npt.ArrayLike) -> FloatArray:
    """Return P(y = 1) as the increasing function of a soft label that fits hard labels best.

    Parameters
    ----------
    soft_labels : array_like of float, shape (n,)
        Soft labels in [0, 1], in any increasing distortion.
    y_true : array_like of int, shape (n,)
        Hard labels 0 and 1, none missing.

    Returns
    -------
    ndarray of float, shape (n,)
        Calibrated soft labels in the order of the items; equal where the soft labels are. Their
        mean is that of `y_true`.

    Raises
    ------
    ValueError
        If an argument is not as above, or only one class is there.

    Notes
    -----
    **Assumes** that P(y = 1 | x) is an increasing function of the soft label.

    Neighbors of one class are taken together first, which changes nothing and leaves the pool
    adjacent violators a fraction of the items.

    References
    ----------
    .. [1] R. E. Barlow, D. J. Bartholomew, J. M. Bremner, H. D. Brunk, Statistical inference under
       order restrictions, 1972.

    Examples
    --------
    >>> fit_isotonic([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    array([0. , 0.5, 0.5, 1. ])
    """
    score = check_soft_labels("soft_labels", soft_labels)
    label = check_hard_labels(y_true, len(score))
    missing = np.isnan(label)
    if missing.any():
        raise ValueError(
            f"`y_true` must have no missing labels here; got one at row {int(np.argmax(missing))} "
            f"({int(missing.sum())} in all). Leave these rows out."
        )
    # A soft label has two bits to spare: score and label are sorted as one whole number.
    key = (score + 0.0).view(np.int64) << 1
    key |= label.astype(np.int64)
    key.sort()
    ordered, values = (key >> 1).view(np.float64), (key & 1).astype(np.float64)
    starts, ties = _find_cells(ordered, values)
    first, share = _fit_blocks(RankedLabels(key, values, starts, ties))
    return share[_find_blocks(ordered[first], score)]


def _find_blocks(lowest: FloatArray, score: FloatArray) -> IntArray:
    """Return the block of each score in [0, 1], given the lowest score of each block.

    Most scores lie in a bucket that is inside one block; the others are searched for.
    """
    edges = np.arange(N_BUCKETS + 2) / N_BUCKETS
    block = np.searchsorted(lowest, edges[:-1], side="right") - 1
    is_whole = block == np.searchsorted(lowest, edges[1:], side="left") - 1
    bucket = (score * N_BUCKETS).astype(np.int64)  # exact: a power of two
    found = block[bucket]
    rest = np.flatnonzero(~is_whole[bucket])
    found[rest] = np.searchsorted(lowest, score[rest], side="right") - 1
    return found


def _fit_blocks(ranked: RankedLabels) -> tuple[IntArray, FloatArray]:
    """Return the first item of each block of the isotonic fit, and its share of positives."""
    negative, positive = ranked.cells()
    first = merge_blocks(negative, positive)
    share = np.add.reduceat(positive, first) / np.add.reduceat(negative + positive, first)
    return ranked.starts[first], share


def fit_ranked(ranked: RankedLabels) -> FloatArray:
    """Return the isotonic fit of each item, in ascending order of the score.

    Parameters
    ----------
    ranked : RankedLabels
        Labels in order.

    Returns
    -------
    ndarray of float, shape (n,)
        Non-decreasing values in [0, 1].

    Examples
    --------
    >>> fit_ranked(rank_labels(np.array([0.1, 0.2, 0.3]), np.array([1.0, 0.0, 1.0])))
    array([0.5, 0.5, 1. ])
    """
    first, share = _fit_blocks(ranked)
    return np.repeat(share, np.diff(first, append=len(ranked.label)))
