"""p, its refits, and what stands beside them."""

import pickle
from html import escape

import numpy as np
import pandas as pd
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute

ESTIMATED = ["prevalence", "histogram", "scaling_binning"]
EVERY = ["auto", "maxent", *ESTIMATED]


def make_set(n=400, share_labeled=0.5, seed=0, **options):
    rng = np.random.default_rng(seed)
    score = np.round(rng.beta(1, 1.5, n), 3)
    label = (rng.random(n) < score).astype(float)
    label[rng.random(n) > share_labeled] = np.nan
    return EvaluationSet(label, score, **options)


@pytest.mark.parametrize("how", EVERY)
def test_labeled_rows_keep_their_labels(how):
    evaluation = make_set()
    imputation = impute(evaluation, how, n_refits=3, rng=0)
    labeled = evaluation.is_labeled
    for p in [imputation.p, *(imputation.refit(i) for i in range(imputation.n_refits))]:
        np.testing.assert_array_equal(p[labeled], evaluation.y_true[labeled])
        assert ((p[~labeled] > 0) & (p[~labeled] < 1)).all()


@pytest.mark.parametrize("how", EVERY)
def test_refits_are_the_values_of_the_bins(how):
    evaluation = make_set()
    imputation = impute(evaluation, how, n_refits=4, rng=0)
    missing = ~evaluation.is_labeled
    assert imputation.n_refits == (0 if how == "maxent" else 4)
    np.testing.assert_array_equal(
        imputation.p[missing], imputation.bin_values[0, imputation.bin_index[missing]]
    )
    for i in range(imputation.n_refits):
        np.testing.assert_array_equal(
            imputation.refit(i)[missing],
            imputation.bin_values[1 + i, imputation.bin_index[missing]],
        )


def test_maxent_and_prevalence_are_the_constants_of_the_paper():
    evaluation = EvaluationSet([1, 1, 1, 0, None, None], [0.9, 0.8, 0.7, 0.1, 0.4, 0.6])
    assert impute(evaluation, "maxent").p[4:].tolist() == [0.5, 0.5]
    assert impute(evaluation, "prevalence", rng=0).p[4:].tolist() == [0.75, 0.75]


@pytest.mark.parametrize("how", ESTIMATED)
def test_equal_seeds_give_equal_refits_whatever_the_order_of_rows(how):
    evaluation = make_set()
    order = np.random.default_rng(5).permutation(evaluation.n_rows)
    shuffled = EvaluationSet(evaluation.y_true[order], evaluation.y_score[order])
    first = impute(evaluation, how, n_refits=5, rng=7)
    second = impute(shuffled, how, n_refits=5, rng=7)
    other = impute(evaluation, how, n_refits=5, rng=8)
    np.testing.assert_array_equal(first.p[order], second.p)
    for i in range(5):
        np.testing.assert_array_equal(first.refit(i)[order], second.refit(i))
        assert (first.refit(i) != other.refit(i)).any()


@pytest.mark.parametrize("how", ESTIMATED)
def test_more_refits_begin_with_the_same_ones(how):
    evaluation = make_set()
    few = impute(evaluation, how, n_refits=3, rng=0).bin_values
    many = impute(evaluation, how, n_refits=120, rng=0).bin_values
    np.testing.assert_allclose(many[:4], few, rtol=1e-9)


@pytest.mark.parametrize("how", EVERY)
def test_counts_are_multiplicities(how):
    evaluation = make_set(100, count=np.random.default_rng(4).integers(1, 5, 100))
    rows = np.repeat(np.arange(100), evaluation.count)
    split = EvaluationSet(evaluation.y_true[rows], evaluation.y_score[rows])
    weighted = impute(evaluation, how, n_refits=3, rng=0)
    np.testing.assert_allclose(weighted.p[rows], impute(split, how, n_refits=3, rng=0).p)
    np.testing.assert_allclose(
        weighted.bin_values, impute(split, how, n_refits=3, rng=0).bin_values
    )
    if how != "maxent":
        ignored = EvaluationSet(evaluation.y_true, evaluation.y_score)
        assert np.abs(impute(ignored, how, n_refits=0).p - weighted.p).max() > 1e-3


def test_auto_counts_in_bins_above_2000_labels_and_without_a_score():
    assert impute(make_set(4400)).method.startswith("histogram of the score")
    assert impute(make_set(3600)).method.startswith("scaling-binning")
    decisions = EvaluationSet([1, 0, 1, None], y_pred=[1, 0, 0, 1])
    assert impute(decisions).method == "histogram of the decision, 2 bins"


