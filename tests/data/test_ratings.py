"""Ratings: what is read, what is counted apart, and what is refused with one sentence."""

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labelbayes.data.ratings import Ratings
from labelbayes.data.read_ratings import read_ratings
from labelbayes.data.simulate_ratings import simulate_ratings
from labelbayes.data.verdicts import read_verdicts

ITEM = [1, 1, 1, 2, 2, 2]
RATER = ["ann", "bob", "cid"] * 2
ANSWER = ["A", "A", "B", {"A", "B"}, "unparseable", None]


def test_states_are_counted_apart() -> None:
    ratings = Ratings(ITEM, RATER, [*ANSWER[:5], "Errored"])
    found = (ratings.n_scored, ratings.n_unparseable, ratings.n_errored, ratings.n_missing)
    assert found == (4, 1, 1, 0)
    assert ratings.counts.to_numpy().tolist() == [[2, 1], [0, 0]]
    assert ratings.response_sets.to_dict("index") == {2: {"A": True, "B": True}}
    assert ratings.gold.tolist() == [0, -1]
    assert repr(ratings).startswith("Ratings(2 items, 3 raters, 2 options; 4 scored, 1 unp")
    assert "unparseable" in ratings._repr_html_()


@pytest.mark.parametrize("container", [list, tuple, np.array, pd.Series, pd.array, pd.Categorical])
def test_containers_and_spellings_of_options_do_not_matter(container) -> None:
    answer = [1.0, np.nan, 0.0, 1.0, 0.0, 0.0]
    plain = Ratings(ITEM, RATER, ["1", None, 0, True, "0", 0])
    found = Ratings(container(ITEM), container(RATER), container(answer))
    assert found.options == plain.options == (0, 1)
    np.testing.assert_array_equal(found.count_array, plain.count_array)
    assert found.n_missing == plain.n_missing == 1


def test_masked_and_read_only_arrays_are_taken_and_not_changed() -> None:
    answer = np.ma.masked_array([0, 1, 1, 0, 1, 0], mask=[0, 0, 1, 0, 0, 0])
    item = np.array(ITEM)
    item.setflags(write=False)
    ratings = Ratings(item, RATER, answer)
    assert ratings.n_missing == 1
    assert not ratings.item.flags.writeable
    assert not ratings.count_array.flags.writeable


def test_order_of_rows_changes_nothing_but_the_order_of_items() -> None:
    order = np.array([5, 3, 0, 1, 4, 2])
    answer = ["A", "C", "B", "B", "B", "A"]
    first = Ratings(ITEM, RATER, answer, options=["A", "B", "C"])
    again = Ratings(
        np.array(ITEM)[order],
        np.array(RATER)[order],
        np.array(answer)[order],
        options=["A", "B", "C"],
    )
    pd.testing.assert_frame_equal(again.counts.loc[[1, 2]], first.counts)


def test_a_pickle_keeps_everything() -> None:
    ratings = Ratings(ITEM, RATER, ANSWER, rater_group=["x", "y", "x"] * 2)
    again = pickle.loads(pickle.dumps(ratings))
    assert again.rater_group.tolist() == ["x", "y", "x"]
    pd.testing.assert_frame_equal(again.counts, ratings.counts)


def test_ties_are_no_gold_label_whatever_the_options_are_called() -> None:
    for first, second in (("A", "B"), ("B", "A")):
        ratings = Ratings([1] * 4, list("wxyz"), [first, second, first, second])
        assert ratings.gold.tolist() == [-1]


def test_a_split_is_a_share_and_no_hard_label() -> None:
    ratings = Ratings(ITEM, RATER, ANSWER)
    assert ratings.shares.loc[1].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert ratings.shares.loc[2].isna().all()


def test_wide_tables_have_a_row_per_item() -> None:
    frame = pd.DataFrame({"ann": ["A", None], "bob": ["B", ["A", "B"]]}, index=["q1", "q2"])
    ratings = Ratings.from_wide(frame)
    assert ratings.items == ("q1", "q2")
    assert ratings.raters == ("ann", "bob")
    assert (ratings.n_scored, ratings.n_missing) == (3, 1)


