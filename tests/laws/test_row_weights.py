"""Metrics of rows drawn like these: weights of rows against the cells of the confusion matrix."""

import math

import numpy as np
import pytest

from labelbayes.bounds.ranking import standard_error
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.impute import impute
from labelbayes.laws.missing_counts import count_pairs, weigh_missing
from labelbayes.laws.population import completed_cells, population_draws, weighted_cells
from labelbayes.laws.rank_groups import RankGroups
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.row_weights import is_separated, weighted_metrics
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.metrics.ranking import RANKING_METRICS, count_steps
from labelbayes.metrics.registry import DEFAULT_METRICS, METRICS

N = math.nan
SIX = [METRICS[name] for name in DEFAULT_METRICS]
FOUR = [COUNT_METRICS[name] for name in ("accuracy", "precision", "recall", "f1")]
DRAWS = 3_000


def make(n: int = 400, seed: int = 0) -> tuple[EvaluationSet, np.ndarray]:
    """Return rows, half of their labels missing, and the true P(y = 1)."""
    rng = np.random.default_rng(seed)
    score = rng.random(n).round(2)
    labels = np.where(rng.random(n) < 0.5, rng.random(n) < score, N)
    return EvaluationSet(labels, score), score


def refitted(evaluation: EvaluationSet) -> Imputation:
    """Return a belief with two refits."""
    assert evaluation.y_score is not None
    bins = (evaluation.y_score >= 0.5).astype(int)
    values = np.array([[0.25, 0.75], [0.2, 0.7], [0.3, 0.8]])
    p = np.where(evaluation.is_labeled, evaluation.y_true, values[0][bins])
    return Imputation(p, evaluation.is_labeled, "bins", "given", (), bins, values)


@pytest.mark.parametrize("with_refits", [False, True])
def test_count_metrics_have_the_law_of_the_confusion_cells(with_refits: bool) -> None:
    evaluation, score = make()
    belief = refitted(evaluation) if with_refits else impute(evaluation, score)
    known = evaluation.counts
    sample = (
        completed_cells(known, count_pairs(evaluation, belief))
        if with_refits
        else weighted_cells(known, *weigh_missing(evaluation, belief))
    )
    expected = population_draws(FOUR, sample)(20_000, np.random.default_rng(0))
    found = weighted_metrics(SIX, evaluation, belief)(DRAWS, np.random.default_rng(1))
    for metric in FOUR:
        one, two = expected[metric.name], found[metric.name]
        # Standard errors of mean and sd at 3,000 draws are 1/55 and 1/77 of the sd.
        assert abs(one.mean() - two.mean()) < 4.5 * one.std() / math.sqrt(DRAWS)
        assert two.std() == pytest.approx(one.std(), rel=4.5 / math.sqrt(2 * DRAWS))


def test_complete_labels_give_the_delta_error_of_ranking_metrics() -> None:
    rng = np.random.default_rng(2)
    score = rng.random(600)
    labels = (rng.random(600) < score).astype(float)
    evaluation = EvaluationSet(labels, score)
    draws = weighted_metrics(SIX, evaluation, impute(evaluation))(1_000, np.random.default_rng(0))
    for name, metric in RANKING_METRICS.items():
        error = standard_error(metric, *count_steps(labels, score))
        # 1,000 draws give the spread to 2.2%; first order leaves some percent at 600 rows.
        assert draws[name].std() == pytest.approx(error, rel=0.12)
        assert draws[name].mean() == pytest.approx(metric(labels, score), abs=0.3 * error)


def test_known_p_counts_label_noise_once() -> None:
    # No label, p known: drawing rows and drawing their labels is one uncertainty. Completing the
    # labels first (a planted error) would add their noise to that of the weights.
    rng = np.random.default_rng(3)
    n = 500
    score = rng.random(n)
    evaluation = EvaluationSet([N] * n, score)
    known = weighted_metrics(SIX, evaluation, impute(evaluation, score))(
        600, np.random.default_rng(0)
    )
    bins = np.arange(n)
    doubled = Imputation(
        score, evaluation.is_labeled, "rows", "given", (), bins, np.array([score, score])
    )
    twice = weighted_metrics(SIX, evaluation, doubled)(600, np.random.default_rng(0))
    for name in ("accuracy", "roc_auc", "average_precision"):
        assert twice[name].std() > 1.3 * known[name].std()


