"""The law on the scale of log odds is a law, and keeps its range."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

from labelbayes.optimal.logit_law import LogitLaw
from labelbayes.results.protocol import MetricDistribution


@pytest.mark.parametrize("law", [LogitLaw(0.03, 0.01), LogitLaw(0.98, 0.004, 0.5, 1.0)])
def test_quantiles_cdf_and_draws_agree(law: LogitLaw) -> None:
    assert isinstance(law, MetricDistribution)
    levels = np.array([0.025, 0.3, 0.5, 0.9])
    width = law.sd / (law.mean * (1 - law.mean))
    expected = expit(logit(law.mean) + width * norm.ppf(levels))
    np.testing.assert_allclose(law.quantile(levels), expected, rtol=1e-12)
    np.testing.assert_allclose(law.cdf(expected), levels, rtol=1e-9)
    draws = law.draws(40_000, rng=0)
    # Four standard errors of a share of 40,000 draws.
    assert [np.mean(draws <= at) for at in expected] == pytest.approx(levels, abs=0.01)
    assert (law.quantile(0.0), law.quantile(1.0)) == (law.lowest, law.highest)
    assert law.undefined_prob == 0


def test_for_small_errors_it_is_the_normal_law() -> None:
    span = LogitLaw(0.2, 1e-5).interval()
    assert (span.low, span.high) == pytest.approx((0.2 - 1.96e-5, 0.2 + 1.96e-5), abs=1e-8)


def test_mass_beyond_the_range_sits_at_its_ends() -> None:
    law = LogitLaw(0.49, 0.05, 0.0, 0.5)
    assert law.quantile(0.9) == 0.5
    assert law.prob_at_least(0.5) == pytest.approx(
        norm.sf((logit(0.5) - logit(0.49)) / 0.2), abs=0.01
    )
