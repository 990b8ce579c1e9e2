"""Joint draws: the law of the draws, their seeds, and what must not matter to them."""

import itertools
import math
import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.impute import impute
from labelbayes.laws import row_draws
from labelbayes.laws.missing_cells import cells_of
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.row_blocks import Totals, cut_blocks
from labelbayes.laws.row_draws import RowSampler, drawn_rates, sampled_metrics
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.ranking import RANKING_METRICS
from labelbayes.metrics.registry import DEFAULT_METRICS, METRICS

N = math.nan
SIX = [METRICS[name] for name in DEFAULT_METRICS]
NO_KNOTS = np.empty(0, dtype=np.int64)

LABELS = np.array([1, N, 0, N, N, 1, N, 0, N])
SCORES = np.array([0.9, 0.9, 0.9, 0.7, 0.7, 0.6, 0.5, 0.5, 0.2])
P = np.array([0, 0.9, 0, 0.3, 0.6, 0, 0.45, 0, 0.1])


def make() -> tuple[EvaluationSet, Imputation]:
    """Return the small set and the belief about it."""
    evaluation = EvaluationSet(LABELS, SCORES)
    return evaluation, impute(evaluation, P)


def large(n: int, levels: int | None = None, seed: int = 0) -> tuple[EvaluationSet, Imputation]:
    """Return n rows, half of their labels missing."""
    rng = np.random.default_rng(seed)
    score = rng.random(n)
    if levels:
        score = (np.floor(score * levels) + 0.5) / levels
    labels = np.where(rng.random(n) < 0.5, rng.random(n) < score, N)
    evaluation = EvaluationSet(labels, score)
    return evaluation, impute(evaluation, score)


def _law_of_six() -> dict[tuple[float, ...], float]:
    """Return the joint law of the six metrics by visiting every completion."""
    missing = np.flatnonzero(np.isnan(LABELS))
    expected: dict[tuple[float, ...], float] = {}
    for labels in itertools.product([0, 1], repeat=len(missing)):
        complete = np.array(LABELS)
        complete[missing] = labels
        counts = EvaluationSet(complete, SCORES).counts
        values = tuple(
            round(
                float(metric(counts.tp, counts.fp, counts.fn, counts.tn))
                if isinstance(metric, CountMetric)
                else metric(complete, SCORES),
                9,
            )
            for metric in SIX
        )
        mass = float(np.prod(np.where(labels, P[missing], 1 - P[missing])))
        expected[values] = expected.get(values, 0.0) + mass
    return expected


def _fit(p: np.ndarray, n: int = 40_000) -> float:
    """Return the p-value of draws made with `p` under the joint law with `P`."""
    evaluation = EvaluationSet(LABELS, SCORES)
    sampler = RowSampler.from_imputation(evaluation, impute(evaluation, p))
    draws = sampled_metrics(SIX, sampler)(n, np.random.default_rng(1))
    drawn = np.array([draws[metric.name] for metric in SIX]).round(9).T
    seen, times = np.unique(drawn, axis=0, return_counts=True)
    expected = _law_of_six()
    # Jointly: every draw of the six metrics is that of one completion.
    assert {tuple(row) for row in seen} <= expected.keys()
    observed = dict(zip(map(tuple, seen), times, strict=True))
    cells = [(observed.get(key, 0), n * mass) for key, mass in expected.items()]
    statistic = sum((o - e) ** 2 / e for o, e in cells)
    return float(chi2.sf(statistic, len(cells) - 1))


@pytest.mark.parametrize("few_cells", [256, 0], ids=["cells", "rows"])
def test_draws_have_the_law_of_all_completions(
    few_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_draws, "FEW_CELLS", few_cells)
    assert RowSampler.from_imputation(*make()).draws_cells == (few_cells > 0)
    assert _fit(P) > 1e-3
    # A planted error: one p is .47 and not .45, 8 standard errors at 40,000 draws.
    assert _fit(np.where(P == 0.45, 0.47, P)) < 1e-3


