"""Draws of metrics for rows drawn like these: the sampling of rows as well as the labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from labelbayes._checks import FloatArray, IntArray
from labelbayes.data.evaluation_set import Counts
from labelbayes.laws.count_metrics import draw_counts
from labelbayes.laws.missing_counts import CountPair, WeightedP
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import Metric
from labelbayes.results.distribution import DrawsLaw
from labelbayes.results.estimates import JointDraws

Cells = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
#: (number of draws, generator) -> counts of the completed sample, weights in the population.
CellSampler = Callable[[int, np.random.Generator], tuple[Cells, Cells]]

#: Pseudo-row in each cell of the confusion matrix (Jeffreys), so that 50 of 50 is not certainty.
HALF_ROW = 0.5
#: Distinct probabilities kept apart; more are put into groups of equal size.
MOST_GROUPS = 1_024
#: Gamma variates held at a time.
BLOCK_VARIATES = 2_000_000


def completed_cells(
    known: Counts, pairs: Sequence[CountPair], pseudo_rows: float = HALF_ROW
) -> CellSampler:
    """Return the sampler for an estimated p: complete the labels, then one Dirichlet over all rows.

    Parameters
    ----------
    known : Counts
        Confusion matrix of the labeled rows.
    pairs : sequence of tuple of IntegerLaw
        Laws of U and V, one pair per refit.
    pseudo_rows : float, default 0.5
        Pseudo-rows in each cell.

    Returns
    -------
    callable
        ``sample(n, rng)`` -> completed counts, and weights of the cells in the population.
    """
    return partial(_complete_and_weigh, known, pairs, pseudo_rows)


def _complete_and_weigh(
    known: Counts,
    pairs: Sequence[CountPair],
    pseudo_rows: float,
    n: int,
    rng: np.random.Generator,
) -> tuple[Cells, Cells]:
    counts = draw_counts(known, pairs, n, rng)
    tp, fp, fn, tn = (rng.standard_gamma(cell + pseudo_rows) for cell in counts)
    return counts, (tp, fp, fn, tn)


def weighted_cells(
    known: Counts, positive: WeightedP, negative: WeightedP, pseudo_rows: float = HALF_ROW
) -> CellSampler:
    """Return the sampler for a known p: a gamma weight a row, its label replaced by p.

    Completing the labels first would count their noise twice: with p known, drawing rows and
    drawing labels are one and the same uncertainty. Completed labels only say how often the
    metric of these rows is undefined.

    Parameters
    ----------
    known : Counts
        Confusion matrix of the labeled rows.
    positive, negative : WeightedP
        Missing rows predicted positive and negative.
    pseudo_rows : float, default 0.5
        Pseudo-rows in each cell.

    Returns
    -------
    callable
        ``sample(n, rng)`` -> completed counts, and weights of the cells in the population.
    """
    groups = [_group(rows.p[0], rows.count) for rows in (positive, negative)]
    return partial(_weigh_rows, known, (positive.law(0), negative.law(0)), groups, pseudo_rows)


def _weigh_rows(
    known: Counts,
    pair: CountPair,
    groups: Sequence[tuple[FloatArray, IntArray]],
    pseudo_rows: float,
    n: int,
    rng: np.random.Generator,
) -> tuple[Cells, Cells]:
    labeled = [
        rng.standard_gamma(cell + pseudo_rows, size=n)
        for cell in (known.tp, known.fp, known.fn, known.tn)
    ]
    (u, not_u), (v, not_v) = (_gamma_sums(p, count, n, rng) for p, count in groups)
    weights = (labeled[0] + u, labeled[1] + not_u, labeled[2] + v, labeled[3] + not_v)
    return draw_counts(known, [pair], n, rng), weights


def _group(p: FloatArray, count: IntArray) -> tuple[FloatArray, IntArray]:
    """Distinct probabilities and their rows; where there are many, groups of neighbors.

    The mean of a group stands for its members: what is lost is the variance of p inside a group,
    a 1/1024 of the range wide.
    """
    values, inverse = np.unique(p, return_inverse=True)
    weight = np.bincount(inverse, weights=count, minlength=len(values))
    if len(values) > MOST_GROUPS:
        rank = np.cumsum(weight) - weight / 2
        group = (rank * MOST_GROUPS / weight.sum()).astype(np.int64)
        total = np.bincount(group, weights=weight, minlength=MOST_GROUPS)
        mean = np.bincount(group, weights=weight * values, minlength=MOST_GROUPS)
        used = total > 0
        return mean[used] / total[used], total[used].astype(np.int64)
    return values, weight.astype(np.int64)


def _gamma_sums(
    p: FloatArray, count: IntArray, n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return sums over rows of weight x p and of weight x (1 - p), for n draws of the weights."""
    positive, negative = np.zeros(n), np.zeros(n)
    rows = max(1, BLOCK_VARIATES // max(1, len(p)))
    for start in range(0, n, rows):
        part = slice(start, min(start + rows, n))
        weight = rng.standard_gamma(count, size=(part.stop - part.start, len(p)))
        positive[part], negative[part] = weight @ p, weight @ (1 - p)
    return positive, negative


def population_draws(metrics: Sequence[CountMetric], sample: CellSampler) -> JointDraws:
    """Return the function that draws all metrics of the population jointly.

    Parameters
    ----------
    metrics : sequence of CountMetric
        The metrics.
    sample : callable
        ``sample(n, rng)`` -> counts of the completed sample, weights in the population.

    Returns
    -------
    callable
        ``joint(n, rng)`` -> metric -> draws. A metric that the completed sample leaves
        undefined is nan: its value in the population would be the prior alone.
    """
    return partial(_draw_metrics, metrics, sample)


def _draw_metrics(
    metrics: Sequence[CountMetric], sample: CellSampler, n: int, rng: np.random.Generator
) -> dict[str, FloatArray]:
    counts, weights = sample(n, rng)
    return {
        metric.name: np.where(np.isnan(metric(*counts)), np.nan, metric(*weights))
        for metric in metrics
    }


def draws_laws(
    metrics: Sequence[Metric], joint: JointDraws, n_draws: int, rng: np.random.Generator
) -> dict[str, DrawsLaw]:
    """Return the empirical law of each metric.

    Parameters
    ----------
    metrics : sequence of CountMetric or RankingMetric
        The metrics.
    joint : callable
        ``joint(n, rng)`` -> metric -> draws.
    n_draws : int
        How many draws.
    rng : numpy.random.Generator
        Where they come from.

    Returns
    -------
    dict of str to DrawsLaw
        Laws by metric name.
    """
    columns = joint(n_draws, rng)
    return {
        metric.name: DrawsLaw(
            columns[metric.name],
            metric.undefined_when if np.isnan(columns[metric.name]).any() else "",
        )
        for metric in metrics
    }
