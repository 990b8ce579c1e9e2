"""Rates of positives in bins of the score: independent, along a line, or increasing."""

from __future__ import annotations

import math

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.bayes.cells import RateCells
from labelbayes.bayes.model import Draws, LabelModel
from labelbayes.bayes.ranking import rank_rows
from labelbayes.bayes.stack import pm
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.laws.bins import ScoreBins, assign_bins, check_beta_pair, count_bins
from labelbayes.metrics.registry import resolve_metrics

#: Mean scores are clipped to this distance from 0 and 1 before the logit.
CLIP = 1e-6
#: Prior of the line, logit q = intercept + slope x + spread offset: sd of the intercept, of the
#: log slope, and scale of the spread.
INTERCEPT_SD, LOG_SLOPE_SD, SPREAD_SD = 1.0, 0.5, 0.5
#: sd of the log slope per standard deviation of scores that are no probabilities.
LOG_SLOPE_SD_STANDARDIZED = 1.0
#: Increasing rates are kept this far from 0 and 1, where a count would have no probability.
EDGE = 1e-9


def build_bins(
    evaluation: EvaluationSet,
    *,
    n_bins: int = 10,
    prior: str | tuple[float, float] = "line",
) -> LabelModel:
    r"""Model the rate of positives in each bin of the score, learned from its labels.

    Rows of one bin and one decision share a rate; labels of the bin inform it, and its missing
    labels are drawn at it. The prior says how the rates of neighboring bins hang together:

    .. math::
       s_b &\sim \mathrm{Binomial}(n_b, q_b) \\
       \text{line:} \quad \mathrm{logit}\, q_b &= \alpha + \gamma x_b + \tau z_b, \quad
       \alpha \sim N(0, 1),\ \log\gamma \sim N(0, 0.5^2),\ \tau \sim N^+(0, 0.5^2),\
       z_b \sim N(0, 1) \\
       \text{jeffreys:} \quad q_b &\sim \mathrm{Beta}(1/2, 1/2) \\
       \text{monotone:} \quad q &= \text{sorted uniform rates}

    Parameters
    ----------
    evaluation : EvaluationSet
        With at least one label. Without a score the decision stands for it.
    n_bins : int >= 1, default 10
        Bins at most, of nearly equal numbers of labels; the one in which the decision changes is
        cut in two.
    prior : {"line", "jeffreys", "monotone"} or tuple of float, default "line"
        "line": near a straight line in :math:`x_b`, the logit of the bin's mean score (for scores
        that are no probabilities their standardized mean, and :math:`\log\gamma \sim N(0, 1)`).
        "jeffreys": rates of their own. "monotone": rates that rise with the score, for up to
        about 15 bins. A pair (a, b): Beta(a, b) rates of their own.

    Returns
    -------
    LabelModel
        Unsampled. ``rate`` (``bin``) in [0, 1]; "line" also ``intercept``, ``slope`` > 0,
        ``spread`` >= 0 and ``offset`` (``bin``, from :math:`z_b` to the logit itself, by what
        labels know of the bin); "monotone" also ``step`` > 0 (one more than bins), whose partial
        sums over their total are the rates.

    Raises
    ------
    ValueError
        If there is no label, an option is not as above, or `prior` is "monotone" where decisions
        do not rise with the score.
    TypeError
        If `evaluation` is no EvaluationSet.

    See Also
    --------
    labelbayes.laws.bins.estimate_bins : The closed form for rates of their own, without sampling.
    estimate_pemi : Exact laws under refits of a histogram.

    Notes
    -----
    **Assumes** that labels are missing at random within a bin and decision, and that rows are
    independent given the rates.

    **Not identified** where a bin has no labels: its rate is then the prior's, or the line's.
    ``spread`` is weakly identified below about 10 bins; it only says how far bins may leave the
    line. Between its limits lie Platt scaling (spread 0) and bins of their own.

    The cost of sampling depends on the number of bins, not on that of rows (ranking metrics then
    complete labels row by row); only with "monotone" and thousands
    of labels a bin NUTS takes four times as many steps. There the labels say the order themselves:
    use "jeffreys". Two or three well-known bins leave "line" a narrow ridge: raise
    `target_accept` where it diverges.

    Flat Beta(1, 1) rates are never a
    default: with 10 labels a bin their 95% intervals covered 82%, Jeffreys' 92%.

    **Oracle.** Jeffreys or a pair: the exact convolution of beta-binomial laws
    (`labelbayes.laws.bins.estimate_bins`), for ranking metrics enumeration of all labelings.
    Line: quadrature over intercept, slope and spread with the offsets integrated bin by bin.
    Monotone: draws of independent Beta rates, kept where they increase.

    References
    ----------
    .. [1] B. Zadrozny and C. Elkan, "Obtaining calibrated probability estimates from decision
       trees and naive Bayesian classifiers", ICML 2001.
    .. [2] L. D. Brown, T. T. Cai and A. DasGupta, "Interval estimation for a binomial
       proportion", Statistical Science 16(2), 101-133, 2001.

    Examples
    --------
    >>> evaluation = EvaluationSet([0, 1, None, 1, 0, None], [0.1, 0.4, 0.6, 0.9, 0.7, 0.2])
    >>> label_model = build_bins(evaluation, n_bins=2)
    >>> sorted(variable.name for variable in label_model.model.free_RVs)
    ['intercept', 'offset', 'slope', 'spread']
    """
    if not isinstance(evaluation, EvaluationSet):
        raise TypeError(f"`evaluation` must be an EvaluationSet; got {type(evaluation).__name__}.")
    beta = _check_prior(prior)
    bin_index = assign_bins(evaluation, n_bins)
    bins = count_bins(evaluation, bin_index)
    n_cells = len(bins.decision)
    prior_var: dict[str, float | FloatArray]
    with pm.Model(coords={"bin": range(n_cells)}) as model:
        if beta is not None:
            said, prior_var = _independent(*beta)
        elif prior == "monotone":
            said, prior_var = _increasing(bins)
        else:
            said, prior_var = _along_line(evaluation, bins)
        n_labeled = pm.Data("n_labels", bins.n_labeled, dims="bin")
        n_positive = pm.Data("n_positive_labels", bins.n_positive, dims="bin")
        pm.Binomial(
            "positive_labels", n=n_labeled, p=model["rate"], observed=n_positive, dims="bin"
        )
    return LabelModel(
        model,
        RateCells(
            (evaluation.counts,),
            bins.decision,
            bins.n_missing,
            _rates,
            rows=rank_rows([evaluation], bin_index),
        ),
        method=f"{n_cells} bins of the {_what(evaluation)}, {said}",
        assumption="missing labels are like labeled ones of the same bin of the "
        f"{_what(evaluation)} and the same decision",
        prior_var=prior_var,
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=_notes(bins),
        metrics=resolve_metrics(None, has_score=evaluation.y_score is not None),
    )


