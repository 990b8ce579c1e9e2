"""Confidence intervals for a value of which only bounds can be estimated."""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import ndtr

from labelbayes.results.interval import Interval


def cover_bounds(
    bounds: Interval,
    low_error: float,
    high_error: float,
    *,
    ci_prob: float,
    lowest: float,
    highest: float,
) -> Interval:
    """Return an interval that holds the value, wherever between the bounds it is.

    Parameters
    ----------
    bounds : Interval
        Estimated bounds; nan where the metric is undefined.
    low_error, high_error : float >= 0
        Standard errors of the two ends.
    ci_prob : float
        Coverage, in (0, 1).
    lowest, highest : float
        Range of the metric: the interval stays inside.

    Returns
    -------
    Interval
        Of kind "confidence"; nan where the bounds are.

    Notes
    -----
    Where the bounds are far apart only one end can miss at a time, and a one-sided quantile is
    enough; where they meet it takes a two-sided one.

    References
    ----------
    .. [1] G. W. Imbens and C. F. Manski, "Confidence intervals for partially identified
       parameters", Econometrica 72(6), 1845-1857, 2004.

    Examples
    --------
    >>> point = Interval(0.5, 0.5, float("nan"), "bounds")
    >>> print(cover_bounds(point, 0.1, 0.1, ci_prob=0.95, lowest=0.0, highest=1.0))
    [0.304, 0.696] (95% confidence)
    """
    if math.isnan(bounds.low):
        return Interval(math.nan, math.nan, ci_prob, "confidence")
    largest = max(low_error, high_error)

    def excess(c: float) -> float:
        return float(ndtr(c + bounds.width / largest) - ndtr(-c)) - ci_prob

    # A low level is reached without moving the ends where the bounds are far apart.
    c = brentq(excess, 0.0, 10.0) if largest > 0 and excess(0.0) < 0 else 0.0
    return Interval(
        max(lowest, bounds.low - c * low_error),
        min(highest, bounds.high + c * high_error),
        ci_prob,
        "confidence",
    )
