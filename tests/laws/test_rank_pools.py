"""Neighbors in rank drawn together: their sums against those of rows drawn one by one."""

import math

import numpy as np
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.impute import impute
from labelbayes.laws import rank_pools, row_draws
from labelbayes.laws.average_precision_mean import average_precision_mean
from labelbayes.laws.missing_cells import MissingCells, cells_and_fits
from labelbayes.laws.rank_pools import RankPools
from labelbayes.laws.rank_sums import RankSums
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.roc_auc_moments import roc_auc_moments
from labelbayes.laws.row_blocks import Totals, add_positives, cut_blocks
from labelbayes.laws.row_draws import RowSampler, sampled_metrics
from labelbayes.metrics.registry import DEFAULT_METRICS, METRICS

N_DRAWS = 3_000


def rows(
    n: int, levels: int | None = None, *, is_binned: bool = True, noise: float = 0.0
) -> tuple[EvaluationSet, Imputation]:
    """Return n rows, half of their labels missing, with a belief in bins of the score or not."""
    rng = np.random.default_rng(n)
    score = rng.random(n)
    if levels:
        score = np.floor(score * levels) / levels
    labels = np.where(rng.random(n) < 0.5, rng.random(n) < score**1.5, math.nan)
    evaluation = EvaluationSet(labels, score, y_pred=score + noise * rng.random(n) > 0.5)
    if is_binned:
        return evaluation, impute(evaluation, "histogram", n_refits=3, rng=0)
    return evaluation, impute(evaluation, score**1.5)


def pooled(
    evaluation: EvaluationSet, belief: Imputation, knots: np.ndarray
) -> tuple[RankedRows, MissingCells, np.ndarray, RankPools]:
    """Return cells, their probabilities under the first fit, and pools."""
    ranked = RankedRows.from_evaluation(evaluation)
    cells, fits = cells_and_fits(ranked, evaluation, belief)
    rates = fits.rates(0)
    return ranked, cells, rates[cells.bin], RankPools.from_cells(ranked, cells, knots, rates)


@pytest.mark.parametrize("levels", [None, 1_500])
def test_sums_given_the_pools_have_mean_and_covariance_of_rows(
    levels: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank_pools, "HEAD", 64)
    # Wide stretches, so that there is something to see of what the order inside them adds.
    monkeypatch.setattr(rank_pools, "SPAN", 1 / 16)
    rng = np.random.default_rng(1)
    knots = np.array([10, 700, 701, 1_400])
    evaluation, belief = rows(5_000, levels, noise=0.1)
    ranked, cells, p, pools = pooled(evaluation, belief, knots)
    drawn = rng.binomial(cells.count[:, None], p[:, None], (len(p), N_DRAWS)).astype(float)
    truth, given = Totals.nothing(N_DRAWS, len(knots)), Totals.nothing(N_DRAWS, len(knots))
    for block in cut_blocks(ranked, cells, knots, by_cells=True):
        add_positives(truth, block, drawn)
    for block in pools.head:
        add_positives(given, block, drawn[: pools.n_head])
    in_pools = np.zeros((pools.n_pools, N_DRAWS))
    np.add.at(in_pools, pools.of_cell, drawn[pools.n_head :])

    def totals(first: float, second: float) -> np.ndarray:
        run = Totals.nothing(N_DRAWS, len(knots))
        for old, new in zip(vars(given).values(), vars(run).values(), strict=True):
            new[...] = old
        pools.add(run, in_pools, np.array([[first], [second]]) * np.ones(N_DRAWS))
        # Counts are those of the rows, whatever the order inside pools.
        assert np.array_equal(run.n_positive, truth.n_positive)
        assert np.array_equal(run.true_positive, truth.true_positive)
        assert np.array_equal(run.at_knots, truth.at_knots)
        return np.array([run.rank_sum, run.precision_sum])

    mean = totals(0.0, 0.0)
    one, other = totals(1.0, 0.0) - mean, totals(0.0, 1.0) - mean
    gap = np.array([truth.rank_sum, truth.precision_sum]) - mean
    assert (
        gap.std(axis=1) > 1e-3 * np.array([np.std(truth.rank_sum), np.std(truth.precision_sum)])
    ).all()
    error = gap.std(axis=1) / math.sqrt(N_DRAWS)
    assert (np.abs(gap.mean(axis=1)) < 4 * error).all()
    expected = (one[:, None] * one + other[:, None] * other).mean(axis=2)
    found = gap @ gap.T / N_DRAWS
    # A covariance of 3,000 draws has a relative standard error of up to sqrt(2 / 3,000).
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert (np.abs(found - expected) < 4 * math.sqrt(2 / N_DRAWS) * scale).all()
    # A planted error: pairs inside a stretch weigh 5% more.
    pools.pair[:] *= 1.05
    off = (truth.precision_sum - totals(0.0, 0.0)[1]).mean()
    assert abs(off) > 6 * error[1]


