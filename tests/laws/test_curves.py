"""Curves of the completed set: their points, and whether bands hold what they promise."""

import math

import numpy as np
import pytest
import sklearn.metrics as sklearn_metrics

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.curves import (
    MOST_KNOTS,
    Band,
    Curves,
    estimate_curves,
    read_curves,
)
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.thinning import choose_knots
from labelbayes.metrics.ranking import count_steps

N = math.nan
RATES, RECALLS = np.arange(201) / 200, np.arange(1, 201) / 200


def test_nothing_missing_is_the_curve_of_scikit_learn_without_width() -> None:
    rng = np.random.default_rng(0)
    labels, score = rng.integers(0, 2, 80), rng.integers(0, 25, 80)
    evaluation = EvaluationSet(labels, score)
    curves = estimate_curves(evaluation, impute(evaluation))
    roc, pr = curves.roc(), curves.precision_recall()
    fpr, tpr, _ = sklearn_metrics.roc_curve(labels, score, drop_intermediate=False)
    # At a rate that several cutoffs have, the best.
    expected = [np.interp(x, fpr, tpr) for x in RATES]
    assert np.allclose(roc["true_positive_rate"], expected, atol=1e-12)
    for frame, column in ((roc, "true_positive_rate"), (pr, "precision")):
        for name in ("low", "high", "low_simultaneous", "high_simultaneous"):
            assert np.allclose(frame[name], frame[column], atol=1e-12)
    # At a recall of a cutoff: its precision, the highest of those with this recall.
    n_positive = labels.sum()
    steps = count_steps(labels, score)
    tp, rows = np.cumsum(steps[0]), np.cumsum(steps[0] + steps[1])
    for k in np.unique(tp[tp > 0], return_index=True)[1]:
        at = np.flatnonzero(tp > 0)[k]
        _, precision = read_curves(tp, rows, RATES, np.array([tp[at] / n_positive]))
        assert precision[0] == pytest.approx(tp[at] / rows[at], abs=1e-12)


def test_between_ties_the_curve_is_that_of_a_random_order() -> None:
    # Four tied rows, two positive: at recall 1/2 one positive, and on average half a negative.
    tp, rows = np.array([2.0]), np.array([4.0])
    tpr, precision = read_curves(tp, rows, np.array([0.5]), np.array([0.5, 1.0]))
    assert tpr.tolist() == [0.5]
    assert precision.tolist() == [0.5, 0.5]


