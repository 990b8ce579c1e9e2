"""The Poisson-binomial engine against exact integers, exact rationals and 50-digit decimals."""

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelbayes.laws.poisson_binomial import integer_law, poisson_binomial
from labelbayes.laws.power_series import KEPT_VARIANCE
from labelbayes.laws.power_sums import PowerSums
from labelbayes.results.integer_law import IntegerLaw

#: Fixed-point digits of the exact laws, in bits.
BITS = 220
ONE = 1 << BITS


# Oracle item05 (exact integer convolution, 60-digit decimals rounded to 15 digits). Where n > 64
# nine entries of the pmf above 1e-13 stand for all.
ORACLE: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("poisson_binomial_oracle.json").read_text(encoding="utf-8")
)["cases"]


def _fixed_point(p: float) -> int:
    """Return p times 2^BITS, exact wherever p is a multiple of 2^-BITS."""
    exact = Fraction(p)
    return exact.numerator * ONE // exact.denominator


def exact_law(p: Sequence[float], count: Sequence[int] | None = None) -> list[int]:
    """Return the pmf of 0, ..., n in units of 2^-BITS; every entry is right to 1e-60."""
    law = np.array([ONE], dtype=object)
    counts = [1] * len(p) if count is None else count
    for probability, times in zip(p, counts, strict=True):
        yes = _fixed_point(float(probability))
        if probability in (0.0, 1.0):
            certain = np.zeros(times, dtype=object)
            law = np.concatenate([law, certain] if probability == 0.0 else [certain, law])
        elif times < 200:
            for _ in range(times):
                longer = np.zeros(len(law) + 1, dtype=object)
                longer[:-1] += law * (ONE - yes)
                longer[1:] += law * yes
                law = longer >> BITS
        else:
            law = np.convolve(law, _binomial(probability, times)) >> BITS
    return list(law)


def _binomial(p: float, n: int) -> npt.NDArray[np.object_]:
    """Return a binomial law with 50 digits, in units of 2^-BITS."""
    with mpmath.workdps(50):
        q = mpmath.mpf(p)
        term = mpmath.power(1 - q, n)
        terms = [term]
        for k in range(n):
            term = term * q * (n - k) / ((1 - q) * (k + 1))
            terms.append(term)
        return np.array([int(t * ONE) for t in terms], dtype=object)


def total_variation(law: IntegerLaw, exact: Sequence[int]) -> float:
    """Return half the sum of absolute differences, without any rounding."""
    assert len(exact) == law.n + 1
    found = [0] * len(exact)
    for k, probability in zip(law.support, law.pmf, strict=True):
        found[k] = _fixed_point(float(probability))
    return sum(abs(a - b) for a, b in zip(found, exact, strict=True)) / ONE / 2


def _adversarial() -> dict[str, tuple[list[float], list[int] | None]]:
    """Return about 50 sets that strain each branch of the engine."""
    rng = np.random.default_rng(7)
    tiny, near_one = 1e-12, 1 - 1e-12
    plain: dict[str, Sequence[float]] = {
        "tiny": [tiny] * 200,
        "near one": [near_one] * 200,
        "tiny and near one": [tiny] * 100 + [near_one] * 100,
        "tiny and one half": [tiny] * 90 + [0.5],
        "near one and one half": [near_one] * 90 + [0.5] * 3,
        "smallest double": [5e-324] * 100,
        "smallest normal": [2.3e-308] * 70 + [0.5] * 70,
        "just below one": [1 - 2.0**-53] * 150,
        "just below one half": [0.5 - 2.0**-54] * 65 + [0.5 + 2.0**-53] * 65,
        "halves, 64 rows": [0.5] * 64,
        "halves, 65 rows": [0.5] * 65,
        "halves, 301 rows": [0.5] * 301,
        "one eighth": [0.125] * 300,
        "just above one eighth": [0.125 + 2.0**-55] * 300,
        "seven eighths": [0.875] * 300,
        "around one eighth": [0.125, 0.126, 0.874, 0.875] * 60,
        "bimodal": [0.01] * 150 + [0.99] * 150,
        "bimodal, one rare": [0.001] * 290 + [0.999] * 10,
        "bimodal and halves": [1e-6] * 100 + [1 - 1e-6] * 100 + [0.5] * 100,
        "zeros, ones, a half": [0.0] * 100 + [1.0] * 100 + [0.5],
        "zeros and ones": [0.0] * 100 + [1.0] * 77,
        "zeros, ones and uniform": [0.0] * 50 + [1.0] * 60 + list(rng.random(100)),
        "ones and rare": [1.0] * 200 + [1e-3] * 200,
        "zeros and frequent": [0.0] * 200 + [0.999] * 200,
        "geometric": list(0.5 ** np.arange(1, 301)),
        "geometric from one": list(1 - 0.5 ** np.arange(1, 54)) * 3,
        "harmonic": list(1 / np.arange(2.0, 402.0)),
        "one large among rare": [1e-5] * 300 + [0.7],
        "grid": list(np.linspace(0, 1, 257)),
    }
    for size in (65, 128, 131, 400):
        plain[f"uniform, {size} rows"] = list(rng.random(size))
    for a, b in ((0.05, 0.05), (0.3, 3.0), (5.0, 0.2), (20.0, 20.0)):
        plain[f"beta({a}, {b})"] = list(rng.beta(a, b, 250))
    plain["logarithmic"] = list(10 ** -rng.uniform(0, 30, 300))
    sets: dict[str, tuple[list[float], list[int] | None]] = {
        name: (list(map(float, p)), None) for name, p in plain.items()
    }
    sets |= {
        "counts: halves": ([0.5], [4000]),
        "counts: rare and frequent": ([1e-3, 1 - 1e-3], [3000, 3000]),
        "counts: tiny, half, near one": ([tiny, 0.5, near_one], [2500, 7, 2500]),
        "counts: zero, half, one": ([0.0, 0.5, 1.0], [3000, 300, 2000]),
        "counts: bimodal": ([0.02, 0.97], [2500, 2500]),
        "counts: variance 336": ([0.4], [1400]),
        "counts: variance 338": ([0.4, 0.3], [1400, 10]),
        "counts: variance 799": ([0.5], [3196]),
        "counts: variance 801": ([0.5, 0.1], [3196, 20]),
        "counts: rare, variance 801": ([0.1], [8900]),
        "counts: 0 among them": ([0.3, 0.9, 0.6], [0, 300, 0]),
        "counts: three": ([0.2, 0.5, 0.8], [1000, 1, 999]),
    }
    return sets


