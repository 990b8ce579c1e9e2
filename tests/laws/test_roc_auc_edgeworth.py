"""The smooth law of ROC-AUC against the exact one: its error is known, and never hidden."""

import numpy as np
import pytest
from scipy.special import expit, ndtr

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.roc_auc import roc_auc_law
from labelbayes.laws.roc_auc_edgeworth import MOST_ERROR, edgeworth_law
from tests.laws.area_cases import prepare


def made(rng, kind, m=110, n_known=50):
    """Return rows with some known labels, whose exact law fits on a lattice."""
    n = m + n_known
    score = {
        "all different": rng.normal(size=n),
        "levels": rng.integers(6, size=n),
        "one heavy level": np.where(rng.random(n) < 0.7, 0.0, rng.normal(size=n)),
        "groups of eight": np.arange(n) // 8,
    }[kind].astype(float)
    p = expit(score - score.mean())
    label = np.where(np.arange(n) < m, np.nan, rng.random(n) < p)
    return prepare(EvaluationSet(label, score), p)


def smooth(prepared, **options):
    return edgeworth_law(prepared.ranked, prepared.cells, prepared.ranks, "never", **options)


def largest_gap(cdf, exact):
    some = np.linspace(0, len(exact.support) - 1, 2_000).astype(int)
    upto, smooth_cdf = np.cumsum(exact.pmf)[some], cdf(exact.support[some])
    below = upto - exact.pmf[some]
    return max(np.abs(smooth_cdf - upto).max(), np.abs(smooth_cdf - below).max())


@pytest.mark.parametrize("kind", ["all different", "levels", "one heavy level", "groups of eight"])
def test_the_error_is_not_above_what_is_reported(kind):
    for seed in range(3):
        prepared = made(np.random.default_rng(seed), kind)
        exact = roc_auc_law(*prepared, lambda: np.empty(0), kind="lattice").law
        law, error = smooth(prepared, force=True)
        assert largest_gap(law.cdf, exact) <= error
        assert law.mean == pytest.approx(exact.mean, abs=1e-13)
        assert law.sd == pytest.approx(exact.sd, abs=1e-13)


def test_one_normal_law_would_not_keep_that_promise():
    prepared = made(np.random.default_rng(0), "all different")
    exact = roc_auc_law(*prepared, lambda: np.empty(0), kind="lattice").law
    gap = largest_gap(lambda x: ndtr((x - exact.mean) / exact.sd), exact)
    assert gap > smooth(prepared, force=True).error


def test_the_mixture_is_several_times_nearer_than_one_normal():
    prepared = made(np.random.default_rng(0), "all different")
    exact = roc_auc_law(*prepared, lambda: np.empty(0), kind="lattice").law
    one = largest_gap(lambda x: ndtr((x - exact.mean) / exact.sd), exact)
    assert largest_gap(smooth(prepared, force=True).law.cdf, exact) < one / 4


@pytest.mark.parametrize(
    ("score", "p"),
    [
        (np.arange(400), np.full(400, 0.01)),  # 4 positives
        (np.arange(400), np.full(400, 0.99)),  # 4 negatives
        (np.arange(400) // 134, np.full(400, 0.5)),  # three levels
        (np.where(np.arange(400) < 380, 0, np.arange(400)), np.full(400, 0.1)),  # 2 off one level
    ],
)
def test_where_it_would_be_wrong_there_is_none(score, p):
    prepared = prepare(EvaluationSet(np.full(400, np.nan), score), p)
    assert smooth(prepared) is None
    forced = smooth(prepared, force=True)
    assert forced.error > MOST_ERROR
    # Forced, it still is a law.
    assert (np.diff(forced.law.cumulative) >= 0).all()
    assert forced.law.cumulative[[0, -1]] == pytest.approx([0.0, 1.0], abs=0.5)


def test_refits_are_mixed():
    rng = np.random.default_rng(3)
    label = np.where(np.arange(1_500) < 500, np.nan, rng.random(1_500) < 0.5)
    evaluation = EvaluationSet(label, rng.normal(size=1_500))
    belief = impute(evaluation, "prevalence", n_refits=3, rng=0)
    mixed = smooth(prepare(evaluation, belief)).law
    parts = [smooth(prepare(evaluation, belief.refit(i))).law for i in range(3)]
    at = mixed.quantile([0.05, 0.3, 0.5, 0.7, 0.95])
    wanted = np.mean([part.cdf(at) for part in parts], axis=0)
    # Every grid is interpolated: steps of 0.011 sd.
    np.testing.assert_allclose(mixed.cdf(at), wanted, atol=2e-5)
