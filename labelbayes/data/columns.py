"""One column of values in any container -> a NumPy array and a mask of what is missing."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from labelbayes._checks import BoolArray, FloatArray, IntArray, listed

Int8Array = npt.NDArray[np.int8]

#: Name of the group of the rows that have none.
MISSING_GROUP = "(missing)"

# Beyond this a float64 no longer holds every whole number.
LARGEST_EXACT = 2**53

_LARGEST_FLOAT = int(np.finfo(np.float64).max)

_NUMERIC_OBJECTS = ("integer", "floating", "mixed-integer-float", "decimal", "boolean", "empty")


@dataclass(frozen=True, eq=False)
class Column:
    """Values of one column and which of them are missing.

    Parameters
    ----------
    values : ndarray, shape (n_rows,)
        Values as they were given; whatever stands at a missing row has no meaning.
    is_missing : ndarray of bool, shape (n_rows,)
        True where the value is missing: nan, None, NA, NaT or masked.
    """

    values: npt.NDArray[Any]
    is_missing: BoolArray

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)


def as_column(name: str, values: object) -> Column:
    """Return the values of any one-dimensional container, and which are missing.

    Parameters
    ----------
    name : str
        Argument name, for the sentence of an error.
    values : array_like, shape (n_rows,)
        List, tuple, NumPy array (masked too), pandas Series, Index or extension array of any
        dtype, pyarrow array. It is read, never changed.

    Returns
    -------
    Column
        Values and mask. The values may share memory with the input.

    Raises
    ------
    TypeError
        If `values` is no ordered collection.
    ValueError
        If it is not one-dimensional.
    """
    if isinstance(values, np.ma.MaskedArray):
        inner = _from_array(name, np.asarray(values.data))
        return Column(inner.values, inner.is_missing | np.ma.getmaskarray(values))
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return _from_series(name, pd.Series(values, dtype=pd.ArrowDtype(values.type)))
    if isinstance(values, pd.DataFrame):
        raise _not_flat(name, values.shape)
    if isinstance(values, pd.Series):
        return _from_series(name, values)
    if isinstance(values, (pd.Index, pd.api.extensions.ExtensionArray)):
        return _from_series(name, pd.Series(values))
    if isinstance(values, (list, tuple)):
        return _from_array(name, _from_list(name, values))
    if values is None or isinstance(values, (str, bytes, numbers.Number, Mapping, Set)):
        raise TypeError(
            f"`{name}` must be a list or array of one value per row; got {type(values).__name__}."
        )
    return _from_array(name, np.asarray(values))


def _not_flat(name: str, shape: tuple[int, ...]) -> ValueError:
    return ValueError(
        f"`{name}` must be one-dimensional, one value per row; got shape {shape}. Pass one "
        "column, e.g. `probabilities[:, 1]`."
    )


def _from_list(name: str, values: list[Any] | tuple[Any, ...]) -> npt.NDArray[Any]:
    # An object array keeps None, NA and integers above 2^53 apart from floats; NumPy's own
    # guess at a type would not.
    if values and isinstance(values[0], (list, tuple, np.ndarray)):
        raise _not_flat(name, (len(values), *np.shape(values[0])))
    array = np.empty(len(values), dtype=object)
    array[:] = [None if value is np.ma.masked else value for value in values]
    return array


def _from_array(name: str, array: npt.NDArray[Any]) -> Column:
    if array.ndim != 1:
        raise _not_flat(name, array.shape)
    kind = array.dtype.kind
    if kind in "biu":
        return Column(array, np.zeros(len(array), dtype=bool))
    if kind == "f":
        is_common = array.dtype.itemsize in (2, 4, 8)
        return Column(array if is_common else array.astype(np.float64), np.isnan(array))
    if kind in "mM":
        return Column(array, np.isnat(array))
    if kind == "c":
        raise TypeError(f"`{name}` must hold real numbers or words; got complex numbers.")
    objects = array.astype(object)
    return Column(objects, np.asarray(pd.isna(objects)))


def _from_series(name: str, series: pd.Series) -> Column:
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = series.cat.codes.to_numpy()
        categories = as_column(name, dtype.categories).values
        if len(categories) == 0:
            return Column(np.zeros(len(codes)), np.ones(len(codes), dtype=bool))
        return Column(categories[np.maximum(codes, 0)], codes < 0)
    if isinstance(dtype, np.dtype):
        return _from_array(name, series.to_numpy())
    if isinstance(dtype, pd.SparseDtype):
        return _from_array(name, np.asarray(series))
    is_missing = series.isna().to_numpy(dtype=bool)
    kind = getattr(dtype, "kind", "O")
    numpy_dtype = getattr(dtype, "numpy_dtype", None)
    if kind in "biuf" and isinstance(numpy_dtype, np.dtype):
        filled = series.array.to_numpy(dtype=numpy_dtype, na_value=numpy_dtype.type(0))
        inner = _from_array(name, np.asarray(filled))
        return Column(inner.values, inner.is_missing | is_missing)
    return Column(series.to_numpy(dtype=object), is_missing)


def check_same_rows(given: Mapping[str, object], columns: Mapping[str, Column]) -> None:
    """Raise unless all columns have the same rows.

    Parameters
    ----------
    given : mapping of str to object
        Argument name -> what was passed; Series among them must share one index.
    columns : mapping of str to Column
        The same arguments, converted.

    Raises
    ------
    ValueError
        If there are no rows, lengths differ, or two Series have different indexes.
    """
    names = list(columns)
    first = names[0]
    if len(columns[first]) == 0:
        raise ValueError(f"`{first}` has no rows; an evaluation needs at least one.")
    for name in names[1:]:
        if len(columns[name]) != len(columns[first]):
            raise ValueError(
                f"`{name}` must have one value per row of `{first}`; got {len(columns[name])} "
                f"values for {len(columns[first])} rows."
            )
    indexes = {name: value.index for name, value in given.items() if isinstance(value, pd.Series)}
    for name, index in indexes.items():
        other, reference = next(iter(indexes.items()))
        if not reference.equals(index):
            differs = np.flatnonzero(reference.astype(object) != index.astype(object))
            where = int(differs[0]) if len(differs) else 0
            raise ValueError(
                f"`{other}` and `{name}` are Series with different indexes, first at position "
                f"{where} ({listed([reference.tolist()[where], index.tolist()[where]])}); align "
                "them, or pass `.to_numpy()` of each if their order is the same."
            )


def distinct(values: npt.NDArray[Any]) -> tuple[IntArray, npt.NDArray[Any]]:
    """Return the code of each value, and the distinct values in order of appearance.

    Parameters
    ----------
    values : ndarray, shape (n_rows,)
        Values that can be hashed.

    Returns
    -------
    codes : ndarray of int, shape (n_rows,)
        Index into `uniques`; -1 where there is no value.
    uniques : ndarray
        Distinct values.

    Raises
    ------
    TypeError
        If a value cannot be hashed.
    """
    # float16 is unknown to pandas' hash tables.
    is_half = values.dtype == np.float16
    codes, uniques = pd.factorize(values.astype(np.float32) if is_half else values)
    return codes, np.asarray(uniques)


def as_reals(name: str, column: Column) -> npt.NDArray[Any]:
    """Return real numbers in the precision in which they were given, nan where missing.

    Parameters
    ----------
    name : str
        Argument name.
    column : Column
        Real numbers; text is none.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        A float16, float32 or float64 array, whatever the container: a list of `numpy.float32`
        is as good as an array of them.

    Raises
    ------
    TypeError
        If a value is no real number.
    ValueError
        If a whole number is larger than any float.
    """
    values = column.values
    if values.dtype.kind == "O":
        kinds = set(map(type, values[~column.is_missing]))
        is_short = bool(kinds) and kinds <= {np.float16, np.float32}
        dtype = np.result_type(*kinds) if is_short else np.float64
        # pandas and NumPy both read the text '0.5' as a number without a word.
        if not is_short and pd.api.types.infer_dtype(values, skipna=True) not in _NUMERIC_OBJECTS:
            raise TypeError(_no_number(name, column))
        filled = np.where(column.is_missing, np.nan, values)
        try:
            return filled.astype(dtype)
        except OverflowError as error:
            where = next(i for i, value in enumerate(filled) if abs(value) > _LARGEST_FLOAT)
            raise ValueError(
                f"`{name}` must hold numbers that a float can hold; got one beyond 1.8e308 at "
                f"position {where}. Pass its rank, or a score in a smaller unit."
            ) from error
    if values.dtype.kind not in "biuf":
        raise TypeError(_no_number(name, column))
    if values.dtype.kind == "f" and not column.is_missing.any():
        return values
    reals = values.astype(values.dtype if values.dtype.kind == "f" else np.float64)
    reals[column.is_missing] = np.nan
    return reals


def as_scores(name: str, column: Column) -> npt.NDArray[Any]:
    """Return finite scores in the precision in which they were given.

    Parameters
    ----------
    name : str
        Argument name.
    column : Column
        One real number per row, any unit.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        A float16, float32 or float64 array.

    Raises
    ------
    TypeError
        If a value is no number.
    ValueError
        If one is missing, infinite, or a whole number that a float cannot hold.
    """
    values, scores = column.values, as_reals(name, column)
    is_bad = column.is_missing | ~np.isfinite(scores)
    if is_bad.any():
        where = int(np.argmax(is_bad))
        found = "nan" if column.is_missing[where] else repr(float(scores[where]))
        raise ValueError(
            f"`{name}` must be finite; got {found} at position {where} ({int(is_bad.sum())} nan or "
            f"infinite in all). Drop those rows or score them."
        )
    if values.dtype.kind in "iuO":
        for where in np.flatnonzero(np.abs(scores.astype(np.float64)) >= LARGEST_EXACT).tolist():
            if int(scores[where]) != values[where]:
                raise ValueError(
                    f"`{name}` must hold numbers that a float can hold; got {values[where]} at "
                    f"position {where}, above 2^53. Pass its rank, or a score in a smaller unit."
                )
    return scores


def _no_number(name: str, column: Column) -> str:
    for where, value in enumerate(column.values):
        if not column.is_missing[where] and not isinstance(value, (numbers.Real, Decimal)):
            return (
                f"`{name}` must hold numbers; got {type(value).__name__} {value!r} at position "
                f"{where}. Convert text first, e.g. with `pandas.to_numeric`."
            )
    return f"`{name}` must hold real numbers; got {column.values.dtype}."


def as_groups(column: Column, *, name: str = "group") -> npt.NDArray[np.object_]:
    """Return the name of each row's group.

    Parameters
    ----------
    column : Column
        Names, numbers or times.
    name : str, default "group"
        Argument name, for the sentence of an error.

    Returns
    -------
    ndarray of str (object), shape (n_rows,)
        Names; rows without one form the group ``"(missing)"``.

    Raises
    ------
    TypeError
        If a cell holds a collection instead of a name.
    """
    try:
        codes, uniques = distinct(column.values)
    except TypeError as error:
        raise TypeError(f"`{name}` must hold one name per row; got {error}.") from error
    names = np.empty(len(uniques) + 1, dtype=object)
    names[:-1] = [_group_name(value) for value in uniques]
    names[-1] = MISSING_GROUP
    return names[np.where(column.is_missing, -1, codes)]


def _group_name(value: object) -> str:
    # A column of whole numbers with one nan arrives as floats; its names should not change.
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def as_counts(name: str, column: Column) -> IntArray:
    """Return the multiplicity of each row.

    Parameters
    ----------
    name : str
        Argument name.
    column : Column
        One whole number of at least 1 per row.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        Multiplicities.

    Raises
    ------
    TypeError
        If a value is no number.
    ValueError
        If one is missing, broken or below 1, or their sum passes 2^53.
    """
    counts: FloatArray = np.array(as_scores(name, column), dtype=np.float64)
    is_bad = (counts < 1) | (counts != np.floor(counts))
    if is_bad.any():
        where = int(np.argmax(is_bad))
        raise ValueError(
            f"`{name}` must hold whole numbers of at least 1; got {counts[where]:g} at position "
            f"{where} ({int(is_bad.sum())} in all). Leave out rows that stand for nothing."
        )
    # Floats guard against integers that wrap around, and the largest one against their overflow.
    total = float(counts.max())
    if total <= LARGEST_EXACT:
        total = float(counts.sum())
    if total > 2 * LARGEST_EXACT or (whole := counts.astype(np.int64)).sum() > LARGEST_EXACT:
        raise ValueError(f"`{name}` must not add up to more than 2^53; got {total:g}.")
    return whole
