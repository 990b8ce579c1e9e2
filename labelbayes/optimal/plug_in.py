"""The optimum of counts in cells: the best threshold, and the hull of the ROC curve."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.optimal.isotonic import merge_blocks

#: How far a form is moved along (mean of the labels - prior): from min (0) to max (1).
SHIFTS = {"min": 0.0, "mad": 0.5, "max": 1.0}

FixedForm = Literal["min", "max", "mad"]


class Optimum(NamedTuple):
    """Error, BER and AUC of the best increasing rule on counts; nan where undefined.

    Attributes
    ----------
    error, ber, roc_auc : float
        Unclipped.
    """

    error: float
    ber: float
    roc_auc: float


def plug_in(
    negative: FloatArray,
    positive: FloatArray,
    prior: float | None,
    forms: tuple[FixedForm, FixedForm] = ("min", "min"),
    itself: float | None = None,
) -> Optimum:
    """Return the optimum as if the isotonic fit of the cells were P(y = 1).

    Error and BER are those of the best thresholds, since the fit keeps the share of positives of
    each block; the AUC is the area under the convex hull of the ROC curve.

    Parameters
    ----------
    negative, positive : ndarray of float >= 0, shape (n_cells,)
        Weight of both classes in cells of ascending score.
    prior : float or None
        P(y = 1) where it is known; None takes the share of positives, with which all forms are
        the same.
    forms : tuple of str, default ("min", "min")
        Form of the BER and of the AUC for a known prior.
    itself : float, optional
        For soft labels the sum of p (1 - p) over items: what pairs of an item with itself would
        add, which are left out. None for hard labels, of which none is both.

    Returns
    -------
    Optimum
        BER and AUC are nan where the prior is not known and one class has no weight.

    Examples
    --------
    >>> plug_in(np.array([2.0, 0.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0, 2.0]), None)
    Optimum(error=0.16666666666666666, ber=0.16666666666666666, roc_auc=0.9444444444444444)
    """
    below = np.concatenate(([0.0], np.cumsum(positive)))
    above = np.cumsum(negative)
    n_positive, n_negative = float(below[-1]), float(above[-1])
    # Negatives at or above each threshold.
    above = n_negative - np.concatenate(([0.0], above))
    n = n_positive + n_negative
    error = float((below + above).min()) / n
    share = n_positive / n
    theta = share if prior is None else prior
    if not 0 < theta < 1:
        return Optimum(error, math.nan, math.nan)
    ber = float((below / theta + above / (1 - theta)).min()) / (2 * n)
    won = hull_pairs(negative, positive)
    lost = n_positive * n_negative - won
    n_pairs = n * n
    if itself is not None:
        won, lost, n_pairs = won - itself / 2, lost - itself / 2, n_pairs - n
    scale = n_pairs * theta * (1 - theta)
    smallest, largest = 1 - lost / scale, won / scale
    if prior is None:
        return Optimum(error, ber, smallest)
    slope = (1 - 2 * theta) / (2 * theta * (1 - theta))
    ber -= SHIFTS[forms[0]] * slope * (share - theta)
    shift = SHIFTS[forms[1]]
    return Optimum(error, ber, (1 - shift) * smallest + shift * largest)


def hull_pairs(negative: FloatArray, positive: FloatArray) -> float:
    """Return the pairs that the isotonic fit ranks right, ties counting one half.

    Parameters
    ----------
    negative, positive : ndarray of float >= 0, shape (n_cells,)
        Weight of both classes in cells of ascending score.

    Returns
    -------
    float
        Weight of pairs of a positive and a negative.

    Examples
    --------
    >>> hull_pairs(np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]))
    1.5
    """
    used = negative + positive > 0
    negative, positive = negative[used], positive[used]
    first = merge_blocks(negative, positive)
    return ranked_pairs(np.add.reduceat(negative, first), np.add.reduceat(positive, first))


def ranked_pairs(negative: FloatArray, positive: FloatArray) -> float:
    """Return the pairs that cells of ascending score rank right, ties counting one half.

    Parameters
    ----------
    negative, positive : ndarray of float >= 0, shape (n_cells,)
        Weight of both classes in each cell.

    Returns
    -------
    float
        Weight of pairs of a positive and a negative.

    Examples
    --------
    >>> ranked_pairs(np.array([1.0, 1.0]), np.array([1.0, 1.0]))
    2.0
    """
    below = np.cumsum(negative)
    return float(positive @ (below - negative / 2))
