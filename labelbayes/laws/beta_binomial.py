"""The law of a count of positives at one unknown rate."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaln

from labelbayes._checks import FloatArray, read_only
from labelbayes.results.integer_law import IntegerLaw

#: Entries below this share of the largest one are left out of the window.
LOG_NEGLIGIBLE = math.log(1e-22)
#: Longest window; its arrays take about a gigabyte.
MOST_COUNTS = 20_000_000
#: Above this the chance of all rows alike comes from log-gamma functions, to nine digits.
MANY_ROWS = 1_000_000


def beta_binomial(n: int, a: float, b: float) -> IntegerLaw:
    """Return the law of positives among `n` rows whose common rate has a Beta(a, b) law.

    Parameters
    ----------
    n : int >= 0
        Rows.
    a, b : float > 0
        Beta parameters: pseudo-counts of positives and of negatives.

    Returns
    -------
    IntegerLaw
        Its law, to about 1e-13.

    Raises
    ------
    ValueError
        If more than twenty million counts are likely.

    Notes
    -----
    Ratios of neighbors are multiplied up from the mode to either side: log-gamma functions of
    large arguments, or long sums from the first count on, would lose digits at a million rows.

    Examples
    --------
    >>> beta_binomial(3, 1, 1).pmf
    array([0.25, 0.25, 0.25, 0.25])
    """
    mode = _mode(n, a, b)
    spread = math.sqrt(n * (a / (a + b)) * (b / (a + b)) * (a + b + n) / (a + b + 1))
    reach = 16 * int(spread + 16)
    while True:
        start, stop = max(0, mode - reach), min(n, mode + reach)
        if stop - start > MOST_COUNTS:
            raise ValueError(
                f"`n` must leave at most {MOST_COUNTS:,} likely counts; {n:,} missing rows at one "
                "unknown rate have more. Evaluate a random part of the rows."
            )
        log_pmf = _log_ratios(n, a, b, start, stop, mode)
        ends_matter = (start > 0 and log_pmf[0] > LOG_NEGLIGIBLE) or (
            stop < n and log_pmf[-1] > LOG_NEGLIGIBLE
        )
        if not ends_matter:
            break
        reach *= 4
    kept = np.flatnonzero(log_pmf > LOG_NEGLIGIBLE)
    pmf = np.exp(log_pmf[kept[0] : kept[-1] + 1])
    total = a + b
    return IntegerLaw(
        start + int(kept[0]),
        read_only(pmf / pmf.sum()),
        n,
        n * a / total,
        spread**2,
        float(np.exp(_log_all_alike(n, a, total))),
        float(np.exp(_log_all_alike(n, b, total))),
    )


def _mode(n: int, a: float, b: float) -> int:
    """Return a count near the most probable one."""
    if a > 1 and b > 1:
        return int(min(n, (n + 1) * (a - 1) / (a + b - 2)))
    return 0 if a <= b else n


def _log_ratios(n: int, a: float, b: float, start: int, stop: int, mode: int) -> FloatArray:
    """Return log pmf over its largest entry, for the counts from start to stop."""
    k = np.arange(start, stop, dtype=float)
    steps = np.log((n - k) * (a + k) / ((k + 1) * (b + n - 1 - k)))
    below, above = steps[: mode - start], steps[mode - start :]
    log_pmf = np.concatenate([-np.cumsum(below[::-1])[::-1], [0.0], np.cumsum(above)])
    return np.asarray(log_pmf - log_pmf.max())


def _log_all_alike(n: int, a: float, total: float) -> float:
    """Return the log probability that no row is of the kind with `a` pseudo-counts."""
    if n > MANY_ROWS:
        return float(betaln(a, total - a + n) - betaln(a, total - a))
    # The probability that each further row is like all rows before it.
    return float(np.log1p(-a / (total + np.arange(n))).sum())
