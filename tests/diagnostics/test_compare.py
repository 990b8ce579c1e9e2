"""Draws against closed forms: the right law passes, planted errors fail."""

from dataclasses import asdict, replace

import numpy as np
import pytest
import xarray as xr

from labelbayes.bayes.bins import build_bins
from labelbayes.bayes.cells import RateCells
from labelbayes.bayes.convergence import diagnose
from labelbayes.bayes.imputation import build_imputation
from labelbayes.bayes.model import LabelModel
from labelbayes.bayes.posterior import Posterior
from labelbayes.bayes.sampling import sample
from labelbayes.bayes.stack import pm, wrap
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.data.masking import mask_mcar
from labelbayes.data.simulate import simulate_scores
from labelbayes.diagnostics.compare import (
    Comparison,
    compare_draws,
    compare_laws,
    effective_numbers,
    match_laws,
)
from labelbayes.imputation.impute import impute
from labelbayes.laws.bins import bin_scores, estimate_bins
from labelbayes.laws.labeled import estimate_labeled
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.distribution import DiscreteLaw
from labelbayes.results.estimates import Estimates
from labelbayes.results.mixture import MixtureLaw

COLUMNS = [
    "mean_sampled",
    "mean_closed",
    "mean_z",
    "sd_z",
    "cdf_z",
    "ks_scaled",
    "undefined_z",
    "ess",
    "compared",
    "passed",
    "reason",
]
COIN = DiscreteLaw(np.array([0.4, 0.7]), np.array([0.25, 0.75]))


def _posterior(label_model: LabelModel, dataset: xr.Dataset, target="sample") -> Posterior:
    return Posterior(label_model, wrap(dataset), target, diagnose(dataset, 0))


@pytest.fixture(scope="module")
def evaluation() -> EvaluationSet:
    return mask_mcar(simulate_scores(400, intercept=-0.5, slope=0.8, rng=3), 0.6, rng=4)


@pytest.fixture(scope="module")
def closed(evaluation) -> Estimates:
    return estimate_bins(evaluation, n_bins=6)


@pytest.fixture(scope="module")
def label_model(evaluation) -> LabelModel:
    return build_bins(evaluation, n_bins=6, prior="jeffreys")


@pytest.fixture(scope="module")
def rates(evaluation) -> xr.Dataset:
    """Independent draws of the posterior of the rates, which is conjugate."""
    bins = bin_scores(evaluation, 6)
    a, b = bins.n_positive + 0.5, bins.n_negative + 0.5
    rate = np.random.default_rng(0).beta(a, b, (4, 1_000, len(a)))
    return xr.Dataset({"rate": (("chain", "draw", "bin"), rate)})


def _complete(label_model: LabelModel, rates: xr.Dataset, target="sample") -> xr.Dataset:
    return label_model.complete(rates, target=target, rng=1)


def test_right_draws_pass(label_model, rates, closed) -> None:
    frame = compare_laws(_posterior(label_model, _complete(label_model, rates)), closed)
    assert list(frame.columns) == COLUMNS
    assert list(frame.index) == ["accuracy", "precision", "recall", "f1"]
    assert frame["passed"].all(), frame
    assert (frame["reason"] == "").all()
    assert (frame["compared"] == "moments and cdf").all()
    assert frame["ess"].between(2_500, 4_000).all()
    assert frame["sd_z"].isna().all()
    assert frame["mean_closed"]["f1"] == closed["f1"].mean


def test_the_sampler_passes(label_model, closed) -> None:
    frame = compare_laws(sample(label_model, draws=700, tune=500, rng=11), closed)
    assert frame["passed"].all(), frame


def test_label_noise_forgotten_fails(label_model, rates, closed) -> None:
    drawn = _complete(label_model, rates, target="rate")
    frame = compare_laws(_posterior(label_model, drawn), closed)
    assert not frame["passed"].any()
    # The mean is right: only the cdf shows it.
    assert (frame["mean_z"].abs() < 4).all()
    assert (frame["cdf_z"] > 4.5).all()


def test_rates_taken_as_known_fail(label_model, rates, closed) -> None:
    known = rates.mean(("chain", "draw")).broadcast_like(rates)
    frame = compare_laws(_posterior(label_model, _complete(label_model, known)), closed)
    assert not frame["passed"].any()


def test_a_shifted_mean_fails(label_model, rates, closed) -> None:
    drawn = _complete(label_model, rates)
    # 0.12 of a standard deviation: 5.3 standard errors would be 0.084.
    shifted = drawn + 0.12 * drawn.std(("chain", "draw"))
    frame = compare_laws(_posterior(label_model, shifted), closed)
    assert not frame["passed"].any()
    assert (frame["mean_z"] > 4).all()
    assert frame["reason"].str.startswith("the mean is ").all()


