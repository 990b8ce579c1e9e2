"""Exact laws of count metrics, and joint draws of them, from the laws of the two counts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from labelbayes._checks import FloatArray, check_type
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.laws.missing_counts import CountPair
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import Metric
from labelbayes.results.count_law import CountLaw
from labelbayes.results.distribution import Law
from labelbayes.results.estimates import JointDraws
from labelbayes.results.mixture import MixtureLaw


def exact_law(metric: CountMetric, known: Counts, pairs: Sequence[CountPair]) -> Law:
    """Return the exact law of a count metric, mixed over the pairs.

    Parameters
    ----------
    metric : CountMetric
        The metric.
    known : Counts
        Confusion matrix of the labeled rows.
    pairs : sequence of tuple of IntegerLaw
        Laws of U and V, one pair for each way the belief could have come out.

    Returns
    -------
    CountLaw or MixtureLaw
        A count law for one pair, a mixture for several.
    """
    cells = (known.tp, known.fp, known.fn, known.tn)
    laws = tuple(CountLaw(metric, cells, u, v) for u, v in pairs)
    return laws[0] if len(laws) == 1 else MixtureLaw(laws)


def draw_counts(
    known: Counts, pairs: Sequence[CountPair], n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return completed confusion matrices; nothing of size draws x rows is made.

    Parameters
    ----------
    known : Counts
        Confusion matrix of the labeled rows.
    pairs : sequence of tuple of IntegerLaw
        Laws of U and V; the draws are spread over them evenly.
    n : int
        How many.
    rng : numpy.random.Generator
        Where they come from.

    Returns
    -------
    tuple of ndarray of float, each of shape (n,)
        tp, fp, fn, tn.
    """
    u, v = np.empty(n), np.empty(n)
    # Every pair is as likely as every other in each draw, also where n is no multiple of them.
    which = rng.permutation(rng.permutation(len(pairs))[np.arange(n) % len(pairs)])
    for i, (first, second) in enumerate(pairs):
        rows = which == i
        size = int(rows.sum())
        u[rows], v[rows] = first.draws(size, rng), second.draws(size, rng)
    first, second = pairs[0]
    return known.tp + u, known.fp + (first.n - u), known.fn + v, known.tn + (second.n - v)


def joint_draws(
    metrics: Sequence[CountMetric], known: Counts, pairs: Sequence[CountPair]
) -> JointDraws:
    """Return the function that draws all metrics jointly.

    Parameters
    ----------
    metrics : sequence of CountMetric
        The metrics.
    known : Counts
        Confusion matrix of the labeled rows.
    pairs : sequence of tuple of IntegerLaw
        Laws of U and V.

    Returns
    -------
    callable
        ``joint(n, rng)`` -> metric -> draws.
    """
    return partial(_draw_metrics, metrics, known, pairs)


def _draw_metrics(
    metrics: Sequence[CountMetric],
    known: Counts,
    pairs: Sequence[CountPair],
    n: int,
    rng: np.random.Generator,
) -> dict[str, FloatArray]:
    cells = draw_counts(known, pairs, n, rng)
    return {metric.name: metric(*cells) for metric in metrics}


def true_values(metrics: Sequence[Metric], truth: EvaluationSet, known: Counts) -> dict[str, float]:
    """Return the metrics on complete labels.

    Parameters
    ----------
    metrics : sequence of CountMetric or RankingMetric
        The metrics.
    truth : EvaluationSet
        All labels.
    known : Counts
        Counts of the same rows while labels were missing.

    Returns
    -------
    dict of str to float
        Values by name; nan where undefined.

    Raises
    ------
    ValueError
        If labels are missing, these cannot be the same rows, or a ranking metric lacks the score.
    """
    check_type("truth", truth, EvaluationSet)
    if truth.n_unlabeled:
        raise ValueError(
            f"`truth` must have every label; {truth.n_unlabeled:,} of {truth.n:,} are missing. "
            "Pass the complete set, or leave it out."
        )
    counts = truth.counts
    u, v = counts.tp - known.tp, counts.fn - known.fn
    not_u = known.unlabeled_predicted_positive - u
    not_v = known.unlabeled_predicted_negative - v
    fits = min(u, v, not_u, not_v) >= 0
    if not fits or (counts.fp, counts.tn) != (known.fp + not_u, known.tn + not_v):
        raise ValueError(
            f"`truth` must complete the evaluation's labels; its counts are {counts}, those of "
            f"the evaluation {known}. Pass the same rows with the same decisions."
        )
    return {metric.name: _true_value(metric, truth) for metric in metrics}


def _true_value(metric: Metric, truth: EvaluationSet) -> float:
    if isinstance(metric, CountMetric):
        counts = truth.counts
        return float(metric(counts.tp, counts.fp, counts.fn, counts.tn))
    if truth.y_score is None:
        raise ValueError(
            f"`truth` must have the scores that {metric.name!r} ranks by; it has none. Pass the "
            "complete set with `y_score`."
        )
    return metric(truth.y_true, truth.y_score, truth.count)
