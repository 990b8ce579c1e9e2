"""The bins against their oracles: convolution, quadrature, rejection; planted errors fail."""

import warnings

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit

from labelbayes.bayes.bins import _centering, build_bins
from labelbayes.bayes.convergence import SamplingWarning, diagnose
from labelbayes.bayes.posterior import Posterior
from labelbayes.bayes.sampling import sample
from labelbayes.bayes.stack import pm, quiet, wrap
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.masking import mask_mcar
from labelbayes.data.simulate import simulate_scores
from labelbayes.laws.bins import ScoreBins, bin_scores, estimate_bins

METRICS = ["accuracy", "precision", "recall", "f1"]
NAMES = ["rate", "accuracy", "f1"]


def _evaluation(n_rows: int, masked: float) -> EvaluationSet:
    return mask_mcar(simulate_scores(n_rows, intercept=-0.5, slope=0.8, rng=3), masked, rng=4)


@pytest.fixture(scope="module")
def evaluation() -> EvaluationSet:
    return _evaluation(400, 0.7)


@pytest.fixture(scope="module")
def jeffreys(evaluation) -> Posterior:
    return sample(build_bins(evaluation, n_bins=6, prior="jeffreys"), rng=11)


def test_independent_rates_agree_with_the_convolution(evaluation, jeffreys, agree) -> None:
    assert jeffreys.diagnostics.ok
    closed = estimate_bins(evaluation, n_bins=6)
    found = {name: agree(jeffreys.dataset[name].values, closed[name]) for name in METRICS}
    assert all(agreement.ok for agreement in found.values()), found


def test_planted_errors_disagree(evaluation, jeffreys, agree) -> None:
    closed, draws = estimate_bins(evaluation, n_bins=6)["f1"], jeffreys.dataset
    label_model = jeffreys.label_model
    without_noise = label_model.complete(draws, target="rate", rng=0)["f1"].values
    assert not agree(without_noise, closed).ok, "label noise forgotten"
    known_rates = draws.assign(rate=draws["rate"].mean(("chain", "draw")) + 0 * draws["rate"])
    assert not agree(label_model.complete(known_rates, rng=0)["f1"].values, closed).ok, (
        "rates known"
    )
    flat = estimate_bins(evaluation, n_bins=6, prior=(1.0, 1.0))
    found = [agree(draws[name].values, flat[name]).ok for name in METRICS]
    assert not all(found), "flat prior"


def test_the_exact_mixture_agrees_with_the_convolution(evaluation, jeffreys, monkeypatch) -> None:
    monkeypatch.setattr("labelbayes.bayes.posterior.MOST_EXACT_DRAWS", 1_000)
    closed, mixed = estimate_bins(evaluation, n_bins=6), jeffreys.estimates(exact=True)
    for name in METRICS:
        at = closed[name].quantile([0.025, 0.25, 0.5, 0.75, 0.975])
        assert np.abs(mixed[name].cdf(at) - closed[name].cdf(at)).max() < 0.06
        assert mixed[name].mean == pytest.approx(closed[name].mean, abs=0.1 * closed[name].sd)
        assert mixed[name].sd == pytest.approx(closed[name].sd, rel=0.08)


def test_estimates_hold_the_draws(jeffreys) -> None:
    estimates = jeffreys.estimates()
    row = estimates.summary().loc["precision"]
    draws = jeffreys.dataset["precision"].values
    assert row["mean"] == pytest.approx(draws.mean())
    assert row["low"] == pytest.approx(np.quantile(draws, 0.025), abs=0.01)
    assert (row["statement"], row["target"], row["ci_kind"]) == ("credible", "sample", "eti")
    joint = estimates.draws(500, rng=0)
    # Metrics of one draw stay together.
    recall = jeffreys.dataset["recall"].values
    pairs = set(zip(draws.ravel(), recall.ravel(), strict=True))
    assert set(zip(joint["precision"].values, joint["recall"].values, strict=True)) <= pairs


def test_contraction_says_what_the_data_added(jeffreys) -> None:
    frame = jeffreys.contraction()
    assert frame.index[0] == "rate[0]"
    assert frame["prior_sd"].iloc[0] == pytest.approx(np.sqrt(1 / 8))
    assert (frame["contraction"] > 0.5).all()
    assert (frame["sentence"] == "").all()


