"""Numbers and tables as plain text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def kind_text(ci_prob: float, ci_kind: str, statement: str) -> str:
    """Return an interval's probability and kind in words.

    Parameters
    ----------
    ci_prob : float
        Probability content, nan for none.
    ci_kind, statement : str
        Kind, and what it may be taken for.

    Returns
    -------
    str
        For a table cell.

    Examples
    --------
    >>> kind_text(0.95, "eti", "predictive"), kind_text(float("nan"), "bounds", "bounds")
    ('95% predictive (eti)', 'bounds')
    """
    share = "" if math.isnan(ci_prob) else f"{100 * ci_prob:g}% "
    return f"{share}{statement}" if ci_kind == statement else f"{share}{statement} ({ci_kind})"


def estimate_text(row: Mapping[str, Any]) -> str:
    """Return one metric's mean and interval for a table cell.

    Parameters
    ----------
    row : mapping
        A row of ``Estimates.records``.

    Returns
    -------
    str
        Mean and ends, ends alone for bounds, or "undefined".
    """
    if math.isnan(row["low"]):
        return "undefined"
    ends = f"[{row['low']:.3f}, {row['high']:.3f}]"
    return ends if math.isnan(row["mean"]) else f"{row['mean']:.3f} {ends}"


def join_methods(methods: Mapping[str, str]) -> str:
    """Return how several metrics were computed, each way once.

    Parameters
    ----------
    methods : mapping of str to str
        Method in words, by metric.

    Returns
    -------
    str
        The method where there is one; else each with the metrics that it is of.

    Examples
    --------
    >>> join_methods({"f1": "exact law", "recall": "exact law"})
    'exact law'
    >>> join_methods({"f1": "exact law", "recall": "exact law", "roc_auc": "50 draws"})
    'exact law of f1, recall; 50 draws of roc_auc'
    """
    names: dict[str, list[str]] = {}
    for metric, words in methods.items():
        names.setdefault(words, []).append(metric)
    if len(names) == 1:
        return next(iter(names))
    return "; ".join(f"{words} of {', '.join(group)}" for words, group in names.items())


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table for a terminal.

    Parameters
    ----------
    columns : sequence of str, length k
        Headings.
    rows : sequence of sequence of str, each of length k
        Cells.

    Returns
    -------
    str
        Lines of equal columns, a rule below the headings.

    Examples
    --------
    >>> print(text_table(["rung", "recall"], [["worst case", "[0.5, 1.0]"]]))
    rung        recall
    ----------------------
    worst case  [0.5, 1.0]
    """
    table = [columns, *rows]
    widths = [max(len(row[k]) for row in table) for k in range(len(columns))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])
