"""Resampling: weights are repeated rows, limits are those of the textbook, memory is one vector."""

import tracemalloc

import numpy as np
import pytest
from scipy.stats import bootstrap

from labelbayes.data.simulate_soft_labels import simulate_soft_labels
from labelbayes.optimal.bootstrap import BootstrapLaw, acceleration_of, resample
from labelbayes.optimal.estimate import estimate_optimal
from labelbayes.optimal.forms import optimal_ber, optimal_error
from labelbayes.optimal.isotonic import fit_isotonic
from labelbayes.optimal.ranked_optimum import RankedOptimum
from labelbayes.results.protocol import MetricDistribution


def test_weights_equal_fits_to_repeated_rows() -> None:
    simulated = simulate_soft_labels(200, rng=1)
    soft, label = simulated.soft_labels.round(2), simulated.y_true.astype(float)
    optimum = RankedOptimum.of(
        soft, label, is_fitted=True, prior=None, form="auto", rng=np.random.default_rng(0)
    )
    order = optimum.ranked.order
    rng = np.random.default_rng(2)
    for _ in range(20):
        drawn = rng.integers(0, 200, 200)
        weight = np.bincount(drawn, minlength=200).astype(float)
        rows = order[drawn]
        eta = fit_isotonic(soft[rows], label[rows])
        found = optimum.values(np.bincount(optimum.groups.group, weight))
        assert found[0] == pytest.approx(optimal_error(eta), abs=1e-12)
        assert found[1] == pytest.approx(optimal_ber(eta), abs=1e-12)


def test_bca_and_basic_limits_equal_scipys_for_a_mean() -> None:
    data = np.random.default_rng(3).exponential(1.0, 40)
    draws = resample(
        lambda weight: (float(weight @ data) / 40,), np.arange(40), 20_000, np.random.default_rng(4)
    )[:, 0]
    law = BootstrapLaw(float(data.mean()), draws, acceleration_of(data - data.mean()), 0.0, 10.0)
    for kind, ours in (("BCa", law), ("basic", law.basic())):
        theirs = bootstrap(
            (data,), np.mean, n_resamples=20_000, method=kind, rng=np.random.default_rng(5)
        ).confidence_interval
        span = ours.interval(0.95)
        # Quantiles of 20,000 draws in the tails: sd 0.003; scipy's acceleration is a jackknife.
        assert (span.low, span.high) == pytest.approx((theirs.low, theirs.high), abs=0.015)
    # The two differ here, and a percentile interval (planted) is neither.
    percentile = np.quantile(draws, [0.025, 0.975])
    assert abs(law.interval().high - percentile[1]) > 0.02


def test_the_law_is_a_law() -> None:
    rng = np.random.default_rng(6)
    law = BootstrapLaw(0.1, rng.normal(0.09, 0.02, 999), 0.02, 0.0, 0.5)
    assert isinstance(law, MetricDistribution)
    for kind in (law, law.basic()):
        assert (kind.mean, kind.undefined_prob) == (0.1, 0.0)
        levels = np.linspace(0.02, 0.98, 25)
        at = kind.quantile(levels)
        assert (np.diff(at) >= 0).all()
        # Steps of a thousandth in the middle, wider where BCa stretches.
        inner = slice(2, -3)
        assert np.abs(kind.cdf(at) - levels)[inner].max() < 0.01
        assert (kind.cdf(-1.0), kind.cdf(1.0)) == (0.0, 1.0)
        draws = kind.draws(2_000, rng=0)
        assert np.quantile(draws, 0.5) == pytest.approx(kind.quantile(0.5), abs=0.003)
    # Resamples below the estimate: both kinds move up.
    assert law.quantile(0.5) > np.median(law.values)
    assert law.basic().quantile(0.5) > 0.1


def test_resamples_to_one_side_leave_finite_limits() -> None:
    law = BootstrapLaw(0.5, np.linspace(0.1, 0.2, 100), 0.3)
    span = law.interval()
    assert 0.1 <= span.low <= span.high <= 0.2


def test_bootstrap_agrees_with_the_influence_function() -> None:
    simulated = simulate_soft_labels(3_000, distance=1.5, rng=7)
    closed = estimate_optimal(simulated.soft_labels, simulated.y_true)
    drawn = estimate_optimal(simulated.soft_labels, simulated.y_true, n_resamples=400, rng=0)
    for name in closed:
        assert drawn[name].mean == pytest.approx(closed[name].mean)
        # 400 draws know a sd to 3.5%; best thresholds add noise of lower order.
        assert drawn[name].sd == pytest.approx(closed[name].sd, rel=0.16), name
    with pytest.raises(ValueError, match="must be joint across metrics"):
        drawn.draws(10)


def test_one_vector_of_weights_exists_at_a_time() -> None:
    simulated = simulate_soft_labels(20_000, rng=8)
    tracemalloc.start()
    estimate_optimal(simulated.soft_labels, simulated.y_true, n_resamples=60, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * 20_000 * 8  # all weights at once would be 60 x n


def test_equal_seeds_give_equal_draws() -> None:
    simulated = simulate_soft_labels(300, rng=9)
    first, again, other = (
        estimate_optimal(simulated.soft_labels, simulated.y_true, n_resamples=30, rng=seed)["ber"]
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.values, again.values)
    assert (first.values != other.values).any()
