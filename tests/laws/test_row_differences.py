"""Differences of ranking metrics against scikit-learn on every completion."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn import metrics as sk

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.impute import impute
from labelbayes.laws import row_completions, row_differences
from labelbayes.laws.differences import compare_groups, compare_models
from labelbayes.laws.row_completions import RowCompletions
from labelbayes.laws.row_differences import RowDifferences
from labelbayes.metrics.ranking import RANKING_METRICS, RankingMetric
from labelbayes.results.distribution import DiscreteLaw
from labelbayes.results.estimates import Estimates
from labelbayes.results.sampled import SampledLaw
from tests.laws.conftest import Compare, Listed

RANKINGS = list(RANKING_METRICS)
Array = npt.NDArray[Any]


def by_sklearn(name: str, y: Array, score: Array) -> float:
    if y.sum() == 0 or (name == "roc_auc" and y.sum() == len(y)):
        return float("nan")
    function = sk.roc_auc_score if name == "roc_auc" else sk.average_precision_score
    return float(function(y, score))


def enumerate_rankings(
    name: str, y_true: Array, beliefs: list[Array], sides: list[tuple[Array, Array]]
) -> Listed:
    """List the difference over all completions; a side is its rows and their scores."""
    missing = np.flatnonzero(np.isnan(y_true))
    lost, found = 0.0, {}
    for labels in itertools.product([0.0, 1.0], repeat=len(missing)):
        y = y_true.copy()
        y[missing] = labels
        weight = np.mean(
            [np.where(y[missing] == 1, p[missing], 1 - p[missing]).prod() for p in beliefs]
        )
        a, b = (by_sklearn(name, y[rows], score) for rows, score in sides)
        if np.isnan(a - b):
            lost += weight
        else:
            key = round(a - b, 12) + 0.0
            found[key] = found.get(key, 0.0) + weight
    support = np.array(sorted(found))
    pmf = np.array([found[x] for x in support])
    return Listed(lost, support, pmf / max(pmf.sum(), 1e-300))


def make_rows(
    seed: int, n: int, n_missing: int, *, levels: int = 4
) -> tuple[EvaluationSet, EvaluationSet, Imputation]:
    """Two models with tied scores, two groups, a belief of two refits that knows all of it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n).astype(float)
    y[rng.choice(n, n_missing, replace=False)] = np.nan
    one, two = (rng.integers(0, levels, n) / levels for _ in range(2))
    group = np.array(["a", "b"])[np.arange(n) % 2]
    a, b = EvaluationSet(y, one, group=group), EvaluationSet(y, two)
    values = rng.random((3, n))
    belief = Imputation(
        p=np.where(a.is_labeled, y, values[0]),
        is_labeled=a.is_labeled,
        method="two refits",
        assumption="two refits",
        bin_index=np.arange(n),
        bin_values=values,
        features=impute(a, values[0], features=np.column_stack([one, two])).features,
    )
    return a, b, belief


def models(a: EvaluationSet, b: EvaluationSet, belief: Imputation, **options: Any) -> Estimates:
    return compare_models(a, b, belief, metrics=RANKINGS, **options)


def groups(a: EvaluationSet, b: EvaluationSet, belief: Imputation, **options: Any) -> Estimates:
    return compare_groups(a, belief, metrics=RANKINGS, **options)["a", "b"]


def sides_of(run: object, a: EvaluationSet, b: EvaluationSet) -> list[tuple[Array, Array]]:
    if run is models:
        every = np.arange(a.n_rows)
        return [(every, a.y_score), (every, b.y_score)]
    parts = [np.flatnonzero(a.group == name) for name in ("a", "b")]
    return [(rows, a.y_score[rows]) for rows in parts]


EITHER = pytest.mark.parametrize("run", [models, groups])


@EITHER
@pytest.mark.parametrize(("seed", "n", "n_missing"), [(0, 9, 5), (1, 6, 6), (2, 10, 5)])
def test_few_missing_labels_are_every_completion(
    run: Any, seed: int, n: int, n_missing: int, law_faults: Compare
) -> None:
    a, b, belief = make_rows(seed, n, n_missing)
    result = run(a, b, belief)
    assert result.method.startswith("exact law;")
    beliefs = [belief.refit(0), belief.refit(1)]
    for name, law in result.items():
        assert isinstance(law, DiscreteLaw)
        listed = enumerate_rankings(name, a.y_true, beliefs, sides_of(run, a, b))
        assert law_faults(law, listed) == [], name


