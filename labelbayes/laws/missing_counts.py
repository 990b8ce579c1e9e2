"""From belief about each row to the laws of the two counts that every count metric needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import Imputation
from labelbayes.laws.poisson_binomial import integer_law
from labelbayes.laws.power_sums import PowerSums
from labelbayes.results.integer_law import IntegerLaw

#: Laws of U and V: positives among missing rows predicted positive, and predicted negative.
CountPair = tuple[IntegerLaw, IntegerLaw]


@dataclass(frozen=True, eq=False)
class WeightedP:
    """The missing rows of one decision: their distinct probabilities and how many rows have each.

    Parameters
    ----------
    p : ndarray of float, shape (1 + n_refits, k)
        Probabilities, for the fit and for each refit.
    count : ndarray of int, shape (k,)
        Rows at each.
    """

    p: FloatArray
    count: np.ndarray

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


def check_made_from(evaluation: EvaluationSet, imputation: Imputation) -> None:
    """Raise unless an imputation belongs to an evaluation.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels.
    imputation : Imputation
        Belief.

    Raises
    ------
    ValueError
        If other rows have a label there.
    """
    if not np.array_equal(imputation.is_labeled, evaluation.is_labeled):
        raise ValueError(
            f"`imputation` must be made from this evaluation; it holds {len(imputation.p)} rows "
            f"with {int(imputation.is_labeled.sum())} labels against {evaluation.n_rows} rows with "
            f"{int(evaluation.is_labeled.sum())}. Call `impute` on this evaluation."
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
        If the imputation was made for other rows.
    """
    check_made_from(evaluation, imputation)
    missing = ~evaluation.is_labeled
    positive = evaluation.y_pred == 1
    return (
        _weigh(evaluation, imputation, missing & positive),
        _weigh(evaluation, imputation, missing & ~positive),
    )


def _weigh(evaluation: EvaluationSet, imputation: Imputation, rows: np.ndarray) -> WeightedP:
    count = evaluation.count[rows]
    if imputation.bin_index is None or imputation.bin_values is None:
        return WeightedP(imputation.p[rows][None, :], count)
    n_bins = imputation.bin_values.shape[1]
    weight = np.bincount(imputation.bin_index[rows], weights=count, minlength=n_bins)
    used = weight > 0
    return WeightedP(imputation.bin_values[:, used], weight[used].astype(np.int64))


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
    positive, negative = weigh_missing(evaluation, imputation)
    fits = range(1, 1 + imputation.n_refits) if imputation.n_refits else range(1)
    return [(positive.law(i), negative.law(i)) for i in fits]
