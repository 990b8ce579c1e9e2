"""Cells of text -> numbers: percent signs and decimal commas are read right or refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from labelbayes._checks import FloatArray
from labelbayes.data.columns import LARGEST_EXACT

_POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d{1,3})?", re.ASCII)
# "1,234" can be a thousand or one and a bit; "0,234" and "1234,567" cannot.
_WHOLE = re.compile(r"[+-]?\d+(\.0*)?\s*%?", re.ASCII)
_MAYBE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)


def read_numbers(cells: Sequence[str] | pd.Series) -> tuple[FloatArray, str]:
    """Read a column of text as numbers, exactly or not at all.

    Plain numbers (``0.92``, ``9.2e-1``) need no comment. Where every cell has a percent sign it
    is divided by 100, and where the commas can only be decimal commas they are read as such.
    Thousands marks, and columns that mix two ways of writing, are refused.

    Parameters
    ----------
    cells : sequence or Series of str, length n
        Text without blanks around it, no cell empty.

    Returns
    -------
    numbers : ndarray of float, shape (n,)
        What the cells say.
    note : str
        How they were read, as the end of a sentence; empty if nothing is to be said.

    Raises
    ------
    BadCell
        If a cell cannot be read, with its place and the reason.

    Examples
    --------
    >>> read_numbers(["92%", "8%"])
    (array([0.92, 0.08]), 'percent signs were read as hundredths (92% is 0.92)')
    """
    text = pa.array(cells, type=pa.string())
    plain = _cast(text)
    if plain is not None:
        _refuse_lost(text, plain)
        return plain, ""
    if pc.all(pc.ends_with(text, "%")).as_py():
        # The exponent shifts the point before rounding, so that 92% is the float 0.92 itself.
        hundredths = _cast(pc.replace_substring_regex(text, r"\s*%$", "e-2"))
        if hundredths is not None:
            _refuse_lost(text, hundredths)
            return hundredths, _percent_note(text[0].as_py(), hundredths[0])
    return _read_cells(np.asarray(cells, dtype=object))


def _cast(text: pa.Array) -> FloatArray | None:
    """Read plain numbers by Arrow's parser, a hundred times faster; None if a cell is none."""
    try:
        numbers: FloatArray = pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _refuse_lost(cells: pa.Array | npt.NDArray[np.object_], values: FloatArray) -> None:
    """Raise where a whole number was rounded: different scores would become ties."""
    for where in np.flatnonzero(np.abs(values) >= LARGEST_EXACT):
        cell = str(cells[where])
        exact = Decimal(cell.rstrip("% ")) if _WHOLE.fullmatch(cell) else None
        if exact is not None and cell.endswith("%"):
            exact = exact.scaleb(-2)
        if exact is not None and exact != Decimal(float(values[where])):
            raise BadCell(
                int(where),
                cell,
                "a float cannot hold it, above 2^53",
                remedy="Pass its rank, or a score in a smaller unit.",
            )


def _percent_note(cell: str, value: float) -> str:
    return f"percent signs were read as hundredths ({cell} is {value:g})"


def _read_cells(cells: npt.NDArray[np.object_]) -> tuple[FloatArray, str]:
    """Read each distinct cell, with commas, or find the one that cannot be read."""
    codes, uniques = pd.factorize(cells)
    is_percent = np.array([cell.endswith("%") for cell in uniques])
    bare = [cell.removesuffix("%").rstrip() for cell in uniques]
    has_comma = np.array([_COMMA.fullmatch(cell) is not None for cell in bare])
    is_whole = np.array([_POINT.fullmatch(cell) is not None and "." not in cell for cell in bare])
    # Commas are decimal only where no cell has a point, and one of them can be nothing else.
    is_certain = any(
        is_comma and not _MAYBE_THOUSANDS.fullmatch(cell)
        for cell, is_comma in zip(bare, has_comma, strict=True)
    )
    is_decimal_comma = bool((has_comma | is_whole).all()) and is_certain
    is_all_percent = bool(is_percent.all())
    values = np.empty(len(uniques))
    for k, cell in enumerate(bare):
        text = cell.replace(",", ".") if is_decimal_comma else cell
        is_mixed = bool(is_percent[k]) and not is_all_percent
        if is_mixed or _POINT.fullmatch(text) is None:
            raise BadCell(int(np.argmax(codes == k)), str(uniques[k]), _reason(cell, is_mixed))
        values[k] = float(Decimal(text).scaleb(-2)) if is_all_percent else float(text)
    notes = []
    if is_all_percent:
        notes.append(_percent_note(uniques[0], values[0]))
    if is_decimal_comma:
        shown = int(np.argmax(has_comma))
        notes.append(f"commas were read as decimal commas ({uniques[shown]} is {values[shown]:g})")
    numbers = values[codes]
    _refuse_lost(cells, numbers)
    return numbers, " and ".join(notes)


def _reason(cell: str, is_mixed: bool) -> str:
    if is_mixed:
        return "other cells have no percent sign"
    if _MAYBE_THOUSANDS.fullmatch(cell):
        return "its comma can be a decimal comma or a thousands mark"
    if _COMMA.fullmatch(cell):
        return "it has a decimal comma and other cells have a point"
    if _POINT.fullmatch(re.sub(r"[\s'_.,]", "", cell)):
        return "it looks like a number with thousands marks"
    return "it is no number"


class BadCell(ValueError):
    """A cell that is no number.

    Parameters
    ----------
    position : int
        Place in the column, from 0.
    cell : str
        Its text.
    reason : str
        Why it was refused, as the end of a sentence.
    remedy : str
        What to do instead, a full sentence.
    """

    def __init__(
        self,
        position: int,
        cell: str,
        reason: str,
        *,
        remedy: str = "Write it as a plain number with a decimal point.",
    ) -> None:
        super().__init__(f"{cell!r} at position {position}: {reason}")
        self.position = position
        self.cell = cell
        self.reason = reason
        self.remedy = remedy