@EITHER
@pytest.mark.parametrize("seed", range(3))
def test_moments_without_a_list_are_those_of_the_list(run: Any, seed: int) -> None:
    a, b, belief = make_rows(seed, 11, 8)
    exact = run(a, b, belief)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_differences, "MOST_COMPLETIONS", 1)
        drawn = run(a, b, belief, n_draws=100, rng=0)
    assert "roc_auc (exact mean and sd)" in drawn.method
    assert "average_precision (exact mean)" in drawn.method
    for name, law in drawn.items():
        assert isinstance(law, SampledLaw)
        assert law.undefined_prob == pytest.approx(exact[name].undefined_prob, abs=1e-15)
        assert law.undefined_reason == exact[name].undefined_reason
    area = drawn["roc_auc"]
    assert area.mean == pytest.approx(exact["roc_auc"].mean, abs=1e-13)
    assert area.sd == pytest.approx(exact["roc_auc"].sd, abs=1e-13)
    # Where either group can lack positives, means are weighted by how often both have some.
    assert drawn["average_precision"].mean == pytest.approx(
        exact["average_precision"].mean, abs=1e-13
    )


@pytest.mark.parametrize(("run", "few_rows"), [(models, 4_000), (groups, 4_000), (groups, 0)])
@pytest.mark.parametrize("levels", [3, 10_000])
def test_draws_follow_the_list(run: Any, few_rows: int, levels: int) -> None:
    rows = make_rows(4, 20, 11, levels=levels)
    exact = run(*rows)
    n = 8_000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_differences, "MOST_COMPLETIONS", 1)
        patch.setattr(row_completions, "FEW_ROWS", few_rows)
        drawn = run(*rows, n_draws=n, rng=0)
    limit = np.sqrt(np.log(2 / 1e-7) / (2 * n))
    for name, law in exact.items():
        t = np.linspace(-0.6, 0.6, 121)
        assert abs(law.cdf(t) - drawn[name].cdf(t)).max() < limit, name
        shifted = drawn[name].cdf(t + 0.2 * law.sd)
        assert abs(law.cdf(t) - shifted).max() > limit, name


def test_the_same_draws_whatever_the_size_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, belief = make_rows(0, 60, 40, levels=50)
    one = models(a, b, belief, n_draws=300, rng=3, method="sampled")
    monkeypatch.setattr(row_completions, "BLOCK_NUMBERS", 70)
    two = models(a, b, belief, n_draws=300, rng=3, method="sampled")
    for name in RANKINGS:
        # Equal labels; sums of them are added up in another order.
        np.testing.assert_allclose(one[name].values, two[name].values, atol=1e-14)


@EITHER
def test_counts_are_repeated_rows(run: Any) -> None:
    a, b, belief = make_rows(3, 9, 5)
    count = np.array([1, 2, 1, 1, 2, 1, 3, 1, 1])
    rows = np.repeat(np.arange(9), count)
    weighted = [EvaluationSet(e.y_true, e.y_score, group=a.group, count=count) for e in (a, b)]
    repeated = [EvaluationSet(e.y_true[rows], e.y_score[rows], group=a.group[rows]) for e in (a, b)]
    long = impute(repeated[0], belief.p[rows], features=belief.features.iloc[rows])
    short = impute(weighted[0], belief.p, features=belief.features)
    one, two = run(*weighted, short), run(*repeated, long)
    for name, law in one.items():
        np.testing.assert_allclose(law.support, two[name].support, atol=1e-12)
        np.testing.assert_allclose(law.pmf, two[name].pmf, atol=1e-14)
    drawn = run(*weighted, short, method="sampled", n_draws=4_000, rng=0)
    for name, law in one.items():
        assert drawn[name].mean == pytest.approx(law.mean, abs=5 * law.sd / 63)


def test_a_constant_score_is_one_half_against_any_other() -> None:
    a, _, belief = make_rows(5, 9, 5)
    flat = EvaluationSet(a.y_true, np.full(9, 0.3))
    area = compare_models(a, flat, belief, metrics=["roc_auc"])["roc_auc"]
    alone = compare_models(a, a, belief, metrics=["roc_auc"])["roc_auc"]
    listed = enumerate_rankings(
        "roc_auc", a.y_true, [belief.refit(0), belief.refit(1)], [(np.arange(9), a.y_score)] * 2
    )
    assert (alone.mean, alone.sd) == (0.0, 0.0)
    assert alone.undefined_prob == pytest.approx(listed.undefined_prob, abs=1e-15)
    drawn = compare_models(flat, flat, belief, metrics=["roc_auc"], method="sampled", n_draws=50)
    assert set(drawn["roc_auc"].values.tolist()) == {0.0}
    # Against one half, the area of a itself is left.
    one_half = enumerate_rankings(
        "roc_auc",
        a.y_true,
        [belief.refit(0), belief.refit(1)],
        [(np.arange(9), a.y_score), (np.arange(9), flat.y_score)],
    )
    assert area.mean == pytest.approx(one_half.support @ one_half.pmf, abs=1e-12)


