"""A cdf on a grid: quantiles, draws, ends, and what is refused."""

import pickle

import numpy as np
import pytest
from scipy.special import ndtr

from labelbayes.results.grid_law import GridLaw
from labelbayes.results.protocol import MetricDistribution

VALUES = np.linspace(0.2, 0.8, 601)
LAW = GridLaw(VALUES, np.append(ndtr((VALUES[:-1] - 0.5) / 0.05), 1.0), 0.5, 0.05, 0.1, "never")


def test_quantiles_invert_the_cdf():
    assert isinstance(LAW, MetricDistribution)
    levels = np.linspace(0.01, 0.99, 99)
    np.testing.assert_allclose(LAW.cdf(LAW.quantile(levels)), levels, atol=1e-12)
    # Linear between grid points: the step squared times the curvature over 8.
    assert float(LAW.quantile(0.975)) == pytest.approx(0.5 + 1.959964 * 0.05, abs=1e-5)
    assert LAW.prob_at_least(0.55) == pytest.approx(1 - ndtr(1), abs=1e-5)


def test_moments_are_the_ones_given():
    law = GridLaw(np.array([0.0, 1.0]), np.array([0.0, 1.0]), mean=0.6, sd=0.2)
    assert (law.mean, law.sd, law.undefined_prob, law.is_undefined) == (0.6, 0.2, 0.0, False)


def test_mass_below_the_grid_sits_at_its_start():
    law = GridLaw(np.array([0.0, 1.0]), np.array([0.25, 1.0]), mean=0.375, sd=0.3)
    assert law.cdf([-0.1, 0.0, 0.5]) == pytest.approx([0.0, 0.25, 0.625], abs=1e-12)
    assert law.quantile([0.0, 0.2, 0.25, 1.0]).tolist() == [0.0, 0.0, 0.0, 1.0]


def test_flat_parts_have_their_lower_end_as_quantile():
    law = GridLaw(np.array([0.0, 0.4, 0.6, 1.0]), np.array([0.0, 0.5, 0.5, 1.0]), 0.5, 0.3)
    assert float(law.quantile(0.5)) == 0.4


def test_draws_follow_the_law():
    draws = LAW.draws(4_000, 1)
    # Four standard errors of the mean.
    assert draws.mean() == pytest.approx(0.5, abs=4 * 0.05 / np.sqrt(4_000))
    assert draws.std() == pytest.approx(0.05, rel=0.05)


def test_what_is_no_cdf_is_refused():
    with pytest.raises(ValueError, match="`values` must be ascending"):
        GridLaw(np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="`cumulative` must not fall"):
        GridLaw(np.array([0.0, 0.5, 1.0]), np.array([0.6, 0.5, 1.0]))
    with pytest.raises(ValueError, match="must end at 1"):
        GridLaw(np.array([0.0, 1.0]), np.array([0.0, 0.9]))


def test_pickles_and_stays_read_only():
    copy = pickle.loads(pickle.dumps(LAW))
    assert repr(copy) == repr(LAW)
    with pytest.raises(ValueError, match="read-only"):
        LAW.values[0] = 0.0
