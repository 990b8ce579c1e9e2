"""Far tails against convolution in 60 digits."""

import math
from collections.abc import Sequence

import mpmath
import numpy as np
import pytest

from labelbayes.laws.far_tails import log_tail_prob

RNG = np.random.default_rng(6)
SETS: dict[str, tuple[Sequence[float], Sequence[int]]] = {
    "rare": ([0.001], [100]),
    "near 0 and 1": ([1e-12, 1 - 1e-12, 0.5], [60, 60, 20]),
    "certain rows": ([0.0, 1.0, 0.3], [5, 7, 60]),
    "mixed": (RNG.random(120).tolist(), [1] * 120),
    "repeated": ([0.1, 0.9], [80, 80]),
    "one row": ([0.25], [1]),
}


def _exact(p: Sequence[float], count: Sequence[int], k: int, side: str) -> float:
    with mpmath.workdps(60):
        pmf = [mpmath.mpf(1)]
        for one, repeats in zip(p, count, strict=True):
            yes = mpmath.mpf(one)
            for _ in range(repeats):
                pmf = [
                    low * (1 - yes) + high * yes
                    for low, high in zip([*pmf, 0], [0, *pmf], strict=True)
                ]
        total = mpmath.fsum(pmf[k:] if side == "upper" else pmf[: k + 1])
        return float(mpmath.log(total)) if total > 0 else -math.inf


@pytest.mark.parametrize("side", ["upper", "lower"])
@pytest.mark.parametrize("name", SETS)
def test_every_tail_is_that_of_exact_convolution(name: str, side: str) -> None:
    p, count = SETS[name]
    n = sum(count)
    for k in sorted({0, 1, n // 4, n // 2, (3 * n) // 4, n - 1, n}):
        found = log_tail_prob(p, k, count=count, side=side)
        # 1e-11 of a probability is 1e-11 in its logarithm.
        assert found == pytest.approx(_exact(p, count, k, side), abs=1e-11), k


def test_a_tail_that_the_pmf_would_lose_is_not_zero() -> None:
    assert log_tail_prob([0.5], 300, count=[300]) == pytest.approx(300 * math.log(0.5), rel=1e-13)
    far = log_tail_prob(np.full(2_000, 0.1), 900)
    assert -1_100 < far < -700


def test_what_cannot_happen_and_bad_input() -> None:
    assert log_tail_prob([0.5, 0.0], 2) == -math.inf
    assert log_tail_prob([0.5, 1.0], 0, side="lower") == -math.inf
    assert log_tail_prob([0.5], 0) == 0.0
    with pytest.raises(ValueError, match="`side` must be one of"):
        log_tail_prob([0.5], 1, side="both")
    with pytest.raises(ValueError, match="`k` must be"):
        log_tail_prob([0.5], -1)
    with pytest.raises(ValueError, match="`p`"):
        log_tail_prob([1.5], 1)


def test_masked_values_are_refused_and_round_off_beyond_one_is_forgiven() -> None:
    masked = np.ma.masked_array([0.1, 0.2], mask=[True, False])
    with pytest.raises(ValueError, match="a probability in every row; row 0 is masked"):
        log_tail_prob(masked, 1)
    with pytest.raises(ValueError, match="`count` must hold a number in every row; row 1"):
        log_tail_prob([0.1, 0.2], 1, count=np.ma.masked_array([1, 2], mask=[False, True]))
    assert log_tail_prob([1 + 1e-12, 0.5], 2) == pytest.approx(math.log(0.5))
    assert log_tail_prob([-1e-12, 0.5], 0, side="lower") == pytest.approx(math.log(0.5))
