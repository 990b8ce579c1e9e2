"""The words of a report: the same sentences in the terminal, the notebook and the files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labelbayes._checks import listed
from labelbayes._html import table_html
from labelbayes.data.evaluation_set import Counts
from labelbayes.report.groups import GroupReport
from labelbayes.results.ladder import MOST_COLUMNS, NOT_GIVEN, Ladder, ladder_text
from labelbayes.results.text import estimate_text, kind_text, text_table

#: Names of groups that a sentence writes out, and characters of one in a terminal's table.
_MOST_NAMES = 20
_NAME_WIDTH = 36


@dataclass(frozen=True)
class FactsOfData:
    """What is known of the data before anything is assumed.

    Parameters
    ----------
    n, n_rows : int
        Rows with and without their multiplicities counted.
    counts : Counts
        Rows by label and decision.
    threshold : float or None
        Score from which on a row is predicted positive; None where decisions were given.
    pos_label : str or None
        The positive label, where it had to be named.
    notes : tuple of str
        What was noticed in the data.
    """

    n: int
    n_rows: int
    counts: Counts
    threshold: float | None
    pos_label: str | None
    notes: tuple[str, ...]

    @property
    def n_labeled(self) -> int:
        """Rows with a label."""
        return self.counts.n_labeled

    @property
    def n_unlabeled(self) -> int:
        """Rows without a label."""
        return self.counts.n_unlabeled


def data_sentence(facts: FactsOfData) -> str:
    """Return how many labels are missing, and among which decisions.

    Parameters
    ----------
    facts : FactsOfData
        Counts of the data.

    Returns
    -------
    str
        One sentence.

    Examples
    --------
    >>> data_sentence(FactsOfData(4, 4, Counts(1, 0, 0, 1, 2, 0), None, None, ()))
    '2 of 4 labels are missing (50.0%): 66.7% of rows predicted positive, 0.0% of the others.'
    """
    counts = facts.counts
    positive, negative = decision_totals(counts)
    shares = [
        f"{missing / total:.1%} {what}"
        for missing, total, what in (
            (counts.unlabeled_predicted_positive, positive, "of rows predicted positive"),
            (counts.unlabeled_predicted_negative, negative, "of the others"),
        )
        if total
    ]
    return (
        f"{facts.n_unlabeled:,} of {facts.n:,} labels are missing "
        f"({facts.n_unlabeled / facts.n:.1%}): {', '.join(shares)}."
    )


def decision_totals(counts: Counts) -> tuple[int, int]:
    """Return how many rows are predicted positive, and how many negative.

    Parameters
    ----------
    counts : Counts
        Rows by label and decision.

    Returns
    -------
    tuple of int
        Totals, missing labels included.
    """
    return (
        counts.tp + counts.fp + counts.unlabeled_predicted_positive,
        counts.fn + counts.tn + counts.unlabeled_predicted_negative,
    )


def data_rows(facts: FactsOfData) -> list[list[str]]:
    """Return the data as a table: a row per decision and one for all.

    Parameters
    ----------
    facts : FactsOfData
        Counts of the data.

    Returns
    -------
    list of list of str
        Columns as in `DATA_COLUMNS`.
    """
    c = facts.counts
    cells = [
        ("predicted positive", c.tp, c.fp, c.unlabeled_predicted_positive),
        ("predicted negative", c.fn, c.tn, c.unlabeled_predicted_negative),
        ("all rows", c.tp + c.fn, c.fp + c.tn, c.n_unlabeled),
    ]
    return [
        [
            name,
            f"{positive:,}",
            f"{negative:,}",
            f"{missing:,}",
            f"{missing / total:.1%}" if (total := positive + negative + missing) else "-",
        ]
        for name, positive, negative, missing in cells
    ]


DATA_COLUMNS = ("", "labeled positive", "labeled negative", "label missing", "share missing")


def decision_sentence(facts: FactsOfData) -> str:
    """Return what counts as positive.

    Parameters
    ----------
    facts : FactsOfData
        Facts of the data.

    Returns
    -------
    str
        One sentence.
    """
    cut = (
        "Decisions were given"
        if facts.threshold is None
        else f"A row is predicted positive where its score is at least {facts.threshold:g}"
    )
    label = "" if facts.pos_label is None else f'; the positive label is "{facts.pos_label}"'
    return f"{cut}{label}."


def sentences_of(
    facts: FactsOfData, steps: Ladder, groups: GroupReport | None = None
) -> tuple[str, ...]:
    """Return what has to be said beside the numbers.

    Parameters
    ----------
    facts : FactsOfData
        Facts of the data.
    steps : Ladder
        The numbers.
    groups : GroupReport, optional
        Those of the groups.

    Returns
    -------
    tuple of str
        The data first, then what the ladder and the groups say.
    """
    of_groups = [] if groups is None else group_sentences(groups)
    return (data_sentence(facts), decision_sentence(facts), *steps.notes, *of_groups)


def left_out(steps: Ladder) -> list[str]:
    """Return which rungs the data do not support, and why, each reason once.

    Parameters
    ----------
    steps : Ladder
        The numbers.

    Returns
    -------
    list of str
        "names: reason".
    """
    names: dict[str, list[str]] = {}
    for name, reason in steps.left_out.items():
        names.setdefault(reason, []).append(name)
    return [f"{' and '.join(group)}: {reason}" for reason, group in names.items()]


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
        [f"{_short(first)} less {_short(second)}", *_cells(result, groups.metrics)]
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


def _kind_of(records: Mapping[str, Mapping[str, Any]]) -> str:
    row = next(iter(records.values()))
    return kind_text(row["ci_prob"], row["ci_kind"], row["statement"])


def _cells(result: Any, metrics: Sequence[str]) -> list[str]:
    records = {} if result is None else result.records()
    return [estimate_text(records[m]) if m in records else NOT_GIVEN for m in metrics]


def _short(name: str) -> str:
    """Return a name that keeps a table of text in shape, whatever stands in it."""
    line = " ".join(name.split())
    return line if len(line) <= _NAME_WIDTH else f"{line[: _NAME_WIDTH - 4]} ..."


def _group_text(groups: GroupReport) -> list[str]:
    """Return the groups as lines for a terminal; many metrics stand in blocks."""
    n_blocks = math.ceil(len(groups.metrics) / MOST_COLUMNS)
    size = math.ceil(len(groups.metrics) / n_blocks)
    tables, differences = [], []
    for start in range(0, len(groups.metrics), size):
        block = slice(start, start + size)
        names = groups.metrics[block]
        rows = []
        for name, total, labeled, own, worst in group_rows(groups):
            if groups.estimates:
                rows += [[_short(name), total, labeled, *own[block]]]
                rows += [["  worst case", "", "", *worst[block]]]
            else:
                rows += [[_short(name), total, labeled, *worst[block]]]
        tables.append(text_table(["group", "rows", "labeled", *names], rows))
        gaps = [[row[0], *row[1:][block]] for row in difference_rows(groups)]
        if gaps:
            differences.append(text_table(["difference", *names], gaps))
    lines = [f"By group: {group_caption(groups)}", "\n\n".join(tables)]
    lines += ["", "\n\n".join(differences)] if differences else []
    return [*lines, "", *group_sentences(groups)]


def report_text(
    title: str, facts: FactsOfData, steps: Ladder, groups: GroupReport | None = None
) -> str:
    """Return the report for a terminal.

    Parameters
    ----------
    title : str
        What the report is about.
    facts : FactsOfData
        Facts of the data.
    steps : Ladder
        The numbers.
    groups : GroupReport, optional
        Those of the groups.

    Returns
    -------
    str
        Lines; what was noticed in the data stands before the numbers.
    """
    lines = [title, data_sentence(facts)]
    lines += [f"Noticed: {note}" for note in facts.notes]
    lines += ["", f"Assumption ladder (target: {steps.target})", ladder_text(steps)]
    lines += [f"Left out: {sentence}" for sentence in left_out(steps)]
    lines += ["", steps.verdict]
    lines += [] if groups is None else ["", *_group_text(groups)]
    return "\n".join(lines)


def notebook_html(
    title: str, facts: FactsOfData, steps: Ladder, groups: GroupReport | None = None
) -> str:
    """Return the report for a notebook cell.

    Parameters
    ----------
    title : str
        What the report is about.
    facts : FactsOfData
        Facts of the data.
    steps : Ladder
        The numbers.
    groups : GroupReport, optional
        Those of the groups.

    Returns
    -------
    str
        HTML that survives JupyterLab's cleaning of saved notebooks.
    """
    noticed = [f"Noticed: {note}" for note in facts.notes]
    data = table_html(
        DATA_COLUMNS,
        data_rows(facts),
        caption=title,
        notes=[data_sentence(facts), decision_sentence(facts), *noticed],
    )
    return data + steps._repr_html_() + ("" if groups is None else _groups_html(groups))


def _groups_html(groups: GroupReport) -> str:
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
