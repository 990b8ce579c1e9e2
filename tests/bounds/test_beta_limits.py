"""What the scores say of beta: an upper limit that holds, and a published estimator."""

import numpy as np
import pytest

from labelbayes.bounds.beta_limits import bound_beta, estimate_beta
from labelbayes.data.evaluation_set import EvaluationSet


def simulated(seed: int, beta: float, *, gap: float, n_known: int = 400, n: int = 4_000):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < beta
    score = np.concatenate([rng.normal(gap, 1, n_known), rng.normal(np.where(truth, gap, 0), 1)])
    return EvaluationSet(np.repeat([1.0, np.nan], [n_known, n]), score, pos_label=1)


@pytest.mark.parametrize("beta", [0.1, 0.5, 0.9])
def test_the_limit_holds_and_says_something_where_classes_separate(beta) -> None:
    held = []
    for seed in range(40):
        limit = bound_beta(simulated(seed, beta, gap=4.0))["beta"]
        held.append(limit.high >= beta)
        assert limit.low == 0.0
    assert np.mean(held) >= 0.95
    assert limit.high < beta + 0.25


def test_a_wrong_sampling_breaks_the_limit() -> None:
    """Planted error: only the best positives get known, so hidden ones rank lower."""
    rng = np.random.default_rng(1)
    truth = np.arange(8_000) < 4_000
    score = rng.normal(np.where(truth, 2.0, 0.0), 1)
    best = np.argsort(-np.where(truth, score, -np.inf))[:600]
    y_true = np.full(8_000, np.nan)
    y_true[best] = 1
    beta = (4_000 - 600) / 7_400
    assert bound_beta(EvaluationSet(y_true, score, pos_label=1))["beta"].high < beta


@pytest.mark.parametrize("beta", [0.2, 0.6])
def test_the_estimator_is_near_where_top_scores_are_positive(beta) -> None:
    found = estimate_beta(simulated(5, beta, gap=4.0), n_resamples=60, rng=0)["beta"]
    assert found.mean == pytest.approx(beta, abs=0.05)
    assert 0.005 < found.sd < 0.1


def test_the_estimator_is_too_high_where_classes_overlap() -> None:
    found = estimate_beta(simulated(5, 0.2, gap=0.5), n_resamples=20, rng=0)["beta"]
    assert found.mean > 0.4


def test_seeds_and_faults() -> None:
    rows = simulated(1, 0.3, gap=2.0, n_known=50, n=200)
    first, second = (estimate_beta(rows, n_resamples=5, rng=3)["beta"].mean for _ in range(2))
    assert first == second
    assert estimate_beta(rows, n_resamples=6, rng=3)["beta"].mean != first
    assert bound_beta(rows, ci_prob=0.5)["beta"].high < bound_beta(rows)["beta"].high
    with pytest.raises(ValueError, match="must hold known positive rows"):
        bound_beta(EvaluationSet([None, 0], [0.1, 0.2]))
    with pytest.raises(ValueError, match="must hold unlabeled rows"):
        estimate_beta(EvaluationSet([1, 0], [0.1, 0.2]))


def test_too_few_rows_to_resample_are_said() -> None:
    few = estimate_beta(EvaluationSet([1, None], [0.9, 0.1]), n_resamples=5, rng=0)
    assert any("bootstrap says little" in note for note in few.notes)
    many = estimate_beta(simulated(0, 0.3, gap=3.0), n_resamples=5, rng=0)
    assert not any("bootstrap says little" in note for note in many.notes)
