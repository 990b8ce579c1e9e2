"""The words of the groups of a report: rows of tables, sentences, and both as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labelbayes._checks import listed
from labelbayes._html import table_html
from labelbayes.report.groups import GroupReport
from labelbayes.results.group_differences import difference_rows, difference_text
from labelbayes.results.text import (
    NOT_GIVEN,
    kind_text,
    metric_blocks,
    metric_cells,
    on_two_lines,
    short_name,
    text_table,
)

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
        result = groups.estimates.get(name)
        own = metric_cells({} if result is None else result.records(), groups.metrics)
        worst = metric_cells(groups.bounds[name].records(), groups.metrics)
        total = counts.n_labeled + counts.n_unlabeled
        rows.append((name, f"{total:,}", f"{counts.n_labeled:,}", own, worst))
    return rows


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
    tables = []
    for block in metric_blocks(len(groups.metrics)):
        rows = []
        for name, total, labeled, own, worst in group_rows(groups):
            first = own if groups.estimates else worst
            rows.append([short_name(name, _NAME_WIDTH), total, labeled, *first[block]])
            if groups.estimates:
                rows.append(["  worst case", "", "", *worst[block]])
        tables.append(text_table(["group", "rows", "labeled", *groups.metrics[block]], rows))
    gaps = difference_rows(groups.differences, groups.metrics)
    return "\n\n".join(
        [
            f"By group: {group_caption(groups)}\n{tables[0]}",
            *tables[1:],
            *([difference_text(gaps, groups.metrics)] if gaps else []),
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
    gaps = on_two_lines(difference_rows(groups.differences, groups.metrics))
    return table + (table_html(["difference", *groups.metrics], gaps) if gaps else "")


def _kind_of(records: Mapping[str, Mapping[str, Any]]) -> str:
    row = next(iter(records.values()))
    return kind_text(row["ci_prob"], row["ci_kind"], row["statement"])
