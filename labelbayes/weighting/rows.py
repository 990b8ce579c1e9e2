"""What every weighted estimator works on: weights, multiplicities, clusters, times."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelbayes._checks import BoolArray, FloatArray, IntArray, check_real
from labelbayes.results.sentences import Target, no_chance
from labelbayes.weighting.cross_fitting import read_clusters, read_time
from labelbayes.weighting.propensity import Propensity, read_propensity

#: Below this effective number of labeled rows, and above this share of all weight in the top 1%,
#: a note says that the interval leans on few rows.
FEW_EFFECTIVE = 100.0
TOP_HEAVY = 0.2


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows that had a chance of a label, with their weights.

    Parameters
    ----------
    is_labeled : ndarray of bool, shape (n_kept,)
        Which labels are seen.
    weight : ndarray of float, shape (n_kept,)
        1 / P(labeled), capped; 0 where the label is missing.
    p : ndarray of float, shape (n_kept,)
        P(labeled).
    count : ndarray of int, shape (n_kept,), or None
        Multiplicities; None stands for ones.
    clusters, time : ndarray of int, shape (n_kept,), or None
        Codes of clusters, ranks of times.
    kept : ndarray of int, shape (n_kept,), or None
        Positions of these rows among all; None where all are kept.
    propensity : Propensity
        Where the probabilities come from.
    notes : tuple of str
        What was noticed.
    """

    is_labeled: BoolArray
    weight: FloatArray
    p: FloatArray
    count: IntArray | None
    clusters: IntArray | None
    time: IntArray | None
    kept: IntArray | None
    propensity: Propensity
    notes: tuple[str, ...]

    def total(self, values: FloatArray) -> float:
        """Return the sum over rows, multiplicities counted.

        Parameters
        ----------
        values : ndarray of float, shape (n_kept,)
            A number per row.

        Returns
        -------
        float
            The sum.
        """
        return float(values.sum() if self.count is None else self.count @ values)

    def take(self, values: FloatArray) -> FloatArray:
        """Return the values of these rows, out of those of all rows.

        Parameters
        ----------
        values : ndarray of float, shape (n_rows,)
            A number per row.

        Returns
        -------
        ndarray of float, shape (n_kept,)
            Those of the rows that are kept.
        """
        return values if self.kept is None else values[self.kept]

    @property
    def n(self) -> float:
        """Number of these rows, multiplicities counted."""
        return float(len(self.p) if self.count is None else self.count.sum())

    @property
    def total_weight(self) -> float:
        """Sum of the weights of labeled rows."""
        return self.total(self.weight)

    @property
    def ess(self) -> float:
        """Effective number of labeled rows (Kish): squared sum of weights over sum of squares."""
        return effective_size(self.weight, self.count)


def effective_size(weight: FloatArray, count: IntArray | None = None) -> float:
    """Return how many rows of equal weight would be as good as these (Kish).

    Parameters
    ----------
    weight : ndarray of float, shape (n_rows,)
        Weights at least 0.
    count : ndarray of int, shape (n_rows,), optional
        Multiplicities.

    Returns
    -------
    float
        Squared sum of weights over the sum of their squares; 0 without weight.

    References
    ----------
    .. [1] L. Kish, Survey Sampling, Wiley, 1965.

    Examples
    --------
    >>> effective_size(np.array([1.0, 1.0, 0.0])), effective_size(np.array([3.0, 1.0]))
    (2.0, 1.6)
    """
    counted = weight if count is None else count * weight
    squares = float(counted @ weight)
    return float(counted.sum()) ** 2 / squares if squares > 0 else 0.0


def top_share(weight: FloatArray, count: IntArray | None = None, share: float = 0.01) -> float:
    """Return which part of all weight the largest weights carry.

    Parameters
    ----------
    weight : ndarray of float, shape (n_rows,)
        Weights; rows of weight 0 do not count.
    count : ndarray of int, shape (n_rows,), optional
        Multiplicities.
    share : float, default 0.01
        Share of the rows that counts as the top, rounded up to whole rows.

    Returns
    -------
    float
        In [0, 1]; nan without weight.

    Examples
    --------
    >>> top_share(np.array([1.0, 1.0, 2.0]))
    0.5
    """
    total = float(weight.sum() if count is None else count @ weight)
    if not total > 0:
        return math.nan
    if count is None:
        n_top = math.ceil(share * np.count_nonzero(weight) - 1e-9)
        return float(np.partition(weight, -n_top)[-n_top:].sum()) / total
    order = np.argsort(-weight)
    units = np.where(weight > 0, count, 0)[order].astype(np.float64)
    left = math.ceil(share * float(units.sum()) - 1e-9)
    taken = np.clip(left - (np.cumsum(units) - units), 0.0, units)
    return float(taken @ weight[order]) / total


