"""The bracket around a quantile of a law on a grid of counts, and where to cut it next."""

from __future__ import annotations

import math
from typing import NamedTuple

from labelbayes._checks import IntArray


class End(NamedTuple):
    """One end of the bracket.

    Parameters
    ----------
    at : float
        A value of the metric.
    mass : float
        P(metric <= at).
    gap : float
        Normal score of the mass, less that of the probability asked for.
    first_v : ndarray of int
        First v of each u at which metric <= at.
    n_cells : int
        How many cells that is.
    """

    at: float
    mass: float
    gap: float
    first_v: IntArray
    n_cells: int


def cut(low: End, high: End, spread: float) -> float:
    """Return where to cut the bracket next.

    Parameters
    ----------
    low, high : End
        Ends of the bracket.
    spread : float
        Rough standard deviation of the metric.

    Returns
    -------
    float
        A value of the metric; outside the bracket or nan where only halving is left.
    """
    if math.isfinite(low.gap) and math.isfinite(high.gap) and high.gap > low.gap:
        share = -low.gap / (high.gap - low.gap)
        share += 0.02 * share if share < 0.5 else -0.02 * (1 - share)
        return low.at + share * (high.at - low.at)
    if math.isfinite(low.gap):
        return low.at - 1.1 * spread * low.gap
    return high.at - 1.1 * spread * high.gap
