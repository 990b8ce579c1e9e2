"""Calibrators from a score to P(y = 1), as scikit-learn estimators, and the pieces they share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import BaseEstimator

from labelbayes._checks import FloatArray, IntArray, check_choice, check_whole
from labelbayes.imputation.fit_checks import check_classes, check_labels, first_column
from labelbayes.imputation.platt import fit_platt
from labelbayes.imputation.score_scale import SCALES, ScoreScale


class HistogramCalibrator(BaseEstimator):
    """Share of positives in bins of equal mass, with half a count of each class added.

    Parameters
    ----------
    n_bins : int >= 1, default 10
        Bins at most; tied scores are never separated, so there may be fewer.

    Attributes
    ----------
    edges_ : ndarray of float, shape (n_bins_ - 1,)
        Upper edges of all bins but the last; a score on an edge belongs below it.
    values_ : ndarray of float, shape (n_bins_,)
        (positives + 1/2) / (labels + 1) in each bin: the mean under Jeffreys' prior.
    n_bins_ : int
        Bins in use.

    Notes
    -----
    **Assumes** that rows of one bin have one rate of positives, and independent rows. Scores
    beyond the fitted ones fall in the first or last bin.

    References
    ----------
    .. [1] B. Zadrozny, C. Elkan, Obtaining calibrated probability estimates from decision trees
       and naive Bayesian classifiers, ICML 2001.
    .. [2] L. D. Brown, T. T. Cai, A. DasGupta, Interval estimation for a binomial proportion,
       Statistical Science 16, 2001 (the half counts).

    Examples
    --------
    >>> calibrator = HistogramCalibrator(n_bins=2).fit([[0.1], [0.2], [0.8], [0.9]], [0, 0, 1, 1])
    >>> calibrator.predict([[0.0], [1.0]]).round(3)
    array([0.167, 0.833])
    """

    def __init__(self, *, n_bins: int = 10) -> None:
        self.n_bins = n_bins

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> HistogramCalibrator:
        """Place the bins and count labels in them.

        Parameters
        ----------
        X : array_like of float, shape (n,) or (n, k)
            The score in the first column; other columns are not used.
        y : array_like of 0 and 1, shape (n,)
            Labels.
        sample_weight : array_like of float >= 0, shape (n,), optional
            Multiplicity of each row.

        Returns
        -------
        HistogramCalibrator
            The calibrator itself.

        Raises
        ------
        ValueError
            If there is no label, or a value or a shape is not as above.
        """
        score, label, weight = check_labels(X, y, sample_weight)
        self.edges_ = equal_mass_edges(score, weight, check_whole("n_bins", self.n_bins, least=1))
        self.n_bins_ = len(self.edges_) + 1
        bins = self.assign(score)
        positive = np.bincount(bins, weight * label, self.n_bins_)
        total = np.bincount(bins, weight, self.n_bins_)
        self.values_ = (positive + 0.5) / (total + 1.0)
        return self

    def assign(self, X: npt.ArrayLike) -> IntArray:
        """Return the bin of each row, shape (n,), from 0.

        Parameters
        ----------
        X : array_like of float, shape (n,) or (n, k)
            The score in the first column.

        Returns
        -------
        ndarray of int, shape (n,)
            Bins.
        """
        return np.searchsorted(self.edges_, first_column(X), side="left")

    def predict(self, X: npt.ArrayLike) -> FloatArray:
        """Return P(y = 1) of each row.

        Parameters
        ----------
        X : array_like of float, shape (n,) or (n, k)
            The score in the first column.

        Returns
        -------
        ndarray of float, shape (n,)
            Probabilities strictly between 0 and 1.
        """
        return np.asarray(self.values_[self.assign(X)])


class ScalingBinningCalibrator(BaseEstimator):
    """Platt scaling, then the mean Platt output in bins of equal mass.

    Parameters
    ----------
    n_bins : int >= 1, default 10
        Bins at most; tied outputs are never separated, so there may be fewer.
    scale : {"auto", "logit", "standardized"}, default "auto"
        What Platt scaling works on: the logit of a score in [0, 1], clipped to [1e-12, 1 - 1e-12],
        or the score itself in standard deviations. "auto" takes the logit where every fitted
        score lies in [0, 1].

    Attributes
    ----------
    scale_ : str
        "logit" or "standardized".
    slope_, intercept_ : float
        Platt coefficients on the standardized input.
    edges_ : ndarray of float, shape (n_bins_ - 1,)
        Upper edges of all bins but the last, in Platt outputs.
    values_ : ndarray of float, shape (n_bins_,)
        Weighted mean Platt output of the fitted rows of each bin.
    n_bins_ : int
        Bins in use.

    Notes
    -----
    **Assumes** that log odds are linear in the (logit of the) score, and independent rows: two
    parameters, whatever the number of bins. The slope has a weak ridge, a normal prior with a
    standard deviation of 5 per standard deviation of the input, so that separable labels have
    a finite fit.

    References
    ----------
    .. [1] A. Kumar, P. Liang, T. Ma, Verified uncertainty calibration, NeurIPS 2019.
    .. [2] J. Platt, Probabilistic outputs for support vector machines, 1999.

    Examples
    --------
    >>> calibrator = ScalingBinningCalibrator(n_bins=2)
    >>> calibrator.fit([[0.1], [0.3], [0.6], [0.9]], [0, 1, 0, 1]).predict([[0.2], [0.8]]).round(2)
    array([0.29, 0.71])
    """

    def __init__(self, *, n_bins: int = 10, scale: str = "auto") -> None:
        self.n_bins = n_bins
        self.scale = scale

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> ScalingBinningCalibrator:
        """Fit Platt's two coefficients, place the bins and average in them.

        Parameters
        ----------
        X : array_like of float, shape (n,) or (n, k)
            The score in the first column; other columns are not used.
        y : array_like of 0 and 1, shape (n,)
            Labels, of both classes.
        sample_weight : array_like of float >= 0, shape (n,), optional
            Weight of each row.

        Returns
        -------
        ScalingBinningCalibrator
            The calibrator itself.

        Raises
        ------
        ValueError
            If the labels are of one class, or a value or a shape is not as above.
        """
        n_bins = check_whole("n_bins", self.n_bins, least=1)
        check_choice("scale", self.scale, SCALES)
        score, label, weight = check_labels(X, y, sample_weight)
        check_classes(label)
        self._scale = ScoreScale.fit(score, weight, self.scale)
        self.scale_ = self._scale.kind
        slope, intercept = fit_platt(
            self.transform(score), (weight * label)[None], (weight * (1 - label))[None]
        )
        self.slope_, self.intercept_ = float(slope[0]), float(intercept[0])
        output = self.platt(score)
        self.edges_ = equal_mass_edges(output, weight, n_bins)
        self.n_bins_ = len(self.edges_) + 1
        bins = self.assign(score)
        total = np.bincount(bins, weight, self.n_bins_)
        self.values_ = np.bincount(bins, weight * output, self.n_bins_) / total
        return self

    def transform(self, X: npt.ArrayLike) -> FloatArray:
        """Return what Platt's coefficients multiply, with mean 0 and sd 1 on the fitted rows.

        Parameters
        ----------
        X : array_like of float, shape (n,) or (n, k)
            The score in the first column.

        Returns
        -------
        ndarray of float, shape (n,)
            Standardized input.
        """
        return self._scale.transform(first_column(X))

    def platt(self, X: npt.ArrayLike) -> FloatArray:
        """Return the Platt outputs, before they are averaged in bins.

        Parameters
        ----------
        X : array_like of float, shape (n,) or (n, k)
            The score in the first column.

        Returns
        -------
        ndarray of float, shape (n,)
            Probabilities.
        """
        return np.asarray(expit(self.slope_ * self.transform(X) + self.intercept_))

    def assign(self, X: npt.ArrayLike) -> IntArray:
        """Return the bin of each row, shape (n,), from 0 for the lowest outputs.

        Parameters
        ----------
        X : array_like of float, shape (n,) or (n, k)
            The score in the first column.

        Returns
        -------
        ndarray of int, shape (n,)
            Bins.
        """
        return np.searchsorted(self.edges_, self.platt(X), side="left")

    def predict(self, X: npt.ArrayLike) -> FloatArray:
        """Return P(y = 1) of each row.

        Parameters
        ----------
        X : array_like of float, shape (n,) or (n, k)
            The score in the first column.

        Returns
        -------
        ndarray of float, shape (n,)
            Probabilities.
        """
        return np.asarray(self.values_[self.assign(X)])


def equal_mass_edges(values: FloatArray, weight: FloatArray, n_bins: int) -> FloatArray:
    """Return the edges that cut `values` into parts of nearly equal weight.

    Each cut is the gap between neighboring distinct values whose weight below is nearest to its
    share (the lower of two equally near), at the middle of the gap; equal cuts are one.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        What is cut.
    weight : ndarray of float >= 0, shape (n,)
        Weight of each value.
    n_bins : int
        Parts at most.

    Returns
    -------
    ndarray of float, shape (k,) with k < n_bins
        Increasing edges; a value on an edge belongs below it. Every part has a value.
    """
    distinct, place = np.unique(values, return_inverse=True)
    # Weight below each gap between neighboring distinct values.
    below = np.cumsum(np.bincount(place, weight))
    gaps, total = below[:-1], below[-1]
    if len(gaps) == 0 or n_bins == 1:
        return np.empty(0)
    targets = total * np.arange(1, n_bins) / n_bins
    place = np.searchsorted(gaps, targets)
    upper = np.minimum(place, len(gaps) - 1)
    lower = np.maximum(place - 1, 0)
    nearer = np.where(gaps[upper] - targets < targets - gaps[lower], upper, lower)
    cuts = np.unique(nearer)
    low, high = distinct[cuts], distinct[cuts + 1]
    middle = low / 2 + high / 2
    # Between two neighboring floats the middle rounds to one of them: take the lower.
    return np.where(middle < high, middle, low)
