"""A smooth law of ROC-AUC for many missing rows: skewed normals mixed over the count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from labelbayes._checks import FloatArray
from labelbayes.laws.missing_cells import MissingCells
from labelbayes.laws.rank_sums import RankSums
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.roc_auc_moments import (
    GivenCount,
    Moments,
    defined_probs,
    given_count,
    mix_moments,
)
from labelbayes.results.grid_law import GridLaw

#: The smooth law is offered up to this estimate of its largest error: 10,000 draws, the default,
#: promise no more than .0136 with probability 95%.
MOST_ERROR = 0.01

#: Fewest positives and negatives of the completed set that the expansion is trusted with, and how
#: likely fewer may be.
FEWEST = 10
MOST_SMALL = 1e-3

#: Points of the cdf, this many standard deviations to either side, and counts mixed over: sums of
#: smooth, bell-shaped functions at equal distances are right far beyond the expansion itself.
N_POINTS, REACH, N_COUNTS = 1_601, 9.0, 64

#: Largest skewness given the count at which a corrected normal still resembles a law.
MOST_SKEW = 0.5

#: Largest values of the terms that the expansion leaves out, per unit of kurtosis and of squared
#: skewness: max |(z^3 - 3z) phi(z)| / 24 and max |(z^5 - 10 z^3 + 15 z) phi(z)| / 72.
PER_KURTOSIS, PER_SQUARED_SKEW = 0.5506 / 24.0, 2.3071 / 72.0

#: Frequencies at which jumps of the law are looked for, in units of 1 / sd of the rank sum.
FIRST_FREQUENCY, LAST_FREQUENCY, FREQUENCY_STEP = 6.0, 4_000.0, 0.5

#: Distinct scores that enter one by one there, the heaviest first.
MOST_LEVELS = 256


class SmoothLaw(NamedTuple):
    """A smooth law and what it may be off.

    Attributes
    ----------
    law : GridLaw
        The law.
    error : float
        Estimate, meant to be too large, of how far its cdf is from the exact one.
    """

    law: GridLaw
    error: float


def edgeworth_law(
    ranked: RankedRows, cells: MissingCells, ranks: RankSums, reason: str, *, force: bool = False
) -> SmoothLaw | None:
    """Return the mixture of skewed normals, where it is near enough to the exact law.

    Parameters
    ----------
    ranked : RankedRows
        Rows by score.
    cells : MissingCells
        Their missing rows.
    ranks : RankSums
        Sums over the ranks of these cells.
    reason : str
        When the area is undefined.
    force : bool, default False
        Return the law whatever its error, as long as there is one.

    Returns
    -------
    SmoothLaw or None
        Exact mean, sd and probability undefined; cdf of the mixture over all fits, made
        monotone. None where one class is rare, scores are few, or the error would be too large.

    Notes
    -----
    **Assumes** that the rows are independent given their probabilities.

    Given the count N of positives the rank sum is taken for a normal variable with its exact
    mean, variance and third moment (first-order Edgeworth expansion); the mixture over N is
    exact. The error is an estimate meant to be too large, not a bound: the next terms of the
    expansion at their largest, the probability of fewer than 10 rows of a class, and Esseen's
    integral of the modulus of the characteristic function beyond the bell around 0, where
    jumps of the law show.

    References
    ----------
    .. [1] C.-G. Esseen, "Fourier analysis of distribution functions", Acta Mathematica 77,
       1-125, 1945.
    .. [2] W. Feller, An Introduction to Probability Theory and Its Applications 2, chapter XVI,
       1971.
    """
    if ranks.is_constant:
        return None
    error, parts, nodes = 0.0, [], []
    for i in range(ranks.n_fits):
        state = ranks.state(ranks.rates(i))
        defined, lost = defined_probs(ranks, state)
        if defined == 0.0 or state.variance <= 0.0:
            return None
        given = given_count(ranks, i, state, with_third=True)
        shape = _given_nodes(given)
        parts.append(Moments(*given.mean_and_sd(), defined, lost))
        nodes.append(shape)
        error = max(error, _smooth_error(ranks, given, shape))
        if not force and error > MOST_ERROR:
            return None
    error += _jump_error(ranked, cells, ranks)
    if not (force or error <= MOST_ERROR):
        return None
    total = mix_moments(parts)
    values, cumulative = _monotone_cdf(parts, nodes, total)
    lost_reason = reason if total.undefined_prob else ""
    law = GridLaw(values, cumulative, total.mean, total.sd, total.undefined_prob, lost_reason)
    return SmoothLaw(law, min(1.0, error))


class _Nodes(NamedTuple):
    """Normal laws with a skewness, and their weights."""

    weight: FloatArray
    mean: FloatArray
    sd: FloatArray
    skew: FloatArray


def _given_nodes(given: GivenCount) -> _Nodes:
    """Return the law of the area at equally spaced counts that have most of the mass."""
    used = np.flatnonzero(given.pmf > 1e-12 * given.pmf.max())
    stride = max(1, (used[-1] - used[0] + 1) // N_COUNTS)
    at = np.arange(used[0], used[-1] + 1, stride)
    pmf, scale = given.pmf[at], given.scale[at]
    first, second, third = (x[at] / pmf for x in (given.first, given.second, given.third))
    variance = np.maximum(second - first**2, 0.0)
    central = third - 3.0 * first * second + 2.0 * first**3
    # A count of 0 or of all missing rows leaves one rank sum only: a point.
    wide = variance > 1e-9 * variance.max()
    skew = np.where(wide, central / np.where(wide, variance, 1.0) ** 1.5, 0.0)
    return _Nodes(
        pmf / pmf.sum(),
        (given.base[at] + first) / scale,
        np.sqrt(variance) / scale,
        np.clip(skew, -1.0, 1.0),
    )


def _smooth_error(ranks: RankSums, given: GivenCount, nodes: _Nodes) -> float:
    """Estimate what the expansion leaves out, infinite where it must not be used."""
    small = np.minimum(given.n_positive, ranks.n - given.n_positive) < FEWEST
    rare = float(given.pmf[small].sum())
    skew = float(nodes.weight @ np.abs(nodes.skew))
    if rare >= MOST_SMALL or skew > MOST_SKEW:
        return math.inf
    # Kurtosis is at most the largest b^2 over the variance of the sum of b, per row.
    sd_of_sum = float(nodes.weight @ nodes.sd) * float(given.pmf @ given.scale)
    if sd_of_sum == 0.0:
        return math.inf
    kurtosis = (_farthest_rank(ranks) / sd_of_sum) ** 2
    square = float(nodes.weight @ nodes.skew**2)
    return rare + PER_KURTOSIS * kurtosis + PER_SQUARED_SKEW * square


def _farthest_rank(ranks: RankSums) -> float:
    """Return an upper value of |b| around the middle of the missing rows."""
    total = float(ranks.count.sum())
    return 0.5 + abs(float(ranks.sums[0].sum())) / total


def _jump_error(ranked: RankedRows, cells: MissingCells, ranks: RankSums) -> float:
    """Estimate how far jumps of the law can take it from a smooth one.

    With weights v = p (1 - p), ``|E exp(i (w N + t R))| <= exp(-V (1 - c(t)))`` for every w, where
    ``c(t) = |sum v exp(i t a)| / V`` and a is the midrank. Where scores are few, c comes back to
    near 1 at frequencies far beyond the bell around 0.
    """
    rates = [ranks.rates(i)[cells.bin] for i in _some_fits(ranks.n_fits)]
    v = np.mean([p * (1.0 - p) for p in rates], axis=0) * cells.count
    starts = np.flatnonzero(np.diff(cells.step, prepend=-1))
    weight = np.add.reduceat(v, starts)
    rank = ranked.midrank[cells.step[starts]]
    variance = float(weight.sum())
    middle = float(weight @ rank) / variance
    sd = math.sqrt(float(weight @ (rank - middle) ** 2))
    heavy = np.arange(len(weight))
    if len(weight) > MOST_LEVELS:
        heavy = np.argpartition(weight, -MOST_LEVELS)[-MOST_LEVELS:]
    # Many light levels do not line up with the others: half of their weight is left at random.
    t = np.arange(FIRST_FREQUENCY, LAST_FREQUENCY, FREQUENCY_STEP)
    phase = np.outer(t / sd, rank[heavy] - middle)
    w = weight[heavy]
    together = np.hypot(np.cos(phase) @ w, np.sin(phase) @ w)
    light = max(0.0, variance - float(w.sum()))
    modulus = np.exp(-(variance - light / 2.0 - together))
    seen = float(np.sum(modulus / t)) * FREQUENCY_STEP / math.pi
    # Half the jump of a lattice too fine for these frequencies.
    unseen = 2.0 * math.pi / LAST_FREQUENCY / (2.0 * math.sqrt(2.0 * math.pi))
    return seen + unseen


def _some_fits(n_fits: int) -> Sequence[int]:
    """Return a few fits: the jumps depend on p (1 - p) only."""
    return range(0, n_fits, max(1, n_fits // 4))


def _monotone_cdf(
    parts: Sequence[Moments], nodes: Sequence[_Nodes], total: Moments
) -> tuple[FloatArray, FloatArray]:
    """Return grid and cdf of the mixture over counts and fits, sorted where it falls."""
    low = max(0.0, total.mean - REACH * total.sd)
    high = min(1.0, total.mean + REACH * total.sd)
    values = np.linspace(low, high, N_POINTS)
    cdf = np.zeros(N_POINTS)
    for part, node in zip(parts, nodes, strict=True):
        z = (values[:, np.newaxis] - node.mean) / np.maximum(node.sd, 1e-300)
        z = np.clip(z, -40.0, 40.0)
        bell = np.exp(-(z**2) / 2.0) / math.sqrt(2.0 * math.pi)
        cdf += part.defined_prob * ((ndtr(z) - node.skew / 6.0 * (z**2 - 1.0) * bell) @ node.weight)
    cdf /= sum(part.defined_prob for part in parts)
    # Sorting the values of a function is its increasing rearrangement: never farther from a cdf.
    cdf = np.sort(np.clip(cdf, 0.0, 1.0))
    cdf[-1] = 1.0
    return values, cdf
