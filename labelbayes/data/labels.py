"""Labels as people write them -> 1 (positive), 0 (negative) and nan (missing)."""

from __future__ import annotations

import numbers
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from labelbayes._checks import FloatArray, IntArray, listed
from labelbayes.data.columns import Column, Int8Array, distinct

#: A label after reading: a number if it can be read as one, else a word.
Label = int | float | str

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)

# Words by which files usually say that an answer is still to come; only ever suggested.
_LIKELY_MISSING: tuple[Label, ...] = (
    *("pending", "unknown", "n/a", "na", "null", "none", "open", "unlabeled", "missing", "?", ""),
    *(-1, -9, -99, 9, 99, 999),
)


def read_label(value: Any) -> Label:
    """Return a label such that ``1``, ``1.0``, ``True``, ``"1"`` and ``"true"`` are the same.

    Parameters
    ----------
    value : object
        A cell of a label column, or what `missing` or `pos_label` names.

    Returns
    -------
    int, float or str
        Whole numbers as int (exact, however large), other numbers as float, words without
        the blanks around them.

    Examples
    --------
    >>> [read_label(value) for value in (True, "-1", "1.0", 0.7, " yes ")]
    [1, -1, 1, 0.7, 'yes']
    """
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return int(value)
    if isinstance(value, (numbers.Real, Decimal)):
        number: Any = value
        is_whole = np.isfinite(float(number)) and number == int(number)
        return int(number) if is_whole else float(number)
    text = str(value).strip()
    if _NUMBER.fullmatch(text) and len(text) < 400:
        exact = Decimal(text)
        return int(exact) if exact == int(exact) else float(exact)
    return {"true": 1, "false": 0}.get(text.lower(), text)


def read_sentinels(missing: Any) -> tuple[Label, ...]:
    """Return the labels that say "missing", from one value or a collection of them.

    Parameters
    ----------
    missing : scalar, collection or None
        Sentinels; nan and None need no naming.

    Returns
    -------
    tuple of labels
        As `read_label` reads them.

    Raises
    ------
    TypeError
        If one of them is a collection itself.
    """
    sentinels = list(missing) if pd.api.types.is_list_like(missing) else [missing]
    for value in sentinels:
        if pd.api.types.is_list_like(value):
            raise TypeError(
                "`missing` must be one label or a flat collection of labels; got "
                f"{type(value).__name__} {value!r} in it. Pass e.g. `missing=(-1, 'pending')`."
            )
    return tuple(read_label(value) for value in sentinels if not pd.isna(value))


@dataclass(frozen=True, eq=False)
class CodedLabels:
    """A label column as codes into its distinct labels.

    Parameters
    ----------
    codes : ndarray of int, shape (n_rows,)
        Index into `labels`; -1 where the label is missing.
    labels : tuple of labels
        Distinct labels, numbers first, in ascending order.
    unused : tuple of labels
        Sentinels that stand nowhere in the column.
    """

    codes: IntArray
    labels: tuple[Label, ...]
    unused: tuple[Label, ...]

    def first(self, label: Label) -> str:
        """Say where a label stands first and how often it occurs.

        Parameters
        ----------
        label : int, float or str
            One of `labels`.

        Returns
        -------
        str
            For instance ``"at position 3 (5 in all)"``.
        """
        is_label = self.codes == self.labels.index(label)
        return f"at position {int(np.argmax(is_label))} ({int(is_label.sum())} in all)"


