"""Platt scaling: one score under many sets of weights at once, or several columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from labelbayes._checks import FloatArray

#: Prior variance of the Platt slope, per standard deviation of the input. Without a ridge the
#: slope of separable labels is infinite and every p is 0 or 1. In simulated sets with 30 to 50
#: labels of AUC .98, 95% intervals cover .57 to .75 with no ridge, .85 to .91 with this one and
#: less again with a stronger one; with 500 labels it makes no difference.
SLOPE_VARIANCE = 25.0

_MOST_STEPS = 200
_MOST_HALVINGS = 60

# Newton steps after which a loss that has not fallen beyond round-off is at its minimum. Steps
# still gain digits where the loss no longer shows it, hence so many.
_MOST_IDLE_STEPS = 50

Loss = Callable[[FloatArray, FloatArray], FloatArray]


def softplus(eta: FloatArray) -> FloatArray:
    """Return log(1 + e^eta), several times as fast as `numpy.logaddexp`.

    Parameters
    ----------
    eta : ndarray of float
        Log odds.

    Returns
    -------
    ndarray of float
        Minus the log of 1 less the probability.
    """
    return np.asarray(np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta))))


def fit_platt(
    z: FloatArray, positive: FloatArray, negative: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return Platt coefficients under many sets of weights at once.

    Damped Newton steps on the ridge-penalized logistic loss, which is strictly convex once both
    classes have weight; all sets step together, so 50 refits cost little more than one.

    Parameters
    ----------
    z : ndarray of float, shape (n_scores,)
        Standardized scores.
    positive, negative : ndarray of float >= 0, shape (n_sets, n_scores)
        Weight of positive and of negative labels at each score; both have some in each set.

    Returns
    -------
    slope, intercept : ndarray of float, shape (n_sets,)
        Coefficients, to a relative step of 1e-10, or as far as round-off of the loss allows.

    Raises
    ------
    RuntimeError
        If a loss still falls after 200 steps.
    """
    total = positive + negative
    slope = np.zeros(len(total))
    intercept = np.log(positive.sum(axis=1)) - np.log(negative.sum(axis=1))

    def loss(slope: FloatArray, intercept: FloatArray) -> FloatArray:
        eta = slope[:, None] * z + intercept[:, None]
        fit = (total * softplus(eta) - positive * eta).sum(axis=1)
        return np.asarray(fit + slope**2 / (2 * SLOPE_VARIANCE))

    current = loss(slope, intercept)
    n_idle = 0
    for _ in range(_MOST_STEPS):
        p = expit(slope[:, None] * z + intercept[:, None])
        excess = total * p - positive
        curvature = total * p * (1 - p)
        mass = np.maximum(curvature.sum(axis=1), np.finfo(float).tiny)
        middle = (curvature @ z) / mass
        # Around the weighted middle the two directions decouple: no determinant to cancel.
        spread = np.einsum("rk,rk->r", curvature, (z - middle[:, None]) ** 2)
        down = excess.sum(axis=1)
        slope_step = (excess @ z + slope / SLOPE_VARIANCE - middle * down) / (
            spread + 1 / SLOPE_VARIANCE
        )
        step = np.array([slope_step, down / mass - middle * slope_step])
        before = current
        step, current = _damp(step, slope, intercept, before, loss)
        slope, intercept = slope - step[0], intercept - step[1]
        if (np.abs(step) <= 1e-10 * (1 + np.abs([slope, intercept]))).all():
            return slope, intercept
        falls = (before - current > 1e-12 * np.abs(before)).any()
        n_idle = 0 if falls else n_idle + 1
        if n_idle == _MOST_IDLE_STEPS:
            return slope, intercept
    raise RuntimeError(f"Platt scaling did not converge in {_MOST_STEPS} steps.")


def fit_logistic(X: FloatArray, label: FloatArray, weight: FloatArray) -> tuple[FloatArray, float]:
    """Return logistic coefficients of several columns under one set of weights.

    The same penalized loss as `fit_platt`, one ridge for all columns, by the same damped steps.

    Parameters
    ----------
    X : ndarray of float, shape (n, k)
        Columns without the constant.
    label : ndarray of float, shape (n,)
        0 or 1, some of each.
    weight : ndarray of float > 0, shape (n,)
        Weights.

    Returns
    -------
    coefficients : ndarray of float, shape (k,)
        Coefficients, to a relative step of 1e-10, or as far as round-off of the loss allows.
    intercept : float
        Intercept.

    Raises
    ------
    RuntimeError
        If the loss still falls after 200 steps.
    """
    positive = weight * label
    ridge = np.eye(X.shape[1]) / SLOPE_VARIANCE
    theta = np.zeros(X.shape[1] + 1)
    theta[-1] = np.log(positive.sum()) - np.log((weight - positive).sum())

    def loss(theta: FloatArray) -> float:
        eta = X @ theta[:-1] + theta[-1]
        fit = (weight * softplus(eta) - positive * eta).sum()
        return float(fit + theta[:-1] @ theta[:-1] / (2 * SLOPE_VARIANCE))

    current = loss(theta)
    n_idle = 0
    for _ in range(_MOST_STEPS):
        p = expit(X @ theta[:-1] + theta[-1])
        excess, curvature = weight * p - positive, weight * p * (1 - p)
        mass = max(float(curvature.sum()), np.finfo(float).tiny)
        middle = (curvature @ X) / mass
        # Around the weighted middle the intercept decouples from the other directions.
        centered = X - middle
        down = float(excess.sum())
        pull = excess @ X + theta[:-1] / SLOPE_VARIANCE - middle * down
        step = np.linalg.solve((centered * curvature[:, None]).T @ centered + ridge, pull)
        step = np.append(step, down / mass - middle @ step)
        before, current = current, loss(theta - step)
        for _ in range(_MOST_HALVINGS):
            if current <= before + 1e-12 * abs(before):
                break
            step = step / 2
            current = loss(theta - step)
        theta = theta - step
        if (np.abs(step) <= 1e-10 * (1 + np.abs(theta))).all():
            return theta[:-1], float(theta[-1])
        n_idle = 0 if before - current > 1e-12 * abs(before) else n_idle + 1
        if n_idle == _MOST_IDLE_STEPS:
            return theta[:-1], float(theta[-1])
    raise RuntimeError(f"Platt scaling did not converge in {_MOST_STEPS} steps.")


def _damp(
    step: FloatArray, slope: FloatArray, intercept: FloatArray, current: FloatArray, loss: Loss
) -> tuple[FloatArray, FloatArray]:
    """Halve each set's step until its loss does not rise; return steps and new losses."""
    reached = loss(slope - step[0], intercept - step[1])
    for _ in range(_MOST_HALVINGS):
        rises = ~(reached <= current + 1e-12 * np.abs(current))
        if not rises.any():
            break
        step = np.where(rises, step / 2, step)
        reached = loss(slope - step[0], intercept - step[1])
    return step, reached
