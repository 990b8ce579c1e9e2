"""Platt scaling with features, beta and isotonic calibration against independent fits."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

from labelbayes.imputation.calibration import ScalingBinningCalibrator
from labelbayes.imputation.isotonic import IsotonicCalibrator
from labelbayes.imputation.parametric import BetaCalibrator, PlattCalibrator

EVERY = [PlattCalibrator(), BetaCalibrator(), IsotonicCalibrator()]


def make_labels(n, seed=0):
    rng = np.random.default_rng(seed)
    score = np.round(rng.random(n), 2)
    return score, (rng.random(n) < score).astype(float)


def newton(design, variance, y, weight):
    """Logistic regression with a normal prior on each column, by textbook Newton steps."""
    theta = np.zeros(design.shape[1])
    precision = np.diag(1 / np.asarray(variance))
    for _ in range(100):
        p = expit(design @ theta)
        gradient = design.T @ (weight * (p - y)) + precision @ theta
        hessian = design.T @ (design * (weight * p * (1 - p))[:, None]) + precision
        theta = theta - np.linalg.solve(hessian, gradient)
    return theta


def test_platt_equals_newton_steps_with_the_priors_it_names():
    rng = np.random.default_rng(3)
    score, label = make_labels(200)
    other, flag = 50 + 9 * rng.normal(size=200), rng.integers(0, 2, 200).astype(float)
    weight = rng.exponential(size=200)
    fitted = PlattCalibrator().fit(np.column_stack([score, other, flag]), label, weight)

    def standardized(column):
        center = np.average(column, weights=weight)
        return (column - center) / np.sqrt(np.average((column - center) ** 2, weights=weight))

    z = standardized(logit(np.clip(score, 1e-12, 1 - 1e-12)))
    design = np.column_stack([z, standardized(other), flag, np.ones(200)])
    theta = newton(design, [25, 25, 1, np.inf], label, weight)
    np.testing.assert_allclose([*fitted.coef_, fitted.intercept_], theta, atol=1e-6)
    np.testing.assert_allclose(
        fitted.predict(np.column_stack([score, other, flag])), expit(design @ theta), atol=1e-7
    )
    # A flag that is scaled like a number, with its wider prior, is seen.
    wide = newton(design, [25, 25, 25, np.inf], label, weight)
    assert np.abs(wide - theta).max() > 1e-3


@pytest.mark.parametrize("scale", ["auto", "logit", "standardized"])
def test_platt_on_the_score_alone_is_the_scaling_of_scaling_binning(scale):
    score, label = make_labels(300)
    platt = PlattCalibrator(scale=scale).fit(score, label)
    other = ScalingBinningCalibrator(scale=scale).fit(score, label)
    assert platt.scale_ == other.scale_
    np.testing.assert_allclose(platt.predict(score), other.platt(score), atol=1e-7)


def test_a_group_with_few_labels_is_pulled_to_the_others():
    rng = np.random.default_rng(0)
    few, many = np.zeros(1000), np.zeros(1000)
    few[:4], many[4:300] = 1, 1
    label = np.where(few + many > 0, 1.0, rng.integers(0, 2, 1000))
    label[10] = 0  # one of 296 in the group of many
    fitted = PlattCalibrator().fit(np.column_stack([rng.random(1000), few, many]), label)
    _, effect_of_few, effect_of_many = fitted.coef_
    assert 0.3 < effect_of_few < 1.5  # all 4 are positive, and yet it is no infinity
    assert effect_of_many > 2.5


@pytest.mark.parametrize("rate", ["rises", "falls"])
def test_beta_equals_a_bounded_search_from_many_starts(rate):
    score, label = make_labels(250)
    label = label if rate == "rises" else 1 - label
    weight = np.random.default_rng(1).exponential(size=250)
    fitted = BetaCalibrator().fit(score, label, weight)
    clipped = np.clip(score, 1e-12, 1 - 1e-12)
    logs = np.column_stack([np.log(clipped), -np.log1p(-clipped)])
    center = np.average(logs, axis=0, weights=weight)
    spread = np.sqrt(np.average((logs - center) ** 2, axis=0, weights=weight))

    def loss(theta):
        eta = logs @ theta[:2] + theta[2]
        prior = (theta[:2] * spread) @ (theta[:2] * spread) / 50
        return weight @ (np.logaddexp(0, eta) - label * eta) + prior

    found = min(
        minimize(
            loss,
            start,
            method="SLSQP",
            bounds=[(0, None), (0, None), (None, None)],
            options={"ftol": 1e-12, "maxiter": 500},
        ).fun
        for start in ([0, 0, 0], [1, 1, 0], [0.2, 2, -1], [2, 0.2, 1])
    )
    ours = loss(np.array([fitted.a_, fitted.b_, fitted.c_]))
    assert ours <= found + 1e-6
    assert fitted.a_ >= 0
    assert fitted.b_ >= 0
    if rate == "falls":
        np.testing.assert_allclose(
            fitted.predict(score), np.average(label, weights=weight), atol=1e-6
        )
    else:
        # A coefficient a tenth away is a worse fit by far more than the tolerance.
        assert loss(np.array([fitted.a_ + 0.1, fitted.b_, fitted.c_])) > ours + 1e-3


def test_isotonic_is_scikit_learns_with_half_counts_at_the_ends():
    score, label = make_labels(200)
    weight = np.random.default_rng(1).exponential(size=200)
    grid = np.linspace(0, 1, 300)
    found = IsotonicCalibrator().fit(score, label, weight).predict(grid)
    halves = np.concatenate([score, np.repeat([score.min(), score.max()], 2)])
    oracle = IsotonicRegression(out_of_bounds="clip").fit(
        halves, [*label, 0, 1, 0, 1], sample_weight=[*weight, 0.5, 0.5, 0.5, 0.5]
    )
    np.testing.assert_allclose(found, oracle.predict(grid), atol=1e-12)
    bare = IsotonicRegression(out_of_bounds="clip").fit(score, label, sample_weight=weight)
    assert bare.predict(grid).max() == 1
    assert 0 < found.min() < found.max() < 1


@pytest.mark.parametrize("calibrator", EVERY)
def test_weights_are_multiplicities(calibrator):
    score, label = make_labels(60)
    weight = np.random.default_rng(1).integers(0, 4, 60)
    weighted = clone(calibrator).fit(score[:, None], label, sample_weight=weight)
    repeated = clone(calibrator).fit(np.repeat(score, weight)[:, None], np.repeat(label, weight))
    grid = np.linspace(0, 1, 50)[:, None]
    np.testing.assert_allclose(weighted.predict(grid), repeated.predict(grid), atol=1e-5)
    unweighted = clone(calibrator).fit(score[:, None], label)
    assert np.abs(unweighted.predict(grid) - repeated.predict(grid)).max() > 1e-3


@pytest.mark.parametrize("calibrator", EVERY)
@pytest.mark.parametrize("separable", [True, False])
@pytest.mark.parametrize(
    "score",
    [np.full(60, 0.3), np.linspace(0, 1, 60), np.repeat([0.0, 1.0], 30), 1e-300 * np.arange(60)],
    ids=["constant", "0 to 1", "two scores", "tiny"],
)
def test_awkward_scores_give_probabilities_without_a_warning(calibrator, score, separable):
    rng = np.random.default_rng(0)
    label = (np.arange(60) >= 30).astype(float) if separable else rng.integers(0, 2, 60) * 1.0
    p = clone(calibrator).fit(score, label).predict(np.array([0.0, 0.5, 1.0]))
    assert ((p > 0) & (p < 1)).all()


@pytest.mark.parametrize("calibrator", EVERY)
def test_they_are_scikit_learn_estimators(calibrator):
    assert clone(calibrator).get_params() == calibrator.get_params()
    assert PlattCalibrator(scale="logit").get_params() == {"scale": "logit"}


@pytest.mark.parametrize("calibrator", [BetaCalibrator(), IsotonicCalibrator()])
def test_only_the_first_column_is_used(calibrator):
    score, label = make_labels(80)
    wide = np.column_stack([score, np.random.default_rng(2).random((80, 2))])
    alone = clone(calibrator).fit(score[:, None], label).predict(score[:, None])
    np.testing.assert_array_equal(clone(calibrator).fit(wide, label).predict(wide), alone)
    platt = PlattCalibrator().fit(wide, label).predict(wide)
    assert np.abs(platt - PlattCalibrator().fit(score, label).predict(score)).max() > 1e-4


def test_bad_input_is_one_sentence():
    with pytest.raises(ValueError, match=r"scores in \[0, 1\] for beta calibration; got 0.1 to 7"):
        BetaCalibrator().fit([0.1, 7], [0, 1])
    for calibrator in (PlattCalibrator(), BetaCalibrator()):
        with pytest.raises(ValueError, match="`y` must hold both classes"):
            calibrator.fit([0.1, 0.7], [1, 1])
    with pytest.raises(ValueError, match="finite values in column 1; got nan at row 0"):
        PlattCalibrator().fit([[0.1, np.nan], [0.2, 1]], [0, 1])
    with pytest.raises(ValueError, match="`scale` must be one of"):
        PlattCalibrator(scale="log").fit([0.1, 0.2], [0, 1])
