"""Gauss rules that integrate smooth functions of a count against its law."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy.linalg import eigh_tridiagonal

from labelbayes._checks import FloatArray

#: Points and weights.
Rule = tuple[FloatArray, FloatArray]

#: Nodes of the two rules that have to agree.
NODES = (12, 20)
#: Counts this close to either end of their range are kept as they are.
EXACT_COUNTS = 32
#: The recurrence ends where the weight has no more points than this.
EXHAUSTED = 1e-14


def gauss_rules(start: int, pmf: FloatArray, n: int) -> tuple[Rule, Rule]:
    """Return a rule of 12 and one of 20 nodes a panel for the law of a count.

    Parameters
    ----------
    start : int
        Count of the first entry of `pmf`.
    pmf : ndarray of float, shape (k,)
        Probabilities of ``start, ..., start + k - 1``.
    n : int
        Largest possible count.

    Returns
    -------
    tuple of Rule
        Points and weights of the coarse and of the fine rule.

    Notes
    -----
    The metrics have their only singularities at the ends of the ranges (no positive, no
    negative). Counts are cut into panels that double in length away from either end, so that
    each panel is as far from the end as it is long, and a Gauss rule converges on it.
    """
    edges = [0, EXACT_COUNTS]
    while edges[-1] < n // 2:
        edges.append(2 * edges[-1])
    below = [edge for edge in edges if edge <= n // 2]
    cuts = sorted({*below, *(n + 1 - edge for edge in below)})
    panels = []
    for low, high in pairwise(cuts):
        part = slice(max(low - start, 0), max(high - start, 0))
        mass = pmf[part]
        if mass.sum() > 0.0:
            panels.append(panel_rules(np.arange(start, start + len(pmf))[part].astype(float), mass))
    coarse, fine = (
        tuple(np.concatenate(column) for column in zip(*rules, strict=True))
        for rules in zip(*panels, strict=True)
    )
    return (coarse[0], coarse[1]), (fine[0], fine[1])


def panel_rules(counts: FloatArray, mass: FloatArray) -> tuple[Rule, ...]:
    """Return both rules of one panel, by one Lanczos recurrence.

    Parameters
    ----------
    counts : ndarray of float, shape (k,)
        Consecutive counts.
    mass : ndarray of float, shape (k,)
        Their probabilities.

    Returns
    -------
    tuple of Rule
        The coarse and the fine rule; the counts themselves where there are up to 32.
    """
    if len(counts) <= EXACT_COUNTS:
        return ((counts, mass),) * len(NODES)
    middle, half = (counts[0] + counts[-1]) / 2, (counts[-1] - counts[0]) / 2
    x = (counts - middle) / half
    total = mass.sum()
    diagonal, off_diagonal = _recurrence(x, mass / total)
    rules = []
    for n_nodes in NODES:
        nodes, vectors = eigh_tridiagonal(diagonal[:n_nodes], off_diagonal[: n_nodes - 1])
        rules.append((middle + half * nodes, total * vectors[0] ** 2))
    return tuple(rules)


def _recurrence(x: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Diagonal and off-diagonal of the Jacobi matrix of a discrete weight (Lanczos)."""
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    previous, current = np.zeros_like(x), np.sqrt(weight)
    scale = 0.0
    while True:
        following = x * current
        diagonal.append(float(following @ current))
        if len(diagonal) == max(NODES):
            break
        following -= diagonal[-1] * current
        previous *= scale
        following -= previous
        scale = math.sqrt(float(following @ following))
        if not scale > EXHAUSTED:
            break
        off_diagonal.append(scale)
        following /= scale
        previous, current = current, following
    return np.array(diagonal), np.array(off_diagonal)
