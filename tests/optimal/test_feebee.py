"""FeeBee: the map of label noise, the score, and that flipping is not replacing."""

import inspect

import numpy as np
import pytest

from labelbayes.data.simulate_soft_labels import simulate_soft_labels
from labelbayes.optimal.estimate import estimate_optimal
from labelbayes.optimal.feebee import map_noise, score_feebee
from labelbayes.optimal.forms import auc_forms, optimal_ber


def _ber(soft_labels, y_true) -> float:
    return optimal_ber(soft_labels, form="min")


def _auc_of_all_pairs(soft_labels, y_true) -> float:
    n = len(soft_labels)
    return 0.5 + (auc_forms(soft_labels).mad - 0.5) * (n - 1) / n


def _fitted_ber(soft_labels, y_true) -> float:
    return estimate_optimal(soft_labels, y_true)["ber"].mean


def test_the_map_equals_the_rationals(oracle) -> None:
    seen = 0
    for case in oracle["noise_map"]:
        for row in case["outputs"]["rows"]:
            for value, expected in row["F"].items():
                found = map_noise(float(value), row["theta"], row["nu"], row["beta"])
                assert float(found) == pytest.approx(expected, abs=1e-14)
                seen += 1
    assert seen > 100


def test_noisy_populations_follow_the_map(oracle) -> None:
    for case in oracle["population"]:
        outputs = case["outputs"]
        for row in outputs["noisy"]:
            for name in ("ber", "auc"):
                found = map_noise(outputs[name], outputs["theta"], row["nu"], row["beta"])
                assert float(found) == pytest.approx(row[f"{name}_nu"], abs=1e-14)


def test_scores_and_curves_equal_the_rationals(oracle) -> None:
    (case,) = oracle["feebee"]
    eta, levels = case["inputs"]["eta"], case["inputs"]["nu_grid"]
    assert len(case["outputs"]) == 5
    for output in case["outputs"]:
        bias = output["bias_after"]
        for metric, best, estimator in (
            ("ber", output["u_ber"], _ber),
            ("roc_auc", output["l_auc"], _auc_of_all_pairs),
        ):
            name = "ber" if metric == "ber" else "auc"
            frame = score_feebee(
                lambda soft, label, e=estimator, b=bias: e(soft, label) + b,
                eta,
                None,
                metric=metric,
                best_known=best,
                noise_levels=levels,
            )
            per_mean = frame.groupby("noise_mean")["excess"].mean()
            for part in output["per_beta"]:
                assert per_mean[part["beta"]] == pytest.approx(part[f"s_{name}"], abs=1e-14)
                if "curve" in part:
                    offset = 1 if metric == "ber" else 4
                    columns = ["noise_level", "estimate", "low", "high"]
                    rows = frame[frame["noise_mean"] == part["beta"]][columns].to_numpy()
                    expected = np.array(part["curve"])[:, [0, offset, offset + 1, offset + 2]]
                    np.testing.assert_allclose(rows, expected, atol=1e-14)
            assert per_mean.mean() == pytest.approx(output[f"s_avg_{name}"], abs=1e-14)


def test_a_constant_bias_leaves_the_spread_and_raises_the_score() -> None:
    """Ablation: 30 samples; the bias is invisible to the sd and is what the score sees."""
    plain, shifted, scores = [], [], {0.0: [], 0.05: []}
    for seed in range(30):
        simulated = simulate_soft_labels(600, distance=1.5, rng=seed)
        value = _fitted_ber(simulated.soft_labels, simulated.y_true)
        plain.append(value)
        shifted.append(value + 0.05)
        for bias, found in scores.items():
            frame = score_feebee(
                lambda soft, label, b=bias: _fitted_ber(soft, label) + b,
                simulated.soft_labels,
                simulated.y_true,
                best_known=simulated.ber,
                noise_levels=(0.0, 0.3, 0.6),
                noise_means=(0.5,),
                rng=seed,
            )
            found.append(frame["excess"].mean())
    assert np.std(shifted) == pytest.approx(np.std(plain), rel=1e-9)
    gain = np.array(scores[0.05]) - scores[0.0]
    # The bounds are tight above: a bias added after noising counts nearly in full.
    assert gain.mean() > 0.03
    assert (gain > 0).all()


def test_a_bias_before_noise_is_scored_times_the_mean_factor() -> None:
    """score = b kappa-bar: theta .2, 20 levels; .592 and .505 for noise means .1 and .2."""
    eta = np.r_[np.full(800, 0.05), np.full(200, 0.8)]  # mean 0.2
    best = optimal_ber(eta)
    bias = 0.02

    def biased(soft_labels, y_true) -> float:
        return _ber(soft_labels, y_true)

    for mean in (0.1, 0.2, 0.5, 0.9):
        frame = score_feebee(biased, eta, None, best_known=best - bias, noise_means=(mean,))
        level = frame["noise_level"].to_numpy()
        noisy = (1 - level) * 0.2 + level * mean
        factor = (1 - level) * 0.16 / (noisy * (1 - noisy))
        assert frame["excess"].mean() == pytest.approx(bias * factor.mean(), abs=1e-12)


