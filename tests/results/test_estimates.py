"""What every estimator returns: laws or bounds by name, their table, their joint draws."""

import json
import math
import re
from collections.abc import Callable

import arviz
import numpy as np
import pytest

from labelbayes._html import number_text
from labelbayes.bounds.worst_case import bound_worst_case
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.results.estimates import Bounds, Estimates, stack
from labelbayes.results.interval import CI_KINDS, Interval
from labelbayes.results.text import kind_text

COLUMNS = (
    "mean sd low high ci_prob ci_kind statement undefined_prob undefined_reason method assumption "
    "target n_labeled n_unlabeled ess"
).split()

#: Recall is undefined where no missing row is positive; precision always is.
RARE = EvaluationSet([0, 0, None, None, 0], y_pred=[0, 0, 0, 0, 0])
MIXED = EvaluationSet([1, 0, None, 1, 0, None, None], [0.9, 0.2, 0.8, 0.6, 0.7, 0.3, 0.1])
METRICS = ["accuracy", "precision", "recall"]


def exact(evaluation: EvaluationSet = MIXED, method: str = "exact") -> Estimates:
    belief = impute(evaluation, np.full(evaluation.n_rows, 0.3))
    return estimate_pemi(evaluation, belief, metrics=METRICS, method=method, rng=0)


RESULTS: dict[str, Callable[[], Estimates | Bounds]] = {
    "exact": exact,
    "gauss": lambda: exact(method="gauss"),
    "sampled": lambda: exact(method="sampled"),
    "often undefined": lambda: exact(RARE),
    "bounds": lambda: bound_worst_case(MIXED, metrics=METRICS),
    "undefined bounds": lambda: bound_worst_case(RARE, metrics=METRICS),
    "population bounds": lambda: bound_worst_case(MIXED, metrics=METRICS, target="population"),
}
each_result = pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)


@each_result
def test_summary_has_the_columns_of_every_result(make: Callable[[], Estimates | Bounds]) -> None:
    result = make()
    frame = result.summary()
    assert frame.columns.tolist() == COLUMNS
    assert frame.index.name == "metric"
    assert frame.index.tolist() == list(result) == METRICS
    assert len(result) == 3
    assert (frame["target"] == result.target).all()
    assert (frame["n_labeled"] + frame["n_unlabeled"] == (7 if result.n_labeled == 4 else 5)).all()
    assert set(frame["ci_kind"]) <= set(CI_KINDS)
    reasons = frame["undefined_reason"]
    assert ((frame["undefined_prob"] > 0) <= (reasons != "")).all()
    assert (frame["low"].isna() == (frame["undefined_prob"] == 1.0)).all()


@each_result
def test_dictionaries_are_strict_json(make: Callable[[], Estimates | Bounds]) -> None:
    result = make()
    plain = result.to_dict()
    text = json.dumps(plain, allow_nan=False)
    assert json.loads(text) == plain
    assert list(plain) == (
        "method assumption target statement n_labeled n_unlabeled notes metrics".split()
    )
    frame = result.summary()
    for metric, row in plain["metrics"].items():
        for column in ("low", "high", "mean"):
            value = frame.loc[metric, column]
            assert row[column] == (None if math.isnan(value) else value)
    with pytest.raises(ValueError, match="Out of range float"):
        json.dumps({"nan": math.nan}, allow_nan=False)


@each_result
def test_reprs_name_target_method_and_kind(make: Callable[[], Estimates | Bounds]) -> None:
    result = make()
    text, page = repr(result), result._repr_html_()
    for part in (result.method, result.assumption, f"target: {result.target}", result.statement):
        assert part in text
    for row in result.summary().itertuples():
        words = kind_text(row.ci_prob, row.ci_kind, row.statement)
        assert words in page
        assert ("95%" in words) is (row.ci_prob == 0.95)
    assert f"Target: {result.target}" in page
    assert not any(word in page for word in ("<style", "<svg", "id="))


def test_a_notebook_says_what_is_undefined() -> None:
    page = exact(RARE)._repr_html_()
    assert "precision is undefined here: no row is predicted positive." in page
    assert "In 49.0% of completions recall is undefined (no row is positive)" in page
    assert "undefined" not in exact()._repr_html_()


