"""The exact law of ROC-AUC as a list of values, where the missing rows allow one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from labelbayes._checks import FloatArray, IntArray
from labelbayes.laws.missing_cells import Fits, MissingCells
from labelbayes.laws.poisson_binomial import poisson_binomial
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.results.count_law import merge_atoms
from labelbayes.results.distribution import DiscreteLaw
from labelbayes.results.integer_law import IntegerLaw

#: Combinations of group counts that are listed; sorting them takes about 0.1 s.
MOST_COMBINATIONS = 1 << 20

#: Distinct scores with missing labels up to which combinations are counted at all: each at least
#: doubles them.
MOST_GROUPS = 20

#: Cells of a lattice (number of positives x rank sum), and changes of a cell while it is built:
#: about 0.3 s and 30 MB.
MOST_CELLS = 2_000_000
MOST_CHANGES = 120_000_000

#: Group counts rarer than this share of the probability "defined" are left out.
NEGLIGIBLE = 1e-17


@dataclass(frozen=True, eq=False)
class CellLattice:
    """Cells of rows that can come out either way, and what all others add to the rank sum.

    Parameters
    ----------
    rates : callable
        ``rates(i)`` -> P(y = 1) of each cell under fit i, shape (k,).
    n_fits : int
        The ways the belief could have come out, each as likely as every other.
    double_rank : ndarray of int, shape (k,)
        Twice the midrank of each cell, not rising.
    count : ndarray of int, shape (k,)
        Rows of each cell.
    n : int
        All rows, those with a label included.
    n_positive : int
        Rows certain to be positive.
    double_rank_sum : int
        Twice the sum of their midranks.
    """

    rates: Callable[[int], FloatArray]
    n_fits: int
    double_rank: IntArray
    count: IntArray
    n: int
    n_positive: int
    double_rank_sum: int

    @classmethod
    def from_cells(cls, ranked: RankedRows, cells: MissingCells, fits: Fits) -> CellLattice:
        """Take the ranks of cells.

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
        CellLattice
            Whole numbers, so that equal areas come out equal.
        """
        double_rank = np.rint(2.0 * ranked.midrank[cells.step]).astype(np.int64)
        n_positive, rank_sum = ranked.n_known_positive, round(2.0 * ranked.known_rank_sum)
        count, bins = cells.count, cells.bin
        if fits.n_fits == 1:
            # A row that cannot come out either way is as good as known.
            p = fits.rates(0)[bins]
            certain = np.where(p == 1.0, count, 0)
            n_positive += int(certain.sum())
            rank_sum += int(certain @ double_rank)
            uncertain = (p > 0.0) & (p < 1.0)
            double_rank, count, bins = double_rank[uncertain], count[uncertain], bins[uncertain]
        return cls(
            rates=lambda i: fits.rates(i)[bins],
            n_fits=fits.n_fits,
            double_rank=double_rank,
            count=count,
            n=ranked.n,
            n_positive=n_positive,
            double_rank_sum=rank_sum,
        )

    @cached_property
    def groups(self) -> IntArray:
        """First cell of each distinct score, and the number of cells."""
        first = np.flatnonzero(np.diff(self.double_rank, prepend=-1))
        return np.append(first, len(self.double_rank))

    def law(
        self, n_more: IntArray, double_rank: IntArray, mass: FloatArray, lost: float, reason: str
    ) -> DiscreteLaw:
        """Return the law of the area from the cells that missing rows can fill.

        Parameters
        ----------
        n_more, double_rank : ndarray of int, broadcastable
            Positives among missing rows, and twice the sum of their midranks.
        mass : ndarray of float
            Probability of each cell.
        lost : float
            Probability that the area is undefined.
        reason : str
            When it is.

        Returns
        -------
        DiscreteLaw
            Values of the area, equal ones merged.
        """
        n_positive = (self.n_positive + n_more).astype(np.float64)
        # Whole numbers above and below the line: equal areas come out equal to the bit.
        above = (self.double_rank_sum + double_rank) - n_positive * (n_positive - 1.0)
        below = 2.0 * n_positive * (self.n - n_positive)
        ok = (below > 0) & (mass > 0)
        support, pmf = merge_atoms(above[ok] / below[ok], mass[ok])
        return DiscreteLaw(support, pmf / pmf.sum(), lost, reason)


def enumerated_law(
    rows: CellLattice, lost: float, reason: str, *, limit: int = MOST_COMBINATIONS
) -> DiscreteLaw | None:
    """Return the law from all combinations of numbers of positives at each distinct score.

    Parameters
    ----------
    rows : CellLattice
        Missing rows, the area defined with positive probability.
    lost : float
        Probability that the area is undefined.
    reason : str
        When it is.
    limit : int, default 1,048,576
        Most combinations, rare ones left out.

    Returns
    -------
    DiscreteLaw or None
        Mixture over the fits; None if there are more combinations.

    Notes
    -----
    Rows with one score are exchangeable for the area: only the number of positives among them
    counts, and these numbers are independent.
    """
    if len(rows.groups) - 1 > MOST_GROUPS:
        return None
    least = NEGLIGIBLE * (1.0 - lost)
    laws: list[list[IntegerLaw]] = []
    for i in range(rows.n_fits):
        p = rows.rates(i)
        laws.append(
            [
                poisson_binomial(p[first:stop], rows.count[first:stop])
                for first, stop in pairwise(rows.groups.tolist())
            ]
        )
        # Other fits can only add to the combinations of the first.
        if i == 0 and math.prod(int(np.sum(law.pmf > least)) for law in laws[0]) > limit:
            return None
    ranks = rows.double_rank[rows.groups[:-1]]
    tables = [
        _group_table(group, rank, least)
        for group, rank in zip(zip(*laws, strict=True), ranks, strict=True)
    ]
    if math.prod(len(table.counts) for table in tables) > limit:
        return None
    # Two halves, so that the mixture over the fits is one matrix product.
    left, right = _combine(tables[::2], rows.n_fits), _combine(tables[1::2], rows.n_fits)
    return rows.law(
        left.counts[:, np.newaxis] + right.counts,
        left.double_rank[:, np.newaxis] + right.double_rank,
        left.mass.T @ right.mass / rows.n_fits,
        lost,
        reason,
    )


class _Table(NamedTuple):
    """Numbers of positives, twice the sum of their midranks, and probabilities, a row a fit."""

    counts: IntArray
    double_rank: IntArray
    mass: FloatArray


def _group_table(laws: Sequence[IntegerLaw], double_rank: int, least: float) -> _Table:
    """Return the laws of the positives at one distinct score, one a fit, as one table."""
    start, end = min(law.start for law in laws), max(law.stop for law in laws)
    mass = np.zeros((len(laws), end - start))
    for row, law in zip(mass, laws, strict=True):
        row[law.start - start : law.stop - start] = law.pmf
    used = np.flatnonzero(mass.max(axis=0) > least)
    kept = slice(used[0], used[-1] + 1)
    counts = np.arange(start, end, dtype=np.int64)[kept]
    return _Table(counts, counts * double_rank, mass[:, kept])


def _combine(tables: list[_Table], n_fits: int) -> _Table:
    """Return all combinations of the rows of tables."""
    zero = np.zeros(1, dtype=np.int64)
    both = _Table(zero, zero, np.ones((n_fits, 1)))
    for table in tables:
        both = _Table(
            (both.counts[:, np.newaxis] + table.counts).ravel(),
            (both.double_rank[:, np.newaxis] + table.double_rank).ravel(),
            (both.mass[:, :, np.newaxis] * table.mass[:, np.newaxis, :]).reshape(n_fits, -1),
        )
    return both


def lattice_size(rows: CellLattice) -> tuple[int, int]:
    """Return the cells of the lattice of count and rank sum, and the changes to build it.

    Parameters
    ----------
    rows : CellLattice
        Missing rows.

    Returns
    -------
    tuple of int
        Cells, and about how often one of them is changed, for all fits together.
    """
    m = int(rows.count.sum())
    if m == 0:
        return 1, 0
    _, width = _steps(rows)
    cells = (m + 1) * (int(width @ rows.count) + 1)
    # Count and rank sum grow together, about linearly in the rows added.
    return cells, rows.n_fits * m * cells // 3


def _steps(rows: CellLattice) -> tuple[int, IntArray]:
    """Return the unit of the rank sum, and the ranks above the lowest in this unit."""
    above = rows.double_rank - rows.double_rank[-1]
    unit = max(1, int(np.gcd.reduce(above)))
    return unit, above // unit


def lattice_law(rows: CellLattice, lost: float, reason: str) -> DiscreteLaw:
    """Return the law from the joint probabilities of count and rank sum, one row at a time.

    Parameters
    ----------
    rows : CellLattice
        At least one missing row, the area defined with positive probability; see `lattice_size`.
    lost : float
        Probability that the area is undefined.
    reason : str
        When it is.

    Returns
    -------
    DiscreteLaw
        Mixture over the fits.

    Notes
    -----
    Ranks count from the lowest missing row, in units of their greatest common divisor, which
    makes the lattice several times smaller where scores are tied. Only products and sums of
    positive numbers: relative precision everywhere.
    """
    unit, width = _steps(rows)
    # From the lowest rank up, so that the lattice stays narrow as long as possible.
    order = np.repeat(np.arange(len(width))[::-1], rows.count[::-1])
    steps = width[order]
    mass = np.zeros((len(order) + 1, int(steps.sum()) + 1))
    for i in range(rows.n_fits):
        mass += _lattice(rows.rates(i)[order], steps)
    k, r = np.nonzero(mass)
    double_rank = unit * r + int(rows.double_rank[-1]) * k
    return rows.law(k, double_rank, mass[k, r] / rows.n_fits, lost, reason)


def _lattice(p: FloatArray, steps: IntArray) -> FloatArray:
    """Return the probabilities of (number of positives, sum of their steps)."""
    mass = np.zeros((len(p) + 1, int(steps.sum()) + 1))
    mass[0, 0] = 1.0
    end = 1
    for i, (prob, step) in enumerate(zip(p.tolist(), steps.tolist(), strict=True)):
        filled = mass[: i + 1, :end]
        moved = filled * prob
        filled *= 1.0 - prob
        mass[1 : i + 2, step : step + end] += moved
        end += step
    return mass
