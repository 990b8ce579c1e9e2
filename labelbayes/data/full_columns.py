"""Columns with a value in every row: clusters, which belong together, and times."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelbayes.data.columns import Column, as_column

#: What to do about a row without a value.
_REMEDIES = {
    "clusters": "Give a row that is alone a cluster of its own.",
    "time": "Fill it in, or leave out the rows without one.",
}


def read_full_column(name: str, values: npt.ArrayLike, n_rows: int) -> Column:
    """Return a column that says something of every row.

    Parameters
    ----------
    name : {"clusters", "time"}
        Argument name.
    values : array_like, shape (n_rows,)
        Names, numbers or times, none missing.
    n_rows : int
        Rows expected.

    Returns
    -------
    Column
        Its values.

    Raises
    ------
    ValueError
        If the length is wrong, or a value is missing; names the first.
    TypeError
        If `values` is no list or array.

    Examples
    --------
    >>> read_full_column("clusters", ["a", "b", "a"], 3).values.tolist()
    ['a', 'b', 'a']
    """
    column = as_column(name, values)
    if len(column) != n_rows:
        raise ValueError(
            f"`{name}` must hold one value per row of the evaluation, {n_rows}; got {len(column)}."
        )
    if column.is_missing.any():
        raise ValueError(
            f"`{name}` must not be missing; it is at row {int(np.argmax(column.is_missing))} "
            f"({int(column.is_missing.sum())} such rows). {_REMEDIES[name]}"
        )
    return column
