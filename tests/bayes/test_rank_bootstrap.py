"""Curves from a Bayesian bootstrap: moments in closed form, coverage, and the trap of bins."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta as beta_law
from scipy.stats import norm
from sklearn.metrics import average_precision_score, roc_auc_score

import labelbayes.bounds.score_blocks as score_blocks
from labelbayes.bayes.rank_bootstrap import rank_bootstrap
from labelbayes.bayes.stack import az
from labelbayes.bounds.beta_prior import BetaPrior
from labelbayes.data.evaluation_set import EvaluationSet

PRIOR = BetaPrior(40, 60)


def simulated(rng: np.random.Generator, n: int = 1_500, n_known: int = 80) -> EvaluationSet:
    truth = rng.random(n) < 0.4
    score = np.concatenate([rng.normal(1, 1, n_known), rng.normal(truth, 1.0)]).round(2)
    return EvaluationSet(np.repeat([1.0, np.nan], [n_known, n]), score, pos_label=1)


def placements(evaluation: EvaluationSet) -> tuple[np.ndarray, np.ndarray]:
    """Return for each known positive its share of unlabeled rows below, and the reverse."""
    known, unlabeled = (
        evaluation.y_score[mask] for mask in (evaluation.is_labeled, ~evaluation.is_labeled)
    )
    wins = np.sign(known[:, None] - unlabeled[None, :]) / 2 + 0.5
    return wins.mean(axis=1), wins.mean(axis=0)


def test_mean_and_variance_of_the_area_are_the_closed_forms(mean_z) -> None:
    evaluation = simulated(np.random.default_rng(1))
    dataset = rank_bootstrap(evaluation, PRIOR, rng=2).dataset
    own, others = placements(evaluation)
    observed, law = own.mean(), beta_law(PRIOR.a, PRIOR.b)

    def expect(function) -> float:
        return quad(lambda b: function(b) * law.pdf(b), 0, 1, points=[0.3, 0.4, 0.5])[0]

    mean = expect(lambda b: (observed - b / 2) / (1 - b))
    square = expect(lambda b: ((observed - b / 2) / (1 - b)) ** 2)
    rows = own.var() / (len(own) + 1) + others.var() / (len(others) + 1)
    variance = square - mean**2 + rows * expect(lambda b: (1 - b) ** -2)
    draws = dataset["roc_auc"].values
    assert mean_z(draws, mean) < 4
    # The variance of 4,000 draws has a relative error of 2.2%.
    assert draws.var() == pytest.approx(variance, rel=0.1)
    # Planted error: beta taken as known is too narrow.
    assert draws.var() > 1.1 * rows / (1 - PRIOR.mean) ** 2
    assert mean_z(dataset["beta"].values, PRIOR.mean) < 4


def test_curves_are_monotone_and_near_the_truth() -> None:
    evaluation = simulated(np.random.default_rng(3), n=40_000, n_known=4_000)
    posterior = rank_bootstrap(evaluation, BetaPrior(4_000, 6_000), n_draws=200, rng=4)
    tpr = posterior.dataset["tpr"].values.reshape(200, -1)
    assert (np.diff(tpr, axis=1) >= 0).all()
    assert ((tpr >= 0) & (tpr <= 1)).all()
    grid = posterior.dataset["fpr"].values
    # The share of 4,000 known positives above a cutoff has an error of up to 0.008, divided by
    # 1 - beta and, where the curve is steep, by much less.
    assert np.abs(tpr.mean(axis=0) - norm.sf(norm.isf(grid) - 1)).max() < 0.06
    precision = posterior.dataset["precision"].values.reshape(200, -1)
    assert (np.diff(precision, axis=1) <= 1e-12).all()
    cut = norm.isf(0.5) + 1  # recall 1/2
    positive = (4_000 + 0.4 * 40_000) / 44_000
    expected = positive * 0.5 / (positive * 0.5 + (1 - positive) * norm.sf(cut))
    assert precision[:, 50].mean() == pytest.approx(expected, abs=0.04)


def test_intervals_cover_the_population() -> None:
    rng, truth, covered = np.random.default_rng(5), norm.cdf(1 / np.sqrt(2)), 0
    for _ in range(60):
        share = rng.beta(PRIOR.a, PRIOR.b)
        is_positive = rng.random(800) < share
        score = np.concatenate([rng.normal(1, 1, 60), rng.normal(is_positive, 1.0)])
        rows = EvaluationSet(np.repeat([1.0, np.nan], [60, 800]), score, pos_label=1)
        draws = rank_bootstrap(rows, PRIOR, n_draws=400, rng=rng).dataset["roc_auc"].values
        low, high = np.quantile(draws, [0.025, 0.975])
        covered += low <= truth <= high
    # 3.3 standard errors of 60 replications.
    assert covered >= 60 * (0.95 - 3.3 * np.sqrt(0.95 * 0.05 / 60))


def test_nothing_hidden_and_known_negatives_give_the_ordinary_area() -> None:
    """With beta near 0 and many rows the draws gather at the metric of unlabeled = negative."""
    evaluation = simulated(np.random.default_rng(6), n=4_000, n_known=2_000)
    draws = rank_bootstrap(evaluation, BetaPrior(1, 1e6), n_draws=400, rng=0).dataset
    labels = evaluation.is_labeled
    expected = roc_auc_score(labels, evaluation.y_score)
    assert float(draws["roc_auc"].mean()) == pytest.approx(expected, abs=0.003)
    expected = average_precision_score(labels, evaluation.y_score)
    assert float(draws["average_precision"].mean()) == pytest.approx(expected, abs=0.01)


def test_merged_runs_have_the_same_law(monkeypatch) -> None:
    evaluation = simulated(np.random.default_rng(7), n=600, n_known=30)
    plain = rank_bootstrap(evaluation, PRIOR, n_draws=2_000, rng=0).dataset["roc_auc"]
    monkeypatch.setattr(score_blocks, "FEW_SCORES", 0)
    merged = rank_bootstrap(evaluation, PRIOR, n_draws=2_000, rng=1).dataset["roc_auc"]
    assert float(merged.mean()) == pytest.approx(float(plain.mean()), abs=0.006)
    assert float(merged.std()) == pytest.approx(float(plain.std()), rel=0.12)


def test_it_is_a_posterior_like_the_others() -> None:
    evaluation = simulated(np.random.default_rng(8), n=300, n_known=20)
    posterior = rank_bootstrap(evaluation, PRIOR, n_draws=402, rng=0)
    assert dict(posterior.dataset.sizes) == {"chain": 4, "draw": 101, "fpr": 101, "recall": 101}
    estimates = posterior.estimates()
    assert list(estimates) == ["roc_auc", "average_precision"]
    assert estimates.target == "population"
    assert estimates["roc_auc"].interval().width > 0
    assert len(az.summary(posterior.dataset[["beta", "roc_auc"]])) == 2
    again = rank_bootstrap(evaluation, PRIOR, n_draws=402, rng=0)
    assert again.dataset["tpr"].equals(posterior.dataset["tpr"])
    # Where beta may exceed what the scores allow, curves leave the square and a note says so.
    wild = rank_bootstrap(evaluation, BetaPrior(8, 2), n_draws=400, rng=0)
    assert any("left [0, 1]" in note for note in wild.estimates().notes)


def test_faults_are_named() -> None:
    evaluation = simulated(np.random.default_rng(8), n=30, n_known=5)
    with pytest.raises(TypeError, match="`beta` must be a BetaPrior; got float"):
        rank_bootstrap(evaluation, 0.3)
    with pytest.raises(ValueError, match="`n_draws` must be at least 1; got 0"):
        rank_bootstrap(evaluation, PRIOR, n_draws=0)
    with pytest.raises(ValueError, match="must hold a known positive"):
        rank_bootstrap(EvaluationSet([None, 0], [0.1, 0.2]), PRIOR)
    posterior = rank_bootstrap(evaluation, PRIOR, n_draws=40, rng=0)
    with pytest.raises(ValueError, match="has no tables"):
        posterior.label_model.complete(posterior.dataset)
    with pytest.raises(ValueError, match="has no meaning for curves"):
        posterior.label_model.completion.pairs({}, 0)


@pytest.mark.parametrize("prior", [BetaPrior(1e-3, 1e-3), BetaPrior(1e6, 1e-3)])
def test_a_prior_that_reaches_one_gives_finite_draws_and_says_what_they_are(prior) -> None:
    rows = EvaluationSet([1, None, 1, None, None], [0.9, 0.8, 0.7, 0.4, 0.2])
    posterior = rank_bootstrap(rows, prior, n_draws=80, rng=0)
    assert all(np.isfinite(posterior.dataset[name]).all() for name in posterior.dataset)
    notes = posterior.label_model.notes
    assert any("the ROC area has no mean" in note for note in notes)
    area = posterior.dataset["roc_auc"].to_numpy()
    assert ((area < 0) | (area > 1)).any() == any("roc_auc lies outside" in note for note in notes)
    calm = rank_bootstrap(rows, BetaPrior(2, 80), n_draws=80, rng=0).label_model.notes
    assert not any("no mean" in note for note in calm)
