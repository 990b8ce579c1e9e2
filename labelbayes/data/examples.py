"""Real evaluation sets built from data that scikit-learn ships."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelbayes._checks import make_rng
from labelbayes.data.evaluation_set import EvaluationSet


def load_breast_cancer_scores(*, rng: np.random.Generator | int | None = None) -> EvaluationSet:
    """Return 569 breast masses with their diagnosis and out-of-fold P(malignant).

    The positive class is malignant (212 of 569). Scores come from a logistic regression on the
    30 standardized features, fitted on four fifths of the rows and applied to the last, five
    times over (stratified), so that no row is scored by a model that saw it.

    Parameters
    ----------
    rng : numpy.random.Generator, int or None, default None
        Draws the folds; None takes them in the order of the file, always the same.

    Returns
    -------
    EvaluationSet
        Fully labeled; hide labels with `mask_mcar`, `mask_mar` or `mask_mnar`.

    References
    ----------
    .. [1] W. N. Street, W. H. Wolberg and O. L. Mangasarian, "Nuclear feature extraction for
       breast tumor diagnosis", Proceedings of SPIE 1905, 861-870, 1993.

    Examples
    --------
    >>> evaluation = load_breast_cancer_scores()
    >>> evaluation.n_labeled, int(evaluation.y_true.sum())
    (569, 212)
    """
    features, target = load_breast_cancer(return_X_y=True)
    # scikit-learn codes malignant as 0.
    is_malignant = 1 - target
    seed = None if rng is None else int(make_rng(rng).integers(2**32))
    folds = StratifiedKFold(n_splits=5, shuffle=seed is not None, random_state=seed)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    proba = cross_val_predict(model, features, is_malignant, cv=folds, method="predict_proba")
    return EvaluationSet(is_malignant, proba[:, 1])
