"""Error, BER and AUC of the best possible classifier, from P(y = 1) of each item."""

from __future__ import annotations

import warnings
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from labelbayes._checks import FloatArray, check_choice
from labelbayes.optimal.discriminant import (
    SortedSums,
    auc_discriminant_of,
    ber_discriminant,
    sum_sorted,
)
from labelbayes.optimal.soft_labels import check_soft_labels, prior_of

Form = Literal["auto", "min", "max", "mad"]
FORMS: tuple[Form, ...] = ("auto", "min", "max", "mad")
#: Values this far outside their range are round-off.
ROUND_OFF = 1e-9


class ClippedWarning(UserWarning):
    """An estimate left the range of its metric and was clipped; the message holds the numbers."""


class FormValues(NamedTuple):
    """The three forms of one optimum, unclipped.

    Attributes
    ----------
    min, max, mad : float
        From the smaller and from the larger of two likelihoods, and their average, which is the
        mean absolute deviation (for the AUC: Gini's mean difference).
    """

    min: float
    max: float
    mad: float


def optimal_error(eta: npt.ArrayLike) -> float:
    r"""Return the smallest error rate that any classifier can have.

    Parameters
    ----------
    eta : array_like of float, shape (n,)
        P(y = 1 | x) of each item, in [0, 1].

    Returns
    -------
    float
        The mean of :math:`\min(\eta, 1 - \eta)`, in [0, 1/2].

    Raises
    ------
    ValueError
        If a soft label is outside [0, 1], or there is none.

    See Also
    --------
    estimate_optimal : With calibration and an interval.

    Notes
    -----
    **Assumes** that the soft labels are the probabilities themselves, and that items are a sample
    of those to come. Then the estimate is unbiased, and off by more than
    sqrt(log(2/d)/(8n)) with probability at most d [1]_.

    References
    ----------
    .. [1] T. Ishida, I. Yamane, N. Charoenphakdee, G. Niu, M. Sugiyama, Is the performance of my
       deep network too good to be true?, ICLR 2023.

    Examples
    --------
    >>> optimal_error([0.25, 0.5, 1.0])
    0.25
    """
    values = check_soft_labels("eta", eta)
    return float(np.minimum(values, 1 - values).mean())


def optimal_ber(eta: npt.ArrayLike, *, prior: float | None = None, form: Form = "auto") -> float:
    r"""Return the smallest balanced error rate that any classifier can have.

    Parameters
    ----------
    eta : array_like of float, shape (n,)
        P(y = 1 | x) of each item, in [0, 1].
    prior : float, optional
        :math:`\theta = P(y = 1)` where it is known, strictly between 0 and 1. None stands for the
        mean of `eta`; for 1/(4n) or 1 - 1/(4n) where they are all 0 or all 1.
    form : {"auto", "min", "max", "mad"}, default "auto"
        Which of three equal expectations is averaged. "auto" takes "min" or "max", whichever
        varies less by its discriminant; "min" without a prior, where there is nothing to choose.

    Returns
    -------
    float
        In [0, 1/2].

    Raises
    ------
    ValueError
        If an argument is not as above.

    Warns
    -----
    ClippedWarning
        If the form gave a value outside [0, 1/2].

    See Also
    --------
    estimate_optimal : With calibration and an interval.
    labelbayes.optimal.combine.combine_ber : A combination of the forms that varies least.

    Notes
    -----
    **Assumes** that the soft labels are the probabilities themselves. With the expectation over
    items,

    .. math::
       BER^* = E\left[\tfrac12 \min\left(\frac{\eta}{\theta}, \frac{1-\eta}{1-\theta}\right)\right]
       = 1 - E\left[\tfrac12 \max\left(\frac{\eta}{\theta}, \frac{1-\eta}{1-\theta}\right)\right]
       = \frac12 - \frac{E|\eta - \theta|}{4\theta(1-\theta)}.

    **The trap**: where the prior is the mean of the soft labels the three are the same number, by
    algebra. They differ by (1 - 2 prior)(mean - prior)/(2 prior (1 - prior)), so a choice among
    them matters only for a prior that comes from elsewhere; and a large difference says that the
    soft labels do not fit that prior.

    With the mean as prior, few items make the optimum look worse than it is: by up to 1/(2n) where
    hardly any item carries the rare class, by .018 in .175 from 10 items of Beta(0.2, 19.8).

    References
    ----------
    .. [1] R. Ushio et al., on the optimal balanced error rate and AUC from soft labels,
       arXiv:2609.02304, 2026.

    Examples
    --------
    >>> round(optimal_ber([0.1, 0.2, 0.9], prior=0.4), 4)
    0.1528
    """
    check_choice("form", form, FORMS)
    values = check_soft_labels("eta", eta)
    rare, theta = _rarer(values, prior)
    chosen = form
    if form == "auto":
        is_min = prior is None or ber_discriminant(rare, prior=theta) >= 0
        chosen = "min" if is_min else "max"
    raw = float(getattr(_ber_forms(rare, theta), chosen))
    return _clip("optimal_ber", raw, chosen, 0.0, 0.5, values, prior)


