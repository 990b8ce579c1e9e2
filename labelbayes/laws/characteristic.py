"""The characteristic function of a count, at the few frequencies where it matters."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len

from labelbayes._checks import FloatArray
from labelbayes.laws.power_series import (
    NEAR,
    SERIES_REACH,
    TRUNCATION,
    largest_step,
    series_error,
    sum_powers,
)
from labelbayes.laws.power_sums import PowerSums

ComplexArray = npt.NDArray[np.complex128]


class CountFrequencies:
    """Characteristic function of a count on a grid, and the way back to the counts.

    Parameters
    ----------
    state : PowerSums
        Summary of the rows, at least one of them uncertain.

    Attributes
    ----------
    start : int
        Smallest count of the window that `invert` answers for.
    n_counts : int
        Length of the window.
    center : int
        The integer nearest to the mean.
    w : ndarray of float, shape (n_frequencies,)
        Frequencies, from 0 on.
    step : ndarray of complex, shape (n_frequencies,)
        ``exp(iw) - 1``, never -2.
    phi : ndarray of complex, shape (n_frequencies,)
        ``E exp(iw (N - center))``; at frequencies left out it is below `TRUNCATION`.

    Raises
    ------
    RuntimeError
        If the bound on the truncation error exceeds 1e-17 (a defect: derived never to happen).

    References
    ----------
    Hong (2013), On computing the distribution function for the Poisson binomial distribution,
    Computational Statistics & Data Analysis 59, 41-51.

    Examples
    --------
    >>> frequencies = CountFrequencies(PowerSums.from_probabilities([0.5, 0.25]))
    >>> frequencies.start, frequencies.invert(frequencies.phi).round(12)
    (0, array([0.375, 0.5  , 0.125]))
    """

    def __init__(self, state: PowerSums) -> None:
        variance = state.variance
        lowest, highest = state.n_certain_positive, state.n - state.n_certain_negative
        half_width = math.ceil(bernstein_width(variance, math.log(2.0 / TRUNCATION))) + 1
        length = next_fast_len(min(2 * half_width + 1, state.n_uncertain + 1), real=True)
        # Beyond |exp(iw) - 1| = 2 sin(w / 2) = reach the characteristic function is negligible.
        reach = largest_step(variance)
        if reach == 2.0:
            # At w = pi a row with p = 1/2 has the factor 0; an odd grid does not meet it.
            length |= 1
        last_frequency = 2.0 * math.asin(reach / 2.0)
        n_frequencies = min(length // 2, math.ceil(last_frequency * length / (2.0 * math.pi))) + 1
        self.w = np.arange(n_frequencies, dtype=np.float64) * (2.0 * math.pi / length)
        self.step = -2.0 * np.sin(self.w / 2.0) ** 2 + 1j * np.sin(self.w)

        # Around the nearest integer to the mean: a phase w mean with mean 1e6 would cost 3 digits.
        self.center = round(state.mean)
        log_modulus, phase = _log_characteristic(state, self.w)
        phase += self.w * state.mean_from(self.center)
        self.phi: ComplexArray = np.exp(log_modulus + 1j * phase)

        self._length = length
        self.start = max(lowest, min(self.center - length // 2, highest + 1 - length))
        self.n_counts = min(highest + 1, self.start + length) - self.start

    def invert(self, values: ComplexArray) -> FloatArray:
        """Return the function of the count that has this transform.

        Parameters
        ----------
        values : ndarray of complex, shape (n_frequencies,)
            ``sum_k g_k exp(iw (k - center))`` at the frequencies `w`; 0 beyond them.

        Returns
        -------
        ndarray of float, shape (n_counts,)
            g at the counts ``start, start + 1, ...``.
        """
        spectrum = np.zeros(self._length // 2 + 1, dtype=np.complex128)
        # SciPy's inverse transform carries exp(+iwk); the value at k needs exp(-iwk).
        spectrum[: len(values)] = values.conj()
        around_center = irfft(spectrum, self._length)
        return np.roll(around_center, self.center - self.start)[: self.n_counts]


def bernstein_width(variance: float, log_mass: float) -> float:
    """Return x such that ``|N - mean| >= x`` has mass at most ``2 exp(-log_mass)``.

    Parameters
    ----------
    variance : float >= 0
        Variance of the count N.
    log_mass : float > 0
        Minus the logarithm of half the mass.

    Returns
    -------
    float
        By Bernstein's inequality.

    Examples
    --------
    >>> bernstein_width(0.0, 3.0)
    2.0
    """
    third = log_mass / 3.0
    return third + math.sqrt(third**2 + 2.0 * variance * log_mass)


def _log_characteristic(state: PowerSums, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log modulus and phase of E exp(iw (N - mean)), shape (n_frequencies,) each.

    A row with p <= 1/2 adds ``log(1 + q z) - iwq``, z = exp(iw) - 1; a row with p > 1/2 adds the
    conjugate. The j-th terms of the series add up to ``(-1)^(j+1) S_j z^j / j``.
    """
    sine = np.sin(w / 2.0)
    real, imaginary = -2.0 * sine**2, np.sin(w)
    q, sign, weight = state.kept
    sums = state.sums
    # Once 1/2 |z| stays within reach, the kept rows join the series too.
    kept_in_series = 0.5 * largest_step(state.variance) <= SERIES_REACH
    order = sums.shape[1]
    if kept_in_series and len(q):
        sums = sums + sum_powers(state.kept, order)
    error = series_error(order, 0.5 if kept_in_series else NEAR, state.variance)
    if error > TRUNCATION:
        raise RuntimeError(
            f"{order} power sums leave a truncation error of {error:.1e} at variance "
            f"{state.variance!r}, above {TRUNCATION}; please report this as a defect."
        )

    powers = np.cumprod(np.broadcast_to(real + 1j * imaginary, (order, len(w))), axis=0)
    powers[0] = real + 1j * _sine_minus_angle(w)
    index = np.arange(1, order + 1)
    coefficients = sums * (-1.0) ** (index + 1) / index
    log_modulus, phase = coefficients[0] @ powers.real, coefficients[1] @ powers.imag
    if not kept_in_series and len(q):
        # |1 + q z|^2 = 1 - 4 q (1 - q) sin^2(w / 2), zero at q = 1/2, w = pi.
        with np.errstate(divide="ignore"):
            log_squares = np.log1p(-4.0 * (q * (1.0 - q)) * sine[:, np.newaxis] ** 2)
        angles = np.arctan2(imaginary[:, np.newaxis] * q, 1.0 + real[:, np.newaxis] * q)
        log_modulus = log_modulus + 0.5 * (log_squares @ weight)
        phase = phase + (angles - w[:, np.newaxis] * q) @ (sign * weight)
    return log_modulus, phase


def _sine_minus_angle(w: FloatArray) -> FloatArray:
    """Return sin(w) - w for 0 <= w <= pi without cancellation at small w."""
    square = w**2
    series = np.ones_like(w)
    for k in (110.0, 72.0, 42.0, 20.0):
        series = 1.0 - square / k * series
    return np.where(w < 0.3, -w * square / 6.0 * series, np.sin(w) - w)
