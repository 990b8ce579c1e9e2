"""Probabilities strictly between 0 and 1, and their odds."""

from __future__ import annotations

import numpy as np

from labelbayes._checks import FloatArray

#: Probabilities given as scores keep this distance from 0 and 1 before their logit is taken.
CLIP = 1e-12


def inside_unit(p: FloatArray) -> FloatArray:
    """Return probabilities strictly between 0 and 1.

    Parameters
    ----------
    p : ndarray of float
        Probabilities; one that rounds to 0 or 1 would call a missing label certain.

    Returns
    -------
    ndarray of float
        The same, at least 2e-308 away from 0 and 1e-16 from 1.
    """
    return np.clip(p, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)


def logit_of(score: FloatArray) -> FloatArray:
    """Return log odds of scores in [0, 1], clipped to [1e-12, 1 - 1e-12].

    Parameters
    ----------
    score : ndarray of float
        Scores; those outside [0, 1] are taken for 0 or 1.

    Returns
    -------
    ndarray of float
        Log odds.
    """
    clipped = np.clip(score, CLIP, 1 - CLIP)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


def tilt_odds(p: FloatArray, odds_ratio: float) -> FloatArray:
    """Return probabilities whose odds are those of `p` times a factor.

    Parameters
    ----------
    p : ndarray of float
        Probabilities.
    odds_ratio : float > 0
        Factor.

    Returns
    -------
    ndarray of float
        Probabilities; 0 and 1 stay, everything else stays strictly between them.
    """
    if odds_ratio == 1:
        return p
    tilted = odds_ratio * p / (odds_ratio * p + (1 - p))
    return np.where((p > 0) & (p < 1), inside_unit(tilted), p)
