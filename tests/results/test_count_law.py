"""Count laws and their grid: cdf and quantiles against lists, in small and in large windows."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelbayes.laws.beta_binomial import beta_binomial
from labelbayes.laws.poisson_binomial import poisson_binomial
from labelbayes.metrics.confusion import COUNT_METRICS, CountMetric, fbeta
from labelbayes.results import count_grid
from labelbayes.results.count_grid import FEW_CELLS, CountGrid
from labelbayes.results.count_law import CountLaw, merge_atoms
from labelbayes.results.distribution import DiscreteLaw, Law
from labelbayes.results.integer_law import IntegerLaw
from labelbayes.results.mixture import MixtureLaw

METRICS = [*COUNT_METRICS.values(), fbeta(0.5)]
LEVELS = [0.0, 1e-9, 0.025, 0.5, 1.0]


@pytest.fixture(params=["listed", "searched"], scope="module")
def small_grids(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small grids answered from their list, and by the search that serves large ones."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "searched":
            patch.setattr(count_grid, "MOST_LISTED", 0)
        yield


def listed_law(law: CountLaw) -> DiscreteLaw:
    """List the law cell by cell, without the grid's search."""
    first, second = law.predicted_positive, law.predicted_negative
    u, v = first.support[:, None].astype(float), second.support[None, :].astype(float)
    tp, fp, fn, tn = law.known
    values = law.metric(tp + u, fp + first.n - u, fn + v, tn + second.n - v)
    mass = first.pmf[:, None] * second.pmf[None, :]
    defined = ~np.isnan(values)
    support, pmf = merge_atoms(values[defined], mass[defined])
    return DiscreteLaw(support, pmf / max(pmf.sum(), 1e-300), float(mass[~defined].sum()))


