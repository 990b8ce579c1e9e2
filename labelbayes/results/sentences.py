"""The sentences that travel with the numbers."""

from __future__ import annotations

import math
from typing import Literal

from scipy.special import ndtr

Target = Literal["sample", "population"]
Statement = Literal["predictive", "credible", "confidence", "bounds", "sensitivity"]

TARGETS: tuple[Target, ...] = ("sample", "population")

#: What a reader may take an interval for, and its `ci_kind`.
STATEMENTS: dict[Statement, str] = {
    "predictive": "eti",
    "credible": "eti",
    "confidence": "confidence",
    "bounds": "bounds",
    "sensitivity": "sensitivity",
}

INDEPENDENCE = (
    "Rows are taken as independent: where they come in clusters (several per person, say) the "
    "intervals should be wider."
)
TRAINED_ROWS = (
    "Were any of these rows used to train the model? If so, use out-of-fold scores: labeled rows "
    "would look easier than the missing ones."
)
THRESHOLD = (
    "The threshold is taken as given. Had it been chosen on these same labels, precision, recall "
    "and F1 of future rows would be lower than shown."
)
MISSING_AT_RANDOM = (
    "Whether labels are missing at random cannot be checked from labeled rows; a random audit of "
    "missing rows can."
)


def predictive(n: int, ci_prob: float) -> str:
    """Return what an interval for this set of rows means.

    Parameters
    ----------
    n : int
        Rows of the set.
    ci_prob : float
        Probability content.

    Returns
    -------
    str
        A sentence.
    """
    return (
        f"{ci_prob:.0%} predictive interval for the metric of these {n:,} rows once all labels "
        "are known. Assumes each missing label is an independent draw with the probability p "
        "shown; it does not include other samples of rows."
    )


def population(n_refits: int, ci_prob: float) -> str:
    """Return what an interval for rows drawn like these means.

    Parameters
    ----------
    n_refits : int
        Refits of the calibration; 0 = none.
    ci_prob : float
        Probability content.

    Returns
    -------
    str
        A sentence.
    """
    tail = f" and the uncertainty of the calibration ({n_refits} refits)" if n_refits else ""
    return (
        f"{ci_prob:.0%} interval for rows drawn like these. Includes sampling of rows{tail}. "
        "The labeled share is part of what is drawn: rows labeled by the same process."
    )


def plug_in(n_labeled: int, n_unlabeled: int) -> str:
    """Return how far an interval that ignores the calibration's uncertainty covers.

    Parameters
    ----------
    n_labeled, n_unlabeled : int
        Rows with and without a label.

    Returns
    -------
    str
        A sentence.
    """
    share = n_labeled / max(1, n_labeled + n_unlabeled)
    covers = 2 * float(ndtr(1.959964 * math.sqrt(share))) - 1
    return (
        f"Calibration taken as exactly known. With {n_labeled:,} labels for {n_unlabeled:,} "
        f"missing, an interval that ignores its uncertainty covers about {covers:.0%} instead "
        "of 95%."
    )


def coin_flips(n_unlabeled: int) -> str:
    """Return what "maximum entropy" claims about the missing labels.

    Parameters
    ----------
    n_unlabeled : int
        Missing labels.

    Returns
    -------
    str
        A sentence.
    """
    half = 1.959964 / (2 * math.sqrt(max(1, n_unlabeled)))
    low, high = max(0.0, 0.5 - half), min(1.0, 0.5 + half)
    return (
        f"Coin flips, not ignorance: this rung asserts that {low:.1%} to {high:.1%} of the "
        "missing labels are positive."
    )


def attained_bounds() -> str:
    """Return what bounds for this set of rows mean.

    Returns
    -------
    str
        A sentence.
    """
    return (
        "Not an interval with a probability: every completion of the missing labels gives a "
        "value between these two, and both are attained."
    )


def population_bounds(ci_prob: float) -> str:
    """Return what bounds for rows drawn like these mean.

    Parameters
    ----------
    ci_prob : float
        Coverage.

    Returns
    -------
    str
        A sentence.
    """
    return (
        f"The bounds are estimated. {ci_prob:.0%} of repeated samples give an interval that "
        "contains the true value, whichever labels are missing (Imbens and Manski)."
    )


def undefined(metric: str, prob: float, reason: str) -> str:
    """Return how often a metric is 0/0.

    Parameters
    ----------
    metric : str
        Its name.
    prob : float
        Probability that it is undefined.
    reason : str
        When.

    Returns
    -------
    str
        A sentence.
    """
    if prob >= 1.0:
        return f"{metric} is undefined here: {reason}."
    share = f"{prob:.1%}" if prob >= 5e-4 else f"a share {prob:.1g}"
    return (
        f"In {share} of completions {metric} is undefined ({reason}); all numbers here are for "
        "the others."
    )
