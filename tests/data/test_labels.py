"""Labels: what is read, what is refused, and that nothing is guessed."""

from typing import Any

import numpy as np
import pytest

from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.data.labels import read_label

NAN = float("nan")


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        ([1, 0, -1, 1], {"missing": -1}),
        ([1, 0, -1.0, 1], {"missing": "-1"}),
        (["1", "0", "-1", "1"], {"missing": -1}),
        (np.array([1, 0, -1, 1], dtype=np.int8), {"missing": (-1, "pending")}),
        ([1, -1, None, 1], {"pos_label": 1}),
        (["1", "-1", None, "1"], {"pos_label": 1.0}),
        ([0, 1, None, 0], {"pos_label": 0}),
        ([True, False, None, True], {"pos_label": "1"}),
        ([2, 1, None, 2], {"pos_label": 2}),
        (["yes", "no", None, "yes"], {"pos_label": "yes"}),
        (np.array(["yes", "no", "", " yes "]), {"pos_label": "yes", "missing": ""}),
        (np.array([b"yes", b"no", b"?", b"yes"]), {"pos_label": "yes", "missing": "?"}),
        (["yes", "no", "?", "yes"], {"pos_label": "yes", "missing": {"?"}}),
        (["yes", "no", "?", "yes"], {"pos_label": "yes", "missing": np.array(["?"])}),
        ([1, 0, 9, 1], {"missing": [9, None, NAN]}),
        ([2**53 + 1, 2**53, 2**53 + 2, 2**53 + 1], {"pos_label": 2**53 + 1, "missing": 2**53 + 2}),
        (["9007199254740993", "0", None, "9007199254740993"], {"pos_label": 2**53 + 1}),
    ],
)
def test_declared_labels_are_read(labels: Any, options: dict[str, Any]) -> None:
    evaluation = EvaluationSet(labels, [0.9, 0.8, 0.2, 0.1], **options)
    np.testing.assert_array_equal(evaluation.y_true, [1, 0, NAN, 1])


REFUSED: list[tuple[Any, dict[str, Any], str, str]] = [
    # -1 has two readings (requirement 2)
    (
        [0, 1, -1, -1, 1],
        {},
        (
            "`y_true` must hold two labels beside missing ones; got 3: -1, 0 and 1. If one of them "
            "marks a missing label say so, e.g. `missing=-1`"
        ),
        "`y_true == positive`.",
    ),
    (
        [1, 1, -1],
        {},
        "`y_true` holds -1 at position 2 (1 in all): pass `missing=-1` if it marks a missing",
        "or `pos_label=1` if it is the negative label.",
    ),
    # words need a positive one, and there are two (requirement 3)
    (
        ["yes", "no", None],
        {},
        "`pos_label` must say which label is the positive one; `y_true` holds 'no' and 'yes'",
        "Pass e.g. `pos_label='yes'`.",
    ),
    ([1, 2], {}, "`y_true` holds 1 and 2", "`pos_label=2`."),
    (
        ["paid", "default", "pending"],
        {"pos_label": "default"},
        (
            "got 3: 'default', 'paid' and 'pending'. If one of them marks a missing label say so, "
            "e.g. `missing='pending'`"
        ),
        "`y_true == positive`.",
    ),
    (["a", "b", "c"], {}, "got 3: 'a', 'b' and 'c'", "positive`."),
    (["a", "b", 1], {}, "got 3: 1, 'a' and 'b'", "positive`."),
    (list(range(20)), {}, "6, 7 and 12 more", "positive`."),
    # soft labels (requirement 10)
    (
        [1, 0, 0.7, 0.7],
        {},
        (
            "`y_true` must hold hard labels; got 0.7 at position 2 (2 in all). Soft labels are "
            "not hard labels"
        ),
        "`impute(evaluation, soft_labels)`.",
    ),
    (["0.7", "0.2", None], {"pos_label": "1"}, "got 0.2 at position 1", "soft_labels)`."),
    # a positive label that is not there
    (
        ["yes", "no"],
        {"pos_label": "maybe"},
        "`pos_label` must be one of the labels, 'no' and 'yes'; got 'maybe'",
        "stands there.",
    ),
    (["default", None], {"pos_label": "Default"}, "'default'; got 'Default'", "stands there."),
    ([1, 0], {"pos_label": NAN}, "`pos_label` must be a label; got nan", "nan."),
    ([1, 0], {"pos_label": 1, "missing": 1}, "`pos_label` must not be among `missing`", "them."),
    ([1, float("inf")], {}, "`y_true` holds 1 and inf", "`pos_label=inf`."),
]


