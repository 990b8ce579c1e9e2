"""Ranking metrics against scikit-learn, ties and counts included."""

import pickle

import numpy as np
import pytest
import sklearn.metrics as sklearn_metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from labelbayes.metrics.ranking import (
    RANKING_METRICS,
    RankingMetric,
    average_precision,
    count_steps,
    precision_recall_points,
    roc_auc,
    roc_points,
)

TWINS = {
    "average_precision": sklearn_metrics.average_precision_score,
    "roc_auc": sklearn_metrics.roc_auc_score,
}
METRICS = list(RANKING_METRICS.values())

ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(-3, 3)), min_size=1, max_size=25)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@given(rows=ROWS)
@settings(max_examples=60, deadline=None)
def test_defined_values_are_those_of_scikit_learn(
    metric: RankingMetric, rows: list[tuple[int, int]]
) -> None:
    y_true, y_score = (list(column) for column in zip(*rows, strict=True))
    value = metric(y_true, y_score)
    if np.isnan(value):
        assert sum(y_true) == 0 or (metric.name == "roc_auc" and sum(y_true) == len(y_true))
        return
    assert value == pytest.approx(TWINS[metric.name](y_true, y_score), abs=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_counts_are_repeated_rows_and_order_is_nothing(metric: RankingMetric) -> None:
    rng = np.random.default_rng(0)
    y_true, y_score = rng.integers(0, 2, 40), rng.integers(0, 6, 40) / 3
    count = rng.integers(1, 5, 40)
    value = metric(y_true, y_score, count)
    repeated = metric(np.repeat(y_true, count), np.repeat(y_score, count))
    order = rng.permutation(40)
    assert value == pytest.approx(repeated, abs=1e-15)
    assert metric(y_true[order], y_score[order], count[order]) == pytest.approx(value, abs=1e-15)
    # Scores count only through their order.
    assert metric(y_true, np.exp(y_score), count) == value
    # A planted error: weights that are left out.
    assert metric(y_true, y_score) != pytest.approx(value, abs=1e-5)


def test_constant_scores_rank_nothing() -> None:
    y_true = [1, 0, 0, 1, 0]
    assert RANKING_METRICS["roc_auc"](y_true, [0.3] * 5) == 0.5
    assert RANKING_METRICS["average_precision"](y_true, [0.3] * 5) == pytest.approx(0.4, abs=1e-15)


def test_missing_labels_are_refused() -> None:
    with pytest.raises(ValueError, match=r"`y_true` must hold every label; 1 are missing.*1"):
        RANKING_METRICS["roc_auc"]([1, None, 0], [0.1, 0.2, 0.3])


def test_metrics_can_be_pickled() -> None:
    for metric in METRICS:
        again = pickle.loads(pickle.dumps(metric))
        assert again([1, 0, 1], [0.2, 0.5, 0.9]) == metric([1, 0, 1], [0.2, 0.5, 0.9])


def test_leading_axes_are_draws() -> None:
    rng = np.random.default_rng(1)
    positive, negative = rng.integers(0, 3, (2, 7, 5)).astype(float)
    for function in (roc_auc, average_precision):
        one_by_one = [function(positive[i], negative[i]) for i in range(7)]
        assert np.allclose(function(positive, negative), one_by_one, atol=1e-15, equal_nan=True)


def test_curve_points_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(2)
    y_true, y_score = rng.integers(0, 2, 60), rng.integers(0, 12, 60)
    steps = count_steps(y_true, y_score)
    fpr, tpr, _ = sklearn_metrics.roc_curve(y_true, y_score, drop_intermediate=False)
    assert np.allclose(roc_points(*steps), [fpr, tpr], atol=1e-15)
    precision, recall, _ = sklearn_metrics.precision_recall_curve(y_true, y_score)
    # There highest score last, and a point (1, 0) of no rows at the end.
    assert np.allclose(
        precision_recall_points(*steps), [precision[-2::-1], recall[-2::-1]], atol=1e-15
    )


def test_steps_of_no_weight_add_nothing() -> None:
    positive, negative = np.array([0.0, 1.0, 0.0, 2.0]), np.array([0.0, 1.0, 0.0, 0.0])
    kept = positive + negative > 0
    for function in (roc_auc, average_precision):
        assert function(positive, negative) == function(positive[kept], negative[kept])