def _rates(draws: Draws) -> FloatArray:
    return draws["rate"]


def _what(evaluation: EvaluationSet) -> str:
    return "decision" if evaluation.y_score is None else "score"


def _check_prior(prior: object) -> tuple[float, float] | None:
    """Return the Beta parameters of rates of their own, None for the other priors."""
    if isinstance(prior, str) and prior in ("line", "monotone"):
        return None
    if isinstance(prior, str) and prior == "jeffreys":
        return 0.5, 0.5
    if isinstance(prior, tuple):
        return check_beta_pair("prior", prior)
    raise ValueError(
        f"`prior` must be 'line', 'jeffreys', 'monotone' or a pair (a, b); got {prior!r}."
    )


def _independent(a: float, b: float) -> tuple[str, dict[str, float | FloatArray]]:
    pm.Beta("rate", a, b, dims="bin")
    return f"Beta({a:g}, {b:g}) rates", {"rate": a * b / ((a + b) ** 2 * (a + b + 1))}


def _increasing(bins: ScoreBins) -> tuple[str, dict[str, float | FloatArray]]:
    if not bins.is_ordered:
        raise ValueError(
            "`prior='monotone'` needs decisions that rise with the score; here a row predicted "
            "positive scores no higher than one predicted negative. Use prior='line'."
        )
    n_cells = len(bins.decision)
    # Shares of exponential steps are a flat Dirichlet law, which a sampler that walks on steps
    # without a fixed sum explores three times faster.
    step = pm.Exponential("step", 1.0, shape=n_cells + 1)
    rate = pm.math.clip(pm.math.cumsum(step)[:-1] / step.sum(), EDGE, 1 - EDGE)
    pm.Deterministic("rate", rate, dims="bin")
    # The b-th of k sorted uniforms is Beta(b, k + 1 - b).
    rank = np.arange(1, n_cells + 1)
    variance = rank * (n_cells + 1 - rank) / ((n_cells + 1) ** 2 * (n_cells + 2))
    return "increasing rates", {"rate": variance}


