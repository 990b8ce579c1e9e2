"""The score test of bins against Platt scaling: its level, its power, and its sums."""

import numpy as np
import pytest
from scipy.special import expit, logit

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation import fit_tests
from labelbayes.imputation.fit_tests import lack_of_fit
from labelbayes.imputation.impute import impute
from labelbayes.imputation.label_weights import weigh_labels


def p_values(curve, n=400, repetitions=300, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(repetitions):
        score = expit(1.3 * rng.normal(size=n))
        rows = EvaluationSet((rng.random(n) < curve(score)).astype(float), score)
        found.append(lack_of_fit(score[:, None], weigh_labels(rows, None, None)).p_value)
    return np.array(found)


def test_a_right_fit_is_refused_at_the_level_and_a_step_nearly_always():
    right = p_values(lambda score: expit(0.8 * logit(score) - 0.4))
    # 300 repetitions: 3.3 standard errors of a share of .05 and of a mean of 1/2.
    assert abs((right < 0.05).mean() - 0.05) < 0.042
    assert abs(right.mean() - 0.5) < 0.056
    step = p_values(lambda score: np.where(np.abs(score - 0.5) < 0.2, 0.2, 0.6), repetitions=50)
    assert (step < 0.01).mean() > 0.9


def test_the_statistic_is_the_gain_of_a_model_with_free_bins():
    """Close to the fit the score statistic equals the likelihood ratio of the larger model."""
    rng = np.random.default_rng(4)
    score = np.repeat(np.arange(1, 5) / 5, 20_000)
    label = (rng.random(80_000) < score).astype(float)
    rows = EvaluationSet(label, score)
    test = lack_of_fit(score[:, None], weigh_labels(rows, None, None))
    from_bins = np.array([label[score == s].mean() for s in np.unique(score)])
    z = logit(np.unique(score))
    a, b = 0.0, 1.0
    for _ in range(50):  # Newton steps of Platt scaling on four rates
        p = expit(a + b * z)
        gradient = np.array([(from_bins - p).sum(), ((from_bins - p) * z).sum()])
        v = p * (1 - p)
        hessian = np.array([[v.sum(), (v * z).sum()], [(v * z).sum(), (v * z * z).sum()]])
        a, b = np.array([a, b]) + np.linalg.solve(hessian, gradient)
    p = expit(a + b * z)
    ratio = (
        2
        * 20_000
        * np.sum(
            from_bins * np.log(from_bins / p) + (1 - from_bins) * np.log((1 - from_bins) / (1 - p))
        )
    )
    assert test.dof == 2  # four rates, two coefficients
    assert test.statistic == pytest.approx(ratio, rel=0.02)


def test_a_lack_of_fit_is_a_note():
    rng = np.random.default_rng(0)
    score = rng.random(1500)
    step = np.digitize(score, [0.4, 0.7])
    label = (rng.random(1500) < np.array([0.1, 0.8, 0.4])[step]).astype(float)
    label[::3] = np.nan
    rows = EvaluationSet(label, score)
    for how in ("scaling_binning", "platt"):
        (note,) = [n for n in impute(rows, how, rng=0).notes if "does not fit" in n]
        assert "how='histogram'" in note
    assert not any("does not fit" in note for note in impute(rows, "histogram", rng=0).notes)
    # The test takes labels as independent.
    clustered = impute(rows, "platt", clusters=np.arange(1500) // 3, rng=0)
    assert not any("does not fit" in note for note in clustered.notes)
    beside = impute(rows, features=rng.normal(size=1500), rng=0)
    assert any("add the columns that are missing" in note for note in beside.notes)
    cured = impute(rows, features=step.astype(str), rng=0)
    assert not any("does not fit" in note for note in cured.notes)


def test_few_labels_and_few_scores_have_no_test():
    rows = EvaluationSet([0, 1] * 14, np.linspace(0, 1, 28))
    assert lack_of_fit(rows.y_score[:, None], weigh_labels(rows, None, None)) is None
    rows = EvaluationSet([0, 1] * 100, np.repeat([0.2, 0.8], 100))
    assert lack_of_fit(rows.y_score[:, None], weigh_labels(rows, None, None)) is None


def test_many_features_of_noise_are_no_lack_of_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def n_alarms() -> int:
        found = 0
        for seed in range(4):
            rng = np.random.default_rng(seed)
            score = expit(rng.normal(-0.5, 1.6, 800))
            label = np.where(rng.random(800) < 0.35, np.nan, rng.random(800) < score)
            sites = rng.integers(0, 100, 800).astype(str)
            belief = impute(EvaluationSet(label, score), "platt", features=sites, n_refits=0, rng=0)
            found += any("does not fit" in note for note in belief.notes)
        return found

    assert n_alarms() == 0
    # Without the limit a fit that is right would look wrong.
    monkeypatch.setattr(fit_tests, "_RARER_PER_FEATURE", 0)
    assert n_alarms() == 4
