"""Prediction-powered accuracy: labels drawn at random, and predictions for all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.weighting.outcome import Outcome
from labelbayes.weighting.rows import WeightedRows
from labelbayes.weighting.scores import Scored
from labelbayes.weighting.weighted import MetricRange, WeightedFit, kept_rows


def fit_prediction_powered(
    evaluation: EvaluationSet, rows: WeightedRows, outcome: Outcome
) -> WeightedFit:
    """Return the prediction-powered accuracy and its influences, for the population.

    Parameters
    ----------
    evaluation : EvaluationSet
        All rows, some labels missing.
    rows : WeightedRows
        Those that are kept.
    outcome : Outcome
        P(y = 1) of all rows.

    Returns
    -------
    WeightedFit
        The metric ``accuracy``, not yet a law.

    Raises
    ------
    ValueError
        If no label is missing, so that there is nothing to predict.

    Notes
    -----
    **Assumes** that labels are missing completely at random; whatever the predictions are, they
    cost no bias. The mean over labeled rows is corrected by lambda times the difference between
    mean predictions of missing and of labeled rows, with lambda = cov(correct, predicted) /
    ((1 + n / N) var(predicted)) for n labeled and N missing rows. AIPW under a constant
    propensity is the case lambda = N / (n + N).

    References
    ----------
    .. [1] A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: efficient prediction-powered
       inference", arXiv 2311.01453, 2023.
    """
    kept = kept_rows(evaluation, rows)
    m = rows.take(outcome.p)
    predicted = np.where(kept.y_pred == 1, m, 1 - m)
    correct = (kept.y_true == kept.y_pred).astype(np.float64)
    seen, missing = rows.is_labeled.astype(np.float64), (~rows.is_labeled).astype(np.float64)
    n_seen, n_missing = rows.total(seen), rows.total(missing)
    if n_missing == 0:
        raise ValueError("Prediction-powered estimates need rows without a label; all have one.")

    def mean(values: FloatArray, where: FloatArray) -> float:
        return rows.total(where * values) / rows.total(where)

    center, prediction = mean(correct, seen), mean(predicted, seen)
    everything = np.ones(len(m))
    spread = mean((predicted - mean(predicted, everything)) ** 2, everything)
    together = mean((correct - center) * (predicted - prediction), seen)
    power = together / ((1 + n_seen / n_missing) * spread) if spread > 0 else 0.0
    of_missing = mean(predicted, missing)
    score = seen * (correct - center - power * (predicted - prediction)) / n_seen
    score += missing * power * (predicted - of_missing) / n_missing
    value = center + power * (of_missing - prediction)
    return WeightedFit(
        {"accuracy": Scored(value, score, None, n_seen)},
        {"accuracy": MetricRange(0.0, 1.0, "there are no rows")},
        replace(rows, weight=seen, notes=()),
        f"prediction-powered (PPI++, lambda {power:.3g}), denominator: the number of labels, "
        f"{n_seen:,.0f}; {outcome.method}",
        "nothing",
        "a draw of labels that every row had the same chance in",
        "labels missing completely at random",
    )
