"""Forced choices and response sets: the matrices that lead from one to the other.

With K options there are V = 2^K - 1 response sets, by size and then in the order of the options.
Laws of response sets are theta, laws of forced choices O, and

- choice F (K x V): P(choose k | response set S_v), so that O = F theta;
- reverse choice F' (K x V): P(S_v | k), so that theta = F'^T O;
- error E (V x V): P(observed S_v | true S_u), so that theta_observed = E theta;
- reverse error E' (V x V): P(true S_u | observed S_v), rows u;
- membership Lambda (K x V): whether k is in S_v, so that omega = Lambda theta is P(k in the set).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from labelbayes._checks import BoolArray, FloatArray, IntArray, check_type, check_unit, check_whole
from labelbayes.data.answers import SET
from labelbayes.data.ratings import Ratings

#: 2^10 - 1 response sets.
MOST_OPTIONS = 10


def response_sets(n_options: int) -> tuple[tuple[int, ...], ...]:
    """Return all response sets of some options.

    Parameters
    ----------
    n_options : int
        2 to 10.

    Returns
    -------
    tuple of tuple of int
        Places of the options in each set, by size and then in order.

    Raises
    ------
    ValueError
        If `n_options` is out of range.

    Examples
    --------
    >>> response_sets(2)
    ((0,), (1,), (0, 1))
    """
    k = check_whole("n_options", n_options, least=2)
    if k > MOST_OPTIONS:
        raise ValueError(f"`n_options` must be at most {MOST_OPTIONS} here; got {k}.")
    return tuple(chosen for size in range(1, k + 1) for chosen in combinations(range(k), size))


def membership(n_options: int) -> FloatArray:
    """Return Lambda: which option is in which response set.

    Parameters
    ----------
    n_options : int
        K, 2 to 10.

    Returns
    -------
    ndarray of float, shape (K, V)
        0 and 1.

    Raises
    ------
    ValueError
        If `n_options` is out of range.

    Examples
    --------
    >>> membership(2)
    array([[1., 0., 1.],
           [0., 1., 1.]])
    """
    sets = response_sets(n_options)
    return np.array([[float(k in chosen) for chosen in sets] for k in range(n_options)])


def even_choice(n_options: int) -> FloatArray:
    """Return F for raters who choose evenly among the options that they hold valid.

    Parameters
    ----------
    n_options : int
        K, 2 to 10.

    Returns
    -------
    ndarray of float, shape (K, V)
        Columns sum to 1.

    Raises
    ------
    ValueError
        If `n_options` is out of range.

    Examples
    --------
    >>> even_choice(2)
    array([[1. , 0. , 0.5],
           [0. , 1. , 0.5]])
    """
    table = membership(n_options)
    return table / table.sum(axis=0)


def reverse_choice(choice: npt.ArrayLike, theta: npt.ArrayLike) -> FloatArray:
    """Return F': the law of the response set behind each forced choice, by Bayes' rule.

    Parameters
    ----------
    choice : array_like of float, shape (K, V)
        F.
    theta : array_like of float, shape (V,)
        Law of the response sets.

    Returns
    -------
    ndarray of float, shape (K, V)
        Rows sum to 1; a row of zeros for an option that is never chosen.

    Raises
    ------
    ValueError
        If columns of F or theta do not sum to 1, or an option is chosen outside the set.

    Examples
    --------
    >>> reverse_choice([[1, 0, 0.6], [0, 1, 0.4]], [0.5, 0.2, 0.3]).round(3)
    array([[0.735, 0.   , 0.265],
           [0.   , 0.625, 0.375]])
    """
    matrix, law = _check_choice_matrix(choice), _check_law("theta", theta)
    joint = matrix * law
    total = joint.sum(axis=1, keepdims=True)
    return np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)


def reverse_error(error: npt.ArrayLike, theta: npt.ArrayLike) -> FloatArray:
    """Return E': the law of the true response set behind each observed one, by Bayes' rule.

    Parameters
    ----------
    error : array_like of float, shape (V, V)
        E; columns sum to 1.
    theta : array_like of float, shape (V,)
        Law of the true response sets.

    Returns
    -------
    ndarray of float, shape (V, V)
        Rows are true sets, columns observed ones and sum to 1; a column of zeros for a set that is
        never observed.

    Raises
    ------
    ValueError
        If columns of E or theta do not sum to 1.

    Examples
    --------
    >>> reverse_error(np.eye(3), [0.5, 0.5, 0.0]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    matrix, law = np.asarray(error, dtype=float), _check_law("theta", theta)
    for column in matrix.T:
        _check_law("error", column)
    joint = (matrix * law).T
    total = joint.sum(axis=0, keepdims=True)
    return np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)


