"""Mixtures: weights by the probability of being defined, total variance, steps and slopes."""

import numpy as np
import pytest

from labelbayes.laws.beta_binomial import beta_binomial
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.count_law import CountLaw
from labelbayes.results.distribution import DiscreteLaw, DrawsLaw, Law
from labelbayes.results.mixture import MixtureLaw

RECALL = COUNT_METRICS["recall"]


def count_laws(*rates: float, known: tuple[int, int, int, int] = (0, 0, 0, 9)) -> tuple[Law, ...]:
    return tuple(
        CountLaw(RECALL, known, beta_binomial(4, r, 2), beta_binomial(5, r / 2, 3)) for r in rates
    )


def test_a_component_that_is_often_undefined_weighs_less() -> None:
    rare, usual = count_laws(0.05, 4.0)
    assert rare.undefined_prob > 0.8
    assert usual.undefined_prob < 0.1
    law = MixtureLaw((rare, usual))
    share = np.array([1 - rare.undefined_prob, 1 - usual.undefined_prob])
    weight = share / share.sum()
    assert law.undefined_prob == pytest.approx(1 - share.mean())
    assert law.mean == pytest.approx(weight @ [rare.mean, usual.mean])
    for t in (0.0, 0.3, 0.5, 1.0):
        mixed = weight @ [float(rare.cdf(t)), float(usual.cdf(t))]
        assert law.cdf(t) == pytest.approx(mixed, abs=1e-14)
        assert law.cdf(t) != pytest.approx((rare.cdf(t) + usual.cdf(t)) / 2, abs=1e-3) or t == 1.0


def test_variance_is_within_and_between() -> None:
    parts = tuple(
        CountLaw(RECALL, (1, 0, 1, 0), beta_binomial(20, rate, 2), beta_binomial(5, 1, 3))
        for rate in (0.3, 1.0, 6.0)
    )
    law = MixtureLaw(parts)
    within = np.mean([part.sd**2 for part in parts])
    between = np.var([part.mean for part in parts])
    assert law.sd**2 == pytest.approx(within + between)
    assert between > 0.1 * within


def test_a_mixture_is_its_pooled_draws() -> None:
    parts = count_laws(0.2, 1.5, 9.0)
    law = MixtureLaw(parts)
    n = 30_000
    # Each component is drawn n times, undefined draws among them.
    rng = np.random.default_rng(3)
    pooled = []
    for part in parts:
        defined = rng.binomial(n, part.defined_prob)
        pooled += [part.draws(defined, rng), np.full(n - defined, np.nan)]
    empirical = DrawsLaw(np.concatenate(pooled))
    assert law.undefined_prob == pytest.approx(empirical.undefined_prob, abs=0.01)
    t = np.linspace(0, 1, 101)
    limit = np.sqrt(np.log(2 / 1e-6) / (2 * n))
    assert abs(law.cdf(t) - empirical.cdf(t)).max() < limit
    # The plain average of the three cdfs forgets the condition, and is seen to.
    average = np.mean([part.cdf(t) for part in parts], axis=0)
    assert abs(average - empirical.cdf(t)).max() > limit


def test_count_laws_of_one_set_share_a_grid_and_others_do_not() -> None:
    shared = MixtureLaw(count_laws(0.2, 1.5))
    other = MixtureLaw((*count_laws(0.2), *count_laws(1.5, known=(2, 0, 1, 9))))
    kinds = MixtureLaw((*count_laws(0.2), NormalLaw(0.4, 0.1)))
    assert shared._grid is not None
    assert other._grid is None
    assert kinds._grid is None
    for law in (shared, other, kinds):
        for q in (0.01, 0.3, 0.5, 0.99):
            x = float(law.quantile(q))
            assert law.cdf(x) >= q - 1e-12
            assert 1 - law.prob_at_least(x) <= q + 1e-12


@pytest.mark.parametrize("undefined_first", [True, False])
def test_undefined_components_count_only_as_undefined(undefined_first: bool) -> None:
    nothing = NormalLaw(undefined_prob=1.0, undefined_reason="no row is positive")
    some = NormalLaw(0.5, 0.1)
    law = MixtureLaw((nothing, some) if undefined_first else (some, nothing))
    assert law.undefined_prob == 0.5
    assert law.undefined_reason == "no row is positive"
    assert law.mean == 0.5
    assert law.quantile(0.975) == pytest.approx(float(some.quantile(0.975)), abs=1e-15)


def test_steps_of_a_mixture_are_found_to_the_bit() -> None:
    law = MixtureLaw(
        (
            DiscreteLaw(np.array([0.0, 0.1 + 0.2]), np.array([0.5, 0.5])),
            DiscreteLaw(np.array([0.6]), np.ones(1)),
        )
    )
    assert law.quantile([0.25, 0.26, 0.5, 0.51]).tolist() == [0.0, 0.1 + 0.2, 0.1 + 0.2, 0.6]


def test_normal_components_invert_their_cdf() -> None:
    law = MixtureLaw((NormalLaw(0.3, 0.02), NormalLaw(0.6, 0.05), NormalLaw(0.62, 0.3)))
    q = np.linspace(0.01, 0.95, 30)
    assert law.cdf(law.quantile(q)) == pytest.approx(q, abs=1e-12)
    assert law.quantile([0.0, 1.0]).tolist() == [0.0, 1.0]
    points = MixtureLaw((NormalLaw(0.3, 0.0), NormalLaw(0.6, 0.0)))
    assert points.quantile([0.1, 0.5, 0.6]) == pytest.approx([0.3, 0.3, 0.6], abs=1e-15)
