"""The rung of the optimum: what no classifier can exceed, in the form that the ladder calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from labelbayes.laws.rungs import RungInputs
from labelbayes.optimal.estimate import estimate_optimal
from labelbayes.optimal.headroom import LIMITS, bound_headroom
from labelbayes.optimal.soft_labels import check_soft_labels
from labelbayes.results.estimates import Bounds


def headroom(inputs: RungInputs) -> Bounds:
    """Return what the metrics of any classifier are at most, where soft labels say so.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given, with soft labels.

    Returns
    -------
    Bounds
        For those of accuracy, balanced_accuracy and roc_auc that are asked for.

    Raises
    ------
    ValueError
        If there is no soft label in [0, 1] for each row, the target is these rows alone (which a
        classifier may get right by luck), or none of these metrics is asked for.
    """
    if inputs.soft_labels is None:
        raise ValueError("no soft labels are given")
    if inputs.target != "population":
        raise ValueError(
            "the optimum speaks of rows drawn like these, and on these rows alone a classifier may "
            "be luckier: ask for the target population"
        )
    asked = [metric.name for metric in inputs.metrics if metric.name in LIMITS]
    if not asked:
        raise ValueError(f"soft labels limit {', '.join(LIMITS)} only")
    count = inputs.evaluation.count
    soft_labels = check_soft_labels("soft_labels", inputs.soft_labels)
    if len(soft_labels) != len(count):
        raise ValueError(
            f"`soft_labels` must hold one value per row; got {len(soft_labels)} for {len(count)}."
        )
    optimum = estimate_optimal(
        np.repeat(soft_labels, count),
        np.repeat(inputs.evaluation.y_true, count),
        rng=inputs.rng(),
    )
    limits = bound_headroom(optimum)
    return replace(limits, contents={name: limits[name] for name in asked})
