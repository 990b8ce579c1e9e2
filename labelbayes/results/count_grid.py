"""The grid of two counts of positives: how much of it lies at or below a value of a metric."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.metrics.confusion import RatioMetric
from labelbayes.results.bracket import End, cut
from labelbayes.results.count_cells import CountCells
from labelbayes.results.distribution import ATOM_WIDTH, CDF_SLACK
from labelbayes.results.ratio_lines import find_lines

#: A grid of so many cells is listed and sorted once, for every question that follows.
MOST_LISTED = 4_096
#: In larger ones the search for a quantile ends when so many are left.
FEW_CELLS = 4_096
#: In a bracket this short many cells can only be equal ones.
NARROW = 1e-9
#: Numbers held at once where many values are asked for.
BLOCK = 1 << 16
#: Asked for a probability of 0, a quantile is the smallest value that has any.
SMALLEST_PROB = 1e-300


@dataclass(frozen=True, eq=False)
class CountGrid(CountCells):
    """How much of the grid of two counts lies at or below a value of the metric.

    Parameters
    ----------
    metric : CountMetric
        The metric.
    known : tuple of int
        (tp, fp, fn, tn) of the labeled rows.
    pairs : tuple of tuple of IntegerLaw
        Laws of U and V, as in `CountCells`.

    Notes
    -----
    The cells with metric <= t form a staircase: for each u, all v from some first v on. It
    depends on t alone, so that any number of laws shares it.
    """

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
        if not isinstance(metric, RatioMetric):
            return self._bisect(limit, *(bracket or self._ends))
        if self._is_flat:
            every, none = self._ends
            # The metric does not depend on v.
            return np.where(self._holds(self._u, every, limit), every, none)
        lines = find_lines(metric, self.known, self.sizes, self._u, np.array([limit]))
        if not lines.is_line[0]:  # such a limit is out of range, or at its end
            return self._bisect(limit, *(bracket or self._ends))
        start, stop = self._v_range
        found = self._round_up(lines.v[0])
        # Round-off can put the line off by one, and atoms must fall on the right side.
        near = np.flatnonzero(lines.is_near[0])
        u, at = self._u[near], found[near]
        before = np.maximum(at - 1, start)
        at = np.where(self._holds(u, before, limit), before, at)
        here = np.minimum(at, stop - 1)
        found[near] = np.where((at == here) & ~self._holds(u, here, limit), at + 1, at)
        return found

    def _round_up(self, v: FloatArray) -> IntArray:
        return np.clip(np.ceil(v), *self._v_range).astype(np.int64)

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
            return float(self._mass(self._first_v(limit)))
        values, upto = self._listed
        n_below = int(np.searchsorted(values, limit, side="right"))
        return min(1.0, float(upto[n_below - 1])) if n_below else 0.0

    def masses_up_to(self, limits: FloatArray) -> FloatArray:
        """Return P(metric <= limit | defined) at many limits.

        Parameters
        ----------
        limits : ndarray of float, shape (k,)
            Values, to the bit.

        Returns
        -------
        ndarray of float, shape (k,)
            Probabilities, those of `mass_up_to`.
        """
        metric, masses = self.metric, np.full(len(limits), np.nan)
        if self._is_flat:
            values = self.value(self._u, self._ends[0])
            upto = np.cumsum(np.sum([law.prob(self._u) for law, _ in self.pairs], axis=0))
            below = np.append(0.0, upto)[np.searchsorted(values, limits, side="right")]
            return np.minimum(below / self._defined, 1.0)
        if isinstance(metric, RatioMetric) and self._listed is None:
            size = max(1, BLOCK // len(self._u))
            for first in range(0, len(limits), size):
                part = slice(first, first + size)
                lines = find_lines(metric, self.known, self.sizes, self._u, limits[part])
                masses[part] = self._mass(self._round_up(lines.v))
                # An atom that may lie on either side of its limit needs a closer look.
                masses[part][~lines.is_line | lines.is_near.any(axis=1)] = np.nan
        for i in np.flatnonzero(np.isnan(masses)).tolist():
            masses[i] = self.mass_up_to(float(limits[i]))
        return masses

    def _mass(self, first_v: IntArray) -> FloatArray:
        """Probability of the cells from `first_v` on, given "defined", along its last axis."""
        total = np.zeros(first_v.shape[:-1])
        for (first, second), (tail, open_tail) in zip(self.pairs, self._tails, strict=True):
            part = first_v[..., first.start - self._u[0] : first.stop - self._u[0]]
            above = tail.take(part - second.start, mode="clip")
            if open_tail is not None:
                above[..., -1] = open_tail.take(part[..., -1] - second.start, mode="clip")
            total += above @ first.pmf
        return np.minimum(total / self._defined, 1.0)

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
        every, none = self._ends
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
        mass = float(self._mass(first_v))
        n_cells = int((self._v_range[1] - first_v).sum())
        return End(at, mass, float(ndtri(mass)) - wanted, first_v, n_cells)

    @property
    def _has_lines(self) -> bool:
        """Whether one value is shared by a whole line of cells, as with accuracy or precision."""
        return isinstance(self.metric, RatioMetric) and self.metric.has_fixed_denominator

    @property
    def _is_flat(self) -> bool:
        """Whether the metric depends on U alone, as precision does."""
        metric = self.metric
        return (
            isinstance(metric, RatioMetric)
            and metric.has_fixed_denominator
            and metric.numerator[2] == metric.numerator[3]
        )

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
