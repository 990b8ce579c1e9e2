"""Missing rows in rank order, each with the rate of its cell: ranking metrics of every draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from labelbayes._checks import FloatArray, IntArray
from labelbayes._progress import track
from labelbayes.bayes.model import BayesTarget, RankedTables
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.missing_cells import Fits, MissingCells, cells_of
from labelbayes.laws.rank_groups import MOST_GROUPS
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.row_blocks import Totals, add_positives, cut_blocks
from labelbayes.laws.row_draws import (
    CHUNK,
    RowSampler,
    completed_cells,
    drawn_rates,
    ranking_values,
)
from labelbayes.laws.row_weights import SEPARATED, PopulationDraws, RowWeights, is_separated
from labelbayes.metrics.ranking import RANKING_METRICS

#: Draws completed at a time, at most; part of what a seed means.
BLOCK_DRAWS = 250

IN_GROUPS = (
    f"More than {MOST_GROUPS:,} distinct scores: neighbors in rank are weighted together in "
    f"{MOST_GROUPS:,} groups, which keep the order inside a group as it is expected."
)


class RankedDraws(NamedTuple):
    """What draws of one group of rows give.

    Attributes
    ----------
    counts, cells : ndarray of float, shape (4, n_draws)
        tp, fp, fn, tn that say where a metric is defined, and those that it is taken of.
    ranking : dict of str to ndarray of float, shape (n_draws,)
        Ranking metrics by name, nan where undefined.
    """

    counts: FloatArray
    cells: FloatArray
    ranking: dict[str, FloatArray]


@dataclass(frozen=True, eq=False)
class RankedCells:
    """Rows that are ranked among themselves, and the rate that each missing one has.

    Parameters
    ----------
    evaluation : EvaluationSet
        All rows, or those of one group; with scores.
    cell : ndarray of int, shape (n_rows,)
        Which rate each row has; read on missing rows only.

    Notes
    -----
    Rows are sorted once, and only when a ranking metric is asked for.

    Examples
    --------
    >>> rows = RankedCells(EvaluationSet([1, None, 0], [0.9, 0.6, 0.2]), np.array([0, 0, 0]))
    >>> drawn = rows.draw(np.array([[1.0], [0.0]]), "sample", np.random.default_rng(0))
    >>> drawn.ranking["roc_auc"], drawn.counts[0]
    (array([1., 1.]), array([2., 1.]))
    """

    evaluation: EvaluationSet
    cell: IntArray

    @cached_property
    def ranked(self) -> RankedRows:
        """Rows by score."""
        return RankedRows.from_evaluation(self.evaluation)

    @cached_property
    def missing(self) -> MissingCells:
        """Missing rows by score, equal ones together."""
        return cells_of(self.ranked, self.evaluation, self.cell)

    @property
    def is_separated(self) -> bool:
        """Whether all labels are known and the score separates them."""
        return is_separated(self.evaluation.counts, self.ranked)

    def draw(self, rates: FloatArray, target: BayesTarget, rng: np.random.Generator) -> RankedDraws:
        """Return the metrics of these rows, a draw for each draw of the rates.

        Parameters
        ----------
        rates : ndarray of float, shape (n_draws, n_cells)
            P(y = 1) of each cell.
        target : {"sample", "rate"}
            Whether labels are completed, or count with their rate.
        rng : numpy.random.Generator
            Where labels come from.

        Returns
        -------
        RankedDraws
            In the order of the rates.
        """
        if target == "rate":
            return take_totals(self.evaluation.counts, self.ranked, self._expect(rates))
        sampler = RowSampler(
            self.ranked, self.missing, self.evaluation.counts, drawn_rates(lambda *_: rates)
        )
        totals = sampler.draw(len(rates), rng, in_order=True)
        return take_totals(self.evaluation.counts, self.ranked, totals)

    def _expect(self, rates: FloatArray) -> Totals:
        """Return totals where each missing row counts p positive."""
        no_knots = np.empty(0, dtype=np.int64)
        blocks = cut_blocks(self.ranked, self.missing, no_knots, by_cells=True)
        totals = Totals.nothing(len(rates), 0)
        for start in range(0, len(rates), CHUNK):
            part = slice(start, start + CHUNK)
            p = np.ascontiguousarray(rates[part].T)
            for block in blocks:
                add_positives(totals.take(part), block, block.times[:, None] * p[block.bin])
        return totals

    def weights(self, mean_rates: FloatArray) -> RowWeights:
        """Return how rows drawn like these are weighted, once their labels are completed.

        Parameters
        ----------
        mean_rates : ndarray of float, shape (n_cells,)
            Mean rate of each cell over the draws; says which rows may share a weight.

        Returns
        -------
        RowWeights
            Kinds of rows, with the mean rates as their only fit.
        """
        is_missing = ~self.evaluation.is_labeled
        p = self.evaluation.y_true.copy()
        p[is_missing] = mean_rates[self.cell[is_missing]]
        belief = Imputation(
            p,
            self.evaluation.is_labeled,
            method="rates per cell",
            assumption="",
            bin_index=self.cell,
            # One refit: labels are completed before rows are weighted.
            bin_values=np.stack([mean_rates, mean_rates]),
        )
        return RowWeights.from_imputation(self.evaluation, belief)


def rank_rows(evaluations: Sequence[EvaluationSet], cell: IntArray) -> tuple[RankedCells, ...]:
    """Return the rows of each group with their cells.

    Parameters
    ----------
    evaluations : sequence of EvaluationSet
        The groups; all rows in one where there are none.
    cell : ndarray of int, shape (n_rows,)
        Which rate each row has, one group after the other.

    Returns
    -------
    tuple of RankedCells
        An entry per group; empty where rows have no score.
    """
    if evaluations[0].y_score is None:
        return ()
    ends = np.cumsum([evaluation.n_rows for evaluation in evaluations])
    parts = np.split(cell, ends[:-1])
    return tuple(RankedCells(*pair) for pair in zip(evaluations, parts, strict=True))


def take_totals(known: Counts, ranked: RankedRows, totals: Totals) -> RankedDraws:
    """Return the metrics that follow from totals of completed rows.

    Parameters
    ----------
    known : Counts
        Labeled rows.
    ranked : RankedRows
        Rows by score.
    totals : Totals
        Draws of the missing labels.

    Returns
    -------
    RankedDraws
        In the order of the totals.
    """
    counts = np.array(completed_cells(known, totals))
    ranking = {name: ranking_values(name, ranked, totals) for name in RANKING_METRICS}
    return RankedDraws(counts, counts, ranking)


def take_population(drawn: PopulationDraws) -> RankedDraws:
    """Return the metrics of draws of the population.

    Parameters
    ----------
    drawn : PopulationDraws
        Draws.

    Returns
    -------
    RankedDraws
        In their order.
    """
    ranking = {"average_precision": drawn.average_precision, "roc_auc": drawn.roc_auc}
    return RankedDraws(drawn.counts, drawn.weights, ranking)


def draw_ranked(
    rows: Sequence[RankedCells],
    rates: Callable[[slice], FloatArray],
    parts: Sequence[slice],
    target: BayesTarget,
    rng: np.random.Generator,
) -> RankedTables:
    """Return completed tables and ranking metrics of each group, by blocks of draws.

    Parameters
    ----------
    rows : sequence of RankedCells
        The groups; one where there are none.
    rates : callable
        Some draws -> P(y = 1) of each cell of all groups, shape (n_draws, n_cells).
    parts : sequence of slice
        All draws, in blocks that follow each other.
    target : {"sample", "population", "rate"}
        Whose labels.
    rng : numpy.random.Generator
        Where they come from.

    Returns
    -------
    RankedTables
        In the order of the draws.
    """
    kinds: list[RowWeights] = []
    if target == "population":
        mean = np.sum([rates(part).sum(axis=0) for part in parts], axis=0) / parts[-1].stop
        kinds = [own.weights(np.minimum(mean, 1.0)) for own in rows]
    found: list[list[RankedDraws]] = [[] for _ in rows]
    for part in track(parts, label="completing labels"):
        block = rates(part)
        for place, own in enumerate(rows):
            if target == "population":
                weights = replace(kinds[place], fits=Fits(len(block), block.__getitem__))
                drawn = take_population(weights.draw_at(np.arange(len(block)), rng))
            else:
                drawn = own.draw(block, target, rng)
            found[place].append(drawn)
    return stack_groups([_join(each) for each in found])


def _join(blocks: Sequence[RankedDraws]) -> RankedDraws:
    return RankedDraws(
        np.concatenate([block.counts for block in blocks], axis=1),
        np.concatenate([block.cells for block in blocks], axis=1),
        {
            name: np.concatenate([block.ranking[name] for block in blocks])
            for name in RANKING_METRICS
        },
    )


def stack_groups(groups: Sequence[RankedDraws]) -> RankedTables:
    """Put groups side by side.

    Parameters
    ----------
    groups : sequence of RankedDraws
        Draws of each group.

    Returns
    -------
    RankedTables
        Arrays of shape (n_draws, n_groups).
    """
    tp, fp, fn, tn = np.stack([group.counts for group in groups], axis=-1)
    weights = np.stack([group.cells for group in groups], axis=-1)
    return RankedTables(
        (tp, fp, fn, tn),
        (weights[0], weights[1], weights[2], weights[3]),
        {name: np.stack([g.ranking[name] for g in groups], axis=-1) for name in RANKING_METRICS},
    )


def note_population(rows: Sequence[RankedCells]) -> tuple[str, ...]:
    """Return what should stand beside ranking metrics of the population.

    Parameters
    ----------
    rows : sequence of RankedCells
        The groups.

    Returns
    -------
    tuple of str
        Sentences.
    """
    notes = [SEPARATED] if any(own.is_separated for own in rows) else []
    if any(own.ranked.n_steps > MOST_GROUPS for own in rows):
        notes.append(IN_GROUPS)
    return tuple(notes)
