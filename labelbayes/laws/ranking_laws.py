"""Laws of ranking metrics under a belief, beside those of count metrics, from the same draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.laws import average_precision, roc_auc
from labelbayes.laws.average_precision import average_precision_law
from labelbayes.laws.missing_cells import Fits
from labelbayes.laws.roc_auc import roc_auc_law
from labelbayes.laws.row_draws import RowSampler
from labelbayes.metrics.ranking import RankingMetric
from labelbayes.results.distribution import Law
from labelbayes.results.estimates import JointDraws

#: Ways to ask for the law of a ranking metric, by its name.
KINDS = {"average_precision": average_precision.KINDS, "roc_auc": roc_auc.KINDS}


def ranking_laws(
    metrics: Sequence[RankingMetric],
    sampler: RowSampler,
    fits: Fits,
    joint: JointDraws,
    *,
    method: str,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[dict[str, Law], dict[str, str]]:
    """Return the laws of ranking metrics, and what kind each one is.

    Parameters
    ----------
    metrics : sequence of RankingMetric
        "roc_auc", "average_precision".
    sampler : RowSampler
        Rows by score, and their missing ones.
    fits : Fits
        Rates of these under each fit of the belief.
    joint : callable
        ``joint(n, rng)`` -> draws of these metrics, for laws that have to be sampled.
    method : str
        How the law is asked for: one of `KINDS`; a metric that has no such law takes "exact".
    n_draws : int
        Draws, where there are any.
    rng : numpy.random.Generator
        Where they come from.

    Returns
    -------
    tuple of dict
        Laws, and methods in words, by metric.

    Raises
    ------
    ValueError
        If a law of that kind cannot be had for these rows.
    """

    @cache
    def draws() -> dict[str, FloatArray]:
        # One set of completions for all metrics that are sampled.
        return joint(n_draws, rng)

    laws: dict[str, Law] = {}
    methods: dict[str, str] = {}
    for metric in metrics:
        # Average precision has no lattice and no Edgeworth form: the best that it has, then.
        kind = method if method in KINDS[metric.name] else "exact"
        draw = partial(_pick, draws, metric.name)
        if metric.name == "roc_auc":
            law, words, _ = roc_auc_law(sampler.ranked, sampler.cells, fits, draw, kind=kind)
        else:
            law, words = average_precision_law(sampler.ranked, sampler.cells, fits, draw, kind=kind)
        laws[metric.name], methods[metric.name] = law, words
    return laws, methods


def _pick(draws: Callable[[], dict[str, FloatArray]], name: str) -> FloatArray:
    return draws()[name]
