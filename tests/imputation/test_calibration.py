"""Calibrators against plain loops, and on inputs that break other calibrators."""

import numpy as np
import pytest
from sklearn.base import clone

from labelbayes.imputation.calibration import (
    HistogramCalibrator,
    ScalingBinningCalibrator,
    equal_mass_edges,
)


def make_labels(n, seed=0):
    rng = np.random.default_rng(seed)
    score = np.round(rng.random(n), 2)
    return score, (rng.random(n) < score).astype(float)


def loop_edges(values, n_bins):
    """The rule of `equal_mass_edges`, one cut at a time, on unweighted values."""
    values = sorted(values)
    gaps = [k for k in range(1, len(values)) if values[k - 1] < values[k]]
    cuts = set()
    for j in range(1, n_bins):
        target = len(values) * j / n_bins
        cuts.add(min(gaps, key=lambda k: (abs(k - target), k)))
    return np.array([(values[k - 1] + values[k]) / 2 for k in sorted(cuts)])


def newton_platt(z, y, weight, variance=25.0):
    """Ridge-penalized logistic regression by textbook Newton steps with a 2 x 2 solve."""
    design = np.column_stack([z, np.ones_like(z)])
    ridge = np.diag([1 / variance, 0.0])
    theta = np.zeros(2)
    for _ in range(60):
        p = 1 / (1 + np.exp(-design @ theta))
        gradient = design.T @ (weight * (p - y)) + ridge @ theta
        hessian = design.T @ (design * (weight * p * (1 - p))[:, None]) + ridge
        theta = theta - np.linalg.solve(hessian, gradient)
    return theta


@pytest.mark.parametrize("n_bins", [1, 2, 7, 10, 40])
@pytest.mark.parametrize("n", [2, 11, 150])
def test_edges_equal_a_loop_over_cuts(n, n_bins):
    values = make_labels(n)[0]
    np.testing.assert_allclose(
        equal_mass_edges(values, np.ones(n), n_bins), loop_edges(values, n_bins)
    )


def test_edges_between_neighboring_floats_separate_them():
    low = 1.0
    high = np.nextafter(low, 2)
    edges = equal_mass_edges(np.array([low, high]), np.ones(2), 2)
    assert np.searchsorted(edges, [low, high], side="left").tolist() == [0, 1]


def test_edges_of_the_largest_floats_do_not_overflow():
    assert equal_mass_edges(np.array([1.0e308, 1.6e308]), np.ones(2), 2)[0] == pytest.approx(
        1.3e308
    )


def test_histogram_equals_a_loop():
    score, label = make_labels(300)
    calibrator = HistogramCalibrator(n_bins=6).fit(score[:, None], label)
    edges = [*loop_edges(score, 6), np.inf]
    expected = np.empty(300)
    for i, value in enumerate(score):
        top = next(edge for edge in edges if value <= edge)
        low = max([edge for edge in edges if edge < top], default=-np.inf)
        inside = [label[j] for j in range(300) if low < score[j] <= top]
        expected[i] = (sum(inside) + 0.5) / (len(inside) + 1)
    np.testing.assert_allclose(calibrator.predict(score[:, None]), expected, rtol=1e-14)


def test_scaling_binning_equals_an_independent_fit():
    score, label = make_labels(300)
    calibrator = ScalingBinningCalibrator(n_bins=6).fit(score[:, None], label)
    clipped = np.clip(score, 1e-12, 1 - 1e-12)
    logit = np.log(clipped / (1 - clipped))
    z = (logit - logit.mean()) / logit.std()
    slope, intercept = newton_platt(z, label, np.ones(300))
    output = 1 / (1 + np.exp(-slope * z - intercept))
    bins = np.searchsorted(loop_edges(output, 6), output, side="left")
    expected = np.array([output[bins == b].mean() for b in bins])
    np.testing.assert_allclose(calibrator.predict(score[:, None]), expected, atol=1e-9)
    # Means of labels instead of Platt outputs (that is histogram binning) must not pass.
    of_labels = np.array([label[bins == b].mean() for b in bins])
    assert np.abs(of_labels - expected).max() > 1e-3