@pytest.mark.parametrize("how", ["histogram", "scaling_binning"])
def test_without_a_score_the_decisions_are_the_bins(how):
    rng = np.random.default_rng(0)
    decision = rng.integers(0, 2, 500)
    label = np.where(rng.random(500) < 0.8, decision, 1 - decision).astype(float)
    label[::2] = np.nan
    imputation = impute(EvaluationSet(label, y_pred=decision), how, n_refits=2, rng=0)
    assert imputation.bin_values.shape == (3, 2)
    for side in (0, 1):
        rate = np.nanmean(label[decision == side])
        missing = np.isnan(label) & (decision == side)
        np.testing.assert_allclose(imputation.p[missing], rate, atol=0.01)


def test_bins_are_cut_where_the_decision_changes():
    evaluation = make_set(300, threshold=0.437)
    for how in ("histogram", "scaling_binning"):
        index = impute(evaluation, how, n_refits=0).bin_index
        sides = [set(evaluation.y_pred[index == k]) for k in range(index.max() + 1)]
        assert all(len(side) == 1 for side in sides)


def test_a_side_without_labels_takes_its_neighbors_rate_and_says_so():
    evaluation = make_set(300)
    hidden = np.where(evaluation.y_pred == 0, np.nan, evaluation.y_true)
    imputation = impute(EvaluationSet(hidden, evaluation.y_score), n_refits=5, rng=0)
    assert any("No row predicted negative is labeled" in note for note in imputation.notes)
    assert any("outside the labeled ones" in note for note in imputation.notes)
    assert not impute(make_set(300), n_refits=5, rng=0).notes


def test_a_given_array_is_taken_as_known():
    evaluation = EvaluationSet([1, None, 0, None], [0.9, 0.8, 0.1, 0.2])
    for given in (
        [np.nan, 0.7, 5, 1e-3],
        (None, 0.7, None, 1e-3),
        pd.Series([0.1, 0.7, 0.1, 1e-3], index=[4, 5, 6, 7]),
        pd.Series([pd.NA, 0.7, pd.NA, 1e-3], dtype="Float64"),
    ):
        imputation = impute(evaluation, given)
        assert imputation.p.tolist() == [1, 0.7, 0, 1e-3]
        assert imputation.bin_index is None
        assert imputation.bin_values is None
        assert imputation.n_refits == 0
    assert "taken as known" in imputation.assumption


def test_a_given_array_needs_no_label():
    evaluation = EvaluationSet([None, None], [0.9, 0.1])
    assert impute(evaluation, [0.8, 0.3]).p.tolist() == [0.8, 0.3]
    assert impute(evaluation, "maxent").p.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("how", EVERY)
def test_nothing_missing_needs_no_belief(how):
    evaluation = EvaluationSet([1, 1], [0.9, 0.2])
    imputation = impute(evaluation, how)
    assert imputation.p.tolist() == [1, 1]
    assert imputation.n_refits == 0
    assert imputation.assumption == "nothing: no label is missing"


@pytest.mark.parametrize("how", ["auto", "histogram", "scaling_binning"])
@pytest.mark.parametrize("label", [0, 1])
def test_labels_of_one_class_are_refused_with_a_remedy(how, label):
    evaluation = EvaluationSet([label, label, None], [0.9, 0.1, 0.3])
    with pytest.raises(ValueError, match=r"needs labels of both classes.*how='maxent'"):
        impute(evaluation, how)


@pytest.mark.parametrize("label", [0, 1])
def test_prevalence_of_one_class_uses_half_counts_and_says_so(label):
    evaluation = EvaluationSet([label, label, None], [0.9, 0.1, 0.3])
    imputation = impute(evaluation, "prevalence", rng=0)
    assert imputation.p[2] == pytest.approx((2 * label + 0.5) / 3)
    assert "one class" in imputation.notes[0]


@pytest.mark.parametrize("how", ["auto", *ESTIMATED])
def test_no_label_is_refused_with_a_remedy(how):
    with pytest.raises(ValueError, match=r"there is none.*how='maxent'"):
        impute(EvaluationSet([None, None], [0.9, 0.1]), how)


@pytest.mark.parametrize("how", EVERY)
def test_one_labeled_positive_is_enough(how):
    score = np.linspace(0.01, 0.99, 60)
    label = np.where(np.arange(60) % 2, 0.0, np.nan)
    label[41] = 1
    imputation = impute(EvaluationSet(label, score), how, rng=0)
    values = imputation.bin_values
    assert ((values > 0) & (values < 1)).all()


