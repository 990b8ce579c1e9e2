"""The exact mean of average precision with missing labels, at any number of rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import xlog1py

from labelbayes._checks import FloatArray
from labelbayes.laws.missing_cells import Fits, MissingCells, step_blocks
from labelbayes.laws.precision_sums import PrecisionSums
from labelbayes.laws.ranked_rows import RankedRows

#: Nodes of the quadrature over the tilt; its error is below 1e-21 of the positives' number.
N_NODES = 32
#: Beyond this many over the mean number of positives the integrand is below exp(-60).
REACH = 60.0
#: Most powers of p for which a series is faster than adding up the rows at every node.
MAX_POWERS = 12
#: Rows worked on at a time, so that all stays in the processor's cache.
BLOCK = 4_096


class Mean(NamedTuple):
    """Mean of average precision.

    Attributes
    ----------
    mean : float
        Given that it is defined.
    defined_prob : float
        Probability that it is.
    """

    mean: float
    defined_prob: float


def average_precision_mean(ranked: RankedRows, cells: MissingCells, fits: Fits) -> Mean:
    r"""Return the exact mean of average precision, mixed over the fits of a belief.

    Parameters
    ----------
    ranked : RankedRows
        Rows by score.
    cells : MissingCells
        Their missing rows.
    fits : Fits
        Rates of the cells.

    Returns
    -------
    Mean
        Mean given that some row is positive (nan if none can be), and the probability of that.

    Notes
    -----
    **Assumes** that missing labels are independent draws with these rates.

    With S as in `PrecisionSums` and N positives, :math:`1/N = \int_0^1 t^{N-1} dt` gives

    .. math:: E[S / N;\, N > 0] = \int_0^1 E[S\, t^N]\, dt / t .

    Weighing by :math:`t^N` leaves labels independent, with rates
    :math:`u = p t / (1 - p + p t)`, so that with ties and all

    .. math:: E[S\, t^N] = E[t^N] \Bigl(c + \sum_i g_i u_i + \sum_s U_s (U_1 + \dots + U_s) / r_s
       + \sum_i u_i (1 - u_i) / r_i \Bigr),

    where :math:`U_s` adds up u over step s. Every term is positive, nothing cancels. The
    integrand is a polynomial in t that falls at least as fast as exp(-mean N (1 - t)), and 32
    Gauss-Legendre nodes reach the last digit at any size. Rows enter through few power sums of p
    where they are many, so the cost is that of sorting.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.imputation.impute import impute
    >>> from labelbayes.laws.missing_cells import cells_and_fits
    >>> evaluation = EvaluationSet([None, 1], [0.9, 0.2])
    >>> ranked = RankedRows.from_evaluation(evaluation)
    >>> belief = impute(evaluation, [0.5, 1.0])
    >>> average_precision_mean(ranked, *cells_and_fits(ranked, evaluation, belief))
    Mean(mean=0.75, defined_prob=1.0)
    """
    means = average_precision_means(ranked, cells, fits)
    defined = float(np.mean([found.defined_prob for found in means]))
    if defined == 0.0:
        return Mean(math.nan, 0.0)
    parts = [found.mean * found.defined_prob for found in means if found.defined_prob]
    return Mean(math.fsum(parts) / len(means) / defined, defined)


def average_precision_means(ranked: RankedRows, cells: MissingCells, fits: Fits) -> list[Mean]:
    """Return the exact mean of average precision under each fit of a belief.

    Parameters
    ----------
    ranked : RankedRows
        Rows by score.
    cells : MissingCells
        Their missing rows.
    fits : Fits
        Rates of the cells.

    Returns
    -------
    list of Mean
        As `average_precision_mean` has it, fit by fit: rows in bins are added up once for all.
    """
    sums = PrecisionSums.from_cells(ranked, cells)
    few = _BinSums.from_cells(cells, sums) if 1 < fits.n_fits and cells.n_bins <= BLOCK else None
    means = []
    for i in range(fits.n_fits):
        rates = fits.rates(i)
        integral, defined = few.integrate(rates) if few else _integrate(cells, sums, rates)
        means.append(Mean(integral / defined if defined else math.nan, defined))
    return means


def _nodes(mean_positives: float) -> tuple[FloatArray, FloatArray]:
    """Return nodes y = 1 - t and weights on the part of [0, 1] that matters."""
    x, weight = np.polynomial.legendre.leggauss(N_NODES)
    width = min(1.0, REACH / mean_positives) / 2.0
    return width * (1.0 + x), width * weight


def some_positive_prob(n_known_positive: int, p: FloatArray, count: FloatArray) -> float:
    """Return the probability that some row is positive.

    Parameters
    ----------
    n_known_positive : int
        Known positives.
    p : ndarray of float, shape (k,)
        Rates of cells of missing rows.
    count : ndarray of float, shape (k,) or (1,)
        Rows of each.

    Returns
    -------
    float
        The probability, right even where very small.
    """
    if n_known_positive:
        return 1.0
    return -math.expm1(float(xlog1py(count, -p).sum())) if len(p) else 0.0


def _finish(y: FloatArray, weight: FloatArray, log_power: FloatArray, value: FloatArray) -> float:
    """Integrate E[t^N] / t times `value`, given log E[t^N]."""
    return float(weight @ (np.exp(log_power - np.log1p(-y)) * value))


def _integrate(cells: MissingCells, sums: PrecisionSums, rates: FloatArray) -> tuple[float, float]:
    """Return E[S / N; N > 0] and P(N > 0) under one fit."""
    p = rates[cells.bin]
    count = None if (cells.count == 1).all() else cells.count.astype(np.float64)
    ones = np.ones(1) if count is None else count
    mean = sums.n_known_positive + float(p.sum() if count is None else p @ count)
    if mean == 0.0:
        return 0.0, 0.0
    defined = some_positive_prob(sums.n_known_positive, p, ones)
    y, weight = _nodes(mean)
    largest = float(p.max(initial=0.0) * y[-1])
    n_powers = 1 + math.ceil(math.log(1e-18) / math.log(largest)) if 0 < largest < 1 else 1
    if n_powers <= MAX_POWERS:
        log_power, value = _by_series(cells, sums, p, count, y, n_powers)
    else:
        log_power, value = _by_rows(cells, sums, p, ones, y)
    return _finish(y, weight, log_power, value), defined


def _by_rows(
    cells: MissingCells, sums: PrecisionSums, p: FloatArray, count: FloatArray, y: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return log E[t^N] and E[S t^N] / E[t^N] at each node, adding up the rows."""
    inverse, starts = sums.inverse_rows, step_starts(cells.step)
    log_power, value = np.empty(len(y)), np.empty(len(y))
    for k, gap in enumerate(y):
        u = p * (1.0 - gap) / (1.0 - p * gap)
        expected = count * u
        at_step = np.add.reduceat(expected, starts) if len(starts) else np.zeros(0)
        value[k] = (
            sums.constant
            + sums.slope @ expected
            + (at_step * inverse[starts]) @ np.cumsum(at_step)
            + inverse @ (expected * (1.0 - u))
        )
        log_power[k] = sums.n_known_positive * math.log1p(-gap) + xlog1py(count, -p * gap).sum()
    return log_power, value


