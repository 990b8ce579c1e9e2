"""From belief about each row to the laws of the two counts that every count metric needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.score_scale import name_of_score, score_of
from labelbayes.laws.fitted_counts import are_few, fitted_laws
from labelbayes.laws.poisson_binomial import integer_law
from labelbayes.laws.power_sums import PowerSums
from labelbayes.results.integer_law import IntegerLaw

#: Laws of U and V: positives among missing rows predicted positive, and predicted negative.
CountPair = tuple[IntegerLaw, IntegerLaw]

#: Groups of rows per decision, where `weigh_missing` needs some.
MOST_GROUPS = 1_024


@dataclass(frozen=True, eq=False)
class WeightedP:
    """The missing rows of one decision: their probabilities and how many rows have each.

    Parameters
    ----------
    p : ndarray of float, shape (1 + n_refits, k)
        Probabilities, for the fit and for each refit.
    count : ndarray of int, shape (k,)
        Rows at each.
    """

    p: FloatArray
    count: IntArray

    @property
    def fits(self) -> slice:
        """Rows of `p` that are mixed: the refits, or the fit itself where there are none."""
        return slice(1, None) if len(self.p) > 1 else slice(1)

    def law(self, i: int) -> IntegerLaw:
        """Return the law of the number of positives under fit `i` (0 is the fit itself).

        Parameters
        ----------
        i : int
            Row of `p`.

        Returns
        -------
        IntegerLaw
            Its Poisson-binomial law.
        """
        return integer_law(PowerSums.from_probabilities(self.p[i], self.count))

    def laws(self, fits: slice = slice(None)) -> list[IntegerLaw]:
        """Return the laws of the number of positives under several fits.

        Parameters
        ----------
        fits : slice, default all
            Rows of `p`.

        Returns
        -------
        list of IntegerLaw
            A Poisson-binomial law per fit.
        """
        if are_few(self.count):
            return fitted_laws(self.p[fits], self.count)
        return [self.law(i) for i in range(*fits.indices(len(self.p)))]


def check_made_from(evaluation: EvaluationSet, imputation: Imputation) -> None:
    """Raise unless an imputation belongs to an evaluation.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels, decisions and scores.
    imputation : Imputation
        Belief.

    Raises
    ------
    ValueError
        If there are other rows there, or other labels; or if p was learned from other scores.

    Notes
    -----
    What p was learned from must be the score of this evaluation (its decisions where it has
    none, or where p was learned from decisions). Another model's p passes where it knows this
    score, as a feature or as a monotone function of what it does use. Maximum entropy, the
    prevalence and a given array use no score and pass.
    """
    check_same_labels(evaluation, imputation)
    learned = imputation.score
    if learned is None:
        return
    score = score_of(evaluation)
    if np.array_equal(learned, score) or np.array_equal(learned, evaluation.y_pred):
        return
    if imputation.knows(score):
        return
    other = learned != score
    first, what = int(np.argmax(other)), name_of_score(evaluation)
    raise ValueError(
        f"`imputation` must know the {what}s of this evaluation; it was learned from others, first "
        f"{learned[first]:g} for {score[first]:g} at row {first} ({int(other.sum()):,} such rows). "
        f"Call `impute` on this evaluation, or give it these {what}s among its `features`."
    )


def check_same_labels(evaluation: EvaluationSet, imputation: Imputation) -> None:
    """Raise unless an imputation holds the rows and labels of an evaluation.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels.
    imputation : Imputation
        Belief.

    Raises
    ------
    ValueError
        If there are other rows there, or other labels.
    """
    if len(imputation.p) != evaluation.n_rows:
        difference = (
            f"it holds {len(imputation.p)} rows with {int(imputation.is_labeled.sum())} labels "
            f"against {evaluation.n_rows} rows with {int(evaluation.is_labeled.sum())}"
        )
    else:
        made = np.where(imputation.is_labeled, imputation.p, np.nan)
        other = ~((made == evaluation.y_true) | (np.isnan(made) & np.isnan(evaluation.y_true)))
        if not other.any():
            return
        first = int(np.argmax(other))
        there, here = (
            "no label" if np.isnan(value) else f"label {value:g}"
            for value in (made[first], evaluation.y_true[first])
        )
        difference = (
            f"row {first} has {there} there and {here} here ({int(other.sum()):,} such rows)"
        )
    raise ValueError(
        f"`imputation` must be made from this evaluation; {difference}. Call `impute` on this "
        "evaluation."
    )


def weigh_missing(evaluation: EvaluationSet, imputation: Imputation) -> tuple[WeightedP, WeightedP]:
    """Return the missing rows predicted positive and those predicted negative.

    Parameters
    ----------
    evaluation : EvaluationSet
        Decisions and counts.
    imputation : Imputation
        Belief, made from this evaluation.

    Returns
    -------
    tuple of WeightedP
        Predicted positive, predicted negative.

    Raises
    ------
    ValueError
        If the imputation was made for other rows or scores.

    Notes
    -----
    Where refits give each row a probability of its own, rows that are neighbors in the fit are
    put into up to 1,024 groups, and a group's mean stands for its rows: expected counts stay
    exact under every refit, and variances are too large by that of p inside a group. The exact
    laws of `count_pairs` need no groups.
    """
    check_made_from(evaluation, imputation)
    positive, negative = missing_sides(evaluation)
    return _weigh(evaluation, imputation, positive), _weigh(evaluation, imputation, negative)


def _weigh(evaluation: EvaluationSet, imputation: Imputation, rows: BoolArray) -> WeightedP:
    count = evaluation.count[rows]
    if imputation.bin_index is None or imputation.bin_values is None:
        if imputation.n_refits:
            return _group_rows(imputation, rows, count)
        return WeightedP(imputation.p[rows][None, :], count)
    n_bins = imputation.bin_values.shape[1]
    weight = np.bincount(imputation.bin_index[rows], weights=count, minlength=n_bins)
    used = weight > 0
    return WeightedP(imputation.bin_values[:, used], weight[used].astype(np.int64))


def _group_rows(imputation: Imputation, rows: BoolArray, count: IntArray) -> WeightedP:
    """Return neighbors in the fit as groups; one refit is in memory at a time."""
    p = imputation.p[rows]
    n_groups = min(MOST_GROUPS, len(p))
    group = np.empty(len(p), dtype=np.int64)
    group[np.argsort(p)] = np.arange(len(p)) * n_groups // max(len(p), 1)
    total = np.bincount(group, count, n_groups)
    mean = np.empty((1 + imputation.n_refits, n_groups))
    for i in range(len(mean)):
        p = imputation.p[rows] if i == 0 else imputation.refit(i - 1)[rows]
        mean[i] = np.bincount(group, count * p, n_groups) / total
    return WeightedP(mean, total.astype(np.int64))


def count_pairs(evaluation: EvaluationSet, imputation: Imputation) -> list[CountPair]:
    """Return the laws of U and V, once for each way the belief could have come out.

    Parameters
    ----------
    evaluation : EvaluationSet
        Decisions and counts.
    imputation : Imputation
        Belief, made from this evaluation.

    Returns
    -------
    list of tuple of IntegerLaw
        One pair per refit; one pair in all where p is taken as known or nothing is missing.
    """
    check_made_from(evaluation, imputation)
    if imputation.row_refits is not None:
        sides = missing_sides(evaluation)
        return [
            pair_by_row(evaluation, sides, imputation.refit(i)) for i in range(imputation.n_refits)
        ]
    positive, negative = weigh_missing(evaluation, imputation)
    return list(zip(positive.laws(positive.fits), negative.laws(negative.fits), strict=True))


def missing_sides(evaluation: EvaluationSet) -> tuple[BoolArray, BoolArray]:
    """Return which missing rows are predicted positive, and which negative.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels and decisions.

    Returns
    -------
    tuple of ndarray of bool, shape (n_rows,)
        Predicted positive, predicted negative.
    """
    missing = ~evaluation.is_labeled
    return missing & (evaluation.y_pred == 1), missing & (evaluation.y_pred == 0)


def pair_by_row(
    evaluation: EvaluationSet, sides: tuple[BoolArray, BoolArray], p: FloatArray
) -> CountPair:
    """Return the laws of U and V where each row has a probability of its own.

    Parameters
    ----------
    evaluation : EvaluationSet
        Counts.
    sides : tuple of ndarray of bool
        `missing_sides` of it.
    p : ndarray of float, shape (n_rows,)
        P(y = 1) of each row.

    Returns
    -------
    tuple of IntegerLaw
        Laws of U and V.
    """
    u, v = (
        integer_law(PowerSums.from_probabilities(p[rows], evaluation.count[rows])) for rows in sides
    )
    return u, v
