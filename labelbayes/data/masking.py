"""Hide labels of a set whose labels are known, by a mechanism that is known too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelbayes._checks import IntArray, check_unit, make_rng
from labelbayes.data.columns import as_column, as_reals
from labelbayes.data.evaluation_set import EvaluationSet

# NumPy draws no hypergeometric numbers beyond.
_MOST_COUNTED = 10**9

# A propensity this far outside [0, 1] was rounded there.
_ROUND_OFF = 1e-9


def mask_mcar(
    evaluation: EvaluationSet, rate: float, *, rng: np.random.Generator | int | None = None
) -> EvaluationSet:
    """Hide labels completely at random.

    Parameters
    ----------
    evaluation : EvaluationSet
        The truth. Labels already missing stay missing.
    rate : float
        Share of the labeled rows to hide, in [0, 1]; ``round(rate * n_labeled)`` of them are.
    rng : numpy.random.Generator, int or None, default None
        Source of randomness.

    Returns
    -------
    EvaluationSet
        The same rows in the same order. A row of multiplicity above 1 of which only a part is
        hidden becomes two rows, the labeled part first.

    Raises
    ------
    TypeError
        If `evaluation` is no EvaluationSet, or `rate` no number.
    ValueError
        If `rate` lies outside [0, 1], or rows of multiplicity above 1 stand for 10^9 labels or
        more.

    See Also
    --------
    mask_mar : Labels hidden by what is seen.
    mask_mnar : Labels hidden by what is not.

    Examples
    --------
    >>> truth = EvaluationSet([1, 0, 1, 0], [0.9, 0.2, 0.7, 0.4])
    >>> mask_mcar(truth, 0.5, rng=0).n_labeled
    2
    """
    _check_set(evaluation)
    rate = check_unit("rate", rate)
    generator = make_rng(rng)
    hidden = np.zeros(evaluation.n_rows, dtype=np.int64)
    _hide(hidden, evaluation.is_labeled, round(rate * evaluation.n_labeled), evaluation, generator)
    return _masked(evaluation, hidden)


def mask_mar(
    evaluation: EvaluationSet,
    propensity: npt.ArrayLike,
    *,
    rng: np.random.Generator | int | None = None,
) -> EvaluationSet:
    """Hide labels at random given what is seen: each is kept with its own probability.

    Parameters
    ----------
    evaluation : EvaluationSet
        The truth. Labels already missing stay missing.
    propensity : array_like of float, shape (n_rows,)
        P(labeled) of each row, in [0, 1], a function of scores, decisions, groups or anything
        else but the label. Where it is 0 the label is always hidden, and no weighting of the
        labeled rows can speak for such rows.
    rng : numpy.random.Generator, int or None, default None
        Source of randomness.

    Returns
    -------
    EvaluationSet
        The same rows in the same order; see `mask_mcar` for multiplicities.

    Raises
    ------
    TypeError
        If `evaluation` is no EvaluationSet, or `propensity` holds something that is no number.
    ValueError
        If `propensity` has another shape, or a value that is nan, masked or outside [0, 1]
        (round-off of 1e-9 is forgiven).

    See Also
    --------
    mask_mcar : Every label has the same chance.

    Examples
    --------
    >>> truth = EvaluationSet([1, 0, 1, 0], [0.9, 0.2, 0.7, 0.4])
    >>> mask_mar(truth, [1, 0, 1, 0], rng=0).y_true
    array([ 1., nan,  1., nan])
    """
    _check_set(evaluation)
    given = as_reals("propensity", as_column("propensity", propensity))
    if given.shape != (evaluation.n_rows,):
        raise ValueError(
            f"`propensity` must hold P(labeled) of each row, shape ({evaluation.n_rows},); got "
            f"{given.shape}."
        )
    is_bad = ~((given >= -_ROUND_OFF) & (given <= 1 + _ROUND_OFF))
    if is_bad.any():
        where = int(np.argmax(is_bad))
        raise ValueError(
            f"`propensity` must lie in [0, 1]; got {given[where]:g} at position {where} "
            f"({int(is_bad.sum())} in all)."
        )
    kept_prob = np.clip(given.astype(np.float64), 0, 1)
    labeled_count = np.where(evaluation.is_labeled, evaluation.count, 0)
    hidden = make_rng(rng).binomial(labeled_count, 1 - kept_prob)
    return _masked(evaluation, hidden)


def mask_mnar(
    evaluation: EvaluationSet,
    rate: float,
    positive_fraction: float,
    *,
    rng: np.random.Generator | int | None = None,
) -> EvaluationSet:
    """Hide labels not at random: the hidden ones have a given fraction of positives.

    Parameters
    ----------
    evaluation : EvaluationSet
        The truth. Labels already missing stay missing.
    rate : float
        Share of the labeled rows to hide, in [0, 1]: ``m = round(rate * n_labeled)``.
    positive_fraction : float
        Fraction of positives among them, in [0, 1]: ``round(positive_fraction * m)``.
    rng : numpy.random.Generator, int or None, default None
        Source of randomness.

    Returns
    -------
    EvaluationSet
        The same rows in the same order; see `mask_mcar` for multiplicities.

    Raises
    ------
    TypeError
        If `evaluation` is no EvaluationSet, or another argument no number.
    ValueError
        If one lies outside [0, 1], there are too few positives or negatives (names the smallest
        and largest feasible fraction), or rows of multiplicity above 1 stand for 10^9 labels.

    See Also
    --------
    mask_mcar : The fraction is that of the labeled rows, up to chance.

    References
    ----------
    .. [1] D. Dervovic and M. Cashmore, "PEMI: performance evaluation by multiple imputation",
       arXiv:2504.18385, 2025.

    Examples
    --------
    >>> truth = EvaluationSet([1, 0, 1, 0], [0.9, 0.2, 0.7, 0.4])
    >>> mask_mnar(truth, 0.5, 1.0, rng=0).y_true
    array([nan,  0., nan,  0.])
    """
    _check_set(evaluation)
    rate = check_unit("rate", rate)
    positive_fraction = check_unit("positive_fraction", positive_fraction)
    counts = evaluation.counts
    n_positive, n_negative = counts.tp + counts.fn, counts.fp + counts.tn
    n_hidden = round(rate * evaluation.n_labeled)
    n_hidden_positive = round(positive_fraction * n_hidden)
    smallest, largest = max(0, n_hidden - n_negative), min(n_hidden, n_positive)
    if not smallest <= n_hidden_positive <= largest:
        raise ValueError(
            f"`positive_fraction` must lie between {smallest / n_hidden:.4g} and "
            f"{largest / n_hidden:.4g} when {n_hidden:,} of {n_positive:,} positives and "
            f"{n_negative:,} negatives are hidden; got {positive_fraction:g}. Lower `rate` for a "
            "wider range."
        )
    generator = make_rng(rng)
    hidden = np.zeros(evaluation.n_rows, dtype=np.int64)
    _hide(hidden, evaluation.y_true == 1, n_hidden_positive, evaluation, generator)
    _hide(hidden, evaluation.y_true == 0, n_hidden - n_hidden_positive, evaluation, generator)
    return _masked(evaluation, hidden)


def _check_set(evaluation: EvaluationSet) -> None:
    if not isinstance(evaluation, EvaluationSet):
        raise TypeError(f"`evaluation` must be an EvaluationSet; got {type(evaluation).__name__}.")


def _hide(
    hidden: IntArray,
    where: npt.NDArray[np.bool_],
    n_hidden: int,
    evaluation: EvaluationSet,
    generator: np.random.Generator,
) -> None:
    """Spread `n_hidden` over the rows at `where`, each unit of multiplicity alike."""
    rows = np.flatnonzero(where)
    count = evaluation.count[rows]
    if len(rows) == 0 or n_hidden == 0:
        return
    if count.max() == 1:
        hidden[generator.choice(rows, n_hidden, replace=False, shuffle=False)] = 1
    elif (total := int(count.sum())) >= _MOST_COUNTED:
        raise ValueError(
            f"`count` must add up to less than 10^9 labels to hide an exact number of them; got "
            f"{total:,}. Use `mask_mar`, which hides each label with its own chance."
        )
    else:
        hidden[rows] = generator.multivariate_hypergeometric(count, n_hidden, method="marginals")


def _masked(evaluation: EvaluationSet, hidden: IntArray) -> EvaluationSet:
    """Hide `hidden` units of each row; a row hidden in part becomes two."""
    kept = evaluation.count - hidden
    is_split = (kept > 0) & (hidden > 0)
    rows = np.repeat(np.arange(evaluation.n_rows), 1 + is_split)
    is_hidden = (hidden > 0)[rows]
    firsts = np.flatnonzero(is_split) + np.arange(int(is_split.sum()))
    is_hidden[firsts] = False
    return evaluation._take(
        rows,
        y_true=np.where(is_hidden, np.nan, evaluation.y_true[rows]),
        count=np.where(is_hidden, hidden[rows], kept[rows]),
    )
