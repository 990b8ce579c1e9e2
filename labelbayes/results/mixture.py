"""A mixture of laws: one law for each way the belief could have come out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.results.count_grid import CountGrid
from labelbayes.results.count_law import CountLaw
from labelbayes.results.distribution import CDF_SLACK, Law


@dataclass(frozen=True, eq=False, repr=False)
class MixtureLaw(Law):
    """Equal mixture of laws, such as the exact laws under the refits of a calibrator.

    Parameters
    ----------
    components : tuple of Law
        Laws of one metric.

    Notes
    -----
    "Given that the metric is defined" is one condition on the whole mixture: a component in
    which the metric is likely undefined weighs less.

    Examples
    --------
    >>> from labelbayes.results.continuous import NormalLaw
    >>> law = MixtureLaw((NormalLaw(0.4, 0.01), NormalLaw(0.6, 0.01)))
    >>> round(law.mean, 3), round(law.sd, 4)
    (0.5, 0.1005)
    """

    components: tuple[Law, ...]

    @cached_property
    def _parts(self) -> list[tuple[float, Law]]:
        """Components in which the metric can be defined, and their weights."""
        defined = np.array([law.defined_prob for law in self.components])
        total = defined.sum()
        return [
            (share / total, law)
            for share, law in zip(defined, self.components, strict=True)
            if share > 0 and not law.is_undefined
        ]

    @property
    def is_undefined(self) -> bool:
        """Whether the metric is undefined in every component."""
        return not self._parts

    @cached_property
    def mean(self) -> float:
        """Mean given that the metric is defined; nan where it never is."""
        return float(sum(w * law.mean for w, law in self._parts)) if self._parts else math.nan

    @cached_property
    def sd(self) -> float:
        """Standard deviation: within and between the components."""
        if not self._parts:
            return math.nan
        return math.sqrt(
            sum(w * (law.sd**2 + (law.mean - self.mean) ** 2) for w, law in self._parts)
        )

    @cached_property
    def undefined_prob(self) -> float:
        """Probability that the metric is 0/0."""
        return float(np.mean([law.undefined_prob for law in self.components]))

    @property
    def undefined_reason(self) -> str:
        """When it is 0/0; empty where that cannot happen."""
        return next((law.undefined_reason for law in self.components if law.undefined_reason), "")

    @cached_property
    def _grid(self) -> CountGrid | None:
        """One grid for all components, where they are count laws of the same rows."""
        laws = [law for _, law in self._parts if isinstance(law, CountLaw)]
        shared = {(law.metric, law.known, law.grid.sizes) for law in laws}
        if len(laws) < len(self._parts) or len(shared) != 1:
            return None
        return CountGrid(laws[0].metric, laws[0].known, tuple(law.grid.pairs[0] for law in laws))

    def _mass_up_to(self, limit: float) -> float:
        if self._grid is not None:
            return self._grid.mass_up_to(limit)
        return min(1.0, float(sum(w * law._mass_up_to(limit) for w, law in self._parts)))

    def _quantile(self, q: float) -> float:
        if self._grid is not None:
            return self._grid.quantile(q)
        target = q - CDF_SLACK
        low = min(law._quantile(q) for _, law in self._parts)
        high = max(law._quantile(q) for _, law in self._parts)
        if self._mass_up_to(low) >= target:
            return low
        # Halved to the last bit, since the cdf may have steps.
        while low < (middle := (low + high) / 2) < high:
            if self._mass_up_to(middle) < target:
                low = middle
            else:
                high = middle
        return high

    def _draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        weights = np.array([weight for weight, _ in self._parts])
        picks = rng.multinomial(n, weights / weights.sum())
        parts = zip(picks, self._parts, strict=True)
        drawn = np.concatenate([law._draws(int(size), rng) for size, (_, law) in parts])
        return rng.permutation(drawn)
