"""Differences between groups show themselves as other results do, and are still a dictionary."""

import copy
import html
import pickle

import numpy as np
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.differences import compare_groups
from labelbayes.laws.row_weights import SEPARATED
from labelbayes.results.estimates import stack
from labelbayes.results.group_differences import GroupDifferences, pair_name
from labelbayes.results.sentences import multiplicity, not_known, predictive

RNG = np.random.default_rng(2)
SCORE = RNG.random(90)
LABELS = np.where(RNG.random(90) < 0.5, RNG.random(90) < SCORE, np.nan)
ROWS = EvaluationSet(LABELS, SCORE, group=np.repeat(["north", "<south>", "west"], 30))
PAIRS = [("<south>", "north"), ("<south>", "west"), ("north", "west")]
COUNTED = ["accuracy", "precision", "recall", "f1", "npv"]


def gaps(**options) -> GroupDifferences:
    belief = impute(ROWS, np.full(90, 0.3), features=ROWS.group)
    return compare_groups(ROWS, belief, **({"metrics": COUNTED} | options))


def test_it_is_a_dictionary_by_pair() -> None:
    found = gaps()
    assert isinstance(found, dict)
    assert list(found) == PAIRS
    assert found["north", "west"] is dict(found)["north", "west"]
    assert [first for (first, _), _ in found.items()] == ["<south>", "<south>", "north"]
    with pytest.raises(KeyError):
        found["west", "north"]


def test_the_summary_is_that_of_all_pairs() -> None:
    found = gaps()
    table = found.summary(0.8)
    assert table.index.names == ["difference", "metric"]
    assert list(table.index) == [(pair_name(*pair), m) for pair in PAIRS for m in COUNTED]
    assert set(table["ci_prob"]) == {0.8}
    for pair in PAIRS:
        assert table.loc[pair_name(*pair)].equals(found[pair].summary(0.8))
    assert not table.equals(found.summary())
    # The level that the note on several comparisons names can be asked for as it stands.
    assert found.summary(ci_prob=0.983333)["ci_prob"].unique().tolist() == [0.983333]


def test_text_and_page_hold_every_pair_and_number() -> None:
    found = gaps()
    text, page = repr(found), html.unescape(found._repr_html_()).replace("\N{NO-BREAK SPACE}", " ")
    assert str(found) == text
    for name, row in found.summary().iterrows():
        ends = f"[{row['low']:.3f}, {row['high']:.3f}]"
        assert f"{row['mean']:.3f} {ends}" in text, name
        assert f"{row['mean']:.3f}<br>{ends}" in page, name
    for part in (
        "(target: sample): mean and 95% predictive (eti) interval",
        "Method: exact law; given probabilities.",
        f"Assumption: {found['north', 'west'].assumption}.",
        *map(pair_name, *zip(*PAIRS, strict=True)),
    ):
        assert part in text
        assert part in page
    assert text.endswith("2 in `.notes`: what these numbers mean")
    assert all(note in page for note in found.notes)
    raw = found._repr_html_()
    assert "<south>" not in raw
    assert not any(word in raw for word in ("<style", "<svg", "id="))
    # Five metrics stand in two blocks, and no line is longer than a terminal is wide.
    lines = [line for line in text.splitlines() if line.startswith("difference")]
    assert [line.split()[1:] for line in lines] == [COUNTED[:3], COUNTED[3:]]


def test_the_kind_of_interval_follows_the_target() -> None:
    found = gaps(target="population", metrics=["recall"], n_draws=200, rng=0)
    assert "(target: population): mean and 95% credible (eti) interval" in repr(found)
    assert "Method: 200 draws of rows and labels" in found._repr_html_()
    assert "rows drawn like these" in found.notes[0]


def test_the_notes_are_those_of_all_pairs_each_once() -> None:
    assert gaps().notes == (predictive(90, 0.95), multiplicity(3, "pairs of groups"))
    unaware = compare_groups(ROWS, impute(ROWS, rng=0), metrics=["recall"])
    assert not_known("the group", "zero") in unaware.notes
    assert set(impute(ROWS, rng=0).notes) <= set(unaware.notes)
    two = ROWS.subset(ROWS.group != "west")
    alone = compare_groups(two, impute(two, np.full(60, 0.3), features=two.group))
    assert alone.notes == (predictive(60, 0.95),)


def test_what_is_true_of_some_pairs_names_them() -> None:
    # The score ranks the labels of a alone without a fault.
    labels, scores = [0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0], [0.2, 0.8, 0.3, 0.7] * 3
    rows = EvaluationSet(labels, scores, group=list("aaaabbbbcccc"))
    options = {"metrics": ["roc_auc"], "target": "population", "n_draws": 20, "rng": 0}
    found = compare_groups(rows, impute(rows), **options)
    assert [n for n in found.notes if SEPARATED in n] == [f"a less b, a less c: {SEPARATED}"]
    assert SEPARATED in found["a", "b"].notes
    assert SEPARATED not in found["b", "c"].notes


def test_what_may_be_undefined_is_said_once_with_its_pairs() -> None:
    rows = EvaluationSet([0, None, 0, 1, 0, 1], y_pred=[0, 0, 0, 1, 0, 1], group=list("aabbcc"))
    found = compare_groups(rows, impute(rows, np.full(6, 0.25)), metrics=["recall"])
    for shown in (repr(found), found._repr_html_()):
        assert "a less b, a less c: In 75.0% of completions recall is undefined" in shown


def test_a_copy_and_a_pickle_keep_numbers_and_notes() -> None:
    found = gaps()
    for again in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert type(again) is GroupDifferences
        assert repr(again) == repr(found)
        assert again.notes == found.notes


def test_no_pair_is_said_and_has_no_table() -> None:
    empty = GroupDifferences()
    assert repr(empty) == "GroupDifferences: no pair of groups"
    assert repr(empty) in empty._repr_html_()
    with pytest.raises(ValueError, match=r"must hold at least one result; got none\.$"):
        empty.summary()


def test_stack_takes_it_under_names() -> None:
    found = gaps()
    named = {pair_name(*pair): result for pair, result in found.items()}
    assert stack(named).equals(found.summary().rename_axis(["name", "metric"]))
