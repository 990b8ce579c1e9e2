"""Rows sorted once by score, for every ranking metric: distinct scores, known labels, midranks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelbayes._checks import FloatArray, IntArray, read_only
from labelbayes.data.evaluation_set import EvaluationSet


@dataclass(frozen=True, eq=False, repr=False)
class RankedRows:
    """Rows by descending score. A step is a distinct score: tied rows share one.

    Parameters
    ----------
    n : int
        Rows, multiplicities counted.
    score : ndarray of float, shape (n_steps,)
        Distinct scores, descending.
    step_count : ndarray of int, shape (n_steps,)
        Rows at each step, multiplicities counted, as below.
    known_positive, known_negative : ndarray of int, shape (n_steps,)
        Labeled rows at each step, by label.
    row : ndarray of int, shape (n_missing,)
        Position in the evaluation of each row without a label, by descending score; among tied
        rows in no order.
    step : ndarray of int, shape (n_missing,)
        Step of each of these rows.
    count : ndarray of int, shape (n_missing,)
        Multiplicity of each of these rows.

    Notes
    -----
    Ranking metrics see scores only through their order: any increasing transformation of the
    scores gives the same steps.

    Examples
    --------
    >>> rows = RankedRows.from_evaluation(EvaluationSet([1, None, 0, None], [0.9, 0.2, 0.9, 0.4]))
    >>> rows.n_steps, rows.known_positive.tolist(), rows.row.tolist(), rows.step.tolist()
    (3, [1, 0, 0], [3, 1], [1, 2])
    >>> rows.midrank.tolist()
    [2.5, 1.0, 0.0]
    """

    n: int
    score: FloatArray
    step_count: IntArray
    known_positive: IntArray
    known_negative: IntArray
    row: IntArray
    step: IntArray
    count: IntArray

    @classmethod
    def from_evaluation(cls, evaluation: EvaluationSet) -> RankedRows:
        """Sort the rows of an evaluation.

        Parameters
        ----------
        evaluation : EvaluationSet
            Scores, labels and counts.

        Returns
        -------
        RankedRows
            Its rows by descending score.

        Raises
        ------
        ValueError
            If the evaluation has no scores.
        """
        score = evaluation.y_score
        if score is None:
            raise ValueError(
                "`evaluation` must have scores to rank its rows; it has decisions only. Pass "
                "`y_score` to `EvaluationSet`, or leave ranking metrics out."
            )
        order = np.argsort(score)[::-1]
        ordered = score[order]
        # Compared and not subtracted: a difference of huge scores would overflow.
        is_last = np.append(ordered[1:] != ordered[:-1], True)
        last = np.flatnonzero(is_last)
        # One byte a row: gathered in random order, eight would fall out of the cache.
        code = (evaluation.y_true == 1.0).astype(np.int8)
        code[~evaluation.is_labeled] = -1
        code = code[order]
        is_missing, positive = code < 0, code > 0
        place = np.flatnonzero(is_missing)
        if evaluation.n == evaluation.n_rows:
            count = np.ones(len(place), dtype=np.int64)
            step_count = np.diff(last, prepend=-1)
        else:
            ordered_count = evaluation.count[order]
            count = ordered_count[place]
            step_count = _per_step(ordered_count, last)
            positive, is_missing = positive * ordered_count, is_missing * ordered_count
        known_positive = _per_step(positive, last)
        known_negative = step_count - known_positive
        known_negative -= _per_step(is_missing, last)
        is_distinct = len(last) == len(order)
        return cls(
            n=evaluation.n,
            score=read_only(ordered if is_distinct else ordered[last]),
            step_count=read_only(step_count),
            known_positive=read_only(known_positive),
            known_negative=read_only(known_negative),
            row=read_only(order[place]),
            step=read_only(place if is_distinct else (np.cumsum(is_last) - is_last)[place]),
            count=read_only(count),
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle or deep copy; NumPy forgets there that arrays are read-only."""
        for name, value in state.items():
            kept = read_only(value) if isinstance(value, np.ndarray) else value
            object.__setattr__(self, name, kept)

    @property
    def n_steps(self) -> int:
        """Number of distinct scores."""
        return len(self.score)

    @cached_property
    def n_missing(self) -> int:
        """Rows without a label, multiplicities counted."""
        return int(self.count.sum())

    @cached_property
    def n_known_positive(self) -> int:
        """Rows labeled positive."""
        return int(self.known_positive.sum())

    @cached_property
    def midrank(self) -> FloatArray:
        """Midrank of each step, shape (n_steps,): rows below it plus half its other rows.

        With R the sum of midranks of the positives and N their number, the area under the ROC
        curve is ``(R - N (N - 1) / 2) / (N (n - N))``, ties counting one half.
        """
        rows_to_here = np.cumsum(self.step_count)
        return read_only((self.n - rows_to_here) + (self.step_count - 1) / 2.0)

    @property
    def known_rank_sum(self) -> float:
        """Sum of the midranks of the rows labeled positive."""
        return float(self.midrank @ self.known_positive)

    def __repr__(self) -> str:
        """Return rows, steps and missing labels on one line."""
        return (
            f"RankedRows(n={self.n:,}, n_steps={self.n_steps:,}, n_missing={self.n_missing:,}, "
            f"n_known_positive={self.n_known_positive:,})"
        )


def _per_step(values: npt.NDArray[Any], last: IntArray) -> IntArray:
    """Add up ordered values over the rows of each step, given the last row of each."""
    if len(last) == len(values):
        return values.astype(np.int64)
    return np.diff(np.cumsum(values, dtype=np.int64)[last], prepend=0)
