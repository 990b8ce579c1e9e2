"""One side of a comparison: its metrics on many completions of the labels at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labelbayes._checks import FloatArray, IntArray
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.laws.missing_cells import MissingCells
from labelbayes.laws.population import Cells
from labelbayes.laws.precision_sums import PrecisionSums
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.ranking import RankingMetric, order_by_score
from labelbayes.metrics.registry import Metric


@dataclass(frozen=True, eq=False)
class RowSide:
    """A model, or a group, whose metrics are asked for under many completions.

    Parameters
    ----------
    evaluation : EvaluationSet
        Its rows, with scores.
    missing : ndarray of int, shape (m,)
        Its rows without a label, in the order in which completions give their labels.
    """

    evaluation: EvaluationSet
    missing: IntArray

    @cached_property
    def ranked(self) -> RankedRows:
        """Its rows by score."""
        return RankedRows.from_evaluation(self.evaluation)

    @cached_property
    def count(self) -> IntArray:
        """Multiplicity of each missing row, shape (m,)."""
        return self.evaluation.count[self.missing]

    @cached_property
    def step(self) -> IntArray:
        """Step of each missing row, shape (m,)."""
        place = np.empty(self.evaluation.n_rows, dtype=np.int64)
        place[self.ranked.row] = self.ranked.step
        return place[self.missing]

    @cached_property
    def _by_rank(self) -> IntArray:
        return np.argsort(self.step, kind="stable")

    @cached_property
    def _starts(self) -> IntArray | None:
        """First missing row of each step, by rank; None where each has a step of its own."""
        starts = np.flatnonzero(np.diff(self.step[self._by_rank], prepend=-1))
        return None if len(starts) == len(self.missing) else starts

    @cached_property
    def _sums(self) -> PrecisionSums:
        """Sums for average precision, one entry per missing row, by rank."""
        cells = MissingCells(
            step=self.step[self._by_rank],
            is_positive=self.evaluation.y_pred[self.missing][self._by_rank] == 1,
            count=self.count[self._by_rank],
            bin=np.arange(len(self.missing)),
            row=self.missing[self._by_rank],
            n_bins=len(self.missing),
        )
        return PrecisionSums.from_cells(self.ranked, cells)

    def values(self, metrics: Sequence[Metric], positives: FloatArray) -> dict[str, FloatArray]:
        """Return the metrics of completed labels.

        Parameters
        ----------
        metrics : sequence of CountMetric or RankingMetric
            The metrics; of the ranking ones ROC-AUC and average precision.
        positives : ndarray of float, shape (n, m)
            Positives at each missing row, up to its multiplicity.

        Returns
        -------
        dict of str to ndarray of float, shape (n,)
            Values by metric; nan where undefined.
        """
        total = positives.sum(axis=1)
        values = {}
        for metric in metrics:
            if isinstance(metric, CountMetric):
                values[metric.name] = metric(*self._cells(positives, total))
            elif metric.name == "roc_auc":
                values[metric.name] = self._roc_auc(positives, total)
            else:
                values[metric.name] = self._average_precision(positives, total)
        return values

    def _cells(self, positives: FloatArray, total: FloatArray) -> Cells:
        known = self.evaluation.counts
        u = positives @ (self.evaluation.y_pred[self.missing] == 1).astype(np.float64)
        v = total - u
        n_u, n_v = known.unlabeled_predicted_positive, known.unlabeled_predicted_negative
        return known.tp + u, known.fp + n_u - u, known.fn + v, known.tn + n_v - v

    def _roc_auc(self, positives: FloatArray, total: FloatArray) -> FloatArray:
        ranked = self.ranked
        n_positive = ranked.n_known_positive + total
        rank_sum = ranked.known_rank_sum + positives @ ranked.midrank[self.step]
        above, pairs = (
            rank_sum - n_positive * (n_positive - 1) / 2,
            n_positive * (ranked.n - n_positive),
        )
        return _share(above, pairs)

    def _average_precision(self, positives: FloatArray, total: FloatArray) -> FloatArray:
        sums = self._sums
        by_rank = positives.take(self._by_rank, axis=1)
        down_to, inverse = np.cumsum(by_rank, axis=1), sums.inverse_rows
        known = sums.constant + by_rank @ sums.slope
        if self._starts is not None:
            last = np.append(self._starts[1:], len(inverse)) - 1
            down_to, inverse = down_to.take(last, axis=1), inverse[last]
            by_rank = np.add.reduceat(by_rank, self._starts, axis=1)
        down_to *= by_rank
        return _share(known + down_to @ inverse, sums.n_known_positive + total)

    def weighted_values(
        self,
        metrics: Sequence[Metric],
        positive: FloatArray,
        negative: FloatArray,
        pseudo_cells: Cells,
    ) -> dict[str, FloatArray]:
        """Return the metrics of weighted rows.

        Parameters
        ----------
        metrics : sequence of CountMetric or RankingMetric
            The metrics.
        positive, negative : ndarray of float, shape (n, n_rows)
            Weight of each row as a positive and as a negative.
        pseudo_cells : tuple of ndarray of float, each of shape (n,)
            Weight of the pseudo-rows in tp, fp, fn, tn; ranking metrics do without.

        Returns
        -------
        dict of str to ndarray of float, shape (n,)
            Values by metric; nan where undefined.
        """
        decided = (self.evaluation.y_pred == 1).astype(np.float64)
        tp, fp = positive @ decided, negative @ decided
        fn, tn = positive.sum(axis=1) - tp, negative.sum(axis=1) - fp
        cells = [cell + more for cell, more in zip((tp, fp, fn, tn), pseudo_cells, strict=True)]
        at_steps = [self._at_steps(weight) for weight in (positive, negative)]
        return {
            metric.name: metric(*cells)
            if isinstance(metric, CountMetric)
            else metric.value(*at_steps)
            for metric in metrics
        }

    def _at_steps(self, weight: FloatArray) -> FloatArray:
        order, starts = self._row_order
        return np.add.reduceat(weight[:, order], starts, axis=1)

    @cached_property
    def _row_order(self) -> tuple[IntArray, IntArray]:
        assert self.evaluation.y_score is not None  # its rows could not be ranked otherwise
        order, step = order_by_score(self.evaluation.y_score)
        return order, np.flatnonzero(np.diff(step, prepend=-1))

    def is_undefined(self, metric: RankingMetric, n_positive: int) -> bool:
        """Return whether a ranking metric is undefined at a number of positives.

        Parameters
        ----------
        metric : RankingMetric
            The metric.
        n_positive : int
            Positives among all rows.

        Returns
        -------
        bool
            Whether it is nan there, whatever the ranking.
        """
        n_negative = self.ranked.n - n_positive
        at = metric.value(np.array([float(n_positive)]), np.array([float(n_negative)]))
        return bool(np.isnan(at))


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Divide, nan where the whole is 0; round-off does not pass 1."""
    share = np.where(whole > 0, part, np.nan) / np.where(whole > 0, whole, 1.0)
    return np.minimum(share, 1.0)