BAD = {
    "no option": (
        {"answer": ["A", "A", "X", "B", "B", "B"], "options": ["A", "B"]},
        r"^`answer` must hold options, 'A' and 'B'; got 'X' at position 2 of 6\. Add it .*read\.$",
    ),
    "no option in a set": (
        {"answer": [["A", "X"], "A", "B", "B", "B", "B"], "options": ["A", "B"]},
        "got 'X' at position 0",
    ),
    "empty set": (
        {"answer": ["A", [], "B", "B", "B", "B"]},
        r"an empty set; got one at position 1",
    ),
    "one rater": (
        {"rater": ["ann"] * 6},
        r"^`rater` must name at least two raters; got 'ann' only",
    ),
    "twice": (
        {"rater": ["ann", "bob", "ann", "ann", "bob", "cid"]},
        r"got rater 'ann' twice for item 1, at positions 0 and 2\. Drop one",
    ),
    "lengths": ({"rater": ["ann", "bob"]}, r"`rater` must have one value per rating; got 2 for 6"),
    "no rows": ({"item": [], "rater": [], "answer": []}, "`item` has no rows"),
    "missing item": ({"item": [1, None, 1, 2, 2, 2]}, "`item` must be complete; .* position 1"),
    "missing rater": ({"rater": ["ann", np.nan, "b"] * 2}, "`rater` must be complete"),
    "one option": ({"answer": ["A"] * 6}, r"got only 'A' in `answer`\. Pass e\.g\."),
    "no answers": ({"answer": [None] * 6}, r"got none in `answer`"),
    "option twice": ({"options": ["A", "B", "A"]}, "name each option once; got 'A' twice"),
    "one named": ({"options": ["A"]}, "at least two options; got 1"),
    "word": ({"options": ["A", "errored"]}, "must not hold 'errored'"),
    "two groups": ({"rater_group": ["x", "x", "x", "y", "x", "x"]}, "got 'y' for rater 'ann'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case) -> None:
    given, sentence = BAD[case]
    columns = {"item": ITEM, "rater": RATER, "answer": list("AABBBA")} | given
    with pytest.raises(ValueError, match=sentence):
        Ratings(columns.pop("item"), columns.pop("rater"), columns.pop("answer"), **columns)


def test_no_collection_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="`answer` must be a list or array"):
        Ratings(ITEM, RATER, "AABBBA")
    with pytest.raises(TypeError, match="one-dimensional"):
        Ratings(ITEM, RATER, np.zeros((6, 2)))


def test_a_rater_may_choose_and_name_a_set() -> None:
    ratings = Ratings([1, 1, 1], ["ann", "ann", "bob"], ["A", ["A", "B"], "B"])
    assert ratings.n_scored == 3
    assert ratings.units().tolist() == [[0.0, 1.0]]


TABLE = pd.DataFrame(
    {
        "q": ["1", "1", "2", "2"],
        "who": ["ann", "bob", "ann", "bob"],
        "team": ["crowd", "expert", "crowd", "expert"],
        "said": ["A", "{A|B}", "", "unparseable"],
    }
)
NAMES = {"item": "q", "rater": "who", "answer": "said", "rater_group": "team"}


def test_csv_parquet_and_json_lines_say_the_same(tmp_path) -> None:
    TABLE.to_csv(tmp_path / "r.csv", index=False)
    sets = TABLE.assign(said=[["A"], ["A", "B"], None, None])
    rows = [
        row | {"said": said}
        for row, said in zip(
            TABLE.to_dict("records"), ["A", ["A", "B"], None, "unparseable"], strict=True
        )
    ]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    sets.to_parquet(tmp_path / "r.parquet")
    options = ["A", "B"]
    csv = read_ratings(tmp_path / "r.csv", options=options, **NAMES)
    lines = read_ratings(str(tmp_path / "r.jsonl"), options=options, **NAMES)
    parquet = read_ratings(tmp_path / "r.parquet", options=options, **NAMES)
    frame = read_ratings(TABLE.replace("", None), options=options, **NAMES)
    for found in (csv, lines, frame):
        assert repr(found) == repr(csv)
        assert (found.n_scored, found.n_unparseable, found.n_missing) == (2, 1, 1)
        assert found.response_sets.to_numpy().tolist() == [[True, True]]
        assert found.rater_group.tolist() == ["crowd", "expert"]
    assert parquet.set_array.tolist() == [[True, True], [False, False]]


def test_numbers_with_gaps_in_json_stay_whole(tmp_path) -> None:
    path = tmp_path / "r.ndjson"
    path.write_text(
        '{"item": 1, "rater": "a", "answer": 2}\n{"item": 1, "rater": "b"}\n'
        '{"item": 2, "rater": "b", "answer": 1}\n'
    )
    assert read_ratings(path).options == (1, 2)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{nonsense\n", r"r\.jsonl, line 1, is no JSON"),
        ("\n[1, 2]\n", r"line 2, must be an object such as"),
        ("\n", "has no rows"),
        ('{"item": 1, "rater": "a"}\n', "has no column 'answer'"),
        (
            '{"item": 1, "rater": "a", "answer": []}\n{"item": 1, "rater": "b", "answer": [1, 2]}',
            r"r\.jsonl: `answer` must not hold an empty set",
        ),
    ],
)
def test_broken_files_are_named(tmp_path, text, sentence) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read_ratings(path)


