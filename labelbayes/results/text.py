"""Numbers and tables as plain text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: What stands in a table where a result says nothing of a metric.
NOT_GIVEN = "-"
#: Metrics side by side in a terminal.
MOST_COLUMNS = 4


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


def metric_cells(records: Mapping[str, Mapping[str, Any]], metrics: Sequence[str]) -> list[str]:
    """Return a result as cells of a row, one a metric.

    Parameters
    ----------
    records : mapping of str to mapping
        ``Estimates.records``, or those of bounds.
    metrics : sequence of str
        Names of the columns.

    Returns
    -------
    list of str
        Mean and interval of each, a dash where the result does not speak of it.
    """
    return [estimate_text(records[m]) if m in records else NOT_GIVEN for m in metrics]


def on_two_lines(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    r"""Return rows of cells with the interval of each cell on a line of its own, for a notebook.

    Parameters
    ----------
    rows : iterable of sequence of str
        Cells such as those of `metric_cells`.

    Returns
    -------
    list of list of str
        The same, with line breaks.

    Examples
    --------
    >>> on_two_lines([["prevalence", "0.500 [0.250, 0.750]"]])
    [['prevalence', '0.500\n[0.250, 0.750]']]
    """
    return [[cell.replace(" [", "\n[") for cell in row] for row in rows]


def metric_blocks(n_metrics: int) -> list[slice]:
    """Return which metrics stand side by side in a terminal, block after block.

    Parameters
    ----------
    n_metrics : int
        How many there are.

    Returns
    -------
    list of slice
        Blocks of nearly equal size, at most four metrics each.

    Examples
    --------
    >>> metric_blocks(6)
    [slice(0, 3, None), slice(3, 6, None)]
    """
    n_blocks = math.ceil(n_metrics / MOST_COLUMNS)
    size = math.ceil(n_metrics / n_blocks)
    return [slice(start, start + size) for start in range(0, n_metrics, size)]


def short_name(name: str, width: int) -> str:
    r"""Return a name on one line, cut where it would put a table of text out of shape.

    Parameters
    ----------
    name : str
        Any text.
    width : int
        Characters at most.

    Returns
    -------
    str
        The name, or its beginning and three dots.

    Examples
    --------
    >>> short_name("north", 12), short_name("north\nand south", 12)
    ('north', 'north an ...')
    """
    line = " ".join(name.split())
    return line if len(line) <= width else f"{line[: width - 4]} ..."


def after_names(said: Iterable[tuple[str, str]]) -> list[str]:
    """Return each sentence once, after the names of all that say it.

    Parameters
    ----------
    said : iterable of tuple of str
        Who says it (a rung, a group), and the sentence.

    Returns
    -------
    list of str
        In the order in which the sentences came.

    Examples
    --------
    >>> after_names([("a", "No label."), ("b", "Few labels."), ("c", "No label.")])
    ['a, c: No label.', 'b: Few labels.']
    """
    names: dict[str, dict[str, None]] = {}
    for name, sentence in said:
        names.setdefault(sentence, {})[name] = None
    return [f"{', '.join(group)}: {sentence}" for sentence, group in names.items()]


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
