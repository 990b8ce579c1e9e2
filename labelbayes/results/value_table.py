"""The values that a function of independent counts takes, and their probability under each fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labelbayes._checks import FloatArray, IntArray, read_only
from labelbayes.results.distribution import ATOM_WIDTH
from labelbayes.results.integer_law import IntegerLaw

#: Takes as many arrays as there are counts, which broadcast; nan where undefined.
CountFunction = Callable[..., FloatArray]
#: Cells whose probability is below this under every fit are left out: a million lose 1e-16.
NO_MASS = 1e-22


@dataclass(frozen=True, eq=False)
class ValueTable:
    """Values of a quantity, and their probabilities under one or several fits of a belief.

    Parameters
    ----------
    values : ndarray of float, shape (k,)
        Ascending.
    mass : ndarray of float, shape (n_fits, k)
        Probability of each value; a row sums to the probability that the quantity is defined.
    """

    values: FloatArray
    mass: FloatArray

    def __post_init__(self) -> None:
        """Nobody changes a table."""
        object.__setattr__(self, "values", read_only(self.values))
        object.__setattr__(self, "mass", read_only(self.mass))

    @cached_property
    def defined(self) -> FloatArray:
        """Probability of "defined" under each fit, shape (n_fits,)."""
        return self.mass.sum(axis=1)

    @cached_property
    def up_to(self) -> FloatArray:
        """Probability of the first j values, shape (n_fits, k + 1)."""
        none = np.zeros((len(self.mass), 1))
        return np.hstack([none, np.cumsum(self.mass, axis=1)])

    @cached_property
    def from_on(self) -> FloatArray:
        """Probability of the values from the j-th on, shape (n_fits, k + 1)."""
        none = np.zeros((len(self.mass), 1))
        return np.hstack([np.cumsum(self.mass[:, ::-1], axis=1)[:, ::-1], none])

    @cached_property
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance given "defined" under each fit, shape (n_fits,); nan where never."""
        share = np.divide(
            self.mass,
            self.defined[:, None],
            out=np.full(self.mass.shape, math.nan),
            where=self.defined[:, None] > 0,
        )
        mean = share @ self.values
        # About the mean of each fit: no cancellation where the spread is far below the mean.
        variance = np.array(
            [row @ (self.values - center) ** 2 for row, center in zip(share, mean, strict=True)]
        )
        return mean, variance


def joint_windows(fits: Sequence[Sequence[IntegerLaw]]) -> list[tuple[int, int]]:
    """Return, for each count, the range of values that any fit gives a probability to.

    Parameters
    ----------
    fits : sequence of sequence of IntegerLaw
        For each fit the laws of the counts.

    Returns
    -------
    list of tuple of int
        First value, and one past the last, for each count.
    """
    return [
        (min(law.start for law in laws), max(law.stop for law in laws))
        for laws in zip(*fits, strict=True)
    ]


def count_cells(fits: Sequence[Sequence[IntegerLaw]]) -> int:
    """Return how many combinations of the counts `tabulate` visits.

    Parameters
    ----------
    fits : sequence of sequence of IntegerLaw
        For each fit the laws of the counts.

    Returns
    -------
    int
        Combinations, the same for every fit.
    """
    return math.prod(stop - start for start, stop in joint_windows(fits))


def tabulate(function: CountFunction, fits: Sequence[Sequence[IntegerLaw]]) -> ValueTable:
    """List the values of a function of independent counts, with their probabilities.

    Parameters
    ----------
    function : callable
        Takes one array per count; nan where undefined.
    fits : sequence of sequence of IntegerLaw
        For each fit the laws of the counts, independent within a fit.

    Returns
    -------
    ValueTable
        Distinct values that some fit gives a probability to.

    Examples
    --------
    >>> coin = IntegerLaw(0, np.array([0.5, 0.5]), 1, 0.5, 0.25, 0.5, 0.5)
    >>> table = tabulate(lambda first, second: first - second, [(coin, coin)])
    >>> table.values.tolist(), table.mass.tolist()
    ([-1.0, 0.0, 1.0], [[0.25, 0.5, 0.25]])
    """
    values, products = _visit(function, fits)
    return _keep(values, np.array(list(products)))


