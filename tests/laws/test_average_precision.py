"""Average precision with missing labels: exact mean and law against enumeration."""

import itertools
import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.impute import impute
from labelbayes.laws.average_precision import (
    MAX_COMPLETIONS,
    average_precision_law,
    enumerate_law,
    n_completions,
)
from labelbayes.laws.average_precision_mean import average_precision_mean
from labelbayes.laws.missing_cells import Fits, MissingCells, cells_and_fits
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.row_draws import RowSampler, sampled_metrics
from labelbayes.metrics.ranking import RANKING_METRICS

N = math.nan
METRIC = RANKING_METRICS["average_precision"]


def row(text: str) -> list[float]:
    """Return the numbers of a text."""
    return [float(word) for word in text.split()]


#: Oracles, item 02: labels, scores, p; probability undefined, mean, sd, quantiles at .025, .5 and
#: .975 and P(at least .8) of average precision.
CASES: dict[str, tuple[list[float], list[float], list[float], list[float]]] = {
    "mixed_n16_m10": (
        [1, 0, N, 1, N, 0, N, N, 1, N, 0, N, N, N, 0, N],
        row("0.91 0.83 0.8 0.77 0.31 0.2 0.66 0.41 0.45 0.73 0.12 0.05 0.59 0.38 0.52 0.66"),
        [0.5, 0.5, 0.8, 0.5, 0.3, 0.5, 0.62, 0.35, 0.5, 0.7, 0.5, 0.08, 0.55, 0.4, 0.5, 0.61],
        row(
            "0.0 0.721370108581288 0.0671027131159481 0.571428571428571 0.730612244897959 "
            "0.825744047619048 0.135092374368"
        ),
    ),
    "survey_section6_all_missing_n8": (
        [N] * 8,
        row(
            "0.9 0.785714285714286 0.671428571428571 0.557142857142857 0.442857142857143 "
            "0.328571428571429 0.214285714285714 0.1"
        ),
        [0.6, 0.3, 0.2, 0.1, 0.05, 0.05, 0.02, 0.02],
        row(
            "0.1747390176 0.785941746467382 0.262226896890943 0.2 0.916666666666667 1.0 "
            "0.620986326664364"
        ),
    ),
    "single_known_positive": (
        [1, N, N, N, N, N, N, N, N],
        [0.9, 0.4, 0.8, 0.4, 0.7, 0.2, 0.1, 0.6, 0.3],
        [0.5, 0.25, 0.8, 0.3, 0.6, 0.1, 0.05, 0.45, 0.2],
        row(
            "0.0 0.88583372441362 0.103517227515863 0.644444444444444 0.916666666666667 "
            "1.0 0.8171994"
        ),
    ),
    "all_predicted_positive_constant_score": (
        [N, N, N, 1, 0, N],
        [0.5] * 6,
        [0.3, 0.6, 0.45, 0.5, 0.5, 0.9],
        row(
            "0.0 0.541666666666667 0.14790199457749 0.333333333333333 0.5 0.833333333333333 0.0729"
        ),
    ),
    "p_exactly_0_and_1": (
        [N, N, N, N, N, N, N, N, N, 1, 0],
        [0.9, 0.85, 0.8, 0.5, 0.45, 0.4, 0.7, 0.3, 0.6, 0.2, 0.65],
        [1.0, 0.0, 0.5, 1.0, 0.0, 0.25, 0.75, 0.0, 1.0, 0.5, 0.5],
        row(
            "0.0 0.645792051037587 0.0675571445110795 0.531385281385281 0.612073112073112 "
            "0.728664192949907 0.0"
        ),
    ),
    "n1_missing": ([N], [0.7], [0.3], [0.7, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0]),
    "dyadic_p_half_tied_scores": (
        [N, N, N, N, N, N, N, N, 1, 0],
        [0.75, 0.75, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.75, 0.25],
        [0.5] * 10,
        row(
            "0.0 0.632119605654762 0.174818899031002 0.322222222222222 0.633333333333333 0.95 0.25"
        ),
    ),
    "m14_wide": (
        [N] * 14 + [1, 1, 0, 0, 0, 1],
        row(
            "0.95 0.15 0.9 0.22 0.81 0.3 0.77 0.33 0.7 0.41 0.66 0.44 0.58 0.49 0.92 0.35 "
            "0.1 0.72 0.2 0.63"
        ),
        [0.93, 0.04, 0.88, 0.1, 0.76, 0.15, 0.71, 0.21, 0.65, 0.28, 0.6, 0.33, 0.55, 0.47]
        + [0.5] * 6,
        row(
            "0.0 0.816009825719973 0.0866769291477464 0.592456501831502 0.831546231546232 "
            "0.927784946534947 0.646361083377663"
        ),
    ),
}


def prepare(evaluation: EvaluationSet, belief: Imputation) -> tuple[RankedRows, MissingCells, Fits]:
    """Return what the law and the mean are made of."""
    ranked = RankedRows.from_evaluation(evaluation)
    return ranked, *cells_and_fits(ranked, evaluation, belief)


