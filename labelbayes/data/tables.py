"""Files -> columns: CSV as text, Parquet with its types, and a sentence where a file is neither."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from labelbayes._checks import listed

# Bytes read to find the header, and per block after it.
_HEAD_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 24

_NOT_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f]")


def read_table(path: Path, names: Collection[str]) -> tuple[pd.DataFrame, bool]:
    """Read some columns of a file.

    Parameters
    ----------
    path : Path
        CSV (``.csv``), tab-separated (``.tsv``, ``.tab``), either one gzipped, or Parquet (known
        by its first bytes).
    names : collection of str
        Columns to read.

    Returns
    -------
    frame : DataFrame
        Columns of a CSV hold the cells as text, without blanks around them; Parquet columns
        keep their types, so that large integers stay exact.
    is_text : bool
        Whether the cells are text and an empty one says nothing.

    Raises
    ------
    ValueError
        If the file is no table, has no rows, or lacks a column.
    FileNotFoundError
        If there is no such file.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a directory; pass the path of one CSV or Parquet file.")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; pass the path of a CSV or Parquet file.")
    with path.open("rb") as file:
        magic = file.read(4)
    is_text = magic != b"PAR1"
    frame = _read_text(path, names, magic) if is_text else _read_parquet(path, names)
    if len(frame) == 0:
        raise ValueError(f"{path} holds a header but no rows; an evaluation needs at least one.")
    return frame, is_text


def check_names(
    source: str, present: Sequence[object], names: Collection[object], *, remedy: str = ""
) -> None:
    """Raise unless every wanted column is there exactly once.

    Parameters
    ----------
    source : str
        What holds the columns, for the sentence.
    present : sequence
        Names that are there.
    names : collection
        Names that are wanted.
    remedy : str, default ""
        A further sentence for a missing name.

    Raises
    ------
    ValueError
        If a name is missing or stands there twice.
    """
    for name in names:
        found = list(present).count(name)
        if found == 0:
            short = [name[:60] if isinstance(name, str) else name for name in present]
            there = listed(short, limit=20) if short else "no columns"
            tail = f" {remedy}" if remedy else ""
            raise ValueError(f"{source} has no column {name!r}; it has {there}.{tail}")
        if found > 1:
            raise ValueError(
                f"{source} has {found} columns named {name!r}; rename them, so that it is clear "
                "which one is meant."
            )


def _read_parquet(path: Path, names: Collection[str]) -> pd.DataFrame:
    try:
        # Opened here: Arrow takes no file name that is not UTF-8.
        with path.open("rb") as opened, pa_parquet.ParquetFile(opened) as file:
            check_names(str(path), file.schema_arrow.names, names)
            table = file.read(columns=list(names))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is no readable Parquet file: {_first_line(error)}.") from error
    return table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)


def _read_text(path: Path, names: Collection[str], magic: bytes) -> pd.DataFrame:
    is_gzip = _is_gzip(magic)
    head = _head(path, is_gzip)
    separator = _separator(path)
    reader = csv.reader(io.StringIO(head, newline=""), delimiter=separator)
    try:
        header = next((row for row in reader if row), [])
    except csv.Error as error:
        raise ValueError(f"{path} is no table of text: {error}.") from error
    header = [name.strip() for name in header]
    check_names(str(path), header, names, remedy=_separator_remedy(header, separator))
    # Arrow cannot tell two columns of one name apart, so that it gets their places as names.
    places = [str(header.index(name)) for name in names]
    try:
        with (
            path.open("rb") as opened,
            pa.input_stream(opened, compression="gzip" if is_gzip else None) as stream,
        ):
            table = pa_csv.read_csv(
                stream,
                read_options=pa_csv.ReadOptions(
                    column_names=[str(place) for place in range(len(header))],
                    skip_rows=reader.line_num,
                    block_size=_BLOCK_BYTES,
                ),
                parse_options=pa_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                convert_options=pa_csv.ConvertOptions(
                    include_columns=list(dict.fromkeys(places)),
                    column_types={place: pa.string() for place in places},
                    strings_can_be_null=False,
                ),
            )
    except (pa.ArrowException, OSError) as error:
        raise ValueError(_broken(path, separator, is_gzip, len(header), error)) from error
    frame = table.to_pandas(types_mapper={pa.string(): pd.ArrowDtype(pa.string())}.get)
    frame.columns = pd.Index([header[int(place)] for place in frame.columns])
    return frame.apply(lambda column: column.str.strip())


