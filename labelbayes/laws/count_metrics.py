"""Exact laws of count metrics, and joint draws of them, from the laws of the two counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.data.evaluation_set import Counts
from labelbayes.laws.missing_counts import CountPair
from labelbayes.metrics.confusion import CountMetric
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
    which = rng.permutation(np.arange(n) % len(pairs))
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

    def joint(n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        cells = draw_counts(known, pairs, n, rng)
        return {metric.name: metric(*cells) for metric in metrics}

    return joint
