"""An interval that says what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CiKind = Literal["eti", "hdi", "confidence", "bounds", "sensitivity"]
CI_KINDS: tuple[CiKind, ...] = ("eti", "hdi", "confidence", "bounds", "sensitivity")


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends, and what they claim.

    Parameters
    ----------
    low, high : float
        Ends, nan where the metric is undefined.
    ci_prob : float
        Probability content in (0, 1); nan for bare bounds, which carry none.
    ci_kind : {"eti", "hdi", "confidence", "bounds", "sensitivity"}
        Equal-tailed or highest-density interval of a law; confidence interval; bounds that hold
        for every completion of the labels; bounds under a stated belief.

    Examples
    --------
    >>> str(Interval(0.61, 0.84, 0.95, "eti"))
    '[0.610, 0.840] (95% eti)'
    """

    low: float
    high: float
    ci_prob: float
    ci_kind: CiKind

    @property
    def width(self) -> float:
        """``high - low``."""
        return self.high - self.low

    def __eq__(self, other: object) -> bool:
        """Whether all parts are the same, nan being the same as nan."""
        return isinstance(other, Interval) and self._parts() == other._parts()

    def __hash__(self) -> int:
        """Return a number that equal intervals share."""
        return hash(self._parts())

    def _parts(self) -> tuple[float | str | None, ...]:
        # Left to the dataclass, bare bounds (level nan) equal themselves up to Python 3.12 alone.
        ends = (self.low, self.high, self.ci_prob)
        return (*(None if end != end else end for end in ends), self.ci_kind)

    def __str__(self) -> str:
        """Return ends, probability and kind in one line."""
        share = "" if self.ci_prob != self.ci_prob else f"{100 * self.ci_prob:g}% "
        return f"[{self.low:.3f}, {self.high:.3f}] ({share}{self.ci_kind})"

    def __contains__(self, value: float) -> bool:
        """Whether `value` lies between the ends, both included."""
        return self.low <= value <= self.high
