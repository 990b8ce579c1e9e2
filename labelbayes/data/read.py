"""read_evaluation: a DataFrame, CSV or Parquet file -> EvaluationSet."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from labelbayes._checks import BoolArray, FloatArray
from labelbayes.data.cells import BadCell, read_numbers
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.frames import not_a_frame
from labelbayes.data.tables import check_names, line_of_row, read_table

#: What pandas, R and databases write for a missing value; read as missing in text files, with a
#: note. Words ("None", "unknown", "pending") are missing only when they are declared.
MISSING_SPELLINGS = ("NA", "<NA>", "NaN", "nan", "NULL", "null")


def read_evaluation(
    source: pd.DataFrame | str | os.PathLike[str],
    *,
    y_true: str,
    y_score: str | None = None,
    y_pred: str | None = None,
    threshold: float = 0.5,
    pos_label: object = None,
    missing: object = None,
    group: str | None = None,
    count: str | None = None,
) -> EvaluationSet:
    """Read an evaluation set from named columns of a table.

    Parameters
    ----------
    source : DataFrame or path
        A DataFrame, or the path of a CSV (``.csv``; tab-separated with ``.tsv``), a gzipped CSV,
        or a Parquet file. Text is UTF-8; a byte order mark is no part of the first name.
    y_true : str
        Column of the labels. In a text file an empty cell is missing, never 0, and so are
        `MISSING_SPELLINGS` such as ``NA`` (with a note).
    y_score : str, optional
        Column of the scores.
    y_pred : str, optional
        Column of the decisions, in the labels of `y_true`.
    threshold : float, default 0.5
        In the units of the score as read.
    pos_label : scalar, optional
        The positive label; ``"1"`` and 1 are the same.
    missing : scalar or collection, optional
        Further labels that say "missing", such as ``"pending"``; ``"-1"`` and -1 are the same.
    group : str, optional
        Column of the groups; an empty cell is the group ``"(missing)"``.
    count : str, optional
        Column of the multiplicities.

    Returns
    -------
    EvaluationSet
        Its `notes` say how the columns were read where that is not plain.

    Raises
    ------
    TypeError
        If `source` is neither a DataFrame nor a path, or `y_true` is None.
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is no table or has no rows, a column is missing or there twice, or a cell
        cannot be read; names file, column, row (the first row of data is row 1) and cell, or
        the position and the line of a text file.

    See Also
    --------
    EvaluationSet : The same from arrays, with every rule for labels.

    Notes
    -----
    Scores with a percent sign in every cell are read as hundredths, and commas that can only be
    decimal commas as such; thousands marks and mixed columns are refused.

    Examples
    --------
    >>> loans = pd.DataFrame({"outcome": ["default", None, "paid"], "score": [0.8, 0.7, 0.2]})
    >>> evaluation = read_evaluation(
    ...     loans, y_true="outcome", y_score="score", pos_label="default"
    ... )
    >>> evaluation.n_labeled
    2
    """
    if y_true is None:
        raise TypeError("`y_true` must be the name of the column of labels; got None.")
    wanted = {"y_true": y_true, "y_score": y_score, "y_pred": y_pred}
    wanted |= {"group": group, "count": count}
    names = {role: name for role, name in wanted.items() if name is not None}
    text_file: Path | None = None
    if isinstance(source, pd.DataFrame):
        where = "The DataFrame"
        check_names(where, list(source.columns), names.values())
        frame = source
    elif isinstance(source, (str, os.PathLike)):
        # Bytes of a name that are no UTF-8 would break every print of a note.
        where = os.fsencode(source).decode(errors="replace")
        path = Path(source)
        frame, is_text = read_table(path, dict.fromkeys(names.values()))
        if is_text:
            text_file = path
    else:
        raise not_a_frame(
            "source", "a pandas DataFrame or the path of a CSV or Parquet file", source
        )
    columns: dict[str, Any] = {}
    notes: list[str] = []
    for role, name in names.items():
        series = frame[name]
        place = f"{where}, column {name!r}"
        if role in ("y_score", "count") and _holds_text(series):
            columns[role], how = _numbers(place, series, is_whole=role == "count")
            notes += [f"{place}: {how}."] if how else []
        elif text_file is not None and _holds_text(series):
            spellings = ("",) if role == "group" else ("", *MISSING_SPELLINGS)
            columns[role], how = _words(series, spellings)
            notes += [f"{place}: {how}."] if how else []
        else:
            columns[role] = series
    try:
        evaluation = EvaluationSet(
            **columns,
            threshold=threshold,
            pos_label=pos_label,
            missing=missing,
        )
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        said = str(error) if text_file is None else _with_lines(str(error), text_file)
        raise kind(f"{where}: {said}") from error
    return evaluation.with_notes(tuple(notes))


def _with_lines(sentence: str, path: Path) -> str:
    """Return a sentence about positions, which begin at 0, with the lines of the file."""

    def with_line(match: re.Match[str]) -> str:
        line = line_of_row(path, int(match[1]))
        return match[0] if line is None else f"{match[0]} (line {line:,} of the file)"

    return re.sub(r"\bat position (\d+)", with_line, sentence)


def _holds_text(series: pd.Series) -> bool:
    return pd.api.types.infer_dtype(series, skipna=True) in ("string", "mixed", "mixed-integer")


def _words(series: pd.Series, spellings: tuple[str, ...]) -> tuple[pd.Categorical, str]:
    """Return text with some spellings made missing, and how many cells that concerned."""
    codes, uniques = pd.factorize(series)
    is_spelling = [cell in spellings for cell in uniques]
    found = np.bincount(codes[codes >= 0], minlength=len(uniques))
    kept = [cell for cell, gone in zip(uniques, is_spelling, strict=True) if not gone]
    lookup = np.append(np.where(is_spelling, -1, np.cumsum(~np.array(is_spelling, bool)) - 1), -1)
    said = [f"{cell!r} ({found[k]:,})" for k, cell in enumerate(uniques) if is_spelling[k] and cell]
    how = f"cells that say {', '.join(said)} were read as missing" if said else ""
    return pd.Categorical.from_codes(lookup[codes], pd.Index(kept, dtype=object)), how


def _numbers(place: str, series: pd.Series, *, is_whole: bool) -> tuple[FloatArray, str]:
    """Return numbers written as text, and how they were read."""
    text = series.astype("str").str.strip()
    is_spelled = text.isin(["", *MISSING_SPELLINGS]).to_numpy(dtype=bool)
    is_absent: BoolArray = series.isna().to_numpy(dtype=bool) | is_spelled
    if is_absent.any():
        raise ValueError(
            f"{place} must hold a number in every row; row {int(np.argmax(is_absent)) + 1} is "
            f"missing ({int(is_absent.sum())} in all). Fill those rows or drop them."
        )
    try:
        if is_whole:
            _check_whole_text(text)
        return read_numbers(text)
    except BadCell as bad:
        raise ValueError(
            f"{place} must hold numbers; got {bad.cell!r} in row {bad.position + 1}: {bad.reason}. "
            f"{bad.remedy}"
        ) from bad


def _check_whole_text(text: pd.Series) -> None:
    is_bad = ~text.str.fullmatch(r"\d+(\.0)?").to_numpy(dtype=bool)
    if is_bad.any():
        where = int(np.argmax(is_bad))
        raise BadCell(where, text.iloc[where], "a multiplicity is written with digits alone")