def code_labels(name: str, column: Column, sentinels: tuple[Label, ...]) -> CodedLabels:
    """Find the distinct labels of a column.

    Parameters
    ----------
    name : str
        Argument name.
    column : Column
        Labels of any type.
    sentinels : tuple of labels
        Labels that say "missing".

    Returns
    -------
    CodedLabels
        Codes and labels.

    Raises
    ------
    TypeError
        If a cell holds a collection instead of a label.
    ValueError
        If a label is a number strictly between 0 and 1.
    """
    try:
        raw_codes, uniques = distinct(column.values)
    except TypeError as error:
        raise TypeError(f"`{name}` must hold one label per row; got {error}.") from error
    raw_codes = np.where(column.is_missing, -1, raw_codes)
    is_present = np.bincount(raw_codes + 1, minlength=len(uniques) + 1)[1:] > 0
    read = [read_label(value) if is_present[i] else None for i, value in enumerate(uniques)]
    found = {label for label in read if label is not None}
    labels = tuple(sorted(found.difference(sentinels), key=_rank))
    index = {label: code for code, label in enumerate(labels)}
    lookup = np.array([-1 if label is None else index.get(label, -1) for label in read] + [-1])
    unused = tuple(label for label in dict.fromkeys(sentinels) if label not in found)
    coded = CodedLabels(lookup[raw_codes], labels, unused)
    soft = [label for label in labels if isinstance(label, float) and 0 < label < 1]
    if soft:
        raise ValueError(_soft_sentence(name, soft[0], coded.first(soft[0])))
    return coded


def _rank(label: Label) -> tuple[bool, int | float, str]:
    return (True, 0, label) if isinstance(label, str) else (False, label, "")


def _soft_sentence(name: str, label: float, where: str) -> str:
    if name == "y_pred":
        return (
            f"`y_pred` must hold decisions; got {label!r} {where}. Pass scores as `y_score`, with "
            "a `threshold`."
        )
    return (
        f"`{name}` must hold hard labels; got {label!r} {where}. Soft labels are not hard labels "
        "and are never rounded: set those rows to nan here and pass the soft labels as their "
        "probabilities, `impute(evaluation, soft_labels)`."
    )


def find_positive(
    pos_label: Any,
    y_true: CodedLabels,
    y_pred: CodedLabels | None,
    sentinels: tuple[Label, ...],
) -> tuple[Label, tuple[str, ...]]:
    """Find which label is the positive one; never guess.

    Parameters
    ----------
    pos_label : scalar or None
        What the caller said.
    y_true : CodedLabels
        Labels.
    y_pred : CodedLabels or None
        Decisions, in the same labels.
    sentinels : tuple of labels
        Labels that say "missing"; the positive one cannot be among them.

    Returns
    -------
    label : int, float or str
        The positive label.
    notes : tuple of str
        What the caller should know.

    Raises
    ------
    ValueError
        If there are more than two labels, or the positive one is not clear.
    """
    labels = tuple(sorted({*y_true.labels, *(y_pred.labels if y_pred else ())}, key=_rank))
    name = "y_true" if y_pred is None or len(y_true.labels) > 2 else "y_true` and `y_pred"
    if len(labels) > 2:
        raise ValueError(_many_sentence(name, labels, y_true.labels, pos_label))
    kinds = [{isinstance(label, str) for label in c.labels} for c in (y_true, y_pred) if c]
    if len(kinds) == 2 and all(kinds) and not kinds[0] & kinds[1]:
        others = [label for label in labels if label not in y_true.labels]
        raise ValueError(
            f"`y_pred` must use the labels of `y_true`; got {listed(others)} where `y_true` holds "
            f"{listed(y_true.labels)}. Write both with the same words or numbers."
        )
    if pos_label is None:
        for who, coded in (("y_true", y_true), ("y_pred", y_pred)):
            if coded is not None and -1 in coded.labels:
                raise ValueError(
                    f"`{who}` holds -1 {coded.first(-1)}: pass `missing=-1` if it marks a missing "
                    "label, or `pos_label=1` if it is the negative label."
                )
        if not set(labels) <= {0, 1}:
            raise ValueError(
                f"`pos_label` must say which label is the positive one; `y_true` holds "
                f"{listed(labels)}. Pass e.g. `pos_label={labels[-1]!r}`."
            )
        return 1, ()
    if pd.isna(pos_label):
        raise ValueError(f"`pos_label` must be a label; got {pos_label!r}.")
    positive = read_label(pos_label)
    if positive in sentinels:
        raise ValueError(
            f"`pos_label` must not be among `missing`; got {pos_label!r} in both. Keep one of them."
        )
    if positive in labels or not labels:
        return positive, ()
    near = [label for label in labels if str(label).casefold() == str(positive).casefold()]
    if len(labels) == 2 or near:
        raise ValueError(
            f"`pos_label` must be one of the labels, {listed(labels)}; got {pos_label!r}. "
            "Spell it as it stands there."
        )
    note = f"The positive label {positive!r} never occurs: every label known is {labels[0]!r}."
    return positive, (note,)


