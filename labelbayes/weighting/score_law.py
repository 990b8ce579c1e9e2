"""The law of a share that was 0 or 1 among all rows that were seen."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from labelbayes._checks import FloatArray
from labelbayes.results.distribution import Law


@dataclass(frozen=True, eq=False, repr=False)
class EndLaw(Law):
    """Confidence law of a metric whose estimate is an end of its range, without spread.

    Every labeled row agrees, so the influence function is 0 and says nothing. The score test
    still does: its standard error is that of the value under test (Wilson).

    Parameters
    ----------
    at : float
        The estimate, `lowest` or `highest`.
    n_effective : float >= 0
        Effective number of labeled rows behind it; with none the law reaches over the range.
    open_share : float, default 1.0
        Share of the target that is not known: 1 for the population, that of rows without a label
        for these rows.
    lowest, highest : float, default 0.0 and 1.0
        Range of the metric.
    undefined_prob : float, default 0.0
        Probability that the metric is 0/0.
    undefined_reason : str, default ""
        When it is.

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
       Journal of the American Statistical Association 22(158), 209-212, 1927.

    Examples
    --------
    >>> print(EndLaw(1.0, 50.0).interval(0.95))
    [0.929, 1.000] (95% eti)
    """

    at: float
    n_effective: float
    open_share: float = 1.0
    lowest: float = 0.0
    highest: float = 1.0
    undefined_prob: float = 0.0
    undefined_reason: str = ""

    @property
    def mean(self) -> float:
        """The estimate, at the end of the range."""
        return self.at

    @property
    def sd(self) -> float:
        """Distance from the end within which the law has the mass of one normal deviation."""
        return self._distance(float(ndtr(-1.0)))

    @property
    def _is_high(self) -> bool:
        return self.at >= self.highest

    def _distance(self, tail: float) -> float:
        """How far from the end the law reaches with this probability beyond; 0 above one half."""
        if tail >= 0.5:
            return 0.0
        z = -float(ndtri(tail))
        if self.n_effective == 0:
            return (self.highest - self.lowest) * self.open_share
        share = 1.0 if math.isinf(z) else z * z / (z * z + self.n_effective)
        return (self.highest - self.lowest) * self.open_share * share

    def _tail(self, distance: float) -> float:
        """Probability of a value at least this far from the end."""
        reach = (self.highest - self.lowest) * self.open_share
        if distance > reach:
            return 0.0
        share = distance / reach if reach > 0 else 1.0
        return float(ndtr(-math.sqrt(self.n_effective * share / (1 - share)))) if share < 1 else 0.0

    def _mass_up_to(self, limit: float) -> float:
        if self._is_high:
            return 1.0 if limit >= self.highest else self._tail(self.highest - limit)
        return 0.0 if limit < self.lowest else 1.0 - self._tail(limit - self.lowest)

    def _quantile(self, q: float) -> float:
        if self._is_high:
            return self.highest - self._distance(q)
        return self.lowest + self._distance(1.0 - q)

    def _draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        return np.array([self._quantile(q) for q in rng.random(n)])
