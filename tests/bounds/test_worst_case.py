"""Bounds over all completions: attained, exact, and covering where rows are a sample."""

import inspect
import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from labelbayes.bounds.worst_case import bound_worst_case
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.metrics.confusion import COUNT_METRICS, fbeta
from labelbayes.metrics.registry import resolve_count_metrics

METRICS = [*COUNT_METRICS.values(), fbeta(0.5)]
# Oracle item06 (minimum and maximum over all completions, exact rationals).
ORACLE: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("worst_case_oracle.json").read_text(encoding="utf-8")
)["cases"]


def rows(y_true: Any, y_pred: Any) -> EvaluationSet:
    return EvaluationSet([np.nan if y is None else y for y in y_true], y_pred=y_pred)


def check_against(case: dict[str, Any]) -> None:
    result = bound_worst_case(rows(case["y_true"], case["y_pred"]), metrics=list(case["bounds"]))
    frame = result.summary()
    for name, (low, high, n_undefined) in case["bounds"].items():
        expected = [math.nan if end is None else end for end in (low, high)]
        assert [result[name].low, result[name].high] == pytest.approx(
            expected, abs=1e-14, nan_ok=True
        )
        assert (frame.loc[name, "undefined_reason"] != "") is (n_undefined > 0)


@pytest.mark.parametrize("case", ORACLE, ids=lambda case: case["name"])
def test_bounds_are_those_of_the_oracle(case: dict[str, Any]) -> None:
    assert len(case["bounds"]) == 11
    check_against(case)


def test_a_wrong_bound_or_count_is_caught_by_the_oracle() -> None:
    for k, value in [(0, 0.3), (1, 0.8), (2, 5)]:
        case = json.loads(json.dumps(ORACLE[0]))
        case["bounds"]["recall"][k] = value
        with pytest.raises(AssertionError):
            check_against(case)


@st.composite
def small_sets(draw: st.DrawFn) -> tuple[list[float | None], list[int]]:
    n = draw(st.integers(1, 9))
    labels = draw(st.lists(st.sampled_from([0.0, 1.0, None, None]), min_size=n, max_size=n))
    return labels, draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))


@given(case=small_sets())
@settings(max_examples=25, deadline=None)
def test_both_ends_are_attained_and_nothing_lies_beyond(
    case: tuple[list[float | None], list[int]],
) -> None:
    y_true, y_pred = case
    missing = [i for i, y in enumerate(y_true) if y is None]
    cells = []
    for labels in itertools.product([0, 1], repeat=len(missing)):
        y = list(y_true)
        for i, label in zip(missing, labels, strict=True):
            y[i] = label
        pairs = list(zip(y, y_pred, strict=True))
        cells.append([pairs.count(pair) for pair in [(1, 1), (0, 1), (1, 0), (0, 0)]])
    result = bound_worst_case(rows(y_true, y_pred), metrics=METRICS)
    for metric in METRICS:
        values = metric(*np.array(cells).T)
        defined = values[~np.isnan(values)]
        span = result[metric.name]
        if not len(defined):
            assert math.isnan(span.low)
            continue
        assert [span.low, span.high] == pytest.approx([defined.min(), defined.max()], abs=1e-14)
        some_undefined = len(defined) < len(values)
        assert (metric.name in result.undefined_reasons) is some_undefined


def test_nothing_missing_is_the_metric() -> None:
    evaluation = rows([1, 0, 1, 1], [1, 1, 0, 1])
    for name, span in bound_worst_case(evaluation, metrics=METRICS).items():
        counts = evaluation.counts
        metric = METRICS[[metric.name for metric in METRICS].index(name)]
        assert span.low == span.high == metric(counts.tp, counts.fp, counts.fn, counts.tn)


def test_bounds_say_what_they_are() -> None:
    sample = bound_worst_case(rows([1, None], [1, 1]))
    population = bound_worst_case(rows([1, None], [1, 1]), target="population")
    assert (sample.statement, population.statement) == ("bounds", "confidence")
    assert sample.notes[0].endswith("a value between these two, and both are attained.")
    assert population.notes[0].startswith("The bounds are estimated. 95% of repeated samples")
    assert math.isnan(sample["recall"].ci_prob)
    assert population["recall"].ci_prob == 0.95
    assert population.method == "worst case, Imbens-Manski interval"


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_population_intervals_hold_the_bare_bounds_inside_the_range(metric: Any) -> None:
    rng = np.random.default_rng(0)
    evaluation = rows(rng.choice([1.0, 0.0, np.nan], 60), rng.integers(0, 2, 60))
    bare = bound_worst_case(evaluation, metrics=[metric])[metric.name]
    wide = bound_worst_case(evaluation, metrics=[metric], target="population")[metric.name]
    assert metric.lowest <= wide.low < bare.low <= bare.high < wide.high <= metric.highest
    wider = bound_worst_case(evaluation, metrics=[metric], target="population", ci_prob=0.99)
    assert wider[metric.name].width > wide.width


