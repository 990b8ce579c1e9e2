"""Two disjoint sets of rows under one belief: what groups and paired models have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labelbayes._checks import BoolArray, IntArray
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.missing_counts import CountPair, WeightedP, count_pairs, weigh_missing
from labelbayes.laws.poisson_binomial import integer_law
from labelbayes.laws.population import (
    HALF_ROW,
    Cells,
    CellSampler,
    completed_cells,
    weighted_cells,
)
from labelbayes.laws.power_sums import PowerSums


@dataclass(frozen=True, eq=False)
class RowPart:
    """Some of the rows: their known confusion matrix and the belief about their missing labels.

    Parameters
    ----------
    known : Counts
        Confusion matrix of the labeled rows.
    pairs : tuple of tuple of IntegerLaw
        Laws of U and V, one pair per fit.
    weighted : tuple of WeightedP, or None
        Missing rows by decision, where p is taken as known; None where it was refitted.
    """

    known: Counts
    pairs: tuple[CountPair, ...]
    weighted: tuple[WeightedP, WeightedP] | None

    @classmethod
    def from_rows(
        cls, evaluation: EvaluationSet, imputation: Imputation, rows: BoolArray
    ) -> RowPart:
        """Return the part that some rows make.

        Parameters
        ----------
        evaluation : EvaluationSet
            Labels and decisions.
        imputation : Imputation
            Belief, made from this evaluation.
        rows : ndarray of bool, shape (n_rows,)
            Which rows; there may be none.

        Returns
        -------
        RowPart
            Its counts and laws.
        """
        if not rows.any():
            nothing = integer_law(PowerSums.from_probabilities([]))
            empty = WeightedP(np.empty((1, 0)), np.empty(0, dtype=np.int64))
            pairs = ((nothing, nothing),) * max(1, imputation.n_refits)
            known = Counts(0, 0, 0, 0, 0, 0)
            return cls(known, pairs, None if imputation.n_refits else (empty, empty))
        part, belief = evaluation.subset(rows), imputation.subset(rows)
        weighted = None if imputation.n_refits else weigh_missing(part, belief)
        return cls(part.counts, tuple(count_pairs(part, belief)), weighted)

    def sampler(self, fit: int, pseudo_rows: float) -> CellSampler:
        """Return what draws completed counts and weights in the population under one fit.

        Parameters
        ----------
        fit : int
            Which fit.
        pseudo_rows : float
            Pseudo-rows in each cell of the confusion matrix.

        Returns
        -------
        callable
            ``sample(n, rng)`` -> counts, weights.
        """
        if self.weighted is None:
            return completed_cells(self.known, [self.pairs[fit]], pseudo_rows)
        return weighted_cells(self.known, *self.weighted, pseudo_rows)


@dataclass(frozen=True, eq=False)
class DisjointRows:
    """Two parts of the rows. Under each fit of the belief their labels are independent.

    Parameters
    ----------
    parts : tuple of RowPart
        The two parts, under the same fits.
    pseudo_rows : float, default 0.5
        Pseudo-rows in each cell of either part, for the population.
    """

    parts: tuple[RowPart, RowPart]
    pseudo_rows: float = HALF_ROW

    @property
    def n_fits(self) -> int:
        """Number of fits of the belief."""
        return len(self.parts[0].pairs)

    @cached_property
    def _samplers(self) -> list[list[CellSampler]]:
        fits = range(self.n_fits)
        return [[part.sampler(fit, self.pseudo_rows) for part in self.parts] for fit in fits]

    def draw_counts(self, n: int, rng: np.random.Generator) -> list[Cells]:
        """Return completed confusion matrices of both parts, one fit serving both in each draw.

        Parameters
        ----------
        n : int
            How many.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        list of tuple of ndarray of float, each of shape (n,)
            tp, fp, fn, tn of either part.
        """
        drawn = [tuple(np.empty((4, n))) for _ in self.parts]
        for fit, rows in spread_evenly(self.n_fits, n, rng):
            for part, cells in zip(self.parts, drawn, strict=True):
                u, v = (law.draws(len(rows), rng) for law in part.pairs[fit])
                n_u, n_v = (law.n for law in part.pairs[fit])
                known = part.known
                completed = (known.tp + u, known.fp + n_u - u, known.fn + v, known.tn + n_v - v)
                for cell, values in zip(cells, completed, strict=True):
                    cell[rows] = values
        return _as_cells(drawn)

    def draw_population(self, n: int, rng: np.random.Generator) -> tuple[list[Cells], list[Cells]]:
        """Return completed confusion matrices, and their weights in the population.

        Parameters
        ----------
        n : int
            How many.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        tuple of list of tuple of ndarray of float, each of shape (n,)
            Counts of either part, weights of either part: tp, fp, fn, tn.
        """
        counts = [tuple(np.empty((4, n))) for _ in self.parts]
        weights = [tuple(np.empty((4, n))) for _ in self.parts]
        for fit, rows in spread_evenly(self.n_fits, n, rng):
            for k, sample in enumerate(self._samplers[fit]):
                for kept, drawn in zip(
                    (counts[k], weights[k]), sample(len(rows), rng), strict=True
                ):
                    for cell, values in zip(kept, drawn, strict=True):
                        cell[rows] = values
        return _as_cells(counts), _as_cells(weights)


def spread_evenly(n_fits: int, n: int, rng: np.random.Generator) -> list[tuple[int, IntArray]]:
    """Spread draws evenly over the fits, each as likely as every other in each draw.

    Parameters
    ----------
    n_fits : int
        How many fits.
    n : int
        How many draws.
    rng : numpy.random.Generator
        Where chance comes from.

    Returns
    -------
    list of tuple
        Fit, and positions of its draws; fits without draws are left out.

    Examples
    --------
    >>> [len(at) for _, at in spread_evenly(2, 10, np.random.default_rng(0))]
    [5, 5]
    """
    which = rng.permutation(rng.permutation(n_fits)[np.arange(n) % n_fits])
    rows = [np.flatnonzero(which == fit) for fit in range(n_fits)]
    return [(fit, at) for fit, at in enumerate(rows) if len(at)]


def split_by_model(is_b: Cells, is_not_b: Cells) -> list[Cells]:
    """Return the confusion matrices of A and B from those of A where B is positive and negative.

    Parameters
    ----------
    is_b, is_not_b : tuple of ndarray of float
        tp, fp, fn, tn of A among rows that B calls positive, and negative.

    Returns
    -------
    list of tuple of ndarray of float
        tp, fp, fn, tn of A and of B.

    Examples
    --------
    >>> a, b = split_by_model((5, 1, 2, 1), (3, 0, 1, 9))
    >>> a, b
    ((8, 1, 3, 10), (7, 2, 4, 9))
    """
    (tp1, fp1, fn1, tn1), (tp0, fp0, fn0, tn0) = is_b, is_not_b
    return [
        (tp1 + tp0, fp1 + fp0, fn1 + fn0, tn1 + tn0),
        (tp1 + fn1, fp1 + tn1, tp0 + fn0, fp0 + tn0),
    ]


def _as_cells(drawn: Sequence[tuple[np.ndarray, ...]]) -> list[Cells]:
    return [(tp, fp, fn, tn) for tp, fp, fn, tn in drawn]