def binned(evaluation: EvaluationSet, bin_index: np.ndarray, values: np.ndarray) -> Imputation:
    """Return a belief with a rate per bin; rows of `values` beyond the first are refits."""
    p = np.where(evaluation.is_labeled, evaluation.y_true, values[0][bin_index])
    return Imputation(p, evaluation.is_labeled, "bins", "given", (), bin_index, values)


def no_draws() -> np.ndarray:
    """Stand where no draw may be made."""
    raise AssertionError("drawn")


def brute_force(
    y_true: np.ndarray, y_score: np.ndarray, fits: list[np.ndarray]
) -> tuple[float, float, float]:
    """Return mean, sd and probability undefined by visiting every completion."""
    missing = np.flatnonzero(np.isnan(y_true))
    values, mass = [], []
    for labels in itertools.product([0, 1], repeat=len(missing)):
        complete = np.array(y_true)
        complete[missing] = labels
        values.append(average_precision_score(complete, y_score) if complete.any() else math.nan)
        picked = [np.prod(np.where(labels, p[missing], 1 - p[missing])) for p in fits]
        mass.append(np.mean(picked))
    value, weight = np.array(values), np.array(mass)
    is_defined = ~np.isnan(value)
    value, kept = value[is_defined], weight[is_defined]
    mean = float(kept @ value / kept.sum())
    return mean, math.sqrt(kept @ (value - mean) ** 2 / kept.sum()), 1 - float(kept.sum())


@pytest.mark.parametrize("case", CASES)
def test_mean_and_law_are_those_of_the_oracles(case: str) -> None:
    y_true, y_score, p, expected = CASES[case]
    evaluation = EvaluationSet(y_true, y_score)
    rows = prepare(evaluation, impute(evaluation, p))
    mean, defined = average_precision_mean(*rows)
    assert (1 - defined, mean) == pytest.approx(expected[:2], abs=1e-12)
    law, method = average_precision_law(*rows, no_draws)
    assert method.startswith("exact law, all ")
    found = [law.undefined_prob, law.mean, law.sd, *law.quantile([0.025, 0.5, 0.975])]
    assert found == pytest.approx(expected[:6], abs=1e-10)
    assert law.prob_at_least(0.8) == pytest.approx(expected[6], abs=1e-10)


def test_undefined_for_certain() -> None:
    # Oracles, item 02, case known_negatives_and_p0_recall_undefined.
    evaluation = EvaluationSet([0, 0, N, N, 0], [0.9, 0.2, 0.8, 0.3, 0.1])
    rows = prepare(evaluation, impute(evaluation, [0.0] * 5))
    assert math.isnan(average_precision_mean(*rows).mean)
    for kind in ("exact", "sampled", "gauss"):
        law, _ = average_precision_law(*rows, no_draws, kind=kind)
        assert law.is_undefined
        assert (law.undefined_prob, law.undefined_reason) == (1.0, "no row is positive")


def test_mean_equals_enumeration_with_ties_refits_and_rare_positives() -> None:
    rng = np.random.default_rng(0)
    for trial in range(40):
        n = int(rng.integers(2, 9))
        y_score = rng.integers(0, rng.integers(1, 9), n).astype(float)
        y_true = rng.choice([0.0, 1.0, N, N], n)
        if not np.isnan(y_true).any():
            continue
        scale = 1e-6 if trial % 4 == 0 else 1.0
        bins = rng.integers(0, 3, n)
        values = rng.random((1 + 3, 3)) * scale
        evaluation = EvaluationSet(y_true, y_score)
        belief = binned(evaluation, bins, values if trial % 2 else values[:1])
        fits = [values[1 + i][bins] for i in range(3)] if trial % 2 else [values[0][bins]]
        expected = brute_force(y_true, y_score, fits)
        rows = prepare(evaluation, belief)
        mean, defined = average_precision_mean(*rows)
        # 1e-9: 1 - sum loses digits in the brute force where positives are rare.
        assert (mean, 1 - defined) == pytest.approx((expected[0], expected[2]), abs=1e-9)
        law = enumerate_law(*rows)
        found = (law.mean, law.sd, law.undefined_prob)
        assert found == pytest.approx(expected, abs=1e-9)


def test_tied_positives_count_at_the_end_of_their_step() -> None:
    # A planted error: ties broken by the order of rows, as if scores were distinct.
    y_true, y_score, p, expected = CASES["dyadic_p_half_tied_scores"]
    broken = np.array(y_score) - 1e-6 * np.arange(len(y_score))
    evaluation = EvaluationSet(y_true, broken)
    mean, _ = average_precision_mean(*prepare(evaluation, impute(evaluation, p)))
    assert abs(mean - expected[1]) > 0.02


