"""Calibrators that give each row its own p: refits on demand, weights, clusters, tilts."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.imputation.isotonic import IsotonicCalibrator
from labelbayes.imputation.parametric import BetaCalibrator, PlattCalibrator
from labelbayes.laws.missing_counts import count_pairs, weigh_missing
from labelbayes.laws.pemi import estimate_pemi

BY_ROW = ["platt", "isotonic", "beta"]
LEARNED = [*BY_ROW, "histogram", "scaling_binning", "prevalence"]


def make_set(n=400, share_labeled=0.5, seed=0, **options):
    rng = np.random.default_rng(seed)
    score = np.round(rng.beta(1, 1.5, n), 3)
    label = (rng.random(n) < score).astype(float)
    label[rng.random(n) > share_labeled] = np.nan
    return EvaluationSet(label, score, **options)


ROWS = make_set()
SITE = np.random.default_rng(9).choice(["a", "b"], 400)


class Wrapped:
    """A classifier in the form that `impute` asks for; no scikit-learn estimator."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y, sample_weight=None):
        self.model.fit(X, y, sample_weight=sample_weight)
        return self

    def predict(self, X):
        return self.model.predict_proba(X)[:, 1]


class WithoutWeights:
    """The rate of positives, from a `fit` that knows no weights."""

    def fit(self, X, y):
        self.rate = y.mean()

    def predict(self, X):
        return np.full(len(X), self.rate)


@pytest.mark.parametrize("how", BY_ROW)
def test_p_is_what_the_calibrator_says(how):
    calibrator = {
        "platt": PlattCalibrator(),
        "isotonic": IsotonicCalibrator(),
        "beta": BetaCalibrator(),
    }[how]
    belief = impute(ROWS, how, n_refits=2, rng=0)
    known = ROWS.is_labeled
    calibrator.fit(ROWS.y_score[known], ROWS.y_true[known])
    np.testing.assert_allclose(belief.p[~known], calibrator.predict(ROWS.y_score[~known]), 1e-5)
    for p in (belief.p, belief.refit(0), belief.refit(1)):
        np.testing.assert_array_equal(p[known], ROWS.y_true[known])
        assert ((p[~known] > 0) & (p[~known] < 1)).all()
    assert belief.bin_index is None
    assert belief.n_refits == 2


@pytest.mark.parametrize(
    ("how", "with_site"),
    [("platt", True), ("platt", False), ("isotonic", False), ("beta", False)],
)
def test_equal_seeds_give_equal_refits_whatever_the_order_of_rows(how, with_site):
    order = np.random.default_rng(5).permutation(400)
    shuffled = EvaluationSet(ROWS.y_true[order], ROWS.y_score[order])
    site = SITE if with_site else None
    first = impute(ROWS, how, features=site, n_refits=3, rng=7)
    second = impute(shuffled, how, features=site[order] if with_site else None, n_refits=3, rng=7)
    other = impute(ROWS, how, features=site, n_refits=3, rng=8)
    for i in range(3):
        # The same sums; a matrix product may add them in another order for another row.
        np.testing.assert_allclose(first.refit(i)[order], second.refit(i), rtol=1e-12)
        assert (first.refit(i) != other.refit(i)).any()


@pytest.mark.parametrize("how", LEARNED)
def test_counts_are_multiplicities(how):
    count = np.random.default_rng(4).integers(1, 5, 400)
    rows = np.repeat(np.arange(400), count)
    weighted = impute(EvaluationSet(ROWS.y_true, ROWS.y_score, count=count), how, rng=0)
    split = impute(EvaluationSet(ROWS.y_true[rows], ROWS.y_score[rows]), how, rng=0)
    np.testing.assert_allclose(weighted.p[rows], split.p, atol=1e-9)
    np.testing.assert_allclose(weighted.refit(3)[rows], split.refit(3), atol=1e-9)
    assert np.abs(impute(ROWS, how, rng=0).p - weighted.p).max() > 1e-4