def line_of_row(path: Path, row: int) -> int | None:
    """Return the line of a text file on which a row of data begins.

    Parameters
    ----------
    path : Path
        A file that `read_table` has read as text.
    row : int >= 0
        Place of the row; empty lines are no rows, and a quoted cell may fill several lines.

    Returns
    -------
    int or None
        The line, from 1 on; None where a cell is longer than the standard library reads.
    """
    with path.open("rb") as file:
        is_gzip = _is_gzip(file.read(4))
    with _open_text(path, is_gzip, errors="replace") as text:
        starts = _starts_of_rows(text, _separator(path))
        try:
            return next(islice(starts, 1 + row, None))  # the first is the header's
        except csv.Error:
            return None


def _starts_of_rows(text: IO[str], separator: str) -> Iterator[int]:
    reader, start = csv.reader(text, delimiter=separator), 1
    for cells in reader:
        if cells:
            yield start
        start = reader.line_num + 1


def _open_text(path: Path, is_gzip: bool, *, errors: str) -> IO[str]:
    if is_gzip:
        return gzip.open(path, "rt", encoding="utf-8-sig", errors=errors, newline="")
    return path.open(encoding="utf-8-sig", errors=errors, newline="")


def _is_gzip(magic: bytes) -> bool:
    return magic.startswith(b"\x1f\x8b")


def _separator(path: Path) -> str:
    suffixes = {suffix.lower() for suffix in path.suffixes}
    return "\t" if {".tsv", ".tab"} & suffixes else ","


def _head(path: Path, is_gzip: bool) -> str:
    try:
        with gzip.open(path) if is_gzip else path.open("rb") as file:
            start = file.read(_HEAD_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is no readable gzip file: {_first_line(error)}.") from error
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"{path} is encoded as UTF-16; save it as UTF-8.")
    # Other columns may hold anything; names that are wanted and damaged are reported as absent.
    head = start.decode("utf-8-sig", errors="replace")
    if not head.strip():
        raise ValueError(f"{path} is empty; it must hold a header and at least one row.")
    if _NOT_TEXT.search(head):
        raise ValueError(f"{path} is no table of text; pass a CSV or Parquet file.")
    return head


def _separator_remedy(header: list[str], separator: str) -> str:
    if len(header) != 1:
        return ""
    for other, name, remedy in (
        (";", "a semicolon", "save it with commas"),
        ("\t", "a tab", "name it .tsv"),
        ("|", "a bar", "save it with commas"),
        (",", "a comma", "name it .csv"),
    ):
        if other != separator and other in header[0]:
            return (
                f"Its separator is probably {name}: {remedy}, or pass "
                f"`pandas.read_csv(path, sep={other!r}, dtype=str)` instead of the path."
            )
    return ""


def _broken(path: Path, separator: str, is_gzip: bool, width: int, error: Exception) -> str:
    """Say where a text file stops being a table; Arrow gives no row when it reads in parallel."""
    try:
        with _open_text(path, is_gzip, errors="strict") as file:
            rows = (row for row in csv.reader(file, delimiter=separator) if row)
            for number, row in enumerate(rows):
                if len(row) != width:
                    return (
                        f"{path} is no table: row {number} (the header not counted) has "
                        f"{len(row)} where the header has {width} cells; quote cells that hold "
                        f"{separator!r}."
                    )
    except UnicodeDecodeError:
        return f"{path} is not encoded as UTF-8; save it as UTF-8."
    except (OSError, EOFError, zlib.error, csv.Error) as broken:
        return f"{path} is no table of text: {_first_line(broken)}."
    return f"{path} is no table of text: {_first_line(error)}."


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
