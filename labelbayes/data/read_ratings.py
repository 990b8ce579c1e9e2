"""read_ratings: a DataFrame, CSV, Parquet or JSON lines -> Ratings."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pandas as pd

from labelbayes.data.frames import not_a_frame
from labelbayes.data.ratings import Ratings
from labelbayes.data.read import MISSING_SPELLINGS
from labelbayes.data.tables import check_names, read_table

_JSON_LINES = (".jsonl", ".ndjson")


def read_ratings(
    source: pd.DataFrame | str | os.PathLike[str],
    *,
    item: str = "item",
    rater: str = "rater",
    answer: str = "answer",
    rater_group: str | None = None,
    options: object = None,
) -> Ratings:
    """Read ratings from named columns of a table with a row per rating.

    Parameters
    ----------
    source : DataFrame or path
        A DataFrame, or the path of a CSV (``.csv``, ``.tsv``), a Parquet file, or JSON lines
        (``.jsonl``, ``.ndjson``): one object per line.
    item, rater : str, default "item" and "rater"
        Columns that name the item and who rated it: a person, a model, or a model and its run.
    answer : str, default "answer"
        Column of the answers. One option is written as it is. A response set is a list in JSON
        and Parquet, ``{A|B}`` in text, and ``{A}`` where one option is valid. Nothing is an empty
        cell, ``null`` or one of ``NA``, ``nan`` and their like; a verdict that could not be read
        is ``unparseable``, one that never came is ``errored``.
    rater_group : str, optional
        Column of the raters' groups, such as "crowd" and "expert".
    options : sequence, optional
        What could be chosen; None stands for all options that occur.

    Returns
    -------
    Ratings
        Unparseable, errored and scored are counted apart.

    Raises
    ------
    TypeError
        If `source` is neither a DataFrame nor a path.
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is no table, a column is missing, or an answer is none of the above.

    See Also
    --------
    Ratings.from_wide : A table with a column per rater.

    Notes
    -----
    Beside the notebook 07_task_indeterminacy stands an example, ``results/ratings.jsonl``.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {
    ...         "question": [1, 1, 2],
    ...         "who": ["ann", "bob", "ann"],
    ...         "said": ["yes", "{yes|no}", "errored"],
    ...     }
    ... )
    >>> read_ratings(table, item="question", rater="who", answer="said")
    Ratings(2 items, 2 raters, 2 options; 2 scored, 0 unparseable, 1 errored, 0 missing)
    """
    names = [item, rater, answer] + ([] if rater_group is None else [rater_group])
    is_text = False
    if isinstance(source, pd.DataFrame):
        where, frame = "The DataFrame", source
        check_names(where, list(source.columns), names)
    elif isinstance(source, (str, os.PathLike)):
        path = Path(source)
        where = os.fsencode(path).decode(errors="replace")
        if path.suffix.lower() in _JSON_LINES:
            frame = _read_json_lines(path, where, names)
        else:
            frame, is_text = read_table(path, dict.fromkeys(names))
    else:
        raise not_a_frame(
            "source", "a pandas DataFrame or the path of a CSV, Parquet or JSON-lines file", source
        )
    spellings = ("", *MISSING_SPELLINGS) if is_text else ()
    columns = {name: [None if _is_in(c, spellings) else c for c in frame[name]] for name in names}
    try:
        return Ratings(
            columns[item],
            columns[rater],
            [_read_set(cell) for cell in columns[answer]],
            options=options,
            rater_group=None if rater_group is None else columns[rater_group],
        )
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _is_in(cell: object, spellings: tuple[str, ...]) -> bool:
    return isinstance(cell, str) and cell in spellings


def _read_set(cell: Any) -> Any:
    """Return a list for text such as ``{A|B}``, anything else as it is."""
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return cell
    return [option.strip() for option in text[1:-1].split("|")] if text[1:-1].strip() else []


def _read_json_lines(path: Path, where: str, names: list[str]) -> pd.DataFrame:
    if not path.exists():
        raise FileNotFoundError(f"{where} does not exist; pass the path of a JSON-lines file.")
    rows = []
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{where} is not encoded as UTF-8; save it as UTF-8.") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{where}, line {number}, is no JSON: {error.msg}.") from error
        if not isinstance(row, dict):
            raise ValueError(
                f"{where}, line {number}, must be an object such as "
                f'{{"item": 1, "rater": "ann", "answer": "yes"}}; got {type(row).__name__}.'
            )
        rows.append(row)
    present = list(dict.fromkeys(key for row in rows for key in row))
    if not rows:
        raise ValueError(f"{where} has no rows; ratings need at least one.")
    check_names(where, present, names)
    # As objects: a column of numbers with a gap must not become floats.
    columns = {name: pd.Series([row.get(name) for row in rows], dtype=object) for name in names}
    return pd.DataFrame(columns)
