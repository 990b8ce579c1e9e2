"""The law of a difference of independent quantities against the list of all pairs."""

import numpy as np
import pytest

from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.results.count_law import CountLaw
from labelbayes.results.difference import DifferenceLaw
from labelbayes.results.integer_law import IntegerLaw
from labelbayes.results.protocol import MetricDistribution
from labelbayes.results.sampled import SampledLaw, draws_text
from labelbayes.results.value_table import (
    ValueTable,
    count_cells,
    merge_values,
    tabulate,
    tabulate_mixture,
    tabulate_sum,
)


def binomial(n: int, p: float) -> IntegerLaw:
    pmf = np.ones(1)
    for _ in range(n):
        pmf = np.convolve(pmf, [1 - p, p])
    return IntegerLaw(0, pmf, n, n * p, n * p * (1 - p), (1 - p) ** n, p**n)


def make_table(seed: int, size: int, n_fits: int = 3, *, loses: bool = True) -> ValueTable:
    """Values on a grid of twelfths, so that many differences are equal."""
    rng = np.random.default_rng(seed)
    values = np.sort(rng.choice(13, size, replace=False)) / 12
    mass = rng.dirichlet(np.ones(size), n_fits)
    return ValueTable(values, mass * (rng.uniform(0.2, 1, (n_fits, 1)) if loses else 1.0))


def pairs(a: ValueTable, b: ValueTable) -> tuple[np.ndarray, np.ndarray]:
    """Every difference, rounded, and its probability over the fits."""
    values = (12 * np.subtract.outer(a.values, b.values)).round() / 12
    mass = np.einsum("ri,rj->ij", a.mass, b.mass)
    support = np.unique(values)
    pmf = np.array([mass[values == x].sum() for x in support])
    return support, pmf / pmf.sum()


@pytest.mark.parametrize(("size_a", "size_b"), [(4, 9), (9, 4), (6, 6), (1, 5)])
@pytest.mark.parametrize("seed", range(3))
def test_every_answer_is_that_of_the_list(size_a: int, size_b: int, seed: int) -> None:
    a, b = make_table(seed, size_a), make_table(seed + 50, size_b)
    law = DifferenceLaw(a, b, 0.5, "either is")
    support, pmf = pairs(a, b)
    mean = support @ pmf
    assert law.mean == pytest.approx(mean, abs=1e-14)
    assert law.sd == pytest.approx(np.sqrt((support - mean) ** 2 @ pmf), abs=1e-14)
    cumulative = np.cumsum(pmf)
    np.testing.assert_allclose(law.cdf(support), cumulative, atol=1e-14)
    np.testing.assert_allclose(law.cdf(support - 1e-9), cumulative - pmf, atol=1e-14)
    np.testing.assert_allclose([law.prob_at_least(x) for x in support], 1 - cumulative + pmf)
    middle = (cumulative + np.append(0, cumulative[:-1])) / 2
    np.testing.assert_allclose(law.quantile(middle), support, atol=1e-12)
    np.testing.assert_allclose(law.quantile([0, 1]), support[[0, -1]], atol=1e-12)
    atoms = law.atoms()
    np.testing.assert_allclose(atoms.support, support, atol=1e-12)
    np.testing.assert_allclose(atoms.pmf, pmf, atol=1e-14)
    assert isinstance(law, MetricDistribution)
    assert (law.undefined_prob, law.undefined_reason) == (0.5, "either is")


def test_fits_are_shared_and_not_mixed_on_either_side() -> None:
    # Each fit makes both sides certain and equal: the difference is 0, though neither side is.
    side = ValueTable(np.array([0.2, 0.8]), np.eye(2))
    law = DifferenceLaw(side, side)
    assert (law.mean, law.sd, float(law.cdf(-1e-9)), float(law.cdf(0.0))) == (0.0, 0.0, 0.0, 1.0)
    alone = ValueTable(side.values, side.mass.mean(axis=0, keepdims=True))
    assert DifferenceLaw(alone, alone).sd == pytest.approx(0.3 * np.sqrt(2))


def test_quantiles_of_very_many_values_are_where_the_cdf_steps() -> None:
    rng = np.random.default_rng(0)
    tables = [merge_values(rng.random(3_000), rng.dirichlet(np.ones(3_000), 2)) for _ in range(2)]
    law = DifferenceLaw(*tables)
    for q in (1e-6, 0.025, 0.3, 0.5, 0.975, 1 - 1e-6):
        x = float(law.quantile(q))
        assert float(law.cdf(x)) >= q - 1e-12
        assert float(law.cdf(x - 2e-15)) < q
        nearest = abs(np.subtract.outer(tables[0].values, tables[1].values) - x).min()
        assert nearest < 1e-15


def test_a_quantile_takes_few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    values = [np.sort(rng.normal(0.5, 0.1, 2_000)) for _ in range(2)]
    law = DifferenceLaw(*(ValueTable(x, np.full((1, 2_000), 1 / 2_000)) for x in values))
    looks = 0
    scan = DifferenceLaw._scan

    def counted(self: DifferenceLaw, limit: float) -> object:
        nonlocal looks
        looks += 1
        return scan(self, limit)

    monkeypatch.setattr(DifferenceLaw, "_scan", counted)
    law.quantile([0.025, 0.5, 0.975])
    assert looks < 3 * 35  # halving alone would take about 50 each


