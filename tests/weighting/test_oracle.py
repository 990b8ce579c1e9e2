"""Weighted estimates equal loops in exact rationals (oracles, item 10), to the last digits."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.results.estimates import Estimates
from labelbayes.weighting.aipw import estimate_aipw, tilt
from labelbayes.weighting.ipw import estimate_ipw
from labelbayes.weighting.mean import estimate_mean

ORACLE: dict[str, dict[str, Any]] = {
    case["name"]: case
    for case in json.loads(
        Path(__file__).with_name("selection_oracle.json").read_text(encoding="utf-8")
    )["cases"]
}
ROWS = [name for name in ORACLE if name.startswith("n")]

# Oracles, item 10, strata_worked_example: 100 rows, the value is "correct or not".
CORRECT = [1] * 5 + [0] * 3 + [None] * 12 + [1] * 20 + [0] * 4 + [None] * 56
PROPENSITY = [0.5] * 20 + [0.25] * 80
PREDICTED = [0.6] * 20 + [0.8] * 80
ESTIMATORS: dict[str, dict[str, Any]] = {
    "ht": {"method": "horvitz_thompson"},
    "hajek": {},
    "aipw": {"predicted": PREDICTED},
}


def evaluation_of(case: dict[str, Any]) -> EvaluationSet:
    return EvaluationSet(case["y_true"], case["y_score"], y_pred=case["y_pred"])


def by_estimator(case: dict[str, Any]) -> dict[str, Estimates]:
    evaluation, asked = evaluation_of(case), list(case["expected"]["aipw"])
    return {
        "aipw": estimate_aipw(evaluation, case["pi"], case["m"], metrics=asked),
        "ipw_hajek": estimate_ipw(evaluation, case["pi"], metrics=asked),
        "ipw_ht_totals": estimate_ipw(
            evaluation, case["pi"], method="horvitz_thompson", metrics=asked
        ),
    }


@pytest.mark.parametrize("name", ESTIMATORS)
def test_worked_example(name: str) -> None:
    expected = ORACLE["strata_worked_example"]["expected"]
    found = estimate_mean(CORRECT, PROPENSITY, **ESTIMATORS[name])
    assert found["mean"].mean == pytest.approx(expected["estimates"][name]["estimate"], abs=1e-12)
    assert found["mean"].sd == pytest.approx(expected["estimates"][name]["se"], abs=1e-12)
    assert found.ess == pytest.approx(30.1538461538462, abs=1e-12)
    design = estimate_mean(CORRECT, PROPENSITY, target="sample", **ESTIMATORS[name])
    # Hajek's design error is over the weights' sum, as its influence function is.
    key = "hajek_over_Nhat" if name == "hajek" else name
    assert design["mean"].sd == pytest.approx(expected["design_se"][key], abs=1e-12)
    assert design["mean"].mean == found["mean"].mean


def test_worked_example_without_weights() -> None:
    seen = [value for value in CORRECT if value is not None]
    naive = estimate_mean(seen, np.ones(len(seen)))
    model = estimate_mean(CORRECT, PROPENSITY, predicted=PREDICTED, clip=1.0)
    assert naive["mean"].mean == pytest.approx(0.78125, abs=1e-12)
    assert np.mean(PREDICTED) == pytest.approx(0.76, abs=1e-12)
    # Cap 1: the oracle's row of the clipping table.
    assert model["mean"].mean == pytest.approx(0.77, abs=1e-12)


@pytest.mark.parametrize("row", ORACLE["strata_worked_example"]["expected"]["clipping"])
def test_worked_example_clipped(row: dict[str, float]) -> None:
    for name, options in ESTIMATORS.items():
        found = estimate_mean(CORRECT, PROPENSITY, clip=row["cap"], **options)
        assert found["mean"].mean == pytest.approx(row[name], abs=1e-12)
        assert found.ess == pytest.approx(row["ess"], abs=1e-12)
        (note,) = [note for note in found.notes if note.startswith("Weights were capped")]
        share = row["clipped_mass"] / 112
        assert f": {row['n_clipped']:.0f} labeled rows, {share:.1%} of all weight" in note


@pytest.mark.parametrize("name", ROWS)
def test_metrics_and_errors_equal_the_oracle(name: str) -> None:
    case = ORACLE[name]
    for estimator, result in by_estimator(case).items():
        for metric, expected in case["expected"][estimator].items():
            if (estimator, metric) == ("ipw_ht_totals", "accuracy"):
                # Accuracy is a plain mean: the oracle's `mean_accuracy`.
                expected = case["expected"]["mean_accuracy"]["ht"]
            law = result[metric]
            assert law.mean == pytest.approx(expected["estimate"], abs=1e-12), (estimator, metric)
            if expected["se"] == 0.0:
                # No spread was seen: the score test stands in, and the interval has a width.
                assert law.mean in (0.0, 1.0)
                assert 0 < law.interval(0.95).width < 1
            else:
                tolerance = 1e-12 * max(1.0, expected["se"])
                assert law.sd == pytest.approx(expected["se"], abs=tolerance), (estimator, metric)
        assert result.ess == pytest.approx(case["expected"]["ess"], abs=1e-12)


@pytest.mark.parametrize("row", ORACLE["exponential_tilt"]["expected"]["rows"])
def test_tilt_equals_the_oracle(row: dict[str, Any]) -> None:
    case = ORACLE["exponential_tilt"]
    ratio = math.exp(float(row["delta"]))
    tilted = tilt(np.array(case["m"]), ratio)
    assert tilted[:4] == pytest.approx(row["m_tilted"], abs=1e-14)
    # With all decisions positive, precision is the mean of y.
    everything = EvaluationSet(case["y_true"], y_pred=np.ones(len(case["m"]), dtype=int))
    found = estimate_aipw(
        everything, case["pi"], case["m"], odds_ratio=ratio, metrics=["precision"]
    )
    assert found["precision"].mean == pytest.approx(row["eif_mean_y"], abs=1e-14)


def test_a_wrong_weight_is_caught_by_the_oracle() -> None:
    """The companion: one propensity, or the outcome model of one row, off by a hundredth."""
    case = ORACLE["n45"]
    wrong = np.array(case["pi"])
    wrong[evaluation_of(case).is_labeled.argmax()] += 0.01
    expected = case["expected"]["aipw"]
    evaluation = evaluation_of(case)
    model = np.array(case["m"])
    model[0] -= 0.01
    for p, m in ((wrong, case["m"]), (case["pi"], model)):
        found = estimate_aipw(evaluation, p, m, metrics=list(expected))
        for metric, right in expected.items():
            if metric == "precision" and evaluation.y_pred[0] == 0 and p is not wrong:
                continue  # a row predicted negative is no part of precision
            assert abs(found[metric].mean - right["estimate"]) > 1e-6, metric


# Case b01 (Drum and Christacopoulos 1972, verified by test result; Begg and Greenes 1983):
# (disease, test, rows), 650 patients.
LIVER = [(1, 1, 231), (0, 1, 32), (None, 1, 166), (1, 0, 27), (0, 0, 54), (None, 0, 140)]


def test_liver_scan_with_counts() -> None:
    disease, test, rows = zip(*LIVER, strict=True)
    evaluation = EvaluationSet(disease, y_pred=test, count=rows)
    verified = {1: 263 / 429, 0: 81 / 221}
    p = [verified[result] for result in test]
    model = [{1: 231 / 263, 0: 27 / 81}[result] for result in test]
    corrected = {
        "recall": 0.836466715435,
        "specificity": 0.738398018167,
        "precision": 0.878326996198,
        "npv": 0.666666666667,
    }
    weighted = estimate_ipw(evaluation, p, metrics=list(corrected))
    both = estimate_aipw(evaluation, p, model, metrics=list(corrected))
    for metric, value in corrected.items():
        assert weighted[metric].mean == pytest.approx(value, abs=1e-9)
        assert both[metric].mean == pytest.approx(value, abs=1e-9)
    assert weighted.ess == pytest.approx(324.31370877381, abs=1e-9)
    naive = estimate_ipw(evaluation, np.ones(6), metrics=["recall", "specificity"])
    assert naive["recall"].mean == pytest.approx(0.895348837209, abs=1e-9)
    assert naive["specificity"].mean == pytest.approx(0.627906976744, abs=1e-9)
    # Copies of rows are the same data.
    repeated = EvaluationSet(
        np.repeat([np.nan if d is None else d for d in disease], rows), y_pred=np.repeat(test, rows)
    )
    for target in ("population", "sample"):
        one = estimate_aipw(evaluation, p, model, target=target, metrics=["f1"])["f1"]
        other = estimate_aipw(
            repeated, np.repeat(p, rows), np.repeat(model, rows), target=target, metrics=["f1"]
        )["f1"]
        assert (one.mean, one.sd) == pytest.approx((other.mean, other.sd), abs=1e-12)


# Case b07 (Hernan and Robins, Causal Inference: What If, table 2.2): severe, outcome in arm 1, in
# arm 0; twenty patients, each seen in one arm.
PATIENTS = (
    [(0, None, y) for y in (0, 1, 0, 0)]
    + [(0, y, None) for y in (0, 0, 0, 1)]
    + [(1, None, y) for y in (1, 1, 0)]
    + [(1, y, None) for y in (1, 1, 1, 1, 1, 1, 0, 0, 0)]
)


def test_twenty_patients() -> None:
    severe = np.array([row[0] for row in PATIENTS])
    arms = {1: (np.where(severe, 0.75, 0.5), 12.5), 0: (np.where(severe, 0.25, 0.5), 6.25)}
    for arm, (p, ess) in arms.items():
        values = [row[1 if arm else 2] for row in PATIENTS]
        for method in ("hajek", "horvitz_thompson"):
            found = estimate_mean(values, p, method=method)
            assert found["mean"].mean == pytest.approx(0.5, abs=1e-12)
            assert found.ess == pytest.approx(ess, abs=1e-12)
        as_labels = EvaluationSet(values, y_pred=np.ones(20, dtype=int))
        precision = estimate_ipw(as_labels, p, metrics=["precision"])["precision"]
        assert precision.mean == pytest.approx(0.5, abs=1e-12)
        seen = [value for value in values if value is not None]
        naive = {1: 0.538461538462, 0: 0.428571428571}[arm]
        assert np.mean(seen) == pytest.approx(naive, abs=1e-9)


def test_ten_repeats_per_test() -> None:
    """Case a12: fifty prompts, each run ten times; one never passes."""
    tests = np.repeat(np.arange(50), 10)
    passed = (tests != 17).astype(int)
    alone = estimate_mean(passed, np.ones(500))
    grouped = estimate_mean(passed, np.ones(500), clusters=tests)
    assert alone["mean"].mean == grouped["mean"].mean == pytest.approx(0.98, abs=1e-12)
    assert alone["mean"].sd == pytest.approx(0.006260990337, abs=1e-12)
    assert grouped["mean"].sd == pytest.approx(0.019798989873, abs=1e-12)
    assert grouped["mean"].sd / alone["mean"].sd == pytest.approx(math.sqrt(10), abs=1e-9)
    assert grouped["mean"].interval(0.95).high == 1.0
    assert any("50 clusters" in note for note in grouped.notes)
