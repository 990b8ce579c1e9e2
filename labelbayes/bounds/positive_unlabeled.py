"""Bounds from known positives and unlabeled rows: curves, areas, metrics at a cutoff."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from labelbayes._checks import (
    CI_PROB,
    FloatArray,
    check_choice,
    check_open_unit,
    check_type,
    check_unit,
    listed,
)
from labelbayes.bounds.beta_prior import Beta, resolve_beta, split_level
from labelbayes.bounds.curve_bounds import CurveBounds
from labelbayes.bounds.latent_paths import Limits
from labelbayes.bounds.path_extremes import CONSTRUCTIONS, Construction, Reference
from labelbayes.bounds.positive_unlabeled_notes import describe_bounds
from labelbayes.bounds.rank_bands import BANDS, Band, BandName
from labelbayes.bounds.score_blocks import ScoreBlocks, make_blocks
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.results.sentences import TARGETS, Target

BandOption = BandName | tuple[npt.ArrayLike, npt.ArrayLike]


def bound_positive_unlabeled(
    evaluation: EvaluationSet,
    beta: Beta,
    *,
    band: BandOption = "predictive",
    ci_prob: float = CI_PROB,
    construction: Construction = "attained",
    scar_violation: float = 0.0,
    target: Target = "sample",
) -> CurveBounds:
    """Bound curves, areas and metrics when some positives are known and the rest is unlabeled.

    The known positives say how the positives hidden among the unlabeled rows rank, up to a band;
    beta says how many there are. Among all labelings that fit both, each number has a smallest
    and a largest value.

    Parameters
    ----------
    evaluation : EvaluationSet
        Known positives (1), unlabeled rows (nan) and, if there are any, known negatives (0).
        Without a score the decision stands for it.
    beta : float, tuple of float, BetaPrior or Audit
        Share of positives among the unlabeled rows: a number, a range (low, high), a law of it,
        or an audit of some of these unlabeled rows. Bounds hold for every value in a range, or in
        the interval of a law.
    band : {"predictive", "binomial", "dkw"} or tuple of array_like, default "predictive"
        How far the latent positives may rank from the known ones. "predictive": for these latent
        rows, beta-binomial at one cutoff, two-sample Kolmogorov-Smirnov for curves and areas.
        "binomial": the paper's bootstrap, without resampling. "dkw": for the population. A pair
        (low, high) of shares at each distinct score, falling, is taken as it is.
    ci_prob : float, default 0.95
        Joint level, in (0, 1): half of what is left over for the band and half for beta where
        that is a law or an audit (Bonferroni).
    construction : {"attained", "paper"}, default "attained"
        "attained": the extremes over labelings, each end one labeling. "paper": Theorem 1 of
        [1]_, cutoff by cutoff, up to one row wider.
    scar_violation : float, default 0.0
        Largest difference between the shares of known and latent positives above any cutoff, in
        [0, 1]; added to both limits of the band.
    target : {"sample", "population"}, default "sample"
        These rows, or rows drawn like these (Imbens-Manski intervals).

    Returns
    -------
    CurveBounds
        ``roc()``, ``precision_recall()``, ``auc()``, ``average_precision()``, ``at(threshold)``,
        ``bounds()``, ``points()`` and ``summary()``.

    Raises
    ------
    TypeError
        If an argument is of the wrong type.
    ValueError
        If an option is none of those above, or `beta` does not fit. Asked
        for a number, the result raises where band and beta contradict the data.

    See Also
    --------
    bound_negative_unlabeled : The same from known negatives.
    build_positive_unlabeled : A posterior under the same assumption.
    sweep_beta : Models compared over values of beta.

    Notes
    -----
    **Assumes** that known positives are a random sample of all positives (SCAR), up to
    `scar_violation`, and that beta is as given. Beta cannot be learned from such data.

    Rows with one score are one step, so the order of rows never matters. With u_j unlabeled rows
    at a score, labelings are paths with steps from 0 to u_j between the limits of the band; the
    pointwise greatest and least paths give the ends. A lower ROC area is not monotone in beta, so
    every number of latent positives in a range is looked at (above 400, neighbors together).

    Shown in the notebook 05_positive_unlabeled.

    References
    ----------
    .. [1] M. Claesen, J. Davis, F. De Smet and B. De Moor, "Assessing binary classifiers using
       only positive and unlabeled data", arXiv:1504.06837, 2015.

    Examples
    --------
    >>> y_true = [1, None, 1, None, None, None, 1, None, None, None]
    >>> y_score = [0.9, 0.8, 0.7, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    >>> result = bound_positive_unlabeled(EvaluationSet(y_true, y_score), 2 / 7)
    >>> print(result.at(0.5)["precision"])
    [0.333, 0.667] (95% bounds)
    >>> print(result.auc())
    [0.380, 0.920] (95% bounds)
    """
    check_choice("target", target, TARGETS)
    return _bound(
        evaluation,
        beta,
        band,
        ci_prob,
        construction,
        scar_violation,
        target,
        reference="positive",
    )


def bound_negative_unlabeled(
    evaluation: EvaluationSet,
    beta: Beta,
    *,
    band: BandOption = "predictive",
    ci_prob: float = CI_PROB,
    construction: Construction = "attained",
    scar_violation: float = 0.0,
) -> CurveBounds:
    """Bound the same numbers when known negatives are the random sample.

    Parameters
    ----------
    evaluation : EvaluationSet
        Known negatives (0), unlabeled rows (nan) and, if there are any, known positives (1).
    beta : float, tuple of float, BetaPrior or Audit
        Share of **positives** among the unlabeled rows.
    band : {"predictive", "binomial", "dkw"} or tuple of array_like, default "predictive"
        As in `bound_positive_unlabeled`, for the share of negatives above each cutoff.
    ci_prob : float, default 0.95
        Joint level, in (0, 1).
    construction : {"attained", "paper"}, default "attained"
        As in `bound_positive_unlabeled`.
    scar_violation : float, default 0.0
        Largest difference between known and latent negatives, in [0, 1].

    Returns
    -------
    CurveBounds
        For these rows.

    Raises
    ------
    TypeError
        If an argument is of the wrong type.
    ValueError
        As `bound_positive_unlabeled`.

    See Also
    --------
    bound_positive_unlabeled : From known positives.

    Notes
    -----
    **Assumes** that known negatives are a random sample of all negatives. Labels are reversed: the
    latent negatives are bounded, and where they are most the positives are fewest, so lower and
    upper bounds change places (appendix C of [1]_).

    References
    ----------
    .. [1] M. Claesen, J. Davis, F. De Smet and B. De Moor, "Assessing binary classifiers using
       only positive and unlabeled data", arXiv:1504.06837, 2015.

    Examples
    --------
    >>> y_true = [None, None, 0, None, 0, None, 0, None]
    >>> y_score = [0.9, 0.8, 0.6, 0.6, 0.4, 0.3, 0.2, 0.1]
    >>> result = bound_negative_unlabeled(EvaluationSet(y_true, y_score), 0.4)
    >>> print(result.at(0.5)["recall"])
    [0.000, 1.000] (95% bounds)
    """
    return _bound(
        evaluation,
        beta,
        band,
        ci_prob,
        construction,
        scar_violation,
        "sample",
        reference="negative",
    )


def _bound(
    evaluation: EvaluationSet,
    beta: Beta,
    band: BandOption,
    ci_prob: float,
    construction: Construction,
    scar_violation: float,
    target: Target,
    *,
    reference: Reference,
) -> CurveBounds:
    check_type("evaluation", evaluation, EvaluationSet)
    check_choice("construction", construction, CONSTRUCTIONS)
    share = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
    violation = check_unit("scar_violation", scar_violation)
    is_given = isinstance(band, tuple)
    if not isinstance(band, (str, tuple)):
        raise TypeError(
            f"`band` must be one of {listed(BANDS)}, or a tuple of two arrays, (low, high); got "
            f"{type(band).__name__}."
        )
    if not is_given:
        check_choice("band", band, BANDS)
    is_population = target == "population"
    part, beta_is_part = split_level(beta, share, int(not is_given) + is_population)
    blocks = make_blocks(evaluation, merge_runs=not is_given and construction == "attained")
    made = (
        Band("given", math.nan, violation, _given_limits(band, blocks))
        if isinstance(band, tuple)
        else Band(str(band), part, violation)
    )
    found = resolve_beta(beta, evaluation.n_unlabeled, part if beta_is_part else math.nan)
    joint = math.nan if math.isnan(part) else share
    n_known = blocks.n_known_positive if reference == "positive" else blocks.n_known_negative
    notes = describe_bounds(
        made,
        joint=joint,
        beta_level=found.level if beta_is_part else None,
        reference=reference,
        target=target,
        has_known=n_known > 0,
    )
    return CurveBounds(
        evaluation,
        blocks,
        made,
        found,
        construction,
        reference,
        target,
        joint,
        part if is_population else math.nan,
        notes,
    )


def _shares(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return a copy as an array of numbers."""
    try:
        array = np.asarray(values)
    except ValueError:  # ragged
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"`{name}` must hold numbers, one share per distinct score.")
    return array.astype(np.float64)


def _given_limits(band: tuple[npt.ArrayLike, npt.ArrayLike], blocks: ScoreBlocks) -> Limits:
    """Return the user's limits, tightened so that neither falls."""
    if len(band) != 2:
        raise ValueError(f"`band` must be a pair of arrays (low, high); got {len(band)}.")
    ends = []
    for i, values in enumerate(band):
        array = _shares(f"band[{i}]", values)
        if array.shape != blocks.score.shape:
            raise ValueError(
                f"`band[{i}]` must hold one share per distinct score, shape "
                f"{blocks.score.shape}; got {array.shape}."
            )
        bad = ~((array >= 0) & (array <= 1))
        if bad.any():
            first = int(np.argmax(bad))
            raise ValueError(
                f"`band[{i}]` must hold shares in [0, 1]; got {float(array[first])!r} at "
                f"position {first}."
            )
        ends.append(array)
    low, high = ends
    if (low > high).any():
        first = int(np.argmax(low > high))
        raise ValueError(
            f"`band` must be a pair (low, high), low first; at position {first} low is "
            f"{float(low[first])!r} and high {float(high[first])!r}."
        )
    # Shares above a cutoff never fall as it does, so neither do their limits.
    return Limits(np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1])
