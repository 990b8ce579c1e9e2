"""A cutoff against scores: the one place that says in which precision they meet.

Scores are kept as float64, each exactly the number that was given. A cutoff is rounded to the
precision in which the scores came before it is compared with them, so that 0.7 is reached by a
float32 score that says 0.7, although that float32 is a little less than the float64 0.7. NumPy
compares an array of float32 with the number 0.7 in the same way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelbayes._checks import FloatArray
from labelbayes.data.columns import Int8Array


def decide(
    y_score: FloatArray, threshold: float, precision: np.dtype[np.floating]
) -> tuple[Int8Array, float]:
    """Return which rows are predicted positive at a cutoff, and the cutoff as it was compared.

    Parameters
    ----------
    y_score : ndarray of float, shape (n_rows,)
        Scores, as float64.
    threshold : float
        A finite number in the units of the scores; rows that score at least this are predicted
        positive.
    precision : dtype
        In which the scores came: float16, float32 or float64.

    Returns
    -------
    ndarray of int8, shape (n_rows,)
        Decisions.
    float
        The cutoff, rounded to that precision; as given where it is beyond the largest number of
        that precision.

    Examples
    --------
    >>> scores = np.array([0.7, 0.1], dtype=np.float32)
    >>> decide(scores.astype(float), 0.7, scores.dtype)
    (array([1, 0], dtype=int8), 0.699999988079071)
    """
    cutoff = round_cutoff(threshold, precision)
    return (y_score >= cutoff).astype(np.int8), cutoff


def round_cutoff(threshold: float, precision: np.dtype[np.floating]) -> float:
    """Return a cutoff as it is compared with scores of a precision.

    Parameters
    ----------
    threshold : float
        A finite number.
    precision : dtype
        In which the scores came: float16, float32 or float64.

    Returns
    -------
    float
        Rounded to that precision; as given where it is beyond the largest number of that
        precision.

    Examples
    --------
    >>> round_cutoff(0.7, np.dtype(np.float32)), round_cutoff(0.7, np.dtype(np.float64))
    (0.699999988079071, 0.7)
    """
    with np.errstate(over="ignore"):
        rounded = float(precision.type(threshold))
    return rounded if np.isfinite(rounded) else threshold


def precision_of(values: npt.NDArray[Any]) -> np.dtype[np.floating]:
    """Return the precision in which numbers came.

    Parameters
    ----------
    values : ndarray
        Numbers of any type.

    Returns
    -------
    dtype
        float16 or float32 where they are that, else float64.

    Examples
    --------
    >>> precision_of(np.array([0.5], dtype=np.float32)), precision_of(np.array([1, 2]))
    (dtype('float32'), dtype('float64'))
    """
    is_short = values.dtype in (np.float16, np.float32)
    return values.dtype if is_short else np.dtype(np.float64)
