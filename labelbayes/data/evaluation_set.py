"""EvaluationSet: labels, scores and decisions of a classifier, some labels missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from labelbayes._checks import BoolArray, FloatArray, IntArray, check_real, read_only
from labelbayes._html import table_html
from labelbayes.data.columns import (
    MISSING_GROUP,
    Int8Array,
    as_column,
    as_counts,
    as_groups,
    as_scores,
    check_same_rows,
)
from labelbayes.data.cutoffs import decide
from labelbayes.data.group_parts import GroupParts
from labelbayes.data.labels import read_labels
from labelbayes.data.notes import describe_decisions, describe_labels, describe_scores


@dataclass(frozen=True)
class Counts:
    """What is known of the confusion matrix, and how many labels are missing in each column.

    Parameters
    ----------
    tp, fp, fn, tn : int
        Labeled rows by label and decision, at least 0.
    unlabeled_predicted_positive, unlabeled_predicted_negative : int
        Rows without a label, by decision, at least 0.

    Examples
    --------
    >>> Counts(2, 1, 1, 4, 2, 2).n_labeled
    8
    """

    tp: int
    fp: int
    fn: int
    tn: int
    unlabeled_predicted_positive: int
    unlabeled_predicted_negative: int

    @property
    def n_labeled(self) -> int:
        """Number of labeled rows."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return self.unlabeled_predicted_positive + self.unlabeled_predicted_negative