def test_probabilities_are_met_beyond_a_byte() -> None:
    # 1/1024 is a quarter of the smallest step of a byte; 0 and 1 are certain.
    n_rows = 2_000
    score = np.arange(n_rows, dtype=float)
    evaluation = EvaluationSet([N] * n_rows, score)
    p = np.resize([1 / 1024, 0.0, 1.0, 1 - 1 / 1024], n_rows)
    sampler = RowSampler.from_imputation(evaluation, impute(evaluation, p))
    assert not sampler.draws_cells
    n = 400
    total = sampler.draw(n, np.random.default_rng(0)).n_positive
    mean, variance = p.sum(), (p * (1 - p)).sum()
    assert abs(total.mean() - mean) < 4 * math.sqrt(variance / n)
    # A planted error: p cut to a byte would make 1/1024 nothing and 1 - 1/1024 less.
    cut = (np.floor(256 * p) / 256).sum()
    assert abs(total.mean() - cut) > 10 * math.sqrt(variance / n)


def _chunks(sampler: RowSampler, n: int, seed: int) -> tuple[list, Totals, list, np.ndarray]:
    blocks = cut_blocks(sampler.ranked, sampler.cells, NO_KNOTS, by_cells=sampler.draws_cells)
    seeds = np.random.SeedSequence(seed).spawn(n // row_draws.CHUNK)
    fit = np.zeros(n, dtype=np.int64)
    return blocks, Totals.nothing(n, 0), seeds, fit


@pytest.mark.parametrize("levels", [None, 40])
def test_same_seed_same_draws_for_any_number_of_threads_and_order(levels: int | None) -> None:
    evaluation, belief = large(3_000, levels)
    sampler = RowSampler.from_imputation(evaluation, belief)
    joint = sampled_metrics(SIX, sampler)
    first, again = (joint(130, np.random.default_rng(7)) for _ in range(2))
    other = joint(130, np.random.default_rng(8))
    for name in first:
        assert np.array_equal(first[name], again[name])
        assert not np.array_equal(first[name], other[name])
    # Chunks have streams of their own: made one by one, backwards, or by threads, all the same.
    _, rates = sampler.rates(1, np.random.default_rng(0))
    found = []
    for way in ("forward", "backward", "threads"):
        blocks, totals, seeds, fit = _chunks(sampler, 100, seed=3)

        def run(k: int, blocks=blocks, totals=totals, seeds=seeds, fit=fit) -> None:
            part = slice(25 * k, 25 * (k + 1))
            sampler._draw_chunk(totals.take(part), blocks, seeds[k], fit[part], rates)

        if way == "threads":
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(run, range(4)))
        else:
            for k in range(4) if way == "forward" else reversed(range(4)):
                run(k)
        found.append((totals.n_positive, totals.rank_sum, totals.precision_sum))
    for columns in zip(*found, strict=True):
        assert np.array_equal(columns[0], columns[1])
        assert np.array_equal(columns[0], columns[2])


def test_global_state_and_the_number_asked_for_do_not_matter() -> None:
    evaluation, belief = large(500)
    joint = sampled_metrics(SIX, RowSampler.from_imputation(evaluation, belief))
    # Draws are exchangeable; with one fit the first chunk is the same whatever follows.
    few, many = joint(25, np.random.default_rng(1)), joint(1_000, np.random.default_rng(1))
    assert set(few["roc_auc"]) <= set(many["roc_auc"])


@pytest.mark.parametrize("levels", [None, 7])
def test_row_order_and_counts_change_nothing(levels: int | None) -> None:
    rng = np.random.default_rng(5)
    n = 400
    score = rng.random(n) if levels is None else rng.integers(0, levels, n) / levels
    labels = rng.choice([0.0, 1.0, N], n)
    p, count = rng.random(n).round(1), rng.integers(1, 4, n)
    grouped = EvaluationSet(labels, score, count=count)
    order = rng.permutation(np.repeat(np.arange(n), count))
    repeated = EvaluationSet(labels[order], score[order])
    one, two = (
        sampled_metrics(SIX, RowSampler.from_imputation(rows, impute(rows, belief)))(
            60, np.random.default_rng(2)
        )
        for rows, belief in ((grouped, p), (repeated, p[order]))
    )
    for name in one:
        assert np.allclose(one[name], two[name], atol=1e-13, equal_nan=True)


