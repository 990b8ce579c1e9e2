"""The results of every rung of the assumption ladder, as a table, a sentence and a page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from labelbayes._checks import CI_PROB
from labelbayes._html import number_text, table_html
from labelbayes.results.estimates import Bounds, Estimates, stack
from labelbayes.results.sentences import Target, not_counted
from labelbayes.results.text import (
    kind_text,
    metric_blocks,
    metric_cells,
    on_two_lines,
    text_table,
)

#: An estimate outside the range of its metric by no more than this is there by rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Ladder:
    """Results of every rung for one data set and one target.

    Parameters
    ----------
    results : mapping of str to Estimates or Bounds
        By rung, from the weakest assumption to the strongest.
    assumptions : mapping of str to str
        What each rung assumes.
    left_out : mapping of str to str
        Rungs that could not be climbed, and why.
    metrics : tuple of str
        What was asked for; a rung may not speak of all.
    target : {"sample", "population"}
        One target per ladder.
    truth : mapping of str to float or None
        Metrics on complete labels, where they are known.
    notes : tuple of str
        Sentences that belong beside the numbers, after the names of the rungs that say them; those
        of all rungs last, without names.
    ranges : mapping of str to tuple of float
        Lowest and highest value that each metric can have: on these rows those of the worst case.
        A weighted estimate may lie outside.
    """

    results: Mapping[str, Estimates | Bounds]
    assumptions: Mapping[str, str]
    left_out: Mapping[str, str]
    metrics: tuple[str, ...]
    target: Target
    truth: Mapping[str, float] | None
    notes: tuple[str, ...]
    ranges: Mapping[str, tuple[float, float]]

    def table(self, ci_prob: float = CI_PROB) -> pd.DataFrame:
        """Return every rung and metric as one table.

        Parameters
        ----------
        ci_prob : float, default 0.95
            Probability content of the intervals.

        Returns
        -------
        pandas.DataFrame
            Index ``rung`` and ``metric``; columns as in ``Estimates.summary``, and ``truth``
            where the complete labels are known.
        """
        frame = stack(self.results, ci_prob=ci_prob).rename_axis(["rung", "metric"])
        if self.truth is not None:
            frame["truth"] = [self.truth.get(metric, math.nan) for _, metric in frame.index]
        return frame

    @property
    def verdict(self) -> str:
        """How far the assumptions move each metric and how far data noise does, in a sentence.

        Estimates that no labels could give are not counted; a second sentence names them.
        """
        if not any(result.n_unlabeled for result in self.results.values()):
            return "No label is missing: every rung gives the same number."
        if not any(result.n_labeled for result in self.results.values()):
            return "No label is known: every number here is assumption."
        parts = [self._verdict_on(metric) for metric in self.metrics]
        said = f"From rung to rung assumptions move the estimate of {'; '.join(parts)}."
        impossible = [
            f"{metric} by {rung} ({row['mean']:.3f}, outside {self._range_text(metric)})"
            for metric in self.metrics
            for rung, row in self._estimates_of(metric).items()
            if not self._is_possible(metric, row["mean"])
        ]
        return f"{said} {not_counted(impossible)}" if impossible else said

    def _verdict_on(self, metric: str) -> str:
        estimates = list(self._estimates_of(metric).values())
        if not estimates:
            return f"{metric} nowhere (it is undefined)"
        known = [row for row in estimates if self._is_possible(metric, row["mean"])]
        if not known:
            return f"{metric} nowhere (no estimate lies in {self._range_text(metric)})"
        if len(known) == 1:
            return f"{metric} nowhere (one rung alone estimates it, {known[0]['mean']:.3f})"
        low, high = min(row["mean"] for row in known), max(row["mean"] for row in known)
        noise = (known[-1]["high"] - known[-1]["low"]) / 2
        return (
            f"{metric} by {high - low:.3f} ({low:.3f} to {high:.3f}), data noise by "
            f"{noise:.3f} to either side"
        )

    def _estimates_of(self, metric: str) -> dict[str, Mapping[str, Any]]:
        """Return the rows of a metric by rung, where the rung has an estimate of it."""
        spoken = {rung: result for rung, result in self.results.items() if metric in result}
        rows = {rung: result.records()[metric] for rung, result in spoken.items()}
        return {rung: row for rung, row in rows.items() if not math.isnan(row["mean"])}

    def _is_possible(self, metric: str, value: float) -> bool:
        """Whether some labels give the metric this value; a weighted estimate may be beyond."""
        low, high = self.ranges[metric]
        return low - ROUNDING <= value <= high + ROUNDING

    def _range_text(self, metric: str) -> str:
        low, high = self.ranges[metric]
        return f"[{low:.3g}, {high:.3g}]"

    def __repr__(self) -> str:
        """Return the table, what is left out of it and the verdict as text."""
        head = f"Assumption ladder (target: {self.target})"
        lines = [head, ladder_text(self), *left_out_sentences(self), "", self.verdict]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return table_html(
            ["rung", "assumes", *self.metrics, "interval"],
            on_two_lines(ladder_rows(self)),
            caption=f"Assumption ladder (target: {self.target})",
            notes=[self.verdict, *left_out_sentences(self), *self.notes],
        )


def left_out_sentences(steps: Ladder) -> list[str]:
    """Return one sentence for each rung that could not be climbed.

    Parameters
    ----------
    steps : Ladder
        The ladder.

    Returns
    -------
    list of str
        Sentences.
    """
    return [f"Left out, {name}: {reason}" for name, reason in steps.left_out.items()]


def ladder_rows(steps: Ladder, ci_prob: float = CI_PROB) -> list[list[str]]:
    """Return the rungs as rows of text: name, assumption, one cell a metric, kind of interval.

    Parameters
    ----------
    steps : Ladder
        The ladder.
    ci_prob : float, default 0.95
        Probability content of the intervals.

    Returns
    -------
    list of list of str
        A row per rung, and the truth last where it is known.
    """
    rows = []
    for rung, result in steps.results.items():
        records = result.records(ci_prob)
        cells = metric_cells(records, steps.metrics)
        first = next(records[metric] for metric in steps.metrics if metric in records)
        kind = kind_text(first["ci_prob"], first["ci_kind"], first["statement"])
        rows.append([rung, steps.assumptions[rung], *cells, kind])
    if steps.truth is not None:
        cells = [number_text(steps.truth[metric]) for metric in steps.metrics]
        rows.append(["truth", "all labels known", *cells, ""])
    return rows


def ladder_text(steps: Ladder, ci_prob: float = CI_PROB) -> str:
    """Return the ladder as a table for a terminal.

    Parameters
    ----------
    steps : Ladder
        The ladder.
    ci_prob : float, default 0.95
        Probability content of the intervals.

    Returns
    -------
    str
        Lines of equal columns; many metrics stand in blocks, one below the other.
    """
    rows = ladder_rows(steps, ci_prob)
    blocks = []
    for block in metric_blocks(len(steps.metrics)):
        cells = [[rung, *given[block], kind] for rung, _, *given, kind in rows]
        blocks.append(text_table(["rung", *steps.metrics[block], "interval"], cells))
    return "\n\n".join(blocks)
