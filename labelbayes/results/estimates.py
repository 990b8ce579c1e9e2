"""What every estimator returns: laws or bounds of several metrics, with what they assume."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from labelbayes._checks import CI_PROB, FloatArray, check_open_unit, check_whole, make_rng
from labelbayes._html import number_text, table_html
from labelbayes.results.distribution import Law
from labelbayes.results.interval import Interval
from labelbayes.results.sentences import Statement, Target, undefined

JointDraws = Callable[[int, np.random.Generator], dict[str, FloatArray]]

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


@dataclass(frozen=True, eq=False, repr=False)
class _Result(Mapping[str, Any]):
    """Metrics by name, and what is true of all of them."""

    _items: Mapping[str, Any]
    method: str
    assumption: str
    target: Target
    statement: Statement
    n_labeled: int
    n_unlabeled: int
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "_items", MappingProxyType(dict(self._items)))

    def __getitem__(self, metric: str) -> Any:
        try:
            return self._items[metric]
        except KeyError:
            known = ", ".join(self._items)
            raise KeyError(f"no metric {metric!r} here; there are {known}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def _rows(self, ci_prob: float) -> dict[str, dict[str, Any]]:
        raise TypeError("only Estimates and Bounds have rows")

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
        share = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
        common = {
            "statement": self.statement,
            "method": self.method,
            "assumption": self.assumption,
            "target": self.target,
            "n_labeled": self.n_labeled,
            "n_unlabeled": self.n_unlabeled,
            "ess": math.nan,
        }
        rows = {metric: common | row for metric, row in self._rows(share).items()}
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
                metric: {key: _plain(value) for key, value in row.items()}
                for metric, row in self._rows(ci_prob).items()
            },
        }

    def __repr__(self) -> str:
        """Return the short table as text."""
        frame = self.summary()[["mean", "sd", "low", "high", "statement", "undefined_prob"]]
        head = f"{type(self).__name__}: {self.method} (target: {self.target})"
        return f"{head}\n{self.assumption}\n{frame.round(4).to_string()}"

    def _repr_html_(self) -> str:
        frame = self.summary()
        rows = [
            [
                str(metric),
                number_text(row["mean"]),
                number_text(row["sd"]),
                number_text(row["low"]),
                number_text(row["high"]),
                kind_text(row["ci_prob"], row["ci_kind"], row["statement"]),
            ]
            for metric, row in frame.iterrows()
        ]
        lost = [
            undefined(str(metric), row["undefined_prob"], row["undefined_reason"])
            for metric, row in frame.iterrows()
            if row["undefined_prob"] > 0
        ]
        facts = (
            f"Target: {self.target}. {self.n_labeled:,} labeled, {self.n_unlabeled:,} missing. "
            f"Assumption: {self.assumption}."
        )
        return table_html(
            ["metric", "mean", "sd", "low", "high", "interval"],
            rows,
            caption=self.method,
            notes=[facts, *lost, *self.notes],
        )


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(_Result):
    """Laws of several metrics by name, and what they assume.

    Parameters
    ----------
    _items : mapping of str to MetricDistribution
        The laws.
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
    joint : callable, optional
        ``joint(n, rng)`` -> metric -> draws, joint across metrics, nan where undefined.
    """

    joint: JointDraws | None = field(default=None, kw_only=True)

    def _rows(self, ci_prob: float) -> dict[str, dict[str, Any]]:
        return {metric: _law_row(law, ci_prob, self.statement) for metric, law in self.items()}

    def draws(self, n: int = 1_000, rng: np.random.Generator | int | None = None) -> xr.Dataset:
        """Return draws of all metrics, joint across metrics.

        Parameters
        ----------
        n : int, default 1_000
            How many.
        rng : numpy.random.Generator, int, optional
            Where they come from.

        Returns
        -------
        xarray.Dataset
            One variable a metric, dimension ``draw``; nan where undefined in that draw.

        Raises
        ------
        ValueError
            If these laws have no joint law (matched Gaussians, for instance).
        """
        size = check_whole("n", n, least=1)
        if self.joint is None:
            raise ValueError(
                f"`draws` must be joint across metrics, and the method {self.method!r} gives each "
                "metric a law of its own. Use method='exact' or 'sampled', or the draws of one law."
            )
        columns = self.joint(size, make_rng(rng))
        variables = {metric: ("draw", values) for metric, values in columns.items()}
        return xr.Dataset(variables, {"draw": np.arange(size)}, self._attributes())

    def to_dataset(
        self, n: int = 1_000, rng: np.random.Generator | int | None = None
    ) -> xr.Dataset:
        """Return joint draws with the dimensions that ArviZ expects.

        Parameters
        ----------
        n : int, default 1_000
            How many draws, in one chain: they are independent.
        rng : numpy.random.Generator, int, optional
            Where they come from.

        Returns
        -------
        xarray.Dataset
            One variable a metric, dimensions ``chain`` (1) and ``draw``.
        """
        return self.draws(n, rng).expand_dims(chain=[0])

    def _attributes(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "assumption": self.assumption,
            "target": self.target,
            "n_labeled": self.n_labeled,
            "n_unlabeled": self.n_unlabeled,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Bounds(_Result):
    """Bounds of several metrics by name, and what they assume.

    Parameters
    ----------
    _items : mapping of str to Interval
        The bounds; nan where the metric is undefined whatever the missing labels are.
    method, assumption, target, statement, n_labeled, n_unlabeled, notes
        As in `Estimates`.
    undefined_reasons : mapping of str to str, default {}
        For each metric that some completion leaves undefined: when.
    """

    undefined_reasons: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    def _rows(self, ci_prob: float) -> dict[str, dict[str, Any]]:
        return {
            metric: {
                "mean": math.nan,
                "sd": math.nan,
                "low": bounds.low,
                "high": bounds.high,
                "ci_prob": bounds.ci_prob,
                "ci_kind": bounds.ci_kind,
                # Without a law there is no probability, except where nothing defines the metric.
                "undefined_prob": self._undefined_prob(metric, bounds),
                "undefined_reason": self.undefined_reasons.get(metric, ""),
            }
            for metric, bounds in self.items()
        }

    def _undefined_prob(self, metric: str, bounds: Interval) -> float:
        if math.isnan(bounds.low):
            return 1.0
        return math.nan if metric in self.undefined_reasons else 0.0


def _law_row(law: Law, ci_prob: float, statement: Statement) -> dict[str, Any]:
    span = law.interval(ci_prob)
    return {
        "mean": law.mean,
        "sd": law.sd,
        "low": span.low,
        "high": span.high,
        "ci_prob": span.ci_prob,
        "ci_kind": "confidence" if statement == "confidence" else span.ci_kind,
        "undefined_prob": law.undefined_prob,
        "undefined_reason": law.undefined_reason,
    }


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


def _plain(value: Any) -> Any:
    """Return a number or string that JSON knows; undefined is None."""
    if isinstance(value, (float, np.floating)):
        return None if math.isnan(value) else float(value)
    return value


def stack(results: Mapping[str, Estimates | Bounds], ci_prob: float = CI_PROB) -> pd.DataFrame:
    """Return the summaries of several results as one table.

    Parameters
    ----------
    results : mapping of str to Estimates or Bounds
        Results by name: rungs of a ladder, groups, models.
    ci_prob : float, default 0.95
        Probability content of the intervals.

    Returns
    -------
    pandas.DataFrame
        Index ``name`` and ``metric``, in order; columns as in ``summary``.

    Raises
    ------
    ValueError
        If there is nothing to stack.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.bounds.worst_case import bound_worst_case
    >>> day = EvaluationSet([1, 0, None, 1], [0.9, 0.2, 0.8, 0.4])
    >>> stack({"monday": bound_worst_case(day)}).shape
    (4, 15)
    """
    if not results:
        raise ValueError("`results` must hold at least one result; got none.")
    frames = {name: result.summary(ci_prob) for name, result in results.items()}
    # One concatenation of columns that may be all nan would change their type: go by records.
    records = [row for frame in frames.values() for row in frame.to_dict("records")]
    index = pd.MultiIndex.from_tuples(
        [(name, metric) for name, frame in frames.items() for metric in frame.index],
        names=["name", "metric"],
    )
    return pd.DataFrame.from_records(records, columns=list(SUMMARY_COLUMNS), index=index)