def optimal_auc(eta: npt.ArrayLike, *, prior: float | None = None, form: Form = "auto") -> float:
    r"""Return the largest area under the ROC curve that any score can have.

    Parameters
    ----------
    eta : array_like of float, shape (n,) with n >= 2
        P(y = 1 | x) of each item, in [0, 1].
    prior : float, optional
        :math:`\theta = P(y = 1)` where it is known, strictly between 0 and 1. None stands for the
        mean of `eta`; for 1/(4n) or 1 - 1/(4n) where they are all 0 or all 1.
    form : {"auto", "min", "max", "mad"}, default "auto"
        Which of three equal expectations over pairs of different items is averaged; "mad" is
        Gini's mean difference. "auto" takes "min" or "max", whichever varies less by its
        discriminant; "min" without a prior, where there is nothing to choose.

    Returns
    -------
    float
        In [1/2, 1].

    Raises
    ------
    ValueError
        If an argument is not as above.

    Warns
    -----
    ClippedWarning
        If the form gave a value outside [1/2, 1].

    See Also
    --------
    estimate_optimal : With calibration and an interval.
    labelbayes.optimal.combine.combine_auc : A combination of the forms that varies least.

    Notes
    -----
    **Assumes** that the soft labels are the probabilities themselves. For two items drawn
    independently,

    .. math::
       AUC^* = 1 - \frac{E \min\{\eta(1-\eta'), \eta'(1-\eta)\}}{2\theta(1-\theta)}
       = \frac{E \max\{\eta(1-\eta'), \eta'(1-\eta)\}}{2\theta(1-\theta)}
       = \frac12 + \frac{E|\eta - \eta'|}{4\theta(1-\theta)}.

    Where the prior is the mean of the soft labels the three differ by no more than order 1/n, and
    from 5 items on the min form was off by at most .011 on average (Beta laws of mean .0005 to
    .998). After sorting all forms follow from five sums, so the cost is that of the sort.

    References
    ----------
    .. [1] R. Ushio et al., on the optimal balanced error rate and AUC from soft labels,
       arXiv:2609.02304, 2026.

    Examples
    --------
    >>> round(optimal_auc([0.1, 0.2, 0.9], prior=0.4), 4)
    0.9236
    """
    check_choice("form", form, FORMS)
    values = check_soft_labels("eta", eta, least=2)
    rare, theta = _rarer(values, prior)
    sums = sum_sorted(rare)
    chosen = form
    if form == "auto":
        is_min = prior is None or auc_discriminant_of(sums, theta) >= 0
        chosen = "min" if is_min else "max"
    raw = float(getattr(_auc_forms(sums, theta), chosen))
    return _clip("optimal_auc", raw, chosen, 0.5, 1.0, values, prior)


def ber_forms(eta: npt.ArrayLike, *, prior: float | None = None) -> FormValues:
    """Return all forms of the optimal BER, unclipped.

    Parameters
    ----------
    eta : array_like of float, shape (n,)
        P(y = 1 | x) of each item, in [0, 1].
    prior : float, optional
        P(y = 1); None stands for the mean.

    Returns
    -------
    FormValues
        Values that disagree wildly say that labels and prior do not belong together.

    Raises
    ------
    ValueError
        If an argument is not as above.

    Examples
    --------
    >>> [round(value, 3) for value in ber_forms([0.1, 0.2, 0.9], prior=0.3)]
    [0.19, 0.095, 0.143]
    """
    return _ber_forms(*_rarer(check_soft_labels("eta", eta), prior))


def auc_forms(eta: npt.ArrayLike, *, prior: float | None = None) -> FormValues:
    """Return all forms of the optimal AUC over pairs of different items, unclipped.

    Parameters
    ----------
    eta : array_like of float, shape (n,) with n >= 2
        P(y = 1 | x) of each item, in [0, 1].
    prior : float, optional
        P(y = 1); None stands for the mean.

    Returns
    -------
    FormValues
        Values that disagree wildly say that labels and prior do not belong together.

    Raises
    ------
    ValueError
        If an argument is not as above.

    Examples
    --------
    >>> [round(value, 3) for value in auc_forms([0.1, 0.2, 0.9], prior=0.3)]
    [0.913, 1.357, 1.135]
    """
    rare, theta = _rarer(check_soft_labels("eta", eta, least=2), prior)
    return _auc_forms(sum_sorted(rare), theta)


def _rarer(eta: FloatArray, prior: float | None) -> tuple[FloatArray, float]:
    """Return soft labels of the rarer class and their prior, where the prior is their mean.

    No form changes where the classes are exchanged, and 1 - eta has all its digits near 0.
    """
    if prior is None and float(eta.mean()) > 0.5:
        eta = 1 - eta
    return eta, prior_of(eta, prior)


def _ber_forms(eta: FloatArray, theta: float) -> FormValues:
    # A prior of 1e-308 overflows to infinity, which the smaller of the two never is.
    with np.errstate(over="ignore"):
        positive, negative = eta / theta, (1 - eta) / (1 - theta)
        smaller = float(np.minimum(positive, negative).mean()) / 2
        larger = 1 - float(np.maximum(positive, negative).mean()) / 2
    return FormValues(smaller, larger, (smaller + larger) / 2)


def _auc_forms(sums: SortedSums, theta: float) -> FormValues:
    n, total = sums.n, sums.total
    # Sum over pairs of the product of their labels.
    products = (total**2 - sums.squares) / 2
    discordant = (n - 1) * total - sums.ranked - products
    concordant = sums.ranked - products
    scale = n * (n - 1) * theta * (1 - theta)
    smaller, larger = 1 - discordant / scale, concordant / scale
    return FormValues(smaller, larger, (smaller + larger) / 2)


def _clip(
    name: str,
    raw: float,
    form: str,
    lowest: float,
    highest: float,
    eta: FloatArray,
    prior: float | None,
) -> float:
    """Return the value inside its range, and warn where it was outside."""
    clipped = min(max(raw, lowest), highest)
    if abs(raw - clipped) > ROUND_OFF:
        warnings.warn(
            f"`{name}`: the {form} form gave {raw:.4g}, outside [{lowest:g}, {highest:g}]; it was "
            f"clipped to {clipped:g}. The soft labels have mean {eta.mean():.4g}, the prior is "
            f"{prior_of(eta, prior):.4g}: calibrate them, or leave `prior` out.",
            ClippedWarning,
            stacklevel=3,
        )
    return clipped
