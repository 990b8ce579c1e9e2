"""estimate_optimal: the optimum from soft labels, calibrated, with an interval and a bracket."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from labelbayes._checks import (
    CI_PROB,
    FloatArray,
    check_choice,
    check_open_unit,
    check_whole,
    make_rng,
)
from labelbayes.optimal.forms import FORMS, Form
from labelbayes.optimal.plug_in import FixedForm
from labelbayes.optimal.ranked_optimum import RankedOptimum
from labelbayes.optimal.soft_labels import (
    bound_plug_in_bias,
    check_counts,
    check_hard_labels,
    check_soft_labels,
    prior_of,
)
from labelbayes.results.estimates import Estimates
from labelbayes.results.sentences import INDEPENDENCE, optimum_bracket, optimum_interval

COUNTS_ARE_NOISY = (
    "Counts of raters are noisy soft labels: this is the best that can be done from the counts, "
    "and the optimum given the items is better."
)


def estimate_optimal(
    soft_labels: npt.ArrayLike,
    y_true: npt.ArrayLike | None = None,
    *,
    n_ratings: npt.ArrayLike | None = None,
    calibrator: Literal["isotonic"] | None = "isotonic",
    prior: float | None = None,
    form: Form = "auto",
    ci_prob: float = CI_PROB,
    n_resamples: int = 0,
    rng: np.random.Generator | int | None = None,
) -> Estimates:
    r"""Estimate error, BER and AUC of the best classifier that could be built.

    Parameters
    ----------
    soft_labels : array_like of float, shape (n,)
        P(y = 1 | x) of each item, up to an increasing distortion; with `n_ratings` the number of
        raters who said positive.
    y_true : array_like of int, shape (n,), optional
        Hard labels 0 and 1; items whose label is missing are left out. Not needed without a
        calibrator.
    n_ratings : int or array_like of int, shape (n,), optional
        Raters of each item.
    calibrator : {"isotonic"} or None, default "isotonic"
        Undoes the distortion by isotonic regression on the hard labels; None takes soft labels as
        they are.
    prior : float, optional
        P(y = 1) where it is known from elsewhere, strictly between 0 and 1. None stands for the
        mean of the calibrated soft labels.
    form : {"auto", "min", "max", "mad"}, default "auto"
        Form of BER and AUC for a given `prior`; see `optimal_ber`. "auto" takes the one of min and
        max that varies less. Without a prior all are the same number.
    ci_prob : float, default 0.95
        Probability that the sentences speak of.
    n_resamples : int, default 0
        0 for standard errors from influence functions; else bootstrap resamples, with BCa limits
        (``estimates["ber"].basic()`` gives the basic ones).
    rng : numpy.random.Generator, int, optional
        Where resamples come from, and which of equally scored items go to which fold.

    Returns
    -------
    Estimates
        ``error``, ``ber`` and ``roc_auc`` in-sample, which are optimistic where a calibrator is
        fitted, and ``error_held_out``, ``ber_held_out`` and ``roc_auc_held_out``, the other end of
        the bracket: what rules attain that were fitted to other items. Without hard labels the
        latter are undefined.

    Raises
    ------
    ValueError
        If a soft label is outside [0, 1], a count above its raters, hard labels are of one class
        or missing where the calibrator needs them, or an option is not as above.

    See Also
    --------
    optimal_error, optimal_ber, optimal_auc : The plain formulas, for calibrated soft labels.
    build_soft_labels : A model of raters' counts, without the bias of plain shares.
    score_feebee : How well an estimator of the optimum does, without knowing it.

    Notes
    -----
    **Assumes** that P(y = 1 | x) is an increasing function of the soft label (with
    ``calibrator=None``: the soft label itself), that items are a random sample, and that labels
    are missing completely at random. Where noise breaks the order, the optimum looks worse than
    it is: it is then the best that can be done from the soft labels.

    The in-sample isotonic estimates have a plain meaning: the error is that of the best threshold
    on these labels, the BER is (1 - largest Youden index)/2, and the AUC is the area under the
    convex hull of the ROC curve. Without a calibrator they are those of `optimal_error`,
    `optimal_ber` and `optimal_auc`. A best threshold is optimistic on its own data,
    and averaging it over folds does not cure this, so both ends are given. Error and BER held out
    are those of thresholds fitted to nine tenths and applied to the rest; the AUC held out is that
    of the soft labels themselves, whose order is not fitted. On average the first end is too good
    and the second no better than the optimum.

    Standard errors follow from influence functions, in which thresholds count as fixed: at the
    best one the derivative is zero. Limits are taken on the scale of log odds. They know nothing of
    the optimism, so the interval of one end alone covers too little; from the lower limit of the
    two to the upper, which is among the notes, covers well. Shares of 500 samples whose 95% limits
    held the truth, in-sample and both ends (two Gaussian classes, AUC .977):

    ==========  ======  =========  =========  =========
    prevalence  items   error      BER        AUC
    ==========  ======  =========  =========  =========
    .05         200     .97, 1.00  .48, .89   .74, .88
    .05         1,000   .95, .97   .84, .96   .81, .91
    .05         20,000  .94, .96   .92, .95   .89, .95
    .2          200     .97, .98   .92, .98   .85, .95
    .2          1,000   .94, .98   .95, .97   .88, .95
    .2          20,000  .93, .96   .94, .95   .91, .97
    ==========  ======  =========  =========  =========

    Shown in the notebook 06_bayes_optimal.

    References
    ----------
    .. [1] R. Ushio, T. Ishida, M. Sugiyama, Practical estimation of the optimal classification
       error with soft labels and calibration, arXiv:2505.20761, 2025.
    .. [2] R. Ushio et al., on the optimal balanced error rate and AUC from soft labels,
       arXiv:2609.02304, 2026.

    Examples
    --------
    >>> from labelbayes.data.simulate_soft_labels import simulate_soft_labels
    >>> simulated = simulate_soft_labels(2_000, rng=0)
    >>> optimum = estimate_optimal(simulated.soft_labels, simulated.y_true)
    >>> simulated.error in optimum["error"].interval()
    True
    """
    check_choice("form", form, FORMS)
    if calibrator is not None:
        check_choice("calibrator", calibrator, ("isotonic",))
    level = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
    size = check_whole("n_resamples", n_resamples, least=0)
    generator = make_rng(rng)
    score, notes = _read(soft_labels, n_ratings, calibrator)
    known: FloatArray | None = None
    n_unlabeled = 0
    if y_true is None:
        if calibrator is not None:
            raise ValueError(
                "`y_true` must be given where a calibrator is fitted; got None. Pass hard labels, "
                "or `calibrator=None` where the soft labels are the probabilities themselves."
            )
    else:
        known = check_hard_labels(y_true, len(score))
        kept = ~np.isnan(known)
        n_unlabeled = int((~kept).sum())
        score, known = score[kept], known[kept]
    theta = None if prior is None else prior_of(score, prior)
    optimum = RankedOptimum.of(
        score, known, is_fitted=calibrator is not None, prior=theta, form=form, rng=generator
    )
    laws = optimum.resampled(size, generator) if size else optimum.laws()
    brackets = []
    for name, ends in optimum.brackets().items():
        spans = [laws[key].interval(level) for key in (name, f"{name}_held_out")]
        limits = min(span.low for span in spans), max(span.high for span in spans)
        brackets.append(optimum_bracket(name, ends, limits, level))
    notes = [optimum_interval(level), *brackets, *notes, *optimum.doubts()]
    if n_unlabeled:
        notes.append(f"{n_unlabeled:,} items without a hard label are left out.")
    return Estimates(
        laws,
        method=_method(calibrator, optimum.forms, prior, size),
        assumption=_assumption(calibrator, n_unlabeled),
        target="population",
        statement="confidence",
        n_labeled=len(score) if known is not None else 0,
        n_unlabeled=n_unlabeled if known is not None else len(score),
        notes=(*notes, INDEPENDENCE),
        joint=None if size else optimum.joint,
    )


def _read(
    soft_labels: npt.ArrayLike, n_ratings: npt.ArrayLike | None, calibrator: str | None
) -> tuple[FloatArray, list[str]]:
    """Return soft labels, and what raters' counts do to the optimum."""
    if n_ratings is None:
        return check_soft_labels("soft_labels", soft_labels, least=2), []
    counts, raters = check_counts("soft_labels", soft_labels, n_ratings)
    score = check_soft_labels("soft_labels", counts / raters, least=2)
    if calibrator is not None:
        return score, [COUNTS_ARE_NOISY]
    bias = bound_plug_in_bias(counts, raters)
    sentence = (
        "Shares of raters taken for probabilities make the optimum look better than it is: error "
        f"by at most {bias.error:.3f}, BER by {bias.ber:.3f}, AUC by {bias.roc_auc:.3f} on "
        "average. `build_soft_labels` removes this bias."
    )
    return score, [sentence]


def _method(
    calibrator: str | None,
    forms: tuple[FixedForm, FixedForm],
    prior: float | None,
    n_resamples: int,
) -> str:
    how = "soft labels as they are" if calibrator is None else "isotonic calibration"
    errors = f"{n_resamples:,} resamples, BCa" if n_resamples else "influence function"
    if prior is None:
        return f"{how}; {errors}"
    return f"{how}; prior {prior:g}, {forms[0]} form of BER, {forms[1]} form of AUC; {errors}"


def _assumption(calibrator: str | None, n_unlabeled: int) -> str:
    what = (
        "soft labels are P(y = 1 | x)"
        if calibrator is None
        else "P(y = 1 | x) is an increasing function of the soft label"
    )
    return f"{what}; labels are missing completely at random" if n_unlabeled else what