def test_replacing_follows_the_map_and_flipping_does_not() -> None:
    """Planted error: labels flipped at the level at which they should be replaced."""
    simulated = simulate_soft_labels(60_000, prevalence=0.5, rng=1)
    soft, label = simulated.soft_labels, simulated.y_true
    rng = np.random.default_rng(2)
    level = 0.4
    replaced = np.where(rng.random(len(label)) < level, rng.random(len(label)) < 0.5, label)
    flipped = np.where(rng.random(len(label)) < level, 1 - label, label)
    expected = float(map_noise(simulated.ber, 0.5, level, 0.5))
    # Four standard errors, sqrt(.25 / 60,000) = .002 each.
    assert _fitted_ber(soft, replaced) == pytest.approx(expected, abs=0.008)
    assert abs(_fitted_ber(soft, flipped) - expected) > 0.1
    # Flipping half as often is the same as replacing.
    half = np.where(rng.random(len(label)) < level / 2, 1 - label, label)
    assert _fitted_ber(soft, half) == pytest.approx(expected, abs=0.008)


def test_more_noise_keeps_the_old_noise_and_seeds_repeat() -> None:
    seen = []

    def watch(soft_labels, y_true) -> float:
        seen.append(y_true.copy())
        return 0.1

    rng = np.random.default_rng(3)
    label = (rng.random(400) < 0.3).astype(int)
    options = {"best_known": 0.2, "noise_levels": (0.0, 0.2, 0.6), "noise_means": (0.5,)}
    first = score_feebee(watch, rng.random(400), label, rng=4, **options)
    none, some, more = seen
    np.testing.assert_array_equal(none, label)
    changed = some != label
    assert 0 < changed.sum() < 80
    np.testing.assert_array_equal(some[changed], more[changed])
    again = score_feebee(watch, rng.random(400), label, rng=4, **options)
    assert first.equals(again)
    np.testing.assert_array_equal(seen[5], more)


def test_a_level_at_which_all_labels_become_one() -> None:
    assert map_noise(0.1, 0.3, 1.0, 0.0) == 0.5


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"metric": "f1"}, "must be 'ber' or 'roc_auc'; got 'f1'. Other optima, those of F-scores"),
        ({"best_known": 0.7}, r"lie in \[0, 0.5\] for metric='ber'; got 0.7"),
        ({"metric": "roc_auc", "best_known": 0.3}, r"lie in \[0.5, 1\] for metric='roc_auc'"),
        ({"noise_levels": [0.2, 1.0]}, r"numbers in \[0, 1\)"),
        ({"noise_means": [1.2]}, r"must lie in \[0, 1\]; got 1.2"),
        ({"y_true": [0, 1, None]}, "Leave these items out"),
        ({"y_true": [0, 0, 0]}, "both classes"),
    ],
)
def test_bad_input(options: dict, sentence: str) -> None:
    arguments = {"best_known": 0.3, "y_true": [0, 1, 1]} | options
    label = arguments.pop("y_true")
    with pytest.raises(ValueError, match=sentence):
        score_feebee(_ber, [0.1, 0.4, 0.9], label, **arguments)


def test_an_estimator_that_returns_no_number_is_named() -> None:
    with pytest.raises(ValueError, match=r"`estimator\(soft_labels, y_true\)` must be finite"):
        score_feebee(lambda soft, label: float("nan"), [0.1, 0.9], None, best_known=0.3)


def test_every_option_bites() -> None:
    rng = np.random.default_rng(5)
    soft = rng.random(200)
    label = (rng.random(200) < soft).astype(int)
    base = {"best_known": 0.3, "noise_levels": (0.0, 0.4), "noise_means": (0.5,), "rng": 0}
    others = {
        "metric": {"metric": "roc_auc", "best_known": 0.6},
        "best_known": {"best_known": 0.2},
        "noise_levels": {"noise_levels": (0.0, 0.5)},
        "noise_means": {"noise_means": (0.2,)},
        "rng": {"rng": 1},
    }
    named = set(inspect.signature(score_feebee).parameters)
    assert named - {"estimator", "soft_labels", "y_true"} == set(others)
    first = score_feebee(_fitted_ber, soft, label, **base)
    for change in others.values():
        assert not first.equals(score_feebee(_fitted_ber, soft, label, **(base | change)))


def test_an_estimator_that_sorts_in_place_changes_nothing() -> None:
    soft, label = np.array([0.9, 0.1, 0.6, 0.2]), [1, 0, 1, 0]

    def sorts(soft_labels, y_true) -> float:
        soft_labels.sort()
        return 0.1

    score_feebee(sorts, soft, label, best_known=0.3, noise_levels=[0.0, 0.5])
    assert soft.tolist() == [0.9, 0.1, 0.6, 0.2]


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"noise_levels": ["a"]}, TypeError, "`noise_levels` must be a number"),
        ({"noise_levels": "abc"}, TypeError, "`noise_levels` must be a list"),
        ({"noise_levels": [1.0]}, ValueError, r"in \[0, 1\); got 1"),
        ({"noise_means": 0.5}, TypeError, "`noise_means` must be a list"),
        ({"noise_means": []}, ValueError, "`noise_means` must hold at least one"),
        ({"estimator": "ber"}, TypeError, "`estimator` must be callable"),
    ],
)
def test_noise_that_is_none(options: dict, error: type, sentence: str) -> None:
    given = {"estimator": _ber, "best_known": 0.3} | options
    with pytest.raises(error, match=sentence):
        score_feebee(given.pop("estimator"), [0.1, 0.9], [0, 1], **given)
