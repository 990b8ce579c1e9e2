"""The sentences that travel with the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from scipy.special import ndtr

Target = Literal["sample", "population"]
Statement = Literal["predictive", "credible", "confidence", "bounds", "sensitivity"]

TARGETS: tuple[Target, ...] = ("sample", "population")

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
POLICY = (
    "If the decision changes the outcome (loan refused, patient treated) the missing outcome does "
    "not exist; no row of this table estimates it."
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


def optimum_interval(ci_prob: float) -> str:
    """Return what an interval for the best possible classifier means.

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
        f"{ci_prob:.0%} confidence interval for sampling error: items and labels drawn again by "
        "the same process. It knows nothing of the optimism of a fit."
    )


def optimum_bracket(
    metric: str, ends: tuple[float, float], limits: tuple[float, float], ci_prob: float
) -> str:
    """Return between which two numbers the optimum lies.

    Parameters
    ----------
    metric : str
        Its name.
    ends : tuple of float
        Value of the best fit on its own labels, and on others.
    limits : tuple of float
        Lower limit of the one and upper limit of the other.
    ci_prob : float
        Coverage of these limits.

    Returns
    -------
    str
        A sentence.
    """
    return (
        f"{metric}: between {ends[0]:.4f} (in-sample, optimistic) and {ends[1]:.4f} (held-out, "
        "pessimistic) on average; each interval covers sampling error only. From the lower "
        f"{ci_prob:.0%} limit of the two to the upper: [{limits[0]:.4f}, {limits[1]:.4f}]."
    )


def not_known(what: str, toward: str) -> str:
    """Return what happens to differences of which the imputation knows nothing.

    Parameters
    ----------
    what : str
        What p does not use, such as "the group".
    toward : str
        What differences are pulled toward.

    Returns
    -------
    str
        A sentence.
    """
    return (
        f"The imputation does not use {what}. Differences between groups or models are pulled "
        f"toward {toward}. Fit p with it."
    )


def multiplicity(k: int, what: str) -> str:
    """Return how many of several intervals miss, and what holds for all of them at once.

    Parameters
    ----------
    k : int
        How many are compared, at least 2.
    what : str
        Of what, as a plural.

    Returns
    -------
    str
        A sentence.

    Examples
    --------
    >>> multiplicity(10, "pairs of groups").partition(";")[0]
    '10 pairs of groups compared: about 0.5 intervals per metric miss by chance'
    """
    level = 1 - 0.05 / k
    return (
        f"{k} {what} compared: about {0.05 * k:.2g} intervals per metric miss by chance; "
        f"simultaneous version (Bonferroni): summary(ci_prob={level:.6g})."
    )


def undefined(metric: str, prob: float, reason: str) -> str:
    """Return how often a metric is 0/0.

    Parameters
    ----------
    metric : str
        Its name.
    prob : float
        Probability that it is undefined; nan for bounds, which give some completions none.
    reason : str
        When.

    Returns
    -------
    str
        A sentence.
    """
    if prob >= 1.0:
        return f"{metric} is undefined here: {reason}."
    if math.isnan(prob):
        return f"Some completions leave {metric} undefined ({reason}); its bounds are for the rest."
    share = f"{prob:.1%}" if prob >= 5e-4 else f"a share {prob:.1g}"
    return (
        f"In {share} of completions {metric} is undefined ({reason}); all numbers here are for "
        "the others."
    )


def confidence(ci_prob: float, target: Target, given: str, needs: str) -> str:
    """Return what a confidence interval of a weighted estimate means.

    Parameters
    ----------
    ci_prob : float
        Coverage.
    target : {"sample", "population"}
        What is repeated: the draw of labels, or of rows as well.
    given : str
        What labels are missing at random given.
    needs : str
        What has to be correct.

    Returns
    -------
    str
        A sentence.
    """
    repeated = (
        "in repeated samples of rows and labels by the same process"
        if target == "population"
        else "in repeated draws of which of these rows are labeled"
    )
    return (
        f"{ci_prob:.0%} confidence interval: {repeated}, {ci_prob:.0%} of such intervals contain "
        f"the value. Assumes labels missing at random given {given} and {needs}."
    )


def no_chance(share: float) -> str:
    """Return what rows that could not be labeled do to a weighted estimate.

    Parameters
    ----------
    share : float
        Share of the rows whose propensity is 0.

    Returns
    -------
    str
        A sentence.
    """
    return (
        f"{share:.1%} of the rows had no chance of a label. Nothing here speaks about them: the "
        "target is the other rows."
    )


def not_counted(estimates: Sequence[str]) -> str:
    """Return which estimates no labels could give, so that no assumption moves a metric there.

    Parameters
    ----------
    estimates : sequence of str
        Metric, estimator, value and range of each.

    Returns
    -------
    str
        A sentence.
    """
    return f"Not counted, since no labels give such a value: {', '.join(estimates)}."


def disagreement(first: str, second: str, metric: str) -> str:
    """Return what it means that two estimates of one target are too far apart.

    Parameters
    ----------
    first, second : str
        Names of the estimates.
    metric : str
        What they estimate.

    Returns
    -------
    str
        A sentence.
    """
    return (
        f"{first} and {second} have the same target and differ by more than their uncertainty "
        f"({metric}): at least one assumption fails. Look at how labels were chosen before you "
        "change the model."
    )


def sensitivity(max_odds_ratio: float) -> str:
    """Return what bounds under a largest odds ratio mean.

    Parameters
    ----------
    max_odds_ratio : float
        Largest factor between the odds of missing and of comparable labeled rows.

    Returns
    -------
    str
        A sentence.
    """
    return (
        "If the odds of a positive among missing rows differ from those of comparable labeled "
        f"rows by a factor between {1 / max_odds_ratio:.3g} and {max_odds_ratio:.3g}, the metric "
        f"lies between these two. The data cannot tell {max_odds_ratio:.3g}: it is a statement of "
        "belief."
    )