def _truths(
    labels: np.ndarray, score: np.ndarray, p: np.ndarray, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return curves of n completed sets, made without the sampler."""
    roc, pr = np.empty((n, len(RATES))), np.empty((n, len(RECALLS)))
    missing = np.isnan(labels)
    for i in range(n):
        complete = np.where(missing, rng.random(len(p)) < p, labels)
        positive, negative = count_steps(complete, score)
        roc[i], pr[i] = read_curves(
            np.cumsum(positive), np.cumsum(positive + negative), RATES, RECALLS
        )
    return roc, pr


def test_simultaneous_bands_hold_whole_curves_and_pointwise_ones_do_not() -> None:
    rng = np.random.default_rng(1)
    n = 300
    score = rng.random(n) ** 2
    p = 0.05 + 0.9 * score
    labels = np.where(rng.random(n) < 0.4, rng.random(n) < p, N)
    evaluation = EvaluationSet(labels, score)
    curves = estimate_curves(evaluation, impute(evaluation, p), rng=0)
    n_truths = 800
    for heights, band in zip(
        _truths(labels, score, p, n_truths, rng),
        (curves.roc_band, curves.precision_recall_band),
        strict=True,
    ):
        wide = (heights >= band.low_simultaneous - 1e-12) & (
            heights <= band.high_simultaneous + 1e-12
        )
        narrow = (heights >= band.low - 1e-12) & (heights <= band.high + 1e-12)
        # Sd of the share is .008 at 800 truths, and as much again from 1,000 draws of the band.
        assert abs(wide.all(axis=1).mean() - 0.95) < 4 * 0.011
        # The planted error: one place at a time is no band for the curve.
        assert narrow.all(axis=1).mean() < 0.75
        # One place at a time it holds; atoms make it hold more.
        assert narrow.mean(axis=0).min() > 0.95 - 4 * 0.011


def test_bands_are_nested_inside_the_range_and_widen_with_the_level() -> None:
    rng = np.random.default_rng(2)
    score = rng.random(60)
    evaluation = EvaluationSet(np.where(rng.random(60) < 0.3, rng.random(60) < score, N), score)
    belief = impute(evaluation, score)
    one = estimate_curves(evaluation, belief, rng=0)
    two = estimate_curves(evaluation, belief, ci_prob=0.5, rng=0)
    for name in ("roc", "precision_recall"):
        frame, other = getattr(one, name)(), getattr(two, name)()
        assert (frame["low_simultaneous"] <= frame["low"] + 1e-12).all()
        assert (frame["high_simultaneous"] >= frame["high"] - 1e-12).all()
        assert frame["low_simultaneous"].min() >= 0
        assert frame["high_simultaneous"].max() <= 1
        assert (other["low"] >= frame["low"]).all()
        assert set(frame["ci_prob"]) == {0.95}
        assert set(frame["statement"]) == {"predictive"}


def test_thinned_curves_are_the_curves() -> None:
    rng = np.random.default_rng(3)
    n = 20_000
    score = rng.random(n)
    labels = (rng.random(n) < score).astype(float)
    evaluation = EvaluationSet(labels, score)
    ranked = RankedRows.from_evaluation(evaluation)
    knots = choose_knots(ranked, MOST_KNOTS)
    assert len(knots) <= MOST_KNOTS
    assert knots[-1] == ranked.n_steps - 1
    tp, rows = np.cumsum(ranked.known_positive), np.cumsum(ranked.step_count)
    full = read_curves(tp.astype(float), rows.astype(float), RATES, RECALLS)
    thin = read_curves(tp[knots].astype(float), rows[knots].astype(float), RATES, RECALLS)
    # A line over 20 rows strays by at most a few of 10,000 positives.
    assert np.abs(full[0] - thin[0]).max() < 2e-3
    assert np.abs(full[1] - thin[1])[2:].max() < 1e-2
    curves = estimate_curves(evaluation, impute(evaluation))
    assert f"followed at {len(knots):,} of 20,000 scores" in curves.method


def test_same_seed_same_curves_and_row_order_is_nothing() -> None:
    rng = np.random.default_rng(4)
    score = rng.integers(0, 30, 200) / 30
    labels, p = rng.choice([0.0, 1.0, N], 200), rng.random(200).round(1)
    order = rng.permutation(200)
    evaluation = EvaluationSet(labels, score)
    shuffled = EvaluationSet(labels[order], score[order])
    one = estimate_curves(evaluation, impute(evaluation, p), n_draws=60, rng=1)
    two = estimate_curves(shuffled, impute(shuffled, p[order]), n_draws=60, rng=1)
    other = estimate_curves(evaluation, impute(evaluation, p), n_draws=60, rng=2)
    assert np.allclose(one.roc_band.low, two.roc_band.low, atol=1e-12)
    assert not np.allclose(one.roc_band.low, other.roc_band.low, atol=1e-12)


def test_curves_that_are_undefined() -> None:
    evaluation = EvaluationSet([0, 0, N], [0.1, 0.2, 0.3])
    curves = estimate_curves(evaluation, impute(evaluation, [0, 0, 0.0]), rng=0)
    assert curves.roc()["true_positive_rate"].isna().all()
    assert (curves.precision_recall()["undefined_prob"] == 1.0).all()
    half = estimate_curves(evaluation, impute(evaluation, [0, 0, 0.5]), rng=0)
    # .5 with sd .016 at 1,000 draws.
    assert half.roc_band.undefined_prob == pytest.approx(0.5, abs=0.07)
    assert (half.roc()["true_positive_rate"] == 1.0).all()


def test_a_band_side_without_width_reaches_to_the_farthest_draw() -> None:
    heights = np.full((1_000, 2), 1.0)
    heights[:20, 0] = 0.5
    heights[:, 1] = np.linspace(0, 1, 1_000)
    band = Band.from_draws(np.array([0.0, 1.0]), heights, 0.95)
    assert band.low[0] == 1.0
    assert band.low_simultaneous[0] == 0.5


def test_bad_arguments_are_refused() -> None:
    evaluation = EvaluationSet([1, 0, N], [0.9, 0.2, 0.6])
    belief = impute(evaluation, "maxent")
    with pytest.raises(ValueError, match="`n_draws` must be at least 1"):
        estimate_curves(evaluation, belief, n_draws=0)
    with pytest.raises(ValueError, match="`ci_prob` must lie strictly between 0 and 1"):
        estimate_curves(evaluation, belief, ci_prob=95)
    with pytest.raises(ValueError, match="must have scores"):
        estimate_curves(EvaluationSet([1, 0, N], y_pred=[1, 0, 1]), belief)
    with pytest.raises(TypeError, match="`imputation` must be an Imputation"):
        estimate_curves(evaluation, [0.5, 0.5, 0.5])  # type: ignore[arg-type]


def test_representations_say_what_the_bands_are() -> None:
    evaluation = EvaluationSet([1, 0, N], [0.9, 0.2, 0.6])
    curves = estimate_curves(evaluation, impute(evaluation, "maxent"), n_draws=50, rng=0)
    assert isinstance(curves, Curves)
    assert "95% predictive bands, target sample" in repr(curves)
    html = curves._repr_html_()
    assert "true_positive_rate at false_positive_rate 0.50" in html
    assert "<style" not in html
