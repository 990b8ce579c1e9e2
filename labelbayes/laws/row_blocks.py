"""Completed labels of a block of rows, and what they add to the totals of each draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.laws.missing_cells import MissingCells, step_blocks
from labelbayes.laws.precision_sums import PrecisionSums
from labelbayes.laws.ranked_rows import RankedRows

#: Rows (or cells) worked on at a time, so that all stays in the processor's cache; part of what a
#: seed means, never to be tuned.
ROW_BLOCK, CELL_BLOCK = 1 << 16, 1 << 14


@dataclass(frozen=True, eq=False)
class Totals:
    """What the metrics need of each completed set, one number a draw.

    Parameters
    ----------
    n_positive, true_positive : ndarray of float, shape (n,)
        Missing rows that come out positive, and those of them predicted positive.
    rank_sum : ndarray of float, shape (n,)
        Sum of their midranks.
    precision_sum : ndarray of float, shape (n,)
        What they add to S of `PrecisionSums`.
    at_knots : ndarray of float, shape (n, n_knots)
        Missing positives down to each knot of the ranking.
    """

    n_positive: FloatArray
    true_positive: FloatArray
    rank_sum: FloatArray
    precision_sum: FloatArray
    at_knots: FloatArray

    @classmethod
    def nothing(cls, n: int, n_knots: int) -> Totals:
        """Return totals to which no row has been added yet.

        Parameters
        ----------
        n : int
            Draws.
        n_knots : int
            Knots.

        Returns
        -------
        Totals
            Zeros.
        """
        n_positive, true_positive, rank_sum, precision_sum = np.zeros((4, n))
        return cls(n_positive, true_positive, rank_sum, precision_sum, np.zeros((n, n_knots)))

    def take(self, draws: slice | IntArray) -> Totals:
        """Return some of the draws: views of them for a slice.

        Parameters
        ----------
        draws : slice or ndarray of int
            Which.

        Returns
        -------
        Totals
            Their totals.
        """
        return Totals(
            self.n_positive[draws],
            self.true_positive[draws],
            self.rank_sum[draws],
            self.precision_sum[draws],
            self.at_knots[draws],
        )


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows (or cells) in rank order, whole steps.

    Parameters
    ----------
    times : ndarray of int, shape (k,)
        Rows of each cell; all 1 where each row is drawn by itself.
    bin : ndarray of int, shape (k,)
        Which rate each has.
    is_positive : ndarray of bool, shape (k,), or None
        Which are predicted positive; None where all are alike.
    all_positive : bool
        Whether all are predicted positive.
    midrank, inverse : ndarray of float, shape (k,)
        Midrank, and 1 over the rows down to this step.
    slope : ndarray of float, shape (k,), or None
        g of `PrecisionSums`; None where no positive is known.
    starts : ndarray of int, or None
        First row of each step; None where no two are tied.
    knots : ndarray of int
        Rows above each knot that lies in the block.
    first_knot : int
        Number of the first of these knots.
    """

    times: IntArray
    bin: IntArray
    is_positive: BoolArray | None
    all_positive: bool
    midrank: FloatArray
    inverse: FloatArray
    slope: FloatArray | None
    starts: IntArray | None
    knots: IntArray
    first_knot: int


def cut_blocks(
    ranked: RankedRows, cells: MissingCells, knots: IntArray, *, by_cells: bool
) -> list[Block]:
    """Cut the missing rows (or cells) into blocks.

    Parameters
    ----------
    ranked : RankedRows
        Rows by score.
    cells : MissingCells
        Their missing rows.
    knots : ndarray of int, shape (n_knots,)
        Steps, ascending, down to which positives are counted.
    by_cells : bool
        Whether cells stay together, or each row stands by itself.

    Returns
    -------
    list of Block
        In rank order.
    """
    sums = PrecisionSums.from_cells(ranked, cells)
    is_single = by_cells or bool((cells.count == 1).all())
    cell = slice(None) if is_single else np.repeat(np.arange(len(cells.step)), cells.count)
    step, bins, is_positive = cells.step[cell], cells.bin[cell], cells.is_positive[cell]
    midrank, inverse, slope = ranked.midrank[step], sums.inverse_rows[cell], sums.slope[cell]
    times = cells.count if by_cells else np.ones(len(step), dtype=np.int64)
    above_knot = np.searchsorted(step, knots, side="right")
    blocks = []
    for start, stop in step_blocks(step, CELL_BLOCK if by_cells else ROW_BLOCK):
        part = slice(start, stop)
        starts = np.flatnonzero(np.diff(step[part], prepend=-1))
        first, last = np.searchsorted(above_knot, [start, stop], side="right")
        decided = is_positive[part]
        blocks.append(
            Block(
                times=times[part],
                bin=bins[part],
                is_positive=None if (decided == decided[0]).all() else decided,
                all_positive=bool(decided[0]),
                midrank=midrank[part],
                inverse=inverse[part],
                slope=slope[part] if sums.n_known_positive else None,
                starts=None if len(starts) == stop - start else starts,
                knots=above_knot[first:last] - start,
                first_knot=int(first),
            )
        )
    return blocks