def random_error(n_options: int, rate: float) -> FloatArray:
    """Return E for raters who report any other response set with a probability.

    Parameters
    ----------
    n_options : int
        K, 2 to 10.
    rate : float in [0, 1]
        P(the observed set is not the true one); all others are equally likely.

    Returns
    -------
    ndarray of float, shape (V, V)
        Columns sum to 1.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> random_error(2, 0.2)[0].tolist()
    [0.8, 0.1, 0.1]
    """
    n_sets = len(response_sets(n_options))
    e = check_unit("rate", rate)
    return (1 - e) * np.eye(n_sets) + e / (n_sets - 1) * (1 - np.eye(n_sets))


def memberships_from_choices(
    shares: npt.ArrayLike, reverse: npt.ArrayLike, *, reverse_error: npt.ArrayLike | None = None
) -> FloatArray:
    """Return P(option in the response set) from laws of forced choices.

    Parameters
    ----------
    shares : array_like of float, shape (n_items, K)
        O: laws of the forced choice, or shares of few ratings.
    reverse : array_like of float, shape (K, V)
        F'; one for all items, or the law of an item at hand.
    reverse_error : array_like of float, shape (V, V), optional
        E'; None for raters without error.

    Returns
    -------
    ndarray of float, shape (n_items, K)
        omega = Lambda E' F'^T O.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Notes
    -----
    F' holds for items whose response sets have the law that it was made with. Pooled over items
    it gives the average over items right, and pulls single items toward each other.

    Examples
    --------
    >>> reverse = reverse_choice([[1, 0, 0.6], [0, 1, 0.4]], [0.5, 0.2, 0.3])
    >>> memberships_from_choices([[0.68, 0.32]], reverse).round(3)
    array([[0.8, 0.5]])
    """
    table, matrix = np.atleast_2d(np.asarray(shares, dtype=float)), np.asarray(reverse, dtype=float)
    n_options = table.shape[1]
    sets = membership(n_options)
    if matrix.shape != sets.shape:
        raise ValueError(
            f"`reverse` must have shape {sets.shape} for {n_options} options; got {matrix.shape}."
        )
    theta = table @ matrix
    if reverse_error is not None:
        theta = theta @ np.asarray(reverse_error, dtype=float).T
    return theta @ sets.T


def sensitive_reverse(n_options: int, option: int, beta: float) -> FloatArray:
    """Return F' with one parameter: how often an option is valid though another was chosen.

    Parameters
    ----------
    n_options : int
        K, 2 to 10.
    option : int
        Place of the option that matters downstream.
    beta : float in [0, 1]
        P(`option` in the response set | another option was chosen); 0 means that the forced choice
        is all that is valid.

    Returns
    -------
    ndarray of float, shape (K, V)
        F'. The option that was chosen is in the set for certain.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Then omega of the option is O(option) + beta (1 - O(option)), and omega of any other its O.

    Examples
    --------
    >>> memberships_from_choices([[0.3, 0.7]], sensitive_reverse(2, 0, 0.25)).round(3)
    array([[0.475, 0.7  ]])
    """
    sets, share = response_sets(n_options), check_unit("beta", beta)
    wanted = check_whole("option", option, least=0)
    if wanted >= n_options:
        raise ValueError(f"`option` must be below `n_options`, {n_options}; got {option}.")
    matrix = np.zeros((n_options, len(sets)))
    for k in range(n_options):
        matrix[k, sets.index((k,))] += 1.0 if k == wanted else 1 - share
        if k != wanted:
            matrix[k, sets.index(tuple(sorted((k, wanted))))] += share
    return matrix