@pytest.mark.parametrize(("labels", "options", "start", "end"), REFUSED)
def test_unclear_labels_are_refused(
    labels: Any, options: dict[str, Any], start: str, end: str
) -> None:
    with pytest.raises(ValueError, match=r"^`") as caught:
        EvaluationSet(labels, np.linspace(0, 1, len(labels)), **options)
    assert start in str(caught.value)
    assert str(caught.value).endswith(end)


def test_a_collection_in_a_cell_is_refused() -> None:
    with pytest.raises(TypeError, match=r"`y_true` must hold one label per row; got .*\.$"):
        EvaluationSet([{1}, {0}], [0.1, 0.2])  # type: ignore[list-item]


def test_decisions_are_read_like_labels() -> None:
    evaluation = EvaluationSet(
        ["paid", "default", None, "paid"],
        y_pred=["paid", "default", "default", "default"],
        pos_label="default",
    )
    assert evaluation.y_pred.tolist() == [0, 1, 1, 1]
    assert evaluation.counts == Counts(1, 1, 0, 1, 1, 0)
    flipped = EvaluationSet([1, 0, None], y_pred=[True, False, False], pos_label=0)
    assert flipped.y_pred.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("labels", "decisions", "options", "start"),
    [
        (["bad", "good"], [1, 0], {"pos_label": "bad"}, "got 4: 0, 1, 'bad' and 'good'. Pass"),
        (["bad", None], [1, 1], {"pos_label": "bad"}, "got 1 where `y_true` holds 'bad'. Write"),
        (["bad", None], [1, 1], {"pos_label": 1}, "`y_pred` must use the labels of `y_true`"),
        ([1, 0], [1, -1], {}, "got 3: -1, 0 and 1. Pass `y_pred` in the labels of `y_true`."),
        ([1, None], [1, -1], {}, "`y_pred` holds -1 at position 1 (1 in all): pass"),
    ],
)
def test_decisions_in_other_labels_are_refused(
    labels: Any, decisions: Any, options: dict[str, Any], start: str
) -> None:
    with pytest.raises(ValueError, match=r"^`y_.*\.$") as caught:
        EvaluationSet(labels, y_pred=decisions, **options)
    assert start in str(caught.value)


def test_a_positive_label_that_never_occurs_is_noted() -> None:
    evaluation = EvaluationSet(["paid", None], [0.1, 0.9], pos_label="default")
    assert evaluation.y_true[0] == 0
    assert evaluation.notes[0] == (
        "The positive label 'default' never occurs: every label known is 'paid'."
    )
    assert not any("never occurs" in note for note in EvaluationSet([0, 0], [0.1, 0.9]).notes)


def test_a_sentinel_that_never_occurs_is_noted() -> None:
    evaluation = EvaluationSet([1, 0, 9], [0.9, 0.1, 0.5], missing=(9, "pendign"))
    assert evaluation.notes == (
        "`missing` names 'pendign', which stands nowhere in `y_true`: is it spelled as there?",
    )
    assert EvaluationSet([1, 0, 9], [0.9, 0.1, 0.5], missing=9).notes == ()


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (np.True_, 1),
        (np.int8(-1), -1),
        (np.float32(1), 1),
        ("+1", 1),
        (".5", 0.5),
        ("1e3", 1000),
        ("9007199254740993.0", 2**53 + 1),
        ("1,0", "1,0"),
        ("nan", "nan"),
        (b"no", "no"),
        (10**400, 10**400),
    ],
)
def test_a_label_is_read_exactly(value: Any, label: Any) -> None:
    assert read_label(value) == label
    assert type(read_label(value)) is type(label)
