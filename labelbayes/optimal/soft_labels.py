"""Soft labels: what may be passed, counts of raters, the prior, and the bias of plain shares."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import minimize_scalar

from labelbayes._checks import (
    FloatArray,
    IntArray,
    check_open_unit,
    check_probabilities,
    check_real,
)
from labelbayes.data.columns import as_column, as_reals
from labelbayes.data.labels import read_labels

#: Positives that n labels of one class stand for.
LEAST_COUNT = 0.25


def check_soft_labels(name: str, values: npt.ArrayLike, *, least: int = 1) -> FloatArray:
    """Return soft labels as an array.

    Parameters
    ----------
    name : str
        Argument name.
    values : array_like of float, shape (n,)
        P(y = 1) of each item, in [0, 1].
    least : int, default 1
        How many there have to be.

    Returns
    -------
    ndarray of float, shape (n,)
        The values; not a copy where none is needed.

    Raises
    ------
    ValueError
        If a value is outside [0, 1] or missing, there are several columns, or too few items.
    TypeError
        If a value is no number.

    Examples
    --------
    >>> check_soft_labels("soft_labels", [0, 0.5])
    array([0. , 0.5])
    """
    array = _read_numbers(name, values)
    if len(array) < least:
        raise ValueError(f"`{name}` must hold at least {least} items; got {len(array)}.")
    if not (array.min() >= 0.0 and array.max() <= 1.0):
        return check_probabilities(name, array, len(array))
    return array


def _read_numbers(name: str, values: object) -> FloatArray:
    """Return one number per item, nan where missing; not a copy where none is needed."""
    try:
        column = as_column(name, values)
    except ValueError as error:
        raise ValueError(
            f"{error} The optimum of several classes is not offered: add up the columns that are "
            "positive."
        ) from None
    return as_reals(name, column).astype(np.float64, copy=False)


def check_counts(
    name: str, counts: npt.ArrayLike, n_ratings: npt.ArrayLike
) -> tuple[IntArray, IntArray]:
    """Return counts of positive answers, and how many raters answered.

    Parameters
    ----------
    name : str
        Argument name of the counts.
    counts : array_like of int, shape (n,)
        Raters who said positive.
    n_ratings : int or array_like of int, shape (n,)
        Raters in all, at least 1.

    Returns
    -------
    tuple of ndarray of int, shape (n,)
        Counts and raters.

    Raises
    ------
    ValueError
        If a number is not whole, negative, or a count exceeds its raters.
    TypeError
        If a value is no number.

    Examples
    --------
    >>> check_counts("soft_labels", [0, 3], 3)
    (array([0, 3]), array([3, 3]))
    """
    k = _read_numbers(name, counts)
    if not len(k):
        raise ValueError(f"`{name}` must hold at least one count; got none.")
    is_one = n_ratings is None or pd.api.types.is_scalar(n_ratings)
    m = (
        np.asarray(check_real("n_ratings", n_ratings))
        if is_one
        else _read_numbers("n_ratings", n_ratings)
    )
    if m.ndim and m.shape != k.shape:
        raise ValueError(
            f"`n_ratings` must be one number or one per item, shape {k.shape}; got {m.shape}."
        )
    m = np.broadcast_to(m, k.shape)
    for argument, values, lowest in (("n_ratings", m, 1), (name, k, 0)):
        bad = ~((values >= lowest) & (values == np.floor(values)) & np.isfinite(values))
        if bad.any():
            first = int(np.argmax(bad))
            raise ValueError(
                f"`{argument}` must hold whole numbers of at least {lowest}; got "
                f"{float(values[first])!r} at row {first} ({int(bad.sum())} such values). Leave "
                "out `n_ratings` for soft labels that are shares."
            )
    bad = k > m
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"`{name}` must not exceed `n_ratings`; got {int(k[first])} of {int(m[first])} at row "
            f"{first} ({int(bad.sum())} such values)."
        )
    return k.astype(np.int64), m.astype(np.int64)


def check_hard_labels(y_true: object, n_rows: int) -> FloatArray:
    """Return hard labels as 1, 0 and nan for missing.

    Parameters
    ----------
    y_true : array_like, shape (n_rows,)
        Labels 0 and 1; nan, None and NA are missing.
    n_rows : int
        Soft labels that they belong to.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        Labels, of both classes.

    Raises
    ------
    ValueError
        If their number differs, or the labels are not of two classes.

    Examples
    --------
    >>> check_hard_labels([True, False, None], 3)
    array([ 1.,  0., nan])
    """
    label = _plain_labels(y_true)
    if label is None:
        column = as_column("y_true", y_true)
        label, _, _ = read_labels(column, None, pos_label=None, missing=None)
    if len(label) != n_rows:
        raise ValueError(
            f"`y_true` must hold one label per soft label; got {len(label)} for {n_rows}."
        )
    n_positive, n_negative = int((label == 1).sum()), int((label == 0).sum())
    if not (n_positive and n_negative):
        raise ValueError(
            f"`y_true` must hold both classes; got {n_positive} positive and {n_negative} "
            "negative labels. Label items of the other class."
        )
    return label


def _plain_labels(y_true: object) -> FloatArray | None:
    """Return an array of numbers that are 0, 1 or nan at once; None for all else."""
    if not (isinstance(y_true, np.ndarray) and y_true.ndim == 1 and y_true.dtype.kind in "biuf"):
        return None
    if isinstance(y_true, np.ma.MaskedArray):
        return None
    label = y_true.astype(np.float64)
    is_plain = ((label == 0) | (label == 1) | np.isnan(label)).all()
    return label if is_plain else None


def check_metric(metric: object) -> None:
    """Raise unless the optimum of a metric follows from label noise: BER or AUC.

    Parameters
    ----------
    metric : object
        What was asked for.

    Raises
    ------
    ValueError
        If it is another metric.

    Examples
    --------
    >>> check_metric("ber")
    """
    if metric not in ("ber", "roc_auc"):
        raise ValueError(
            f"`metric` must be 'ber' or 'roc_auc'; got {metric!r}. Other optima, those of F-scores "
            "and of several classes among them, are not moved by label noise in a known way."
        )


def prior_of(eta: FloatArray, prior: float | None) -> float:
    """Return the prior: the given one, or the mean of the soft labels.

    Parameters
    ----------
    eta : ndarray of float, shape (n,)
        Soft labels.
    prior : float or None
        P(y = 1) where it is known, strictly between 0 and 1.

    Returns
    -------
    float
        `prior`, or the mean; 1/(4 n) or 1 - 1/(4 n) where the mean is 0 or 1.

    Raises
    ------
    ValueError
        If `prior` is not strictly between 0 and 1.

    Notes
    -----
    Hard labels of both classes have a mean from 1/n on; soft labels may have any. A floor under
    their mean would make few items of a rare class look separable, whatever their labels say.

    Examples
    --------
    >>> prior_of(np.zeros(10), None), prior_of(np.array([0.001, 0.002]), None)
    (0.025, 0.0015)
    """
    if prior is not None:
        return check_open_unit("prior", prior, "Leave it out to take the mean of the soft labels.")
    mean, least = float(eta.mean()), LEAST_COUNT / len(eta)
    if not 0 < mean < 1:
        return least if mean <= 0 else 1 - least
    return mean


class PlugInBias(NamedTuple):
    """Largest bias of plain shares k / m taken for P(y = 1 | x).

    Error and BER come out too low by at most this, the AUC too high.

    Attributes
    ----------
    error, ber, roc_auc : float
        Bounds of the bias, each at least 0.
    """

    error: float
    ber: float
    roc_auc: float


def bound_plug_in_bias(counts: npt.ArrayLike, n_ratings: npt.ArrayLike) -> PlugInBias:
    r"""Bound the bias of the optimum when the shares of raters are taken for P(y = 1 | x).

    Parameters
    ----------
    counts : array_like of int, shape (n,)
        Raters who said positive, k.
    n_ratings : int or array_like of int, shape (n,)
        Raters in all, m.

    Returns
    -------
    PlugInBias
        A bound for error, BER and AUC.

    Raises
    ------
    ValueError
        If a count is not whole, negative or above its raters.

    See Also
    --------
    build_soft_labels : Removes the bias instead of bounding it.

    Notes
    -----
    **Assumes** that raters answer independently with probability :math:`\eta = P(y = 1 | x)`.

    The optimum is concave in the soft labels, so that noise makes it look better. The noise of a
    share is at most :math:`\sqrt{V}` on average, with :math:`V = E[\eta(1 - \eta)/m]`, which
    :math:`k(m - k)/(m^2(m - 1))` estimates without bias where m > 1 (and 1/(4m) bounds). Hence the
    error is off by at most :math:`\sqrt{V}`, BER by :math:`\sqrt{V}/(4\theta(1 - \theta))` and
    AUC by :math:`\sqrt{2V}/(4\theta(1 - \theta))`, and no optimum by more than 1/2. For the error
    the bound of [1]_, which knows that labels near 0 and 1 are hardly off, is taken where it is
    smaller.

    References
    ----------
    .. [1] R. Ushio, T. Ishida, M. Sugiyama, Practical estimation of the optimal classification
       error with soft labels and calibration, arXiv:2505.20761, 2025.

    Examples
    --------
    >>> round(bound_plug_in_bias([0, 1, 5, 10], 10).error, 3)
    0.097
    """
    k, m = check_counts("counts", counts, n_ratings)
    spread = np.where(m > 1, k * (m - k) / (m**2 * np.maximum(m - 1, 1)), 0.25 / m)
    noise = math.sqrt(float(spread.mean()))
    share = k / m
    theta = prior_of(share, None)
    scale = 1 / (4 * theta * (1 - theta))
    plain = float(np.minimum(share, 1 - share).mean())
    error = min(noise, _bias_of_error(plain, int(m.min())))
    ber, roc_auc = (min(0.5, factor * noise * scale) for factor in (1.0, math.sqrt(2)))
    return PlugInBias(error, ber, roc_auc)


def _bias_of_error(plain: float, m: int) -> float:
    """Bound of the bias from m raters and any value that the optimal error cannot exceed.

    The bound rises with that value, so it is found from 1/2 downwards, each step valid.
    """
    most, bias = 0.5, 0.5
    for _ in range(50):
        bias = _bias_below(most, m)
        smaller = min(0.5, plain + bias)
        if most - smaller < 1e-9:
            break
        most = smaller
    return bias


def _bias_below(most: float, m: int) -> float:
    """Return inf over t of t(1-t)/(m(1-2t)) + sqrt(pi/(2m)) min(1, most/t)."""
    far = math.sqrt(math.pi / (2 * m))

    def bound(t: float) -> float:
        return t * (1 - t) / (m * (1 - 2 * t)) + far * min(1.0, most / t)

    # The bound falls, then rises, on the right of `most`; on its left it is about `far`.
    low = min(max(most, 1e-12), 0.499)
    found = minimize_scalar(bound, bounds=(low, 0.4999), method="bounded")
    return float(min(found.fun, far, bound(low)))