def fill_knots(run: Totals, blocks: Sequence[Block]) -> None:
    """Count all positives at knots below the last missing row.

    Parameters
    ----------
    run : Totals
        Draws to which every block has been added; changed in place.
    blocks : sequence of Block
        The blocks.
    """
    n_filled = blocks[-1].first_knot + len(blocks[-1].knots) if blocks else 0
    run.at_knots[:, n_filled:] = run.n_positive[:, np.newaxis]


def add_cells(run: Totals, block: Block, p: FloatArray, generator: np.random.Generator) -> None:
    """Draw the positives of the cells of a block, and add them to the totals.

    Parameters
    ----------
    run : Totals
        Some draws; added to in place.
    block : Block
        The cells.
    p : ndarray of float, shape (n_bins, n_draws)
        Rates of each draw.
    generator : numpy.random.Generator
        Where draws come from.
    """
    # Draws of one cell follow each other: numpy sets up each binomial law once.
    add_positives(run, block, generator.binomial(block.times[:, np.newaxis], p[block.bin]))


def add_positives(run: Totals, block: Block, drawn: IntArray | FloatArray) -> None:
    """Add the positives of the cells of a block to the totals.

    Parameters
    ----------
    run : Totals
        Some draws, to which the blocks above have been added; added to in place.
    block : Block
        The cells.
    drawn : ndarray, shape (k, n_draws)
        Positives of each cell in each draw; parts of rows where rows count with their rate.
    """
    if block.is_positive is not None:
        run.true_positive[:] += block.is_positive.astype(np.float64) @ drawn
    elif block.all_positive:
        run.true_positive[:] += drawn.sum(axis=0)
    run.rank_sum[:] += block.midrank @ drawn
    if block.slope is not None:
        run.precision_sum[:] += block.slope @ drawn
    to_here = np.cumsum(drawn, axis=0)
    at_step, inverse, above = drawn, block.inverse, to_here
    if block.starts is not None:
        last = np.append(block.starts[1:], len(block.times)) - 1
        at_step = np.add.reduceat(drawn, block.starts, axis=0)
        inverse, above = inverse[block.starts], to_here[last]
    run.precision_sum[:] += inverse @ (at_step * (above + run.n_positive))
    if len(block.knots):
        knots = slice(block.first_knot, block.first_knot + len(block.knots))
        run.at_knots[:, knots] = (to_here[block.knots - 1] + run.n_positive).T
    run.n_positive[:] += to_here[-1]


def add_rows(
    run: Totals,
    block: Block,
    p: FloatArray,
    bits: np.random.SFC64,
    generator: np.random.Generator,
) -> None:
    """Add the rows of a block to the totals of the draws of one fit.

    Parameters
    ----------
    run : Totals
        The draws; added to in place.
    block : Block
        The rows.
    p : ndarray of float, shape (n_bins,)
        Rates.
    bits : numpy.random.SFC64
        Where bytes come from.
    generator : numpy.random.Generator
        Draws from the same stream.
    """
    scaled = 256.0 * p[block.bin]
    # p = 1 gives 255 and a certain remainder.
    whole = np.minimum(scaled, 255.0).astype(np.uint8)
    rest = scaled - whole
    size = len(whole)
    is_tie, is_positive = np.empty(size, dtype=np.bool_), np.empty(size, dtype=np.bool_)
    order = np.arange(1.0, size + 1.0)
    knots = slice(block.first_knot, block.first_knot + len(block.knots))
    for d in range(len(run.n_positive)):
        byte = bits.random_raw(-(-size // 8)).view(np.uint8)[:size]
        np.less(byte, whole, out=is_positive)
        tie = np.flatnonzero(np.equal(byte, whole, out=is_tie))
        is_positive[tie] = generator.random(len(tie)) < rest[tie]
        row = np.flatnonzero(is_positive)
        n_positive, n_above = len(row), run.n_positive[d]
        if block.is_positive is not None:
            run.true_positive[d] += np.count_nonzero(is_positive & block.is_positive)
        elif block.all_positive:
            run.true_positive[d] += n_positive
        run.rank_sum[d] += block.midrank.take(row).sum()
        inverse = block.inverse.take(row)
        precision = inverse @ order[:n_positive] + n_above * inverse.sum()
        if block.slope is not None:
            precision += block.slope.take(row).sum()
        if block.starts is not None:
            # Counted one after the other, k tied positives miss k (k - 1) / 2 of their own step.
            tied = np.add.reduceat(is_positive, block.starts, dtype=np.float64)
            precision += block.inverse[block.starts] @ (tied * (tied - 1.0)) / 2.0
        run.precision_sum[d] += precision
        if len(block.knots):
            run.at_knots[d, knots] = np.searchsorted(row, block.knots, side="left") + n_above
        run.n_positive[d] += n_positive
