"""The summary behind the engine: mergeable, small, exact moments, and sentences on bad input."""

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelbayes.laws.poisson_binomial import integer_law
from labelbayes.laws.power_series import (
    BLOCK,
    KEPT_VARIANCE,
    MAX_ORDER,
    TRUNCATION,
    largest_step,
    required_order,
    series_error,
    sum_powers,
)
from labelbayes.laws.power_sums import PowerSums

#: Regimes of the state: all rows kept, some kept, none kept; and rows at both ends.
REGIMES = {
    "all kept": (60, 1.0),
    "some kept": (2_000, 1.0),
    "only near rows": (3_000, 0.01),
    "none kept": (30_000, 1.0),
}


def _rows(regime: str) -> npt.NDArray[np.float64]:
    n_rows, scale = REGIMES[regime]
    rng = np.random.default_rng(n_rows)
    p = rng.random(n_rows) * scale
    p[rng.random(n_rows) < 0.05] = 0.0
    if scale == 1.0:
        p[rng.random(n_rows) < 0.05] = 1.0
    return p


def differences(first: PowerSums, second: PowerSums) -> list[str]:
    """Say in what two summaries differ beyond round-off."""
    found = []
    for name in ("n", "n_certain_negative", "n_certain_positive"):
        if getattr(first, name) != getattr(second, name):
            found.append(name)
    for name in ("mean", "variance", "log_prob_none", "log_prob_all"):
        if not math.isclose(getattr(first, name), getattr(second, name), rel_tol=1e-13):
            found.append(name)
    if first.kept.shape != second.kept.shape:
        found.append("kept")
    law, other = integer_law(first), integer_law(second)
    if (law.start, law.stop) != (other.start, other.stop):
        found.append("window")
    elif np.abs(law.pmf - other.pmf).sum() / 2 > 1e-14:
        found.append("pmf")
    return found


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("size", [1, 7, 64, 1_000, BLOCK + 1])
def test_chunks_of_any_size_give_one_summary(regime: str, size: int) -> None:
    p = _rows(regime)[: 300 * size]
    state = PowerSums()
    for first in range(0, len(p), size):
        state.update(p[first : first + size])
    assert differences(state, PowerSums.from_probabilities(p)) == []


@pytest.mark.parametrize("regime", REGIMES)
def test_merging_in_any_order_and_grouping(regime: str) -> None:
    p = _rows(regime)
    whole = PowerSums.from_probabilities(p)
    rng = np.random.default_rng(5)
    parts = [PowerSums.from_probabilities(part) for part in np.array_split(p, 11)]
    parts.append(PowerSums())
    before = [(part.n, part.mean, part.kept.copy(), part.sums.copy()) for part in parts]
    shuffled = [parts[k] for k in rng.permutation(len(parts))]
    left = reduce(PowerSums.merge, parts)
    right = reduce(lambda merged, part: part.merge(merged), reversed(parts))
    tree = list(shuffled)
    while len(tree) > 1:
        tree.append(tree.pop(0).merge(tree.pop(0)))
    for merged in (left, right, tree[0], reduce(PowerSums.merge, shuffled)):
        assert differences(merged, whole) == []
    for part, (n, mean, kept, sums) in zip(parts, before, strict=True):
        assert (part.n, part.mean) == (n, mean)
        np.testing.assert_array_equal(part.kept, kept)
        np.testing.assert_array_equal(part.sums, sums)


@pytest.mark.parametrize("regime", REGIMES)
def test_row_order_and_multiplicity_do_not_matter(regime: str) -> None:
    p = _rows(regime)
    whole = PowerSums.from_probabilities(p)
    rng = np.random.default_rng(6)
    assert differences(PowerSums.from_probabilities(rng.permutation(p)), whole) == []
    assert differences(PowerSums.from_probabilities(p, np.ones(len(p), dtype=int)), whole) == []
    doubled, twice = PowerSums.from_probabilities(np.repeat(p, 2)), whole.merge(whole)
    counted = PowerSums.from_probabilities(p, np.full(len(p), 2.0))
    for name in ("n", "n_certain_negative", "n_certain_positive"):
        assert getattr(doubled, name) == getattr(counted, name) == getattr(twice, name)
    for other in (counted, twice):
        pmf = np.zeros(doubled.n + 1)
        for state, weight in ((doubled, 1.0), (other, -1.0)):
            law = integer_law(state)
            pmf[law.start : law.stop] += weight * law.pmf
        assert np.abs(pmf).sum() / 2 < 1e-14


