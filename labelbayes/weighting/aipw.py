"""Augmented inverse probability weighting: doubly robust, with a tilt of the missing labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from labelbayes._checks import FloatArray, check_choice, check_real, check_type
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.metrics.registry import Metric, resolve_metrics
from labelbayes.results.estimates import Estimates
from labelbayes.results.sentences import TARGETS, Target
from labelbayes.weighting.ipw import counted
from labelbayes.weighting.outcome import Outcome, read_outcome
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


def estimate_aipw(
    evaluation: EvaluationSet,
    propensity: Propensity | npt.ArrayLike,
    outcome: Outcome | npt.ArrayLike,
    *,
    odds_ratio: float = 1.0,
    target: Target = "population",
    clip: float | None = None,
    clusters: npt.ArrayLike | None = None,
    time: npt.ArrayLike | None = None,
    outcome_depends_on_decision: bool = False,
    metrics: Sequence[str | Metric] | None = None,
) -> Estimates:
    """Estimate metrics from an outcome model whose errors weighted labels correct.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels, decisions and scores.
    propensity : Propensity or array_like of float, shape (n_rows,)
        P(labeled) of each row, in (0, 1] where a label was seen: fitted, or known by design.
    outcome : Outcome or array_like of float, shape (n_rows,)
        P(y = 1) of each row given its features, labeled rows included, from models that were
        not fitted on that row.
    odds_ratio : float > 0, default 1.0
        The tilt: odds of a positive among missing rows over those of labeled rows with the same
        features. 1 is "missing at random".
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
        A normal law per metric. An estimate may leave the range of the metric: it is given as
        it is, with a note.

    Raises
    ------
    ValueError
        If a labeled row has propensity 0, a probability lies outside [0, 1], nothing is labeled,
        an option is none of those above, or `outcome_depends_on_decision` is true.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    estimate_ipw : Weights alone.
    tipping_tilt : The tilt from which a claim fails.
    bound_marginal_sensitivity : Bounds where no single tilt is believed.

    Notes
    -----
    **Assumes** that labels are missing at random given the features, and that the propensity or
    the outcome model is right; one of them is enough for the value. The interval takes both as
    known: that costs nothing where both are right and cross-fitted, but where one is wrong it
    leaves out the noise of the other (`bootstrap_errors` shows how much). With `odds_ratio` other
    than 1 it assumes that tilt, and the outcome model has to be right.

    Each row has the pseudo-label m + w (y - m), with the outcome model's m and the weight
    w = 1 / P(labeled) where a label was seen, 0 elsewhere; metrics are functions of sums of
    pseudo-labels, and their influence functions follow. Under a tilt d = log(`odds_ratio`), m is
    replaced by m e^d / (1 - m + m e^d), and 1 / P(labeled) by
    1 + (1 / P(labeled) - 1) e^(d y) / (1 - m + m e^d).

    If the decision changes the outcome, the missing outcome does not exist and nothing here
    estimates it. Shown in the notebook 08_selective_labels.

    References
    ----------
    .. [1] J. M. Robins, A. Rotnitzky and L. P. Zhao, "Estimation of regression coefficients when
       some regressors are not always observed", Journal of the American Statistical Association
       89(427), 846-866, 1994.
    .. [2] J. M. Robins, A. Rotnitzky and D. O. Scharfstein, "Sensitivity analysis for selection
       bias and unmeasured confounding in missing data and causal inference models", 2000.
    .. [3] A. Rotnitzky, D. Faraggi and E. Schisterman, "Doubly robust estimation of the area
       under the receiver-operating characteristic curve in the presence of verification bias",
       Journal of the American Statistical Association 101(475), 1276-1288, 2006.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, 1, None, 0], y_pred=[1, 1, 1, 0, 0, 0])
    >>> p, m = [0.5, 0.5, 0.5, 1, 0.5, 0.5], [0.8, 0.8, 0.8, 0.2, 0.2, 0.2]
    >>> found = estimate_aipw(evaluation, p, m, metrics=["precision"])
    >>> round(found["precision"].mean, 4)
    0.4
    """
    check_type("evaluation", evaluation, EvaluationSet)
    check_choice("target", target, TARGETS)
    refuse_policy(outcome_depends_on_decision)
    rows = read_rows(
        evaluation.is_labeled,
        counted(evaluation),
        propensity,
        clip=clip,
        clusters=clusters,
        time=time,
        target=target,
    )
    fit = fit_aipw(
        evaluation,
        rows,
        read_outcome(outcome, evaluation.n_rows),
        resolve_metrics(metrics, has_score=evaluation.y_score is not None),
        odds_ratio=check_odds_ratio("odds_ratio", odds_ratio),
        target=target,
    )
    return fit.estimates(target, evaluation.n_labeled, evaluation.n_unlabeled)


def check_odds_ratio(name: str, value: float, *, least: float = 0.0) -> float:
    """Return an odds ratio that is above 0, or at least `least`.

    Parameters
    ----------
    name : str
        Argument name.
    value : float
        What was passed.
    least : float, default 0.0
        Smallest allowed value, where it is not 0.

    Returns
    -------
    float
        The value.

    Raises
    ------
    ValueError
        If it is too small.
    TypeError
        If it is no number.
    """
    ratio = check_real(name, value)
    if ratio <= 0 or ratio < least:
        rule = f"at least {least:g}" if least > 0 else "above 0"
        raise ValueError(
            f"`{name}` must be an odds ratio {rule}; got {value!r}. 1 stands for no difference "
            "between missing and labeled rows."
        )
    return ratio


def fit_aipw(
    evaluation: EvaluationSet,
    rows: WeightedRows,
    outcome: Outcome,
    metrics: Sequence[Metric],
    *,
    odds_ratio: float,
    target: Target,
) -> WeightedFit:
    """Return values and influences by weights and an outcome model.

    Parameters
    ----------
    evaluation : EvaluationSet
        All rows.
    rows : WeightedRows
        Weights of those that are kept.
    outcome : Outcome
        P(y = 1) of all rows.
    metrics : sequence of CountMetric or RankingMetric
        What is asked for.
    odds_ratio : float
        The tilt.
    target : {"sample", "population"}
        Whether the part that the draw of labels moves is needed.

    Returns
    -------
    WeightedFit
        Not yet laws.

    Notes
    -----
    **Assumes** what `estimate_aipw` does.
    """
    kept = kept_rows(evaluation, rows)
    masses = _masses(kept, rows, rows.take(outcome.p), odds_ratio, target)
    given = features_text(rows.propensity.features)
    if odds_ratio == 1.0:
        needs = "a correct propensity or outcome model"
        assumption = (
            f"labels missing at random given {given}; the propensity or the outcome model is right"
        )
        tilted = ""
    else:
        needs = f"a correct outcome model, up to an odds ratio of {odds_ratio:g} for missing rows"
        assumption = (
            f"the odds of a positive among missing rows are {odds_ratio:g} times those of labeled "
            f"rows with the same {given}; the outcome model is right"
        )
        tilted = f", tilted by an odds ratio of {odds_ratio:g}"
    return WeightedFit(
        {metric.name: score_metric(metric, kept, masses, rows) for metric in metrics},
        {m.name: MetricRange(m.lowest, m.highest, m.undefined_when) for m in metrics},
        rows,
        f"AIPW{tilted}, denominator: the number of rows, {rows.n:,.0f}; {rows.propensity.method}; "
        f"{outcome.method}",
        given,
        needs,
        assumption,
    )


def tilt(m: FloatArray, odds_ratio: float) -> FloatArray:
    """Return probabilities whose odds are multiplied.

    Parameters
    ----------
    m : ndarray of float
        Probabilities.
    odds_ratio : float > 0
        Factor.

    Returns
    -------
    ndarray of float
        m r / (1 - m + m r).

    Examples
    --------
    >>> tilt(np.array([0.5]), 3.0)
    array([0.75])
    """
    return m * odds_ratio / (1 - m + m * odds_ratio)


def _masses(
    evaluation: EvaluationSet,
    rows: WeightedRows,
    m: FloatArray,
    odds_ratio: float,
    target: Target,
) -> Masses:
    weight = rows.weight
    if odds_ratio != 1.0:
        # The chance of a label given the label too: positives are missed more often where the
        # odds ratio is above 1.
        factor = np.where(evaluation.y_true == 1, odds_ratio, 1.0) / (1 - m + m * odds_ratio)
        weight = np.where(rows.is_labeled, 1 + (weight - 1) * factor, 0.0)
        m = tilt(m, odds_ratio)
    moved = evaluation.y_true - m
    moved *= weight
    moved[~rows.is_labeled] = 0.0
    if target == "sample":
        positive = m + moved
        spread = np.divide(weight - 1, weight, out=np.zeros(len(m)), where=weight > 0) * moved**2
        noise = spread + (1 - weight) * m * (1 - m)
        return Masses(positive, 1.0 - positive, moved, -moved, noise)
    moved += m
    return Masses(moved, 1.0 - moved)