@pytest.mark.parametrize("how", EVERY)
@pytest.mark.parametrize(
    "score",
    [
        np.full(60, 0.3),
        np.full(60, 700.0),
        np.linspace(300, 850, 60),
        np.linspace(0, 1, 60),
        np.linspace(-1e300, 1e300, 60),
        np.repeat([0.0, 1.0], 30),
        1e-300 * np.arange(60),
    ],
    ids=["constant", "constant 700", "300 to 850", "0 to 1", "huge", "two scores", "tiny"],
)
@pytest.mark.parametrize("separable", [True, False])
def test_awkward_scores_give_probabilities_without_a_warning(how, score, separable):
    rng = np.random.default_rng(0)
    label = (np.arange(60) >= 30).astype(float) if separable else rng.integers(0, 2, 60) * 1.0
    label[rng.permutation(60)[:30]] = np.nan
    imputation = impute(EvaluationSet(label, score, threshold=score[40]), how, n_refits=20, rng=0)
    assert ((imputation.bin_values > 0) & (imputation.bin_values < 1)).all()


def test_separated_labels_are_noted():
    score = np.linspace(0, 1, 40)
    label = (score > 0.5).astype(float)
    label[::4] = np.nan
    notes = impute(EvaluationSet(label, score), rng=0).notes
    assert any("separates the labeled rows perfectly" in note for note in notes)
    label[1] = 1
    notes = impute(EvaluationSet(label, score), rng=0).notes
    assert not any("separates the labeled rows perfectly" in note for note in notes)


def test_tied_scores_leave_fewer_bins_and_a_note():
    score = np.repeat([0.2, 0.4, 0.8], 40)
    label = np.concatenate([np.tile([0, k > 0, k > 1, np.nan], 10) for k in range(3)])
    imputation = impute(EvaluationSet(label, score), rng=0)
    assert imputation.bin_values.shape[1] == 3
    assert any("tied scores stay together" in note for note in imputation.notes)


def test_the_scale_of_the_score_is_in_the_method():
    inside = make_set()
    assert "logit of the score" in impute(inside).method
    score = np.where(inside.is_labeled, inside.y_score, 1 + inside.y_score)
    assert "standardized score" in impute(EvaluationSet(inside.y_true, score)).method


def test_refits_or_their_absence_are_in_the_assumption():
    evaluation = make_set(1000, share_labeled=0.1)
    refitted = impute(evaluation, n_refits=12, rng=0)
    assert "12 Bayesian-bootstrap refits" in refitted.assumption
    known = impute(evaluation, n_refits=0)
    assert known.n_refits == 0
    assert "calibration taken as known" in known.assumption
    # sqrt(n_labeled / n) is about .32 here: 2 Phi(1.96 * .32) - 1 is about .46.
    assert any("instead of 95%" in note for note in known.notes)


def test_without_refits_the_fit_alone_is_left():
    imputation = impute(make_set(), n_refits=12, rng=0)
    known = imputation.without_refits()
    np.testing.assert_array_equal(known.p, imputation.p)
    np.testing.assert_array_equal(known.bin_values, imputation.bin_values[:1])
    assert known.n_refits == 0
    assert known.assumption == impute(make_set(), n_refits=0).assumption
    assert known.without_refits() is known


def test_coin_flips_say_how_sure_they_are():
    evaluation = EvaluationSet([None] * 1000, np.linspace(0, 1, 1000))
    # 95% of Binomial(1000, 1/2) / 1000: statistics.md gives [.469, .531].
    assert "46.9% to 53.1%" in impute(evaluation, "maxent").notes[0]


@pytest.mark.parametrize("how", [*EVERY, "given"])
def test_subset_keeps_rows_and_refits(how):
    evaluation = make_set()
    given = np.linspace(0, 1, evaluation.n_rows)
    imputation = impute(evaluation, given if how == "given" else how, n_refits=2, rng=0)
    mask = evaluation.y_pred == 1
    part = imputation.subset(mask)
    np.testing.assert_array_equal(part.p, imputation.p[mask])
    assert part.n_refits == imputation.n_refits
    for i in range(part.n_refits):
        np.testing.assert_array_equal(part.refit(i), imputation.refit(i)[mask])


