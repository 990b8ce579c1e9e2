"""The exact law of the difference of two quantities that are independent under each fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from labelbayes._checks import FloatArray, IntArray
from labelbayes.results.distribution import ATOM_WIDTH, CDF_SLACK, DiscreteLaw, Law
from labelbayes.results.value_table import ValueTable, merge_values

#: A step of the search goes this share of the bracket beyond where it expects the quantile, so
#: that the longer part falls away.
BEYOND = 0.02


class _Scan(NamedTuple):
    """What lies on either side of a limit."""

    #: P(difference <= limit | defined).
    mass: float
    #: Largest value at or below the limit, smallest one above it.
    below: float
    above: float


@dataclass(frozen=True, eq=False, repr=False)
class DifferenceLaw(Law):
    """Law of A - B, where A and B are independent given how the belief came out.

    Given p, the labels of different rows are independent draws; so are two metrics that rest on
    different rows, such as those of two groups. Where p was fitted several times, the laws of
    the difference under each fit are mixed: one fit serves both sides, so that what the fit
    does to both cancels.

    Parameters
    ----------
    first, second : ValueTable
        Values and probabilities of A and of B under the same fits.
    undefined_prob : float, default 0.0
        Probability that A or B is undefined.
    undefined_reason : str, default ""
        When that is.

    Notes
    -----
    ``P(A - B <= t)`` is the mean over the fits of ``sum_x P(A = x) P(B >= x - t)``: one look-up
    for each value of A, or of B where it takes fewer, and no list of the differences.

    Examples
    --------
    >>> a = ValueTable(np.array([0.5, 1.0]), np.array([[0.25, 0.75]]))
    >>> b = ValueTable(np.array([0.5, 0.75]), np.array([[0.5, 0.5]]))
    >>> law = DifferenceLaw(a, b)
    >>> law.mean, float(law.cdf(0.0)), float(law.quantile(0.5))
    (0.25, 0.25, 0.25)
    """

    first: ValueTable
    second: ValueTable
    undefined_prob: float = 0.0
    undefined_reason: str = ""

    @cached_property
    def _weights(self) -> FloatArray:
        """Probability of each fit given that both sides are defined, shape (n_fits,)."""
        defined = self.first.defined * self.second.defined
        total = defined.sum()
        return defined / total if total > 0 else np.zeros_like(defined)

    @cached_property
    def _moments(self) -> tuple[float, float]:
        used = self._weights > 0
        if not used.any():
            return math.nan, math.nan
        weights = self._weights[used]
        (mean_a, var_a), (mean_b, var_b) = self.first.moments, self.second.moments
        means = mean_a[used] - mean_b[used]
        mean = float(weights @ means)
        within = var_a[used] + var_b[used]
        return mean, math.sqrt(float(weights @ (within + (means - mean) ** 2)))

    @property
    def mean(self) -> float:
        """Mean given that both sides are defined; nan where that never is."""
        return self._moments[0]

    @property
    def sd(self) -> float:
        """Standard deviation given that both sides are defined."""
        return self._moments[1]

    @cached_property
    def _rows(self) -> tuple[bool, FloatArray, FloatArray]:
        """Whether B is looked up for each value of A; masses to look up from; tails to look in.

        The masses are those of the side with fewer values, divided by the probability of
        "defined" over all fits.
        """
        total = float((self.first.defined * self.second.defined).sum())
        if len(self.first.values) <= len(self.second.values):
            return True, self.first.mass / total, self.second.from_on
        return False, self.second.mass / total, self.first.up_to

    def _scan(self, limit: float) -> _Scan:
        a, b = self.first.values, self.second.values
        looks_at_b, mass, tails = self._rows
        if looks_at_b:
            # A - B <= limit where B >= A - limit.
            at: IntArray = np.searchsorted(b, a - limit, side="left")
            below, above = _apart(a, b, at), _apart(a, b, at - 1)
        else:
            at = np.searchsorted(a, b + limit, side="right")
            below, above = -_apart(b, a, at - 1), -_apart(b, a, at)
        found = sum(float(row @ tail[at]) for row, tail in zip(mass, tails, strict=True))
        return _Scan(
            min(1.0, found),
            float(np.fmax.reduce(below, initial=-math.inf)),
            float(np.fmin.reduce(above, initial=math.inf)),
        )

    def _mass_up_to(self, limit: float) -> float:
        return self._scan(limit).mass

    def _quantile(self, q: float) -> float:
        lowest = float(self.first.values[0] - self.second.values[-1])
        highest = float(self.first.values[-1] - self.second.values[0])
        target = q - CDF_SLACK
        wanted = float(ndtri(max(target, 0.0)))
        # The cdf is below the target at `low` and reaches it at `high`, a value it steps at.
        low, low_gap = lowest - 1.0, -math.inf
        high, high_gap = highest, math.inf
        point, step = self.mean + (wanted if math.isfinite(wanted) else 0.0) * self.sd, 0
        while True:
            if high - low <= 2 * ATOM_WIDTH:
                return high
            if not low < point < high:
                point = (low + high) / 2
            scan = self._scan(point + ATOM_WIDTH)
            if scan.mass >= target and scan.mass > 0:
                high, high_gap = scan.below, float(ndtri(scan.mass)) - wanted
            else:
                low, low_gap = point, float(ndtri(scan.mass)) - wanted
                if scan.above >= high - ATOM_WIDTH:
                    return high
            point = math.nan if step % 3 == 2 else _cut(low, low_gap, high, high_gap)
            step += 1

    def _draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        picks = rng.multinomial(n, self._weights / self._weights.sum())
        drawn = [
            _draw(self.first, fit, int(size), rng) - _draw(self.second, fit, int(size), rng)
            for fit, size in enumerate(picks)
            if size
        ]
        return rng.permutation(np.concatenate(drawn)) if drawn else np.empty(0)

    def atoms(self, limit: int = 1_000_000) -> DiscreteLaw:
        """Return the law as a list of values, equal values merged.

        Parameters
        ----------
        limit : int, default 1_000_000
            Most pairs of values to visit.

        Returns
        -------
        DiscreteLaw
            Values with positive probability, ascending.

        Raises
        ------
        ValueError
            If there are more pairs than `limit`; `cdf` and `quantile` need no list.
        """
        n_pairs = len(self.first.values) * len(self.second.values)
        if n_pairs > limit:
            raise ValueError(
                f"`limit` must reach the number of pairs of values; got {limit} for {n_pairs}. "
                "Use `cdf` or `quantile`, which need no list, or raise it."
            )
        values = np.subtract.outer(self.first.values, self.second.values).ravel()
        mass = np.einsum("ri,rj->ij", self.first.mass, self.second.mass).ravel()
        kept = mass > 0
        table = merge_values(values[kept], mass[kept][None, :])
        total = table.mass.sum()
        pmf = table.mass[0] / total if total > 0 else table.mass[0]
        return DiscreteLaw(table.values, pmf, self.undefined_prob, self.undefined_reason)


def _apart(values: FloatArray, others: FloatArray, at: IntArray) -> FloatArray:
    """Return ``values - others[at]``, nan where there is no such entry."""
    inside = (at >= 0) & (at < len(others))
    return np.where(inside, values - others[np.where(inside, at, 0)], math.nan)


def _draw(table: ValueTable, fit: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Return independent draws of a side under one fit, given that it is defined."""
    cumulative = table.up_to[fit, 1:]
    picks = np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right")
    return table.values[np.minimum(picks, len(table.values) - 1)]


def _cut(low: float, low_gap: float, high: float, high_gap: float) -> float:
    """Where the normal scores of the cdf, as a straight line, reach those of the target.

    nan where an end has no score.
    """
    if not (math.isfinite(low_gap) and math.isfinite(high_gap) and high_gap > low_gap):
        return math.nan
    share = -low_gap / (high_gap - low_gap)
    share += BEYOND * share if share < 0.5 else -BEYOND * (1 - share)
    return low + share * (high - low)
