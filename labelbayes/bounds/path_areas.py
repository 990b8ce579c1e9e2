"""Areas under the ROC and precision-recall curves of a path, in closed form over the blocks."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from labelbayes._checks import FloatArray, IntArray
from labelbayes.bounds.score_blocks import ScoreBlocks


class Kinks(NamedTuple):
    """Where, in each run, a path turns from its steep part to its level part or back.

    Attributes
    ----------
    at, above, below : ndarray of float
        Unlabeled rows down to the turn, and to the scores just above and just below it; all the
        same where the turn is at a score.
    place : ndarray of int
        How many distinct scores lie above the turn.
    """

    at: FloatArray
    above: FloatArray
    below: FloatArray
    place: IntArray


def find_kinks(blocks: ScoreBlocks, latent: FloatArray, *, early: bool) -> Kinks:
    """Return the turns of a path.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    latent : ndarray of float, shape (n_blocks + 1,)
        Latent positives down to the end of each block.
    early : bool
        Whether the positives of a run stand at its top (greatest path) or bottom (least path).

    Returns
    -------
    Kinks
        One turn a run.
    """
    run = blocks.run
    gained = latent[run + 1] - latent[run]
    at = blocks.unlabeled[run] + gained if early else blocks.unlabeled[run + 1] - gained
    if not len(run):
        return Kinks(at, at, at, run)
    if len(blocks.score_unlabeled) == blocks.rank[-1] + 1:
        # Without ties every count of rows is a score.
        place = blocks.run_start + (at - blocks.unlabeled[run]).astype(np.int64)
        return Kinks(at, at, at, place)
    place = np.searchsorted(blocks.score_unlabeled, at, side="right") - 1
    # Labeled rows below a run repeat its last count.
    place = np.clip(place, blocks.run_start, blocks.run_stop)
    above = blocks.score_unlabeled[place]
    after = np.minimum(place + 1, blocks.run_stop)
    return Kinks(at, above, np.where(above < at, blocks.score_unlabeled[after], above), place)


def rank_integral(blocks: ScoreBlocks, latent: FloatArray, kinks: Kinks, *, early: bool) -> float:
    """Return the area under true positives as a function of rank, ties joined by straight lines.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    latent : ndarray of float, shape (n_blocks + 1,)
        Latent positives down to the end of each block.
    kinks : Kinks
        From `find_kinks`.
    early : bool
        As there.

    Returns
    -------
    float
        With N positives among n rows, the ROC area is (integral - N^2 / 2) / (N (n - N)).
    """
    positive, run = blocks.known_positive + latent, blocks.run
    total = float(np.diff(blocks.rank) @ (positive[1:] + positive[:-1])) / 2
    # Against the chord over the run: a triangle, less the one that ties at the kink cut off.
    gain = latent[run + 1] - latent[run]
    level = blocks.rank[run + 1] - blocks.rank[run] - gain
    bend = float((gain * level - (kinks.at - kinks.above) * (kinks.below - kinks.at)).sum()) / 2
    return total + bend if early else total - bend


def roc_area(integral: float, n_positive: FloatArray, n: int) -> FloatArray:
    """Return the ROC area from the integral over ranks.

    Parameters
    ----------
    integral : float
        From `rank_integral`.
    n_positive : ndarray of float
        Positives.
    n : int
        Rows.

    Returns
    -------
    ndarray of float
        nan where one class is empty.
    """
    pairs = np.asarray(n_positive * (n - n_positive), dtype=np.float64)
    has_both = pairs > 0
    area = (integral - n_positive**2 / 2) / np.where(has_both, pairs, 1.0)
    return np.where(has_both, area, np.nan)


def least_precision_sum(blocks: ScoreBlocks, latent: FloatArray, kinks: Kinks) -> float:
    """Return a lower limit of the sum of precisions at the positives, for all paths above one.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    latent : ndarray of float, shape (n_blocks + 1,)
        The least path.
    kinks : Kinks
        Its turns.

    Returns
    -------
    float
        Average precision is at least this over the number of positives.

    Notes
    -----
    On a higher path the i-th positive stands no lower. At the same score it has the precision
    TP_j / r_j of the least path or more, at a higher one at least i / r_(j-1). Each positive is
    given the smaller of the two; without ties they are the precision itself.
    """
    positive, rank = blocks.known_positive + latent, blocks.rank
    one, run = blocks.single, blocks.run
    total = _sum_smaller(
        positive[one], positive[one + 1], rank[one], 0.0, positive[one + 1] / rank[one + 1]
    )
    first, top = positive[run], rank[run] - blocks.unlabeled[run]
    placed = kinks.below - kinks.at
    at_kink = np.maximum(top + kinks.below, 1)
    total += _sum_smaller(first, first + placed, top + kinks.above, 0.0, (first + placed) / at_kink)
    # Below the kink every row is positive: precision is 1 - false positives / rank.
    start = kinks.place + (kinks.below > kinks.above)
    total += float((blocks.unlabeled[run + 1] - kinks.below).sum())
    return total - _sum_lost(blocks, start, blocks.run_stop, rank[run + 1] - positive[run + 1])


def greatest_precision_sum(blocks: ScoreBlocks, latent: FloatArray, kinks: Kinks) -> float:
    """Return an upper limit of the sum of precisions at the positives, for all paths below one.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    latent : ndarray of float, shape (n_blocks + 1,)
        The greatest path.
    kinks : Kinks
        Its turns.

    Returns
    -------
    float
        Average precision is at most this over the number of positives.

    Notes
    -----
    On a lower path the i-th positive stands no higher, so its precision is at most the largest
    TP_k / r_k of the greatest path from there on, and at most (i - 1) / r_j plus the largest share
    that the rows of one score can add.
    """
    positive, rank = blocks.known_positive + latent, blocks.rank
    one, run = blocks.single, blocks.run
    # In a run precision is largest where its last positive stands.
    reached = rank[1:].copy()
    reached[run] = np.maximum(rank[run] + latent[run + 1] - latent[run], 1)
    best = np.maximum.accumulate((positive[1:] / reached)[::-1])[::-1]
    total = _sum_smaller(
        positive[one] - 1, positive[one + 1] - 1, rank[one + 1], blocks.best_gain[one], best[one]
    )
    # Above the kink every row is positive.
    placed = kinks.above - blocks.unlabeled[run]
    total += float(placed.sum())
    total -= _sum_lost(blocks, blocks.run_start, kinks.place, rank[run] - positive[run])
    total += float((blocks.tie_gain[kinks.place] - blocks.tie_gain[blocks.run_start]).sum())
    at_kink = np.maximum(rank[run] - blocks.unlabeled[run] + kinks.below, 1)
    first = positive[run] + placed - 1
    last = first + kinks.at - kinks.above
    return total + _sum_smaller(first, last, at_kink, blocks.best_gain[run], best[run])


def precision_sum(blocks: ScoreBlocks, latent: FloatArray) -> float:
    """Return the sum of precisions at the positives of one labeling.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    latent : ndarray of float, shape (n_blocks + 1,)
        Its latent positives; in each run none or all of the rows.

    Returns
    -------
    float
        Average precision is this over the number of positives; nan where a run has some.
    """
    positive, rank, run = blocks.known_positive + latent, blocks.rank, blocks.run
    gained, width = np.diff(positive), np.diff(rank)
    if ((gained[run] > 0) & (gained[run] < width[run])).any():
        return math.nan
    one, full = blocks.single, gained[run] > 0
    total = float((gained[one] * positive[one + 1] / rank[one + 1]).sum())
    start, stop, run = blocks.run_start[full], blocks.run_stop[full], run[full]
    lost = (rank[run] - positive[run]) * (blocks.harmonic[stop] - blocks.harmonic[start])
    return total + float((gained[run] - lost).sum())


def _sum_lost(blocks: ScoreBlocks, start: IntArray, stop: IntArray, n_wrong: FloatArray) -> float:
    """Sum how far precision lies below 1 at the positives of stretches that hold nothing else.

    Rows of one score count one after the other, each at the rank of the last of them.
    """
    lost = n_wrong * (blocks.harmonic[stop] - blocks.harmonic[start])
    return float((lost + (blocks.tie_loss[stop] - blocks.tie_loss[start]) / 2).sum())


def _sum_smaller(
    after: FloatArray,
    last: FloatArray,
    slope: FloatArray,
    shift: FloatArray | float,
    limit: FloatArray,
) -> float:
    """Sum min(i / slope + shift, limit) over the whole i with after < i <= last, over all entries.

    A slope of 0 stands for no first term.
    """
    if not len(limit):
        return 0.0
    divisor = np.maximum(slope, 1)
    turn = np.clip(np.floor((limit - shift) * divisor), after, last)
    turn = np.where(slope > 0, turn, after)
    below = (turn * (turn + 1) - after * (after + 1)) / (2 * divisor) + shift * (turn - after)
    return float((below + limit * (last - turn)).sum())
