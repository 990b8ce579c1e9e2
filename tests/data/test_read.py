"""Files as people export them are read right, or refused with file, column, row and cell."""

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.data.read import read_evaluation

# case a01: a blank is either "found clean" or "not looked at yet".
EXPORT = """item,reviewed,label,label_reviewed,score
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
# case a02: outcomes as words, two blank and two pending.
LOANS = """outcome,score
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
# case a07: the same eight rows three ways.
LABELS = ["1", "0", "1", "", "1", "0", "", "0"]
PLAIN = ["0.92", "0.08", "0.61", "0.47", "0.85", "0.33", "0.55", "0.02"]
# case a15: a byte order mark and CRLF.
ONE = "label,score\r\n1,0.9\r\n0,0.8\r\n,0.7\r\n1,0.6\r\n0,0.4\r\n0,0.3\r\n"
TWO = "label,score,label\r\n1,0.9,1\r\n0,0.8,1\r\n,0.7,0\r\n1,0.6,0\r\n0,0.4,0\r\n0,0.3,1\r\n"


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def rows(labels: list[str], scores: list[str], separator: str = ",") -> str:
    lines = zip(["label", *labels], ["score", *scores], strict=True)
    return "".join(f"{label}{separator}{score}\n" for label, score in lines)


def read(path: Any, **options: Any) -> EvaluationSet:
    return read_evaluation(path, **{"y_true": "label", "y_score": "score"} | options)


