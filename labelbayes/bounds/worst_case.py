"""Bounds that hold whatever the missing labels are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from labelbayes._checks import CI_PROB, FloatArray, check_choice, check_open_unit, check_type
from labelbayes.bounds.imbens_manski import cover_bounds
from labelbayes.bounds.ranking import OUTER, bound_ranking, cover_ranking
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.rungs import RungInputs
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import Metric, resolve_metrics, split_metrics
from labelbayes.results.estimates import Bounds
from labelbayes.results.interval import Interval
from labelbayes.results.sentences import TARGETS, Target, attained_bounds, population_bounds


def bound_worst_case(
    evaluation: EvaluationSet,
    *,
    metrics: Sequence[str | Metric] | None = None,
    target: Target = "sample",
    ci_prob: float = CI_PROB,
) -> Bounds:
    """Return the smallest and largest value of each metric over all completions of the labels.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels and decisions; no label is needed.
    metrics : sequence of str, CountMetric or RankingMetric, optional
        None stands for accuracy, precision, recall and f1, with a score also for roc_auc and
        average_precision.
    target : {"sample", "population"}, default "sample"
        Bare bounds for these rows, or an Imbens-Manski interval for rows drawn like these.
    ci_prob : float, default 0.95
        Coverage of the latter.

    Returns
    -------
    Bounds
        An interval per metric. Completions that leave a metric undefined are left out, and
        `undefined_reason` says that there are some; nan where all do.

    Raises
    ------
    ValueError
        If an option is none of those above.

    See Also
    --------
    estimate_shared_rate : The weakest belief that gives a law.

    Notes
    -----
    **Assumes** nothing about the missing labels. Every count metric is largest when all missing
    rows that are predicted positive are positive and all others negative, and smallest the other
    way round, so the bounds are attained. ROC-AUC is extreme where the highest (or lowest) ranked
    missing rows are positive, for some number of them: attained too. The bounds of average
    precision are attained without ties; with tied scores they hold for every completion, and none
    need reach them, which a note then says.

    For the population the two ends are estimated; their standard errors come from the delta
    method on the six kinds of rows, each with half a row added so that an end at 0 or 1 is not
    taken for certain.

    References
    ----------
    .. [1] C. F. Manski, "Nonparametric bounds on treatment effects", American Economic Review
       80(2), 319-323, 1990.
    .. [2] G. W. Imbens and C. F. Manski, "Confidence intervals for partially identified
       parameters", Econometrica 72(6), 1845-1857, 2004.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, 1], y_pred=[1, 0, 1, 0])
    >>> print(bound_worst_case(evaluation)["precision"])
    [0.500, 1.000] (bounds)
    """
    check_type("evaluation", evaluation, EvaluationSet)
    asked = resolve_metrics(metrics, has_score=evaluation.y_score is not None)
    check_choice("target", target, TARGETS)
    share = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
    known, is_sample = evaluation.counts, target == "sample"
    counted, ranked = split_metrics(asked)
    intervals, reasons = {}, {}
    notes = [attained_bounds() if is_sample else population_bounds(share)]
    for metric in counted:
        bare, some_undefined = _attained(metric, known)
        intervals[metric.name] = bare if is_sample else _cover(metric, known, bare, share)
        if some_undefined:
            reasons[metric.name] = metric.undefined_when
    rows = RankedRows.from_evaluation(evaluation) if ranked else None
    for ranking in ranked:
        assert rows is not None  # made for these
        found = bound_ranking(ranking, rows)
        intervals[ranking.name] = (
            found.interval if is_sample else cover_ranking(ranking, rows, found, share)
        )
        if found.some_undefined:
            reasons[ranking.name] = ranking.undefined_when
        if not found.is_attained:
            notes.append(OUTER)
    return Bounds(
        {metric.name: intervals[metric.name] for metric in asked},
        method="worst case" if is_sample else "worst case, Imbens-Manski interval",
        assumption="nothing about the missing labels",
        target=target,
        statement="bounds" if is_sample else "confidence",
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=tuple(notes),
        undefined_reasons=reasons,
    )


def _attained(metric: CountMetric, known: Counts) -> tuple[Interval, bool]:
    """Extremes over completions, and whether some completion leaves the metric undefined.

    Only the corners of the grid of (U, V) can be undefined, so the corners and their neighbors
    hold both extremes.
    """
    n_positive = known.unlabeled_predicted_positive
    n_negative = known.unlabeled_predicted_negative
    u = np.unique(np.clip([0, 1, n_positive - 1, n_positive], 0, n_positive))[:, None]
    v = np.unique(np.clip([0, 1, n_negative - 1, n_negative], 0, n_negative))[None, :]
    values = metric(
        known.tp + u, known.fp + n_positive - u, known.fn + v, known.tn + n_negative - v
    )
    defined = values[~np.isnan(values)]
    if not len(defined):
        return Interval(math.nan, math.nan, math.nan, "bounds"), True
    span = Interval(float(defined.min()), float(defined.max()), math.nan, "bounds")
    return span, len(defined) < values.size


def _cover(metric: CountMetric, known: Counts, bounds: Interval, ci_prob: float) -> Interval:
    """Imbens-Manski interval around estimated bounds, inside the metric's range."""
    if math.isnan(bounds.low):
        return Interval(math.nan, math.nan, ci_prob, "confidence")
    low_error, high_error = _standard_errors(metric, known)
    return cover_bounds(
        bounds,
        low_error,
        high_error,
        ci_prob=ci_prob,
        lowest=metric.lowest,
        highest=metric.highest,
    )


def _standard_errors(metric: CountMetric, known: Counts) -> tuple[float, float]:
    """Return the standard errors of the lower and of the upper end."""
    rows = 0.5 + np.array(
        [
            known.tp,
            known.fp,
            known.fn,
            known.tn,
            known.unlabeled_predicted_positive,
            known.unlabeled_predicted_negative,
        ],
        dtype=float,
    )
    # Cell of the confusion matrix that each kind of row falls into at the lower end (missing
    # rows are errors) and at the upper end (missing rows are right): tp 0, fp 1, fn 2, tn 3.
    at_low, at_high = [0, 1, 2, 3, 1, 2], [0, 1, 2, 3, 0, 3]
    return _delta_error(metric, rows, at_low), _delta_error(metric, rows, at_high)


def _delta_error(metric: CountMetric, rows: FloatArray, cell: list[int]) -> float:
    cells = np.bincount(cell, weights=rows, minlength=4)
    slope = metric.gradient(list(cells))[cell]
    # The metric does not change when all rows are doubled, so the mean slope is 0.
    return math.sqrt(float(rows @ slope**2))


def worst_case(inputs: RungInputs) -> Bounds:
    """Return the bounds that hold whatever the missing labels are, as a rung of the ladder.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given.

    Returns
    -------
    Bounds
        See `bound_worst_case`.
    """
    return bound_worst_case(inputs.evaluation, metrics=inputs.metrics, target=inputs.target)
