"""Reliability tables by a loop, the interval of the calibration error, and cross-fitting."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.diagnostics.calibration import check_calibration
from labelbayes.imputation.impute import impute
from labelbayes.imputation.isotonic import IsotonicCalibrator


def make_set(n=300, seed=0, **options):
    rng = np.random.default_rng(seed)
    score = np.round(rng.random(n), 2)
    label = (rng.random(n) < score).astype(float)
    label[rng.random(n) < 0.3] = np.nan
    return EvaluationSet(label, score, **options)


ROWS = make_set()


def test_the_table_equals_a_loop_and_empty_bins_are_empty():
    p = np.where(ROWS.y_score < 0.5, ROWS.y_score / 2, 1.0)
    p[0], p[1] = 0.0, 1.0  # the ends belong to the end bins
    table = check_calibration(ROWS, p, n_bins=8, ci_prob=0.9).table
    for k, row in table.iterrows():
        inside = [
            i
            for i in range(300)
            if ROWS.is_labeled[i] and (k / 8 <= p[i] < (k + 1) / 8 or (k == 7 and p[i] == 1))
        ]
        assert row["n_labeled"] == len(inside)
        if not inside:
            assert row[["mean_p", "rate", "low", "high"]].isna().all()
            continue
        positive = int(ROWS.y_true[inside].sum())
        assert row["mean_p"] == pytest.approx(p[inside].mean())
        assert row["rate"] == pytest.approx(positive / len(inside))
        law = beta(positive + 0.5, len(inside) - positive + 0.5)
        low = 0 if positive == 0 else law.ppf(0.05)
        high = 1 if positive == len(inside) else law.ppf(0.95)
        assert (row["low"], row["high"]) == pytest.approx((low, high))
    assert table["n_labeled"].eq(0).any()
    assert table["n_labeled"].sum() == ROWS.n_labeled


@pytest.mark.parametrize("tilt", [0.0, 0.7])
def test_the_interval_covers_the_error_and_a_naive_one_does_not(tilt):
    rng = np.random.default_rng(3)
    covered, naive, errors = [], [], []
    score = expit(rng.normal(size=400))
    bins = np.minimum((score * 10).astype(int), 9)
    size = np.bincount(bins, minlength=10)
    for _ in range(200):
        rate = expit(np.log(score / (1 - score)) - tilt)
        gap = np.bincount(bins, score - rate, 10) / np.maximum(size, 1)
        truth = np.sqrt(size @ gap**2 / 400)
        label = (rng.random(400) < rate).astype(float)
        judged = check_calibration(EvaluationSet(label, score), score)
        covered.append(judged.interval.low <= truth <= judged.interval.high)
        raw = judged.table["mean_p"] - judged.table["rate"]
        plug_in = np.sqrt((judged.table["n_labeled"] * raw**2).sum() / 400)
        naive.append(plug_in - truth)
        errors.append(judged.error - truth)
    # At least 95%, less 3.3 standard errors; the law has at least the right variance.
    assert np.mean(covered) > 0.899
    assert abs(np.mean(errors)) < 0.016
    # Without the excess taken off, p that is right looks wrong.
    if tilt == 0:
        assert np.mean(naive) > 0.04


def test_labels_judge_no_fit_that_saw_them():
    """Judged on its own labels isotonic regression looks perfect; cross-fitted it does not."""
    rng = np.random.default_rng(5)
    own, crossed, true = [], [], []
    for _ in range(60):
        score = rng.random(120)
        label = (rng.random(120) < 0.5).astype(float)
        rows = EvaluationSet(label, score)
        fitted = IsotonicCalibrator().fit(score, label)
        fresh = fitted.predict(rng.random(20_000))
        bins = np.minimum((fresh * 10).astype(int), 9)
        size = np.bincount(bins, minlength=10)
        mean = np.bincount(bins, fresh, 10) / np.maximum(size, 1)
        true.append(size @ (mean - 0.5) ** 2 / 20_000)
        own.append(check_calibration(rows, fitted.predict(score)).error ** 2)
        crossed.append(check_calibration(rows, "isotonic", rng=rng).error ** 2)
    error = np.std(true) / np.sqrt(60)
    assert np.mean(own) < np.mean(true) / 5
    # A fit to four fifths of the labels is a little worse.
    assert np.mean(true) - 3 * error < np.mean(crossed) < 2 * np.mean(true)


@pytest.mark.parametrize("how", ["scaling_binning", "histogram", "platt", "prevalence"])
def test_order_and_split_counts_change_nothing(how):
    count = np.random.default_rng(1).integers(1, 4, 300)
    order = np.random.default_rng(2).permutation(300)
    rows = np.repeat(np.arange(300), count)[np.random.default_rng(3).permutation(count.sum())]
    whole = make_set(count=count)
    first = check_calibration(whole, how, rng=4).table
    for same in (
        EvaluationSet(whole.y_true[order], whole.y_score[order], count=count[order]),
        EvaluationSet(whole.y_true[rows], whole.y_score[rows]),
    ):
        np.testing.assert_allclose(first, check_calibration(same, how, rng=4).table, atol=1e-9)
    assert not first.equals(check_calibration(whole, how, rng=5).table)


def test_tied_scores_are_not_held_out_together():
    """All labels of one score in one part would leave p there to guesswork."""
    score = np.repeat([0.2, 0.8], 200)
    label = np.concatenate([np.arange(200) % 5 == 0, np.arange(200) % 10 < 7]).astype(float)
    table = check_calibration(EvaluationSet(label, score), "histogram", rng=0).table
    used = table[table["n_labeled"] > 0]
    np.testing.assert_allclose(used["mean_p"], used["rate"], atol=0.02)


def test_features_take_part():
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 2_000)
    score = rng.random(2_000)
    label = (rng.random(2_000) < np.where(group == "a", 0.2, 0.8)).astype(float)
    rows = EvaluationSet(label, score)
    table = check_calibration(rows, "platt", features=group, rng=0).table
    used = table[table["n_labeled"] > 100]
    assert used["mean_p"].min() < 0.3
    assert used["mean_p"].max() > 0.7
    assert check_calibration(rows, "platt", features=group, rng=0).error < 0.05


def test_reprs_name_error_interval_and_method():
    judged = check_calibration(ROWS, "scaling_binning", rng=0)
    assert f"{judged.error:.3f}" in repr(judged)
    assert "95% confidence" in repr(judged)
    assert "cross-fitted in 5 parts" in repr(judged)
    html = judged._repr_html_()
    assert "95% confidence" in html
    assert "<style" not in html


@pytest.mark.parametrize(
    ("how", "options", "error", "sentence"),
    [
        ("platt", {"n_folds": 1}, ValueError, "`n_folds` must be at least 2"),
        ("platt", {"n_folds": 200}, ValueError, "the labels of the rarer class, .* got 200"),
        ("platt", {"n_bins": 0}, ValueError, "`n_bins` must be at least 1"),
        ("platt", {"ci_prob": 1}, ValueError, "`ci_prob` must lie strictly between"),
        ("plat", {}, ValueError, "`how` must be one of"),
        (np.full(300, 1.2), {}, ValueError, "`how` must hold probabilities"),
        ([0.5], {}, ValueError, r"shape \(300,\)"),
        (impute(ROWS, "platt", n_refits=0), {}, TypeError, "what `impute` is told.*Platt scaling"),
    ],
)
def test_bad_input_is_one_sentence(how, options, error, sentence):
    with pytest.raises(error, match=sentence):
        check_calibration(ROWS, how, **options)


def test_labels_are_needed():
    with pytest.raises(ValueError, match="must hold labels to compare p with"):
        check_calibration(EvaluationSet([None, None], [0.1, 0.2]), [0.5, 0.5])
    with pytest.raises(TypeError, match="`evaluation` must be an EvaluationSet"):
        check_calibration([0, 1], [0.5, 0.5])


def test_luck_does_not_prove_p_right():
    rows = EvaluationSet([1, 0, 1, 0], [0.5] * 4)
    judged = check_calibration(rows, [0.5] * 4)
    assert judged.error == 0.0
    # Two of four positives are no rarity at a rate of 0.3.
    assert judged.interval.high > 0.2
