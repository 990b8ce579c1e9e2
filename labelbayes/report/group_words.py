"""The words of the groups of a report: rows of tables, sentences, and both as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from labelbayes._checks import listed
from labelbayes._html import table_html
from labelbayes.report.groups import GroupReport
from labelbayes.results.estimates import Bounds, Estimates
from labelbayes.results.ladder import MOST_COLUMNS, NOT_GIVEN
from labelbayes.results.text import estimate_text, kind_text, text_table

#: Names of groups that a sentence writes out, and characters of one in a terminal's table.
_MOST_NAMES = 20
_NAME_WIDTH = 36


def group_rows(groups: GroupReport) -> list[tuple[str, str, str, list[str], list[str]]]:
    """Return the groups as rows of text.

    Parameters
    ----------
    groups : GroupReport
        The groups.

    Returns
    -------
    list of tuple
        Name, rows, labels, a cell a metric with mean and interval, and one with the worst case.
    """
    rows = []
    for name, counts in groups.counts.items():
        own = _cells(groups.estimates.get(name), groups.metrics)
        worst = _cells(groups.bounds[name], groups.metrics)
        total = counts.n_labeled + counts.n_unlabeled
        rows.append((name, f"{total:,}", f"{counts.n_labeled:,}", own, worst))
    return rows


def difference_rows(groups: GroupReport) -> list[list[str]]:
    """Return the differences between groups as rows of text.

    Parameters
    ----------
    groups : GroupReport
        The groups.

    Returns
    -------
    list of list of str
        "first less second" and a cell a metric with mean and interval.
    """
    return [
        [f"{first} less {second}", *_cells(result, groups.metrics)]
        for (first, second), result in groups.differences.items()
    ]


def group_sentences(groups: GroupReport) -> list[str]:
    """Return what has to be said beside the numbers of the groups.

    Parameters
    ----------
    groups : GroupReport
        The groups.

    Returns
    -------
    list of str
        The belief first, then its notes, then which groups are not shown.
    """
    said = [f"By group, p is {groups.method}: {groups.assumption}."] if groups.method else []
    said += groups.notes
    if groups.not_shown:
        said.append(
            f"The {len(groups.counts)} largest groups are shown. Not shown: "
            f"{listed(groups.not_shown, limit=_MOST_NAMES)}."
        )
    return said


def group_caption(groups: GroupReport) -> str:
    """Return what the cells of the table of groups hold.

    Parameters
    ----------
    groups : GroupReport
        The groups.

    Returns
    -------
    str
        For a heading.
    """
    worst = _kind_of(next(iter(groups.bounds.values())).records())
    if not groups.estimates:
        return f"worst case ({worst})"
    own = _kind_of(next(iter(groups.estimates.values())).records())
    return f"mean and {own} interval, worst case ({worst}) below"


def groups_text(groups: GroupReport) -> str:
    """Return the groups for a terminal.

    Parameters
    ----------
    groups : GroupReport
        The groups.

    Returns
    -------
    str
        Lines; many metrics stand in blocks, one below the other.
    """
    n_blocks = math.ceil(len(groups.metrics) / MOST_COLUMNS)
    size = math.ceil(len(groups.metrics) / n_blocks)
    tables, gaps = [], []
    for start in range(0, len(groups.metrics), size):
        block = slice(start, start + size)
        names = groups.metrics[block]
        rows = []
        for name, total, labeled, own, worst in group_rows(groups):
            first = own if groups.estimates else worst
            rows.append([_short(name, _NAME_WIDTH), total, labeled, *first[block]])
            if groups.estimates:
                rows.append(["  worst case", "", "", *worst[block]])
        tables.append(text_table(["group", "rows", "labeled", *names], rows))
        compared = [
            [_short(pair, 2 * _NAME_WIDTH), *cells[block]]
            for pair, *cells in difference_rows(groups)
        ]
        gaps += [text_table(["difference", *names], compared)] if compared else []
    return "\n\n".join(
        [
            f"By group: {group_caption(groups)}\n{tables[0]}",
            *tables[1:],
            *gaps,
            "\n".join(group_sentences(groups)),
        ]
    )


def groups_html(groups: GroupReport) -> str:
    """Return the groups for a notebook cell.

    Parameters
    ----------
    groups : GroupReport
        The groups.

    Returns
    -------
    str
        HTML that survives JupyterLab's cleaning of saved notebooks.
    """
    rows = []
    for name, total, labeled, own, worst in group_rows(groups):
        cells = [
            "\n".join(part for part in (*mean.split(" ", 1), bounds) if part != NOT_GIVEN)
            for mean, bounds in zip(own, worst, strict=True)
        ]
        rows.append([name, total, labeled, *cells])
    table = table_html(
        ["group", "rows", "labeled", *groups.metrics],
        rows,
        caption=f"By group: {group_caption(groups)}",
        notes=group_sentences(groups),
    )
    gaps = [[cell.replace(" [", "\n[") for cell in row] for row in difference_rows(groups)]
    return table + (table_html(["difference", *groups.metrics], gaps) if gaps else "")


def _kind_of(records: Mapping[str, Mapping[str, Any]]) -> str:
    row = next(iter(records.values()))
    return kind_text(row["ci_prob"], row["ci_kind"], row["statement"])


def _cells(result: Estimates | Bounds | None, metrics: Sequence[str]) -> list[str]:
    records = {} if result is None else result.records()
    return [estimate_text(records[m]) if m in records else NOT_GIVEN for m in metrics]


def _short(name: str, width: int) -> str:
    """Return a name that keeps a table of text in shape, whatever stands in it."""
    line = " ".join(name.split())
    return line if len(line) <= width else f"{line[: width - 4]} ..."