@pytest.mark.parametrize("regime", REGIMES)
def test_planted_differences_are_caught(regime: str) -> None:
    p = _rows(regime)
    whole = PowerSums.from_probabilities(p)
    wrong = p.copy()
    wrong[np.argmax((p > 0) & (p < 1))] += 1e-6
    assert "pmf" in differences(PowerSums.from_probabilities(wrong), whole)
    assert "n" in differences(PowerSums.from_probabilities(p[1:]), whole)
    assert "n_certain_negative" in differences(
        PowerSums.from_probabilities(np.append(p[1:], 0.0)), whole
    )


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 10**6)), max_size=30),
    st.integers(0, 30),
)
def test_moments_equal_exact_rationals(rows: list[tuple[float, int]], cut: int) -> None:
    state = PowerSums()
    for part in (rows[:cut], rows[cut:]):
        state.update([p for p, _ in part], [count for _, count in part])
    exact = [(Fraction(p), count) for p, count in rows]
    mean = sum((p * count for p, count in exact), Fraction(0))
    variance = sum((p * (1 - p) * count for p, count in exact), Fraction(0))
    assert state.n == sum(count for _, count in rows)
    assert state.mean == pytest.approx(float(mean), rel=1e-15, abs=1e-300)
    assert state.mean_from(round(mean)) == pytest.approx(float(mean - round(mean)), abs=1e-13)
    assert state.variance == pytest.approx(float(variance), rel=1e-14, abs=1e-300)


@pytest.mark.parametrize("regime", REGIMES)
def test_logarithms_equal_50_digits(regime: str) -> None:
    p = _rows(regime)
    p = p[(p > 0.0) & (p < 1.0)]
    state = PowerSums.from_probabilities(p)
    with mpmath.workdps(50):
        none = float(mpmath.fsum(mpmath.log(1 - mpmath.mpf(x)) for x in p[:3_000]))
        every = float(mpmath.fsum(mpmath.log(mpmath.mpf(x)) for x in p[:3_000]))
    if p.sum() <= KEPT_VARIANCE:
        assert state.log_prob_none == pytest.approx(none, rel=1e-14)
    else:
        assert state.log_prob_none == -math.inf
        assert none < -KEPT_VARIANCE
    if (1 - p).sum() <= KEPT_VARIANCE:
        assert state.log_prob_all == pytest.approx(every, rel=1e-14)
    else:
        assert state.log_prob_all == -math.inf
        assert every < -KEPT_VARIANCE


@pytest.mark.parametrize(("few", "many"), [(0.95, 0.01), (0.05, 0.99)])
def test_logarithms_survive_the_end_of_the_convolution(few: float, many: float) -> None:
    state = PowerSums.from_probabilities([few], [30])
    assert state.is_complete
    state.update([many], [100])
    assert not state.is_complete
    exact_none = 30 * math.log1p(-few) + 100 * math.log1p(-many)
    assert state.log_prob_none == pytest.approx(exact_none, rel=1e-14)
    assert state.log_prob_all == pytest.approx(30 * math.log(few) + 100 * math.log(many), rel=1e-14)


def test_certain_rows_rule_out_none_and_all() -> None:
    state = PowerSums.from_probabilities([0.0, 0.5, 1.0])
    assert state.log_prob_none == state.log_prob_all == -math.inf
    assert PowerSums.from_probabilities([0.0, 0.5]).log_prob_none == math.log(0.5)
    assert PowerSums.from_probabilities([1.0, 0.5]).log_prob_all == math.log(0.5)
    assert PowerSums().log_prob_none == PowerSums().log_prob_all == 0.0


def _size(state: PowerSums) -> int:
    return state.sums.size + state.kept.size


@pytest.mark.parametrize("spread", [1e-4, 0.2, 1.0])
def test_the_state_does_not_grow(spread: float) -> None:
    rng = np.random.default_rng(8)
    state, sizes = PowerSums(), []
    for _ in range(40):
        state.update(rng.random(500) * spread)
        sizes.append(_size(state))
        # A kept row adds at least 7/64 to a variance of at most 800.
        assert sizes[-1] <= 2 * MAX_ORDER + 3 * KEPT_VARIANCE / (7 / 64)
    if spread == 1.0:
        assert sizes[-1] <= 2 * required_order(state.variance) < max(sizes)
    merged = reduce(PowerSums.merge, [state] * 20)
    assert _size(merged) <= sizes[-1] + 3 * KEPT_VARIANCE / (7 / 64)


def test_rows_of_multiplicity_zero_leave_no_trace() -> None:
    p = _rows("some kept")
    state = PowerSums.from_probabilities(p, np.arange(len(p)) % 2)
    odd = PowerSums.from_probabilities(p[1::2])
    assert differences(state, odd) == []
    assert _size(state) == _size(odd)


def test_single_precision_and_lists_are_welcome() -> None:
    p = np.array([0.25, 0.5, 0.125])
    for same in (p.astype(np.float32), p.tolist(), p.astype(object)):
        assert (
            differences(PowerSums.from_probabilities(same), PowerSums.from_probabilities(p)) == []
        )
    assert PowerSums.from_probabilities(np.array([True, False])).mean == 1.0
    assert PowerSums.from_probabilities([1.0 + 1e-12, -1e-12]).mean == 1.0


