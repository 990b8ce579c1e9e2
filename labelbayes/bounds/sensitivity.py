"""What happens to a metric if missing labels differ from comparable labeled ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit, log_expit, logit

from labelbayes._checks import (
    CI_PROB,
    FloatArray,
    IntArray,
    check_choice,
    check_open_unit,
    check_real,
    check_type,
)
from labelbayes.bounds.tilted_counts import TiltedClaim
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.audit import read_audit
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.count_metrics import exact_law
from labelbayes.laws.missing_counts import CountPair, count_pairs
from labelbayes.laws.population import completed_cells, draws_laws, population_draws
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import Metric, resolve_count_metrics
from labelbayes.results.distribution import Law
from labelbayes.results.estimates import Bounds
from labelbayes.results.interval import Interval
from labelbayes.results.sentences import TARGETS, Target, sensitivity

#: Draws for rows drawn like these, and the seed that makes both ends use the same ones.
N_DRAWS, SEED = 10_000, 0
#: Why metrics that rank have no bounds here.
NO_ORDER = (
    "It does not rise or fall with a label: use `bound_marginal_sensitivity`, or laws under "
    "`imputation.tilt(odds_ratio)`."
)
#: Tipping points are looked for up to this odds ratio, on this many steps to either side.
MOST_ODDS, N_STEPS = 1e4, 60
#: Points of the grid for the posterior of the tilt, which ends where its log has fallen by this.
N_POINTS, DEPTH = 2_001, 40.0


def bound_tilt(
    evaluation: EvaluationSet,
    imputation: Imputation,
    max_odds_ratio: float,
    *,
    metrics: Sequence[str | Metric] | None = None,
    target: Target = "sample",
    ci_prob: float = CI_PROB,
) -> Bounds:
    """Bound each metric when the odds of each missing label may be off by a factor.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels and decisions.
    imputation : Imputation
        Belief about the missing labels, refits included.
    max_odds_ratio : float >= 1
        The odds of a positive of each missing row are those believed times any number from
        ``1 / max_odds_ratio`` to `max_odds_ratio`, not the same number for all rows.
    metrics : sequence of str or CountMetric, optional
        Count metrics. None stands for accuracy, precision, recall and f1.
    target : {"sample", "population"}, default "sample"
        The metric of these rows once all labels are known, or that of rows drawn like these.
    ci_prob : float, default 0.95
        Probability content of the lowest and the highest law.

    Returns
    -------
    Bounds
        From the lower end of the lowest law to the upper end of the highest: whichever odds
        within the factor are true, the metric lies there with probability `ci_prob` at least.

    Raises
    ------
    ValueError
        If `max_odds_ratio` is below 1, a metric ranks, the imputation was made for other rows or
        scores, or an option is none of those above.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    tipping_odds_ratio : The odds ratio at which a claim fails.
    bound_marginal_sensitivity : The same question for weighted estimates, ROC-AUC included.

    Notes
    -----
    **Assumes** that missing labels are independent draws given their odds. Count metrics do not
    fall with U, the positives among missing rows predicted positive, and do not rise with V,
    those among rows predicted negative; and both counts rise, in the order of whole laws, with
    every p. So two laws enclose all others (a p-box): the highest has all odds raised where rows
    are predicted positive and lowered elsewhere, the lowest the other way round. ROC-AUC and
    average precision have no such order in the labels and are refused. For one law within, with
    the same factor for all rows, call ``estimate_pemi(evaluation, imputation.tilt(odds_ratio))``.

    As `max_odds_ratio` grows the bounds become those of `bound_worst_case`. An odds ratio here is
    stricter than in the marginal sensitivity model, where one of x allows outcome odds ratios up
    to x squared.

    References
    ----------
    .. [1] J. M. Robins, A. Rotnitzky and D. O. Scharfstein, "Sensitivity analysis for selection
       bias and unmeasured confounding", 2000.

    Examples
    --------
    >>> from labelbayes.imputation.impute import impute
    >>> evaluation = EvaluationSet([1, 0, 1, *[None] * 40], y_pred=[1, 0, 0] + [1, 0] * 20)
    >>> belief = impute(evaluation, "maxent")
    >>> print(bound_tilt(evaluation, belief, 2.0)["precision"])
    [0.190, 0.857] (95% sensitivity)
    """
    check_type("evaluation", evaluation, EvaluationSet)
    check_type("imputation", imputation, Imputation)
    factor = check_real("max_odds_ratio", max_odds_ratio)
    if factor < 1:
        raise ValueError(
            f"`max_odds_ratio` must be at least 1; got {max_odds_ratio!r}. 2 allows odds from half "
            "to twice those believed."
        )
    asked = resolve_count_metrics(metrics, remedy=NO_ORDER)
    check_choice("target", target, TARGETS)
    share = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
    raised, lowered = (
        count_pairs(evaluation, imputation.tilt(ratio)) for ratio in (factor, 1 / factor)
    )
    lowest = _laws(evaluation, mix_pairs(lowered, raised), asked, target)
    highest = _laws(evaluation, mix_pairs(raised, lowered), asked, target)
    tail = (1 - share) / 2
    reasons = {
        name: law.undefined_reason
        for name, law in (*lowest.items(), *highest.items())
        if law.undefined_reason
    }
    return Bounds(
        {
            metric.name: Interval(
                float(lowest[metric.name].quantile(tail)),
                float(highest[metric.name].quantile(1 - tail)),
                share,
                "sensitivity",
            )
            for metric in asked
        },
        method=f"lowest and highest law, odds within a factor of {factor:g}; {imputation.method}",
        assumption=f"odds of missing labels are those believed times 1/{factor:g} to {factor:g}, "
        "row by row",
        target=target,
        statement="sensitivity",
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(sensitivity(factor), *imputation.notes),
        undefined_reasons=reasons,
    )


def mix_pairs(
    of_positive: Sequence[CountPair], of_negative: Sequence[CountPair]
) -> list[CountPair]:
    """Return laws of U under one belief and of V under another, fit by fit.

    Parameters
    ----------
    of_positive, of_negative : sequence of tuple of IntegerLaw
        Laws of U and V under either belief, one pair per fit.

    Returns
    -------
    list of tuple of IntegerLaw
        U of the first, V of the second.
    """
    return [(u, v) for (u, _), (_, v) in zip(of_positive, of_negative, strict=True)]


def _laws(
    evaluation: EvaluationSet,
    pairs: Sequence[CountPair],
    metrics: Sequence[CountMetric],
    target: Target,
) -> dict[str, Law]:
    known = evaluation.counts
    if target == "sample":
        return {metric.name: exact_law(metric, known, pairs) for metric in metrics}
    # Rows and labels both, also where p is given: wider than it need be, never too narrow.
    joint = population_draws(metrics, completed_cells(known, pairs))
    return dict(draws_laws(metrics, joint, N_DRAWS, np.random.default_rng(SEED)))


def tipping_odds_ratio(
    evaluation: EvaluationSet,
    imputation: Imputation,
    metric: str | CountMetric,
    claim: float,
    *,
    prob: float = 0.5,
) -> float:
    """Return the odds ratio nearest to 1 at which "metric >= claim" is no longer likely.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels and decisions.
    imputation : Imputation
        Belief about the missing labels.
    metric : str or CountMetric
        One count metric.
    claim : float
        The claim is that the metric is at least this.
    prob : float in (0, 1), default 0.5
        The claim stands while its probability is at least this.

    Returns
    -------
    float
        Factor on the odds of all missing labels, above or below 1; 1 if the claim fails as it
        stands, nan if it stands at every factor from 1e-4 to 1e4.

    Raises
    ------
    ValueError
        If the metric is no count metric, the imputation was made for other rows or scores, or
        `prob` outside (0, 1).
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    bound_tilt : Bounds over a range of factors.

    Notes
    -----
    **Assumes** the same factor for all missing labels. Of two factors equally far from 1 the one
    that is found first downward is returned.

    References
    ----------
    .. [1] P. R. Rosenbaum, Observational Studies, 2nd ed., 2002, for tipping points.

    Examples
    --------
    >>> from labelbayes.imputation.impute import impute
    >>> evaluation = EvaluationSet([1, 0, 1, *[None] * 40], y_pred=[1, 0, 0] + [1, 0] * 20)
    >>> belief = impute(evaluation, "maxent")
    >>> round(tipping_odds_ratio(evaluation, belief, "precision", 0.4), 2)
    0.61
    """
    check_type("evaluation", evaluation, EvaluationSet)
    check_type("imputation", imputation, Imputation)
    (asked,) = resolve_count_metrics([metric], remedy=NO_ORDER)
    limit, least = check_real("claim", claim), check_open_unit("prob", prob)

    tilted = TiltedClaim.from_belief(asked, limit, evaluation, imputation)

    def excess(log_odds: float) -> float:
        return tilted.prob(math.exp(log_odds)) - least

    # Not the opposite of "<": it is nan where the metric is undefined for certain.
    if not excess(0.0) >= 0:
        return 1.0
    steps = np.linspace(0.0, math.log(MOST_ODDS), N_STEPS + 1)
    for near, far in pairwise(steps):
        for sign in (-1.0, 1.0):
            if not tilted.is_likely(math.exp(sign * far), least):
                # The claim's probability has steps: the root is where it crosses.
                return math.exp(brentq(excess, sign * near, sign * far, xtol=1e-9))
    return math.nan


def update_tilt(
    imputation: Imputation, audited: npt.ArrayLike, *, delta_sd: float = 0.5
) -> tuple[float, float]:
    """Return what a random audit of missing rows says of their tilt.

    Parameters
    ----------
    imputation : Imputation
        Belief about the missing labels; its fit is taken as known.
    audited : array_like of float, shape (n_rows,)
        Labels (1 or 0) of missing rows that were drawn at random and looked at; nan elsewhere.
    delta_sd : float > 0, default 0.5
        Prior standard deviation of delta, the log odds ratio; its prior mean is 0.

    Returns
    -------
    mean, sd : float
        Of the posterior of delta. ``imputation.tilt(exp(mean))`` is the updated belief.

    Raises
    ------
    ValueError
        If a value is no label, or one that p calls impossible, a row is labeled already, nothing
        was audited, or `delta_sd` is not positive.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    build_calibration : The same in a model with the calibration's uncertainty.

    Notes
    -----
    **Assumes** one delta for all missing rows, p right up to it, and an audit at random. The
    posterior is computed by quadrature; each audited row adds about p (1 - p) to the precision.

    References
    ----------
    .. [1] D. O. Scharfstein, A. Rotnitzky and J. M. Robins, "Adjusting for nonignorable drop-out
       using semiparametric nonresponse models", JASA 94(448), 1096-1120, 1999.

    Examples
    --------
    >>> from labelbayes.imputation.impute import impute
    >>> evaluation = EvaluationSet([1, 0, *[None] * 40], y_pred=[1, 0] * 21)
    >>> audited = np.where(np.arange(42) < 2, np.nan, np.arange(42) % 4 > 0)
    >>> mean, sd = update_tilt(impute(evaluation, "maxent"), audited)
    >>> round(mean, 2), round(sd, 2)
    (0.75, 0.28)
    """
    check_type("imputation", imputation, Imputation)
    spread = check_real("delta_sd", delta_sd)
    if not spread > 0:
        raise ValueError(f"`delta_sd` must be positive; got {delta_sd!r}.")
    labels = read_audit(audited, imputation.is_labeled)
    rows = ~np.isnan(labels)
    log_odds = logit(imputation.p[rows])
    distinct, place = np.unique(log_odds, return_inverse=True)
    total = np.bincount(place)
    positive = np.bincount(place, weights=labels[rows]).astype(np.float64)
    wrong = np.isinf(log_odds) & ((log_odds > 0) != (labels[rows] == 1))
    if wrong.any():
        first = int(np.flatnonzero(rows)[np.argmax(wrong)])
        raise ValueError(
            f"`audited` must be possible under `imputation`; row {first} is {labels[first]:g} and "
            f"its p is {imputation.p[first]:g}, which no tilt changes. Pass p inside (0, 1)."
        )
    rated = np.isfinite(distinct)  # a certain label says nothing of the tilt
    return _tilt_moments(distinct[rated], total[rated], positive[rated], spread)


def _tilt_moments(
    log_odds: FloatArray, total: IntArray, positive: FloatArray, spread: float
) -> tuple[float, float]:
    """Return mean and sd of delta, whose log density is concave, by quadrature about its peak."""

    def slope(z: float) -> float:
        return spread * float(np.sum(positive - total * expit(log_odds + spread * z))) - z

    def log_density(z: FloatArray) -> FloatArray:
        found = -0.5 * z**2
        for at, n, k in zip(log_odds, total, positive, strict=True):
            found += k * log_expit(at + spread * z) + (n - k) * log_expit(-at - spread * z)
        return found

    def end(sign: float) -> float:
        def above(step: float) -> float:
            return DEPTH + float(log_density(np.array([peak + sign * step]))[0]) - top

        return peak + sign * float(brentq(above, 0.0, 2 * math.sqrt(2 * DEPTH)))

    step = math.copysign(1.0, slope(0.0))
    while slope(step) * step > 0:
        step *= 2
    peak = float(brentq(slope, min(0.0, step), max(0.0, step)))
    top = float(log_density(np.array([peak]))[0])
    z = np.linspace(end(-1.0), end(1.0), N_POINTS)
    weight = np.exp(log_density(z) - top)
    weight /= weight.sum()
    mean = float(weight @ z)
    return spread * mean, spread * math.sqrt(float(weight @ (z - mean) ** 2))
