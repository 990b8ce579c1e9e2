"""The tilt of the missing labels from which a claim about a metric fails."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import ndtri

from labelbayes._checks import check_open_unit, check_real, check_type
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.metrics.registry import Metric, resolve_metrics
from labelbayes.weighting.aipw import fit_aipw
from labelbayes.weighting.ipw import counted
from labelbayes.weighting.outcome import Outcome, read_outcome
from labelbayes.weighting.propensity import Propensity
from labelbayes.weighting.rows import read_rows
from labelbayes.weighting.standard_errors import standard_error

#: Beyond these odds ratios nobody will argue, and tilted weights lose their digits.
LARGEST_TILT = 1_000.0
_STEPS = 60


def tipping_tilt(
    evaluation: EvaluationSet,
    propensity: Propensity | npt.ArrayLike,
    outcome: Outcome | npt.ArrayLike,
    metric: str | Metric,
    claim: float,
    *,
    prob: float = 0.5,
    clip: float | None = None,
) -> float:
    """Return the odds ratio closest to 1 at which AIPW stops, or starts, to support a claim.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels, decisions and scores.
    propensity : Propensity or array_like of float, shape (n_rows,)
        P(labeled) of each row.
    outcome : Outcome or array_like of float, shape (n_rows,)
        P(y = 1) of each row given its features.
    metric : str, CountMetric or RankingMetric
        What the claim is about.
    claim : float
        The t of "metric >= t".
    prob : float, default 0.5
        How sure the claim has to be, in (0, 1): 0.5 is about the estimate, 0.975 about the lower
        end of its 95% interval for the population.
    clip : float >= 1, optional
        Largest weight.

    Returns
    -------
    float
        Odds of a positive among missing rows over those of labeled rows with the same features;
        nan where none between 1/1000 and 1000 tips the claim.

    Raises
    ------
    ValueError
        As `estimate_aipw`, or if `prob` is not inside (0, 1) or the metric is undefined.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    estimate_aipw : The estimate under one tilt.

    Notes
    -----
    **Assumes** one tilt for all missing rows, and a right outcome model for labeled ones. Far
    from 1 is firm, near 1 is fragile; which odds ratio is plausible no data of labeled rows can
    tell.

    References
    ----------
    .. [1] J. M. Robins, A. Rotnitzky and D. O. Scharfstein, "Sensitivity analysis for selection
       bias and unmeasured confounding in missing data and causal inference models", 2000.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, 1, None, 0] * 20, y_pred=[1, 1, 1, 0, 0, 0] * 20)
    >>> round(tipping_tilt(evaluation, [0.75] * 120, [0.5] * 120, "precision", 0.4), 2)
    0.25
    """
    check_type("evaluation", evaluation, EvaluationSet)
    level = check_real("claim", claim)
    sureness = check_open_unit("prob", prob, "Write 0.5 for the estimate itself.")
    asked = resolve_metrics([metric], has_score=evaluation.y_score is not None)
    model = read_outcome(outcome, evaluation.n_rows)
    rows = read_rows(
        evaluation.is_labeled,
        counted(evaluation),
        propensity,
        clip=clip,
        clusters=None,
        time=None,
        target="population",
    )
    z = float(ndtri(sureness))

    def surplus(log_odds: float) -> float:
        fit = fit_aipw(
            evaluation,
            rows,
            model,
            asked,
            odds_ratio=math.exp(log_odds),
            target="population",
        )
        (scored,) = fit.scored.values()
        spread = standard_error(scored, rows, "population") if z else 0.0
        return scored.value - z * spread - level

    start = surplus(0.0)
    if math.isnan(start):
        raise ValueError(
            f"`metric` must be defined for a claim about it; {asked[0].name} is not: "
            f"{asked[0].undefined_when}."
        )
    if start == 0:
        return 1.0
    found = []
    for direction in (-1.0, 1.0):
        before, at = start, 0.0
        for step in np.linspace(0.0, direction * math.log(LARGEST_TILT), _STEPS + 1)[1:]:
            now = surplus(float(step))
            if before * now <= 0:
                found.append(float(brentq(surplus, at, float(step), xtol=1e-10)))
                break
            before, at = now, float(step)
    return math.exp(min(found, key=abs)) if found else math.nan
