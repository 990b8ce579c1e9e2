"""Columns beside the score: how they are read, and which further columns they settle."""

import pickle

import numpy as np
import pandas as pd
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.features import read_features
from labelbayes.imputation.impute import impute
from labelbayes.weighting.diagnostics import check_weights
from labelbayes.weighting.outcome import fit_outcome
from labelbayes.weighting.propensity import fit_propensity


def make_set(n=300, seed=0, **options):
    rng = np.random.default_rng(seed)
    score = rng.random(n)
    label = (rng.random(n) < score).astype(float)
    label[rng.random(n) < 0.5] = np.nan
    return EvaluationSet(label, score, **options)


ROWS = make_set()
RNG = np.random.default_rng(1)
OTHER = RNG.random(300)
SITE = RNG.choice(["a", "b", "c"], 300)
SEX = RNG.choice(["f", "m"], 300)
AGE = RNG.integers(20, 80, 300)
DAY = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 90, 300), unit="D"))
FRAME = pd.DataFrame({"other": OTHER, "site": SITE, "sex": SEX, "age": AGE, "day": DAY})


#: Whoever reads a table of features: the name of its argument, and a call that passes one on.
READERS = {
    "impute": ("features", lambda X: impute(ROWS, features=X, n_refits=0)),
    "fit_propensity": ("X", lambda X: fit_propensity(X, ROWS, rng=0)),
    "fit_outcome": ("X", lambda X: fit_outcome(X, ROWS, rng=0)),
    "check_weights": ("features", lambda X: check_weights(ROWS, np.full(300, 0.5), features=X)),
}


def test_text_becomes_one_column_per_text_and_times_become_days():
    encoded = read_features(FRAME, 300).encoded
    assert encoded.shape == (300, 1 + 3 + 2 + 1 + 1)
    np.testing.assert_array_equal(encoded[:, 0], OTHER)
    for j, name in enumerate("abc"):
        np.testing.assert_array_equal(encoded[:, 1 + j], SITE == name)
    np.testing.assert_array_equal(encoded[:, 6], AGE)
    np.testing.assert_allclose(
        encoded[:, 7] - encoded[0, 7], (DAY - DAY[0]) / pd.Timedelta(days=1), atol=1e-9
    )


@pytest.mark.parametrize(
    "container",
    [
        SITE,
        SITE.tolist(),
        SITE[:, None],
        SITE.astype(object),
        pd.Series(SITE, index=range(9, 309)),
        pd.Series(SITE, dtype="category"),
        pd.Series(SITE, dtype="string"),
        pd.DataFrame({"site": SITE}, index=range(300, 0, -1)),
    ],
    ids=["str", "list", "2-D", "object", "Series", "category", "string", "DataFrame"],
)
def test_containers_agree_bit_for_bit(container):
    expected = impute(ROWS, features=SITE, n_refits=3, rng=0)
    found = impute(ROWS, features=container, n_refits=3, rng=0)
    np.testing.assert_array_equal(found.p, expected.p)
    np.testing.assert_array_equal(found.refit(2), expected.refit(2))


def test_numbers_are_numbers_in_any_container():
    expected = read_features(AGE, 300).encoded
    for same in (AGE.astype(np.float32), AGE.tolist(), pd.array(AGE, dtype="Int64"), AGE[:, None]):
        np.testing.assert_array_equal(read_features(same, 300).encoded, expected)
    flags = AGE > 50
    for same in (flags, flags.tolist(), pd.Series(flags, dtype="boolean")):
        np.testing.assert_array_equal(read_features(same, 300).encoded[:, 0], flags)


def test_the_frame_is_a_copy_that_follows_the_rows():
    frame = FRAME.copy()
    belief = impute(ROWS, features=frame, n_refits=2, rng=0)
    frame.loc[:, "age"] = 0
    pd.testing.assert_frame_equal(belief.features, FRAME)
    mask = SEX == "f"
    part = belief.subset(mask)
    assert part.features["age"].tolist() == AGE[mask].tolist()
    np.testing.assert_array_equal(part.refit(1), belief.refit(1)[mask])
    again = pickle.loads(pickle.dumps(belief))
    np.testing.assert_array_equal(again.refit(1), belief.refit(1))
    assert impute(ROWS, rng=0).features is None


BELIEF = impute(ROWS, features=FRAME, n_refits=0)


