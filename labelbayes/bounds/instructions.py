"""Two versions of an instruction: by how much valid verdicts exceed matches with the gold label."""

from __future__ import annotations

import math

import numpy as np

from labelbayes._checks import (
    CI_PROB,
    FloatArray,
    IntArray,
    check_choice,
    check_open_unit,
    check_type,
)
from labelbayes.bounds.gold_labels import cover_means, credit
from labelbayes.data.ratings import Ratings
from labelbayes.data.verdicts import read_verdicts
from labelbayes.results.estimates import Bounds
from labelbayes.results.interval import Interval
from labelbayes.results.sentences import TARGETS, Target


def compare_instructions(
    first: tuple[object, Ratings],
    second: tuple[object, Ratings],
    *,
    target: Target = "sample",
    ci_prob: float = CI_PROB,
) -> Bounds:
    """Return how much of the gap M* - M a rewritten instruction removes, item by item.

    Parameters
    ----------
    first, second : tuple of array_like and Ratings
        Verdicts and ratings under each version, of the same items by name. Items with a gold
        label and a response set in both are compared.
    target : {"sample", "population"}, default "sample"
        These items, or items drawn like these.
    ci_prob : float, default 0.95
        Coverage of each interval for the population.

    Returns
    -------
    Bounds
        ``gap_first, gap_second``: M* - M, the share of verdicts that are valid less that of
        matches with the gold label, in [-1, 1]; ``gap_difference``: first less second. Where a
        verdict is missing its item is taken at the least and at the most.

    Raises
    ------
    ValueError
        If no item can be compared, or a verdict is no option.
    TypeError
        If an argument is of the wrong type.

    Notes
    -----
    **Assumes** that the elicited response sets are the valid sets, and for the population that
    items are independent. Differences are taken within items, so that what makes an item hard
    cancels.

    References
    ----------
    .. [1] L. Guerdan et al., "A framework for evaluating LLMs under task indeterminacy",
       arXiv:2411.13760, 2024.

    Examples
    --------
    >>> raters, items = ["ann", "bob", "ann"], [1, 1, 1]
    >>> vague = Ratings(items, raters, ["A", "A", ["A", "B"]])
    >>> clear = Ratings(items, raters, ["A", "A", ["A"]], options=["A", "B"])
    >>> compared = compare_instructions((["B"], vague), (["A"], clear))
    >>> compared["gap_first"].low, compared["gap_second"].low, compared["gap_difference"].low
    (1.0, 0.0, 1.0)
    """
    check_choice("target", target, TARGETS)
    level = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
    sides = []
    for name, given in (("first", first), ("second", second)):
        if not isinstance(given, tuple) or len(given) != 2:
            raise TypeError(
                f"`{name}` must be a pair of verdicts and Ratings; got {type(given).__name__}."
            )
        y_judge, ratings = given
        check_type(f"{name}[1]", ratings, Ratings)
        sides.append((read_verdicts(f"{name}[0]", y_judge, ratings).choice, ratings))
    (choice_a, ratings_a), (choice_b, ratings_b) = sides
    rows_a, rows_b = _shared_rows(ratings_a, ratings_b)
    if not len(rows_a):
        raise ValueError(
            "`first` and `second` must share items that have a forced choice and a response set "
            "in both; there are none."
        )
    low_a, high_a = _gaps(choice_a, ratings_a, rows_a)
    low_b, high_b = _gaps(choice_b, ratings_b, rows_b)
    intervals = {
        "gap_first": _interval(low_a, high_a, 1.0, target, level),
        "gap_second": _interval(low_b, high_b, 1.0, target, level),
        "gap_difference": _interval(low_a - high_b, high_a - low_b, 2.0, target, level),
    }
    n_missing = int(((choice_a[rows_a] < 0) | (choice_b[rows_b] < 0)).sum())
    left = max(ratings_a.n_items, ratings_b.n_items) - len(rows_a)
    notes = [f"{len(rows_a):,} items compared, {left:,} left out."]
    if target == "population":
        notes.append(
            f"{level:.0%} confidence interval of a mean over independent items (Imbens and Manski "
            "where verdicts are missing)."
        )
    return Bounds(
        intervals,
        method="gap between valid and gold-label match, paired by item",
        assumption="elicited response sets are the valid sets",
        target=target,
        statement="confidence" if target == "population" else "bounds",
        n_labeled=len(rows_a) - n_missing,
        n_unlabeled=n_missing,
        notes=tuple(notes),
    )


def _shared_rows(a: Ratings, b: Ratings) -> tuple[IntArray, IntArray]:
    """Return places of the items that can be compared, in the order of the first."""
    usable_a, usable_b = (r.has_set & (r.count_array.sum(axis=1) > 0) for r in (a, b))
    place = {item: i for i, item in enumerate(b.items) if usable_b[i]}
    pairs = [(i, place[item]) for i, item in enumerate(a.items) if usable_a[i] and item in place]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _gaps(choice: IntArray, ratings: Ratings, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest gap of each item."""
    gap = ratings.set_array[rows].astype(float) - credit(ratings)[rows]
    given = choice[rows]
    known = gap[np.arange(len(rows)), np.maximum(given, 0)]
    return (
        np.where(given < 0, gap.min(axis=1), known),
        np.where(given < 0, gap.max(axis=1), known),
    )


def _interval(
    low: FloatArray, high: FloatArray, reach: float, target: Target, level: float
) -> Interval:
    if target == "population":
        return cover_means(low, high, level, lowest=-reach, highest=reach)
    return Interval(float(low.mean()), float(high.mean()), math.nan, "bounds")
