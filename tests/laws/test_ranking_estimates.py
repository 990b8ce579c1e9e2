"""Ranking metrics in the estimators: all completions, every belief, both targets."""

import itertools
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from labelbayes.bounds.worst_case import bound_worst_case
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.labeled import estimate_labeled, estimate_shared_rate
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.results.estimates import Estimates
from labelbayes.results.sampled import SampledLaw

RANKING = ["roc_auc", "average_precision"]
SIX = ["accuracy", "precision", "recall", "f1", *RANKING]
NAN = np.nan
#: Ten rows with ties, six of them without a label.
SCORE = np.array([0.9, 0.8, 0.8, 0.7, 0.6, 0.5, 0.5, 0.4, 0.2, 0.2])
LABEL = np.array([1, NAN, 0, NAN, 1, NAN, NAN, 0, NAN, NAN])
P = np.array([0, 0.8, 0, 0.7, 0, 0.5, 0.4, 0, 0.1, 0.3])
FEW = EvaluationSet(LABEL, SCORE, threshold=0.55)
MISSING = np.flatnonzero(np.isnan(LABEL))

RNG = np.random.default_rng(3)
MANY_SCORE = RNG.random(400)
MANY_LABEL = np.where(RNG.random(400) < 0.4, RNG.random(400) < MANY_SCORE, NAN)
MANY = EvaluationSet(MANY_LABEL, MANY_SCORE)
BELIEF = impute(MANY, n_refits=5, rng=0)

Rates = Callable[[np.random.Generator], np.ndarray]


def _enumerated(name: str, p: np.ndarray) -> tuple[float, float, dict[float, float]]:
    """Mean, sd and law over all completions, given the metric is defined."""
    score = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}[name]
    law: dict[float, float] = {}
    for labels in itertools.product([0.0, 1.0], repeat=len(MISSING)):
        y = LABEL.copy()
        y[MISSING] = labels
        mass = float(np.prod(np.where(np.array(labels) == 1, p, 1 - p)))
        value = round(float(score(y, SCORE)), 12)
        law[value] = law.get(value, 0.0) + mass
    values, mass = np.array(list(law)), np.array(list(law.values()))
    mean = float(values @ mass)
    return mean, float(np.sqrt(mass @ (values - mean) ** 2)), law


@pytest.mark.parametrize("name", RANKING)
def test_the_law_is_that_of_all_completions(name: str) -> None:
    law = estimate_pemi(FEW, impute(FEW, P), metrics=[name], rng=0)[name]
    mean, sd, listed = _enumerated(name, P[MISSING])
    assert [law.mean, law.sd] == pytest.approx([mean, sd], abs=1e-12)
    for value, mass in listed.items():
        # Values are rounded to 1e-12, so they are approached from either side.
        inside = law.cdf(value + 1e-11) - law.cdf(value - 1e-11)
        assert inside == pytest.approx(mass, abs=1e-12)
    assert law.mean != pytest.approx(_enumerated(name, P[MISSING] + 0.01)[0], abs=1e-4)


@pytest.mark.parametrize("name", RANKING)
@pytest.mark.parametrize(
    ("estimate", "rates"),
    [
        # A rate per decision: Jeffreys given (2, 1) and (0, 1) labels, or uniform.
        (estimate_labeled, ((2.5, 1.5), (0.5, 1.5))),
        (estimate_shared_rate, ((1.0, 1.0), (1.0, 1.0))),
    ],
)
def test_rates_per_decision_are_mixed_over(
    name: str, estimate: Callable[..., Estimates], rates: Any
) -> None:
    found = estimate(FEW, metrics=SIX, n_draws=40_000, rng=1)
    rng = np.random.default_rng(2)
    drawn = [rng.beta(*pair, size=4_000) for pair in rates]
    by_decision = FEW.y_pred[MISSING] == 1
    means = [
        _enumerated_mean(name, np.where(by_decision, one, other))
        for one, other in zip(*drawn, strict=True)
    ]
    # Draws of both sides: 5 standard errors.
    error = np.std(means) / np.sqrt(len(means)) + found[name].sd / np.sqrt(40_000)
    assert found[name].mean == pytest.approx(np.mean(means), abs=5 * error)
    swapped = np.mean(
        [
            _enumerated_mean(name, np.where(by_decision, other, one))
            for one, other in zip(*(d[:500] for d in drawn), strict=True)
        ]
    )
    if estimate is estimate_labeled:
        assert abs(found[name].mean - swapped) > 20 * error
    assert "40,000 draws, cdf within 0.0068 (DKW, 95%)" in found.summary()["method"][name]
    assert found.summary()["method"]["f1"].startswith("exact law")


