"""Differences of a count metric between two models on the same rows with the same labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, partial, reduce
from itertools import product

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.disjoint_rows import DisjointRows, RowPart, split_by_model
from labelbayes.laws.group_counts import is_short
from labelbayes.laws.metric_differences import CountDifferences, FitMoments, mix_moments
from labelbayes.laws.population import HALF_ROW, Cells
from labelbayes.metrics.confusion import CountMetric, RatioMetric
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.count_grid import CountGrid
from labelbayes.results.difference import DifferenceLaw
from labelbayes.results.distribution import DiscreteLaw, Law
from labelbayes.results.gauss_rule import panel_rules
from labelbayes.results.integer_law import IntegerLaw
from labelbayes.results.mixture import MixtureLaw
from labelbayes.results.value_table import (
    CountFunction,
    ValueTable,
    count_cells,
    tabulate,
    tabulate_mixture,
)

#: Combinations of counts that are listed; a metric that needs more is sampled.
MOST_CELLS = 2_000_000
#: Two quadrature rules must agree to this share of the answer before either is believed.
AGREEMENT = 1e-10

#: Laws of the positives among missing rows by (decision of A, decision of B): 11, 10, 01, 00.
FourCounts = tuple[IntegerLaw, IntegerLaw, IntegerLaw, IntegerLaw]


class PairedCounts(CountDifferences):
    """Two models' decisions on the same rows.

    The missing labels enter through four independent counts of positives, one for each pair of
    decisions. Rows on which both decide alike move both metrics.

    Parameters
    ----------
    evaluation_a, evaluation_b : EvaluationSet
        The same rows with the same labels.
    imputation : Imputation
        Belief about the labels.
    """

    def __init__(
        self, evaluation_a: EvaluationSet, evaluation_b: EvaluationSet, imputation: Imputation
    ) -> None:
        """Split the rows by the decision of B; A's decision splits each part."""
        is_positive = evaluation_b.y_pred == 1
        parts = [
            RowPart.from_rows(evaluation_a, imputation, rows)
            for rows in (is_positive, ~is_positive)
        ]
        # Half of a cell's pseudo-row in either part: each model's cells get what they have alone.
        self.rows = DisjointRows((parts[0], parts[1]), HALF_ROW / 2)

    @cached_property
    def fits(self) -> list[FourCounts]:
        """Laws of the four counts under each fit."""
        first, second = (part.pairs for part in self.rows.parts)
        return [(n11, n10, n01, n00) for (n11, n01), (n10, n00) in zip(first, second, strict=True)]

    def cells(
        self, n11: FloatArray, n10: FloatArray, n01: FloatArray, n00: FloatArray
    ) -> list[Cells]:
        """Return the completed confusion matrices of A and of B.

        Parameters
        ----------
        n11, n10, n01, n00 : ndarray of float
            Positives among missing rows by the decisions of A and B; they broadcast.

        Returns
        -------
        list of tuple of ndarray of float
            tp, fp, fn, tn of A and of B.
        """
        m11, m10, m01, m00 = (law.n for law in self.fits[0])
        is_b, is_not_b = (part.known for part in self.rows.parts)
        return split_by_model(
            (is_b.tp + n11, is_b.fp + m11 - n11, is_b.fn + n01, is_b.tn + m01 - n01),
            (
                is_not_b.tp + n10,
                is_not_b.fp + m10 - n10,
                is_not_b.fn + n00,
                is_not_b.tn + m00 - n00,
            ),
        )

    def difference(
        self,
        metric: CountMetric,
        n11: FloatArray,
        n10: FloatArray,
        n01: FloatArray,
        n00: FloatArray,
    ) -> FloatArray:
        """Return A - B at counts that broadcast; nan where either is undefined.

        Parameters
        ----------
        metric : CountMetric
            The metric.
        n11, n10, n01, n00 : ndarray of float
            The four counts.

        Returns
        -------
        ndarray of float
            Differences.
        """
        a, b = (np.asarray(metric.value(*cells)) for cells in self.cells(n11, n10, n01, n00))
        return a - b

    @property
    def _where(self) -> str:
        return "for one of the two models"

    def _undefined_probs(self, metric: CountMetric) -> list[float]:
        of_a, of_b = self._corners(metric)
        at_none, at_all, everywhere = (a or b for a, b in zip(of_a, of_b, strict=True))
        if everywhere:
            return [1.0]
        return [
            at_none * math.prod(law.prob_none for law in laws)
            + at_all * math.prod(law.prob_all for law in laws)
            for laws in self.fits
        ]

    def _corners(self, metric: CountMetric) -> list[tuple[bool, bool, bool]]:
        """For A and B whether the metric is undefined at no, at all and at any positives."""
        n11, n10, n01, n00 = self.fits[0]
        known = self.cells(*(np.zeros(1) for _ in range(4)))
        sides = ((n11, n10), (n01, n00)), ((n11, n01), (n10, n00))
        corners = []
        for (tp, fp, fn, tn), (positive, negative) in zip(known, sides, strict=True):
            n_positive, n_negative = (sum(law.n for law in side) for side in (positive, negative))
            labeled = int(tp[0]), int(fp[0]) - n_positive, int(fn[0]), int(tn[0]) - n_negative
            pair = (_only_size(n_positive), _only_size(n_negative))
            grid = CountGrid(metric, labeled, (pair,))
            corners.append(grid.undefined_corners)
        return corners

    def _exact_law(self, metric: CountMetric, prob: float, reason: str) -> Law | None:
        if isinstance(metric, RatioMetric) and metric.has_fixed_denominator:
            tables = self._linear_tables(metric)
            return None if tables is None else DifferenceLaw(*tables, prob, reason)
        function: CountFunction = partial(self.difference, metric)
        fits: list[tuple[IntegerLaw, ...]] = list(self.fits)
        if isinstance(metric, RatioMetric) and _counts_labels(metric):
            # Both denominators count the same labels, and rows on which the models agree add
            # the same to both numerators: these rows matter through their total alone.
            fits = [(n10, n01, _add(n11, n00)) for n11, n10, n01, n00 in self.fits]
            function = partial(self._with_total, metric)
        if count_cells(fits) > MOST_CELLS:
            return None
        table = tabulate_mixture(function, fits)
        total = table.mass.sum()
        return DiscreteLaw(table.values, table.mass[0] / total, prob, reason)

    def _with_total(
        self, metric: CountMetric, n10: FloatArray, n01: FloatArray, agreed: FloatArray
    ) -> FloatArray:
        return self.difference(metric, agreed, n10, n01, np.zeros(1))

    def _linear_tables(self, metric: RatioMetric) -> tuple[ValueTable, ValueTable] | None:
        """Write A - B as a sum over rows that B calls positive or A alone does, less the rest.

        The denominators depend on decisions only, so that A - B is linear in the four counts;
        counts that cancel are left out. Over the product of the denominators everything is a
        whole number, and equal values are equal to the last bit.
        """
        cells = self.cells(*(np.zeros(1) for _ in range(4)))
        bottom_a, bottom_b = (float(np.dot(metric.denominator, np.ravel(c))) for c in cells)
        top_a, top_b = (float(np.dot(metric.numerator, np.ravel(c))) for c in cells)
        tp, fp, fn, tn = metric.numerator
        slope = {1: tp - fp, 0: fn - tn}
        slopes = [slope[a] * bottom_b - slope[b] * bottom_a for a, b in product((1, 0), repeat=2)]
        base, scale = top_a * bottom_b - top_b * bottom_a, bottom_a * bottom_b
        tables = []
        for start, indices, sign in ((base, (0, 1), 1.0), (0.0, (2, 3), -1.0)):
            used = [k for k in indices if slopes[k] != 0]
            fits = [tuple(laws[k] for k in used) for laws in self.fits]
            if not is_short(fits):
                return None
            weights = [sign * slopes[k] for k in used]
            tables.append(tabulate(partial(_linear, start, weights, scale), fits))
        return tables[0], tables[1]

    def _fit_moments(self, metric: CountMetric) -> list[FitMoments]:
        """Integrate over the four counts; nothing where two rules differ or A - B is undefined."""
        if self.undefined(metric)[0] > AGREEMENT:
            return []
        coarse, fine = (
            [
                (1.0, *_quadrature(partial(self.difference, metric), [rule[k] for rule in rules]))
                for rules in self._rules
            ]
            for k in (0, 1)
        )
        near, far = map(mix_moments, (coarse, fine))
        scale = max(abs(far[0]), far[1])
        agree = all(abs(a - b) <= AGREEMENT * scale for a, b in zip(near, far, strict=True))
        return fine if agree else []

    @cached_property
    def _rules(self) -> list[list[tuple[tuple[FloatArray, FloatArray], ...]]]:
        return [
            [panel_rules(law.support.astype(float), law.pmf) for law in laws] for laws in self.fits
        ]

    def _normal_law(self, metric: CountMetric, prob: float, reason: str) -> Law:
        if prob == 1.0:
            return NormalLaw(undefined_prob=1.0, undefined_reason=reason)
        reach = metric.highest - metric.lowest
        laws = []
        for counts in self.fits:
            cells = self.cells(*(np.array(law.mean) for law in counts))
            mean = float(self.difference(metric, *(np.array(law.mean) for law in counts)))
            slopes = []
            for of_model in cells:
                by_tp, by_fp, by_fn, by_tn = metric.gradient([float(cell) for cell in of_model])
                slopes.append({1: by_tp - by_fp, 0: by_fn - by_tn})
            by_count = [slopes[0][a] - slopes[1][b] for a, b in product((1, 0), repeat=2)]
            variance = np.square(by_count) @ [law.variance for law in counts]
            laws.append(NormalLaw(mean, math.sqrt(variance), -reach, reach, prob, reason))
        return laws[0] if len(laws) == 1 else MixtureLaw(tuple(laws))

    def _sides(self, parts: Sequence[Cells]) -> Sequence[Cells]:
        return split_by_model(*parts)


