"""Paths of latent positives down the ranking: the greatest and the least that a band allows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.bounds.score_blocks import ScoreBlocks

#: A product of a fraction and a count this close to a whole number is that number.
SNAP = 1e-9


class Limits(NamedTuple):
    """Limits of the share of latent rows down to each cutoff.

    Attributes
    ----------
    low, high : ndarray of float
        In [0, 1], not falling.
    """

    low: FloatArray
    high: FloatArray


class Span(NamedTuple):
    """Neighboring numbers of latent rows, both included.

    Attributes
    ----------
    first, last : int
        Ends.
    """

    first: int
    last: int


class PathPair(NamedTuple):
    """Latent positives down to the end of each block, 0 first, at the two extremes.

    Attributes
    ----------
    least, greatest : ndarray of float, shape (n_blocks + 1,)
        Pointwise extremes.
    conflict : int
        First block at whose end no path stays within the limits; -1 where one does.
    """

    least: FloatArray
    greatest: FloatArray
    conflict: int


def snap(values: FloatArray) -> FloatArray:
    """Return values with those within 1e-9 of a whole number moved to it.

    Parameters
    ----------
    values : ndarray of float
        Fractions times counts.

    Returns
    -------
    ndarray of float
        For instance 29, where ``0.29 * 100`` is 28.999999999999996.

    Examples
    --------
    >>> np.floor(0.29 * 100), np.floor(snap(np.array(0.29 * 100)))
    (np.float64(28.0), np.float64(29.0))
    """
    whole = np.rint(values)
    return np.where(np.abs(values - whole) <= SNAP, whole, values)


def attained_paths(blocks: ScoreBlocks, first: Limits, last: Limits, span: Span) -> PathPair:
    """Return the pointwise least and greatest path between two limits; each is one labeling.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    first, last : Limits, shape (n_blocks,)
        Limits of the share of latent rows down to the end of each block, not falling, for the
        first and the last number of latent rows.
    span : Span
        Numbers of latent rows; the paths hold for all of them, and are attained for one.

    Returns
    -------
    PathPair
        Both extremes; with a conflict they mean nothing.

    Notes
    -----
    With u_j unlabeled rows at a score, paths have steps from 0 to u_j, stay within
    [ceil(low n), floor(high n)] and end at n. The greatest is min(limit, last + u) from the top
    (a running minimum of limit less unlabeled rows), the least the same from the bottom. Limits of
    counts do not fall as n grows, so both paths rise with n.
    """
    rows = blocks.unlabeled[1:].astype(np.float64)
    least_count = np.ceil(snap(first.low * span.first))
    most_count = np.floor(snap(last.high * span.last))
    greatest = rows + np.minimum(np.minimum.accumulate(most_count - rows), 0)
    # Rows further down may be too few for what is still to come.
    needed = np.maximum(least_count, span.first - (rows[-1] - rows))
    conflicts = np.flatnonzero(needed > greatest)
    # Limits of later blocks bind from their first score on.
    later = np.full(len(rows), span.first - rows[-1], dtype=np.float64)
    from_below = np.maximum.accumulate((least_count - blocks.first_unlabeled)[::-1])[::-1]
    later[:-1] = np.maximum(later[:-1], from_below[1:])
    least = rows + np.maximum(least_count - rows, later)
    return PathPair(_from_zero(least), _from_zero(greatest), conflicts[0] if len(conflicts) else -1)


def paper_paths(blocks: ScoreBlocks, first: Limits, last: Limits, span: Span) -> PathPair:
    """Return the counts of Theorem 1, cutoff by cutoff, with both of its corner cases.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows, without runs.
    first, last : Limits, shape (n_blocks,)
        Limits of the share for the first and the last number of latent rows.
    span : Span
        Numbers of latent rows.

    Returns
    -------
    PathPair
        Counts at floor(low n) and ceil(high n), moved to what the rows allow; never a conflict.
    """
    rows = blocks.unlabeled[1:].astype(np.float64)
    least = np.minimum(rows, np.floor(snap(first.low * span.first)))
    most = np.minimum(rows, np.ceil(snap(last.high * span.last)))
    left = rows[-1] - rows
    return PathPair(
        _from_zero(np.maximum(least, span.first - left)),
        _from_zero(np.maximum(most, span.last - left)),
        -1,
    )


def _from_zero(path: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], path])


def reverse_paths(blocks: ScoreBlocks, negatives: PathPair) -> PathPair:
    """Return the paths of latent positives that belong to paths of latent negatives.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    negatives : PathPair
        Paths of latent negatives.

    Returns
    -------
    PathPair
        Where there are most negatives there are fewest positives: the two ends change places.
    """
    rows = blocks.unlabeled.astype(np.float64)
    return PathPair(rows - negatives.greatest, rows - negatives.least, negatives.conflict)
