"""Bounds of valid verdicts: brute force over valid sets, coverage, and raw bounds that fail."""

import importlib.util
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, hypergeom

from labelbayes.bounds.beta_prior import Audit
from labelbayes.bounds.gold_labels import credit
from labelbayes.bounds.instructions import compare_instructions
from labelbayes.bounds.miss_allowance import mark_disagreement, miss_rate
from labelbayes.bounds.response_sets import bound_response_sets
from labelbayes.data.ratings import Ratings
from labelbayes.data.simulate_ratings import simulate_ratings

ROOT = Path(__file__).parents[2]


def _experiment():
    path = ROOT / "tests" / "validation" / "v13.py"
    spec = importlib.util.spec_from_file_location("v13", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


V13 = _experiment()

#: Oracles, item 09, kind "bounds": options, gold labels, verdicts, marks, rater error, share of
#: indeterminate items, missed share; M, prevalence and partition bounds.
CASES = {
    "K3_mixed": (
        *(3, [0, 0, 1, 2, 2, 1], [0, 1, 0, 1, 2, 1], [0, 1, 1, 0, 1, 0], 0.0, 0.5, 0.0),
        *(0.5, (0.5, 1.0), (0.5, 0.833333333333333)),
    ),
    "all_determinate": (
        *(3, [0, 1, 2], [0, 2, 2], [0, 0, 0], 0.0, 0.0, 0.0),
        *(0.666666666666667, (0.666666666666667,) * 2, (0.666666666666667,) * 2),
    ),
    "all_indeterminate": (
        *(3, [0, 1, 2, 0], [1, 0, 2, 1], [1, 1, 1, 1], 0.0, 1.0, 0.0),
        *(0.25, (0.25, 1.0), (0.25, 1.0)),
    ),
    "rater_error_eps": (
        *(3, [1, 0, 1, 2, 0, 0, 2, 1, 2, 1], [0, 1, 1, 0, 0, 0, 2, 2, 0, 1]),
        *([0, 1, 0, 0, 1, 0, 0, 0, 1, 0], 0.2, 0.3, 0.0, 0.5, (0.3, 1.0), (0.3, 0.9)),
    ),
    "partition_misses_w": (
        *(3, [0, 0, 1, 2, 1], [1, 1, 1, 0, 1], [1, 0, 0, 1, 0], 0.0, 0.6, 0.4),
        *(0.4, (0.4, 1.0), (0.4, 1.0)),
    ),
    "partition_no_w": (
        *(3, [0, 0, 1, 2, 1], [1, 1, 1, 0, 1], [1, 0, 0, 1, 0], 0.0, 0.6, 0.0),
        *(0.4, (0.4, 1.0), (0.4, 0.8)),
    ),
    "clipping_at_1": (
        *(3, [0, 1, 1, 2], [0, 1, 1, 0], [1, 1, 0, 1], 0.0, 0.75, 0.0),
        *(0.75, (0.75, 1.0), (0.75, 1.0)),
    ),
    # With two options the sharp bounds of the oracle.
    "K2_mixed": (
        *(2, [0, 0, 1, 1, 1], [0, 1, 0, 1, 1], [0, 1, 0, 1, 0], 0.0, 0.4, 0.0),
        *(0.6, (0.6, 1.0), (0.8, 0.8)),
    ),
    "single_item": (*(2, [0], [1], [1], 0.0, 1.0, 0.0, 0.0, (1.0, 1.0), (1.0, 1.0)),),
}


def _ratings(gold, n_options: int, n_ratings: int = 2) -> Ratings:
    """Two raters who agree on the gold label of every item."""
    item = np.repeat(np.arange(len(gold)), n_ratings)
    rater = [f"r{j}" for _ in gold for j in range(n_ratings)]
    return Ratings(item, rater, np.repeat(gold, n_ratings), options=list(range(n_options)))


@pytest.mark.parametrize("name", CASES)
def test_bounds_equal_brute_force(name) -> None:
    k, gold, judge, marks, error, rate, missed, match, prevalence, partition = CASES[name]
    ratings = _ratings(gold, k)
    by_rate = bound_response_sets(
        judge, ratings, construction="prevalence", indeterminate_rate=rate, rater_error=error
    )
    by_item = bound_response_sets(
        judge,
        ratings,
        partition=np.array(marks, dtype=bool),
        miss_allowance=missed,
        rater_error=error,
    )
    for found, expected in ((by_rate, prevalence), (by_item, partition)):
        span = found["valid_match"]
        assert (span.low, span.high) == pytest.approx(expected, abs=1e-12)
        assert (found["gold_match"].low, found["gold_match"].high) == pytest.approx((match,) * 2)
        assert (span.ci_kind, found.statement) == ("bounds", "bounds")


def _extremes(judge, ratings: Ratings, marks) -> tuple[float, float]:
    """Least and largest share of valid verdicts over all valid sets that fit."""
    k, gold = ratings.n_options, credit(ratings) > 0
    sets = [s for s in product([False, True], repeat=k) if any(s)]
    per_item = []
    for i in range(ratings.n_items):
        fits = [s for s in sets if all(np.array(s)[gold[i]]) and (sum(s) > 1) == marks[i]]
        options = range(k) if judge[i] is None else [judge[i]]
        per_item.append({float(s[j]) for s in fits for j in options})
        if judge[i] is None:
            per_item[-1] = {0.0, 1.0}
    totals = [sum(values) / len(per_item) for values in product(*per_item)]
    return min(totals), max(totals)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_partition_bounds_are_attained_over_all_valid_sets(k) -> None:
    rng = np.random.default_rng(k)
    for _ in range(12):
        answers = rng.integers(k, size=(6, 3))
        judge = [None if rng.random() < 0.2 else int(rng.integers(k)) for _ in range(6)]
        item, rater = np.repeat(np.arange(6), 3), ["a", "b", "c"] * 6
        ratings = Ratings(item, rater, answers.ravel(), options=list(range(k)))
        marks = mark_disagreement(ratings, 1.0)
        found = bound_response_sets(judge, ratings, agreement=1.0, miss_allowance=0.0)
        low, high = _extremes(judge, ratings, marks)
        span = found["valid_match"]
        # A verdict among tied options is valid for certain, and matches only by half: the lower
        # end is then not attained.
        assert span.high == pytest.approx(high)
        assert span.low <= low + 1e-12
        if not ((credit(ratings) > 0).sum(axis=1) > 1).any():
            assert span.low == pytest.approx(low)


def test_miss_rates_and_the_threshold_convention() -> None:
    # Probabilities of raters who choose evenly between two options; the threshold itself agrees.
    assert [miss_rate(n, 0.8) for n in (2, 3, 5, 10)] == pytest.approx([0.5, 0.25, 0.375, 0.109375])
    assert miss_rate(1, 1.0) == 1.0
    ratings = Ratings([1] * 3 + [2] * 3 + [3] * 3 + [4] * 3, list("xyz") * 4, list("aabbbbabccca"))
    # Oracles, item 09, agreement_partition_0.
    assert mark_disagreement(ratings, 0.7).tolist() == [True, False, True, True]
    assert mark_disagreement(ratings, 2 / 3).tolist() == [False, False, True, False]
    # A tie is marked at any threshold (the oracle's agreement_partition_1 does not mark it).
    tied = Ratings([1, 1, 2, 2], ["x", "y"] * 2, list("abaa"))
    assert mark_disagreement(tied, 0.5).tolist() == [True, False]


def test_a_missing_verdict_is_neither_right_nor_wrong() -> None:
    ratings = _ratings([0, 1, 2, 0, 1], 3)
    full = bound_response_sets([0, 1, 2, 0, 2], ratings, miss_allowance=0.0)
    gone = ["unparseable", "errored", None]
    part = bound_response_sets([0, 1, *gone], ratings, miss_allowance=0.0)
    assert (part["gold_match"].low, part["gold_match"].high) == (0.4, 1.0)
    assert full["gold_match"].low == full["gold_match"].high == 0.8
    assert (part.n_labeled, part.n_unlabeled) == (2, 3)
    said = " ".join(part.notes)
    assert "5 items: 2 verdicts scored, 1 unparseable, 1 errored, 1 missing" in said
    # A judge that breaks on the hard items gains nothing at the lower end.
    assert part["valid_match"].low <= full["valid_match"].low


def test_names_and_order_of_options_do_not_matter() -> None:
    simulated = simulate_ratings(60, n_ratings=4, rng=1)
    old = simulated.ratings
    swap = dict(zip("ABC", "CAB", strict=True))
    answers = [swap[old.options[c]] for c in old.answers.choice]
    new = Ratings(
        [old.items[i] for i in old.item],
        [old.raters[r] for r in old.rater],
        answers,
        options=["B", "C", "A"],
    )
    found = [
        bound_response_sets(judge, ratings)
        for judge, ratings in (
            (simulated.y_judge, old),
            ([swap[v] for v in simulated.y_judge], new),
        )
    ]
    for metric in found[0]:
        ends = [(bounds[metric].low, bounds[metric].high) for bounds in found]
        assert ends[0] == pytest.approx(ends[1], abs=1e-12)


def test_elicited_sets_give_the_share_itself_and_are_set_against_the_bounds() -> None:
    simulated = simulate_ratings(300, n_ratings=3, n_audited=300, rng=2)
    found = bound_response_sets(simulated.y_judge, simulated.ratings)
    elicited = found["valid_match_elicited"]
    assert elicited.low == elicited.high == pytest.approx(simulated.valid_match)
    assert simulated.valid_match in found["valid_match"]
    assert not any("at least one assumption fails" in note for note in found.notes)
    # A planted contradiction: nothing is indeterminate, they say, but sets are large.
    wrong = bound_response_sets(
        simulated.y_judge, simulated.ratings, construction="prevalence", indeterminate_rate=0.0
    )
    assert any("at least one assumption fails" in note for note in wrong.notes)


def test_the_allowance_comes_from_audited_items_where_there_are_some() -> None:
    base = {"n_options": 3, "n_ratings": 3, "herding": 0.9, "rng": 3}
    herd = simulate_ratings(1_000, judge_accuracy=0.99, n_audited=0, **base)
    seen = simulate_ratings(1_000, judge_accuracy=0.99, n_audited=300, **base)
    blind = bound_response_sets(herd.y_judge, herd.ratings, agreement=1.0)
    audited = bound_response_sets(seen.y_judge, seen.ratings, agreement=1.0)
    # Raters who copy each other hide indeterminate items: the closed form says so and fails here.
    assert herd.valid_match not in blind["valid_match"]
    assert "raters who copy each other" in blind.method
    assert seen.valid_match in audited["valid_match"]
    assert "audited items were indeterminate and unmarked" in audited.method


@pytest.mark.parametrize("rate", [0.4, Audit(40, 60)])
def test_a_known_rate_gives_a_smaller_allowance(rate) -> None:
    simulated = simulate_ratings(400, n_ratings=2, judge_accuracy=0.95, rng=4)
    judged = simulated.y_judge, simulated.ratings
    for target in ("sample", "population"):
        free = bound_response_sets(*judged, agreement=1.0, target=target)["valid_match"]
        known = bound_response_sets(*judged, agreement=1.0, indeterminate_rate=rate, target=target)[
            "valid_match"
        ]
        assert known.high <= free.high + 1e-12
        assert simulated.valid_match in known


def test_an_audit_of_the_prevalence_covers() -> None:
    """Exact: the beta-binomial limits of the audit, summed over all audits of 100 of 400 items."""
    ratings = _ratings(np.zeros(400, dtype=int), 3)
    judge = [0] * 200 + [1] * 200
    n, total, seen = 400, 120, 100
    covered = 0.0
    for x in range(10, 60):
        found = bound_response_sets(
            judge, ratings, construction="prevalence", indeterminate_rate=Audit(x, seen - x)
        )["valid_match"]
        # All 120 indeterminate items among those that do not match: M* = .5 + .3.
        mass = hypergeom.pmf(x, n, total, seen)
        covered += mass * (found.low <= 0.8 <= found.high)
    # One-sided here: the upper end alone can miss, with half of 5%.
    assert 0.96 < covered <= 1.0


def test_a_known_partition_of_two_options_covers_at_its_level() -> None:
    """Exact: M* is then the mean of a Bernoulli variable per item."""
    n, covered = 60, {0.95: 0.0, 0.8: 0.0}
    ratings = _ratings(np.zeros(n, dtype=int), 2)
    for k in range(n + 1):
        for level in covered:
            span = bound_response_sets(
                [0] * k + [1] * (n - k),
                ratings,
                partition=np.zeros(n, dtype=bool),
                miss_allowance=0.0,
                target="population",
                ci_prob=level,
            )["valid_match"]
            covered[level] += binom.pmf(k, n, 0.7) * (0.7 in span)
    # The jumps of a binomial law of 60 items are 10% high.
    assert covered[0.95] == pytest.approx(0.95, abs=0.02)
    assert covered[0.8] == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize("design", V13.QUICK, ids=str)
def test_adjusted_bounds_hold(design) -> None:
    found = V13.cover(design, 400, n_items=120)
    # 3.3 standard errors below .95; these bounds are conservative, so there is no upper gate.
    least = 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / 400)
    assert found["adjusted"] >= least
    assert not found["items"] < least
    if design.rate:
        # The raw bound forgets what looks determinate by chance, and rater error.
        assert found["raw"] < 0.5


