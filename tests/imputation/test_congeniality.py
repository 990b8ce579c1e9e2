"""p must know what the question compares, and refits must know what comes in clusters.

The quick form of a larger study, each check with the fault that it would show.
"""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute

N_ROWS, N_SETS = 4_000, 60
#: 3.3 standard errors of a coverage of .95 in 400 replications.
LOW, HIGH = 0.914, 0.986


def expected_auc(p, score):
    """Expected concordant pairs over expected pairs; labels are the case p in {0, 1}."""
    p = p[np.argsort(score)]
    below = np.cumsum(1 - p) - (1 - p)
    return (p * below).sum() / (p.sum() * (1 - p).sum())


def errors_of_two_models(rng):
    """Two equally good models, nine of ten labels missing: error of the AUC difference."""
    truth = rng.normal(size=N_ROWS) - 0.5
    label = (rng.random(N_ROWS) < expit(1.5 * truth)).astype(float)
    a, b = (expit(truth + rng.normal(size=N_ROWS)) for _ in range(2))
    rows = EvaluationSet(np.where(rng.random(N_ROWS) < 0.9, np.nan, label), a)
    actual = expected_auc(label, a) - expected_auc(label, b)
    found = []
    for features in (b, None):
        belief = impute(rows, "platt", features=features, n_refits=0)
        assert belief.knows(b) is (features is not None)
        found.append(expected_auc(belief.p, a) - expected_auc(belief.p, b) - actual)
    return found


def errors_of_two_groups(rng):
    """Two groups of different precision: error of the gap between them."""
    group = np.where(rng.random(N_ROWS) < 0.3, "b", "a")
    z = rng.normal(size=N_ROWS) - 0.5
    label = (rng.random(N_ROWS) < expit(1.5 * z - 1.2 * (group == "b"))).astype(float)
    rows = EvaluationSet(np.where(rng.random(N_ROWS) < 0.9, np.nan, label), expit(z))
    sides = [(rows.y_pred == 1) & (group == name) for name in "ab"]
    found = []
    for features in (group, None):
        belief = impute(rows, "platt", features=features, n_refits=0)
        assert belief.knows(group) is (features is not None)
        gap, actual = (p[sides[0]].mean() - p[sides[1]].mean() for p in (belief.p, label))
        found.append(gap - actual)
    return found


@pytest.mark.parametrize("errors", [errors_of_two_models, errors_of_two_groups])
def test_differences_are_unbiased_with_features_and_far_off_without(errors):
    rng = np.random.default_rng(30)
    found = np.array([errors(rng) for _ in range(N_SETS)])
    in_errors = np.abs(found.mean(axis=0)) / (found.std(axis=0) / np.sqrt(N_SETS))
    assert in_errors[0] < 3
    assert in_errors[1] > 20


@pytest.mark.parametrize("how", ["prevalence", pytest.param("histogram", marks=pytest.mark.slow)])
def test_cluster_refits_cover_where_refits_of_rows_do_not(how):
    rng = np.random.default_rng(31)
    covered = []
    for _ in range(400):
        cluster = np.repeat(np.arange(1_000), 10)
        z = rng.normal(size=10_000)
        shared = 0.7 * rng.normal(size=1_000)[cluster]
        label = (rng.random(10_000) < expit(z - 0.5 + shared)).astype(float)
        missing = (rng.random(1_000) < 0.9)[cluster]
        rows = EvaluationSet(np.where(missing, np.nan, label), expit(z))
        inside = []
        for clusters in (cluster, None):
            belief = impute(rows, how, clusters=clusters, n_refits=60, rng=rng)
            n_rows = np.bincount(belief.bin_index[missing], minlength=belief.bin_values.shape[1])
            p = belief.bin_values[1:]
            mean, sd = p @ n_rows, np.sqrt((p * (1 - p)) @ n_rows)
            inside.append(0.025 < norm.cdf((label[missing].sum() - mean) / sd).mean() < 0.975)
        covered.append(inside)
    with_clusters, without = np.mean(covered, axis=0)
    # What clusters share beyond p stays out of the missing labels' own noise, a tenth of the
    # variance here: a little less than .95.
    assert LOW < with_clusters < HIGH
    assert without < 0.88
