"""The words of a report: the same sentences in the terminal, the notebook and the files."""

from __future__ import annotations

from dataclasses import dataclass

from labelbayes._html import table_html
from labelbayes.data.evaluation_set import Counts
from labelbayes.report.group_words import group_sentences, groups_html, groups_text
from labelbayes.report.groups import GroupReport
from labelbayes.results.ladder import Ladder, ladder_text
from labelbayes.results.text import after_names


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


def sentences_of(facts: FactsOfData, steps: Ladder, groups: GroupReport | None) -> tuple[str, ...]:
    """Return what has to be said beside the numbers.

    Parameters
    ----------
    facts : FactsOfData
        Facts of the data.
    steps : Ladder
        The numbers.
    groups : GroupReport or None
        Those of the groups; None without.

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
    return after_names(steps.left_out.items())


def report_text(title: str, facts: FactsOfData, steps: Ladder, groups: GroupReport | None) -> str:
    """Return the report for a terminal.

    Parameters
    ----------
    title : str
        What the report is about.
    facts : FactsOfData
        Facts of the data.
    steps : Ladder
        The numbers.
    groups : GroupReport or None
        Those of the groups; None without.

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
    lines += [] if groups is None else ["", groups_text(groups)]
    return "\n".join(lines)


def notebook_html(title: str, facts: FactsOfData, steps: Ladder, groups: GroupReport | None) -> str:
    """Return the report for a notebook cell.

    Parameters
    ----------
    title : str
        What the report is about.
    facts : FactsOfData
        Facts of the data.
    steps : Ladder
        The numbers.
    groups : GroupReport or None
        Those of the groups; None without.

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
    return data + steps._repr_html_() + ("" if groups is None else groups_html(groups))