OPTIONS = {
    "construction": {"construction": "prevalence", "indeterminate_rate": 0.2},
    "indeterminate_rate": {"indeterminate_rate": 0.1},
    "partition": {"partition": "given", "miss_allowance": 0.05},
    "agreement": {"agreement": 0.6},
    "agreement with errors": {"agreement": 0.6, "rater_error": 0.05},
    "miss_allowance": {"miss_allowance": 0.2},
    "rater_error": {"rater_error": 0.1},
    "target": {"target": "population"},
    "ci_prob": {"ci_prob": 0.5},
}


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_bites(option) -> None:
    simulated = simulate_ratings(
        200, n_ratings=6, indeterminate_rate=0.2, judge_accuracy=0.6, rng=6
    )
    given = dict(OPTIONS[option])
    if "partition" in given:
        given["partition"] = simulated.valid.sum(axis=1) > 1
    judged = simulated.y_judge, simulated.ratings
    plain, moved = (bound_response_sets(*judged, **o)["valid_match"] for o in ({}, given))
    assert (plain.low, plain.high) != (moved.low, moved.high)


BAD = [
    ({"construction": "raw"}, "`construction` must be one of 'partition', 'prevalence'"),
    ({"construction": "prevalence"}, "`indeterminate_rate` must be given"),
    ({"indeterminate_rate": 1.2}, "`indeterminate_rate` must lie in"),
    ({"indeterminate_rate": Audit(5, 5)}, "audit of these 4 items; got 10 audited"),
    ({"partition": [True] * 3, "miss_allowance": 0.0}, r"one bool per item, shape \(4,\)"),
    ({"partition": [1, 0, 0, 1], "miss_allowance": 0.0}, "one bool per item"),
    ({"partition": [True] * 4}, "`miss_allowance` must be given with `partition`"),
    ({"partition": [True] * 4, "agreement": 0.5}, "`agreement` has no use"),
    (
        {"construction": "prevalence", "indeterminate_rate": 0.1, "agreement": 0.5},
        "`agreement` has no use with construction='prevalence'",
    ),
    ({"miss_allowance": -0.1}, "`miss_allowance` must lie in"),
    ({"rater_error": 2}, "`rater_error` must lie in"),
    ({"target": "both"}, "`target` must be one of"),
    ({"ci_prob": 95}, "`ci_prob` must lie strictly"),
]


