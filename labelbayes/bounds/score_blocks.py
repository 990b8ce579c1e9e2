"""Rows by falling score, cut into blocks: all that bounds over labelings need to know of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.data.evaluation_set import EvaluationSet

#: Up to this many distinct scores every one is a block of its own.
FEW_SCORES = 20_000
#: Kinds of rows.
NEGATIVE, POSITIVE, UNLABELED = 0, 1, 2


@dataclass(frozen=True, eq=False)
class ScoreBlocks:
    """Distinct scores in falling order, cut into blocks.

    A block is one distinct score, or a run of scores that only unlabeled rows have. Within a run
    the band on the known positives does not move, so a path of greatest or least counts has a
    closed form there, and the cost of a path is that of the labeled rows.

    Parameters
    ----------
    score : ndarray of float, shape (n_blocks,)
        Lowest score of each block, falling: the cutoff that its last rows reach.
    known_positive, known_negative, unlabeled : ndarray of int, shape (n_blocks + 1,)
        Rows down to the end of each block, 0 first.
    first_unlabeled : ndarray of float, shape (n_blocks,)
        Unlabeled rows down to the first distinct score of each block.
    rank : ndarray of float, shape (n_blocks + 1,)
        All rows down to the end of each block, 0 first.
    run, single : ndarray of int
        Places of the blocks that have several distinct scores, and of the others.
    run_start, run_stop : ndarray of int
        Of each run, how many distinct scores lie above it, and above its end.
    best_gain : ndarray of float, shape (n_blocks,)
        Largest share of possible positives in the rows of one score over all rows down to it,
        among the scores of this block and below.
    score_unlabeled : ndarray of float, shape (n_scores + 1,)
        Unlabeled rows down to each distinct score, 0 first; empty without runs.
    harmonic : ndarray of float, shape (n_scores + 1,)
        Sum of unlabeled rows over rank, down to each distinct score.
    tie_loss : ndarray of float, shape (n_scores + 1,)
        Sum of u (u - 1) / rank, for u unlabeled rows of one score.
    tie_gain : ndarray of float, shape (n_scores + 1,)
        Sum of u (best gain - 1 / rank).
    """

    score: FloatArray
    known_positive: IntArray
    known_negative: IntArray
    unlabeled: IntArray
    first_unlabeled: FloatArray
    rank: FloatArray
    run: IntArray
    single: IntArray
    run_start: IntArray
    run_stop: IntArray
    best_gain: FloatArray
    score_unlabeled: FloatArray
    harmonic: FloatArray
    tie_loss: FloatArray
    tie_gain: FloatArray

    @property
    def n_known_positive(self) -> int:
        """Known positives."""
        return int(self.known_positive[-1])

    @property
    def n_known_negative(self) -> int:
        """Known negatives."""
        return int(self.known_negative[-1])

    @property
    def n_unlabeled(self) -> int:
        """Rows without a label."""
        return int(self.unlabeled[-1])


def make_blocks(evaluation: EvaluationSet, *, merge_runs: bool = True) -> ScoreBlocks:
    """Sort the rows and cut them into blocks.

    Parameters
    ----------
    evaluation : EvaluationSet
        The rows; without a score the decision stands for it.
    merge_runs : bool, default True
        Whether more than 20,000 distinct scores are merged into runs where no row is labeled.

    Returns
    -------
    ScoreBlocks
        The blocks; the same whatever the order of the rows.

    Examples
    --------
    >>> blocks = make_blocks(EvaluationSet([1, None, 0, None], [0.9, 0.9, 0.5, 0.2]))
    >>> blocks.score, blocks.unlabeled
    (array([0.9, 0.5, 0.2]), array([0, 1, 1, 2]))
    """
    score = evaluation.y_score
    if score is None:
        score = evaluation.y_pred.astype(np.float64)
    order = np.argsort(score)[::-1]
    kind = _kinds(evaluation)[order]
    weight = None if evaluation.n == evaluation.n_rows else evaluation.count[order]
    score = score[order]
    del order
    last = _last_of_each(score)
    has_ties = len(last) < len(kind)
    running = _running(kind == UNLABELED, weight)
    if has_ties:
        running = running[_from_zero(last + 1)]
    unlabeled, rank = running[1:], _ranks(last, weight)
    labeled = [_labeled_down_to(kind, value, weight) for value in (POSITIVE, NEGATIVE)]
    is_end = np.ones(len(last), dtype=bool)
    if merge_runs and len(last) > FEW_SCORES:
        is_labeled = np.diff(rank - unlabeled, prepend=0.0) > 0 if has_ties else kind != UNLABELED
        is_end = is_labeled.copy()
        is_end[:-1] |= is_labeled[1:]
        is_end[-1] = True
    end = np.flatnonzero(is_end)
    start = np.concatenate([[0], end[:-1] + 1])
    columns = [_from_zero(count(last[end])) for count in labeled]
    gain = _best_gain(kind, last, weight, rank)
    run = np.flatnonzero(end > start)
    return ScoreBlocks(
        score[last[end]],
        columns[0],
        columns[1],
        _from_zero(unlabeled[end].astype(np.int64)),
        first_unlabeled=unlabeled[start],
        rank=np.concatenate([[0.0], rank[end]]),
        run=run,
        single=np.flatnonzero(end == start),
        run_start=start[run],
        run_stop=end[run] + 1,
        best_gain=gain[start],
        **_score_sums(running, rank, gain, has_runs=len(run) > 0),
    )


def _kinds(evaluation: EvaluationSet) -> npt.NDArray[np.int8]:
    kind = np.full(evaluation.n_rows, UNLABELED, dtype=np.int8)
    is_labeled = evaluation.is_labeled
    kind[is_labeled] = evaluation.y_true[is_labeled]
    return kind


def _last_of_each(score: FloatArray) -> IntArray:
    """Return the place of the last row of each distinct score."""
    is_last = np.empty(len(score), dtype=bool)
    np.not_equal(score[1:], score[:-1], out=is_last[:-1])
    is_last[-1] = True
    return np.flatnonzero(is_last)


def _running(is_kind: BoolArray, weight: IntArray | None) -> FloatArray:
    """Return the rows of a kind from the top down to each row, 0 first."""
    total = np.zeros(len(is_kind) + 1)
    np.cumsum(is_kind if weight is None else is_kind * weight, out=total[1:])
    return total


def _ranks(last: IntArray, weight: IntArray | None) -> FloatArray:
    """Return all rows from the top down to the last of each score."""
    rows = last + 1 if weight is None else np.cumsum(weight)[last]
    return rows.astype(np.float64)


def _labeled_down_to(
    kind: npt.NDArray[np.int8], wanted: int, weight: IntArray | None
) -> Callable[[IntArray], IntArray]:
    """Return a function that counts the few labeled rows of a kind down to given places."""
    place = np.flatnonzero(kind == wanted)
    rows = np.ones(len(place), dtype=np.int64) if weight is None else weight[place]
    total = _from_zero(np.cumsum(rows))
    return lambda until: total[np.searchsorted(place, until, side="right")]


def _from_zero(column: IntArray) -> IntArray:
    return np.concatenate([[0], column])


def _best_gain(
    kind: npt.NDArray[np.int8], last: IntArray, weight: IntArray | None, rank: FloatArray
) -> FloatArray:
    """Return the largest share that the possible positives of one score have in all rows so far.

    Of each score and those below.
    """
    is_possible = kind != NEGATIVE
    possible = is_possible if weight is None else is_possible * weight
    if len(last) < len(kind):
        possible = np.add.reduceat(possible, _from_zero(last[:-1] + 1), dtype=np.int64)
    each: FloatArray = np.divide(possible, rank)
    backward = each[::-1]
    np.maximum.accumulate(backward, out=backward)
    return each


def _score_sums(
    running: FloatArray, rank: FloatArray, gain: FloatArray, *, has_runs: bool
) -> dict[str, FloatArray]:
    """Return what is summed over the distinct scores of a run, from the top."""
    names = ("score_unlabeled", "harmonic", "tie_loss", "tie_gain")
    if not has_runs:
        return dict.fromkeys(names, np.empty(0))
    each = np.diff(running)
    sums = dict.fromkeys(names, np.zeros(len(running)))
    sums["score_unlabeled"] = running
    # Without ties both others stay zero.
    if rank[-1] > len(rank):
        sums["tie_loss"] = _cumulate(each * (each - 1) / rank)
        sums["tie_gain"] = _cumulate(each * (gain - 1 / rank))
    each /= rank
    return sums | {"harmonic": _cumulate(each)}


def _cumulate(terms: FloatArray) -> FloatArray:
    total = np.empty(len(terms) + 1)
    total[0] = 0.0
    np.cumsum(terms, out=total[1:])
    return total