def _along_line(
    evaluation: EvaluationSet, bins: ScoreBins
) -> tuple[str, dict[str, float | FloatArray]]:
    place, log_slope_sd, scaled = _places(evaluation, bins)
    intercept = pm.Normal("intercept", 0.0, INTERCEPT_SD)
    slope = pm.LogNormal("slope", 0.0, log_slope_sd)
    spread = pm.HalfNormal("spread", SPREAD_SD)
    line = intercept + slope * pm.Data("place", place, dims="bin")
    # The same law for any share: with 0 the offset is in units of the spread, which has no funnel
    # where the spread may be zero; with 1 it is the logit itself, which has no ridge where labels
    # put bins off the line for certain.
    share = pm.Data("centering", _centering(bins, place), dims="bin")
    offset = pm.Normal("offset", share * line, spread**share, dims="bin")
    logit = line + spread ** (1 - share) * (offset - share * line)
    pm.Deterministic("rate", pm.math.sigmoid(logit), dims="bin")
    growth = math.exp(log_slope_sd**2)
    return f"near a line in the {scaled}", {
        "intercept": INTERCEPT_SD**2,
        "slope": growth * (growth - 1),
        "spread": SPREAD_SD**2 * (1 - 2 / math.pi),
    }


def _centering(bins: ScoreBins, place: FloatArray) -> FloatArray:
    """Return how far each bin's offset is centered, from 0 to 1: what its labels know of it.

    The spread is estimated from how far empirical logits lie off their fitted line, less what
    chance would put there (two standard errors of the sum of squares).
    """
    variance = 1 / (bins.n_positive + 0.5) + 1 / (bins.n_negative + 0.5)
    logit = np.log((bins.n_positive + 0.5) / (bins.n_negative + 0.5))
    weight = 1 / variance
    design = np.column_stack([np.ones(len(place)), place]) * np.sqrt(weight)[:, None]
    fitted, *_ = np.linalg.lstsq(design, logit * np.sqrt(weight), rcond=None)
    squares = float((weight * (logit - fitted[0] - fitted[1] * place) ** 2).sum())
    free = max(len(place) - 2, 0)
    excess = squares - free - 2 * math.sqrt(2 * free)
    spread_squared = max(0.0, excess) / float(weight.sum())
    return spread_squared * weight / (1 + spread_squared * weight)


def _places(evaluation: EvaluationSet, bins: ScoreBins) -> tuple[FloatArray, float, str]:
    """Return where bins lie on the line, the sd of the log slope, and what the place is."""
    score = evaluation.y_score
    if score is not None and score.min() >= 0 and score.max() <= 1:
        mean = np.clip(bins.mean_score, CLIP, 1 - CLIP)
        return np.log(mean / (1 - mean)), LOG_SLOPE_SD, "logit of the score"
    if score is None:
        score = evaluation.y_pred.astype(np.float64)
    center = float(np.average(score, weights=evaluation.count))
    sd = math.sqrt(float(np.average((score - center) ** 2, weights=evaluation.count)))
    place = (bins.mean_score - center) / (sd or 1.0)
    return place, LOG_SLOPE_SD_STANDARDIZED, f"standardized {_what(evaluation)}"


def _notes(bins: ScoreBins) -> tuple[str, ...]:
    notes = []
    for side, name in ((1, "positive"), (0, "negative")):
        rows = bins.decision == side
        if bins.n_missing[rows].sum() and not bins.n_labeled[rows].sum():
            notes.append(
                f"No row predicted {name} is labeled: the rates of such rows come from the prior "
                "and the other bins."
            )
    return tuple(notes)
