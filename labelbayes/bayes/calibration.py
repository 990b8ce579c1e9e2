"""Calibration of the score by two or three shared coefficients, and the tilt of missing labels."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from labelbayes._checks import CI_PROB, FloatArray, IntArray, check_choice, check_real
from labelbayes.bayes.cells import RateCells
from labelbayes.bayes.model import Draws, LabelModel
from labelbayes.bayes.ranking import rank_rows
from labelbayes.bayes.score_cells import (
    MOST_LOGIT,
    ScoreTerms,
    TermCells,
    assign_parts,
    beta_terms,
    check_labeled,
    count_parts,
    count_rows,
    fit_quickly,
    note_labels,
    observe_labels,
    platt_terms,
)
from labelbayes.bayes.stack import pm
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.audit import read_audit
from labelbayes.metrics.registry import resolve_metrics

KINDS = ("platt", "beta")
#: Prior sd of the intercept, in log odds.
INTERCEPT_SD = 1.5
#: Distinct scores of labeled rows, and of missing rows per decision, at most; where there are
#: more, parts of the scores with nearly equal numbers of rows.
PARTS = 200
#: Rows of the audit that a note proposes.
AUDIT_ROWS = 100


def build_calibration(
    evaluation: EvaluationSet,
    *,
    kind: str = "platt",
    delta_sd: float | None = None,
    audited: npt.ArrayLike | None = None,
) -> LabelModel:
    r"""Model P(positive) as a curve in the score, and how missing labels may leave it.

    A score ranks rows well and yet says "80%" where 60% are positive. Two or three coefficients,
    shared by all rows and learned from the labels, put it right; they are uncertain together. With
    `delta_sd` the log odds of missing labels differ from those of labeled ones of the same score
    by one unknown number, the tilt :math:`\delta`:

    .. math::
       \text{platt:} \quad \mathrm{logit}\, p(s) &= \alpha + \gamma\, \mathrm{logit}\, s \\
       \text{beta:} \quad \mathrm{logit}\, p(s) &= \alpha + \gamma_1 \log s
           - \gamma_2 \log(1 - s) \\
       \mathrm{logit}\, p_\mathrm{missing}(s) &= \mathrm{logit}\, p(s) + \delta \\
       \alpha \sim N(0, 1.5^2), \quad \log\gamma &\sim N(0, 0.5^2), \quad
           \delta \sim N(0, \texttt{delta\_sd}^2)

    Parameters
    ----------
    evaluation : EvaluationSet
        With scores and at least one label; one class is enough, since the priors are proper.
    kind : {"platt", "beta"}, default "platt"
        "platt": one slope in the logit of the score, clipped to [1e-6, 1 - 1e-6]; scores that are
        no probabilities are standardized instead, with :math:`\log\gamma \sim N(0, 1)`. "beta":
        one slope for low and one for high scores in [0, 1].
    delta_sd : float > 0, optional
        Prior sd of the tilt in log odds, to be elicited: 0.5 puts 95% on odds ratios from 0.38 to
        2.7, 1 from 0.14 to 7.1. None: missing labels are like labeled ones.
    audited : array_like, shape (n_rows,), optional
        Labels of missing rows that were audited at random, coded as `evaluation.y_true` (1
        positive, 0 negative), nan elsewhere. They inform the tilt and count as known.

    Returns
    -------
    LabelModel
        Unsampled. ``intercept``; ``slope`` > 0, or ``slope_low`` and ``slope_high`` > 0 for
        "beta"; ``delta`` where `delta_sd` is given.

    Raises
    ------
    ValueError
        If there is no score or no label, `kind` is "beta" and a score is outside [0, 1],
        `delta_sd` is not positive, or `audited` comes without `delta_sd`, has another shape, no
        label, a label that is not 0 or 1, or one of a row that was labeled before.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    build_bins : Rates in bins, where no line in the log odds fits.
    build_groups : An intercept for each group.
    estimate_pemi : Exact laws under refits.

    Notes
    -----
    **Assumes** that log odds are linear in the terms above, that rows are independent given the
    coefficients and, without `delta_sd`, that labels are missing at random given the score.

    **Not identified**: ``delta``, without an audit. Its posterior is its prior, and the interval
    is a statement of sensitivity: report it for several `delta_sd`. An audit of :math:`k` rows
    shrinks the tilt's sd to about :math:`(1/\texttt{delta\_sd}^2 + \sum_k p(1 - p))^{-1/2}`.
    `Posterior.contraction` says what was learned. A tilt is narrower than the marginal sensitivity
    model of the same odds ratio.

    The cost of sampling does not depend on the number of rows (ranking metrics then complete
    labels row by row). Above 200 distinct labeled scores the likelihood is
    taken at the mean terms of 200 parts of nearly as many rows each: this moved the mode by at
    most 2% of a posterior sd with 2,000 labels and 4% with 90,000. Missing rows are counted in 200
    such parts per decision: this moved the expected number of positives by at most 0.4% of its sd
    at 100,000 rows.

    **Oracle.** Quadrature on a grid around the mode, along the axes of the Hessian, over
    intercept, log slopes and tilt: the law of a metric is the mixture of its exact
    Poisson-binomial laws over the grid, whose edge holds less than 1e-6.

    References
    ----------
    .. [1] J. Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin
       Classifiers, MIT Press, 1999.
    .. [2] M. Kull, T. Silva Filho and P. Flach, "Beta calibration", AISTATS 2017.
    .. [3] J. M. Robins, A. Rotnitzky and D. O. Scharfstein, "Sensitivity analysis for selection
       bias and unmeasured confounding in missing data and causal inference models", in
       Statistical Models in Epidemiology, Springer, 2000.

    Examples
    --------
    >>> evaluation = EvaluationSet([0, 1, None, 1, 0, None], [0.1, 0.4, 0.6, 0.9, 0.7, 0.2])
    >>> label_model = build_calibration(evaluation, delta_sd=0.5)
    >>> [variable.name for variable in label_model.model.free_RVs]
    ['intercept', 'slope', 'delta']
    """
    if not isinstance(evaluation, EvaluationSet):
        raise TypeError(f"`evaluation` must be an EvaluationSet; got {type(evaluation).__name__}.")
    check_choice("kind", kind, KINDS)
    tilt_sd = None if delta_sd is None else _check_delta_sd(delta_sd)
    found = None if audited is None else _check_audited(evaluation, audited, tilt_sd)
    if evaluation.y_score is None:
        raise ValueError(
            "`evaluation` must have scores to calibrate; it holds decisions alone. Use "
            "`build_bins`, where the decision stands for the score."
        )
    check_labeled(evaluation)
    terms = platt_terms(evaluation) if kind == "platt" else beta_terms(evaluation)
    known = evaluation if found is None else _add_labels(evaluation, found)
    labeled = count_rows(terms.values, evaluation, evaluation.is_labeled, parts=PARTS)
    checked = None
    if found is not None:
        checked = count_rows(terms.values, known, ~np.isnan(found), parts=PARTS)
    missing, cell = _count_missing(terms, known)
    return LabelModel(
        _write_model(terms, labeled, tilt_sd, checked),
        RateCells(
            (known.counts,),
            np.repeat([1, 0], [len(side.count) for side in missing]),
            np.concatenate([side.count for side in missing]),
            partial(_rates, terms.slopes, _stack(missing), tilt_sd is not None),
            rows=rank_rows([known], cell),
        ),
        method=f"{kind.capitalize()} calibration on the {terms.scaled}{_said(tilt_sd, checked)}",
        assumption=_assumption(terms, tilt_sd, checked),
        prior_var={
            "intercept": INTERCEPT_SD**2,
            **dict.fromkeys(terms.slopes, terms.slope_var),
            **({} if tilt_sd is None else {"delta": tilt_sd**2}),
        },
        n_labeled=known.n_labeled,
        n_unlabeled=known.n_unlabeled,
        notes=(*note_labels(evaluation), *_note_tilt(tilt_sd, checked, labeled, missing)),
        metrics=resolve_metrics(None, has_score=True),
        statement="credible" if tilt_sd is None or checked is not None else "sensitivity",
    )


def _check_delta_sd(delta_sd: object) -> float:
    number = check_real("delta_sd", delta_sd)
    if not number > 0:
        raise ValueError(f"`delta_sd` must be positive; got {delta_sd!r}. None stands for no tilt.")
    return number


def _check_audited(
    evaluation: EvaluationSet, audited: npt.ArrayLike, tilt_sd: float | None
) -> FloatArray:
    """Return audited labels as 1, 0 and nan."""
    if tilt_sd is None:
        raise ValueError(
            "`audited` informs the tilt and needs `delta_sd`; got None. Pass e.g. delta_sd=0.5, or "
            "put the audited labels into `y_true` if every label is missing at random."
        )
    return read_audit(audited, evaluation.is_labeled)


def _add_labels(evaluation: EvaluationSet, found: FloatArray) -> EvaluationSet:
    y_true = np.where(np.isnan(found), evaluation.y_true, found)
    return evaluation._take(np.arange(evaluation.n_rows), y_true=y_true)


def _count_missing(terms: ScoreTerms, known: EvaluationSet) -> tuple[list[TermCells], IntArray]:
    """Return missing rows by decision, predicted positive first, and the cell of each row."""
    cell, sides, start = np.zeros(known.n_rows, dtype=np.int64), [], 0
    for decision in (1, 0):
        rows = ~known.is_labeled & (known.y_pred == decision)
        part = assign_parts(terms.values, known, rows, parts=PARTS)
        sides.append(count_parts(terms.values, known, rows, part))
        cell[rows] = start + part
        start += len(sides[-1].count)
    return sides, cell


def _write_model(
    terms: ScoreTerms, labeled: TermCells, tilt_sd: float | None, checked: TermCells | None
) -> pm.Model:
    with pm.Model() as model:
        intercept = pm.Normal("intercept", 0.0, INTERCEPT_SD)
        slopes = pm.math.stack(
            [pm.LogNormal(name, 0.0, terms.log_slope_sd) for name in terms.slopes]
        )

        def log_odds(x: Any) -> Any:
            return intercept + pm.math.dot(x, slopes)

        observe_labels("labels", labeled, log_odds)
        if tilt_sd is not None:
            delta = pm.Normal("delta", 0.0, tilt_sd)
            if checked is not None:
                observe_labels("audited_labels", checked, lambda x: log_odds(x) + delta)
    return model


def _rates(slopes: tuple[str, ...], x: FloatArray, is_tilted: bool, draws: Draws) -> FloatArray:
    shift = draws["intercept"] + (draws["delta"] if is_tilted else 0.0)
    slope = np.stack([draws[name] for name in slopes], axis=1)
    return expit(np.clip(shift[:, None] + slope @ x.T, -MOST_LOGIT, MOST_LOGIT))


def _said(tilt_sd: float | None, checked: TermCells | None) -> str:
    if tilt_sd is None:
        return ""
    audit = "" if checked is None else f", audit of {int(checked.count.sum()):,} rows"
    return f", tilt of missing labels with prior sd {tilt_sd:g}{audit}"


def _assumption(terms: ScoreTerms, tilt_sd: float | None, checked: TermCells | None) -> str:
    linear = f"log odds are linear in the {terms.scaled}"
    if tilt_sd is None:
        return f"missing labels are like labeled ones of the same score; {linear}"
    belief = f"which is believed to be N(0, {tilt_sd:g}^2)"
    if checked is not None:
        belief += " before an audit of missing rows drawn at random"
    return (
        "log odds of missing labels differ from those of labeled ones of the same score by one "
        f"number, {belief}; {linear}"
    )


def _note_tilt(
    tilt_sd: float | None,
    checked: TermCells | None,
    labeled: TermCells,
    missing: list[TermCells],
) -> tuple[str, ...]:
    """Return what the interval then says, and what an audit would add."""
    if tilt_sd is None:
        return ()
    factor = math.exp(1.959964 * tilt_sd)
    belief = (
        "Sensitivity: the odds of a positive among missing rows are believed to differ from those "
        f"of comparable labeled rows by a factor between {1 / factor:.2f} and {factor:.2f} "
        f"({CI_PROB:.0%})."
    )
    if checked is not None:
        n_audited = int(checked.count.sum())
        return (f"{belief} The audit of {n_audited:,} missing rows informs this factor.",)
    notes = [f"{belief} The data cannot tell this factor: it is a statement of belief."]
    rows = min(AUDIT_ROWS, int(sum(side.count.sum() for side in missing)))
    if rows:
        after = (1 / tilt_sd**2 + rows * _expected_variance(labeled, missing)) ** -0.5
        notes.append(
            "Whether labels are missing at random cannot be checked from labeled rows. A random "
            f"audit of {rows:,} missing rows would shrink the uncertainty of the tilt from sd "
            f"{tilt_sd:.2g} to about {after:.2g}."
        )
    return tuple(notes)


def _expected_variance(labeled: TermCells, missing: list[TermCells]) -> float:
    """Return about the mean of p(1 - p) over missing rows, from a quick fit."""
    intercept, slope = fit_quickly(labeled)
    p = expit(intercept + slope * _stack(missing).sum(axis=1))
    return float(np.average(p * (1 - p), weights=np.concatenate([side.count for side in missing])))


def _stack(missing: list[TermCells]) -> FloatArray:
    return np.concatenate([side.terms for side in missing])
