"""What estimates and bounds have in common: metrics by name, a summary, a small table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from labelbayes._checks import CI_PROB, check_open_unit
from labelbayes._html import number_text, table_html
from labelbayes.results.sentences import Statement, Target, undefined
from labelbayes.results.text import kind_text

SUMMARY_COLUMNS = (
    "mean",
    "sd",
    "low",
    "high",
    "ci_prob",
    "ci_kind",
    "statement",
    "undefined_prob",
    "undefined_reason",
    "method",
    "assumption",
    "target",
    "n_labeled",
    "n_unlabeled",
    "ess",
)


#: Columns that differ from metric to metric.
_OWN_COLUMNS = (
    "mean",
    "sd",
    "low",
    "high",
    "ci_prob",
    "ci_kind",
    "method",
    "undefined_prob",
    "undefined_reason",
)


@dataclass(frozen=True, eq=False, repr=False)
class Result(Mapping[str, Any]):
    """Metrics by name, and what is true of all of them.

    Parameters
    ----------
    contents : mapping of str to MetricDistribution or Interval
        What is known of each metric.
    method : str
        How they were computed.
    assumption : str
        What has to be true for them to be right.
    target : {"sample", "population"}
        Whether the metric is that of these rows, or of rows drawn like these.
    statement : {"predictive", "credible", "confidence", "bounds", "sensitivity"}
        What an interval may be taken for.
    n_labeled, n_unlabeled : int
        Rows with and without a label.
    notes : tuple of str, default ()
        Sentences that belong beside the numbers.
    ess : float, default nan
        Effective number of labeled rows; nan where rows are not weighted.
    methods : mapping of str to str, default {}
        Method of a metric, where it differs from that of the others.
    """

    contents: Mapping[str, Any]
    method: str
    assumption: str
    target: Target
    statement: Statement
    n_labeled: int
    n_unlabeled: int
    notes: tuple[str, ...] = ()
    ess: float = field(default=math.nan, kw_only=True)
    methods: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    #: Columns of the short table: those that hold numbers, and what its text adds.
    _numbers: ClassVar[tuple[str, ...]] = ("mean", "sd", "low", "high")
    _in_text: ClassVar[tuple[str, ...]] = ("statement", "undefined_prob")
    #: Rows already computed: views ask for the same quantiles again and again.
    _known_rows: dict[float, dict[str, dict[str, Any]]] = field(
        default_factory=dict, init=False, kw_only=True
    )

    def __post_init__(self) -> None:
        """Keep a copy that nobody can change."""
        object.__setattr__(self, "contents", MappingProxyType(dict(self.contents)))

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: a mapping proxy is not."""
        return self.__dict__ | {"contents": dict(self.contents)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from what was pickled."""
        self.__dict__.update(state | {"contents": MappingProxyType(state["contents"])})

    def __getitem__(self, metric: str) -> Any:
        """Return what is known of one metric."""
        try:
            return self.contents[metric]
        except KeyError:
            known = ", ".join(self.contents)
            raise KeyError(f"no metric {metric!r} here; there are {known}") from None

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the metrics."""
        return iter(self.contents)

    def __len__(self) -> int:
        """Return the number of metrics."""
        return len(self.contents)

    def _rows(self, ci_prob: float) -> dict[str, dict[str, Any]]:
        raise TypeError("only Estimates and Bounds have rows")

    def records(self, ci_prob: float = CI_PROB) -> dict[str, dict[str, Any]]:
        """Return the summary as metric -> column -> value, without a table.

        Parameters
        ----------
        ci_prob : float, default 0.95
            Probability content of the intervals.

        Returns
        -------
        dict of str to dict
            A row per metric, with the columns of `summary`.
        """
        share = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
        if share not in self._known_rows:
            self._known_rows[share] = self._rows(share)
        common = {
            "statement": self.statement,
            "assumption": self.assumption,
            "target": self.target,
            "n_labeled": self.n_labeled,
            "n_unlabeled": self.n_unlabeled,
            "ess": self.ess,
        }
        found = {}
        for metric, row in self._known_rows[share].items():
            whole = row | common | {"method": self.methods.get(metric, self.method)}
            found[metric] = {column: whole[column] for column in SUMMARY_COLUMNS}
        return found

    def summary(self, ci_prob: float = CI_PROB) -> pd.DataFrame:
        """Return one row a metric.

        Parameters
        ----------
        ci_prob : float, default 0.95
            Probability content of the intervals, in (0, 1). Bare bounds have none, and bounds
            of a population keep the level that they were computed for.

        Returns
        -------
        pandas.DataFrame
            Index ``metric``; columns mean, sd, low, high, ci_prob, ci_kind, statement (what the
            interval may be taken for), undefined_prob, undefined_reason, method, assumption,
            target, n_labeled, n_unlabeled, ess (nan where rows are not weighted).
        """
        rows = self.records(ci_prob)
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(SUMMARY_COLUMNS))
        return frame.rename_axis("metric")

    def to_dict(self, ci_prob: float = CI_PROB) -> dict[str, Any]:
        """Return the summary as plain numbers and strings, ready for JSON.

        Parameters
        ----------
        ci_prob : float, default 0.95
            Probability content of the intervals.

        Returns
        -------
        dict
            ``method, assumption, target, statement, n_labeled, n_unlabeled, notes, metrics``;
            a number that is undefined is None.
        """
        return {
            "method": self.method,
            "assumption": self.assumption,
            "target": self.target,
            "statement": self.statement,
            "n_labeled": self.n_labeled,
            "n_unlabeled": self.n_unlabeled,
            "notes": list(self.notes),
            "metrics": {
                metric: {key: _plain(row[key]) for key in _OWN_COLUMNS}
                for metric, row in self.records(ci_prob).items()
            },
        }

    def __repr__(self) -> str:
        """Return the short table as text."""
        frame = self.summary()[[*self._numbers, *self._in_text]]
        head = f"{type(self).__name__}: {self.method} (target: {self.target})"
        lines = [head, self.assumption, frame.round(4).to_string(), *undefined_sentences(self)]
        if self.notes:
            lines.append(f"{len(self.notes)} in `.notes`: what these numbers mean")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        records = self.records()
        rows = [
            [
                metric,
                *(number_text(row[key]) for key in self._numbers),
                kind_text(row["ci_prob"], row["ci_kind"], row["statement"]),
            ]
            for metric, row in records.items()
        ]
        worth = "" if math.isnan(self.ess) else f" (worth {self.ess:,.0f} of equal weight)"
        facts = (
            f"Target: {self.target}. {self.n_labeled:,} labeled{worth}, {self.n_unlabeled:,} "
            f"missing. Assumption: {self.assumption}."
        )
        return table_html(
            ["metric", *self._numbers, "interval"],
            rows,
            caption=self.method,
            notes=[facts, *undefined_sentences(self), *self.notes],
        )


def undefined_sentences(result: Result) -> list[str]:
    """Return which metrics of a result may be 0/0, how often and when.

    Parameters
    ----------
    result : Estimates or Bounds
        The result.

    Returns
    -------
    list of str
        A sentence for each such metric.
    """
    return [
        undefined(metric, row["undefined_prob"], row["undefined_reason"])
        for metric, row in result.records().items()
        if row["undefined_prob"] != 0  # nan too: bounds know that it happens, not how often
    ]


def _plain(value: Any) -> Any:
    """Return a number or string that JSON knows; undefined is None."""
    if isinstance(value, (float, np.floating)):
        return None if math.isnan(value) else float(value)
    return value
