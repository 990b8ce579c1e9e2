"""Kolmogorov distance of an exact law from a normal one."""

from __future__ import annotations

import heapq
import math
from itertools import pairwise

import numpy as np
from scipy.special import ndtr

from labelbayes.results.count_law import CountLaw
from labelbayes.results.distribution import ATOM_WIDTH

#: Pairs of counts that are listed; beyond this many the distance is bracketed.
MOST_PAIRS = 1_000_000
#: How narrow the bracket is made, as a share of the distance, and at least.
SHARE, TOLERANCE = 0.01, 1e-6
#: Points that the bracket starts from, this many standard deviations to either side.
N_POINTS, REACH = 257, 9.0


def distance_to_normal(law: CountLaw, mean: float, sd: float) -> float:
    """Return the largest difference between two cdfs.

    Parameters
    ----------
    law : CountLaw
        Exact law of a metric, given that it is defined.
    mean, sd : float
        Moments of the normal law; 0 is a point.

    Returns
    -------
    float
        Distance in [0, 1]: exact for up to a million pairs of counts, else an upper value, at
        most 1% too large.

    Examples
    --------
    >>> from labelbayes.metrics.confusion import COUNT_METRICS
    >>> from labelbayes.results.integer_law import IntegerLaw
    >>> coin = IntegerLaw(0, np.array([0.5, 0.5]), 1, 0.5, 0.25, 0.5, 0.5)
    >>> none = IntegerLaw(0, np.array([1.0]), 0, 0.0, 0.0, 1.0, 1.0)
    >>> law = CountLaw(COUNT_METRICS["precision"], (0, 0, 0, 0), coin, none)
    >>> round(distance_to_normal(law, 0.5, 0.5), 4)
    0.3413
    """
    n_pairs = len(law.predicted_positive.pmf) * len(law.predicted_negative.pmf)
    if n_pairs <= MOST_PAIRS:
        atoms = law.atoms(MOST_PAIRS)
        upto = np.cumsum(atoms.pmf)
        normal = _normal_cdf(atoms.support, mean, sd)
        # Just below an atom a point mass of the other law has not yet come.
        before = normal if sd else np.where(atoms.support > mean + ATOM_WIDTH, 1.0, 0.0)
        below = np.insert(upto[:-1], 0, 0.0)
        return float(max(np.abs(upto - normal).max(), np.abs(below - before).max()))
    return _bracketed(law, mean, sd)


def _normal_cdf(t: np.ndarray, mean: float, sd: float) -> np.ndarray:
    return ndtr((t - mean) / sd) if sd else (t >= mean - ATOM_WIDTH).astype(float)


def _bracketed(law: CountLaw, mean: float, sd: float) -> float:
    """Halve the intervals that may hold the largest difference until none can be larger."""
    inner = mean + sd * np.linspace(-REACH, REACH, N_POINTS)
    points = [-math.inf, *inner.tolist(), math.inf]
    exact = [0.0, *(float(law.cdf(t)) for t in points[1:-1]), 1.0]
    normal = [float(_normal_cdf(np.array(t), mean, sd)) for t in points]
    found = max(abs(one - other) for one, other in zip(exact, normal, strict=True))
    ends = list(zip(points, exact, normal, strict=True))
    # Both cdfs rise, so inside an interval they differ at most crosswise.
    heap = [(-_cross(a, b), a, b) for a, b in pairwise(ends)]
    heapq.heapify(heap)
    while -heap[0][0] > found * (1 + SHARE) + TOLERANCE:
        worst, a, b = heapq.heappop(heap)
        middle = (a[0] + b[0]) / 2
        if not (a[0] < middle < b[0]) or not math.isfinite(middle) or b[0] - a[0] < ATOM_WIDTH:
            # One atom: the difference just below it is reached.
            found = max(found, -worst)
            continue
        between = (middle, float(law.cdf(middle)), float(_normal_cdf(np.array(middle), mean, sd)))
        found = max(found, abs(between[1] - between[2]))
        for left, right in ((a, between), (between, b)):
            heapq.heappush(heap, (-_cross(left, right), left, right))
    return min(1.0, max(found, -heap[0][0]))


def _cross(a: tuple[float, float, float], b: tuple[float, float, float]) -> float:
    """Largest difference of two rising cdfs between two points."""
    return max(b[1] - a[2], b[2] - a[1])