def _counts_labels(metric: RatioMetric) -> bool:
    """Whether the denominator depends on labels only, not on decisions."""
    tp, fp, fn, tn = metric.denominator
    return tp == fn and fp == tn


def _linear(
    start: float, weights: Sequence[float], scale: float, *counts: FloatArray
) -> FloatArray:
    total = sum((w * n for w, n in zip(weights, counts, strict=True)), np.full(1, start))
    return np.asarray(total / scale)


def _add(first: IntegerLaw, second: IntegerLaw) -> IntegerLaw:
    """Return the law of the sum of two independent counts."""
    return IntegerLaw(
        first.start + second.start,
        np.convolve(first.pmf, second.pmf),
        first.n + second.n,
        first.mean + second.mean,
        first.variance + second.variance,
        first.prob_none * second.prob_none,
        first.prob_all * second.prob_all,
    )


def _only_size(n: int) -> IntegerLaw:
    """Return a law of a count of which only the largest value is looked at."""
    return IntegerLaw(0, np.ones(1), n, 0.0, 0.0, 1.0, 1.0)


def _quadrature(
    function: partial[FloatArray], rules: Sequence[tuple[FloatArray, FloatArray]]
) -> tuple[float, float]:
    """Return mean and variance of a function of independent counts on the nodes of their rules."""
    values = function(*np.ix_(*(points for points, _ in rules)))
    mass = reduce(np.multiply.outer, (weights for _, weights in rules))
    mean = float((values * mass).sum())
    return mean, max(0.0, float(((values - mean) ** 2 * mass).sum()))