ADVERSARIAL = _adversarial()


@pytest.mark.parametrize("case", ORACLE, ids=lambda case: str(case["name"]))
def test_oracle(case: dict[str, Any]) -> None:
    law = poisson_binomial(case["p"], case["count"])
    assert law.n == sum(case["count"])
    assert law.mean == pytest.approx(case["mean"], rel=1e-14)
    assert law.variance == pytest.approx(case["variance"], rel=1e-12)
    rel, absolute = (1e-12, 0.0) if law.n <= 64 else (0.0, 1e-13)
    for k, probability in case["pmf"].items():
        inside = law.start <= int(k) < law.stop
        found = law.pmf[int(k) - law.start] if inside else 0.0
        assert found == pytest.approx(probability, rel=rel, abs=absolute)
    state = PowerSums.from_probabilities(case["p"], case["count"])
    for log_found, log10 in (
        (state.log_prob_none, case["log10_none"]),
        (state.log_prob_all, case["log10_all"]),
    ):
        assert log_found == pytest.approx(float(log10) * math.log(10.0), rel=1e-14, abs=1e-14)
    assert law.prob_none == math.exp(state.log_prob_none)
    assert law.prob_all == math.exp(state.log_prob_all)


def test_a_law_of_nothing() -> None:
    law = poisson_binomial([])
    assert (law.start, law.n, law.prob_none, law.prob_all) == (0, 0, 1.0, 1.0)
    np.testing.assert_array_equal(law.pmf, [1.0])


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_engine_equals_the_exact_law(name: str) -> None:
    p, count = ADVERSARIAL[name]
    law = poisson_binomial(p, count)
    assert total_variation(law, exact_law(p, count)) <= 1e-13
    assert law.pmf.min() >= 0.0
    assert law.pmf.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("wrong_by", [1e-9, 3e-12])
def test_a_slightly_wrong_probability_is_caught(wrong_by: float) -> None:
    p, count = ADVERSARIAL["uniform, 128 rows"]
    wrong = list(p)
    wrong[3] += wrong_by
    assert total_variation(poisson_binomial(wrong, count), exact_law(p, count)) > 1e-13


def test_a_shifted_law_is_caught() -> None:
    p, _ = ADVERSARIAL["uniform, 128 rows"]
    law = poisson_binomial(p)
    shifted = IntegerLaw(law.start + 1, law.pmf, law.n, law.mean, law.variance, 0.0, 0.0)
    assert total_variation(shifted, exact_law(p)) > 0.01


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(st.sampled_from([0.0, 1.0, 0.5, 1e-12, 1 - 1e-12]), st.floats(0.0, 1.0)),
        max_size=8,
    )
)
def test_enumeration_with_exact_rationals(p: list[float]) -> None:
    exact = [Fraction(0)] * (len(p) + 1)
    yes = [Fraction(x) for x in p]
    for labels in product((0, 1), repeat=len(p)):
        factors = (x if label else 1 - x for x, label in zip(yes, labels, strict=True))
        exact[sum(labels)] += math.prod(factors, start=Fraction(1))
    law = poisson_binomial(p)
    found = np.zeros(len(p) + 1)
    found[law.start : law.stop] = law.pmf
    # Relative, tails included, down to where doubles end.
    np.testing.assert_allclose(found, [float(x) for x in exact], rtol=1e-12, atol=1e-300)
    assert law.prob_none == pytest.approx(float(exact[0]), rel=1e-12, abs=1e-300)
    assert law.prob_all == pytest.approx(float(exact[-1]), rel=1e-12, abs=1e-300)