def _tables() -> dict[str, np.ndarray]:
    labels = np.array(list(itertools.product([0.0, 1.0], repeat=len(MISSING))))
    whole = np.tile(LABEL, (len(labels), 1))
    whole[:, MISSING] = labels
    return {
        "labels": labels,
        "roc_auc": np.array([roc_auc_score(y, SCORE) for y in whole]),
        "average_precision": np.array([average_precision_score(y, SCORE) for y in whole]),
    }


TABLES = _tables()


def _enumerated_mean(name: str, p: np.ndarray) -> float:
    mass = np.where(TABLES["labels"] == 1, p, 1 - p).prod(axis=1)
    return float(mass @ TABLES[name])


ESTIMATORS: dict[str, Callable[..., Estimates]] = {
    "exact": partial(estimate_pemi, imputation=BELIEF),
    "sampled": partial(estimate_pemi, imputation=BELIEF, method="sampled"),
    "given": partial(estimate_pemi, imputation=BELIEF.without_refits()),
    "labeled": estimate_labeled,
    "bootstrap": partial(estimate_labeled, method="bootstrap"),
    "shared rate": estimate_shared_rate,
}


@pytest.mark.parametrize("target", ["sample", "population"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_gives_six_metrics_jointly(name: str, target: Any) -> None:
    found = ESTIMATORS[name](MANY, target=target, n_draws=2_000, rng=0)
    again = ESTIMATORS[name](MANY, target=target, n_draws=2_000, rng=0)
    assert list(found) == SIX
    columns = ["mean", "sd", "low", "high", "undefined_prob"]
    assert found.summary()[columns].equals(again.summary()[columns])
    drawn = found.draws(4_000, 5)
    for metric in SIX:
        # Six standard errors of each of two samples.
        error = found[metric].sd * (1 / np.sqrt(2_000) + 1 / np.sqrt(4_000))
        assert float(drawn[metric].mean()) == pytest.approx(found[metric].mean, abs=6 * error)
    # Ranking well and deciding well go together: the draws are of the same labels.
    assert np.corrcoef(drawn["roc_auc"], drawn["accuracy"])[0, 1] > 0.3
    restored = pickle.loads(pickle.dumps(found))
    assert restored.draws(10, 1).equals(found.draws(10, 1))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_count_metrics_are_the_same_with_and_without_ranking(name: str) -> None:
    few = ESTIMATORS[name](MANY, metrics=["f1"], n_draws=20_000, rng=0)["f1"]
    with_ranking = ESTIMATORS[name](MANY, n_draws=20_000, rng=1)["f1"]
    assert few.mean == pytest.approx(with_ranking.mean, abs=6 * few.sd / np.sqrt(20_000) + 1e-12)
    assert few.sd == pytest.approx(with_ranking.sd, rel=0.05)
    population = [
        ESTIMATORS[name](MANY, metrics=metrics, target="population", n_draws=20_000, rng=2)["f1"]
        for metrics in (["f1"], ["f1", "roc_auc"])
    ]
    # Two samples of 20,000; the shared rate is spread over 2,000 pairs of rates.
    size = 2_000 if name == "shared rate" else 20_000
    error = population[0].sd * (1 / np.sqrt(size) + 1 / np.sqrt(20_000))
    assert population[0].mean == pytest.approx(population[1].mean, abs=6 * error)
    assert population[0].sd == pytest.approx(population[1].sd, rel=0.1)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_constant_scores_rank_at_one_half_in_every_draw(name: str) -> None:
    flat = EvaluationSet(MANY_LABEL, np.full(400, 0.5))
    belief = impute(flat, "prevalence", n_refits=3, rng=0)
    options = {"imputation": belief} if name in ("exact", "sampled") else {}
    if name == "given":
        options = {"imputation": belief.without_refits()}
    estimate = {"labeled": estimate_labeled, "bootstrap": estimate_labeled}.get(
        name, estimate_shared_rate if name == "shared rate" else estimate_pemi
    )
    for target in ("sample", "population"):
        found = estimate(flat, target=target, n_draws=200, rng=0, **options)
        drawn = found.draws(100, 0)
        assert np.allclose(drawn["roc_auc"], 0.5, rtol=0, atol=1e-12)
        assert found["roc_auc"].sd == pytest.approx(0, abs=1e-12)


def test_nothing_missing_is_scikit_learn_with_zero_spread() -> None:
    truth = (RNG.random(400) < MANY_SCORE).astype(float)
    complete = EvaluationSet(truth, MANY_SCORE)
    wanted = {
        "roc_auc": roc_auc_score(truth, MANY_SCORE),
        "average_precision": average_precision_score(truth, MANY_SCORE),
    }
    for found in (
        estimate_pemi(complete, impute(complete)),
        estimate_pemi(complete, impute(complete), method="gauss"),
        estimate_labeled(complete, rng=0),
        estimate_shared_rate(complete, rng=0),
    ):
        for metric, value in wanted.items():
            assert found[metric].mean == pytest.approx(value, abs=1e-12)
            assert found[metric].sd == pytest.approx(0, abs=1e-12)
    bounds = bound_worst_case(complete)
    for metric, value in wanted.items():
        assert [bounds[metric].low, bounds[metric].high] == pytest.approx([value] * 2, abs=1e-12)


def test_bounds_hold_every_law_and_say_what_is_not_attained() -> None:
    bounds = bound_worst_case(FEW)
    for metric in RANKING:
        values = TABLES[metric]
        assert bounds[metric].low <= values.min() + 1e-12
        assert bounds[metric].high >= values.max() - 1e-12
    assert bounds["roc_auc"].low == pytest.approx(TABLES["roc_auc"].min(), abs=1e-12)
    assert bounds["roc_auc"].high == pytest.approx(TABLES["roc_auc"].max(), abs=1e-12)
    assert any("none need reach them" in note for note in bounds.notes)
    untied = bound_worst_case(EvaluationSet(LABEL, np.linspace(1, 0, 10)))
    assert not any("none need reach them" in note for note in untied.notes)
    for name, estimate in ESTIMATORS.items():
        found, outer = estimate(MANY, n_draws=500, rng=0), bound_worst_case(MANY)
        for metric in RANKING:
            span = found[metric].interval()
            assert outer[metric].low <= span.low <= span.high <= outer[metric].high, name
    wide = bound_worst_case(MANY, target="population")
    assert wide["roc_auc"].ci_kind == "confidence"
    assert wide["roc_auc"].low < outer["roc_auc"].low


def test_a_kind_of_law_can_be_forced() -> None:
    belief = BELIEF.without_refits()
    forced = estimate_pemi(MANY, belief, method="edgeworth", rng=0)
    assert forced.summary()["method"]["roc_auc"].startswith("Edgeworth mixture, cdf within")
    assert forced.summary()["method"]["f1"].startswith("exact law")
    listed = estimate_pemi(FEW, impute(FEW, P), method="enumerated")
    assert listed.summary()["method"]["average_precision"].startswith("exact law, all")
    with pytest.raises(ValueError, match=r"'enumerated' (does not|would visit)"):
        estimate_pemi(MANY, belief, method="enumerated")
    with pytest.raises(ValueError, match="`method` must be 'exact' or 'sampled' with"):
        estimate_pemi(MANY, belief, method="edgeworth", target="population")
    assert isinstance(forced["average_precision"], SampledLaw)


def test_without_a_score_there_is_nothing_to_rank() -> None:
    decided = EvaluationSet([1, 0, None], y_pred=[1, 0, 1])
    assert list(estimate_labeled(decided)) == SIX[:4]
    with pytest.raises(ValueError, match="must not name 'roc_auc' where rows have no score"):
        bound_worst_case(decided, metrics=["roc_auc"])


def test_counts_are_repeated_rows_and_order_changes_nothing() -> None:
    rows = np.repeat(np.arange(10), [1, 2, 1, 3, 1, 1, 2, 1, 1, 2])
    counted = EvaluationSet(LABEL, SCORE, threshold=0.55, count=np.bincount(rows))
    shuffled = np.random.default_rng(0).permutation(rows)
    listed = EvaluationSet(LABEL[shuffled], SCORE[shuffled], threshold=0.55)
    one = estimate_pemi(counted, impute(counted, P), rng=0)
    other = estimate_pemi(listed, impute(listed, P[shuffled]), rng=0)
    columns = ["mean", "sd", "low", "high"]
    assert one.summary()[columns].to_numpy() == pytest.approx(
        other.summary()[columns].to_numpy(), abs=1e-12
    )
