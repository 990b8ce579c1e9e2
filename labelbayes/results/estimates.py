"""What every estimator returns: laws or bounds of several metrics, with what they assume."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from labelbayes._checks import CI_PROB, FloatArray, check_type, check_whole, make_rng
from labelbayes.results.distribution import Law
from labelbayes.results.interval import Interval
from labelbayes.results.result import SUMMARY_COLUMNS, Result
from labelbayes.results.sentences import Statement

JointDraws = Callable[[int, np.random.Generator], dict[str, FloatArray]]


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(Result):
    """Laws of several metrics by name, and what they assume.

    Parameters
    ----------
    contents : mapping of str to MetricDistribution
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
    ess : float, default nan
        Effective number of labeled rows; nan where rows are not weighted.
    methods : mapping of str to str, default {}
        Method of a metric, where it differs from that of the others.
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
class Bounds(Result):
    """Bounds of several metrics by name, and what they assume.

    Parameters
    ----------
    contents : mapping of str to Interval
        The bounds; nan where the metric is undefined whatever the missing labels are.
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
    undefined_reasons : mapping of str to str, default {}
        For each metric that some completion leaves undefined: when.
    """

    #: Bounds come without a law: neither mean nor sd, and no probability of "undefined".
    _numbers: ClassVar[tuple[str, ...]] = ("low", "high")
    _in_text: ClassVar[tuple[str, ...]] = ("statement",)
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


def stack(results: Mapping[str, Estimates | Bounds], *, ci_prob: float = CI_PROB) -> pd.DataFrame:
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
    (6, 15)
    """
    check_type("results", results, Mapping)
    if not results:
        raise ValueError("`results` must hold at least one result; got none.")
    for name, result in results.items():
        check_type(f"results[{name!r}]", result, Result)
    rows = {
        (name, metric): row
        for name, result in results.items()
        for metric, row in result.records(ci_prob).items()
    }
    index = pd.MultiIndex.from_tuples(list(rows), names=["name", "metric"])
    columns = list(SUMMARY_COLUMNS)
    return pd.DataFrame.from_records(list(rows.values()), columns=columns, index=index)
