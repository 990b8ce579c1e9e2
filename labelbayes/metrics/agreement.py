"""Agreement of hard answers: hit rate, and kappa and alpha beyond chance."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from sklearn.metrics import cohen_kappa_score

from labelbayes._checks import FloatArray


def hit_rate(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the share of items with the same answer.

    Parameters
    ----------
    first, second : array_like of int, shape (n_items,)
        Codes of the answers; a negative code is no answer, and the item is left out.

    Returns
    -------
    float
        In [0, 1]; nan where no item has both answers.

    Raises
    ------
    ValueError
        If the lengths differ.

    Examples
    --------
    >>> hit_rate([0, 1, 2, -1], [0, 2, 2, 1])
    0.6666666666666666
    """
    a, b = _pairs(first, second)
    return float((a == b).mean()) if len(a) else math.nan


def cohen_kappa(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return Cohen's kappa: agreement beyond what two sets of answers have by chance.

    Parameters
    ----------
    first, second : array_like of int, shape (n_items,)
        Codes of the answers; items with a negative code are left out.

    Returns
    -------
    float
        At most 1; nan where both always give one and the same answer, or nothing is paired.

    Raises
    ------
    ValueError
        If the lengths differ.

    References
    ----------
    .. [1] J. Cohen, "A coefficient of agreement for nominal scales", Educational and
       Psychological Measurement 20(1), 37-46, 1960.

    Examples
    --------
    >>> cohen_kappa([0, 0, 1, 1], [0, 0, 1, 0])
    0.5
    """
    a, b = _pairs(first, second)
    if len(np.union1d(a, b)) < 2:
        return math.nan
    return float(cohen_kappa_score(a, b))


def fleiss_kappa(counts: npt.ArrayLike) -> float:
    """Return Fleiss' kappa of items with equal numbers of ratings.

    Parameters
    ----------
    counts : array_like of int, shape (n_items, n_options)
        Ratings by item and option.

    Returns
    -------
    float
        At most 1; nan where all ratings are one option.

    Raises
    ------
    ValueError
        If items have different numbers of ratings, or fewer than two.

    References
    ----------
    .. [1] J. L. Fleiss, "Measuring nominal scale agreement among many raters", Psychological
       Bulletin 76(5), 378-382, 1971.

    Examples
    --------
    >>> round(fleiss_kappa([[2, 0], [0, 2], [1, 1]]), 4)
    0.3333
    """
    table = np.asarray(counts, dtype=float)
    n_ratings = table.sum(axis=1)
    if not len(table) or n_ratings.min() != n_ratings.max() or n_ratings[0] < 2:
        found = f"{n_ratings.min():g} to {n_ratings.max():g}" if len(table) else "no items"
        raise ValueError(
            f"`counts` must hold the same number of ratings, at least 2, for every item; got "
            f"{found}. Use `krippendorff_alpha`, which takes any number."
        )
    m = n_ratings[0]
    observed = float(((table**2).sum(axis=1) - m).mean() / (m * (m - 1)))
    chance = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    return (observed - chance) / (1 - chance) if chance < 1 else math.nan


def krippendorff_alpha(units: npt.ArrayLike) -> float:
    """Return Krippendorff's alpha with the nominal distance, gaps allowed.

    Parameters
    ----------
    units : array_like of float, shape (n_items, n_raters)
        Codes of the answers; nan where a rater gave none. Items with fewer than two answers are
        left out: nothing in them can be paired.

    Returns
    -------
    float
        At most 1; nan where nothing can be paired or all answers are the same.

    References
    ----------
    .. [1] K. Krippendorff, "Computing Krippendorff's alpha-reliability", 2011.

    Examples
    --------
    >>> round(krippendorff_alpha([[0, 0], [1, 1], [0, 1], [1, np.nan]]), 4)
    0.4444
    """
    table = np.asarray(units, dtype=float)
    codes = np.unique(table[~np.isnan(table)])
    counts = np.stack([(table == code).sum(axis=1) for code in codes], axis=1) if len(codes) else 0
    return _alpha(np.asarray(counts, dtype=float).reshape(len(table), -1))


def same_shape(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return two arrays of one shape.

    Parameters
    ----------
    first, second : array_like of float
        Arrays.

    Returns
    -------
    tuple of ndarray
        Both as floats.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.shape != b.shape:
        raise ValueError(f"`second` must have the shape of `first`, {a.shape}; got {b.shape}.")
    return a, b


def _alpha(counts: FloatArray) -> float:
    """Return Krippendorff's alpha from ratings by item and option."""
    n_ratings = counts.sum(axis=1)
    paired, m = counts[n_ratings >= 2], n_ratings[n_ratings >= 2]
    total = m.sum()
    of_option = paired.sum(axis=0)
    apart = (total**2 - (of_option**2).sum()) / (total - 1) if total else 0.0
    if not apart > 0:
        return math.nan
    observed = float(((m**2 - (paired**2).sum(axis=1)) / (m - 1)).sum())
    return 1 - observed / float(apart)


def _pairs(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    a, b = same_shape(first, second)
    both = (a >= 0) & (b >= 0)
    return a[both], b[both]