@dataclass(frozen=True, eq=False, init=False, repr=False)
class EvaluationSet:
    """Rows that a classifier decided, with the labels that are known.

    Parameters
    ----------
    y_true : array_like, shape (n_rows,)
        Labels. nan, None, NA and masked values are missing; so is what `missing` names.
        0 and 1 (also False and True, also as text) need no more words; other labels need
        `pos_label`. Exactly two labels are allowed.
    y_score : array_like of float, shape (n_rows,), optional
        Score that rises with P(positive): any finite real number, any unit.
    y_pred : array_like, shape (n_rows,), optional
        Decisions, complete, in the labels of `y_true`. Default: ``y_score >= threshold``,
        compared in the precision of `y_score` as NumPy does, whatever the container: 0.7 is
        reached by a float32 score that says 0.7.
    threshold : float, default 0.5
        In the units of `y_score`.
    pos_label : scalar, optional
        The positive label, for `y_true` and `y_pred` alike.
    missing : scalar or collection, optional
        Labels that say "missing", such as ``-1`` or ``("pending", "")``. As with `pos_label`,
        ``-1``, ``-1.0`` and ``"-1"`` name the same label.
    group : array_like, shape (n_rows,), optional
        Group of each row; rows without one form the group ``"(missing)"``.
    count : array_like of int, shape (n_rows,), optional
        Multiplicity of each row, at least 1. Default: 1.

    Attributes
    ----------
    y_true : ndarray of float, shape (n_rows,)
        1 positive, 0 negative, nan missing. All arrays are read-only copies.
    y_score : ndarray of float, shape (n_rows,), or None
        Scores, each exactly the number that was given.
    y_pred : ndarray of int8, shape (n_rows,)
        Decisions, 1 positive.
    threshold : float
        As given, or rounded to the precision of float16 or float32 scores that it decided, so
        that ``y_score >= threshold`` gives `y_pred`.
    pos_label : scalar or None
        As given.
    group : ndarray of str (object), shape (n_rows,), or None
        Group names.
    count : ndarray of int, shape (n_rows,)
        Multiplicities.

    Raises
    ------
    TypeError
        If a column is no collection, or holds something that is no number where one must be.
    ValueError
        If there are no rows, lengths or indexes differ, a score or decision is missing, labels
        are soft or more than two, or it is not clear which label is positive.

    See Also
    --------
    read_evaluation : The same from a DataFrame, CSV or Parquet file.

    Notes
    -----
    **Assumes** that rows are paired by position. Nothing is guessed: scores that rank the wrong
    way are reported in `notes`, never flipped. Positions in errors count from 0.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, 1, None], [0.9, 0.2, 0.7, 0.4, 0.1])
    >>> evaluation.n_labeled, evaluation.n_unlabeled
    (3, 2)
    >>> evaluation.counts.unlabeled_predicted_positive
    1
    """

    y_true: FloatArray
    y_score: FloatArray | None
    y_pred: Int8Array
    threshold: float
    pos_label: object
    group: npt.NDArray[np.object_] | None
    count: IntArray
    _said: tuple[str, ...] = field(default=())
    _is_thresholded: bool = field(default=False)
    #: In which the scores came: a cutoff is rounded to it.
    _precision: np.dtype[np.floating] = field(default=np.dtype(np.float64))

    def __init__(
        self,
        y_true: npt.ArrayLike,
        y_score: npt.ArrayLike | None = None,
        *,
        y_pred: npt.ArrayLike | None = None,
        threshold: float = 0.5,
        pos_label: object = None,
        missing: object = None,
        group: npt.ArrayLike | None = None,
        count: npt.ArrayLike | None = None,
    ) -> None:
        """Read the columns; see the class."""
        threshold = check_real("threshold", threshold)
        given: dict[str, object] = {"y_true": y_true}
        optional = {"y_score": y_score, "y_pred": y_pred, "group": group, "count": count}
        given.update({name: value for name, value in optional.items() if value is not None})
        if y_score is None and y_pred is None:
            raise ValueError(
                "`y_score` or `y_pred` must be given; without a score or a decision there is "
                "nothing to evaluate."
            )
        columns = {name: as_column(name, value) for name, value in given.items()}
        check_same_rows(given, columns)
        labels, decisions, said = read_labels(
            columns["y_true"], columns.get("y_pred"), pos_label=pos_label, missing=missing
        )
        scores, precision = None, np.dtype(np.float64)
        if "y_score" in columns:
            given_scores = as_scores("y_score", columns["y_score"])
            scores, precision = np.array(given_scores, dtype=np.float64), given_scores.dtype
        if decisions is None:
            assert scores is not None
            decisions, threshold = decide(scores, threshold, precision)
        n_rows = len(labels)
        self._fill(
            y_true=labels,
            y_score=scores,
            y_pred=decisions,
            threshold=threshold,
            pos_label=pos_label,
            group=as_groups(columns["group"]) if "group" in columns else None,
            count=(
                as_counts("count", columns["count"])
                if "count" in columns
                else np.ones(n_rows, dtype=np.int64)
            ),
            _said=said,
            _is_thresholded="y_pred" not in columns,
            _precision=precision,
        )

    def _fill(self, **fields: Any) -> None:
        for name, value in fields.items():
            frozen = read_only(value) if isinstance(value, np.ndarray) else value
            object.__setattr__(self, name, frozen)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle or deep copy; NumPy forgets there that arrays are read-only."""
        self._fill(**state)

    def _take(
        self, rows: IntArray, y_true: FloatArray | None = None, count: IntArray | None = None
    ) -> EvaluationSet:
        """Return the rows at `rows`, with other labels or multiplicities where they are given."""
        return self._with(
            y_true=self.y_true[rows] if y_true is None else y_true,
            y_score=None if self.y_score is None else self.y_score[rows],
            y_pred=self.y_pred[rows],
            group=None if self.group is None else self.group[rows],
            count=self.count[rows] if count is None else count,
            _said=(),
        )

    def _with(self, **changes: Any) -> EvaluationSet:
        """Return the same rows with some fields changed; the read-only arrays are shared."""
        changed = object.__new__(EvaluationSet)
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        changed._fill(**{**fields, **changes})
        return changed

    def _cut_at(self, threshold: float) -> EvaluationSet:
        """Return the same rows, which must have scores, with the decisions of another cutoff."""
        assert self.y_score is not None  # the caller asks before
        decisions, cutoff = decide(self.y_score, threshold, self._precision)
        return self._with(y_pred=decisions, threshold=cutoff, _is_thresholded=True)

    @property
    def n_rows(self) -> int:
        """Number of rows, multiplicities not counted."""
        return len(self.y_true)

    @cached_property
    def n(self) -> int:
        """Number of rows, multiplicities counted."""
        return int(self.count.sum())

    @property
    def n_labeled(self) -> int:
        """Number of labeled rows, multiplicities counted."""
        return self.counts.n_labeled

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label, multiplicities counted."""
        return self.counts.n_unlabeled

    @cached_property
    def is_labeled(self) -> BoolArray:
        """Where the label is known, shape (n_rows,)."""
        return read_only(~np.isnan(self.y_true))

    @cached_property
    def counts(self) -> Counts:
        """Counts of rows by label and decision, multiplicities counted."""
        label = np.where(self.is_labeled, self.y_true, 2).astype(np.int8)
        cells = 3 * self.y_pred + label
        # Weights make floats, yet exact ones: `count` adds up to at most 2^53.
        weights = None if self.n == self.n_rows else self.count
        totals: npt.NDArray[Any] = np.bincount(cells, weights=weights, minlength=6)
        tn, fn, unlabeled_negative, fp, tp, unlabeled_positive = (int(total) for total in totals)
        return Counts(tp, fp, fn, tn, unlabeled_positive, unlabeled_negative)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What was noticed in the data, one sentence each; found when first asked for."""
        counts = self.counts
        n_positive, n_negative = counts.tp + counts.fn, counts.fp + counts.tn
        threshold = self.threshold if self._is_thresholded else None
        notes = [
            *self._said,
            *describe_labels(n_positive, n_negative, counts.n_unlabeled),
            *describe_decisions(self.y_pred, self.y_score, threshold),
        ]
        if self.y_score is not None:
            notes += describe_scores(
                self.y_true, self.y_score, self.y_pred, self.count, self.threshold
            )
        return tuple(notes)

    def with_notes(self, notes: tuple[str, ...]) -> EvaluationSet:
        """Return the same rows with notes put before those that the data give.

        Parameters
        ----------
        notes : tuple of str
            Full sentences, for instance how a file was read.

        Returns
        -------
        EvaluationSet
            It shares the read-only arrays.

        Examples
        --------
        >>> EvaluationSet([1, 0], [0.9, 0.2]).with_notes(("Read twice.",)).notes
        ('Read twice.',)
        """
        return self._with(_said=(*notes, *self._said))

    def subset(self, mask: npt.ArrayLike) -> EvaluationSet:
        """Return the rows where `mask` is true.

        Parameters
        ----------
        mask : array_like of bool, shape (n_rows,)
            At least one true value.

        Returns
        -------
        EvaluationSet
            Those rows, in their order.

        Raises
        ------
        TypeError
            If `mask` is not boolean.
        ValueError
            If it has another length or no true value.

        Examples
        --------
        >>> evaluation = EvaluationSet([1, 0, None], [0.9, 0.2, 0.7])
        >>> evaluation.subset(evaluation.is_labeled).n
        2
        """
        wanted = np.asarray(mask)
        if wanted.dtype != np.bool_:
            raise TypeError(f"`mask` must be an array of bool; got {wanted.dtype}.")
        if wanted.shape != (self.n_rows,):
            raise ValueError(f"`mask` must have shape ({self.n_rows},); got {wanted.shape}.")
        if not wanted.any():
            raise ValueError("`mask` must be true somewhere; it leaves no rows.")
        return self._take(np.flatnonzero(wanted))

    def groups(self) -> dict[str, EvaluationSet]:
        """Return one evaluation set per group.

        Returns
        -------
        dict of str to EvaluationSet
            In the order of the names, ``"(missing)"`` last; a notebook shows it as a table.

        Raises
        ------
        ValueError
            If there is no `group`.

        Examples
        --------
        >>> evaluation = EvaluationSet([1, 0, None], [0.9, 0.2, 0.7], group=["b", "a", None])
        >>> {name: part.n for name, part in evaluation.groups().items()}
        {'a': 1, 'b': 1, '(missing)': 1}
        """
        if self.group is None:
            raise ValueError("`group` must be given to split by it; this set has none.")
        codes, names = pd.factorize(self.group, sort=True)
        rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
        named = zip(names, rows, strict=True)
        parts = GroupParts({str(name): self._take(part) for name, part in named})
        if MISSING_GROUP in parts:
            parts[MISSING_GROUP] = parts.pop(MISSING_GROUP)
        return parts

    def __repr__(self) -> str:
        """Return one line: rows, labels, counts."""
        c = self.counts
        noted = f"; {len(self.notes)} in `.notes`" if self.notes else ""
        return (
            f"EvaluationSet({self.n:,} rows: {self.n_labeled:,} labeled (tp={c.tp:,}, "
            f"fp={c.fp:,}, fn={c.fn:,}, tn={c.tn:,}), {self.n_unlabeled:,} unlabeled "
            f"(predicted positive {c.unlabeled_predicted_positive:,}, "
            f"negative {c.unlabeled_predicted_negative:,}){noted})"
        )

    def _repr_html_(self) -> str:
        c = self.counts
        cells = [
            ("predicted positive", c.tp, c.fp, c.unlabeled_predicted_positive),
            ("predicted negative", c.fn, c.tn, c.unlabeled_predicted_negative),
        ]
        return table_html(
            ("", "positive", "negative", "label missing"),
            [(name, *(f"{value:,}" for value in values)) for name, *values in cells],
            caption=f"{self.n:,} rows, {self.n_labeled:,} labeled, {self.n_unlabeled:,} unlabeled",
            notes=self.notes,
        )