def sentence(path: Any, kind: type[Exception] = ValueError, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        read(path, **options)
    assert str(caught.value).endswith(".")
    return str(caught.value)


def test_a_blank_is_missing_and_never_zero(tmp_path: Path) -> None:  # case a01, requirement 43
    path = write(tmp_path / "export.csv", EXPORT)
    evaluation = read(path)
    assert evaluation.counts == Counts(4, 0, 0, 0, 4, 4)  # case a01
    assert "No negative is known (labels: 4, all positive)" in evaluation.notes[0]
    assert "positive-unlabeled bounds" in evaluation.notes[0]
    reviewed = read(path, y_true="label_reviewed")
    assert reviewed.counts == Counts(4, 2, 0, 2, 2, 2)  # case a01
    assert reviewed.notes == ()


def test_pending_is_missing_only_when_said(tmp_path: Path) -> None:  # case a02, requirement 43
    path = write(tmp_path / "loans.csv", LOANS)
    options = {"y_true": "outcome", "pos_label": "default"}
    evaluation = read(path, **options, missing="pending")
    assert evaluation.counts == Counts(2, 1, 1, 4, 2, 2)  # case a02
    assert evaluation.notes == ()
    refused = sentence(path, **options)
    assert refused.startswith(f"{path}: `y_true` must hold two labels")
    assert "'default', 'paid' and 'pending'" in refused
    assert "`missing='pending'`" in refused
    assert "`pos_label` must say" in sentence(path, y_true="outcome", missing="pending")
    frame = pd.read_csv(path)
    assert read(frame, **options, missing="pending").counts == evaluation.counts


def test_percent_signs_are_read_as_hundredths(tmp_path: Path) -> None:  # case a07
    percent = ["92%", "8%", "61%", "47%", "85%", "33%", "55%", "2%"]
    path = write(tmp_path / "percent.csv", rows(LABELS, percent))
    evaluation = read(path)
    assert evaluation.y_score is not None
    assert evaluation.y_score.tolist() == [float(cell) for cell in PLAIN]
    counts = evaluation.counts
    assert (counts.tp, counts.fp, counts.fn, counts.tn) == (3, 0, 0, 3)  # case a07
    assert evaluation.notes == (
        f"{path}, column 'score': percent signs were read as hundredths (92% is 0.92).",
    )


def test_one_decimal_comma_among_points_is_refused(tmp_path: Path) -> None:  # case a07
    path = write(tmp_path / "one_cell.csv", rows(LABELS, [*PLAIN[:-1], '"0,02"']))
    assert sentence(path) == (
        f"{path}, column 'score' must hold numbers; got '0,02' in row 8: it has a decimal "
        "comma and other cells have a point. Write it as a plain number with a decimal point."
    )
    frame = pd.DataFrame({"label": LABELS, "score": [*PLAIN[:-1], "0,02"]})
    assert "The DataFrame, column 'score' must hold numbers; got '0,02' in row 8" in sentence(frame)
    unquoted = write(tmp_path / "unquoted.csv", rows(LABELS, [*PLAIN[:-1], "0,02"]))
    assert sentence(unquoted) == (
        f"{unquoted} is no table: row 8 (the header not counted) has 3 where the header has 2 "
        "cells; quote cells that hold ','."
    )


def test_another_separator_is_named_as_the_cause(tmp_path: Path) -> None:  # case a07
    commas = [cell.replace(".", ",") for cell in PLAIN]
    path = write(tmp_path / "semicolon.csv", rows(LABELS, commas, ";"))
    assert sentence(path) == (
        f"{path} has no column 'label'; it has 'label;score'. Its separator is probably a "
        "semicolon: save it with commas, or pass `pandas.read_csv(path, sep=';', dtype=str)` "
        "instead of the path."
    )
    # The remedy works, and says how it read the commas.
    evaluation = read(pd.read_csv(path, sep=";", dtype=str))
    assert evaluation.y_score is not None
    assert evaluation.y_score.tolist() == [float(cell) for cell in PLAIN]
    assert evaluation.notes == (
        "The DataFrame, column 'score': commas were read as decimal commas (0,92 is 0.92).",
    )
    tab = write(tmp_path / "tab.csv", rows(LABELS, PLAIN, "\t"))
    assert "Its separator is probably a tab: name it .tsv, or pass" in sentence(tab)
    comma = write(tmp_path / "comma.tsv", rows(LABELS, PLAIN))
    assert "Its separator is probably a comma: name it .csv, or pass" in sentence(comma)
    assert read(write(tmp_path / "tab.tsv", rows(LABELS, PLAIN, "\t"))).n == 8


def test_a_byte_order_mark_is_no_part_of_the_name(tmp_path: Path) -> None:  # case a15
    evaluation = read(write(tmp_path / "one.csv", ONE, "utf-8-sig"))
    assert (evaluation.n_labeled, evaluation.n_unlabeled) == (5, 1)  # case a15
    assert evaluation.counts == Counts(2, 1, 0, 2, 1, 0)


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:  # case a15
    path = write(tmp_path / "two.csv", TWO, "utf-8-sig")
    end = "has 2 columns named 'label'; rename them, so that it is clear which one is meant."
    assert sentence(path) == f"{path} {end}"
    frame = pd.DataFrame([[1, 0.9, 1], [0, 0.8, 1]], columns=["label", "score", "label"])
    assert sentence(frame) == f"The DataFrame {end}"
    table = pa.table([[1, 0], [0.9, 0.8], [1, 1]], names=["label", "score", "label"])
    pa.parquet.write_table(table, tmp_path / "two.parquet")
    assert sentence(tmp_path / "two.parquet").endswith(end)
    # Nobody needs the second one here.
    assert read(frame.set_axis(["label", "score", "score2"], axis=1)).n == 2


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_a_wrong_name_lists_those_that_are_there(tmp_path: Path, kind: str) -> None:  # case a15
    frame = pd.DataFrame({"label": [1, 0], "score": [0.9, 0.1]})
    source: Any = frame if kind == "frame" else tmp_path / f"x.{kind}"
    if kind == "csv":
        frame.to_csv(source, index=False)
    elif kind == "parquet":
        frame.to_parquet(source)
    assert sentence(source, y_true="labl").endswith("no column 'labl'; it has 'label' and 'score'.")


def garbage() -> bytes:
    return np.random.default_rng(0).bytes(5000)


FILES: list[tuple[str, bytes, str]] = [
    ("empty.csv", b"", "is empty; it must hold a header and at least one row."),
    ("blank.csv", b"\n \n", "is empty; it must hold a header and at least one row."),
    ("header.csv", b"label,score\n", "holds a header but no rows; an evaluation needs at least"),
    ("garbage.csv", garbage(), "is no table of text; pass a CSV or Parquet file."),
    ("garbage.csv.gz", b"\x1f\x8b" + garbage(), "is no readable gzip file: "),
    ("cut.csv.gz", gzip.compress(ONE.encode())[:-12], "is no readable gzip file: "),
    ("garbage.parquet", b"PAR1" + garbage(), "is no readable Parquet file: "),
    ("wide.csv", ONE.encode("utf-16"), "is encoded as UTF-16; save it as UTF-8."),
    ("latin.csv", "label,score\nné,0.5\n".encode("latin-1"), "is not encoded as UTF-8; save it"),
    (
        "short.csv",
        b"label,score\n1,0.5\n0\n",
        "is no table: row 2 (the header not counted) has 1 where",
    ),
]


@pytest.mark.parametrize(("name", "content", "start"), FILES, ids=[file[0] for file in FILES])
def test_what_is_no_table_is_refused(tmp_path: Path, name: str, content: bytes, start: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert sentence(tmp_path / name).startswith(f"{tmp_path / name} {start}")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert "is a directory; pass the path of one" in sentence(tmp_path)
    assert "does not exist" in sentence(tmp_path / "no.csv", kind=FileNotFoundError)
    pd.DataFrame({"label": [], "score": []}).to_parquet(tmp_path / "none.parquet")
    assert "no rows" in sentence(tmp_path / "none.parquet")
    assert "no rows" in sentence(pd.DataFrame({"label": [], "score": []}))


def test_a_large_text_that_is_damaged_late_is_refused(tmp_path: Path) -> None:
    text = "label,score\n" + "1,0.5\n" * 400_000
    packed = gzip.compress(text.encode(), compresslevel=1)
    (tmp_path / "cut.csv.gz").write_bytes(packed[:-50])
    assert "cut.csv.gz is no table of text: " in sentence(tmp_path / "cut.csv.gz")
    (tmp_path / "whole.csv.gz").write_bytes(packed)
    assert read(tmp_path / "whole.csv.gz").counts.tp == 400_000


@pytest.mark.parametrize("labels", [["0", "1"], ["0.0", "1.0"], ["False", "TRUE"]])
def test_text_labels_become_numbers(tmp_path: Path, labels: list[str]) -> None:
    path = write(tmp_path / "a.csv", rows([*labels, "", " "], [" 0.1", "0.9 ", "0.7", "0.2"]))
    np.testing.assert_array_equal(read(path).y_true, [0, 1, np.nan, np.nan])


def test_sentinels_and_positive_labels_of_a_command_line_match(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", rows(["-1", "1", "0"], ["0.1", "0.9", "0.7"]))
    frame = pd.DataFrame({"label": [-1.0, 1, 0], "score": [0.1, 0.9, 0.7]})
    for source in (path, frame):
        for missing in ("-1", -1, (-1.0,)):
            assert read(source, missing=missing, pos_label="1").counts == Counts(1, 1, 0, 0, 0, 1)
    assert "`missing=-1`" in sentence(path)


def test_spellings_of_a_missing_value_are_read_as_missing_and_said(tmp_path: Path) -> None:
    labels = ["1", "0", "NA", "NaN", "NA", "<NA>", "null"]
    path = write(tmp_path / "a.csv", rows(labels, ["0.1"] * 6 + ["0.6"]))
    evaluation = read(path)
    assert evaluation.n_labeled == 2
    assert evaluation.notes == (
        (
            f"{path}, column 'label': cells that say 'NA' (2), 'NaN' (1), '<NA>' (1), "
            "'null' (1) were read as missing."
        ),
    )
    # A word that can be a class is a class until it is declared.
    word = write(tmp_path / "b.csv", rows(["None", "severe"], ["0.1", "0.9"]))
    assert "holds 'None' and 'severe'" in sentence(word)
    assert read(word, pos_label="severe").n_labeled == 2
    assert read(word, pos_label="severe", missing="None").n_labeled == 1


def test_groups_and_counts_are_read(tmp_path: Path) -> None:
    text = 'label,score,site,n\n1,0.9,NA,3\n0,0.1,,1\n,0.7,"a,\nb",2\n0,0.2,9007199254740993,1\n'
    path = write(tmp_path / "a.csv", text)
    options = {"group": "site", "count": "n"}
    evaluation = read(path, **options)
    assert evaluation.counts == Counts(3, 0, 0, 2, 2, 0)
    # NA may be a name (Namibia, North America), unlike a blank.
    assert evaluation.group is not None
    assert evaluation.group.tolist() == ["NA", "(missing)", "a,\nb", "9007199254740993"]
    for cell in ("1.000", "1,000", "2.5", "-1", "1e3"):
        bad = write(tmp_path / "b.csv", f'label,score,site,n\n1,0.9,a,"{cell}"\n')
        assert sentence(bad, **options) == (
            f"{bad}, column 'n' must hold numbers; got '{cell}' in row 1: a multiplicity is "
            "written with digits alone. Write it as a plain number with a decimal point."
        )
    zero = write(tmp_path / "b.csv", "label,score,site,n\n1,0.9,a,0\n")
    assert f"{zero}: `count` must hold whole numbers of at least 1; got 0" in sentence(
        zero, **options
    )


def test_a_missing_score_is_refused_with_its_row(tmp_path: Path) -> None:
    for cell in ("", " ", "NA"):
        path = write(tmp_path / "a.csv", rows(["1", "0", "1"], ["0.9", cell, cell]))
        assert sentence(path) == (
            f"{path}, column 'score' must hold a number in every row; row 2 is missing (2 in "
            "all). Fill those rows or drop them."
        )
    frame = pd.DataFrame({"label": [1, 0], "score": [0.9, None]})
    assert sentence(frame).startswith(
        "The DataFrame: `y_score` must be finite; got nan at position 1 (1 nan or"
    )


@pytest.mark.parametrize("cell", ["1,234", "1 234.5", "12'000", "high", "inf", "50%"])
def test_a_cell_that_is_no_plain_number_is_refused(tmp_path: Path, cell: str) -> None:
    path = write(tmp_path / "a.csv", rows(["1", "0"], ["0.9", f'"{cell}"']))
    refused = sentence(path)
    assert refused.startswith(f"{path}, column 'score' must hold numbers; got {cell!r} in row 2: ")


def test_large_integers_stay_exact(tmp_path: Path) -> None:  # requirement 44
    big = 2**53
    frame = pd.DataFrame(
        {
            "label": pd.array([big, big + 1, None, big + 2], dtype="Int64"),
            "score": [0.1, 0.9, 0.8, 0.7],
            "site": pd.array([big, big + 1, None, big + 2], dtype="Int64"),
        }
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    for source in (frame, tmp_path / "a.csv", tmp_path / "a.parquet"):
        evaluation = read(source, pos_label=big + 1, missing=str(big + 2), group="site")
        np.testing.assert_array_equal(evaluation.y_true, [0, 1, np.nan, np.nan])
        assert evaluation.group is not None
        assert evaluation.group.tolist() == [str(big), str(big + 1), "(missing)", str(big + 2)]


def test_decisions_are_read_in_the_labels_of_y_true(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "label,call\nspam,spam\nham,spam\n,ham\n")
    options = {"y_true": "label", "y_pred": "call", "pos_label": "spam"}
    assert read_evaluation(path, **options).counts == Counts(1, 1, 0, 0, 0, 1)
    gap = write(tmp_path / "b.csv", "label,call\nspam,\nham,spam\n")
    with pytest.raises(ValueError, match=r"b\.csv: `y_pred` must be complete; .*decide them\.$"):
        read_evaluation(gap, **options)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet", "frame"])
def test_every_kind_of_source_gives_the_same(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "outcome": rng.choice(np.array(["bad", "good", None], dtype=object), 300),
            "score": rng.normal(size=300),
            "site": rng.choice(np.array(["x", "y", None], dtype=object), 300),
            "n": rng.integers(1, 5, 300),
        }
    )
    source: Any = frame if kind == "frame" else str(tmp_path / f"a.{kind}")
    if kind == "parquet":
        frame.to_parquet(source)
    elif kind != "frame":
        frame.to_csv(source, index=False, sep="\t" if kind == "tsv" else ",")
    evaluation = read_evaluation(
        source,
        y_true="outcome",
        y_score="score",
        threshold=0.25,
        pos_label="bad",
        group="site",
        count="n",
    )
    wanted = EvaluationSet(
        frame["outcome"],
        frame["score"],
        threshold=0.25,
        pos_label="bad",
        group=frame["site"],
        count=frame["n"],
    )
    for name in ("y_true", "y_score", "y_pred", "group", "count"):
        np.testing.assert_array_equal(getattr(evaluation, name), getattr(wanted, name))
    assert evaluation.notes == wanted.notes
    assert 0 < evaluation.n_unlabeled < evaluation.n


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_a_file_name_need_not_be_utf8(tmp_path: Path, kind: str) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9." + kind.encode()))
    try:
        path.touch()
    except OSError:
        pytest.skip("this file system takes no such name")
    table = pd.DataFrame({"y": ["1", "0", "NA"], "score": ["0.9", "0.2", "0.5"]})
    with path.open("wb") as file:
        if kind == "parquet":
            table.to_parquet(file)
        else:
            text = table.to_csv(index=False).encode()
            file.write(gzip.compress(text) if kind == "csv.gz" else text)
    missing = "NA" if kind == "parquet" else None
    evaluation = read_evaluation(path, y_true="y", y_score="score", missing=missing)
    assert evaluation.n_labeled == 2
    assert all(note.encode() for note in evaluation.notes)
