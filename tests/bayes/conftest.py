"""How draws are compared with a law, shared by the tests of the models."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
import xarray as xr

from labelbayes.bayes.stack import az
from labelbayes.results.distribution import Law

#: Quantiles of the law at which the share of draws below is compared.
LEVELS = np.array([0.025, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.975])


class Agreement(NamedTuple):
    """z of the mean, and the largest z of the share of draws below a quantile of the law."""

    mean_z: float
    cdf_z: float

    @property
    def ok(self) -> bool:
        # Over all correct runs of a study of these models the largest were 2.6 and 3.3.
        return self.mean_z < 4 and self.cdf_z < 4.5


def _z(draws: np.ndarray, expected: float) -> float:
    """Return |mean - expected| in standard errors, from the effective number of draws."""
    spread = draws.std()
    if spread == 0:
        return 0.0 if abs(draws.mean() - expected) < 1e-9 else np.inf
    dataset = xr.Dataset({"x": (("chain", "draw"), draws)})
    effective = float(az.ess(dataset, method="mean")["x"])
    return abs(float(draws.mean()) - expected) / (spread / np.sqrt(effective))


@pytest.fixture(scope="session")
def mean_z() -> Callable[[np.ndarray, float], float]:
    """Return the z of a mean; draws of shape (chains, draws)."""
    return _z


@pytest.fixture(scope="session")
def agree() -> Callable[[np.ndarray, Law], Agreement]:
    """Return how draws of shape (chains, draws) agree with a law."""

    def compare(draws: np.ndarray, law: Law) -> Agreement:
        at = np.unique(law.quantile(LEVELS))
        below = [_z((draws <= t + 1e-12).astype(float), float(law.cdf(t))) for t in at]
        return Agreement(_z(draws, law.mean), max(below))

    return compare
