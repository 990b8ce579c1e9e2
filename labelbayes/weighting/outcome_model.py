"""The outcome model alone: P(y = 1) in the place of every label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.metrics.registry import Metric
from labelbayes.results.sentences import Target
from labelbayes.weighting.outcome import Outcome
from labelbayes.weighting.rows import WeightedRows
from labelbayes.weighting.scores import Masses, score_metric
from labelbayes.weighting.weighted import MetricRange, WeightedFit, features_text, kept_rows


def fit_outcome_model(
    evaluation: EvaluationSet,
    rows: WeightedRows,
    outcome: Outcome,
    metrics: Sequence[Metric],
    *,
    target: Target,
) -> WeightedFit:
    """Return values and influences when the outcome model stands for all labels.

    Parameters
    ----------
    evaluation : EvaluationSet
        All rows.
    rows : WeightedRows
        Those that are kept.
    outcome : Outcome
        P(y = 1) of all rows.
    metrics : sequence of CountMetric or RankingMetric
        What is asked for.
    target : {"sample", "population"}
        For these rows the only noise is that of labels given the model; for the population that
        of rows.

    Returns
    -------
    WeightedFit
        Not yet laws.

    Notes
    -----
    **Assumes** that the outcome model is exactly right: its own uncertainty is not part of the
    error, and labels play no part beside it.
    """
    kept = kept_rows(evaluation, rows)
    m = rows.take(outcome.p)
    noise = np.sqrt(m * (1 - m)) if target == "sample" else None
    # Nothing is weighted, and nothing of the noise is spared by a label.
    plain = replace(rows, weight=np.zeros(len(m)), p=np.zeros(len(m)), clusters=None, notes=())
    masses = Masses(m.copy(), 1.0 - m, noise, None if noise is None else -noise)
    given = features_text(outcome.features, "what the outcome model depends on")
    return WeightedFit(
        {metric.name: score_metric(metric, kept, masses, plain) for metric in metrics},
        {
            metric.name: MetricRange(metric.lowest, metric.highest, metric.undefined_when)
            for metric in metrics
        },
        replace(plain, clusters=rows.clusters) if target == "population" else plain,
        f"outcome model alone, denominator: the number of rows, {rows.n:,.0f}; {outcome.method}",
        given,
        "an outcome model that is exactly right (its own uncertainty is not included)",
        f"labels missing at random given {given}; the outcome model is exactly right",
    )
