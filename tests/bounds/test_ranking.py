"""Worst-case bounds of ranking metrics against every completion of the labels."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from labelbayes.bounds import ranking
from labelbayes.bounds.ranking import bound_ranking, cover_ranking, standard_error
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.metrics.ranking import RANKING_METRICS, RankingMetric

AREA, PRECISION = RANKING_METRICS["roc_auc"], RANKING_METRICS["average_precision"]
METRICS = [AREA, PRECISION]
N = math.nan


def row(text: str) -> list[float]:
    """Return the numbers of a text."""
    return [float(word) for word in text.split()]


#: Oracles, item 06: labels, scores, bounds of the area and of average precision.
CASES: dict[str, tuple[list[float], list[float], tuple[float, float], tuple[float, float]]] = {
    "mixed_n16_m10": (
        [1, 0, N, 1, N, 0, N, N, 1, N, 0, N, N, N, 0, N],
        row("0.91 0.83 0.8 0.77 0.31 0.2 0.66 0.41 0.45 0.73 0.12 0.05 0.59 0.38 0.52 0.66"),
        (0.380952380952381, 0.875),
        (0.48215811965812, 0.827601943511034),
    ),
    "single_known_positive": (
        [1, N, N, N, N, N, N, N, N],
        [0.9, 0.4, 0.8, 0.4, 0.7, 0.2, 0.1, 0.6, 0.3],
        (0.125, 1.0),
        (0.526289682539683, 1.0),
    ),
    "dyadic_p_half_tied_scores": (
        [N, N, N, N, N, N, N, N, 1, 0],
        [0.75, 0.75, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.75, 0.25],
        (0.270833333333333, 1.0),
        (0.266666666666667, 1.0),
    ),
    "random_n18_m11_round1": (
        [N, N, N, N, N, N, N, N, N, N, N, 1, 1, 0, 0, 0, 0, 1],
        [0.4, 0.8, 0.7, 0.7, 0.4, 1.0, 1.0, 0.9, 0.2, 0.7, 0.7, 0.6, 0.6, 0.7, 0.2, 0.5, 0.1, 0.8],
        (0.277777777777778, 0.948051948051948),
        (0.233333333333333, 0.948484848484848),
    ),
    "random_n24_m12_round2": (
        [N] * 12 + [0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1],
        row(
            "0.91 0.5 0.7 0.02 0.12 0.7 0.95 0.24 0.19 0.27 0.56 0.19 0.08 0.53 0.63 0.51 "
            "0.9 0.26 0.48 0.63 0.84 0.98 0.61 0.77"
        ),
        (0.370629370629371, 0.942857142857143),
        (0.515498448919502, 0.940659340659341),
    ),
    "ap_lower_needs_more_than_threshold_completions_0": (
        [1, 0, N, 0, N, N, 1],
        [1.0, 0.75, 0.75, 0.5, 0.5, 0.25, 0.25],
        (0.291666666666667, 0.666666666666667),
        (0.60952380952381, 0.739047619047619),
    ),
    "ap_lower_needs_more_than_threshold_completions_1": (
        [1, N, N, 0, N, N, N, 1],
        [1.0, 0.75, 0.75, 0.75, 0.75, 0.5, 0.25, 0.25],
        (0.25, 0.733333333333333),
        (0.569444444444444, 0.854761904761905),
    ),
}


def rank(
    y_true: list[float] | np.ndarray, y_score: list[float] | np.ndarray, **options: object
) -> RankedRows:
    """Return the rows in rank order."""
    return RankedRows.from_evaluation(EvaluationSet(y_true, y_score, **options))


def completions(metric: RankingMetric, y_true: np.ndarray, y_score: np.ndarray) -> np.ndarray:
    """Return the metric of every completion, nan where undefined."""
    missing = np.flatnonzero(np.isnan(y_true))
    values = []
    for labels in itertools.product([0, 1], repeat=len(missing)):
        complete = np.array(y_true)
        complete[missing] = labels
        values.append(metric(complete, y_score))
    return np.array(values)


@pytest.mark.parametrize("case", CASES)
def test_bounds_are_those_of_the_oracles(case: str) -> None:
    y_true, y_score, area, precision = CASES[case]
    ranked = rank(y_true, y_score)
    found = bound_ranking(AREA, ranked)
    assert found.is_attained
    assert (found.interval.low, found.interval.high) == pytest.approx(area, abs=1e-10)
    outer = bound_ranking(PRECISION, ranked)
    # Outer bounds: never inside; how far outside is what ties cost.
    assert precision[0] - 0.04 < outer.interval.low <= precision[0] + 1e-10
    assert precision[1] - 1e-10 <= outer.interval.high < precision[1] + 0.01


def test_every_completion_of_small_sets_lies_inside() -> None:
    rng = np.random.default_rng(0)
    slack = []
    for _ in range(150):
        n = int(rng.integers(1, 8))
        y_score = rng.integers(0, rng.integers(1, 8), n).astype(float)
        y_true = rng.choice([0.0, 1.0, N, N], n)
        ranked = rank(y_true, y_score)
        for metric in METRICS:
            values = completions(metric, y_true, y_score)
            defined = values[~np.isnan(values)]
            found = bound_ranking(metric, ranked)
            if not len(defined):
                assert math.isnan(found.interval.low)
                assert math.isnan(found.interval.high)
                continue
            assert found.some_undefined == (len(defined) < len(values))
            low, high = found.interval.low, found.interval.high
            assert low <= defined.min() + 1e-12
            assert high >= defined.max() - 1e-12
            if found.is_attained:
                # 1e-12: sums of a dozen fractions.
                assert (low, high) == pytest.approx((defined.min(), defined.max()), abs=1e-12)
            else:
                slack.append([defined.min() - low, high - defined.max()])
    # The bounds of single precisions, each by itself, leave .14 below and .014 above on average.
    assert np.mean(slack, axis=0) == pytest.approx([0.0, 0.0], abs=0.005)


def test_average_precision_without_ties_is_attained_and_with_ties_is_not_claimed() -> None:
    y_true = np.array([0.0, N, 1.0, N, N, 0.0, N])
    y_score = np.array([7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
    values = completions(PRECISION, y_true, y_score)
    found = bound_ranking(PRECISION, rank(y_true, y_score))
    assert found.is_attained
    ends = (values.min(), values.max())
    assert (found.interval.low, found.interval.high) == pytest.approx(ends, abs=1e-14)
    assert not bound_ranking(PRECISION, rank(y_true, y_score // 2)).is_attained


def test_threshold_completions_are_no_bound_with_ties() -> None:
    # A planted error: only the lowest (highest) ranked k rows positive, k = 0, ..., m.
    y_true, y_score, _, precision = CASES["ap_lower_needs_more_than_threshold_completions_0"]
    labels, scores = np.array(y_true), np.array(y_score)
    missing = np.flatnonzero(np.isnan(labels))
    reached = []
    for k in range(len(missing) + 1):
        complete = np.nan_to_num(labels)
        complete[missing[len(missing) - k :]] = 1
        reached.append(PRECISION(complete, scores))
    assert min(reached) > precision[0] + 0.001
    found = bound_ranking(PRECISION, rank(labels, scores))
    assert found.interval.low <= precision[0]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_counts_are_repeated_rows(metric: RankingMetric) -> None:
    rng = np.random.default_rng(3)
    y_true, y_score = rng.choice([0.0, 1.0, N], 30), rng.integers(0, 9, 30).astype(float)
    count = rng.integers(1, 40, 30)
    grouped = bound_ranking(metric, rank(y_true, y_score, count=count))
    repeated = bound_ranking(metric, rank(np.repeat(y_true, count), np.repeat(y_score, count)))
    assert grouped.at_low == repeated.at_low
    assert grouped.at_high == repeated.at_high
    assert grouped.interval.low == pytest.approx(repeated.interval.low, abs=1e-12)
    assert grouped.interval.high == pytest.approx(repeated.interval.high, abs=1e-12)


def test_constant_scores_leave_no_choice() -> None:
    ranked = rank([1, 0, N, N, N], [0.5] * 5)
    found = bound_ranking(AREA, ranked).interval
    assert (found.low, found.high) == (0.5, 0.5)
    found = bound_ranking(PRECISION, ranked).interval
    assert (found.low, found.high) == pytest.approx((0.2, 0.8), abs=1e-15)


def test_nothing_missing_is_the_value() -> None:
    y_true, y_score = [1, 0, 1, 0, 1], [0.9, 0.8, 0.8, 0.3, 0.2]
    for metric in METRICS:
        found = bound_ranking(metric, rank(y_true, y_score))
        assert found.is_attained
        value = metric(y_true, y_score)
        assert (found.interval.low, found.interval.high) == pytest.approx((value, value), abs=1e-14)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_standard_error_is_the_spread_over_row_weights(metric: RankingMetric) -> None:
    rng = np.random.default_rng(4)
    positive, negative = rng.integers(0, 9, (2, 60)).astype(float)
    weights = rng.standard_gamma(np.stack([positive, negative])[:, None, :], (2, 4_000, 60))
    spread = float(metric.value(weights[0], weights[1]).std())
    # 4,000 draws give the spread to 1.1%; first order leaves terms in 1 / 500 rows.
    assert standard_error(metric, positive, negative) == pytest.approx(spread, rel=0.05)
    # A planted error: rows taken for half as many.
    assert standard_error(metric, positive / 2, negative / 2) > 1.3 * spread


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_population_interval_holds_the_truth_that_bare_bounds_miss(metric: RankingMetric) -> None:
    # Labels missing at one end of the score only: the truth is the upper bound of the population.
    rng = np.random.default_rng(5)
    held = {"interval": 0, "bare": 0}
    n_sets = 300

    def draw(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        y_score = rng.random(n)
        y_true = (rng.random(n) < np.where(y_score > 0.9, 1.0, 0.2 + 0.5 * y_score)).astype(float)
        return y_true, np.where(y_score > 0.9, N, y_true), y_score

    y_true, _, y_score = draw(200_000)
    truth = metric(y_true, y_score)
    for _ in range(n_sets):
        _, seen, y_score = draw(300)
        ranked = rank(seen, y_score)
        found = bound_ranking(metric, ranked)
        held["bare"] += truth in found.interval
        held["interval"] += truth in cover_ranking(metric, ranked, found, 0.95)
    # The truth is at an end of the identified set: one-sided coverage .95, sd .0126 at 300 sets.
    assert held["interval"] / n_sets > 0.95 - 3 * 0.0126
    assert held["bare"] / n_sets < 0.75


def test_unknown_metrics_are_refused() -> None:
    other = replace(AREA, name="lift")
    with pytest.raises(ValueError, match="of which no bounds are known"):
        bound_ranking(other, rank([1, 0], [0.1, 0.2]))


def test_blocks_of_tied_rows_hold_every_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        n = int(rng.integers(1, 8))
        rows = EvaluationSet(
            rng.choice([0, 1, N], n), rng.integers(0, 5, n) / 4, count=rng.integers(1, 60, n)
        )
        ranked = RankedRows.from_evaluation(rows)
        exact = bound_ranking(PRECISION, ranked).interval
        for most in (1, 3, 20):
            with monkeypatch.context() as patch:
                patch.setattr(ranking, "MOST_BLOCKS", most)
                outer = bound_ranking(PRECISION, ranked).interval
            assert np.isnan(outer.low) == np.isnan(exact.low)
            assert not outer.low > exact.low + 1e-12
            assert not outer.high < exact.high - 1e-12


def test_a_billion_missing_rows_need_no_memory_for_each() -> None:
    def bounds(count: int) -> tuple[float, float]:
        rows = EvaluationSet([1, 0, N, 1, 0], [0.9, 0.1, 0.5, 0.4, 0.6], count=[count] * 5)
        found = bound_ranking(PRECISION, RankedRows.from_evaluation(rows)).interval
        return found.low, found.high

    # Blocks of 500 among 3e9 rows, and half a row of each class at the smaller size.
    assert bounds(10**9) == pytest.approx(bounds(10**5), abs=1e-5)
