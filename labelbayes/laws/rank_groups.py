"""Neighbors in rank put together: ranking metrics of weighted rows at one cost for any n."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelbayes._checks import FloatArray, IntArray
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.thinning import choose_knots

#: Groups at most; where there are fewer distinct scores every score is a group.
MOST_GROUPS = 2_048


@dataclass(frozen=True, eq=False, repr=False)
class RankGroups:
    """Groups of neighboring steps; inside a group the order of rows stays that of the data.

    Parameters
    ----------
    of_step : ndarray of int, shape (n_steps,)
        Group of each step.
    inside : ndarray of float, shape (n_groups,)
        Area under the ROC curve inside the group.
    positives_above, rows_above : ndarray of float, shape (n_groups,)
        Share of the group's positives, and of its rows, down to where a positive of it stands on
        average, itself included.
    correction : ndarray of float, shape (n_groups,)
        Factor on the mean precision in the group that makes average precision exact at the
        expected weights.

    Notes
    -----
    With a group per step, ranking metrics are exact: shares are 1, areas 1/2 and corrections 1.
    With larger groups they are exact at the expected weights, and what is lost is the spread of
    the order inside groups: at 2,048 groups 1/2,048 of all pairs are inside.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> ranked = RankedRows.from_evaluation(EvaluationSet([1, 0, 1], [0.9, 0.9, 0.2]))
    >>> groups = RankGroups.from_ranked(ranked, np.array([1.0, 1.0]))
    >>> area, precision = groups.metrics(np.array([[1.0], [1.0]]), np.array([[1.0], [0.0]]))
    >>> area, precision.round(4)
    (array([0.25]), array([0.5833]))
    """

    of_step: IntArray
    inside: FloatArray
    positives_above: FloatArray
    rows_above: FloatArray
    correction: FloatArray

    @classmethod
    def from_ranked(
        cls, ranked: RankedRows, positive: FloatArray, most: int = MOST_GROUPS
    ) -> RankGroups:
        """Group the steps of a ranking.

        Parameters
        ----------
        ranked : RankedRows
            Rows by score.
        positive : ndarray of float, shape (n_steps,)
            Expected positives at each step.
        most : int, default 2_048
            Groups at most.

        Returns
        -------
        RankGroups
            The groups.
        """
        last = choose_knots(ranked, most)
        first = np.append(0, last[:-1] + 1)
        of_step = np.repeat(np.arange(len(last)), last - first + 1)
        rows = ranked.step_count.astype(np.float64)
        negative = rows - positive
        in_group = [np.add.reduceat(column, first) for column in (positive, negative, rows)]
        # Positives and rows of the own group down to each step.
        above, down = (
            np.cumsum(column) - (np.cumsum(total) - total)[of_step]
            for column, total in ((positive, in_group[0]), (rows, in_group[2]))
        )
        before = np.cumsum(in_group[0]) - in_group[0]
        rows_before = np.cumsum(in_group[2]) - in_group[2]
        precision = (before[of_step] + above) / (rows_before[of_step] + down)
        pairs, met, passed, precisions = (
            np.add.reduceat(column, first)
            for column in (
                negative * (above - positive / 2.0),
                positive * above,
                positive * down,
                positive * precision,
            )
        )
        inside = _share(pairs, in_group[0] * in_group[1], 0.5)
        positives_above = _share(met, in_group[0] ** 2, 1.0)
        rows_above = _share(passed, in_group[0] * in_group[2], 1.0)
        middle = (before + positives_above * in_group[0]) / (rows_before + rows_above * in_group[2])
        correction = _share(precisions, in_group[0] * middle, 1.0)
        return cls(of_step, inside, positives_above, rows_above, correction)

    def metrics(self, positive: FloatArray, negative: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ranking metrics of weighted groups.

        Parameters
        ----------
        positive, negative : ndarray of float, shape (n_groups, n_draws)
            Weights.

        Returns
        -------
        tuple of ndarray of float, each of shape (n_draws,)
            Area under the ROC curve and average precision; nan where a class has no weight.
        """
        to_here = np.cumsum(positive, axis=0)
        before = to_here - positive
        rows = positive + negative
        rows_before = np.cumsum(rows, axis=0) - rows
        inside, met, passed, factor = (
            column[:, np.newaxis]
            for column in (self.inside, self.positives_above, self.rows_above, self.correction)
        )
        n_positive, n_negative = to_here[-1], negative.sum(axis=0)
        pairs = (negative * (before + inside * positive)).sum(axis=0)
        reached = rows_before + passed * rows
        precision = factor * (before + met * positive) / np.where(reached > 0, reached, 1.0)
        precisions = (positive * precision).sum(axis=0)
        area = _share(pairs, n_positive * n_negative, np.nan)
        return np.minimum(area, 1.0), np.minimum(_share(precisions, n_positive, np.nan), 1.0)


def _share(part: FloatArray, whole: FloatArray, otherwise: float) -> FloatArray:
    """Divide, with a value for 0 / 0."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), otherwise)
