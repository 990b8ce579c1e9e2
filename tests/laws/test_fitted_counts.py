"""Laws of a count under many fits at once, against exact rationals and one law at a time."""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from labelbayes.laws.fitted_counts import MOST_GROUPS, MOST_ROWS, are_few, fitted_laws
from labelbayes.laws.missing_counts import WeightedP
from labelbayes.laws.poisson_binomial import poisson_binomial
from labelbayes.results.integer_law import IntegerLaw


def exact_pmf(p: Sequence[float], count: Sequence[int]) -> list[Fraction]:
    """Return the law of the count in exact rationals."""
    pmf = [Fraction(1)]
    for rate, n in zip(map(Fraction, p), count, strict=True):
        binomial = [comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]
        longer = [Fraction(0)] * (len(pmf) + n)
        for i, left in enumerate(pmf):
            for j, right in enumerate(binomial):
                longer[i + j] += left * right
        pmf = longer
    return pmf


def error(law: IntegerLaw, exact: Sequence[Fraction]) -> float:
    """Return the largest relative error of the probabilities of the window."""
    inside = exact[law.start : law.stop]
    return max(
        float(abs(Fraction(float(found)) / true - 1)) if true else float(found)
        for found, true in zip(law.pmf, inside, strict=True)
    )


CASES = [
    ([[0.3, 0.9], [0.01, 0.5], [1e-9, 1 - 1e-9]], [4, 3]),
    ([[0.2, 0.5, 0.7], [0.999, 0.001, 0.5]], [20, 1, 43]),
    ([[0.0, 0.25], [1.0, 0.25], [0.0, 1.0]], [5, 6]),
    ([[0.5], [0.125]], [64]),
    ([[0.4, 0.6]], [0, 3]),
]


@pytest.mark.parametrize(("p", "count"), CASES)
def test_probabilities_are_right_to_round_off_tails_included(
    p: list[list[float]], count: list[int]
) -> None:
    laws = fitted_laws(np.array(p), np.array(count))
    for rates, law in zip(p, laws, strict=True):
        exact = exact_pmf(rates, count)
        assert error(law, exact) < 1e-12
        assert sum(exact[: law.start] + exact[law.stop :]) == 0  # nothing that can be is left out
        for found, true in ((law.prob_none, exact[0]), (law.prob_all, exact[-1])):
            assert found == pytest.approx(float(true), rel=1e-12)
        mean = sum(Fraction(rate) * n for rate, n in zip(rates, count, strict=True))
        assert law.mean == pytest.approx(float(mean), rel=1e-14)
        assert law.n == sum(count)


def test_a_wrong_rate_is_seen() -> None:
    law = fitted_laws(np.array([[0.3 * (1 + 1e-9), 0.9]]), np.array([4, 3]))[0]
    assert error(law, exact_pmf([0.3, 0.9], [4, 3])) > 1e-12


@pytest.mark.parametrize("n_rows", [65, 300, MOST_ROWS])
def test_it_is_the_law_of_each_fit(n_rows: int) -> None:
    rng = np.random.default_rng(0)
    count = rng.multinomial(n_rows, np.full(7, 1 / 7))
    p = rng.beta(0.5, 0.5, size=(40, 7))
    for rates, law in zip(p, fitted_laws(p, count), strict=True):
        one = poisson_binomial(rates, count)
        support = np.arange(n_rows + 1)
        # `poisson_binomial` has an absolute error of up to 1e-13 here.
        np.testing.assert_allclose(law.prob(support), one.prob(support), rtol=0, atol=1e-13)
        np.testing.assert_allclose(
            [law.mean, law.variance, law.prob_none, law.prob_all],
            [one.mean, one.variance, one.prob_none, one.prob_all],
            rtol=1e-11,
            atol=1e-300,
        )
        assert abs(law.pmf.sum() - 1) < 1e-14


def test_many_fits_are_as_one_by_one() -> None:
    p = np.random.default_rng(0).uniform(size=(700, 2))
    count = np.array([300, 200])
    together = fitted_laws(p, count)  # several blocks
    for i in (0, 511, 699):
        alone = fitted_laws(p[i : i + 1], count)[0]
        assert together[i].start == alone.start
        np.testing.assert_array_equal(together[i].pmf, alone.pmf)


@pytest.mark.parametrize("count", [[MOST_ROWS + 1], [1] * (MOST_GROUPS + 1)])
def test_many_rows_or_groups_take_the_other_way(count: list[int]) -> None:
    p = np.full((2, len(count)), 0.4)
    assert not are_few(np.array(count))
    laws = WeightedP(p, np.array(count)).laws(slice(1, None))
    assert [law.n for law in laws] == [sum(count)]


def test_nothing_missing_is_a_point() -> None:
    law = fitted_laws(np.empty((1, 0)), np.empty(0, dtype=np.int64))[0]
    assert (law.start, law.pmf.tolist(), law.n, law.mean) == (0, [1.0], 0, 0.0)
    assert (law.prob_none, law.prob_all) == (1.0, 1.0)
