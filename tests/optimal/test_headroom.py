"""Headroom: no classifier passes the limit, and the rung says only what it can."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.simulate_soft_labels import simulate_soft_labels
from labelbayes.laws.labeled import estimate_labeled
from labelbayes.laws.rungs import RungInputs
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.optimal.estimate import estimate_optimal
from labelbayes.optimal.headroom import LIMITS, bound_headroom, describe_headroom, limit_of
from labelbayes.optimal.rungs import headroom


def _inputs(soft_labels, evaluation, *, metrics=("accuracy", "f1"), target="population"):
    return RungInputs(
        evaluation,
        [COUNT_METRICS[name] for name in metrics],
        target,
        None,
        np.random.SeedSequence(0),
        soft_labels=soft_labels,
    )


def test_the_best_classifier_of_all_passes_the_limit_as_often_as_it_may() -> None:
    """200 samples of 800 items: the true optimum is above a 95% limit in at most 5% (+ 3.3 SE)."""
    above = np.zeros(3)
    for seed in range(200):
        simulated = simulate_soft_labels(800, rng=seed)
        limits = bound_headroom(estimate_optimal(simulated.soft_labels, simulated.y_true))
        best = (1 - simulated.error, 1 - simulated.ber, simulated.roc_auc)
        above += [value > limits[name].high for name, value in zip(LIMITS, best, strict=True)]
    assert (above / 200 <= 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / 200)).all(), above


def test_limits_are_the_complement_of_the_optimum() -> None:
    simulated = simulate_soft_labels(1_000, rng=1)
    optimum = estimate_optimal(simulated.soft_labels, simulated.y_true)
    limits = bound_headroom(optimum, ci_prob=0.9)
    assert limits["accuracy"].high == pytest.approx(1 - optimum["error"].quantile(0.1))
    assert limits["balanced_accuracy"].high == pytest.approx(1 - optimum["ber"].quantile(0.1))
    assert limits["roc_auc"].high == pytest.approx(optimum["roc_auc"].quantile(0.9))
    assert {limits[name].low for name in LIMITS} == {0.0}
    assert (limits.statement, limits.target) == ("confidence", "population")
    assert limits.notes[0].startswith("No classifier is better than the optimum")
    most, span = limit_of(optimum, "accuracy")
    assert span.low < most < span.high
    assert most == pytest.approx(1 - optimum["error"].mean)


def test_a_classifier_next_to_the_optimum_as_a_sentence() -> None:
    simulated = simulate_soft_labels(2_000, rng=2)
    optimum = estimate_optimal(simulated.soft_labels, simulated.y_true)
    noisy = np.clip(simulated.eta + np.random.default_rng(0).normal(0, 0.3, 2_000), 0, 1)
    evaluation = EvaluationSet(simulated.y_true, noisy)
    classifier = estimate_labeled(evaluation, metrics=["accuracy"], target="population", rng=0)
    own, (most, span) = classifier["accuracy"], limit_of(optimum, "accuracy")
    assert own.mean < most
    ends = own.interval()
    assert describe_headroom(classifier, optimum, "accuracy") == (
        f"accuracy {own.mean:.3f} [{ends.low:.3f}, {ends.high:.3f}] of at most {most:.3f} "
        f"[{span.low:.3f}, {span.high:.3f}] (95% intervals)"
    )
    assert roc_auc_score(simulated.y_true, noisy) < limit_of(optimum, "roc_auc")[0]
    with pytest.raises(ValueError, match="`classifier` lacks 'roc_auc'; it has accuracy"):
        describe_headroom(classifier, optimum, "roc_auc")
    with pytest.raises(ValueError, match="The optimum of F-scores and other ratios is no mean"):
        describe_headroom(classifier, optimum, "f1")


def test_the_rung_speaks_of_what_it_can() -> None:
    simulated = simulate_soft_labels(400, rng=3)
    label = simulated.y_true.astype(float)
    label[::4] = np.nan
    evaluation = EvaluationSet(label, simulated.eta)
    result = headroom(_inputs(simulated.soft_labels, evaluation))
    assert list(result) == ["accuracy"]
    expected = bound_headroom(estimate_optimal(simulated.soft_labels, label))
    assert result["accuracy"] == expected["accuracy"]
    assert (result.n_labeled, result.n_unlabeled) == (300, 100)


def test_the_rung_counts_rows_as_often_as_they_stand() -> None:
    simulated = simulate_soft_labels(200, rng=4)
    count = np.random.default_rng(5).integers(1, 4, 200)
    grouped = EvaluationSet(simulated.y_true, simulated.eta, count=count)
    rows = EvaluationSet(np.repeat(simulated.y_true, count), np.repeat(simulated.eta, count))
    soft = simulated.soft_labels
    first = headroom(_inputs(soft, grouped))["accuracy"]
    second = headroom(_inputs(np.repeat(soft, count), rows))["accuracy"]
    assert first.high == pytest.approx(second.high, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"soft_labels": None}, "no soft labels are given"),
        ({"soft_labels": [0.1, 0.2]}, "one value per row; got 2 for 50"),
        ({"target": "sample"}, "ask for the target population"),
        ({"metrics": ("f1",)}, "soft labels limit accuracy, balanced_accuracy, roc_auc only"),
    ],
)
def test_what_the_rung_cannot_say(change: dict, sentence: str) -> None:
    simulated = simulate_soft_labels(50, rng=6)
    evaluation = EvaluationSet(simulated.y_true, simulated.eta)
    arguments = {"soft_labels": simulated.soft_labels} | change
    with pytest.raises(ValueError, match=sentence):
        headroom(_inputs(arguments.pop("soft_labels"), evaluation, **arguments))


def test_another_result_is_no_optimum() -> None:
    evaluation = EvaluationSet([0, 1, 1], y_pred=[0, 1, 0])
    with pytest.raises(ValueError, match="must come from `estimate_optimal`; it lacks error"):
        bound_headroom(estimate_labeled(evaluation))
    with pytest.raises(TypeError, match="`optimum` must be an Estimates"):
        bound_headroom({"error": 0.1})
