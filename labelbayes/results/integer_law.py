"""The law of a number of positives: a window of probabilities and what lies beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labelbayes._checks import FloatArray, IntArray
from labelbayes.results.gauss_rule import Rule, gauss_rules


@dataclass(frozen=True, eq=False)
class IntegerLaw:
    """Law of a count of positives among `n` rows.

    Parameters
    ----------
    start : int
        Count of the first entry of `pmf`.
    pmf : ndarray of float, shape (k,)
        Probabilities of ``start, ..., start + k - 1``, summing to 1; the mass outside this
        window is below 1e-16.
    n : int
        Largest possible count.
    mean, variance : float
        Moments, from the probabilities of the rows and not from the window.
    prob_none, prob_all : float
        P(count = 0) and P(count = n), right even where far below 1e-16.
    """

    start: int
    pmf: FloatArray
    n: int
    mean: float
    variance: float
    prob_none: float
    prob_all: float

    @property
    def stop(self) -> int:
        """One past the last count of the window."""
        return self.start + len(self.pmf)

    @cached_property
    def support(self) -> IntArray:
        """Counts of the window, shape (k,)."""
        return np.arange(self.start, self.stop, dtype=np.int64)

    @cached_property
    def cdf(self) -> FloatArray:
        """P(count <= support), shape (k,); the last entry is exactly 1."""
        cumulative = np.minimum(np.cumsum(self.pmf), 1.0)
        cumulative[-1] = 1.0
        return cumulative

    @cached_property
    def rules(self) -> tuple[Rule, Rule]:
        """Gauss rules of 12 and of 20 nodes, found once for all metrics of this count."""
        return gauss_rules(self.start, self.pmf, self.n)

    def prob(self, count: IntArray) -> FloatArray:
        """Return P(N = count), 0 outside the window.

        Parameters
        ----------
        count : ndarray of int
            Counts.

        Returns
        -------
        ndarray of float
            Probabilities of the same shape.
        """
        at = count - self.start
        inside = (at >= 0) & (at < len(self.pmf))
        return np.where(inside, self.pmf[np.where(inside, at, 0)], 0.0)

    def draws(self, size: int, rng: np.random.Generator) -> IntArray:
        """Return independent counts by inverting the cdf.

        Parameters
        ----------
        size : int
            How many.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        ndarray of int, shape (size,)
            Counts.
        """
        return self.start + np.searchsorted(self.cdf, rng.random(size), side="right")
