"""What is known of the difference of a metric between two models or two groups."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.laws.disjoint_rows import DisjointRows
from labelbayes.laws.population import Cells
from labelbayes.laws.row_completions import RowCompletions
from labelbayes.metrics.confusion import CountMetric
from labelbayes.results.distribution import DiscreteLaw, Law

#: Under one fit: probability of "defined", and mean and variance given that.
FitMoments = tuple[float, float, float]


class MetricDifferences(ABC):
    """Differences A - B between two sides, mixed over the fits of the belief.

    Attributes
    ----------
    rows : DisjointRows or RowCompletions
        The two sides under the same fits.

    Notes
    -----
    A subclass says what is so under single fits, and of metrics that can be defined.
    """

    rows: DisjointRows | RowCompletions

    def exact_law(self, metric: Any) -> Law | None:
        """Return the exact law of the difference.

        Parameters
        ----------
        metric : CountMetric or RankingMetric
            The metric.

        Returns
        -------
        Law or None
            None where the list of its values would be too long.
        """
        prob, reason = self.undefined(metric)
        if prob == 1.0:
            return DiscreteLaw(np.empty(0), np.empty(0), 1.0, reason)
        return self._exact_law(metric, prob, reason)

    def normal_law(self, metric: Any) -> Law:
        """Return a matched normal law of the difference.

        Parameters
        ----------
        metric : CountMetric or RankingMetric
            The metric.

        Returns
        -------
        NormalLaw or MixtureLaw
            A mixture where moments differ from fit to fit.

        Raises
        ------
        ValueError
            If the standard deviation is not known: that of average precision.
        """
        return self._normal_law(metric, *self.undefined(metric))

    def undefined(self, metric: Any) -> tuple[float, str]:
        """Return the probability that the metric of either side is undefined, and when it is.

        Parameters
        ----------
        metric : CountMetric or RankingMetric
            The metric.

        Returns
        -------
        tuple of float and str
            Probability, right even where it is far below 1e-16, and the reason.
        """
        prob = float(np.mean(self._undefined_probs(metric)))
        return prob, f"{metric.undefined_when}, {self._where}" if prob > 0 else ""

    def moments(self, metric: Any) -> tuple[float, float]:
        """Return what is known exactly of mean and standard deviation.

        Parameters
        ----------
        metric : CountMetric or RankingMetric
            The metric.

        Returns
        -------
        tuple of float
            Mean and sd given that both sides are defined; nan where not known.
        """
        return mix_moments(self._fit_moments(metric))

    def draw(
        self, metrics: Sequence[Any], n: int, rng: np.random.Generator
    ) -> dict[str, FloatArray]:
        """Return joint draws of the differences for these rows.

        Parameters
        ----------
        metrics : sequence of CountMetric or RankingMetric
            The metrics.
        n : int
            How many.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        dict of str to ndarray of float, shape (n,)
            Draws by metric; nan where either side is undefined.
        """
        return self._draw(metrics, n, rng)

    def draw_population(
        self, metrics: Sequence[Any], n: int, rng: np.random.Generator
    ) -> dict[str, FloatArray]:
        """Return joint draws of the differences for rows drawn like these.

        Parameters
        ----------
        metrics : sequence of CountMetric or RankingMetric
            The metrics.
        n : int
            How many.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        dict of str to ndarray of float, shape (n,)
            Draws by metric; nan where the completed sample leaves either side undefined.
        """
        return self._draw_population(metrics, n, rng)

    @property
    @abstractmethod
    def _where(self) -> str:
        """Where an undefined metric is."""

    @abstractmethod
    def _undefined_probs(self, metric: Any) -> Sequence[float] | FloatArray:
        """Return the probability of "undefined" under each fit."""

    @abstractmethod
    def _fit_moments(self, metric: Any) -> Sequence[FitMoments]:
        """Return the moments under each fit; nothing where they are not known."""

    @abstractmethod
    def _exact_law(self, metric: Any, prob: float, reason: str) -> Law | None: ...

    @abstractmethod
    def _normal_law(self, metric: Any, prob: float, reason: str) -> Law: ...

    @abstractmethod
    def _draw(
        self, metrics: Sequence[Any], n: int, rng: np.random.Generator
    ) -> dict[str, FloatArray]: ...

    @abstractmethod
    def _draw_population(
        self, metrics: Sequence[Any], n: int, rng: np.random.Generator
    ) -> dict[str, FloatArray]: ...


class CountDifferences(MetricDifferences):
    """Differences of count metrics, from the counts of two disjoint sets of rows."""

    rows: DisjointRows

    def _draw(
        self, metrics: Sequence[CountMetric], n: int, rng: np.random.Generator
    ) -> dict[str, FloatArray]:
        a, b = self._sides(self.rows.draw_counts(n, rng))
        return {metric.name: metric(*a) - metric(*b) for metric in metrics}

    def _draw_population(
        self, metrics: Sequence[CountMetric], n: int, rng: np.random.Generator
    ) -> dict[str, FloatArray]:
        counts, weights = (self._sides(part) for part in self.rows.draw_population(n, rng))
        differences = {}
        for metric in metrics:
            of_sample = metric(*counts[0]) - metric(*counts[1])
            value = metric(*weights[0]) - metric(*weights[1])
            differences[metric.name] = np.where(np.isnan(of_sample), np.nan, value)
        return differences

    @abstractmethod
    def _sides(self, parts: Sequence[Cells]) -> Sequence[Cells]:
        """Return the confusion matrices of A and B, from those of the two sets of rows."""


def mix_moments(fits: Sequence[FitMoments]) -> tuple[float, float]:
    """Return mean and standard deviation over fits that are equally likely.

    Parameters
    ----------
    fits : sequence of tuple of float
        Probability of "defined" under each fit, and mean and variance given that.

    Returns
    -------
    tuple of float
        Mean and sd given "defined"; nan where there is no fit, or it never is.

    Examples
    --------
    >>> mix_moments([(1.0, 0.0, 3.0), (1.0, 2.0, 3.0), (0.0, math.nan, math.nan)])
    (1.0, 2.0)
    """
    defined = np.array([fit for fit in fits if fit[0] > 0])
    if not len(defined):
        return math.nan, math.nan
    weights, means, variances = defined.T
    share = weights / weights.sum()
    mean = float(share @ means)
    return mean, math.sqrt(float(share @ (variances + (means - mean) ** 2)))