@pytest.mark.parametrize("n", [300, 30_000])
def test_series_rows_and_bins_agree(n: int) -> None:
    # Few rows are added up at each node, many enter by power sums, bins by pair counts; a mixture
    # of two equal fits takes the way of refits.
    rng = np.random.default_rng(1)
    y_score = rng.random(n).round(3)
    y_true = np.where(rng.random(n) < 0.2, rng.integers(0, 2, n), N)
    bins = (8 * y_score).astype(int)
    rate = np.linspace(0.05, 0.9, 9)
    evaluation = EvaluationSet(y_true, y_score)
    given = average_precision_mean(*prepare(evaluation, impute(evaluation, rate[bins])))
    one = binned(evaluation, bins, rate[np.newaxis])
    two = binned(evaluation, bins, np.array([rate, rate, rate]))
    for belief in (one, two):
        found = average_precision_mean(*prepare(evaluation, belief))
        assert found.mean == pytest.approx(given.mean, abs=1e-13)
    # An independent way: the mean of draws. 4,000 draws of sd s give it to s / 63.
    sampler = RowSampler.from_imputation(evaluation, one)
    draws = sampled_metrics([METRIC], sampler)(4_000, rng)["average_precision"]
    gap = abs(draws.mean() - given.mean) / (draws.std() / math.sqrt(4_000))
    assert gap < 4
    # A planted error: a mean off by a sixth of the spread.
    assert abs(draws.mean() - given.mean - draws.std() / 6) / (draws.std() / 63.2) > 5


def test_nothing_missing_is_scikit_learn() -> None:
    rng = np.random.default_rng(2)
    y_true, y_score = rng.integers(0, 2, 500), rng.integers(0, 40, 500)
    evaluation = EvaluationSet(y_true, y_score)
    rows = prepare(evaluation, impute(evaluation))
    law, _ = average_precision_law(*rows, no_draws)
    expected = average_precision_score(y_true, y_score)
    assert (law.mean, law.sd) == pytest.approx((expected, 0.0), abs=1e-12)
    assert average_precision_mean(*rows).mean == pytest.approx(expected, abs=1e-12)


def test_row_order_and_counts_change_nothing() -> None:
    rng = np.random.default_rng(3)
    y_true, y_score = rng.choice([0.0, 1.0, N], 60), rng.integers(0, 20, 60).astype(float)
    p, count = rng.random(60).round(1), rng.integers(1, 4, 60)
    grouped = EvaluationSet(y_true, y_score, count=count)
    mean = average_precision_mean(*prepare(grouped, impute(grouped, p))).mean
    order = rng.permutation(np.repeat(np.arange(60), count))
    repeated = EvaluationSet(y_true[order], y_score[order])
    again = average_precision_mean(*prepare(repeated, impute(repeated, p[order]))).mean
    assert again == pytest.approx(mean, abs=1e-13)


def test_law_is_sampled_with_its_exact_mean_where_rows_are_many() -> None:
    rng = np.random.default_rng(4)
    y_score = rng.random(200)
    evaluation = EvaluationSet([N] * 200, y_score)
    rows = prepare(evaluation, impute(evaluation, y_score))
    assert n_completions(rows[1]) > MAX_COMPLETIONS
    sampler = RowSampler.from_imputation(evaluation, impute(evaluation, y_score))

    def draw() -> np.ndarray:
        return sampled_metrics([METRIC], sampler)(1_000, rng)["average_precision"]

    law, method = average_precision_law(*rows, draw)
    assert method == "exact mean; 1,000 draws, cdf within 0.0429 (DKW, 95%)"
    assert law.mean == average_precision_mean(*rows).mean
    with pytest.raises(ValueError, match=r"`kind` must serve these rows; 'enumerated'"):
        average_precision_law(*rows, draw, kind="enumerated")
    # The matched normal is near: first-order moments at 200 rows.
    normal, method = average_precision_law(*rows, no_draws, kind="gauss")
    assert method == "matched normal law"
    assert normal.mean == pytest.approx(law.mean, abs=0.1 * law.sd)
    assert normal.sd == pytest.approx(law.sd, rel=0.1)


def test_moments_of_the_matched_normal_with_ties() -> None:
    # Delta moments of S / N from the exact moments of S and N, by visiting every completion.
    y_score = np.array([3.0, 3.0, 3.0, 2.0, 2.0, 1.0, 1.0, 1.0])
    y_true = np.array([1.0, N, N, N, 0.0, N, N, 1.0])
    p = np.array([0.0, 0.7, 0.4, 0.5, 0.0, 0.2, 0.3, 0.0])
    missing = np.flatnonzero(np.isnan(y_true))
    pairs, mass = [], []
    for labels in itertools.product([0, 1], repeat=len(missing)):
        complete = np.array(y_true)
        complete[missing] = labels
        n = complete.sum()
        pairs.append((n * average_precision_score(complete, y_score), n))
        mass.append(np.prod(np.where(labels, p[missing], 1 - p[missing])))
    mean = np.array(mass) @ np.array(pairs)
    covariance = np.cov(np.array(pairs).T, aweights=mass, bias=True)
    ratio = mean[0] / mean[1]
    gradient = np.array([1, -ratio]) / mean[1]
    evaluation = EvaluationSet(y_true, y_score)
    law, _ = average_precision_law(
        *prepare(evaluation, impute(evaluation, p)), no_draws, kind="gauss"
    )
    assert law.mean == pytest.approx(ratio, abs=1e-14)
    assert law.sd == pytest.approx(math.sqrt(gradient @ covariance @ gradient), abs=1e-14)
