"""What is known of beta, the share of positives among unlabeled rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import beta as beta_law

from labelbayes._checks import (
    CI_PROB,
    check_choice,
    check_open_unit,
    check_real,
    check_unit,
    check_whole,
)
from labelbayes.bounds.latent_paths import SNAP
from labelbayes.laws.beta_binomial import beta_binomial
from labelbayes.results.interval import Interval

#: Pseudo-counts of an audit before its first row.
HALF = 0.5
#: Largest pseudo-count: beyond it a law is a number.
MOST_COUNTS = 1e15


@dataclass(frozen=True, slots=True)
class BetaPrior:
    """A Beta law of beta, the share of positives among the unlabeled rows.

    Parameters
    ----------
    a, b : float > 0
        Pseudo-counts of positives and of negatives, at most 1e15.

    Raises
    ------
    TypeError
        If a pseudo-count is no number.
    ValueError
        If a pseudo-count is not positive, or larger.

    See Also
    --------
    Audit : Exact where the audited rows are some of the unlabeled rows.

    Examples
    --------
    >>> print(BetaPrior.from_audit(148, 152).interval(0.95))
    [0.437, 0.550] (95% eti)
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        """Check the pseudo-counts."""
        for name in ("a", "b"):
            count = check_real(name, getattr(self, name))
            if not 0 < count <= MOST_COUNTS:
                raise ValueError(
                    f"`{name}` must be positive and at most {MOST_COUNTS:g}; got {count!r}. Give a "
                    "beta that is known as a number."
                    if count > 0
                    else f"`{name}` must be positive; got {count!r}."
                )
            object.__setattr__(self, name, count)

    @classmethod
    def from_audit(cls, n_positive: int, n_negative: int) -> BetaPrior:
        """Return the law after an audit of rows like the unlabeled ones, from Beta(1/2, 1/2) on.

        Parameters
        ----------
        n_positive, n_negative : int >= 0
            Audited rows by what they turned out to be.

        Returns
        -------
        BetaPrior
            Beta(n_positive + 1/2, n_negative + 1/2).
        """
        positive = check_whole("n_positive", n_positive, least=0)
        negative = check_whole("n_negative", n_negative, least=0)
        return cls(positive + HALF, negative + HALF)

    @property
    def mean(self) -> float:
        """Mean of beta."""
        return self.a / (self.a + self.b)

    @property
    def var(self) -> float:
        """Variance of beta."""
        total = self.a + self.b
        return self.a / total * (self.b / total) / (total + 1)

    def interval(self, ci_prob: float = CI_PROB, kind: Literal["eti", "hdi"] = "eti") -> Interval:
        """Return an interval of beta.

        Parameters
        ----------
        ci_prob : float, default 0.95
            Probability content, in (0, 1).
        kind : {"eti", "hdi"}, default "eti"
            Equal tails, or the shortest.

        Returns
        -------
        Interval
            Inside [0, 1].
        """
        level = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
        check_choice("kind", kind, ("eti", "hdi"))
        law, tail = beta_law(self.a, self.b), (1 - level) / 2
        if kind == "hdi":
            tail = _lower_tail_of_shortest(law, level)
        return Interval(float(law.ppf(tail)), float(law.ppf(tail + level)), level, kind)


def _lower_tail_of_shortest(law: Any, level: float) -> float:
    """Return the probability below the shortest interval."""

    def width(tail: float) -> float:
        return float(law.ppf(min(tail + level, 1.0)) - law.ppf(tail))

    found = minimize_scalar(
        width, bounds=(0.0, 1 - level), method="bounded", options={"xatol": 1e-10}
    )
    # The search does not visit the ends, where a law that falls or rises throughout has its best.
    return min((0.0, 1 - level, float(found.x)), key=width)


@dataclass(frozen=True, slots=True)
class Audit:
    """Rows drawn at random from the unlabeled ones and looked at.

    Parameters
    ----------
    n_positive, n_negative : int >= 0
        Audited rows by what they turned out to be; at least one in all. They stay unlabeled in
        the evaluation: here they say how many positives it hides.

    Raises
    ------
    TypeError
        If a count is no whole number.
    ValueError
        If a count is negative or there is none.

    Examples
    --------
    >>> Audit(155, 145).n
    300
    """

    n_positive: int
    n_negative: int

    def __post_init__(self) -> None:
        """Check the counts."""
        for name in ("n_positive", "n_negative"):
            object.__setattr__(self, name, check_whole(name, getattr(self, name), least=0))
        if not self.n:
            raise ValueError("`Audit` must hold at least one row; got none.")

    @property
    def n(self) -> int:
        """Audited rows."""
        return self.n_positive + self.n_negative

    def counts(self, n_unlabeled: int, level: float) -> tuple[int, int]:
        """Return an interval of the number of positives among all unlabeled rows.

        Parameters
        ----------
        n_unlabeled : int
            Unlabeled rows, the audited ones among them.
        level : float
            Its probability, in (0, 1), equal tails.

        Returns
        -------
        tuple of int
            Audited positives plus a beta-binomial number among the rest; no more than the rows.

        Raises
        ------
        TypeError
            If an argument is of the wrong type.
        ValueError
            If there are fewer unlabeled rows than audited ones, or `level` is outside (0, 1).

        Examples
        --------
        >>> Audit(155, 145).counts(300, 0.95)
        (155, 155)
        """
        rest = check_whole("n_unlabeled", n_unlabeled, least=0) - self.n
        share = check_open_unit("level", level, "Write 0.95 for 95%.")
        if rest < 0:
            raise ValueError(
                f"`beta` must be an audit of unlabeled rows; got {self.n:,} audited rows and "
                f"{n_unlabeled:,} unlabeled. Use BetaPrior.from_audit for rows from elsewhere."
            )
        law = beta_binomial(rest, self.n_positive + HALF, self.n_negative + HALF)
        cdf, tail = np.cumsum(law.pmf), (1 - share) / 2
        ends = np.searchsorted(cdf, [tail * (1 - 1e-12), (1 - tail) * (1 - 1e-12)])
        low, high = (self.n_positive + law.start + int(end) for end in ends)
        return low, high