@pytest.mark.parametrize("name", [name for name in RESULTS if "bounds" in name])
def test_bounds_show_only_what_bounds_have(name: str) -> None:
    result = RESULTS[name]()
    text, page = repr(result), result._repr_html_()
    # Ends are nan where nothing defines the metric, and there alone.
    n_undefined = sum(math.isnan(span.low) for span in result.values())
    assert text.lower().split().count("nan") == 2 * n_undefined
    assert [word for word in text.splitlines()[2].split() if word in COLUMNS] == [
        *("low", "high", "statement")
    ]
    heads = re.findall(r"<th[^>]*>([^<]*)</th>", page)
    assert heads == ["metric", "low", "high", "interval"]
    for part in (part for span in result.values() for part in (span.low, span.high)):
        assert f">{number_text(part)}</td>" in page
    # The table that a program reads keeps its columns, and laws show theirs.
    assert result.summary().columns.tolist() == COLUMNS
    law = exact()
    assert "mean" in repr(law)
    assert ">mean</th>" in law._repr_html_()


def test_bounds_say_that_some_completions_are_undefined() -> None:
    result = bound_worst_case(RARE, metrics=METRICS)
    for shown in (repr(result), result._repr_html_()):
        assert "precision is undefined here: no row is predicted positive." in shown
        assert "Some completions leave recall undefined (no row is positive)" in shown
        assert "accuracy is" not in shown
    defined = bound_worst_case(MIXED, metrics=METRICS)
    assert "undefined" not in repr(defined) + defined._repr_html_()


def test_summary_follows_ci_prob() -> None:
    result = exact()
    wide, narrow = result.summary(0.99), result.summary(0.5)
    assert (wide["high"] - wide["low"] >= narrow["high"] - narrow["low"]).all()
    assert (wide["high"] - wide["low"] > narrow["high"] - narrow["low"]).any()
    assert narrow["ci_prob"].tolist() == [0.5] * 3
    assert result.to_dict(0.5)["metrics"]["recall"]["ci_prob"] == 0.5
    assert np.isnan(bound_worst_case(MIXED).summary(0.5)["ci_prob"]).all()


def test_an_unknown_metric_is_named_with_the_known_ones() -> None:
    with pytest.raises(KeyError) as raised:
        exact()["f1"]
    assert raised.value.args == ("no metric 'f1' here; there are accuracy, precision, recall",)


def test_contents_cannot_be_changed() -> None:
    result = exact()
    with pytest.raises(TypeError):
        result.contents["recall"] = None  # type: ignore[index]
    with pytest.raises(AttributeError):
        result.method = "other"  # type: ignore[misc]


@pytest.mark.parametrize("method", ["exact", "sampled"])
def test_draws_are_joint_across_metrics(method: str) -> None:
    draws = exact(method=method).draws(500, 3)
    assert dict(draws.sizes) == {"draw": 500}
    # The rows predicted positive are 4, so a draw of precision fixes TP; with TP a draw of
    # accuracy (TP + TN of 7) must be the one that recall (TP of TP + FN) implies.
    tp = draws["precision"] * 4
    fn = tp / draws["recall"] - tp
    implied = (tp + (3 - fn)) / 7
    assert draws["accuracy"].values == pytest.approx(implied.values, abs=1e-12)
    shuffled = draws["recall"].values[np.random.default_rng(0).permutation(500)]
    assert abs((tp + 3 - (tp / shuffled - tp)) / 7 - draws["accuracy"]).max() > 0.1


def test_draws_carry_what_they_assume_and_their_seed() -> None:
    result = exact()
    draws = result.draws(50, 3)
    assert draws.attrs["method"] == result.method
    assert draws.attrs["target"] == "sample"
    assert draws.equals(result.draws(50, 3))
    assert not draws.equals(result.draws(50, 4))
    undefined = exact(RARE).draws(400, 0)["recall"].isnull().mean()
    assert float(undefined) == pytest.approx(0.49, abs=0.1)