def test_constant_scores_give_one_half_and_prevalence_in_every_draw() -> None:
    evaluation = EvaluationSet([1, 0] + [N] * 50, [0.4] * 52)
    sampler = RowSampler.from_imputation(evaluation, impute(evaluation, [0.3] * 52))
    draws = sampled_metrics([METRICS["roc_auc"], METRICS["average_precision"]], sampler)(
        200, np.random.default_rng(0)
    )
    totals = sampler.draw(200, np.random.default_rng(0))
    assert (draws["roc_auc"] == 0.5).all()
    assert np.allclose(draws["average_precision"], (1 + totals.n_positive) / 52, atol=1e-14)
    assert draws["average_precision"].std() > 0.03


def test_nothing_missing_and_undefined_draws() -> None:
    evaluation = EvaluationSet([1, 0, 1, 0], [0.9, 0.8, 0.4, 0.2])
    sampler = RowSampler.from_imputation(evaluation, impute(evaluation))
    draws = sampled_metrics(SIX, sampler)(30, np.random.default_rng(0))
    for name, metric in RANKING_METRICS.items():
        expected = metric([1, 0, 1, 0], [0.9, 0.8, 0.4, 0.2])
        assert np.allclose(draws[name], expected, atol=1e-15)
    evaluation = EvaluationSet([N, 0], [0.9, 0.8])
    sampler = RowSampler.from_imputation(evaluation, impute(evaluation, [0.25, 0]))
    draws = sampled_metrics(SIX, sampler)(4_000, np.random.default_rng(0))
    for name in ("roc_auc", "average_precision", "recall"):
        # .75 with sd .0068 at 4,000 draws.
        assert np.isnan(draws[name]).mean() == pytest.approx(0.75, abs=0.03)
        assert set(draws[name][~np.isnan(draws[name])]) == {1.0}


def test_refits_share_the_draws_evenly_and_widen_them() -> None:
    n = 3_000
    rng = np.random.default_rng(6)
    score = rng.random(n)
    labels = np.where(rng.random(n) < 0.1, rng.random(n) < score, N)
    evaluation = EvaluationSet(labels, score)
    values = np.array([[0.5, 0.5], [0.4, 0.4], [0.6, 0.6]])
    bins = (score > 0.5).astype(int)
    p = np.where(evaluation.is_labeled, evaluation.y_true, 0.5)
    belief = Imputation(p, evaluation.is_labeled, "bins", "given", (), bins, values)
    joint = sampled_metrics(SIX, RowSampler.from_imputation(evaluation, belief))
    accuracy = sampled_metrics(
        SIX, RowSampler.from_imputation(evaluation, belief.without_refits())
    )(200, np.random.default_rng(0))
    draws = joint(200, np.random.default_rng(0))
    totals = RowSampler.from_imputation(evaluation, belief).draw(200, np.random.default_rng(0))
    share = totals.n_positive / evaluation.n_unlabeled
    assert (abs(share - 0.4) < 0.05).sum() == (abs(share - 0.6) < 0.05).sum() == 100
    # Not one half after the other: draws are exchangeable.
    assert 20 < (share[:100] > 0.5).sum() < 80
    assert draws["average_precision"].std() > 3 * accuracy["average_precision"].std()


def test_rates_that_are_drawn_give_beta_binomial_counts() -> None:
    # One uniform rate for all missing rows: every number of positives is equally likely.
    n = 12
    evaluation = EvaluationSet([N] * n, np.arange(n, dtype=float), y_pred=[1] * n)
    ranked = RankedRows.from_evaluation(evaluation)
    cells = cells_of(ranked, evaluation, np.zeros(n, dtype=np.int64))
    rates = drawn_rates(lambda size, rng: rng.beta(1, 1, (size, 1)))
    sampler = RowSampler(ranked, cells, evaluation.counts, rates)
    drawn = sampler.draw(13_000, np.random.default_rng(0)).n_positive
    times = np.bincount(drawn.astype(int), minlength=n + 1)
    statistic = ((times - 1_000) ** 2 / 1_000).sum()
    assert chi2.sf(statistic, n) > 1e-3
    # A planted error: a rate for each row, not one for all, gives a binomial law.
    each = cells_of(ranked, evaluation, np.arange(n))
    independent = drawn_rates(lambda size, rng: rng.beta(1, 1, (size, n)))
    sampler = RowSampler(ranked, each, evaluation.counts, independent)
    drawn = sampler.draw(13_000, np.random.default_rng(0)).n_positive
    times = np.bincount(drawn.astype(int), minlength=n + 1)
    assert chi2.sf(((times - 1_000) ** 2 / 1_000).sum(), n) < 1e-9


