import numpy as np
import pytest
import xarray as xr

from labelbayes.bayes.convergence import diagnose


def _posterior(draws: np.ndarray, **more: np.ndarray) -> xr.Dataset:
    columns = {"rate": draws, **more}
    return xr.Dataset({name: (("chain", "draw"), values) for name, values in columns.items()})


@pytest.fixture
def draws() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(4, 500))


def test_independent_draws_pass(draws) -> None:
    found = diagnose(_posterior(draws), 0)
    assert found.ok
    assert found.r_hat < 1.01
    assert found.ess_bulk > 1_500
    assert found.between_chain_gap < 0.3


def test_a_chain_in_its_own_mode_fails_without_a_divergence(draws) -> None:
    draws[2] += 2.0
    found = diagnose(_posterior(draws), 0)
    assert not found.ok
    assert found.divergences == 0
    assert found.between_chain_gap > 1
    assert found.problems[0].startswith("R-hat ")


def test_few_draws_fail(draws) -> None:
    (problem,) = diagnose(_posterior(draws[:, :20]), 0).problems[-1:]
    assert "effective draws are not above 400" in problem


def test_a_sticky_chain_fails(draws) -> None:
    sticky = np.repeat(draws[:, ::25], 25, axis=1)
    assert diagnose(_posterior(draws, spread=sticky), 0).worst == "spread"


def test_one_divergence_fails(draws) -> None:
    (problem,) = diagnose(_posterior(draws), 1).problems
    assert problem.startswith("1 divergent")


def test_one_chain_is_a_reason(draws) -> None:
    problems = diagnose(_posterior(draws[:1]), 0).problems
    assert problems[0] == "one chain has no R-hat: use chains=4"


def test_constants_are_skipped(draws) -> None:
    found = diagnose(_posterior(draws, accuracy=np.full((4, 500), 0.9)), 0)
    assert found.ok
    assert found.worst == "rate"
    constant = diagnose(_posterior(np.full((4, 500), 0.9)), 0)
    assert constant.ok
    assert np.isnan(constant.r_hat)


def test_undefined_draws_do_not_hide_the_others(draws) -> None:
    recall = draws.copy()
    recall[:, ::7] = np.nan
    assert diagnose(_posterior(draws, recall=recall), 0).ok
    recall[3] += 3.0
    found = diagnose(_posterior(draws, recall=recall), 0)
    assert not found.ok
    assert found.worst == "recall"


def test_three_draws_have_no_effective_number(draws) -> None:
    assert not diagnose(_posterior(draws[:, :3]), 0).ok
