"""Closed forms of Beta laws and Bernstein mixtures against quadrature and known values."""

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import beta as beta_law

from labelbayes.optimal.beta_mixture import (
    mean_distance,
    optimum_of_bernstein,
    optimum_of_beta,
)


def _by_quadrature(weight, a, b) -> tuple[float, float, float]:
    def density(eta: float) -> float:
        return float(np.dot(weight, beta_law.pdf(eta, a, b)))

    def cdf(eta: float) -> float:
        return float(np.dot(weight, beta_law.cdf(eta, a, b)))

    theta = float(np.dot(weight, np.array(a) / (np.array(a) + np.array(b))))
    points = [0.5, theta]
    error = quad(lambda t: min(t, 1 - t) * density(t), 0, 1, points=points, limit=200)[0]
    mad = quad(lambda t: abs(t - theta) * density(t), 0, 1, points=points, limit=200)[0]
    gini = quad(lambda t: 2 * cdf(t) * (1 - cdf(t)), 0, 1, limit=200)[0]
    scale = 4 * theta * (1 - theta)
    return error, 0.5 - mad / scale, 0.5 + gini / scale


@pytest.mark.parametrize(("a", "b"), [(2.0, 3.0), (1.5, 1.5), (7.0, 1.2), (30.0, 60.0)])
def test_beta_laws(a: float, b: float) -> None:
    found = optimum_of_beta(np.array([a]), np.array([b]))
    expected = _by_quadrature([1.0], [a], [b])
    assert [float(value[0]) for value in found] == pytest.approx(expected, abs=1e-8)


def test_the_arcsine_law() -> None:
    found = optimum_of_beta(np.array([0.5]), np.array([0.5]))
    assert found.error[0] == pytest.approx(0.5 - 1 / np.pi, abs=1e-14)
    assert found.roc_auc[0] == pytest.approx(0.90528, abs=1e-5)


def test_bernstein_mixtures() -> None:
    rng = np.random.default_rng(0)
    weight = rng.dirichlet(np.full(6, 0.5), 3)
    a = np.arange(1.0, 7)
    found = optimum_of_bernstein(weight)
    for i in range(3):
        expected = _by_quadrature(weight[i], a, 7 - a)
        assert [float(value[i]) for value in found] == pytest.approx(expected, abs=1e-8)


def test_equal_weights_are_the_uniform_law_and_one_part_is_a_beta_law() -> None:
    flat = optimum_of_bernstein(np.full((1, 20), 0.05))
    assert (flat.error[0], flat.ber[0], flat.roc_auc[0]) == pytest.approx((1 / 4, 1 / 4, 5 / 6))
    one = optimum_of_bernstein(np.eye(8)[[2]])
    other = optimum_of_beta(np.array([3.0]), np.array([6.0]))
    for name in one._fields:
        assert getattr(one, name)[0] == pytest.approx(getattr(other, name)[0], abs=1e-12)


def test_mean_distance() -> None:
    expected = dblquad(lambda y, x: abs(x - 0.3) * beta_law.pdf(x, 2, 5), 0, 1, 0, 1)[0]
    assert mean_distance(np.array(2.0), np.array(5.0), 0.3) == pytest.approx(expected, abs=1e-8)