@pytest.mark.parametrize("levels", [None, 30])
def test_counts_at_knots_are_those_of_the_draws(levels: int | None) -> None:
    evaluation, belief = large(4_000, levels)
    sampler = RowSampler.from_imputation(evaluation, belief)
    last = sampler.ranked.n_steps - 1
    knots = np.unique(np.array([0, 3, last // 3, last // 2, last - 1, last]))
    totals = sampler.draw(40, np.random.default_rng(0), knots)
    same = sampler.draw(40, np.random.default_rng(0))
    assert np.array_equal(totals.n_positive, same.n_positive)
    assert np.array_equal(totals.at_knots[:, -1], totals.n_positive)
    assert (np.diff(totals.at_knots, axis=1) >= 0).all()
    # Rows above a knot at p bound the counts there; means agree to 4 standard errors.
    p = belief.p[sampler.ranked.row]
    for k, knot in enumerate(knots):
        above = sampler.ranked.step <= knot
        mean, spread = p[above].sum(), math.sqrt((p * (1 - p))[above].sum() / 40)
        assert abs(totals.at_knots[:, k].mean() - mean) <= 4 * spread + 1e-9


def test_blocks_do_not_part_ties_across_their_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    # Precision sums of a draw follow from its positives, whatever blocks they come in.
    evaluation, belief = large(2_000, 300)
    sampler = RowSampler.from_imputation(evaluation, belief)
    monkeypatch.setattr("labelbayes.laws.row_blocks.ROW_BLOCK", 64)
    monkeypatch.setattr("labelbayes.laws.row_blocks.CELL_BLOCK", 16)
    every = np.arange(sampler.ranked.n_steps)
    for few in (256, 0, 10_000):
        monkeypatch.setattr(row_draws, "FEW_CELLS", few)
        fresh = replace(sampler)
        totals = fresh.draw(10, np.random.default_rng(0), every)
        known = np.cumsum(sampler.ranked.known_positive)
        positive = np.diff(totals.at_knots + known, axis=1, prepend=0.0)
        negative = sampler.ranked.step_count - positive
        for name, metric in RANKING_METRICS.items():
            found = row_draws.ranking_values(name, sampler.ranked, totals)
            assert np.allclose(found, metric.value(positive, negative), atol=1e-12)


def test_memory_stays_far_below_draws_times_rows() -> None:
    evaluation, belief = large(200_000)
    joint = sampled_metrics(SIX, RowSampler.from_imputation(evaluation, belief))
    tracemalloc.start()
    try:
        joint(30, np.random.default_rng(0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # 30 draws of 100,000 labels would take 3 MB as bits in bytes, 24 MB as floats, a draw
    # working set of 60 bytes a row is 6 MB; 300 bytes a missing row is the requirement at 1e6.
    assert peak < 300 * 100_000


def test_samplers_can_be_pickled() -> None:
    evaluation, belief = make()
    joint = sampled_metrics(SIX, RowSampler.from_imputation(evaluation, belief))
    again = pickle.loads(pickle.dumps(joint))
    one, two = joint(10, np.random.default_rng(0)), again(10, np.random.default_rng(0))
    assert all(np.array_equal(one[name], two[name], equal_nan=True) for name in one)


def test_ranking_metrics_of_ones_own_are_refused() -> None:
    evaluation, belief = make()
    other = replace(RANKING_METRICS["roc_auc"], name="lift")
    with pytest.raises(ValueError, match="got a ranking metric 'lift'"):
        sampled_metrics([other], RowSampler.from_imputation(evaluation, belief))
