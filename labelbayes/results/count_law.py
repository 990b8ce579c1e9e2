"""The exact law of a count metric: two independent counts of positives and a metric."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.metrics.confusion import CountMetric, RatioMetric
from labelbayes.results.count_grid import CountGrid
from labelbayes.results.distribution import ATOM_WIDTH, DiscreteLaw, Law
from labelbayes.results.integer_law import IntegerLaw
from labelbayes.results.quadrature import pair_moments

#: Below this probability of "defined" draws come from the cdf, not from trying again.
RARELY_DEFINED = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class CountLaw(Law):
    """Law of a count metric when the labels of some rows are independent draws.

    The missing labels enter only through U, the positives among missing rows that are predicted
    positive, and V, those among missing rows that are predicted negative. Every count metric is
    non-decreasing in U and non-increasing in V, so its cdf is one sum over U.

    Parameters
    ----------
    metric : CountMetric
        The metric.
    known : tuple of int
        (tp, fp, fn, tn) of the labeled rows.
    predicted_positive, predicted_negative : IntegerLaw
        Laws of U and V, independent; their `n` are the numbers of missing labels.

    References
    ----------
    .. [1] D. Dervovic and M. Cashmore, arXiv 2504.18385, 2025, for the setting; the exact law
       is derived in the notebook 01_quickstart.

    Examples
    --------
    One label is missing, among the rows predicted positive, and is positive with probability 0.6:

    >>> coin = IntegerLaw(0, np.array([0.4, 0.6]), 1, 0.6, 0.24, 0.4, 0.6)
    >>> none = IntegerLaw(0, np.array([1.0]), 0, 0.0, 0.0, 1.0, 1.0)
    >>> from labelbayes.metrics.confusion import COUNT_METRICS
    >>> law = CountLaw(COUNT_METRICS["precision"], (3, 0, 1, 2), coin, none)
    >>> law.atoms().support.tolist(), round(law.mean, 2), round(law.prob_at_least(0.8), 2)
    ([0.75, 1.0], 0.9, 0.6)
    """

    metric: CountMetric
    known: tuple[int, int, int, int]
    predicted_positive: IntegerLaw
    predicted_negative: IntegerLaw

    @cached_property
    def grid(self) -> CountGrid:
        """The metric on all pairs of counts."""
        return CountGrid(
            self.metric, self.known, ((self.predicted_positive, self.predicted_negative),)
        )

    @cached_property
    def undefined_prob(self) -> float:
        """Probability that the metric is 0/0, right even where far below 1e-16."""
        return self.grid.undefined_prob(self.grid.pairs[0])

    @cached_property
    def defined_prob(self) -> float:
        """Probability that it is not, right even where it is very small."""
        return self.grid.defined_prob(self.grid.pairs[0])

    @property
    def is_undefined(self) -> bool:
        """Whether the metric is undefined for certain, or as good as."""
        return self.defined_prob == 0.0

    @property
    def undefined_reason(self) -> str:
        """When the metric is 0/0; empty where that cannot happen."""
        return self.metric.undefined_when if any(self.grid.undefined_corners) else ""

    @cached_property
    def _moments(self) -> tuple[float, float]:
        if self.is_undefined:
            return math.nan, math.nan
        if isinstance(self.metric, RatioMetric) and self.metric.has_fixed_denominator:
            return self._linear_moments(self.metric)
        return pair_moments(self.grid.value, self.predicted_positive, self.predicted_negative)

    def _linear_moments(self, metric: RatioMetric) -> tuple[float, float]:
        """Moments where the denominator is the same for every completion."""
        first, second = self.predicted_positive, self.predicted_negative
        corner = self.grid.value(np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]))
        slope_u, slope_v = corner[1] - corner[0], corner[2] - corner[0]
        mean = float(self.grid.value(np.array(first.mean), np.array(second.mean)))
        return mean, math.sqrt(slope_u**2 * first.variance + slope_v**2 * second.variance)

    @property
    def mean(self) -> float:
        """Mean given that the metric is defined; nan where it never is."""
        return self._moments[0]

    @property
    def sd(self) -> float:
        """Standard deviation given that the metric is defined."""
        return self._moments[1]

    def _mass_up_to(self, limit: float) -> float:
        return self.grid.mass_up_to(limit)

    def _quantile(self, q: float) -> float:
        return self.grid.quantile(q)

    def atoms(self, limit: int = 1_000_000) -> DiscreteLaw:
        """Return the law as a list of values, equal values merged.

        Parameters
        ----------
        limit : int, default 1_000_000
            Most pairs of counts to visit.

        Returns
        -------
        DiscreteLaw
            Values with positive probability, ascending.

        Raises
        ------
        ValueError
            If there are more pairs than `limit`; use `cdf` and `quantile`, which need no list.
        """
        first, second = self.predicted_positive, self.predicted_negative
        n_pairs = len(first.pmf) * len(second.pmf)
        if n_pairs > limit:
            raise ValueError(
                f"`limit` must reach the number of pairs of counts; got {limit} for {n_pairs}. "
                "Use `cdf` or `quantile`, which need no list, or raise it."
            )
        if self.is_undefined:
            return DiscreteLaw(np.empty(0), np.empty(0), 1.0, self.undefined_reason)
        values, mass = self.grid.cells_between(self.metric.lowest - 1.0, self.metric.highest + 1.0)
        support, pmf = merge_atoms(values, mass)
        return DiscreteLaw(support, pmf / pmf.sum(), self.undefined_prob, self.undefined_reason)

    def _draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        if self.defined_prob < RARELY_DEFINED:
            # Waiting for a draw that is defined could take forever: invert the cdf instead.
            return self.quantile(rng.random(n))
        kept: list[FloatArray] = []
        missing = n
        while missing > 0:
            u = self.predicted_positive.draws(missing, rng)
            v = self.predicted_negative.draws(missing, rng)
            values = self.grid.value(u, v)
            kept.append(values[~np.isnan(values)])
            missing -= len(kept[-1])
        return np.concatenate(kept) if kept else np.empty(0)


def merge_atoms(values: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sort values and add up the probabilities of equal ones.

    Parameters
    ----------
    values, mass : ndarray of float, shape (k,)
        Values in any order and their probabilities.

    Returns
    -------
    tuple of ndarray
        Distinct values with positive probability, ascending, and their probabilities.
    """
    positive = mass > 0
    order = np.argsort(values[positive])
    values, mass = values[positive][order], mass[positive][order]
    if not len(values):
        return values, mass
    starts = np.flatnonzero(np.diff(values, prepend=-math.inf) > ATOM_WIDTH)
    return values[starts], np.add.reduceat(mass, starts)
