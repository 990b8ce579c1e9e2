"""The series of log(1 + q (exp(iw) - 1)) in powers of q: how many are needed, and their sums."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from labelbayes._checks import FloatArray

#: Rows handled at once: few enough for buffers that stay in the processor's cache.
BLOCK = 8_192

#: Powers in one matrix product: 7 x 4 x 8,192 multiplications stay below the 2^18 from which
#: OpenBLAS starts threads, which cost 5x inside worker threads.
POWERS_AT_ONCE = 7

#: Bound on each truncation error: series remainder, aliasing and dropped frequencies.
TRUNCATION = 1e-17

#: Up to this many uncertain rows, all are kept and their law is a plain convolution.
CONVOLVED_ROWS = 64

#: Up to this variance, rows nearer than 1/8 to neither 0 nor 1 are kept one by one. Each adds at
#: least 7/64 to the variance, so there are never more than 7,315. The same number is where a sum
#: of p ends exp(-sum p) as a double (it underflows at 745), and sum p is at least the variance:
#: beyond it neither the kept rows nor the logarithms behind P(none) and P(all) are needed.
KEPT_VARIANCE = 800.0

#: Distance from 0 or 1 up to which a row enters the power sums while the variance is small.
NEAR = 0.125

#: Largest q |z| at which the series of log(1 + q z) is used.
SERIES_REACH = 0.25

#: Power sums that are ever needed. While rows with q > 1/8 are kept apart, the remainder at
#: |z| <= 2 is at most (8/7) V q^J |z|^(J+1) / ((J+1) 3/4) exp(-V |z|^2 / 2), and
#: V exp(-V |z|^2 / 2) <= 2 / (e |z|^2): below 1e-17 from J = 26 on, whatever V is. Once V is so
#: large that |z| <= 1/2 at all frequencies that count, q = 1/2 needs only J = 17, and fewer as V
#: grows: the remainder falls like V^(-(J-1)/2). `required_order` evaluates this.
MAX_ORDER = 28


def largest_step(variance: float) -> float:
    """Return the largest ``|exp(iw) - 1|`` at which the characteristic function matters.

    Parameters
    ----------
    variance : float >= 0
        Variance V of the count.

    Returns
    -------
    float in (0, 2]
        Solution of ``V |z|^2 / 2 = ln(1 / TRUNCATION) + 3``. Beyond it the characteristic
        function, at most ``exp(-V |z|^2 / 2)``, lies below exp(-3) `TRUNCATION`.

    Examples
    --------
    >>> round(largest_step(8423.0), 4)
    0.1
    """
    decay = math.log(1.0 / TRUNCATION) + 3.0
    return 2.0 if variance <= decay / 2.0 else math.sqrt(2.0 * decay / variance)


def series_error(order: int, largest_q: float, variance: float) -> float:
    """Bound the error that ending the series after `order` terms leaves in any probability.

    Parameters
    ----------
    order : int >= 1
        Power sums used.
    largest_q : float in (0, 1/2]
        Largest distance of a summed p from 0 or 1, whichever is nearer.
    variance : float > 0
        Variance V of the count, at least that of the summed rows.

    Returns
    -------
    float
        Bound on ``|phi| (exp(d) - 1)`` over all frequencies that count, d the dropped terms:
        ``d <= sum q^(J+1) |z|^(J+1) / ((J+1) (1 - q |z|))``, ``sum q <= V / (1 - largest q)``
        and ``|phi| <= exp(-V |z|^2 / 2)``.

    Examples
    --------
    >>> series_error(28, 0.125, 1.0) < 1e-17 < series_error(10, 0.125, 1.0)
    True
    """
    reach = largest_step(variance)
    scale = (
        variance / (1.0 - largest_q) * largest_q**order / ((order + 1) * (1 - largest_q * reach))
    )
    worst = min(reach, math.sqrt((order + 1) / variance))
    weighted = scale * worst ** (order + 1) * math.exp(-variance * worst**2 / 2.0)
    # (exp(d) - 1) / d <= exp(d), and d is largest at the last frequency.
    return weighted * math.exp(min(scale * reach ** (order + 1), 700.0))


def required_order(variance: float) -> int:
    """Return how many power sums a count of at least this variance needs.

    Parameters
    ----------
    variance : float >= 0
        Variance reached so far; it only grows.

    Returns
    -------
    int
        `MAX_ORDER` up to `KEPT_VARIANCE`, fewer beyond, never growing with the variance.

    Raises
    ------
    RuntimeError
        If even `MAX_ORDER` leaves more than `TRUNCATION`.

    Examples
    --------
    >>> required_order(10.0), required_order(1e5)
    (28, 8)
    """
    if variance <= KEPT_VARIANCE:
        return MAX_ORDER
    return _order_at(max(KEPT_VARIANCE, 2.0 ** math.floor(math.log2(variance))))


@lru_cache(maxsize=256)
def _order_at(variance: float) -> int:
    """Return the smallest sufficient order at exactly this variance, q up to 1/2."""
    for order in range(2, MAX_ORDER + 1):
        if series_error(order, 0.5, variance) <= TRUNCATION:
            return order
    raise RuntimeError(
        f"{MAX_ORDER} power sums leave more than {TRUNCATION} at variance {variance!r}; "
        "please report this as a defect."
    )


class Buffers:
    """Work space for one block of rows, allocated once for all blocks of a chunk.

    Parameters
    ----------
    n_rows : int
        Rows of the largest block.

    Attributes
    ----------
    p, spare, base : ndarray of float, shape (n_rows,)
        Free for use.
    powers : ndarray of float, shape (MAX_ORDER / 2, n_rows)
        Row 0 holds q for `sums`, which fills the others.
    columns : ndarray of float, shape (4, n_rows)
        Rows 0 and 1 hold two weights for `sums`, which fills the others.

    Examples
    --------
    >>> Buffers(10).columns.shape
    (4, 10)
    """

    def __init__(self, n_rows: int) -> None:
        self.p, self.spare, self.base = np.empty((3, n_rows))
        self.powers = np.empty(((MAX_ORDER + 1) // 2, n_rows))
        self.columns = np.ones((4, n_rows))

    def sums(self, n_rows: int, order: int, smallest: float = 0.0) -> FloatArray:
        """Return sums of the powers 1, ..., order of q with both weights.

        Parameters
        ----------
        n_rows : int
            Rows in use.
        order : int >= 2
            Highest power.
        smallest : float >= 0, default 0.0
            Smallest q, if known; only the speed depends on it.

        Returns
        -------
        ndarray of float, shape (2, order)
            One row per weight.

        Examples
        --------
        >>> buffers = Buffers(2)
        >>> buffers.powers[0] = 0.5, 0.25
        >>> buffers.columns[1] = 1.0, -1.0
        >>> buffers.sums(2, 2)
        array([[0.75  , 0.3125],
               [0.25  , 0.1875]])
        """
        half = (order + 1) // 2
        powers, columns = self.powers[:half, :n_rows], self.columns[:, :n_rows]
        base = powers[0]
        if smallest < 1e-20:
            # Powers of tiny q would be subnormal: some processors multiply them 100x slower.
            base = self.base[:n_rows]
            np.greater(powers[0], 1e-20, out=base)
            np.multiply(base, powers[0], out=base)
        for k in range(1, half):
            np.multiply(powers[k - 1], base, out=powers[k])
        # q^(half + j) = q^half q^j: half the multiplications, the rest in one matrix product.
        np.multiply(columns[:2], powers[half - 1], out=columns[2:])
        found = np.empty((half, 4))
        for first in range(0, half, POWERS_AT_ONCE):
            some = slice(first, first + POWERS_AT_ONCE)
            np.matmul(powers[some], columns.T, out=found[some])
        return np.concatenate([found[:, :2], found[:, 2:]])[:order].T


def sum_powers(rows: FloatArray, order: int) -> FloatArray:
    """Return sums of the powers 1, ..., order of q over rows in any number.

    Parameters
    ----------
    rows : ndarray of float, shape (3, n_rows)
        q = min(p, 1 - p); sign, -1 where p > 1/2; multiplicity.
    order : int >= 2
        Highest power.

    Returns
    -------
    ndarray of float, shape (2, order)
        Sums with the multiplicity, and with the multiplicity times the sign.

    Examples
    --------
    >>> sum_powers(np.array([[0.5, 0.25], [1.0, -1.0], [1.0, 1.0]]), 2)
    array([[0.75  , 0.3125],
           [0.25  , 0.1875]])
    """
    n_rows = rows.shape[1]
    buffers = Buffers(min(BLOCK, n_rows))
    total = np.zeros((2, order))
    for first in range(0, n_rows, BLOCK):
        q, sign, weight = rows[:, first : first + BLOCK]
        buffers.powers[0, : len(q)] = q
        buffers.columns[0, : len(q)] = weight
        buffers.columns[1, : len(q)] = sign * weight
        total += buffers.sums(len(q), order)
    return total