def test_results_cannot_be_changed_in_place():
    imputation = impute(make_set(), rng=0)
    for array in (imputation.p, imputation.bin_index, imputation.bin_values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("how", [*EVERY, "given"])
def test_reprs_name_the_method_and_the_assumption(how):
    evaluation = make_set()
    given = np.full(evaluation.n_rows, 0.25)
    imputation = impute(evaluation, given if how == "given" else how, rng=0)
    assert imputation.method in repr(imputation)
    html = imputation._repr_html_()
    assert escape(imputation.assumption) in html
    assert "<style" not in html
    assert escape(imputation.method) in html


@pytest.mark.parametrize(
    ("how", "options", "sentence"),
    [
        ("plat", {}, "`how` must be one of 'auto', 'maxent', .* an array .* got 'plat'"),
        (None, {}, "`how` must be one of"),
        (0.5, {}, "`how` must be one of"),
        ("auto", {"n_refits": -1}, "`n_refits` must be at least 0; got -1"),
        ("auto", {"rng": -1}, "`rng` must be at least 0"),
        ([0.5], {}, r"`how` must hold one probability per row, shape \(3,\); got \(1,\)"),
        ([[0.5] * 3], {}, r"`how` must be one-dimensional, .*; got shape \(1, 3\)"),
        ([0.5, 0.5, np.nan], {}, "`how` must hold probabilities .* got .*nan.* at row 2"),
        ([0.5, 0.5, 1.2], {}, "`how` must hold probabilities .* got .*1.2.* at row 2"),
        ([[0.5], [0.5, 0.1], 0.2], {}, "`how` must be one-dimensional"),
    ],
)
def test_bad_input_is_one_sentence(how, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        impute(EvaluationSet([1, 0, None], [0.9, 0.2, 0.6]), how, **options)


def test_bad_types_are_one_sentence():
    evaluation = EvaluationSet([1, 0, None], [0.9, 0.2, 0.6])
    with pytest.raises(TypeError, match="`evaluation` must be an EvaluationSet; got list"):
        impute([1, 0, None])
    with pytest.raises(TypeError, match="`n_refits` must be a whole number"):
        impute(evaluation, n_refits=2.5)
    with pytest.raises(ValueError, match="`i` must be below the number of refits, 2; got 2"):
        impute(evaluation, n_refits=2).refit(2)
    with pytest.raises(ValueError, match="`i` must be below the number of refits, 0; got 0"):
        impute(evaluation, "maxent").refit(0)
    with pytest.raises(TypeError, match="`mask` must be an array of bool"):
        impute(evaluation).subset([1, 0, 1])
    with pytest.raises(ValueError, match=r"`mask` must have shape \(3,\)"):
        impute(evaluation).subset([True])
    with pytest.raises(ValueError, match="`mask` must be true somewhere"):
        impute(evaluation).subset([False] * 3)


def test_a_mask_hides_probabilities_and_text_is_none():
    evaluation = EvaluationSet([1, None, None], [0.9, 0.2, 0.6])
    given = np.ma.array([0.5, 0.25, 0.75], mask=[True, False, False])
    assert impute(evaluation, given).p.tolist() == [1, 0.25, 0.75]
    given.mask = [False, False, True]
    with pytest.raises(ValueError, match=r"`how` must hold probabilities .* got .*nan.* at row 2"):
        impute(evaluation, given)
    for wrong in (
        ["a", "b", "c"],
        ["0.5", 0.5, 0.5],
        np.array(["0.5"] * 3),
        np.full(3, 0.5 + 0j),
        [0.5j] * 3,
    ):
        with pytest.raises(TypeError, match="`how` must hold"):
            impute(evaluation, wrong)


def test_a_pickled_imputation_stays_read_only():
    again = pickle.loads(pickle.dumps(impute(make_set(), rng=0)))
    assert not any(a.flags.writeable for a in (again.p, again.bin_index, again.bin_values))


def test_scores_that_one_logit_stands_for_are_named():
    tiny = EvaluationSet([1, 0, None, 1, 0], [1e-13, 1e-20, 1e-15, 0.9, 0.8], count=[1, 1, 3, 1, 1])
    for how in ("platt", "scaling_binning"):
        notes = impute(tiny, how, n_refits=1, rng=0).notes
        assert any("5 rows have scores within 1e-12 of 0 or 1" in note for note in notes)
    plain = EvaluationSet([1, 0, None, 1, 0], [0.0, 0.0, 1.0, 0.9, 0.8])
    assert not any("1e-12" in note for note in impute(plain, "platt", n_refits=1, rng=0).notes)


def test_isotonic_takes_the_largest_scores_without_overflow():
    scores = np.array([1.0, -1.0, 1.0, -1.0, 0.0])
    found = [
        impute(EvaluationSet([1, 0, None, 1, 0], scores * unit, threshold=0), "isotonic", rng=0).p
        for unit in (1.0, 1.7e308)
    ]
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_masked_rows_of_a_mask_and_tilts_beyond_every_number_are_refused():
    belief = impute(make_set(20), "maxent")
    with pytest.raises(TypeError, match="`mask` must be an array of bool; got masked values"):
        belief.subset(np.ma.masked_array([True] * 20, mask=[True] + [False] * 19))
    with pytest.raises(ValueError, match=r"all tilts together .* got 1e\+300 after a tilt by 1e"):
        belief.tilt(1e300).tilt(1e300)


def test_errors_name_the_argument_that_was_passed():
    belief = impute(make_set(3, 0.5, 1), "maxent")
    with pytest.raises(TypeError, match="`values` must hold one name per row"):
        belief.knows([{}] * 3)
    with pytest.raises(TypeError, match="`clusters` must hold one name per row"):
        impute(make_set(20), "prevalence", clusters=[{}] * 20)
