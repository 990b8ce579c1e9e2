"""The empirical law of draws, with the moments that are known without them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from labelbayes.results.distribution import DrawsLaw


@dataclass(frozen=True, eq=False, repr=False)
class SampledLaw(DrawsLaw):
    """The empirical law of draws of which more is known exactly.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        Draws of the metric; nan is "undefined".
    undefined_reason : str, default ""
        When the metric is 0/0.
    known_mean, known_sd : float, default nan
        Exact moments given that the metric is defined; nan leaves them to the draws.
    known_undefined_prob : float, default nan
        Exact probability of "undefined"; nan leaves it to the draws.

    Examples
    --------
    >>> import numpy as np
    >>> law = SampledLaw(np.array([0.2, 0.4]), known_mean=0.31, known_undefined_prob=1e-9)
    >>> law.mean, round(law.sd, 3), law.undefined_prob
    (0.31, 0.1, 1e-09)
    """

    known_mean: float = math.nan
    known_sd: float = math.nan
    known_undefined_prob: float = math.nan

    @property
    def is_undefined(self) -> bool:
        """Whether no draw is defined."""
        return len(self._sorted) == 0

    @property
    def mean(self) -> float:
        """Mean, exact where it is known."""
        is_left_open = math.isnan(self.known_mean) or self.is_undefined
        return super().mean if is_left_open else self.known_mean

    @property
    def sd(self) -> float:
        """Standard deviation, exact where it is known."""
        is_left_open = math.isnan(self.known_sd) or self.is_undefined
        return super().sd if is_left_open else self.known_sd

    @property
    def undefined_prob(self) -> float:
        """Probability that the metric is 0/0, exact where it is known."""
        is_left_open = math.isnan(self.known_undefined_prob)
        return super().undefined_prob if is_left_open else self.known_undefined_prob


def draws_text(n_draws: int) -> str:
    """Say how far a cdf of independent draws may be off.

    Parameters
    ----------
    n_draws : int
        How many draws.

    Returns
    -------
    str
        For the method of a result.

    References
    ----------
    .. [1] P. Massart, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality", Annals
       of Probability 18(3), 1269-1283, 1990.

    Examples
    --------
    >>> draws_text(10_000)
    '10,000 draws, cdf within 0.0136 (DKW, 95%)'
    """
    reach = min(1.0, math.sqrt(math.log(2 / 0.05) / (2 * n_draws)))
    return f"{n_draws:,} draw{'' if n_draws == 1 else 's'}, cdf within {reach:.4f} (DKW, 95%)"
