"""How much each label weighs in a fit, and in a fit under Bayesian-bootstrap weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelbayes._checks import FloatArray, IntArray
from labelbayes.data.columns import as_column, as_groups, as_reals
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.full_columns import read_full_column

#: Clusters with labels below which their bootstrap is known to be too narrow.
FEW_CLUSTERS = 20


@dataclass(frozen=True, eq=False)
class LabelWeights:
    """Labeled rows with a weight, in any order; or groups of equal ones.

    Parameters
    ----------
    row : ndarray of int, shape (k,)
        Row of the evaluation.
    label : ndarray of float, shape (k,)
        0 or 1.
    count : ndarray of float, shape (k,)
        Labels that the row stands for.
    scale : ndarray of float > 0, shape (k,)
        Sample weight of each of these labels, with mean 1 over all labels.
    cluster : ndarray of int, shape (k,), or None
        Cluster of each row, from 0; None where labels are independent.
    """

    row: IntArray
    label: FloatArray
    count: FloatArray
    scale: FloatArray
    cluster: IntArray | None

    @property
    def weight(self) -> FloatArray:
        """Weight of each row in the fit itself."""
        return self.count * self.scale

    @property
    def n_clusters(self) -> int | None:
        """Clusters with labels; None where labels are independent."""
        return None if self.cluster is None else int(self.cluster.max()) + 1

    @property
    def is_plain(self) -> bool:
        """Whether labels weigh alike and are independent."""
        return self.cluster is None and bool((self.scale == 1).all())

    @property
    def n_by_class(self) -> tuple[int, int]:
        """Positive and negative labels with a weight."""
        n_positive = int(self.count @ self.label)
        return n_positive, int(self.count.sum()) - n_positive

    def pool(self, columns: Sequence[npt.NDArray[Any]]) -> LabelWeights:
        """Return groups of rows that no fit can tell apart, in an order of their own.

        Draws for these groups depend neither on the order of rows nor on how counts are split.

        Parameters
        ----------
        columns : sequence of ndarray, shape (k,)
            What the fit looks at beside the label.

        Returns
        -------
        LabelWeights
            One entry a group, ascending in the columns, then the label.
        """
        cluster = np.zeros(len(self.row), dtype=np.int64) if self.cluster is None else self.cluster
        keys = [*columns, self.label, self.scale, cluster]
        order = np.lexsort(keys[::-1])
        starts, group = runs([key[order] for key in keys])
        first = order[starts]
        return LabelWeights(
            self.row[first],
            self.label[first],
            np.asarray(np.bincount(group, self.count[order]), dtype=np.float64),
            self.scale[first],
            None if self.cluster is None else cluster[first],
        )

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Return the weights of one refit.

        Parameters
        ----------
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        ndarray of float, shape (k,)
            Exponential(1) per label, or per cluster, times the sample weight.
        """
        if self.cluster is None:
            # A sum of k exponential(1) weights is gamma(k): one draw per group.
            return rng.standard_gamma(self.count) * self.scale
        return rng.standard_exponential(self.n_clusters)[self.cluster] * self.weight

    def notes(self) -> tuple[str, ...]:
        """Return what clusters change and what they do not.

        Returns
        -------
        tuple of str
            Sentences; none where labels are independent.
        """
        if self.n_clusters is None:
            return ()
        weighed = (
            f"Refits weigh the {self.n_clusters:,} clusters that have labels, not single rows. "
            "Missing labels are still independent draws given p: what rows of a cluster share "
            "beyond p is not in their noise."
        )
        few = f"Only {self.n_clusters} clusters have labels: intervals from so few are too narrow."
        return (weighed, few) if self.n_clusters < FEW_CLUSTERS else (weighed,)


def runs(columns: Sequence[npt.NDArray[Any]]) -> tuple[IntArray, IntArray]:
    """Return where runs of equal entries start, and the run of each entry.

    Parameters
    ----------
    columns : sequence of ndarray, shape (k,)
        Sorted together.

    Returns
    -------
    tuple of ndarray of int
        Starts, shape (n_runs,); run of each entry, shape (k,).
    """
    changes = np.ones(len(columns[0]), dtype=bool)
    changes[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.flatnonzero(changes), np.cumsum(changes) - 1


def weigh_labels(
    evaluation: EvaluationSet,
    sample_weight: npt.ArrayLike | None,
    clusters: npt.ArrayLike | None,
) -> LabelWeights:
    """Return the labeled rows and what they weigh.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels.
    sample_weight : array_like of float >= 0, shape (n_rows,), or None
        Weight of each labeled row; what stands on other rows is not used.
    clusters : array_like, shape (n_rows,), or None
        Cluster of each row.

    Returns
    -------
    LabelWeights
        Rows of weight 0 are left out.

    Raises
    ------
    ValueError
        If a weight is negative, missing or infinite on a labeled row, all are 0, a cluster is
        missing, all labels are in one cluster, or a length is wrong.
    TypeError
        If weights are no numbers.
    """
    rows = np.flatnonzero(evaluation.is_labeled)
    scale = np.ones(len(rows))
    if sample_weight is not None:
        scale = _read_weights(sample_weight, evaluation, rows)
        rows, scale = rows[scale > 0], scale[scale > 0]
    count = evaluation.count[rows].astype(np.float64)
    if sample_weight is not None and len(rows):
        scale = scale * (count.sum() / (count @ scale))
    cluster = None
    if clusters is not None:
        column = read_full_column("clusters", clusters, evaluation.n_rows)
        named = as_groups(column, name="clusters").astype(str)[rows]
        names, cluster = np.unique(named, return_inverse=True)
        if len(names) == 1:
            raise ValueError(
                "`clusters` must set at least two clusters of labeled rows apart; all labels are "
                f"in cluster {str(names[0])!r}. Leave it out, or label rows of other clusters."
            )
    return LabelWeights(rows, evaluation.y_true[rows], count, scale, cluster)


def _read_weights(
    sample_weight: npt.ArrayLike, evaluation: EvaluationSet, rows: IntArray
) -> FloatArray:
    column = as_column("sample_weight", sample_weight)
    if len(column) != evaluation.n_rows:
        raise ValueError(
            "`sample_weight` must have one value per row of the evaluation, "
            f"{evaluation.n_rows}; got {len(column)}."
        )
    every = np.asarray(as_reals("sample_weight", column), dtype=np.float64)
    scale = every[rows]
    bad = ~((scale >= 0) & np.isfinite(scale))
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"`sample_weight` must be finite and at least 0 on labeled rows; got {scale[first]} "
            f"at row {rows[first]} ({int(bad.sum())} such values). Weigh these rows, or leave "
            "them out."
        )
    if len(rows) and not scale.any():
        raise ValueError(
            "`sample_weight` must be positive on at least one labeled row; got 0 on all "
            f"{len(rows):,}. Leave it out to weigh labels alike."
        )
    # In units of the largest first, so that no sum of finite weights overflows.
    return scale / scale.max() if len(rows) else scale