def test_too_narrow_draws_fail(label_model, rates, closed) -> None:
    drawn = _complete(label_model, rates)
    center = drawn.mean(("chain", "draw"))
    narrow = center + 0.85 * (drawn - center)
    frame = compare_laws(_posterior(label_model, narrow), closed)
    assert not frame["passed"].any()
    assert (frame["cdf_z"] > 4.5).all()


def test_another_prior_fails(evaluation, label_model, rates) -> None:
    flat = estimate_bins(evaluation, n_bins=6, prior=(1.0, 1.0))
    frame = compare_laws(_posterior(label_model, _complete(label_model, rates)), flat)
    assert not frame["passed"].all()


def _fail_share(n_draws: int, shift: float, scale: float) -> float:
    """Share of 25 sets of independent draws that fail; the law has many values."""
    support = np.sort(np.random.default_rng(5).normal(size=4_001))
    law = DiscreteLaw(support, np.full(4_001, 1 / 4_001))
    rng = np.random.default_rng(6)
    draws = [
        law.mean + shift * law.sd + scale * (law.draws(n_draws, rng) - law.mean) for _ in range(25)
    ]
    return float(np.mean([not compare_draws(x.reshape(4, -1), law).passed for x in draws]))


def test_power_is_as_documented() -> None:
    assert _fail_share(1_000, 0.0, 1.0) == 0.0
    assert _fail_share(1_000, 5.3 / np.sqrt(1_000), 1.0) > 0.75
    assert _fail_share(1_000, 0.0, 0.8) > 0.8
    assert _fail_share(1_000, 0.0, 0.9) < 0.2
    assert _fail_share(4_000, 0.0, 0.9) > 0.8


def test_chains_that_stick_count_for_less() -> None:
    rng = np.random.default_rng(2)
    independent = COIN.draws(4_000, rng).reshape(4, 1_000)
    sticky = np.repeat(COIN.draws(1_000, rng).reshape(4, 250), 4, axis=1)
    assert compare_draws(independent, COIN).passed
    found = compare_draws(sticky, COIN)
    assert 500 < found.ess < 1_500
    assert found.passed
    few = compare_draws(np.repeat(sticky[:, ::40], 40, axis=1), COIN)
    assert few.reason.endswith("effective draws are too few to tell")


def test_ties_in_the_last_bit_are_ties() -> None:
    draws = COIN.draws(4_000, 3).reshape(4, 1_000)
    noise = np.random.default_rng(0).choice([-1, 0, 1], draws.shape) * 2.0**-53
    found, expected = asdict(compare_draws(draws + noise, COIN)), asdict(compare_draws(draws, COIN))
    assert found == pytest.approx(expected, nan_ok=True)
    assert not compare_draws(draws + 1e-9, COIN).passed


def test_undefined_draws_are_compared_by_their_share() -> None:
    law = replace(COIN, undefined_prob=0.2, undefined_reason="no row is positive")
    draws = COIN.draws(4_000, 4).reshape(4, 1_000)
    lost = np.random.default_rng(5).random(draws.shape) < 0.2
    found = compare_draws(np.where(lost, np.nan, draws), law)
    assert found.passed
    assert 0 < abs(found.undefined_z) < 4
    assert found.mean_sampled == pytest.approx(0.625, abs=0.01)
    assert found.ess < 3_500
    none_lost = compare_draws(draws, law)
    assert none_lost.reason.startswith("the undefined probability is ")
    assert none_lost.undefined_z < -4
    shifted = compare_draws(np.where(lost, np.nan, np.where(draws < 0.5, 0.5, draws)), law)
    assert not shifted.passed


def test_a_metric_that_is_never_defined() -> None:
    never = DiscreteLaw(np.empty(0), np.empty(0), 1.0, "no row is positive")
    lost = np.full((4, 500), np.nan)
    assert compare_draws(lost, never).passed
    assert compare_draws(np.full((4, 500), 0.5), never).undefined_z == -np.inf
    rare = replace(COIN, undefined_prob=0.999, undefined_reason="no row is positive")
    assert compare_draws(lost, rare).reason == "0 effective draws are too few to tell"


def test_a_known_metric_has_one_value() -> None:
    law = DiscreteLaw(np.array([0.5]), np.array([1.0]))
    found = compare_draws(np.full((4, 500), 0.5), law)
    assert found.passed
    assert (found.mean_z, found.cdf_z, found.ks_scaled, found.ess) == (0.0, 0.0, 0.0, 2_000.0)
    assert compare_draws(np.full((4, 500), 0.6), law).mean_z == np.inf


def test_a_rare_value_is_no_false_alarm() -> None:
    law = DiscreteLaw(np.array([0.5, 0.9]), np.array([1 - 1e-5, 1e-5]))
    draws = np.full((4, 1_000), 0.5)
    assert compare_draws(draws, law).passed
    draws[2, 7] = 0.9
    assert compare_draws(draws, law).passed
    draws[:, :3] = 0.9
    assert not compare_draws(draws, law).passed


