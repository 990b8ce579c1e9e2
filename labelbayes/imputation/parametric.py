"""Calibrators with a few coefficients: Platt scaling with features, and beta calibration."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import BaseEstimator

from labelbayes._checks import FloatArray
from labelbayes.imputation.fit_checks import (
    all_columns,
    check_classes,
    check_labels,
    first_column,
)
from labelbayes.imputation.odds import CLIP, inside_unit
from labelbayes.imputation.platt import SLOPE_VARIANCE, fit_logistic, softplus
from labelbayes.imputation.score_scale import ScoreScale, within_unit

#: Prior standard deviation of the log odds of one group against the others: groups with few
#: labels are pulled together, groups with many are free.
GROUP_SD = 1.0


class PlattCalibrator(BaseEstimator):
    """Logistic regression on the score and, where given, features.

    Parameters
    ----------
    scale : {"auto", "logit", "standardized"}, default "auto"
        Whether the logit of the score is taken first: "auto" where every fitted score lies in
        [0, 1].

    Attributes
    ----------
    scale_ : str
        "logit" or "standardized".
    coef_ : ndarray of float, shape (k,)
        Coefficients of the score and the features, per standard deviation; of a column of 0 and
        1, the log odds of its 1.
    intercept_ : float
        Log odds where all of these are 0.

    Notes
    -----
    **Assumes** that log odds are a sum of effects, linear in the (logit of the) score and in
    each feature, and independent rows. Coefficients have normal priors: a standard deviation of
    5 per standard deviation of the score or a feature, so that separable labels have a finite
    fit, and of 1 for a column of 0 and 1, which pools groups partially. The intercept is free.

    References
    ----------
    .. [1] J. Platt, Probabilistic outputs for support vector machines, 1999.
    .. [2] A. Gelman, J. Hill, Data analysis using regression and multilevel/hierarchical models,
       Cambridge, 2007 (partial pooling).

    Examples
    --------
    >>> calibrator = PlattCalibrator().fit([[0.1], [0.3], [0.6], [0.9]], [0, 1, 0, 1])
    >>> calibrator.predict([[0.2], [0.8]]).round(2)
    array([0.3 , 0.73])
    """

    def __init__(self, *, scale: str = "auto") -> None:
        self.scale = scale

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> PlattCalibrator:
        """Fit the coefficients.

        Parameters
        ----------
        X : array_like of float, shape (n,) or (n, k)
            The score in the first column, features in the others.
        y : array_like of 0 and 1, shape (n,)
            Labels, of both classes.
        sample_weight : array_like of float >= 0, shape (n,), optional
            Weight of each row.

        Returns
        -------
        PlattCalibrator
            The calibrator itself.

        Raises
        ------
        ValueError
            If the labels are of one class, or a value or a shape is not as above.
        """
        columns = all_columns(X)
        _, label, weight = check_labels(columns, y, sample_weight)
        check_classes(label)
        if sample_weight is not None:
            columns = columns[np.asarray(sample_weight) > 0]
        self._columns = [
            ScoreScale.fit(column, weight, self.scale if j == 0 else "standardized")
            for j, column in enumerate(columns.T)
        ]
        self.scale_ = self._columns[0].kind
        ratio = GROUP_SD / np.sqrt(SLOPE_VARIANCE)
        is_indicator = ((columns == 0) | (columns == 1)).all(axis=0)
        is_indicator[0] = False
        # One penalty for all columns: what has a narrower prior enters in smaller units.
        self._prior = np.where(is_indicator, ratio, 1.0)
        self._is_indicator = is_indicator
        coefficients, self.intercept_ = fit_logistic(self.design(columns)[:, 1:], label, weight)
        self.coef_ = coefficients * self._prior
        return self

    def design(self, X: npt.ArrayLike) -> FloatArray:
        """Return the columns of the regression, in units in which one ridge serves them all.

        Parameters
        ----------
        X : array_like of float, shape (n,) or (n, k)
            Columns as in `fit`.

        Returns
        -------
        ndarray of float, shape (n, 1 + k)
            A column of 1, then the score and the features.
        """
        columns = all_columns(X)
        parts = [np.ones(len(columns))]
        for j, column in enumerate(columns.T):
            plain = self._is_indicator[j]
            parts.append(self._prior[j] * (column if plain else self._columns[j].transform(column)))
        return np.column_stack(parts)

    def predict(self, X: npt.ArrayLike) -> FloatArray:
        """Return P(y = 1) of each row.

        Parameters
        ----------
        X : array_like of float, shape (n,) or (n, k)
            Columns as in `fit`.

        Returns
        -------
        ndarray of float, shape (n,)
            Probabilities strictly between 0 and 1.
        """
        columns = all_columns(X)
        eta = np.full(len(columns), self.intercept_)
        for column, effect, plain, scale in zip(
            columns.T, self.coef_, self._is_indicator, self._columns, strict=True
        ):
            eta += effect * (column if plain else scale.transform(column))
        return inside_unit(expit(eta))


class BetaCalibrator(BaseEstimator):
    """Beta calibration: log odds are ``c + a log s - b log(1 - s)`` with a, b >= 0.

    Attributes
    ----------
    a_, b_ : float >= 0
        Coefficients of log s and -log(1 - s).
    c_ : float
        Intercept.

    Notes
    -----
    **Assumes** that scores of each class follow a beta law, and independent rows. Scores are
    clipped to [1e-12, 1 - 1e-12]. Where the score ranks the wrong way, a and b are 0 and the
    fit is constant. Coefficients have weak normal priors, a standard deviation of 5 per
    standard deviation of their column, so that separable labels have a finite fit.

    References
    ----------
    .. [1] M. Kull, T. Silva Filho, P. Flach, Beta calibration: a well-founded and easily
       implemented improvement on logistic calibration for binary classifiers, AISTATS 2017.

    Examples
    --------
    >>> calibrator = BetaCalibrator().fit([[0.1], [0.3], [0.6], [0.9]], [0, 1, 0, 1])
    >>> calibrator.predict([[0.2], [0.8]]).round(2)
    array([0.3 , 0.74])
    """

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> BetaCalibrator:
        """Fit the three coefficients.

        Parameters
        ----------
        X : array_like of float in [0, 1], shape (n,) or (n, k)
            The score in the first column; other columns are not used.
        y : array_like of 0 and 1, shape (n,)
            Labels, of both classes.
        sample_weight : array_like of float >= 0, shape (n,), optional
            Weight of each row.

        Returns
        -------
        BetaCalibrator
            The calibrator itself.

        Raises
        ------
        ValueError
            If a score is outside [0, 1], the labels are of one class, or a value or a shape is
            not as above.
        """
        score, label, weight = check_labels(X, y, sample_weight)
        check_classes(label)
        if not within_unit(score):
            raise ValueError(
                f"`X` must hold scores in [0, 1] for beta calibration; got {score.min():g} to "
                f"{score.max():g}. Use Platt scaling, which takes any score."
            )
        logs = _two_logs(score)
        center = np.average(logs, axis=0, weights=weight)
        spread = np.sqrt(np.average((logs - center) ** 2, axis=0, weights=weight))
        spread[spread == 0] = 1.0
        coefficients = _fit_bounded((logs - center) / spread, label, weight)
        self.a_, self.b_ = (coefficients[:2] / spread).tolist()
        self.c_ = float(coefficients[2] - center @ (coefficients[:2] / spread))
        return self

    def predict(self, X: npt.ArrayLike) -> FloatArray:
        """Return P(y = 1) of each row.

        Parameters
        ----------
        X : array_like of float in [0, 1], shape (n,) or (n, k)
            The score in the first column.

        Returns
        -------
        ndarray of float, shape (n,)
            Probabilities strictly between 0 and 1.
        """
        eta = _two_logs(first_column(X)) @ np.array([self.a_, self.b_]) + self.c_
        return inside_unit(expit(eta))


def _two_logs(score: FloatArray) -> FloatArray:
    """Return log s and -log(1 - s), shape (n, 2)."""
    clipped = np.clip(score, CLIP, 1 - CLIP)
    return np.column_stack([np.log(clipped), -np.log1p(-clipped)])


def _fit_bounded(z: FloatArray, label: FloatArray, weight: FloatArray) -> FloatArray:
    """Return ridge-penalized logistic coefficients, those of the two columns at least 0.

    The loss is convex: where its minimum breaks a bound, the best point lies on an edge, and
    the best point of an edge is the fit of its one column, or the constant.
    """
    rate = np.average(label, weights=weight)
    best = np.array([0.0, 0.0, np.log(rate) - np.log1p(-rate)])
    lowest = np.inf
    for columns in ([0, 1], [0], [1]):
        theta = np.zeros(3)
        theta[columns], theta[2] = fit_logistic(z[:, columns], label, weight)
        if theta[:2].min() < 0:
            continue
        eta = z @ theta[:2] + theta[2]
        loss = weight @ (softplus(eta) - label * eta)
        loss += theta[:2] @ theta[:2] / (2 * SLOPE_VARIANCE)
        if loss < lowest:
            best, lowest = theta, loss
        if len(columns) == 2:
            break
    return best
