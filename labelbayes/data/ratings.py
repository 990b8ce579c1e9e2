"""Ratings: what several raters answered about the same items."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from labelbayes._checks import BoolArray, FloatArray, IntArray, read_only
from labelbayes._html import table_html
from labelbayes.data.answers import (
    CHOICE,
    IS_ERRORED,
    IS_UNPARSEABLE,
    MISSING,
    SET,
    Answers,
    as_cells,
    find_options,
    is_missing,
    read_answers,
    read_options,
)
from labelbayes.data.frames import not_a_frame
from labelbayes.data.labels import Label


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Ratings:
    """Answers of several raters about the same items, each item with its own valid answers.

    Parameters
    ----------
    item, rater : array_like, shape (n_ratings,)
        Whom and what an answer belongs to; any names.
    answer : array_like, shape (n_ratings,)
        One option (a **forced choice**), a collection of options (a **response set**: all that
        the rater holds valid), or nothing: a missing cell, "unparseable" for a verdict that
        could not be read, "errored" for one that never came.
    options : sequence, optional
        What could be chosen. None stands for all options that occur; pass them where one may
        not occur, for results depend on how many there are.
    rater_group : array_like, shape (n_ratings,), optional
        Group of each rating's rater, one per rater.

    Attributes
    ----------
    items, raters : tuple
        Names, in the order of their first rating.
    options : tuple
        Options.
    item, rater : ndarray of int, shape (n_ratings,)
        Place of each rating's item and rater. All arrays are read-only.
    answers : Answers
        Answers in the terms of the options.
    rater_group : ndarray of str (object), shape (n_raters,), or None
        Group of each rater.

    Raises
    ------
    TypeError
        If a column is no collection.
    ValueError
        If lengths differ, there are no ratings, an item or rater is missing, an answer is no
        option, a set is empty, there is one rater only, a rater answers an item twice, or is in
        two groups.

    See Also
    --------
    read_ratings : The same from a table.

    Notes
    -----
    A rater may give a forced choice and a response set for the same item; such pairs say how
    people choose inside a set. Open-ended outputs are out of scope: answers come from a fixed
    list of options. ``1``, ``1.0`` and ``"1"`` are the same option, and numbers are names.

    Examples
    --------
    >>> ratings = Ratings([7, 7, 8, 8], ["ann", "bob"] * 2, ["yes", "no", "no", None])
    >>> ratings.n_scored, ratings.n_missing
    (3, 1)
    >>> ratings.counts.loc[7].tolist()
    [1, 1]
    """

    items: tuple[Hashable, ...]
    raters: tuple[Hashable, ...]
    options: tuple[Label, ...]
    item: IntArray
    rater: IntArray
    answers: Answers
    rater_group: npt.NDArray[np.object_] | None

    def __init__(
        self,
        item: object,
        rater: object,
        answer: object,
        *,
        options: object = None,
        rater_group: object = None,
    ) -> None:
        """Read the columns; see the class."""
        given = {"item": item, "rater": rater, "answer": answer}
        if rater_group is not None:
            given["rater_group"] = rater_group
        cells = {name: as_cells(name, values) for name, values in given.items()}
        _check_lengths(cells)
        items, item_code = _factorize("item", cells["item"])
        raters, rater_code = _factorize("rater", cells["rater"])
        if len(raters) < 2:
            raise ValueError(
                f"`rater` must name at least two raters; got {raters[0]!r} only. One rater's "
                "answers are labels (see EvaluationSet); people behind one name need names of "
                "their own."
            )
        named = find_options(cells["answer"]) if options is None else read_options(options)
        answers = read_answers("answer", cells["answer"], named)
        _check_once(items, raters, item_code, rater_code, answers.state)
        group = None
        if "rater_group" in cells:
            group = _group_of_rater(cells["rater_group"], rater_code, raters)
        for array in (item_code, rater_code, answers.state, answers.choice, answers.members):
            read_only(array)
        fields = {
            "items": items,
            "raters": raters,
            "options": named,
            "item": item_code,
            "rater": rater_code,
            "answers": answers,
            "rater_group": group,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle or deep copy; NumPy forgets there that arrays are read-only."""
        answers = state["answers"]
        for value in (*state.values(), answers.state, answers.choice, answers.members):
            if isinstance(value, np.ndarray):
                read_only(value)
        self.__dict__.update(state)

    @classmethod
    def from_wide(cls, frame: pd.DataFrame, *, options: object = None) -> Ratings:
        """Return the ratings of a table with a row per item and a column per rater.

        Parameters
        ----------
        frame : DataFrame
            Answers; the index names the items, the columns the raters.
        options : sequence, optional
            What could be chosen; see the class.

        Returns
        -------
        Ratings
            Empty cells are missing answers.

        Raises
        ------
        TypeError
            If `frame` is no DataFrame.
        ValueError
            If an item or rater stands there twice, or as for the class.

        Examples
        --------
        >>> table = pd.DataFrame({"ann": ["yes", "no"], "bob": ["yes", None]})
        >>> Ratings.from_wide(table).n_scored
        3
        """
        if not isinstance(frame, pd.DataFrame):
            raise not_a_frame("frame", "a pandas DataFrame", frame)
        n_items, n_raters = frame.shape
        return cls(
            [item for item in frame.index for _ in range(n_raters)],
            list(frame.columns) * n_items,
            [cell for row in frame.itertuples(index=False, name=None) for cell in row],
            options=options,
        )

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def n_options(self) -> int:
        """Number of options."""
        return len(self.options)

    @property
    def n_scored(self) -> int:
        """Number of answers that are an option or a set."""
        return self.answers.n_in(CHOICE) + self.answers.n_in(SET)

    @property
    def n_unparseable(self) -> int:
        """Number of answers that came but could not be read."""
        return self.answers.n_in(IS_UNPARSEABLE)

    @property
    def n_errored(self) -> int:
        """Number of answers that never came because something broke."""
        return self.answers.n_in(IS_ERRORED)

    @property
    def n_missing(self) -> int:
        """Number of empty cells, of which nothing is said."""
        return self.answers.n_in(MISSING)

    @cached_property
    def count_array(self) -> IntArray:
        """Forced choices by item and option, shape (n_items, n_options)."""
        is_choice = self.answers.state == CHOICE
        cell = self.item[is_choice] * self.n_options + self.answers.choice[is_choice]
        total = np.bincount(cell, minlength=self.n_items * self.n_options)
        return read_only(total.reshape(self.n_items, self.n_options))

    @property
    def counts(self) -> pd.DataFrame:
        """Forced choices by item (rows) and option (columns)."""
        return self._frame(self.count_array, np.arange(self.n_items))

    @property
    def shares(self) -> pd.DataFrame:
        """Shares of forced choices by item (rows) and option: a 2-1 split is 2/3, never a 1.

        nan where an item has no forced choice.
        """
        total = self.count_array.sum(axis=1, keepdims=True)
        values = np.where(total > 0, self.count_array / np.maximum(total, 1), np.nan)
        return self._frame(values, np.arange(self.n_items))

    @cached_property
    def has_set(self) -> BoolArray:
        """Whether a response set was elicited for each item, shape (n_items,)."""
        found = np.zeros(self.n_items, dtype=bool)
        found[self.item[self.answers.state == SET]] = True
        return read_only(found)

    @cached_property
    def set_array(self) -> BoolArray:
        """Options in at least one response set, shape (n_items, n_options); see `has_set`."""
        found = np.zeros((self.n_items, self.n_options), dtype=bool)
        np.logical_or.at(found, self.item[self.answers.state == SET], self.answers.members)
        return read_only(found)

    @property
    def response_sets(self) -> pd.DataFrame:
        """Valid options of the items whose response sets were elicited.

        An option is valid where at least one rater holds it valid: a valid answer is right under
        at least one reasonable reading.
        """
        rows = np.flatnonzero(self.has_set)
        return self._frame(self.set_array[rows], rows)

    @cached_property
    def gold(self) -> IntArray:
        """Place of the option chosen most often, shape (n_items,); -1 where tied or none."""
        counts = self.count_array
        most = counts.max(axis=1)
        is_clear = (counts == most[:, None]).sum(axis=1) == 1
        return read_only(np.where(is_clear & (most > 0), counts.argmax(axis=1), -1))

    def units(self) -> FloatArray:
        """Return forced choices with a row per item and a column per rater.

        Returns
        -------
        ndarray of float, shape (n_items, n_raters)
            Place of the option; nan where there is no forced choice.
        """
        table = np.full((self.n_items, len(self.raters)), np.nan)
        is_choice = self.answers.state == CHOICE
        table[self.item[is_choice], self.rater[is_choice]] = self.answers.choice[is_choice]
        return table

    def _frame(self, values: npt.NDArray[Any], rows: IntArray) -> pd.DataFrame:
        index = pd.Index([self.items[i] for i in rows], name="item", tupleize_cols=False)
        return pd.DataFrame(values, index=index, columns=pd.Index(self.options, name="option"))

    def __repr__(self) -> str:
        """Return sizes and what is missing on one line."""
        return (
            f"Ratings({self.n_items:,} items, {len(self.raters):,} raters, {self.n_options} "
            f"options; {self.n_scored:,} scored, {self.n_unparseable:,} unparseable, "
            f"{self.n_errored:,} errored, {self.n_missing:,} missing)"
        )

    def _repr_html_(self) -> str:
        rows = [
            ["one option", f"{self.answers.n_in(CHOICE):,}"],
            ["response set", f"{self.answers.n_in(SET):,}"],
            ["unparseable", f"{self.n_unparseable:,}"],
            ["errored", f"{self.n_errored:,}"],
            ["missing", f"{self.n_missing:,}"],
        ]
        caption = f"{self.n_items:,} items, {len(self.raters):,} raters, {self.n_options} options"
        return table_html(["answer", "ratings"], rows, caption=caption)