def test_draws_follow_the_law() -> None:
    law = DifferenceLaw(make_table(1, 5), make_table(2, 6))
    drawn = law.draws(20_000, 3)
    support, pmf = pairs(law.first, law.second)
    shares = np.array([np.mean(abs(drawn - x) < 1e-9) for x in support])
    assert abs(shares - pmf).max() < 5 * np.sqrt(0.25 / 20_000)
    assert abs(shares - np.roll(pmf, 1)).max() > 5 * np.sqrt(0.25 / 20_000)
    np.testing.assert_array_equal(drawn, law.draws(20_000, 3))


def test_a_side_that_is_never_defined_leaves_nothing() -> None:
    nothing = ValueTable(np.empty(0), np.empty((3, 0)))
    for law in (
        DifferenceLaw(nothing, make_table(0, 4), 1.0, "no row"),
        DifferenceLaw(make_table(0, 4), nothing, 1.0, "no row"),
    ):
        assert law.is_undefined
        assert np.isnan([law.mean, law.sd, law.cdf(0.0), law.quantile(0.5)]).all()
        assert np.isnan(law.draws(3, 0)).all()
        assert len(law.atoms().support) == 0
        assert "undefined" in repr(law)
    # A fit in which one side is undefined weighs nothing.
    half = ValueTable(np.array([0.5, 1.0]), np.array([[1.0, 0.0], [0.0, 0.0]]))
    other = ValueTable(np.array([0.25]), np.array([[1.0], [1.0]]))
    assert DifferenceLaw(half, other, 0.5, "no row").mean == pytest.approx(0.25)


def test_a_list_too_long_is_refused() -> None:
    law = DifferenceLaw(make_table(0, 4), make_table(1, 5))
    with pytest.raises(ValueError, match=r"pairs of values; got 19 for 20.*or raise it\.$"):
        law.atoms(limit=19)
    assert len(law.atoms(limit=20).support) > 0


def test_tables_cannot_be_changed() -> None:
    table = make_table(0, 4)
    with pytest.raises(ValueError, match="read-only"):
        table.values[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        table.mass[0] = 1.0


def test_a_table_of_a_count_metric_is_its_law() -> None:
    first, second = binomial(6, 0.3), binomial(5, 0.6)
    law = CountLaw(COUNT_METRICS["f1"], (2, 1, 1, 3), first, second)
    table = tabulate(law.grid.value, [(first, second)])
    atoms = law.atoms()
    np.testing.assert_allclose(table.values, atoms.support)
    np.testing.assert_allclose(table.mass[0], atoms.pmf * law.defined_prob, atol=1e-15)
    mean, variance = table.moments
    assert (mean[0], variance[0]) == pytest.approx((law.mean, law.sd**2), abs=1e-13)
    assert count_cells([(first, second)]) == 42


def test_a_signed_sum_is_listed_without_its_combinations() -> None:
    fits = [(binomial(6, 0.3), binomial(5, 0.6)), (binomial(6, 0.8), binomial(5, 0.1))]
    wanted = tabulate(lambda u, v: (u - v) / 7, fits)
    found = tabulate_sum(lambda total: total / 7, [1, -1], fits)
    np.testing.assert_allclose(found.values, wanted.values, atol=1e-15)
    np.testing.assert_allclose(found.mass, wanted.mass, atol=1e-15)


def test_a_mixture_is_the_mean_of_the_fits() -> None:
    fits = [(binomial(6, 0.3), binomial(5, 0.6)), (binomial(6, 0.8), binomial(5, 0.1))]

    def function(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.where(u + v > 0, u / np.maximum(u + v, 1), np.nan)

    table, mixed = tabulate(function, fits), tabulate_mixture(function, fits)
    np.testing.assert_array_equal(mixed.values, table.values)
    np.testing.assert_allclose(mixed.mass[0], table.mass.mean(axis=0), atol=1e-16)
    lost = np.mean([first.prob_none * second.prob_none for first, second in fits])
    assert mixed.defined[0] == pytest.approx(1 - lost, abs=1e-14)


def test_draws_take_what_is_known_of_them() -> None:
    values = np.array([0.2, 0.4, np.nan])
    law = SampledLaw(values, "no row", 0.31, 0.11, 1e-9)
    assert (law.mean, law.sd, law.undefined_prob) == (0.31, 0.11, 1e-9)
    open_law = SampledLaw(values, "no row")
    assert open_law.mean == pytest.approx(0.3)
    assert open_law.sd == pytest.approx(0.1)
    assert open_law.undefined_prob == pytest.approx(1 / 3)
    never = SampledLaw(np.array([np.nan]), "no row", 0.5, 0.1, 1 - 1e-12)
    assert never.is_undefined
    assert np.isnan([never.mean, never.sd]).all()
    # At 40,000 draws the band is half as wide as at 10,000.
    assert draws_text(40_000) == "40,000 draws, cdf within 0.0068 (DKW, 95%)"
