"""Rows drawn like these: widths that are right, and the completion that counts noise twice."""

import math
from typing import Any

import numpy as np
import pytest

from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.labeled import estimate_labeled
from labelbayes.laws.missing_counts import WeightedP, count_pairs, weigh_missing
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.laws.population import (
    MOST_GROUPS,
    completed_cells,
    draws_laws,
    population_draws,
    weighted_cells,
)
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.metrics.registry import resolve_count_metrics

#: 3.3 standard errors of a coverage of .95 in 400 replications.
LOW, HIGH, REPLICATIONS = 0.914, 0.986, 400
METRICS = resolve_count_metrics(None)
#: Rates of positives in the population, each on a fifth of the rows; the last two are predicted.
RATES = np.array([0.04, 0.15, 0.3, 0.65, 0.9])


def true_values() -> np.ndarray:
    high, low = RATES[3:], RATES[:3]
    cells = high.sum(), (1 - high).sum(), low.sum(), (1 - low).sum()
    return np.array([float(metric(*cells)) for metric in METRICS])


def replicate(share_masked: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Coverage and mean width of the 95% intervals by known p, and by naive completion."""
    rng = np.random.default_rng(12)
    truth = true_values()
    spans: dict[str, list[np.ndarray]] = {"known p": [], "naive": []}
    for _ in range(REPLICATIONS):
        p = rng.choice(RATES, 300)
        y = np.where(rng.random(300) < share_masked, np.nan, rng.random(300) < p)
        evaluation = EvaluationSet(y, p)
        belief = impute(evaluation, p)
        known, weighed = evaluation.counts, weigh_missing(evaluation, belief)
        samplers = {
            "known p": weighted_cells(known, *weighed),
            "naive": completed_cells(known, count_pairs(evaluation, belief)),
        }
        for name, sampler in samplers.items():
            laws = draws_laws(METRICS, population_draws(METRICS, sampler), 800, rng)
            spans[name].append([law.quantile([0.025, 0.975]) for law in laws.values()])
    result = {}
    for name, ends in spans.items():
        low, high = np.moveaxis(np.array(ends), -1, 0)
        result[name] = ((low <= truth) & (truth <= high)).mean(axis=0), (high - low).mean(axis=0)
    return result


@pytest.mark.parametrize("share_masked", [0.5, 1.0])
def test_known_p_covers_and_naive_completion_is_far_too_wide(share_masked: float) -> None:
    result = replicate(share_masked)
    coverage, width = result["known p"]
    naive_coverage, naive_width = result["naive"]
    if share_masked == 0.5:
        assert (coverage > LOW).all()
        assert (coverage < HIGH).all()
        assert (naive_width > 1.2 * width).all()
    else:  # no label: half a row a cell, the prior, is a part of the width
        assert (coverage > LOW).all()
        assert (naive_coverage > HIGH).all()
        assert (naive_width > 2 * width).all()


def test_weights_have_the_moments_of_a_bayesian_bootstrap() -> None:
    # All rows missing, one rate a decision: accuracy is a weighted mean of two rates.
    count = 400
    known = Counts(0, 0, 0, 0, count, count)
    groups = (
        WeightedP(np.array([[0.9]]), np.array([count])),
        WeightedP(np.array([[0.2]]), np.array([count])),
    )
    joint = population_draws(METRICS, weighted_cells(known, *groups))
    drawn = joint(20_000, np.random.default_rng(0))["accuracy"]
    assert drawn.mean() == pytest.approx(0.85, abs=0.001)
    # Dirichlet weights 400 and 400: variance (.9 - .8)^2 / 4 / 801; and half a row a cell.
    assert drawn.std() == pytest.approx(math.sqrt(0.01 / 4 / 801 + 4 * 0.25 / 802**2), rel=0.2)


def test_groups_of_neighbors_stand_for_their_rows() -> None:
    rng = np.random.default_rng(1)
    n = 4 * MOST_GROUPS
    p = rng.beta(0.7, 1.3, n)
    known = Counts(20, 5, 10, 60, n, 0)
    none = WeightedP(np.empty((1, 0)), np.empty(0, dtype=np.int64))
    one = np.ones(n, dtype=np.int64)
    joint = population_draws(METRICS, weighted_cells(known, WeightedP(p[None, :], one), none))
    grouped = joint(4_000, np.random.default_rng(2))
    # Every row with a weight of its own.
    weights = np.random.default_rng(3).standard_exponential((4_000, n))
    labeled = np.random.default_rng(4).standard_gamma(np.array([20.5, 5.5, 10.5, 60.5]), (4_000, 4))
    tp = labeled[:, 0] + weights @ p
    fp = labeled[:, 1] + weights @ (1 - p)
    apart = grouped["precision"].mean() - (tp / (tp + fp)).mean()
    assert abs(apart) < 5 * grouped["precision"].std() / math.sqrt(2_000)
    assert grouped["precision"].std() == pytest.approx((tp / (tp + fp)).std(), rel=0.06)


@pytest.mark.parametrize(("n_right", "n_wrong"), [(50, 0), (0, 50)])
def test_all_right_or_all_wrong_is_no_certainty(n_right: int, n_wrong: int) -> None:
    y_pred = np.tile([1, 0], 25)
    y_true = y_pred if n_right else 1 - y_pred
    evaluation = EvaluationSet(y_true, y_pred=y_pred)
    for result in (
        estimate_labeled(evaluation, target="population", rng=0),
        estimate_pemi(evaluation, impute(evaluation), target="population", rng=0),
    ):
        for law in result.values():
            span = law.interval()
            assert 0.005 < span.width < 0.2
            assert 0.0 <= span.low <= span.high <= 1.0
    certain = estimate_pemi(evaluation, impute(evaluation))
    assert all(law.interval().width == 0.0 for law in certain.values())


def test_no_predicted_positive_is_undefined_in_the_population_too() -> None:
    evaluation = EvaluationSet([1, 0, None, 0], y_pred=[0, 0, 0, 0])
    for belief in (impute(evaluation, [0.3] * 4), impute(evaluation, "prevalence", rng=0)):
        result = estimate_pemi(evaluation, belief, target="population", n_draws=300, rng=0)
        assert result["precision"].is_undefined
        assert result["precision"].undefined_reason == "no row is predicted positive"
        assert not result["recall"].is_undefined
        row = result.summary().loc["precision"]
        assert row["undefined_prob"] == 1.0
        assert np.isnan(row["low"])


def population_width(n_times: int, belief: str, **options: Any) -> np.ndarray:
    rng = np.random.default_rng(5)
    y_pred = np.repeat(rng.integers(0, 2, 60), n_times)
    y_true = np.repeat(np.where(rng.random(60) < 0.5, rng.integers(0, 2, 60), np.nan), n_times)
    evaluation = EvaluationSet(y_true, y_pred=y_pred)
    given = impute(
        evaluation, belief if belief == "prevalence" else np.full(60 * n_times, 0.4), rng=0
    )
    result = estimate_pemi(
        evaluation, given, metrics=list(COUNT_METRICS), target="population", rng=0, **options
    )
    return np.array([law.interval().width for law in result.values()])


@pytest.mark.parametrize("belief", ["prevalence", "given"])
def test_duplicated_data_narrow_every_interval(belief: str) -> None:
    single, fourfold = population_width(1, belief), population_width(4, belief)
    assert (fourfold < 0.75 * single).all()
    assert (fourfold > 0.35 * single).all()
