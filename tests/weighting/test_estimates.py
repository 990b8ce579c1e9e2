"""Weighted estimates: ranges, ends, undefined values, refusals, invariances, every argument."""

import inspect
import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_score, roc_auc_score

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.simulate_selection import simulate_selection
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.metrics.registry import METRICS
from labelbayes.results.sentences import POLICY
from labelbayes.weighting.aipw import estimate_aipw
from labelbayes.weighting.ipw import estimate_ipw
from labelbayes.weighting.mean import estimate_mean
from labelbayes.weighting.propensity import Propensity
from labelbayes.weighting.score_law import EndLaw

MADE = simulate_selection(400, floor=0.2, rng=5)
EVERY = list(METRICS)
BOTH = {
    "ipw": lambda evaluation, p, m, **options: estimate_ipw(evaluation, p, **options),
    "ht": lambda evaluation, p, m, **options: estimate_ipw(
        evaluation, p, method="horvitz_thompson", **options
    ),
    "aipw": lambda evaluation, p, m, **options: estimate_aipw(evaluation, p, m, **options),
}


@pytest.mark.parametrize("name", BOTH)
def test_nothing_missing_is_the_metric(name: str) -> None:
    full, n = MADE.complete, MADE.complete.n_rows
    ones = np.ones(n)
    sample = BOTH[name](full, ones, MADE.outcome, metrics=EVERY, target="sample")
    population = BOTH[name](full, ones, MADE.outcome, metrics=EVERY)
    c = full.counts
    for metric in EVERY:
        if metric in COUNT_METRICS:
            expected = float(COUNT_METRICS[metric](c.tp, c.fp, c.fn, c.tn))
        else:
            score = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}[metric]
            expected = score(full.y_true, full.y_score)
        assert sample[metric].mean == pytest.approx(expected, abs=1e-12)
        assert sample[metric].sd == 0.0
        assert population[metric].sd > 0.0
        span = sample[metric].interval(0.95)
        assert span.low == span.high == sample[metric].mean


@pytest.mark.parametrize("name", BOTH)
def test_row_order_and_counts_change_nothing(name: str) -> None:
    evaluation = MADE.evaluation
    rng = np.random.default_rng(1)
    order, count = rng.permutation(400), rng.integers(1, 4, 400)
    for target in ("population", "sample"):
        base = BOTH[name](evaluation, MADE.propensity, MADE.outcome, metrics=EVERY, target=target)
        shuffled = BOTH[name](
            evaluation._take(order),
            MADE.propensity[order],
            MADE.outcome[order],
            metrics=EVERY,
            target=target,
        )
        rows = np.repeat(np.arange(400), count)
        repeated = BOTH[name](
            evaluation._take(rows),
            MADE.propensity[rows],
            MADE.outcome[rows],
            metrics=EVERY,
            target=target,
        )
        counted = BOTH[name](
            evaluation._take(np.arange(400), count=count),
            MADE.propensity,
            MADE.outcome,
            metrics=EVERY,
            target=target,
        )
        for metric in EVERY:
            for one, other in ((base, shuffled), (repeated, counted)):
                assert one[metric].mean == pytest.approx(other[metric].mean, abs=1e-12)
                assert one[metric].sd == pytest.approx(other[metric].sd, rel=1e-9)
        assert repeated.ess == pytest.approx(counted.ess)


def test_weights_that_are_all_alike_change_nothing_for_hajek() -> None:
    evaluation = MADE.evaluation
    half = estimate_ipw(evaluation, np.full(400, 0.5), metrics=EVERY)
    tenth = estimate_ipw(evaluation, np.full(400, 0.1), metrics=EVERY)
    labeled = evaluation.is_labeled
    for metric in EVERY:
        assert half[metric].mean == pytest.approx(tenth[metric].mean, abs=1e-12)
        assert half[metric].sd == pytest.approx(tenth[metric].sd, rel=1e-9)
    assert half["precision"].mean == pytest.approx(
        precision_score(evaluation.y_true[labeled], evaluation.y_pred[labeled])
    )
    assert half.ess == pytest.approx(evaluation.n_labeled)


