"""One metric along a range of odds ratios of the missing labels, and its bounds on the way."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.bounds.sensitivity import mix_pairs
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.count_metrics import exact_law
from labelbayes.laws.missing_counts import CountPair, count_pairs
from labelbayes.metrics.confusion import CountMetric


class TiltPath(NamedTuple):
    """A metric where all odds are off by one factor, and where each is off by up to that factor.

    Attributes
    ----------
    odds_ratio : ndarray of float, shape (2 * n_steps + 1,)
        Factors, from the inverse of the largest to the largest; 1 is in the middle.
    mean, low, high : ndarray of float, same shape
        Mean and interval of the law at each factor.
    lowest, highest : ndarray of float, same shape
        `bound_tilt` at each factor or its inverse, whichever is above 1.
    """

    odds_ratio: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    lowest: FloatArray
    highest: FloatArray


def follow_tilt(
    evaluation: EvaluationSet,
    imputation: Imputation,
    metric: CountMetric,
    largest: float,
    *,
    n_steps: int,
    ci_prob: float,
) -> TiltPath:
    """Return laws and bounds of a metric along a range of odds ratios.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels and decisions.
    imputation : Imputation
        Belief about the missing labels.
    metric : CountMetric
        The metric.
    largest : float > 1
        Largest factor on their odds.
    n_steps : int
        Factors on either side of 1, equally far apart in logs.
    ci_prob : float in (0, 1)
        Level.

    Returns
    -------
    TiltPath
        Values at each factor.

    Notes
    -----
    The laws of U and V at a factor and at its inverse serve the bounds between them too.
    """
    steps = np.exp(np.linspace(-1, 1, 2 * n_steps + 1) * math.log(largest))
    pairs = [count_pairs(evaluation, imputation.tilt(step)) for step in steps]
    tail = (1 - ci_prob) / 2

    def end(of_positive: list[CountPair], of_negative: list[CountPair], q: float) -> float:
        law = exact_law(metric, evaluation.counts, mix_pairs(of_positive, of_negative))
        return float(law.quantile(q))

    laws = [exact_law(metric, evaluation.counts, pair) for pair in pairs]
    spans = [law.interval(ci_prob) for law in laws]
    outward = list(zip(pairs[n_steps::-1], pairs[n_steps:], strict=True))
    lowest = np.array([end(lowered, raised, tail) for lowered, raised in outward])
    highest = np.array([end(raised, lowered, 1 - tail) for lowered, raised in outward])
    return TiltPath(
        odds_ratio=steps,
        mean=np.array([law.mean for law in laws]),
        low=np.array([span.low for span in spans]),
        high=np.array([span.high for span in spans]),
        lowest=np.concatenate([lowest[:0:-1], lowest]),
        highest=np.concatenate([highest[:0:-1], highest]),
    )
