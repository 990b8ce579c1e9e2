"""Theorem 4: independent Beta noise on p does nothing to the law, shared noise does."""

import numpy as np
import pytest

from labelbayes.bayes.imputation import build_imputation
from labelbayes.bayes.sampling import sample
from labelbayes.bayes.stack import pm, quiet
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.masking import mask_mcar
from labelbayes.data.simulate import simulate_scores
from labelbayes.imputation.impute import impute
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.metrics.confusion import COUNT_METRICS

METRICS = ["accuracy", "precision", "recall", "f1"]
CONCENTRATION = 8.0


@pytest.fixture(scope="module")
def evaluation() -> EvaluationSet:
    return mask_mcar(simulate_scores(300, rng=3), 0.6, rng=4)


@pytest.fixture(scope="module")
def given(evaluation):
    return impute(evaluation, evaluation.y_score)


def test_the_law_is_that_without_betas(evaluation, given, agree) -> None:
    closed = estimate_pemi(evaluation, given)
    label_model = build_imputation(evaluation, given, concentration=CONCENTRATION)
    posterior = sample(label_model, rng=5)
    assert posterior.diagnostics.ok
    found = {name: agree(posterior.dataset[name].values, closed[name]) for name in METRICS}
    assert all(agreement.ok for agreement in found.values()), found
    exact = posterior.estimates(exact=True)["f1"]
    assert exact.mean == pytest.approx(closed["f1"].mean, abs=1e-12)


def _literal(evaluation: EvaluationSet, shared: bool) -> np.ndarray:
    """F1 of a model with a Beta and a Bernoulli variable per row, or one Beta per decision."""
    missing, counts = ~evaluation.is_labeled, evaluation.counts
    p, decision = evaluation.y_score[missing], evaluation.y_pred[missing]
    with pm.Model(), quiet():
        if shared:
            mean = np.array([p[decision == side].mean() for side in (0, 1)])
            side = pm.Beta("side", CONCENTRATION * mean, CONCENTRATION * (1 - mean))
            each = side[decision.astype(int)]
        else:
            each = pm.Beta("p", CONCENTRATION * p, CONCENTRATION * (1 - p))
        label = pm.Bernoulli("label", each)
        sums = [(label * (decision == side)).sum() for side in (1, 0)]
        u, v = pm.draw(sums, draws=2_000, random_seed=1)
    n_positive = counts.unlabeled_predicted_positive
    n_negative = counts.unlabeled_predicted_negative
    cells = (
        counts.tp + u,
        counts.fp + n_positive - u,
        counts.fn + v,
        counts.tn + n_negative - v,
    )
    return COUNT_METRICS["f1"](*cells).reshape(4, 500)


def test_the_model_of_every_row_agrees_and_shared_noise_does_not(evaluation, given, agree) -> None:
    closed = estimate_pemi(evaluation, given)["f1"]
    assert agree(_literal(evaluation, shared=False), closed).ok
    assert not agree(_literal(evaluation, shared=True), closed).ok


def test_refits_are_noise_that_rows_share(agree) -> None:
    evaluation = mask_mcar(simulate_scores(400, rng=6), 0.7, rng=7)
    imputation = impute(evaluation, rng=8)
    posterior = sample(build_imputation(evaluation, imputation, concentration=5), rng=9)
    closed = estimate_pemi(evaluation, imputation)
    known = estimate_pemi(evaluation, impute(evaluation, rng=8, n_refits=0))
    draws = posterior.dataset
    assert "refit" in draws
    for name in METRICS:
        assert agree(draws[name].values, closed[name]).ok
        assert posterior.estimates(exact=True)[name].mean == pytest.approx(closed[name].mean)
    assert not agree(draws["f1"].values, known["f1"]).ok, "calibration taken as known"


