"""What every law answers, and laws that are lists of numbers."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.results.continuous import NormalLaw, RatioLaw
from labelbayes.results.count_law import CountLaw
from labelbayes.results.distribution import (
    ATOM_WIDTH,
    DiscreteLaw,
    DrawsLaw,
    Law,
)
from labelbayes.results.integer_law import IntegerLaw
from labelbayes.results.mixture import MixtureLaw
from labelbayes.results.protocol import MetricDistribution

COIN = IntegerLaw(0, np.array([0.4, 0.6]), 1, 0.6, 0.24, 0.4, 0.6)
NONE = IntegerLaw(0, np.ones(1), 0, 0.0, 0.0, 1.0, 1.0)
COUNTED = CountLaw(COUNT_METRICS["recall"], (3, 0, 1, 2), COIN, COIN)

LAWS: dict[str, Law] = {
    "discrete": DiscreteLaw(np.array([0.2, 0.5, 0.9]), np.array([0.2, 0.5, 0.3])),
    "draws": DrawsLaw(np.array([0.5, 0.1, np.nan, 0.8, 0.5]), "no row is positive"),
    "count": COUNTED,
    "normal": NormalLaw(0.6, 0.1),
    "ratio": RatioLaw(6.0, 10.0, 1.0, 1.0, 0.5),
    "mixture of normals": MixtureLaw((NormalLaw(0.4, 0.05), NormalLaw(0.7, 0.1))),
    "mixture of counts": MixtureLaw((COUNTED, COUNTED)),
    "mixture of draws": MixtureLaw(
        (DrawsLaw(np.array([0.2, 0.5])), DiscreteLaw(np.array([0.3]), np.ones(1)))
    ),
}
UNDEFINED: dict[str, Law] = {
    "discrete": DiscreteLaw(np.empty(0), np.empty(0), 1.0, "there are no rows"),
    "draws": DrawsLaw(np.array([np.nan, np.nan]), "there are no rows"),
    "no draws": DrawsLaw(np.empty(0), "there are no rows"),
    "count": CountLaw(COUNT_METRICS["accuracy"], (0, 0, 0, 0), NONE, NONE),
    "normal": NormalLaw(undefined_prob=1.0, undefined_reason="there are no rows"),
    "ratio": RatioLaw(
        0.0, 0.0, 1.0, 1.0, 0.0, undefined_prob=1.0, undefined_reason="there are no rows"
    ),
    "mixture": MixtureLaw(
        (NormalLaw(undefined_prob=1.0, undefined_reason="there are no rows"),) * 2
    ),
}
each_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
each_undefined = pytest.mark.parametrize("law", UNDEFINED.values(), ids=UNDEFINED)


@each_law
def test_every_law_answers_the_protocol(law: Law) -> None:
    assert isinstance(law, MetricDistribution)
    q = np.linspace(0.0, 1.0, 41)
    x = law.quantile(q)
    assert x.shape == q.shape
    assert (np.diff(x) >= 0).all()
    assert (law.cdf(x) >= q - 1e-9).all()
    below = np.array([1 - law.prob_at_least(value) for value in x])
    assert (below[1:] < q[1:] + 1e-9).all()
    t = np.linspace(-0.5, 1.5, 81)
    assert (np.diff(law.cdf(t)) >= 0).all()
    assert law.cdf([-np.inf, np.inf]).tolist() == [0.0, 1.0]
    assert law.prob_at_least(-np.inf) == 1.0
    assert law.prob_at_least(np.inf) == 0.0
    assert np.isnan(law.cdf([0.5, np.nan])).tolist() == [False, True]
    assert math.isnan(law.prob_at_least(math.nan))
    assert isinstance(float(law.cdf(0.5)), float)
    assert law.quantile([[0.1, 0.9]]).shape == (1, 2)


@each_law
def test_the_shortest_interval_is_no_longer_than_equal_tails(law: Law) -> None:
    for ci_prob in (0.5, 0.8, 0.95):
        eti, hdi = law.interval(ci_prob), law.interval(ci_prob, "hdi")
        assert hdi.width <= eti.width + 1e-12
        inside = float(law.cdf(hdi.high)) - (1 - law.prob_at_least(hdi.low))
        assert inside >= ci_prob - 1e-9
        assert 0.0 <= eti.low <= eti.high <= 1.0
        assert 0.0 <= hdi.low <= hdi.high <= 1.0


@each_law
def test_draws_have_the_law_and_their_seed(law: Law) -> None:
    drawn = law.draws(4_000, 5)
    assert np.array_equal(drawn, law.draws(4_000, 5))
    assert not np.array_equal(drawn, law.draws(4_000, 6))
    assert law.draws(0, 5).shape == (0,)
    t = np.linspace(0.0, 1.0, 401)
    apart = abs((drawn[:, None] <= t + ATOM_WIDTH).mean(axis=0) - law.cdf(t)).max()
    limit = math.sqrt(math.log(2 / 1e-6) / (2 * 4_000))  # Dvoretzky-Kiefer-Wolfowitz
    assert apart < limit
    moved = np.clip(drawn + 0.11, 0.0, 1.0)  # the same draws, planted beside the law
    assert abs((moved[:, None] <= t + ATOM_WIDTH).mean(axis=0) - law.cdf(t)).max() > limit


@each_law
def test_reprs_say_probability_and_kind(law: Law) -> None:
    text, page = repr(law), law._repr_html_()
    assert text.startswith(f"{type(law).__name__}(mean {law.mean:.4f}, sd {law.sd:.4f}, [")
    assert "(95% eti)" in text
    assert "95% eti" in page
    assert ("undefined with probability" in text) is (law.undefined_prob > 0)
    assert ("all numbers are given that it is defined" in page) is (law.undefined_prob > 0)
    assert not any(word in page for word in ("<style", "<svg", "id="))


@each_undefined
def test_never_defined_is_nan_with_a_reason(law: Law) -> None:
    assert law.is_undefined
    assert law.undefined_prob == 1.0
    assert law.defined_prob == 0.0
    assert law.undefined_reason == "there are no rows"
    span = law.interval()
    answers = [
        law.mean,
        law.sd,
        law.prob_at_least(0.5),
        span.low,
        span.high,
        *law.cdf([0.0, 1.0]),
        *law.quantile([0.0, 0.5, 1.0]),
        *law.draws(3, 0),
        law.interval(0.9, "hdi").low,
    ]
    assert np.isnan(answers).all()
    assert repr(law) == f"{type(law).__name__}(undefined: there are no rows)"
    assert "there are no rows" in law._repr_html_()


def test_discrete_law_by_hand() -> None:
    law = LAWS["discrete"]
    assert law.mean == pytest.approx(0.2 * 0.2 + 0.5 * 0.5 + 0.9 * 0.3)
    assert law.sd == pytest.approx(math.sqrt(0.2 * 0.04 + 0.5 * 0.25 + 0.3 * 0.81 - law.mean**2))
    assert law.cdf([0.2, 0.5, 0.9]) == pytest.approx([0.2, 0.7, 1.0])
    assert law.quantile([0.2, 0.2 + 1e-9, 0.7, 0.71]).tolist() == [0.2, 0.5, 0.5, 0.9]
    assert law.prob_at_least(0.5) == pytest.approx(0.8)
    assert law.prob_at_least(0.5 + 1e-12) == pytest.approx(0.3)


def test_an_atom_is_found_from_either_side_of_its_last_bit() -> None:
    law = DiscreteLaw(np.array([0.1 + 0.2, 0.7]), np.array([0.5, 0.5]))
    assert law.cdf(0.3) == 0.5
    assert law.prob_at_least(0.1 + 0.2 + 2**-54) == 1.0


def test_draws_law_counts_the_undefined() -> None:
    law = LAWS["draws"]
    assert law.undefined_prob == pytest.approx(0.2)
    assert law.mean == pytest.approx((0.5 + 0.1 + 0.8 + 0.5) / 4)
    assert law.sd == pytest.approx(np.std([0.5, 0.1, 0.8, 0.5]))
    assert law.cdf([0.1, 0.5]).tolist() == [0.25, 0.75]
    assert law.quantile([0.25, 0.26, 0.75]).tolist() == [0.1, 0.5, 0.5]
    assert law.prob_at_least(0.5) == 0.75


@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=40), q=st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_quantiles_of_draws_are_those_of_numpy(values: list[float], q: float) -> None:
    expected = np.quantile(values, q, method="inverted_cdf")
    found = float(DrawsLaw(np.array(values)).quantile(q))
    near = np.quantile(values, [max(0.0, q - 2e-13), min(1.0, q + 2e-13)], method="inverted_cdf")
    assert found in (expected, *near)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda law: law.quantile([0.5, 1.5]),
            ValueError,
            "`q` must hold probabilities in [0, 1]; got [0.5, 1.5].",
        ),
        (
            lambda law: law.quantile(math.nan),
            ValueError,
            "`q` must hold probabilities in [0, 1]; got nan.",
        ),
        (
            lambda law: law.interval(95),
            ValueError,
            "`ci_prob` must lie strictly between 0 and 1; got 95. Write 0.95 for 95%.",
        ),
        (
            lambda law: law.interval(0.9, "bounds"),
            ValueError,
            "`kind` must be one of 'eti', 'hdi'; got 'bounds'.",
        ),
        (lambda law: law.draws(-1, 0), ValueError, "`n` must be at least 0; got -1."),
        (lambda law: law.draws(2.5, 0), TypeError, "`n` must be a whole number; got float 2.5."),
        (
            lambda law: law.draws(2, "seed"),
            TypeError,
            "`rng` must be a numpy Generator, a whole number or None; got 'seed'.",
        ),
    ],
)
def test_bad_arguments_are_refused(
    call: Callable[[Law], object], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error) as raised:
        call(LAWS["discrete"])
    assert str(raised.value) == sentence