@pytest.mark.parametrize(
    ("values", "known"),
    [
        (ROWS.y_score, True),
        (ROWS.y_pred, True),
        (-3 * ROWS.y_score + 7, True),
        (OTHER, True),
        (np.exp(OTHER), True),
        ((OTHER > 0.3).astype(int), True),
        (np.where(OTHER > 0.3, "high", "low"), True),
        (SITE, True),
        (SITE == "b", True),
        (np.where(SITE == "c", "x", "rest"), True),
        (pd.Series(SITE, dtype="category"), True),
        (AGE, True),
        (AGE // 10, True),
        (DAY, True),
        (DAY.dt.strftime("%Y-%m"), True),
        (np.full(300, "one"), True),
        # Any column is some function of a score without ties: that alone is no knowledge.
        (RNG.permutation(SITE), False),
        (RNG.permutation(OTHER), False),
        (np.abs(OTHER - 0.5), False),
        (np.abs(AGE - 50), False),
        # Effects of site and sex add up; one of their own for each pair does not follow.
        (np.char.add(SITE, SEX), False),
        (OTHER + ROWS.y_score, False),
        (np.where(SITE == "a", None, SITE), True),
        (np.where(RNG.random(300) < 0.1, None, SITE), False),
    ],
)
def test_what_the_features_settle_is_known(values, known):
    assert BELIEF.knows(values) is known


def test_without_features_only_the_score_is_known():
    for how in ("scaling_binning", "histogram", "platt", "isotonic", "beta"):
        belief = impute(ROWS, how, n_refits=0)
        assert belief.knows(ROWS.y_score)
        assert belief.knows(ROWS.y_pred)
        assert not belief.knows(SITE)
        assert not belief.knows(OTHER)
    for how in ("maxent", "prevalence"):
        assert not impute(ROWS, how, n_refits=0).knows(ROWS.y_score)


def test_a_given_array_knows_what_it_is_said_to_know():
    given = np.full(300, 0.3)
    assert not impute(ROWS, given).knows(ROWS.y_score)
    said = impute(ROWS, given, features=FRAME.assign(score=ROWS.y_score))
    assert said.knows(ROWS.y_score)
    assert said.knows(SITE)
    np.testing.assert_array_equal(said.p, impute(ROWS, given).p)


def test_known_labels_know_everything():
    whole = EvaluationSet(np.tile([0, 1], 150), ROWS.y_score)
    assert impute(whole).knows(SITE)
    assert impute(whole, features=FRAME).features is not None


def test_a_decision_that_the_score_does_not_settle_becomes_a_feature():
    decision = (ROWS.y_score + RNG.normal(size=300) > 0.5).astype(int)
    rows = EvaluationSet(ROWS.y_true, ROWS.y_score, y_pred=decision)
    for how in ("platt", "histogram", "scaling_binning"):
        belief = impute(rows, how, n_refits=0)
        assert belief.knows(decision)
        assert list(belief.features) == ["decision"]
    both = impute(rows, features=pd.DataFrame({"decision": SITE}), n_refits=0)
    assert both.knows(decision)
    assert both.knows(SITE)
    assert list(impute(rows, features=decision, n_refits=0).features) == ["feature"]
    unused = impute(rows, "isotonic", n_refits=0)
    assert not unused.knows(decision)
    assert any("decision does not follow from the score" in note for note in unused.notes)
    assert not any("decision" in note for note in impute(ROWS, "isotonic", rng=0).notes)


BAD = [
    (OTHER[:5], ValueError, r" must have one row per row .*shape \(300, k\); got \(5, 1\)\.$"),
    (np.zeros((300, 0)), ValueError, "at least one column"),
    (np.zeros((300, 2, 2)), ValueError, r"of shape \(n_rows, k\); got shape \(300, 2, 2\)\.$"),
    ([[1], [1, 2]] * 150, ValueError, r"of shape \(n_rows, k\); got rows of different lengths\.$"),
    (np.where(OTHER > 0.9, np.nan, OTHER), ValueError, "no missing or infinite .* has nan at row"),
    (np.where(AGE > 70, np.inf, AGE), ValueError, "no missing or infinite .* has inf at row"),
    (np.where(AGE > 70, np.inf, AGE).astype(object), ValueError, "has inf at row"),
    (np.where(SEX == "m", None, SEX), ValueError, r"no missing .*such as '\(missing\)'\.$"),
    (pd.DataFrame({"day": DAY.where(AGE > 30)}), ValueError, "column 'day' has nan at row"),
    (
        pd.DataFrame(np.column_stack([OTHER, AGE]), columns=["x", "x"]),
        ValueError,
        r"one column per name; got 'x' twice\. Rename one\.$",
    ),
    ([f"id {i}" for i in range(300)], ValueError, "at most 200 different texts .* has 300. Group"),
    (pd.Categorical(range(300)), ValueError, "at most 200 different texts per column"),
    ("site", TypeError, r"a DataFrame or an array of shape \(n_rows, k\); got str\.$"),
    ({"site": SITE}, TypeError, r"a DataFrame or an array of shape \(n_rows, k\); got dict\.$"),
    ([{1}] * 300, TypeError, r"one number or text per cell; column '.*' holds collections\.$"),
    (np.column_stack([OTHER, AGE]) + 1j, TypeError, "real numbers or words; got complex"),
]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("features", "error", "sentence"), BAD)
def test_bad_features_are_one_sentence_whoever_reads_them(features, error, sentence, reader):
    argument, read = READERS[reader]
    with pytest.raises(error, match=rf"^`{argument}.*{sentence}"):
        read(features)