BAD: list[tuple[Any, Any, type[Exception], str]] = [
    (
        [0.5, 1.5, 2.0],
        None,
        ValueError,
        (
            "`p` must hold probabilities in [0, 1]; got 1.5 at row 1 (2 such values). "
            "Calibrate scores first, e.g. with `impute`."
        ),
    ),
    (
        [0.5, math.nan],
        None,
        ValueError,
        (
            "`p` must hold probabilities in [0, 1]; got nan at row 1 (1 such values). "
            "Calibrate scores first, e.g. with `impute`."
        ),
    ),
    (
        [[0.5, 0.25]],
        None,
        ValueError,
        "`p` must hold one probability per row, shape (2,); got (1, 2).",
    ),
    (
        ["a", "b"],
        None,
        TypeError,
        (
            "`p` must hold numbers in [0, 1]; got an array of dtype <U1. "
            "Convert it first, e.g. with `astype(float)`."
        ),
    ),
    (
        [0.5, 0.25],
        [1],
        ValueError,
        "`count` must hold one multiplicity per row of `p`, shape (2,); got (1,).",
    ),
    (
        [0.5, 0.25],
        [2, -1],
        ValueError,
        (
            "`count` must hold whole numbers of at least 0; got -1 at row 1 (1 such values). "
            "Weights that are no counts have no exact law."
        ),
    ),
    (
        [0.5, 0.25],
        [0.5, 2.0],
        ValueError,
        (
            "`count` must hold whole numbers of at least 0; got 0.5 at row 0 (1 such values). "
            "Weights that are no counts have no exact law."
        ),
    ),
    (
        [0.5],
        [True],
        TypeError,
        (
            "`count` must hold whole numbers; got an array of dtype bool. "
            "Convert it first, e.g. with `astype(int)`."
        ),
    ),
]


@pytest.mark.parametrize(("p", "count", "kind", "sentence"), BAD)
def test_bad_input_says_what_to_do(
    p: Sequence[Any], count: Sequence[Any] | None, kind: type[Exception], sentence: str
) -> None:
    state = PowerSums.from_probabilities([0.5, 0.25])
    with pytest.raises(kind) as error:
        state.update(p, count)
    # NumPy 2 shows its numbers as np.float64(1.5).
    assert re.sub(r"np\.float64\((.*?)\)", r"\1", str(error.value)) == sentence
    assert (state.n, state.mean) == (2, 0.75)


def test_orders_fall_with_the_variance_and_suffice() -> None:
    variances = np.geomspace(1e-6, 1e12, 400)
    orders = [required_order(v) for v in variances]
    assert orders[0] == MAX_ORDER
    assert sorted(orders, reverse=True) == orders
    for variance, order in zip(variances, orders, strict=True):
        largest_q = 0.5 if variance > KEPT_VARIANCE else 0.125
        assert series_error(order, largest_q, variance) <= TRUNCATION
    # Kept rows join the series where |z| <= 1/2.
    joining = 4e3 * largest_step(1e3) ** 2
    assert largest_step(joining) == pytest.approx(0.5)
    assert series_error(MAX_ORDER, 0.5, joining) <= TRUNCATION
    assert series_error(6, 0.5, 1e3) > TRUNCATION


@pytest.mark.parametrize(("q", "n_rows", "order"), [(0.125, 9, 6), (0.125, 300, 8), (0.5, 5000, 7)])
def test_the_error_bound_covers_the_true_remainder(q: float, n_rows: int, order: int) -> None:
    variance = n_rows * q * (1 - q)
    worst = mpmath.mpf(0)
    with mpmath.workdps(40):
        for w in np.linspace(0, 2 * math.asin(largest_step(variance) / 2), 200)[1:]:
            z = mpmath.expjpi(mpmath.mpf(w) / mpmath.pi) - 1
            series = mpmath.fsum((-1) ** (j + 1) * (q * z) ** j / j for j in range(1, order + 1))
            exact, cut = (1 + q * z) ** n_rows, mpmath.exp(n_rows * series)
            worst = max(worst, abs(exact - cut))
    bound = series_error(order, q, variance)
    assert float(worst) <= bound <= 20 * float(worst)


def test_sums_of_powers_equal_exact_rationals() -> None:
    rng = np.random.default_rng(9)
    q = rng.random(50) / 2
    sign, weight = rng.choice([-1.0, 1.0], 50), rng.integers(0, 9, 50).astype(float)
    for order in (2, 7, MAX_ORDER):
        found = sum_powers(np.array([q, sign, weight]), order)
        assert found.shape == (2, order)
        for j in range(1, order + 1):
            terms = [Fraction(x) ** j * int(w) for x, w in zip(q, weight, strict=True)]
            signed = sum(t * int(s) for t, s in zip(terms, sign, strict=True))
            assert found[0, j - 1] == pytest.approx(float(sum(terms)), rel=1e-14)
            assert found[1, j - 1] == pytest.approx(float(signed), abs=1e-14 * float(sum(terms)))