Beta = float | tuple[float, float] | BetaPrior | Audit


@dataclass(frozen=True, slots=True)
class BetaRange:
    """The values of beta that bounds have to cover.

    Parameters
    ----------
    low, high : float
        Ends of beta.
    first, last : int
        Ends of the number of latent positives.
    center : float
        One value for point identities; nan for a range.
    level : float
        Probability that the truth lies between; 1 where that is the user's word.
    said : str
        In words.
    """

    low: float
    high: float
    first: int
    last: int
    center: float
    level: float
    said: str


def count_latent(beta: float, n_unlabeled: int) -> int:
    """Return the number of latent positives at a share: half-even, after snapping within 1e-9.

    Parameters
    ----------
    beta : float
        Share, in [0, 1].
    n_unlabeled : int
        Unlabeled rows.

    Returns
    -------
    int
        Latent positives.

    Examples
    --------
    >>> count_latent(0.29, 100), count_latent(0.285, 100), count_latent(0.5, 7)
    (29, 28, 4)
    """
    product = beta * n_unlabeled
    # Snap halves too: half-even must not depend on the last bit of the product.
    doubled = round(2 * product)
    return round(doubled / 2) if abs(product - doubled / 2) <= SNAP else round(product)


def resolve_beta(beta: object, n_unlabeled: int, level: float) -> BetaRange:
    """Return what the bounds have to cover.

    Parameters
    ----------
    beta : float, tuple of float, BetaPrior or Audit
        As the user gave it; a tuple is always a range.
    n_unlabeled : int
        Unlabeled rows.
    level : float
        Probability to be covered by the interval of a prior or an audit.

    Returns
    -------
    BetaRange
        Shares and counts.

    Raises
    ------
    TypeError
        If `beta` is of another type.
    ValueError
        If a value lies outside [0, 1], a range is reversed, or an audit does not fit.
    """
    if isinstance(beta, Audit):
        first, last = beta.counts(n_unlabeled, level)
        rows = max(1, n_unlabeled)
        said = f"audit of {beta.n:,} unlabeled rows ({beta.n_positive:,} positive)"
        center = beta.n_positive / beta.n
        return BetaRange(first / rows, last / rows, first, last, center, level, said)
    if isinstance(beta, BetaPrior):
        span = beta.interval(level)
        low, high, center, share = span.low, span.high, beta.mean, level
        said = f"beta ~ Beta({beta.a:g}, {beta.b:g})"
    elif isinstance(beta, tuple):
        if len(beta) != 2:
            raise ValueError(
                f"`beta` must be a range of two numbers, (low, high); got {len(beta)}."
            )
        low, high = (check_unit(f"beta[{i}]", end) for i, end in enumerate(beta))
        if low > high:
            raise ValueError(f"`beta` must be a range (low, high), low first; got {beta!r}.")
        center, share, said = math.nan, 1.0, f"beta from {low:g} to {high:g}"
    elif isinstance(beta, (int, float, np.integer, np.floating)) and not isinstance(beta, bool):
        low = high = center = check_unit("beta", beta)
        share, said = 1.0, f"beta = {low:g}"
    else:
        raise TypeError(
            "`beta` must be a number, a range (low, high), a BetaPrior or an Audit; got "
            f"{type(beta).__name__}."
        )
    first, last = count_latent(low, n_unlabeled), count_latent(high, n_unlabeled)
    return BetaRange(low, high, first, last, center, share, said)


def split_level(beta: object, ci_prob: float, n_parts: int) -> tuple[float, bool]:
    """Return the level of each part of a joint statement (Bonferroni), and whether beta is one.

    Parameters
    ----------
    beta : object
        As the user gave it; a number or a range needs no part.
    ci_prob : float
        Joint level.
    n_parts : int
        Parts besides beta.

    Returns
    -------
    tuple of float and bool
        For instance 0.975 and True for 95% with a prior and one band.
    """
    is_part = isinstance(beta, (BetaPrior, Audit))
    parts = n_parts + is_part
    level = 1 - (1 - ci_prob) / parts if parts else math.nan
    return level, is_part