def test_swapping_the_classes_swaps_sensitivity_and_specificity() -> None:
    evaluation = MADE.evaluation
    swapped = EvaluationSet(
        1 - evaluation.y_true, -evaluation.y_score, y_pred=1 - evaluation.y_pred
    )
    for name, estimate in BOTH.items():
        if name == "ht":
            continue  # totals of positives are weighted, those of all rows are not
        one = estimate(evaluation, MADE.propensity, MADE.outcome, metrics=EVERY)
        other = estimate(swapped, MADE.propensity, 1 - MADE.outcome, metrics=EVERY)
        for metric, twin in {
            "recall": "specificity",
            "precision": "npv",
            "roc_auc": "roc_auc",
            "matthews_corrcoef": "matthews_corrcoef",
        }.items():
            assert one[metric].mean == pytest.approx(other[twin].mean, abs=1e-12)
            assert one[metric].sd == pytest.approx(other[twin].sd, rel=1e-9)


def test_odds_ratio_of_one_is_aipw_and_others_move_it_one_way() -> None:
    means = [
        estimate_aipw(
            MADE.evaluation, MADE.propensity, MADE.outcome, odds_ratio=ratio, metrics=["precision"]
        )["precision"].mean
        for ratio in (0.2, 0.999999, 1.0, 1.000001, 5.0)
    ]
    assert means == sorted(means)
    assert means[1] == pytest.approx(means[2], abs=1e-5)


def test_raw_values_outside_the_range_are_flagged() -> None:
    evaluation = EvaluationSet([1, None, None, 0], y_pred=[1, 1, 0, 0])
    found = estimate_aipw(evaluation, [0.1, 0.1, 0.9, 0.5], [0.1, 0.1, 0.1, 0.1], metrics=EVERY[:8])
    outside = [name for name, law in found.items() if law.mean < 0 or law.mean > 1]
    # tp = 9.2, fp = -7.2, fn = 0, tn = 2 by hand.
    assert found["f1"].mean == pytest.approx(2 * 9.2 / (2 * 9.2 - 7.2), abs=1e-12)
    assert {"accuracy", "f1", "jaccard"} <= set(outside)
    lost = found.summary().loc["matthews_corrcoef"]
    assert math.isnan(lost["mean"])
    assert lost["undefined_reason"].startswith("weights took a cell of the confusion matrix below")
    for name, law in found.items():
        span, metric = law.interval(0.95), METRICS[name]
        assert math.isnan(span.low) or metric.lowest <= span.low <= span.high <= metric.highest
        if name in outside and metric.lowest == 0:
            assert any(f"The estimate of {name}, " in note for note in found.notes)


@pytest.mark.parametrize(("right", "low"), [(50, 0.928652), (0, 0.0)])
def test_fifty_of_fifty_has_a_width_for_the_population(right: int, low: float) -> None:
    y_true = [1.0] * right + [0.0] * (50 - right)
    evaluation = EvaluationSet(y_true, y_pred=np.ones(50, dtype=int))
    law = estimate_ipw(evaluation, np.ones(50), metrics=["accuracy"])["accuracy"]
    span = law.interval(0.95)
    # Wilson's interval at an end: n / (n + z^2).
    assert span.low == pytest.approx(low, abs=1e-6)
    assert span.high == pytest.approx(1.0 if right else 1 - 0.928652, abs=1e-6)
    assert estimate_mean(y_true, np.ones(50))["mean"].interval(0.95) == span


