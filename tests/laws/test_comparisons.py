"""What comparisons refuse, what they say, and that every option bites."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.differences import compare_groups, compare_models
from labelbayes.metrics.confusion import fbeta
from labelbayes.metrics.registry import METRICS
from labelbayes.results.estimates import Estimates

N = 120
RNG = np.random.default_rng(3)
SCORE = RNG.random(N)
OTHER = np.clip(SCORE + RNG.normal(0, 0.2, N), 0, 1)
Y = np.where(RNG.random(N) < 0.6, RNG.random(N) < SCORE, np.nan)
GROUP = RNG.choice(["a", "b", "c"], N)
A, B = EvaluationSet(Y, SCORE, group=GROUP), EvaluationSet(Y, OTHER)
BOTH = impute(A, features=OTHER, rng=0)
WITH_GROUP = impute(A, features=GROUP, rng=0)


def test_a_belief_from_one_score_is_refused() -> None:
    with pytest.raises(ValueError, match=r"does not use `evaluation_b.y_score`.*certainty"):
        compare_models(A, B, impute(A, rng=0))
    with pytest.raises(ValueError, match=r"does not use `evaluation_a.y_score`"):
        compare_models(A, B, impute(B, rng=0))
    with pytest.raises(ValueError, match=r"beside an array of your own, `features` says"):
        compare_models(A, B, impute(A, SCORE))
    with pytest.raises(ValueError, match=r"`evaluation_b.y_score`"):
        compare_models(A, B, impute(A, SCORE, features=SCORE))


def test_a_belief_that_knows_both_is_taken_whoever_it_was_made_for() -> None:
    one = impute(A, SCORE, features=np.column_stack([SCORE, OTHER]))
    for belief in (BOTH, impute(B, features=SCORE, rng=0), one):
        notes = compare_models(A, B, belief, metrics=["accuracy"]).notes
        assert not any("does not use" in note for note in notes)


@pytest.mark.parametrize("how", ["maxent", "prevalence", np.full(N, 0.3)])
def test_one_probability_for_all_favors_neither_and_says_so(how: Any) -> None:
    result = compare_models(A, B, impute(A, how, rng=0), metrics=["accuracy"])
    said = [note for note in result.notes if "does not use the score of either model" in note]
    assert len(said) == 1
    assert "pulled toward zero" in said[0]


def test_two_cuts_of_one_score_need_no_more_than_that_score() -> None:
    strict = EvaluationSet(Y, SCORE, threshold=0.7)
    law = compare_models(A, strict, impute(A, rng=0), metrics=["recall"])["recall"]
    assert law.mean > 0
    assert float(law.cdf(-1e-9)) == 0.0  # a lower cut finds no fewer


def test_decisions_that_are_no_cut_of_the_score_must_be_known_too() -> None:
    free = RNG.integers(0, 2, N)
    own = EvaluationSet(Y, OTHER, y_pred=free)
    with pytest.raises(ValueError, match=r"`evaluation_b.y_pred`"):
        compare_models(A, own, BOTH, metrics=["accuracy"])
    knows = impute(A, features=np.column_stack([OTHER, free]), rng=0)
    assert "accuracy" in compare_models(A, own, knows, metrics=["accuracy"])
    bare = EvaluationSet(Y, y_pred=free)
    with pytest.raises(ValueError, match=r"`evaluation_b.y_pred`"):
        compare_models(A, bare, BOTH, metrics=["accuracy"])
    result = compare_models(A, bare, impute(A, features=free, rng=0))
    assert list(result) == ["accuracy", "precision", "recall", "f1"]  # no score to rank by


def test_other_rows_are_refused_with_the_place() -> None:
    wrong = Y.copy()
    labeled = np.flatnonzero(~np.isnan(Y))[0]
    wrong[labeled] = 1 - wrong[labeled]
    with pytest.raises(ValueError, match=rf"labels of `evaluation_a`; row {labeled} has"):
        compare_models(A, EvaluationSet(wrong, OTHER), BOTH)
    wrong[labeled] = np.nan
    with pytest.raises(ValueError, match=rf"row {labeled} has nan"):
        compare_models(A, EvaluationSet(wrong, OTHER), BOTH)
    count = np.ones(N, dtype=int)
    count[7] = 2
    with pytest.raises(ValueError, match=r"counts of `evaluation_a`; row 7 has 2 for 1 \(1 such"):
        compare_models(A, EvaluationSet(Y, OTHER, count=count), BOTH)
    with pytest.raises(ValueError, match=r"rows of `evaluation_a`, 120; got 119"):
        compare_models(A, EvaluationSet(Y[1:], OTHER[1:]), BOTH)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ((1, B, BOTH), TypeError, "`evaluation_a` must be an EvaluationSet; got int"),
        ((A, 1, BOTH), TypeError, "`evaluation_b` must be an EvaluationSet; got int"),
        ((A, B, 0.5), TypeError, "`imputation` must be an Imputation; got float"),
        ((A, B, BOTH.subset(SCORE > 0.5)), ValueError, "must be made from this evaluation"),
    ],
)
def test_models_check_their_arguments(
    arguments: tuple[Any, Any, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        compare_models(*arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ((1, BOTH), TypeError, "`evaluation` must be an EvaluationSet; got int"),
        ((A, None), TypeError, "`imputation` must be an Imputation; got NoneType"),
        ((A, BOTH.subset(SCORE > 0.5)), ValueError, "must be made from this evaluation"),
        ((B, BOTH), ValueError, "must have a group for each row"),
        (
            (EvaluationSet(Y, SCORE, group=["x"] * N), BOTH),
            ValueError,
            "at least two groups to compare; got 'x' alone",
        ),
    ],
)
def test_groups_check_their_arguments(
    arguments: tuple[Any, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        compare_groups(*arguments)


def models(**options: Any) -> Estimates:
    return compare_models(A, B, BOTH, **options)


def groups(**options: Any) -> Estimates:
    two = GROUP != "c"
    return compare_groups(A.subset(two), WITH_GROUP.subset(two), **options)["a", "b"]


EITHER = pytest.mark.parametrize(
    ("run", "function"), [(models, compare_models), (groups, compare_groups)]
)


@EITHER
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "normal"}, "`method` must be one of 'exact', 'gauss', 'sampled'"),
        ({"target": "rate"}, "`target` must be one of 'sample', 'population'"),
        ({"method": "gauss", "target": "population"}, "knows only these rows"),
        ({"n_draws": 0}, "`n_draws` must be"),
        ({"metrics": ["auc"]}, "got 'auc' at position 0"),
        ({"method": "gauss"}, r"no(thing|ne) in closed form for 'average_precision'"),
    ],
)
def test_options_are_checked(
    run: Callable[..., Estimates], function: object, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        run(**options)


@EITHER
def test_every_option_bites(run: Callable[..., Estimates], function: Callable[..., Any]) -> None:
    base: dict[str, Any] = {"metrics": ["f1", "roc_auc"], "method": "sampled", "n_draws": 50}
    changed: dict[str, Any] = {
        "metrics": ["recall", "roc_auc"],
        "method": "exact",
        "target": "population",
        "n_draws": 60,
        "rng": 1,
    }
    keyword = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    assert keyword == list(changed)
    first = run(**base, rng=0).to_dict()
    assert run(**base, rng=0).to_dict() == first
    for name, value in changed.items():
        options = {**base, "rng": 0, name: value}
        assert run(**options).to_dict() != first, name


@EITHER
def test_the_result_says_what_it_is(run: Callable[..., Estimates], function: object) -> None:
    result = run(rng=0, n_draws=1_000)
    assert list(result) == ["accuracy", "precision", "recall", "f1", "roc_auc", "average_precision"]
    assert result.method.startswith("exact law of accuracy, precision, recall, f1; 1,000 draws")
    assert "roc_auc (exact mean and sd); average_precision (exact mean)" in result.method
    assert (result.target, result.statement) == ("sample", "predictive")
    assert f"these {result.n_labeled + result.n_unlabeled} rows" in result.notes[0]
    assert result.assumption
    names = [METRICS["npv"], fbeta(3.0), "jaccard"]
    assert list(run(metrics=names)) == ["npv", "f3", "jaccard"]


def test_groups_say_what_the_belief_does_not_know_and_how_many_are_compared() -> None:
    unknown = compare_groups(A, impute(A, rng=0), metrics=["accuracy"])
    known = compare_groups(A, WITH_GROUP, metrics=["accuracy"])
    assert list(unknown) == list(known) == [("a", "b"), ("a", "c"), ("b", "c")]
    for pair, result in unknown.items():
        assert any(
            note.startswith("The imputation does not use the group") for note in result.notes
        )
        assert not any("does not use" in note for note in known[pair].notes)
        said = [note for note in known[pair].notes if "3 pairs of groups compared" in note]
        assert len(said) == 1
        assert "about 0.15 intervals" in said[0]
        assert "summary(ci_prob=0.983333)" in said[0]
    two = A.group != "c"
    pair = compare_groups(A.subset(two), WITH_GROUP.subset(two), metrics=["accuracy"])
    assert list(pair) == [("a", "b")]
    assert not any("compared" in note for note in pair["a", "b"].notes)


def test_rows_in_another_order_give_the_same_laws_and_draws() -> None:
    order = np.random.default_rng(0).permutation(N)
    a = EvaluationSet(Y[order], SCORE[order], group=GROUP[order])
    b = EvaluationSet(Y[order], OTHER[order])
    p = np.clip((SCORE + OTHER) / 2, 0.01, 0.99)
    features = pd.DataFrame({"a": SCORE, "b": OTHER, "group": GROUP})
    one = impute(A, p, features=features)
    two = impute(a, p[order], features=features.iloc[order])
    for target in ("sample", "population"):
        options: dict[str, Any] = {"target": target, "n_draws": 200, "rng": 5}
        pairs = [
            (compare_models(A, B, one, **options), compare_models(a, b, two, **options)),
            (
                compare_groups(A, one, **options)["a", "b"],
                compare_groups(a, two, **options)["a", "b"],
            ),
        ]
        for first, second in pairs:
            pd.testing.assert_frame_equal(first.summary(), second.summary())


def test_a_group_without_a_predicted_positive_has_no_precision() -> None:
    rows = EvaluationSet(
        [1, 0, None, None, 1, None], y_pred=[1, 1, 1, 0, 0, 0], group=list("aaabbb")
    )
    gaps = compare_groups(rows, impute(rows, np.full(6, 0.25), features=rows.group))["a", "b"]
    assert gaps["precision"].undefined_prob == 1.0
    assert np.isnan(gaps["precision"].mean)
    assert "undefined here" in gaps._repr_html_()
    # Group a has a labeled positive; recall of b has one too, so both are always defined.
    assert gaps["recall"].undefined_prob == 0.0
    rows = EvaluationSet(
        [1, 0, None, None, 0, None], y_pred=[1, 1, 1, 0, 0, 0], group=list("aaabbb")
    )
    recall = compare_groups(rows, impute(rows, np.full(6, 0.25), features=rows.group))["a", "b"][
        "recall"
    ]
    assert recall.undefined_prob == pytest.approx(0.75**2, abs=1e-15)
    assert recall.undefined_reason == "no row is positive, in one of the two groups"


@pytest.mark.parametrize("options", [{}, {"method": "gauss"}, {"target": "population"}])
def test_a_model_without_a_predicted_positive_has_no_precision(options: dict[str, Any]) -> None:
    y_true = [None, None, None, 1]
    a, b = (EvaluationSet(y_true, y_pred=y_pred) for y_pred in ([1, 1, 0, 0], [0, 0, 0, 0]))
    names = ["precision", "recall"]
    result = compare_models(a, b, impute(a, "maxent"), metrics=names, rng=0, **options)
    assert result["precision"].undefined_prob == 1.0
    assert np.isnan(result["precision"].mean)
    assert result["precision"].undefined_reason == (
        "no row is predicted positive, for one of the two models"
    )
    assert result["recall"].undefined_prob == 0.0
    assert result["recall"].mean > 0


def test_methods_of_one_law_are_none_of_a_difference() -> None:
    with pytest.raises(ValueError, match="one of 'exact', 'gauss', 'sampled'; got 'edgeworth'"):
        compare_models(A, B, BOTH, method="edgeworth")


def test_a_belief_about_other_labels_of_the_same_rows_is_refused() -> None:
    flipped = EvaluationSet(1 - Y, SCORE, group=GROUP)
    first = int(np.argmax(~np.isnan(Y)))
    with pytest.raises(ValueError, match=rf"row {first} has label . there and label . here \("):
        compare_groups(flipped, WITH_GROUP)