def tabulate_mixture(function: CountFunction, fits: Sequence[Sequence[IntegerLaw]]) -> ValueTable:
    """List the values as `tabulate` does, with their mean probabilities over the fits.

    Parameters
    ----------
    function : callable
        Takes one array per count; nan where undefined.
    fits : sequence of sequence of IntegerLaw
        For each fit the laws of the counts, independent within a fit.

    Returns
    -------
    ValueTable
        As if there were one fit; no more than one list of probabilities is held.
    """
    values, products = _visit(function, fits)
    total = sum(products, np.zeros(len(values)))
    return _keep(values, total[None, :] / len(fits))


def _visit(
    function: CountFunction, fits: Sequence[Sequence[IntegerLaw]]
) -> tuple[FloatArray, Iterator[FloatArray]]:
    """Return the value of every combination of counts, and its probability fit by fit."""
    windows = joint_windows(fits)
    shape = tuple(stop - start for start, stop in windows)
    axes = np.ix_(*(np.arange(start, stop, dtype=np.float64) for start, stop in windows))
    values = np.broadcast_to(function(*axes), shape).ravel()
    return values, (_product(laws, windows) for laws in fits)


def _product(laws: Sequence[IntegerLaw], windows: Sequence[tuple[int, int]]) -> FloatArray:
    mass = np.ones(1)
    for law, window in zip(laws, windows, strict=True):
        mass = np.multiply.outer(mass, _spread(law, window)).ravel()
    return mass


def _keep(values: FloatArray, mass: FloatArray) -> ValueTable:
    kept = np.flatnonzero(~np.isnan(values) & (mass.max(axis=0) > NO_MASS))
    return merge_values(values[kept], mass[:, kept])


def tabulate_sum(
    function: CountFunction, signs: Sequence[int], fits: Sequence[Sequence[IntegerLaw]]
) -> ValueTable:
    """List the values of a function of one signed sum of independent counts.

    Parameters
    ----------
    function : callable
        Takes the values of the sum, shape (k,); increasing and never nan.
    signs : sequence of int
        +1 or -1 for each count.
    fits : sequence of sequence of IntegerLaw
        For each fit the laws of the counts, independent within a fit.

    Returns
    -------
    ValueTable
        One value for each value of the sum: no combination of counts is visited.
    """
    windows = joint_windows(fits)
    starts = [
        start if sign > 0 else 1 - stop for sign, (start, stop) in zip(signs, windows, strict=True)
    ]
    rows = []
    for laws in fits:
        total = np.ones(1)
        for law, window, sign in zip(laws, windows, signs, strict=True):
            total = np.convolve(total, _spread(law, window)[::sign])
        rows.append(total)
    mass = np.array(rows)
    kept = np.flatnonzero(mass.max(axis=0) > NO_MASS)
    return ValueTable(function(kept + float(sum(starts))), mass[:, kept])


def merge_values(values: FloatArray, mass: FloatArray) -> ValueTable:
    """Sort values and add up the probabilities of equal ones.

    Parameters
    ----------
    values : ndarray of float, shape (k,)
        In any order.
    mass : ndarray of float, shape (n_fits, k)
        Their probabilities.

    Returns
    -------
    ValueTable
        Distinct values.
    """
    order = np.argsort(values)
    values, mass = values[order], mass[:, order]
    starts: IntArray = np.flatnonzero(np.diff(values, prepend=-math.inf) > ATOM_WIDTH)
    if len(starts) == 0:
        return ValueTable(values, mass)
    return ValueTable(values[starts], np.add.reduceat(mass, starts, axis=1))


def _spread(law: IntegerLaw, window: tuple[int, int]) -> FloatArray:
    """Return the pmf over a window that holds that of the law."""
    start, stop = window
    return np.pad(law.pmf, (law.start - start, stop - law.stop))
