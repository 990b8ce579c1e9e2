"""The laws of the differences between groups, pair by pair, as a table and for a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from labelbayes._checks import CI_PROB
from labelbayes._html import table_html
from labelbayes.results.estimates import Estimates, stack
from labelbayes.results.result import undefined_sentences
from labelbayes.results.text import (
    after_names,
    join_methods,
    kind_text,
    metric_blocks,
    metric_cells,
    on_two_lines,
    short_name,
    text_table,
)

#: Characters of a pair's name in a terminal's table.
PAIR_WIDTH = 72


class GroupDifferences(dict[tuple[str, str], Estimates]):
    """Laws of the differences between groups: a dictionary that shows itself as a table.

    Parameters
    ----------
    results : mapping of tuple of str to Estimates, default {}
        For each pair of groups the laws of the first less the second.
    notes : sequence of str, default ()
        Sentences that belong beside the numbers of all pairs.

    See Also
    --------
    labelbayes.laws.differences.compare_groups : Makes one.
    labelbayes.plots.differences.plot_differences : All pairs as a figure.
    """

    def __init__(
        self, results: Mapping[tuple[str, str], Estimates] | None = None, notes: Sequence[str] = ()
    ) -> None:
        """Take the results of each pair."""
        super().__init__(results or {})
        #: Sentences that belong beside the numbers of all pairs; each result has those of its own.
        self.notes = tuple(notes)

    def summary(self, ci_prob: float = CI_PROB) -> pd.DataFrame:
        """Return one row a pair and metric.

        Parameters
        ----------
        ci_prob : float, default 0.95
            Probability content of the intervals, in (0, 1).

        Returns
        -------
        pandas.DataFrame
            Index ``difference`` (such as ``"a less b"``) and ``metric``; columns as in
            ``Estimates.summary``.

        Raises
        ------
        ValueError
            If there is no pair, or `ci_prob` lies outside (0, 1).
        """
        return stack(self._named(), ci_prob=ci_prob).rename_axis(["difference", "metric"])

    def _named(self) -> dict[str, Estimates]:
        return {pair_name(*pair): result for pair, result in self.items()}

    @property
    def _metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(metric for result in self.values() for metric in result))

    def _caption(self) -> str:
        """Return what the cells hold, the kind of interval of the first for that of all."""
        first = next(iter(self.values()))
        row = next(iter(first.records().values()))
        kind = kind_text(row["ci_prob"], row["ci_kind"], row["statement"])
        return f"Differences between groups (target: {first.target}): mean and {kind} interval"

    def _facts(self) -> str:
        """Return how the laws were computed, and what they assume."""
        named = self._named()
        methods = join_methods({name: result.method for name, result in named.items()})
        assumptions = join_methods({name: result.assumption for name, result in named.items()})
        return f"Method: {methods}. Assumption: {assumptions}."

    def _undefined(self) -> list[str]:
        return after_names(
            (name, sentence)
            for name, result in self._named().items()
            for sentence in undefined_sentences(result)
        )

    def __repr__(self) -> str:
        """Return the table as text; many metrics stand in blocks, one below the other."""
        if not self:
            return "GroupDifferences: no pair of groups"
        rows = difference_rows(self, self._metrics)
        lines = [self._caption(), self._facts(), difference_text(rows, self._metrics)]
        lines += self._undefined()
        if self.notes:
            lines.append(f"{len(self.notes)} in `.notes`: what these numbers mean")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if not self:
            return table_html(["difference"], [], caption=repr(self))
        return table_html(
            ["difference", *self._metrics],
            on_two_lines(difference_rows(self, self._metrics)),
            caption=self._caption(),
            notes=[self._facts(), *self._undefined(), *self.notes],
        )


def pair_name(first: str, second: str) -> str:
    """Return what the difference of two groups is called.

    Parameters
    ----------
    first, second : str
        Names of the groups.

    Returns
    -------
    str
        For a row.

    Examples
    --------
    >>> pair_name("north", "south")
    'north less south'
    """
    return f"{first} less {second}"


def difference_rows(
    differences: Mapping[tuple[str, str], Estimates], metrics: Sequence[str]
) -> list[list[str]]:
    """Return the differences between groups as rows of text.

    Parameters
    ----------
    differences : mapping of tuple of str to Estimates
        By pair.
    metrics : sequence of str
        Names of the columns.

    Returns
    -------
    list of list of str
        "first less second" and a cell a metric with mean and interval.
    """
    return [
        [pair_name(*pair), *metric_cells(result.records(), metrics)]
        for pair, result in differences.items()
    ]


def difference_text(rows: Sequence[Sequence[str]], metrics: Sequence[str]) -> str:
    """Return rows of differences as tables for a terminal.

    Parameters
    ----------
    rows : sequence of sequence of str
        Rows of `difference_rows`.
    metrics : sequence of str
        Names of their columns.

    Returns
    -------
    str
        Lines; many metrics stand in blocks, one below the other.
    """
    tables = []
    for block in metric_blocks(len(metrics)):
        cells = [[short_name(pair, PAIR_WIDTH), *given[block]] for pair, *given in rows]
        tables.append(text_table(["difference", *metrics[block]], cells))
    return "\n\n".join(tables)