def pool_choices(ratings: Ratings) -> tuple[FloatArray, FloatArray]:
    """Return F and F' from raters who gave a forced choice and a response set for one item.

    Parameters
    ----------
    ratings : Ratings
        With such pairs; about 100 are enough for a few options.

    Returns
    -------
    choice : ndarray of float, shape (K, V)
        F, pooled over items. A set that never occurs has even choices.
    reverse : ndarray of float, shape (K, V)
        F'. An option that was never chosen stands for itself alone.

    Raises
    ------
    ValueError
        If there is no pair, or a rater chose an option outside the own response set.
    TypeError
        If `ratings` is no Ratings.

    Examples
    --------
    >>> ratings = Ratings(
    ...     [1, 1, 1, 2, 2],
    ...     ["ann", "ann", "bob", "bob", "bob"],
    ...     ["A", ["A", "B"], "B", "B", ["B"]],
    ... )
    >>> choice, reverse = pool_choices(ratings)
    >>> reverse.tolist()
    [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    check_type("ratings", ratings, Ratings)
    sets = response_sets(ratings.n_options)
    place = {chosen: v for v, chosen in enumerate(sets)}
    counts = np.zeros((ratings.n_options, len(sets)))
    for i, option, members in _paired(ratings):
        chosen = tuple(np.flatnonzero(members).tolist())
        if option not in chosen:
            raise ValueError(
                f"`ratings` must hold forced choices inside the rater's own response set; rater "
                f"{ratings.raters[ratings.rater[i]]!r} chose {ratings.options[option]!r} outside "
                f"it for item {ratings.items[ratings.item[i]]!r}. Leave such pairs out."
            )
        counts[option, place[chosen]] += 1
    if not counts.any():
        raise ValueError(
            "`ratings` must hold raters who gave both a forced choice and a response set for an "
            "item; there are none. Use `even_choice`, or `sensitive_reverse`."
        )
    of_set, of_option = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
    choice = np.where(of_set > 0, counts / np.maximum(of_set, 1), even_choice(ratings.n_options))
    alone = np.eye(*counts.shape)  # the first K sets hold one option each
    return choice, np.where(of_option > 0, counts / np.maximum(of_option, 1), alone)


def _paired(ratings: Ratings) -> list[tuple[int, int, BoolArray]]:
    """Return place of the choice, the option and the set of each pair."""
    key: IntArray = ratings.item * len(ratings.raters) + ratings.rater
    is_set = ratings.answers.state == SET
    members = dict(zip(key[is_set].tolist(), ratings.answers.members, strict=True))
    return [
        (int(i), int(ratings.answers.choice[i]), members[int(key[i])])
        for i in np.flatnonzero(ratings.answers.choice >= 0)
        if int(key[i]) in members
    ]


def _check_law(name: str, law: npt.ArrayLike) -> FloatArray:
    values = np.asarray(law, dtype=float)
    if values.ndim != 1 or not ((values >= 0).all() and abs(values.sum() - 1) < 1e-9):
        raise ValueError(f"`{name}` must hold probabilities that sum to 1; got {values.tolist()}.")
    return values


def _check_choice_matrix(choice: npt.ArrayLike) -> FloatArray:
    matrix = np.asarray(choice, dtype=float)
    sets = membership(len(matrix))
    if matrix.shape != sets.shape:
        raise ValueError(f"`choice` must have shape {sets.shape}; got {matrix.shape}.")
    for column in matrix.T:
        _check_law("choice", column)
    if (matrix[sets == 0] > 0).any():
        raise ValueError("`choice` must be 0 where an option is outside the response set.")
    return matrix
