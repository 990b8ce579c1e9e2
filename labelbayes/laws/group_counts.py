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

Moments = tuple[float, float]


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Count metrics of a first group less those of a second.

    Parameters
    ----------
    rows : DisjointRows
        The two groups.
    """

    rows: DisjointRows

    def exact_law(self, metric: CountMetric) -> DifferenceLaw | None:
        """Return the exact law of the difference.

        Parameters
        ----------
        metric : CountMetric
            The metric.

        Returns
        -------
        DifferenceLaw or None
            None where the list of values of either side would be too long.
        """
        first, second = (_table(metric, part) for part in self.rows.parts)
        if first is None or second is None:
            return None
        return DifferenceLaw(first, second, *self.undefined(metric))

    def undefined(self, metric: CountMetric) -> tuple[float, str]:
        """Return the probability that the metric of either group is undefined, and when it is.

        Parameters
        ----------
        metric : CountMetric
            The metric.

        Returns
        -------
        tuple of float and str
            Probability, right even where it is far below 1e-16, and the reason.
        """
        first, second = (
            np.array([grid.undefined_prob(pair) for pair in grid.pairs])
            for grid in (_grid(metric, part) for part in self.rows.parts)
        )
        prob = float(np.mean(first + second - first * second))
        return prob, _reason(metric, prob)

    def moments(self, metric: CountMetric) -> Moments:
        """Return mean and standard deviation, however long the list of values.

        Parameters
        ----------
        metric : CountMetric
            The metric.

        Returns
        -------
        tuple of float
            Mean and sd given that both are defined; nan where that never is.
        """
        weights, means, variances = [], [], []
        for pairs in zip(*(part.pairs for part in self.rows.parts), strict=True):
            a, b = (
                CountLaw(metric, _cells(part.known), *pair)
                for part, pair in zip(self.rows.parts, pairs, strict=True)
            )
            weight = a.defined_prob * b.defined_prob
            if weight > 0:
                weights.append(weight)
                means.append(a.mean - b.mean)
                variances.append(a.sd**2 + b.sd**2)
        return mix_moments(weights, means, variances)

    def normal_law(self, metric: CountMetric) -> Law:
        """Return the matched normal law of the difference, mixed over the fits.

        Parameters
        ----------
        metric : CountMetric
            The metric.

        Returns
        -------
        NormalLaw or MixtureLaw
            A normal law for one fit, a mixture for several.
        """
        first, second = self.rows.parts
        reach = metric.highest - metric.lowest
        laws = []
        for pair_a, pair_b in zip(first.pairs, second.pairs, strict=True):
            a, b = normal_law(metric, first.known, pair_a), normal_law(metric, second.known, pair_b)
            lost = a.undefined_prob + b.undefined_prob - a.undefined_prob * b.undefined_prob
            reason = _reason(metric, lost)
            if a.is_undefined or b.is_undefined:
                laws.append(NormalLaw(undefined_prob=1.0, undefined_reason=reason))
            else:
                sd = math.hypot(a.sd, b.sd)
                laws.append(NormalLaw(a.mean - b.mean, sd, -reach, reach, lost, reason))
        return laws[0] if len(laws) == 1 else MixtureLaw(tuple(laws))

    def draw(
        self, metrics: Sequence[CountMetric], n: int, rng: np.random.Generator
    ) -> dict[str, FloatArray]:
        """Return joint draws of the differences for these rows.

        Parameters
        ----------
        metrics : sequence of CountMetric
            The metrics.
        n : int
            How many.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        dict of str to ndarray of float, shape (n,)
            Draws by metric; nan where either group's is undefined.
        """
        first, second = self.rows.draw_counts(n, rng)
        return {metric.name: metric(*first) - metric(*second) for metric in metrics}

    def draw_population(
        self, metrics: Sequence[CountMetric], n: int, rng: np.random.Generator
    ) -> dict[str, FloatArray]:
        """Return joint draws of the differences for rows drawn like these.

        Parameters
        ----------
        metrics : sequence of CountMetric
            The metrics.
        n : int
            How many.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        dict of str to ndarray of float, shape (n,)
            Draws by metric; nan where the completed sample leaves either undefined.
        """
        return population_differences(metrics, *self.rows.draw_population(n, rng))


def population_differences(
    metrics: Sequence[CountMetric], counts: Sequence[Cells], weights: Sequence[Cells]
) -> dict[str, FloatArray]:
    """Return the differences of two sides in the population, nan where the sample has none.

    Parameters
    ----------
    metrics : sequence of CountMetric
        The metrics.
    counts, weights : sequence of Cells, length 2
        Completed rows and their weights, (tp, fp, fn, tn) of either side.

    Returns
    -------
    dict of str to ndarray of float, shape (n,)
        Draws by metric.
    """
    differences = {}
    for metric in metrics:
        of_sample = metric(*counts[0]) - metric(*counts[1])
        value = metric(*weights[0]) - metric(*weights[1])
        differences[metric.name] = np.where(np.isnan(of_sample), np.nan, value)
    return differences


def mix_moments(
    weights: Sequence[float], means: Sequence[float], variances: Sequence[float]
) -> Moments:
    """Return mean and standard deviation of a mixture.

    Parameters
    ----------
    weights : sequence of float
        Weights of the components, of any sum.
    means, variances : sequence of float
        Their moments.

    Returns
    -------
    tuple of float
        Mean and sd; nan where there is no component.

    Examples
    --------
    >>> mix_moments([1, 1], [0.0, 2.0], [3.0, 3.0])
    (1.0, 2.0)
    """
    if not weights:
        return math.nan, math.nan
    share = np.array(weights) / np.sum(weights)
    mean = float(share @ means)
    return mean, math.sqrt(float(share @ (variances + (np.array(means) - mean) ** 2)))


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


def _reason(metric: CountMetric, prob: float) -> str:
    return f"{metric.undefined_when}, in one of the two groups" if prob > 0 else ""


def _cells(known: Counts) -> tuple[int, int, int, int]:
    return known.tp, known.fp, known.fn, known.tn
