"""Bounds against enumerated tables: Theorem 1, tight counts, ranges of beta, reversed labels."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelbayes.bounds.positive_unlabeled import (
    bound_negative_unlabeled,
    bound_positive_unlabeled,
)
from labelbayes.data.evaluation_set import EvaluationSet

# Oracles, item 07; the file's head says how the numbers came about.
ORACLE: dict[str, Any] = json.loads(
    Path(__file__).with_name("positive_unlabeled_oracle.json").read_text(encoding="utf-8")
)
#: Floats against values of 15 digits.
TOLERANCE = {"abs": 1e-12, "nan_ok": True}


def rows(case: dict[str, Any]) -> tuple[EvaluationSet, tuple[np.ndarray, np.ndarray]]:
    y_true = [np.nan if y is None else y for y in case["y_known"]]
    low, high = (np.array([float(Fraction(t)) for t in case[end]]) for end in ("low", "high"))
    return EvaluationSet(y_true, case["y_score"], pos_label=1), (low, high)


def numbers(values: list[float | None]) -> list[float]:
    return [np.nan if value is None else value for value in values]


def check_table(case: dict[str, Any]) -> None:
    evaluation, band = rows(case)
    beta = case["n_latent"] / max(1, evaluation.n_unlabeled)
    paper = bound_positive_unlabeled(evaluation, beta, band=band, construction="paper")
    area, curve = paper.auc(), paper.roc().iloc[1:]
    assert [area.low, area.high] == pytest.approx(numbers(case["paper_auc"]), **TOLERANCE)
    if case["paper_fpr"] is not None:
        for column, expected in zip(("fpr_low", "fpr_high"), case["paper_fpr"], strict=True):
            assert curve[column].to_numpy() == pytest.approx(numbers(expected), **TOLERANCE)
    attained = bound_positive_unlabeled(evaluation, beta, band=band)
    for threshold, (least, most) in zip(case["thresholds"], case["strict_counts"], strict=True):
        check_counts(attained, evaluation, threshold, least, most)
    if case["n_feasible"]:
        area = attained.auc()
        expected = numbers(case["feasible_auc"])
        assert [area.low, area.high] == pytest.approx(expected, **TOLERANCE)
    elif case["n_feasible"] == 0:
        with pytest.raises(ValueError, match="no labeling fits, first at score >= "):
            attained.auc()


def check_counts(
    result: Any, evaluation: EvaluationSet, threshold: float, least: int, most: int
) -> None:
    """Recall at a cutoff gives the counts; where no count lies between there are no bounds."""
    known = (evaluation.y_true == 1) & (evaluation.y_score >= threshold)
    total = (evaluation.y_true == 1).sum() + result.beta.first
    if not total:
        return
    band = result.band.at(int((np.unique(evaluation.y_score) >= threshold).sum()))
    above = np.isnan(evaluation.y_true) & (evaluation.y_score >= threshold)
    below = evaluation.n_unlabeled - above.sum()
    limits = np.array([band.given.low[0], band.given.high[0]]) * result.beta.first
    inside = [max(0, result.beta.first - below), min(above.sum(), result.beta.first)]
    fewest, largest = np.ceil(limits[0] - 1e-9), np.floor(limits[1] + 1e-9)
    if max(fewest, inside[0]) > min(largest, inside[1]):
        # The oracle moves each end to what the rows allow; here that is a contradiction.
        with pytest.raises(ValueError, match="contradict the data at this cutoff"):
            result.at(threshold)
        return
    recall = result.at(threshold, ["recall"])["recall"]
    counts = np.array([recall.low, recall.high]) * total - known.sum()
    assert counts == pytest.approx([least, most], abs=1e-9)


@pytest.mark.parametrize("case", ORACLE["tables"], ids=lambda case: case["name"])
def test_tables_are_those_of_the_enumeration(case: dict[str, Any]) -> None:
    check_table(case)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("paper_auc", lambda value: [value[0] + 1e-6, value[1]]),
        ("paper_fpr", lambda value: [value[0], [value[1][0] + 0.1, *value[1][1:]]]),
        ("strict_counts", lambda value: [[value[0][0] + 1, value[0][1]], *value[1:]]),
        ("feasible_auc", lambda value: [value[0], value[1] - 1e-6]),
    ],
)
def test_a_wrong_number_is_caught(field: str, change: Any) -> None:
    case = next(case for case in ORACLE["tables"] if case["name"] == "tied_scores_P4")
    check_table(case)
    with pytest.raises(AssertionError):
        check_table(case | {field: change(case[field])})


@pytest.mark.parametrize("case", ORACLE["ranges"], ids=lambda case: case["name"])
def test_a_range_holds_every_count_and_its_ends_do_not(case: dict[str, Any]) -> None:
    evaluation, band = rows(case)
    options = {"band": band, "construction": "paper"}
    area = bound_positive_unlabeled(evaluation, tuple(case["beta"]), **options).auc()
    assert [area.low, area.high] == pytest.approx(case["auc"], abs=1e-12)
    assert case["endpoints"] != case["auc"]
    for count, low, high in case["per_count"]:
        one = bound_positive_unlabeled(evaluation, count / evaluation.n_unlabeled, **options).auc()
        assert [one.low, one.high] == pytest.approx([low, high], abs=1e-12)


@pytest.mark.parametrize("case", ORACLE["reversals"], ids=lambda case: case["name"])
def test_reversed_labels_swap_the_ends(case: dict[str, Any]) -> None:
    evaluation, band = rows(case)
    beta = case["n_latent"] / evaluation.n_unlabeled
    result = bound_negative_unlabeled(evaluation, beta, band=band, construction="paper")
    area, curve = result.auc(), result.roc().iloc[1:]
    assert [area.low, area.high] == pytest.approx(case["auc"], abs=1e-12)
    for column, expected in zip(("fpr_low", "fpr_high"), case["fpr"], strict=True):
        assert curve[column].to_numpy() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("construction", ["attained", "paper"])
def test_reversal_is_the_flipped_data(construction: str) -> None:
    rng = np.random.default_rng(4)
    for _ in range(10):
        y_true = rng.choice([0.0, 0.0, 1.0, np.nan, np.nan, np.nan], 40)
        score = rng.integers(0, 12, 40)
        beta = int(rng.integers(0, np.isnan(y_true).sum() + 1)) / np.isnan(y_true).sum()
        negative = bound_negative_unlabeled(
            EvaluationSet(y_true, score, pos_label=1), beta, construction=construction
        )
        flipped = bound_positive_unlabeled(
            EvaluationSet(1 - y_true, -score, pos_label=1), 1 - beta, construction=construction
        )
        assert [negative.auc().low, negative.auc().high] == pytest.approx(
            [flipped.auc().low, flipped.auc().high], abs=1e-12, nan_ok=True
        )
        here = negative.at(6, ["accuracy", "recall"])
        there = flipped.at(-5, ["accuracy", "specificity"])
        for name, twin in (("accuracy", "accuracy"), ("recall", "specificity")):
            ends = [there[twin].low, there[twin].high]
            assert [here[name].low, here[name].high] == pytest.approx(ends, nan_ok=True)
