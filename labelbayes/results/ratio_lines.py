"""Where a ratio metric equals a value: straight lines on the grid of two counts of positives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.metrics.confusion import RatioMetric

#: Share of all terms by which a sum of a few of them can be off, with room to spare.
ROUND_OFF = 1e-13


class Lines(NamedTuple):
    """Lines of equal value, one per limit.

    Attributes
    ----------
    v : ndarray of float, shape (n_limits, n_u)
        V at which the metric equals the limit, for each U; it is no larger from there on.
    is_near : ndarray of bool, shape (n_limits, n_u)
        Where this is a whole number but for round-off.
    is_line : ndarray of bool, shape (n_limits,)
        Whether the metric falls with V through the limit; else the others mean nothing.
    """

    v: FloatArray
    is_near: BoolArray
    is_line: BoolArray


def find_lines(
    metric: RatioMetric,
    known: tuple[int, int, int, int],
    sizes: tuple[int, int],
    u: IntArray,
    limits: FloatArray,
) -> Lines:
    """Solve numerator = limit * denominator for V.

    Parameters
    ----------
    metric : RatioMetric
        The metric.
    known : tuple of int
        (tp, fp, fn, tn) of the labeled rows.
    sizes : tuple of int
        Missing rows predicted positive and negative.
    u : ndarray of int, shape (n_u,)
        Positives among the former.
    limits : ndarray of float, shape (n_limits,)
        Values of the metric; those out of its range count as just outside.

    Returns
    -------
    Lines
        A line per limit.

    Examples
    --------
    >>> from labelbayes.metrics.confusion import COUNT_METRICS
    >>> recall = COUNT_METRICS["recall"]
    >>> find_lines(recall, (1, 0, 0, 1), (4, 9), np.arange(3), np.array([0.5])).v
    array([[1., 2., 3.]])
    """
    tp, fp, fn, tn = known
    n_u, n_v = sizes
    at = np.clip(limits, metric.lowest - 1.0, metric.highest + 1.0)[:, np.newaxis]
    top, bottom = np.array(metric.numerator), at * np.array(metric.denominator)
    weights = top - bottom
    slope = weights[:, 3] - weights[:, 2]
    is_line = slope > 0
    slope = np.where(is_line, slope, 1.0)
    base = weights @ [tp, fp + n_u, fn, tn + n_v]
    v = (base[:, np.newaxis] + (weights[:, :1] - weights[:, 1:2]) * u) / slope[:, np.newaxis]
    terms = (np.abs(top) + np.abs(bottom)) @ [tp + n_u, fp + n_u, fn + n_v, tn + n_v]
    error = ROUND_OFF * terms / slope
    return Lines(v, np.abs(v - np.rint(v)) <= error[:, np.newaxis], is_line)
