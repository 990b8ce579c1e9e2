"""The rungs of the assumption ladder that rest on known positives and a belief about beta."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from labelbayes.bounds.positive_unlabeled import bound_positive_unlabeled
from labelbayes.bounds.scar_identities import scar_roc_auc
from labelbayes.bounds.score_blocks import make_blocks
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.laws.rungs import RungInputs
from labelbayes.results.estimates import Bounds

NEGATIVE_ASSUMPTION = "every unlabeled row is negative"


def positive_unlabeled(inputs: RungInputs) -> Bounds:
    """Return bounds under SCAR, as a rung of the ladder.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given, `beta` among it.

    Returns
    -------
    Bounds
        See `bound_positive_unlabeled`.

    Raises
    ------
    ValueError
        If there is no known positive, beta is missing, or the data contradict it.
    """
    if not _n_known_positive(inputs.evaluation):
        raise ValueError("no positive is known, so nothing says how the hidden ones rank")
    if inputs.beta is None:
        raise ValueError("beta, the share of positives among unlabeled rows, was not given")
    found = bound_positive_unlabeled(inputs.evaluation, inputs.beta, target=inputs.target)
    asked = [
        metric
        for metric in inputs.metrics
        if inputs.target == "sample" or metric.name != "average_precision"
    ]
    return found.bounds(asked)


def unlabeled_negative(inputs: RungInputs) -> Bounds:
    """Return the metrics with unlabeled rows taken for negatives, as a rung of the ladder.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given.

    Returns
    -------
    Bounds
        One value a metric, both ends the same. A note says whether it is pessimistic: of the
        metrics at a cutoff, precision always is; false positive rate and ROC area are where known
        positives rank better than the rows at large.

    Raises
    ------
    ValueError
        If there is no known positive, nothing is unlabeled, or the target is the population.
    """
    evaluation = inputs.evaluation
    if not _n_known_positive(evaluation):
        raise ValueError("no positive is known")
    if not evaluation.n_unlabeled:
        raise ValueError("no row is unlabeled")
    if inputs.target == "population":
        raise ValueError("taking unlabeled rows for negatives is no statement about a population")
    found = bound_positive_unlabeled(evaluation, 0.0).bounds(inputs.metrics)
    # Given the assumption nothing is left to chance, so the values carry no level.
    values = {name: replace(span, ci_prob=math.nan) for name, span in found.items()}
    return replace(
        found,
        contents=values,
        method="unlabeled taken as negative (beta = 0)",
        assumption=NEGATIVE_ASSUMPTION,
        notes=(describe_pessimism(evaluation),),
    )


def describe_pessimism(evaluation: EvaluationSet) -> str:
    """Say whether taking unlabeled rows for negatives understates the classifier.

    Parameters
    ----------
    evaluation : EvaluationSet
        Known positives and unlabeled rows.

    Returns
    -------
    str
        A sentence; by Lemma 4 the false positive rate falls as positives are added if and only
        if known positives rank better than the rows at large.

    Examples
    --------
    >>> describe_pessimism(EvaluationSet([1, None, None], [0.9, 0.6, 0.1]))[:52]
    'Unlabeled rows were taken for negatives. Known posit'
    """
    blocks = make_blocks(evaluation)
    known = np.asarray(blocks.known_positive[1:] / max(1, blocks.n_known_positive))
    everywhere = bool((known >= blocks.rank[1:] / blocks.rank[-1] - 1e-12).all())
    area, counts = scar_roc_auc(blocks, 0.0), evaluation.counts
    above = counts.tp + counts.fp + counts.unlabeled_predicted_positive
    n_known = counts.tp + counts.fn
    is_better_here = counts.tp * evaluation.n >= above * n_known
    said = "Unlabeled rows were taken for negatives."
    if everywhere:
        return (
            f"{said} Known positives rank better than all rows at every cutoff, so under SCAR this "
            "understates ROC curve, ROC area and precision."
        )
    if math.isnan(area) or area > 0.5:
        where = "at this cutoff too" if is_better_here else "but not at this cutoff"
        return (
            f"{said} Known positives rank better than random on average, {where}, but not at every "
            "one: under SCAR this understates precision and ROC area, not each point of the curve."
        )
    return (
        f"{said} Known positives do not rank better than random (area {area:.3f}): except for "
        "precision, this is not pessimistic."
    )


def _n_known_positive(evaluation: EvaluationSet) -> int:
    return evaluation.counts.tp + evaluation.counts.fn
