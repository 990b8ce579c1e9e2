"""Sums over the ranks of missing rows: all that moments of ROC-AUC need of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.laws.characteristic import ComplexArray
from labelbayes.laws.missing_cells import Fits, MissingCells
from labelbayes.laws.power_series import BLOCK, KEPT_VARIANCE, MAX_ORDER, NEAR, largest_step
from labelbayes.laws.power_series import required_order as count_order
from labelbayes.laws.power_sums import PowerSums
from labelbayes.laws.ranked_rows import RankedRows

#: From this many multiplications on OpenBLAS starts threads, which cost 5x inside worker threads.
LARGEST_PRODUCT = 1 << 18

#: Numbers in one block of (frequency, row) pairs.
PAIRS_AT_ONCE = 1 << 17


@dataclass(frozen=True, eq=False)
class RankSums:
    """Missing rows by rate, and sums over the ranks of the rows of each rate.

    Parameters
    ----------
    n_fits : int
        The ways the belief could have come out, each as likely as every other.
    rates : callable
        ``rates(i)`` -> P(y = 1) of each bin under fit i, shape (k,).
    count : ndarray of float, shape (k,)
        Rows of each bin.
    sums : ndarray of float, shape (3, k)
        Sums of b, b^2 and b^3 over the rows of each bin, b = (midrank - center) / n.
    center : float
        Middle of the midranks of all rows.
    n : int
        All rows, those with a label included.
    n_known_positive, n_known_negative : int
        Labeled rows.
    known_rank_sum : float
        Sum of the midranks of rows labeled positive.
    is_constant : bool
        Whether all scores are equal, so that the area is one half whatever the labels.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.imputation.impute import impute
    >>> from labelbayes.laws.missing_cells import cells_and_fits
    >>> evaluation = EvaluationSet([None, 1, None], [0.9, 0.2, 0.1])
    >>> ranked = RankedRows.from_evaluation(evaluation)
    >>> missing = cells_and_fits(ranked, evaluation, impute(evaluation, "maxent"))
    >>> sums = RankSums.from_cells(ranked, *missing)
    >>> sums.count.tolist(), sums.sums[0].tolist(), sums.n_known_positive
    ([2.0], [0.0], 1)
    """

    n_fits: int
    rates: Callable[[int], FloatArray]
    count: FloatArray
    sums: FloatArray
    center: float
    n: int
    n_known_positive: int
    n_known_negative: int
    known_rank_sum: float
    is_constant: bool

    def state(self, p: FloatArray) -> PowerSums:
        """Return the summary of the missing rows at these rates.

        Parameters
        ----------
        p : ndarray of float, shape (k,)
            P(y = 1) of each bin.

        Returns
        -------
        PowerSums
            From it follows the law of the number of positives.
        """
        return PowerSums.from_probabilities(p, None if self._is_single else self.count)

    @cached_property
    def _is_single(self) -> bool:
        """Whether every bin is one row."""
        return bool((self.count == 1.0).all())

    @classmethod
    def from_cells(cls, ranked: RankedRows, cells: MissingCells, fits: Fits) -> RankSums:
        """Add up the missing rows of each bin.

        Parameters
        ----------
        ranked : RankedRows
            Rows by score.
        cells : MissingCells
            Their missing rows.
        fits : Fits
            Rates of the bins of these cells.

        Returns
        -------
        RankSums
            Sums that serve every fit.
        """
        center = (ranked.n - 1) / 2.0
        b = ranked.midrank[cells.step]
        b -= center
        b /= ranked.n
        count = cells.count.astype(np.float64)
        sums = np.empty((3, len(b)))
        np.multiply(count, b, out=sums[0])
        np.multiply(sums[0], b, out=sums[1])
        np.multiply(sums[1], b, out=sums[2])
        if cells.n_bins != len(b) or (cells.bin[1:] <= cells.bin[:-1]).any():
            binned = np.zeros((4, cells.n_bins))
            for total, weight in zip(binned, (count, *sums), strict=True):
                total += np.bincount(cells.bin, weights=weight, minlength=cells.n_bins)
            count, sums = binned[0], binned[1:]
        n_positive = ranked.n_known_positive
        return cls(
            n_fits=fits.n_fits,
            rates=fits.rates,
            count=count,
            sums=sums,
            center=center,
            n=ranked.n,
            n_known_positive=n_positive,
            n_known_negative=ranked.n - ranked.n_missing - n_positive,
            known_rank_sum=ranked.known_rank_sum,
            is_constant=ranked.n_steps == 1,
        )


def rank_transforms(
    p: FloatArray, weights: FloatArray, step: ComplexArray, variance: float
) -> list[ComplexArray]:
    """Return the sums over rows from which moments of a rank sum follow, at each frequency.

    With ``u = p e / (1 + p z)``, ``e = exp(iw)``, ``z = e - 1``, the probability of a positive
    after tilting, these are ``sum b (u - p)``, ``sum b^2 u (1 - u)`` and
    ``sum b^3 u (1 - u) (1 - 2 u)``.

    Parameters
    ----------
    p : ndarray of float, shape (k,)
        Probability of a positive in each cell.
    weights : ndarray of float, shape (1 to 3, k)
        Sums of b, b^2, b^3 over the rows of each cell; as many transforms come back.
    step : ndarray of complex, shape (n_frequencies,)
        z at each frequency.
    variance : float
        Variance of the count of positives.

    Returns
    -------
    list of ndarray of complex, shape (n_frequencies,)
        One array per row of `weights`.

    Notes
    -----
    A row with p > 1/2 is the mirror image of one with q = 1 - p: z becomes its conjugate, and
    the first and third sums change sign. Rows enter through power sums of q as in
    `labelbayes.laws.power_series`; while the variance is small, rows with q > 1/8 are added up
    one by one instead.
    """
    threshold = NEAR if variance <= KEPT_VARIANCE else 1.0
    order = _required_order(variance)
    q = np.minimum(p, 1.0 - p)
    is_high = p > 0.5
    total = np.zeros((len(weights), len(step)), dtype=np.complex128)
    summed = q <= threshold
    if summed.any():
        found = _weighted_power_sums(p, weights, order, threshold)
        for side, z, mirror in ((found[0], step, 1.0), (found[1], step.conj(), -1.0)):
            total += _in_mirror(mirror)[: len(weights), np.newaxis] * _series(side, z)
    for is_side, z, mirror in ((~is_high, step, 1.0), (is_high, step.conj(), -1.0)):
        kept = np.flatnonzero(is_side & ~summed)
        rows_at_once = max(1, PAIRS_AT_ONCE // len(z))
        for first in range(0, len(kept), rows_at_once):
            some = kept[first : first + rows_at_once]
            part = _one_by_one(q[some], weights[:, some], z)
            total += _in_mirror(mirror)[: len(weights), np.newaxis] * part
    return list(total)


def _required_order(variance: float) -> int:
    """Return how many powers the sums need: a few more than the law of the count.

    The remainder of the second sum is (order + 1)^2 / |z| times that of the count's series, at
    the last frequency; each power more takes a factor |z| / 2 off.
    """
    order, z = count_order(variance), largest_step(variance)
    more = math.log((order + 1) ** 2 / z) / math.log(2.0 / z) if z < 1.0 else math.inf
    return int(min(order + math.ceil(min(more, MAX_ORDER)), MAX_ORDER))


def _in_mirror(sign: float) -> FloatArray:
    """Return the factors of the three transforms on this side of p = 1/2."""
    return np.array([sign, 1.0, sign])


def _one_by_one(q: FloatArray, weights: FloatArray, z: ComplexArray) -> ComplexArray:
    """Return the three sums over rows with p = q <= 1/2, adding complex numbers."""
    inverse = 1.0 / (1.0 + z[:, np.newaxis] * q)
    v = q * (1.0 - q)
    e = 1.0 + z
    parts = [z * (inverse @ (weights[0] * v))]
    if len(weights) > 1:
        square = inverse**2
        parts.append(e * (square @ (weights[1] * v)))
    if len(weights) > 2:
        # u (1 - u) (1 - 2 u) = e v (2 (1 - q) - (1 + q z)) / (1 + q z)^3
        third = weights[2] * v
        parts.append(e * ((square * inverse) @ (2.0 * third * (1.0 - q)) - square @ third))
    return np.array(parts)


def _series(sums: FloatArray, z: ComplexArray) -> ComplexArray:
    """Return the same from power sums ``sum b^r v q^j``, shape (n_weights, order), j = 0, ..."""
    order = sums.shape[1]
    index = np.arange(order)
    powers = np.vander(-z, order, increasing=True)
    e = 1.0 + z
    parts = [z * (powers @ sums[0])]
    if len(sums) > 1:
        parts.append(e * (powers @ ((index + 1) * sums[1])))
    if len(sums) > 2:
        shifted = np.append(sums[2][1:], 0.0)
        twice = (index + 1) * (index + 2) * (sums[2] - shifted)
        parts.append(e * (powers @ (twice - (index + 1) * sums[2])))
    return np.array(parts)


def _weighted_power_sums(
    p: FloatArray, weights: FloatArray, order: int, threshold: float
) -> FloatArray:
    """Return ``sum b^r v q^j`` over rows with q <= threshold, shape (2, n_weights, order).

    The first half is over p <= 1/2, the second over p > 1/2; j = 0, ..., order - 1.
    """
    n_weights, half = len(weights), (order + 1) // 2
    size = min(BLOCK, len(p))
    all_powers, all_columns = np.empty((half, size)), np.empty((4 * n_weights, size))
    spare, found = np.empty(size), np.zeros((half, 4 * n_weights))
    at_once = max(1, (LARGEST_PRODUCT - 1) // (4 * n_weights * BLOCK))
    for first in range(0, len(p), BLOCK):
        block = p[first : first + BLOCK]
        powers, columns = all_powers[:, : len(block)], all_columns[:, : len(block)]
        q, other = powers[0], spare[: len(block)]
        np.subtract(1.0, block, out=other)
        np.minimum(block, other, out=q)
        # A row with q = 0 adds nothing. Powers of tiny q would be subnormal, and slow.
        if threshold < 1.0 or q.min() < 1e-20:
            q[(q > threshold) | (q < 1e-20)] = 0.0
        for k in range(1, half):
            np.multiply(powers[k - 1], q, out=powers[k])
        # v q^j = (1 - q) q^(j + 1), and q^(half + j) = q^half q^j.
        np.subtract(1.0, q, out=other)
        plain, signed = columns[:n_weights], columns[n_weights : 2 * n_weights]
        np.multiply(weights[:, first : first + BLOCK], other, out=plain)
        np.subtract(0.5, block, out=other)
        np.copysign(1.0, other, out=other)
        np.multiply(plain, other, out=signed)
        np.multiply(columns[: 2 * n_weights], powers[-1], out=columns[2 * n_weights :])
        for k in range(0, half, at_once):
            found[k : k + at_once] += powers[k : k + at_once] @ columns.T
    low, high = found[:, : 2 * n_weights], found[:, 2 * n_weights :]
    total = np.concatenate([low, high])[:order].T.reshape(2, n_weights, order)
    return np.array([total[0] + total[1], total[0] - total[1]]) / 2.0
