"""Nuisance models: cross-fitted, in any row order, from the past where there is time."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.simulate_selection import simulate_selection
from labelbayes.weighting.outcome import Outcome, fit_outcome, read_outcome
from labelbayes.weighting.propensity import Propensity, fit_propensity, read_propensity

MADE = simulate_selection(1_500, floor=0.0, rng=7)
FITS = {"propensity": fit_propensity, "outcome": fit_outcome}
TRUTH = {"propensity": MADE.propensity, "outcome": MADE.outcome}


class Remembers(LogisticRegression):
    """Says 1 for each row that it was fitted on, 0 for others: what cross-fitting must hide."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.seen_ = {tuple(row) for row in np.asarray(X)}
        return self

    def predict_proba(self, X):
        known = np.array([tuple(row) in self.seen_ for row in np.asarray(X)], dtype=float)
        return np.column_stack([1 - known, known])


@pytest.mark.parametrize("name", FITS)
def test_a_right_model_finds_the_truth(name: str) -> None:
    fitted = FITS[name](MADE.features, MADE.evaluation, rng=0)
    # Logistic regression with three parameters from hundreds of labels.
    assert np.sqrt(np.mean((fitted.p - TRUTH[name]) ** 2)) < 0.06
    assert "logistic regression, cross-fitted in 5 folds" in fitted.method
    assert fitted.features == ("x0", "x1")


@pytest.mark.parametrize("name", FITS)
def test_no_row_is_predicted_by_a_model_that_saw_it(name: str) -> None:
    model = Remembers()
    held_out = FITS[name](MADE.features, MADE.evaluation, model=model, rng=0).p
    assert (held_out == 0).all()
    # The companion: one fold is no cross-fitting, and labeled rows are remembered.
    in_sample = FITS[name](MADE.features, MADE.evaluation, model=model, n_folds=1).p
    learned = MADE.evaluation.is_labeled if name == "outcome" else np.ones(1_500, dtype=bool)
    assert (in_sample[learned] == 1).all()
    assert not hasattr(model, "seen_")  # the user's own object stays unfitted


@pytest.mark.parametrize("name", FITS)
def test_row_order_does_not_matter_and_the_seed_does(name: str) -> None:
    order = np.random.default_rng(1).permutation(1_500)
    base = FITS[name](MADE.features, MADE.evaluation, rng=3)
    again = FITS[name](MADE.features[order], MADE.evaluation._take(order), rng=3)
    np.testing.assert_array_equal(base.p[order], again.p)
    other = FITS[name](MADE.features, MADE.evaluation, rng=4)
    assert not np.array_equal(base.p, other.p)


