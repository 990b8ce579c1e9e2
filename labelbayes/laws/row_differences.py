"""Differences of ranking metrics between two models or two groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import xlog1py, xlogy
from scipy.stats import binom

from labelbayes._checks import FloatArray
from labelbayes.laws.average_precision_mean import Mean, average_precision_means
from labelbayes.laws.metric_differences import FitMoments, MetricDifferences
from labelbayes.laws.power_sums import PowerSums
from labelbayes.laws.rank_sums import RankSums
from labelbayes.laws.roc_auc_moments import defined_probs, given_count, roc_auc_moments
from labelbayes.laws.row_completions import RowCompletions
from labelbayes.metrics.ranking import RankingMetric
from labelbayes.metrics.registry import Metric
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.distribution import DiscreteLaw, Law
from labelbayes.results.value_table import merge_values

#: Completions that are listed one by one; where there are more, they are drawn.
MOST_COMPLETIONS = 4_096


@dataclass(frozen=True, eq=False)
class RowDifferences(MetricDifferences):
    """What is known of the differences of ranking metrics.

    Parameters
    ----------
    rows : RowCompletions
        The two sides and the belief about their labels.
    """

    rows: RowCompletions

    @property
    def _where(self) -> str:
        return "for one of the two models" if self.rows.is_shared else "in one of the two groups"

    def _exact_law(self, metric: RankingMetric, prob: float, reason: str) -> Law | None:
        """List all completions, where they are at most 4,096."""
        if float(np.log2(1.0 + self.rows.count).sum()) > math.log2(MOST_COMPLETIONS):
            return None
        axes = np.meshgrid(*(np.arange(c + 1.0) for c in self.rows.count), indexing="ij")
        labels = np.stack([axis.ravel() for axis in axes], axis=1) if axes else np.zeros((1, 0))
        mass = np.zeros(len(labels))
        for fit in range(self.rows.n_fits):
            each = np.asarray(binom.pmf(labels, self.rows.count, self.rows.p(fit)))
            mass += each.prod(axis=1) / self.rows.n_fits
        values = self.rows.values([metric], labels)[metric.name]
        kept = ~np.isnan(values) & (mass > 0)
        table = merge_values(values[kept], mass[kept][None, :])
        pmf = table.mass[0] / table.mass.sum() if kept.any() else np.empty(0)
        return DiscreteLaw(table.values, pmf, prob, reason)

    def _undefined_probs(self, metric: RankingMetric) -> list[float]:
        return [self._undefined_prob(metric, fit) for fit in range(self.rows.n_fits)]

    def _undefined_prob(self, metric: RankingMetric, fit: int) -> float:
        lost = []
        for side, columns in zip(self.rows.sides, self.rows.columns, strict=True):
            n_known, n_missing = side.ranked.n_known_positive, side.ranked.n_missing
            at_none = side.is_undefined(metric, n_known)
            at_all = n_missing > 0 and side.is_undefined(metric, n_known + n_missing)
            prob = 0.0
            if at_none or at_all:
                p, count = self.rows.p(fit)[columns], self.rows.count[columns]
                prob += at_none * math.exp(float(xlog1py(count, -p).sum()))
                prob += at_all * math.exp(float(xlogy(count, p).sum()))
            lost.append(min(1.0, prob))
        # Models share their labels: both are undefined, or neither is.
        return lost[0] if self.rows.is_shared else lost[0] + lost[1] - lost[0] * lost[1]

    def _fit_moments(self, metric: RankingMetric) -> list[FitMoments]:
        of_fit = self._mean_precision
        if metric.name == "roc_auc":
            of_fit = self._auc_of_models if self.rows.is_shared else self._auc_of_groups
        return [of_fit(fit) for fit in range(self.rows.n_fits)]

    def _auc_of_models(self, fit: int) -> FitMoments:
        """Probability of "defined", mean and variance of the difference under one fit.

        Both areas divide by the same N (n - N), so the difference is that of the two rank sums
        over it: the area of a ranking by the difference of the midranks, less its own term
        N (N - 1) / 2, which cancels.
        """
        ranks = self._rank_differences
        state = PowerSums.from_probabilities(ranks.rates(fit), ranks.count)
        defined, _ = defined_probs(ranks, state)
        if defined == 0.0:
            return 0.0, math.nan, math.nan
        given = given_count(ranks, fit, state)
        own = given.n_positive * (given.n_positive - 1.0) / 2.0 / ranks.n
        mean, sd = given._replace(base=given.base + own).mean_and_sd()
        return defined, mean, sd**2

    @cached_property
    def _rank_differences(self) -> RankSums:
        a, b = self.rows.sides
        apart = (a.ranked.midrank[a.step] - b.ranked.midrank[b.step]) / a.ranked.n
        n_positive = a.ranked.n_known_positive
        return RankSums(
            n_fits=self.rows.n_fits,
            rates=self.rows.p,
            count=self.rows.count.astype(np.float64),
            sums=self.rows.count * np.array([apart, apart**2, apart**3]),
            center=0.0,
            n=a.ranked.n,
            n_known_positive=n_positive,
            n_known_negative=a.ranked.n - a.ranked.n_missing - n_positive,
            known_rank_sum=a.ranked.known_rank_sum - b.ranked.known_rank_sum,
            is_constant=False,
        )

    def _auc_of_groups(self, fit: int) -> FitMoments:
        first, second = (roc_auc_moments(ranks, fit) for ranks in self._rank_sums)
        weight = first.defined_prob * second.defined_prob
        return weight, first.mean - second.mean, first.sd**2 + second.sd**2

    @cached_property
    def _rank_sums(self) -> list[RankSums]:
        return [
            RankSums.from_cells(side.ranked, *cells)
            for side, cells in zip(self.rows.sides, self.rows.cells, strict=True)
        ]

    def _mean_precision(self, fit: int) -> FitMoments:
        found = [means[fit] for means in self._precision_means]
        weight = found[0].defined_prob
        if not self.rows.is_shared:
            weight *= found[1].defined_prob
        return weight, found[0].mean - found[1].mean, math.nan

    @cached_property
    def _precision_means(self) -> list[list[Mean]]:
        return [
            average_precision_means(side.ranked, *cells)
            for side, cells in zip(self.rows.sides, self.rows.cells, strict=True)
        ]

    def _normal_law(self, metric: RankingMetric, prob: float, reason: str) -> Law:
        if metric.name != "roc_auc":
            raise ValueError(
                f"`method='gauss'` needs a variance, and there is none in closed form for "
                f"{metric.name!r}. Leave it out of `metrics`, or use method='sampled'."
            )
        mean, sd = self.moments(metric)
        return NormalLaw(mean, sd, -1.0, 1.0, prob, reason)

    def _draw(
        self, metrics: Sequence[Metric], n: int, rng: np.random.Generator
    ) -> dict[str, FloatArray]:
        return self.rows.draw(metrics, n, rng)

    def _draw_population(
        self, metrics: Sequence[Metric], n: int, rng: np.random.Generator
    ) -> dict[str, FloatArray]:
        return self.rows.draw_population(metrics, n, rng)