def _distance(first: IntegerLaw, second: IntegerLaw) -> float:
    low, high = min(first.start, second.start), max(first.stop, second.stop)
    total = np.zeros(high - low)
    total[first.start - low : first.stop - low] += first.pmf
    total[second.start - low : second.stop - low] -= second.pmf
    return float(np.abs(total).sum() / 2)


@pytest.mark.parametrize("n_rows", [40, 65, 1_000, 20_000])
def test_complement_mirrors_the_law(n_rows: int) -> None:
    # Multiples of 2^-20, so that 1 - p is exact.
    p = np.floor(np.random.default_rng(n_rows).random(n_rows) ** 3 * 2**20) / 2**20
    law, mirror = poisson_binomial(p), poisson_binomial(1.0 - p)
    back = IntegerLaw(
        n_rows + 1 - mirror.stop,
        mirror.pmf[::-1],
        n_rows,
        n_rows - mirror.mean,
        mirror.variance,
        mirror.prob_all,
        mirror.prob_none,
    )
    assert _distance(law, back) < 1e-14
    assert (law.prob_none, law.prob_all) == pytest.approx(
        (back.prob_none, back.prob_all), rel=1e-12
    )


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_multiplicities_equal_repeated_rows(scale: float) -> None:
    rng = np.random.default_rng(3)
    p, count = rng.random(500) * scale, rng.integers(0, 40, 500)
    law = poisson_binomial(p, count)
    assert _distance(law, poisson_binomial(np.repeat(p, count))) < 1e-14
    split = poisson_binomial(
        np.concatenate([p, p]), np.concatenate([count // 3, count - count // 3])
    )
    assert _distance(law, split) < 1e-14
    assert _distance(law, poisson_binomial(p, count + (np.arange(500) == 7))) > 1e-5 * scale


def test_a_million_rows_equal_the_binomial_law() -> None:
    # 50-digit decimals: binomial(10^6, p) at the mean and 3 standard deviations off.
    law = poisson_binomial([0.3], [10**6])
    with mpmath.workdps(50):
        for k in (298_625, 299_999, 300_000, 301_375):
            exact = mpmath.binomial(10**6, k) * mpmath.mpf(0.3) ** k
            exact *= (1 - mpmath.mpf(0.3)) ** (10**6 - k)
            assert law.pmf[k - law.start] == pytest.approx(float(exact), rel=1e-13)


def test_a_billion_rows_keep_the_place_of_the_law() -> None:
    rng = np.random.default_rng(11)
    p, count = rng.random(1_000), rng.integers(900_000, 1_100_000, 1_000)
    law = poisson_binomial(p, count)
    exact = sum(Fraction(x) * int(c) for x, c in zip(p.tolist(), count, strict=True))
    origin = round(exact)
    mean = float(law.pmf @ (law.support - origin))
    assert mean == pytest.approx(float(exact - origin), abs=1e-9)
    spread = float(law.pmf @ (law.support - origin - mean) ** 2)
    assert spread == pytest.approx(law.variance, rel=1e-12)


@pytest.mark.parametrize(
    ("p", "count"),
    [
        ([1e-3], [700_000]),
        ([0.5], [1000]),
        ([0.124, 0.126], [2000, 2000]),
        ([1e-12, 0.9], [10**9, 60]),
        ([0.001, 0.999], [600_000, 10]),
    ],
)
def test_no_positive_far_below_the_pmf(p: list[float], count: list[int]) -> None:
    law, mirror = poisson_binomial(p, count), poisson_binomial([1 - x for x in p], count)
    with mpmath.workdps(50):
        none = mpmath.fsum(c * mpmath.log1p(-mpmath.mpf(x)) for x, c in zip(p, count, strict=True))
        every = mpmath.fsum(
            c * mpmath.log1p(-(1 - mpmath.mpf(1 - x))) for x, c in zip(p, count, strict=True)
        )
        exact, exact_mirror = float(mpmath.exp(none)), float(mpmath.exp(every))
    assert 0.0 < law.prob_none == pytest.approx(exact, rel=2e-12, abs=0)
    assert 0.0 < mirror.prob_all == pytest.approx(exact_mirror, rel=2e-12, abs=0)


def test_no_positive_beyond_doubles() -> None:
    assert poisson_binomial([0.5], [4 * int(KEPT_VARIANCE)]).prob_none == 0.0
    assert poisson_binomial([0.0, 0.5], [10, 2]).prob_all == 0.0
    assert poisson_binomial([1.0, 0.5], [10, 2]).prob_none == 0.0


def test_the_result_is_read_only_and_narrow() -> None:
    law = integer_law(PowerSums.from_probabilities(np.full(100_000, 0.01)))
    # About 9 standard deviations of 31.5 on each side.
    assert len(law.pmf) < 600
    with pytest.raises(ValueError, match="read-only"):
        law.pmf[0] = 1.0


def test_a_broken_state_fails_loudly() -> None:
    state = PowerSums.from_probabilities(np.full(100_000, 0.3))
    state.sums = state.sums[:, :3]
    with pytest.raises(RuntimeError) as error:
        integer_law(state)
    assert str(error.value).startswith("3 power sums leave a truncation error of ")
    assert str(error.value).endswith("above 1e-17; please report this as a defect.")
