"""Verdicts: what one judge answered about rated items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from labelbayes._checks import IntArray
from labelbayes.data.answers import (
    CHOICE,
    IS_ERRORED,
    IS_UNPARSEABLE,
    MISSING,
    SET,
    as_cells,
    read_answers,
)
from labelbayes.data.ratings import Ratings


@dataclass(frozen=True, eq=False)
class Verdicts:
    """One answer of a judge for each item.

    Parameters
    ----------
    choice : ndarray of int, shape (n_items,)
        Place of the option; -1 where the verdict is missing.
    n_scored, n_unparseable, n_errored, n_missing : int
        Verdicts that are an option; that came but could not be read; that never came because
        something broke; of which nothing is said.
    """

    choice: IntArray
    n_scored: int
    n_unparseable: int
    n_errored: int
    n_missing: int


def read_verdicts(name: str, y_judge: object, ratings: Ratings) -> Verdicts:
    """Return a judge's verdicts, one per item.

    Parameters
    ----------
    name : str
        Argument name.
    y_judge : array_like, shape (n_items,), or Series or mapping by item
        Options; missing, "unparseable" and "errored" as in `Ratings`. An array is in the order
        of ``ratings.items``; a Series is looked up by its index.
    ratings : Ratings
        Items and options.

    Returns
    -------
    Verdicts
        Verdicts and what is missing.

    Raises
    ------
    ValueError
        If there is not one per item, or one is no option.

    Examples
    --------
    >>> ratings = Ratings([7, 7, 8, 8], ["ann", "bob"] * 2, ["yes", "no", "no", None])
    >>> read_verdicts("y_judge", {8: "no", 7: "errored"}, ratings).choice.tolist()
    [-1, 0]
    """
    if isinstance(y_judge, (pd.Series, Mapping)):
        cells = _look_up(name, y_judge, ratings)
    else:
        cells = as_cells(name, y_judge, per="item")
    if len(cells) != ratings.n_items:
        raise ValueError(
            f"`{name}` must have one verdict per item; got {len(cells)} for {ratings.n_items} "
            "items. Write None where a verdict is missing."
        )
    read = read_answers(name, cells, ratings.options)
    if (n_sets := read.n_in(SET)) > 0:
        raise ValueError(
            f"`{name}` must hold one option per item; got a set at position "
            f"{int(np.argmax(read.state == SET))} ({n_sets} in all). Let the judge choose one."
        )
    states = (CHOICE, IS_UNPARSEABLE, IS_ERRORED, MISSING)
    return Verdicts(read.choice, *(read.n_in(state) for state in states))


def _look_up(name: str, y_judge: Any, ratings: Ratings) -> list[Any]:
    if isinstance(y_judge, pd.Series):
        if not y_judge.index.is_unique:
            twice = y_judge.index[y_judge.index.duplicated()][0]
            raise ValueError(f"`{name}` must hold each item once; got {twice!r} twice.")
        y_judge = dict(zip(y_judge.index.tolist(), as_cells(name, y_judge), strict=True))
    absent = [item for item in ratings.items if item not in y_judge]
    if absent:
        raise ValueError(
            f"`{name}` must hold a verdict for every item; {absent[0]!r} is not in its index "
            f"({len(absent)} in all). Write None where a verdict is missing, or pass a list in "
            "the order of `ratings.items`."
        )
    known = set(ratings.items)
    unknown = [item for item in y_judge if item not in known]
    if unknown:
        raise ValueError(
            f"`{name}` must hold items that were rated; got {unknown[0]!r} ({len(unknown)} in "
            "all). Leave them out."
        )
    return [y_judge[item] for item in ratings.items]
