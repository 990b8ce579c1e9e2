"""What is noticed in the data is said, and only then."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.notes import labeled_auc

# case a06: a bureau score of which low means default; None is a blank.
DEFAULT = [1, 1, None, 1, 0, 1, 0, None, 0, 0, None, 0]
BUREAU = np.array([412, 455, 498, 530, 561, 588, 604, 640, 655, 702, 745, 790])


def has(evaluation: EvaluationSet, start: str) -> bool:
    return any(start in note for note in evaluation.notes)


def test_scores_that_rank_the_wrong_way_are_said_and_not_flipped() -> None:  # case a06
    evaluation = EvaluationSet(DEFAULT, BUREAU)
    assert labeled_auc(evaluation.y_true, BUREAU * 1.0, evaluation.count) == 0.05  # case a06
    degenerate, wrong_way, no_probability = evaluation.notes
    assert degenerate == (
        "Every row is predicted positive, a degenerate classifier: recall is 1 and specificity 0 "
        "whatever the labels are. Scores run from 412 to 790 and the threshold is 0.5: pass a "
        "`threshold` in the units of the score."
    )
    assert wrong_way == (
        "Most labeled pairs are ordered the other way: the score puts the positive above the "
        "negative in 5.0% of them. Nothing was flipped; if a low score means positive, pass "
        "`-y_score` and a threshold with its sign changed too."
    )
    assert no_probability.startswith("Scores run from 412 to 790, so they are no probabilities")
    assert evaluation.y_score is not None
    assert evaluation.y_score.tolist() == BUREAU.tolist()
    negated = EvaluationSet(DEFAULT, -BUREAU, threshold=-600)
    assert labeled_auc(negated.y_true, -BUREAU * 1.0, negated.count) == 0.95  # case a06
    assert not has(negated, "ordered the other way")
    assert not has(negated, "Every row")


def test_chance_alone_is_not_called_the_wrong_way() -> None:
    assert not has(EvaluationSet([1, 0, 0], [0.1, 0.2, 0.8]), "ordered the other way")
    assert not has(EvaluationSet([1, 0] * 50, [0.5] * 100), "ordered the other way")
    # Clear of chance, but the other direction would be no better to speak of.
    n = 20_000
    score = np.random.default_rng(0).random(n)
    label = np.random.default_rng(1).random(n) < 0.55 - 0.1 * score
    assert not has(EvaluationSet(label, score), "ordered the other way")


def test_the_area_counts_ties_half_and_multiplicities_whole() -> None:
    rng = np.random.default_rng(3)
    y_true = rng.integers(0, 2, 60).astype(float)
    y_score = rng.integers(0, 6, 60) / 6
    count = rng.integers(1, 4, 60)
    y_true[::7] = np.nan
    kept = ~np.isnan(y_true)
    wanted = roc_auc_score(y_true[kept], y_score[kept], sample_weight=count[kept])
    assert labeled_auc(y_true, y_score, count) == pytest.approx(wanted, abs=1e-14)
    positive, negative = y_score[y_true == 1], y_score[y_true == 0]
    pairs = [(a > b) + 0.5 * (a == b) for a, b in product(positive, negative)]
    ones = np.ones(60, dtype=np.int64)
    assert labeled_auc(y_true, y_score, ones) == pytest.approx(np.mean(pairs), abs=1e-14)
    assert np.isnan(labeled_auc(np.ones(60), y_score, ones))


def test_degenerate_decisions_are_said() -> None:
    none = EvaluationSet([1, 0], y_pred=[0, 0])
    assert none.notes == (
        (
            "Every row is predicted negative, a degenerate classifier: recall is 0 and precision "
            "undefined whatever the labels are."
        ),
    )
    assert EvaluationSet([1, 0], y_pred=[0, 1]).notes == ()


def test_labels_of_one_kind_are_said() -> None:
    positive_only = EvaluationSet([1, None, 1], [0.9, 0.2, 0.8])
    assert has(positive_only, "No negative is known (labels: 2, all positive): specificity")
    assert positive_only.notes[0].endswith("use the positive-unlabeled bounds.")
    complete = EvaluationSet([1, 1], [0.9, 0.2])
    assert has(complete, "No negative is known")
    assert not has(complete, "positive-unlabeled")
    assert has(
        EvaluationSet([0, None], [0.9, 0.2]), "No positive is known (labels: 1, all negative)"
    )
    assert has(EvaluationSet([None, None], [0.9, 0.2]), "No label is known")
    assert not has(EvaluationSet([1, 0], [0.9, 0.2]), "known")


def test_a_confidence_column_is_said_when_the_data_show_it() -> None:  # requirement 45
    p = np.array([0.03, 0.2, 0.45, 0.55, 0.8, 0.98, 0.1, 0.7])
    label = [0, 0, 1, 0, 1, 1, None, None]
    confidence = np.maximum(p, 1 - p)
    decision = (p >= 0.5).astype(int)
    assert has(EvaluationSet(label, confidence, y_pred=decision), "confidence in the predicted")
    assert has(EvaluationSet(label, confidence), "confidence in the predicted class")
    assert not has(EvaluationSet(label, p, y_pred=decision), "confidence")
    assert not has(EvaluationSet([1, 1, 1, 1, 1, None, 1, 1], confidence), "confidence")
    assert not has(EvaluationSet([1, 0, 1], [0.9, 0.6, 0.7]), "confidence")


@pytest.mark.parametrize("scale", [lambda p: np.log(p / (1 - p)), lambda p: 100 * p])
def test_other_units_rank_as_they_are(scale: object) -> None:  # requirement 45
    p = np.array([0.9, 0.2, 0.7, 0.4])
    score = scale(p)  # type: ignore[operator]
    evaluation = EvaluationSet([1, 0, None, 1], score, threshold=float(scale(0.5)))  # type: ignore[operator]
    assert evaluation.counts == EvaluationSet([1, 0, None, 1], p).counts
    assert has(evaluation, "they rank as they are, and the threshold")
    assert not EvaluationSet([1, 0, None, 1], p).notes


def test_notes_of_the_reader_come_first() -> None:
    noted = EvaluationSet([1, 1], [0.9, 0.2]).with_notes(("Read with care.",))
    assert noted.notes[0] == "Read with care."
    assert len(noted.notes) == 2
