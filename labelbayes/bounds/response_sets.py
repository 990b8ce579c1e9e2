"""Bounds of the share of valid verdicts where items may have several valid answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from labelbayes._checks import (
    CI_PROB,
    BoolArray,
    FloatArray,
    check_choice,
    check_open_unit,
    check_type,
    check_unit,
)
from labelbayes.bounds.beta_prior import Audit, BetaPrior
from labelbayes.bounds.gold_labels import GoldMatch, cover_means, match_gold
from labelbayes.bounds.miss_allowance import Partition, marked_by_agreement, marked_by_user
from labelbayes.bounds.rating_notes import rating_notes
from labelbayes.data.ratings import Ratings
from labelbayes.data.verdicts import Verdicts, read_verdicts
from labelbayes.results.estimates import Bounds
from labelbayes.results.interval import Interval
from labelbayes.results.sentences import TARGETS, Target

CONSTRUCTIONS = ("partition", "prevalence")


def bound_response_sets(
    y_judge: object,
    ratings: Ratings,
    *,
    construction: str = "partition",
    indeterminate_rate: float | Audit | None = None,
    partition: npt.ArrayLike | None = None,
    agreement: float | None = None,
    miss_allowance: float | None = None,
    rater_error: float = 0.0,
    target: Target = "sample",
    ci_prob: float = CI_PROB,
) -> Bounds:
    r"""Bound the share of a judge's verdicts that are valid, not only equal to the gold label.

    Parameters
    ----------
    y_judge : array_like, shape (n_items,), or Series or mapping by item
        The judge's verdicts, options; missing, "unparseable" and "errored" count as wrong at the
        lower and as right at the upper end. An array is in the order of ``ratings.items``.
    ratings : Ratings
        Forced choices of the raters. The gold label is the option chosen most often; an item
        whose gold label is tied is indeterminate, and a verdict among t tied options matches 1/t.
    construction : {"partition", "prevalence"}, default "partition"
        Whether it is known which items are indeterminate (have several valid answers), or only
        how many.
    indeterminate_rate : float in [0, 1] or Audit, optional
        Share of indeterminate items, or the counts of a random audit of these items
        (n_positive: indeterminate). Needed by "prevalence"; "partition" uses it for the miss
        allowance.
    partition : array_like of bool, shape (n_items,), or Series by item, optional
        Which items are indeterminate. None marks items whose agreement is below `agreement`.
    agreement : float in [0, 1], optional
        An item is taken for determinate where the largest share of its ratings reaches this (>=).
        None takes 1.0 without `rater_error`, since any disagreement then proves that several
        options are valid, else the threshold with the smallest sum of marked share and miss
        allowance. It never depends on the judge.
    miss_allowance : float in [0, 1], optional
        Largest share of items that are indeterminate and unmarked. None takes it from items with
        response sets, as a random audit, else from a closed form (`miss_rate`).
    rater_error : float in [0, 1], default 0.0
        Largest share of items whose gold label is not valid; 0 says that every single rating is
        valid. For the population this is a rate; the error rate of single ratings is a safe value
        where each valid option is chosen more often than any other.
    target : {"sample", "population"}, default "sample"
        These items, or items drawn like these (Imbens-Manski intervals).
    ci_prob : float, default 0.95
        Joint level where anything is estimated (Bonferroni): sampling of items, audit, allowance.

    Returns
    -------
    Bounds
        ``gold_match``, M; ``valid_match``, M*; and, where response sets were elicited,
        ``valid_match_elicited``: M* of those items by their sets.

    Raises
    ------
    TypeError
        If `ratings` is no Ratings or `indeterminate_rate` of another type.
    ValueError
        If a verdict is no option, an option is none of those above, "prevalence" lacks
        `indeterminate_rate`, or `partition` lacks `miss_allowance` where nothing was audited.

    See Also
    --------
    rank_models : Which of two judges has the higher share, for certain.
    build_rating_sets : A posterior of the same share, for two options.

    Notes
    -----
    **Assumes** that on determinate items the one valid answer is the gold label, up to
    `rater_error`, and that marks miss no more than the allowance. With I "indeterminate", w the
    allowance and e the rater error,

    .. math::
       M - e \le M^* &\le M + P(I) + e \quad \text{(prevalence)} \\
       M - e \le M^* &\le M + P(\text{no match, marked}) + w + e \quad \text{(partition)}

    With two options every answer to an indeterminate item is valid, so marked items are known to
    match: the partition identifies M* where w = e = 0, and the prevalence gives
    [max(M, P(I)), min(1, M + P(I))]. With a rater error, disagreement does not prove that an item
    is indeterminate: marks by agreement then raise the upper end only.

    The partition bound without w fails always with few ratings per item: two of three
    indeterminate items may look determinate. There is no option to leave it out.

    References
    ----------
    .. [1] L. Guerdan et al., "A framework for evaluating LLMs under task indeterminacy",
       arXiv:2411.13760, 2024. The bounds are derived here.
    .. [2] G. W. Imbens and C. F. Manski, "Confidence intervals for partially identified
       parameters", Econometrica 72(6), 1845-1857, 2004.

    Examples
    --------
    >>> ratings = Ratings(
    ...     [1, 1, 2, 2, 3, 3, 4, 4],
    ...     ["ann", "bob"] * 4,
    ...     ["A", "A", "A", "B", "C", "C", "B", "B"],
    ... )
    >>> bounds = bound_response_sets(["A", "C", "C", "A"], ratings, miss_allowance=0.0)
    >>> print(bounds["gold_match"], bounds["valid_match"])
    [0.500, 0.500] (bounds) [0.500, 0.750] (bounds)
    """
    check_type("ratings", ratings, Ratings)
    check_choice("construction", construction, CONSTRUCTIONS)
    check_choice("target", target, TARGETS)
    level = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
    error = check_unit("rater_error", rater_error)
    rate = _check_rate(indeterminate_rate, construction, ratings)
    verdicts = read_verdicts("y_judge", y_judge, ratings)
    gold = match_gold(verdicts.choice, ratings)
    if construction == "prevalence":
        _refuse("prevalence", partition, agreement, miss_allowance)
        assert rate is not None
        known = _by_prevalence(gold, verdicts, rate, error, ratings, target, level)
    else:
        marked = None if partition is None else _read_partition(partition, ratings)
        parts = 1 + (target == "population")
        part = _resolve_partition(
            *(ratings, marked, agreement, miss_allowance, rate, error > 0, target),
            level=1 - (1 - level) / parts,
        )
        certain = part.marked if error == 0 else np.asarray(marked is not None and marked)
        known = _by_partition(gold, part, error, ratings, certain, target, level)
    intervals = {
        "gold_match": _interval(gold.low, gold.high, target, level),
        "valid_match": known.interval,
    }
    if ratings.has_set.any():
        intervals["valid_match_elicited"] = _elicited(verdicts, ratings, target, level)
    has_chance = target == "population" or known.has_chance
    n_known = int(gold.is_known.sum())
    return Bounds(
        intervals,
        method=f"response sets, {construction} bound: {known.said}",
        assumption="the one valid answer to a determinate item is its gold label"
        + (f", but for a share {error:g} of the items" if error else ""),
        target=target,
        statement="confidence" if has_chance else "bounds",
        n_labeled=n_known,
        n_unlabeled=ratings.n_items - n_known,
        notes=rating_notes(intervals, verdicts, ratings, target, level, has_chance, known.caution),
    )


@dataclass(frozen=True)
class _Known:
    interval: Interval
    has_chance: bool
    said: str
    caution: str = ""


def _check_rate(
    rate: float | Audit | None, construction: str, ratings: Ratings
) -> float | Audit | None:
    if rate is None:
        if construction == "prevalence":
            raise ValueError(
                "`indeterminate_rate` must be given with construction='prevalence': a share of "
                "items, or the Audit of a random part of them."
            )
        return None
    if isinstance(rate, Audit):
        if rate.n > ratings.n_items:
            raise ValueError(
                f"`indeterminate_rate` must be an audit of these {ratings.n_items:,} items; got "
                f"{rate.n:,} audited ones."
            )
        return rate
    return check_unit("indeterminate_rate", rate)


def _refuse(construction: str, *options: object) -> None:
    names = ("partition", "agreement", "miss_allowance")
    for name, value in zip(names, options, strict=True):
        if value is not None:
            raise ValueError(
                f"`{name}` has no use with construction={construction!r}, which does not know "
                "which items are indeterminate. Leave it out, or use construction='partition'."
            )


def _read_partition(partition: npt.ArrayLike, ratings: Ratings) -> BoolArray:
    """Return the marks in the order of the items; a Series is looked up by its index."""
    if isinstance(partition, pd.Series):
        by_item = dict(zip(partition.index.tolist(), partition.tolist(), strict=True))
        absent = [item for item in ratings.items if item not in by_item]
        if absent or len(partition) != ratings.n_items:
            raise ValueError(
                "`partition` must hold each item once in its index, as it is a Series; "
                + (f"{absent[0]!r} is not there." if absent else f"got {len(partition)} entries.")
            )
        partition = [by_item[item] for item in ratings.items]
    if np.ma.is_masked(partition):
        raise ValueError(
            "`partition` must say of every item whether it is marked; some are masked."
        )
    marked = np.asarray(partition)
    if marked.shape != (ratings.n_items,) or marked.dtype != np.bool_:
        raise ValueError(
            f"`partition` must hold one bool per item, shape ({ratings.n_items},); got "
            f"{marked.dtype} of shape {marked.shape}. Its order is that of `ratings.items`."
        )
    return marked


def _resolve_partition(
    ratings: Ratings,
    partition: BoolArray | None,
    agreement: float | None,
    miss_allowance: float | None,
    rate: float | Audit | None,
    may_err: bool,
    target: Target,
    level: float,
) -> Partition:
    allowance = None if miss_allowance is None else check_unit("miss_allowance", miss_allowance)
    tau = None if agreement is None else check_unit("agreement", agreement)
    if partition is None:
        part = marked_by_agreement(
            ratings, tau, rate=rate, may_err=may_err, target=target, level=level
        )
        if allowance is None:
            return part
        words = part.said.split(";")[0]
        return Partition(part.marked, allowance, False, f"{words}; miss allowance {allowance:g}")
    if tau is not None:
        raise ValueError(
            "`agreement` has no use where `partition` is given. Leave one of them out."
        )
    if allowance is None:
        return marked_by_user(ratings, partition, target=target, level=level)
    both = partition | (ratings.gold < 0)
    return Partition(both, allowance, False, f"given partition; miss allowance {allowance:g}")


def _by_partition(
    gold: GoldMatch,
    part: Partition,
    error: float,
    ratings: Ratings,
    certain: BoolArray,
    target: Target,
    level: float,
) -> _Known:
    low, high = gold.low, np.where(part.marked, 1.0, gold.high)
    if ratings.n_options == 2:
        # Both options of an item that is indeterminate for certain are valid: any verdict is.
        low = np.where(certain & gold.is_known, 1.0, low)
    sampled = level
    if part.has_chance:
        sampled = 1 - (1 - level) / 2
    inner = _interval(low, high, target, sampled)
    caution = ""
    if part.allowance >= 1 - part.marked.mean() and not part.marked.all():
        caution = (
            "The miss allowance covers every unmarked item, so the partition says nothing about "
            "the upper end: more ratings per item, or some elicited response sets, would."
        )
    return _Known(
        _widen(inner, error, part.allowance + error, part.has_chance, level),
        part.has_chance,
        part.said,
        caution,
    )


def _by_prevalence(
    gold: GoldMatch,
    verdicts: Verdicts,
    rate: float | Audit,
    error: float,
    ratings: Ratings,
    target: Target,
    level: float,
) -> _Known:
    has_chance = isinstance(rate, Audit)
    n_parts = has_chance + (target == "population")
    each = 1 - (1 - level) / max(1, n_parts)
    if not isinstance(rate, Audit):
        least = most = rate
        said = f"a share {rate:g} of the items is indeterminate"
    elif target == "population":
        span = BetaPrior.from_audit(rate.n_positive, rate.n_negative).interval(each)
        least, most = span.low, span.high
        said = f"audit of {rate.n:,} items, {rate.n_positive:,} indeterminate (Beta posterior)"
    else:
        first, last = rate.counts(ratings.n_items, each)
        least, most = first / ratings.n_items, last / ratings.n_items
        said = f"audit of {rate.n:,} of these items, {rate.n_positive:,} indeterminate"
    inner = _interval(gold.low, gold.high, target, each)
    wide = _widen(inner, error, most + error, has_chance, level)
    if ratings.n_options == 2:
        # Every verdict on an indeterminate item is valid, if there is one.
        floor = least - (1 - float((verdicts.choice >= 0).mean()))
        wide = Interval(max(wide.low, floor), wide.high, wide.ci_prob, wide.ci_kind)
    return _Known(wide, has_chance, said)


def _interval(low: FloatArray, high: FloatArray, target: Target, level: float) -> Interval:
    if target == "population":
        return cover_means(low, high, level)
    return Interval(float(low.mean()), float(high.mean()), math.nan, "bounds")


def _widen(inner: Interval, below: float, above: float, has_chance: bool, level: float) -> Interval:
    low, high = max(0.0, inner.low - below), min(1.0, inner.high + above)
    if has_chance or inner.ci_kind == "confidence":
        return Interval(low, high, level, "confidence")
    return Interval(low, high, math.nan, "bounds")


def _elicited(verdicts: Verdicts, ratings: Ratings, target: Target, level: float) -> Interval:
    """Return M* of the items with response sets."""
    rows = np.flatnonzero(ratings.has_set)
    choice = verdicts.choice[rows]
    is_valid = ratings.set_array[rows, np.maximum(choice, 0)].astype(float)
    low, high = np.where(choice < 0, 0.0, is_valid), np.where(choice < 0, 1.0, is_valid)
    return _interval(low, high, target, level)
