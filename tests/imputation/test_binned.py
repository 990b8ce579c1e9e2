"""Rates in bins against plain loops, and the law of their refits."""

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.linear_model import LogisticRegression

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation import binned
from labelbayes.imputation.impute import impute


def make_set(n=400, share_labeled=0.5, seed=0, rate=1.0):
    rng = np.random.default_rng(seed)
    score = np.round(rng.beta(1, 1.5, n), 3)
    label = (rng.random(n) < rate * score).astype(float)
    label[rng.random(n) > share_labeled] = np.nan
    return EvaluationSet(label, score)


def standard_error_of_sd(sample):
    """Standard error of a sample sd, for a law of any kurtosis."""
    centered = sample - sample.mean()
    fourth, variance = (centered**4).mean(), sample.var()
    return np.sqrt((fourth - variance**2) / len(sample)) / (2 * np.sqrt(variance))


def moment_faults(sample, mean, sd):
    """Say which moment of `sample` is more than 4 standard errors away."""
    faults = []
    if abs(sample.mean() - mean) > 4 * sample.std() / np.sqrt(len(sample)):
        faults.append("mean")
    if abs(sample.std() - sd) > 4 * standard_error_of_sd(sample):
        faults.append("sd")
    return faults


def test_histogram_equals_a_loop_over_bins_and_decisions():
    evaluation = make_set(600)
    imputation = impute(evaluation, "histogram", n_refits=0)
    score, labeled, decision = evaluation.y_score, evaluation.is_labeled, evaluation.y_pred
    n_bins = round(evaluation.n_labeled ** (1 / 3))
    known = sorted(score[labeled])
    gaps = [k for k in range(1, len(known)) if known[k - 1] < known[k]]
    cuts = {
        min(gaps, key=lambda k: (abs(k - len(known) * j / n_bins), k)) for j in range(1, n_bins)
    }
    edges = [(known[k - 1] + known[k]) / 2 for k in sorted(cuts)]
    for i in np.flatnonzero(~labeled):
        place = sum(edge < score[i] for edge in edges)
        alike = [
            evaluation.y_true[j]
            for j in np.flatnonzero(labeled)
            if sum(edge < score[j] for edge in edges) == place and decision[j] == decision[i]
        ]
        assert imputation.p[i] == pytest.approx((sum(alike) + 0.5) / (len(alike) + 1), rel=1e-14)


def test_scaling_binning_refits_equal_row_by_row_weights():
    """The law of refits with one gamma per score and label, against one exponential per row."""
    evaluation = make_set(120, share_labeled=0.7)
    imputation = impute(evaluation, "scaling_binning", n_refits=4000, rng=1)
    labeled = evaluation.is_labeled
    label, index = evaluation.y_true[labeled], imputation.bin_index[labeled]
    clipped = np.clip(evaluation.y_score[labeled], 1e-12, 1 - 1e-12)
    logit = np.log(clipped / (1 - clipped))
    z = ((logit - logit.mean()) / logit.std())[:, None]

    def refit(weight):
        model = LogisticRegression(C=25, solver="newton-cholesky", tol=1e-8)
        output = model.fit(z, label, sample_weight=weight).predict_proba(z)[:, 1]
        total = np.bincount(index, weight)
        return np.bincount(index, weight * output) / total

    np.testing.assert_allclose(imputation.bin_values[0], refit(np.ones(len(z))), atol=1e-7)
    rng = np.random.default_rng(2)
    n_oracle = 300
    oracle = np.array([refit(rng.exponential(size=len(z))) for _ in range(n_oracle)])
    planted = np.array([refit(rng.gamma(3, 1 / 3, size=len(z))) for _ in range(n_oracle)])
    refits = imputation.bin_values[1:]
    # The sd of a refit: 300 draws know it to about 4%, and sd differs by sqrt(3) where planted.
    assert np.abs(refits.std(axis=0) / oracle.std(axis=0) - 1).max() < 0.2
    assert np.abs(refits.std(axis=0) / planted.std(axis=0) - 1).min() > 0.3
    error = oracle.std(axis=0) / np.sqrt(n_oracle)
    assert (np.abs(refits.mean(axis=0) - oracle.mean(axis=0)) < 4 * error).all()


@pytest.mark.parametrize("how", ["histogram", "prevalence"])
def test_refits_have_the_moments_of_the_beta_law(how):
    evaluation = make_set(60, rate=0.5)
    imputation = impute(evaluation, how, n_refits=20_000, rng=3)
    labeled = evaluation.is_labeled
    n_bins = imputation.bin_values.shape[1]
    index, label = imputation.bin_index[labeled], evaluation.y_true[labeled]
    positive = np.bincount(index, label, n_bins)
    negative = np.bincount(index, 1 - label, n_bins)
    for k in range(n_bins):
        sample = imputation.bin_values[1:, k]
        law = beta(positive[k] + 0.5, negative[k] + 0.5)
        assert moment_faults(sample, law.mean(), law.std()) == []
        # Wrong half counts and doubled weights are both seen.
        flat = beta(positive[k] + 1, negative[k] + 1)
        doubled = beta(2 * positive[k] + 0.5, 2 * negative[k] + 0.5)
        assert moment_faults(sample, flat.mean(), flat.std())
        assert moment_faults(sample, doubled.mean(), doubled.std())


def test_very_many_scores_are_pooled_without_moving_the_refits(monkeypatch):
    rng = np.random.default_rng(0)
    score = rng.random(3000)
    label = (rng.random(3000) < score).astype(float)
    label[:500] = np.nan
    evaluation = EvaluationSet(label, score)
    pooled = impute(evaluation, "scaling_binning", n_refits=200, rng=0).bin_values
    monkeypatch.setattr(binned, "MOST_SCORES", 10_000)
    exact = impute(evaluation, "scaling_binning", n_refits=200, rng=0).bin_values
    np.testing.assert_array_equal(pooled[0], exact[0])
    error = exact[1:].std(axis=0) / np.sqrt(200)
    assert (np.abs(pooled[1:].mean(axis=0) - exact[1:].mean(axis=0)) < 5 * error).all()
    assert np.abs(pooled[1:].std(axis=0) / exact[1:].std(axis=0) - 1).max() < 0.25
