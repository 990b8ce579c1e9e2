"""Matrices between forced choices and response sets against rationals (oracles, item 09)."""

import numpy as np
import pytest

from labelbayes.bounds.choice_models import (
    even_choice,
    membership,
    memberships_from_choices,
    pool_choices,
    random_error,
    response_sets,
    reverse_choice,
    reverse_error,
    sensitive_reverse,
)
from labelbayes.data.ratings import Ratings

#: Oracles, item 09, kind "algebra": theta*, F, E and what follows.
CASES = {
    "K2_no_error": {
        "theta": [0.5, 0.2, 0.3],
        "F": [[1.0, 0.0, 0.6], [0.0, 1.0, 0.4]],
        "E": np.eye(3),
        "theta_obs": [0.5, 0.2, 0.3],
        "O": [0.68, 0.32],
        "F_reverse": [
            [0.735294117647059, 0.0, 0.264705882352941],
            [0.0, 0.625, 0.375],
        ],
        "omega_true": [0.8, 0.5],
        "omega_obs": [0.8, 0.5],
    },
    "K2_error": {
        "theta": [0.25, 0.35, 0.4],
        "F": [[1.0, 0.0, 0.75], [0.0, 1.0, 0.25]],
        "E": [[0.9, 0.05, 0.1], [0.05, 0.9, 0.1], [0.05, 0.05, 0.8]],
        "theta_obs": [0.2825, 0.3675, 0.35],
        "O": [0.545, 0.455],
        "F_reverse": [
            [0.518348623853211, 0.0, 0.481651376146789],
            [0.0, 0.807692307692308, 0.192307692307692],
        ],
        "E_reverse": [
            [0.79646017699115, 0.0340136054421769, 0.0357142857142857],
            [0.0619469026548673, 0.857142857142857, 0.05],
            [0.141592920353982, 0.108843537414966, 0.914285714285714],
        ],
        "omega_true": [0.65, 0.75],
        "omega_obs": [0.6325, 0.7175],
    },
    "K2_theta_with_zero": {
        "theta": [0.0, 1.0, 0.0],
        "F": [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]],
        "E": np.eye(3),
        "theta_obs": [0.0, 1.0, 0.0],
        "O": [0.0, 1.0],
        "F_reverse": [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        "E_reverse": [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]],
        "omega_true": [0.0, 1.0],
        "omega_obs": [0.0, 1.0],
    },
    "K3_error": {
        "theta": [0.2, 0.15, 0.1, 0.2, 0.05, 0.1, 0.2],
        "F": [
            [1.0, 0.0, 0.0, 0.7, 0.6, 0.0, 0.5],
            [0.0, 1.0, 0.0, 0.3, 0.0, 0.55, 0.3],
            [0.0, 0.0, 1.0, 0.0, 0.4, 0.45, 0.2],
        ],
        "E": random_error(3, 0.1),
        "theta_obs": [
            *(0.193333333333333, 0.149166666666667, 0.105, 0.193333333333333),
            *(0.0608333333333333, 0.105, 0.193333333333333),
        ],
        "O": [0.461833333333333, 0.322916666666667, 0.21525],
        "omega_true": [0.65, 0.65, 0.45],
        "omega_obs": [0.640833333333333, 0.640833333333333, 0.464166666666667],
    },
}


@pytest.mark.parametrize("name", CASES)
def test_matrices_equal_rationals(name) -> None:
    case = CASES[name]
    theta, choice, error = (np.array(case[key], dtype=float) for key in ("theta", "F", "E"))
    n_options = len(choice)
    observed = error @ theta
    shares = choice @ observed
    reverse, undo = reverse_choice(choice, observed), reverse_error(error, theta)
    found = {
        "theta_obs": observed,
        "O": shares,
        "F_reverse": reverse,
        "E_reverse": undo,
        "omega_true": membership(n_options) @ theta,
        "omega_obs": membership(n_options) @ observed,
    }
    for key, value in found.items():
        if key in case:
            np.testing.assert_allclose(value, case[key], atol=1e-14, err_msg=key)
    # The way back: response sets, with and without the raters' error, from choices alone.
    np.testing.assert_allclose(
        memberships_from_choices([shares], reverse)[0], case["omega_obs"], atol=1e-14
    )
    np.testing.assert_allclose(
        memberships_from_choices([shares], reverse, reverse_error=undo)[0],
        case["omega_true"],
        atol=1e-14,
    )


