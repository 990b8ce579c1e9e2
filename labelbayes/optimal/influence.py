"""How much each item moves the optimum: influence functions, and with them standard errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.optimal.isotonic import RankedLabels
from labelbayes.optimal.plug_in import FixedForm


class HeldOutRules(NamedTuple):
    """Decisions of rules that no item's own label took part in, in ascending order of the score.

    Attributes
    ----------
    error, ber : ndarray of bool, shape (n,)
        Decisions of the rules for the error and for the BER.
    """

    error: BoolArray
    ber: BoolArray


def fit_held_out(ranked: RankedLabels, prior: float | None, n_folds: int) -> HeldOutRules:
    """Return the decisions of the best thresholds of the other folds.

    Parameters
    ----------
    ranked : RankedLabels
        Labels in order of their soft labels.
    prior : float or None
        P(y = 1) where it is known.
    n_folds : int
        Folds; every n_folds-th item in order of the score is one, whatever its label.

    Returns
    -------
    HeldOutRules
        Decisions.
    """
    n = len(ranked.label)
    group = np.repeat(np.arange(len(ranked.ties)), np.diff(ranked.ties, append=n))
    fold = np.arange(n) % n_folds
    decisions = np.zeros((2, n), dtype=bool)
    for k in range(n_folds):
        held = fold == k
        label, place = ranked.label[~held], group[~held]
        share = float(label.mean())
        theta = share if prior is None else prior
        for row, cut in enumerate((0.5, min(max(theta, 1e-300), 1 - 1e-16))):
            decisions[row, held] = group[held] >= _best_cut(label, place, cut)
    return HeldOutRules(*decisions)


def _best_cut(label: FloatArray, group: IntArray, cut: float) -> float:
    """Return the place from which on "positive" costs least, halfway to the group below.

    A false positive costs 1/(1 - cut), a false negative 1/cut.
    """
    last = np.append(group[1:] != group[:-1], True)
    gain = np.cumsum(label / cut - (1 - label) / (1 - cut))[last]
    best = int(np.argmin(gain))
    if gain[best] >= 0:
        return -1.0
    places = group[last]
    return (
        (places[best] + places[best + 1]) / 2 if best + 1 < len(places) else float(places[best]) + 1
    )


def error_influence(label: FloatArray, decision: BoolArray) -> FloatArray:
    """Return the influence of each item on the error rate of fixed decisions.

    Parameters
    ----------
    label : ndarray of float, shape (n,)
        Labels, or P(y = 1).
    decision : ndarray of bool, shape (n,)
        Decisions.

    Returns
    -------
    ndarray of float, shape (n,)
        With mean zero. It is also that of the optimal error, whose threshold is where the
        derivative is zero.
    """
    wrong = np.where(decision, 1 - label, label)
    return wrong - wrong.mean()


def ber_influence(
    label: FloatArray, decision: BoolArray, prior: float | None, shift: float = 0.0
) -> FloatArray:
    """Return the influence of each item on the balanced error rate of fixed decisions.

    Parameters
    ----------
    label : ndarray of float, shape (n,)
        Labels, or P(y = 1).
    decision : ndarray of bool, shape (n,)
        Decisions.
    prior : float or None
        P(y = 1) where it is known; None for the share of positives, which then varies too.
    shift : float, default 0.0
        Form for a known prior, from min (0) to max (1).

    Returns
    -------
    ndarray of float, shape (n,)
        With mean zero.
    """
    share = float(label.mean())
    if prior is None and not 0 < share < 1:
        return np.zeros(len(label))  # undefined
    theta = share if prior is None else prior
    missed = np.where(decision, 0.0, label)
    alarm = np.where(decision, 1 - label, 0.0)
    own = (missed / theta + alarm / (1 - theta)) / 2
    if prior is None:
        miss_rate, alarm_rate = missed.mean() / theta, alarm.mean() / (1 - theta)
        own -= (miss_rate * label / theta + alarm_rate * (1 - label) / (1 - theta)) / 2
    else:
        own -= shift * (1 - 2 * theta) / (2 * theta * (1 - theta)) * label
    return own - own.mean()


def auc_influence(
    label: FloatArray, starts: IntArray, prior: float | None, shift: float = 0.0
) -> FloatArray:
    """Return the influence of each item on the area under the ROC curve.

    Parameters
    ----------
    label : ndarray of float, shape (n,)
        Labels, or P(y = 1), in ascending order of the score.
    starts : ndarray of int, shape (n_groups,)
        First item of each group that counts as tied.
    prior : float or None
        P(y = 1) where it is known; None for the share of positives, which then varies too.
    shift : float, default 0.0
        Form for a known prior, from min (0) to max (1).

    Returns
    -------
    ndarray of float, shape (n,)
        With mean zero.
    """
    n = len(label)
    share = float(label.mean())
    if prior is None and not 0 < share < 1:
        return np.zeros(n)  # undefined
    size = np.diff(starts, append=n)
    positive = np.add.reduceat(label, starts)
    negative = size - positive
    negative_below = np.cumsum(negative) - negative / 2
    positive_above = positive.sum() - np.cumsum(positive) + positive / 2
    # Pairs that an item wins as a positive, and as a negative.
    as_positive = np.repeat(negative_below, size) / n
    as_negative = np.repeat(positive_above, size) / n
    won = label * as_positive + (1 - label) * as_negative
    if prior is None:
        scale = share * (1 - share)
        area = won.mean() / 2 / scale
        own = (won - area * (label * (1 - share) + (1 - label) * share)) / scale
    else:
        pairs = label * (1 - share) + (1 - label) * share
        own = (shift * won - (1 - shift) * (pairs - won)) / (prior * (1 - prior))
    return own - own.mean()


def choose_form(smallest: FloatArray, largest: FloatArray) -> FixedForm:
    """Return the form whose influence varies less.

    With P(y = 1) for labels this is the sign of the discriminant; with hard labels their noise
    counts too.

    Parameters
    ----------
    smallest, largest : ndarray of float, shape (n,)
        Influence on the min and on the max form.

    Returns
    -------
    {"min", "max"}
        The form.
    """
    return "min" if float(smallest @ smallest) <= float(largest @ largest) else "max"