def _many_sentence(
    name: str, labels: tuple[Label, ...], of_true: tuple[Label, ...], pos_label: object
) -> str:
    text = f"`{name}` must hold two labels beside missing ones; got {len(labels)}: {listed(labels)}"
    if len(of_true) <= 2:
        return f"{text}. Pass `y_pred` in the labels of `y_true`."
    others = [label for label in of_true if pos_label is None or label != read_label(pos_label)]
    likely = next((label for label in others if _folded(label) in _LIKELY_MISSING), others[-1])
    return (
        f"{text}. If one of them marks a missing label say so, e.g. `missing={likely!r}`; "
        "otherwise merge them into two, e.g. `y_true == positive`."
    )


def _folded(label: Label) -> Label:
    return label.casefold() if isinstance(label, str) else label


def as_binary(coded: CodedLabels, positive: Label) -> FloatArray:
    """Return labels as numbers.

    Parameters
    ----------
    coded : CodedLabels
        Labels.
    positive : int, float or str
        The positive label.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        1 positive, 0 negative, nan missing.
    """
    values = [float(label == positive) for label in coded.labels]
    return np.array([*values, np.nan])[coded.codes]


def read_labels(
    y_true: Column, y_pred: Column | None, *, pos_label: object, missing: object
) -> tuple[FloatArray, Int8Array | None, tuple[str, ...]]:
    """Read labels and decisions, which share one positive label.

    Parameters
    ----------
    y_true : Column
        Labels.
    y_pred : Column or None
        Decisions, in the labels of `y_true`.
    pos_label : scalar or None
        The positive label.
    missing : scalar, collection or None
        Labels that say "missing".

    Returns
    -------
    y_true : ndarray of float, shape (n_rows,)
        1, 0, or nan where the label is missing.
    y_pred : ndarray of int8, shape (n_rows,), or None
        1 or 0.
    notes : tuple of str
        What the caller should know.

    Raises
    ------
    TypeError
        If `pos_label` is a collection, or `missing` a nested one.
    ValueError
        If a decision is missing, or labels are soft, more than two, or not clearly positive.
    """
    sentinels = read_sentinels(missing)
    if pd.api.types.is_list_like(pos_label):
        raise TypeError(
            f"`pos_label` must be one label; got {type(pos_label).__name__} {pos_label!r}."
        )
    true = code_labels("y_true", y_true, sentinels)
    pred = None if y_pred is None else code_labels("y_pred", y_pred, sentinels)
    if pred is not None and (pred.codes < 0).any():
        is_absent = pred.codes < 0
        raise ValueError(
            f"`y_pred` must be complete; it is missing at position {int(np.argmax(is_absent))} "
            f"({int(is_absent.sum())} in all). Drop those rows or decide them."
        )
    positive, notes = find_positive(pos_label, true, pred, sentinels)
    unused = tuple(
        f"`missing` names {label!r}, which stands nowhere in `y_true`: is it spelled as there?"
        for label in true.unused
    )
    decisions = None if pred is None else as_binary(pred, positive).astype(np.int8)
    return as_binary(true, positive), decisions, (*unused, *notes)