def _check_lengths(cells: Mapping[str, list[Any]]) -> None:
    n_ratings = len(cells["item"])
    for name, values in cells.items():
        if len(values) != n_ratings:
            raise ValueError(
                f"`{name}` must have one value per rating; got {len(values)} for {n_ratings} in "
                "`item`."
            )
    if not n_ratings:
        raise ValueError("`item` has no rows; ratings need at least one.")


def _factorize(name: str, cells: list[Any]) -> tuple[tuple[Hashable, ...], IntArray]:
    column = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells):
        if not isinstance(cell, (str, int)):
            if is_missing(cell):
                raise ValueError(f"`{name}` must be complete; it is missing at position {i}.")
            if pd.api.types.is_list_like(cell):
                raise ValueError(
                    f"`{name}` must hold one name per rating; got {cell!r} at position {i}."
                )
        column[i] = cell
    codes, names = pd.factorize(column)
    return tuple(names), codes.astype(np.int64)


def _check_once(
    items: tuple[Hashable, ...],
    raters: tuple[Hashable, ...],
    item: IntArray,
    rater: IntArray,
    state: IntArray,
) -> None:
    key = (item * len(raters) + rater) * 2 + (state == SET)
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(np.diff(key[order]) == 0)
    if len(again):
        first, second = (int(order[again[0] + step]) for step in (0, 1))
        raise ValueError(
            f"`answer` must hold each rater's answer to an item once; got rater "
            f"{raters[rater[first]]!r} twice for item {items[item[first]]!r}, at positions "
            f"{first} and {second}. Drop one, or name repeats as raters of their own."
        )


def _group_of_rater(
    cells: list[Any], rater: IntArray, raters: tuple[Hashable, ...]
) -> npt.NDArray[np.object_]:
    names, code = _factorize("rater_group", cells)
    first = np.full(len(raters), -1)
    first[rater[::-1]] = code[::-1]
    is_other = code != first[rater]
    if is_other.any():
        i = int(np.argmax(is_other))
        raise ValueError(
            f"`rater_group` must give each rater one group; got {names[code[i]]!r} for rater "
            f"{raters[rater[i]]!r} at position {i}, after {names[first[rater[i]]]!r}."
        )
    group = np.empty(len(raters), dtype=object)
    group[:] = [str(names[code_]) for code_ in first]
    return group
