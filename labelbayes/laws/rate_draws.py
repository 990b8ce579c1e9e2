"""Draws of all metrics where missing labels share one random rate per decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from labelbayes._checks import FloatArray, read_only
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.impute import impute
from labelbayes.laws.missing_cells import cells_of
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.row_draws import RowSampler, drawn_rates, sampled_metrics
from labelbayes.laws.row_weights import weighted_metrics
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import Metric
from labelbayes.results.estimates import JointDraws

#: (number of draws, generator) -> rates of rows predicted negative and positive, shape (n, 2).
RatePairs = Callable[[int, np.random.Generator], FloatArray]

#: Variates held at a time.
BLOCK_VARIATES = 2_000_000
#: Rates that stand for a continuous law where draws of the population are spread over them.
N_RATES = 2_000


def beta_rates(negative: tuple[float, float], positive: tuple[float, float]) -> RatePairs:
    """Return independent beta rates of the two decisions.

    Parameters
    ----------
    negative, positive : tuple of float
        Parameters (a, b) for rows predicted negative and positive.

    Returns
    -------
    callable
        ``rates(n, rng)`` -> rates, shape (n, 2).
    """
    return partial(_draw_beta, negative, positive)


def _draw_beta(
    negative: tuple[float, float],
    positive: tuple[float, float],
    n: int,
    rng: np.random.Generator,
) -> FloatArray:
    return np.column_stack([rng.beta(*negative, size=n), rng.beta(*positive, size=n)])


def resampled_rates(known: Counts) -> RatePairs:
    """Return the rates of resampled labeled rows.

    Parameters
    ----------
    known : Counts
        Labeled rows.

    Returns
    -------
    callable
        ``rates(n, rng)`` -> rates, shape (n, 2); 1/2 where a resample has no such row.
    """
    return partial(_resample_rates, known)


def _resample_rates(known: Counts, n: int, rng: np.random.Generator) -> FloatArray:
    cells = np.array([known.tp, known.fp, known.fn, known.tn])
    tp, fp, fn, tn = rng.multinomial(cells.sum(), cells / cells.sum(), size=n).T
    with np.errstate(invalid="ignore"):
        rates = np.column_stack([fn / (fn + tn), tp / (tp + fp)])
    # A resample without a row of one decision says nothing about it: even odds then.
    return np.nan_to_num(rates, nan=0.5)


def completed_metrics(
    metrics: Sequence[Metric], evaluation: EvaluationSet, rates: RatePairs
) -> JointDraws:
    """Return the function that completes missing labels at random rates and draws all metrics.

    Parameters
    ----------
    metrics : sequence of CountMetric or RankingMetric
        The metrics.
    evaluation : EvaluationSet
        Labels, decisions and scores.
    rates : callable
        ``rates(n, rng)`` -> a rate per decision for each draw.

    Returns
    -------
    callable
        ``joint(n, rng)`` -> metric -> draws.
    """
    ranked = RankedRows.from_evaluation(evaluation)
    cells = cells_of(ranked, evaluation, evaluation.y_pred.astype(np.int64))
    sampler = RowSampler(ranked, cells, evaluation.counts, drawn_rates(rates))
    return sampled_metrics(metrics, sampler)


def population_metrics(
    metrics: Sequence[Metric],
    evaluation: EvaluationSet,
    rates: RatePairs,
    rng: np.random.Generator,
) -> JointDraws:
    """Return the function that completes labels at random rates and weighs all rows at random.

    Parameters
    ----------
    metrics : sequence of CountMetric or RankingMetric
        The metrics.
    evaluation : EvaluationSet
        Labels, decisions and scores.
    rates : callable
        ``rates(n, rng)`` -> a rate per decision for each draw.
    rng : numpy.random.Generator
        Where the 2,000 pairs of rates come from that draws are spread over.

    Returns
    -------
    callable
        ``joint(n, rng)`` -> metric -> draws.
    """
    values = rates(1 + N_RATES, rng)
    index = evaluation.y_pred.astype(np.int64)
    belief = Imputation(
        p=read_only(np.where(evaluation.is_labeled, evaluation.y_true, values[0][index])),
        is_labeled=evaluation.is_labeled,
        method="rates per decision",
        assumption="",
        bin_index=read_only(index),
        bin_values=read_only(values),
    )
    return weighted_metrics(metrics, evaluation, belief)


def labeled_population(metrics: Sequence[Metric], evaluation: EvaluationSet) -> JointDraws:
    """Return the function that weighs the labeled rows at random (the Bayesian bootstrap).

    Parameters
    ----------
    metrics : sequence of CountMetric or RankingMetric
        The metrics.
    evaluation : EvaluationSet
        Labels, decisions and scores; at least one label.

    Returns
    -------
    callable
        ``joint(n, rng)`` -> metric -> draws.
    """
    labeled = evaluation.subset(evaluation.is_labeled)
    return weighted_metrics(metrics, labeled, impute(labeled))


def resampled_metrics(metrics: Sequence[Metric], evaluation: EvaluationSet) -> JointDraws:
    """Return the function that resamples the labeled rows with replacement (Efron's bootstrap).

    Parameters
    ----------
    metrics : sequence of CountMetric or RankingMetric
        The metrics.
    evaluation : EvaluationSet
        Labels, decisions and scores; at least one label.

    Returns
    -------
    callable
        ``joint(n, rng)`` -> metric -> draws.
    """
    labeled = evaluation.subset(evaluation.is_labeled)
    decided = labeled.y_pred == 1
    kinds = []
    for rows in (decided, ~decided):
        # Steps of one decision; the other decision's rows count zero there.
        count = np.where(rows, labeled.count, 0)
        kinds += [*_steps_of(labeled, count)]
    return partial(_resample, tuple(metrics), np.array(kinds, dtype=np.int64))


def _steps_of(labeled: EvaluationSet, count: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Return positives and negatives at each score, of the rows that count."""
    assert labeled.y_score is not None  # ranking metrics need it
    score = np.unique(-labeled.y_score, return_inverse=True)[1]
    n_steps = int(score.max()) + 1
    positive = np.bincount(score, weights=count * labeled.y_true, minlength=n_steps)
    negative = np.bincount(score, weights=count * (1 - labeled.y_true), minlength=n_steps)
    return positive.astype(np.float64), negative.astype(np.float64)


def _resample(
    metrics: Sequence[Metric], kinds: np.ndarray, n: int, rng: np.random.Generator
) -> dict[str, FloatArray]:
    """Draw multinomial counts of (tp, fp, fn, tn) by step, a block of draws at a time."""
    total = int(kinds.sum())
    found = {metric.name: np.empty(n) for metric in metrics}
    size = max(1, BLOCK_VARIATES // kinds.size)
    for start in range(0, n, size):
        part = slice(start, min(n, start + size))
        drawn = rng.multinomial(total, kinds.ravel() / total, size=part.stop - start)
        drawn = drawn.reshape(-1, *kinds.shape).astype(np.float64)
        tp, fp, fn, tn = np.moveaxis(drawn, 1, 0)
        for metric in metrics:
            if isinstance(metric, CountMetric):
                cells = (cell.sum(axis=1) for cell in (tp, fp, fn, tn))
                found[metric.name][part] = metric(*cells)
            else:
                found[metric.name][part] = metric.value(tp + fn, fp + tn)
    return found
