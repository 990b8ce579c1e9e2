"""Kolmogorov distance of an exact law from a normal one."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from labelbayes._checks import FloatArray
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

    def exact(t: FloatArray) -> FloatArray:
        return law.grid.masses_up_to(t + ATOM_WIDTH)

    inner = mean + sd * np.linspace(-REACH, REACH, N_POINTS)
    points = np.concatenate([[-math.inf], inner, [math.inf]])
    upto = np.concatenate([[0.0], exact(inner), [1.0]])
    normal = _normal_cdf(points, mean, sd)
    found, settled = float(np.abs(upto - normal).max()), 0.0
    a = np.stack([points, upto, normal])[:, :-1]
    b = np.stack([points, upto, normal])[:, 1:]
    while a.shape[1]:
        # Both cdfs rise, so inside an interval they differ at most crosswise.
        cross = np.maximum(b[1] - a[2], b[2] - a[1])
        middle = (a[0] + b[0]) / 2
        is_atom = ~((a[0] < middle) & (middle < b[0])) | ~np.isfinite(middle)
        is_atom |= b[0] - a[0] < ATOM_WIDTH
        is_open = cross > found * (1 + SHARE) + TOLERANCE
        # One atom: the difference just below it is reached.
        found = max(found, float(cross[is_open & is_atom].max(initial=0.0)))
        settled = max(settled, float(cross[~is_open].max(initial=0.0)))
        a, b, at = (part[..., is_open & ~is_atom] for part in (a, b, middle))
        between = np.stack([at, exact(at), _normal_cdf(at, mean, sd)])
        found = max(found, float(np.abs(between[1] - between[2]).max(initial=0.0)))
        a, b = np.hstack([a, between]), np.hstack([between, b])
    return min(1.0, max(found, settled))
