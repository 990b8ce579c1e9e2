"""The law of a metric: what every law answers, and laws that are lists of numbers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from labelbayes._checks import (
    CI_PROB,
    FloatArray,
    check_choice,
    check_open_unit,
    check_whole,
    make_rng,
    read_only,
)
from labelbayes._html import number_text, table_html
from labelbayes.results.interval import Interval

#: Two values this close are one atom: a few units in the last place of a number near 1.
ATOM_WIDTH = 4 * np.finfo(float).eps

#: A cdf is right to about this, so a quantile does not step an atom for less.
CDF_SLACK = 1e-13


class Law(ABC):
    """Base of the laws: checks, vectors and intervals in one place."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Mean given that the metric is defined; nan where it never is."""

    @property
    @abstractmethod
    def sd(self) -> float:
        """Standard deviation given that the metric is defined."""

    @property
    @abstractmethod
    def undefined_prob(self) -> float:
        """Probability that the metric is 0/0."""

    @property
    @abstractmethod
    def undefined_reason(self) -> str:
        """When it is 0/0; empty where that cannot happen."""

    @abstractmethod
    def _mass_up_to(self, limit: float) -> float:
        """P(metric <= limit | defined), to the bit."""

    @abstractmethod
    def _quantile(self, q: float) -> float:
        """Smallest value whose cdf is at least q, for q in [0, 1]."""

    @abstractmethod
    def _draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draws given that the metric is defined, which it can be."""

    @property
    def defined_prob(self) -> float:
        """Probability that the metric is not 0/0."""
        return 1.0 - self.undefined_prob

    @property
    def is_undefined(self) -> bool:
        """Whether the metric is undefined for certain."""
        return math.isnan(self.mean)

    def cdf(self, t: npt.ArrayLike) -> FloatArray:
        """Return P(metric <= t), given that the metric is defined.

        Parameters
        ----------
        t : array_like of float
            Values of the metric.

        Returns
        -------
        ndarray of float
            Probabilities of the same shape, non-decreasing in `t`; nan if never defined, and
            where `t` is nan.
        """
        return self._each(t, lambda value: self._mass_up_to(value + ATOM_WIDTH))

    def quantile(self, q: npt.ArrayLike) -> FloatArray:
        """Return the smallest value whose cdf is at least `q`.

        Parameters
        ----------
        q : array_like of float
            Probabilities in [0, 1].

        Returns
        -------
        ndarray of float
            Values of the metric, of the same shape; nan if never defined.

        Raises
        ------
        ValueError
            If a probability lies outside [0, 1].
        """
        array = np.asarray(q, dtype=float)
        if not ((array >= 0) & (array <= 1)).all():
            raise ValueError(f"`q` must hold probabilities in [0, 1]; got {q!r}.")
        return self._each(array, self._quantile)

    def prob_at_least(self, t: float) -> float:
        """Return P(metric >= t), given that the metric is defined.

        Parameters
        ----------
        t : float
            A value, such as the 0.8 of "at least 80%".

        Returns
        -------
        float
            Probability; an atom at `t` counts. nan if never defined, or if `t` is nan.
        """
        if self.is_undefined or math.isnan(t):
            return math.nan
        return min(1.0, max(0.0, 1.0 - self._mass_up_to(float(t) - ATOM_WIDTH)))

    def interval(self, ci_prob: float = CI_PROB, kind: str = "eti") -> Interval:
        """Return an interval of the law.

        Parameters
        ----------
        ci_prob : float, default 0.95
            Probability content in (0, 1).
        kind : {"eti", "hdi"}, default "eti"
            Equal tails, or the shortest interval (searched over 129 positions).

        Returns
        -------
        Interval
            Ends that the metric can take; nan if never defined.

        Raises
        ------
        ValueError
            If `ci_prob` or `kind` is not one of these.
        """
        share = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
        check_choice("kind", kind, ("eti", "hdi"))
        if kind == "eti":
            low, high = self.quantile([(1 - share) / 2, (1 + share) / 2])
            return Interval(float(low), float(high), share, "eti")
        below = np.linspace(0.0, 1.0 - share, 129)
        lows, highs = self.quantile(below), self.quantile(np.minimum(below + share, 1.0))
        widths = highs - lows
        # Among intervals of one length the middle one: a symmetric law gets a symmetric answer.
        shortest = np.flatnonzero(~(widths > np.fmin.reduce(widths) + ATOM_WIDTH))
        best = shortest[len(shortest) // 2]
        return Interval(float(lows[best]), float(highs[best]), share, "hdi")

    def draws(self, n: int, rng: np.random.Generator | int | None = None) -> FloatArray:
        """Return independent draws, given that the metric is defined.

        Parameters
        ----------
        n : int
            How many.
        rng : numpy.random.Generator, int, optional
            Where they come from.

        Returns
        -------
        ndarray of float, shape (n,)
            Values of the metric; nan if never defined.
        """
        size = check_whole("n", n, least=0)
        if self.is_undefined:
            return np.full(size, math.nan)
        return self._draws(size, make_rng(rng))

    def _each(self, values: npt.ArrayLike, answer: Callable[[float], float]) -> FloatArray:
        array = np.asarray(values, dtype=float)
        if self.is_undefined:
            return np.full(array.shape, math.nan)[()]
        flat = [math.nan if value != value else answer(value) for value in array.ravel().tolist()]
        return np.array(flat, dtype=float).reshape(array.shape)[()]

    def __repr__(self) -> str:
        """Mean, interval and probability undefined in one line."""
        name = type(self).__name__
        if self.is_undefined:
            return f"{name}(undefined: {self.undefined_reason})"
        lost = (
            f", undefined with probability {self.undefined_prob:.3g}" if self.undefined_prob else ""
        )
        return f"{name}(mean {self.mean:.4f}, sd {self.sd:.4f}, {self.interval()}{lost})"

    def _repr_html_(self) -> str:
        if self.is_undefined:
            return table_html(
                ["law", "undefined when"], [[type(self).__name__, self.undefined_reason]]
            )
        span = self.interval()
        notes = []
        if self.undefined_prob:
            notes.append(
                f"Undefined with probability {self.undefined_prob:.3g} ({self.undefined_reason}); "
                "all numbers are given that it is defined."
            )
        cells = [
            type(self).__name__,
            *(number_text(value, 4) for value in (self.mean, self.sd, span.low, span.high)),
            f"{span.ci_prob:.0%} {span.ci_kind}",
        ]
        return table_html(["law", "mean", "sd", "low", "high", "interval"], [cells], notes=notes)


@dataclass(frozen=True, eq=False, repr=False)
class DiscreteLaw(Law):
    """A law on a list of values.

    Parameters
    ----------
    support : ndarray of float, shape (k,)
        Values, ascending.
    pmf : ndarray of float, shape (k,)
        Their probabilities given that the metric is defined, summing to 1.
    undefined_prob : float, default 0.0
        Probability that the metric is 0/0.
    undefined_reason : str, default ""
        When it is.

    Examples
    --------
    >>> law = DiscreteLaw(np.array([0.5, 1.0]), np.array([0.25, 0.75]))
    >>> float(law.mean), float(law.quantile(0.25)), law.prob_at_least(1.0)
    (0.875, 0.5, 0.75)
    """

    support: FloatArray
    pmf: FloatArray
    undefined_prob: float = 0.0
    undefined_reason: str = ""

    def __post_init__(self) -> None:
        """Keep copies that nobody can change."""
        object.__setattr__(self, "support", read_only(np.array(self.support, dtype=float)))
        object.__setattr__(self, "pmf", read_only(np.array(self.pmf, dtype=float)))
        if self.support.shape != self.pmf.shape or (np.diff(self.support) <= 0).any():
            raise ValueError(
                "`support` must be ascending and as long as `pmf`; got shapes "
                f"{self.support.shape} and {self.pmf.shape}."
            )
        if len(self.pmf) and not (self.pmf.min() >= 0 and abs(self.pmf.sum() - 1) < 1e-9):
            raise ValueError(f"`pmf` must sum to 1; got {self.pmf.sum():.6g}.")

    @cached_property
    def mean(self) -> float:
        """Mean of the law."""
        return float(self.support @ self.pmf) if len(self.support) else math.nan

    @cached_property
    def sd(self) -> float:
        """Standard deviation of the law."""
        if not len(self.support):
            return math.nan
        return math.sqrt(max(0.0, float((self.support - self.mean) ** 2 @ self.pmf)))

    @cached_property
    def _cumulative(self) -> FloatArray:
        total = np.minimum(np.cumsum(self.pmf), 1.0)
        total[-1] = 1.0
        return total

    def _mass_up_to(self, limit: float) -> float:
        below = int(np.searchsorted(self.support, limit, side="right"))
        return float(self._cumulative[below - 1]) if below else 0.0

    def _quantile(self, q: float) -> float:
        return float(self.support[np.searchsorted(self._cumulative, q - CDF_SLACK)])

    def _draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        picks = np.searchsorted(self._cumulative, rng.random(n), side="right")
        return self.support[np.minimum(picks, len(self.support) - 1)]


@dataclass(frozen=True, eq=False, repr=False)
class DrawsLaw(Law):
    """The empirical law of draws; nan among them is "undefined".

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        Draws of the metric.
    undefined_reason : str, default ""
        When the metric is 0/0.

    Examples
    --------
    >>> law = DrawsLaw(np.array([0.2, np.nan, 0.4, 0.6]), "no row is positive")
    >>> round(law.mean, 3), law.undefined_prob
    (0.4, 0.25)
    """

    values: FloatArray
    undefined_reason: str = ""

    def __post_init__(self) -> None:
        """Keep a copy that nobody can change."""
        object.__setattr__(self, "values", read_only(np.array(self.values, dtype=float)))

    @cached_property
    def _sorted(self) -> FloatArray:
        return np.sort(self.values[~np.isnan(self.values)])

    @cached_property
    def mean(self) -> float:
        """Mean of the draws."""
        return float(self._sorted.mean()) if len(self._sorted) else math.nan

    @cached_property
    def sd(self) -> float:
        """Standard deviation of the draws."""
        return float(self._sorted.std()) if len(self._sorted) else math.nan

    @cached_property
    def undefined_prob(self) -> float:
        """Share of the draws that are undefined."""
        return 1.0 - len(self._sorted) / len(self.values) if len(self.values) else 1.0

    def _mass_up_to(self, limit: float) -> float:
        return int(np.searchsorted(self._sorted, limit, side="right")) / len(self._sorted)

    def _quantile(self, q: float) -> float:
        rank = math.ceil((q - CDF_SLACK) * len(self._sorted))
        return float(self._sorted[max(0, rank - 1)])

    def _draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        return rng.choice(self._sorted, size=n)
