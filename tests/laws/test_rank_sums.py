"""Sums over ranks: bins give what rows give, and series what adding up rows gives."""

import numpy as np
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.power_sums import PowerSums
from labelbayes.laws.rank_sums import rank_transforms
from labelbayes.laws.roc_auc_moments import roc_auc_moments
from tests.laws.area_cases import prepare


@pytest.mark.parametrize("m", [50, 500, 10_000])
@pytest.mark.parametrize("kind", ["any", "near 0", "near 1", "one half"])
def test_transforms_are_sums_over_rows(m, kind):
    rng = np.random.default_rng(m)
    p = {
        "any": rng.random(m),
        "near 0": 0.05 * rng.random(m),
        "near 1": 1.0 - 0.05 * rng.random(m),
        "one half": np.full(m, 0.5),
    }[kind]
    b = rng.random(m) - 0.5
    variance = PowerSums.from_probabilities(p).variance
    # Frequencies at which the characteristic function of the count still matters.
    w = np.linspace(0.0, min(3.0, 6.0 / np.sqrt(variance)), 7)
    z = np.exp(1j * w) - 1.0
    found = rank_transforms(p, np.array([b, b**2, b**3]), z, variance)
    u = p * np.exp(1j * w)[:, None] / (1.0 + p * z[:, None])
    wanted = [(u - p) @ b, (u * (1 - u)) @ b**2, (u * (1 - u) * (1 - 2 * u)) @ b**3]
    for power, (one, other) in enumerate(zip(found, wanted, strict=True)):
        scale = np.abs(b) ** (power + 1) @ (p * (1 - p))
        np.testing.assert_allclose(one / scale, other / scale, rtol=0, atol=1e-13)


def test_bins_give_the_moments_of_their_rows():
    rng = np.random.default_rng(2)
    score = rng.random(900)
    label = np.where(rng.random(900) < 0.5, np.nan, rng.random(900) < score)
    evaluation = EvaluationSet(label, score, count=rng.integers(1, 4, size=900))
    belief = impute(evaluation, "histogram", n_refits=2, rng=0)
    ranks = prepare(evaluation, belief).ranks
    assert len(ranks.count) < 50
    for i in range(2):
        by_row = prepare(evaluation, belief.refit(i)).ranks
        np.testing.assert_allclose(
            roc_auc_moments(ranks, i), roc_auc_moments(by_row), rtol=1e-12, atol=1e-15
        )