def test_gaussian_laws_are_compared_by_moments(evaluation) -> None:
    given = impute(evaluation, evaluation.y_score)
    sampled = sample(build_imputation(evaluation, given, concentration=9), rng=0)
    frame = compare_laws(sampled, estimate_pemi(evaluation, given, method="gauss"))
    assert (frame["compared"] == "moments").all()
    assert frame["cdf_z"].isna().all()
    assert frame["ks_scaled"].isna().all()
    assert frame["passed"].all(), frame
    draws = np.random.default_rng(0).normal(0.7, 0.02, (4, 1_000))
    assert compare_draws(draws, NormalLaw(0.7, 0.02)).passed
    assert compare_draws(draws, NormalLaw(0.7, 0.025)).reason.startswith("the variance is ")
    assert compare_draws(draws, MixtureLaw((NormalLaw(0.7, 0.02),) * 2)).compared == "moments"


def test_groups_are_compared_one_by_one() -> None:
    known = (Counts(3, 1, 1, 3, 4, 0), Counts(2, 1, 0, 3, 6, 0))
    cells = RateCells(
        known,
        np.array([1, 1]),
        np.array([4, 6]),
        lambda draws: draws["rate"],
        groups=("a", "b"),
        group=np.array([0, 1]),
    )
    label_model = LabelModel(pm.Model(), cells, "toy", "nothing", {}, 14, 10)
    rate = np.full((4, 1_000, 2), [0.5, 0.3])
    drawn = label_model.complete(xr.Dataset({"rate": (("chain", "draw", "bin"), rate)}), rng=0)
    sampled = _posterior(label_model, drawn)
    laws = {}
    for place, (n, p) in enumerate([(4, 0.5), (6, 0.3)]):
        y_true = [1] * known[place].tp + [0] * known[place].fp + [None] * n
        evaluation = EvaluationSet(y_true, y_pred=np.ones(len(y_true)))
        imputed = impute(evaluation, np.full(len(y_true), p))
        laws[f"precision[{'ab'[place]}]"] = estimate_pemi(evaluation, imputed)["precision"]
    about = {"method": "exact", "assumption": "p is right", "target": "sample"}
    closed = Estimates(laws, **about, statement="predictive", n_labeled=14, n_unlabeled=10)
    frame = compare_laws(sampled, closed)
    assert list(frame.index) == ["precision[a]", "precision[b]"]
    assert frame["passed"].all()
    swapped = Estimates(
        dict(zip(laws, reversed(laws.values()), strict=True)),
        **about,
        statement="predictive",
        n_labeled=14,
        n_unlabeled=10,
    )
    assert not compare_laws(sampled, swapped)["passed"].any()


def test_constant_columns_have_all_draws() -> None:
    columns = [np.zeros((2, 50)), np.random.default_rng(0).normal(size=(2, 50))]
    found = effective_numbers(columns)
    assert found[0] == 100
    assert 30 < found[1] < 200


def test_reasons_name_each_failure() -> None:
    found = Comparison(0.5, 0.5, -4.2, np.nan, 5.0, 2.0, 6.0, 300.0, "moments and cdf")
    assert found.reason == (
        "the mean is 4.2 standard errors off; the cdf is 5.0 standard errors off; the undefined "
        "probability is 6.0 standard errors off; the scaled distance of the cdfs is 2.00; 300 "
        "effective draws are too few to tell"
    )
    assert not found.passed


def test_what_cannot_be_compared_is_refused(evaluation, label_model, rates, closed) -> None:
    drawn = rates.assign(_complete(label_model, rates).data_vars)
    sampled = _posterior(label_model, drawn)
    with pytest.raises(TypeError, match=r"^`sampled` must be a Posterior; got Estimates\. Draw"):
        compare_laws(closed, closed)
    with pytest.raises(TypeError, match=r"^`closed` must be Estimates; got Posterior\. Compute"):
        compare_laws(sampled, sampled)
    population = estimate_labeled(evaluation, target="population", rng=0)
    with pytest.raises(
        ValueError, match=r"target of the draws, 'sample'; got 'population'\. .*e\.$"
    ):
        compare_laws(sampled, population)
    with pytest.raises(ValueError, match=r"160 labeled and 240 missing; got 320 and 480\.$"):
        compare_laws(sampled, replace(closed, n_labeled=320, n_unlabeled=480))
    with pytest.raises(ValueError, match=r"that of 'accuracy' is made of draws\. Use an exact"):
        match_laws(sampled, sampled.estimates())
    other = estimate_bins(evaluation, metrics=["npv"])
    with pytest.raises(ValueError, match=r"got npv for draws of accuracy, precision, recall, f1"):
        compare_laws(sampled, other)
