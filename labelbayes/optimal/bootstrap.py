"""Resampling the optimum: presorted once, one vector of weights at a time, BCa and basic limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from labelbayes._checks import FloatArray, IntArray, check_choice, read_only
from labelbayes._progress import track
from labelbayes.results.distribution import CDF_SLACK, Law

BootstrapKind = Literal["bca", "basic"]


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapLaw(Law):
    """The confidence distribution of an estimate that was resampled.

    Parameters
    ----------
    estimate : float
        The estimate from the data themselves.
    values : ndarray of float, shape (n_resamples,)
        The estimate from each resample, without those that are undefined.
    acceleration : float
        How the standard error grows with the value: a sixth of the skewness of the influence
        function, over the root of n.
    lowest, highest : float, default 0.0 and 1.0
        Range of the metric.
    kind : {"bca", "basic"}, default "bca"
        Bias-corrected and accelerated, or the estimate less the error of the resamples.

    Notes
    -----
    **Assumes** independent items. Both kinds move away from the resamples where these are off the
    estimate to one side, as they are for estimates that fit: a resample repeats items, so it can
    be fitted better.

    References
    ----------
    .. [1] B. Efron, Better bootstrap confidence intervals, Journal of the American Statistical
       Association 82(397), 171-185, 1987.

    Examples
    --------
    >>> law = BootstrapLaw(0.5, np.linspace(0.4, 0.6, 101), 0.0)
    >>> round(float(law.quantile(0.5)), 3), law.basic().kind
    (0.5, 'basic')
    """

    estimate: float
    values: FloatArray
    acceleration: float
    lowest: float = 0.0
    highest: float = 1.0
    kind: BootstrapKind = "bca"

    def __post_init__(self) -> None:
        """Keep the resamples in order, where nobody can change them."""
        check_choice("kind", self.kind, ("bca", "basic"))
        object.__setattr__(self, "values", read_only(np.sort(np.asarray(self.values, dtype=float))))

    def basic(self) -> BootstrapLaw:
        """Return the same resamples with basic limits.

        Returns
        -------
        BootstrapLaw
            Of the kind "basic".
        """
        return replace(self, kind="basic")

    @property
    def mean(self) -> float:
        """The estimate itself."""
        return self.estimate

    @cached_property
    def sd(self) -> float:
        """Standard deviation of the resamples."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else math.nan

    @property
    def undefined_prob(self) -> float:
        """0: the optimum of both classes is defined."""
        return 0.0

    @property
    def undefined_reason(self) -> str:
        """Empty: the optimum of both classes is defined."""
        return ""

    @cached_property
    def _limits(self) -> tuple[FloatArray, FloatArray]:
        """Values in order, and the confidence that lies at or below each."""
        n = len(self.values)
        share = (np.arange(n) + 0.5) / n
        if self.kind == "basic":
            return np.clip(2 * self.estimate - self.values[::-1], self.lowest, self.highest), share
        below = (self.values < self.estimate).sum() + (self.values == self.estimate).sum() / 2
        # Resamples that all lie to one side leave the bias at the last quantile they can show.
        bias = float(ndtri(min(max(below / n, 0.5 / n), 1 - 0.5 / n)))
        score = ndtri(share) - bias
        room = 1 + self.acceleration * score
        # Beyond the range of the transformation there is no confidence left on that side.
        far = np.where(score > 0, np.inf, -np.inf)
        score = np.divide(score, room, out=far, where=room > 0)
        return np.clip(self.values, self.lowest, self.highest), ndtr(score - bias)

    def _mass_up_to(self, limit: float) -> float:
        values, confidence = self._limits
        if limit >= values[-1]:
            return 1.0
        if limit < values[0]:
            return 0.0
        return float(confidence[np.searchsorted(values, limit, side="right") - 1])

    def _quantile(self, q: float) -> float:
        values, confidence = self._limits
        place = np.searchsorted(confidence, q - CDF_SLACK)
        return float(values[min(int(place), len(values) - 1)])

    def _draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        return np.array([self._quantile(q) for q in rng.random(n)])


def acceleration_of(influence: FloatArray) -> float:
    """Return the acceleration that an influence function gives.

    Parameters
    ----------
    influence : ndarray of float, shape (n,)
        With mean zero.

    Returns
    -------
    float
        A sixth of the sum of cubes over the sum of squares to the power 3/2; 0 for no influence.

    Examples
    --------
    >>> acceleration_of(np.array([-1.0, 1.0]))
    0.0
    """
    squares = float(influence @ influence)
    if squares <= 0:
        return 0.0
    return float((influence**3).sum()) / (6 * squares**1.5)


def resample(
    statistics: Callable[[FloatArray], tuple[float, ...]],
    group: IntArray,
    n_resamples: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return statistics of resamples of items, each as how many items of each group it holds.

    Parameters
    ----------
    statistics : callable
        From the number of items of each group to numbers.
    group : ndarray of int, shape (n,)
        Group of each item, from 0; items of a group are the same to the statistics.
    n_resamples : int
        How often n items are drawn.
    rng : numpy.random.Generator
        Where items come from.

    Returns
    -------
    ndarray of float, shape (n_resamples, n_statistics)
        One resample exists at a time.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> resample(lambda weight: (float(weight.sum()),), np.array([0, 0, 1, 2, 2]), 2, rng)
    array([[5.],
           [5.]])
    """
    n, n_groups = len(group), int(group.max()) + 1
    kind = np.int32 if n < 2**31 else np.int64
    found = []
    for _ in track(range(n_resamples), label="resampling"):
        drawn = group[rng.integers(0, n, n, dtype=kind)]
        found.append(statistics(np.bincount(drawn, minlength=n_groups).astype(np.float64)))
    return np.array(found)
