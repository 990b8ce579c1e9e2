"""Ranges of beta: every number of hidden positives counts, and the ends are not enough."""

import numpy as np
import pytest

import labelbayes.bounds.score_blocks as score_blocks
from labelbayes.bounds.beta_prior import Audit, BetaPrior
from labelbayes.bounds.positive_unlabeled import (
    bound_negative_unlabeled,
    bound_positive_unlabeled,
)
from labelbayes.data.evaluation_set import EvaluationSet


@pytest.mark.parametrize(
    "beta", [(0.2, 0.6), BetaPrior(20, 30), BetaPrior.from_audit(40, 60), Audit(18, 22)]
)
def test_a_range_holds_the_bounds_at_every_beta_in_it(beta, known_sets) -> None:
    evaluation = known_sets(240, n_known=12, seed=5)
    wide = bound_positive_unlabeled(evaluation, beta)
    assert wide.beta.last - wide.beta.first > 15
    joint = wide.bounds()
    # The same band, which a prior or an audit makes wider than 95%.
    level = wide.band.level
    curves = wide.roc()
    for count in range(wide.beta.first, wide.beta.last + 1):
        one = bound_positive_unlabeled(evaluation, count / evaluation.n_unlabeled, ci_prob=level)
        for name, span in one.bounds().items():
            assert joint[name].low <= span.low + 1e-12
            assert joint[name].high >= span.high - 1e-12
        inside = one.roc()
        assert (curves["tpr_low"] <= inside["tpr_low"] + 1e-12).all()
        assert (curves["fpr_low"] <= inside["fpr_low"] + 1e-12).all()
        assert (curves["fpr_high"] >= inside["fpr_high"] - 1e-12).all()


def test_the_lower_area_is_not_monotone_in_beta() -> None:
    """The smallest lower bound lies inside the range, so the ends of a range are not enough."""
    evaluation = EvaluationSet([1, 1, *[None] * 8], [3, 4, 3, 3, 5, 3, 0, 4, 3, 4])
    band = ([0.0, 0.3, 0.8, 0.8], [0.2, 0.7, 1.0, 1.0])
    low = [
        bound_positive_unlabeled(evaluation, count / 8, band=band).auc().low
        for count in (4, 5, 6, 7)
    ]
    found = bound_positive_unlabeled(evaluation, (4 / 8, 7 / 8), band=band).auc()
    assert found.low == min(low) < min(low[0], low[-1]) - 0.3


def test_many_counts_are_taken_together_and_still_held(known_sets) -> None:
    evaluation = known_sets(2_400, n_known=60, seed=6)
    wide = bound_positive_unlabeled(evaluation, (0.1, 0.7))
    assert wide.beta.last - wide.beta.first > 1_200
    joint = wide.bounds()
    assert any("taken 4 at a time" in note for note in joint.notes)
    assert any("taken 15 at a time" in note for note in wide.at().notes)
    assert not any("at a time" in n for n in bound_positive_unlabeled(evaluation, 0.1).at().notes)
    narrow = []
    for count in np.linspace(wide.beta.first, wide.beta.last, 15).round().astype(int):
        one = bound_positive_unlabeled(evaluation, count / evaluation.n_unlabeled).bounds()
        narrow.append(one)
        for name, span in one.items():
            assert joint[name].low <= span.low + 1e-12
            assert joint[name].high >= span.high - 1e-12
    # And not much wider: 4 of some 1,000 counts.
    for name in ("roc_auc", "average_precision", "f1"):
        assert joint[name].low > min(one[name].low for one in narrow) - 0.02
        assert joint[name].high < max(one[name].high for one in narrow) + 0.02


def test_known_negatives_never_widen_at_a_fixed_number_of_latent_positives() -> None:
    rng = np.random.default_rng(7)
    truth = np.arange(200) < 100
    score = rng.normal(truth, 1.0).round(1)
    y_true = np.full(200, np.nan)
    y_true[:15] = 1
    widths = []
    for n_negative in (0, 10, 40, 80):
        some = y_true.copy()
        some[100 : 100 + n_negative] = 0
        evaluation = EvaluationSet(some, score, pos_label=1)
        result = bound_positive_unlabeled(evaluation, 85 / evaluation.n_unlabeled)
        assert result.beta.first == 85
        widths.append([span.width for span in result.bounds().values()])
    assert (np.diff(widths, axis=0) <= 1e-12).all()
    assert (np.diff(widths, axis=0) < 0).any()


def test_from_known_negatives_ranges_and_runs_hold_too(monkeypatch, known_sets) -> None:
    evaluation = known_sets(300, n_known=6, n_negative=25, seed=8)
    plain = bound_negative_unlabeled(evaluation, (0.5, 0.7))
    monkeypatch.setattr(score_blocks, "FEW_SCORES", 0)
    merged = bound_negative_unlabeled(evaluation, (0.5, 0.7))
    assert len(merged.blocks.score) < len(plain.blocks.score)
    assert merged.auc() == plain.auc()
    for count in range(plain.beta.first, plain.beta.last + 1):
        one = bound_negative_unlabeled(evaluation, count / evaluation.n_unlabeled)
        assert plain.auc().low <= one.auc().low + 1e-12
        assert plain.auc().high >= one.auc().high - 1e-12
