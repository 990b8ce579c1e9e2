"""Agreement of laws of answers and of response sets, and of the decisions that follow.

One convention holds at every threshold: a share that reaches it (>=, to 1e-12) counts. Thresholds
meet shares in the precision in which these came, as cutoffs meet scores.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import rel_entr

from labelbayes._checks import BoolArray, FloatArray, IntArray, check_unit
from labelbayes.data.cutoffs import precision_of, round_cutoff
from labelbayes.metrics.agreement import same_shape

#: Probabilities below this are raised to it inside a logarithm, without renormalizing.
FLOOR = 1e-10
#: A share this close below a threshold reaches it: 0.7 + 0.1 is not quite 0.8 in binary.
SLACK = 1e-12


def kl_divergence(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the mean over items of the divergence of the second law from the first.

    Parameters
    ----------
    first, second : array_like of float, shape (n_items, n_options)
        Laws p and q of the answers.

    Returns
    -------
    float
        Mean of sum p ln(p / q), natural logarithms, in nats; both are raised to 1e-10 where they
        are smaller, so that it is finite.

    Raises
    ------
    ValueError
        If the shapes differ or a row is no law.

    Examples
    --------
    >>> round(kl_divergence([[0.5, 0.5]], [[0.25, 0.75]]), 4)
    0.1438
    """
    p, q = (np.maximum(law, FLOOR) for law in _laws(first, second))
    return float((p * np.log(p / q)).sum(axis=1).mean())


def cross_entropy(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the mean over items of the cross entropy of two laws.

    Parameters
    ----------
    first, second : array_like of float, shape (n_items, n_options)
        Laws p and q of the answers.

    Returns
    -------
    float
        Mean of -sum p ln(q), in nats; q is raised to 1e-10 where it is smaller.

    Raises
    ------
    ValueError
        If the shapes differ or a row is no law.

    Examples
    --------
    >>> round(cross_entropy([[1.0, 0.0]], [[0.5, 0.5]]), 4)
    0.6931
    """
    p, q = _laws(first, second)
    return float(-(p * np.log(np.maximum(q, FLOOR))).sum(axis=1).mean())


def js_distance(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the mean over items of the Jensen-Shannon distance of two laws.

    Parameters
    ----------
    first, second : array_like of float, shape (n_items, n_options)
        Laws of the answers.

    Returns
    -------
    float
        Mean of the root of the divergence in nats, in [0, sqrt(ln 2)].

    Raises
    ------
    ValueError
        If the shapes differ or a row is no law.

    Examples
    --------
    >>> round(js_distance([[1.0, 0.0]], [[0.0, 1.0]]), 4)
    0.8326
    """
    p, q = _laws(first, second)
    middle = (p + q) / 2
    divergence = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=1) / 2
    # SciPy's own distance takes the root of a round-off below 0 where laws are equal.
    return float(np.sqrt(np.maximum(divergence, 0.0)).mean())


def reach(shares: npt.ArrayLike, threshold: float) -> BoolArray:
    """Return which options reach a threshold: the one convention of this module.

    Parameters
    ----------
    shares : array_like of float
        Shares, such as P(option in the response set).
    threshold : float
        In [0, 1].

    Returns
    -------
    ndarray of bool
        Where share >= threshold, to 1e-12; the threshold is rounded to float16 or float32 where
        the shares came so.

    Examples
    --------
    >>> reach([0.7 + 0.1, 0.79], 0.8)
    array([ True, False])
    """
    table = np.asarray(shares)
    cutoff = round_cutoff(check_unit("threshold", threshold), precision_of(table))
    return table.astype(np.float64) >= cutoff - SLACK


def top_choice(shares: npt.ArrayLike) -> IntArray:
    """Return the option with the largest share of each item.

    Parameters
    ----------
    shares : array_like of float, shape (n_items, n_options)
        Shares or counts.

    Returns
    -------
    ndarray of int, shape (n_items,)
        Place of the option; -1 where the largest share is tied, 0 or nan. No tie is broken, for
        the result would depend on the order of the options.

    Examples
    --------
    >>> top_choice([[0.2, 0.8], [0.5, 0.5]])
    array([ 1, -1])
    """
    table = np.nan_to_num(np.asarray(shares, dtype=float))
    most = table.max(axis=1)
    is_top = table >= most[:, None] - SLACK
    is_clear = (is_top.sum(axis=1) == 1) & (most > 0)
    return np.where(is_clear, table.argmax(axis=1), -1)


def coverage(choice: npt.ArrayLike, members: npt.ArrayLike) -> float:
    """Return the share of items whose answer lies in a response set.

    Parameters
    ----------
    choice : array_like of int, shape (n_items,)
        Codes of the answers; items with a negative code are left out.
    members : array_like of bool, shape (n_items, n_options)
        Response sets.

    Returns
    -------
    float
        In [0, 1]; nan where no item has an answer.

    Examples
    --------
    >>> coverage([0, 1], [[True, True], [True, False]])
    0.5
    """
    codes, table = np.asarray(choice), np.asarray(members, dtype=bool)
    rows = np.flatnonzero(codes >= 0)
    return float(table[rows, codes[rows]].mean()) if len(rows) else math.nan


def set_error(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the mean squared error between two tables of P(option in the response set).

    Parameters
    ----------
    first, second : array_like of float, shape (n_items, n_options)
        Probabilities; they need not sum to 1.

    Returns
    -------
    float
        Mean over items of the sum over options of the squared difference.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> set_error([[1.0, 0.5]], [[1.0, 0.0]])
    0.25
    """
    a, b = same_shape(first, second)
    return float(((a - b) ** 2).sum(axis=1).mean())


def decide(members: npt.ArrayLike, options: npt.ArrayLike, threshold: float) -> BoolArray:
    """Return the downstream decision of each item: whether some options are likely valid.

    Parameters
    ----------
    members : array_like of float, shape (n_items, n_options)
        P(option in the response set).
    options : array_like of int
        Places of the options that lead to the decision, such as "unsafe".
    threshold : float
        The decision is taken where their sum, in the precision of `members`, reaches it, by the
        convention of `reach`.

    Returns
    -------
    ndarray of bool, shape (n_items,)
        Decisions.

    Examples
    --------
    >>> decide([[0.8, 0.5], [0.3, 0.9]], [0], 0.5)
    array([ True, False])
    """
    table = np.asarray(members)
    table = table.astype(precision_of(table))
    return reach(table[:, np.asarray(options)].sum(axis=1), threshold)


def consistency(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the share of items with the same decision.

    Parameters
    ----------
    first, second : array_like of bool, shape (n_items,)
        Decisions.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> consistency([True, False], [True, True])
    0.5
    """
    a, b = same_shape(first, second)
    return float((a == b).mean())


def decision_bias(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return how much more often the first decides than the second.

    Parameters
    ----------
    first, second : array_like of bool, shape (n_items,)
        Decisions, such as a judge's and the humans'.

    Returns
    -------
    float
        Difference of the shares, in [-1, 1].

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> decision_bias([True, True], [True, False])
    0.5
    """
    a, b = same_shape(first, second)
    return float(a.mean() - b.mean())


def _laws(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    a, b = same_shape(first, second)
    for name, law in (("first", a), ("second", b)):
        is_bad = ~((law >= 0).all(axis=1) & (np.abs(law.sum(axis=1) - 1) < 1e-9))
        if is_bad.any():
            row = int(np.argmax(is_bad))
            raise ValueError(
                f"`{name}` must hold probabilities that sum to 1 in each row; got {law[row]} in "
                f"row {row}. Divide counts by their sum."
            )
    return a, b