def test_sets_are_ordered_by_size_and_then_by_option() -> None:
    assert response_sets(3) == ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))
    # Oracles, item 09, K3_error.
    assert membership(3).tolist() == [
        [1, 0, 0, 1, 1, 0, 1],
        [0, 1, 0, 1, 0, 1, 1],
        [0, 0, 1, 0, 1, 1, 1],
    ]
    np.testing.assert_allclose(even_choice(4).sum(axis=0), 1.0)


@pytest.mark.parametrize(
    ("share", "beta", "omega"),
    # Oracles, item 09, beta_sensitivity.
    [(0.3, 0.0, 0.3), (0.3, 0.25, 0.475), (0.3, 1.0, 1.0), (1.0, 0.4, 1.0), (0.0, 0.4, 0.4)],
)
def test_one_parameter_says_how_often_the_option_is_valid_though_unchosen(
    share, beta, omega
) -> None:
    found = memberships_from_choices([[share, 1 - share]], sensitive_reverse(2, 0, beta))
    # The option that was chosen stays in the set: its share is untouched.
    np.testing.assert_allclose(found, [[omega, 1 - share]], atol=1e-15)
    three = memberships_from_choices(
        [[(1 - share) / 2, share, (1 - share) / 2]], sensitive_reverse(3, 1, beta)
    )
    assert three[0, 1] == pytest.approx(omega)


def test_pooled_matrices_reproduce_the_pooled_sets() -> None:
    rng = np.random.default_rng(2)
    sets, n = response_sets(3), 400
    chosen = rng.integers(len(sets), size=n)
    options = np.array(["A", "B", "C"])
    item, rater, answer = [], [], []
    for i, v in enumerate(chosen):
        who = f"r{i % 2}"
        item += [i, i]
        rater += [who, who]
        answer += [str(options[rng.choice(sets[v])]), [str(options[k]) for k in sets[v]]]
    ratings = Ratings(item, rater, answer, options=list(options))
    choice, reverse = pool_choices(ratings)
    shares = ratings.count_array.sum(axis=0) / n
    theta = np.bincount(chosen, minlength=len(sets)) / n
    np.testing.assert_allclose(choice @ theta, shares, atol=1e-12)
    found = memberships_from_choices([shares], reverse)[0]
    np.testing.assert_allclose(found, membership(3) @ theta, atol=1e-12)


def _ratings(answers) -> Ratings:
    return Ratings([1, 1, 1], ["ann", "ann", "bob"], answers)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: response_sets(11), "at most 10 here; got 11"),
        (lambda: response_sets(1), "at least 2"),
        (
            lambda: reverse_choice([[1, 0], [0, 1]], [0.5, 0.5]),
            r"`choice` must have shape \(2, 3\)",
        ),
        (lambda: reverse_choice([[1, 0, 0.5], [0, 1, 0.4]], [0.5, 0.2, 0.3]), "sum to 1"),
        (lambda: reverse_choice([[0, 0, 0.5], [1, 1, 0.5]], [0.5, 0.2, 0.3]), "must be 0 where"),
        (lambda: reverse_choice(even_choice(2), [0.5, 0.2, 0.2]), "`theta` must hold"),
        (lambda: reverse_error([[1, 0], [1, 1]], [0.5, 0.5]), "`error` must hold"),
        (lambda: memberships_from_choices([[0.5, 0.5]], np.eye(3)), "`reverse` must have shape"),
        (lambda: sensitive_reverse(2, 2, 0.5), "`option` must be below"),
        (lambda: sensitive_reverse(2, 0, 1.5), "`beta` must lie in"),
        (
            lambda: pool_choices(_ratings(["A", ["B"], "B"])),
            r"'ann' chose 'A' outside it for item 1",
        ),
        (
            lambda: pool_choices(Ratings([1, 1], ["ann", "bob"], ["A", ["B"]])),
            "gave both a forced choice and",
        ),
    ],
)
def test_bad_input(call, sentence) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()