def test_counts_of_unequal_rows_have_their_mean_and_variance() -> None:
    evaluation, _ = rows(20_000)
    rng = np.random.default_rng(2)
    belief = impute(evaluation, rng.beta(0.7, 1.0, evaluation.n_rows))
    _, cells, p, pools = pooled(evaluation, belief, np.empty(0, dtype=np.int64))
    drawn = pools._draw_unequal(p[:, None], 4_000, np.random.default_rng(3))
    assert (drawn >= 0).all()
    assert (drawn <= pools.size[:, None]).all()
    tail, count = p[pools.n_head :], cells.count[pools.n_head :]
    mean = np.bincount(pools.of_cell, count * tail)
    variance = np.bincount(pools.of_cell, count * tail * (1 - tail))
    total = drawn.sum(axis=0)
    z = (drawn.mean(axis=1) - mean) / np.sqrt(np.maximum(variance, 1e-12) / 4_000)
    assert np.abs(z).max() < 5  # of some 2,000 pools
    assert total.var() == pytest.approx(variance.sum(), rel=4 * math.sqrt(2 / 4_000))
    ratio = drawn.var(axis=1).sum() / variance.sum()
    # Summed over some 1,600 pools its standard error is 0.0006.
    assert ratio == pytest.approx(1.0, abs=0.003)
    # A planted error: rows of the mean p of their pool vary more.
    share = mean / pools.size
    assert (pools.size * share * (1 - share)).sum() / variance.sum() > 1.009


@pytest.mark.parametrize("is_binned", [True, False])
def test_draws_have_the_exact_moments(is_binned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_draws, "POOLED_ROWS", 10_000)
    evaluation, belief = rows(24_000, is_binned=is_binned)
    belief = belief.without_refits()
    sampler = RowSampler.from_imputation(evaluation, belief)
    cells, fits = cells_and_fits(sampler.ranked, evaluation, belief)
    metrics = [METRICS[name] for name in DEFAULT_METRICS]
    draws = sampled_metrics(metrics, sampler)(4_000, np.random.default_rng(0))
    assert sampler._pools(np.empty(0, dtype=np.int64), fits.rates) is not None
    known = average_precision_mean(sampler.ranked, cells, fits).mean
    found = draws["average_precision"]
    gap = abs(found.mean() - known) / (found.std() / math.sqrt(4_000))
    assert gap < 4
    area = roc_auc_moments(RankSums.from_cells(sampler.ranked, cells, fits), 0)
    assert abs(draws["roc_auc"].mean() - area.mean) < 4 * area.sd / math.sqrt(4_000)
    # 4,000 draws give a standard deviation to 1.1%.
    assert draws["roc_auc"].std() == pytest.approx(area.sd, rel=0.045)
    # A planted error: the order of a quarter of all labels ignored takes off an eighth of it.
    assert draws["roc_auc"].std() != pytest.approx(area.sd * 0.875, rel=0.045)
    single = RowSampler.from_imputation(evaluation, belief)
    monkeypatch.setattr(row_draws, "POOLED_ROWS", 10**9)
    rows_drawn = sampled_metrics(metrics, single)(4_000, np.random.default_rng(1))
    for name, column in draws.items():
        other = rows_drawn[name]
        assert column.std() == pytest.approx(other.std(), rel=0.065), name
        assert abs(column.mean() - other.mean()) < 4 * other.std() * math.sqrt(2 / 4_000), name


def test_order_of_draws_and_refits_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_draws, "POOLED_ROWS", 10_000)
    evaluation, belief = rows(24_000)
    assert belief.bin_values is not None
    sampler = RowSampler.from_imputation(evaluation, belief)
    which = np.arange(60) % 2
    values = np.stack([belief.bin_values[1] * 0.1, belief.bin_values[1]])
    told = row_draws.RowSampler(
        sampler.ranked, sampler.cells, sampler.known, lambda *_: (which, values.__getitem__)
    )
    found = told.draw(60, np.random.default_rng(0), in_order=True).n_positive
    assert found[which == 0].max() < found[which == 1].min()
    one, again = (sampler.draw(60, np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(one.precision_sum, again.precision_sum)
    assert len(set(one.precision_sum.tolist())) == 60


def test_expected_sums_of_unequal_rows_are_exact() -> None:
    evaluation, belief = rows(20_000, is_binned=False)
    ranked, cells, p, pools = pooled(evaluation, belief, np.empty(0, dtype=np.int64))
    tail, below = p[pools.n_head :], cells.step[pools.n_head :]
    mean = np.bincount(pools.of_cell, tail)
    shifts = pools.shifts(tail)
    for i, column in ((0, 1 / np.cumsum(ranked.step_count)), (2, ranked.midrank)):
        expected, pooled_sum = float(tail @ column[below]), float(pools.means[i] @ mean)
        assert pooled_sum + shifts[i].sum() == pytest.approx(expected, rel=1e-12)
        # A planted error: without the shift they are not.
        assert pooled_sum != pytest.approx(expected, rel=1e-7)


def test_one_step_that_holds_all_rows_has_no_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_draws, "POOLED_ROWS", 1_000)
    n = 3_000
    evaluation = EvaluationSet([1, 0] + [math.nan] * n, [0.4] * (n + 2))
    belief = impute(evaluation, np.linspace(0.1, 0.9, n + 2))
    found = RowSampler.from_imputation(evaluation, belief).draw(30, np.random.default_rng(0))
    assert 0.45 * n < found.n_positive.mean() < 0.55 * n
