"""A normal law on the scale of log odds, for rates near 0 and areas near 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from labelbayes._checks import FloatArray
from labelbayes.results.distribution import Law


@dataclass(frozen=True, eq=False, repr=False)
class LogitLaw(Law):
    """The confidence distribution of an estimate whose log odds are normal.

    Parameters
    ----------
    mean : float, default nan
        The estimate, strictly between 0 and 1; the median of the law.
    sd : float, default nan
        Its standard error, greater than 0, on the scale of the metric.
    lowest, highest : float, default 0.0 and 1.0
        Range of the metric: no quantile or draw leaves it.

    Notes
    -----
    **Assumes** that the log odds of the estimate are normal with the delta method's standard error
    sd / (mean (1 - mean)). Limits stay inside (0, 1) and are wider away from its nearer end.

    Examples
    --------
    >>> law = LogitLaw(0.95, 0.02)
    >>> law.interval().high < 1, round(float(law.quantile(0.5)), 3)
    (True, 0.95)
    """

    mean: float = math.nan
    sd: float = math.nan
    lowest: float = 0.0
    highest: float = 1.0

    @property
    def undefined_prob(self) -> float:
        """0: there is an estimate."""
        return 0.0

    @property
    def undefined_reason(self) -> str:
        """Empty: there is an estimate."""
        return ""

    @property
    def _width(self) -> float:
        return self.sd / (self.mean * (1 - self.mean))

    def values_at(self, score: FloatArray) -> FloatArray:
        """Return the metric at standard normal scores.

        Parameters
        ----------
        score : ndarray of float
            Standard normal scores.

        Returns
        -------
        ndarray of float
            Values inside the range, of the same shape.

        Examples
        --------
        >>> LogitLaw(0.75, 0.1).values_at(np.array([0.0]))
        array([0.75])
        """
        values = expit(logit(self.mean) + self._width * np.asarray(score, dtype=np.float64))
        return np.clip(values, self.lowest, self.highest)

    def _mass_up_to(self, limit: float) -> float:
        if limit < self.lowest:
            return 0.0
        if limit >= self.highest:
            return 1.0
        if not 0 < limit < 1:
            return float(limit >= 1)
        return float(ndtr((logit(limit) - logit(self.mean)) / self._width))

    def _quantile(self, q: float) -> float:
        score = float(ndtri(q))
        if math.isinf(score):
            return self.lowest if score < 0 else self.highest
        return float(self.values_at(np.array(score)))

    def _draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.values_at(rng.standard_normal(n))
