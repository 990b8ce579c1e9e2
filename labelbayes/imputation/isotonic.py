"""Isotonic calibration that never calls a label certain."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression

from labelbayes._checks import FloatArray
from labelbayes.imputation.fit_checks import check_labels, first_column


class IsotonicCalibrator(BaseEstimator):
    """The best non-decreasing step function, with half a count of each class at both ends.

    Without the half counts the lowest step would often be 0 and the highest 1: every missing
    label there would be taken as certain, under every refit.

    Attributes
    ----------
    model_ : sklearn.isotonic.IsotonicRegression
        The fitted function, of the score in `unit_`.
    unit_ : float
        1, or 4 where differences of scores would overflow.

    Notes
    -----
    **Assumes** that the rate of positives does not fall with the score, and independent rows.
    Scores beyond the fitted ones take the value of the nearest.

    References
    ----------
    .. [1] B. Zadrozny, C. Elkan, Transforming classifier scores into accurate multiclass
       probability estimates, KDD 2002.

    Examples
    --------
    >>> calibrator = IsotonicCalibrator().fit([[0.1], [0.2], [0.8], [0.9]], [0, 0, 1, 1])
    >>> calibrator.predict([[0.0], [1.0]]).round(3)
    array([0.167, 0.833])
    """

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> IsotonicCalibrator:
        """Pool adjacent violators.

        Parameters
        ----------
        X : array_like of float, shape (n,) or (n, k)
            The score in the first column; other columns are not used.
        y : array_like of 0 and 1, shape (n,)
            Labels.
        sample_weight : array_like of float >= 0, shape (n,), optional
            Weight of each row.

        Returns
        -------
        IsotonicCalibrator
            The calibrator itself.

        Raises
        ------
        ValueError
            If there is no label, or a value or a shape is not as above.
        """
        score, label, weight = check_labels(X, y, sample_weight)
        low, high = score.min(), score.max()
        # scikit-learn takes differences of scores, which must not overflow.
        self.unit_ = 1.0 if high / 2 - low / 2 < np.finfo(float).max / 2 else 4.0
        score, low, high = score / self.unit_, low / self.unit_, high / self.unit_
        self.model_ = IsotonicRegression(out_of_bounds="clip").fit(
            np.concatenate([score, [low, low, high, high]]),
            np.concatenate([label, [0, 1, 0, 1]]),
            sample_weight=np.concatenate([weight, np.full(4, 0.5)]),
        )
        return self

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
        return np.asarray(self.model_.predict(first_column(X) / self.unit_), dtype=np.float64)