def read_rows(
    is_labeled: BoolArray,
    count: IntArray | None,
    propensity: Propensity | npt.ArrayLike,
    *,
    clip: float | None,
    clusters: npt.ArrayLike | None,
    time: npt.ArrayLike | None,
    target: Target,
) -> WeightedRows:
    """Return checked weights of the rows that had a chance of a label.

    Parameters
    ----------
    is_labeled : ndarray of bool, shape (n_rows,)
        Which labels are seen.
    count : ndarray of int, shape (n_rows,), or None
        Multiplicities; None stands for ones.
    propensity : Propensity or array_like of float, shape (n_rows,)
        P(labeled).
    clip : float >= 1 or None
        Largest weight.
    clusters, time : array_like, shape (n_rows,), or None
        What makes rows depend on each other.
    target : {"sample", "population"}
        Times matter for the population alone.

    Returns
    -------
    WeightedRows
        With notes on weight that was cut, rows without a chance and lopsided weights.

    Raises
    ------
    ValueError
        If nothing is labeled, a labeled row has propensity 0, or an option does not fit.
    """
    n_rows = len(is_labeled)
    if not is_labeled.any():
        raise ValueError("There must be at least one label to weight; got none.")
    if clusters is not None and time is not None:
        raise ValueError(
            "`clusters` and `time` must not both be given; one of them has to say which rows "
            "depend on each other."
        )
    if time is not None and target == "sample":
        raise ValueError(
            "`time` speaks about rows drawn over time, target='population'; with target='sample' "
            "these rows are fixed. Leave it out."
        )
    known = read_propensity(propensity, n_rows)
    p = known.p
    is_impossible = is_labeled & (p == 0)
    if is_impossible.any():
        raise ValueError(
            "`propensity` must be above 0 where a label was seen; got 0 at row "
            f"{int(np.argmax(is_impossible))} ({int(is_impossible.sum())} such rows). A label "
            "that was seen had a chance: refit it, or correct the design."
        )
    codes, times = read_clusters(clusters, n_rows), read_time(time, n_rows)
    notes, kept = [], None
    if (p == 0).any():
        kept = np.flatnonzero(p > 0)
        units = np.ones(n_rows) if count is None else count.astype(np.float64)
        notes.append(no_chance(float(units[p == 0].sum() / units.sum())))
        p, is_labeled = p[kept], is_labeled[kept]
        count = None if count is None else count[kept]
        codes = None if codes is None else np.unique(codes[kept], return_inverse=True)[1]
        times = None if times is None else np.unique(times[kept], return_inverse=True)[1]
    weight = is_labeled / p
    if clip is not None:
        weight, note = _cap(weight, count, clip)
        notes.append(note)
    return WeightedRows(is_labeled, weight, p, count, codes, times, kept, known, tuple(notes))


def lopsided(rows: WeightedRows) -> list[str]:
    """Return the warnings that belong beside estimates that lean on few rows.

    Parameters
    ----------
    rows : WeightedRows
        Rows and weights.

    Returns
    -------
    list of str
        Sentences; none where weights are even and many.
    """
    found = []
    if rows.ess < FEW_EFFECTIVE:
        found.append(
            f"Effective sample size {rows.ess:.3g}, below {FEW_EFFECTIVE:g}: the standard errors "
            "are themselves uncertain."
        )
    heavy = top_share(rows.weight, rows.count)
    if heavy > TOP_HEAVY:
        found.append(
            f"The top 1% of the labeled rows carry {heavy:.0%} of all weight: a few labels decide. "
            "Look at overlap, and at the curve of clipped weights."
        )
    return found


def _cap(weight: FloatArray, count: IntArray | None, clip: float) -> tuple[FloatArray, str]:
    largest = check_real("clip", clip)
    if largest < 1:
        raise ValueError(
            f"`clip` must be at least 1, the weight of a row that is always labeled; got {clip!r}."
        )
    units = np.ones(len(weight)) if count is None else count.astype(np.float64)
    is_cut = weight > largest
    capped = np.minimum(weight, largest)
    cut = float(units @ (weight - capped)) / float(units @ weight)
    return capped, (
        f"Weights were capped at {largest:g}: {int(units[is_cut].sum()):,} labeled rows, {cut:.1%} "
        "of all weight. The estimate moves from the target toward the rows that were labeled most."
    )
