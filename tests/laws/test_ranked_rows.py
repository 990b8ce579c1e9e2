"""Rows sorted by score: steps, known labels, midranks, against direct counts."""

import pickle

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.laws.ranked_rows import RankedRows


def make_rows(rng, n=200, n_levels=None, share_missing=0.4, with_count=False):
    """Return labels, scores and counts; scores in `n_levels` levels, or all different."""
    score = rng.normal(size=n) if n_levels is None else rng.integers(n_levels, size=n) / 7.0
    label = np.where(rng.random(n) < share_missing, np.nan, rng.integers(2, size=n))
    return label, score, rng.integers(1, 4, size=n) if with_count else np.ones(n, dtype=int)


@pytest.mark.parametrize("n_levels", [None, 1, 2, 9])
@pytest.mark.parametrize("with_count", [False, True])
def test_steps_hold_the_counts_of_their_score(n_levels, with_count):
    label, score, count = make_rows(np.random.default_rng(1), 200, n_levels, 0.4, with_count)
    ranked = RankedRows.from_evaluation(EvaluationSet(label, score, count=count))
    levels = np.unique(score)[::-1]
    np.testing.assert_array_equal(ranked.score, levels)
    for name, rows in {
        "step_count": label != 2,
        "known_positive": label == 1,
        "known_negative": label == 0,
    }.items():
        wanted = [int(count[rows & (score == level)].sum()) for level in levels]
        assert getattr(ranked, name).tolist() == wanted, name
    assert ranked.n == count.sum()
    assert sorted(ranked.row) == np.flatnonzero(np.isnan(label)).tolist()
    np.testing.assert_array_equal(ranked.score[ranked.step], score[ranked.row])
    np.testing.assert_array_equal(ranked.count, count[ranked.row])
    assert (np.diff(ranked.step) >= 0).all()


@pytest.mark.parametrize("n_levels", [None, 1, 9])
def test_midranks_are_those_of_scipy_counted_from_zero(n_levels):
    label, score, count = make_rows(np.random.default_rng(2), 150, n_levels, with_count=True)
    ranked = RankedRows.from_evaluation(EvaluationSet(label, score, count=count))
    wanted = rankdata(np.repeat(score, count)) - 1
    first = np.cumsum(count) - count
    np.testing.assert_array_equal(ranked.midrank[ranked.step], wanted[first[ranked.row]])
    positive = np.repeat(label, count) == 1
    assert ranked.known_rank_sum == wanted[positive].sum()


def test_area_from_rank_sums_is_that_of_sklearn():
    label, score, count = make_rows(np.random.default_rng(3), 300, 9, 0.0, with_count=True)
    ranked = RankedRows.from_evaluation(EvaluationSet(label, score, count=count))
    n_positive = ranked.n_known_positive
    area = (ranked.known_rank_sum - n_positive * (n_positive - 1) / 2) / (
        n_positive * (ranked.n - n_positive)
    )
    assert area == pytest.approx(roc_auc_score(label, score, sample_weight=count), abs=1e-15)


def test_order_of_rows_and_increasing_transformations_change_nothing():
    rng = np.random.default_rng(4)
    label, score, count = make_rows(rng, 100, 9, with_count=True)
    ranked = RankedRows.from_evaluation(EvaluationSet(label, score, count=count))
    order = rng.permutation(100)
    other = RankedRows.from_evaluation(
        EvaluationSet(label[order], np.exp(score[order]), count=count[order])
    )
    for name in ("step_count", "known_positive", "known_negative", "step", "midrank"):
        np.testing.assert_array_equal(getattr(ranked, name), getattr(other, name))


def test_huge_scores_do_not_overflow():
    ranked = RankedRows.from_evaluation(EvaluationSet([1, None, 0], [1.7e308, -1.7e308, 0.0]))
    assert ranked.n_steps == 3
    assert ranked.midrank.tolist() == [2.0, 1.0, 0.0]


def test_decisions_alone_are_refused():
    with pytest.raises(ValueError, match=r"`evaluation` must have scores .* leave ranking"):
        RankedRows.from_evaluation(EvaluationSet([1, None], y_pred=[1, 0]))


def test_arrays_stay_read_only_after_pickling():
    ranked = RankedRows.from_evaluation(EvaluationSet([1, None, 0], [0.9, 0.5, 0.1]))
    copy = pickle.loads(pickle.dumps(ranked))
    assert repr(copy) == repr(ranked)
    for rows in (ranked, copy):
        with pytest.raises(ValueError, match="read-only"):
            rows.step[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            rows.midrank[0] = 1
