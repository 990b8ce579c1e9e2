"""Bands: how far the latent rows' rank distribution may lie from that of the known ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import beta as beta_law
from scipy.stats import binom

from labelbayes._checks import FloatArray, IntArray
from labelbayes.bounds.latent_paths import Limits
from labelbayes.bounds.score_blocks import ScoreBlocks
from labelbayes.data.evaluation_set import Counts
from labelbayes.laws.beta_binomial import beta_binomial

BandName = Literal["predictive", "binomial", "dkw"]
BANDS: tuple[BandName, ...] = ("predictive", "binomial", "dkw")

#: The exact two-sample law is used up to this product of the two sizes, and up to so many rows.
MOST_EXACT_PAIRS = 100_000
#: Widths at which it is evaluated, relative to the closed form.
EXACT_WIDTHS = np.linspace(0.55, 1.1, 56)
COARSE_STEP = 8
#: Counts of paths are divided by their largest after so many rows, or they overflow.
RESCALED_EACH = 32


@dataclass(frozen=True, eq=False)
class Band:
    """A band around the rank distribution of known rows.

    Parameters
    ----------
    name : {"predictive", "binomial", "dkw", "given"}
        Which.
    level : float
        Its probability; nan for a given one.
    scar_violation : float
        Added to both limits.
    given : Limits, optional
        Limits at each distinct score, falling, not decreasing.
    """

    name: str
    level: float
    scar_violation: float
    given: Limits | None = None

    @property
    def said(self) -> str:
        """The band in words."""
        if self.given is not None:
            return "band as given"
        name = "paper's binomial" if self.name == "binomial" else self.name
        return f"{name} band at {100 * self.level:g}%"

    def at(self, place: int) -> Band:
        """Return a given band at one cutoff.

        Parameters
        ----------
        place : int
            Number of distinct scores at or above the cutoff.

        Returns
        -------
        Band
            Its limits there; above all scores no latent row can lie.
        """
        assert self.given is not None
        ends = [np.concatenate([[0.0], end])[place : place + 1] for end in self.given]
        return replace(self, given=Limits(*ends))

    def settle(self, known: IntArray, n_known: int) -> Band:
        """Return the band with its limits worked out once, where latent rows do not move them.

        Parameters
        ----------
        known : ndarray of int, shape (k,)
            Known rows down to each cutoff.
        n_known : int
            All known rows.

        Returns
        -------
        Band
            The same limits from `curve` whatever the number of latent rows.
        """
        if self.name == "predictive" or self.given is not None:
            return self
        bare = replace(self, scar_violation=0.0)
        return replace(self, given=bare.curve(known, n_known, math.inf, smooth=True))

    def curve(self, known: IntArray, n_known: int, n_latent: float, *, smooth: bool) -> Limits:
        """Return limits of the share of latent rows above each cutoff, for whole curves.

        Parameters
        ----------
        known : ndarray of int, shape (k,)
            Known rows down to each cutoff.
        n_known : int
            All known rows.
        n_latent : float
            Latent rows; infinite for a population.
        smooth : bool
            Whether the closed form is used where an exact one exists, so that limits of counts
            do not fall as latent rows are added.

        Returns
        -------
        Limits
            In [0, 1], not decreasing; the binomial band alone is pointwise.
        """
        low: FloatArray
        high: FloatArray
        if self.given is not None:
            low, high = self.given
        elif n_known == 0:
            low, high = np.zeros(len(known)), np.ones(len(known))
        elif self.name == "binomial":
            alpha = 1 - self.level
            distinct, place = np.unique(known, return_inverse=True)
            levels = [[alpha / 2], [1 - alpha / 2]]
            ends = np.asarray(binom.ppf(levels, n_known, distinct / n_known))
            low, high = ends[0, place] / n_known, ends[1, place] / n_known
        else:
            width = (
                one_sample_width(n_known, self.level)
                if self.name == "dkw"
                else two_sample_width(n_known, n_latent, self.level, smooth=smooth)
            )
            share = np.asarray(known / n_known)
            low, high = np.asarray(share - width), np.asarray(share + width)
        moved = self.scar_violation
        return Limits(np.clip(low - moved, 0.0, 1.0), np.clip(high + moved, 0.0, 1.0))

    def counts(self, known: int, n_known: int, n_latent: int) -> tuple[float, float]:
        """Return limits of the number of latent rows above one cutoff.

        Parameters
        ----------
        known, n_known : int
            Known rows above the cutoff, and all of them.
        n_latent : int
            Latent rows.

        Returns
        -------
        tuple of float
            Whole or not; a path keeps to the whole numbers between them.
        """
        if self.name != "predictive":
            curve = self.curve(np.array([known]), n_known, n_latent, smooth=False)
            return float(curve.low[0]) * n_latent, float(curve.high[0]) * n_latent
        if n_known == 0:
            return 0.0, float(n_latent)
        alpha = 1 - self.level
        law = beta_binomial(n_latent, known + 0.5, n_known - known + 0.5)
        cdf = np.cumsum(law.pmf)
        low = law.start + int(np.searchsorted(cdf, alpha / 2 * (1 - 1e-12)))
        high = law.start + int(np.searchsorted(cdf, (1 - alpha / 2) * (1 - 1e-12)))
        moved = self.scar_violation * n_latent
        return max(0.0, low - moved), min(float(n_latent), high + moved)

    def share(self, known: int, n_known: int) -> tuple[float, float]:
        """Return limits of a population's share above one cutoff.

        Parameters
        ----------
        known, n_known : int
            Known rows above the cutoff, and all of them.

        Returns
        -------
        tuple of float
            In [0, 1]; for "predictive" the quantiles of Beta(k + 1/2, n - k + 1/2).
        """
        if self.name != "predictive":
            curve = self.curve(np.array([known]), n_known, math.inf, smooth=False)
            return float(curve.low[0]), float(curve.high[0])
        if n_known == 0:
            return 0.0, 1.0
        law, alpha = beta_law(known + 0.5, n_known - known + 0.5), 1 - self.level
        # Where no known row lies on one side, the limit there is the end itself.
        low = 0.0 if known == 0 else float(law.ppf(alpha / 2))
        high = 1.0 if known == n_known else float(law.ppf(1 - alpha / 2))
        moved = self.scar_violation
        return max(0.0, low - moved), min(1.0, high + moved)


def band_at(band: Band, blocks: ScoreBlocks, known: Counts) -> Band:
    """Return the band at the cutoff that calls these rows positive.

    Parameters
    ----------
    band : Band
        The whole band.
    blocks : ScoreBlocks
        The rows; every distinct score a block where the band is given.
    known : Counts
        Labeled and unlabeled rows by decision.

    Returns
    -------
    Band
        The same unless its limits are given at scores.

    Raises
    ------
    ValueError
        If they are, and the decisions are no cutoff of the scores.
    """
    if band.given is None:
        return band
    cells = (known.tp, known.fp, known.unlabeled_predicted_positive)
    place = int(np.searchsorted(blocks.rank, sum(cells)))
    columns = (blocks.known_positive, blocks.known_negative, blocks.unlabeled)
    if tuple(int(column[place]) for column in columns) != cells:
        raise ValueError(
            "`threshold` must be given: the decisions of this evaluation are no cutoff of its "
            "scores, and the band is given at scores."
        )
    return band.at(place)


def one_sample_width(n_known: int, level: float) -> float:
    """Return the half-width of the Dvoretzky-Kiefer-Wolfowitz band.

    Parameters
    ----------
    n_known : int >= 1
        Known rows.
    level : float
        Probability that the population's distribution lies inside.

    Returns
    -------
    float
        sqrt(ln(2 / alpha) / (2 n)).

    References
    ----------
    .. [1] P. Massart, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality", Annals
       of Probability 18(3), 1269-1283, 1990.

    Examples
    --------
    >>> round(one_sample_width(50, 0.95), 12)
    0.192064558264
    """
    return math.sqrt(math.log(2 / (1 - level)) / (2 * n_known))


def two_sample_width(n_known: int, n_latent: float, level: float, *, smooth: bool) -> float:
    """Return the half-width of a band that holds the distribution of a second finite sample.

    Parameters
    ----------
    n_known : int >= 1
        Known rows.
    n_latent : float >= 0
        Latent rows; infinite for a population.
    level : float
        Probability that the latent rows' distribution lies inside, everywhere.
    smooth : bool
        Whether to use the closed form alone.

    Returns
    -------
    float
        For small samples from the exact law of the two-sample Kolmogorov-Smirnov statistic, else
        sqrt(ln(2 / alpha) / 2 (1 / n + 1 / m)).

    Notes
    -----
    **Assumes** that known and latent rows are exchangeable; ties make the band wider than needed.
    The closed form's constant 2 can fall a little short for small samples, where the exact law is
    used; its quantile is taken from a grid 1% apart, upward.

    References
    ----------
    .. [1] F. Wei and R. M. Dudley, "Two-sample Dvoretzky-Kiefer-Wolfowitz inequalities",
       Statistics and Probability Letters 82(3), 636-644, 2012.
    .. [2] J. L. Hodges, "The significance probability of the Smirnov two-sample test", Arkiv for
       Matematik 3, 469-486, 1958.

    Examples
    --------
    >>> round(two_sample_width(1_000, 19_000, 0.95, smooth=True), 4)
    0.0441
    """
    if n_latent == 0:
        return 0.0
    width = math.sqrt(math.log(2 / (1 - level)) / 2 * (1 / n_known + 1 / n_latent))
    if smooth or n_known * n_latent > MOST_EXACT_PAIRS:
        return width
    return _exact_width(n_known, int(n_latent), level, width)


@lru_cache(maxsize=4_096)
def _exact_width(n_known: int, n_latent: int, level: float, width: float) -> float:
    candidates = width * EXACT_WIDTHS
    # The probability falls as the width grows: every eighth width first, then those between.
    first, last = 0, len(candidates)
    for step in (COARSE_STEP, 1):
        tried = np.arange(first, last, step)
        valid = exceedance(n_known, n_latent, candidates[tried]) <= 1 - level + 1e-12
        n_short = int(np.count_nonzero(~valid))
        last = int(tried[n_short]) if n_short < len(tried) else last
        first = int(tried[n_short - 1]) + 1 if n_short else first
    # Tiny samples: no width below 1 may do, and 1 always does.
    return float(candidates[last]) if last < len(candidates) else 1.0


def exceedance(n_known: int, n_latent: int, widths: npt.ArrayLike) -> FloatArray:
    """Return the exact probability that two samples' distributions differ by more than a width.

    Parameters
    ----------
    n_known, n_latent : int >= 1
        Sizes of the samples, drawn from one continuous distribution.
    widths : array_like of float, shape (k,)
        Widths.

    Returns
    -------
    ndarray of float, shape (k,)
        P(D > width).

    Notes
    -----
    All orders of the rows are equally likely. Orders are paths on the grid of the two counts;
    those that stay within the width are counted, one row of the smaller sample at a time.

    Examples
    --------
    >>> exceedance(1, 1, [0.5, 1.0])
    array([1., 0.])
    """
    m, n = min(n_known, n_latent), max(n_known, n_latent)
    limit = np.asarray(widths, dtype=np.float64)[:, None] + 1e-12
    share = np.arange(n + 1) / n
    reach = math.ceil(float(limit.max(initial=0.0)) * n) + 1
    # Orders of no row of the one and j of the other, within each width and in all.
    inside, total = (share <= limit).astype(np.float64), np.ones(n + 1)
    for i in range(1, m + 1):
        # Beyond the largest width nothing is allowed.
        near = slice(max(0, i * n // m - reach), i * n // m + reach + 1)
        allowed = np.abs(share[near] - i / m) <= limit
        within = inside[:, near]
        # An order of i and j rows ends in either: the allowed places are one stretch, along which
        # the counts of the row before add up.
        within *= allowed
        np.cumsum(within, axis=1, out=within)
        within *= allowed
        np.cumsum(total, out=total)
        if i % RESCALED_EACH == 0:
            inside /= total[-1]
            total /= total[-1]
    return np.asarray(1.0 - inside[:, -1] / total[-1])