def step_starts(step: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the first cell of each step that has one.

    Parameters
    ----------
    step : ndarray of int, shape (k,)
        Step of each cell, ascending.

    Returns
    -------
    ndarray of int
        Positions.
    """
    return np.flatnonzero(np.diff(step, prepend=-1))


def _by_series(
    cells: MissingCells,
    sums: PrecisionSums,
    p: FloatArray,
    count: FloatArray | None,
    y: FloatArray,
    n_powers: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the same from power sums, u = t sum_j p^(j+1) y^j.

    One pass over the rows serves all nodes: y is so small that few powers are left.
    """
    n = n_powers
    power, linear, own = np.zeros(n + 1), np.zeros(n), np.zeros(n + 1)
    pairs, above = np.zeros((n, n)), np.zeros((n, 1))
    is_tied = bool((cells.step[1:] == cells.step[:-1]).any())
    has_slope = sums.n_known_positive > 0
    size = min(BLOCK, len(p))
    blocks = step_blocks(cells.step, size) if is_tied else _even_blocks(len(p), size)
    for start, stop in blocks:
        part = slice(start, stop)
        powers = np.empty((n + 1, stop - start))
        powers[0] = p[part]
        for j in range(n):
            np.multiply(powers[j], p[part], out=powers[j + 1])
        if count is not None:
            powers *= count[part]
        inverse = sums.inverse_rows[part]
        power += powers.sum(axis=1)
        own += powers @ inverse
        if has_slope:
            linear += powers[:-1] @ sums.slope[part]
        at_step = powers[:-1]
        if is_tied:
            starts = step_starts(cells.step[part])
            at_step, inverse = np.add.reduceat(at_step, starts, axis=1), inverse[starts]
        to_here = np.cumsum(at_step, axis=1)
        to_here += above
        above = to_here[:, -1:].copy()
        to_here *= inverse
        pairs += at_step @ to_here.T
    t = 1.0 - y
    index = np.arange(n)
    powers_of_y = np.vander(y, 2 * n + 1, increasing=True)
    diagonals = np.array([np.trace(pairs[::-1], offset=d) for d in range(1 - n, n)])
    value = (
        sums.constant
        + t * (powers_of_y[:, :n] @ (linear + (index + 1) * (own[:-1] - own[1:])))
        + t**2 * (powers_of_y[:, : 2 * n - 1] @ diagonals)
    )
    order = np.arange(1, n + 2)
    log_power = sums.n_known_positive * np.log1p(-y) - powers_of_y[:, 1 : n + 2] @ (power / order)
    return log_power, value


def _even_blocks(n: int, size: int) -> list[tuple[int, int]]:
    return [(start, min(start + size, n)) for start in range(0, n, size or 1)]


class _BinSums(NamedTuple):
    """Sums over cells by bin: with them every further fit costs nothing that grows with rows."""

    sums: PrecisionSums
    rows: FloatArray
    slope: FloatArray
    own: FloatArray
    pairs: FloatArray

    @classmethod
    def from_cells(cls, cells: MissingCells, sums: PrecisionSums) -> _BinSums:
        size = cells.n_bins
        count = cells.count.astype(np.float64)
        pairs, above = np.zeros((size, size)), np.zeros(size)
        for start, stop in step_blocks(cells.step, BLOCK):
            part = slice(start, stop)
            held, local = np.unique(cells.bin[part], return_inverse=True)
            starts = step_starts(cells.step[part])
            at_cells = np.zeros((len(held), stop - start))
            at_cells[local, np.arange(stop - start)] = count[part]
            at_step = np.add.reduceat(at_cells, starts, axis=1)
            weighted = at_step * sums.inverse_rows[part][starts]
            pairs[held] += np.outer(weighted.sum(axis=1), above)
            pairs[np.ix_(held, held)] += weighted @ np.cumsum(at_step, axis=1).T
            above[held] += at_step.sum(axis=1)
        return cls(
            sums,
            rows=_by_bin(cells, count),
            slope=_by_bin(cells, count * sums.slope),
            own=_by_bin(cells, count * sums.inverse_rows),
            pairs=pairs,
        )

    def integrate(self, rates: FloatArray) -> tuple[float, float]:
        n_known = self.sums.n_known_positive
        mean = n_known + float(rates @ self.rows)
        if mean == 0.0:
            return 0.0, 0.0
        y, weight = _nodes(mean)
        u = rates * (1.0 - y[:, np.newaxis]) / (1.0 - rates * y[:, np.newaxis])
        value = (
            self.sums.constant
            + u @ self.slope
            + np.einsum("kb,bc,kc->k", u, self.pairs, u, optimize=True)
            + (u * (1.0 - u)) @ self.own
        )
        log_power = n_known * np.log1p(-y) + xlog1py(self.rows, -rates * y[:, np.newaxis]).sum(1)
        defined = some_positive_prob(n_known, rates, self.rows)
        return _finish(y, weight, log_power, value), defined


def _by_bin(cells: MissingCells, values: FloatArray) -> FloatArray:
    """Add up values over the cells of each bin."""
    total = np.zeros(cells.n_bins)
    total += np.bincount(cells.bin, weights=values, minlength=cells.n_bins)
    return total
