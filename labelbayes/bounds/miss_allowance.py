"""How many indeterminate items look determinate: the allowance that a partition needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta as beta_law
from scipy.stats import binom, hypergeom

from labelbayes._checks import BoolArray, FloatArray, check_unit, check_whole
from labelbayes.bounds.beta_prior import Audit, BetaPrior
from labelbayes.data.ratings import Ratings
from labelbayes.metrics.set_agreement import SLACK
from labelbayes.results.sentences import Target

#: Most thresholds of agreement that are tried.
MOST_THRESHOLDS = 12


@dataclass(frozen=True, eq=False)
class Partition:
    """Which items are marked as indeterminate, and how many such items may be unmarked.

    Parameters
    ----------
    marked : ndarray of bool, shape (n_items,)
        Marked items.
    allowance : float
        Largest share of items that are indeterminate and unmarked.
    has_chance : bool
        Whether the allowance is a limit that holds with a probability.
    said : str
        How both were found, in words.
    """

    marked: BoolArray
    allowance: float
    has_chance: bool
    said: str


def miss_rate(n_ratings: int, agreement: float) -> float:
    """Return how often an item with two valid options looks determinate.

    Parameters
    ----------
    n_ratings : int >= 1
        Ratings of the item.
    agreement : float
        An item looks determinate where the largest share of its ratings reaches this, and is not
        tied.

    Returns
    -------
    float
        Probability, in [0, 1]; 1 for a single rating.

    Notes
    -----
    **Assumes** that raters choose independently and evenly between both options, without error.
    Then it is the largest value: more valid options agree less often. Raters who copy each other,
    or prefer one of the options, agree more often.

    Examples
    --------
    >>> [round(miss_rate(n, 0.8), 3) for n in (2, 3, 5, 10)]
    [0.5, 0.25, 0.375, 0.109]
    """
    n, least = check_whole("n_ratings", n_ratings, least=1), check_unit("agreement", agreement)
    first = np.arange(n + 1)
    most = np.maximum(first, n - first)
    looks = (most / n >= least - SLACK) & (2 * most > n)
    return float(binom.pmf(first[looks], n, 0.5).sum())


def mark_disagreement(ratings: Ratings, agreement: float) -> BoolArray:
    """Return which items look indeterminate.

    Parameters
    ----------
    ratings : Ratings
        Forced choices.
    agreement : float
        Threshold of the largest share.

    Returns
    -------
    ndarray of bool, shape (n_items,)
        True where the largest share does not reach the threshold, where the gold label is tied,
        and where there is no forced choice.
    """
    counts = ratings.count_array
    share = counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1)
    return (share < agreement - SLACK) | (ratings.gold < 0)


def marked_by_agreement(
    ratings: Ratings,
    agreement: float | None,
    *,
    rate: float | Audit | None,
    may_err: bool,
    target: Target,
    level: float,
) -> Partition:
    """Return the partition by agreement of the raters, with its allowance.

    Parameters
    ----------
    ratings : Ratings
        Forced choices; items with response sets are taken for a random audit.
    agreement : float, optional
        Threshold; None takes 1.0 where raters do not err, for any disagreement then proves that
        several options are valid; else the one with the smallest sum of marked share and
        allowance.
    rate : float, Audit, optional
        Share of indeterminate items, where it is known.
    may_err : bool
        Whether a rating may be invalid.
    target : {"sample", "population"}
        Whether the allowance is for these items, or for items drawn like these.
    level : float
        Probability with which the allowance has to suffice.

    Returns
    -------
    Partition
        From audited items where there are some, else from the closed form.
    """
    if agreement is not None or not may_err:
        return _partition(ratings, 1.0 if agreement is None else agreement, rate, target, level)
    thresholds = _thresholds(ratings)
    # Chosen among several on the same data: each has to hold with what all may cost.
    each = 1 - (1 - level) / len(thresholds)
    found = [_partition(ratings, tau, rate, target, each) for tau in thresholds]
    # The threshold never depends on a judge, so that all judges meet the same partition.
    return min(reversed(found), key=lambda part: part.marked.mean() + part.allowance)


def marked_by_user(
    ratings: Ratings, marked: BoolArray, *, target: Target, level: float
) -> Partition:
    """Return a given partition with an allowance from audited items.

    Parameters
    ----------
    ratings : Ratings
        Items with response sets are taken for a random audit.
    marked : ndarray of bool, shape (n_items,)
        Marked items.
    target : {"sample", "population"}
        As in `marked_by_agreement`.
    level : float
        As there.

    Returns
    -------
    Partition
        With tied items marked as well.

    Raises
    ------
    ValueError
        If no item has a response set.
    """
    if not ratings.has_set.any():
        raise ValueError(
            "`miss_allowance` must be given with `partition` where no response set was elicited: "
            "the largest share of items that are indeterminate and not marked. Write 0.0 if the "
            "marks miss none."
        )
    both = marked | (ratings.gold < 0)
    allowance, has_chance, said = _from_audit(ratings, both, target, level)
    return Partition(both, allowance, has_chance, f"given partition; {said}")


def _thresholds(ratings: Ratings) -> list[float]:
    sizes = np.unique(ratings.count_array.sum(axis=1))
    shares = {
        most / n for n in sizes.tolist() if n > 0 for most in range(int(n) // 2 + 1, int(n) + 1)
    }
    ordered = sorted(shares | {1.0})
    places = np.linspace(0, len(ordered) - 1, min(len(ordered), MOST_THRESHOLDS)).round()
    return [ordered[int(place)] for place in np.unique(places)]


def _partition(
    ratings: Ratings, agreement: float, rate: float | Audit | None, target: Target, level: float
) -> Partition:
    marked = mark_disagreement(ratings, agreement)
    if ratings.has_set.any():
        allowance, has_chance, said = _from_audit(ratings, marked, target, level)
    else:
        allowance, has_chance = _closed_form(ratings, marked, agreement, rate, target, level)
        said = (
            f"miss allowance {allowance:.3f} from the closed form for raters who choose evenly and "
            "independently among two valid options; raters who copy each other agree more, and it "
            "is then too small"
        )
    return Partition(marked, allowance, has_chance, f"agreement below {agreement:g}; {said}")


def _from_audit(
    ratings: Ratings, marked: BoolArray, target: Target, level: float
) -> tuple[float, bool, str]:
    """Return the allowance that items with response sets give."""
    n, audited = ratings.n_items, ratings.has_set
    n_audited = int(audited.sum())
    missed = int((audited & ~marked & (ratings.set_array.sum(axis=1) > 1)).sum())
    said = f"{missed} of {n_audited} audited items were indeterminate and unmarked"
    if target == "population":
        return _upper_rate(missed, n_audited, level), True, said
    if n_audited == n:
        return missed / n, False, said
    most = _largest_likely(
        lambda total: float(hypergeom.cdf(missed, n, total, n_audited)),
        *(missed, n - (n_audited - missed)),
        level=level,
    )
    return most / n, True, said


def _largest_likely(cdf: Callable[[int], float], low: int, high: int, *, level: float) -> int:
    """Return the largest number whose falling cdf stays at 1 - level or above; `low` has it."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cdf(middle) >= 1 - level else (low, middle - 1)
    return low


