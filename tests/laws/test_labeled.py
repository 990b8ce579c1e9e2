"""Laws without a score: labeled rows alone, and one unknown rate per decision."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import betabinom
from sklearn.metrics import average_precision_score, roc_auc_score

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.masking import mask_mcar
from labelbayes.data.simulate import simulate_scores
from labelbayes.ladder import ladder
from labelbayes.laws.labeled import (
    estimate_labeled,
    estimate_shared_rate,
    pulled_to_the_decision,
)
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.results.count_law import CountLaw
from labelbayes.results.distribution import DrawsLaw
from labelbayes.results.estimates import Estimates

RNG = np.random.default_rng(6)
Y_PRED = RNG.integers(0, 2, 120)
Y_TRUE = np.where(RNG.random(120) < 0.4, (RNG.random(120) < 0.2 + 0.5 * Y_PRED), np.nan)
ROWS = EvaluationSet(Y_TRUE, y_pred=Y_PRED)
UNLABELED = EvaluationSet([None, None], y_pred=[1, 0])


def grid_mean(a: tuple[float, float], b: tuple[float, float], name: str) -> float:
    """Mean of a metric over beta-binomial counts, one pair of parameters per decision."""
    known = ROWS.counts
    n1, n0 = known.unlabeled_predicted_positive, known.unlabeled_predicted_negative
    u, v = np.arange(n1 + 1), np.arange(n0 + 1)
    weight = betabinom(n1, *a).pmf(u)[:, None] * betabinom(n0, *b).pmf(v)[None, :]
    value = COUNT_METRICS[name](
        known.tp + u[:, None],
        known.fp + n1 - u[:, None],
        known.fn + v[None, :],
        known.tn + n0 - v[None, :],
    )
    return float((weight * value).sum())


@pytest.mark.parametrize("name", COUNT_METRICS)
def test_sample_laws_complete_each_decision_at_its_own_rate(name: str) -> None:
    known = ROWS.counts
    law = estimate_labeled(ROWS, metrics=[name])[name]
    assert isinstance(law, CountLaw)
    a, b = (known.tp + 0.5, known.fp + 0.5), (known.fn + 0.5, known.tn + 0.5)
    assert law.mean == pytest.approx(grid_mean(a, b, name), abs=1e-10)
    assert law.mean != pytest.approx(grid_mean(b, a, name), abs=1e-3)
    shared = estimate_shared_rate(ROWS, metrics=[name])[name]
    assert shared.mean == pytest.approx(grid_mean((1, 1), (1, 1), name), abs=1e-10)


def test_a_shared_rate_does_not_narrow_with_more_missing_rows() -> None:
    few, many = (
        estimate_shared_rate(EvaluationSet([None] * n, y_pred=[1] * n))["precision"]
        for n in (20, 20_000)
    )
    uniform = 1 / math.sqrt(12)
    assert few.sd == pytest.approx(uniform * math.sqrt(22 / 20), rel=1e-9)
    assert many.sd == pytest.approx(uniform, rel=1e-4)


def test_population_laws_are_dirichlet() -> None:
    known = ROWS.counts
    result = estimate_labeled(ROWS, target="population", n_draws=40_000, rng=0)
    a, b = known.tp + 0.5, known.fp + 0.5
    law = result["precision"]
    assert isinstance(law, DrawsLaw)
    assert law.mean == pytest.approx(a / (a + b), abs=0.003)
    exact_sd = math.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))
    assert law.sd == pytest.approx(exact_sd, rel=0.03)


def test_bootstrap_is_the_resampled_table() -> None:
    known = ROWS.counts
    result = estimate_labeled(ROWS, method="bootstrap", target="population", n_draws=40_000, rng=0)
    share = (known.tp + known.tn) / ROWS.n_labeled
    assert result["accuracy"].mean == pytest.approx(share, abs=0.003)
    exact_sd = math.sqrt(share * (1 - share) / ROWS.n_labeled)
    assert result["accuracy"].sd == pytest.approx(exact_sd, rel=0.03)
    assert result.statement == "confidence"
    assert set(result.summary()["ci_kind"]) == {"confidence"}
    sample = estimate_labeled(ROWS, method="bootstrap", n_draws=40_000, rng=0)
    finite = math.sqrt(1 - ROWS.n_labeled / ROWS.n) * exact_sd
    assert sample["accuracy"].sd == pytest.approx(finite, rel=0.15)
    assert sample["accuracy"].sd < 0.9 * exact_sd


def test_bootstrap_is_certain_where_labels_agree_and_bayes_is_not() -> None:
    agreed = EvaluationSet([1, 1, 1, None, None], y_pred=[1] * 5)
    bootstrap = estimate_labeled(agreed, method="bootstrap", rng=0)["precision"]
    assert bootstrap.sd == 0.0
    assert estimate_labeled(agreed)["precision"].sd > 0.05


def test_a_decision_without_labels_gets_even_odds() -> None:
    rows = EvaluationSet([1, 0, *[None] * 40], y_pred=[1, 1, *[0] * 40])
    bootstrap = estimate_labeled(rows, method="bootstrap", metrics=["npv"], rng=0)["npv"]
    bayes = estimate_labeled(rows, metrics=["npv"])["npv"]
    assert bootstrap.mean == pytest.approx(0.5, abs=0.01)
    assert bayes.mean == pytest.approx(0.5, abs=1e-12)
    assert bayes.sd > 4 * bootstrap.sd


def values(result: Estimates) -> np.ndarray:
    return result.summary()[["mean", "sd", "low", "high"]].to_numpy()


def test_joint_draws_follow_the_laws() -> None:
    for result in (estimate_labeled(ROWS), estimate_shared_rate(ROWS)):
        drawn = result.draws(20_000, 1)
        for name, law in result.items():
            assert float(drawn[name].mean()) == pytest.approx(
                law.mean, abs=6 * law.sd / math.sqrt(20_000)
            )


BASES: dict[str, tuple[Callable[..., Estimates], dict[str, Any], dict[str, Any]]] = {
    "labeled": (
        estimate_labeled,
        {"method": "bootstrap", "n_draws": 200, "rng": 0},
        {
            "metrics": ["npv"],
            "method": "bayes",
            "target": "population",
            "n_draws": 201,
            "rng": 1,
        },
    ),
    "shared rate": (
        estimate_shared_rate,
        {"target": "population", "n_draws": 200, "rng": 0},
        {"metrics": ["npv"], "target": "sample", "n_draws": 201, "rng": 1},
    ),
}


@pytest.mark.parametrize(
    ("name", "option"), [(name, option) for name, (*_, other) in BASES.items() for option in other]
)
def test_every_option_bites(name: str, option: str) -> None:
    estimate, base, other = BASES[name]
    first, changed = estimate(ROWS, **base), estimate(ROWS, **(base | {option: other[option]}))
    assert list(first) != list(changed) or (values(first) != values(changed)).any()
    assert (values(first) == values(estimate(ROWS, **base))).all()


@pytest.mark.parametrize("name", BASES)
def test_the_table_of_options_is_whole(name: str) -> None:
    estimate, _, other = BASES[name]
    parameters = inspect.signature(estimate).parameters.values()
    assert {p.name for p in parameters if p.default is not inspect.Parameter.empty} == other.keys()


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ({}, "exact law; labeled rows only"),
        ({"target": "population", "n_draws": 1_500}, "1,500 draws; labeled rows only"),
        ({"method": "bootstrap"}, "bootstrap, 10,000 draws; labeled rows only"),
    ],
)
def test_the_method_says_what_was_done(options: dict[str, Any], method: str) -> None:
    result = estimate_labeled(ROWS, rng=0, **options)
    assert result.method == method
    assert result.target == options.get("target", "sample")
    expected = (
        "labeled rows are a random sample of all rows"
        if "target" in options
        else "missing labels are like labeled ones of the same decision"
    )
    assert result.assumption == expected


RANKED = ["roc_auc", "average_precision"]
PULLED = pulled_to_the_decision(RANKED)


@pytest.mark.parametrize("method", ["bayes", "bootstrap"])
def test_completion_by_decision_pulls_ranking_metrics_to_the_decision(method: str) -> None:
    complete = simulate_scores(4_000, rng=1)
    some = mask_mcar(complete, 0.6, rng=2)

    def estimate(y_score: np.ndarray, target: Any = "sample") -> tuple[Estimates, dict[str, float]]:
        evaluation = EvaluationSet(some.y_true, y_score)
        options = {"metrics": RANKED, "method": method, "n_draws": 500, "rng": 0}
        truth = (roc_auc_score, average_precision_score)
        values = [metric(complete.y_true, y_score) for metric in truth]
        found = estimate_labeled(evaluation, target=target, **options)
        return found, dict(zip(RANKED, values, strict=True))

    by_score, truth = estimate(complete.y_score)
    by_decision, coarse = estimate(complete.y_pred.astype(float))
    for name in RANKED:
        # Labels are hidden at random, and still the truth is more than 4 sd away ...
        law = by_score[name]
        assert coarse[name] < law.mean < truth[name] - 4 * law.sd
        # ... but for a score that has nothing to lose within a decision.
        law = by_decision[name]
        assert abs(law.mean - coarse[name]) < 3 * law.sd
    assert PULLED in by_score.notes
    drawn, truth = estimate(complete.y_score, target="population")
    for name, law in drawn.items():
        assert abs(law.mean - truth[name]) < 3 * law.sd
    assert PULLED not in drawn.notes


def test_the_pull_is_said_where_there_is_one_and_in_the_ladder() -> None:
    some = EvaluationSet([1, 0, None, 1, 0, 1, 0], [0.9, 0.2, 0.8, 0.4, 0.1, 0.7, 0.6])
    complete = some.subset(some.is_labeled)
    both = ladder(some, metrics=["recall", *RANKED], rng=0).notes
    assert f"labeled rows only: {PULLED}" in both
    said = estimate_labeled(some, metrics=["roc_auc"], n_draws=10, rng=0).notes
    assert pulled_to_the_decision(["roc_auc"]) in said
    for evaluation, metrics in ((some, ["recall"]), (complete, RANKED)):
        notes = estimate_labeled(evaluation, metrics=metrics, n_draws=10, rng=0).notes
        assert not any("as good as chance" in note for note in notes)


def test_shared_rate_needs_no_label() -> None:
    result = estimate_shared_rate(UNLABELED, metrics=["accuracy", "recall"])
    assert result["accuracy"].mean == pytest.approx(0.5)
    assert result["recall"].undefined_prob == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: estimate_labeled(UNLABELED),
            "got none. Use `bound_worst_case`, or `impute` with probabilities of your own.",
        ),
        (
            lambda: estimate_labeled(ROWS, method="jackknife"),
            "`method` must be one of 'bayes', 'bootstrap'; got 'jackknife'.",
        ),
        (
            lambda: estimate_labeled(ROWS, target="both"),  # type: ignore[arg-type]
            "`target` must be one of 'sample', 'population'; got 'both'.",
        ),
        (
            lambda: estimate_shared_rate(ROWS, n_draws=0),
            "`n_draws` must be at least 1; got 0.",
        ),
    ],
)
def test_bad_arguments_are_refused(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(ValueError, match="must") as raised:
        call()
    assert str(raised.value).endswith(sentence)
