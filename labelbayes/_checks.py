"""Argument checks and the sentences they raise: argument, rule, value, position, remedy."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: Probability of every interval unless the caller says otherwise; never a library's default.
CI_PROB = 0.95


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise unless `value` is one of `choices`.

    Parameters
    ----------
    name : str
        Argument name, as the caller typed it.
    value : object
        What was passed.
    choices : collection of str
        Allowed values.

    Raises
    ------
    ValueError
        If `value` is none of them; the sentence lists them.
    """
    if not isinstance(value, str) or value not in choices:
        allowed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"`{name}` must be one of {allowed}; got {value!r}.")


def check_type(name: str, value: object, kind: type, remedy: str = "") -> None:
    """Raise unless `value` is of a type.

    Parameters
    ----------
    name : str
        Argument name.
    value : object
        What was passed.
    kind : type
        What it has to be.
    remedy : str, default ""
        What to do instead, as a sentence.

    Raises
    ------
    TypeError
        If it is anything else.
    """
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        said = f"`{name}` must be {article} {kind.__name__}; got {type(value).__name__}."
        raise TypeError(f"{said} {remedy}".rstrip())


def check_open_unit(name: str, value: Any, remedy: str = "") -> float:
    """Return `value` as a float strictly between 0 and 1.

    Parameters
    ----------
    name : str
        Argument name.
    value : float
        What was passed.
    remedy : str, default ""
        What to do instead, a full sentence.

    Returns
    -------
    float
        The value.

    Raises
    ------
    ValueError
        If it is not a number strictly inside (0, 1).
    """
    number = check_real(name, value)
    if not 0.0 < number < 1.0:
        tail = f" {remedy}" if remedy else ""
        raise ValueError(f"`{name}` must lie strictly between 0 and 1; got {value!r}.{tail}")
    return number


def check_unit(name: str, value: Any) -> float:
    """Return `value` as a float from 0 to 1, ends included.

    Parameters
    ----------
    name : str
        Argument name.
    value : float
        What was passed.

    Returns
    -------
    float
        The value.

    Raises
    ------
    TypeError
        If it is no real number.
    ValueError
        If it lies outside [0, 1].
    """
    number = check_real(name, value)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"`{name}` must lie in [0, 1]; got {value!r}.")
    return number


def listed(values: Collection[object], *, limit: int = 8) -> str:
    """Write values the way a sentence lists them: ``'a', 'b' and 'c'``.

    Parameters
    ----------
    values : collection
        What to list, by `repr`.
    limit : int, default 8
        How many are written out; the rest is counted.

    Returns
    -------
    str
        The list.
    """
    shown = [repr(value) for value in values]
    if len(shown) > limit:
        shown = [*shown[:limit], f"{len(shown) - limit:,} more"]
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + f" and {shown[-1]}"


def check_real(name: str, value: Any) -> float:
    """Return `value` as a finite float.

    Parameters
    ----------
    name : str
        Argument name.
    value : float
        What was passed.

    Returns
    -------
    float
        The value.

    Raises
    ------
    TypeError
        If it is no real number.
    ValueError
        If it is nan, infinite or beyond what a float holds.
    """
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, (bool, np.bool_)) or not is_number:
        raise TypeError(f"`{name}` must be a number; got {type(value).__name__} {value!r}.")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"`{name}` must be a number that a float can hold.") from None
    if not np.isfinite(number):
        raise ValueError(f"`{name}` must be finite; got {value!r}.")
    return number


def check_whole(name: str, value: Any, *, least: int) -> int:
    """Return `value` as an int of at least `least`.

    Parameters
    ----------
    name : str
        Argument name.
    value : int
        What was passed.
    least : int
        Smallest allowed value.

    Returns
    -------
    int
        The value.

    Raises
    ------
    TypeError
        If it is no whole number.
    ValueError
        If it is too small.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"`{name}` must be a whole number; got {type(value).__name__} {value!r}.")
    if value < least:
        raise ValueError(f"`{name}` must be at least {least}; got {value}.")
    return int(value)


def check_probabilities(name: str, values: npt.ArrayLike, n_rows: int) -> FloatArray:
    """Return one probability a row, with round-off beyond 0 or 1 forgiven.

    Parameters
    ----------
    name : str
        Argument name.
    values : array_like of float, shape (n_rows,)
        Probabilities; up to 1e-9 outside [0, 1] is taken for round-off.
    n_rows : int
        Rows expected.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        Values inside [0, 1].

    Raises
    ------
    ValueError
        If the shape is wrong, or a value is nan or outside [0, 1]; names the first.
    """
    array = np.array(values, dtype=np.float64)
    if array.shape != (n_rows,):
        raise ValueError(
            f"`{name}` must hold one probability per row, shape ({n_rows},); got {array.shape}."
        )
    bad = ~((array >= -1e-9) & (array <= 1 + 1e-9))
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"`{name}` must hold probabilities in [0, 1]; got {float(array[first])!r} at row "
            f"{first} ({int(bad.sum())} such values). Calibrate scores first, e.g. with `impute`."
        )
    return np.clip(array, 0.0, 1.0)


def make_rng(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return the generator that `rng` names, without touching NumPy's global state.

    Parameters
    ----------
    rng : numpy.random.Generator, int or None
        A generator is used as it is; an int seeds a new one; None takes fresh entropy.

    Returns
    -------
    numpy.random.Generator
        The generator to draw from.

    Raises
    ------
    TypeError
        If `rng` is anything else.
    """
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, (bool, np.bool_)):
        return np.random.default_rng(check_whole("rng", rng, least=0))
    raise TypeError(f"`rng` must be a numpy Generator, a whole number or None; got {rng!r}.")


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return `array` with writing switched off, so that a result cannot be changed in place.

    Parameters
    ----------
    array : ndarray
        An array that the caller owns.

    Returns
    -------
    ndarray
        The same array.
    """
    array.setflags(write=False)
    return array
