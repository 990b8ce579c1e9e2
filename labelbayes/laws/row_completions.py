"""Completions of every missing label, for two models or two groups at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.disjoint_rows import split_by_model, spread_evenly
from labelbayes.laws.missing_cells import Fits, MissingCells, cells_and_fits
from labelbayes.laws.population import HALF_ROW, Cells
from labelbayes.laws.row_draws import RowSampler, drawn_metrics
from labelbayes.laws.row_sides import RowSide
from labelbayes.laws.row_weights import is_separated
from labelbayes.metrics.registry import Metric

#: Numbers in one block of draws x rows.
BLOCK_NUMBERS = 1_000_000
#: Up to so many missing rows, blocks of completions are faster than those of each group by itself.
FEW_ROWS = 4_000


@dataclass(frozen=True, eq=False)
class RowCompletions:
    """Metrics of two sides under completions of every missing label.

    Parameters
    ----------
    sides : tuple of RowSide
        A and B.
    columns : tuple of ndarray of int
        Which labels of a completion are the missing rows of either side.
    rows : ndarray of int, shape (m,)
        Row of each label of a completion.
    labeled : ndarray of int
        Rows with a label.
    row_count : ndarray of int, shape (n_rows,)
        Multiplicity of each row.
    imputation : Imputation
        The belief about these rows.
    masks : tuple of ndarray of bool, or None
        Rows of the first group and of the second; None for two models, which share their rows.
    """

    sides: tuple[RowSide, RowSide]
    columns: tuple[IntArray, IntArray]
    rows: IntArray
    labeled: IntArray
    row_count: IntArray
    imputation: Imputation
    masks: tuple[BoolArray, BoolArray] | None = None

    @classmethod
    def of_models(
        cls, evaluation_a: EvaluationSet, evaluation_b: EvaluationSet, imputation: Imputation
    ) -> RowCompletions:
        """Return the comparison of two models on the same rows.

        Parameters
        ----------
        evaluation_a, evaluation_b : EvaluationSet
            The same rows with the scores of either model.
        imputation : Imputation
            Belief about their labels.

        Returns
        -------
        RowCompletions
            A less B.
        """
        both = (evaluation_a, evaluation_b)
        keys: list[npt.NDArray[Any] | None] = [imputation.p]
        keys += [column for e in both for column in (e.y_pred, e.y_score)]
        rows = _in_order(~imputation.is_labeled, keys)
        every = np.arange(len(rows))
        return cls(
            (RowSide(evaluation_a, rows), RowSide(evaluation_b, rows)),
            (every, every),
            rows,
            _in_order(imputation.is_labeled, keys),
            evaluation_a.count,
            imputation,
        )

    @classmethod
    def of_groups(
        cls, evaluation: EvaluationSet, masks: tuple[BoolArray, BoolArray], imputation: Imputation
    ) -> RowCompletions:
        """Return the comparison of two groups of rows.

        Parameters
        ----------
        evaluation : EvaluationSet
            All rows, with scores.
        masks : tuple of ndarray of bool, each of shape (n_rows,)
            Rows of the first group and of the second.
        imputation : Imputation
            Belief about all rows.

        Returns
        -------
        RowCompletions
            First less second.
        """
        kept = masks[0] | masks[1]
        evaluation, imputation = evaluation.subset(kept), imputation.subset(kept)
        keys: list[npt.NDArray[Any] | None] = [
            imputation.p,
            evaluation.y_pred,
            evaluation.y_score,
        ]
        own = (masks[0][kept], masks[1][kept])
        rows = [_in_order(mask & ~imputation.is_labeled, keys) for mask in own]
        first, second = (
            RowSide(evaluation.subset(mask), (np.cumsum(mask) - 1)[here])
            for mask, here in zip(own, rows, strict=True)
        )
        both = np.concatenate(rows)
        columns = np.split(np.arange(len(both)), [len(rows[0])])
        return cls(
            (first, second),
            (columns[0], columns[1]),
            both,
            _in_order(imputation.is_labeled, keys),
            evaluation.count,
            imputation,
            own,
        )

    @cached_property
    def count(self) -> IntArray:
        """Multiplicity of each label of a completion, shape (m,)."""
        return self.row_count[self.rows]

    @property
    def is_shared(self) -> bool:
        """Whether both sides are the same rows with the same labels."""
        return self.masks is None

    @property
    def is_separated(self) -> bool:
        """Whether a side has all its labels and ranks one class above the other."""
        return any(is_separated(side.evaluation.counts, side.ranked) for side in self.sides)

    @property
    def n_fits(self) -> int:
        """Number of fits of the belief."""
        return max(1, self.imputation.n_refits)

    def p(self, fit: int) -> FloatArray:
        """Return P(y = 1) of the labels of a completion under one fit.

        Parameters
        ----------
        fit : int
            Which fit.

        Returns
        -------
        ndarray of float, shape (m,)
            Probabilities.
        """
        imputation = self.imputation
        return (imputation.refit(fit) if imputation.n_refits else imputation.p)[self.rows]

    def values(self, metrics: Sequence[Metric], labels: FloatArray) -> dict[str, FloatArray]:
        """Return A - B of completed labels.

        Parameters
        ----------
        metrics : sequence of CountMetric or RankingMetric
            The metrics.
        labels : ndarray of float, shape (n, m)
            Positives at each missing row, up to its multiplicity.

        Returns
        -------
        dict of str to ndarray of float, shape (n,)
            Values by metric; nan where either is undefined.
        """
        a, b = (
            side.values(metrics, labels if self.is_shared else labels.take(columns, axis=1))
            for side, columns in zip(self.sides, self.columns, strict=True)
        )
        return {name: a[name] - b[name] for name in a}

    @cached_property
    def cells(self) -> list[tuple[MissingCells, Fits]]:
        """Cells of missing rows of either side, and their rates."""
        beliefs = [self.imputation] * 2
        if self.masks is not None:
            beliefs = [self.imputation.subset(mask) for mask in self.masks]
        return [
            cells_and_fits(side.ranked, side.evaluation, belief)
            for side, belief in zip(self.sides, beliefs, strict=True)
        ]

    def draw(
        self, metrics: Sequence[Metric], n: int, rng: np.random.Generator
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
            Draws by metric; nan where either is undefined.
        """
        if not self.is_shared and len(self.rows) > FEW_ROWS:
            return self._draw_by_group(metrics, n, rng)
        drawn = {metric.name: np.empty(n) for metric in metrics}
        for fit, at in spread_evenly(self.n_fits, n, rng):
            for part, labels in self._label_blocks(fit, len(at), rng):
                _put(drawn, at[part], self.values(metrics, labels))
        return drawn

    def _draw_by_group(
        self, metrics: Sequence[Metric], n: int, rng: np.random.Generator
    ) -> dict[str, FloatArray]:
        """Draw the metrics of each group by itself, one fit serving both in each draw."""
        which = np.empty(n, dtype=np.int64)
        for fit, at in spread_evenly(self.n_fits, n, rng):
            which[at] = fit
        values = []
        for side, (cells, fits) in zip(self.sides, self.cells, strict=True):
            sampler = RowSampler(side.ranked, cells, side.evaluation.counts, fits.told(which))
            values.append(drawn_metrics(metrics, sampler, sampler.draw(n, rng, in_order=True)))
        a, b = values
        return {name: a[name] - b[name] for name in a}

    def _label_blocks(
        self, fit: int, n: int, rng: np.random.Generator
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Draw completions block by block: nothing of size draws x rows is held."""
        p, is_single = self.p(fit), bool((self.count == 1).all())
        size = max(1, BLOCK_NUMBERS // max(1, len(p)))
        for start in range(0, n, size):
            part = slice(start, min(start + size, n))
            shape = (part.stop - start, len(p))
            labels = rng.random(shape) < p if is_single else rng.binomial(self.count, p, shape)
            yield part, labels.astype(np.float64)

    def draw_population(
        self, metrics: Sequence[Metric], n: int, rng: np.random.Generator
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
            Draws by metric; nan where the completed sample leaves either undefined.

        Notes
        -----
        With p known each row has a gamma weight and its label is replaced by p; with refits the
        labels are completed first. Count metrics add pseudo-rows of one half a cell.
        """
        drawn = {metric.name: np.empty(n) for metric in metrics}
        for fit, at in spread_evenly(self.n_fits, n, rng):
            for part, labels in self._label_blocks(fit, len(at), rng):
                of_sample = self.values(metrics, labels)
                weights = self._row_weights(fit, labels, rng)
                pseudo = self._pseudo_cells(len(labels), rng)
                a, b = (
                    side.weighted_values(metrics, weights[0][:, taken], weights[1][:, taken], cells)
                    for side, taken, cells in zip(self.sides, self._taken, pseudo, strict=True)
                )
                values = {
                    name: np.where(np.isnan(of_sample[name]), np.nan, a[name] - b[name])
                    for name in a
                }
                _put(drawn, at[part], values)
        return drawn

    @cached_property
    def _taken(self) -> list[slice | BoolArray]:
        """Rows of either side."""
        return [slice(None), slice(None)] if self.masks is None else list(self.masks)

    def _row_weights(
        self, fit: int, labels: FloatArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return the weight of each row as a positive and as a negative, draw by draw."""
        shape, labeled = (len(labels), len(self.row_count)), self.labeled
        positive, negative = np.zeros(shape), np.zeros(shape)
        weight = rng.standard_gamma(self.row_count[labeled], (len(labels), len(labeled)))
        is_positive = self.imputation.p[labeled] == 1
        positive[:, labeled], negative[:, labeled] = weight * is_positive, weight * ~is_positive
        if self.imputation.n_refits:
            positive[:, self.rows] = rng.standard_gamma(labels)
            negative[:, self.rows] = rng.standard_gamma(self.count - labels)
        else:
            weight, p = rng.standard_gamma(self.count, labels.shape), self.p(fit)
            positive[:, self.rows], negative[:, self.rows] = weight * p, weight * (1 - p)
        return positive, negative

    def _pseudo_cells(self, n: int, rng: np.random.Generator) -> list[Cells]:
        """Return pseudo-rows of one half in each cell of either side's confusion matrix.

        Two models share them: a quarter for each label and pair of decisions.
        """
        if not self.is_shared:
            return [_four_cells(HALF_ROW, n, rng) for _ in self.sides]
        return split_by_model(*(_four_cells(HALF_ROW / 2, n, rng) for _ in range(2)))


def _four_cells(rows: float, n: int, rng: np.random.Generator) -> Cells:
    tp, fp, fn, tn = rng.standard_gamma(rows, (4, n))
    return tp, fp, fn, tn


def _put(drawn: dict[str, FloatArray], at: IntArray | slice, values: dict[str, FloatArray]) -> None:
    for name, column in values.items():
        drawn[name][at] = column


def _in_order(chosen: BoolArray, keys: Sequence[npt.NDArray[Any] | None]) -> IntArray:
    """Return the chosen rows, sorted so that draws do not depend on the order of the rows."""
    rows = np.flatnonzero(chosen)
    return rows[np.lexsort([key[rows] for key in keys if key is not None])]
