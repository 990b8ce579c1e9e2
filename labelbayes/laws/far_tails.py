"""Tail probabilities of a number of positives far below what its pmf can show."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from labelbayes._checks import FloatArray, check_choice, check_whole
from labelbayes.laws.poisson_binomial import poisson_binomial
from labelbayes.laws.power_sums import PowerSums

#: Log odds beyond which a tilted label is as good as certain.
MOST_TILT = 2_000.0


def log_tail_prob(
    p: npt.ArrayLike, k: int, *, count: npt.ArrayLike | None = None, side: str = "upper"
) -> float:
    r"""Return the logarithm of the probability of at least, or at most, `k` positives.

    Parameters
    ----------
    p : array_like of float in [0, 1], shape (n_rows,)
        Probability of a positive, per row.
    k : int >= 0
        Number of positives.
    count : array_like of int >= 0, shape (n_rows,), optional
        How many rows each stands for; 1 by default.
    side : {"upper", "lower"}, default "upper"
        P(N >= k) or P(N <= k).

    Returns
    -------
    float
        Natural logarithm; -inf where it cannot happen.

    Raises
    ------
    ValueError
        If an argument is not as above.
    TypeError
        If `p` or `count` holds no numbers.

    See Also
    --------
    labelbayes.laws.poisson_binomial.poisson_binomial : The law itself, for probabilities from
        1e-13 up.

    Notes
    -----
    **Assumes** that rows are independent given their probabilities.

    The odds of all rows are multiplied by one factor, so that `k` becomes the mean; the law of
    the count under those odds is computed as any other, and

    .. math::
       P(N = j) = P_t(N = j) \, e^{K(t) - t j}, \quad K(t) = \sum_i \log(1 - p_i + p_i e^t)

    takes it back in logarithms. Relative error about 1e-11 down to e^-700 and beyond.

    References
    ----------
    .. [1] H. E. Daniels, "Saddlepoint approximations in statistics", Annals of Mathematical
       Statistics 25(4), 631-650, 1954, for exponential tilting.

    Examples
    --------
    >>> round(log_tail_prob([0.001] * 100, 60) / math.log(10), 6)
    -151.878912
    """
    check_choice("side", side, ("upper", "lower"))
    limit = check_whole("k", k, least=0)
    # Checks the arrays, and knows the rows that are certain.
    PowerSums.from_probabilities(p, count)
    given = np.clip(np.asarray(p, dtype=float), 0.0, 1.0)
    weight = np.ones(given.shape) if count is None else np.asarray(count, dtype=float)
    if side == "lower":
        limit = int(weight.sum()) - limit
    # Logarithms of "yes" and "no" keep p near 0 and near 1 alike.
    with np.errstate(divide="ignore"):
        yes, no = np.log(given), np.log1p(-given)
    if side == "lower":
        yes, no = no, yes
    return _log_upper(yes, no, weight, limit)


def _log_upper(yes: FloatArray, no: FloatArray, weight: FloatArray, k: int) -> float:
    """Return log P(N >= k)."""
    sure = int(weight[no == -np.inf].sum())
    free = (yes > -np.inf) & (no > -np.inf) & (weight > 0)
    yes, no, weight, k = yes[free], no[free], weight[free], k - sure
    n = int(weight.sum())
    if k <= 0:
        return 0.0
    if k > n:
        return -math.inf
    if k == n:
        return math.fsum(weight * yes)
    log_odds = yes - no
    mean = float(weight @ expit(log_odds))
    t = 0.0 if k <= mean else _tilt_to(log_odds, weight, k)
    tilted = poisson_binomial(expit(log_odds + t), weight.astype(np.int64))
    counts = tilted.support
    used = (counts >= k) & (tilted.pmf > 0)
    terms = np.log(tilted.pmf[used]) - t * (counts[used] - k)
    cumulant = math.fsum(weight * np.logaddexp(no, yes + t))
    return min(0.0, float(logsumexp(terms)) + (cumulant - t * k))


def _tilt_to(log_odds: FloatArray, weight: FloatArray, k: int) -> float:
    """Return the log factor on all odds that makes k the mean."""

    def excess(t: float) -> float:
        return float(weight @ expit(log_odds + t)) - k

    high = 1.0
    while excess(high) < 0 and high < MOST_TILT:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-12))
