"""Moments by Gauss rules against the sum over every pair of counts."""

import numpy as np
import pytest

from labelbayes.laws.beta_binomial import beta_binomial
from labelbayes.laws.poisson_binomial import poisson_binomial
from labelbayes.metrics.confusion import COUNT_METRICS, CountMetric, fbeta
from labelbayes.results.count_grid import CountGrid
from labelbayes.results.gauss_rule import Rule, gauss_rules
from labelbayes.results.integer_law import IntegerLaw
from labelbayes.results.quadrature import GRID_CELLS, pair_moments

METRICS = [*COUNT_METRICS.values(), fbeta(0.5)]
RNG = np.random.default_rng(0)

#: Windows in which a rule could fail: mass at either end, singular corners, P(undefined) of 1e-18.
WINDOWS = {
    "uniform to both ends": (beta_binomial(2000, 1, 1), beta_binomial(3000, 1, 1)),
    "arcsine to both ends": (beta_binomial(1000, 0.5, 0.5), beta_binomial(1500, 0.5, 7.5)),
    "20 expected, long window": (
        poisson_binomial(np.full(5000, 0.004)),
        poisson_binomial(RNG.random(50_000)),
    ),
    "20 expected, 20 expected": (
        poisson_binomial(np.full(5000, 0.004)),
        beta_binomial(4000, 20.5, 3000.5),
    ),
    "all but 20 expected": (
        poisson_binomial(np.full(5000, 0.996)),
        beta_binomial(4000, 3000.5, 20.5),
    ),
    "undefined at 1e-18": (beta_binomial(5000, 1, 1), poisson_binomial(np.full(4000, 34 / 4000))),
}
KNOWN = [(0, 0, 0, 0), (3, 1, 2, 9)]


def full_moments(grid: CountGrid) -> tuple[float, float]:
    """Mean and sd over all pairs, with sums in extended precision."""
    (first, second) = grid.pairs[0]
    v = second.support[None, :]
    weight = (first.pmf[:, None] * second.pmf[None, :]).astype(np.longdouble)
    values = grid.value(first.support[:, None], v)
    weight[np.isnan(values)] = 0.0
    values = np.nan_to_num(values)
    total = weight.sum()
    mean = (weight * values).sum() / total
    return float(mean), float(np.sqrt((weight * (values - mean) ** 2).sum() / total))


def moment_error(got: tuple[float, float], wanted: tuple[float, float]) -> float:
    scale = max(abs(wanted[0]), wanted[1])
    return max(abs(got[0] - wanted[0]) / scale, abs(got[1] - wanted[1]) / wanted[1])


@pytest.mark.parametrize("known", KNOWN, ids=["nothing known", "some known"])
@pytest.mark.parametrize("name", WINDOWS)
def test_moments_are_those_of_the_full_grid(name: str, known: tuple[int, int, int, int]) -> None:
    first, second = WINDOWS[name]
    # The largest window is 6 million pairs: two metrics stand for all.
    metrics = METRICS if len(first.pmf) < 2000 else METRICS[6::4]
    for metric in metrics:
        grid = CountGrid(metric, known, ((first, second),))
        got = pair_moments(grid.value, first, second)
        assert moment_error(got, full_moments(grid)) < 1e-12, metric.name


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_zero_margins_are_left_out(metric: CountMetric) -> None:
    first, second = beta_binomial(300, 1, 1), beta_binomial(250, 1, 1)
    assert len(first.pmf) * len(second.pmf) > GRID_CELLS
    grid = CountGrid(metric, (0, 0, 0, 0), ((first, second),))
    got = pair_moments(grid.value, first, second)
    assert moment_error(got, full_moments(grid)) < 1e-12


def bent(rule: Rule) -> Rule:
    """Return a rule that is wrong in the ninth digit."""
    points, weights = rule
    return points * (1 + 1e-9), weights


def test_a_wrong_rule_is_not_believed_and_two_wrong_rules_are_caught_here() -> None:
    recall = COUNT_METRICS["recall"]
    for wrong, error_is_small in [((0, 1), False), ((0,), True), ((1,), True)]:
        pair = poisson_binomial(np.full(9000, 0.1)), poisson_binomial(np.full(9000, 0.1))
        for law in pair:
            rules = gauss_rules(law.start, law.pmf, law.n)
            planted = tuple(bent(rule) if k in wrong else rule for k, rule in enumerate(rules))
            law.__dict__["rules"] = planted if law is pair[0] else rules
        grid = CountGrid(recall, (10, 0, 20, 0), (pair,))
        error = moment_error(pair_moments(grid.value, *pair), full_moments(grid))
        assert (error < 1e-12) is error_is_small


@pytest.mark.parametrize("name", WINDOWS)
def test_rules_keep_total_mean_and_variance(name: str) -> None:
    for law in WINDOWS[name]:
        for points, weights in law.rules:
            assert weights.sum() == pytest.approx(1.0, abs=1e-13)
            assert (weights >= 0).all()
            mean = float(points @ weights)
            assert mean == pytest.approx(float(law.support @ law.pmf), rel=1e-13, abs=0)
            spread = (law.support - mean) ** 2 @ law.pmf
            assert (points - mean) ** 2 @ weights == pytest.approx(spread, rel=1e-11, abs=0)


def test_never_defined_has_no_moments() -> None:
    none = IntegerLaw(0, np.ones(1), 0, 0.0, 0.0, 1.0, 1.0)
    grid = CountGrid(COUNT_METRICS["precision"], (0, 0, 3, 4), ((none, none),))
    assert np.isnan(pair_moments(grid.value, none, none)).all()


def test_few_points_are_kept_as_they_are() -> None:
    pmf = np.array([0.2, 0.5, 0.3])
    (coarse, fine) = gauss_rules(4, pmf, 30)
    for points, weights in (coarse, fine):
        assert points.tolist() == [4.0, 5.0, 6.0]
        assert weights.tolist() == pmf.tolist()
