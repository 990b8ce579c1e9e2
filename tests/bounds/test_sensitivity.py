"""Tilted beliefs: bounds that enclose every law within the factor, tipping points, audits."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_expit, logit

from labelbayes.bounds.sensitivity import bound_tilt, tipping_odds_ratio, update_tilt
from labelbayes.bounds.worst_case import bound_worst_case
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.metrics.confusion import COUNT_METRICS

RNG = np.random.default_rng(8)
P = RNG.uniform(0.05, 0.95, 300)
Y = np.where(RNG.random(300) < 0.5, (RNG.random(300) < P).astype(float), np.nan)
ROWS = EvaluationSet(Y, P)
GIVEN = impute(ROWS, P)
REFITTED = impute(ROWS, "histogram", n_refits=8, rng=0)
NAMES = list(COUNT_METRICS)


def _within(factor: float, names: list[str], draws: int = 40) -> int:
    """Count laws under random row-wise factors that leave the enclosing laws."""
    bounds = bound_tilt(ROWS, GIVEN, 2.0, metrics=names)
    rng = np.random.default_rng(1)
    left = 0
    for k in range(draws):
        log_odds = rng.choice([-1, 1], 300) if k % 2 else rng.uniform(-1, 1, 300)
        p = expit(logit(P) + math.log(factor) * log_odds)
        laws = estimate_pemi(ROWS, impute(ROWS, p), metrics=names)
        for name in names:
            law, span = laws[name], bounds[name]
            left += span.low > law.quantile(0.025) + 1e-12
            left += span.high < law.quantile(0.975) - 1e-12
    # And the extremes that the bounds are made of.
    sign = np.where(ROWS.y_pred == 1, 1.0, -1.0)
    for side in (-1.0, 1.0):
        p = expit(logit(P) + side * sign * math.log(factor))
        laws = estimate_pemi(ROWS, impute(ROWS, p), metrics=names)
        for name in names:
            left += bounds[name].low > laws[name].quantile(0.025) + 1e-12
            left += bounds[name].high < laws[name].quantile(0.975) - 1e-12
    return left


def test_every_law_within_the_factor_is_enclosed() -> None:
    assert _within(2.0, NAMES) == 0


def test_a_larger_factor_escapes() -> None:
    assert _within(3.0, NAMES) > len(NAMES)


def test_no_tilt_is_the_interval_of_the_belief_and_a_huge_one_the_worst_case() -> None:
    for belief in (GIVEN, REFITTED):
        laws = estimate_pemi(ROWS, belief, metrics=NAMES)
        same = bound_tilt(ROWS, belief, 1.0, metrics=NAMES)
        worst = bound_worst_case(ROWS, metrics=NAMES)
        widest = bound_tilt(ROWS, belief, 1e12, metrics=NAMES)
        for name in NAMES:
            span = laws[name].interval()
            assert (same[name].low, same[name].high) == pytest.approx((span.low, span.high))
            ends = (worst[name].low, worst[name].high)
            assert (widest[name].low, widest[name].high) == pytest.approx(ends, abs=1e-9)
    assert same.statement == "sensitivity"
    assert same["f1"].ci_kind == "sensitivity"
    assert any("a factor between 0.5 and 2" in note for note in bound_tilt(ROWS, GIVEN, 2).notes)


def test_the_population_is_wider_and_keeps_its_own_level() -> None:
    sample = bound_tilt(ROWS, REFITTED, 1.5)
    population = bound_tilt(ROWS, REFITTED, 1.5, target="population", ci_prob=0.9)
    again = bound_tilt(ROWS, REFITTED, 1.5, target="population", ci_prob=0.9)
    for name in sample:
        assert population[name].width > sample[name].width * 0.9
        assert population[name].ci_prob == 0.9
        assert population[name].low == again[name].low


@pytest.mark.parametrize(("metric", "claim"), [("precision", 0.7), ("recall", 0.6), ("f1", 0.7)])
def test_the_claim_tips_at_the_point(metric: str, claim: float) -> None:
    tip = tipping_odds_ratio(ROWS, GIVEN, metric, claim)

    def prob(odds_ratio: float) -> float:
        tilted = GIVEN.tilt(odds_ratio)
        return estimate_pemi(ROWS, tilted, metrics=[metric])[metric].prob_at_least(claim)

    assert tip != 1.0
    log = math.log(tip)
    assert prob(math.exp(log * (1 - 1e-6))) >= 0.5 > prob(math.exp(log * (1 + 1e-6)))
    # Nothing nearer to 1 tips it, on either side.
    for share, sign in itertools.product(np.linspace(0, 0.999, 30), (-1, 1)):
        assert prob(math.exp(sign * abs(log) * share)) >= 0.5


def test_a_claim_that_fails_or_cannot_fail() -> None:
    assert tipping_odds_ratio(ROWS, GIVEN, "precision", 0.999) == 1.0
    assert math.isnan(tipping_odds_ratio(ROWS, GIVEN, "accuracy", 0.0))
    assert tipping_odds_ratio(ROWS, GIVEN, "precision", 0.7, prob=0.9) > tipping_odds_ratio(
        ROWS, GIVEN, "precision", 0.7, prob=0.1
    )


def _by_quadrature(p: np.ndarray, y: np.ndarray, sd: float) -> tuple[float, float]:
    def density(delta: float) -> float:
        q = expit(logit(p) + delta)
        return math.exp(
            -0.5 * (delta / sd) ** 2 + np.sum(y * np.log(q) + (1 - y) * np.log1p(-q)) + len(p) / 2
        )

    moments = [
        quad(lambda d, k=k: d**k * density(d), -8 * sd, 8 * sd, limit=400)[0] for k in range(3)
    ]
    mean = moments[1] / moments[0]
    return mean, math.sqrt(moments[2] / moments[0] - mean**2)


def test_an_audit_agrees_with_quadrature() -> None:
    rng = np.random.default_rng(3)
    rows = rng.choice(np.flatnonzero(~ROWS.is_labeled), 40, replace=False)
    audited = np.full(300, np.nan)
    audited[rows] = rng.random(40) < expit(logit(P[rows]) + 0.8)
    found = update_tilt(GIVEN, audited, delta_sd=0.7)
    wanted = _by_quadrature(P[rows], audited[rows], 0.7)
    assert found == pytest.approx(wanted, abs=1e-6)
    # Taking the audited labels for their opposites is not overlooked.
    assert abs(update_tilt(GIVEN, 1 - audited, delta_sd=0.7)[0] - wanted[0]) > 0.1
    # Each audited row adds about p (1 - p) to the precision (statistics of a logistic model).
    about = (1 / 0.7**2 + (P[rows] * (1 - P[rows])).sum()) ** -0.5
    assert found[1] == pytest.approx(about, rel=0.15)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda: bound_tilt(ROWS, GIVEN, 0.5),
            ValueError,
            "`max_odds_ratio` must be at least 1; got 0.5. 2 allows odds from half to twice",
        ),
        (
            lambda: bound_tilt(ROWS, GIVEN, 2, metrics=["roc_auc"]),
            ValueError,
            "`metrics` must be count metrics; got 'roc_auc'",
        ),
        (lambda: bound_tilt(ROWS, P, 2), TypeError, "`imputation` must be"),  # type: ignore[arg-type]
        (
            lambda: tipping_odds_ratio(ROWS, GIVEN, "f1", 0.5, prob=1.0),
            ValueError,
            "`prob` must",
        ),
        (lambda: update_tilt(GIVEN, np.full(300, np.nan)), ValueError, "a label somewhere"),
        (lambda: update_tilt(GIVEN, Y), ValueError, "must be nan on labeled rows"),
        (lambda: update_tilt(GIVEN, [1.0]), ValueError, "shape (300,)"),
        (
            lambda: update_tilt(GIVEN, np.where(np.isnan(Y), 0.4, np.nan)),
            ValueError,
            "must hold 1 (positive), 0 (negative) or nan; got 0.4",
        ),
        (lambda: update_tilt(GIVEN, 1 - Y, delta_sd=0), ValueError, "`delta_sd` must be positive"),
    ],
)
def test_bad_input_is_refused(
    call: Callable[[], object], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error) as raised:
        call()
    assert sentence in str(raised.value)


@pytest.mark.parametrize(("p", "n"), [(0.001, 100), (0.001, 20_000), (0.5, 200_000)])
def test_a_large_audit_moves_the_tilt_as_far_as_it_must(p: float, n: int) -> None:
    rows = EvaluationSet([1, 0] + [np.nan] * n, y_pred=np.arange(n + 2) % 2)
    audited = np.r_[np.nan, np.nan, np.ones(n)]
    mean, sd = update_tilt(impute(rows, np.full(n + 2, p)), audited)
    # A grid about the peak, which lies beyond eight prior standard deviations.
    grid = np.linspace(mean - 12 * sd, mean + 12 * sd, 100_001)
    log = -2 * grid**2 + n * log_expit(logit(p) + grid)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    assert mean == pytest.approx(weight @ grid, abs=1e-6)
    assert sd == pytest.approx(math.sqrt(weight @ (grid - mean) ** 2), rel=1e-5)
    assert sd > 0.05


def test_any_prior_gives_numbers_and_an_impossible_label_is_refused() -> None:
    rows = EvaluationSet([1, 0, np.nan], [0.9, 0.1, 0.5])
    audited = [np.nan, np.nan, 1.0]
    for sd in (1e-12, 1e3, 1e6):
        found = update_tilt(impute(rows, [0.3] * 3), audited, delta_sd=sd)
        assert all(map(math.isfinite, found))
        assert 0 < found[1] <= sd
    assert update_tilt(impute(rows, [1.0] * 3), audited)[1] == pytest.approx(0.5)
    with pytest.raises(ValueError, match=r"row 2 is 1 and its p is 0, which no tilt changes"):
        update_tilt(impute(rows, [0.0] * 3), audited)