@pytest.mark.parametrize(("options", "sentence"), BAD)
def test_bad_input(options, sentence) -> None:
    with pytest.raises(ValueError, match=sentence):
        bound_response_sets([0, 0, 1, 1], _ratings([0, 1, 2, 0], 3), **options)


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="`ratings` must be a Ratings"):
        bound_response_sets([0], [[0]])


def test_one_rating_per_item_leaves_the_upper_end_open_and_says_so() -> None:
    simulated = simulate_ratings(100, n_ratings=1, rng=7)
    found = bound_response_sets(simulated.y_judge, simulated.ratings)
    assert found["valid_match"].high == 1.0
    assert any("says nothing about the upper end" in note for note in found.notes)


def _version(sets, choices, judge) -> tuple[list, Ratings]:
    item = [i for i in range(len(sets)) for _ in range(3)]
    answers = [a for s, c in zip(sets, choices, strict=True) for a in (c, c, s)]
    return judge, Ratings(item, ["ann", "bob", "ann"] * len(sets), answers, options=["A", "B", "C"])


def test_a_rewritten_instruction_is_compared_item_by_item() -> None:
    vague = _version([["A", "B"], ["A", "B"], ["A"], ["C"]], "AAAC", ["B", "A", "B", "C"])
    clear = _version([["A"], ["B"], ["A"], ["C"]], "ABAC", ["A", "A", "A", "C"])
    found = compare_instructions(vague, clear)
    # Gaps by hand: 1, 0, 0, 0 and none.
    assert found["gap_first"].low == found["gap_first"].high == 0.25
    assert found["gap_second"].low == found["gap_second"].high == 0.0
    assert found["gap_difference"].low == 0.25
    wide = compare_instructions(vague, clear, target="population")["gap_difference"]
    assert wide.low < 0.25 < wide.high
    assert wide.ci_prob == 0.95
    narrow = compare_instructions(vague, clear, target="population", ci_prob=0.5)
    assert narrow["gap_difference"].width < wide.width
    gone = compare_instructions((["B", None, "B", "C"], vague[1]), clear)
    assert (gone["gap_first"].low, gone["gap_first"].high) == (0.25, 0.5)


