"""Small files after public reports of trouble, through the command line and the report.

Numbers and files: cases a01, a02, a06, a07 and a15 of the case survey; bounds by enumeration of
all completions.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from labelbayes.cli import main
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.read import read_evaluation
from labelbayes.report import write
from labelbayes.report.build import build_report
from labelbayes.report.numbers import report_dict
from labelbayes.report.words import FactsOfData

METRICS = ["accuracy", "precision", "recall", "specificity", "npv", "f1"]


@dataclass(frozen=True)
class Case:
    """A file, the words that read it, and the bounds of `METRICS` in order."""

    text: str
    words: tuple[str, ...]
    counts: tuple[int, int, int, int]
    n_unlabeled: int
    bounds: tuple[tuple[float, float], ...]
    options: dict[str, str] = field(default_factory=dict)
    encoding: str = "utf-8"


A01 = """item,reviewed,label,label_reviewed,score
i00,yes,1,1,0.97
i01,yes,1,1,0.91
i02,yes,,0,0.88
i03,yes,1,1,0.83
i04,no,,,0.76
i05,yes,,0,0.71
i06,yes,1,1,0.64
i07,no,,,0.58
i08,no,,,0.47
i09,yes,,0,0.36
i10,yes,,0,0.22
i11,no,,,0.09
"""
A02 = """outcome,score
default,0.81
paid,0.35
,0.77
paid,0.22
default,0.66
pending,0.71
paid,0.58
default,0.31
,0.12
pending,0.44
paid,0.19
paid,0.05
"""
A06 = """default,bureau_score
1,412
1,455
,498
1,530
0,561
1,588
0,604
,640
0,655
0,702
,745
0,790
"""
A07_PERCENT = "label,score\n1,92%\n0,8%\n1,61%\n,47%\n1,85%\n0,33%\n,55%\n0,2%\n"
A07_ONE_CELL = 'label,score\n1,0.92\n0,0.08\n1,0.61\n,0.47\n1,0.85\n0,0.33\n,0.55\n0,"0,02"\n'
A07_SEMICOLON = "label;score\n1;0,92\n0;0,08\n1;0,61\n;0,47\n1;0,85\n0;0,33\n;0,55\n0;0,02\n"
A15_ONE = "label,score\r\n1,0.9\r\n0,0.8\r\n,0.7\r\n1,0.6\r\n0,0.4\r\n0,0.3\r\n"
A15_TWO = "label,score,label\r\n1,0.9,1\r\n0,0.8,1\r\n,0.7,0\r\n1,0.6,0\r\n0,0.4,0\r\n0,0.3,1\r\n"

PLAIN = ("--y-true", "label", "--y-score", "score")
CASES = {
    "a01 label": Case(
        A01,
        PLAIN,
        (4, 0, 0, 0),
        8,
        ((1 / 3, 1), (0.5, 1), (0.5, 1), (0, 1), (0, 1), (0.5, 1)),
    ),
    "a01 label_reviewed": Case(
        A01,
        ("--y-true", "label_reviewed", "--y-score", "score"),
        (4, 2, 0, 2),
        4,
        (
            (0.5, 0.833333333333),
            (0.5, 0.75),
            (0.666666666667, 1.0),
            (0.333333333333, 0.666666666667),
            (0.5, 1.0),
            (0.571428571429, 0.857142857143),
        ),
        {"y_true": "label_reviewed"},
    ),
    "a02": Case(
        A02,
        (
            *("--y-true", "outcome", "--y-score", "score"),
            *("--pos-label", "default", "--missing", "pending"),
        ),
        (2, 1, 1, 4),
        4,
        (
            (0.5, 0.833333333333),
            (0.4, 0.8),
            (0.4, 0.8),
            (0.571428571429, 0.857142857143),
            (0.571428571429, 0.857142857143),
            (0.4, 0.8),
        ),
        {"y_true": "outcome", "pos_label": "default", "missing": "pending"},
    ),
    "a07 percent": Case(
        A07_PERCENT,
        PLAIN,
        (3, 0, 0, 3),
        2,
        ((0.75, 1), (0.75, 1), (0.75, 1), (0.75, 1), (0.75, 1), (0.75, 1)),
    ),
    "a15 one": Case(
        A15_ONE,
        PLAIN,
        (2, 1, 0, 2),
        1,
        (
            (0.666666666667, 0.833333333333),
            (0.5, 0.75),
            (1.0, 1.0),
            (0.5, 0.666666666667),
            (1.0, 1.0),
            (0.666666666667, 0.857142857143),
        ),
        encoding="utf-8-sig",
    ),
}


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write an empty page: drawing takes seconds, and most tests here read the numbers."""
    monkeypatch.setitem(write.FORMATS, "html", ("report.html", lambda _: ""))


def _write(tmp_path: Path, text: str, encoding: str = "utf-8") -> Path:
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(encoding))
    return path


