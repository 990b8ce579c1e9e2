"""Error, BER and AUC of the best classifier where P(y = 1 | x) follows a Beta law or a mixture."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaln

from labelbayes._checks import FloatArray, read_only


class OptimumDraws(NamedTuple):
    """Optima of several laws of P(y = 1 | x).

    Attributes
    ----------
    error, ber, roc_auc : ndarray of float, shape (n,)
        Of each law.
    """

    error: FloatArray
    ber: FloatArray
    roc_auc: FloatArray


def mean_distance(a: FloatArray, b: FloatArray, t: FloatArray | float) -> FloatArray:
    """Return E|X - t| of X ~ Beta(a, b).

    Parameters
    ----------
    a, b : ndarray of float > 0, broadcastable
        Parameters.
    t : float or ndarray of float
        In [0, 1].

    Returns
    -------
    ndarray of float
        Mean absolute distances.

    Examples
    --------
    >>> float(mean_distance(np.array(1.0), np.array(1.0), 0.5))
    0.25
    """
    mean = a / (a + b)
    return 2 * (t * betainc(a, b, t) - mean * betainc(a + 1, b, t)) + mean - t


def optimum_of_beta(a: FloatArray, b: FloatArray) -> OptimumDraws:
    r"""Return the optimum where P(y = 1 | x) ~ Beta(a, b).

    Parameters
    ----------
    a, b : ndarray of float > 0, shape (n,)
        Parameters.

    Returns
    -------
    OptimumDraws
        In closed form: :math:`E|\eta - \theta| = 2 a^a b^b / (B(a, b)(a + b)^{a + b + 1})` and
        :math:`E|\eta - \eta'| = 4 B(a + b, a + b) / ((a + b) B(a, a) B(b, b))`.

    Examples
    --------
    >>> optimum = optimum_of_beta(np.array([0.5]), np.array([0.5]))
    >>> bool(np.isclose(optimum.error[0], 0.5 - 1 / np.pi))
    True
    """
    total = a + b
    scale = 4 * a * b / total**2
    log_mad = np.log(2) + a * np.log(a) + b * np.log(b) - betaln(a, b) - (total + 1) * np.log(total)
    log_gini = np.log(4 / total) + betaln(total, total) - betaln(a, a) - betaln(b, b)
    return OptimumDraws(
        0.5 - mean_distance(a, b, 0.5),
        0.5 - np.exp(log_mad) / scale,
        0.5 + np.exp(log_gini) / scale,
    )


def optimum_of_bernstein(weight: FloatArray) -> OptimumDraws:
    """Return the optimum where P(y = 1 | x) is a mixture of Beta(j, J + 1 - j), j = 1, ..., J.

    Parameters
    ----------
    weight : ndarray of float >= 0, shape (n, J)
        Weights of the parts, of sum 1.

    Returns
    -------
    OptimumDraws
        Exact to round-off.

    Examples
    --------
    >>> float(optimum_of_bernstein(np.array([[0.5, 0.5]])).error[0])  # uniform
    0.25
    """
    n_parts = weight.shape[1]
    a = np.arange(1.0, n_parts + 1)
    b = n_parts + 1 - a
    theta = weight @ (a / (a + b))
    scale = 4 * theta * (1 - theta)
    mad = np.einsum("nj,nj->n", weight, mean_distance(a, b, theta[:, None]))
    gini = np.einsum("nj,jk,nk->n", weight, _distances(n_parts), weight)
    error = 0.5 - weight @ mean_distance(a, b, 0.5)
    return OptimumDraws(error, 0.5 - mad / scale, 0.5 + gini / scale)


@lru_cache(maxsize=8)
def _distances(n_parts: int) -> FloatArray:
    """Return E|X - Y| for every pair of parts, X and Y independent, shape (J, J).

    It is the integral of F(1 - G) + G(1 - F), a polynomial of degree 2J: a Gauss rule is exact.
    """
    nodes, weights = np.polynomial.legendre.leggauss(n_parts + 1)
    a = np.arange(1.0, n_parts + 1)
    below = betainc(a, n_parts + 1 - a, (nodes[:, None] + 1) / 2)
    half = (weights[:, None] / 2 * below).T @ (1 - below)
    return read_only(half + half.T)
