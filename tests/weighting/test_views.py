"""Checks of weights, the standard table, audits, clipping, tipping points, rungs."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.simulate_selection import selection_nuisances, simulate_selection
from labelbayes.laws.rungs import RungInputs
from labelbayes.metrics.confusion import fbeta
from labelbayes.metrics.registry import resolve_metrics
from labelbayes.weighting import rungs
from labelbayes.weighting.aipw import estimate_aipw
from labelbayes.weighting.audit import compare_audit
from labelbayes.weighting.bootstrap import bootstrap_errors
from labelbayes.weighting.clipping import clip_curve
from labelbayes.weighting.compare import compare_weighting
from labelbayes.weighting.diagnostics import check_weights
from labelbayes.weighting.ipw import estimate_ipw
from labelbayes.weighting.mean import estimate_mean
from labelbayes.weighting.tipping import tipping_tilt

MADE = simulate_selection(2_000, floor=0.1, rng=13)
NAMES = pd.DataFrame(MADE.features, columns=["logit", "age"])


def truth(metric: str, made=MADE) -> float:
    full = made.complete
    return estimate_ipw(full, np.ones(full.n_rows), metrics=[metric])[metric].mean


def _given() -> tuple[EvaluationSet, np.ndarray, np.ndarray]:
    return MADE.evaluation, MADE.propensity, MADE.outcome


def test_the_weight_table_by_hand() -> None:
    evaluation = EvaluationSet([1, 0, None, 1, None, 1], [0.9, 0.8, 0.7, 0.2, 0.1, 0.6])
    found = check_weights(evaluation, [1.0, 0.5, 0.5, 0.25, 0.0, 0.5])
    value = found.weights["value"]
    assert value["labeled rows"] == 4
    assert value["labeled fraction"] == pytest.approx(4 / 6)
    assert value["effective sample size"] == pytest.approx(81 / 25)
    assert value["largest weight"] == value["99% of weights below"] == 4
    assert value["share of the top 1%"] == pytest.approx(4 / 9)
    assert value["sum of weights / rows"] == pytest.approx(9 / 5)
    assert value["share without a chance"] == pytest.approx(1 / 6)
    assert found.overlap["n_labeled"].sum() == 4
    assert found.overlap["n_unlabeled"].sum() == 2
    assert found.overlap.loc["0 to 0.01", "n_unlabeled"] == 1
    assert found.overlap["share_of_weight"].sum() == pytest.approx(1)
    assert found.balance.loc["y_pred", "mean"] == pytest.approx(4 / 6)
    assert found.balance.loc["y_pred", "mean_labeled"] == pytest.approx(3 / 4)
    assert found.balance.loc["y_pred", "mean_weighted"] == pytest.approx(5 / 9)


def test_a_right_propensity_is_calibrated_and_balances() -> None:
    by = {"age": MADE.features[:, 1], "version": np.repeat(["old", "new"], 1_000)}
    right = check_weights(MADE.evaluation, MADE.propensity, features=NAMES, by=by)
    assert right.calibration["errors"].abs().max() < 3.3
    assert right.balance["difference_after"].abs().max() < 0.1
    assert right.balance["difference_before"].abs().max() > 0.3
    assert not [note for note in right.notes if "standard" in note]
    # The companion: a constant propensity, and one that changed with the version.
    flat = check_weights(MADE.evaluation, np.full(2_000, 0.45), features=NAMES, by=by)
    assert any("After weighting logit is still" in note for note in flat.notes)
    assert any("standard errors in" in note and "age is" in note for note in flat.notes)
    drifted = MADE.propensity.copy()
    drifted[1_000:] *= 0.7
    late = check_weights(MADE.evaluation, drifted, features=NAMES, by=by).calibration
    assert abs(late.loc[("version", "new"), "errors"]) > 5
    assert abs(late.loc[("version", "old"), "errors"]) < 3
    assert "AUC" not in " ".join([*right.notes, *right.weights.index])


def test_groups_times_and_words_are_levels() -> None:
    grouped = EvaluationSet(
        MADE.evaluation.y_true, MADE.evaluation.y_score, group=np.repeat(["a", "b"], 1_000)
    )
    days = pd.date_range("2026-01-01", periods=2_000, freq="h")
    found = check_weights(
        grouped, MADE.propensity, by={"day": days, "level": np.arange(2_000) % 3}
    ).calibration
    sizes = found.groupby("variable", sort=False).size()
    assert dict(sizes) == {"P(labeled)": 5, "group": 2, "day": 5, "level": 3}
    assert found.groupby("variable")["n"].sum().eq(2_000).all()
    with pytest.raises(
        ValueError, match=r"`by` must hold one value per row, shape .*'day' has 3\.$"
    ):
        check_weights(grouped, MADE.propensity, by={"day": [1, 2, 3]})
    text = repr(check_weights(grouped, MADE.propensity))
    assert "effective sample size" in text
    assert "largest weight" in check_weights(grouped, MADE.propensity)._repr_html_()


def test_the_standard_table() -> None:
    found = compare_weighting(MADE.evaluation, MADE.propensity, outcome=MADE.outcome)
    assert list(found.results) == [
        "naive",
        "outcome model",
        "Horvitz-Thompson",
        "Hajek",
        "AIPW",
        "prediction-powered",
    ]
    frame = found.table()
    labeled = MADE.evaluation.n_labeled
    assert (frame["labeled_fraction"] == labeled / 2_000).all()
    assert (frame["n_labeled"] == labeled).all()
    assert frame.loc["Hajek", "ess"].iloc[0] < labeled
    assert frame.loc["naive", "ess"].iloc[0] == pytest.approx(labeled)
    assert frame.loc["outcome model", "ess"].isna().all()
    for name, single in {
        "Hajek": estimate_ipw(MADE.evaluation, MADE.propensity),
        "AIPW": estimate_aipw(MADE.evaluation, MADE.propensity, MADE.outcome),
    }.items():
        for metric, law in single.items():
            assert found.results[name][metric].mean == law.mean
            assert found.results[name][metric].sd == law.sd
    for text in (repr(found), found._repr_html_()):
        assert all(word in text for word in ("naive", "AIPW", "ESS", "n labeled", "labeled"))
    # Labels depend on the score, so that labeled rows alone are off, and the table says so.
    said = [note for note in found.notes if "at least one assumption fails" in note]
    assert any(note.startswith("naive and AIPW have the same target") for note in said)
    assert not any("Hajek and AIPW" in note for note in said)
    short = compare_weighting(MADE.evaluation, MADE.propensity, metrics=["recall"])
    assert list(short.results) == ["naive", "Horvitz-Thompson", "Hajek"]


def test_agreeing_estimators_are_not_accused() -> None:
    fair = np.full(2_000, 0.4)
    seen = np.random.default_rng(1).random(2_000) < 0.4
    labels = np.where(seen, MADE.complete.y_true, np.nan)
    evaluation = EvaluationSet(labels, MADE.evaluation.y_score)
    for target in ("population", "sample"):
        found = compare_weighting(evaluation, fair, outcome=MADE.outcome, target=target)
        assert not [note for note in found.notes if "at least one assumption" in note], target
    # MCAR: prediction-powered accuracy and AIPW are one estimate but for lambda.
    both = compare_weighting(evaluation, fair, outcome=MADE.outcome).results
    powered, aipw = both["prediction-powered"]["accuracy"], both["AIPW"]["accuracy"]
    assert abs(powered.mean - aipw.mean) < 0.2 * aipw.sd
    assert powered.sd == pytest.approx(aipw.sd, rel=0.1)
    assert powered.sd < both["naive"]["accuracy"].sd


def test_prediction_powered_is_not_for_chosen_labels() -> None:
    found = compare_weighting(MADE.evaluation, MADE.propensity, outcome=np.full(2_000, 0.4)).results
    right = truth("accuracy")
    powered, aipw = found["prediction-powered"]["accuracy"], found["AIPW"]["accuracy"]
    assert abs(aipw.mean - right) < 3 * aipw.sd
    assert found["prediction-powered"].assumption == "labels missing completely at random"
    assert powered.mean == pytest.approx(found["naive"]["accuracy"].mean, abs=0.02)


def test_a_wrong_outcome_model_disagrees_with_aipw() -> None:
    found = compare_weighting(MADE.evaluation, MADE.propensity, outcome=np.full(2_000, 0.4))
    assert any(note.startswith("outcome model and AIPW have") for note in found.notes)
    sample = compare_weighting(
        MADE.evaluation, MADE.propensity, outcome=np.full(2_000, 0.4), target="sample"
    )
    assert any(note.startswith("outcome model and AIPW have") for note in sample.notes)
    assert "prediction-powered" not in sample.results


def test_an_audit_convicts_the_naive_and_clears_aipw() -> None:
    missing = np.flatnonzero(~MADE.evaluation.is_labeled)
    picked = np.random.default_rng(5).choice(missing, 300, replace=False)
    audited = np.full(2_000, np.nan)
    audited[picked] = MADE.complete.y_true[picked]
    results = {
        "naive": estimate_ipw(MADE.evaluation, np.full(2_000, 0.5)),
        "AIPW": estimate_aipw(MADE.evaluation, MADE.propensity, MADE.outcome),
    }
    found = compare_audit(MADE.evaluation, audited, results)
    assert found.loc["naive", "is_apart"].any()
    assert not found.loc["AIPW", "is_apart"].any()
    row = found.loc[("AIPW", "recall")]
    assert row["difference"] == pytest.approx(row["mean"] - row["audit"])
    half = {"AIPW": estimate_aipw(*_given(), metrics=[fbeta(0.5)])}
    assert list(compare_audit(MADE.evaluation, audited, half).index) == [("AIPW", "f0.5")]
    # Auditing everything gives the truth, whatever was assumed.
    everything = np.where(MADE.evaluation.is_labeled, np.nan, MADE.complete.y_true)
    full = compare_audit(MADE.evaluation, everything, results)
    assert full.loc[("naive", "recall"), "audit"] == pytest.approx(truth("recall"), abs=1e-12)
    with pytest.raises(ValueError, match=r"row \d+ had a label before\.$"):
        compare_audit(MADE.evaluation, MADE.complete.y_true, results)
    with pytest.raises(ValueError, match=r"at least one; none is\.$"):
        compare_audit(MADE.evaluation, np.full(2_000, np.nan), results)
    with pytest.raises(ValueError, match=r"estimates of one target; got none\.$"):
        compare_audit(MADE.evaluation, audited, {})


def test_the_clip_curve_is_the_estimates() -> None:
    found = clip_curve(
        MADE.evaluation, MADE.propensity, "recall", outcome=MADE.outcome, caps=[1, 2, 5, 10]
    )
    assert found["estimator"].tolist()[:3] == ["Horvitz-Thompson", "Hajek", "AIPW"]
    for _, row in found.iterrows():
        if row["estimator"] == "AIPW":
            single = estimate_aipw(
                MADE.evaluation, MADE.propensity, MADE.outcome, clip=row["cap"], metrics=["recall"]
            )
            assert (single["recall"].mean, single.ess) == (row["mean"], row["ess"])
            assert f"{row['n_clipped']:,} labeled rows" in single.notes[1]
    assert found["clipped_share"].is_monotonic_decreasing
    default = clip_curve(MADE.evaluation, MADE.propensity, "recall")
    assert default["cap"].nunique() == 12
    assert default["n_clipped"].iloc[-1] == 0


def test_a_tilt_that_tips_a_claim() -> None:
    given = (MADE.evaluation, MADE.propensity, MADE.outcome)
    estimate = estimate_aipw(*given, metrics=["precision"])["precision"]
    claim = estimate.mean - 0.05
    ratio = tipping_tilt(*given, "precision", claim)
    assert 0 < ratio < 1
    at = estimate_aipw(*given, odds_ratio=ratio, metrics=["precision"])["precision"]
    assert at.mean == pytest.approx(claim, abs=1e-9)
    sure = tipping_tilt(*given, "precision", claim, prob=0.975)
    tipped = estimate_aipw(*given, odds_ratio=sure, metrics=["precision"])["precision"]
    assert tipped.interval(0.95).low == pytest.approx(claim, abs=1e-8)
    assert ratio < sure
    higher = tipping_tilt(*given, "precision", estimate.mean + 0.02)
    assert higher > 1
    assert math.isnan(tipping_tilt(*given, "precision", 0.01))
    assert tipping_tilt(*given, "precision", claim, clip=2.0) != ratio
    assert tipping_tilt(*given, "precision", estimate.mean) == pytest.approx(1.0, abs=1e-9)


def inputs(**options: object) -> RungInputs:
    base = {
        "evaluation": MADE.evaluation,
        "metrics": resolve_metrics(["recall", "roc_auc"], has_score=True),
        "target": "sample",
        "imputation": None,
        "seed": np.random.SeedSequence(0),
        "propensity": MADE.propensity,
        "outcome": MADE.outcome,
    }
    return RungInputs(**(base | options))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["hajek", "horvitz_thompson", "aipw", "outcome_model"])
def test_rungs_are_the_estimators(name: str) -> None:
    for target in ("sample", "population"):
        found = getattr(rungs, name)(inputs(target=target))
        assert list(found) == ["recall", "roc_auc"]
        assert found.target == target
        table = compare_weighting(
            MADE.evaluation, MADE.propensity, outcome=MADE.outcome, target=target
        ).results
        twin = {
            "hajek": "Hajek",
            "horvitz_thompson": "Horvitz-Thompson",
            "aipw": "AIPW",
            "outcome_model": "outcome model",
        }[name]
        assert found["recall"].mean == table[twin]["recall"].mean
        assert found["recall"].sd == pytest.approx(table[twin]["recall"].sd)
    lacking = "outcome" if name == "outcome_model" else "propensity"
    with pytest.raises(ValueError, match=rf"^no `{lacking}` was given$"):
        getattr(rungs, name)(inputs(**{lacking: None}))


def test_the_simulated_selector_does_what_it_says() -> None:
    made = simulate_selection(60_000, floor=0.1, odds_ratio=3.0, rng=1)
    again = selection_nuisances(made.features, floor=0.1)
    np.testing.assert_array_equal(again[0], made.propensity)
    seen = made.evaluation.is_labeled
    labels = made.complete.y_true
    # 60,000 rows: the standard error of each rate is below 0.003.
    assert seen.mean() == pytest.approx(made.propensity.mean(), abs=0.01)
    assert labels[seen].mean() == pytest.approx(made.outcome[seen].mean(), abs=0.01)
    tilted = 3 * made.outcome / (1 + 2 * made.outcome)
    assert labels[~seen].mean() == pytest.approx(tilted[~seen].mean(), abs=0.01)
    assert abs(labels[~seen].mean() - made.outcome[~seen].mean()) > 0.05
    # The right tilt finds the truth; "missing at random" does not.
    for ratio, is_right in ((3.0, True), (1.0, False)):
        law = estimate_aipw(
            made.evaluation, made.propensity, made.outcome, odds_ratio=ratio, metrics=["recall"]
        )["recall"]
        assert (abs(law.mean - truth("recall", made)) < 4 * law.sd) is is_right
    for options in ({"floor": 1.5}, {"odds_ratio": 0.0}):
        with pytest.raises(ValueError, match="must"):
            simulate_selection(10, **options)


def test_prediction_of_a_mean_follows_its_model() -> None:
    """AIPW of a mean with the propensity known and any prediction stays right."""
    loss = np.where(MADE.evaluation.is_labeled, MADE.features[:, 1] ** 2, np.nan)
    right = float((MADE.features[:, 1] ** 2).mean())
    for predicted in (np.zeros(2_000), MADE.features[:, 1] ** 2 + 0.5):
        found = estimate_mean(loss, MADE.propensity, predicted=predicted, target="sample")["mean"]
        assert abs(found.mean - right) < 3.5 * found.sd
    perfect = estimate_mean(
        loss, MADE.propensity, predicted=MADE.features[:, 1] ** 2, target="sample"
    )
    assert perfect["mean"].sd == pytest.approx(0.0, abs=1e-12)
    assert perfect["mean"].mean == pytest.approx(right, abs=1e-12)


def test_segments_of_any_kind() -> None:
    n = MADE.evaluation.n_rows
    segment = np.ma.array(np.arange(n) % 3, mask=np.arange(n) < 500)
    stamp = 1_700_000_000 + np.arange(n)
    found = check_weights(
        MADE.evaluation, MADE.propensity, by={"kind": segment, "stamp": stamp}
    ).calibration
    assert found.loc["kind"].index.tolist() == ["0", "1", "2", "(missing)"]
    assert found.loc[("kind", "(missing)"), "n"] == 500
    assert len(set(found.loc["stamp"].index)) == 5
    assert found.loc["stamp"].index[0].startswith("1700000000 to ")
    refused = [
        ([1], TypeError, "`by` must be a Mapping"),
        ({"P(labeled)": segment}, ValueError, "must not name 'P"),
        ({"kind": np.ones((n, 2))}, ValueError, "one-dimensional"),
        ({"kind": np.where(stamp % 2, np.inf, stamp)}, ValueError, "finite numbers; 'kind'"),
    ]
    for by, error, sentence in refused:
        with pytest.raises(error, match=sentence):
            check_weights(MADE.evaluation, MADE.propensity, by=by)
    with pytest.raises(ValueError, match="`features` must hold no missing"):
        check_weights(MADE.evaluation, MADE.propensity, features=np.full(n, np.nan))


def test_fifths_count_repeated_rows() -> None:
    made = simulate_selection(200, floor=0.2, rng=1)
    count = np.random.default_rng(2).integers(1, 4, 200)
    row = np.repeat(np.arange(200), count)
    labels, score = made.evaluation.y_true, made.evaluation.y_score
    counted = check_weights(EvaluationSet(labels, score, count=count), made.propensity)
    repeated = check_weights(EvaluationSet(labels[row], score[row]), made.propensity[row])
    pd.testing.assert_frame_equal(counted.calibration, repeated.calibration)
    for found in (counted, pickle.loads(pickle.dumps(counted))):
        with pytest.raises(ValueError, match="read-only"):
            found.weight[0] = 2.0


def test_views_refuse_what_they_cannot_use() -> None:
    made = simulate_selection(40, floor=0.3, rng=0)
    rows, p = made.evaluation, made.propensity
    for caps, error in ((5, TypeError), ("12", TypeError), ([], ValueError), ([0.5], ValueError)):
        with pytest.raises(error, match="`caps` must"):
            clip_curve(rows, p, "accuracy", caps=caps)
    with pytest.raises(ValueError, match="must have labels to weight"):
        clip_curve(EvaluationSet([None, None], [0.1, 0.9]), [0.5, 0.5], "accuracy")
    audited = np.full(40, np.nan)
    audited[np.flatnonzero(~rows.is_labeled)[0]] = 1
    loss = estimate_mean(np.where(rows.is_labeled, 0.3, np.nan), p)
    for results, error, sentence in (
        ({"a": 1}, TypeError, r"`results\['a'\]` must be an Estimates"),
        ({"a": loss}, ValueError, "metrics of a classifier, .* got 'mean'"),
    ):
        with pytest.raises(error, match=sentence):
            compare_audit(rows, audited, results)
    negatives = EvaluationSet([0, 0, None, 0], y_pred=[0, 0, 0, 0])
    with pytest.raises(ValueError, match=r"`metric` must be defined .* precision is not"):
        tipping_tilt(negatives, [0.5] * 4, [0.0] * 4, "precision", 0.5)
    with pytest.raises(ValueError, match="`clusters` must have at least two clusters"):
        bootstrap_errors(made.features, rows, clusters=[1] * 40, n_resamples=2)


def test_resamples_that_cannot_be_fitted_are_left_out() -> None:
    rows = EvaluationSet([1, 0, None, None, None, None, 1], [0.9, 0.1, 0.8, 0.2, 0.5, 0.4, 0.7])
    found = bootstrap_errors(
        rows.y_score, rows, n_folds=1, n_resamples=60, metrics=["accuracy"], rng=0
    )
    # Without replacement of what is missing, (4/7)^7 = 2% of the resamples have no label.
    assert 50 <= found.loc["accuracy", "n_resamples"] < 60
