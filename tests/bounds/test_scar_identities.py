"""Point values under SCAR: the published identities, slopes, contradictions, and the lemmas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

import labelbayes.bounds.score_blocks as score_blocks
from labelbayes.bounds.positive_unlabeled import (
    bound_negative_unlabeled,
    bound_positive_unlabeled,
)
from labelbayes.bounds.scar_identities import (
    scar_average_precision,
    scar_roc_auc,
    scar_slopes,
    scar_values,
)
from labelbayes.bounds.score_blocks import make_blocks
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.metrics.confusion import COUNT_METRICS

PRECISION, SPECIFICITY = COUNT_METRICS["precision"], COUNT_METRICS["specificity"]


def simulated(seed: int, n: int = 4_000) -> tuple[EvaluationSet, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    y_true = np.where(truth & (rng.random(n) < 0.3), 1.0, np.nan)
    return EvaluationSet(y_true, rng.normal(truth, 1.0).round(2), pos_label=1), truth


def test_the_area_is_that_of_the_identity() -> None:
    evaluation, _ = simulated(1)
    known = ~np.isnan(evaluation.y_true)
    against_unlabeled = roc_auc_score(known, evaluation.y_score)
    for beta in (0.0, 0.2, 0.35):
        expected = (against_unlabeled - beta / 2) / (1 - beta)
        assert scar_roc_auc(make_blocks(evaluation), beta) == pytest.approx(expected, abs=1e-12)


def test_points_are_near_the_truth_and_inside_the_bounds() -> None:
    evaluation, truth = simulated(2, 20_000)
    beta = truth[np.isnan(evaluation.y_true)].mean()
    result = bound_positive_unlabeled(evaluation, float(beta))
    points, bounds = result.points()["value"], result.bounds()
    for name, span in bounds.items():
        assert span.low - 1e-3 <= points[name] <= span.high + 1e-3
    called = evaluation.y_score >= 0.5
    assert points["precision"] == pytest.approx(truth[called].mean(), abs=0.02)
    assert points["recall"] == pytest.approx(called[truth].mean(), abs=0.02)
    assert points["roc_auc"] == pytest.approx(roc_auc_score(truth, evaluation.y_score), abs=0.02)
    assert (result.points()["contradiction"] == "").all()


def test_the_population_identities_of_precision_and_false_positive_rate() -> None:
    known, beta = Counts(30, 0, 10, 0, 200, 400), 0.25
    values, reason = scar_values([PRECISION, SPECIFICITY], known, beta)
    rate, share = 30 / 40, 200 / 600
    assert 1 - values["specificity"] == pytest.approx((share - beta * rate) / (1 - beta))
    latent = beta * rate * 600
    assert values["precision"] == pytest.approx((30 + latent) / 230)
    assert reason == ""


def test_slopes_are_finite_differences_and_those_of_the_appendix() -> None:
    for known in (Counts(30, 0, 10, 0, 200, 400), Counts(30, 12, 10, 50, 200, 400)):
        for beta in (0.1, 0.3):
            step = 1e-6
            ends = [
                scar_values([PRECISION, SPECIFICITY], known, beta + sign * step)[0]
                for sign in (-1, 1)
            ]
            fpr, precision = scar_slopes(known, beta)
            change = (ends[1]["precision"] - ends[0]["precision"]) / (2 * step)
            assert precision == pytest.approx(change, rel=1e-6)
            change = (ends[0]["specificity"] - ends[1]["specificity"]) / (2 * step)
            assert fpr == pytest.approx(change, rel=1e-6)
    # Appendix B: (u / |U| - T) / (1 - beta)^2.
    fpr, _ = scar_slopes(Counts(30, 0, 10, 0, 200, 400), 0.3)
    assert fpr == pytest.approx((200 / 600 - 0.75) / 0.7**2)


def test_contradictions_are_reported_and_not_clipped() -> None:
    y_true = [1.0] * 9 + [1.0] + [np.nan] * 10
    score = [0.9] * 9 + [0.1] + [0.9] * 2 + [0.1] * 8
    evaluation = EvaluationSet(y_true, score)
    points = bound_positive_unlabeled(evaluation, 0.5, band="dkw").points()
    assert points.loc["specificity", "value"] > 1
    assert points.loc["specificity", "contradiction"].endswith(
        "puts 4.5 positives among the 2 unlabeled rows predicted positive: the data contradict it."
    )
    assert scar_average_precision(make_blocks(evaluation), 0.9) > 0.9
    nothing = bound_positive_unlabeled(EvaluationSet([None, 0], [0.9, 0.1]), 0.5).points()
    assert nothing["value"].isna().all()


def test_a_range_has_no_point() -> None:
    evaluation, _ = simulated(3, 200)
    frame = bound_positive_unlabeled(evaluation, (0.1, 0.3)).summary()
    assert frame["point"].isna().all()
    assert frame["low"].notna().all()


sizes = st.integers(0, 30)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 40), sizes, sizes)
@settings(max_examples=60, deadline=None)
def test_lemma_1_more_true_positives_are_fewer_false_ones(n_rows, n_positive, above, a, b) -> None:
    """At one rank, of two sets of equal size the one with more on top has the lower FPR."""
    total = n_positive + n_rows
    rank = min(above, total)
    first, second = (min(max(x, rank - n_rows), min(rank, n_positive)) for x in (a, b))
    fpr = [(rank - x) / n_rows for x in (first, second)]
    assert (first >= second) == (fpr[0] <= fpr[1])


@given(st.lists(st.sampled_from("kabn"), min_size=4, max_size=40))
@settings(max_examples=60, deadline=None)
def test_lemma_2_order_is_kept_under_union(kinds) -> None:
    """CDFs of a and b keep their order when both get the same known set k."""
    kinds = np.array(kinds)
    n_a, n_b, n_k = ((kinds == kind).sum() for kind in "abk")
    if n_a != n_b or not n_a:
        return
    a, b, k = (np.cumsum(kinds == kind) for kind in "abk")
    with_a, with_b = (a + k) / (n_a + n_k), (b + k) / (n_b + n_k)
    assert ((a >= b) == (with_a >= with_b)).all()


@given(st.integers(2, 200), st.integers(0, 200), st.floats(0, 1), st.integers(1, 198))
@settings(max_examples=100, deadline=None)
def test_lemma_4_more_positives_are_optimistic_if_better_than_random(n, rank, rate, size) -> None:
    """At a fixed rank CDF the FPR falls with the number of positives iff T >= rank / n."""
    rank, size = min(rank, n), min(size, n - 2)
    fpr = [(rank - rate * m) / (n - m) for m in (size, size + 1)]
    change = fpr[1] - fpr[0]
    if abs(rate - rank / n) > 1e-9:
        assert (change < 0) == (rate > rank / n)
    else:
        assert change == pytest.approx(0, abs=1e-9)


def test_points_from_known_negatives_mirror_those_from_known_positives(monkeypatch) -> None:
    rng = np.random.default_rng(4)
    for seed in range(6):
        y_true = np.concatenate([np.zeros(8), np.ones(3 * (seed % 2)), np.full(20, np.nan)])
        score = rng.random(len(y_true)) if seed < 3 else rng.integers(0, 6, len(y_true)) / 6
        rows = EvaluationSet(y_true, score, pos_label=1)
        turned = EvaluationSet(1 - y_true, -score, y_pred=1 - rows.y_pred, pos_label=1)
        points = bound_negative_unlabeled(rows, 0.35).points()["value"]
        mirror = bound_positive_unlabeled(turned, 0.65).points()["value"]
        assert points["roc_auc"] == pytest.approx(mirror["roc_auc"], abs=1e-12)
        assert points["accuracy"] == pytest.approx(mirror["accuracy"], abs=1e-12)
        assert points["recall"] == pytest.approx(mirror["specificity"], abs=1e-12)
        whole = points["average_precision"]
        monkeypatch.setattr(score_blocks, "FEW_SCORES", 0)
        runs = bound_negative_unlabeled(rows, 0.35).points()["value"]
        monkeypatch.undo()
        assert runs["average_precision"] == pytest.approx(whole, abs=1e-12)
        assert runs["roc_auc"] == pytest.approx(points["roc_auc"], abs=1e-12)


def test_known_negatives_that_are_all_negatives_give_the_metric() -> None:
    """Nothing but positives is unlabeled, so the point is the complete data's value."""
    y_true, score = [0, 0, 0, None, None, 1], [0.1, 0.6, 0.3, 0.9, 0.5, 0.2]
    points = bound_negative_unlabeled(EvaluationSet(y_true, score), 1.0).points()["value"]
    truth = [0, 0, 0, 1, 1, 1]
    assert points["roc_auc"] == pytest.approx(roc_auc_score(truth, score))
    assert points["average_precision"] == pytest.approx(average_precision_score(truth, score))
    assert points["recall"] == pytest.approx(2 / 3)


def test_what_is_undefined_has_a_reason() -> None:
    nothing = bound_negative_unlabeled(EvaluationSet([1, None], [0.9, 0.1]), 0.5).points()
    assert set(nothing["contradiction"]) == {
        "There is no known negative, so SCAR gives no value.",
    }
    alone = bound_positive_unlabeled(EvaluationSet([1, None], [0.4, 0.1]), 1.0).points()
    assert alone["contradiction"]["roc_auc"].startswith("roc_auc is undefined: ")
    assert alone["contradiction"]["precision"].startswith("precision is undefined: ")
