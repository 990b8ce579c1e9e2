"""Errors from a text file say the line beside the position, which begins at 0."""

import gzip
from pathlib import Path

import pandas as pd
import pytest

from labelbayes.data.read import read_evaluation

#: The fourth row of data, position 3, begins on line 8: an empty line, and a cell of two lines.
TEXT = 'label,decision,about\n\n1,1,a\n0,0,"two\nlines"\n\n1,1,z\n0,,c\n1,,d\n'


def _refused(source: Path | pd.DataFrame) -> str:
    with pytest.raises(ValueError, match="must be complete") as raised:
        read_evaluation(source, y_true="label", y_pred="decision")
    return str(raised.value)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv", "crlf.csv", "latin.csv"])
def test_the_line_of_a_row_is_said(tmp_path: Path, name: str) -> None:
    text = TEXT.replace(",", "\t") if name == "a.tsv" else TEXT
    text = text.replace("\n", "\r\n") if name == "crlf.csv" else text
    # A column that nobody asked for may hold anything.
    content = text.replace("z", "\u00e9").encode("latin-1" if name == "latin.csv" else "utf-8")
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert "missing at position 3 (line 8 of the file) (2 in all)" in _refused(path)
    assert text.replace("\r", "").split("\n")[8 - 1].startswith("0")


def test_there_is_no_line_in_what_is_no_text(tmp_path: Path) -> None:
    frame = pd.DataFrame({"label": [1, 0], "decision": [1, None]})
    frame.to_parquet(tmp_path / "a.parquet")
    for source in (frame, tmp_path / "a.parquet"):
        assert "missing at position 1 (1 in all)" in _refused(source)


def test_a_cell_that_is_too_long_costs_the_line_and_not_the_sentence(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text(f"label,decision,about\n1,1,{'x' * 200_000}\n0,,\n")
    assert "missing at position 1 (1 in all)" in _refused(path)