def test_the_law_at_an_end_is_a_law() -> None:
    for at in (0.0, 1.0):
        law = EndLaw(at, 20.0)
        q = np.linspace(0.001, 0.999, 99)
        values = law.quantile(q)
        assert (np.diff(values) >= 0).all()
        inside = (values > 0) & (values < 1)
        assert law.cdf(values[inside]) == pytest.approx(q[inside], abs=1e-9)
        assert law.prob_at_least(0.0) == 1.0
        assert law.cdf(1.0) == 1.0
        assert law.interval(0.99).width > law.interval(0.9).width
        assert abs(law.draws(2_000, 0).mean() - at) < 0.1
    known = EndLaw(1.0, 20.0, open_share=0.0)
    assert known.interval(0.95).width == known.sd == 0.0
    half = EndLaw(1.0, 20.0, open_share=0.5)
    assert half.interval(0.95).width == pytest.approx(EndLaw(1.0, 20.0).interval(0.95).width / 2)


def test_one_labeled_positive_is_finite_and_wide() -> None:
    evaluation = EvaluationSet([1, None, None, 0], [0.9, 0.7, 0.2, 0.1])
    for estimate in BOTH.values():
        for law in estimate(evaluation, np.full(4, 0.5), np.full(4, 0.5)).values():
            assert np.isfinite([law.mean, law.sd]).all()
    recall = estimate_ipw(evaluation, np.full(4, 0.5), metrics=["recall"])["recall"]
    assert recall.interval(0.95).low == pytest.approx(1 / (1 + 1.959964**2), abs=1e-6)


def test_undefined_is_nan_with_a_reason() -> None:
    evaluation = EvaluationSet([0, None, 0], [0.9, 0.2, 0.1])
    found = estimate_ipw(evaluation, np.ones(3), metrics=["recall", "roc_auc", "average_precision"])
    frame = found.summary()
    assert frame[["mean", "sd", "low", "high"]].isna().all(axis=None)
    assert (frame["undefined_prob"] == 1.0).all()
    assert frame.loc["recall", "undefined_reason"] == "no row is positive"


def test_the_result_names_estimator_denominator_and_worth() -> None:
    for name, words in {
        "ipw": "Hajek, denominator: the weights' sum, ",
        "ht": "Horvitz-Thompson, denominator: the number of rows, 400; ",
        "aipw": "AIPW, denominator: the number of rows, 400; ",
    }.items():
        found = BOTH[name](MADE.evaluation, MADE.propensity, MADE.outcome)
        assert words in repr(found)
        assert found.method in found._repr_html_().replace("&#x27;", "'")
        frame = found.summary()
        assert (frame["ess"] == found.ess).all()
        assert 50 < found.ess < found.n_labeled
        assert set(frame["ci_kind"]) == set(frame["statement"]) == {"confidence"}
        assert f"(worth {found.ess:,.0f} of equal weight)" in found._repr_html_()
        assert found.notes[0].startswith("95% confidence interval: in repeated samples of rows")
    by_name = Propensity(MADE.propensity, "by design", ("score", "age"))
    said = estimate_ipw(MADE.evaluation, by_name, target="sample").notes[0]
    assert "in repeated draws of which of these rows are labeled" in said
    assert said.endswith("missing at random given score, age and a correct propensity.")


def test_rows_without_a_chance_are_left_out_and_said() -> None:
    evaluation = EvaluationSet([1, 0, None, 1, None], [0.9, 0.8, 0.7, 0.2, 0.1])
    p, m = np.array([0.5, 0.5, 0.5, 1.0, 0.0]), np.full(5, 0.3)
    kept = np.arange(4)
    for name, estimate in BOTH.items():
        found = estimate(evaluation, p, m)
        alone = estimate(evaluation._take(kept), p[:4], m[:4])
        for metric, law in found.items():
            assert (law.mean, law.sd) == (alone[metric].mean, alone[metric].sd), name
        assert found.notes[1].startswith("20.0% of the rows had no chance of a label. Nothing here")
        assert found.n_unlabeled == 2


def test_few_effective_rows_and_heavy_ones_are_said() -> None:
    p = np.full(400, 0.9)
    heavy = int(np.argmax(MADE.evaluation.is_labeled))
    p[heavy] = 0.001
    notes = " ".join(estimate_ipw(MADE.evaluation, p, metrics=["accuracy"]).notes)
    assert "Effective sample size 1." in notes
    assert "The top 1% of the labeled rows carry 8" in notes
    even = " ".join(estimate_ipw(MADE.evaluation, np.full(400, 0.9), metrics=["accuracy"]).notes)
    assert "Effective" not in even
    assert "top 1%" not in even


