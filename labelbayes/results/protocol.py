"""What every law of a metric answers."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from labelbayes._checks import CI_PROB, FloatArray
from labelbayes.results.interval import Interval


@runtime_checkable
class MetricDistribution(Protocol):
    """What every law of a metric answers; all but `undefined_prob` given that it is defined."""

    @property
    def mean(self) -> float:
        """Mean, nan where the metric is never defined."""

    @property
    def sd(self) -> float:
        """Standard deviation."""

    @property
    def undefined_prob(self) -> float:
        """Probability that the metric is 0/0."""

    @property
    def undefined_reason(self) -> str:
        """When it is 0/0; empty where that cannot happen."""

    def cdf(self, t: npt.ArrayLike) -> FloatArray:
        """Return P(metric <= t).

        Parameters
        ----------
        t : array_like of float
            Values of the metric.

        Returns
        -------
        ndarray of float
            Probabilities of the same shape.
        """

    def quantile(self, q: npt.ArrayLike) -> FloatArray:
        """Return the smallest value whose cdf is at least `q`.

        Parameters
        ----------
        q : array_like of float
            Probabilities in [0, 1].

        Returns
        -------
        ndarray of float
            Values of the same shape.
        """

    def interval(self, ci_prob: float = CI_PROB, kind: str = "eti") -> Interval:
        """Return an interval of the law.

        Parameters
        ----------
        ci_prob : float, default 0.95
            Probability content in (0, 1).
        kind : {"eti", "hdi"}, default "eti"
            Equal tails, or the shortest.

        Returns
        -------
        Interval
            Ends, probability and kind.
        """

    def prob_at_least(self, t: float) -> float:
        """Return P(metric >= t).

        Parameters
        ----------
        t : float
            A value.

        Returns
        -------
        float
            Probability.
        """

    def draws(self, n: int, rng: np.random.Generator | int | None) -> FloatArray:
        """Return independent draws.

        Parameters
        ----------
        n : int
            How many.
        rng : numpy.random.Generator, int or None
            Where they come from.

        Returns
        -------
        ndarray of float, shape (n,)
            Values of the metric.
        """
