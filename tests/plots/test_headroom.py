"""The figure of the headroom holds both intervals and the sentence."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.simulate_soft_labels import simulate_soft_labels
from labelbayes.laws.labeled import estimate_labeled
from labelbayes.optimal.estimate import estimate_optimal
from labelbayes.optimal.headroom import describe_headroom, limit_of
from labelbayes.plots.headroom import plot_headroom


@pytest.fixture(scope="module")
def pair():
    simulated = simulate_soft_labels(1_000, rng=1)
    noisy = np.clip(simulated.eta + np.random.default_rng(0).normal(0, 0.3, 1_000), 0, 1)
    classifier = estimate_labeled(
        EvaluationSet(simulated.y_true, noisy),
        metrics=["f1", "accuracy", "balanced_accuracy"],
        target="population",
        rng=0,
    )
    return classifier, estimate_optimal(simulated.soft_labels, simulated.y_true)


def test_a_row_per_metric_that_has_a_limit(pair) -> None:
    classifier, optimum = pair
    ax = plot_headroom(classifier, optimum)
    words = [text.get_text() for text in ax.texts]
    for i, metric in enumerate(("accuracy", "balanced_accuracy")):
        assert words[i] == describe_headroom(classifier, optimum, metric)
    spans = [tuple(line.get_xdata()) for line in ax.lines if line.get_marker() == "|"]
    ends = classifier["accuracy"].interval()
    _, limit = limit_of(optimum, "accuracy")
    assert spans[:2] == [(ends.low, ends.high), (limit.low, limit.high)]
    assert len(spans) == 4
    # The bar of the bracket: held-out to in-sample.
    assert tuple(ax.lines[0].get_xdata()) == (
        1 - optimum["error_held_out"].mean,
        1 - optimum["error"].mean,
    )
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "classifier (95% credible)" in labels
    assert "optimum (95% confidence)" in labels


def test_it_draws_where_it_is_told_and_without_held_out_labels(pair) -> None:
    _, ax = plt.subplots()
    optimum = estimate_optimal([0.1, 0.2, 0.7, 0.9], calibrator=None)
    assert plot_headroom(pair[0], optimum, ax=ax) is ax


def test_bad_input(pair) -> None:
    classifier, optimum = pair
    only_f1 = estimate_labeled(EvaluationSet([0, 1, 1], y_pred=[0, 1, 0]), metrics=["f1"])
    with pytest.raises(ValueError, match="must hold one of accuracy, balanced_accuracy, roc_auc"):
        plot_headroom(only_f1, optimum)
    with pytest.raises(TypeError, match="`optimum` must be an Estimates"):
        plot_headroom(classifier, 0.9)
