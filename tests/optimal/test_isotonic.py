"""Isotonic calibration, and the exact meaning of what is computed from it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import roc_auc_score, roc_curve

from labelbayes.optimal.forms import optimal_error
from labelbayes.optimal.isotonic import fit_isotonic, rank_labels
from labelbayes.optimal.plug_in import plug_in

ROWS = st.lists(
    st.tuples(st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0]), st.integers(0, 1)),
    min_size=4,
    max_size=25,
).filter(lambda rows: 0 < sum(label for _, label in rows) < len(rows))


def _arrays(rows) -> tuple[np.ndarray, np.ndarray]:
    score, label = np.array(rows, dtype=float).T
    return score, label


def _hull_area(score: np.ndarray, label: np.ndarray) -> float:
    """Area under the upper hull of the ROC curve, by a chain over its points."""
    false, true, _ = roc_curve(label, score, drop_intermediate=False)
    chain: list[tuple[float, float]] = []
    for point in sorted(set(zip(false, true, strict=True))):
        while len(chain) > 1:
            (x1, y1), (x2, y2) = chain[-2:]
            if (x2 - x1) * (point[1] - y1) - (y2 - y1) * (point[0] - x1) < 0:
                break
            chain.pop()
        chain.append(point)
    x, y = np.array(chain).T
    return float(np.trapezoid(y, x))


def test_fits_and_identities_equal_the_exact_rationals(oracle) -> None:
    for case in oracle["isotonic"]:
        score, label = np.array(case["inputs"]["xi"]), np.array(case["inputs"]["y"])
        expected = case["outputs"]
        np.testing.assert_allclose(fit_isotonic(score, label), expected["eta_hat"], atol=1e-15)
        found = plug_in(*rank_labels(score, label.astype(float)).cells(), None)
        names = ["min_threshold_error", "ber_from_youden", "roc_hull_area"]
        assert tuple(found) == pytest.approx([expected[name] for name in names], abs=1e-15)


@given(rows=ROWS)
@settings(max_examples=40, deadline=None)
def test_cells_change_nothing_against_scikit_learn(rows) -> None:
    score, label = _arrays(rows)
    expected = IsotonicRegression().fit(score, label).predict(score)
    np.testing.assert_allclose(fit_isotonic(score, label), expected, atol=1e-12)


@given(rows=ROWS)
@settings(max_examples=40, deadline=None)
def test_the_fit_means_best_thresholds_and_the_hull(rows) -> None:
    score, label = _arrays(rows)
    eta = fit_isotonic(score, label)
    found = plug_in(*rank_labels(score, label).cells(), None)
    false, true, _ = roc_curve(label, score, drop_intermediate=False)
    share = label.mean()
    assert found.ber == pytest.approx((1 - (true - false).max()) / 2, abs=1e-12)
    costs = false * (1 - share) + (1 - true) * share
    assert found.error == pytest.approx(costs.min(), abs=1e-12)
    assert found.error == pytest.approx(optimal_error(eta), abs=1e-12)
    assert found.roc_auc == pytest.approx(_hull_area(score, label), abs=1e-12)
    assert found.roc_auc == pytest.approx(roc_auc_score(label, eta), abs=1e-12)
    assert eta.mean() == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("prior", [0.15, 0.5, 0.7])
@pytest.mark.parametrize("form", ["min", "max", "mad"])
def test_known_priors_equal_double_loops_over_the_fit(prior: float, form: str) -> None:
    rng = np.random.default_rng(5)
    score = rng.random(40).round(1)
    label = (rng.random(40) < score).astype(float)
    eta = fit_isotonic(score, label)
    found = plug_in(*rank_labels(score, label).cells(), prior, (form, form))
    one, other = eta / prior, (1 - eta) / (1 - prior)
    ber = {"min": np.minimum(one, other).mean() / 2, "max": 1 - np.maximum(one, other).mean() / 2}
    left, right = eta[:, None] * (1 - eta), eta * (1 - eta)[:, None]
    scale = 2 * prior * (1 - prior)
    auc = {
        "min": 1 - np.minimum(left, right).mean() / scale,
        "max": np.maximum(left, right).mean() / scale,
    }
    for values in (ber, auc):
        values["mad"] = (values["min"] + values["max"]) / 2
    assert found.ber == pytest.approx(ber[form], abs=1e-12)
    assert found.roc_auc == pytest.approx(auc[form], abs=1e-12)


def test_weights_are_repeated_items() -> None:
    rng = np.random.default_rng(6)
    score = rng.random(60).round(2)
    label = (rng.random(60) < score).astype(float)
    count = rng.integers(0, 4, 60)
    ranked = rank_labels(score, label)
    weighted = plug_in(*ranked.cells(count[ranked.order].astype(float)), None)
    repeated = rank_labels(np.repeat(score, count), np.repeat(label, count))
    assert tuple(weighted) == pytest.approx(tuple(plug_in(*repeated.cells(), None)), abs=1e-12)


def test_order_of_items_does_not_matter() -> None:
    rng = np.random.default_rng(7)
    score = rng.random(200).round(2)
    label = (rng.random(200) < score).astype(int)
    shuffle = rng.permutation(200)
    np.testing.assert_allclose(
        fit_isotonic(score[shuffle], label[shuffle]), fit_isotonic(score, label)[shuffle]
    )


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-8])
def test_scores_close_together_find_their_block(scale: float) -> None:
    """All scores in one bucket of the look-up, or spread over all of them, 0 and 1 among them."""
    rng = np.random.default_rng(9)
    score = np.r_[0.0, 1.0, rng.random(400) * scale]
    label = rng.random(402) < np.minimum(score / scale, 1)
    expected = IsotonicRegression().fit(score, label).predict(score)
    np.testing.assert_allclose(fit_isotonic(score, label), expected, atol=1e-12)


def test_any_increasing_distortion_gives_the_same_fit() -> None:
    rng = np.random.default_rng(8)
    score = rng.random(300)
    label = rng.random(300) < score
    np.testing.assert_array_equal(fit_isotonic(score**3, label), fit_isotonic(score, label))


@pytest.mark.parametrize(
    ("score", "label", "sentence"),
    [
        ([0.1, 0.2], [1, 1], "both classes; got 2 positive and 0 negative"),
        ([0.1, 0.2], [0, 1, 1], "one label per soft label; got 3 for 2"),
        ([0.1, 0.2, 0.3], [0, 1, None], "no missing labels here; got one at row 2"),
        ([0.1, 1.2], [0, 1], r"got 1.2 at row 1"),
    ],
)
def test_bad_input(score: list, label: list, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        fit_isotonic(score, label)
