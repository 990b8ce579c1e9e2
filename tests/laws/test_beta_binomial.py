"""The beta-binomial law against decimals of 40 digits, and its own ends."""

import mpmath
import numpy as np
import pytest

from labelbayes.laws.beta_binomial import beta_binomial


def exact_pmf(n: int, a: float, b: float, k: int) -> float:
    with mpmath.workdps(40):
        a, b = mpmath.mpf(a), mpmath.mpf(b)
        log = mpmath.log(mpmath.binomial(n, k)) + mpmath.log(mpmath.beta(k + a, n - k + b))
        return float(mpmath.exp(log - mpmath.log(mpmath.beta(a, b))))


CASES = [
    (0, 1.0, 1.0),
    (1, 0.5, 0.5),
    (10, 1.0, 1.0),
    (1_000, 3.5, 9.5),
    (3_000, 0.5, 0.5),
    (100_000, 60.5, 40.5),
    (1_000_000, 600.5, 400.5),
    (1_000_000, 1.5, 2_000.5),
    (1_000_000, 50_000.5, 0.5),
    (1_000_000, 500_000.5, 500_000.5),
]


@pytest.mark.parametrize(("n", "a", "b"), CASES)
def test_entries_are_right_to_1e_13_of_themselves(n: int, a: float, b: float) -> None:
    law = beta_binomial(n, a, b)
    entries = np.unique(np.linspace(0, len(law.pmf) - 1, 23).astype(int))
    exact = np.array([exact_pmf(n, a, b, law.start + int(k)) for k in entries])
    seen = exact > exact.max() * 1e-6
    assert law.pmf[entries][seen] == pytest.approx(exact[seen], rel=1e-13, abs=0)
    assert abs(law.pmf[entries] - exact).max() < 1e-13 * exact.max()
    assert law.pmf.sum() == pytest.approx(1.0, abs=1e-13)
    # A rate that is off in the tenth digit is seen.
    other = beta_binomial(n, a * (1 + 1e-10), b).pmf
    if n > 1 and len(other) == len(law.pmf):
        assert other[entries][seen] != pytest.approx(exact[seen], rel=1e-13, abs=0)


@pytest.mark.parametrize(("n", "a", "b"), CASES)
def test_moments_and_ends(n: int, a: float, b: float) -> None:
    law = beta_binomial(n, a, b)
    assert (law.n, len(law.support)) == (n, len(law.pmf))
    assert float(law.support @ law.pmf) == pytest.approx(law.mean, rel=1e-12, abs=0)
    spread = (law.support - law.mean) ** 2 @ law.pmf
    assert float(spread) == pytest.approx(law.variance, rel=1e-11, abs=0)
    assert law.prob_none == pytest.approx(exact_pmf(n, a, b, 0), rel=1e-11, abs=0)
    assert law.prob_all == pytest.approx(exact_pmf(n, a, b, n), rel=1e-11, abs=0)


def test_uniform_rate_makes_every_count_equally_likely() -> None:
    law = beta_binomial(7, 1, 1)
    assert law.pmf == pytest.approx(np.full(8, 1 / 8), abs=1e-16)


def test_variance_of_a_shared_rate() -> None:
    # Oracle item11, variance_identity_m200_p.3_k8: rate Beta(2.4, 5.6); rows of their own have 42.
    assert beta_binomial(200, 2.4, 5.6).variance == pytest.approx(970.666666666667, abs=1e-10)
