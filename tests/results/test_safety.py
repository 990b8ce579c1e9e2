"""Results cannot be changed in place, come through pickle, and answer where little is defined."""

import copy
import pickle

import numpy as np
import pytest

import labelbayes as lb

ROWS = lb.EvaluationSet(
    [1, 0, None, 1, None, 0, None, 1], [0.9, 0.2, 0.8, 0.4, 0.3, 0.6, 0.7, 0.55]
)
BELIEF = lb.impute(ROWS, rng=0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: lb.estimate_pemi(ROWS, BELIEF),
        lambda: lb.estimate_pemi(ROWS, BELIEF, target="population", n_draws=50, rng=0),
        lambda: lb.estimate_labeled(ROWS, method="bootstrap", n_draws=50, rng=0),
        lambda: lb.estimate_shared_rate(ROWS, metrics=["f1", lb.fbeta(0.5)]),
        lambda: lb.bound_worst_case(ROWS),
        lambda: lb.ladder(ROWS, rng=0),
    ],
    ids=["pemi", "population", "bootstrap", "shared", "bounds", "ladder"],
)
def test_results_come_through_pickle_and_deepcopy(make) -> None:
    result = make()
    for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert repr(again) == repr(result)


def test_joint_draws_come_through_pickle() -> None:
    result = lb.estimate_pemi(ROWS, BELIEF)
    again = pickle.loads(pickle.dumps(result))
    assert again.draws(5, rng=1).equals(result.draws(5, rng=1))


def test_arrays_of_laws_are_read_only_and_not_the_callers() -> None:
    values = np.array([0.1, 0.4])
    law = lb.DrawsLaw(values)
    values[:] = 0
    assert law.mean == 0.25
    atoms = lb.DiscreteLaw([0.0, 1.0], [0.5, 0.5])
    pmf = lb.estimate_shared_rate(ROWS)["recall"].predicted_positive.pmf
    for array in (law.values, atoms.support, atoms.pmf, pmf):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


@pytest.mark.parametrize(
    ("support", "pmf", "sentence"),
    [
        ([1.0, 0.0], [0.5, 0.5], r"`support` must be ascending and as long as `pmf`; got shapes"),
        ([0.0, 1.0], [1.0, 1.0], r"`pmf` must sum to 1; got 2\.$"),
        ([0.0, 1.0], [1.5, -0.5], r"`pmf` must sum to 1; got 1\.$"),
    ],
)
def test_a_list_that_is_no_law_is_refused(support, pmf, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        lb.DiscreteLaw(support, pmf)


def test_draws_of_a_metric_that_is_rarely_defined_come_at_once() -> None:
    rows = lb.EvaluationSet([0, 0, None, None], y_pred=[0, 1, 1, 0])
    law = lb.estimate_pemi(rows, lb.impute(rows, np.full(4, 1e-9)))["recall"]
    draws = law.draws(4_000, rng=0)
    # Given one positive, it is as likely on either side: recall is 1 or 0.
    assert set(draws) == {0.0, 1.0}
    assert abs(draws.mean() - 0.5) < 4 * 0.5 / np.sqrt(4_000)


def test_few_joint_draws_use_every_refit() -> None:
    law = lb.estimate_pemi(ROWS, BELIEF)
    one = np.array([law.draws(1, rng=i)["recall"].values[0] for i in range(1_500)])
    exact = law["recall"]
    assert abs(one.mean() - exact.mean) < 4 * exact.sd / np.sqrt(1_500)
    # The planted error: the law of the first refit alone is far from the mixture.
    first = lb.estimate_pemi(ROWS, lb.impute(ROWS, BELIEF.refit(0)))["recall"]
    assert abs(first.mean - exact.mean) > 4 * exact.sd / np.sqrt(1_500)


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("exact", "sample"),
        ("gauss", "sample"),
        ("sampled", "sample"),
        ("exact", "population"),
    ],
)
def test_every_method_says_how_often_recall_is_undefined(method: str, target: str) -> None:
    rows = lb.EvaluationSet([0, 0, None, None], y_pred=[0, 1, 1, 0])
    belief = lb.impute(rows, np.full(4, 0.1))
    law = lb.estimate_pemi(rows, belief, method=method, target=target, rng=0)["recall"]
    # 0.9 squared; 4 standard errors of 10,000 draws.
    assert abs(law.undefined_prob - 0.81) < 4 * np.sqrt(0.81 * 0.19 / 10_000)
    assert law.undefined_reason == "no row is positive"


def test_a_low_level_widens_no_bounds() -> None:
    bounds = lb.bound_worst_case(ROWS, target="population", ci_prob=0.1)["recall"]
    bare = lb.bound_worst_case(ROWS)["recall"]
    assert (bounds.low, bounds.high) == (bare.low, bare.high)


def test_too_many_missing_rows_at_one_rate_are_refused_and_the_rung_is_named() -> None:
    rows = lb.EvaluationSet([1, 0, None], [0.9, 0.2, 0.8], count=[1, 1, 10**9])
    with pytest.raises(ValueError, match=r"at most 20,000,000 likely counts; 1,000,000,000 mis"):
        lb.estimate_shared_rate(rows)


def test_truth_of_other_rows_is_refused() -> None:
    other = lb.EvaluationSet([1, 0, 1, 0, 1], y_pred=[1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"`truth` must complete the evaluation's labels; .*dec"):
        lb.ladder(ROWS, truth=other)
    with pytest.raises(ValueError, match=r"`imputation` must be made from this evaluation; .*\.$"):
        lb.ladder(ROWS, imputation=lb.impute(other, "maxent"))
