"""Exact mean, standard deviation and probability undefined of ROC-AUC at any number of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from labelbayes._checks import FloatArray
from labelbayes.laws.characteristic import CountFrequencies
from labelbayes.laws.power_sums import PowerSums
from labelbayes.laws.rank_sums import RankSums, rank_transforms

#: Where both classes are present more rarely than this, the moments come from tilted
#: probabilities: the window of the count is right to an absolute 1e-16 only.
RARELY_DEFINED = 1e-3


class Moments(NamedTuple):
    """What is exact of the law of the area at any number of rows.

    Attributes
    ----------
    mean, sd : float
        Given that the area is defined; nan where it never is.
    defined_prob, undefined_prob : float
        Probabilities that it is and is not, each right to relative precision.
    """

    mean: float
    sd: float
    defined_prob: float
    undefined_prob: float


class GivenCount(NamedTuple):
    """The area given the number of positives, at the counts at which it is defined.

    Attributes
    ----------
    n_positive : ndarray of float, shape (k,)
        Positives among all rows.
    pmf : ndarray of float, shape (k,)
        Their probabilities given that the area is defined, summing to 1.
    base, scale : ndarray of float, shape (k,)
        The area is ``(base + S) / scale`` with S the sum of b over missing positives, less its
        mean over all counts.
    first, second, third : ndarray of float, shape (k,)
        Moments of S at each count, times the probability of the count.
    """

    n_positive: FloatArray
    pmf: FloatArray
    base: FloatArray
    scale: FloatArray
    first: FloatArray
    second: FloatArray
    third: FloatArray

    def mean_and_sd(self) -> tuple[float, float]:
        """Return mean and standard deviation of the area.

        Returns
        -------
        tuple of float
            Mean and standard deviation.
        """
        mean = float(np.sum((self.base * self.pmf + self.first) / self.scale))
        # The second moment around the mean: around 0 a small sd would lose its digits.
        gap = self.base / self.scale - mean
        square = (
            gap**2 * self.pmf + (2.0 * gap * self.first + self.second / self.scale) / self.scale
        )
        return mean, math.sqrt(max(0.0, float(square.sum())))


def roc_auc_moments(ranks: RankSums, i: int = 0) -> Moments:
    """Return the exact moments of ROC-AUC under one belief.

    Parameters
    ----------
    ranks : RankSums
        Missing rows by probability, and what is known of the others.
    i : int, default 0
        Which fit of the belief.

    Returns
    -------
    Moments
        nan where the area is never defined.

    Notes
    -----
    **Assumes** that the rows are independent given their probabilities.

    With R the sum of midranks of the positives and N their number, the area is
    ``(R - N (N - 1) / 2) / (N (n - N))``. The moments of R given N come from derivatives of the
    joint characteristic function at the frequencies that matter for N, in time proportional to
    the number of rows; tests compare them with all completions, enumerated.

    References
    ----------
    .. [1] D. Dervovic and M. Cashmore, arXiv 2504.18385, 2025, for the setting; its covariances
       need O(n^4) operations.
    """
    state = ranks.state(ranks.rates(i))
    defined, lost = defined_probs(ranks, state)
    if defined == 0.0:
        return Moments(math.nan, math.nan, 0.0, 1.0)
    if ranks.is_constant:
        return Moments(0.5, 0.0, defined, lost)
    mean, sd = given_count(ranks, i, state).mean_and_sd()
    return Moments(mean, sd, defined, lost)


def delta_moments(ranks: RankSums, i: int = 0) -> Moments:
    """Return mean and sd of the matched normal law: value and slope at the expected counts.

    Parameters
    ----------
    ranks : RankSums
        Missing rows by rate, and what is known of the others.
    i : int, default 0
        Which fit of the belief.

    Returns
    -------
    Moments
        The ratio of the expected numerator and denominator, and its standard deviation to first
        order; nan where the area is never defined.

    References
    ----------
    .. [1] D. Dervovic and M. Cashmore, arXiv 2504.18385, 2025, Algorithm 2; here without its
       O(n^4) covariances.
    """
    p, count, n = ranks.rates(i), ranks.count, ranks.n
    defined, lost = defined_probs(ranks, ranks.state(p))
    if defined == 0.0:
        return Moments(math.nan, math.nan, 0.0, 1.0)
    if ranks.is_constant:
        return Moments(0.5, 0.0, defined, lost)
    v = p * (1.0 - p)
    skew = v * (1.0 - 2.0 * p)
    variance = float(count @ v)
    positives = ranks.n_known_positive + float(count @ p)
    rank_sum = ranks.known_rank_sum + ranks.center * float(count @ p) + n * float(ranks.sums[0] @ p)
    # Numerator: Q0 + sum g e - sum_{i<j} e_i e_j with e = Y - p and g = n b + rest.
    rest = ranks.center + p - positives
    numerator = rank_sum - positives * (positives - 1.0) / 2.0 - variance / 2.0
    denominator = positives * (n - positives) - variance
    first, second = n * ranks.sums[0], float(n) ** 2 * ranks.sums[1]
    sum_vg = float(first @ v + (count * v) @ rest)
    sum_vgg = float(second @ v + 2.0 * first @ (v * rest) + (count * v) @ rest**2)
    sum_g3 = float(first @ skew + (count * skew) @ rest)
    pairs = (variance**2 - float(count @ v**2)) / 2.0
    slope = n - 2.0 * positives
    var_top = sum_vgg + pairs
    var_bottom = (
        slope**2 * variance
        - 2.0 * slope * float(count @ skew)
        + float(count @ (v * (1.0 - 4.0 * v)))
        + 4.0 * pairs
    )
    covariance = slope * sum_vg - sum_g3 + 2.0 * pairs
    mean = numerator / denominator
    square = var_top - 2.0 * mean * covariance + mean**2 * var_bottom
    return Moments(mean, math.sqrt(max(0.0, square)) / denominator, defined, lost)


def mix_moments(parts: Sequence[Moments]) -> Moments:
    """Return the moments of the equal mixture.

    Parameters
    ----------
    parts : sequence of Moments
        Moments under each belief.

    Returns
    -------
    Moments
        Law of total variance, given that the area is defined.
    """
    defined = np.array([part.defined_prob for part in parts])
    lost = float(np.mean([part.undefined_prob for part in parts]))
    if not defined.any():
        return Moments(math.nan, math.nan, 0.0, 1.0)
    weight = defined / defined.sum()
    known = weight > 0
    means = np.array([part.mean for part in parts])[known]
    sds = np.array([part.sd for part in parts])[known]
    # Around the first mean, so that equal means leave no rounding error as a spread.
    mean = float(means[0] + weight[known] @ (means - means[0]))
    variance = float(weight[known] @ (sds**2 + (means - mean) ** 2))
    return Moments(mean, math.sqrt(variance), float(defined.mean()), lost)


def defined_probs(ranks: RankSums, state: PowerSums) -> tuple[float, float]:
    """Return the probabilities that both classes are present, and that they are not.

    Parameters
    ----------
    ranks : RankSums
        What is known of the other rows.
    state : PowerSums
        Summary of the missing rows.

    Returns
    -------
    tuple of float
        Both right to relative precision, however small.
    """
    if ranks.n == 1:
        return 0.0, 1.0
    no_positive = state.log_prob_none if not ranks.n_known_positive else -math.inf
    no_negative = state.log_prob_all if not ranks.n_known_negative else -math.inf
    lost = min(1.0, math.exp(no_positive) + math.exp(no_negative))
    larger, smaller = max(no_positive, no_negative), min(no_positive, no_negative)
    # 1 - exp(larger) without rounding, less what is left for the other class.
    return max(0.0, -math.expm1(larger) - math.exp(smaller)), lost


def given_count(
    ranks: RankSums, i: int, state: PowerSums, *, with_third: bool = False
) -> GivenCount:
    """Return the moments of the rank sum at each number of positives.

    Parameters
    ----------
    ranks : RankSums
        Missing rows by probability, the area defined with positive probability.
    i : int
        Which fit of the belief.
    state : PowerSums
        Summary of the missing rows under this belief.
    with_third : bool, default False
        Whether third moments are needed too; else they are 0.

    Returns
    -------
    GivenCount
        Counts at which the area is defined.
    """
    p = ranks.rates(i)
    tilt = _tilt(ranks, p, state)
    if tilt:
        # Given the count, labels have the same law under p with all log odds shifted alike.
        p = expit(logit(p) + tilt)
        state = ranks.state(p)
    v = p * (1.0 - p)
    middle = _middle(ranks, v, state.variance)
    n_powers = 3 if with_third else 2
    weights = _shift(ranks, middle, n_powers) if middle else ranks.sums[:n_powers]
    if state.n_uncertain:
        frequencies = CountFrequencies(state)
        phi, start = frequencies.phi, frequencies.start
        a, c, *rest = rank_transforms(p, weights, frequencies.step, state.variance)
        pmf = np.maximum(frequencies.invert(phi), 0.0)
        first = frequencies.invert(phi * a)
        second = frequencies.invert(phi * (a**2 + c))
        third = (
            frequencies.invert(phi * (a**3 + 3.0 * a * c + rest[0])) if rest else np.zeros_like(pmf)
        )
    else:
        start, pmf = state.n_certain_positive, np.ones(1)
        first = second = third = np.zeros(1)
    n, k = ranks.n, start + np.arange(len(pmf), dtype=np.float64)
    n_positive = ranks.n_known_positive + k
    ok = (n_positive > 0) & (n_positive < n)
    k, n_positive = k[ok], n_positive[ok]
    pmf, first, second, third = (x[ok] for x in (pmf, first, second, third))
    if tilt:
        ratio = np.exp(-tilt * (k - (k[0] if tilt > 0 else k[-1])))
        pmf, first, second, third = (x * ratio for x in (pmf, first, second, third))
    total = pmf.sum()
    pmf, first, second, third = (x / total for x in (pmf, first, second, third))
    # In units of n: R is the known part, center and middle per missing positive, and the rest.
    mean_rest = float(weights[0] @ p)
    base = (
        (ranks.known_rank_sum - n_positive * (n_positive - 1.0) / 2.0) / n
        + (ranks.center / n + middle) * k
        + mean_rest
    )
    scale = n_positive * ((n - n_positive) / n)
    return GivenCount(n_positive, pmf, base, scale, first, second, third)


def _middle(ranks: RankSums, v: FloatArray, variance: float) -> float:
    """Return what to count b from; 0 where that is near enough to its mean weighted with v.

    Around that mean the rank sum and the count are uncorrelated. Any other origin is right as
    well, but far from it the variance given the count is what two large numbers differ by.
    """
    if variance <= 0.0:
        return 0.0
    mean = float(ranks.sums[0] @ v) / variance
    spread = float(ranks.sums[1] @ v) / variance - mean**2
    return mean if mean**2 > spread else 0.0


def _shift(ranks: RankSums, middle: float, n_powers: int) -> FloatArray:
    """Return the sums of powers of b - middle in each cell."""
    first, second, third = ranks.sums
    shifted = np.empty((n_powers, len(first)))
    np.subtract(first, middle * ranks.count, out=shifted[0])
    np.subtract(second, middle * (first + shifted[0]), out=shifted[1])
    if n_powers > 2:
        # (b - m)^3 = b^3 - m (b^2 + b (b - m) + (b - m)^2)
        both = second + (second - middle * first) + shifted[1]
        np.subtract(third, middle * both, out=shifted[2])
    return shifted


def _tilt(ranks: RankSums, p: FloatArray, state: PowerSums) -> float:
    """Return the shift of all log odds that makes both classes likely enough; mostly 0."""
    if defined_probs(ranks, state)[0] >= RARELY_DEFINED or not state.n_uncertain:
        return 0.0
    uncertain = (p > 0.0) & (p < 1.0)
    odds, count = logit(p[uncertain]), ranks.count[uncertain]
    # Defined means at least one positive here (or one negative, where the positives are known).
    is_rare = state.log_prob_none > state.log_prob_all
    wanted = 1.0 if is_rare else count.sum() - 1.0
    wanted = wanted if count.sum() > 1 else 0.5

    def excess(shift: float) -> float:
        return float(count @ expit(odds + shift)) - wanted

    return float(brentq(excess, -1500.0, 1500.0))
