"""Pairs of judges or models whose order is certain, and pairs that indeterminacy leaves open."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from labelbayes._checks import (
    CI_PROB,
    BoolArray,
    FloatArray,
    IntArray,
    check_choice,
    check_open_unit,
    check_type,
)
from labelbayes.bounds.beta_prior import Audit, BetaPrior
from labelbayes.bounds.gold_labels import cover_means, credit
from labelbayes.bounds.miss_allowance import Partition, marked_by_agreement
from labelbayes.bounds.response_sets import CONSTRUCTIONS
from labelbayes.data.ratings import Ratings
from labelbayes.data.verdicts import read_verdicts
from labelbayes.results.sentences import TARGETS, Target

COLUMNS = (
    "first",
    "second",
    "gold_difference",
    "low",
    "high",
    "ci_low",
    "ci_high",
    "ci_prob",
    "ci_kind",
    "order",
    "reason",
    "n_items",
    "n_missing",
    "assumption",
)


def rank_models(
    verdicts: Mapping[str, object],
    ratings: Ratings,
    *,
    construction: str = "partition",
    ci_prob: float = CI_PROB,
) -> pd.DataFrame:
    """Say for each pair of judges whether the order of their valid shares is certain.

    Parameters
    ----------
    verdicts : mapping of str to array_like, each of shape (n_items,)
        Name -> verdicts as in `bound_response_sets`; at least two.
    ratings : Ratings
        Forced choices of the raters.
    construction : {"partition", "prevalence"}, default "partition"
        "partition": items on which raters disagree are marked, with the miss allowance.
        "prevalence": only the share of indeterminate items is used, from items with response
        sets, which are taken for a random audit.
    ci_prob : float, default 0.95
        Joint level over all pairs (Bonferroni).

    Returns
    -------
    pandas.DataFrame
        A row per pair: ``first, second``; ``gold_difference`` (nan where a verdict or a gold
        label is missing); ``low, high``: bounds of M*(first) - M*(second) for these items;
        ``ci_low, ci_high, ci_prob, ci_kind``: confidence interval for items drawn like these;
        ``order``: the name with the higher share, or "open"; ``reason``: empty, "indeterminacy"
        where the bounds of these items hold 0, else "sampling"; ``n_items, n_missing`` (items on
        which one of the two has no verdict), ``assumption``.

    Raises
    ------
    ValueError
        If there are fewer than two judges, a verdict is no option, or "prevalence" lacks response
        sets.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    bound_response_sets : Bounds of one judge.

    Notes
    -----
    **Assumes** that no single rating is invalid, so that the gold label is valid; items are
    independent.

    Pairs are compared item by item: where both say the same they gain or lose together, whatever
    is valid, so that a difference can be certain though the two intervals overlap. On an
    indeterminate item that only one of them matches, the other may be right as well; where
    neither matches, either may be. With two options both are right.

    References
    ----------
    .. [1] L. Guerdan et al., "Validating LLM-as-a-judge systems under rating indeterminacy",
       arXiv:2503.05965, 2025. The paired bounds are derived here.

    Examples
    --------
    >>> n = 200
    >>> ratings = Ratings(
    ...     [i for i in range(n) for _ in range(2)], ["ann", "bob"] * n, ["A"] * 2 * n,
    ...     options=["A", "B", "C"],
    ... )
    >>> table = rank_models(
    ...     {"x": ["A"] * 180 + ["B"] * 20, "y": ["B"] * n, "z": ["C"] * n}, ratings
    ... )
    >>> table[["first", "second", "order", "reason"]].values.tolist()[2]
    ['y', 'z', 'open', 'indeterminacy']
    """
    check_type("verdicts", verdicts, Mapping)
    check_type("ratings", ratings, Ratings)
    check_choice("construction", construction, CONSTRUCTIONS)
    level = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
    if len(verdicts) < 2:
        raise ValueError(f"`verdicts` must hold at least two judges; got {len(verdicts)}.")
    choices = {
        name: read_verdicts(f"verdicts[{name!r}]", given, ratings).choice
        for name, given in verdicts.items()
    }
    ranges = {
        target: _valid_ranges(choices, ratings, _mark(ratings, construction, target, level))
        for target in TARGETS
    }
    pairs = list(combinations(choices, 2))
    rows = [_compare(pair, choices, ratings, ranges, level, len(pairs)) for pair in pairs]
    return pd.DataFrame(rows, columns=list(COLUMNS))


@dataclass(frozen=True, eq=False)
class _Ranges:
    """Whether each verdict is valid, as far as is known.

    `low`, `high`: name -> 0 or 1 per item. `may_rise`: name -> unmarked items with an invalid
    verdict, of which at most the share `allowance` is valid after all.
    """

    low: dict[str, FloatArray]
    high: dict[str, FloatArray]
    may_rise: dict[str, BoolArray]
    allowance: float
    said: str


def _mark(ratings: Ratings, construction: str, target: Target, level: float) -> Partition:
    # The population shares its level with the sampling of items.
    part = 1 - (1 - level) / 2 if target == "population" else level
    if construction == "partition":
        return marked_by_agreement(
            ratings, None, rate=None, may_err=False, target=target, level=part
        )
    n_sets = int(ratings.has_set.sum())
    if not n_sets:
        raise ValueError(
            "`construction='prevalence'` needs response sets of some items, to say how many are "
            "indeterminate; these ratings have none. Use construction='partition'."
        )
    n_several = int((ratings.set_array.sum(axis=1) > 1).sum())
    audit = Audit(n_several, n_sets - n_several)
    if target == "population":
        prior = BetaPrior.from_audit(audit.n_positive, audit.n_negative)
        most = prior.interval(2 * part - 1).high
    else:
        most = audit.counts(ratings.n_items, 2 * part - 1)[1] / ratings.n_items
    said = f"{n_several:,} of {n_sets:,} audited items are indeterminate"
    return Partition(np.zeros(ratings.n_items, dtype=bool), most, True, said)


def _valid_ranges(choices: Mapping[str, IntArray], ratings: Ratings, part: Partition) -> _Ranges:
    is_gold, items = credit(ratings) > 0, np.arange(ratings.n_items)
    is_open = part.marked.copy()
    if ratings.n_options == 2:
        # Of two options both are valid where raters, who do not err, disagree.
        is_open &= ~is_gold.any(axis=1)
    low, high, may_rise = {}, {}, {}
    for name, choice in choices.items():
        is_given = choice >= 0
        is_valid = is_gold[items, np.maximum(choice, 0)]
        is_valid |= part.marked & ~is_open
        low[name] = (is_given & is_valid).astype(float)
        high[name] = (~is_given | is_valid | is_open).astype(float)
        may_rise[name] = high[name] == 0
    return _Ranges(low, high, may_rise, part.allowance, part.said)


def _compare(
    pair: tuple[str, str],
    choices: Mapping[str, IntArray],
    ratings: Ratings,
    ranges: Mapping[Target, _Ranges],
    level: float,
    n_pairs: int,
) -> tuple[object, ...]:
    first, second = pair
    a, b = choices[first], choices[second]
    is_given = (a >= 0) & (b >= 0)
    is_same = is_given & (a == b)
    own, wide = (_difference(ranges[target], pair, is_same) for target in TARGETS)
    n = ratings.n_items
    below, above = (
        min(ranges["sample"].allowance, float((ranges["sample"].may_rise[name] & ~is_same).mean()))
        for name in (second, first)
    )
    low, high = float(own[0].mean()) - below, float(own[1].mean()) + above
    span = cover_means(*wide, 1 - (1 - level) / 2 / n_pairs, lowest=-1.0, highest=1.0)
    rise = ranges["population"].allowance
    ci_low, ci_high = max(-1.0, span.low - rise), min(1.0, span.high + rise)
    order = first if ci_low > 0 else second if ci_high < 0 else "open"
    reason = "" if order != "open" else "indeterminacy" if low <= 0 <= high else "sampling"
    gold = math.nan
    if is_given.all() and ratings.count_array.any(axis=1).all():
        matched = credit(ratings)
        items = np.arange(n)
        gold = float((matched[items, a] - matched[items, b]).mean())
    return (
        first,
        second,
        gold,
        low,
        high,
        ci_low,
        ci_high,
        level,
        "confidence",
        order,
        reason,
        n,
        int((~is_given).sum()),
        f"no rating is invalid; {ranges['sample'].said}",
    )


def _difference(
    ranges: _Ranges, pair: tuple[str, str], is_same: BoolArray
) -> tuple[FloatArray, FloatArray]:
    first, second = pair
    low = ranges.low[first] - ranges.high[second]
    high = ranges.high[first] - ranges.low[second]
    return np.where(is_same, 0.0, low), np.where(is_same, 0.0, high)
