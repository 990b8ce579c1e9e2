"""Whether Platt scaling fits: a score test of bins against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from labelbayes._checks import FloatArray
from labelbayes.imputation.calibration import equal_mass_edges
from labelbayes.imputation.label_weights import LabelWeights
from labelbayes.imputation.parametric import PlattCalibrator
from labelbayes.imputation.platt import SLOPE_VARIANCE

#: Bins at most, and labels of the rarer class per bin at least.
TEST_BINS = 10
_RARER_PER_BIN = 5
#: Labels of the rarer class per feature at least: with fewer, fits that are right look wrong (half
#: of them with 50 columns of noise and 520 labels).
_RARER_PER_FEATURE = 10

#: Below this p-value a lack of fit is noted: 1 of 100 fits that are right.
LEVEL = 0.01


@dataclass(frozen=True)
class FitTest:
    """A score test of rates in bins against Platt scaling.

    Parameters
    ----------
    statistic : float
        Chi-square statistic.
    dof : int
        Its degrees of freedom.
    p_value : float
        Chance of a larger one where Platt scaling is right.
    """

    statistic: float
    dof: int
    p_value: float


def lack_of_fit(X: FloatArray, weights: LabelWeights, scale: str = "auto") -> FitTest | None:
    """Test whether rates in bins of Platt's output differ from it beyond chance.

    Parameters
    ----------
    X : ndarray of float, shape (n_rows, 1 + k)
        The score, then features.
    weights : LabelWeights
        Labels, independent and of equal weight.
    scale : {"auto", "logit", "standardized"}, default "auto"
        How Platt scaling takes the score.

    Returns
    -------
    FitTest or None
        None with fewer than 15 labels of a class, fewer than 10 a feature, or too few distinct
        outputs for 3 bins.

    Notes
    -----
    **Assumes** independent labels. Residuals are summed in up to 10 bins of equal mass; their
    covariance is that of the labels less what the fit absorbs, so that the statistic is
    chi-square with one degree of freedom less than bins, and less again where bins hold so few
    scores that the slope is a sum of bins.

    References
    ----------
    .. [1] A. A. Tsiatis, A note on a goodness-of-fit test for the logistic regression model,
       Biometrika 67, 1980.
    .. [2] D. W. Hosmer, S. Lemeshow, Goodness of fit tests for the multiple logistic regression
       model, Communications in Statistics A 9, 1980.
    """
    rarer, n_features = min(weights.n_by_class), X.shape[1] - 1
    n_bins = min(TEST_BINS, rarer // _RARER_PER_BIN)
    if n_bins < 3 or rarer < n_features * _RARER_PER_FEATURE:
        return None
    columns, label, count = X[weights.row], weights.label, weights.count
    platt = PlattCalibrator(scale=scale).fit(columns, label, sample_weight=count)
    p, design = platt.predict(columns), platt.design(columns)
    edges = equal_mass_edges(p, count, n_bins)
    if len(edges) < 2:
        return None
    bins = np.searchsorted(edges, p, side="left")
    n_bins = len(edges) + 1
    spread = count * p * (1 - p)
    residual = np.bincount(bins, count * (label - p), n_bins)
    absorbed = np.column_stack([np.bincount(bins, spread * column, n_bins) for column in design.T])
    ridge = np.full(design.shape[1], 1 / SLOPE_VARIANCE)
    ridge[0] = 0.0
    information = (design * spread[:, None]).T @ design + np.diag(ridge)
    covariance = np.diag(np.bincount(bins, spread, n_bins))
    covariance = covariance - absorbed @ np.linalg.solve(information, absorbed.T)
    values, vectors = np.linalg.eigh(covariance)
    # What the fit absorbs has no variance of its own: the sum of residuals, which a free intercept
    # makes 0, and the slope where bins are single scores, of which the ridge leaves a trace.
    kept = values > 1e-3 * values.max()
    statistic = float(((vectors.T @ residual)[kept] ** 2 / values[kept]).sum())
    dof = int(kept.sum())
    return FitTest(statistic, dof, float(chi2.sf(statistic, dof)))


def note_fit(X: FloatArray, weights: LabelWeights, scale: str) -> tuple[str, ...]:
    """Return a sentence where Platt scaling does not fit.

    Parameters
    ----------
    X : ndarray of float, shape (n_rows, 1 + k)
        The score, then features.
    weights : LabelWeights
        Labels of both classes.
    scale : {"auto", "logit", "standardized"}
        How Platt scaling takes the score.

    Returns
    -------
    tuple of str
        None where it fits, or where labels weigh differently or come in clusters, which the
        test does not cover.
    """
    test = lack_of_fit(X, weights, scale) if weights.is_plain else None
    if test is None or test.p_value >= LEVEL:
        return ()
    remedy = (
        "use how='histogram' or a calibrator that bends"
        if X.shape[1] == 1
        else "add the columns that are missing, or pass a calibrator that bends"
    )
    note = (
        f"Platt scaling does not fit these labels: rates in bins differ from it "
        f"beyond chance (score test, p = {test.p_value:.2g}). Refits do not cover that; {remedy}."
    )
    return (note,)