def test_the_example_file_is_read() -> None:
    path = Path(__file__).parents[2] / "notebooks" / "results" / "ratings.jsonl"
    ratings = read_ratings(path, item="question", rater_group="group")
    assert ratings.options == ("correct", "partly", "wrong")
    assert (ratings.n_items, ratings.n_scored, ratings.n_missing) == (40, 139, 1)
    assert ratings.has_set.sum() == 20


def test_other_sources_are_refused(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_ratings(tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match="has no column 'rater'"):
        read_ratings(TABLE, item="q", answer="said")


def test_verdicts_are_matched_by_item_or_by_order() -> None:
    ratings = Ratings(["x", "x", "y", "y"], ["ann", "bob"] * 2, list("AABB"))
    for given in (["A", None], pd.Series([None, "A"], index=["y", "x"]), {"y": None, "x": "A"}):
        found = read_verdicts("y_judge", given, ratings)
        assert (found.choice.tolist(), found.n_scored, found.n_missing) == ([0, -1], 1, 1)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["A"], r"`y_judge` must have one verdict per item; got 1 for 2 items"),
        (["A", "X"], r"`y_judge` must hold options, 'A' and 'B'; got 'X' at position 1"),
        (["A", ["A", "B"]], "got a set at position 1"),
        (pd.Series(["A", "B"]), "'x' is not in its index"),
        (pd.Series(["A", "B"], index=["x", "x"]), "hold each item once; got 'x' twice"),
        ({"x": "A", "y": "B", "z": "A"}, "items that were rated; got 'z'"),
    ],
)
def test_verdicts_that_do_not_fit_are_refused(given, sentence) -> None:
    ratings = Ratings(["x", "x", "y", "y"], ["ann", "bob"] * 2, list("AABB"))
    with pytest.raises(ValueError, match=sentence):
        read_verdicts("y_judge", given, ratings)


def test_the_simulator_has_the_rates_that_it_is_given() -> None:
    # M and M* of the source's process with K = 4, accuracy .7, one rating: methods, table 4.1.
    n = 40_000
    for rate, gold, valid in ((0.0, 0.700, 0.700), (0.5, 0.490, 0.749), (0.8, 0.361, 0.779)):
        simulated = simulate_ratings(
            n, n_options=4, n_ratings=1, indeterminate_rate=rate, rng=round(10 * rate)
        )
        letters = np.array(simulated.ratings.options, dtype=object)
        found = np.mean(letters[simulated.ratings.gold] == simulated.y_judge)
        # Four standard errors of a share of n items.
        assert found == pytest.approx(gold, abs=4 * 0.5 / np.sqrt(n))
        assert simulated.valid_match == pytest.approx(valid, abs=4 * 0.5 / np.sqrt(n))
        assert simulated.indeterminate_rate == pytest.approx(rate, abs=4 * 0.5 / np.sqrt(n))


def test_simulated_raters_err_herd_and_follow_their_group() -> None:
    base = {"n_options": 3, "n_ratings": 4, "rng": 5}
    wrong = simulate_ratings(20_000, rater_error=0.2, indeterminate_rate=0.0, **base)
    gold = wrong.valid.argmax(axis=1)
    share = wrong.ratings.count_array[np.arange(20_000), gold].sum() / 80_000
    assert share == pytest.approx(0.8, abs=0.01)
    alone = simulate_ratings(5_000, indeterminate_rate=1.0, **base)
    herd = simulate_ratings(5_000, indeterminate_rate=1.0, herding=0.7, **base)
    agree = [(s.ratings.count_array.max(axis=1) == 4).mean() for s in (alone, herd)]
    assert agree[1] > agree[0] + 0.2
    audited = simulate_ratings(50, n_audited=20, **base)
    np.testing.assert_array_equal(audited.ratings.set_array[:20], audited.valid[:20])
    assert audited.ratings.has_set.sum() == 20


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_options": 1}, "`n_options` must be at least 2"),
        ({"n_options": 27}, "at most 26"),
        ({"herding": 1.5}, "`herding` must lie in"),
        ({"n_audited": 11}, "must not pass the 10 items; got 11"),
    ],
)
def test_the_simulator_refuses_what_cannot_be(options, sentence) -> None:
    with pytest.raises(ValueError, match=sentence):
        simulate_ratings(10, **options)


def test_copies_are_read_only_too() -> None:
    ratings = Ratings(ITEM, RATER, ANSWER)
    for copied in (pickle.loads(pickle.dumps(ratings)), copy.deepcopy(ratings)):
        for array in (copied.item, copied.rater, copied.answers.state, copied.answers.members):
            assert not array.flags.writeable
        assert copied.counts.equals(ratings.counts)


def test_verdicts_are_per_item() -> None:
    with pytest.raises(TypeError, match="one value per item; got int"):
        read_verdicts("y_judge", 5, Ratings(ITEM, RATER, ANSWER))
