"""Pairs of judges: brute force over valid sets, coverage, and orders that stay open."""

from itertools import product

import numpy as np
import pytest

from labelbayes.bounds.gold_labels import credit
from labelbayes.bounds.rank_models import _mark, rank_models
from labelbayes.data.ratings import Ratings
from labelbayes.data.simulate_ratings import simulate_ratings


def _extremes(first, second, ratings: Ratings) -> tuple[float, float]:
    """Least and largest difference of valid shares over all valid sets that fit."""
    part = _mark(ratings, "partition", "sample", 0.95)
    n, k, gold = ratings.n_items, ratings.n_options, credit(ratings) > 0
    most = round(part.allowance * n)
    sets = [s for s in product([False, True], repeat=k) if any(s)]
    # Per item: (unmarked but indeterminate, difference).
    per_item = []
    for i in range(n):
        fits = [s for s in sets if all(np.array(s)[gold[i]])]
        if part.marked[i]:
            fits = [s for s in fits if sum(s) > 1]
        values = set()
        for s in fits:
            hidden = int(not part.marked[i] and sum(s) > 1)
            for a in (s[first[i]],) if first[i] is not None else (False, True):
                for b in (s[second[i]],) if second[i] is not None else (False, True):
                    values.add((hidden, int(a) - int(b)))
        per_item.append(values)
    totals = [
        sum(d for _, d in chosen) / n
        for chosen in product(*per_item)
        if sum(h for h, _ in chosen) <= most
    ]
    return min(totals), max(totals)


@pytest.mark.parametrize(("k", "n_ratings"), [(2, 3), (3, 3), (3, 6), (4, 5)])
def test_bounds_equal_brute_force(k, n_ratings) -> None:
    rng = np.random.default_rng(10 * k + n_ratings)
    for _ in range(10):
        answers = np.minimum(rng.geometric(0.75, size=(5, n_ratings)) - 1, k - 1)
        item = np.repeat(np.arange(5), n_ratings)
        rater = [f"r{j}" for j in range(n_ratings)] * 5
        ratings = Ratings(item, rater, answers.ravel(), options=list(range(k)))
        judges = {
            name: [None if rng.random() < 0.1 else int(rng.integers(k)) for _ in range(5)]
            for name in ("x", "y")
        }
        row = rank_models(judges, ratings).iloc[0]
        low, high = _extremes(judges["x"], judges["y"], ratings)
        assert (row["low"], row["high"]) == pytest.approx((low, high)), (judges, answers)
        assert row["ci_low"] <= row["low"] + 1e-12
        assert row["ci_high"] >= row["high"] - 1e-12


def test_judges_that_agree_are_equal_whatever_is_valid() -> None:
    simulated = simulate_ratings(300, rng=1)
    table = rank_models({"x": simulated.y_judge, "y": simulated.y_judge}, simulated.ratings)
    row = table.iloc[0]
    assert (row["gold_difference"], row["low"], row["high"]) == (0.0, 0.0, 0.0)
    assert (row["order"], row["reason"]) == ("open", "indeterminacy")


def test_a_clear_order_is_certain_and_swapping_the_pair_swaps_it() -> None:
    simulated = simulate_ratings(600, indeterminate_rate=0.1, n_ratings=5, rng=2)
    gold = np.array(simulated.ratings.options, dtype=object)[simulated.ratings.gold]
    bad = np.where(gold == "A", "B", "A")
    table = rank_models({"good": gold, "bad": bad}, simulated.ratings)
    assert table["order"].tolist() == ["good"]
    assert table["reason"].tolist() == [""]
    back = rank_models({"bad": bad, "good": gold}, simulated.ratings)
    assert back["order"].tolist() == ["good"]
    assert back["low"].iloc[0] == pytest.approx(-table["high"].iloc[0])


