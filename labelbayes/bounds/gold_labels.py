"""Verdicts against gold labels that may be tied, and how much an interval of a mean needs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.bounds.imbens_manski import cover_bounds
from labelbayes.data.ratings import Ratings
from labelbayes.results.interval import Interval

#: Weight of an item at each end of the range, so that a mean at an end is not taken for certain.
HALF_ITEM = 0.5


@dataclass(frozen=True, eq=False)
class GoldMatch:
    """What each item adds to the share of verdicts that equal the gold label.

    Parameters
    ----------
    low, high : ndarray of float, shape (n_items,)
        The same where verdict and gold label are known; 0 and 1 where one is missing.
    is_known : ndarray of bool, shape (n_items,)
        Whether both are known.
    """

    low: FloatArray
    high: FloatArray
    is_known: BoolArray


def credit(ratings: Ratings) -> FloatArray:
    """Return what each option would add to the match with the gold label.

    Parameters
    ----------
    ratings : Ratings
        Forced choices.

    Returns
    -------
    ndarray of float, shape (n_items, n_options)
        1 for the option chosen most often, an equal part each where several are tied (the chance
        that a tie broken at random meets the verdict); 0 elsewhere.

    Examples
    --------
    >>> ratings = Ratings([1, 1, 1, 1], list("abcd"), ["x", "x", "y", "y"], options=["x", "y", "z"])
    >>> credit(ratings)
    array([[0.5, 0.5, 0. ]])
    """
    counts = ratings.count_array
    most = counts.max(axis=1, keepdims=True)
    is_top = (counts == most) & (most > 0)
    return is_top / np.maximum(is_top.sum(axis=1, keepdims=True), 1)


def match_gold(choice: IntArray, ratings: Ratings) -> GoldMatch:
    """Return the match of verdicts with the gold labels.

    Parameters
    ----------
    choice : ndarray of int, shape (n_items,)
        Places of the verdicts; -1 where missing.
    ratings : Ratings
        Forced choices.

    Returns
    -------
    GoldMatch
        Item by item.
    """
    is_known = (choice >= 0) & (ratings.count_array.sum(axis=1) > 0)
    matched = credit(ratings)[np.arange(len(choice)), np.maximum(choice, 0)]
    return GoldMatch(np.where(is_known, matched, 0.0), np.where(is_known, matched, 1.0), is_known)


def mean_error(values: FloatArray, *, lowest: float = 0.0, highest: float = 1.0) -> float:
    """Return the standard error of a mean over items, never 0.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        What each item adds.
    lowest, highest : float, default 0.0 and 1.0
        Range of the values; half an item is added at each end.

    Returns
    -------
    float
        The error.

    Examples
    --------
    >>> round(mean_error(np.ones(99)), 4)
    0.0071
    """
    total = len(values) + 2 * HALF_ITEM
    padded = values.sum() + HALF_ITEM * (lowest + highest)
    squares = (values**2).sum() + HALF_ITEM * (lowest**2 + highest**2)
    variance = squares / total - (padded / total) ** 2
    return math.sqrt(variance / total)


def cover_means(
    low: FloatArray, high: FloatArray, level: float, *, lowest: float = 0.0, highest: float = 1.0
) -> Interval:
    """Return an Imbens-Manski interval of a mean that is known up to bounds item by item.

    Parameters
    ----------
    low, high : ndarray of float, shape (n,)
        Bounds of what each item adds.
    level : float
        Coverage.
    lowest, highest : float, default 0.0 and 1.0
        Range.

    Returns
    -------
    Interval
        Of kind "confidence".
    """
    means = Interval(float(low.mean()), float(high.mean()), math.nan, "bounds")
    errors = (mean_error(part, lowest=lowest, highest=highest) for part in (low, high))
    return cover_bounds(means, *errors, ci_prob=level, lowest=lowest, highest=highest)