@pytest.mark.parametrize("name", FITS)
def test_time_is_read_forward(name: str) -> None:
    time = np.arange(1_500)
    model = Remembers()
    fitted = FITS[name](MADE.features, MADE.evaluation, model=model, time=time, n_folds=4)
    assert (fitted.p == 0).all()
    # Labels that come later change nothing before them, but within the first block.
    changed = MADE.evaluation.y_true.copy()
    late = time >= 1_200
    changed[late] = np.where(np.isnan(changed[late]), 1.0, np.nan)
    later = EvaluationSet(changed, MADE.evaluation.y_score)
    before = FITS[name](MADE.features, MADE.evaluation, time=time, n_folds=4).p
    after = FITS[name](MADE.features, later, time=time, n_folds=4).p
    np.testing.assert_allclose(before[~late], after[~late], atol=1e-9)
    random = FITS[name](MADE.features, later, n_folds=4, rng=0).p
    assert np.abs(random[~late] - before[~late]).max() > 1e-3
    # Dates are as good as numbers, and ties stay together.
    dates = pd.Series(pd.date_range("2026-01-01", periods=150)).repeat(10)
    by_date = FITS[name](MADE.features, MADE.evaluation, time=dates, n_folds=4).p
    by_code = FITS[name](MADE.features, MADE.evaluation, time=np.arange(1_500) // 10, n_folds=4).p
    np.testing.assert_array_equal(by_date, by_code)


def test_any_classifier_and_any_table() -> None:
    table = pd.DataFrame(
        {"logit": MADE.features[:, 0], "city": np.where(MADE.features[:, 1] > 0, "A", "B")}
    )
    for model in (HistGradientBoostingClassifier(max_iter=50), KNeighborsClassifier(50)):
        fitted = fit_outcome(table, MADE.evaluation, model=model, rng=0)
        assert fitted.features == ("logit", "city")
        assert type(model).__name__ in fitted.method
        assert np.sqrt(np.mean((fitted.p - MADE.outcome) ** 2)) < 0.25
        again = fit_outcome(table, MADE.evaluation, model=model, rng=0)
        np.testing.assert_array_equal(fitted.p, again.p)
    with_words = fit_propensity(table, MADE.evaluation, rng=0).p
    without = fit_propensity(table[["logit"]], MADE.evaluation, rng=0).p
    assert np.abs(with_words - without).max() > 0.05
    one = fit_propensity(table["logit"], MADE.evaluation, rng=0)
    np.testing.assert_array_equal(one.p, without)


def test_counts_are_weights_of_the_fit() -> None:
    count = np.random.default_rng(2).integers(1, 5, 1_500)
    counted = MADE.evaluation._take(np.arange(1_500), count=count)
    rows = np.repeat(np.arange(1_500), count)
    one = fit_outcome(MADE.features, counted, n_folds=1).p
    other = fit_outcome(MADE.features[rows], MADE.evaluation._take(rows), n_folds=1).p
    # Standardizing differs in scale between the two, and the faint ridge with it.
    np.testing.assert_allclose(one[rows], other, atol=2e-4)
    with pytest.raises(ValueError, match=r"`model` must take `sample_weight` .* Repeat the rows"):
        fit_outcome(MADE.features, counted, model=KNeighborsClassifier())


def test_twenty_patients_by_a_saturated_model() -> None:
    """Case b07: P(seen in arm 1) is 1/2 for the mild and 3/4 for the severe."""
    severe = np.repeat([0, 0, 1, 1], [4, 4, 3, 9])
    seen = np.repeat([False, True, False, True], [4, 4, 3, 9])
    labels = np.where(seen, 1.0, np.nan)
    evaluation = EvaluationSet(labels, y_pred=np.ones(20, dtype=int))
    fitted = fit_propensity(severe, evaluation, n_folds=1)
    np.testing.assert_allclose(fitted.p, np.where(severe, 0.75, 0.5), atol=2e-3)


def test_everything_labeled_is_certain() -> None:
    assert (fit_propensity(MADE.features, MADE.complete, rng=0).p == 1).all()
    with pytest.raises(ValueError, match=r"must have labels to fit an outcome model; it has none"):
        fit_outcome([1, 2], EvaluationSet([None, None], [0.1, 0.2]))


@pytest.mark.parametrize(
    ("X", "options", "kind", "sentence"),
    [
        (np.zeros((3, 1)), {}, ValueError, r"^`X` must .* shape \(2, k\); got \(3, 1\)\.$"),
        ([0.0, np.inf], {}, ValueError, r"^`X` .* column 'x' has inf at row 1 \(1 such values\)"),
        ([0.0, 1.0], {"model": LinearSVC()}, TypeError, r"`predict_proba`; got LinearSVC\.$"),
        ([0.0, 1.0], {"n_folds": 0}, ValueError, r"`n_folds` must be at least 1; got 0\.$"),
        ([0.0, 1.0], {"time": [1, 1]}, ValueError, r"at least two distinct times"),
        ([0.0, 1.0], {"time": [1, None]}, ValueError, r"`time` must not be missing; it is at row"),
        ([0.0, 1.0], {"time": [1]}, ValueError, r"`time` must hold one value per row"),
        ([0.0, 1.0], {"time": [{1}, {2}]}, TypeError, r"`time` must hold values of one kind"),
    ],
)
def test_bad_input_is_one_sentence(X, options, kind, sentence) -> None:
    evaluation = EvaluationSet([1, None], [0.9, 0.1])
    with pytest.raises(kind, match=sentence):
        fit_propensity(X, evaluation, **options)


def test_probabilities_travel_and_cannot_be_changed() -> None:
    given = np.array([0.5, 0.25])
    for kind in (Propensity, Outcome):
        made = kind(given, "by hand", ("a",))
        given[0] = 0.5
        for copied in (made, copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            with pytest.raises(ValueError, match="read-only"):
                copied.p[0] = 1.0
            assert copied.features == ("a",)
        assert "by hand" in made._repr_html_()
        for wrong in ([0.5, 1.5], [np.nan], [[0.5]]):
            with pytest.raises(ValueError, match=r"^`p` must hold"):
                kind(wrong, "by hand")
        assert repr(made).startswith(kind.__name__)
    assert read_propensity([0.5, 1.0], 2).method == "P(labeled) as given"
    assert read_outcome([0.5, 1.0], 2).method == "P(y = 1) as given"
    with pytest.raises(ValueError, match=r"`outcome` must have been fitted on these rows, 3"):
        read_outcome(Outcome(given, "by hand"), 3)


SMALL = MADE.evaluation._take(np.arange(60))
X_SMALL = MADE.features[:60]


def test_numbers_whose_squares_overflow_are_standardized_all_the_same() -> None:
    huge = fit_propensity(X_SMALL * 1e300, SMALL, rng=0)
    np.testing.assert_allclose(huge.p, fit_propensity(X_SMALL, SMALL, rng=0).p, atol=1e-3)


@pytest.mark.parametrize(
    ("X", "error", "sentence"),
    [
        ([["a"], [None]] * 30, ValueError, r"^`X` must .* column 'x0' has nan at row 1 "),
        (pd.DataFrame(X_SMALL, columns=["a", "a"]), ValueError, r"^`X` must have one column per"),
    ],
)
def test_features_that_are_none(X: object, error: type, sentence: str) -> None:
    for fit in FITS.values():
        with pytest.raises(error, match=sentence):
            fit(X, SMALL, rng=0)
    many = pd.DataFrame({"id": [f"row {i}" for i in range(1_500)]})
    with pytest.raises(ValueError, match=r"^`X` must hold at most 200 different texts per column"):
        fit_propensity(many, MADE.evaluation)


def test_models_and_folds_that_cannot_be_fitted() -> None:
    for model in (LogisticRegression, "logistic"):
        with pytest.raises(TypeError, match=r"`model` must be a scikit-learn classifier"):
            fit_outcome(X_SMALL, SMALL, model=model)
    with pytest.raises(ValueError, match=r"`predict_proba` of SaysNothing does not"):
        fit_outcome(X_SMALL, SMALL, model=SaysNothing())
    with pytest.raises(ValueError, match=r"`n_folds` must be at most the number of rows, 60"):
        fit_propensity(X_SMALL, SMALL, n_folds=61)
    # More folds than rows of a kind are no trouble.
    assert np.isfinite(fit_propensity(X_SMALL, SMALL, n_folds=60, rng=0).p).all()


class SaysNothing(LogisticRegression):
    """A classifier whose probabilities are nan."""

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return nan."""
        return np.full((len(X), 2), np.nan)


@pytest.mark.parametrize("read", [read_propensity, read_outcome])
def test_probabilities_are_read_from_any_container(read) -> None:
    masked = np.ma.array([0.5, 0.5], mask=[False, True])
    with pytest.raises(ValueError, match="got nan at row 1"):
        read(masked, 2)
    for values in (["0.5", "0.5"], "ab", {"a": 1}, np.array([0.5, 0.5]) + 0j):
        with pytest.raises(TypeError, match=r"^`(propensity|outcome)` must"):
            read(values, 2)
    with pytest.raises(ValueError, match="one-dimensional"):
        read([[0.5], [0.5]], 2)
    other = Outcome if read is read_propensity else Propensity
    with pytest.raises(TypeError, match=r"of the other model\. Exchange the two"):
        read(other(np.array([0.5, 0.5]), "given"), 2)
