"""Joint draws of count and ranking metrics: the same completed labels serve every metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import pairwise

import numpy as np

from labelbayes._checks import FloatArray, IntArray
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.missing_cells import Fits, MissingCells, cells_and_fits
from labelbayes.laws.population import Cells
from labelbayes.laws.precision_sums import known_precision_sum
from labelbayes.laws.rank_pools import HEAD, RankPools, end_of_head
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.row_blocks import (
    Block,
    Totals,
    add_cells,
    add_rows,
    cut_blocks,
    fill_knots,
)
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import Metric
from labelbayes.results.estimates import JointDraws

#: (number of draws, generator) -> which fit each draw uses, and fit -> rates of the bins.
Rates = Callable[[int, np.random.Generator], tuple[IntArray, Callable[[int], FloatArray]]]

#: Draws that share one stream of random numbers; part of what a seed means, never to be tuned.
CHUNK = 25
#: A binomial draw costs as much as this many rows drawn one by one.
BINOMIAL_COST = 30
#: Beyond so many missing rows neighbors in rank are drawn together where that is cheaper.
POOLED_ROWS = 16 * HEAD
#: So few cells cost less than the calls that single rows take.
FEW_CELLS = 256


def spread_over(fits: Fits) -> Rates:
    """Return rates that spread draws evenly over the fits of a belief.

    Parameters
    ----------
    fits : Fits
        The ways the belief could have come out.

    Returns
    -------
    callable
        ``rates(n, rng)`` -> fit of each draw, and the rates of a fit.
    """
    return partial(_spread, fits)


def _spread(
    fits: Fits, n: int, rng: np.random.Generator
) -> tuple[IntArray, Callable[[int], FloatArray]]:
    # Every fit is as likely as every other in each draw, also where n is no multiple of them.
    return rng.permutation(fits.n_fits)[np.arange(n) % fits.n_fits], fits.rates


def drawn_rates(sample: Callable[[int, np.random.Generator], FloatArray]) -> Rates:
    """Return rates that are themselves drawn, anew for each draw.

    Parameters
    ----------
    sample : callable
        ``sample(n, rng)`` -> rates of each draw, shape (n, n_bins): Beta draws, draws of a
        posterior.

    Returns
    -------
    callable
        ``rates(n, rng)`` -> fit of each draw, and the rates of a fit.
    """
    return partial(_draw_rates, sample)


def _draw_rates(
    sample: Callable[[int, np.random.Generator], FloatArray], n: int, rng: np.random.Generator
) -> tuple[IntArray, Callable[[int], FloatArray]]:
    values = sample(n, rng)
    return np.arange(n), values.__getitem__


@dataclass(frozen=True, eq=False, repr=False)
class RowSampler:
    """Completed labels, drawn block by block: nothing of size draws x rows is ever held.

    Parameters
    ----------
    ranked : RankedRows
        Rows by score.
    cells : MissingCells
        Their missing rows.
    known : Counts
        Confusion matrix of the labeled rows.
    rates : callable
        ``rates(n, rng)`` -> fit of each draw, and the rates of a fit (`spread_over`,
        `drawn_rates`).

    Notes
    -----
    A row is positive where a random byte lies below floor(256 p); where it equals it, a random
    float64 decides the rest, so p is met to 2^-53. Where rows come in few cells, each cell takes
    one binomial draw instead, and beyond 16,384 missing rows neighbors in rank do (`RankPools`).
    Every 25 draws have a stream of their own, so that draws do not depend on how many are made at
    a time, or in which order.
    """

    ranked: RankedRows
    cells: MissingCells
    known: Counts
    rates: Rates

    @classmethod
    def from_imputation(cls, evaluation: EvaluationSet, imputation: Imputation) -> RowSampler:
        """Return the sampler of a belief; refits share the draws evenly.

        Parameters
        ----------
        evaluation : EvaluationSet
            Scores, decisions and labels.
        imputation : Imputation
            Belief, made from this evaluation.

        Returns
        -------
        RowSampler
            The sampler.
        """
        ranked = RankedRows.from_evaluation(evaluation)
        cells, fits = cells_and_fits(ranked, evaluation, imputation)
        return cls(ranked, cells, evaluation.counts, spread_over(fits))

    @cached_property
    def draws_cells(self) -> bool:
        """Whether cells take binomial draws, and not each row a draw of its own."""
        n_cells = len(self.cells.step)
        return n_cells <= FEW_CELLS or BINOMIAL_COST * n_cells <= self.ranked.n_missing

    def draw(
        self,
        n: int,
        rng: np.random.Generator,
        knots: IntArray | None = None,
        *,
        in_order: bool = False,
    ) -> Totals:
        """Return totals of n completed sets.

        Parameters
        ----------
        n : int
            How many.
        rng : numpy.random.Generator
            Where they come from.
        knots : ndarray of int, shape (n_knots,), optional
            Steps of the ranking, ascending, down to which positives are counted.
        in_order : bool, default False
            Whether draw i has the fit that `rates` names i-th, so that draws belong to rates that
            are known one by one; else their order says nothing.

        Returns
        -------
        Totals
            Draws, exchangeable unless `in_order`.
        """
        at = np.empty(0, dtype=np.int64) if knots is None else knots
        fit, rates = self.rates(n, rng)
        # Chunks of one fit follow each other; its rates may take a pass over the rows.
        rates = lru_cache(1)(rates)
        pools = self._pools(at, rates)
        blocks = []
        if pools is None:
            blocks = cut_blocks(self.ranked, self.cells, at, by_cells=self.draws_cells)
        # Draws of one fit stand together, so that its rates are asked for once.
        order = np.argsort(fit, kind="stable")
        fit = fit[order]
        seeds = np.random.SeedSequence(rng.integers(2**63, size=4).tolist())
        chunks = seeds.spawn(-(-n // CHUNK))
        totals = Totals.nothing(n, len(at))
        for k, seed in enumerate(chunks):
            part = slice(k * CHUNK, (k + 1) * CHUNK)
            if pools is None:
                self._draw_chunk(totals.take(part), blocks, seed, fit[part], rates)
            else:
                _draw_pooled(totals.take(part), pools, seed, fit[part], rates)
        return totals.take(np.argsort(order) if in_order else rng.permutation(n))

    def _pools(self, knots: IntArray, rates: Callable[[int], FloatArray]) -> RankPools | None:
        """Return neighbors in rank put together, or None where that gains nothing."""
        n_missing, step = self.ranked.n_missing, self.cells.step
        if self.draws_cells or n_missing <= POOLED_ROWS or end_of_head(step) == len(step):
            return None
        pools = RankPools.from_cells(self.ranked, self.cells, knots, rates(0))
        return pools if BINOMIAL_COST * pools.n_pools <= n_missing / 2 else None

    def _draw_chunk(
        self,
        totals: Totals,
        blocks: Sequence[Block],
        seed: np.random.SeedSequence,
        fit: IntArray,
        rates: Callable[[int], FloatArray],
    ) -> None:
        """Fill in the totals of the draws that share one stream."""
        bits = np.random.SFC64(seed)
        generator = np.random.Generator(bits)
        edges = np.append(np.flatnonzero(np.diff(fit, prepend=-1)), len(fit))
        if self.draws_cells:
            # One call for all draws: where each has a fit of its own, calls would cost the most.
            p = _rates_of_draws(fit, edges, rates)
            for block in blocks:
                add_cells(totals, block, p, generator)
        else:
            for first, last in pairwise(edges):
                run = totals.take(slice(first, last))
                p = rates(int(fit[first]))
                for block in blocks:
                    add_rows(run, block, p, bits, generator)
        fill_knots(totals, blocks)


def _draw_pooled(
    totals: Totals,
    pools: RankPools,
    seed: np.random.SeedSequence,
    fit: IntArray,
    rates: Callable[[int], FloatArray],
) -> None:
    """Fill in the totals of the draws that share one stream, neighbors in rank drawn together."""
    generator = np.random.Generator(np.random.SFC64(seed))
    edges = np.append(np.flatnonzero(np.diff(fit, prepend=-1)), len(fit))
    if pools.bin is not None:
        pools.draw(totals, _rates_of_draws(fit, edges, rates), generator)
        return
    for first, last in pairwise(edges):
        run = totals.take(slice(first, last))
        pools.draw(run, rates(int(fit[first]))[:, np.newaxis], generator)


def _rates_of_draws(
    fit: IntArray, edges: IntArray, rates: Callable[[int], FloatArray]
) -> FloatArray:
    """Return the rates of each draw, shape (n_bins, n_draws); draws of one fit stand together."""
    values = np.stack([rates(int(i)) for i in fit[edges[:-1]]], axis=1)
    return np.repeat(values, np.diff(edges), axis=1)


def sampled_metrics(metrics: Sequence[Metric], sampler: RowSampler) -> JointDraws:
    """Return the function that draws count and ranking metrics jointly.

    Parameters
    ----------
    metrics : sequence of CountMetric or RankingMetric
        The metrics; of the ranking ones those of `RANKING_METRICS`.
    sampler : RowSampler
        Where completed labels come from.

    Returns
    -------
    callable
        ``joint(n, rng)`` -> metric -> draws, nan where undefined.

    Raises
    ------
    ValueError
        If a ranking metric is not among those.

    Examples
    --------
    >>> from labelbayes.imputation.impute import impute
    >>> from labelbayes.metrics.registry import METRICS
    >>> evaluation = EvaluationSet([1, 0, None, None], [0.9, 0.8, 0.4, 0.2])
    >>> sampler = RowSampler.from_imputation(evaluation, impute(evaluation, [1, 0, 0.5, 0.5]))
    >>> joint = sampled_metrics([METRICS["recall"], METRICS["roc_auc"]], sampler)
    >>> draws = joint(4_000, np.random.default_rng(0))
    >>> sorted(set(draws["recall"].round(4).tolist()))
    [0.3333, 0.5, 1.0]
    """
    for metric in metrics:
        check_drawable(metric)
    return partial(_draw_metrics, tuple(metrics), sampler)


def check_drawable(metric: Metric) -> None:
    """Raise unless a metric follows from the totals of a draw.

    Parameters
    ----------
    metric : CountMetric or RankingMetric
        The metric.

    Raises
    ------
    ValueError
        If it is a ranking metric of the user's own.
    """
    if not isinstance(metric, CountMetric) and metric.name not in ("average_precision", "roc_auc"):
        raise ValueError(
            f"`metrics` must hold count metrics, 'roc_auc' or 'average_precision'; got a ranking "
            f"metric {metric.name!r}. Call it on completed labels instead."
        )


def _draw_metrics(
    metrics: Sequence[Metric], sampler: RowSampler, n: int, rng: np.random.Generator
) -> dict[str, FloatArray]:
    return drawn_metrics(metrics, sampler, sampler.draw(n, rng))


def drawn_metrics(
    metrics: Sequence[Metric], sampler: RowSampler, totals: Totals
) -> dict[str, FloatArray]:
    """Return the metrics of completed sets.

    Parameters
    ----------
    metrics : sequence of CountMetric or RankingMetric
        The metrics; of the ranking ones those of `RANKING_METRICS`.
    sampler : RowSampler
        Where the completed sets come from.
    totals : Totals
        What it drew.

    Returns
    -------
    dict of str to ndarray of float, shape (n,)
        Values by metric, nan where undefined.
    """
    cells = completed_cells(sampler.known, totals)
    return {
        metric.name: metric(*cells)
        if isinstance(metric, CountMetric)
        else ranking_values(metric.name, sampler.ranked, totals)
        for metric in metrics
    }


def completed_cells(known: Counts, totals: Totals) -> Cells:
    """Return the confusion matrix of each completed set.

    Parameters
    ----------
    known : Counts
        Labeled rows.
    totals : Totals
        Draws of the others.

    Returns
    -------
    tuple of ndarray of float, each of shape (n,)
        tp, fp, fn, tn.
    """
    u = totals.true_positive
    v = totals.n_positive - u
    return (
        known.tp + u,
        known.fp + (known.unlabeled_predicted_positive - u),
        known.fn + v,
        known.tn + (known.unlabeled_predicted_negative - v),
    )


def ranking_values(name: str, ranked: RankedRows, totals: Totals) -> FloatArray:
    """Return a ranking metric of each completed set.

    Parameters
    ----------
    name : {"roc_auc", "average_precision"}
        Which.
    ranked : RankedRows
        Rows by score.
    totals : Totals
        Draws of the missing labels.

    Returns
    -------
    ndarray of float, shape (n,)
        Values, nan where undefined.
    """
    positive = ranked.n_known_positive + totals.n_positive
    if name == "average_precision":
        above, below = known_precision_sum(ranked) + totals.precision_sum, positive
    else:
        rank_sum = ranked.known_rank_sum + totals.rank_sum
        above = rank_sum - positive * (positive - 1.0) / 2.0
        below = positive * (ranked.n - positive)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = above / below
    # Sums of many reciprocals may pass 1 by round-off.
    return np.where(below > 0, np.minimum(values, 1.0), np.nan)
