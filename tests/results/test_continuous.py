"""Normal and Fieller laws: clipping, points, and the equations they solve."""

import numpy as np
import pytest
from scipy.stats import norm

from labelbayes.results.continuous import NormalLaw, RatioLaw


def test_normal_law_is_normal_inside_the_range() -> None:
    law, exact = NormalLaw(0.6, 0.1), norm(0.6, 0.1)
    t, q = np.linspace(0.1, 0.95, 9), np.linspace(0.01, 0.99, 9)
    assert law.cdf(t) == pytest.approx(exact.cdf(t), abs=1e-14)
    assert law.quantile(q) == pytest.approx(exact.ppf(q), abs=1e-14)
    assert law.prob_at_least(0.7) == pytest.approx(exact.sf(0.7), abs=1e-14)


def test_mass_beyond_the_range_sits_at_its_ends() -> None:
    law = NormalLaw(0.95, 0.1)
    assert law.cdf([1.0, 1.5, -0.1]).tolist() == [1.0, 1.0, 0.0]
    assert law.cdf(1 - 1e-9) == pytest.approx(norm.cdf(0.5), abs=1e-7)
    assert law.prob_at_least(1.0) == pytest.approx(norm.sf(0.5))
    assert law.quantile([0.7, 1.0]).tolist() == [1.0, 1.0]
    assert law.draws(1_000, 0).max() == 1.0
    kappa = NormalLaw(-0.9, 0.3, lowest=-1.0)
    assert kappa.quantile(0.1) == -1.0
    assert kappa.draws(1_000, 0).min() == -1.0


def test_no_spread_is_a_point() -> None:
    law = NormalLaw(0.25, 0.0)
    assert law.cdf([0.2499, 0.25, 0.26]).tolist() == [0.0, 1.0, 1.0]
    assert law.quantile([0.0, 0.5, 1.0]).tolist() == [0.25] * 3
    assert law.interval().width == 0.0
    assert (law.draws(5, 0) == 0.25).all()


def test_ratio_law_solves_fiellers_equation() -> None:
    law = RatioLaw(6.0, 10.0, 1.2, 0.9, 0.5)
    for q in (0.001, 0.025, 0.3, 0.5, 0.8, 0.975):
        t, z = float(law.quantile(q)), norm.ppf(q)
        spread = np.sqrt(1.2 - 2 * t * 0.5 + t * t * 0.9)
        assert t * 10 - 6 == pytest.approx(z * spread, abs=1e-11)
        assert law.cdf(t) == pytest.approx(q, abs=1e-13)
    assert law.mean == 0.6
    assert law.sd == pytest.approx(np.sqrt(1.2 - 1.2 * 0.5 + 0.36 * 0.9) / 10)


def test_ratio_law_is_that_of_two_normals() -> None:
    law = RatioLaw(6.0, 10.0, 1.2, 0.9, 0.5)
    z, w = np.random.default_rng(0).multivariate_normal([6, 10], [[1.2, 0.5], [0.5, 0.9]], 40_000).T
    t = np.linspace(0.3, 0.9, 50)
    share = ((z / w)[:, None] <= t).mean(axis=0)
    limit = np.sqrt(np.log(2 / 1e-6) / (2 * 40_000))
    assert abs(share - law.cdf(t)).max() < limit
    without_covariance = RatioLaw(6.0, 10.0, 1.2, 0.9, 0.0)
    assert abs(share - without_covariance.cdf(t)).max() > limit


def test_ratio_law_without_spread_is_a_point() -> None:
    law = RatioLaw(3.0, 4.0, 0.0, 0.0, 0.0)
    assert law.cdf([0.74, 0.75, 0.76]).tolist() == [0.0, 1.0, 1.0]
    assert law.quantile([0.1, 0.5, 0.9]) == pytest.approx([0.75] * 3, abs=1e-14)
    assert law.sd == 0.0


def test_ratio_law_stays_in_its_range() -> None:
    law = RatioLaw(9.7, 10.0, 2.0, 1.0, 0.5)
    assert law.quantile([0.0, 0.999, 1.0])[1:].tolist() == [1.0, 1.0]
    assert law.quantile(0.0) == 0.0
    assert (law.draws(200, 1) <= 1.0).all()


def test_no_positive_denominator_is_undefined() -> None:
    law = RatioLaw(0.0, 0.0, 1.0, 1.0, 0.0, undefined_prob=1.0, undefined_reason="no positives")
    assert law.is_undefined
    assert np.isnan(law.sd)