def _upper_rate(count: int, n: int, level: float) -> float:
    """Return the upper Clopper-Pearson limit of a rate."""
    return 1.0 if count >= n else float(beta_law.ppf(level, count + 1, n - count))


def _closed_form(
    ratings: Ratings,
    marked: BoolArray,
    agreement: float,
    rate: float | Audit | None,
    target: Target,
    level: float,
) -> tuple[float, bool]:
    """Return the allowance from the chance that an indeterminate item looks determinate."""
    n_ratings: FloatArray = ratings.count_array.sum(axis=1)
    sizes, freq = np.unique(n_ratings[n_ratings > 0], return_counts=True)
    if not len(sizes):
        return 0.0, False  # every item is marked
    missed = float(np.average([miss_rate(int(size), agreement) for size in sizes], weights=freq))
    n, n_marked = ratings.n_items, int(marked.sum())
    most = (n - n_marked) / n
    if target == "population":
        if isinstance(rate, Audit):
            prior = BetaPrior.from_audit(rate.n_positive, rate.n_negative)
            return float(beta_law.ppf(level, prior.a, prior.b)) * missed, True
        if rate is not None:
            return rate * missed, False
        # Marked items are at least a share 1 - missed of the indeterminate ones.
        found = _upper_rate(n_marked, n, level)
        return (min(1.0, found / (1 - missed)) if missed < 1 else 1.0) * missed, True
    if rate is not None:
        part = level
        if isinstance(rate, Audit):
            part = (1 + level) / 2
            _, total = rate.counts(n, 2 * part - 1)
        else:
            total = math.ceil(rate * n - SLACK)
        return min(most, float(binom.ppf(part, total, missed)) / n), True
    if missed >= 1:
        return most, True
    # The largest number of indeterminate items of which so few would be marked by chance.
    total = _largest_likely(
        lambda total: float(binom.cdf(n_marked, total, 1 - missed)), n_marked, n, level=level
    )
    return min(most, (total - n_marked) / n), True