def test_gauss_has_the_exact_moments_of_the_area() -> None:
    a, b, belief = make_rows(1, 200, 120, levels=30)
    normal = compare_models(a, b, belief, metrics=["roc_auc", "f1"], method="gauss")
    exact = compare_models(a, b, belief, metrics=["roc_auc"], n_draws=100, rng=0)["roc_auc"]
    assert (normal["roc_auc"].mean, normal["roc_auc"].sd) == (exact.mean, exact.sd)


@EITHER
def test_population_draws_are_those_of_weighted_rows(run: Any) -> None:
    rng = np.random.default_rng(0)
    a, b, _ = make_rows(2, 30, 20, levels=12)
    known = impute(a, rng.random(30), features=np.column_stack([a.y_score, b.y_score]))
    n = 2_000
    result = run(a, b, known, target="population", n_draws=n, rng=0)
    weight = rng.standard_gamma(1.0, (n, 30))
    sides = sides_of(run, a, b)
    for name, law in result.items():
        # A second way: each row twice, as a positive and as a negative, with its two weights.
        values = np.zeros(80)
        for i in range(80):
            for (rows, score), sign in zip(sides, (1, -1), strict=True):
                w, p = weight[i, rows], known.p[rows]
                y = np.repeat([1, 0], len(rows))
                both, doubled = np.append(w * p, w * (1 - p)), np.tile(score, 2)
                function = sk.roc_auc_score if name == "roc_auc" else sk.average_precision_score
                values[i] += sign * function(y, doubled, sample_weight=both)
        error = law.sd * np.sqrt(1 / 80 + 1 / n)
        assert law.mean == pytest.approx(values.mean(), abs=5 * error), name
        # The sd of 80 values is right to 8% a standard error.
        assert law.sd == pytest.approx(values.std(), rel=0.4), name


def test_probabilities_of_undefined_are_right_where_they_are_tiny() -> None:
    n = 400
    rng = np.random.default_rng(0)
    score = rng.random(n)
    group = np.array(["a", "b"])[np.arange(n) % 2]
    rows = EvaluationSet(np.full(n, np.nan), score, group=group)
    belief = impute(rows, np.full(n, 0.2), features=score)
    of_models = RowDifferences(RowCompletions.of_models(rows, rows, belief))
    of_groups = RowDifferences(RowCompletions.of_groups(rows, (group == "a", group == "b"), belief))
    precision, area = (RANKING_METRICS[name] for name in RANKINGS)
    assert of_models.undefined(precision)[0] == pytest.approx(0.8**400, rel=1e-10)
    assert of_models.undefined(area)[0] == pytest.approx(0.8**400, rel=1e-10)
    assert of_groups.undefined(precision)[0] == pytest.approx(2 * 0.8**200, rel=1e-10)


@EITHER
def test_perfect_separation_is_said_for_the_population(run: Any) -> None:
    y = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    group = np.array(list("abababab"))
    a, b = EvaluationSet(y, y + 0.01 * np.arange(8), group=group), EvaluationSet(y, 1 - y)
    said = run(a, b, impute(a), target="population", n_draws=50, rng=0)
    assert any("labels perfectly" in note for note in said.notes)
    assert said["roc_auc"].sd == pytest.approx(0.0, abs=1e-14)
    assert not any("labels perfectly" in note for note in run(a, b, impute(a)).notes)
    rows = make_rows(0, 12, 4)
    mixed = run(*rows, target="population", n_draws=50, rng=0)
    assert not any("labels perfectly" in note for note in mixed.notes)


def test_a_ranking_metric_of_ones_own_is_refused() -> None:
    a, b, belief = make_rows(0, 9, 4)
    own = RankingMetric("own", "never", lambda positive, negative: positive.sum(axis=-1))
    with pytest.raises(ValueError, match="got a ranking metric 'own'"):
        compare_models(a, b, belief, metrics=[own])