ROWS = EvaluationSet([1, 0, None, 1], [0.9, 0.8, 0.7, 0.2])
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"propensity": [0.0, 0.5, 0.5, 0.5]}, r"got 0 at row 0 \(1 such rows\)\. A label that was"),
    ({"propensity": [1.5, 0.5, 0.5, 0.5]}, r"in \[0, 1\]; got 1\.5 at row 0 .* not the weight"),
    ({"propensity": [np.nan] * 4}, r"got nan at row 0"),
    ({"propensity": [0.5] * 3}, r"shape \(4,\); got \(3,\)\.$"),
    ({"propensity": Propensity(np.ones(3), "short")}, r"fitted on these rows, 4; it has 3\.$"),
    ({"clip": 0.5}, r"`clip` must be at least 1"),
    ({"clusters": [1, 1, 2]}, r"`clusters` must hold one value per row"),
    (
        {"clusters": [1, None, 2, 2]},
        r"`clusters` must not be missing; it is at row 1 .* its own\.$",
    ),
    ({"clusters": [1, 1, 1, 1]}, r"at least two clusters; got one\.$"),
    ({"time": [1, 2, 3, 4]}, r"at least 8 distinct values; got 4\."),
    ({"time": [1, 2, 3, 4], "clusters": [1, 2, 3, 4]}, r"must not both be given"),
    ({"time": [1, 2, 3, 4], "target": "sample"}, r"with target='sample' these rows are fixed"),
    ({"target": "cohort"}, r"`target` must be one of 'sample', 'population'; got 'cohort'\."),
    ({"metrics": ["wisdom"]}, r"got 'wisdom' at position 0"),
]


@pytest.mark.parametrize(("options", "sentence"), REFUSED)
def test_bad_input_is_one_sentence(options: dict[str, Any], sentence: str) -> None:
    given = {"propensity": [0.5] * 4} | options
    p = given.pop("propensity")
    with pytest.raises(ValueError, match=sentence):
        estimate_ipw(ROWS, p, **given)
    with pytest.raises(ValueError, match=sentence):
        estimate_aipw(ROWS, p, [0.5] * 4, **given)


def test_other_bad_input() -> None:
    with pytest.raises(ValueError, match=r"at least one label to weight; got none\.$"):
        estimate_ipw(EvaluationSet([None, None], [0.1, 0.2]), [0.5, 0.5])
    with pytest.raises(ValueError, match=r"`method` must be one of 'hajek', 'horvitz_thompson'"):
        estimate_ipw(ROWS, [0.5] * 4, method="aipw")
    with pytest.raises(ValueError, match=r"`outcome` must hold probabilities"):
        estimate_aipw(ROWS, [0.5] * 4, [2.0] * 4)
    for ratio in (0, -1):
        with pytest.raises(ValueError, match=r"`odds_ratio` must be an odds ratio above 0"):
            estimate_aipw(ROWS, [0.5] * 4, [0.5] * 4, odds_ratio=ratio)
    with pytest.raises(TypeError, match="`evaluation` must be an EvaluationSet"):
        estimate_ipw([1, 0], [0.5, 0.5])
    with pytest.raises(ValueError, match=r"`predicted` must hold one number per row"):
        estimate_mean([1, None], [1, 1], predicted=[1.0, np.nan])
    with pytest.raises(ValueError, match=r"`method` must be left out where `predicted`"):
        estimate_mean([1, None], [1, 1], predicted=[1, 1], method="horvitz_thompson")
    with pytest.raises(ValueError, match=r"`values` must be finite; got inf at row 0"):
        estimate_mean([np.inf, 1], [1, 1])


@pytest.mark.parametrize("name", BOTH)
def test_outcomes_that_the_decision_changes_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"action propensities, P\(action \| features\)") as info:
        BOTH[name](ROWS, [0.5] * 4, [0.5] * 4, outcome_depends_on_decision=True)
    assert POLICY in str(info.value)


