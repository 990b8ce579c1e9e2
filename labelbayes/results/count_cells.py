"""A metric on the pairs of two counts of positives, and the laws of these pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labelbayes._checks import FloatArray, IntArray
from labelbayes.metrics.confusion import CountMetric
from labelbayes.results.integer_law import IntegerLaw

CountPair = tuple[IntegerLaw, IntegerLaw]


@dataclass(frozen=True, eq=False)
class CountCells:
    """A metric on the grid of (U, V), and one or several laws of that pair, mixed equally.

    U counts the positives among missing rows that are predicted positive, V those among missing
    rows that are predicted negative. A count metric is non-decreasing in U and non-increasing in
    V.

    Parameters
    ----------
    metric : CountMetric
        The metric.
    known : tuple of int
        (tp, fp, fn, tn) of the labeled rows.
    pairs : tuple of tuple of IntegerLaw
        Laws of U and V, independent within a pair; all over the same numbers of rows.
    """

    metric: CountMetric
    known: tuple[int, int, int, int]
    pairs: tuple[CountPair, ...]

    @property
    def sizes(self) -> tuple[int, int]:
        """Missing rows predicted positive and negative: the largest U and V."""
        return self.pairs[0][0].n, self.pairs[0][1].n

    def value(self, u: FloatArray | IntArray, v: FloatArray | IntArray) -> FloatArray:
        """Return the metric at counts that broadcast; nan where it is undefined.

        Parameters
        ----------
        u, v : ndarray
            Positives among missing rows predicted positive and negative.

        Returns
        -------
        ndarray of float
            The metric of the completed confusion matrix.
        """
        tp, fp, fn, tn = self.known
        n_positive, n_negative = self.sizes
        u, v = np.asarray(u, dtype=float), np.asarray(v, dtype=float)
        value = self.metric.value(tp + u, fp + (n_positive - u), fn + v, tn + (n_negative - v))
        if np.shape(value) == u.shape == v.shape:
            return np.asarray(value)
        return np.broadcast_to(value, np.broadcast_shapes(u.shape, v.shape))

    @cached_property
    def undefined_corners(self) -> tuple[bool, bool, bool]:
        """Whether the metric is undefined at (0, 0), at (all, all), and everywhere."""
        n_positive, n_negative = self.sizes
        # A cell that is neither corner, where there is one: undefined there is undefined all over.
        u, v = 0, 0
        if n_positive and n_negative:
            u = n_positive
        elif n_positive > 1:
            u = 1
        elif n_negative > 1:
            v = 1
        corners = self.value(np.array([0, n_positive, u]), np.array([0, n_negative, v]))
        at_none, at_all, inside = np.isnan(corners).tolist()
        is_one_cell = n_positive == n_negative == 0
        return at_none, at_all and not is_one_cell, at_none and at_all and inside

    def undefined_prob(self, pair: CountPair) -> float:
        """Return the probability of the undefined cells, right even where far below 1e-16.

        Parameters
        ----------
        pair : tuple of IntegerLaw
            One of the pairs.

        Returns
        -------
        float
            Probability.
        """
        at_none, at_all, everywhere = self.undefined_corners
        if everywhere:
            return 1.0
        first, second = pair
        return min(
            1.0,
            at_none * first.prob_none * second.prob_none
            + at_all * first.prob_all * second.prob_all,
        )

    def defined_prob(self, pair: CountPair) -> float:
        """Return the probability of the defined cells, right even where it is very small.

        Parameters
        ----------
        pair : tuple of IntegerLaw
            One of the pairs.

        Returns
        -------
        float
            Probability.
        """
        undefined = self.undefined_prob(pair)
        if undefined < 0.5 or undefined == 1.0:
            return 1.0 - undefined
        # Here the undefined cells are in the window, and the rest is summed without them.
        first, second = pair
        at_none, at_all, _ = self.undefined_corners
        in_first = slice(1 if at_none and first.start == second.start == 0 else 0, None)
        ends = first.stop > first.n and second.stop > second.n
        in_last = slice(0, -1 if at_all and ends else None)
        if len(first.pmf) == 1:
            return float(first.pmf[0] * second.pmf[in_first][in_last].sum())
        return float(
            first.pmf[0] * second.pmf[in_first].sum()
            + first.pmf[1:-1].sum()
            + first.pmf[-1] * second.pmf[in_last].sum()
        )

    @cached_property
    def _defined(self) -> float:
        """Sum over the pairs of P(defined)."""
        return math.fsum(self.defined_prob(pair) for pair in self.pairs)

    @cached_property
    def _u(self) -> IntArray:
        """U from the first to the last count that any window holds."""
        starts, stops = zip(*((first.start, first.stop) for first, _ in self.pairs), strict=True)
        return np.arange(min(starts), max(stops), dtype=np.int64)

    @cached_property
    def _v_range(self) -> tuple[int, int]:
        starts, stops = zip(*((second.start, second.stop) for _, second in self.pairs), strict=True)
        return min(starts), max(stops)

    @property
    def _ends(self) -> tuple[IntArray, IntArray]:
        """First v of each u where every cell counts, and where none does."""
        start, stop = (np.full(len(self._u), v) for v in self._v_range)
        return start, stop

    @cached_property
    def _tails(self) -> list[tuple[FloatArray, FloatArray | None]]:
        """For each pair P(V >= v) for v of the window and one past it.

        Beside it the same without V = all, where the metric is undefined at (all, all) and the
        windows reach it: taken off later, it would take the small rest along.
        """
        tails = []
        for first, second in self.pairs:
            reaches = first.stop > first.n and second.stop > second.n
            loses = self.undefined_corners[1] and reaches
            tails.append((_tail(second.pmf), _tail(second.pmf[:-1]) if loses else None))
        return tails


def _tail(pmf: FloatArray) -> FloatArray:
    """Return the sums of the entries from each one on, and 0 past the last."""
    return np.append(np.cumsum(pmf[::-1])[::-1], 0.0)
