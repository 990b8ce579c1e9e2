"""Labels of missing rows that were drawn at random and looked at."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelbayes._checks import BoolArray, FloatArray
from labelbayes.data.columns import as_column


def read_audit(audited: npt.ArrayLike, is_labeled: BoolArray) -> FloatArray:
    """Return audited labels as 1, 0 and nan.

    Parameters
    ----------
    audited : array_like, shape (n_rows,)
        1, 0 or missing, in any container.
    is_labeled : ndarray of bool, shape (n_rows,)
        Rows that had a label before the audit.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        Labels; nan where nothing was audited.

    Raises
    ------
    ValueError
        If the shape differs, a value is no label, a row had a label already, or there is none.

    Examples
    --------
    >>> read_audit([None, 1, None], np.array([True, False, False]))
    array([nan,  1., nan])
    """
    column = as_column("audited", audited)
    if len(column) != len(is_labeled):
        raise ValueError(
            f"`audited` must hold a label or nan per row, shape ({len(is_labeled)},); got "
            f"({len(column)},)."
        )
    given = ~column.is_missing
    labels = np.full(len(column), np.nan)
    for row in np.flatnonzero(given):
        value = column.values[row : row + 1].tolist()[0]
        if isinstance(value, (str, bytes)) or value not in (0, 1):
            raise ValueError(
                f"`audited` must hold 1 (positive), 0 (negative) or nan; got {value!r} at row "
                f"{row}. Code it as `EvaluationSet.y_true` is."
            )
        labels[row] = float(value)
    if not given.any():
        raise ValueError("`audited` must hold a label somewhere; got none. Leave it out.")
    again = given & is_labeled
    if again.any():
        first = int(np.argmax(again))
        raise ValueError(
            f"`audited` must be nan on labeled rows; got {labels[first]:g} at row {first} "
            f"({int(again.sum())} such rows). An audit is of missing rows."
        )
    return labels