def test_pairing_narrows_the_interval_of_a_difference() -> None:
    vague = simulate_ratings(400, indeterminate_rate=0.9, n_audited=400, rng=1)
    sides = (list(vague.y_judge), vague.ratings)
    found = compare_instructions(sides, sides, target="population")
    # The same version twice differs by nothing; two independent samples would by much more.
    assert found["gap_difference"].width < 0.3 * found["gap_first"].width


@pytest.mark.parametrize(
    ("first", "error", "sentence"),
    [
        ([1], TypeError, "`first` must be a pair of verdicts and Ratings"),
        ((["A"], 1), TypeError, r"`first\[1\]` must be a Ratings"),
        (
            (["A"], Ratings([9, 9, 9], ["a", "b", "a"], ["A", "B", ["A"]])),
            ValueError,
            "share items",
        ),
    ],
)
def test_compare_instructions_refuses(first, error, sentence) -> None:
    clear = _version([["A"]], "A", ["A"])
    with pytest.raises(error, match=sentence):
        compare_instructions(first, clear)


def test_a_partition_by_item_is_looked_up() -> None:
    ratings = Ratings([1, 1, 2, 2, 3, 3], ["ann", "bob"] * 3, list("AABBAA"), options=["A", "B"])
    y_judge = ["B", "B", "A"]
    options = {"miss_allowance": 0.0, "rater_error": 0.1}
    plain = bound_response_sets(y_judge, ratings, partition=[True, False, False], **options)
    by_item = pd.Series([False, False, True], index=[3, 2, 1])
    found = bound_response_sets(y_judge, ratings, partition=by_item, **options)
    assert found["valid_match"] == plain["valid_match"]
    with pytest.raises(ValueError, match="1 is not there"):
        bound_response_sets(y_judge, ratings, partition=by_item.iloc[:2], **options)
    hidden = np.ma.array([True] * 3, mask=[1, 0, 0])
    with pytest.raises(ValueError, match="some are masked"):
        bound_response_sets(y_judge, ratings, partition=hidden, **options)
