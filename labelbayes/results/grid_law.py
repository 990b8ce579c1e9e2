"""A continuous law given by its cdf on a grid, with moments that are known without it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from labelbayes._checks import FloatArray, read_only
from labelbayes.results.distribution import Law


@dataclass(frozen=True, eq=False, repr=False)
class GridLaw(Law):
    """A continuous law given by its cdf on a grid, linear in between.

    Parameters
    ----------
    values : ndarray of float, shape (k,)
        Values of the metric, ascending.
    cumulative : ndarray of float, shape (k,)
        P(metric <= value), not falling, ending at 1; what lies below the first value sits there.
    mean, sd : float, default nan
        Moments given that the metric is defined, known without the grid.
    undefined_prob : float, default 0.0
        Probability that the metric is 0/0.
    undefined_reason : str, default ""
        When it is.

    Examples
    --------
    >>> law = GridLaw(np.array([0.2, 0.4]), np.array([0.0, 1.0]), mean=0.3, sd=0.0577)
    >>> float(law.quantile(0.25)), round(float(law.cdf(0.3)), 12)
    (0.25, 0.5)
    """

    values: FloatArray
    cumulative: FloatArray
    mean: float = math.nan
    sd: float = math.nan
    undefined_prob: float = 0.0
    undefined_reason: str = ""

    def __post_init__(self) -> None:
        """Keep copies that nobody can change."""
        object.__setattr__(self, "values", read_only(np.array(self.values, dtype=float)))
        object.__setattr__(self, "cumulative", read_only(np.array(self.cumulative, dtype=float)))
        if self.values.shape != self.cumulative.shape or (np.diff(self.values) <= 0).any():
            raise ValueError(
                "`values` must be ascending and as long as `cumulative`; got shapes "
                f"{self.values.shape} and {self.cumulative.shape}."
            )
        rises = np.diff(self.cumulative, prepend=0.0)
        if (rises < 0).any() or self.cumulative[-1] != 1.0:
            raise ValueError(
                "`cumulative` must not fall and must end at 1; got a smallest step of "
                f"{rises.min():.6g} and a last entry of {self.cumulative[-1]:.6g}."
            )

    def _mass_up_to(self, limit: float) -> float:
        if limit < self.values[0]:
            return 0.0
        return float(np.interp(limit, self.values, self.cumulative))

    def _quantile(self, q: float) -> float:
        k = int(np.searchsorted(self.cumulative, q))
        if k == 0:
            return float(self.values[0])
        low, high = self.cumulative[k - 1], self.cumulative[k]
        share = (q - low) / (high - low)
        return float(self.values[k - 1] + share * (self.values[k] - self.values[k - 1]))

    def _draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        return np.array([self._quantile(q) for q in rng.random(n)])
