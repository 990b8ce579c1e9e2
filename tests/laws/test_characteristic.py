"""The characteristic function of a count, and back, against convolution."""

import numpy as np
import pytest

from labelbayes.laws.characteristic import CountFrequencies, bernstein_width
from labelbayes.laws.power_sums import PowerSums


@pytest.mark.parametrize("m", [1, 2, 30, 64, 65, 300])
def test_pmf_and_its_moments_come_back(m):
    p = np.random.default_rng(m).random(m)
    p[: m // 4] = 0.5
    pmf = np.ones(1)
    for q in p:
        pmf = np.convolve(pmf, [1 - q, q])
    frequencies = CountFrequencies(PowerSums.from_probabilities(p))
    counts = frequencies.start + np.arange(frequencies.n_counts)
    np.testing.assert_allclose(frequencies.invert(frequencies.phi), pmf[counts], rtol=0, atol=1e-15)
    # E (N - mean) exp(iw (N - center)) is phi times a sum over rows.
    z = frequencies.step[:, None]
    tilted = frequencies.phi * np.sum(p * (1 - p) * z / (1 + p * z), axis=1)
    np.testing.assert_allclose(
        frequencies.invert(tilted), (counts - p.sum()) * pmf[counts], rtol=0, atol=1e-14
    )


@pytest.mark.parametrize("m", [63, 83])
def test_the_grid_never_meets_the_zero_of_fair_coins(m):
    frequencies = CountFrequencies(PowerSums.from_probabilities(np.full(m, 0.5)))
    assert np.abs(1 + 0.5 * frequencies.step).min() > 1e-3


def test_bernstein_width_holds_the_mass():
    p = np.full(400, 0.3)
    pmf = np.ones(1)
    for q in p:
        pmf = np.convolve(pmf, [1 - q, q])
    for log_mass in (1.0, 5.0, 20.0):
        outside = np.abs(np.arange(401) - 120.0) >= bernstein_width(84.0, log_mass)
        assert pmf[outside].sum() <= 2 * np.exp(-log_mass)
