"""Gaussian laws of a metric: the matched normal and the ratio of two normals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from labelbayes._checks import FloatArray
from labelbayes.results.distribution import Law


@dataclass(frozen=True, eq=False, repr=False)
class NormalLaw(Law):
    """A normal law whose mass beyond the metric's range sits at the ends.

    Parameters
    ----------
    mean : float, default nan
        Mean of the normal; nan if the metric is never defined.
    sd : float, default nan
        Its standard deviation; 0 is a point.
    lowest, highest : float, default 0.0 and 1.0
        Range of the metric: no quantile or draw leaves it.
    undefined_prob : float, default 0.0
        Probability that the metric is 0/0.
    undefined_reason : str, default ""
        When it is.

    Examples
    --------
    >>> law = NormalLaw(0.9, 0.1)
    >>> float(law.quantile(0.975)), round(float(law.cdf(0.9)), 9)
    (1.0, 0.5)
    """

    mean: float = math.nan
    sd: float = math.nan
    lowest: float = 0.0
    highest: float = 1.0
    undefined_prob: float = 0.0
    undefined_reason: str = ""

    def _mass_up_to(self, limit: float) -> float:
        if limit < self.lowest:
            return 0.0
        if limit >= self.highest:
            return 1.0
        if self.sd == 0:
            return float(limit >= self.mean)
        return float(ndtr((limit - self.mean) / self.sd))

    def _quantile(self, q: float) -> float:
        shift = self.sd * float(ndtri(q)) if self.sd else 0.0
        return min(max(self.mean + shift, self.lowest), self.highest)

    def _draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        return np.clip(rng.normal(self.mean, self.sd, n), self.lowest, self.highest)


@dataclass(frozen=True, eq=False, repr=False)
class RatioLaw(Law):
    """Ratio of two correlated normals: P(ratio <= t) = Phi(g(t)), after Fieller.

    Parameters
    ----------
    mean_numerator, mean_denominator : float
        Means; the denominator's is positive.
    var_numerator, var_denominator, covariance : float
        Second moments.
    lowest, highest : float, default 0.0 and 1.0
        Range of the metric: mass beyond it sits at the ends.
    undefined_prob : float, default 0.0
        Probability that the metric is 0/0.
    undefined_reason : str, default ""
        When it is.

    Notes
    -----
    **Assumes** that the denominator is positive almost surely; the error of this cdf is at most
    the normal probability that it is not. `mean` and `sd` are those of the matched normal, since
    a ratio of normals has none.

    References
    ----------
    .. [1] E. C. Fieller, "Some problems in interval estimation", Journal of the Royal
       Statistical Society B 16(2), 175-185, 1954.

    Examples
    --------
    >>> law = RatioLaw(5.0, 10.0, 1.0, 1.0, 0.5)
    >>> round(float(law.cdf(0.5)), 3)
    0.5
    """

    mean_numerator: float
    mean_denominator: float
    var_numerator: float
    var_denominator: float
    covariance: float
    lowest: float = 0.0
    highest: float = 1.0
    undefined_prob: float = 0.0
    undefined_reason: str = ""

    @property
    def mean(self) -> float:
        """Ratio of the means; nan where the denominator's is not positive."""
        if not self.mean_denominator > 0:
            return math.nan
        return self.mean_numerator / self.mean_denominator

    @property
    def sd(self) -> float:
        """Standard deviation of the matched normal (delta method)."""
        return (
            self._spread(self.mean) / self.mean_denominator
            if self.mean_denominator > 0
            else math.nan
        )

    def _spread(self, t: float) -> float:
        """Return the standard deviation of numerator - t denominator."""
        square = self.var_numerator - 2 * t * self.covariance + t * t * self.var_denominator
        return math.sqrt(max(square, 0.0))

    def _score(self, t: float) -> float:
        """Return the normal score of the ratio at t."""
        gap, spread = t * self.mean_denominator - self.mean_numerator, self._spread(t)
        if spread > 0:
            return gap / spread
        return math.inf if gap >= 0 else -math.inf

    def _mass_up_to(self, limit: float) -> float:
        if limit < self.lowest:
            return 0.0
        return 1.0 if limit >= self.highest else float(ndtr(self._score(limit)))

    def _quantile(self, q: float) -> float:
        wanted = float(ndtri(q))
        if self._score(self.lowest) >= wanted:
            return self.lowest
        if self._score(self.highest) <= wanted:
            return self.highest
        return float(
            brentq(lambda t: ndtr(self._score(t)) - q, self.lowest, self.highest, xtol=1e-15)
        )

    def _draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        return np.array([self._quantile(q) for q in rng.random(n)])