def test_metrics_are_joint_and_reproducible() -> None:
    evaluation, score = make(200)
    joint = weighted_metrics(SIX, evaluation, impute(evaluation, score))
    one, two = (joint(300, np.random.default_rng(5)) for _ in range(2))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert np.corrcoef(one["roc_auc"], one["average_precision"])[0, 1] > 0.5
    order = np.random.default_rng(0).permutation(200)
    shuffled = EvaluationSet(evaluation.y_true[order], evaluation.y_score[order])
    again = weighted_metrics(SIX, shuffled, impute(shuffled, score[order]))(
        300, np.random.default_rng(5)
    )
    for name in one:
        assert np.allclose(one[name], again[name], atol=1e-12)


def test_constant_scores_and_undefined_samples() -> None:
    evaluation = EvaluationSet([1, 0, N, N], [0.5] * 4)
    draws = weighted_metrics(SIX, evaluation, impute(evaluation, [1, 0, 0.5, 0.5]))(
        100, np.random.default_rng(0)
    )
    assert np.allclose(draws["roc_auc"], 0.5, atol=1e-12)
    evaluation = EvaluationSet([0, 0], [0.4, 0.5])
    draws = weighted_metrics(SIX, evaluation, impute(evaluation))(20, np.random.default_rng(0))
    assert np.isnan(draws["roc_auc"]).all()
    assert np.isnan(draws["recall"]).all()
    assert not np.isnan(draws["accuracy"]).any()


def test_perfect_separation_is_told() -> None:
    def told(labels: list[float]) -> bool:
        evaluation = EvaluationSet(labels, [0.9, 0.8, 0.3, 0.2])
        return is_separated(evaluation.counts, RankedRows.from_evaluation(evaluation))

    assert told([1, 1, 0, 0])
    assert told([0, 0, 0, 1])
    assert not told([1, 0, 1, 0])
    assert not told([1, N, 0, 0])
    assert not told([1, 1, 1, 1])


def test_groups_of_neighbors_are_exact_at_expected_weights_and_near_elsewhere() -> None:
    rng = np.random.default_rng(7)
    n = 4_000
    score = rng.random(n)
    labels = (rng.random(n) < score**2).astype(float)
    ranked = RankedRows.from_evaluation(EvaluationSet(labels, score))
    positive, negative = count_steps(labels, score)
    steps = RankGroups.from_ranked(ranked, positive, most=n)
    groups = RankGroups.from_ranked(ranked, positive, most=200)
    first = np.flatnonzero(np.diff(groups.of_step, prepend=-1))
    assert 100 < len(first) <= 200
    weights = rng.standard_gamma(np.stack([positive, negative])[..., None], (2, n, 300))
    values = []
    for made, starts in ((steps, np.arange(n)), (groups, first)):
        sums = [np.add.reduceat(part, starts, axis=0) for part in (*weights, positive, negative)]
        drawn = made.metrics(sums[0], sums[1])
        expected = made.metrics(sums[2][:, None], sums[3][:, None])
        for name, value in zip(("roc_auc", "average_precision"), expected, strict=True):
            assert value[0] == pytest.approx(RANKING_METRICS[name](labels, score), abs=1e-12)
        values.append(drawn)
    for name, one, two in zip(("roc_auc", "average_precision"), *values, strict=True):
        exact = RANKING_METRICS[name].value(weights[0].T, weights[1].T)
        assert np.allclose(one, exact, atol=1e-12)
        # The same weights, so what is left is the order inside groups of 20 rows.
        assert np.abs(two - one).max() < 0.15 * one.std()
        assert two.std() == pytest.approx(one.std(), rel=0.02)
    # A planted error: groups taken for ties.
    tied = RankGroups(groups.of_step, *np.array([[0.5], [1.0], [1.0], [1.0]]) * np.ones(len(first)))
    sums = [np.add.reduceat(part, first, axis=0) for part in weights]
    assert np.abs(tied.metrics(*sums)[1] - values[0][1]).min() > 0.15 * values[0][1].std()