@pytest.mark.parametrize("concentration", [2.0, 50.0])
def test_the_rate_target_has_the_moments_of_beta_sums(evaluation, given, concentration) -> None:
    label_model = build_imputation(evaluation, given, concentration=concentration)
    draws = sample(label_model, target="rate", rng=10).dataset["precision"].values
    above = ~evaluation.is_labeled & (evaluation.y_pred == 1)
    p, counts = evaluation.y_score[above], evaluation.counts
    total = counts.tp + counts.fp + above.sum()
    sd = np.sqrt((p * (1 - p)).sum() / (concentration + 1)) / total
    assert abs(draws.mean() - (counts.tp + p.sum()) / total) < 4 * sd / np.sqrt(4_000)
    assert draws.std() == pytest.approx(sd, rel=0.05)


def test_pooled_probabilities_keep_the_moments() -> None:
    evaluation = mask_mcar(simulate_scores(12_000, rng=3), 0.5, rng=4)
    given = impute(evaluation, evaluation.y_score)
    label_model = build_imputation(evaluation, given, concentration=3)
    assert len(label_model.model.coords["p_group"]) <= 2 * 1_024
    with quiet():
        mean = pm.draw(label_model.model["mean_p"], draws=4_000, random_seed=1)
    for side in (0, 1):
        p = evaluation.y_score[~evaluation.is_labeled & (evaluation.y_pred == side)]
        variance = (p * (1 - p)).sum() / 4 / len(p) ** 2
        assert abs(mean[:, side].mean() - p.mean()) < 4 * np.sqrt(variance / 4_000)
        assert mean[:, side].var() == pytest.approx(variance, rel=0.1)
    assert label_model.prior_var["mean_p"] == pytest.approx(mean.var(axis=0), rel=0.1)


@pytest.mark.parametrize("n_refits", [0, 50])
def test_the_population_is_that_of_the_closed_form(n_refits) -> None:
    evaluation = mask_mcar(simulate_scores(400, rng=6), 0.5, rng=7)
    imputation = impute(evaluation, rng=8, n_refits=n_refits)
    label_model = build_imputation(evaluation, imputation, concentration=5)
    draws = sample(label_model, target="population", rng=9).dataset["f1"].values
    closed = estimate_pemi(evaluation, imputation, target="population", rng=10)["f1"]
    assert draws.mean() == pytest.approx(closed.mean, abs=0.15 * closed.sd)
    assert draws.std() == pytest.approx(closed.sd, rel=0.1)


def test_everything_is_prior_and_says_so(evaluation, given) -> None:
    posterior = sample(build_imputation(evaluation, given, concentration=5), draws=200, rng=0)
    frame = posterior.contraction()
    assert np.abs(frame["contraction"]).max() < 0.3
    assert frame["sentence"].str.endswith("mostly the prior.").all()


def test_certain_probabilities_stay_certain() -> None:
    evaluation = EvaluationSet([1, None, None, None], [0.9, 0.8, 0.7, 0.2])
    given = impute(evaluation, [1, 1, 0, 0])
    posterior = sample(build_imputation(evaluation, given, concentration=4), target="rate", rng=0)
    assert posterior.dataset["precision"].values == pytest.approx(2 / 3)
    assert posterior.dataset["recall"].values == pytest.approx(1.0)


def test_faults_are_named(evaluation, given) -> None:
    with pytest.raises(ValueError, match="`concentration` must be positive; got -1"):
        build_imputation(evaluation, given, concentration=-1)
    with pytest.raises(TypeError, match="`imputation` must be an Imputation; got ndarray"):
        build_imputation(evaluation, evaluation.y_score, concentration=1)
    with pytest.raises(TypeError, match="`evaluation` must be an EvaluationSet"):
        build_imputation(None, given, concentration=1)
    labeled = evaluation.subset(evaluation.is_labeled)
    with pytest.raises(ValueError, match="must have missing labels"):
        build_imputation(labeled, impute(labeled), concentration=1)
    with pytest.raises(ValueError, match="must be made from this evaluation"):
        build_imputation(labeled, given, concentration=1)
    other = EvaluationSet(evaluation.y_true, np.roll(evaluation.y_score, 1))
    with pytest.raises(ValueError, match="`imputation` must know the scores of this evaluation"):
        build_imputation(evaluation, impute(other, rng=0), concentration=1)
