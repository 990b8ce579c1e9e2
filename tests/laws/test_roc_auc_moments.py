"""Exact moments of ROC-AUC against enumeration, a row-by-row recursion and known identities."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.roc_auc_moments import (
    Moments,
    delta_moments,
    given_count,
    mix_moments,
    roc_auc_moments,
)
from tests.laws.area_cases import BELIEFS, enumerate_area, prepare, small_rows

# Oracles, items 02 (exact law) and 03 (matched normal).
CASES = json.loads(Path(__file__).with_name("oracles").joinpath("roc_auc_laws.json").read_text())[
    "cases"
]


def prepare_case(case):
    labels = [math.nan if label is None else label for label in case["y_true"]]
    return prepare(EvaluationSet(labels, case["y_score"]), case["p_missing"])


def or_nan(value):
    return math.nan if value is None else value


@pytest.mark.parametrize("case", [c for c in CASES if "law" in c], ids=lambda case: case["name"])
def test_moments_are_those_of_the_oracle(case):
    found, law = roc_auc_moments(prepare_case(case).ranks), case["law"]
    wanted = [or_nan(law["mean"]), or_nan(law["sd"]), law["undefined_prob"]]
    got = [found.mean, found.sd, found.undefined_prob]
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-14)


@pytest.mark.parametrize("case", [c for c in CASES if "gauss" in c], ids=lambda case: case["name"])
def test_delta_moments_are_those_of_the_oracle(case):
    found, wanted = delta_moments(prepare_case(case).ranks), case["gauss"]
    expected = [or_nan(wanted["mu"]), or_nan(wanted["sigma"])]
    np.testing.assert_allclose([found.mean, found.sd], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("belief", BELIEFS)
def test_moments_are_those_of_all_completions(belief):
    rng = np.random.default_rng(11)
    for _ in range(25):
        label, score = small_rows(rng)
        p = BELIEFS[belief](rng, len(label))
        found = roc_auc_moments(prepare(EvaluationSet(label, score), p).ranks)
        wanted = enumerate_area(label, score, p)
        np.testing.assert_allclose(
            [found.mean, found.sd, found.undefined_prob],
            [wanted.mean, wanted.sd, wanted.undefined_prob],
            rtol=0,
            atol=1e-12,
        )
        # Relative: what is left of "defined" may be 1e-9. 1 - 1e-7 has 9 digits in the sum.
        assert found.defined_prob == pytest.approx(wanted.defined_prob, rel=1e-8, abs=1e-300)


def recursion(b, p):
    """Moments of the sum of b over positives less its mean, times P(count), row by row."""
    moments = np.zeros((4, len(p) + 1))
    moments[0, 0] = 1.0
    for x, q in zip(b, p, strict=True):
        without, with_it = (
            np.array(
                [
                    sum(math.comb(r, j) * by ** (r - j) * moments[j] for j in range(r + 1))
                    for r in range(4)
                ]
            )
            for by in (-x * q, x * (1 - q))
        )
        moments = (1 - q) * without
        moments[:, 1:] += q * with_it[:, :-1]
    return moments


def around(moments, shift):
    """Moments of the same variable plus a shift that depends on the count."""
    return np.array(
        [
            sum(math.comb(r, j) * shift ** (r - j) * moments[j] for j in range(r + 1))
            for r in range(len(moments))
        ]
    )


@pytest.mark.parametrize(
    ("m", "kind"),
    # Around 64 rows (a convolution elsewhere), and on both sides of variance 800.
    [(70, "any"), (84, "one half"), (400, "rare"), (400, "two humps"), (4_000, "one half")],
)
def test_moments_given_the_count_are_those_of_a_recursion(m, kind):
    rng = np.random.default_rng(m)
    p = {
        "any": rng.random(m),
        "one half": np.full(m, 0.5),
        "rare": 0.01 * rng.random(m),
        "two humps": np.where(rng.random(m) < 0.5, 1e-3 * rng.random(m), 1 - 0.2 * rng.random(m)),
    }[kind]
    label = np.concatenate([np.full(m, np.nan), rng.integers(2, size=m // 3)])
    evaluation = EvaluationSet(label, rng.normal(size=len(label)))
    ranks = prepare(evaluation, np.append(p, np.zeros(m // 3))).ranks
    q = ranks.rates(0)
    state = ranks.state(q)
    given = given_count(ranks, 0, state, with_third=True)
    # Centered at the mean weighted with p (1 - p), the sum hardly depends on the count.
    b = ranks.sums[0]
    middle = (b @ (q * (1 - q))) / state.variance
    k = (given.n_positive - ranks.n_known_positive).astype(int)
    wanted = recursion(b - middle, q)[:, k]
    positives = given.n_positive
    base = (
        (ranks.known_rank_sum - positives * (positives - 1) / 2) / ranks.n
        + (ranks.center / ranks.n + middle) * k
        + (b - middle) @ q
    )
    got = around([given.pmf, given.first, given.second, given.third], given.base - base)
    scale = math.sqrt(state.variance / 12.0) ** np.arange(4)[:, None]
    np.testing.assert_allclose(got / scale, wanted / scale, rtol=0, atol=1e-13)


def test_rare_positives_keep_their_digits_by_tilting():
    # One positive among 200 rows of p = 1e-12: given one, it is each row's alike.
    m = 200
    evaluation = EvaluationSet(np.full(m, np.nan), np.arange(m))
    found = roc_auc_moments(prepare(evaluation, np.full(m, 1e-12)).ranks)
    # The area is uniform on 0, 1 / (m - 1), ..., 1; two positives have probability 1e-10.
    assert found.mean == pytest.approx(0.5, abs=1e-9)
    assert found.sd == pytest.approx(math.sqrt((m + 1) / (12 * (m - 1))), rel=1e-9)
    assert found.defined_prob == pytest.approx(m * 1e-12, rel=1e-9)


def test_counts_are_repeated_rows():
    rng = np.random.default_rng(3)
    label, score = small_rows(rng, n=30)
    p, count = rng.random(30), rng.integers(1, 5, size=30)
    grouped = roc_auc_moments(prepare(EvaluationSet(label, score, count=count), p).ranks)
    rows = EvaluationSet(np.repeat(label, count), np.repeat(score, count))
    repeated = roc_auc_moments(prepare(rows, np.repeat(p, count)).ranks)
    np.testing.assert_allclose(grouped, repeated, rtol=1e-13)


def test_order_of_rows_and_increasing_transformations_change_nothing():
    rng = np.random.default_rng(4)
    label, score = small_rows(rng, n=40)
    p, order = rng.random(40), rng.permutation(40)
    one = roc_auc_moments(prepare(EvaluationSet(label, score), p).ranks)
    other = EvaluationSet(label[order], np.exp(score[order]))
    np.testing.assert_allclose(one, roc_auc_moments(prepare(other, p[order]).ranks), rtol=1e-13)


def test_swapping_the_classes_mirrors_the_area():
    rng = np.random.default_rng(5)
    label, score = small_rows(rng, n=40)
    p = rng.random(40)
    one = roc_auc_moments(prepare(EvaluationSet(label, score), p).ranks)
    other = roc_auc_moments(prepare(EvaluationSet(1 - label, score), 1 - p).ranks)
    assert other.mean == pytest.approx(1 - one.mean, abs=1e-14)
    assert other.sd == pytest.approx(one.sd, abs=1e-14)


@pytest.mark.parametrize("n_levels", [None, 4])
def test_nothing_missing_is_sklearn_without_spread(n_levels):
    rng = np.random.default_rng(6)
    score = rng.normal(size=500) if n_levels is None else rng.integers(n_levels, size=500)
    label = rng.integers(2, size=500)
    prepared = prepare(EvaluationSet(label, score), np.full(500, 0.5))
    for found in (roc_auc_moments(prepared.ranks), delta_moments(prepared.ranks)):
        assert found.mean == pytest.approx(roc_auc_score(label, score), abs=1e-15)
        assert (found.sd, found.undefined_prob) == (0.0, 0.0)


@pytest.mark.parametrize("moments", [roc_auc_moments, delta_moments])
def test_constant_scores_give_one_half_exactly(moments):
    rng = np.random.default_rng(7)
    label = np.where(rng.random(300) < 0.5, np.nan, rng.integers(2, size=300))
    found = moments(prepare(EvaluationSet(label, np.full(300, 0.3)), rng.random(300)).ranks)
    assert (found.mean, found.sd) == (0.5, 0.0)


def test_one_known_class_is_undefined_with_the_probability_of_the_other():
    p = np.array([0.2, 0.0, 0.7, 0.0])
    evaluation = EvaluationSet([None, 0, None, 0], [0.9, 0.8, 0.2, 0.1])
    found = roc_auc_moments(prepare(evaluation, p).ranks)
    assert found.undefined_prob == pytest.approx(0.8 * 0.3, rel=1e-14)
    assert found.defined_prob == pytest.approx(1 - 0.8 * 0.3, rel=1e-14)


def test_refits_mix_by_total_variance_given_defined():
    rng = np.random.default_rng(8)
    # Only positives are known: some completions have no negative, in each fit another share.
    label, score = np.array([1.0, 1.0, *[math.nan] * 4]), rng.integers(3, size=6)
    evaluation = EvaluationSet(label, score)
    belief = impute(evaluation, "prevalence", n_refits=7, rng=0)
    prepared = prepare(evaluation, belief)
    found = mix_moments([roc_auc_moments(prepared.ranks, i) for i in range(7)])
    lists = [enumerate_area(label, score, belief.refit(i)) for i in range(7)]
    weight = np.array([one.defined_prob for one in lists])
    mean = np.average([one.mean for one in lists], weights=weight)
    square = np.average([one.sd**2 + one.mean**2 for one in lists], weights=weight)
    assert np.ptp(weight) > 0.01
    assert found.mean == pytest.approx(mean, abs=1e-12)
    assert found.sd == pytest.approx(math.sqrt(square - mean**2), abs=1e-12)
    assert found.undefined_prob == pytest.approx(1 - weight.mean(), abs=1e-14)


def test_a_mixture_weighs_by_the_probability_of_defined():
    never = Moments(math.nan, math.nan, 0.0, 1.0)
    half, sure = Moments(0.4, 0.0, 0.5, 0.5), Moments(0.7, 0.1, 1.0, 0.0)
    mixed = mix_moments([half, never, sure])
    assert mixed.mean == pytest.approx(0.6)
    assert mixed.sd == pytest.approx(math.sqrt(0.02 + 0.01 * 2 / 3))
    assert (mixed.defined_prob, mixed.undefined_prob) == (0.5, 0.5)
    assert math.isnan(mix_moments([never]).mean)


def test_the_delta_method_nears_the_exact_moments_as_rows_grow():
    gaps = []
    for n in (100, 10_000):
        rng = np.random.default_rng(9)
        score = rng.random(n)
        ranks = prepare(EvaluationSet(np.full(n, np.nan), score), score).ranks
        exact, delta = roc_auc_moments(ranks), delta_moments(ranks)
        gaps.append([abs(delta.mean - exact.mean), abs(delta.sd / exact.sd - 1)])
    # Its error falls like 1 / n.
    assert (np.array(gaps[1]) < 0.03 * np.array(gaps[0])).all()
    assert gaps[1][0] < 1e-4
