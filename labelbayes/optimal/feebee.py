"""FeeBee: how well an estimator of the optimum does, judged by labels with added noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from labelbayes._checks import (
    FloatArray,
    check_open_unit,
    check_real,
    check_unit,
    make_rng,
)
from labelbayes._progress import track
from labelbayes.optimal.soft_labels import (
    check_hard_labels,
    check_metric,
    check_soft_labels,
    prior_of,
)

FeebeeMetric = Literal["ber", "roc_auc"]
#: An estimate of the optimum from soft labels and hard labels (None where there are none).
Estimator = Callable[[FloatArray, FloatArray | None], float]


def map_noise(
    value: npt.ArrayLike, prior: float, noise_level: float, noise_mean: float
) -> FloatArray:
    r"""Return what label noise by replacement makes of an optimal BER or AUC.

    Parameters
    ----------
    value : array_like of float
        Optimal BER, or optimal AUC, without noise.
    prior : float
        :math:`\theta = P(y = 1)` without noise, strictly between 0 and 1.
    noise_level : float
        Share :math:`\nu` of labels that are replaced, in [0, 1].
    noise_mean : float
        P(1) :math:`= \beta` of a label that is put in place, in [0, 1].

    Returns
    -------
    ndarray of float
        The optimum with noise, of the same shape.

    Raises
    ------
    ValueError
        If an argument is not as above.

    Notes
    -----
    With :math:`\theta_\nu = (1 - \nu)\theta + \nu\beta` both optima shrink towards 1/2 by the same
    factor:

    .. math::
       F_\nu(t) = \tfrac12 + \frac{(1 - \nu)\,\theta(1 - \theta)}{\theta_\nu(1 - \theta_\nu)}
       \left(t - \tfrac12\right).

    Examples
    --------
    >>> float(map_noise(0.25, 0.2, 0.3, 0.2))
    0.325
    """
    theta = check_open_unit("prior", prior)
    level, mean = check_unit("noise_level", noise_level), check_unit("noise_mean", noise_mean)
    noisy = (1 - level) * theta + level * mean
    values = np.asarray(value, dtype=np.float64)
    if not 0 < noisy < 1:  # every label is replaced by the same one
        return np.full(values.shape, 0.5)[()]
    factor = (1 - level) * theta * (1 - theta) / (noisy * (1 - noisy))
    return 0.5 + factor * (values - 0.5)


def score_feebee(
    estimator: Estimator,
    soft_labels: npt.ArrayLike,
    y_true: npt.ArrayLike | None,
    *,
    metric: FeebeeMetric = "ber",
    best_known: float,
    noise_levels: Sequence[float] | None = None,
    noise_means: Sequence[float] = (0.2, 0.5, 0.8),
    rng: np.random.Generator | int | None = None,
) -> pd.DataFrame:
    r"""Score an estimator of the optimum by how it follows label noise, without knowing the truth.

    Parameters
    ----------
    estimator : callable
        ``estimator(soft_labels, y_true)`` -> BER or AUC; hard labels are None where there are
        none.
    soft_labels : array_like of float, shape (n,)
        Soft labels in [0, 1].
    y_true : array_like of int, shape (n,), or None
        Hard labels, none missing: noise is put on these. None: soft labels are the probabilities
        themselves, and noise is put on them exactly.
    metric : {"ber", "roc_auc"}, default "ber"
        What the estimator estimates.
    best_known : float
        The BER of the best known classifier, at least the optimum; or its AUC, at most the
        optimum.
    noise_levels : sequence of float, optional
        Shares of replaced labels, in [0, 1). None stands for 0, 0.05, ..., 0.95.
    noise_means : sequence of float, default (0.2, 0.5, 0.8)
        P(1) of the labels that are put in place, in [0, 1].
    rng : numpy.random.Generator, int, optional
        Where noise comes from. Which labels are replaced is the same for all levels but for more
        of them.

    Returns
    -------
    pandas.DataFrame
        A row per noise mean and level: ``noise_mean``, ``noise_level``, ``estimate``, ``low`` and
        ``high`` (between which the noisy optimum must lie) and ``excess`` (by how far the estimate
        is outside, 0 inside). The score is the mean excess, per noise mean and over all:
        ``frame.groupby("noise_mean")["excess"].mean().mean()``. Smaller is better.

    Raises
    ------
    ValueError
        If an argument is not as above. F-scores and several classes have no such bounds.
    TypeError
        If `estimator` cannot be called, or a value is no number.

    See Also
    --------
    labelbayes.plots.plot_feebee : The estimates and their bounds as a figure.

    Notes
    -----
    **Assumes** that `best_known` was really attained on items like these, and that items are a
    random sample.

    Noise by replacement moves the optimum by a known map (`map_noise`), so with L and U = the
    images of 0 and `best_known` (for the AUC of `best_known` and 1) an estimate outside [L, U]
    errs by at least its distance from it. A constant bias leaves the spread of an estimator as it
    is and is seen here; an estimator that always lies between the two is not proved right.

    A label that is replaced may keep its value: **replacement** with uniform labels at level
    :math:`\nu` is flipping with probability :math:`\nu/2`. Flipping with probability :math:`\nu`
    does not go with these bounds.

    Shown in the notebook 06_bayes_optimal.

    References
    ----------
    .. [1] C. Renggli, L. Rimanic, N. Hollenstein, C. Zhang, Evaluating Bayes error estimators on
       real-world datasets with FeeBee, NeurIPS Datasets and Benchmarks 2021.

    Examples
    --------
    >>> from labelbayes.optimal.forms import optimal_ber
    >>> def plain(soft_labels, y_true):
    ...     return optimal_ber(soft_labels)
    >>> scores = score_feebee(plain, [0.05, 0.1, 0.2, 0.6, 0.9], None, best_known=0.3)
    >>> float(scores["excess"].max()), len(scores)
    (0.0, 60)
    """
    check_metric(metric)
    values = check_soft_labels("soft_labels", soft_labels, least=2)
    known = _check_best(metric, best_known)
    if not callable(estimator):
        raise TypeError(
            "`estimator` must be callable as estimator(soft_labels, y_true); got "
            f"{type(estimator).__name__}."
        )
    means = _check_shares("noise_means", noise_means)
    levels = [k / 20 for k in range(20)]
    if noise_levels is not None:
        levels = _check_shares("noise_levels", noise_levels)
    if max(levels) == 1:
        raise ValueError(
            "`noise_levels` must hold numbers in [0, 1); got 1, at which no label is left."
        )
    label: FloatArray | None = None
    if y_true is not None:
        label = check_hard_labels(y_true, len(values))
        if np.isnan(label).any():
            raise ValueError(
                f"`y_true` must have no missing labels here; {int(np.isnan(label).sum())} are "
                "missing. Leave these items out."
            )
    prior = prior_of(values if label is None else label, None)
    generator = make_rng(rng)
    # A label is replaced where the level exceeds its place: more noise keeps the old noise.
    place, pick = generator.random(len(values)), generator.random(len(values))
    rows = []
    pairs = [(mean, level) for mean in means for level in levels]
    for mean, level in track(pairs, label="adding noise"):
        if label is None:
            estimate = estimator((1 - level) * values + level * mean, None)
        else:
            noisy = np.where(place < level, (pick < mean).astype(np.float64), label)
            estimate = estimator(values.copy(), noisy)  # it may sort in place
        found = check_real("estimator(soft_labels, y_true)", estimate)
        ends = (0.0, known) if metric == "ber" else (known, 1.0)
        low, high = map_noise(ends, prior, level, mean)
        excess = max(found - high, low - found, 0.0)
        rows.append((mean, level, found, float(low), float(high), float(excess)))
    columns = ["noise_mean", "noise_level", "estimate", "low", "high", "excess"]
    return pd.DataFrame(rows, columns=columns)


def _check_shares(name: str, values: Sequence[float]) -> list[float]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(
            f"`{name}` must be a list of numbers; got {values!r}. Write it in brackets."
        )
    found = [check_unit(name, value) for value in values]
    if not found:
        raise ValueError(f"`{name}` must hold at least one number; got an empty list.")
    return found


def _check_best(metric: str, best_known: float) -> float:
    known = check_real("best_known", best_known)
    low, high = (0.0, 0.5) if metric == "ber" else (0.5, 1.0)
    if not low <= known <= high:
        raise ValueError(
            f"`best_known` must lie in [{low:g}, {high:g}] for metric={metric!r}; got "
            f"{best_known!r}."
        )
    return known
