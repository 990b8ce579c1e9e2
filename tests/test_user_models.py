"""Models of the user's own change nothing in the session."""

import threading
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelbayes._user_models import filters_kept, fresh_copy
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.weighting.propensity import fit_propensity

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(300, 2))
LABELS = np.where(RNG.random(300) < 0.5, np.nan, FEATURES[:, 0] > 0)
EVALUATION = EvaluationSet(LABELS, 1 / (1 + np.exp(-FEATURES[:, 0])))


def out_of_turn() -> None:
    """Two threads that keep and restore filters as scikit-learn's do, the first one out first."""
    inside, may_leave = threading.Event(), threading.Event()

    def second() -> None:
        with warnings.catch_warnings():
            inside.set()
            may_leave.wait(10)

    other = threading.Thread(target=second)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other.start()
        inside.wait(10)
    may_leave.set()
    other.join()


class Careless(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Leaves filters behind, when it learns and when it is asked."""

    def fit(self, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> "Careless":
        out_of_turn()
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        out_of_turn()
        return np.full((len(X), 2), 0.5)


class CarelessCalibrator:
    def fit(self, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> None:
        out_of_turn()

    def predict(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        out_of_turn()
        return np.full(len(X), 0.5)


def test_threads_out_of_turn_leave_filters_behind() -> None:
    """The planted error does what it is for; without it the next tests would prove nothing."""
    before = list(warnings.filters)
    with warnings.catch_warnings():
        out_of_turn()
        assert list(warnings.filters) != before
    with filters_kept():
        out_of_turn()
    assert list(warnings.filters) == before


def test_a_careless_model_leaves_no_filters() -> None:
    before = list(warnings.filters)
    fit_propensity(FEATURES, EVALUATION, model=Careless(), rng=0)
    belief = impute(EVALUATION, CarelessCalibrator(), n_refits=0, rng=0)
    np.testing.assert_array_equal(belief.p[np.isnan(LABELS)], 0.5)
    assert list(warnings.filters) == before


def test_a_model_with_threads_leaves_no_filters() -> None:
    before = list(warnings.filters)
    for _ in range(10):
        model = HistGradientBoostingClassifier(max_iter=2)
        fit_propensity(FEATURES, EVALUATION, model=model, rng=0)
        assert list(warnings.filters) == before


def test_every_seed_that_is_missing_is_ours() -> None:
    pipeline = make_pipeline(StandardScaler(), MLPClassifier(max_iter=5))
    first = fresh_copy(pipeline, np.random.default_rng(3))
    again = fresh_copy(pipeline, np.random.default_rng(3))
    assert first["mlpclassifier"].random_state == again["mlpclassifier"].random_state is not None
    assert fresh_copy(RandomForestClassifier(random_state=7), RNG).random_state == 7
    state = np.random.default_rng(5)
    fresh_copy(LinearRegression(), state)
    assert state.integers(1_000) == np.random.default_rng(5).integers(1_000)


def test_what_is_not_of_scikit_learn_is_copied_whole() -> None:
    calibrator = CarelessCalibrator()
    copied = fresh_copy(calibrator, RNG)
    assert type(copied) is CarelessCalibrator
    assert copied is not calibrator
