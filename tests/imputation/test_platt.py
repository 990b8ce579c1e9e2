"""Platt scaling of many weightings at once, against scikit-learn and at its extremes."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from labelbayes.imputation.platt import SLOPE_VARIANCE, fit_platt


def test_each_set_equals_scikit_learn():
    rng = np.random.default_rng(0)
    z = rng.normal(size=80)
    label = rng.random(80) < 1 / (1 + np.exp(1 - 2 * z))
    weight = rng.exponential(size=(5, 80))
    slope, intercept = fit_platt(z, weight * label, weight * ~label)
    for k in range(5):
        oracle = LogisticRegression(C=SLOPE_VARIANCE, solver="newton-cholesky", tol=1e-12)
        oracle.fit(z[:, None], label, sample_weight=weight[k])
        assert slope[k] == pytest.approx(oracle.coef_[0, 0], rel=1e-7)
        assert intercept[k] == pytest.approx(oracle.intercept_[0], rel=1e-7)


def test_a_set_does_not_depend_on_its_neighbors():
    rng = np.random.default_rng(1)
    z, weight = rng.normal(size=30), rng.exponential(size=(4, 2, 30))
    together = fit_platt(z, weight[:, 0], weight[:, 1])
    alone = fit_platt(z, weight[2:3, 0], weight[2:3, 1])
    np.testing.assert_allclose([part[2] for part in together], np.ravel(alone), rtol=1e-9)


@pytest.mark.parametrize("rare", [1e-9, 1e-3, 1.0])
@pytest.mark.parametrize("spread", [1e-6, 1.0, 50.0])
def test_extreme_weights_and_separable_labels_are_stationary(rare, spread):
    z = spread * np.linspace(-1, 1, 41)
    positive = np.where(z > 0.9 * spread, rare, 0.0)[None]
    negative = np.where(z < 0, 1.0, 0.0)[None]
    slope, intercept = fit_platt(z, positive, negative)
    p = 1 / (1 + np.exp(-(slope * z + intercept)))
    excess = (positive + negative)[0] * p - positive[0]
    scale = positive.sum()
    assert abs(excess.sum()) < 1e-7 * scale
    assert abs(excess @ z + slope[0] / SLOPE_VARIANCE) < 1e-7 * max(scale * spread, 1)


@pytest.mark.parametrize("count", [1.0, 1e6, 1e12, 1e15])
@pytest.mark.parametrize("width", [1e-6, 1.0, 1e3])
def test_huge_counts_of_tied_scores_stop_at_round_off(count, width):
    z = width * np.array([-1.0, -1.0, 1.0, 1.0])
    positive, negative = count * np.array([[1, 0, 1, 0]]), np.array([[0, 3.0, 0, 1.0]])
    negative = np.where(negative > 0, negative * count, 0)
    slope, intercept = fit_platt(z, positive, negative)
    p = 1 / (1 + np.exp(-(slope * z + intercept)))
    # The intercept is free, so that p adds up to the positives whatever the slope.
    assert (positive + negative)[0] @ p == pytest.approx(positive.sum(), rel=1e-6)


def test_a_loss_that_only_rounds_is_no_failure():
    # Here the steps never get below 1e-10: they jitter with the rounding of a loss of 1e13.
    z, positive = np.array([-1.0, 3.0]), np.array([[1e12, 1e11]])
    slope, intercept = fit_platt(z, positive, np.array([[0.0, 1e15]]))
    p = 1 / (1 + np.exp(-(slope * z + intercept)))
    assert p[1] == pytest.approx(1e11 / (1e11 + 1e15), rel=1e-3)
