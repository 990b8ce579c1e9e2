"""The results of every rung of the assumption ladder, as a table, a sentence and a page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from labelbayes._checks import CI_PROB
from labelbayes._html import number_text, table_html
from labelbayes.results.estimates import Bounds, Estimates, stack
from labelbayes.results.sentences import Target
from labelbayes.results.text import estimate_text, kind_text, text_table

#: What stands in a table where a rung says nothing of a metric.
NOT_GIVEN = "-"
#: Metrics side by side in a terminal.
MOST_COLUMNS = 4


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
        Sentences that belong beside the numbers.
    """

    results: Mapping[str, Estimates | Bounds]
    assumptions: Mapping[str, str]
    left_out: Mapping[str, str]
    metrics: tuple[str, ...]
    target: Target
    truth: Mapping[str, float] | None
    notes: tuple[str, ...]

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
        """How far the assumptions move each metric and how far data noise does, in a sentence."""
        if not any(result.n_unlabeled for result in self.results.values()):
            return "No label is missing: every rung gives the same number."
        parts = [self._verdict_on(metric) for metric in self.metrics]
        return "From rung to rung assumptions move the estimate of " + "; ".join(parts) + "."

    def _verdict_on(self, metric: str) -> str:
        rows = [result.records()[metric] for result in self.results.values() if metric in result]
        known = [row for row in rows if not math.isnan(row["mean"])]
        if not known:
            return f"{metric} nowhere (it is undefined)"
        low, high = min(row["mean"] for row in known), max(row["mean"] for row in known)
        noise = (known[-1]["high"] - known[-1]["low"]) / 2
        return (
            f"{metric} by {high - low:.3f} ({low:.3f} to {high:.3f}), data noise by "
            f"{noise:.3f} to either side"
        )

    def __repr__(self) -> str:
        """Return the table and the verdict as text."""
        lines = [f"Assumption ladder (target: {self.target})", ladder_text(self), "", self.verdict]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [[cell.replace(" [", "\n[") for cell in row] for row in ladder_rows(self)]
        return table_html(
            ["rung", "assumes", *self.metrics, "interval"],
            rows,
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
        given = {
            metric: estimate_text(records[metric]) for metric in steps.metrics if metric in records
        }
        cells = [given.get(metric, NOT_GIVEN) for metric in steps.metrics]
        first = records[next(iter(given))]
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
    n_blocks = math.ceil(len(steps.metrics) / MOST_COLUMNS)
    size = math.ceil(len(steps.metrics) / n_blocks)
    blocks = []
    for start in range(0, len(steps.metrics), size):
        names = steps.metrics[start : start + size]
        cells = [[row[0], *row[2 + start : 2 + start + len(names)], row[-1]] for row in rows]
        blocks.append(text_table(["rung", *names, "interval"], cells))
    return "\n\n".join(blocks)