CLUSTERS = np.arange(400) // 8
ALTERNATIVES: dict[str, Any] = {
    "method": "horvitz_thompson",
    "target": "sample",
    "clip": 1.5,
    "clusters": CLUSTERS,
    "time": np.arange(400),
    "metrics": ["npv"],
    "odds_ratio": 2.0,
    "predicted": MADE.outcome,
}


@pytest.mark.parametrize("function", [estimate_ipw, estimate_aipw, estimate_mean])
def test_every_argument_bites(function: Any) -> None:
    first = [MADE.evaluation, MADE.propensity]
    if function is estimate_aipw:
        first.append(MADE.outcome)
    if function is estimate_mean:
        first[0] = MADE.evaluation.y_true
    base = function(*first)
    options = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name != "outcome_depends_on_decision"
    ]
    assert set(options) <= ALTERNATIVES.keys()
    for option in options:
        other = function(*first, **{option: ALTERNATIVES[option]})
        same = {
            (name, law.mean, law.sd) for name, law in base.items() if name in other.contents
        } == {(name, law.mean, law.sd) for name, law in other.items()}
        assert not same or list(other) != list(base), option


def test_a_loss_may_be_any_number() -> None:
    loss = np.where(MADE.evaluation.is_labeled, 100.0 * MADE.features[:, 1] + 7, np.nan)
    found = estimate_mean(loss, MADE.propensity)
    assert found["mean"].interval(0.95).high > 1
    shifted = estimate_mean(loss + 1_000, MADE.propensity)
    assert shifted["mean"].mean == pytest.approx(found["mean"].mean + 1_000)
    assert shifted["mean"].sd == pytest.approx(found["mean"].sd)
    # Requirement 13 aside: a loss that never varies has no spread to show.
    assert estimate_mean([3.0, 3.0, None], np.ones(3))["mean"].sd == 0.0


def test_downsampled_negatives_are_a_propensity() -> None:
    """All positives and a tenth of the negatives are in the file: their rate is P(in the file)."""
    full = MADE.complete
    negative = np.flatnonzero(full.y_true == 0)
    kept = np.sort(np.concatenate([np.flatnonzero(full.y_true == 1), negative[::10]]))
    file = full._take(kept)
    rate = np.where(file.y_true == 1, 1.0, len(negative[::10]) / len(negative))
    right = estimate_ipw(full, np.ones(400), metrics=["precision"])["precision"].mean
    found = estimate_ipw(file, rate, metrics=["precision"])["precision"]
    assert abs(found.mean - right) < 2 * found.sd
    naive = estimate_ipw(file, np.ones(len(kept)), metrics=["precision"])["precision"]
    assert naive.mean - right > 5 * naive.sd


def test_one_class_says_nothing_of_a_ranking() -> None:
    """Average precision of positives alone is 1, whatever the score: the interval is the range."""
    rows = EvaluationSet([1, 1, None, 1], [0.1, 0.2, 0.8, 0.9])
    law = estimate_ipw(rows, [0.5] * 4, metrics=["average_precision"])["average_precision"]
    assert isinstance(law, EndLaw)
    assert (law.mean, law.interval(0.95).low, law.interval(0.95).high) == (1.0, 0.0, 1.0)
    # With all labels seen these rows have no other value.
    full = EvaluationSet([1, 1], [0.1, 0.2])
    law = estimate_ipw(full, [1.0, 1.0], target="sample", metrics=["average_precision"])
    assert law["average_precision"].interval(0.95).width == 0.0


def test_a_policy_is_a_bool_and_losses_have_a_size() -> None:
    with pytest.raises(TypeError, match=r"must be True or False; got 'no'"):
        estimate_ipw(ROWS, [0.5] * 4, outcome_depends_on_decision="no")
    with pytest.raises(ValueError, match=r"`values` must be at most 1e\+100 in size"):
        estimate_mean([1e200, 1], [1, 1])
