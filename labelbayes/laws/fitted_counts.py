"""Laws of a number of positives under many fits at once, for as many rows as convolve quickly."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from labelbayes._checks import FloatArray, IntArray, read_only
from labelbayes.laws.power_series import CONVOLVED_ROWS, TRUNCATION
from labelbayes.results.integer_law import IntegerLaw

#: Rows, and groups of equal p, up to which all fits together are faster than one after another.
MOST_ROWS, MOST_GROUPS = 1_000, 32

#: Probabilities that are in memory at once.
_BLOCK = 2**18


def are_few(count: IntArray) -> bool:
    """Whether the laws of these groups are found faster for all fits together.

    Parameters
    ----------
    count : ndarray of int >= 0, shape (k,)
        Rows of each group.

    Returns
    -------
    bool
        Whether `fitted_laws` takes them.
    """
    return int(count.sum()) <= MOST_ROWS and len(count) <= MOST_GROUPS


def fitted_laws(p: FloatArray, count: IntArray) -> list[IntegerLaw]:
    """Return the law of how many of the rows are positive, under each fit.

    Parameters
    ----------
    p : ndarray of float in [0, 1], shape (n_fits, k)
        Probability of a positive in each group of rows, for each fit.
    count : ndarray of int >= 0, shape (k,)
        Rows of each group, which `are_few`.

    Returns
    -------
    list of IntegerLaw
        A law per fit.

    See Also
    --------
    labelbayes.laws.poisson_binomial.integer_law : One law, of any number of rows.

    Notes
    -----
    **Assumes** independent rows, given their probabilities. A group has a binomial law; groups
    are convolved, all fits together. Products and sums of positive numbers: every probability
    above 1e-300 is right to a relative 1e-12. Beyond 64 rows ends with less than 1e-17 are left
    out.
    """
    n_rows = int(count.sum())
    size = max(1, _BLOCK // (n_rows + 1))
    laws: list[IntegerLaw] = []
    for start in range(0, len(p), size):
        laws += _laws(p[start : start + size], count, n_rows)
    return laws


def _laws(p: FloatArray, count: IntArray, n_rows: int) -> list[IntegerLaw]:
    pmf = np.ones((len(p), 1))
    for rates, n in zip(p.T, count.tolist(), strict=True):
        pmf = _convolve(pmf, _binomial(rates, n))
    pmf /= pmf.sum(axis=1, keepdims=True)
    spread = p * (1 - p)
    lost = 0.0 if n_rows <= CONVOLVED_ROWS else TRUNCATION
    starts = (np.cumsum(pmf, axis=1) <= lost).sum(axis=1)
    stops = n_rows + 1 - (np.cumsum(pmf[:, ::-1], axis=1) <= lost).sum(axis=1)
    columns = zip(
        starts.tolist(),
        stops.tolist(),
        (p @ count).tolist(),
        (spread @ count).tolist(),
        pmf[:, 0].tolist(),
        pmf[:, -1].tolist(),
        strict=True,
    )
    return [
        IntegerLaw(
            start=start,
            pmf=read_only(pmf[i, start:stop] / pmf[i, start:stop].sum()),
            n=n_rows,
            mean=mean,
            variance=variance,
            prob_none=prob_none,
            prob_all=prob_all,
        )
        for i, (start, stop, mean, variance, prob_none, prob_all) in enumerate(columns)
    ]


def _binomial(rates: FloatArray, n: int) -> FloatArray:
    """Return binomial probabilities of 0, ..., n for each rate, by the ratio of neighbors."""
    # From the side on which the first one is largest: at least 2^-1000, no underflow yet.
    is_low = rates <= 0.5
    near = np.where(is_low, rates, 1 - rates)[:, None]
    ratio = np.empty((len(rates), n + 1))
    ratio[:, :1] = (1 - near) ** n
    steps = np.arange(n)
    ratio[:, 1:] = (n - steps) / (steps + 1) * (near / (1 - near))
    pmf = np.cumprod(ratio, axis=1)
    return np.where(is_low[:, None], pmf, pmf[:, ::-1])


def _convolve(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the row-wise convolution, shape (n_fits, a + b - 1)."""
    if left.shape[1] < right.shape[1]:
        left, right = right, left
    width = right.shape[1]
    padded = np.pad(left, ((0, 0), (width - 1, width - 1)))
    windows = sliding_window_view(padded, width, axis=1)
    return np.asarray(np.einsum("rij,rj->ri", windows, right[:, ::-1]))
