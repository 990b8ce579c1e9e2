"""The grid of two counts of positives: how much of it lies at or below a value of a metric."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.metrics.confusion import CountMetric, RatioMetric
from labelbayes.results.bracket import End, cut
from labelbayes.results.distribution import ATOM_WIDTH, CDF_SLACK
from labelbayes.results.integer_law import IntegerLaw

CountPair = tuple[IntegerLaw, IntegerLaw]

#: A grid of so many cells is listed and sorted once, for every question that follows.
MOST_LISTED = 4_096
#: In larger ones the search for a quantile ends when so many are left.
FEW_CELLS = 4_096
#: In a bracket this short many cells can only be equal ones.
NARROW = 1e-9
#: Asked for a probability of 0, a quantile is the smallest value that has any.
SMALLEST_PROB = 1e-300


@dataclass(frozen=True, eq=False)
class CountGrid:
    """A metric on the grid of (U, V), and one or several laws of that pair, mixed equally.

    U counts the positives among missing rows that are predicted positive, V those among missing
    rows that are predicted negative. A count metric is non-decreasing in U and non-increasing in
    V, so the cells with metric <= t form a staircase: for each u, all v from some first v on.
    The staircase depends on t alone, so that any number of laws shares it.

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

    def _holds(self, u: IntArray, v: IntArray, limit: float) -> BoolArray:
        """Whether metric <= limit; undefined counts as "no" at (0, 0) and as "yes" at (all, all).

        So that in each row of the grid the answer turns from no to yes once, as v grows.
        """
        value = self.value(u, v)
        with np.errstate(invalid="ignore"):
            return (value <= limit) | (np.isnan(value) & (u + v > 0))

    def _first_v(self, limit: float, bracket: tuple[IntArray, IntArray] | None = None) -> IntArray:
        """Smallest v, for each u, at which metric <= limit; known to lie in `bracket`."""
        metric = self.metric
        start, stop = self._v_range
        lowest, highest = bracket or (np.full(len(self._u), start), np.full(len(self._u), stop))
        if not isinstance(metric, RatioMetric):
            return self._bisect(limit, lowest, highest)
        if self._has_lines and metric.numerator[2] == metric.numerator[3]:
            holds = self._holds(self._u, np.full(len(self._u), start), limit)
            return np.where(holds, start, stop)  # the metric does not depend on v
        limit = min(max(limit, metric.lowest - 1.0), metric.highest + 1.0)
        weights = np.array(metric.numerator) - limit * np.array(metric.denominator)
        if not weights[2] < weights[3]:  # such a limit is out of range, or at its end
            return self._bisect(limit, lowest, highest)
        return self._solve(weights, limit)

    def _solve(self, weights: FloatArray, limit: float) -> IntArray:
        """Solve numerator <= limit * denominator for v, then let the metric itself decide."""
        u, (start, stop) = self._u, self._v_range
        tp, fp, fn, tn = self.known
        base = weights @ [tp, fp + self.sizes[0], fn, tn + self.sizes[1]]
        root = np.ceil((base + (weights[0] - weights[1]) * u) / (weights[3] - weights[2]))
        found = np.clip(root, start, stop).astype(np.int64)
        # Round-off can put the root off by one, and atoms must fall on the right side.
        before = np.maximum(found - 1, start)
        found = np.where(self._holds(u, before, limit), before, found)
        here = np.minimum(found, stop - 1)
        return np.where((found == here) & ~self._holds(u, here, limit), found + 1, found)

    def _bisect(self, limit: float, low: IntArray, high: IntArray) -> IntArray:
        u, stop = self._u, self._v_range[1]
        while (low < high).any():
            middle = (low + high) // 2
            holds = self._holds(u, np.minimum(middle, stop - 1), limit) | (middle == stop)
            high = np.where(holds, middle, high)
            low = np.where(holds, low, np.minimum(middle + 1, high))
        return low

    @cached_property
    def _listed(self) -> tuple[FloatArray, FloatArray] | None:
        """The defined cells by their value, and P(metric <= value); None where they are many."""
        n_rows, n_columns = len(self._u), self._v_range[1] - self._v_range[0]
        if n_rows * n_columns > MOST_LISTED:
            return None
        v = np.arange(*self._v_range)
        first = np.array([law.prob(self._u) for law, _ in self.pairs])
        second = np.array([law.prob(v) for _, law in self.pairs])
        mass, values = (first.T @ second).ravel(), self.value(self._u[:, None], v).ravel()
        defined = ~np.isnan(values)
        order = np.argsort(values[defined], kind="stable")
        return values[defined][order], np.cumsum(mass[defined][order]) / self._defined

    def mass_up_to(self, limit: float) -> float:
        """Return P(metric <= limit | defined).

        Parameters
        ----------
        limit : float
            A value, to the bit.

        Returns
        -------
        float
            Probability.
        """
        if self._listed is None:
            return self._mass(self._first_v(limit))
        values, upto = self._listed
        n_below = int(np.searchsorted(values, limit, side="right"))
        return min(1.0, float(upto[n_below - 1])) if n_below else 0.0

    def _mass(self, first_v: IntArray) -> float:
        """Probability of the cells from `first_v` on, given "defined"."""
        total = 0.0
        for (first, second), (tail, open_tail) in zip(self.pairs, self._tails, strict=True):
            part = first_v[first.start - self._u[0] : first.stop - self._u[0]]
            above = tail.take(part - second.start, mode="clip")
            if open_tail is not None:
                above[-1] = open_tail.take(part[-1] - second.start, mode="clip")
            total += float(first.pmf @ above)
        return min(1.0, total / self._defined)

    def cells_between(self, low: float, high: float) -> tuple[FloatArray, FloatArray]:
        """Return the metric of every defined cell in (low, high], unsorted, and its probability.

        Parameters
        ----------
        low, high : float
            Values of the metric.

        Returns
        -------
        tuple of ndarray of float, shape (k,)
            Values, and probabilities given "defined".
        """
        return self._cells(self._first_v(high), self._first_v(low))

    def _cells(self, start: IntArray, stop: IntArray) -> tuple[FloatArray, FloatArray]:
        lengths = stop - start
        row = np.repeat(np.arange(len(lengths)), lengths)
        offset = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        u, v = self._u[row], start[row] + offset
        mass = np.zeros(len(row))
        for first, second in self.pairs:
            mass += first.prob(u) * second.prob(v)
        values = self.value(u, v)
        defined = ~np.isnan(values)
        return values[defined], mass[defined] / self._defined

    def quantile(self, q: float) -> float:
        """Return the smallest value of the metric whose cdf is at least `q`.

        Parameters
        ----------
        q : float
            Probability in [0, 1].

        Returns
        -------
        float
            A value that the metric takes.

        Notes
        -----
        The laws are close to normal, so the bracket is cut where the normal scores of the cdf,
        drawn as a straight line between its ends, reach that of `q`; a little beyond, so that
        the longer part falls away. Where three steps did not halve it, the next one does.
        """
        target = max(q - CDF_SLACK, SMALLEST_PROB)
        if self._listed is not None:
            values, upto = self._listed
            # Nothing reaches it only where round-off left the last bit of mass out: the top then.
            return float(values[min(int(np.searchsorted(upto, target)), len(values) - 1)])
        wanted = float(ndtri(target))
        n_cells = len(self._u) * (self._v_range[1] - self._v_range[0])
        every, none = (np.full(len(self._u), v) for v in self._v_range)
        low = End(self.metric.lowest - 1.0, 0.0, -math.inf, none, 0)
        high = End(self.metric.highest + 1.0, 1.0, math.inf, every, n_cells)
        center, spread = self._rough
        point = center + wanted * spread
        width, step = math.inf, 0
        while high.n_cells - low.n_cells > FEW_CELLS:
            if self._has_lines or high.at - low.at < NARROW:
                largest = self._largest(high.first_v)
                if largest - self._smallest_above(low.first_v) <= ATOM_WIDTH:
                    return largest
            if step % 3 == 2:
                is_slow, width = high.at - low.at > width / 2, high.at - low.at
                point = math.nan if is_slow else point
            if not low.at < point < high.at:
                point = (low.at + high.at) / 2
            first_v = self._first_v(point, (high.first_v, low.first_v))
            end = self._end(point, wanted, first_v)
            low, high = (end, high) if end.mass < target else (low, end)
            point = cut(low, high, spread)
            step += 1
        values, mass = self._cells(high.first_v, low.first_v)
        order = np.argsort(values)
        values = values[order]
        reached = low.mass + np.cumsum(mass[order]) >= target
        # Nothing reaches it only where round-off left the last bit of mass out: the top then.
        return float(values[np.argmax(reached)] if reached.any() else values[-1])

    def _end(self, at: float, wanted: float, first_v: IntArray) -> End:
        mass = self._mass(first_v)
        n_cells = int((self._v_range[1] - first_v).sum())
        return End(at, mass, float(ndtri(mass)) - wanted, first_v, n_cells)

    @property
    def _has_lines(self) -> bool:
        """Whether one value is shared by a whole line of cells, as with accuracy or precision."""
        return isinstance(self.metric, RatioMetric) and self.metric.has_fixed_denominator

    @cached_property
    def _rough(self) -> tuple[float, float]:
        """Roughly the mean and the standard deviation, to start a search from."""
        means = np.array([(first.mean, second.mean) for first, second in self.pairs])
        variances = np.mean([(u.variance, v.variance) for u, v in self.pairs], axis=0)
        u, v = means.mean(axis=0)
        tp, fp, fn, tn = self.known
        by_tp, by_fp, by_fn, by_tn = self.metric.gradient(
            [tp + u, fp + self.sizes[0] - u, fn + v, tn + self.sizes[1] - v]
        )
        within = np.square([by_tp - by_fp, by_fn - by_tn]) @ variances
        spread = math.sqrt(within + self.value(means[:, 0], means[:, 1]).var())
        return float(self.value(u, v)), spread

    def _largest(self, first_v: IntArray) -> float:
        """Largest value of the cells from `first_v` on."""
        inside = first_v < self._v_range[1]
        return float(np.fmax.reduce(self.value(self._u[inside], first_v[inside]), initial=-np.inf))

    def _smallest_above(self, first_v: IntArray) -> float:
        """Smallest value of the cells before `first_v`."""
        inside = first_v > self._v_range[0]
        values = self.value(self._u[inside], first_v[inside] - 1)
        return float(np.fmin.reduce(values, initial=np.inf))


def _tail(pmf: FloatArray) -> FloatArray:
    """Return the sums of the entries from each one on, and 0 past the last."""
    return np.append(np.cumsum(pmf[::-1])[::-1], 0.0)
