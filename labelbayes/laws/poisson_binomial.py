"""The exact law of a number of positives among independent rows (Poisson-binomial law)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from labelbayes._checks import FloatArray, read_only
from labelbayes.laws.characteristic import CountFrequencies, bernstein_width
from labelbayes.laws.power_series import TRUNCATION
from labelbayes.laws.power_sums import PowerSums
from labelbayes.results.integer_law import IntegerLaw


def poisson_binomial(p: npt.ArrayLike, count: npt.ArrayLike | None = None) -> IntegerLaw:
    """Return the law of how many of the rows are positive.

    Parameters
    ----------
    p : array_like of float in [0, 1], shape (n_rows,)
        Probability of a positive, per row.
    count : array_like of int >= 0, shape (n_rows,), optional
        How many rows of the data each row stands for; 1 by default.

    Returns
    -------
    IntegerLaw
        Law of the count, 0 to the number of rows.

    Raises
    ------
    ValueError
        If `p` is not one-dimensional, nan or outside [0, 1], or `count` is of another shape,
        negative or not whole.
    TypeError
        If `p` or `count` holds no numbers.

    See Also
    --------
    integer_law : The same from a summary of rows that never were in memory at once.

    Notes
    -----
    **Assumes** that the rows are independent given their probabilities.

    Up to 64 uncertain rows the probabilities are right to a relative 1e-12, tails included.
    Beyond, the error is **absolute**, 1e-15 to 1e-13 in total variation: never read a tail
    probability below about 1e-13 from the pmf. `prob_none` and `prob_all` are computed on their
    own and right to a relative 1e-12 down to 1e-308.

    References
    ----------
    Hong (2013), On computing the distribution function for the Poisson binomial distribution,
    Computational Statistics & Data Analysis 59, 41-51 (the characteristic function on a grid).

    Examples
    --------
    >>> law = poisson_binomial([0.1, 0.2, 0.7], count=[1, 3, 1])
    >>> law.pmf.round(5)
    array([0.13824, 0.4416 , 0.3152 , 0.0924 , 0.012  , 0.00056])
    >>> law.n, round(law.mean, 12), round(law.variance, 12)
    (5, 1.4, 0.78)
    """
    return integer_law(PowerSums.from_probabilities(p, count))


def integer_law(state: PowerSums) -> IntegerLaw:
    """Return the law of the count that a summary of rows stands for.

    Parameters
    ----------
    state : PowerSums
        Summary of the rows.

    Returns
    -------
    IntegerLaw
        Law of the count, 0 to ``state.n``.

    Raises
    ------
    RuntimeError
        If the bound on the truncation error exceeds 1e-17 (a defect: derived never to happen).

    Notes
    -----
    **Assumes** independent rows; accuracy as in `poisson_binomial`.

    The characteristic function ``phi`` of the count, at the about 30 frequencies where it exceeds
    1e-18, from the power sums (`labelbayes.laws.power_series`); one inverse FFT over a window of
    about 18 standard deviations. Mass outside the window (Bernstein's inequality) and dropped
    frequencies add at most 1e-17 each to any probability.

    References
    ----------
    Hong (2013), Computational Statistics & Data Analysis 59, 41-51. Boucheron, Lugosi & Massart
    (2013), Concentration Inequalities, 2.7-2.8 (Bennett's and Bernstein's inequalities).

    Examples
    --------
    >>> state = PowerSums.from_probabilities([0.5], count=[10_000])
    >>> state = state.merge(PowerSums.from_probabilities([0.25, 1.0]))
    >>> law = integer_law(state)
    >>> law.n, law.mean, round(float(law.pmf[5001 - law.start]), 12)
    (10002, 5001.25, 0.007978247287)
    """
    if state.is_complete:
        start, pmf = state.n_certain_positive, _convolution(state.kept)
    else:
        start, pmf = _inverted(state)
    return IntegerLaw(
        start=start,
        pmf=read_only(pmf),
        n=state.n,
        mean=state.mean,
        variance=state.variance,
        prob_none=math.exp(state.log_prob_none),
        prob_all=math.exp(state.log_prob_all),
    )


def _convolution(kept: FloatArray) -> FloatArray:
    """Return the pmf of 0, ..., n_kept by adding one row at a time: products and sums only."""
    q, sign, weight = kept
    pmf = np.ones(1)
    for near, is_low, times in zip(q, sign > 0.0, weight, strict=True):
        step = np.array([1.0 - near, near] if is_low else [near, 1.0 - near])
        for _ in range(int(times)):
            pmf = np.convolve(pmf, step)
    return pmf / pmf.sum()


def _inverted(state: PowerSums) -> tuple[int, FloatArray]:
    """Return start and pmf from the characteristic function."""
    frequencies = CountFrequencies(state)
    pmf = np.maximum(frequencies.invert(frequencies.phi), 0.0)
    from_start = frequencies.center - frequencies.start + state.mean_from(frequencies.center)
    return _without_noise(frequencies.start, pmf, state.variance, from_start)


def _without_noise(
    start: int, pmf: FloatArray, variance: float, mean: float
) -> tuple[int, FloatArray]:
    """Clip the ends at Bennett's inequality, drop what it leaves empty, and normalize.

    `mean` counts from `start`; the array is changed in place.
    """
    # Nearer to the mean than this, probabilities may exceed 1e-15 and are left as they are.
    inside = bernstein_width(variance, math.log(1e15))
    n_left = max(0, math.floor(mean - inside))
    first_right = min(len(pmf), math.ceil(mean + inside))
    left = _bennett(mean - np.arange(n_left, dtype=np.float64), variance)
    right = _bennett(np.arange(first_right, len(pmf), dtype=np.float64) - mean, variance)
    np.minimum(pmf[:n_left], left, out=pmf[:n_left])
    np.minimum(pmf[first_right:], right, out=pmf[first_right:])
    # The bound covers all mass farther out: both ends together lose at most 2 TRUNCATION.
    first = int(np.sum(left < TRUNCATION))
    pmf = pmf[first : len(pmf) - int(np.sum(right < TRUNCATION))]
    pmf /= pmf.sum()
    return start + first, pmf


def _bennett(distance: FloatArray, variance: float) -> FloatArray:
    """Bound P(N >= mean + distance), and P(N <= mean - distance), by Bennett's inequality."""
    # exp(-V h(x / V)), h(u) = (1 + u) log(1 + u) - u, holds for any V from the variance on; x / V
    # would overflow at the smallest doubles.
    variance = max(variance, 1e-100)
    ratio = distance / variance
    return np.exp(-variance * ((1.0 + ratio) * np.log1p(ratio) - ratio))