def test_wide_bounds_use_one_side_and_a_point_uses_two() -> None:
    n = 2_000
    half = [*[1.0, 0.0] * (n // 4), *[None] * (n // 2)]
    wide = bound_worst_case(rows(half, [1] * n), metrics=["precision"], target="population")
    bare = bound_worst_case(rows(half, [1] * n), metrics=["precision"])
    error = math.sqrt(0.25 * 0.75 / n)
    reach = (bare["precision"].low - wide["precision"].low) / error
    assert reach == pytest.approx(norm.ppf(0.95), rel=0.01)
    whole = bound_worst_case(
        rows([1.0, 0.0] * (n // 2), [1] * n), metrics=["precision"], target="population"
    )
    reach = (0.5 - whole["precision"].low) / math.sqrt(0.25 / n)
    assert reach == pytest.approx(norm.ppf(0.975), rel=0.01)


def covered(which: str, n_replications: int) -> np.ndarray:
    """Share of samples whose interval holds the value of the worst labels there could be."""
    rng = np.random.default_rng(9)
    metrics = resolve_count_metrics(None)
    # Probabilities of (tp, fp, fn, tn, missing predicted positive, missing predicted negative).
    share = np.array([0.25, 0.08, 0.07, 0.3, 0.12, 0.18])
    tp, fp, fn, tn, mp, mn = share
    worst = np.array([float(m(tp, fp + mp, fn + mn, tn)) for m in metrics])
    held = []
    for _ in range(n_replications):
        count = rng.multinomial(250, share)
        evaluation = EvaluationSet(
            np.repeat([1, 0, 1, 0, np.nan, np.nan], count),
            y_pred=np.repeat([1, 1, 0, 0, 1, 0], count),
        )
        spans = bound_worst_case(evaluation, metrics=metrics, target=which)  # type: ignore[arg-type]
        held.append([w in spans[m.name] for m, w in zip(metrics, worst, strict=True)])
    return np.mean(held, axis=0)


def test_population_intervals_cover_the_worst_case_and_bare_bounds_do_not() -> None:
    coverage = covered("population", 400)
    # One end of a wide identified set: 95%, within 3.3 standard errors of 400 replications.
    assert (coverage > 0.914).all()
    assert (coverage < 0.986).all()
    assert (covered("sample", 100) < 0.7).all()


@pytest.mark.parametrize("target", ["sample", "population"])
def test_undefined_everywhere_is_nan_with_a_reason(target: Any) -> None:
    result = bound_worst_case(rows([1, None], [0, 0]), metrics=["precision"], target=target)
    row = result.summary().loc["precision"]
    assert np.isnan([row["low"], row["high"]]).all()
    assert row["undefined_prob"] == 1.0
    assert row["undefined_reason"] == "no row is predicted positive"


ROWS = rows([1, 0, None, 1, 0, None], [1, 0, 1, 0, 1, 0])
BASE: dict[str, Any] = {"target": "population"}
OTHER: dict[str, Any] = {"metrics": ["npv"], "target": "sample", "ci_prob": 0.5}


@pytest.mark.parametrize("option", OTHER)
def test_every_option_bites(option: str) -> None:
    base = bound_worst_case(ROWS, **BASE)
    changed = bound_worst_case(ROWS, **(BASE | {option: OTHER[option]}))
    ends = ["low", "high"]
    assert list(base) != list(changed) or (
        (base.summary()[ends] != changed.summary()[ends]).any(axis=None)
    )


def test_the_table_of_options_is_whole() -> None:
    parameters = inspect.signature(bound_worst_case).parameters.values()
    assert {p.name for p in parameters if p.default is not inspect.Parameter.empty} == OTHER.keys()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: bound_worst_case(ROWS, target="rows"),  # type: ignore[arg-type]
            "`target` must be one of 'sample', 'population'; got 'rows'.",
        ),
        (
            lambda: bound_worst_case(ROWS, ci_prob=1.0),
            "`ci_prob` must lie strictly between 0 and 1; got 1.0. Write 0.95 for 95%.",
        ),
    ],
)
def test_bad_arguments_are_refused(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(ValueError, match="must") as raised:
        call()
    assert str(raised.value) == sentence