def test_a_bin_without_labels_is_mostly_the_prior() -> None:
    evaluation = EvaluationSet([0, 0, 1, 0, None, None], [0.1, 0.2, 0.3, 0.4, 0.9, 0.8])
    label_model = build_bins(evaluation, n_bins=1, prior="jeffreys")
    assert label_model.notes[0].startswith("No row predicted positive is labeled")
    rng = np.random.default_rng(0)
    draws = rng.beta([1.5, 0.5], [3.5, 0.5], size=(4, 500, 2))
    dataset = xr.Dataset({"rate": (("chain", "draw", "bin"), draws)})
    combined = dataset.assign(label_model.complete(dataset, rng=1).data_vars)
    posterior = Posterior(label_model, wrap(combined), "sample", diagnose(combined, 0))
    sentences = posterior.contraction()["sentence"]
    assert sentences["rate[0]"] == ""
    assert sentences["rate[1]"].endswith("This number is mostly the prior.")
    assert sentences["rate[1]"] in posterior.estimates().notes


@pytest.fixture(scope="module")
def line(evaluation) -> Posterior:
    # So few and so well-known bins leave a narrow ridge: small steps.
    label_model = build_bins(evaluation, n_bins=3)
    return sample(label_model, draws=600, tune=600, target_accept=0.97, rng=12)


def _line_oracle(evaluation: EvaluationSet, spread_sd: float = 0.5) -> dict[str, np.ndarray]:
    """Moments by quadrature: a grid of intercept, log slope and spread, offsets by 81 points."""
    bins = bin_scores(evaluation, 3)
    logit = np.log(bins.mean_score / (1 - bins.mean_score))
    # The spread at midpoints: a grid point at 0 would need half a weight.
    a, log_c = np.linspace(-4, 4, 45), np.linspace(-2.5, 2.5, 45)
    tau = (np.arange(30) + 0.5) * (5 * spread_sd / 30)
    z = np.linspace(-5, 5, 81)
    weight = np.exp(-(z**2) / 2)
    weight /= weight.sum()
    a, log_c, tau = (axis.ravel() for axis in np.meshgrid(a, log_c, tau, indexing="ij"))
    log_mass = -(a**2) / 2 - log_c**2 / (2 * 0.25) - tau**2 / (2 * spread_sd**2)
    first, second = [], []
    for x, n, y in zip(logit, bins.n_labeled, bins.n_positive, strict=True):
        logit_q = (a + np.exp(log_c) * x)[:, None] + tau[:, None] * z
        q = expit(logit_q)
        likelihood = np.exp(y * logit_q - n * np.logaddexp(0, logit_q)) * weight
        total = likelihood.sum(axis=1)
        # Far from the mode a likelihood may be 0.
        log_mass = log_mass + np.log(np.maximum(total, 1e-300))
        first.append((likelihood * q).sum(axis=1) / np.maximum(total, 1e-300))
        second.append((likelihood * q**2).sum(axis=1) / np.maximum(total, 1e-300))
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    edge = (np.abs(a) > 3.9) | (np.abs(log_c) > 2.4) | (tau > 0.98 * tau.max())
    assert mass[edge].sum() < 1e-5
    return {
        "rate": np.array(first) @ mass,
        "rate squared": np.array(second) @ mass,
        "intercept": np.array(a @ mass),
        "log slope": np.array(log_c @ mass),
        "spread": np.array(tau @ mass),
    }


def _line_z(dataset: xr.Dataset, oracle: dict[str, np.ndarray], mean_z) -> dict[str, float]:
    rate = dataset["rate"].values
    draws = {
        "intercept": dataset["intercept"].values,
        "log slope": np.log(dataset["slope"].values),
        "spread": dataset["spread"].values,
    }
    found = {name: mean_z(values, float(oracle[name])) for name, values in draws.items()}
    for b in range(rate.shape[-1]):
        found[f"rate {b}"] = mean_z(rate[..., b], oracle["rate"][b])
        found[f"rate {b} squared"] = mean_z(rate[..., b] ** 2, oracle["rate squared"][b])
    return found


def test_the_line_agrees_with_quadrature(evaluation, line, mean_z) -> None:
    assert line.diagnostics.ok, line.diagnostics
    found = _line_z(line.dataset, _line_oracle(evaluation), mean_z)
    assert max(found.values()) < 4, found


def test_another_spread_disagrees(evaluation, line, mean_z) -> None:
    found = _line_z(line.dataset, _line_oracle(evaluation, spread_sd=1.0), mean_z)
    assert max(found.values()) > 4.5, found


@pytest.mark.slow
def test_the_line_is_one_law_however_it_is_centered(evaluation, monkeypatch, mean_z) -> None:
    monkeypatch.setattr("labelbayes.bayes.bins._centering", lambda bins, place: 0 * place + 0.5)
    label_model = build_bins(evaluation, n_bins=3)
    with warnings.catch_warnings():
        # The better centering is the one that the data choose.
        warnings.simplefilter("ignore", SamplingWarning)
        posterior = sample(label_model, target_accept=0.97, rng=15)
    found = _line_z(posterior.dataset, _line_oracle(evaluation), mean_z)
    assert max(found.values()) < 4.5, found


