"""Columns give the same numbers in every container, exactly or not at all."""

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.read import read_evaluation

LABELS: list[Any] = [1, 0, None, 1]
SCORES = [0.9, 0.4, 0.7, 0.2]
SINGLE = np.array([0.7, 0.1, 0.8], dtype=np.float32)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize(
    "wrap",
    [
        list,
        tuple,
        np.asarray,
        pd.Series,
        pa.array,
        np.ma.array,
        lambda x: pd.Series(list(x), dtype=object),
    ],
)
@pytest.mark.parametrize("threshold", [0.7, 1e9])
def test_decisions_do_not_depend_on_the_container(wrap: Any, dtype: Any, threshold: float) -> None:
    scores = SINGLE.astype(dtype)
    evaluation = EvaluationSet([1, 0, None], wrap(scores), threshold=threshold)
    assert evaluation.y_pred.tolist() == ([1, 0, 1] if threshold < 1 else [0, 0, 0])
    assert evaluation.y_score is not None
    decided = evaluation.y_score >= evaluation.threshold
    assert decided.tolist() == evaluation.y_pred.astype(bool).tolist()


def test_only_whole_numbers_can_be_too_long_for_a_float() -> None:
    evaluation = EvaluationSet([1, 0, None], [1e16, 0.5, 0.2])
    assert evaluation.y_pred.tolist() == [1, 1, 0]
    with pytest.raises(ValueError, match=r"9007199254740993 at position 1, above 2\^53"):
        EvaluationSet([1, 0, None], [0.5, 2**53 + 1, 0.2])
    with pytest.raises(ValueError, match=r"`y_score` must hold .* at position 1"):
        EvaluationSet([1, 0, None], [0.5, 10**400, 0.2])


@pytest.mark.parametrize(
    ("options", "kind", "start"),
    [
        ({"pos_label": np.array([1])}, TypeError, "`pos_label` must be one label"),
        ({"missing": [[1, 2], [3]]}, TypeError, "`missing` must be one label or a flat"),
        ({"group": [{1}, 3]}, TypeError, "`group` must hold one name per row"),
        ({"count": [1e300, 1]}, ValueError, "`count` must not add up to more than 2"),
        ({"count": [1.7e308, 1.7e308]}, ValueError, "`count` must not add up to more than 2"),
        ({"threshold": 10**400}, ValueError, "`threshold`"),
    ],
)
def test_odd_options_are_refused_in_a_sentence(
    options: Any, kind: type[Exception], start: str
) -> None:
    with pytest.raises(kind, match=f"^{start}"):
        EvaluationSet([1, 0], [0.9, 0.2], **options)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_stay_read_only(copied: Any) -> None:
    evaluation = EvaluationSet(LABELS, SCORES, group=list("abab"))
    assert evaluation.is_labeled.any()
    again = copied(evaluation)
    assert again.counts == evaluation.counts
    for name in ("y_true", "y_score", "y_pred", "group", "count", "is_labeled"):
        assert not getattr(again, name).flags.writeable


def test_long_whole_numbers_in_text_are_refused_with_row_and_cell() -> None:
    frame = pd.DataFrame({"y": ["1", "0"], "s": ["9007199254740992", "9007199254740993"]})
    for role in ("y_score", "count"):
        columns = {"y_pred": "y", "y_score": "s"} | {role: "s"}
        frame["s"] = frame["s"] if role == "y_score" else ["1", "9007199254740993"]
        with pytest.raises(ValueError, match=r"column 's' .* '9007199254740993' in row 2: .*2\^53"):
            read_evaluation(frame, y_true="y", **columns)  # type: ignore[arg-type]


def test_the_column_of_labels_must_be_named() -> None:
    with pytest.raises(TypeError, match=r"^`y_true` must be the name of the column"):
        read_evaluation(pd.DataFrame({"y": [1]}), y_true=None, y_score="y")  # type: ignore[arg-type]
