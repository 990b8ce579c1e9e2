"""Simulated soft labels of two Gaussian classes, whose best possible classifier is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtr

from labelbayes._checks import (
    FloatArray,
    IntArray,
    check_open_unit,
    check_real,
    check_whole,
    make_rng,
)


@dataclass(frozen=True, eq=False)
class SimulatedSoftLabels:
    """Soft and hard labels, and the truth behind them.

    Parameters
    ----------
    soft_labels : ndarray of float, shape (n,)
        P(y = 1 | x), distorted and perhaps noisy.
    y_true : ndarray of int, shape (n,)
        Hard labels.
    eta : ndarray of float, shape (n,)
        P(y = 1 | x) itself.
    error, ber, roc_auc : float
        Of the best possible classifier.
    """

    soft_labels: FloatArray
    y_true: IntArray
    eta: FloatArray
    error: float
    ber: float
    roc_auc: float


def simulate_soft_labels(
    n_items: int,
    *,
    prevalence: float = 0.2,
    distance: float = 2 * math.sqrt(2),
    slope: float = 0.5,
    shift: float = 0.7,
    noise_sd: float = 0.0,
    rng: np.random.Generator | int | None = None,
) -> SimulatedSoftLabels:
    """Return soft labels of items from two Gaussian classes with unit variance.

    Parameters
    ----------
    n_items : int >= 1
        Items.
    prevalence : float, default 0.2
        P(y = 1), strictly between 0 and 1.
    distance : float >= 0, default 2 sqrt(2)
        Between the class means: that of (0, 0) and (2, 2) in the plane.
    slope, shift : float, default 0.5 and 0.7
        The soft label is expit(slope logit(eta) + logit(shift)): 1 and 0.5 leave it undistorted,
        a slope below 1 makes it timid.
    noise_sd : float >= 0, default 0.0
        Standard deviation of noise on the logit of the soft label, which breaks its order.
    rng : numpy.random.Generator, int, optional
        Where items come from.

    Returns
    -------
    SimulatedSoftLabels
        Labels and the truth.

    Raises
    ------
    ValueError
        If an option is not as above.
    TypeError
        If an argument is no number.

    Notes
    -----
    The best possible BER is Phi(-distance/2) and the best possible AUC Phi(distance/sqrt(2)),
    whatever the prevalence.

    Examples
    --------
    >>> simulated = simulate_soft_labels(1_000, rng=0)
    >>> round(simulated.error, 4), round(simulated.ber, 4), round(simulated.roc_auc, 4)
    (0.0583, 0.0786, 0.9772)
    """
    size = check_whole("n_items", n_items, least=1)
    share, middle = check_open_unit("prevalence", prevalence), check_open_unit("shift", shift)
    steepness, gap = check_real("slope", slope), check_real("distance", distance)
    spread = check_real("noise_sd", noise_sd)
    for name, value in (("distance", gap), ("noise_sd", spread)):
        if value < 0:
            raise ValueError(f"`{name}` must not be negative; got {value!r}.")
    if not steepness > 0:
        raise ValueError(f"`slope` must be positive, to keep the order; got {slope!r}.")
    generator = make_rng(rng)
    y_true = (generator.random(size) < share).astype(np.int64)
    place = generator.standard_normal(size) + gap * y_true
    odds = logit(share) + gap * place - gap**2 / 2
    soft = steepness * odds + logit(middle)
    if spread:
        soft = soft + spread * generator.standard_normal(size)
    error = min(share, 1 - share)
    if gap:
        tilt = float(logit(share)) / gap
        error = share * ndtr(-gap / 2 - tilt) + (1 - share) * ndtr(-gap / 2 + tilt)
    return SimulatedSoftLabels(
        expit(soft),
        y_true,
        expit(odds),
        float(error),
        float(ndtr(-gap / 2)),
        float(ndtr(gap / math.sqrt(2))),
    )