def _run(path: Path, *words: str) -> tuple[int, Path]:
    output = path.parent / "out"
    return main(["report", str(path), *words, "--output", str(output)]), output


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_read_right_from_the_shell(name: str, tmp_path: Path, no_figures) -> None:
    case = CASES[name]
    status, output = _run(_write(tmp_path, case.text, case.encoding), *case.words)
    assert status == 0
    read = json.loads((output / "report.json").read_text(encoding="utf-8"))
    counts = read["data"]["counts"]
    assert tuple(counts[cell] for cell in ("tp", "fp", "fn", "tn")) == case.counts
    assert read["data"]["n_unlabeled"] == case.n_unlabeled
    worst = read["rungs"][0]["metrics"]
    for metric, bounds in zip(METRICS, case.bounds, strict=True):
        if metric in worst:
            found = worst[metric]["low"], worst[metric]["high"]
            assert found == pytest.approx(bounds, abs=1e-11), metric


@pytest.mark.parametrize("name", CASES)
def test_the_bounds_of_every_count_metric(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    options: dict[str, str] = {"y_true": "label", "y_score": "score"} | case.options
    path = _write(tmp_path, case.text, case.encoding)
    evaluation = read_evaluation(path, **options)  # type: ignore[arg-type]
    read = report_dict(build_report(evaluation, metrics=METRICS, rng=0))
    worst = read["rungs"][0]["metrics"]
    found = [(worst[metric]["low"], worst[metric]["high"]) for metric in METRICS]
    np.testing.assert_allclose(found, case.bounds, atol=1e-11)


def test_a01_a_blank_is_not_zero_and_the_report_says_where_to_go(tmp_path: Path, capsys) -> None:
    _, output = _run(_write(tmp_path, A01), *PLAIN)
    said = "No negative is known"
    where = "positive-unlabeled bounds"
    read = json.loads((output / "report.json").read_text(encoding="utf-8"))
    for text in (
        " ".join(read["data"]["notes"]),
        (output / "report.html").read_text(encoding="utf-8"),
        capsys.readouterr().out,
    ):
        assert said in text
        assert where in text


def test_a02_a_word_is_never_guessed_to_be_missing(tmp_path: Path, capsys) -> None:
    path = _write(tmp_path, A02)
    status, output = _run(
        path, "--y-true", "outcome", "--y-score", "score", "--pos-label", "default"
    )
    assert status == 2
    assert not output.exists()
    said = capsys.readouterr().err
    assert all(word in said for word in ("'default'", "'paid'", "'pending'"))
    assert "`--missing 'pending'`" in said
    assert said.count("\n") == 1


def test_a06_a_reversed_score_is_reported_and_not_flipped(
    tmp_path: Path, capsys, no_figures
) -> None:
    path = _write(tmp_path, A06)
    status, output = _run(path, "--y-true", "default", "--y-score", "bureau_score")
    assert status == 0
    read = json.loads((output / "report.json").read_text(encoding="utf-8"))
    notes = " ".join(read["data"]["notes"])
    assert "Every row is predicted positive" in notes
    assert "ordered the other way" in notes
    assert "-y_score" in notes
    recall = read["rungs"][0]["metrics"]["recall"]
    assert (recall["low"], recall["high"]) == (1.0, 1.0)
    assert "Noticed: Every row is predicted positive" in capsys.readouterr().out


def test_a06_the_negated_score(tmp_path: Path, no_figures) -> None:
    rows = [line.split(",") for line in A06.splitlines()[1:]]
    text = "default,score\n" + "".join(f"{label},-{score}\n" for label, score in rows)
    path = _write(tmp_path, text)
    words = ("--y-true", "default", "--y-score", "score", "--threshold", "-600")
    status, output = _run(path, *words)
    assert status == 0
    worst = json.loads((output / "report.json").read_text(encoding="utf-8"))["rungs"][0]["metrics"]
    found = [(worst[m]["low"], worst[m]["high"]) for m in ("accuracy", "precision", "recall", "f1")]
    expected = [
        (0.666666666667, 0.916666666667),
        (0.666666666667, 0.833333333333),
        (0.666666666667, 1.0),
        (0.666666666667, 0.909090909091),
    ]
    np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.parametrize(
    ("text", "encoding", "said"),
    [
        (A07_ONE_CELL, "utf-8", ("'score'", "'0,02'", "row 8")),
        (A07_SEMICOLON, "utf-8", ("no column 'label'", "'label;score'", "semicolon")),
        (A15_TWO, "utf-8-sig", ("2 columns named 'label'", "rename")),
    ],
    ids=["a07 one cell", "a07 semicolon", "a15 two"],
)
def test_a_file_that_cannot_be_read_right_is_refused(
    tmp_path: Path, capsys, text: str, encoding: str, said: tuple[str, ...]
) -> None:
    status, output = _run(_write(tmp_path, text, encoding), *PLAIN)
    assert status == 2
    assert not output.exists()
    sentence = capsys.readouterr().err
    assert sentence.startswith("labelbayes: ")
    assert all(part in sentence for part in said)


def test_facts_need_no_score() -> None:
    report = build_report(EvaluationSet([1, None], y_pred=[1, 0]), metrics=["recall"], rng=0)
    assert isinstance(report.facts, FactsOfData)
    assert report.facts.threshold is None
