"""Missing rows in cells that share a rate: from draws of the rates to completed tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from labelbayes._checks import FloatArray, IntArray
from labelbayes._progress import track
from labelbayes.bayes.model import BAYES_TARGETS, BayesTarget, Draws, RankedTables
from labelbayes.bayes.ranking import BLOCK_DRAWS, RankedCells, draw_ranked, note_population
from labelbayes.data.evaluation_set import Counts
from labelbayes.laws.missing_counts import CountPair, WeightedP
from labelbayes.laws.population import HALF_ROW, Cells

#: Rates held at a time: blocks of draws are cut to this.
BLOCK_RATES = 2_000_000


@dataclass(frozen=True, eq=False)
class RateCells:
    """Missing rows that are independent draws at their cell's rate, given the parameters.

    Parameters
    ----------
    known : tuple of Counts
        Labeled rows of each group; one entry where there are no groups.
    decision : ndarray of int, shape (n_cells,)
        1 where the cell's rows are predicted positive, else 0.
    count : ndarray of int, shape (n_cells,)
        Missing rows of the cell.
    rates : callable
        ``rates(draws)`` -> P(y = 1) in each cell, shape (n_draws, n_cells), for a block of draws.
    groups : tuple of str, default ()
        Names of the groups, in the order of `known`; empty where there are none.
    group : ndarray of int, shape (n_cells,), optional
        Place of each cell's group in `groups`; needed where there are groups.
    rows : tuple of RankedCells, default ()
        Which cell each row is of, an entry per group (one where there are none): what ranking
        metrics need. Empty where rows have no score.

    Examples
    --------
    >>> known = Counts(3, 1, 1, 3, 10, 0)
    >>> cells = RateCells((known,), np.array([1]), np.array([10]), lambda draws: draws["rate"])
    >>> counts, _ = cells.tables({"rate": np.array([[0.0], [1.0]])}, "sample",
    ...                          np.random.default_rng(0))
    >>> counts[0].ravel()
    array([ 3., 13.])
    """

    known: tuple[Counts, ...]
    decision: IntArray
    count: IntArray
    rates: Callable[[Draws], FloatArray]
    groups: tuple[str, ...] = ()
    group: IntArray | None = None
    rows: tuple[RankedCells, ...] = ()

    @property
    def rank_targets(self) -> tuple[BayesTarget, ...]:
        """Targets for which ranking metrics can be told: all, where the rows are known."""
        return BAYES_TARGETS if self.rows else ()

    @property
    def _places(self) -> IntArray:
        return np.zeros(len(self.count), dtype=np.int64) if self.group is None else self.group

    def tables(
        self, draws: Draws, target: BayesTarget, rng: np.random.Generator
    ) -> tuple[Cells, Cells]:
        """Return completed confusion matrices, by blocks of draws.

        Parameters
        ----------
        draws : mapping of str to ndarray, shape (n_draws, ...)
            Draws of the parameters.
        target : {"sample", "population", "rate"}
            Whose labels.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        tuple of Cells
            Counts that say where a metric is defined, and the cells that it is taken of.
        """
        n_draws = len(next(iter(draws.values())))
        slots = np.zeros((len(self.count), 2 * len(self.known)))
        slots[np.arange(len(self.count)), 2 * self._places + self.decision] = 1.0
        positives = np.empty((n_draws, slots.shape[1]))
        size = max(1, BLOCK_RATES // max(1, len(self.count)))
        for start in track(range(0, n_draws, size), label="completing labels"):
            part = slice(start, start + size)
            rates = self.rates({name: values[part] for name, values in draws.items()})
            if target == "rate":
                positives[part] = (rates * self.count) @ slots
            else:
                positives[part] = rng.binomial(self.count, rates) @ slots
        return finish(self.known, positives[:, 1::2], positives[:, 0::2], target, rng)

    def ranked_tables(
        self, draws: Draws, target: BayesTarget, rng: np.random.Generator
    ) -> RankedTables:
        """Return tables and ranking metrics of the same completed labels, by blocks of draws.

        Parameters
        ----------
        draws : mapping of str to ndarray, shape (n_draws, ...)
            Draws of the parameters.
        target : {"sample", "population", "rate"}
            Whose labels.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        RankedTables
            In the order of the draws.
        """

        def rates(part: slice) -> FloatArray:
            return self.rates({name: values[part] for name, values in draws.items()})

        n_draws = len(next(iter(draws.values())))
        size = max(1, min(BLOCK_DRAWS, BLOCK_RATES // max(1, len(self.count))))
        parts = [slice(start, min(start + size, n_draws)) for start in range(0, n_draws, size)]
        return draw_ranked(self.rows, rates, parts, target, rng)

    def rank_notes(self, target: BayesTarget) -> tuple[str, ...]:
        """Return sentences that belong beside ranking metrics.

        Parameters
        ----------
        target : {"sample", "population", "rate"}
            Whose labels.

        Returns
        -------
        tuple of str
            Sentences.
        """
        return note_population(self.rows) if target == "population" else ()

    def pairs(self, draws: Draws, group: int) -> list[CountPair]:
        """Return the exact laws of U and V of one group, a pair for each draw.

        Parameters
        ----------
        draws : mapping of str to ndarray, shape (n_draws, ...)
            Draws of the parameters.
        group : int
            Place of the group; 0 where there are none.

        Returns
        -------
        list of tuple of IntegerLaw
            Poisson-binomial laws, from one rate and one count per cell.
        """
        n_draws = len(next(iter(draws.values())))
        inside = (self._places == group) & (self.count > 0)
        sides = [inside & (self.decision == side) for side in (1, 0)]
        size = max(1, BLOCK_RATES // max(1, len(self.count)))
        pairs: list[CountPair] = []
        for start in track(range(0, n_draws, size), label="exact laws"):
            block = self.rates({name: part[start : start + size] for name, part in draws.items()})
            first, second = (WeightedP(block[:, side], self.count[side]) for side in sides)
            pairs += zip(first.laws(), second.laws(), strict=True)
        return pairs


def finish(
    known: tuple[Counts, ...],
    u: FloatArray,
    v: FloatArray,
    target: BayesTarget,
    rng: np.random.Generator,
) -> tuple[Cells, Cells]:
    """Return the tables that belong to counts of positives among missing rows.

    Parameters
    ----------
    known : tuple of Counts
        Labeled rows of each group.
    u, v : ndarray of float, shape (n_draws, n_groups)
        Positives among missing rows predicted positive, and predicted negative.
    target : {"sample", "population", "rate"}
        For the population one Dirichlet(counts + 1/2) over all completed rows follows.
    rng : numpy.random.Generator
        Where its weights come from.

    Returns
    -------
    tuple of Cells
        Counts, and the cells that a metric is taken of.
    """
    tp, fp, fn, tn, n_positive, n_negative = np.array(
        [
            (
                group.tp,
                group.fp,
                group.fn,
                group.tn,
                group.unlabeled_predicted_positive,
                group.unlabeled_predicted_negative,
            )
            for group in known
        ],
        dtype=float,
    ).T
    counts = (tp + u, fp + (n_positive - u), fn + v, tn + (n_negative - v))
    if target != "population":
        return counts, counts
    weights = [rng.standard_gamma(cell + HALF_ROW) for cell in counts]
    return counts, (weights[0], weights[1], weights[2], weights[3])


def pool(values: FloatArray, count: IntArray, most: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Return distinct values, or the means of at most `most` parts of equal mass.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        What rows are told apart by: probabilities, logits of scores.
    count : ndarray of int >= 1, shape (n,)
        Rows at each.
    most : int >= 1
        Parts at most.

    Returns
    -------
    mean : ndarray of float, shape (k,)
        Ascending; the weighted mean of each part.
    total : ndarray of int, shape (k,)
        Rows of each part.
    part : ndarray of int, shape (n,)
        Part of each value.

    Examples
    --------
    >>> pool(np.array([0.3, 0.1, 0.3]), np.array([1, 2, 1]), 10)
    (array([0.1, 0.3]), array([2, 2]), array([1, 0, 1]))
    """
    distinct, part = np.unique(values, return_inverse=True)
    weight = np.bincount(part, weights=count, minlength=len(distinct))
    if len(distinct) > most:
        middle = np.cumsum(weight) - weight / 2
        _, place = np.unique((middle * most / weight.sum()).astype(np.int64), return_inverse=True)
        total = np.bincount(place, weights=weight)
        mean = np.bincount(place, weights=weight * distinct) / total
        return mean, total.astype(np.int64), place[part]
    return distinct, weight.astype(np.int64), part