def test_labels_that_leave_the_line_center_their_bins(evaluation) -> None:
    near, place = bin_scores(evaluation, 3), np.array([-2.0, -1.0, 1.0, 2.0])
    assert _centering(near, place) == pytest.approx(0.0)
    many = ScoreBins(
        place,
        np.array([0, 0, 1, 1]),
        np.array([100, 4_000, 5_000, 9_000]),
        np.array([9_900, 6_000, 5_000, 1_000]),
        np.zeros(4, dtype=int),
        True,
    )
    assert (_centering(many, place) > 0.9).all()


def test_the_line_completes_labels_at_its_rates(evaluation, line, mean_z) -> None:
    """Accuracy is linear in the counts, so its mean follows from the means of the rates."""
    bins, counts = bin_scores(evaluation, 3), evaluation.counts
    rate = _line_oracle(evaluation)["rate"]
    right = np.where(bins.decision == 1, rate, 1 - rate) @ bins.n_missing
    expected = (counts.tp + counts.tn + right) / evaluation.n
    assert mean_z(line.dataset["accuracy"].values, expected) < 4
    assert line.contraction().index.tolist() == ["intercept", "slope", "spread"]


@pytest.fixture(scope="module")
def monotone(evaluation) -> Posterior:
    label_model = build_bins(evaluation, n_bins=3, prior="monotone")
    return sample(label_model, draws=600, tune=400, rng=13)


def _increasing_rates(evaluation: EvaluationSet, ordered: bool, n_bins: int) -> np.ndarray:
    bins = bin_scores(evaluation, n_bins)
    shape = (400_000, len(bins.decision))
    rates = np.random.default_rng(0).beta(1 + bins.n_positive, 1 + bins.n_negative, size=shape)
    return rates[(np.diff(rates) > 0).all(axis=1)] if ordered else rates


def test_increasing_rates_agree_with_rejection(evaluation, monotone, mean_z) -> None:
    assert monotone.diagnostics.ok, monotone.diagnostics
    kept = _increasing_rates(evaluation, True, 3)
    assert len(kept) > 20_000
    rate = monotone.dataset["rate"].values
    assert (np.diff(rate, axis=-1) > 0).all()
    for power in (1, 2):
        for b in range(rate.shape[-1]):
            assert mean_z(rate[..., b] ** power, float((kept[:, b] ** power).mean())) < 4


def test_rates_without_the_order_disagree(mean_z) -> None:
    """Few labels, so that the order matters: without it the first rate is another."""
    evaluation = _evaluation(60, 0.7)
    label_model = build_bins(evaluation, n_bins=2, prior="monotone")
    posterior = sample(label_model, draws=600, tune=400, rng=14)
    rate = posterior.dataset["rate"].values
    means = [_increasing_rates(evaluation, order, 2).mean(axis=0) for order in (True, False)]
    z = [[mean_z(rate[..., b], mean[b]) for b in range(rate.shape[-1])] for mean in means]
    assert max(z[0]) < 4
    assert max(z[1]) > 4.5


def test_prior_variances_are_those_of_the_prior() -> None:
    """Forward draws of each model without its data."""
    evaluation = _evaluation(60, 0.5)
    for prior in ("line", "jeffreys", "monotone"):
        label_model = build_bins(evaluation, n_bins=3, prior=prior)
        for name, variance in label_model.prior_var.items():
            with quiet():
                drawn = pm.draw(label_model.model[name], draws=20_000, random_seed=1)
            assert drawn.var(axis=0) == pytest.approx(
                np.broadcast_to(variance, drawn.shape[1:]), rel=0.12
            )


def test_scores_that_are_no_probabilities_are_standardized() -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(100, 20, 200)
    label = np.where(np.arange(200) % 2, (score > 100).astype(float), np.nan)
    label_model = build_bins(EvaluationSet(label, score, threshold=100))
    assert "standardized score" in label_model.method
    place = label_model.model["place"].get_value()
    assert np.abs(place).max() < 3
    decided = build_bins(EvaluationSet([1, 0, None], y_pred=[1, 0, 1]))
    assert "standardized decision" in decided.method


def test_faults_are_named() -> None:
    evaluation = EvaluationSet([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], y_pred=[1, 0, 1, 0])
    with pytest.raises(ValueError, match="needs decisions that rise with the score"):
        build_bins(evaluation, prior="monotone")
    with pytest.raises(ValueError, match="must be 'line', 'jeffreys', 'monotone' or a pair"):
        build_bins(evaluation, prior="flat")
    with pytest.raises(ValueError, match="`n_bins` must be at least 1; got 0"):
        build_bins(evaluation, n_bins=0)
    with pytest.raises(TypeError, match="`evaluation` must be an EvaluationSet; got list"):
        build_bins([0, 1])
    with pytest.raises(ValueError, match="must hold labeled rows"):
        build_bins(EvaluationSet([None, None], [0.2, 0.8]))
