"""The probability of a claim under any tilt of the odds: laws only of fits that leave it open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.odds import tilt_odds
from labelbayes.laws.count_metrics import exact_law
from labelbayes.laws.missing_counts import (
    CountPair,
    WeightedP,
    check_made_from,
    missing_sides,
    pair_by_row,
    weigh_missing,
)
from labelbayes.metrics.confusion import CountMetric
from labelbayes.results.distribution import ATOM_WIDTH

#: More different p than this are put in about as many classes of their log odds, from minus to
#: plus this.
MOST_CLASSES, LARGEST_LOG_ODDS = 1_024, 18.0
#: Limits of a count are passed with a probability of at most exp(-this), on either side: for a
#: verdict on a fit, and for one that is right to the last bit.
ROUGH, SURE = math.log(1e4), 45.0


class _Classes(NamedTuple):
    """Missing rows of one decision: smallest and largest p of each class, and its rows by fit."""

    low: FloatArray
    high: FloatArray
    rows: IntArray

    @classmethod
    def from_weighted(cls, side: WeightedP) -> _Classes:
        """Return as many classes as there are different p, where these are few."""
        p = side.p[side.fits]
        if p.shape[1] <= MOST_CLASSES:
            return cls(p, p, side.count[np.newaxis])
        return cls.from_counts([_count_classes(row, side.count) for row in p])

    @classmethod
    def from_counts(cls, counts: Sequence[IntArray]) -> _Classes:
        """Return classes with their rows under each fit."""
        edges = _edges()
        low = np.concatenate([[0.0, 0.0], edges, [1.0]])
        high = np.concatenate([[0.0], edges, [1.0, 1.0]])
        return cls(low[np.newaxis], high[np.newaxis], np.array(counts))

    def limits(self, odds_ratio: float, log_mass: float) -> tuple[FloatArray, FloatArray]:
        """Return what the number of positives is at least and at most, for each fit.

        It is at least that of rows at the smallest p of their class, and at most that of rows at
        the largest; how far these two stray from their means is Bernstein's inequality.
        """
        ends = []
        for p, sign in ((self.low, -1.0), (self.high, 1.0)):
            tilted = tilt_odds(p, odds_ratio)
            mean = (self.rows * tilted).sum(axis=1)
            variance = (self.rows * tilted * (1.0 - tilted)).sum(axis=1)
            third = log_mass / 3.0
            ends.append(mean + sign * (third + np.sqrt(third**2 + 2.0 * variance * log_mass)))
        n = self.rows.sum(axis=1)
        return np.clip(np.floor(ends[0]), 0, n), np.clip(np.ceil(ends[1]), 0, n)


@dataclass(frozen=True, eq=False)
class TiltedClaim:
    """The claim "metric >= t", whose probability is asked for under many odds ratios.

    Parameters
    ----------
    metric : CountMetric
        The metric.
    claim : float
        Its t.
    evaluation : EvaluationSet
        Labels and decisions.
    imputation : Imputation
        Belief, made from this evaluation.
    weighed : tuple of WeightedP, or None
        Its missing rows by decision; None where each refit has a p for each row.
    classes : tuple of _Classes
        The same, by size of p.

    Notes
    -----
    A count metric does not fall with U, the positives among missing rows predicted positive, and
    does not rise with V, those among rows predicted negative. Where it is at least t even at the
    smallest U and the largest V that are likely under a fit, or below t at the opposite corner,
    that fit's probability is known without its law.
    """

    metric: CountMetric
    claim: float
    evaluation: EvaluationSet
    imputation: Imputation
    weighed: tuple[WeightedP, WeightedP] | None
    classes: tuple[_Classes, _Classes]

    @classmethod
    def from_belief(
        cls, metric: CountMetric, claim: float, evaluation: EvaluationSet, imputation: Imputation
    ) -> TiltedClaim:
        """Count missing rows once, for every odds ratio that follows.

        Parameters
        ----------
        metric : CountMetric
            The metric.
        claim : float
            The t of "metric >= t".
        evaluation : EvaluationSet
            Labels and decisions.
        imputation : Imputation
            Belief about the missing labels.

        Returns
        -------
        TiltedClaim
            The claim.

        Raises
        ------
        ValueError
            If the imputation was made for other rows or scores.
        """
        if imputation.row_refits is None:
            weighed = weigh_missing(evaluation, imputation)
            positive, negative = (_Classes.from_weighted(side) for side in weighed)
            return cls(metric, claim, evaluation, imputation, weighed, (positive, negative))
        check_made_from(evaluation, imputation)
        counts: tuple[list[IntArray], ...] = ([], [])
        for i in range(imputation.n_refits):
            p = imputation.refit(i)
            for column, rows in zip(counts, missing_sides(evaluation), strict=True):
                column.append(_count_classes(p[rows], evaluation.count[rows]))
        positive, negative = (_Classes.from_counts(column) for column in counts)
        return cls(metric, claim, evaluation, imputation, None, (positive, negative))

    def is_likely(self, odds_ratio: float, prob: float) -> bool:
        """Return whether the probability of the claim is at least `prob`.

        Parameters
        ----------
        odds_ratio : float > 0
            Factor on the odds of all missing labels.
        prob : float
            What it is compared with.

        Returns
        -------
        bool
            True too where the metric is undefined for certain.
        """
        holds, fails = self._verdicts(odds_ratio, ROUGH)
        # A verdict misses two limits at most, and so may "defined", which weighs the fits.
        sure = (1.0 - 4.0 * math.exp(-ROUGH)) ** 2
        if sure * holds.mean() > prob:
            return True
        if 1.0 - sure * fails.mean() < prob:
            return False
        return not self.prob(odds_ratio) < prob

    def prob(self, odds_ratio: float) -> float:
        """Return the probability of the claim.

        Parameters
        ----------
        odds_ratio : float > 0
            Factor on the odds of all missing labels.

        Returns
        -------
        float
            Given that the metric is defined; nan where it never is.
        """
        holds, fails = self._verdicts(odds_ratio, SURE)
        is_open = np.flatnonzero(~(holds | fails))
        n_holding, n_known = int(holds.sum()), int((holds | fails).sum())
        if not len(is_open):
            return n_holding / n_known
        law = exact_law(self.metric, self.evaluation.counts, self._pairs(odds_ratio, is_open))
        found = law.prob_at_least(self.claim)
        if not n_known:
            return found
        # Fits weigh by the probability that the metric is defined; under known ones it is.
        weight = len(is_open) * law.defined_prob
        open_part = 0.0 if weight == 0.0 else weight * found
        return (n_holding + open_part) / (n_known + weight)

    def _verdicts(self, odds_ratio: float, log_mass: float) -> tuple[BoolArray, BoolArray]:
        """Return under which fits the claim holds, and fails, but for a chance of exp(-that)."""
        (u_low, u_high), (v_low, v_high) = (
            side.limits(odds_ratio, log_mass) for side in self.classes
        )
        known = self.evaluation.counts
        n_u, n_v = known.unlabeled_predicted_positive, known.unlabeled_predicted_negative
        # Only without positives, or with nothing else, can a metric be undefined.
        at_none, at_all = np.isnan(self._value(np.array([0, n_u]), np.array([0, n_v])))
        is_inside = (u_low + v_low > 0) | ~at_none
        is_inside &= (u_high + v_high < n_u + n_v) | ~at_all
        limit = self.claim - ATOM_WIDTH
        with np.errstate(invalid="ignore"):
            holds = is_inside & (self._value(u_low, v_high) > limit)
            return holds, is_inside & (self._value(u_high, v_low) <= limit)

    def _value(self, u: FloatArray | IntArray, v: FloatArray | IntArray) -> FloatArray:
        known = self.evaluation.counts
        n_u, n_v = known.unlabeled_predicted_positive, known.unlabeled_predicted_negative
        cells = (known.tp + u, known.fp + (n_u - u), known.fn + v, known.tn + (n_v - v))
        return np.broadcast_to(self.metric.value(*cells), u.shape)

    def _pairs(self, odds_ratio: float, fits: IntArray) -> list[CountPair]:
        """Return the laws of U and V under some of the fits."""
        if self.weighed is not None:
            laws = [
                WeightedP(tilt_odds(side.p[side.fits][fits], odds_ratio), side.count).laws()
                for side in self.weighed
            ]
            return list(zip(*laws, strict=True))
        sides = missing_sides(self.evaluation)
        return [
            pair_by_row(self.evaluation, sides, tilt_odds(self.imputation.refit(i), odds_ratio))
            for i in fits.tolist()
        ]


def _edges() -> FloatArray:
    return expit(np.linspace(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS, MOST_CLASSES))


def _count_classes(p: FloatArray, count: IntArray) -> IntArray:
    """Count rows between the edges; certain ones stay apart, first those of p = 0."""
    edges = _edges()
    last = len(edges) + 2
    of_row = np.searchsorted(edges, p) + 1
    of_row[p == 0.0], of_row[p == 1.0] = 0, last
    return np.bincount(of_row, weights=count, minlength=last + 1).astype(np.int64)