@pytest.mark.parametrize(
    "how", ["maxent", "prevalence", "histogram", "scaling_binning", "isotonic", "beta"]
)
def test_features_that_p_would_not_use_are_refused(how):
    with pytest.raises(ValueError, match=f"`features` must be used by p; how='{how}' looks at"):
        impute(ROWS, how, features=SITE)


def test_bad_questions_are_one_sentence():
    with pytest.raises(ValueError, match="`values` must have one value per row, 300; got 2"):
        BELIEF.knows([1, 2])
    with pytest.raises(TypeError, match="`values` must be a list or array"):
        BELIEF.knows("site")


def test_masked_values_are_missing_and_ragged_rows_are_refused():
    for dtype in (int, float):
        masked = np.ma.masked_array(np.arange(4, dtype=dtype), mask=[False, True, False, False])
        with pytest.raises(ValueError, match=r"no missing or infinite values; .* at row 1 "):
            read_features(masked, 4)
        with pytest.raises(ValueError, match="column 'feature_0' has nan at row 1 "):
            read_features(np.ma.column_stack([masked, masked]), 4)
    whole = np.ma.masked_array([1.0, 2.0], mask=[False, False])
    assert read_features(whole, 2).encoded.tolist() == [[1.0], [2.0]]
    with pytest.raises(ValueError, match=r"`features` must be .* got rows of different lengths"):
        read_features([[1, 2], [1]], 2)


def test_columns_keep_what_they_hold():
    """Numbers in an object array stay numbers, words beside them words, categories categories."""
    both = np.column_stack([OTHER, AGE])
    np.testing.assert_array_equal(read_features(both.astype(object), 300).encoded, both)
    mixed = read_features([[0.5, "b"], [1.5, "a"]], 2, argument="X", stem="x")
    assert (mixed.names, mixed.encoded_names) == (("x0", "x1"), ("x0", "x1=a", "x1=b"))
    np.testing.assert_array_equal(mixed.encoded, [[0.5, 0, 1], [1.5, 1, 0]])
    days = read_features(list(DAY), 300)
    assert days.encoded_names == ("feature",)
    np.testing.assert_array_equal(days.encoded, read_features(FRAME[["day"]], 300).encoded)
    for bare in (pd.Categorical([2, 1, 2]), pd.Series(pd.Categorical([2, 1, 2]))):
        read = read_features(bare, 3)
        assert read.encoded_names == ("feature=1", "feature=2")
        np.testing.assert_array_equal(read.encoded, [[0, 1], [1, 0], [0, 1]])


def test_numbers_declared_as_categories_have_effects_of_their_own():
    third = pd.Series(np.arange(300) % 3)
    label = np.where(np.arange(300) % 2, np.nan, (third == 1).astype(float))
    label[:60] = RNG.integers(0, 2, 60)
    rows = EvaluationSet(label, np.full(300, 0.5))
    as_category, as_number = (
        impute(rows, features=column, n_refits=0).p[61::2]
        for column in (third.astype("category"), third)
    )
    is_middle = (third == 1).to_numpy()[61::2]
    # A line through 0, 1 and 2 cannot rise to the middle and fall again.
    assert as_category[is_middle].min() > as_category[~is_middle].max() + 0.5
    assert as_number[is_middle].min() < as_number[~is_middle].max() + 0.1
    belief = impute(rows, features=third.astype("category"), n_refits=0)
    assert belief.knows(third == 1)
    assert belief.knows(third)
