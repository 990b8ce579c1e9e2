"""Count metrics against scikit-learn, their edge cases, and the shape that laws rest on."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import sklearn.metrics as sklearn_metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from labelbayes.metrics.confusion import (
    COUNT_METRICS,
    CountMetric,
    RatioMetric,
    fbeta,
)

METRICS = [*COUNT_METRICS.values(), fbeta(0.5)]
CELLS = st.tuples(*[st.integers(0, 12)] * 4)

#: scikit-learn's function of (y_true, y_pred) for each metric.
TWINS: dict[str, Callable[..., float]] = {
    "accuracy": sklearn_metrics.accuracy_score,
    "balanced_accuracy": sklearn_metrics.balanced_accuracy_score,
    "cohen_kappa": sklearn_metrics.cohen_kappa_score,
    "f1": sklearn_metrics.f1_score,
    "f2": lambda y, z: sklearn_metrics.fbeta_score(y, z, beta=2),
    "f0.5": lambda y, z: sklearn_metrics.fbeta_score(y, z, beta=0.5),
    "jaccard": sklearn_metrics.jaccard_score,
    "matthews_corrcoef": sklearn_metrics.matthews_corrcoef,
    "npv": lambda y, z: sklearn_metrics.precision_score(y, z, pos_label=0),
    "precision": sklearn_metrics.precision_score,
    "recall": sklearn_metrics.recall_score,
    "specificity": lambda y, z: sklearn_metrics.recall_score(y, z, pos_label=0),
}

#: What becomes of each metric when the two classes change their names.
MIRRORED = {
    "recall": "specificity",
    "specificity": "recall",
    "precision": "npv",
    "npv": "precision",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced_accuracy",
    "matthews_corrcoef": "matthews_corrcoef",
    "cohen_kappa": "cohen_kappa",
}

#: Tables (tp, fp, fn, tn) that leave a metric undefined; next to each are tables that do not.
UNDEFINED = {
    "accuracy": [(0, 0, 0, 0)],
    "balanced_accuracy": [(0, 3, 0, 2), (3, 0, 2, 0)],
    "cohen_kappa": [(4, 0, 0, 0), (0, 0, 0, 4)],
    "f1": [(0, 0, 0, 5)],
    "f2": [(0, 0, 0, 5)],
    "f0.5": [(0, 0, 0, 5)],
    "jaccard": [(0, 0, 0, 5)],
    "matthews_corrcoef": [(0, 3, 0, 2), (3, 0, 2, 0), (3, 2, 0, 0), (0, 0, 3, 2)],
    "npv": [(3, 2, 0, 0)],
    "precision": [(0, 0, 3, 2)],
    "recall": [(0, 3, 0, 2)],
    "specificity": [(3, 0, 2, 0)],
}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@given(cells=CELLS)
@settings(max_examples=20, deadline=None)
def test_defined_values_are_those_of_scikit_learn(
    metric: CountMetric, cells: tuple[int, int, int, int]
) -> None:
    value = float(metric(*cells))
    if np.isnan(value):
        return
    y_true = np.repeat([1, 0, 1, 0], cells)
    y_pred = np.repeat([1, 1, 0, 0], cells)
    assert value == pytest.approx(TWINS[metric.name](y_true, y_pred), abs=1e-12)


def test_every_metric_has_a_twin_and_an_edge_case() -> None:
    names = {metric.name for metric in METRICS}
    assert names == TWINS.keys() == UNDEFINED.keys()


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_undefined_is_nan_with_a_reason(metric: CountMetric) -> None:
    tables = np.array(UNDEFINED[metric.name]).T
    assert np.isnan(metric(*tables)).all()
    assert np.isfinite(metric(3, 2, 4, 5))
    assert metric.undefined_when
    assert not metric.undefined_when.endswith(".")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_values_stay_in_the_range_to_the_last_bit(metric: CountMetric) -> None:
    tp, tn = np.meshgrid(np.arange(1, 120), np.arange(1, 120))
    right, wrong = metric(tp, 0, 0, tn), metric(0, tp, tn, 0)
    assert (right == metric.highest).all()
    assert (wrong == (metric.lowest if metric.name != "cohen_kappa" else wrong)).all()
    assert (wrong >= metric.lowest).all()


def shape_faults(metric: CountMetric, largest: int = 10) -> list[str]:
    """Say where a metric falls in U, rises in V, or is undefined away from the corners."""
    found = []
    for known in [
        (0, 0, 0, 0),
        (1, 0, 0, 0),
        (0, 2, 0, 1),
        (0, 0, 3, 0),
        (2, 1, 1, 3),
        (5, 0, 4, 0),
    ]:
        tp, fp, fn, tn = known
        for n_u, n_v in [(largest, largest), (largest, 0), (0, largest), (3, 7)]:
            u, v = np.arange(n_u + 1)[:, None], np.arange(n_v + 1)[None, :]
            value = metric(tp + u, fp + n_u - u, fn + v, tn + n_v - v)
            undefined = np.isnan(value)
            if undefined.all():
                continue
            undefined[0, 0] = undefined[-1, -1] = False
            if undefined.any():
                found.append(f"undefined inside, {known}")
            steps_u, steps_v = np.diff(value, axis=0), np.diff(value, axis=1)
            if (steps_u[~np.isnan(steps_u)] < -1e-15).any():
                found.append(f"falls in U, {known}")
            if (steps_v[~np.isnan(steps_v)] > 1e-15).any():
                found.append(f"rises in V, {known}")
    return found


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_metrics_rise_in_u_fall_in_v_and_are_undefined_at_corners_only(metric: CountMetric) -> None:
    assert shape_faults(metric) == []


def test_planted_metrics_of_another_shape_are_caught() -> None:
    recall = COUNT_METRICS["recall"]
    falling = replace(recall, value=lambda tp, fp, fn, tn: -recall.value(tp, fp, fn, tn))
    assert any("falls in U" in fault for fault in shape_faults(falling))
    assert any("rises in V" in fault for fault in shape_faults(falling))
    holed = replace(recall, value=lambda tp, fp, fn, tn: np.where(tp == 4, np.nan, tp))
    assert any("undefined inside" in fault for fault in shape_faults(holed))


@pytest.mark.parametrize("name", MIRRORED)
@given(cells=CELLS)
@settings(max_examples=15, deadline=None)
def test_swapping_the_classes_mirrors_the_metric(
    name: str, cells: tuple[int, int, int, int]
) -> None:
    tp, fp, fn, tn = cells
    mirrored = COUNT_METRICS[MIRRORED[name]](tn, fn, fp, tp)
    assert COUNT_METRICS[name](*cells) == pytest.approx(float(mirrored), abs=1e-15, nan_ok=True)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_weights_are_as_good_as_rows(metric: CountMetric) -> None:
    cells = np.array([3.0, 2.0, 4.0, 5.0])
    assert float(metric(*(cells * 0.37))) == pytest.approx(float(metric(*cells)), abs=1e-14)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_gradient_is_the_slope(metric: CountMetric) -> None:
    cells = np.array([3.0, 2.0, 4.0, 5.0])
    step = 1e-5
    slopes = [
        float(metric(*(cells + step * unit)) - metric(*(cells - step * unit))) / (2 * step)
        for unit in np.eye(4)
    ]
    assert metric.gradient(cells) == pytest.approx(slopes, abs=1e-9)
    assert float(metric.gradient(cells) @ cells) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_ratio_weights_are_those_of_the_value(metric: CountMetric) -> None:
    if not isinstance(metric, RatioMetric):
        return
    cells = np.array([3.0, 2.0, 4.0, 5.0])
    ratio = np.dot(metric.numerator, cells) / np.dot(metric.denominator, cells)
    assert float(metric(*cells)) == pytest.approx(ratio, abs=1e-15)
    fixed = metric.name in {"accuracy", "precision", "npv"}
    assert metric.has_fixed_denominator is fixed


def test_fbeta_is_named_and_weighs_recall() -> None:
    assert fbeta(1)(5, 2, 3, 1) == COUNT_METRICS["f1"](5, 2, 3, 1)
    assert fbeta(2.5).name == "f2.5"
    recall_is_worse = (2, 0, 8, 0)
    assert fbeta(2)(*recall_is_worse) < fbeta(0.5)(*recall_is_worse)


@pytest.mark.parametrize(
    ("beta", "error", "sentence"),
    [
        (0, ValueError, "`beta` must be positive; got 0."),
        (-1.5, ValueError, "`beta` must be positive; got -1.5."),
        (float("inf"), ValueError, "`beta` must be finite; got inf."),
        ("2", TypeError, "`beta` must be a number; got str '2'."),
    ],
)
def test_bad_beta_is_refused(beta: object, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as raised:
        fbeta(beta)  # type: ignore[arg-type]
    assert str(raised.value) == sentence