def test_matched_normals_have_no_joint_draws() -> None:
    with pytest.raises(ValueError, match="must be joint across metrics") as raised:
        exact(method="gauss").draws(5)
    assert str(raised.value).endswith("Use method='exact' or 'sampled', or the draws of one law.")


def test_datasets_open_in_arviz() -> None:
    result = exact()
    data = result.to_dataset(2_000, 0)
    assert dict(data.sizes) == {"chain": 1, "draw": 2_000}
    frame = arviz.summary(data, round_to="none")
    assert frame.index.tolist() == METRICS
    for metric, law in result.items():
        error = 6 * law.sd / math.sqrt(2_000)
        assert float(frame.loc[metric, "mean"]) == pytest.approx(law.mean, abs=error)


def test_results_stack_in_order_with_their_types() -> None:
    table = stack({"bounds": bound_worst_case(RARE, metrics=METRICS), "law": exact()}, ci_prob=0.8)
    assert table.index.names == ["name", "metric"]
    assert table.index.tolist() == [(n, m) for n in ("bounds", "law") for m in METRICS]
    assert table.columns.tolist() == COLUMNS
    numbers = ["mean", "sd", "low", "high", "ci_prob", "undefined_prob", "ess"]
    assert {str(kind) for kind in table[numbers].dtypes} == {"float64"}
    assert {str(table[name].dtype) for name in ("n_labeled", "n_unlabeled")} == {"int64"}
    assert table.loc[("law", "recall"), "ci_prob"] == 0.8
    assert table.loc[("law", "recall"), "mean"] == exact()["recall"].mean
    with pytest.raises(ValueError, match=r"must hold at least one result; got none\.$"):
        stack({})


def test_bounds_without_a_law_have_no_mean() -> None:
    frame = bound_worst_case(RARE, metrics=METRICS).summary()
    assert frame[["mean", "sd"]].isna().all(axis=None)
    assert frame["undefined_prob"].fillna(-1).tolist() == [0.0, 1.0, -1]
    assert frame.loc["recall", "undefined_reason"] == COUNT_METRICS["recall"].undefined_when


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (Interval(0.61, 0.84, 0.95, "eti"), "[0.610, 0.840] (95% eti)"),
        (Interval(0.0, 1.0, math.nan, "bounds"), "[0.000, 1.000] (bounds)"),
        (Interval(0.2, 0.3, 0.995, "confidence"), "[0.200, 0.300] (99.5% confidence)"),
    ],
)
def test_an_interval_says_what_it_is(span: Interval, text: str) -> None:
    assert str(span) == text
    assert span.width == pytest.approx(span.high - span.low)
    assert span.low in span
    assert span.high in span
    assert span.high + 1e-9 not in span
    assert math.nan not in span


def test_intervals_without_a_level_equal_themselves() -> None:
    # float("nan") is another object than math.nan: equality must not go by identity.
    spans = [Interval(0.0, 1.0, nan, "bounds") for nan in (math.nan, float("nan"))]
    assert spans[0] == spans[1]
    assert hash(spans[0]) == hash(spans[1])
    assert spans[0] != Interval(0.0, 0.9, math.nan, "bounds")
    assert spans[0] != Interval(0.0, 1.0, 0.95, "bounds")
    assert spans[0] != (0.0, 1.0, math.nan, "bounds")


@pytest.mark.parametrize("call", ["summary", "to_dict", "records"])
def test_percent_for_a_share_is_refused(call: str) -> None:
    with pytest.raises(ValueError, match="`ci_prob`") as raised:
        getattr(exact(), call)(95)
    assert str(raised.value).endswith("got 95. Write 0.95 for 95%.")


@pytest.mark.parametrize(
    ("n", "error", "sentence"),
    [
        (0, ValueError, "`n` must be at least 1; got 0."),
        (1.5, TypeError, "`n` must be a whole number; got float 1.5."),
    ],
)
def test_bad_numbers_of_draws_are_refused(n: object, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as raised:
        exact().to_dataset(n)  # type: ignore[arg-type]
    assert str(raised.value) == sentence