@pytest.mark.parametrize("how", LEARNED)
def test_sample_weights_are_ratios_and_whole_ones_weigh_like_repeated_labels(how):
    weight = np.random.default_rng(4).integers(0, 4, 400)
    rows = np.repeat(np.arange(400), np.where(ROWS.is_labeled, weight, 1))
    repeated = impute(EvaluationSet(ROWS.y_true[rows], ROWS.y_score[rows]), how, n_refits=0)
    unknown = np.where(ROWS.is_labeled, weight, np.nan)
    weighted = impute(ROWS, how, sample_weight=unknown, n_refits=3, rng=0)
    scaled = impute(ROWS, how, sample_weight=7.5 * unknown, n_refits=3, rng=0)
    np.testing.assert_allclose(weighted.p, scaled.p, rtol=1e-6)
    np.testing.assert_allclose(weighted.refit(2), scaled.refit(2), rtol=1e-6)
    missing = ~ROWS.is_labeled
    # Weights are scaled to mean 1, so half counts and the ridge weigh a little differently.
    apart = np.abs(weighted.p[missing] - repeated.p[~np.isin(rows, np.flatnonzero(~missing))])
    if how not in ("scaling_binning", "histogram"):  # their bins depend on the number of labels
        assert apart.mean() < 0.03
        assert np.abs(weighted.p - impute(ROWS, how, n_refits=0).p)[missing].mean() > 0.003


@pytest.mark.parametrize("how", LEARNED)
def test_equal_weights_and_clusters_of_one_row_have_the_law_of_plain_refits(how):
    """Mean and sd of p over many refits: three ways to draw the same weights."""
    rows = make_set(80, seed=3)
    size = 250 if how in BY_ROW else 3_000
    plain = impute(rows, how, n_refits=size, rng=0)
    missing = np.flatnonzero(~rows.is_labeled)[:8]

    def moments(belief):
        p = np.array([belief.refit(i)[missing] for i in range(size)])
        return p.mean(axis=0), p.std(axis=0)

    mean, sd = moments(plain)
    alone = impute(rows, how, clusters=np.arange(80), n_refits=size, rng=1)
    error = sd / np.sqrt(size)
    assert (np.abs(moments(alone)[0] - mean) < 6 * error).all()
    # 250 draws know an sd to about 5%, of skewed laws to 8%.
    assert np.abs(moments(alone)[1] / sd - 1).max() < 0.3
    # Two rows a cluster, with equal labels and scores, double the variance: planted, and seen.
    pairs = EvaluationSet(np.repeat(rows.y_true, 2), np.repeat(rows.y_score, 2))
    both = impute(pairs, how, clusters=np.repeat(np.arange(80), 2), n_refits=size, rng=1)
    single = impute(pairs, how, n_refits=size, rng=1)
    keep = np.repeat(np.arange(80), 2)
    pick = [int(np.flatnonzero(keep == row)[0]) for row in missing]

    def spread(belief):
        return np.array([belief.refit(i)[pick] for i in range(size)]).std(axis=0)

    assert np.median(spread(both) / spread(single)) == pytest.approx(np.sqrt(2), rel=0.15)


def test_refits_are_the_bayesian_bootstrap():
    """The law of refits of an oracle with one exponential draw per row."""
    rows = make_set(120, seed=2)
    known = rows.is_labeled
    z = logit(np.clip(rows.y_score[known], 1e-12, 1 - 1e-12))
    ask = logit(np.clip(rows.y_score[~known][:5], 1e-12, 1 - 1e-12))
    rng = np.random.default_rng(2)

    def refit(weight):
        center = np.average(z, weights=weight)
        spread = np.sqrt(np.average((z - center) ** 2, weights=weight))
        model = LogisticRegression(C=25, solver="newton-cholesky", tol=1e-8)
        model.fit(((z - center) / spread)[:, None], rows.y_true[known], sample_weight=weight)
        return model.predict_proba(((ask - center) / spread)[:, None])[:, 1]

    n = 250
    oracle = np.array([refit(rng.exponential(size=known.sum())) for _ in range(n)])
    planted = np.array([refit(rng.gamma(3, 1 / 3, size=known.sum())) for _ in range(n)])
    belief = impute(rows, "platt", n_refits=n, rng=1)
    found = np.array([belief.refit(i)[~known][:5] for i in range(n)])
    error = oracle.std(axis=0) / np.sqrt(n)
    assert (np.abs(found.mean(axis=0) - oracle.mean(axis=0)) < 5 * error).all()
    # The standard error of a ratio of two sds, for laws of any kurtosis.
    centered = oracle - oracle.mean(axis=0)
    kurtosis = (centered**4).mean(axis=0) / oracle.var(axis=0) ** 2
    error = np.sqrt((kurtosis - 1) / (2 * n))
    assert (np.abs(found.std(axis=0) / oracle.std(axis=0) - 1) < 4 * error).all()
    assert (np.abs(found.std(axis=0) / planted.std(axis=0) - 1) > 4 * error).any()


