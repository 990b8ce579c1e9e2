"""Inverse probability weighting: Horvitz-Thompson and Hajek."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from labelbayes._checks import IntArray, check_choice, check_type
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.metrics.registry import Metric, resolve_metrics
from labelbayes.results.estimates import Estimates
from labelbayes.results.sentences import TARGETS, Target
from labelbayes.weighting.mean import score_mean
from labelbayes.weighting.propensity import Propensity
from labelbayes.weighting.rows import WeightedRows, read_rows
from labelbayes.weighting.scores import Masses, score_metric
from labelbayes.weighting.weighted import (
    MetricRange,
    WeightedFit,
    features_text,
    kept_rows,
    refuse_policy,
)

IpwMethod = Literal["hajek", "horvitz_thompson"]
IPW_METHODS: tuple[IpwMethod, ...] = ("hajek", "horvitz_thompson")


def estimate_ipw(
    evaluation: EvaluationSet,
    propensity: Propensity | npt.ArrayLike,
    *,
    method: IpwMethod = "hajek",
    target: Target = "population",
    clip: float | None = None,
    clusters: npt.ArrayLike | None = None,
    time: npt.ArrayLike | None = None,
    outcome_depends_on_decision: bool = False,
    metrics: Sequence[str | Metric] | None = None,
) -> Estimates:
    """Estimate metrics from labeled rows that stand for the others, each for 1 / P(labeled).

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels, decisions and scores.
    propensity : Propensity or array_like of float, shape (n_rows,)
        P(labeled) of each row, in (0, 1] where a label was seen: fitted, or known by design.
    method : {"hajek", "horvitz_thompson"}, default "hajek"
        Hajek divides weighted sums by weighted sums. Horvitz-Thompson divides by what is known
        of all rows: their number and their decisions; it is unbiased, noisier, and may leave the
        range of the metric.
    target : {"sample", "population"}, default "population"
        The metric of rows drawn like these (error from the influence function), or of these rows
        had all been labeled (error from the draw of labels).
    clip : float >= 1, optional
        Largest weight. It trades bias for noise; how much was cut is noted.
    clusters : array_like, shape (n_rows,), optional
        Rows of one cluster may depend on each other.
    time : array_like, shape (n_rows,), optional
        Rows near in time may depend on each other: errors from moving blocks.
    outcome_depends_on_decision : bool, default False
        True is refused: see Notes.
    metrics : sequence of str, CountMetric or RankingMetric, optional
        None stands for accuracy, precision, recall, f1 and, with scores, roc_auc and
        average_precision.

    Returns
    -------
    Estimates
        A normal law per metric; `method` names the estimator and its denominator, and `ess` is
        the effective number of labeled rows.

    Raises
    ------
    ValueError
        If a labeled row has propensity 0 or one lies outside [0, 1], nothing is labeled, an
        option is none of those above, or `outcome_depends_on_decision` is true.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    estimate_aipw : With an outcome model beside the weights.
    check_weights : Overlap, balance and calibration of the weights.

    Notes
    -----
    **Assumes** that labels are missing at random given what the propensity depends on, that the
    propensity is right, and that it is above 0 for every row; rows where it is 0 are left out,
    and their share is noted. A fitted propensity is taken as known, which makes intervals longer
    than they need be, not shorter.

    If the decision changes the outcome, the missing outcome does not exist and nothing here
    estimates it. Shown in the notebook 08_selective_labels.

    References
    ----------
    .. [1] D. G. Horvitz and D. J. Thompson, "A generalization of sampling without replacement
       from a finite universe", Journal of the American Statistical Association 47, 663-685, 1952.
    .. [2] J. Hajek, comment in V. P. Godambe and D. A. Sprott (eds.), Foundations of Statistical
       Inference, 236, 1971.
    .. [3] T. A. Alonzo and M. S. Pepe, "Assessing accuracy of a continuous screening test in the
       presence of verification bias", Journal of the Royal Statistical Society C 54(1), 173-190,
       2005.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, 1, None, 0], y_pred=[1, 1, 1, 0, 0, 0])
    >>> found = estimate_ipw(evaluation, [0.5, 0.5, 0.5, 1, 0.5, 0.5], metrics=["precision"])
    >>> found["precision"].mean
    0.5
    """
    check_type("evaluation", evaluation, EvaluationSet)
    check_choice("method", method, IPW_METHODS)
    check_choice("target", target, TARGETS)
    refuse_policy(outcome_depends_on_decision)
    fit = fit_ipw(
        evaluation,
        read_rows(
            evaluation.is_labeled,
            counted(evaluation),
            propensity,
            clip=clip,
            clusters=clusters,
            time=time,
            target=target,
        ),
        resolve_metrics(metrics, has_score=evaluation.y_score is not None),
        method=method,
        target=target,
    )
    return fit.estimates(target, evaluation.n_labeled, evaluation.n_unlabeled)


def counted(evaluation: EvaluationSet) -> IntArray | None:
    """Return the multiplicities, or None where all are 1.

    Parameters
    ----------
    evaluation : EvaluationSet
        Rows.

    Returns
    -------
    ndarray of int, shape (n_rows,), or None
        Multiplicities.
    """
    return None if evaluation.n == evaluation.n_rows else evaluation.count


def fit_ipw(
    evaluation: EvaluationSet,
    rows: WeightedRows,
    metrics: Sequence[Metric],
    *,
    method: IpwMethod,
    target: Target,
) -> WeightedFit:
    """Return values and influences by weighting alone.

    Parameters
    ----------
    evaluation : EvaluationSet
        All rows.
    rows : WeightedRows
        Weights of those that are kept.
    metrics : sequence of CountMetric or RankingMetric
        What is asked for.
    method : {"hajek", "horvitz_thompson"}
        The denominator.
    target : {"sample", "population"}
        Whether the part that the draw of labels moves is needed.

    Returns
    -------
    WeightedFit
        Not yet laws.

    Notes
    -----
    **Assumes** what `estimate_ipw` does.
    """
    kept = kept_rows(evaluation, rows)
    masses = _masses(kept, rows, method, target)
    scored = {}
    for metric in metrics:
        if metric.name == "accuracy" and method == "horvitz_thompson":
            # A plain mean, of "right or wrong": only the right ones that were seen count.
            is_right = (kept.y_true == kept.y_pred).astype(np.float64)
            scored["accuracy"] = score_mean(is_right, rows, method=method, target=target)
        else:
            scored[metric.name] = score_metric(metric, kept, masses, rows)
    given = features_text(rows.propensity.features)
    return WeightedFit(
        scored,
        {m.name: MetricRange(m.lowest, m.highest, m.undefined_when) for m in metrics},
        rows,
        f"{denominator_text(method, rows)}; {rows.propensity.method}",
        given,
        "a correct propensity",
        f"labels missing at random given {given}; the propensity is right",
    )


def denominator_text(method: IpwMethod, rows: WeightedRows) -> str:
    """Return the estimator's name and its denominator.

    Parameters
    ----------
    method : {"hajek", "horvitz_thompson"}
        Which.
    rows : WeightedRows
        Weights.

    Returns
    -------
    str
        For `method` of a result.
    """
    if method == "hajek":
        return f"Hajek, denominator: the weights' sum, {rows.total_weight:,.6g}"
    return f"Horvitz-Thompson, denominator: the number of rows, {rows.n:,.0f}"


def _masses(
    evaluation: EvaluationSet, rows: WeightedRows, method: IpwMethod, target: Target
) -> Masses:
    positive = np.where(evaluation.y_true == 1, rows.weight, 0.0)
    if method == "horvitz_thompson":
        negative = 1.0 - positive
        moved = (positive, -positive)
    else:
        negative = rows.weight - positive
        moved = (positive, negative)
    return Masses(positive, negative, *(moved if target == "sample" else (None, None)))
