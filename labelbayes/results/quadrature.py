"""Moments of a smooth function of two independent counts, without a grid of all pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.results.gauss_rule import Rule
from labelbayes.results.integer_law import IntegerLaw

PairFunction = Callable[[FloatArray, FloatArray], FloatArray]
#: Weights of some rows, and the function on them.
Block = tuple[FloatArray, FloatArray]

#: Up to this many pairs of counts every pair is visited.
GRID_CELLS = 65_536
#: Pairs visited at a time.
BLOCK_CELLS = 1_000_000
#: Two quadrature rules must agree to this share of the answer before either is believed.
AGREEMENT = 1e-13


def pair_moments(
    function: PairFunction, first: IntegerLaw, second: IntegerLaw
) -> tuple[float, float]:
    """Return mean and standard deviation of ``function(first, second)``, where it is not nan.

    Parameters
    ----------
    function : callable
        Takes two arrays that broadcast; nan where undefined, smooth away from the ends of the
        ranges.
    first, second : IntegerLaw
        Laws of the two counts, independent.

    Returns
    -------
    tuple of float
        Mean and standard deviation.

    Notes
    -----
    Gauss rules are used only where 12 and 20 nodes agree to 1e-13 of
    the larger of mean and standard deviation, else every pair of
    counts is visited.
    """
    if len(first.pmf) * len(second.pmf) > GRID_CELLS:
        coarse, fine = (
            _moments(function, *rules) for rules in zip(first.rules, second.rules, strict=True)
        )
        scale = max(abs(fine[0]), fine[1])
        if all(abs(a - b) <= AGREEMENT * scale for a, b in zip(coarse, fine, strict=True)):
            return fine
    return _moments(function, _points(first), _points(second))


def _moments(function: PairFunction, first: Rule, second: Rule) -> tuple[float, float]:
    """Mean and sd over weighted points; the second moment is taken about the mean."""
    (points, weights), (across, across_weights) = first, second
    rows = max(1, BLOCK_CELLS // len(across))

    def blocks() -> Iterator[Block]:
        for start in range(0, len(points), rows):
            part = slice(start, start + rows)
            yield weights[part], function(points[part, None], across[None, :])

    # A single block is kept, several are computed twice.
    held = list(blocks()) if rows >= len(points) else None
    mean = _average(held or blocks(), across_weights)
    if math.isnan(mean):
        return math.nan, math.nan
    squares = ((weight, (values - mean) ** 2) for weight, values in held or blocks())
    return mean, math.sqrt(max(_average(squares, across_weights), 0.0))


def _average(blocks: Iterable[Block], across_weights: FloatArray) -> float:
    """Weighted mean of the values that are not nan."""
    total = defined = 0.0
    for weights, values in blocks:
        is_defined = ~np.isnan(values)
        if is_defined.all():
            total += float(weights @ values @ across_weights)
            defined += float(weights.sum() * across_weights.sum())
        else:
            total += float(weights @ np.where(is_defined, values, 0.0) @ across_weights)
            defined += float(weights @ is_defined @ across_weights)
    return total / defined if defined > 0 else math.nan


def _points(law: IntegerLaw) -> Rule:
    return law.support.astype(float), law.pmf
