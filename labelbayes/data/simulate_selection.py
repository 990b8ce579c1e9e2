"""Labels seen with unequal probability, with a known truth and perhaps an unmeasured selector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from labelbayes._checks import FloatArray, check_real, check_unit, check_whole, make_rng, read_only
from labelbayes.data.evaluation_set import EvaluationSet

#: Intercept and slopes of the log odds of a positive, and of a label, in the two features.
OUTCOME_COEFFICIENTS = (-0.5, 1.0, 0.8)
LABEL_COEFFICIENTS = (-0.6, 0.9, 0.7)


@dataclass(frozen=True, eq=False)
class Selection:
    """A simulated evaluation with all that is hidden in practice.

    Parameters
    ----------
    evaluation : EvaluationSet
        Scores, decisions, and the labels that were seen.
    complete : EvaluationSet
        The same rows with all labels.
    features : ndarray of float, shape (n_rows, 2)
        The logit of the score, and a covariate that the score does not know.
    propensity : ndarray of float, shape (n_rows,)
        P(labeled | features).
    outcome : ndarray of float, shape (n_rows,)
        P(y = 1 | features, labeled).
    """

    evaluation: EvaluationSet
    complete: EvaluationSet
    features: FloatArray
    propensity: FloatArray
    outcome: FloatArray


def simulate_selection(
    n_rows: int,
    *,
    floor: float = 0.05,
    odds_ratio: float = 1.0,
    rng: np.random.Generator | int | None = None,
) -> Selection:
    """Return rows whose chance of a label depends on the score, and on more if so wished.

    Parameters
    ----------
    n_rows : int >= 1
        Rows.
    floor : float, default 0.05
        Smallest P(labeled), in [0, 1].
    odds_ratio : float > 0, default 1.0
        Odds of a positive among missing rows over those of labeled rows with the same features.
        Other than 1 it stands for a selector that nobody measured: labels are then missing not
        at random.
    rng : numpy.random.Generator, int, optional
        Where everything comes from.

    Returns
    -------
    Selection
        Data, truth, and both nuisance functions.

    Raises
    ------
    ValueError
        If there are no rows, `floor` lies outside [0, 1], or `odds_ratio` is not above 0.
    TypeError
        If an argument is no number.

    Notes
    -----
    With features x1, x2 standard normal but for the standard deviation 2 of x1:
    score = expit(x1), P(labeled) = floor + (1 - floor) expit(-0.6 + 0.9 x1 + 0.7 x2), and
    logit P(y = 1 | labeled) = -0.5 + x1 + 0.8 x2; among missing rows log(`odds_ratio`) is added.
    The outcome model is thus a logistic regression, the propensity one only without a floor.

    References
    ----------
    .. [1] J. M. Robins, A. Rotnitzky and D. O. Scharfstein, "Sensitivity analysis for selection
       bias and unmeasured confounding in missing data and causal inference models", 2000.

    Examples
    --------
    >>> made = simulate_selection(1_000, rng=0)
    >>> made.evaluation.n_labeled, made.complete.n_labeled
    (440, 1000)
    """
    size = check_whole("n_rows", n_rows, least=1)
    least = check_unit("floor", floor)
    ratio = check_real("odds_ratio", odds_ratio)
    if ratio <= 0:
        raise ValueError(f"`odds_ratio` must be above 0; got {odds_ratio!r}.")
    generator = make_rng(rng)
    features = generator.normal(size=(size, 2)) * (2.0, 1.0)
    propensity, outcome = selection_nuisances(features, floor=least)
    is_labeled = generator.random(size) < propensity
    of_missing = outcome * ratio / (1 - outcome + outcome * ratio)
    y_true = generator.random(size) < np.where(is_labeled, outcome, of_missing)
    score = expit(features[:, 0])
    return Selection(
        EvaluationSet(np.where(is_labeled, y_true, np.nan), score),
        EvaluationSet(y_true.astype(int), score),
        read_only(features),
        read_only(propensity),
        read_only(outcome),
    )


def selection_nuisances(features: FloatArray, *, floor: float) -> tuple[FloatArray, FloatArray]:
    """Return P(labeled) and P(y = 1 | labeled) of given features.

    Parameters
    ----------
    features : ndarray of float, shape (n_rows, 2)
        As in `Selection`.
    floor : float
        Smallest P(labeled).

    Returns
    -------
    tuple of ndarray of float, each of shape (n_rows,)
        Both probabilities.

    Examples
    --------
    >>> propensity, outcome = selection_nuisances(np.zeros((1, 2)), floor=0.0)
    >>> propensity.round(3), outcome.round(3)
    (array([0.354]), array([0.378]))
    """
    of_label = expit(LABEL_COEFFICIENTS[0] + features @ np.array(LABEL_COEFFICIENTS[1:]))
    of_positive = expit(OUTCOME_COEFFICIENTS[0] + features @ np.array(OUTCOME_COEFFICIENTS[1:]))
    return floor + (1 - floor) * of_label, of_positive
