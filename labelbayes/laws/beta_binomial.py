"""The law of a count of positives at one unknown rate."""

from __future__ import annotations

import numpy as np

from labelbayes.results.integer_law import IntegerLaw

#: Entries below this share of the largest one are left out of the window.
NEGLIGIBLE = 1e-22


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

    Notes
    -----
    Ratios of neighbors are multiplied up from the mode to either side: log-gamma functions of
    large arguments, or long sums from the first count on, would lose digits at a million rows.

    Examples
    --------
    >>> beta_binomial(3, 1, 1).pmf
    array([0.25, 0.25, 0.25, 0.25])
    """
    k = np.arange(n, dtype=float)
    steps = np.log((n - k) * (a + k) / ((k + 1) * (b + n - 1 - k)))
    mode = int(np.argmax(np.concatenate([[0.0], np.cumsum(steps)])))
    log_pmf = np.concatenate([-np.cumsum(steps[:mode][::-1])[::-1], [0.0], np.cumsum(steps[mode:])])
    kept = np.flatnonzero(log_pmf > np.log(NEGLIGIBLE))
    start, stop = int(kept[0]), int(kept[-1]) + 1
    pmf = np.exp(log_pmf[start:stop])
    total = a + b
    return IntegerLaw(
        start,
        pmf / pmf.sum(),
        n,
        n * a / total,
        n * (a / total) * (b / total) * (total + n) / (total + 1),
        # The probability that each further row is like all rows before it.
        float(np.exp(np.log1p(-a / (total + k)).sum())),
        float(np.exp(np.log1p(-b / (total + k)).sum())),
    )
