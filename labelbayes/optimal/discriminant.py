"""Which form of the optimum varies less: sums over sorted soft labels, and the discriminants."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from labelbayes._checks import FloatArray
from labelbayes.optimal.soft_labels import check_soft_labels, prior_of

#: Soft labels that are worked on at a time, so that they stay in the processor's cache.
BLOCK = 16_384


class SortedSums(NamedTuple):
    """Sums over soft labels in ascending order, from which every form of the AUC follows.

    Attributes
    ----------
    n : int
        Soft labels.
    total, squares : float
        Sum of the labels and of their squares.
    ranked, ranked_squares : float
        The same sums with weights 0, 1, ..., n - 1 from the smallest label to the largest.
    """

    n: int
    total: float
    squares: float
    ranked: float
    ranked_squares: float


def sum_sorted(eta: FloatArray) -> SortedSums:
    """Return the sums over soft labels in ascending order.

    Parameters
    ----------
    eta : ndarray of float, shape (n,)
        Soft labels in any order; not changed.

    Returns
    -------
    SortedSums
        In one pass after sorting, without further arrays of size n.

    Examples
    --------
    >>> sum_sorted(np.array([0.5, 0.25])).ranked
    0.5
    """
    ordered = np.sort(eta)
    parts: list[tuple[float, ...]] = []
    first = np.arange(min(BLOCK, len(ordered)), dtype=np.float64)
    square, rank = np.empty_like(first), np.empty_like(first)
    for start in range(0, len(ordered), BLOCK):
        block = ordered[start : start + BLOCK]
        squares = np.multiply(block, block, out=square[: len(block)])
        ranks = np.add(first[: len(block)], start, out=rank[: len(block)])
        found = (block.sum(), squares.sum(), ranks @ block, ranks @ squares)
        parts.append(tuple(map(float, found)))
    sums = [math.fsum(column) for column in zip(*parts, strict=True)]
    return SortedSums(len(ordered), *sums)


def ber_discriminant(eta: npt.ArrayLike, *, prior: float | None = None) -> float:
    r"""Return the sign that says which form of the BER varies less.

    Parameters
    ----------
    eta : array_like of float, shape (n,)
        P(y = 1) of each item, in [0, 1].
    prior : float, optional
        P(y = 1); None stands for the mean.

    Returns
    -------
    float
        :math:`(1 - 2\theta)\, \mathrm{mean}((\eta - \theta)|\eta - \theta|)`: the min form varies
        less where it is positive.

    Raises
    ------
    ValueError
        If an argument is not as above.

    Examples
    --------
    >>> round(ber_discriminant([0.0, 0.1, 0.2, 0.9], prior=0.3), 4)
    0.022
    """
    values = check_soft_labels("eta", eta)
    theta = prior_of(values, prior)
    gap = values - theta
    return (1 - 2 * theta) * float((gap * np.abs(gap)).mean())


def auc_discriminant(eta: npt.ArrayLike, *, prior: float | None = None) -> float:
    r"""Return the sign that says which form of the AUC varies less.

    Parameters
    ----------
    eta : array_like of float, shape (n,) with n >= 2
        P(y = 1) of each item, in [0, 1].
    prior : float, optional
        P(y = 1); None stands for the mean.

    Returns
    -------
    float
        :math:`(1 - 2\theta)` times the mean of :math:`(\eta - \theta)|\eta - \eta'|` over pairs:
        the min form varies less where it is positive (for every n; where it is negative, for
        large n).

    Raises
    ------
    ValueError
        If an argument is not as above.

    Examples
    --------
    >>> round(auc_discriminant([0.0, 0.1, 0.2, 0.9], prior=0.3), 4)
    0.026
    """
    values = check_soft_labels("eta", eta, least=2)
    return auc_discriminant_of(sum_sorted(values), prior_of(values, prior))


def auc_discriminant_of(sums: SortedSums, theta: float) -> float:
    """Return `auc_discriminant` from sums.

    Parameters
    ----------
    sums : SortedSums
        Of at least two soft labels.
    theta : float
        Prior.

    Returns
    -------
    float
        The discriminant.
    """
    n = sums.n
    # sum of (2 r - n + 1)(eta - theta)^2 over ranks r from 0; the weights themselves sum to 0.
    squares = 2 * sums.ranked_squares - (n - 1) * sums.squares
    plain = 2 * sums.ranked - (n - 1) * sums.total
    return (1 - 2 * theta) * (squares - 2 * theta * plain) / (n * (n - 1))


def ber_variance_difference(eta: npt.ArrayLike, prior: float) -> float:
    r"""Return the variance of the max form of the BER less that of the min form.

    Parameters
    ----------
    eta : array_like of float, shape (n,)
        P(y = 1) of each item, in [0, 1].
    prior : float
        P(y = 1), known.

    Returns
    -------
    float
        :math:`\Delta / (4 n \theta^2 (1 - \theta)^2)` with the discriminant :math:`\Delta`: exact
        for estimates from n items drawn from these.

    Raises
    ------
    ValueError
        If an argument is not as above.

    Examples
    --------
    >>> ber_variance_difference([0.0, 0.1, 0.2, 0.9], 0.3) > 0
    True
    """
    values = check_soft_labels("eta", eta)
    theta = prior_of(values, prior)
    scale = len(values) * theta**2 * (1 - theta) ** 2
    return ber_discriminant(values, prior=theta) / (4 * scale)


def auc_variance_difference(eta: npt.ArrayLike, prior: float) -> float:
    r"""Return the variance of the max form of the AUC less that of the min form.

    Parameters
    ----------
    eta : array_like of float, shape (n,) with n >= 2
        P(y = 1) of each item, in [0, 1].
    prior : float
        P(y = 1), known.

    Returns
    -------
    float
        :math:`(\Delta + \Gamma/(n - 1)) / (n \theta^2 (1 - \theta)^2)` with the discriminant
        :math:`\Delta` and :math:`\Gamma = -E[(\eta - \theta)(\eta' - \theta)|\eta - \eta'|]`,
        means over pairs of these items.

    Raises
    ------
    ValueError
        If an argument is not as above.

    Examples
    --------
    >>> auc_variance_difference([0.0, 0.1, 0.2, 0.9], 0.3) > 0
    True
    """
    values = check_soft_labels("eta", eta, least=2)
    theta, n = prior_of(values, prior), len(values)
    gap = np.sort(values) - theta
    # In ascending order |eta - eta'| opens: products with the sums of all smaller labels.
    smaller = np.cumsum(gap) - gap
    smaller_squares = np.cumsum(gap**2) - gap**2
    pairs = float(gap**2 @ smaller - gap @ smaller_squares)
    gamma = -2 * pairs / (n * (n - 1))
    delta = auc_discriminant_of(sum_sorted(values), theta)
    return (delta + gamma / (n - 1)) / (n * theta**2 * (1 - theta) ** 2)
