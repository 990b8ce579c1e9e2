"""A small mergeable summary of row probabilities, from which the law of their count follows."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from labelbayes._checks import FloatArray, check_probabilities
from labelbayes.laws.power_series import (
    BLOCK,
    CONVOLVED_ROWS,
    KEPT_VARIANCE,
    MAX_ORDER,
    NEAR,
    Buffers,
    required_order,
    sum_powers,
)


class PowerSums:
    """Mergeable summary of independent yes/no rows with probabilities p.

    One pass, in chunks of any size and order, and a state whose size does not depend on the
    number of rows: sums of ``q^j`` with ``q = min(p, 1 - p)``, and the few rows that the series
    behind them does not reach.

    Attributes
    ----------
    n : int
        Rows, multiplicities included.
    n_certain_negative, n_certain_positive : int
        Rows with p exactly 0 and exactly 1.
    variance : float
        Sum of ``p (1 - p)``.
    sums : ndarray of float, shape (2, order)
        Sums over all rows that are not kept, j = 1, ..., order: row 0 of ``q^j``, row 1 of
        ``q^j`` signed -1 where p > 1/2.
    kept : ndarray of float, shape (3, n_kept)
        Rows kept one by one: q, its sign (-1 where p > 1/2), multiplicity.

    Notes
    -----
    **Assumes** that the rows are independent given their probabilities.

    References
    ----------
    Hong (2013), On computing the distribution function for the Poisson binomial distribution,
    Computational Statistics & Data Analysis 59: the characteristic function that the sums stand
    for. The power sums and their error bounds are derived in labelbayes/laws/power_series.py.

    Examples
    --------
    >>> morning = PowerSums.from_probabilities([0.1, 0.7])
    >>> evening = PowerSums.from_probabilities([0.2], count=[3])
    >>> day = morning.merge(evening)
    >>> day.n, round(day.mean, 12), round(day.variance, 12)
    (5, 1.4, 0.78)
    """

    def __init__(self) -> None:
        self.n = 0
        self.n_certain_negative = 0
        self.n_certain_positive = 0
        self.variance = 0.0
        self.sums: FloatArray = np.zeros((2, MAX_ORDER))
        self.kept: FloatArray = np.empty((3, 0))
        # The mean as an unevaluated sum of two doubles: at n = 1e9 the rounding of one double
        # would move the law by 1e-11.
        self._mean = (0.0, 0.0)
        # Sum of log q over the rows in `sums` with p > 1/2 (for P(none)) and p <= 1/2 (P(all)).
        self._log_none = 0.0
        self._log_all = 0.0
        self._kept_above = 0.0

    @classmethod
    def from_probabilities(cls, p: npt.ArrayLike, count: npt.ArrayLike | None = None) -> PowerSums:
        """Summarize one array of probabilities.

        Parameters
        ----------
        p : array_like of float in [0, 1], shape (n_rows,)
            Probability of a positive, per row.
        count : array_like of int >= 0, shape (n_rows,), optional
            How many rows of the data each row stands for; 1 by default.

        Returns
        -------
        PowerSums
            Their summary.

        Examples
        --------
        >>> PowerSums.from_probabilities([0.5, 0.5, 1.0]).mean
        2.0
        """
        state = cls()
        state.update(p, count)
        return state

    @property
    def mean(self) -> float:
        """Expected count, the sum of p."""
        return self._mean[0] + self._mean[1]

    @property
    def n_uncertain(self) -> int:
        """Rows with p strictly between 0 and 1."""
        return self.n - self.n_certain_negative - self.n_certain_positive

    @property
    def is_complete(self) -> bool:
        """Whether `kept` holds every uncertain row, so that a plain convolution serves."""
        return self.n_uncertain <= CONVOLVED_ROWS

    @property
    def log_prob_none(self) -> float:
        """Sum of ``log(1 - p)``; -inf where sum p > 800, since exp of it underflows to 0."""
        if self.n_certain_positive or self.mean > KEPT_VARIANCE:
            return -math.inf
        return self._log_prob(1.0, self._log_none)

    @property
    def log_prob_all(self) -> float:
        """Sum of ``log p``; -inf where sum (1 - p) > 800, since exp of it underflows to 0."""
        if self.n_certain_negative or -self.mean_from(self.n) > KEPT_VARIANCE:
            return -math.inf
        return self._log_prob(-1.0, self._log_all)

    def _log_prob(self, sign: float, of_far_rows: float) -> float:
        """Add the log of 1 - q over rows of this sign and of q over the others."""
        if self._kept_above >= 1.0:
            return -math.inf
        # Rows in the sums have q <= 1/8 here: 28 terms of log(1 - q) leave 1e-26 of the first.
        same = (self.sums[0] + sign * self.sums[1]) / 2.0
        near = -float(np.sum(same / np.arange(1, len(same) + 1)))
        q, signs, weight = self.kept
        kept = float(weight @ np.where(signs == sign, np.log1p(-q), np.log(q)))
        return of_far_rows + near + kept

    def mean_from(self, origin: int) -> float:
        """Return ``mean - origin`` without the rounding of a large mean.

        Parameters
        ----------
        origin : int
            What to subtract.

        Returns
        -------
        float
            The difference.

        Examples
        --------
        >>> PowerSums.from_probabilities([0.25], count=[4_000_001]).mean_from(1_000_000)
        0.25
        """
        return (self._mean[0] - origin) + self._mean[1]

    def update(self, p: npt.ArrayLike, count: npt.ArrayLike | None = None) -> None:
        """Add a chunk of rows.

        Parameters
        ----------
        p : array_like of float in [0, 1], shape (n_rows,)
            Probability of a positive, per row; up to 1e-9 outside is taken for round-off.
        count : array_like of int >= 0, shape (n_rows,), optional
            How many rows of the data each row stands for; 1 by default.

        Raises
        ------
        ValueError
            If `p` is not one-dimensional, nan or outside [0, 1], or `count` is of another shape,
            negative or not whole; nothing is added then.
        TypeError
            If `p` or `count` holds no numbers.

        Examples
        --------
        >>> state = PowerSums()
        >>> for chunk in ([0.1, 0.9], [0.5]):
        ...     state.update(chunk)
        >>> state.n, state.mean
        (3, 1.5)
        """
        checked = _check_p(p)
        multiplicity = None if count is None else _check_count(count, len(checked))
        buffers = Buffers(min(BLOCK, len(checked)))
        for first in range(0, len(checked), BLOCK):
            rows = slice(first, first + BLOCK)
            self._add_block(
                checked[rows], None if multiplicity is None else multiplicity[rows], buffers
            )

    def merge(self, other: PowerSums) -> PowerSums:
        """Return the summary of the rows of both; neither is changed.

        Parameters
        ----------
        other : PowerSums
            Summary of other rows.

        Returns
        -------
        PowerSums
            A new summary, the same in any order and grouping up to round-off of 1e-15.

        Examples
        --------
        >>> left = PowerSums.from_probabilities([0.1])
        >>> left.merge(PowerSums.from_probabilities([0.9])).mean
        1.0
        """
        both = PowerSums()
        for part in (self, other):
            both.n += part.n
            both.n_certain_negative += part.n_certain_negative
            both.n_certain_positive += part.n_certain_positive
            both.variance += part.variance
            both._add_to_mean(*part._mean)
            both._log_none += part._log_none
            both._log_all += part._log_all
        order = min(self.sums.shape[1], other.sums.shape[1])
        both.sums = self.sums[:, :order] + other.sums[:, :order]
        both.kept = np.hstack([self.kept, other.kept])
        both._raise_threshold()
        return both

    def _add_to_mean(self, large: float, small: float) -> None:
        high = self._mean[0] + large
        back = high - self._mean[0]
        lost = (self._mean[0] - (high - back)) + (large - back)
        low = self._mean[1] + (lost + small)
        self._mean = (high + low, low - ((high + low) - high))

    def _raise_threshold(self) -> None:
        """Move kept rows into the sums once they need not be kept, and drop idle orders."""
        if self.n_uncertain <= CONVOLVED_ROWS:
            return
        threshold = NEAR if self.variance <= KEPT_VARIANCE else 1.0
        if threshold > self._kept_above:
            self._kept_above = threshold
            moves = self.kept[0] <= threshold
            moved = self.kept[:, moves]
            self.kept = self.kept[:, ~moves]
            self._add_logs(moved[0], moved[1] * moved[2], moved[2])
            self.sums = self.sums + sum_powers(moved, self.sums.shape[1])
        self.sums = self.sums[:, : required_order(self.variance)]

    def _add_block(
        self, p_block: npt.NDArray[np.generic], count: FloatArray | None, buffers: Buffers
    ) -> None:
        n_rows = len(p_block)
        p, q = buffers.p[:n_rows], buffers.powers[0, :n_rows]
        weight, signed = buffers.columns[:2, :n_rows]
        spare = buffers.spare[:n_rows]
        p[...] = p_block
        np.subtract(1.0, p, out=q)
        np.minimum(p, q, out=q)
        # Rows of multiplicity 1 find the ones that the buffers were made with.
        if count is not None:
            weight[...] = count
        total = n_rows if count is None else int(count.sum())
        self.n += total
        smallest = float(q.min())
        if smallest == 0.0:
            self.n_certain_negative += int(weight @ (p == 0.0))
            self.n_certain_positive += int(weight @ (p == 1.0))
        np.subtract(0.5, p, out=signed)
        np.copysign(weight, signed, out=signed)
        np.multiply(weight, q, out=spare)
        self.variance += float(spare.sum() - spare @ q)
        self._add_to_mean(*_exact_sum(p, weight, total, buffers))

        self._raise_threshold()
        if self._kept_above < 1.0:
            chosen = np.flatnonzero((q > self._kept_above) & (weight > 0.0))
            if len(chosen):
                sign = np.copysign(1.0, signed[chosen])
                self.kept = np.hstack([self.kept, [q[chosen], sign, weight[chosen]]])
                # A row with q = 0 adds nothing to any sum.
                q[chosen] = smallest = 0.0
            self._add_logs(q, signed, weight)
        if self._kept_above > 0.0:
            self.sums = self.sums + buffers.sums(n_rows, self.sums.shape[1], smallest)

    def _add_logs(self, q: FloatArray, signed: FloatArray, weight: FloatArray) -> None:
        """Add log q of the rows on the far side: at most 914 while P(none) or P(all) counts."""
        if self.mean <= KEPT_VARIANCE and signed.min(initial=0.0) < 0.0:
            far = (q > 0.0) & (signed < 0.0)
            self._log_none += float(weight[far] @ np.log(q[far]))
        if -self.mean_from(self.n) <= KEPT_VARIANCE and signed.max(initial=0.0) > 0.0:
            far = (q > 0.0) & (signed > 0.0)
            self._log_all += float(weight[far] @ np.log(q[far]))


def _exact_sum(
    p: FloatArray, weight: FloatArray, total: int, buffers: Buffers
) -> tuple[float, float]:
    """Return ``sum weight p`` as a sum without any rounding and a small remainder.

    Adding and subtracting a large constant splits each p into a multiple of a unit so coarse
    that all products and partial sums are integers below 2^53 times the unit, and a rest.
    """
    unit = 2.0 ** (max(math.frexp(total)[1], 2) - 53)
    coarse, rest = buffers.spare[: len(p)], buffers.base[: len(p)]
    shift = 1.5 * 2.0**52 * unit
    np.add(p, shift, out=coarse)
    coarse -= shift
    np.subtract(p, coarse, out=rest)
    return float(weight @ coarse), float(weight @ rest)


def _check_p(p: npt.ArrayLike) -> npt.NDArray[np.generic]:
    """Return probabilities in [0, 1] without a copy where possible."""
    array = np.asarray(p)
    if np.ma.is_masked(p):
        first = int(np.argmax(np.ma.getmaskarray(np.ma.asarray(p))))
        raise ValueError(f"`p` must hold a probability in every row; row {first} is masked.")
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"`p` must hold numbers in [0, 1]; got an array of dtype {array.dtype}. "
                "Convert it first, e.g. with `astype(float)`."
            ) from None
    if array.ndim == 1 and (not len(array) or (array.min() >= 0 and array.max() <= 1)):
        return array
    return check_probabilities("p", array, array.size)


def _check_count(count: npt.ArrayLike, n_rows: int) -> FloatArray:
    """Return whole multiplicities >= 0 as floats."""
    array = np.asarray(count)
    if np.ma.is_masked(count):
        first = int(np.argmax(np.ma.getmaskarray(np.ma.asarray(count))))
        raise ValueError(f"`count` must hold a number in every row; row {first} is masked.")
    if array.shape != (n_rows,):
        raise ValueError(
            f"`count` must hold one multiplicity per row of `p`, shape ({n_rows},); "
            f"got {array.shape}."
        )
    if array.dtype.kind not in "fiu" and n_rows:
        raise TypeError(
            f"`count` must hold whole numbers; got an array of dtype {array.dtype}. "
            "Convert it first, e.g. with `astype(int)`."
        )
    numbers = array.astype(np.float64)
    bad = ~((numbers >= 0.0) & (numbers == np.floor(numbers)) & np.isfinite(numbers))
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"`count` must hold whole numbers of at least 0; got {array[first]} at row {first} "
            f"({int(bad.sum())} such values). Weights that are no counts have no exact law."
        )
    return numbers
