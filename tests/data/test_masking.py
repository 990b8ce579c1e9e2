"""Labels are hidden in the number and kind that was asked for, and nothing else changes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.masking import mask_mar, mask_mcar, mask_mnar


def complete(n: int = 200, *, counted: bool = False, missing: int = 0) -> EvaluationSet:
    rng = np.random.default_rng(n)
    score = rng.random(n)
    label = (rng.random(n) < score).astype(float)
    label[:missing] = np.nan
    count = rng.integers(1, 6, n) if counted else None
    return EvaluationSet(label, score, group=rng.choice(["a", "b"], n), count=count)


def units(evaluation: EvaluationSet) -> list[tuple[float, int, str]]:
    """Everything but the labels, a row per unit of multiplicity."""
    assert evaluation.y_score is not None
    assert evaluation.group is not None
    rows = zip(evaluation.y_score, evaluation.y_pred, evaluation.group, strict=True)
    return [row for row, count in zip(rows, evaluation.count, strict=True) for _ in range(count)]


def n_positive(evaluation: EvaluationSet) -> int:
    return evaluation.counts.tp + evaluation.counts.fn


MASKS: dict[str, Any] = {
    "mcar": lambda truth, rng: mask_mcar(truth, 0.3, rng=rng),
    "mar": lambda truth, rng: mask_mar(truth, truth.y_score, rng=rng),
    "mnar": lambda truth, rng: mask_mnar(truth, 0.3, 0.2, rng=rng),
}


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("name", MASKS)
def test_only_labels_are_hidden(name: str, counted: bool) -> None:
    truth = complete(counted=counted, missing=20)
    masked = MASKS[name](truth, 1)
    assert units(masked) == units(truth)
    assert masked.n_labeled < truth.n_labeled
    assert masked.n == truth.n
    # What is still seen is the truth: scores are distinct, so that they identify rows.
    known = dict(zip(truth.y_score, truth.y_true, strict=True))
    seen = zip(masked.y_score[masked.is_labeled], masked.y_true[masked.is_labeled], strict=True)
    assert all(known[score] == label for score, label in seen)
    assert (masked.count > 0).all()


@pytest.mark.parametrize("name", MASKS)
def test_a_seed_decides(name: str) -> None:
    truth = complete(counted=True)
    one, same, other = (MASKS[name](truth, rng) for rng in (1, np.random.default_rng(1), 2))
    np.testing.assert_array_equal(one.y_true, same.y_true)
    np.testing.assert_array_equal(one.count, same.count)
    assert one.y_true.shape != other.y_true.shape or not np.array_equal(
        one.y_true, other.y_true, equal_nan=True
    )


@given(
    st.floats(0, 1), st.floats(0, 1), st.booleans(), st.integers(0, 20), st.integers(0, 2**32 - 1)
)
@settings(max_examples=80, deadline=None)
def test_numbers_hidden_are_exact_or_refused(
    rate: float, fraction: float, counted: bool, missing: int, seed: int
) -> None:
    truth = complete(40, counted=counted, missing=missing)
    m = round(rate * truth.n_labeled)
    assert truth.n_labeled - mask_mcar(truth, rate, rng=seed).n_labeled == m
    k = round(fraction * m)
    n_negative = truth.n_labeled - n_positive(truth)
    if k > n_positive(truth) or m - k > n_negative:
        with pytest.raises(ValueError, match=r"^`positive_fraction` must lie .* wider range\.$"):
            mask_mnar(truth, rate, fraction, rng=seed)
        return
    masked = mask_mnar(truth, rate, fraction, rng=seed)
    assert truth.n_labeled - masked.n_labeled == m
    assert n_positive(truth) - n_positive(masked) == k


def test_every_unit_of_multiplicity_has_the_same_chance() -> None:
    truth = EvaluationSet([1, 1, 0], [0.9, 0.8, 0.1], count=[1, 9, 10])
    hidden = np.zeros(2)
    for seed in range(400):
        masked = mask_mcar(truth, 0.5, rng=seed)
        assert masked.y_score is not None
        gone = ~masked.is_labeled
        hidden += [masked.count[gone & (masked.y_score == score)].sum() for score in (0.9, 0.8)]
    # Expected 200 and 1,800; four standard errors are 40 and 60 (hypergeometric).
    assert abs(hidden[0] - 200) < 40
    assert abs(hidden[1] - 1800) < 60
    # Planted error: rows instead of units drawn alike.
    planted = [(np.random.default_rng(seed).integers(0, 3, 10) == 0).any() for seed in range(400)]
    assert abs(sum(planted) - 200) > 40


def test_a_row_hidden_in_part_becomes_two() -> None:
    truth = EvaluationSet([1, 0], [0.9, 0.1], count=[5, 1])
    masked = mask_mnar(truth, 2 / 6, 1.0, rng=0)
    np.testing.assert_array_equal(masked.y_true, [1, np.nan, 0])
    assert masked.count.tolist() == [3, 2, 1]
    assert truth.n_unlabeled == 0


def test_ends_of_the_range() -> None:
    truth = complete(50)
    assert mask_mcar(truth, 0).n_unlabeled == 0
    assert mask_mcar(truth, 1.0).n_labeled == 0
    assert mask_mnar(truth, 0.0, 0.9).n_unlabeled == 0
    assert mask_mar(truth, np.ones(50)).n_unlabeled == 0
    assert mask_mar(truth, np.zeros(50)).n_labeled == 0


def test_the_propensity_is_the_chance_of_a_label() -> None:
    n = 20_000
    truth = EvaluationSet(np.ones(n), np.linspace(0, 1, n))
    masked = mask_mar(truth, np.where(np.arange(n) < n // 2, 0.9, 0.2), rng=4)
    shares = masked.is_labeled.reshape(2, -1).mean(axis=1)
    # Four standard errors of a share of 10,000 are 0.016 at most.
    np.testing.assert_allclose(shares, [0.9, 0.2], atol=0.016)
    assert not np.allclose(shares, [0.1, 0.8], atol=0.016)  # the chance of no label


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda e: mask_mcar(e, 1.5), ValueError, "`rate` must lie in [0, 1]; got 1.5."),
    (lambda e: mask_mcar(e, "half"), TypeError, "`rate` must be a number; got str 'half'."),
    (
        lambda e: mask_mnar(e, 0.5, -0.1),
        ValueError,
        "`positive_fraction` must lie in [0, 1]; got -0.1.",
    ),
    (
        lambda e: mask_mnar(e, 0.5, 0.9),
        ValueError,
        (
            "`positive_fraction` must lie between 0 and 0.4 when 5 of 2 positives and 8 negatives "
            "are hidden; got 0.9. Lower `rate` for a wider range."
        ),
    ),
    (lambda e: mask_mnar(e, 0.9, 0.0), ValueError, "Lower `rate` for a wider range."),
    (
        lambda e: mask_mar(e, [0.5]),
        ValueError,
        "`propensity` must hold P(labeled) of each row, shape (10,); got (1,).",
    ),
    (
        lambda e: mask_mar(e, [0.5] * 8 + [1.2, np.nan]),
        ValueError,
        "`propensity` must lie in [0, 1]; got 1.2 at position 8 (2 in all).",
    ),
    (lambda e: mask_mcar(e, 0.5, rng="x"), TypeError, "or None; got 'x'."),
]


@pytest.mark.parametrize(("call", "kind", "end"), REFUSED)
def test_what_cannot_be_is_refused(call: Any, kind: type[Exception], end: str) -> None:
    truth = EvaluationSet([1, 1] + [0] * 8, np.linspace(1, 0, 10))
    with pytest.raises(kind) as caught:
        call(truth)
    assert str(caught.value).endswith(end)


@pytest.mark.parametrize(
    "call",
    [
        lambda truth: mask_mcar(truth, 0.5),
        lambda truth: mask_mar(truth, [0.5]),
        lambda truth: mask_mnar(truth, 0.5, 0.5),
    ],
)
def test_only_an_evaluation_set_can_be_masked(call: Any) -> None:
    with pytest.raises(TypeError, match=r"^`evaluation` must be an EvaluationSet; got list\.$"):
        call([1, 0])


def test_a_propensity_is_read_with_its_mask_and_its_round_off() -> None:
    truth = EvaluationSet([1, 0], [0.9, 0.2])
    assert mask_mar(truth, [1 + 1e-12, -1e-12], rng=0).is_labeled.tolist() == [True, False]
    with pytest.raises(ValueError, match=r"`propensity` .* nan at position 1"):
        mask_mar(truth, np.ma.array([1.0, 1.0], mask=[False, True]))
    for wrong in (["0.5", "1"], np.array([1j, 1])):
        with pytest.raises(TypeError, match="`propensity` must hold"):
            mask_mar(truth, wrong)


def test_more_labels_than_numpy_can_draw_from_are_refused_in_a_sentence() -> None:
    truth = EvaluationSet([1, 0], [0.9, 0.2], count=[10**10, 10**10])
    for call in (lambda: mask_mcar(truth, 0.5), lambda: mask_mnar(truth, 0.5, 0.5)):
        with pytest.raises(ValueError, match=r"^`count` must add up .* Use `mask_mar`"):
            call()
    assert mask_mar(truth, [0.5, 0.5], rng=0).n == truth.n