@pytest.mark.parametrize(
    "calibrator", [HistogramCalibrator(n_bins=5), ScalingBinningCalibrator(n_bins=5)]
)
def test_weights_are_multiplicities(calibrator):
    score, label = make_labels(60)
    weight = np.random.default_rng(1).integers(0, 4, 60)
    weighted = clone(calibrator).fit(score[:, None], label, sample_weight=weight)
    repeated = clone(calibrator).fit(np.repeat(score, weight)[:, None], np.repeat(label, weight))
    grid = np.linspace(0, 1, 50)[:, None]
    np.testing.assert_allclose(weighted.predict(grid), repeated.predict(grid), atol=1e-9)
    unweighted = clone(calibrator).fit(score[:, None], label)
    assert np.abs(unweighted.predict(grid) - repeated.predict(grid)).max() > 1e-3


@pytest.mark.parametrize("calibrator", [HistogramCalibrator(), ScalingBinningCalibrator()])
def test_only_the_first_column_is_used(calibrator):
    score, label = make_labels(80)
    noise = np.random.default_rng(2).random((80, 2))
    alone = clone(calibrator).fit(score[:, None], label).predict(score[:, None])
    wide = np.column_stack([score, noise])
    np.testing.assert_array_equal(clone(calibrator).fit(wide, label).predict(wide), alone)


def test_parameters_are_scikit_learn_parameters():
    assert clone(HistogramCalibrator(n_bins=3)).get_params() == {"n_bins": 3}
    assert clone(ScalingBinningCalibrator(n_bins=3)).get_params() == {"n_bins": 3, "scale": "auto"}


@pytest.mark.parametrize("calibrator", [HistogramCalibrator(), ScalingBinningCalibrator()])
def test_constant_scores_give_the_rate(calibrator):
    label = np.array([1.0] * 30 + [0.0] * 70)
    fitted = clone(calibrator).fit(np.full((100, 1), 0.3), label)
    assert fitted.n_bins_ == 1
    np.testing.assert_allclose(fitted.predict([[0.0], [0.3], [1.0]])[1], 0.3, atol=0.003)


def test_separable_labels_have_a_finite_fit():
    score = np.linspace(0.01, 0.99, 40)[:, None]
    fitted = ScalingBinningCalibrator().fit(score, score[:, 0] > 0.5)
    assert 0 < fitted.slope_ < 30
    assert 0 < fitted.predict(score).min() < 0.05
    assert 0.95 < fitted.predict(score).max() < 1


def test_scores_from_300_to_850_are_standardized():
    score, label = make_labels(200)
    wide = ScalingBinningCalibrator(n_bins=5).fit(300 + 550 * score[:, None], label)
    assert wide.scale_ == "standardized"
    direct = ScalingBinningCalibrator(n_bins=5, scale="standardized").fit(score[:, None], label)
    np.testing.assert_allclose(
        wide.predict(300 + 550 * score[:, None]), direct.predict(score[:, None]), atol=1e-9
    )


def test_scores_that_rank_the_wrong_way_get_a_falling_curve():
    score, label = make_labels(400)
    fitted = ScalingBinningCalibrator().fit(score[:, None], 1 - label)
    low, high = fitted.predict([[0.1], [0.9]])
    assert low > 0.7 > 0.3 > high


@pytest.mark.parametrize(
    ("X", "y", "weight", "sentence"),
    [
        ([[0.1], [0.2]], [1, 1], None, "`y` must hold both classes"),
        ([[0.1], [0.2]], [1, 2], None, "`y` must hold 0 or 1 in every row; got 2.0 at row 1"),
        ([[0.1], [0.2]], [1, np.nan], None, "`y` must hold 0 or 1"),
        ([[0.1], [np.nan]], [1, 0], None, "`X` must hold finite scores"),
        ([[0.1], [0.2]], [1, 0, 1], None, "`y` must have one value per row"),
        ([[0.1], [0.2]], [1, 0], [1, -1], "`sample_weight` must hold finite weights >= 0"),
        ([[0.1], [0.2]], [1, 0], [0, 0], "`y` must hold at least one label with weight"),
        ([[[0.1]], [[0.2]]], [1, 0], None, "`X` must have shape"),
    ],
)
def test_bad_input_is_one_sentence(X, y, weight, sentence):
    with pytest.raises(ValueError, match=sentence):
        ScalingBinningCalibrator().fit(X, y, sample_weight=weight)


def test_bad_parameters_are_named_when_fitting():
    with pytest.raises(ValueError, match="`n_bins` must be at least 1"):
        HistogramCalibrator(n_bins=0).fit([[0.1]], [1])
    with pytest.raises(ValueError, match="`scale` must be one of"):
        ScalingBinningCalibrator(scale="log").fit([[0.1], [0.2]], [1, 0])
