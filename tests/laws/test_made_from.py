"""A belief is taken only with an evaluation whose labels it holds and whose scores it knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

from labelbayes.bounds.sensitivity import bound_tilt, tipping_odds_ratio
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.ladder import ladder
from labelbayes.laws.certificate import certify, certify_sizes
from labelbayes.laws.curves import estimate_curves
from labelbayes.laws.differences import compare_groups, compare_models
from labelbayes.laws.pemi import estimate_pemi

RNG = np.random.default_rng(8)
N = 120
SCORE = RNG.random(N)
COMPLETE = (RNG.random(N) < SCORE).astype(float)
LABEL = np.where(RNG.random(N) < 0.5, np.nan, COMPLETE)
GROUP = RNG.choice(["a", "b"], N)
#: The same decisions: two models that agree at the cutoff and nowhere else.
OTHER = np.where(SCORE >= 0.5, 0.5 + RNG.random(N) / 2, RNG.random(N) / 2)
HERE = EvaluationSet(LABEL, SCORE, group=GROUP)
THERE = EvaluationSet(LABEL, OTHER, group=GROUP)
DECIDED = EvaluationSet(LABEL, y_pred=HERE.y_pred, group=GROUP)

LEARNED: dict[str, dict[str, Any]] = {
    "auto": {},
    "histogram": {"how": "histogram"},
    "scaling_binning": {"how": "scaling_binning"},
    "platt": {"how": "platt", "n_refits": 3},
    "isotonic": {"how": "isotonic", "n_refits": 0},
    "beta": {"how": "beta", "n_refits": 0},
    "features": {"features": GROUP, "n_refits": 3},
}

Ask = Callable[[EvaluationSet, Any], Any]
ESTIMATORS: dict[str, Ask] = {
    "estimate_pemi": lambda e, p: estimate_pemi(e, p, n_draws=50, rng=0),
    "count metrics": lambda e, p: estimate_pemi(e, p, metrics=["accuracy"]),
    "gauss": lambda e, p: estimate_pemi(e, p, method="gauss", metrics=["precision"]),
    "sampled": lambda e, p: estimate_pemi(e, p, method="sampled", n_draws=50, rng=0),
    "population": lambda e, p: estimate_pemi(e, p, target="population", n_draws=50, rng=0),
    "estimate_curves": lambda e, p: estimate_curves(e, p, n_draws=20, rng=0),
    "certify": certify,
    "certify_sizes": certify_sizes,
    "compare_groups": lambda e, p: compare_groups(e, p, metrics=["accuracy"]),
    "bound_tilt": lambda e, p: bound_tilt(e, p, 2.0),
    "tipping_odds_ratio": lambda e, p: tipping_odds_ratio(e, p, "precision", 0.5),
    "ladder": lambda e, p: ladder(e, imputation=p, metrics=["accuracy"], rng=0),
}
every_estimator = pytest.mark.parametrize("ask", ESTIMATORS.values(), ids=ESTIMATORS)


def test_the_cases_differ_in_the_score_alone() -> None:
    np.testing.assert_array_equal(HERE.y_pred, THERE.y_pred)
    assert (HERE.y_score != THERE.y_score).all()


@every_estimator
def test_scores_that_p_was_not_learned_from_are_refused(ask: Ask) -> None:
    belief = impute(THERE, rng=0)
    with pytest.raises(
        ValueError,
        match=rf"^`imputation` must know the scores of this evaluation; it was learned from "
        rf"others, first {OTHER[0]:g} for {SCORE[0]:g} at row 0 \({N} such rows\)\. Call `impute` "
        rf"on this evaluation, or give it these scores among its `features`\.$",
    ):
        ask(HERE, belief)


@pytest.mark.parametrize("options", LEARNED.values(), ids=LEARNED)
def test_every_calibrator_is_held_to_its_scores(options: dict[str, Any]) -> None:
    belief = impute(THERE, rng=0, **options)
    for one in (belief, belief.tilt(2.0), belief.without_refits()):
        with pytest.raises(ValueError, match="must know the scores"):
            estimate_pemi(HERE, one, metrics=["accuracy"])
        assert estimate_pemi(THERE, one, metrics=["accuracy"]).n_unlabeled == THERE.n_unlabeled
    part = np.arange(N) % 3 > 0
    with pytest.raises(ValueError, match="must know the scores"):
        estimate_pemi(HERE.subset(part), belief.subset(part), metrics=["accuracy"])
    estimate_pemi(THERE.subset(part), belief.subset(part), metrics=["accuracy"])


def test_one_other_score_is_enough() -> None:
    moved = SCORE.copy()
    moved[7] = 1 - moved[7] if abs(moved[7] - 0.5) > 0.1 else 0.99
    belief = impute(HERE, rng=0)
    there = EvaluationSet(LABEL, moved, y_pred=HERE.y_pred)
    with pytest.raises(ValueError, match=rf"first {SCORE[7]:g} for .* at row 7 \(1 such rows\)"):
        estimate_pemi(there, belief, metrics=["accuracy"])


@every_estimator
@pytest.mark.parametrize("how", ["maxent", "prevalence", "given"])
def test_a_belief_without_scores_goes_with_any(ask: Ask, how: str) -> None:
    given = np.where(np.isnan(LABEL), OTHER, LABEL) if how == "given" else how
    answer = ask(HERE, impute(THERE, given, rng=0))
    assert str(answer) == str(ask(HERE, impute(HERE, given, rng=0)))


@every_estimator
def test_a_belief_that_knows_the_scores_as_features_is_taken(ask: Ask) -> None:
    answer = ask(HERE, impute(THERE, features=SCORE, n_refits=2, rng=0))
    # It is this belief that was used, and no other.
    assert str(answer) != str(ask(HERE, impute(HERE, "maxent")))


def test_the_same_scores_in_another_form_are_the_same_knowledge() -> None:
    belief = impute(HERE, rng=0)
    laws = estimate_pemi(HERE, belief, metrics=["accuracy"])
    for same in (logit(SCORE), SCORE * 100, pd.Series(SCORE).rank().to_numpy()):
        rows = EvaluationSet(LABEL, same, y_pred=HERE.y_pred)
        assert estimate_pemi(rows, belief, metrics=["accuracy"])["accuracy"].mean == pytest.approx(
            laws["accuracy"].mean, abs=1e-12
        )
    # A cutoff is one more question to the same score.
    estimate_pemi(EvaluationSet(LABEL, SCORE, threshold=0.7), belief)


def test_decisions_are_held_to_what_p_was_learned_from() -> None:
    of_score, of_decision = impute(HERE, rng=0), impute(DECIDED, rng=0)
    # The score settles its own decisions, and p of decisions goes with any score they came from.
    estimate_pemi(DECIDED, of_score)
    estimate_pemi(HERE, of_decision, n_draws=20, rng=0)
    estimate_pemi(THERE, of_decision, n_draws=20, rng=0)
    flipped = np.where(np.arange(N) == 3, 1 - HERE.y_pred, HERE.y_pred)
    with pytest.raises(ValueError, match=r"must know the decisions .* row 3 \(1 such rows\)\. .*"):
        estimate_pemi(EvaluationSet(LABEL, y_pred=flipped), of_decision)
    with pytest.raises(ValueError, match=r"give it these decisions among its `features`\.$"):
        estimate_pemi(EvaluationSet(LABEL, y_pred=flipped), of_score)


def test_models_are_compared_under_a_belief_that_knows_both() -> None:
    both = impute(HERE, features=OTHER, n_refits=2, rng=0)
    metrics = ["accuracy", "roc_auc"]
    here, there = (
        compare_models(*pair, both, metrics=metrics, n_draws=50, rng=0)
        for pair in ((HERE, THERE), (THERE, HERE))
    )
    assert here["roc_auc"].mean == pytest.approx(-there["roc_auc"].mean, abs=1e-12)
    # The logit is known where the score is: comparison and estimate say the same of both models.
    shifted = EvaluationSet(LABEL, logit(OTHER), y_pred=THERE.y_pred)
    found = compare_models(HERE, shifted, both, metrics=metrics, n_draws=50, rng=0)
    assert found["roc_auc"].mean == pytest.approx(here["roc_auc"].mean, abs=1e-12)
    a, b = (estimate_pemi(e, both, metrics=["roc_auc"], rng=0) for e in (HERE, shifted))
    assert a["roc_auc"].mean - b["roc_auc"].mean == pytest.approx(here["roc_auc"].mean, abs=1e-9)
    for pair in ((HERE, THERE), (THERE, HERE)):
        with pytest.raises(ValueError, match="`imputation` must know both models; it does not"):
            compare_models(*pair, impute(HERE, rng=0))
        compare_models(*pair, impute(HERE, "maxent"), metrics=["accuracy"])


def test_a_wrong_belief_would_have_moved_the_numbers() -> None:
    """What the check is for: p of other scores gives another area, by many standard deviations."""
    rng = np.random.default_rng(1)
    score = rng.random(4_000)
    label = np.where(rng.random(4_000) < 0.5, np.nan, rng.random(4_000) < score)
    rows = EvaluationSet(label, score)
    right = estimate_pemi(rows, impute(rows, rng=0), metrics=["roc_auc"], method="gauss")
    p = impute(EvaluationSet(label, rng.permutation(score)), n_refits=0, rng=0).p
    wrong = estimate_pemi(rows, impute(rows, p), metrics=["roc_auc"], method="gauss")
    gap = right["roc_auc"].mean - wrong["roc_auc"].mean
    assert gap > 5 * right["roc_auc"].sd
