"""ROC-AUC and average precision of weighted rows against pair loops, and their slopes."""

import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from labelbayes.weighting.ranking import ranking_slopes


def rows(seed: int, n: int, *, levels: int | None) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    score = rng.random(n) if levels is None else rng.integers(0, levels, n).astype(float)
    return score, rng.random(n) + 0.1, rng.random(n) + 0.1, rng.integers(1, 4, n)


def pair_area(score: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> float:
    """Loop over pairs of different rows; a pair of equal scores counts half."""
    won = total = 0.0
    for i in range(len(score)):
        for j in range(len(score)):
            if i != j:
                share = positive[i] * negative[j]
                total += share
                won += share * ((score[i] > score[j]) + 0.5 * (score[i] == score[j]))
    return won / total


@pytest.mark.parametrize("levels", [None, 4, 1])
def test_area_and_slopes_equal_the_pair_loop(levels: int | None) -> None:
    score, positive, negative, count = rows(1, 17, levels=levels)
    value, up, down = ranking_slopes("roc_auc", score, positive, negative)
    assert value == pytest.approx(pair_area(score, positive, negative), abs=1e-13)
    # The slope of the oracle's influence function leaves a row's pair with itself in the
    # denominator: it is that of the numerator less the value times all pairs.
    scale = positive.sum() * negative.sum()
    for i in range(17):
        others = np.arange(17) != i
        wins = (score[i] > score) + 0.5 * (score[i] == score)
        losses = (score[i] < score) + 0.5 * (score[i] == score)
        of_negatives = negative[others] @ wins[others]
        of_positives = positive[others] @ losses[others]
        assert up[i] == pytest.approx((of_negatives - value * negative.sum()) / scale, abs=1e-14)
        assert down[i] == pytest.approx((of_positives - value * positive.sum()) / scale, abs=1e-14)
    repeated = np.repeat(np.arange(17), count)
    counted, *_ = ranking_slopes("roc_auc", score, positive, negative, count)
    again = pair_area(score[repeated], positive[repeated], negative[repeated])
    assert counted == pytest.approx(again, abs=1e-13)


@pytest.mark.parametrize("levels", [None, 4])
@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_labels_of_weight_are_scikit_learns(name: str, levels: int | None) -> None:
    score, weight, _, count = rows(2, 60, levels=levels)
    y = (np.random.default_rng(3).random(60) < 0.4).astype(float)
    reference = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}[name]
    value, *_ = ranking_slopes(name, score, weight * y, weight * (1 - y))
    assert value == pytest.approx(reference(y, score, sample_weight=weight), abs=1e-12)
    value, *_ = ranking_slopes(name, score, weight * y, weight * (1 - y), count)
    assert value == pytest.approx(reference(y, score, sample_weight=weight * count), abs=1e-12)


@pytest.mark.parametrize("levels", [None, 5])
def test_slopes_of_average_precision_are_derivatives(levels: int | None) -> None:
    score, positive, negative, count = rows(4, 25, levels=levels)
    value, up, down = ranking_slopes("average_precision", score, positive, negative, count)
    step = 1e-6
    for i in range(25):
        for k, slope in enumerate((up, down)):
            moved = [positive.copy(), negative.copy()]
            moved[k][i] += step
            ahead, *_ = ranking_slopes("average_precision", score, *moved, count)
            # One copy's slope; all copies moved. Central error of the difference: 1e-6.
            assert (ahead - value) / step == pytest.approx(count[i] * slope[i], abs=1e-5)


def test_no_pairs_is_undefined() -> None:
    score = np.array([0.1, 0.2, 0.3])
    for name in ("roc_auc", "average_precision"):
        value, up, _ = ranking_slopes(name, score, np.zeros(3), np.ones(3))
        assert math.isnan(value)
        assert np.isnan(up).all()
    with pytest.raises(ValueError, match=r"got 'ndcg'\. Ranking metrics that have one"):
        ranking_slopes("ndcg", score, np.ones(3), np.ones(3))
