"""Bounds when selection may depend on what nobody measured, up to a stated odds ratio."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from labelbayes._checks import (
    CI_PROB,
    check_choice,
    check_open_unit,
    check_real,
    check_type,
)
from labelbayes.bounds.odds_limits import odds_limits
from labelbayes.bounds.sensitivity_ends import cover_ends, hajek_end, model_end, range_notes
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.laws.rungs import RungInputs
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import Metric, resolve_metrics
from labelbayes.results.estimates import Bounds
from labelbayes.results.interval import Interval
from labelbayes.results.sentences import TARGETS, Target, population_bounds, sensitivity
from labelbayes.weighting.aipw import check_odds_ratio
from labelbayes.weighting.ipw import counted
from labelbayes.weighting.outcome import Outcome, read_outcome
from labelbayes.weighting.propensity import Propensity
from labelbayes.weighting.rows import WeightedRows, read_rows
from labelbayes.weighting.scores import Scored
from labelbayes.weighting.weighted import kept_rows

#: Odds ratio of the ladder's rung.
RUNG_ODDS_RATIO = 2.0
#: No finite claim needs more; beyond, the bounds are those of the worst case.
_LARGEST = 1e9
#: Odds ratios that are tried for a bound with noise in it, closest near 1.
_STEPS = 31

_EXPECTED = (
    "These are bounds of what the metric is expected to be on these rows; the chance of single "
    "labels is not in them, so that its value on all labels may lie outside."
)
_MODEL_TAKEN_AS_KNOWN = (
    "The outcome model is taken as exact; with a propensity beside it its errors are corrected, "
    "and their uncertainty is part of the interval."
)

#: (metric, whether the upper end is meant) -> that end and its influence.
_End = Callable[[Metric, bool], Scored]


def bound_marginal_sensitivity(
    evaluation: EvaluationSet,
    outcome: Outcome | npt.ArrayLike | None,
    max_odds_ratio: float,
    *,
    propensity: Propensity | npt.ArrayLike | None = None,
    metrics: Sequence[str | Metric] | None = None,
    target: Target = "sample",
    ci_prob: float = CI_PROB,
) -> Bounds:
    """Return bounds when odds of being labeled may be off by a factor that nobody measured.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels, decisions and scores.
    outcome : Outcome or array_like of float, shape (n_rows,), or None
        P(y = 1) of labeled rows with each row's features. None leaves the weights alone.
    max_odds_ratio : float >= 1
        Largest factor by which the odds of a label, given features and y, differ from those given
        features alone. 1 is "missing at random"; very large the worst case.
    propensity : Propensity or array_like of float, shape (n_rows,), optional
        P(labeled) of each row. Beside an outcome model it corrects the model's errors on labeled
        rows, as AIPW does; without one it gives the extremes of the Hajek estimate.
    metrics : sequence of str, CountMetric or RankingMetric, optional
        None stands for accuracy, precision, recall, f1 and, with scores and an outcome model,
        roc_auc. There are no such bounds of average precision.
    target : {"sample", "population"}, default "sample"
        Bare bounds for these rows, or an Imbens-Manski interval for rows drawn like these.
    ci_prob : float, default 0.95
        Coverage of the latter.

    Returns
    -------
    Bounds
        An interval per metric, in its range; where the correction leaves the range a note says
        so.

    Raises
    ------
    ValueError
        If `max_odds_ratio` is below 1, neither nuisance is given, or a metric has no such bounds.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    bound_worst_case : The limit of a large odds ratio.
    tipping_marginal_sensitivity : The odds ratio from which a claim fails.
    estimate_aipw : One tilt in the place of all within bounds.

    Notes
    -----
    **Assumes** that the odds ratio is no larger, for any row, and that the nuisance models are
    right for what is seen.

    For a label y the model says that P(y = 1) of a missing row lies in
    [max(m / G, 1 - G (1 - m)), min(G m, 1 - (1 - m) / G)] for m = P(y = 1 | features, labeled),
    and every value in it is possible. Count metrics take one end of it where the decision is
    positive and the other where it is negative; ROC-AUC takes one end above a cut of the score
    and the other below, and all cuts are tried (exact but for pairs of a row with itself, a share
    1 / n). One tilt of all odds by G lies strictly inside: here odds of outcomes may differ by
    up to G squared, and from row to row.

    Bounds for these rows are bounds of the expected metric: the noise of single labels is not
    included. Laws of `estimate_pemi` under the lower and the upper end bracket the law of each
    count metric under anything between.

    Shown in the notebook 08_selective_labels.

    References
    ----------
    .. [1] Z. Tan, "A distributional approach for causal inference using propensity scores",
       Journal of the American Statistical Association 101(476), 1619-1637, 2006.
    .. [2] Q. Zhao, D. S. Small and B. B. Bhattacharya, "Sensitivity analysis for inverse
       probability weighting estimators via the percentile bootstrap", Journal of the Royal
       Statistical Society B 81(4), 735-761, 2019.
    .. [3] J. Dorn and K. Guo, "Sharp sensitivity analysis for inverse propensity weighting via
       quantile balancing", Journal of the American Statistical Association 118, 2645-2657, 2023.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, 1], y_pred=[1, 0, 1, 0])
    >>> found = bound_marginal_sensitivity(evaluation, [0.5] * 4, 2.0, metrics=["precision"])
    >>> print(found["precision"])
    [0.625, 0.875] (sensitivity)
    """
    check_type("evaluation", evaluation, EvaluationSet)
    largest = check_odds_ratio("max_odds_ratio", max_odds_ratio, least=1.0)
    check_choice("target", target, TARGETS)
    share = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
    asked = _resolve(evaluation, metrics, has_outcome=outcome is not None)
    rows = _read(evaluation, outcome, propensity)
    end = _ends(evaluation, outcome, rows, largest)
    intervals, reasons, said = {}, {}, []
    for metric in asked:
        low, high = end(metric, False), end(metric, True)
        if low.value > high.value:  # by rounding, or by noise of the correction near 1
            low, high = high, low
        said += range_notes(metric, low.value, high.value)
        bottom, top = np.clip([low.value, high.value], metric.lowest, metric.highest).tolist()
        span = Interval(bottom, top, math.nan, "sensitivity")
        if math.isnan(low.value) or math.isnan(high.value):
            span = Interval(math.nan, math.nan, math.nan, "sensitivity")
            reasons[metric.name] = low.reason or high.reason or metric.undefined_when
        if target == "population":
            span = cover_ends(span, (low, high), rows, metric, share)
        intervals[metric.name] = span
    is_sample = target == "sample"
    return Bounds(
        intervals,
        method=_method_text(outcome, propensity, rows)
        + ("" if is_sample else "; Imbens-Manski interval"),
        assumption=(
            f"odds of a label differ by a factor of at most {largest:g} from those given the "
            "features"
        ),
        target=target,
        statement="sensitivity",
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(
            sensitivity(largest),
            _EXPECTED if is_sample else population_bounds(share),
            *((_MODEL_TAKEN_AS_KNOWN,) if propensity is None and not is_sample else ()),
            *rows.notes,
            *said,
        ),
        undefined_reasons=reasons,
        ess=math.nan if propensity is None else rows.ess,
    )


def _resolve(
    evaluation: EvaluationSet, metrics: Sequence[str | Metric] | None, *, has_outcome: bool
) -> tuple[Metric, ...]:
    asked = resolve_metrics(metrics, has_score=evaluation.y_score is not None)
    if metrics is None:
        return tuple(metric for metric in asked if _has_bounds(metric, has_outcome))
    for metric in asked:
        if not _has_bounds(metric, has_outcome):
            where = "" if metric.name == "average_precision" else " without an outcome model"
            raise ValueError(
                f"`metrics` must have bounds under an odds ratio; {metric.name!r} has none{where}."
            )
    return asked


def _has_bounds(metric: Metric, has_outcome: bool) -> bool:
    if isinstance(metric, CountMetric):
        # Kappa below 0 does not always fall when a wrong row weighs more.
        return has_outcome or metric.name != "cohen_kappa"
    return has_outcome and metric.name == "roc_auc"


def _read(
    evaluation: EvaluationSet,
    outcome: Outcome | npt.ArrayLike | None,
    propensity: Propensity | npt.ArrayLike | None,
) -> WeightedRows:
    if outcome is None and propensity is None:
        raise ValueError(
            "`outcome` or `propensity` must be given; without either there are only the bounds of "
            "`bound_worst_case`."
        )
    return read_rows(
        evaluation.is_labeled,
        counted(evaluation),
        np.ones(evaluation.n_rows) if propensity is None else propensity,
        clip=None,
        clusters=None,
        time=None,
        target="population",
    )


def _ends(
    evaluation: EvaluationSet,
    outcome: Outcome | npt.ArrayLike | None,
    rows: WeightedRows,
    largest: float,
) -> _End:
    kept = kept_rows(evaluation, rows)
    if outcome is None:
        return lambda metric, is_upper: hajek_end(metric, is_upper, kept, rows, largest)
    m = rows.take(read_outcome(outcome, evaluation.n_rows).p)
    limits = odds_limits(m, largest)
    return lambda metric, is_upper: model_end(metric, is_upper, kept, rows, m, limits, largest)


def _method_text(
    outcome: Outcome | npt.ArrayLike | None,
    propensity: Propensity | npt.ArrayLike | None,
    rows: WeightedRows,
) -> str:
    name = "marginal sensitivity model"
    if outcome is None:
        return f"{name}, extremes of the Hajek estimate; {rows.propensity.method}"
    model = outcome.method if isinstance(outcome, Outcome) else "P(y = 1) as given"
    if propensity is None:
        return f"{name}, sharp; {model}"
    return f"{name}, sharp, corrected by weights; {rows.propensity.method}; {model}"


def tipping_marginal_sensitivity(
    evaluation: EvaluationSet,
    outcome: Outcome | npt.ArrayLike | None,
    metric: str | Metric,
    claim: float,
    *,
    propensity: Propensity | npt.ArrayLike | None = None,
) -> float:
    """Return the odds ratio from which the bounds no longer support "metric >= claim".

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels, decisions and scores.
    outcome : Outcome or array_like of float, shape (n_rows,), or None
        As for `bound_marginal_sensitivity`.
    metric : str, CountMetric or RankingMetric
        What the claim is about.
    claim : float
        The t of "metric >= t".
    propensity : Propensity or array_like of float, shape (n_rows,), optional
        As for `bound_marginal_sensitivity`.

    Returns
    -------
    float
        1 where the claim fails under "missing at random" already; nan where no odds ratio makes
        it fail.

    Raises
    ------
    ValueError
        As `bound_marginal_sensitivity`, or if the metric is undefined.
    TypeError
        If an argument is of the wrong type.

    Notes
    -----
    **Assumes** what `bound_marginal_sensitivity` does. With an outcome model and a propensity the
    bound has the noise of the correction in it and need not fall steadily: the first of 30 odds
    ratios at which the claim fails is refined.

    References
    ----------
    .. [1] Q. Zhao, D. S. Small and B. B. Bhattacharya, "Sensitivity analysis for inverse
       probability weighting estimators via the percentile bootstrap", Journal of the Royal
       Statistical Society B 81(4), 735-761, 2019.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, 1], y_pred=[1, 0, 1, 0])
    >>> round(tipping_marginal_sensitivity(evaluation, [0.5] * 4, "precision", 0.625), 6)
    2.0
    """
    check_type("evaluation", evaluation, EvaluationSet)
    level = check_real("claim", claim)
    (asked,) = _resolve(evaluation, [metric], has_outcome=outcome is not None)
    rows = _read(evaluation, outcome, propensity)
    is_corrected = outcome is not None and propensity is not None

    def surplus(log_odds: float) -> float:
        end = _ends(evaluation, outcome, rows, math.exp(log_odds))
        lower = end(asked, False).value
        # Noise of the correction may exchange the two ends.
        return (min(lower, end(asked, True).value) if is_corrected else lower) - level

    start = surplus(0.0)
    if math.isnan(start):
        raise ValueError(
            f"`metric` must be defined for a claim about it; {asked.name} is not: "
            f"{asked.undefined_when}."
        )
    if start < 0:
        return 1.0
    # The bound falls with the odds ratio, but for the noise of the correction.
    before = 0.0
    steps = np.linspace(0.0, 1.0, _STEPS if is_corrected else 2)[1:]
    for after in (math.log(_LARGEST) * steps**3).tolist():
        if surplus(after) < 0:
            return math.exp(float(brentq(surplus, before, after, xtol=1e-10)))
        before = after
    return math.nan


def marginal_sensitivity(inputs: RungInputs) -> Bounds:
    """Return the bounds under an odds ratio of 2, as a rung of the ladder.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given; it needs an outcome model, and uses a propensity.

    Returns
    -------
    Bounds
        See `bound_marginal_sensitivity`.

    Raises
    ------
    ValueError
        If there is no outcome model.
    """
    if inputs.outcome is None:
        raise ValueError("no `outcome` was given")
    return bound_marginal_sensitivity(
        inputs.evaluation,
        inputs.outcome,
        RUNG_ODDS_RATIO,
        propensity=inputs.propensity,
        metrics=[metric for metric in inputs.metrics if _has_bounds(metric, True)],
        target=inputs.target,
    )