@pytest.mark.parametrize(
    "calibrator",
    [
        Wrapped(LogisticRegression()),
        Wrapped(GradientBoostingClassifier(n_estimators=5, random_state=0)),
        IsotonicRegression(out_of_bounds="clip"),
        PlattCalibrator(),
    ],
    ids=["wrapped", "trees", "isotonic", "ours"],
)
def test_any_calibrator_is_copied_fitted_and_asked(calibrator):
    before = pickle.dumps(calibrator)
    belief = impute(ROWS, calibrator, n_refits=2, rng=0)
    assert pickle.dumps(calibrator) == before
    assert type(calibrator).__name__ in belief.method
    assert belief.knows(ROWS.y_score)
    assert (belief.refit(0) != belief.refit(1)).any()


def test_a_calibrator_gets_the_score_first_then_the_features():
    seen = []

    class Spy(Wrapped):
        def fit(self, X, y, sample_weight=None):
            seen.append(X)
            return super().fit(X, y, sample_weight)

    belief = impute(ROWS, Spy(LogisticRegression()), features=SITE, n_refits=1, rng=0)
    assert all(X.shape[1] == 3 for X in seen)
    assert set(seen[0][:, 0]) == set(ROWS.y_score[ROWS.is_labeled])
    assert belief.knows(SITE)


def test_certain_labels_are_noted():
    rows = EvaluationSet([0, 0, 0, 1, 1, 1, None, None], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9, 0.0, 1.0])
    sharp = impute(rows, IsotonicRegression(out_of_bounds="clip"), rng=0)
    assert any("2 missing rows a probability of exactly 0 or 1" in note for note in sharp.notes)
    assert not any("exactly" in note for note in impute(rows, "isotonic", rng=0).notes)


@pytest.mark.parametrize(
    ("how", "options", "error", "sentence"),
    [
        (LogisticRegression(), {}, TypeError, r"is a classifier.*`predict_proba\(X\)\[:, 1\]`"),
        (RidgeClassifier(), {}, TypeError, "is a classifier"),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            {},
            TypeError,
            "Pipeline is a classifier",
        ),
        (LogisticRegression, {}, TypeError, r"an object, not a class; pass `LogisticRegression\("),
        (WithoutWeights(), {}, TypeError, "must take `sample_weight` in `fit`; WithoutWeights"),
        (LinearRegression(), {"rows": "edge"}, ValueError, "LinearRegression.predict gave"),
        (IsotonicRegression(), {"rows": "edge"}, ValueError, "predict gave nan"),
        (IsotonicCalibrator(), {"features": SITE}, ValueError, "looks at the score alone"),
        ("beta", {"rows": "credit"}, ValueError, r"`how='beta'` needs scores in \[0, 1\]; got 300"),
        ("platt", {"sample_weight": np.ones(3)}, ValueError, "one value per row of the evaluation"),
        ("platt", {"sample_weight": -np.ones(400)}, ValueError, "at least 0 .* got -1.0 at row"),
        ("platt", {"sample_weight": np.zeros(400)}, ValueError, "positive on at least one labeled"),
        ("platt", {"clusters": [None] * 400}, ValueError, "must not be missing; it is at row 0 "),
        ("platt", {"clusters": ["a"] * 400}, ValueError, "all labels are in cluster 'a'"),
        ("platt", {"clusters": [1, 2]}, ValueError, "`clusters` must hold one value per row"),
        ("maxent", {"clusters": [1] * 400}, ValueError, "how='maxent' learns nothing from them"),
        ([0.5] * 400, {"sample_weight": [1] * 400}, ValueError, "a given array learns nothing"),
    ],
)
def test_bad_input_is_one_sentence(how, options, error, sentence):
    options = dict(options)
    rows = {
        None: ROWS,
        "edge": EvaluationSet([None, 0, 0, 1, 1], [0.0, 0.4, 0.45, 0.5, 0.6]),
        "credit": EvaluationSet([None, 0, 1], [300, 400, 850]),
    }[options.pop("rows", None)]
    with pytest.raises(error, match=sentence):
        impute(rows, how, **options)


def test_a_fit_without_weights_is_enough_without_refits():
    rows = make_set(60)
    rows = EvaluationSet(rows.y_true, np.random.default_rng(0).random(60))
    rate = rows.y_true[rows.is_labeled].mean()
    belief = impute(rows, WithoutWeights(), n_refits=0)
    np.testing.assert_array_equal(belief.p[~rows.is_labeled], rate)