@st.composite
def integer_laws(draw: st.DrawFn, largest: int = 9) -> IntegerLaw:
    n = draw(st.integers(0, largest))
    weights = draw(st.lists(st.floats(0.0, 1.0), min_size=n + 1, max_size=n + 1))
    pmf = np.array(weights) + 1e-3 * (np.arange(n + 1) == n // 2)
    pmf /= pmf.sum()
    k = np.arange(n + 1)
    mean = float(k @ pmf)
    return IntegerLaw(0, pmf, n, mean, float((k - mean) ** 2 @ pmf), float(pmf[0]), float(pmf[-1]))


@pytest.mark.usefixtures("small_grids")
@given(first=integer_laws(), second=integer_laws(), known=st.tuples(*[st.integers(0, 3)] * 4))
@settings(max_examples=15, deadline=None)
def test_small_laws_are_their_lists(
    first: IntegerLaw, second: IntegerLaw, known: tuple[int, int, int, int]
) -> None:
    for metric in METRICS:
        law = CountLaw(metric, known, first, second)
        listed = listed_law(law)
        assert law.undefined_prob == pytest.approx(listed.undefined_prob, abs=1e-14)
        assert law.defined_prob == pytest.approx(1 - listed.undefined_prob, abs=1e-14)
        assert [law.mean, law.sd] == pytest.approx([listed.mean, listed.sd], abs=1e-12, nan_ok=True)
        if law.is_undefined:
            continue
        between = (listed.support[1:] + listed.support[:-1]) / 2
        t = np.array([*listed.support[::3], *between[::3], -7.0, 7.0, -np.inf, np.inf])
        assert law.cdf(t) == pytest.approx(listed.cdf(t), abs=1e-13)
        at_least = [listed.prob_at_least(value) for value in t]
        assert [law.prob_at_least(value) for value in t] == pytest.approx(at_least, abs=1e-13)
        atoms = law.atoms()
        assert atoms.support == pytest.approx(listed.support, abs=1e-15)
        assert atoms.pmf == pytest.approx(listed.pmf, abs=1e-13)


def quantile_faults(law: Law, levels: list[float]) -> list[str]:
    """Say where a quantile is not the smallest value whose cdf reaches the level."""
    found = []
    for q, x in zip(levels, np.asarray(law.quantile(levels)), strict=True):
        if law.cdf(x) < q - 2e-13:
            found.append(f"cdf({x}) is below {q}")
        if q > 0 and 1 - law.prob_at_least(float(x)) >= q + 2e-13:
            found.append(f"a value below {x} reaches {q}")
    return found


def million(seed: int, shift: float = 0.0) -> tuple[IntegerLaw, IntegerLaw]:
    """Laws of U and V for a million rows with a law of p that `shift` moves."""
    rng = np.random.default_rng(seed)
    p = np.clip(rng.beta(0.7, 0.9, 1_000) + shift, 0.001, 0.999)
    count = rng.multinomial(1_000_000, np.full(1_000, 1e-3))
    high = p > 0.5
    return poisson_binomial(p[high], count[high]), poisson_binomial(p[~high], count[~high])


MILLION = million(0)
REFITS = [million(0, shift) for shift in (-0.01, 0.0, 0.01)]
KNOWN = (30_000, 9_000, 12_000, 50_000)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_quantiles_of_a_million_rows_are_the_smallest_that_reach(metric: CountMetric) -> None:
    law = CountLaw(metric, KNOWN, *MILLION)
    assert len(MILLION[0].pmf) * len(MILLION[1].pmf) > 1000 * FEW_CELLS
    assert quantile_faults(law, LEVELS) == []
    mixed = MixtureLaw(tuple(CountLaw(metric, KNOWN, *pair) for pair in REFITS))
    assert quantile_faults(mixed, LEVELS) == []


def test_a_quantile_one_atom_off_is_caught() -> None:
    law = CountLaw(COUNT_METRICS["accuracy"], KNOWN, *MILLION)

    class Off(CountLaw):
        step = 0.0

        def _quantile(self, q: float) -> float:
            return super()._quantile(q) + self.step

    off = Off(law.metric, law.known, *MILLION)
    assert quantile_faults(off, [0.025]) == []
    for step in (1e-6, -1e-6):  # accuracy moves in steps of one row in 1.1 million
        Off.step = step
        assert len(quantile_faults(off, [0.025])) == 1


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize(
    "pair",
    [MILLION, (beta_binomial(900, 1, 1), beta_binomial(700, 0.5, 3.5))],
    ids=["narrow", "to the ends"],
)
def test_the_cdf_never_falls(metric: CountMetric, pair: tuple[IntegerLaw, IntegerLaw]) -> None:
    law = CountLaw(metric, (2, 1, 0, 3), *pair)
    span = np.linspace(-6, 6, 121)
    t = np.clip(law.mean + law.sd * span, metric.lowest - 0.1, metric.highest + 0.1)
    cdf = law.cdf(t)
    assert (np.diff(cdf) >= 0).all()
    assert cdf[0] < 0.01
    assert cdf[-1] > 0.99


@pytest.mark.usefixtures("small_grids")
@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_intervals_stay_in_range_and_the_shortest_is_shortest(metric: CountMetric) -> None:
    for pair in (
        (beta_binomial(40, 1, 1), beta_binomial(30, 0.5, 8.5)),
        (poisson_binomial(np.full(30, 0.97)), poisson_binomial(np.full(50, 0.02))),
    ):
        law = CountLaw(metric, (5, 0, 1, 9), *pair)
        eti, hdi = law.interval(0.9), law.interval(0.9, "hdi")
        for span in (eti, hdi):
            assert metric.lowest <= span.low <= span.high <= metric.highest
            inside = float(law.cdf(span.high)) - (1 - law.prob_at_least(span.low))
            assert inside >= 0.9 - 1e-12
        assert hdi.width <= eti.width
        assert (hdi.ci_kind, eti.ci_kind, eti.ci_prob) == ("hdi", "eti", 0.9)


@pytest.mark.usefixtures("small_grids")
@pytest.mark.parametrize("p", [1e-6, 1e-9, 1e-12])
def test_almost_never_defined_is_still_right(p: float) -> None:
    rare = IntegerLaw(0, np.array([1 - p, p]), 1, p, p, 1 - p, p)
    law = CountLaw(COUNT_METRICS["recall"], (0, 0, 0, 5), rare, rare)
    # U = 1, V = 0: 1; U = 0, V = 1: 0; both: 1/2.
    total = 2 * p * (1 - p) + p * p
    weights = np.array([p * (1 - p), p * p, p * (1 - p)]) / total
    assert law.defined_prob == pytest.approx(total, rel=1e-12, abs=0)
    assert law.mean == pytest.approx(0.5, rel=1e-12, abs=0)
    assert law.cdf([0.0, 0.5, 1.0]) == pytest.approx(np.cumsum(weights), rel=1e-12, abs=0)
    assert law.quantile([0.2, 0.8]).tolist() == [0.0, 1.0]
    mirrored = IntegerLaw(0, np.array([p, 1 - p]), 1, 1 - p, p, p, 1 - p)
    twin = CountLaw(COUNT_METRICS["specificity"], (5, 0, 0, 0), mirrored, mirrored)
    assert twin.defined_prob == pytest.approx(total, rel=1e-12, abs=0)
    assert twin.cdf([0.0, 0.5, 1.0]) == pytest.approx(np.cumsum(weights), rel=1e-12, abs=0)


def test_defined_with_probability_below_round_off_is_undefined() -> None:
    rare = IntegerLaw(0, np.array([1.0, 1e-18]), 1, 1e-18, 1e-18, 1.0, 1e-18)
    law = CountLaw(COUNT_METRICS["recall"], (0, 0, 0, 5), rare, rare)
    assert law.undefined_prob == 1.0
    assert np.isnan([law.mean, law.sd, law.cdf(0.5), law.prob_at_least(0.5)]).all()
    assert np.isnan(law.draws(3, 0)).all()
    assert len(law.atoms().support) == 0
    assert repr(law) == "CountLaw(undefined: no row is positive)"


def test_a_window_without_a_defined_cell_is_undefined() -> None:
    """The engine's window may end before the first count whose probability is below 1e-16."""
    none = IntegerLaw(0, np.ones(1), 100, 1e-16, 1e-16, 1 - 1e-16, 0.0)
    law = CountLaw(COUNT_METRICS["recall"], (0, 0, 0, 5), none, none)
    assert law.undefined_prob < 1.0
    assert law.is_undefined
    assert np.isnan([law.mean, float(law.cdf(0.5)), float(law.quantile(0.5))]).all()


@pytest.mark.usefixtures("small_grids")
def test_grids_over_several_laws_mix_them() -> None:
    metric = COUNT_METRICS["balanced_accuracy"]
    pairs = [(beta_binomial(12, a, 2), beta_binomial(9, 1, a)) for a in (0.5, 3.0, 20.0)]
    grid = CountGrid(metric, (0, 0, 0, 0), tuple(pairs))
    laws = [CountLaw(metric, (0, 0, 0, 0), *pair) for pair in pairs]
    weight = np.array([law.defined_prob for law in laws])
    for t in np.linspace(0, 1, 23):
        mixed = sum(w * law.cdf(t) for w, law in zip(weight / weight.sum(), laws, strict=True))
        assert grid.mass_up_to(t + 1e-15) == pytest.approx(mixed, abs=1e-14)
    values, mass = grid.cells_between(-2.0, 2.0)
    assert mass.sum() == pytest.approx(1.0, abs=1e-14)
    assert not np.isnan(values).any()


def test_atoms_have_a_limit_that_says_so() -> None:
    law = CountLaw(COUNT_METRICS["f1"], KNOWN, beta_binomial(30, 1, 1), beta_binomial(20, 1, 1))
    assert law.atoms(651).pmf.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"got 650 for 651\.") as raised:
        law.atoms(650)
    assert str(raised.value).endswith("Use `cdf` or `quantile`, which need no list, or raise it.")


