"""Differences of a count metric between two groups: disjoint rows, so independent given p."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.data.evaluation_set import Counts
from labelbayes.laws.disjoint_rows import DisjointRows, RowPart
from labelbayes.laws.gaussian import normal_law
from labelbayes.laws.metric_differences import CountDifferences, FitMoments
from labelbayes.laws.population import Cells
from labelbayes.metrics.confusion import CountMetric, RatioMetric
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.count_grid import CountGrid
from labelbayes.results.count_law import CountLaw
from labelbayes.results.difference import DifferenceLaw
from labelbayes.results.distribution import Law
from labelbayes.results.integer_law import IntegerLaw
from labelbayes.results.mixture import MixtureLaw
from labelbayes.results.value_table import ValueTable, count_cells, tabulate, tabulate_sum

#: Values of one side that are listed, and probabilities over all fits; a metric that needs more is
#: sampled.
MOST_VALUES, MOST_MASSES = 1_000_000, 4_000_000


@dataclass(frozen=True, eq=False)
class GroupCounts(CountDifferences):
    """Count metrics of a first group less those of a second.

    Parameters
    ----------
    rows : DisjointRows
        The two groups.
    """

    rows: DisjointRows

    @property
    def _where(self) -> str:
        return "in one of the two groups"

    def _exact_law(self, metric: CountMetric, prob: float, reason: str) -> DifferenceLaw | None:
        first, second = (_table(metric, part) for part in self.rows.parts)
        if first is None or second is None:
            return None
        return DifferenceLaw(first, second, prob, reason)

    def _undefined_probs(self, metric: CountMetric) -> FloatArray:
        first, second = (
            np.array([grid.undefined_prob(pair) for pair in grid.pairs])
            for grid in (_grid(metric, part) for part in self.rows.parts)
        )
        return np.asarray(first + second - first * second)

    def _fit_moments(self, metric: CountMetric) -> list[FitMoments]:
        found = []
        for pairs in zip(*(part.pairs for part in self.rows.parts), strict=True):
            a, b = (
                CountLaw(metric, _cells(part.known), *pair)
                for part, pair in zip(self.rows.parts, pairs, strict=True)
            )
            weight = a.defined_prob * b.defined_prob
            found.append((weight, a.mean - b.mean, a.sd**2 + b.sd**2))
        return found

    def _normal_law(self, metric: CountMetric, prob: float, reason: str) -> Law:
        first, second = self.rows.parts
        reach = metric.highest - metric.lowest
        laws = []
        for pair_a, pair_b in zip(first.pairs, second.pairs, strict=True):
            a, b = normal_law(metric, first.known, pair_a), normal_law(metric, second.known, pair_b)
            lost = a.undefined_prob + b.undefined_prob - a.undefined_prob * b.undefined_prob
            if a.is_undefined or b.is_undefined:
                laws.append(NormalLaw(undefined_prob=1.0, undefined_reason=reason))
            else:
                sd = math.hypot(a.sd, b.sd)
                said = reason if lost > 0 else ""
                laws.append(NormalLaw(a.mean - b.mean, sd, -reach, reach, lost, said))
        return laws[0] if len(laws) == 1 else MixtureLaw(tuple(laws))

    def _sides(self, parts: Sequence[Cells]) -> Sequence[Cells]:
        return parts


def _table(metric: CountMetric, part: RowPart) -> ValueTable | None:
    """List the values of the metric of one group; None where they are too many."""
    grid = _grid(metric, part)
    if grid.undefined_corners[2]:
        return ValueTable(np.empty(0), np.empty((len(part.pairs), 0)))
    if isinstance(metric, RatioMetric) and metric.has_fixed_denominator:
        tp, fp, fn, tn = metric.numerator
        by_u, by_v = tp - fp, fn - tn
        if by_v == 0:
            return tabulate(lambda u: grid.value(u, np.zeros(1)), [(u,) for u, _ in part.pairs])
        if by_u == 0:
            return tabulate(lambda v: grid.value(np.zeros(1), v), [(v,) for _, v in part.pairs])
        if abs(by_u) == abs(by_v):
            signs = [1 if by_u > 0 else -1, 1 if by_v > 0 else -1]
            return tabulate_sum(partial(_on_line, metric, part, abs(by_u)), signs, part.pairs)
    return tabulate(grid.value, part.pairs) if is_short(part.pairs) else None


def is_short(fits: Sequence[Sequence[IntegerLaw]]) -> bool:
    """Return whether the values of a function of counts are few enough to be listed fit by fit.

    Parameters
    ----------
    fits : sequence of sequence of IntegerLaw
        For each fit the laws of the counts.

    Returns
    -------
    bool
        Up to a million combinations, and four million probabilities.
    """
    n_cells = count_cells(fits)
    return n_cells <= MOST_VALUES and len(fits) * n_cells <= MOST_MASSES


def _on_line(metric: RatioMetric, part: RowPart, step: float, total: FloatArray) -> FloatArray:
    """Return a metric that depends on the counts only through their signed sum."""
    u, v = part.pairs[0]
    known = part.known
    at_none = np.array([known.tp, known.fp + u.n, known.fn, known.tn + v.n], dtype=float)
    top, bottom = at_none @ metric.numerator, at_none @ metric.denominator
    return np.asarray((top + step * total) / bottom)


def _grid(metric: CountMetric, part: RowPart) -> CountGrid:
    return CountGrid(metric, _cells(part.known), part.pairs)


def _cells(known: Counts) -> tuple[int, int, int, int]:
    return known.tp, known.fp, known.fn, known.tn
