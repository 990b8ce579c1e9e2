"""Answers of raters: one option, a set of options, or none and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from labelbayes._checks import BoolArray, IntArray, listed
from labelbayes.data.labels import Label, read_label

#: Words for a verdict that came but could not be read, and for one that never came because
#: something broke. A missing cell says neither.
UNPARSEABLE, ERRORED = "unparseable", "errored"

#: State of an answer.
CHOICE, SET, MISSING, IS_UNPARSEABLE, IS_ERRORED = range(5)
_WORDS = {UNPARSEABLE: IS_UNPARSEABLE, ERRORED: IS_ERRORED}


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers in the terms of their options.

    Parameters
    ----------
    state : ndarray of int, shape (n,)
        0 one option, 1 a set, 2 missing, 3 unparseable, 4 errored.
    choice : ndarray of int, shape (n,)
        Place of the option; -1 where the answer is not one option.
    members : ndarray of bool, shape (n_sets, n_options)
        Options in each set, in the order of the answers.
    """

    state: IntArray
    choice: IntArray
    members: BoolArray

    def n_in(self, state: int) -> int:
        """Return how many answers are in a state.

        Parameters
        ----------
        state : int
            As in `state`.

        Returns
        -------
        int
            Their number.
        """
        return int((self.state == state).sum())


def as_cells(name: str, values: object, *, per: str = "rating") -> list[Any]:
    """Return the cells of any one-dimensional container, sets among them.

    Parameters
    ----------
    name : str
        Argument name.
    values : array_like, shape (n,)
        List, tuple, array (masked too), Series or Arrow array.
    per : str, default "rating"
        What each value belongs to, for the sentence of an error.

    Returns
    -------
    list
        Its cells; a masked one is None.

    Raises
    ------
    TypeError
        If `values` is no ordered, one-dimensional collection.
    """
    is_bad = isinstance(values, (str, bytes, Mapping, Set, pd.DataFrame))
    if is_bad or not isinstance(values, Iterable):
        raise TypeError(
            f"`{name}` must be a list or array of one value per {per}; got {type(values).__name__}."
        )
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return list(values.to_pylist())
    if isinstance(values, (np.ndarray, pd.Series, pd.Index)) and values.dtype.kind not in "mM":
        if values.ndim != 1:
            raise TypeError(
                f"`{name}` must be one-dimensional, one value per {per}; got shape {values.shape}."
            )
        # Plain numbers, and None where an array is masked.
        return list(values.tolist())
    return [None if cell is np.ma.masked else cell for cell in values]


def is_missing(cell: Any) -> bool:
    """Return whether a cell is None, nan, NA or NaT.

    Parameters
    ----------
    cell : object
        Any value; a collection is not missing.

    Returns
    -------
    bool
        True where it says nothing.
    """
    return bool(pd.api.types.is_scalar(cell) and pd.isna(cell))


def read_options(options: object) -> tuple[Label, ...]:
    """Return the options that were named.

    Parameters
    ----------
    options : sequence
        At least two, all different.

    Returns
    -------
    tuple of labels
        In the order given; ``1``, ``1.0`` and ``"1"`` are the same option.

    Raises
    ------
    TypeError
        If it is no sequence.
    ValueError
        If there are fewer than two, one is named twice, or one is a word for a missing verdict.
    """
    found = tuple(read_label(option) for option in as_cells("options", options))
    for k, option in enumerate(found):
        if option in found[:k]:
            raise ValueError(f"`options` must name each option once; got {option!r} twice.")
        if isinstance(option, str) and option.casefold() in _WORDS:
            raise ValueError(
                f"`options` must not hold {option!r}, which says that there is no verdict. Give "
                "that option another name."
            )
    if len(found) < 2:
        raise ValueError(
            f"`options` must name at least two options; got {len(found)}. Name all that raters "
            "could choose."
        )
    return found


def find_options(cells: Sequence[Any]) -> tuple[Label, ...]:
    """Return the options that stand in the answers, in the order of their names.

    Parameters
    ----------
    cells : sequence
        Answers.

    Returns
    -------
    tuple of labels
        Numbers first.

    Raises
    ------
    ValueError
        If there are fewer than two.
    """
    found: set[Label] = set()
    seen: set[str] = set()
    for cell in cells:
        if isinstance(cell, str):
            if cell in seen:
                continue
            seen.add(cell)
        if _is_collection(cell):
            found.update(read_label(option) for option in cell if not is_missing(option))
        elif not is_missing(cell) and _word(label := read_label(cell)) is None:
            found.add(label)
    if len(found) < 2:
        shown = f"only {next(iter(found))!r}" if found else "none"
        raise ValueError(
            f"`options` must name what raters could choose where the answers do not show it; got "
            f"{shown} in `answer`. Pass e.g. `options=['A', 'B']`."
        )
    return tuple(sorted(found, key=lambda label: (isinstance(label, str), label)))


def read_answers(name: str, cells: Sequence[Any], options: Sequence[Label]) -> Answers:
    """Return answers in the terms of the options.

    Parameters
    ----------
    name : str
        Argument name.
    cells : sequence
        An option, a collection of options, a missing cell, "unparseable" or "errored" each.
    options : sequence of labels
        What could be chosen.

    Returns
    -------
    Answers
        States, choices and sets.

    Raises
    ------
    ValueError
        If an answer is no option or a set is empty; names the first.
    """
    place = {option: k for k, option in enumerate(options)}
    state = np.full(len(cells), MISSING)
    choice = np.full(len(cells), -1)
    members: list[BoolArray] = []
    seen: dict[str, tuple[int, int]] = {}
    for i, cell in enumerate(cells):
        if isinstance(cell, str) and cell in seen:
            state[i], choice[i] = seen[cell]
            continue
        if is_missing(cell):
            continue
        if _is_collection(cell):
            chosen = [_place(name, option, place, i, cells) for option in cell]
            if not chosen:
                raise ValueError(
                    f"`{name}` must not hold an empty set; got one at position {i}. If no option "
                    "is valid make that an option; if there is no answer write None."
                )
            row = np.zeros(len(options), dtype=bool)
            row[chosen] = True
            members.append(row)
            state[i] = SET
            continue
        word = _word(read_label(cell))
        state[i] = CHOICE if word is None else word
        choice[i] = _place(name, cell, place, i, cells) if word is None else -1
        if isinstance(cell, str):
            seen[cell] = int(state[i]), int(choice[i])
    shape = (len(members), len(options))
    return Answers(state, choice, np.array(members, dtype=bool).reshape(shape))


def _is_collection(cell: object) -> bool:
    return pd.api.types.is_list_like(cell)


def _word(label: Label) -> int | None:
    return _WORDS.get(label.casefold()) if isinstance(label, str) else None


def _place(
    name: str, cell: object, place: Mapping[Label, int], position: int, cells: Sequence[Any]
) -> int:
    label = None if is_missing(cell) else read_label(cell)
    if label is None or label not in place:
        raise ValueError(
            f"`{name}` must hold options, {listed(list(place))}; got {cell!r} at position "
            f"{position} of {len(cells):,}. Add it to `options`, or write {UNPARSEABLE!r} for a "
            "verdict that could not be read."
        )
    return place[label]