@pytest.mark.parametrize("name", ["recall", "matthews_corrcoef"])
def test_draws_follow_the_law(name: str) -> None:
    law = CountLaw(
        COUNT_METRICS[name], (0, 0, 0, 4), beta_binomial(5, 1, 3), beta_binomial(6, 1, 9)
    )
    assert law.undefined_prob > 0.05
    drawn = law.draws(20_000, 1)
    assert not np.isnan(drawn).any()
    assert np.array_equal(drawn, law.draws(20_000, 1))
    atoms = law.atoms()
    share = np.array([(abs(drawn - x) < 1e-12).mean() for x in atoms.support])
    # Dvoretzky-Kiefer-Wolfowitz at 1e-6, and the same for a law that is slightly another.
    limit = np.sqrt(np.log(2 / 1e-6) / (2 * 20_000))
    assert abs(np.cumsum(share) - np.cumsum(atoms.pmf)).max() < limit
    other = law.draws(20_000, 1) ** 2
    assert abs((other[:, None] <= atoms.support).mean(axis=0) - np.cumsum(atoms.pmf)).max() > limit


def test_merged_atoms_are_distinct_and_ascending() -> None:
    values = np.array([0.3, 0.1, 0.1 + 0.2, 0.5, 0.1])
    mass = np.array([0.2, 0.3, 0.1, 0.0, 0.4])
    support, pmf = merge_atoms(values, mass)
    assert support == pytest.approx([0.1, 0.3])
    assert pmf == pytest.approx([0.7, 0.3])
    assert len(merge_atoms(np.empty(0), np.empty(0))[0]) == 0


@pytest.mark.parametrize("name", ["accuracy", "precision", "npv", "recall", "f1", "jaccard"])
def test_many_limits_at_once_are_as_one_after_another(name: str) -> None:
    rng = np.random.default_rng(5)
    pairs = tuple(
        (poisson_binomial(rng.random(300) * share), poisson_binomial(rng.random(350) * share))
        for share in (0.6, 0.7)
    )
    for known in ((40, 10, 30, 60), (0, 0, 0, 0)):
        grid = CountGrid(COUNT_METRICS[name], known, pairs)
        # Values of the metric itself, to the bit and beside it, and values between.
        u, v = rng.integers(60, 140, 150), rng.integers(70, 160, 150)
        values = grid.value(u, v)
        limits = np.concatenate(
            [values, values - 1e-12, values + 1e-12, np.linspace(-0.1, 1.1, 200), [-np.inf, np.inf]]
        )
        expected = [grid.mass_up_to(limit) for limit in limits.tolist()]
        assert np.allclose(grid.masses_up_to(limits), expected, rtol=0, atol=1e-14)
        assert 0.0 < np.median(expected) < 1.0
