"""The forms of the optimum combined so that the estimate varies least, for a known prior."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from labelbayes._checks import FloatArray
from labelbayes.optimal.forms import auc_forms, ber_forms
from labelbayes.optimal.soft_labels import check_soft_labels, prior_of


class Combined(NamedTuple):
    """An optimum from a control variate.

    Attributes
    ----------
    value : float
        The estimate, unclipped.
    standard_error : float
        Its standard error.
    coefficient : float
        What was subtracted from the min form, in units of (mean of the soft labels - prior). 0
        would be the min form; (1 - 2 prior)/(2 prior (1 - prior)) the max form of the BER.
    """

    value: float
    standard_error: float
    coefficient: float


def combine_ber(eta: npt.ArrayLike, prior: float) -> Combined:
    r"""Return the combination of the forms of the optimal BER that varies least.

    Parameters
    ----------
    eta : array_like of float, shape (n,) with n >= 2
        P(y = 1 | x) of each item, in [0, 1].
    prior : float
        P(y = 1), known from elsewhere, strictly between 0 and 1.

    Returns
    -------
    Combined
        Estimate and its standard error.

    Raises
    ------
    ValueError
        If an argument is not as above.

    Notes
    -----
    **Assumes** that the prior is right and the soft labels are the probabilities themselves. Then
    mean(eta) - prior has expectation zero, the forms differ by a multiple of it, and regression on
    it gives the multiple with the smallest variance: smaller than that of either form.

    Examples
    --------
    >>> combine_ber([0.1, 0.2, 0.9], 0.4).standard_error < 0.1
    True
    """
    values = check_soft_labels("eta", eta, least=2)
    theta = prior_of(values, prior)
    own = np.minimum(values / theta, (1 - values) / (1 - theta)) / 2
    return _regress(ber_forms(values, prior=theta).min, own, values, theta)


def combine_auc(eta: npt.ArrayLike, prior: float) -> Combined:
    """Return the combination of the forms of the optimal AUC that varies least.

    Parameters
    ----------
    eta : array_like of float, shape (n,) with n >= 2
        P(y = 1 | x) of each item, in [0, 1].
    prior : float
        P(y = 1), known from elsewhere, strictly between 0 and 1.

    Returns
    -------
    Combined
        Estimate and its standard error.

    Raises
    ------
    ValueError
        If an argument is not as above.

    Notes
    -----
    **Assumes** that the prior is right and the soft labels are the probabilities themselves; see
    `combine_ber`.

    Examples
    --------
    >>> combine_auc([0.1, 0.2, 0.9], 0.4).standard_error < 0.2
    True
    """
    values = check_soft_labels("eta", eta, least=2)
    theta, n = prior_of(values, prior), len(values)
    ordered = np.sort(values)
    below = np.cumsum(ordered) - ordered
    above_negative = np.arange(n - 1, -1, -1) - (ordered.sum() - below - ordered)
    # Mean over the other items of the smaller of eta(1 - eta') and eta'(1 - eta).
    own = (below * (1 - ordered) + ordered * above_negative) / (n - 1)
    influence = 1 - own / (theta * (1 - theta))
    return _regress(auc_forms(values, prior=theta).min, influence, ordered, theta)


def _regress(smallest: float, own: FloatArray, eta: FloatArray, theta: float) -> Combined:
    """Subtract from an estimate what its contributions share with the soft labels."""
    gap = eta - eta.mean()
    spread = float(gap @ gap)
    coefficient = float(gap @ own) / spread if spread > 0 else 0.0
    rest = own - own.mean() - coefficient * gap
    value = smallest - coefficient * (float(eta.mean()) - theta)
    n = len(eta)
    return Combined(value, math.sqrt(float(rest @ rest) / (n * (n - 1))), coefficient)
