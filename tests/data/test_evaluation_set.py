"""EvaluationSet: every container gives the same, bad input is refused with a whole sentence."""

import ast
import dataclasses
import pickle
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labelbayes.data
from labelbayes.data.evaluation_set import Counts, EvaluationSet

NAN = float("nan")
LABELS: list[Any] = [1, 0, None, 1]
SCORES = [0.9, 0.4, 0.7, 0.2]

CONTAINERS = {
    "list with nan": [1, 0, NAN, 1],
    "list with NA": [1, 0, pd.NA, 1],
    "list with masked": [1, 0, np.ma.masked, 1],
    "tuple": (1, 0, None, 1),
    "decimals": [Decimal(1), Decimal(0), Decimal("NaN"), Decimal(1)],
    "bools": [True, False, None, True],
    "text": ["1", "0", None, "1.0"],
    "words of truth": ["true", "False", None, "TRUE"],
    "object array": np.array([1, 0, None, 1], dtype=object),
    "float64": np.array([1, 0, NAN, 1]),
    "float32": np.array([1, 0, NAN, 1], dtype=np.float32),
    "float16": np.array([1, 0, NAN, 1], dtype=np.float16),
    "long double": np.array([1, 0, NAN, 1], dtype=np.longdouble),
    "masked floats": np.ma.masked_invalid([1, 0, NAN, 1]),
    "masked ints": np.ma.array([1, 0, 7, 1], mask=[0, 0, 1, 0]),
    "masked int8": np.ma.array([1, 0, 7, 1], mask=[0, 0, 1, 0], dtype=np.int8),
    "Int64": pd.Series([1, 0, None, 1], dtype="Int64"),
    "UInt8": pd.Series([1, 0, None, 1], dtype="UInt8"),
    "boolean": pd.Series([True, False, None, True], dtype="boolean"),
    "Float32": pd.Series([1, 0, None, 1], dtype="Float32"),
    "extension array": pd.array([1, 0, None, 1], dtype="Int64"),
    "index": pd.Index([1, 0, None, 1]),
    "object series": pd.Series([1, 0, None, 1], dtype=object),
    "str series": pd.Series(["1", "0", None, "1"], dtype="str"),
    "categorical": pd.Series([1, 0, None, 1]).astype("category"),
    "categorical text": pd.Categorical(["1", "0", None, "1"], categories=["0", "1", "2"]),
    "arrow int": pd.Series([1, 0, None, 1], dtype=pd.ArrowDtype(pa.int64())),
    "arrow bool": pd.Series([True, False, None, True], dtype=pd.ArrowDtype(pa.bool_())),
    "arrow float": pd.Series([1, 0, None, 1], dtype=pd.ArrowDtype(pa.float64())),
    "arrow text": pd.Series(["1", "0", None, "1"], dtype=pd.ArrowDtype(pa.string())),
    "pyarrow": pa.array([1, 0, None, 1]),
    "pyarrow chunks": pa.chunked_array([[1, 0], [None, 1]]),
    "pyarrow dictionary": pa.array(["1", "0", None, "1"]).dictionary_encode(),
    "sparse": pd.Series(pd.arrays.SparseArray([1, 0, NAN, 1])),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_of_labels_give_the_same(name: str) -> None:  # requirement 1
    evaluation = EvaluationSet(CONTAINERS[name], SCORES)  # type: ignore[arg-type]
    np.testing.assert_array_equal(evaluation.y_true, [1, 0, NAN, 1])
    assert evaluation.y_true.dtype == np.float64
    assert evaluation.counts == Counts(1, 0, 1, 1, 1, 0)
    assert evaluation.notes == ()


@pytest.mark.parametrize(
    "scores",
    [
        tuple(SCORES),
        np.array(SCORES, dtype=object),
        pd.Series(SCORES, dtype="Float64"),
        pa.array(SCORES),
        [Decimal("0.9"), Decimal("0.4"), Decimal("0.7"), Decimal("0.2")],
        pd.Series(SCORES).astype("category"),
    ],
    ids=str,
)
def test_containers_of_scores_give_the_same(scores: Any) -> None:
    np.testing.assert_array_equal(EvaluationSet(LABELS, scores).y_score, SCORES)


def test_attributes_have_the_types_of_the_contract() -> None:
    evaluation = EvaluationSet(LABELS, SCORES, group=["b", None, "a", "b"], count=[1, 2, 3, 4])
    assert evaluation.y_pred.dtype == np.int8
    assert evaluation.count.dtype == np.int64
    assert evaluation.group is not None
    assert evaluation.group.dtype == object
    assert evaluation.group.tolist() == ["b", "(missing)", "a", "b"]
    assert evaluation.is_labeled.tolist() == [True, True, False, True]
    assert (evaluation.n, evaluation.n_rows) == (10, 4)
    assert (evaluation.n_labeled, evaluation.n_unlabeled) == (7, 3)
    assert evaluation.counts == Counts(1, 0, 4, 2, 3, 0)
    assert all(type(value) is int for value in dataclasses.astuple(evaluation.counts))
    assert (evaluation.threshold, evaluation.pos_label) == (0.5, None)


def test_inputs_are_neither_changed_nor_shared() -> None:  # requirement 7
    y_true, y_score = np.array([1.0, 0.0, NAN, 1.0]), np.array(SCORES)
    y_pred, count = np.array([1, 0, 1, 0], dtype=np.int8), np.array([1, 2, 3, 4])
    group = np.array(["a", "b", "a", "b"], dtype=object)
    given_arrays = (y_true, y_score, y_pred, count, group)
    before = [array.copy() for array in given_arrays]
    for array in given_arrays:
        array.setflags(write=False)
    evaluation = EvaluationSet(y_true, y_score, y_pred=y_pred, count=count, group=group)
    for array, old in zip(given_arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)
    for name in ("y_true", "y_score", "y_pred", "count", "group", "is_labeled"):
        kept = getattr(evaluation, name)
        assert not any(np.shares_memory(kept, array) for array in given_arrays)
        with pytest.raises(ValueError, match="read-only"):
            kept[0] = kept[1]
    with pytest.raises(dataclasses.FrozenInstanceError):
        evaluation.threshold = 0.7  # type: ignore[misc]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_counts_are_exact_in_every_precision(dtype: Any) -> None:  # requirement 9
    # 70,000 rows overflow int8 and float16 sums, and pass float16's largest whole number.
    n = 70_000
    y_score = np.where(np.arange(n) % 7 == 0, 0.5, 0.25).astype(dtype)
    y_true = (np.arange(n) % 2).astype(np.int8)
    evaluation = EvaluationSet(y_true, y_score)
    assert evaluation.counts == Counts(5_000, 5_000, 30_000, 30_000, 0, 0)


def test_decisions_compare_in_the_precision_of_the_score() -> None:
    scores = np.array([0.7, 0.1], dtype=np.float32)
    assert EvaluationSet([1, 0], scores, threshold=0.7).y_pred.tolist() == [1, 0]
    # float32(0.7) is less than 0.7: the same scores as doubles are decided otherwise.
    assert EvaluationSet([1, 0], scores.astype(float), threshold=0.7).y_pred.tolist() == [0, 0]


def test_counts_are_exact_above_a_million_rows() -> None:
    n = 1_000_003
    y_true = np.arange(n) % 3.0
    y_true[y_true == 2] = NAN
    y_pred = (np.arange(n) % 2).astype(np.int8)
    evaluation = EvaluationSet(y_true, y_pred=y_pred)
    label, decision = np.arange(n) % 3, np.arange(n) % 2
    wanted = {
        (a, b): int(((label == a) & (decision == b)).sum()) for a in (0, 1, 2) for b in (0, 1)
    }
    assert evaluation.counts == Counts(
        wanted[1, 1], wanted[0, 1], wanted[1, 0], wanted[0, 0], wanted[2, 1], wanted[2, 0]
    )
    big = EvaluationSet([1, None], y_pred=[1, 0], count=[2**52, 3])
    assert big.counts == Counts(2**52, 0, 0, 0, 0, 3)


rows = st.lists(
    st.tuples(st.sampled_from([1, 0, None]), st.sampled_from([0.1, 0.5, 0.9]), st.integers(1, 4)),
    min_size=1,
    max_size=12,
)


@given(rows, st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_counts_do_not_depend_on_row_order_or_on_splitting(table: Any, shuffle: Any) -> None:
    labels, scores, counts = zip(*table, strict=True)
    evaluation = EvaluationSet(labels, scores, count=counts)
    single = [(label, score) for label, score, count in table for _ in range(count)]
    shuffle.shuffle(single)
    other = EvaluationSet([row[0] for row in single], [row[1] for row in single])
    assert other.counts == evaluation.counts
    assert other.n == evaluation.n
    assert other.notes == evaluation.notes or len(other.y_true) != len(evaluation.y_true)


REFUSED: list[tuple[dict[str, Any], type[Exception], str, str]] = [
    # no rows, no columns, shapes (requirements 4, 6)
    ({"y_true": [], "y_score": []}, ValueError, "`y_true` has no rows", "at least one."),
    ({"y_true": [1, 0]}, ValueError, "`y_score` or `y_pred` must be given", "evaluate."),
    ({"y_true": [1, 0, 1], "y_score": [0.5, 0.1]}, ValueError, "got 2 values for 3 rows", "rows."),
    ({"y_true": 1, "y_score": [0.5]}, TypeError, "`y_true` must be a list or array", "got int."),
    ({"y_true": {1, 0}, "y_score": [0.5, 1]}, TypeError, "`y_true` must be", "got set."),
    ({"y_true": "10", "y_score": [0.5, 1]}, TypeError, "`y_true` must be", "got str."),
    (
        {"y_true": [1, 0], "y_score": [[0.1, 0.9], [0.8, 0.2]]},
        ValueError,
        "`y_score` must be one-dimensional, one value per row; got shape (2, 2)",
        "`probabilities[:, 1]`.",
    ),
    ({"y_true": [1, 0], "y_score": np.eye(2)}, ValueError, "got shape (2, 2)", "1]`."),
    ({"y_true": [1, 0], "y_score": pd.DataFrame(np.eye(2))}, ValueError, "(2, 2)", "1]`."),
    (
        {"y_true": pd.Series([1, 0]), "y_score": pd.Series([0.5, 0.1], index=[1, 0])},
        ValueError,
        "`y_true` and `y_score` are Series with different indexes, first at position 0 (0 and 1)",
        "if their order is the same.",
    ),
    (
        {"y_true": [1, 0], "y_score": pd.Series([0.5, 0.1]), "group": pd.Series("ab").repeat(2)},
        ValueError,
        "`y_score` and `group` are Series with different indexes, first at position 1",
        "same.",
    ),
    # scores (requirement 8)
    (
        {"y_true": [1, 0, 1, 0], "y_score": [0.5, NAN, 0.1, float("inf")]},
        ValueError,
        "`y_score` must be finite; got nan at position 1 (2 nan or infinite in all)",
        "Drop those rows or score them.",
    ),
    (
        {"y_true": [1, 0], "y_score": [0.5, -np.inf]},
        ValueError,
        "got -inf at position 1 (1 nan",
        "them.",
    ),
    ({"y_true": [1, 0], "y_score": [0.5, None]}, ValueError, "got nan at position 1", "them."),
    (
        {"y_true": [1, 0], "y_score": ["0.5", "0,1"]},
        TypeError,
        "`y_score` must hold numbers; got str '0.5' at position 0",
        "`pandas.to_numeric`.",
    ),
    ({"y_true": [1, 0], "y_score": [0.5, "0,1"]}, TypeError, "'0,1' at position 1", "numeric`."),
    (
        {"y_true": [1, 0], "y_score": [0.5, 1j]},
        TypeError,
        "must hold numbers; got complex 1j at position 1",
        "",
    ),
    ({"y_true": [1, 0], "y_score": np.array([1j, 1])}, TypeError, "complex", "numbers."),
    (
        {"y_true": [1, 0], "y_score": [2**53 + 1, 0]},
        ValueError,
        "`y_score` must hold numbers that a float can hold; got 9007199254740993 at position 0",
        "smaller unit.",
    ),
    ({"y_true": [1, 0], "y_score": [1, 0], "threshold": NAN}, ValueError, "`threshold`", "nan."),
    ({"y_true": [1, 0], "y_score": [1, 0], "threshold": "x"}, TypeError, "`threshold`", "'x'."),
    # decisions
    (
        {"y_true": [1, 0, 0], "y_pred": [1, None, 0]},
        ValueError,
        "`y_pred` must be complete; it is missing at position 1 (1 in all)",
        "decide them.",
    ),
    (
        {"y_true": [1, -1, 0], "y_pred": [1, -1, 0], "missing": -1},
        ValueError,
        "`y_pred` must be complete",
        "decide them.",
    ),
    (
        {"y_true": [1, 0], "y_pred": [0.7, 0.2]},
        ValueError,
        "`y_pred` must hold decisions; got 0.2 at position 1 (1 in all)",
        "with a `threshold`.",
    ),
    # groups and counts
    (
        {"y_true": [1, 0], "y_pred": [1, 0], "count": [1, 0]},
        ValueError,
        "`count` must hold whole numbers of at least 1; got 0 at position 1 (1 in all)",
        "Leave out rows that stand for nothing.",
    ),
    ({"y_true": [1, 0], "y_pred": [1, 0], "count": [1.5, 1]}, ValueError, "got 1.5", "nothing."),
    ({"y_true": [1, 0], "y_pred": [1, 0], "count": [1, None]}, ValueError, "`count` must be", "."),
    ({"y_true": [1, 0], "y_pred": [1, 0], "count": ["1", "2"]}, TypeError, "`count`", "numeric`."),
    ({"y_true": [1, 0], "y_pred": [1, 0], "count": [2**53, 1]}, ValueError, "2^53", "9.0072e+15."),
]


@pytest.mark.parametrize(("arguments", "kind", "start", "end"), REFUSED)
def test_bad_input_is_refused_with_a_sentence(
    arguments: dict[str, Any], kind: type[Exception], start: str, end: str
) -> None:
    with pytest.raises(kind) as caught:
        EvaluationSet(**arguments)
    assert start in str(caught.value)
    assert str(caught.value).endswith(end)


def test_no_label_at_all_is_allowed() -> None:  # requirement 6
    evaluation = EvaluationSet([None, NAN], [0.9, 0.1])
    assert (evaluation.n_labeled, evaluation.n_unlabeled) == (0, 2)
    assert evaluation.counts == Counts(0, 0, 0, 0, 1, 1)


def test_series_with_one_index_and_lists_go_together() -> None:
    y_true, y_score = pd.Series([1, 0], index=["x", "y"]), pd.Series([0.9, 0.1], index=["x", "y"])
    assert EvaluationSet(y_true, y_score, group=["a", "b"]).n == 2


def test_groups_split_the_rows() -> None:
    names = pd.Series([2, 1, None, 2, 10])
    evaluation = EvaluationSet([1, 0, None, 0, 1], [0.9, 0.1, 0.8, 0.7, 0.2], group=names)
    parts = evaluation.groups()
    assert list(parts) == ["1", "10", "2", "(missing)"]
    assert parts["2"].counts == Counts(1, 1, 0, 0, 0, 0)
    assert parts["2"].y_score is not None
    assert parts["2"].y_score.tolist() == [0.9, 0.7]
    assert sum(part.n for part in parts.values()) == evaluation.n
    exact = EvaluationSet([1, 0], [1, 0], group=[2**53 + 1, 2**53])
    assert list(exact.groups()) == [str(2**53), str(2**53 + 1)]
    with pytest.raises(ValueError, match=r"`group` must be given .* has none\.$"):
        EvaluationSet([1, 0], [1, 0]).groups()


def test_groups_show_themselves_as_a_table_and_are_a_dictionary() -> None:
    evaluation = EvaluationSet([1, 0, None, 0], [0.9, 0.1, 0.8, 0.7], group=["<b>", "a", "a", "a"])
    parts = evaluation.groups()
    assert isinstance(parts, dict)
    assert repr(parts) == repr(dict(parts))
    page = parts._repr_html_()
    assert re.findall(r"<th[^>]*>([^<]*)</th>", page) == [
        *("group", "rows", "labeled", "label missing")
    ]
    assert re.findall(r"<td[^>]*>([^<]*)</td>", page) == [
        *("&lt;b&gt;", "1", "1", "0"),
        *("a", "3", "2", "1"),
    ]
    assert list(pickle.loads(pickle.dumps(parts))) == ["<b>", "a"]


def test_subset_keeps_decisions_and_drops_notes_of_reading() -> None:
    evaluation = EvaluationSet(
        ["yes", "no", None], [3, 9, 5], threshold=4, pos_label="yes", missing="?", count=[2, 3, 4]
    )
    assert "names '?'" in evaluation.notes[0]
    part = evaluation.subset([True, False, True])
    assert part.counts == Counts(0, 0, 2, 0, 4, 0)
    assert (part.threshold, part.pos_label, part.n) == (4, "yes", 6)
    assert not any("'?'" in note for note in part.notes)
    assert not part.y_true.flags.writeable
    for mask, kind, end in (
        ([1, 0, 1], TypeError, "got int64."),
        ([True, False], ValueError, "got (2,)."),
        ([False] * 3, ValueError, "it leaves no rows."),
    ):
        with pytest.raises(kind, match=r"^`mask` must ") as caught:
            evaluation.subset(mask)
        assert str(caught.value).endswith(end)


def test_reprs_are_short_and_static() -> None:
    evaluation = EvaluationSet(LABELS, [900, 4, 7, 2], threshold=5, count=[1000, 1, 1, 1])
    assert repr(evaluation) == (
        "EvaluationSet(1,003 rows: 1,002 labeled (tp=1,000, fp=0, fn=1, tn=1), 1 unlabeled "
        "(predicted positive 1, negative 0); 1 in `.notes`)"
    )
    html = evaluation._repr_html_()
    assert "1,003 rows, 1,002 labeled, 1 unlabeled" in html
    assert "Scores run from 2 to 900" in html
    assert "<style" not in html


def test_a_set_survives_pickling() -> None:
    evaluation = EvaluationSet(LABELS, SCORES, group=list("abab"))
    again = pickle.loads(pickle.dumps(evaluation))
    assert again.counts == evaluation.counts
    np.testing.assert_array_equal(again.y_true, evaluation.y_true)


def test_the_data_room_imports_nothing_above_it() -> None:
    room = Path(labelbayes.data.__file__).parent
    allowed = ("labelbayes.data", "labelbayes._checks", "labelbayes._html", "labelbayes._progress")
    imported = [
        node.module
        for path in room.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("labelbayes")
    ]
    assert imported
    assert [name for name in imported if not str(name).startswith(allowed)] == []