def test_clusters_are_in_the_notes():
    few = impute(ROWS, "platt", clusters=np.arange(400) % 7, rng=0)
    assert any("weigh the 7 clusters" in note for note in few.notes)
    assert any("too narrow" in note for note in few.notes)
    many = impute(ROWS, clusters=np.arange(400) // 4, rng=0)
    assert not any("too narrow" in note for note in many.notes)


@pytest.mark.parametrize("how", ["platt", "isotonic"])
def test_laws_of_refits_are_those_of_their_rows(how):
    belief = impute(ROWS, how, n_refits=4, rng=0)
    exact = estimate_pemi(ROWS, belief, metrics=["f1", "accuracy"])
    by_row = [
        estimate_pemi(ROWS, impute(ROWS, belief.refit(i)), metrics=["f1", "accuracy"])
        for i in range(4)
    ]
    for name, law in exact.items():
        mixed = np.mean([part[name].cdf([0.4, 0.6, 0.8]) for part in by_row], axis=0)
        assert law.cdf([0.4, 0.6, 0.8]) == pytest.approx(mixed, abs=1e-12)
    positive, negative = weigh_missing(ROWS, belief)
    for i, (u, v) in enumerate(count_pairs(ROWS, belief)):
        assert positive.law(1 + i).mean == pytest.approx(u.mean, rel=1e-12)
        assert negative.law(1 + i).mean == pytest.approx(v.mean, rel=1e-12)
    population = estimate_pemi(ROWS, belief, target="population", n_draws=50, rng=0)
    assert "(4 refits)" in population.notes[0]


def test_many_rows_are_grouped_with_their_expected_counts():
    rows = make_set(9_000, seed=4)
    rows = EvaluationSet(rows.y_true, np.random.default_rng(0).random(9_000))
    belief = impute(rows, "platt", n_refits=2, rng=0)
    pairs = count_pairs(rows, belief)
    for decision, side in enumerate(weigh_missing(rows, belief)):
        assert side.p.shape == (3, 1_024)
        for i, law in enumerate(pair[decision] for pair in pairs):
            assert side.law(1 + i).mean == pytest.approx(law.mean, rel=1e-12)
            assert law.variance <= side.law(1 + i).variance <= law.variance * (1 + 1e-3)


def test_refits_by_rows_are_never_held():
    rows = make_set(100_000, share_labeled=0.02, seed=1)
    tracemalloc.start()
    try:
        belief = impute(rows, "platt", n_refits=50, rng=0)
        count_pairs(rows, belief)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30e6  # 50 x 100,000 floats would be 40e6


@pytest.mark.parametrize("how", [*LEARNED, "maxent", "given"])
def test_a_tilt_multiplies_the_odds_of_missing_labels(how):
    given = np.linspace(0.01, 0.99, 400)
    belief = impute(ROWS, given if how == "given" else how, rng=0)
    tilted = belief.tilt(2.5)
    missing = ~ROWS.is_labeled
    pairs = [(belief.p, tilted.p)]
    pairs += [(belief.refit(i), tilted.refit(i)) for i in range(min(belief.n_refits, 2))]
    for before, after in pairs:
        np.testing.assert_allclose(
            after[missing], expit(logit(before[missing]) + np.log(2.5)), rtol=1e-9
        )
        np.testing.assert_array_equal(after[~missing], before[~missing])
    assert tilted.n_refits == belief.n_refits
    assert ", with odds of a positive times 2.5" in tilted.assumption
    twice = tilted.tilt(2.0)
    np.testing.assert_allclose(twice.p, belief.tilt(5.0).p, rtol=1e-12)
    assert twice.assumption == belief.tilt(5.0).assumption
    back = tilted.tilt(0.4)
    np.testing.assert_allclose(back.p, belief.p, rtol=1e-12)
    assert back.assumption == belief.assumption
    assert "times 2.5" in tilted.without_refits().assumption
    if belief.n_refits:
        np.testing.assert_allclose(tilted.subset(missing).refit(0), tilted.refit(0)[missing])
    higher = estimate_pemi(ROWS, tilted, metrics=["precision"])["precision"].mean
    assert higher > estimate_pemi(ROWS, belief, metrics=["precision"])["precision"].mean


def test_extreme_tilts_leave_nothing_certain_and_certain_labels_alone():
    rows = EvaluationSet([None] * 4, [0.1, 0.2, 0.3, 0.4])
    belief = impute(rows, [0.0, 1e-9, 1 - 1e-9, 1.0])
    for ratio in (1e300, 1e-300):
        p = belief.tilt(ratio).p
        assert p[0] == 0
        assert p[3] == 1
        assert ((p[1:3] > 0) & (p[1:3] < 1)).all()


@pytest.mark.parametrize("ratio", [0, -1, np.inf, np.nan])
def test_a_bad_tilt_is_one_sentence(ratio):
    with pytest.raises(ValueError, match="`odds_ratio` must be"):
        impute(ROWS, "maxent").tilt(ratio)


def test_a_tilt_is_a_number():
    with pytest.raises(TypeError, match="`odds_ratio` must be a number"):
        impute(ROWS, "maxent").tilt("2")
