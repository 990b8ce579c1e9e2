"""Coverage of intervals for positives among missing rows: refits cover, shortcuts do not.

The quick form of a larger study. Counts given p are taken as normal, with p's mixture over
refits exact; at several hundred missing rows that is far finer than the gates.
"""

import numpy as np
import pytest
from scipy.stats import norm

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.calibration import HistogramCalibrator
from labelbayes.imputation.impute import impute

#: 3.3 standard errors of a coverage of .95 in 400 replications.
LOW, HIGH = 0.914, 0.986
N_REPLICATIONS = 400


def covers(values, index, n_positive):
    """Whether the central 95% interval of the mixture over rows of `values` has the truth."""
    n_rows = np.bincount(index, minlength=values.shape[1])
    mean = values @ n_rows
    sd = np.sqrt((values * (1 - values)) @ n_rows)
    return 0.025 < norm.cdf((n_positive - mean) / sd).mean() < 0.975


def draw_set(rng, n, share_masked, center, slope):
    """A calibrated score, labels that follow it, and labels masked completely at random."""
    score = 1 / (1 + np.exp(-(center + slope * rng.normal(size=n))))
    truth = (rng.random(n) < score).astype(float)
    masked = rng.random(n) < share_masked
    return EvaluationSet(np.where(masked, np.nan, truth), score), truth, masked


@pytest.mark.parametrize("how", ["auto", "histogram"])
def test_refits_cover_and_the_plug_in_does_not(how):
    rng = np.random.default_rng(20)
    refitted, plug_in = [], []
    for _ in range(N_REPLICATIONS):
        evaluation, truth, masked = draw_set(rng, 1000, 0.9, -0.5, 1.5)
        imputation = impute(evaluation, how, n_refits=100, rng=rng)
        case = imputation.bin_index[masked], truth[masked].sum()
        refitted.append(covers(imputation.bin_values[1:], *case))
        plug_in.append(covers(imputation.bin_values[:1], *case))
    assert LOW < np.mean(refitted) < HIGH
    # An interval that ignores calibration covers 2 Phi(1.96 sqrt(.1)) - 1 = .46 at best.
    assert 0.36 < np.mean(plug_in) < 0.55


def test_precision_is_covered_where_the_decision_cuts_a_bin():
    """Few rows are predicted positive: a rate shared with the rest of their bin is not theirs."""
    rng = np.random.default_rng(21)
    cut, shared = [], []
    for _ in range(N_REPLICATIONS):
        evaluation, truth, masked = draw_set(rng, 4000, 0.5, -3.5, 2)
        imputation = impute(evaluation, "histogram", n_refits=100, rng=rng)
        rows = masked & (evaluation.y_pred == 1)
        cut.append(covers(imputation.bin_values[1:], imputation.bin_index[rows], truth[rows].sum()))
        labeled, score = ~masked, evaluation.y_score[:, None]
        calibrator = HistogramCalibrator(n_bins=10).fit(score[labeled], truth[labeled])
        index = calibrator.assign(score)
        positive = np.bincount(index[labeled], truth[labeled])
        negative = np.bincount(index[labeled], 1 - truth[labeled])
        refits = rng.beta(positive + 0.5, negative + 0.5, size=(100, len(positive)))
        shared.append(covers(refits, index[rows], truth[rows].sum()))
    assert LOW < np.mean(cut) < HIGH
    assert np.mean(shared) < 0.5
