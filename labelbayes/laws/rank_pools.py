"""Neighbors in rank that share a rate: one binomial draw each, whatever the number of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.laws.average_precision_mean import step_starts
from labelbayes.laws.missing_cells import MissingCells
from labelbayes.laws.precision_sums import PrecisionSums
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.row_blocks import Block, Totals, add_positives, cut_blocks

#: Missing rows at the top of the ranking that are drawn one by one.
HEAD = 1_024
#: Rows below them lie in one stretch if the number of rows down to them differs by this share.
SPAN = 1 / 64
#: Stretches end where the rate or the decision changes, unless these change more often than this.
MOST_CUTS = 1_024
#: Rows with a rate each come in so many classes, equally wide in the angle asin(sqrt(p)).
CLASSES = 8


@dataclass(frozen=True, eq=False, repr=False)
class RankPools:
    """Rows of one stretch of the ranking, rate and decision: a pool that is drawn at once.

    Parameters
    ----------
    head : tuple of Block
        The topmost cells, which stay by themselves.
    n_head : int
        Number of these cells.
    size : ndarray of int, shape (n_pools,)
        Rows of each pool, multiplicities counted; pools stand in rank order by stretch.
    bin : ndarray of int, shape (n_pools,), or None
        Which rate each pool has; None where each row has a rate of its own.
    of_cell, cell_count : ndarray of int, shape (n_cells - n_head,)
        Pool, and rows, of each cell below the head.
    is_positive : ndarray of bool, shape (n_pools,)
        Which are predicted positive.
    starts : ndarray of int, shape (n_stretches,)
        First pool of each stretch.
    means : ndarray of float, shape (3, n_pools)
        Means over the rows of a pool: 1 / r and g of `PrecisionSums`, and the midrank.
    spreads : ndarray of float, shape (6, n_pools)
        Sums of products of their differences from these means, 1 / r with itself, g, midrank,
        g with itself, midrank, midrank with itself; over size (size - 1).
    apart : ndarray of float, shape (3, n_cells - n_head), or None
        Differences of each cell from the means of its pool; None where rows share their rates.
    pair : ndarray of float, shape (n_stretches,)
        Mean over pairs of rows of a stretch of what both being positive adds to S.
    knots : ndarray of int
        Stretches above each knot that lies below the head.
    first_knot : int
        Number of the first of these knots.

    Notes
    -----
    Given how many rows of a pool are positive, which ones they are is a random choice if they
    have one rate. Sums over the chosen rows then have the means and covariances of draws without
    replacement. S and the sum of midranks get their conditional mean and a normal deviate with
    their conditional covariance: it adds up hundreds of small terms, a share of about
    SPAN^2 / 12 of all variance. Neglected are products of the two, SPAN^4 of it.
    """

    head: tuple[Block, ...]
    n_head: int
    size: IntArray
    bin: IntArray | None
    of_cell: IntArray
    cell_count: IntArray
    is_positive: BoolArray
    starts: IntArray
    means: FloatArray
    spreads: FloatArray
    apart: FloatArray | None
    pair: FloatArray
    knots: IntArray
    first_knot: int

    @classmethod
    def from_cells(
        cls, ranked: RankedRows, cells: MissingCells, knots: IntArray, p: FloatArray
    ) -> RankPools:
        """Pool the missing rows of a ranking.

        Parameters
        ----------
        ranked : RankedRows
            Rows by score.
        cells : MissingCells
            Their missing rows.
        knots : ndarray of int, shape (n_knots,)
            Steps, ascending, down to which positives are counted.
        p : ndarray of float, shape (n_bins,)
            Rates of one fit; used where each cell has a bin of its own, to tell rows apart.

        Returns
        -------
        RankPools
            The pools.
        """
        n_head = end_of_head(cells.step)
        head = _take(cells, slice(None, n_head))
        last_step = int(head.step[-1])
        in_head = int(np.searchsorted(knots, last_step, side="right"))
        tail = _take(cells, slice(n_head, None))
        is_shared = cells.n_bins < len(cells.step)
        kind = 2 * (tail.bin if is_shared else _classes(p[tail.bin])) + tail.is_positive
        stretch = _stretches(ranked, tail.step, kind, knots[in_head:])
        # Pools by stretch, then kind.
        key = stretch * (int(kind.max()) + 1) + kind
        _, first, of_cell = np.unique(key, return_index=True, return_inverse=True)
        size = np.bincount(of_cell, weights=tail.count).astype(np.int64)
        means, spreads, apart = _linear(ranked, tail, of_cell, size)
        return cls(
            head=tuple(cut_blocks(ranked, head, knots[:in_head], by_cells=True)),
            n_head=n_head,
            size=size,
            bin=tail.bin[first] if is_shared else None,
            of_cell=of_cell,
            cell_count=tail.count,
            is_positive=tail.is_positive[first],
            starts=np.searchsorted(stretch[first], np.arange(stretch[-1] + 1)),
            means=means,
            spreads=spreads,
            apart=None if is_shared else apart,
            pair=_pairs(ranked, tail, stretch),
            knots=_stretches_above(tail.step, stretch, knots[in_head:]),
            first_knot=in_head,
        )

    @property
    def n_pools(self) -> int:
        """Number of pools."""
        return len(self.size)

    def draw(self, run: Totals, p: FloatArray, generator: np.random.Generator) -> None:
        """Draw completions, and add them to the totals.

        Parameters
        ----------
        run : Totals
            Some draws, nothing added yet; added to in place.
        p : ndarray of float, shape (n_bins, n_draws)
            Rates of each draw; of one column for all draws alike.
        generator : numpy.random.Generator
            Where draws come from.
        """
        n = len(run.n_positive)
        for block in self.head:
            at = p[block.bin]
            if (block.times == 1).all():
                drawn = (generator.random((len(at), n)) < at).astype(np.float64)
            else:
                drawn = generator.binomial(block.times[:, np.newaxis], at, (len(at), n)).astype(
                    float
                )
            add_positives(run, block, drawn)
        shifts = None
        if self.bin is not None:
            rates = np.broadcast_to(p[self.bin], (self.n_pools, n))
            drawn = generator.binomial(self.size[:, np.newaxis], rates).astype(np.float64)
        else:
            drawn, shifts = self._draw_unequal(p, n, generator), self.shifts(p[self.n_head :, 0])
        self.add(run, drawn, generator.standard_normal((2, n)), shifts)

    def _draw_unequal(self, p: FloatArray, n: int, generator: np.random.Generator) -> FloatArray:
        """Draw the positives of pools whose rows differ in p, by laws of the same two moments.

        The sum of the rows has mean m and variance m - s, s the sum of squares of p. So has
        Binomial(m^2 / s, s / m); between whole numbers of trials one of the two next is drawn.
        """
        at = p[self.n_head :, 0]
        mean = np.bincount(self.of_cell, self.cell_count * at, self.n_pools)
        squares = np.bincount(self.of_cell, self.cell_count * at**2, self.n_pools)
        # Counted are the rarer labels: then there are always trials enough.
        is_common = mean > self.size / 2
        squares[is_common] += (self.size - 2 * mean)[is_common]
        mean[is_common] = (self.size - mean)[is_common]
        with np.errstate(invalid="ignore", divide="ignore"):
            trials = np.where(mean > 0, mean**2 / squares, self.size)
        # Equal p give all rows, but for round-off.
        trials = np.clip(trials * (1 + 1e-12), 1.0, self.size)
        low = np.maximum(np.floor(trials), np.ceil(mean))
        high = np.minimum(low + 1.0, self.size)
        low = np.minimum(low, high)
        # 1 / trials, and with it the variance, is met on average.
        share = np.where(high > low, np.maximum(trials - low, 0.0) / trials * high, 0.0)
        taken = low[:, np.newaxis] + (generator.random((self.n_pools, n)) < share[:, np.newaxis])
        rate = np.minimum(mean[:, np.newaxis] / np.maximum(taken, 1.0), 1.0)
        drawn = generator.binomial(taken.astype(np.int64), rate).astype(np.float64)
        return np.where(is_common[:, np.newaxis], self.size[:, np.newaxis] - drawn, drawn)

    def shifts(self, p: FloatArray) -> FloatArray:
        """Return what rows of unequal p add to sums beyond their number times the mean of a pool.

        Parameters
        ----------
        p : ndarray of float, shape (n_cells - n_head,)
            P(y = 1) of each cell below the head, each with a rate of its own.

        Returns
        -------
        ndarray of float, shape (3, n_pools)
            Expected sums of the differences from the means.
        """
        assert self.apart is not None
        weight = self.cell_count * p
        return np.array(
            [np.bincount(self.of_cell, weight * column, self.n_pools) for column in self.apart]
        )

    def add(
        self,
        run: Totals,
        drawn: FloatArray,
        deviates: FloatArray,
        shifts: FloatArray | None = None,
    ) -> None:
        """Add the positives of the pools to the totals.

        Parameters
        ----------
        run : Totals
            Some draws, to which the head has been added; added to in place.
        drawn : ndarray of float, shape (n_pools, n_draws)
            Positives of each pool.
        deviates : ndarray of float, shape (2, n_draws)
            Standard normal; 0 gives the mean over the order inside pools.
        shifts : ndarray of float, shape (3, n_pools), optional
            Of rows that do not share their rates.
        """
        inverse, slope, midrank = self.means
        here = np.add.reduceat(drawn, self.starts, axis=0)
        to_here = np.cumsum(here, axis=0)
        above = to_here - here + run.n_positive
        run.true_positive[:] += self.is_positive.astype(np.float64) @ drawn
        run.rank_sum[:] += midrank @ drawn
        run.precision_sum[:] += slope @ drawn
        weighted = np.add.reduceat(drawn * inverse[:, np.newaxis], self.starts, axis=0)
        run.precision_sum[:] += ((above + 1.0) * weighted).sum(axis=0)
        run.precision_sum[:] += self.pair @ (here * (here - 1.0)) / 2.0
        if shifts is not None:
            run.precision_sum[:] += shifts[1].sum()
            run.precision_sum[:] += np.add.reduceat(shifts[0], self.starts) @ (above + 1.0)
            run.rank_sum[:] += shifts[2].sum()
        # A positive meets those above its stretch, itself, and half of those in it.
        met = np.repeat(above + 1.0 + here / 2.0, np.diff(self.starts, append=len(drawn)), axis=0)
        chosen = drawn * (self.size[:, np.newaxis] - drawn)
        by_met = chosen * met
        ii, ig, im, gg, gm, mm = self.spreads
        of_ranks = mm @ chosen
        both = im @ by_met + gm @ chosen
        of_precisions = ii @ (by_met * met) + 2.0 * ig @ by_met + gg @ chosen
        sd = np.sqrt(of_ranks)
        common = np.divide(both, sd, out=np.zeros_like(sd), where=sd > 0)
        own = np.sqrt(np.maximum(of_precisions - common**2, 0.0))
        run.rank_sum[:] += sd * deviates[0]
        run.precision_sum[:] += common * deviates[0] + own * deviates[1]
        if len(self.knots):
            knots = slice(self.first_knot, self.first_knot + len(self.knots))
            run.at_knots[:, knots] = (
                np.insert(to_here, 0, 0.0, axis=0)[self.knots] + run.n_positive
            ).T
        run.n_positive[:] += to_here[-1]


def end_of_head(step: IntArray) -> int:
    """Return the number of cells of the head, whole steps.

    Parameters
    ----------
    step : ndarray of int, shape (n_cells,)
        Step of each cell, ascending.

    Returns
    -------
    int
        All of them where no step lies below the head.
    """
    return int(np.searchsorted(step, step[min(HEAD, len(step)) - 1], side="right"))


def _take(cells: MissingCells, part: slice) -> MissingCells:
    return MissingCells(
        cells.step[part],
        cells.is_positive[part],
        cells.count[part],
        cells.bin[part],
        cells.row[part],
        cells.n_bins,
    )


def _classes(p: FloatArray) -> IntArray:
    """Return classes of probabilities that differ by about the same share of their sd."""
    angle = np.arcsin(np.sqrt(p)) * (2.0 / np.pi)
    return np.minimum((CLASSES * angle).astype(np.int64), CLASSES - 1)


def _stretches(ranked: RankedRows, step: IntArray, kind: IntArray, knots: IntArray) -> IntArray:
    """Return the stretch of each cell: whole steps, neighbors in rank, none beyond a knot."""
    rows = np.log(np.cumsum(ranked.step_count))[step]
    ends = np.floor((rows - rows[0]) / np.log1p(SPAN))
    # A knot counts the positives down to its step, itself included.
    is_new = np.diff(ends, prepend=ends[0]) != 0
    beyond = np.searchsorted(knots, step, side="left")
    is_new |= np.diff(beyond, prepend=beyond[0]) != 0
    starts = step_starts(step)
    change = starts[1:][kind[starts[1:]] != kind[starts[1:] - 1]]
    if len(change) <= MOST_CUTS:
        is_new[change] = True
    return np.cumsum(is_new)


def _stretches_above(step: IntArray, stretch: IntArray, knots: IntArray) -> IntArray:
    """Return how many stretches lie above each knot."""
    return np.append(0, stretch + 1)[np.searchsorted(step, knots, side="right")]


def _linear(
    ranked: RankedRows, cells: MissingCells, of_cell: IntArray, size: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return means over the rows of each pool, covariances of a random choice, and differences."""
    sums = PrecisionSums.from_cells(ranked, cells)
    columns = [sums.inverse_rows, sums.slope, ranked.midrank[cells.step]]
    count, n = cells.count, len(size)
    means = np.array([np.bincount(of_cell, count * column, n) / size for column in columns])
    apart = np.array([column - mean[of_cell] for column, mean in zip(columns, means, strict=True)])
    spreads = np.array(
        [
            np.bincount(of_cell, count * apart[i] * apart[k], n)
            for i in range(3)
            for k in range(i, 3)
        ]
    )
    return means, spreads / np.maximum(size * (size - 1.0), 1.0), apart


def _pairs(ranked: RankedRows, cells: MissingCells, stretch: IntArray) -> FloatArray:
    """Return the mean over pairs of rows of a stretch of what two positives add to S.

    Two positives add 1 / r at the lower of their steps; on one step both meet the other.
    """
    starts = step_starts(cells.step)
    inverse = 1.0 / np.cumsum(ranked.step_count)[cells.step[starts]]
    here = np.add.reduceat(cells.count.astype(np.float64), starts)
    of_step = stretch[starts]
    n = int(stretch[-1]) + 1
    size = np.bincount(of_step, here, n)
    above = np.cumsum(here) - here - (np.cumsum(size) - size)[of_step]
    total = np.bincount(of_step, inverse * here * (above + here - 1.0), n)
    return np.divide(2.0 * total, size * (size - 1.0), out=np.zeros(n), where=size > 1)
