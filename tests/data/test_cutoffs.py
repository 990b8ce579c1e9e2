"""A cutoff meets scores in the precision in which they came, wherever it is given."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelbayes.bounds.positive_unlabeled import bound_positive_unlabeled
from labelbayes.cli import main
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.masking import mask_mcar
from labelbayes.data.read import read_evaluation
from labelbayes.metrics.judge_scores import score_judges
from labelbayes.metrics.set_agreement import reach
from labelbayes.report import write

#: 0.7 lies above its float32 and its float16, 0.1 between them.
VALUES = [0.7, 0.1, 0.3, 0.7, 0.9, 0.1, 0.7, 0.05]
KNOWN = [1, None, 1, 1, None, 1, None, None]


def _of_arrays(scores: Any, cutoff: float, _: Path) -> int:
    return int(EvaluationSet(KNOWN, scores, threshold=cutoff).y_pred.sum())


def _of_frame(scores: Any, cutoff: float, _: Path) -> int:
    frame = pd.DataFrame({"label": pd.array(KNOWN, dtype="Int64"), "score": scores})
    rows = read_evaluation(frame, y_true="label", y_score="score", threshold=cutoff)
    return int(rows.y_pred.sum())


def _write(scores: Any, directory: Path) -> Path:
    path = directory / "table.parquet"
    label = pd.array([1, 0, *KNOWN[2:]], dtype="Int64")
    pd.DataFrame({"label": label, "score": scores}).to_parquet(path)
    return path


def _of_parquet(scores: Any, cutoff: float, directory: Path) -> int:
    path = _write(scores, directory)
    rows = read_evaluation(path, y_true="label", y_score="score", threshold=cutoff)
    return int(rows.y_pred.sum())


def _of_command(scores: Any, cutoff: float, directory: Path) -> int:
    words = ["report", str(_write(scores, directory)), "--y-true", "label", "--y-score", "score"]
    assert main([*words, "--threshold", str(cutoff), "--output", str(directory / "out")]) == 0
    found = json.loads((directory / "out" / "report.json").read_text(encoding="utf-8"))
    counts = found["data"]["counts"]
    return counts["tp"] + counts["fp"] + counts["unlabeled_predicted_positive"]


def _recall(rows: EvaluationSet, cutoff: float) -> int:
    """Where all rows are positive, recall is the share that is called so."""
    result = bound_positive_unlabeled(rows, 1.0)
    recall = result.at(cutoff, ["recall"])["recall"]
    assert recall.low == recall.high
    return round(recall.low * rows.n)


def _of_curves(scores: Any, cutoff: float, _: Path) -> int:
    return _recall(EvaluationSet(KNOWN, scores), cutoff)


def _of_points(scores: Any, cutoff: float, _: Path) -> int:
    # Twice the rows, once labeled: under SCAR the unlabeled ones are called like these.
    rows = EvaluationSet([*[1] * len(scores), *[None] * len(scores)], np.tile(scores, 2))
    points = bound_positive_unlabeled(rows, 1.0).points(cutoff)
    return round(float(points["value"]["recall"]) * len(scores))


def _of_copies(scores: Any, cutoff: float, _: Path) -> int:
    """Rows that were picked, masked, noted or stored still know their precision."""
    rows = EvaluationSet(KNOWN, scores, group=np.tile(["a", "b"], 4)).with_notes(("Read.",))
    copies = [
        rows.subset(np.ones(rows.n_rows, dtype=bool)),
        mask_mcar(rows, 0.5, rng=0),
        pickle.loads(pickle.dumps(rows)),
    ]
    found = {_recall(copy, cutoff) for copy in copies}
    found.add(sum(_recall(part, cutoff) for part in rows.groups().values()))
    (only,) = found
    return only


PLACES: dict[str, Callable[[Any, float, Path], int]] = {
    "EvaluationSet": _of_arrays,
    "DataFrame": _of_frame,
    "Parquet": _of_parquet,
    "CurveBounds.at": _of_curves,
    "CurveBounds.points": _of_points,
    "copies": _of_copies,
}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("cutoff", [0.7, 0.1, 0.3, 0.7000002, 0.5, 1e9, -1e9])
@pytest.mark.parametrize("place", PLACES)
def test_a_cutoff_is_compared_as_numpy_does(
    place: str, cutoff: float, dtype: Any, tmp_path: Path
) -> None:
    scores = np.array(VALUES, dtype=dtype)
    with np.errstate(over="ignore"):
        wanted = int((scores >= cutoff).sum())
    assert PLACES[place](scores, cutoff, tmp_path) == wanted


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_command_line_agrees(
    dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = '<meta name="generator" content="labelbayes">'
    monkeypatch.setitem(write.FORMATS, "html", ("report.html", lambda _: page))
    scores = np.array(VALUES, dtype=dtype)
    assert _of_command(scores, 0.7, tmp_path) == int((scores >= 0.7).sum()) == 4


def test_comparing_as_float64_would_be_caught() -> None:
    scores = np.array(VALUES, dtype=np.float32)
    as_doubles = EvaluationSet(KNOWN, scores.astype(np.float64))
    assert _recall(as_doubles, 0.7) == 1 != _recall(EvaluationSet(KNOWN, scores), 0.7)


# Eight rows at most: one known positive says too little of so few to contradict beta = 1.
@given(
    st.lists(st.floats(-2, 2, width=32), min_size=4, max_size=8),
    st.integers(0, 7),
    st.sampled_from([-1e-8, 0.0, 1e-8]),
)
def test_any_cutoff_near_a_score(values: list[float], place: int, moved: float) -> None:
    scores = np.array(values, dtype=np.float32)
    cutoff = float(str(scores[place % len(scores)])) + moved
    rows = EvaluationSet([1, *[None] * (len(scores) - 1)], scores, threshold=cutoff)
    wanted = (scores >= cutoff).tolist()
    assert rows.y_pred.astype(bool).tolist() == wanted
    assert (rows.y_score >= rows.threshold).tolist() == wanted
    assert _recall(rows, cutoff) == sum(wanted)


@pytest.mark.parametrize("threshold", ["0.7", True, np.nan, np.inf])
def test_bad_cutoffs_are_refused_alike(threshold: Any) -> None:
    result = bound_positive_unlabeled(EvaluationSet(KNOWN, VALUES), 0.5)
    for ask in (result.at, result.points, lambda t: EvaluationSet(KNOWN, VALUES, threshold=t)):
        with pytest.raises((TypeError, ValueError), match=r"^`threshold` must be "):
            ask(threshold)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("cutoff", [0.7, 0.1, 0.3, 0.7000002, 0.5])
def test_judges_meet_their_threshold_as_numpy_does(cutoff: float, dtype: Any) -> None:
    # The judge always picks the one option that the humans may take for valid.
    law = np.array([[0.7, 0.2, 0.1]] * len(VALUES), dtype=dtype)  # 0.7 + 0.2 + 0.1 is not quite 1
    share = np.array(VALUES, dtype=dtype)
    nothing = np.zeros_like(share)
    human = (law, np.stack([share, nothing, nothing], axis=1))
    never = (law, np.zeros_like(law))
    wanted = float((share >= cutoff).mean())
    found = score_judges({"never": never}, human, threshold=cutoff).loc["never"]
    assert found["coverage"] == wanted
    assert found["bias"] == -wanted
    assert found["consistency"] == 1 - wanted
    # A decision on two options is on their sum.
    parts = (law, np.stack([share / 2, share / 2, nothing], axis=1))
    options = {"decision_options": [0, 1], "threshold": cutoff}
    assert score_judges({"never": never}, parts, **options).loc["never", "bias"] == -wanted


def test_shares_compared_as_float64_would_be_caught() -> None:
    share = np.array([0.7], dtype=np.float32)
    assert reach(share, 0.7).all()
    assert not reach(share.astype(np.float64), 0.7).any()


def test_a_short_law_must_still_sum_to_1() -> None:
    law = np.array([[0.7, 0.2, 0.1 + 1e-5]], dtype=np.float32)
    with pytest.raises(ValueError, match="sums to 1 in each row"):
        score_judges({"j": (law, law)}, (law, law))