def test_an_order_of_gold_labels_may_be_open() -> None:
    """Both judges pick valid answers; one picks as the raters do."""
    n = 400
    ratings = Ratings(
        np.repeat(np.arange(n), 4),
        list("wxyz") * n,
        ["A", "A", "A", "B"] * n,
        options=["A", "B", "C"],
    )
    row = rank_models({"like raters": ["A"] * n, "unlike": ["B"] * n}, ratings).iloc[0]
    assert row["gold_difference"] == 1.0
    assert (row["order"], row["reason"]) == ("open", "indeterminacy")


def test_small_samples_leave_an_order_open() -> None:
    ratings = Ratings(
        np.repeat(np.arange(4), 8),
        list("abcdefgh") * 4,
        ["A"] * 30 + ["A"] * 2,
        options=["A", "B", "C"],
    )
    row = rank_models({"x": ["A"] * 4, "y": ["A", "A", "A", "B"]}, ratings).iloc[0]
    assert row["order"] == "open"


def test_level_construction_and_judges_bite() -> None:
    simulated = simulate_ratings(300, n_audited=80, n_ratings=5, rng=3)
    rng = np.random.default_rng(0)
    judges = {"x": simulated.y_judge, "y": rng.permutation(simulated.y_judge)}
    plain = rank_models(judges, simulated.ratings).iloc[0]
    low = rank_models(judges, simulated.ratings, ci_prob=0.5).iloc[0]
    rate = rank_models(judges, simulated.ratings, construction="prevalence").iloc[0]
    three = rank_models({**judges, "z": judges["x"]}, simulated.ratings).iloc[0]
    width = [row["ci_high"] - row["ci_low"] for row in (plain, low, rate, three)]
    assert width[1] < width[0] < width[3]
    assert (rate["low"], rate["high"]) != (plain["low"], plain["high"])
    assert "audited items are indeterminate" in rate["assumption"]


def test_intervals_cover_the_difference_of_the_population() -> None:
    """Accuracies .9 and .6 with K = 3: the difference is .3 (1 - rate / 2)."""
    truth, inside = 0.3 * (1 - 0.4 / 2), 0
    for seed in range(60):
        simulated = simulate_ratings(200, n_ratings=5, judge_accuracy=0.9, rng=seed)
        rng = np.random.default_rng(1_000 + seed)
        valid, letters = simulated.valid, np.array(simulated.ratings.options, dtype=object)
        errs = (rng.random(200) < 0.4) & (valid.sum(axis=1) < 3)
        wanted = valid ^ errs[:, None]
        other = letters[np.where(wanted, rng.random(valid.shape), -1).argmax(axis=1)]
        row = rank_models({"x": simulated.y_judge, "y": other}, simulated.ratings).iloc[0]
        inside += row["ci_low"] <= truth <= row["ci_high"]
    # 3.3 standard errors below .95.
    assert inside / 60 >= 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / 60)


@pytest.mark.parametrize(
    ("verdicts", "options", "error", "sentence"),
    [
        ({"x": ["A", "B"]}, {}, ValueError, "at least two judges; got 1"),
        ([["A"]], {}, TypeError, "`verdicts` must be a Mapping"),
        (
            {"x": ["A", "B"], "y": ["A", "X"]},
            {},
            ValueError,
            r"`verdicts\['y'\]` must hold options",
        ),
        (
            {"x": ["A", "B"], "y": ["A", "B"]},
            {"construction": "prevalence"},
            ValueError,
            "needs response sets of some items",
        ),
        ({"x": ["A", "B"], "y": ["A", "B"]}, {"construction": "x"}, ValueError, "must be one of"),
        ({"x": ["A", "B"], "y": ["A", "B"]}, {"ci_prob": 2}, ValueError, "`ci_prob` must"),
    ],
)
def test_bad_input(verdicts, options, error, sentence) -> None:
    ratings = Ratings([1, 1, 2, 2], ["a", "b"] * 2, list("AABB"))
    with pytest.raises(error, match=sentence):
        rank_models(verdicts, ratings, **options)
