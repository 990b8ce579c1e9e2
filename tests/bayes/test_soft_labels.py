"""Models of raters' counts against a grid and importance sampling; planted errors fail."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy.special import betaln
from scipy.stats import betabinom

from labelbayes.bayes.convergence import diagnose
from labelbayes.bayes.histogram_check import check_histogram
from labelbayes.bayes.posterior import Posterior
from labelbayes.bayes.sampling import sample
from labelbayes.bayes.soft_labels import RatedItems, build_soft_labels
from labelbayes.bayes.stack import wrap
from labelbayes.optimal.beta_mixture import optimum_of_bernstein, optimum_of_beta
from labelbayes.optimal.estimate import estimate_optimal
from labelbayes.results.distribution import DiscreteLaw

NAMES = ("error", "ber", "roc_auc")


def _counts(law, m: int, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.binomial(m, rng.beta(*law, n))


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    return _counts((0.5, 0.5), 3, 400, 1)


@pytest.fixture(scope="module")
def posterior(counts) -> Posterior:
    return sample(build_soft_labels(counts, 3), draws=600, tune=500, target="population", rng=11)


def _grid(counts: np.ndarray, m: int) -> dict[str, DiscreteLaw]:
    """Laws of the optimum by a grid over mean and log concentration, no sampling."""
    middle, spread = np.linspace(0.35, 0.65, 141), np.linspace(-2.5, 2.5, 301)
    mean, log_k = (axis.ravel() for axis in np.meshgrid(middle, spread, indexing="ij"))
    a, b = mean * np.exp(log_k), (1 - mean) * np.exp(log_k)
    log_mass = -0.5 * np.log(mean * (1 - mean)) - (log_k - np.log(2)) ** 2 / 2
    for k, size in zip(*np.unique(counts, return_counts=True), strict=True):
        log_mass += size * betabinom.logpmf(k, m, a, b)
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    edge = (mean < 0.352) | (mean > 0.648) | (np.abs(log_k) > 2.45)
    assert mass[edge].sum() < 1e-6
    laws = {}
    for name, values in zip(NAMES, optimum_of_beta(a, b), strict=True):
        order = np.argsort(values)
        support, first = np.unique(values[order], return_index=True)
        laws[name] = DiscreteLaw(support, np.add.reduceat(mass[order], first))
    return laws


def test_draws_agree_with_the_grid(counts, posterior, agree) -> None:
    assert posterior.diagnostics.ok
    oracle = _grid(counts, 3)
    found = {name: agree(posterior.dataset[name].values, oracle[name]) for name in NAMES}
    assert all(agreement.ok for agreement in found.values()), found


def test_planted_errors_disagree(counts, posterior, agree) -> None:
    draws = posterior.dataset
    fewer = _grid(counts[:300], 3)
    assert not all(agree(draws[name].values, fewer[name]).ok for name in NAMES), "other data"
    known = draws.assign(concentration=0 * draws["concentration"] + draws["concentration"].mean())
    complete = posterior.label_model.complete(known, target="population")
    assert not agree(complete["error"].values, _grid(counts, 3)["error"]).ok, "spread known"


def test_the_bias_of_plain_shares_is_gone(counts, posterior) -> None:
    """Beta(1/2, 1/2), 3 raters: error .1817, of which plain shares show about .124."""
    truth = 0.5 - 1 / np.pi
    plain = estimate_optimal(counts, n_ratings=3, calibrator=None)["error"]
    own = posterior.estimates()["error"]
    assert truth in own.interval()
    assert truth not in plain.interval()
    assert plain.mean < 0.14


def test_these_items_vary_less_than_items_like_them(posterior) -> None:
    draws = posterior.dataset.isel(draw=slice(0, 150))
    both = {
        target: posterior.label_model.complete(draws, target=target, rng=0)
        for target in ("sample", "population")
    }
    for name in NAMES:
        sample_values, population = (both[t][name].values for t in ("sample", "population"))
        # 600 draws: four standard errors of a mean.
        error = np.hypot(sample_values.std(), population.std()) / np.sqrt(600)
        # The mean error of 400 items is unbiased, BER and AUC are up to order 1/400.
        assert abs(sample_values.mean() - population.mean()) < 4 * error + 0.005
    assert set(both["sample"].sizes) == {"chain", "draw"}


def test_items_whose_probabilities_are_known_have_their_own_optimum() -> None:
    """Many raters: P(y = 1 | x) of these items is k / m, whatever the family."""
    counts = np.repeat([5_000, 30_000, 90_000], [50, 30, 20])
    label_model = build_soft_labels(counts, 100_000)
    draws = xr.Dataset(
        {name: (("chain", "draw"), np.full((1, 4), value))
         for name, value in (("mean", 0.3), ("concentration", 2.0))}
    )  # fmt: skip
    found = label_model.complete(draws, target="sample", rng=0)
    expected = estimate_optimal(counts, n_ratings=100_000, calibrator=None)
    for name in NAMES:
        assert found[name].values == pytest.approx(expected[name].mean, abs=0.002)


def _importance(counts: np.ndarray, m: int, n_parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Means of the optimum by weighing draws from the prior, and their standard errors."""
    weight = np.random.default_rng(5).dirichlet(np.ones(n_parts), 200_000)
    first = np.arange(1.0, n_parts + 1)
    log_mass = np.zeros(len(weight))
    for k, size in zip(*np.unique(counts, return_counts=True), strict=True):
        log_mass += size * np.log(weight @ betabinom.pmf(k, m, first, n_parts + 1 - first))
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    assert 1 / (mass**2).sum() > 2_000
    values = np.array(optimum_of_bernstein(weight))
    mean = values @ mass
    return mean, np.sqrt(((values - mean[:, None]) ** 2) @ mass**2)


@pytest.mark.slow
def test_the_bernstein_mixture_agrees_with_importance_sampling(monkeypatch, mean_z) -> None:
    monkeypatch.setattr("labelbayes.bayes.soft_labels.N_PARTS", 4)
    counts = _counts((0.7, 1.5), 4, 80, 6)
    label_model = build_soft_labels(counts, 4, family="bernstein")
    drawn = sample(label_model, draws=800, tune=600, target="population", target_accept=0.95, rng=7)
    assert drawn.diagnostics.ok
    mean, error = _importance(counts, 4, 4)
    other, _ = _importance(counts[:50], 4, 4)
    z, planted = [], []
    for name, expected, noise, wrong in zip(NAMES, mean, error, other, strict=True):
        values = drawn.dataset[name].values
        assert noise < values.std() / 15  # the oracle's own noise is small beside the draws'
        z.append(mean_z(values, expected))
        planted.append(mean_z(values, wrong))
    assert max(z) < 4, z
    assert max(planted) > 4, planted
    # Shares of the prior are those of a flat Dirichlet law.
    assert drawn.contraction()["prior_sd"].iloc[0] == pytest.approx(np.sqrt(0.25 * 0.75 / 5))


def _posterior_of(label_model, **values: np.ndarray) -> Posterior:
    """Put draws in place of sampled ones."""
    dims = ("chain", "draw", "part")
    draws = xr.Dataset({name: (dims[: value.ndim], value) for name, value in values.items()})
    combined = draws.assign(label_model.complete(draws, target="population").data_vars)
    return Posterior(label_model, wrap(combined), "population", diagnose(combined, 0))


def test_the_histogram_check_accepts_the_right_family(posterior) -> None:
    check = check_histogram(posterior, rng=0)
    assert check.ok
    assert check.table["observed"].sum() == 400
    assert list(check.table.index.names) == ["n_ratings", "count"]
    assert (check.table["observed"].between(check.table["low"], check.table["high"])).all()
    assert check.sentence.startswith(f"Posterior predictive p = {check.p_value:.3f}; 0 of 4")
    assert "said positive" in check._repr_html_()


def test_the_histogram_check_refuses_a_wrong_family() -> None:
    """Two clusters of items; draws near the best Beta law stand for its narrow posterior."""
    rng = np.random.default_rng(8)
    is_low = rng.random(1_000) < 0.7
    eta = np.where(is_low, rng.beta(2, 18, 1_000), rng.beta(30, 6, 1_000))
    counts = rng.binomial(20, eta)
    label_model = build_soft_labels(counts, 20)
    posterior = _posterior_of(
        label_model,
        mean=rng.normal(counts.mean() / 20, 0.01, (2, 200)),
        concentration=rng.normal(1.6, 0.1, (2, 200)),
    )
    check = check_histogram(posterior, rng=0)
    assert not check.ok
    assert check.sentence.endswith("The family does not fit: use family='bernstein'.")
    mixture = build_soft_labels(counts, 20, family="bernstein")
    flat = _posterior_of(mixture, weight=np.full((2, 100, 20), 0.05))
    refused = check_histogram(flat, rng=0)
    assert refused.sentence.endswith("with `estimate_optimal(..., calibrator=None)`.")


def test_the_histogram_check_is_right_for_known_parameters() -> None:
    """p of 200 data sets with the parameters known: uniform, Kolmogorov-Smirnov at 1e-3."""
    rng, found = np.random.default_rng(9), []
    label_model = build_soft_labels([1, 2], 5)
    known = {"mean": np.full((2, 40), 1 / 3), "concentration": np.full((2, 40), 3.0)}
    posterior = _posterior_of(label_model, **known)
    for _ in range(200):
        counts = rng.binomial(5, rng.beta(1.0, 2.0, 150))
        k, size = np.unique(counts, return_counts=True)
        items = RatedItems(k, np.full(len(k), 5), size)
        other = replace(posterior, label_model=replace(label_model, completion=items))
        found.append(check_histogram(other, rng=rng).p_value)
    distance = np.abs(np.sort(found) - (np.arange(200) + 0.5) / 200).max()
    assert distance < 1.95 / np.sqrt(200) + 1 / 80  # p-values come in steps of 1/80


def test_cells_do_not_depend_on_the_order_and_number_of_items() -> None:
    label_model = build_soft_labels([3, 0, 3, 1], [3, 2, 3, 3])
    items = label_model.completion
    assert list(zip(items.k, items.m, items.n_items, strict=True)) == [
        (0, 2, 1),
        (1, 3, 1),
        (3, 3, 2),
    ]
    assert (label_model.n_labeled, label_model.n_unlabeled) == (0, 4)
    a, b = np.array([[0.8]]), np.array([[1.7]])
    expected = betabinom.logpmf(items.k, items.m, 0.8, 1.7)
    np.testing.assert_allclose(items.log_mass(a, b)[0], expected, rtol=1e-10)
    assert betaln(1, 1) == 0


def test_results_name_what_they_are(posterior) -> None:
    estimates = posterior.estimates()
    assert list(estimates) == list(NAMES)
    assert (estimates.statement, estimates.target) == ("credible", "population")
    assert "raters answer independently" in estimates.assumption
    assert any("check_histogram" in note for note in estimates.notes)
    assert posterior.contraction()["contraction"]["mean"] > 0.9
    with pytest.raises(ValueError, match="each draw is exact already"):
        posterior.label_model.completion.pairs({}, 0)
    with pytest.raises(ValueError, match="no confusion matrices"):
        posterior.label_model.completion.tables({}, "sample", np.random.default_rng(0))
    with pytest.raises(ValueError, match="must be 'sample' or 'population' for soft labels"):
        posterior.label_model.complete(posterior.dataset, target="rate")


@pytest.mark.parametrize(
    ("counts", "n_ratings", "options", "sentence"),
    [
        ([0, 4], 3, {}, "must not exceed `n_ratings`; got 4 of 3 at row 1"),
        ([0, 1], 1, {}, "Collect second ratings of some items"),
        ([0, 1.5], 3, {}, "whole numbers of at least 0; got 1.5 at row 1"),
        ([[0, 1]], 3, {}, "several classes is not offered"),
        ([0, 1], 3, {"family": "normal"}, "one of 'beta', 'bernstein'; got 'normal'"),
    ],
)
def test_bad_input(counts, n_ratings, options: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        build_soft_labels(counts, n_ratings, **options)


def test_only_models_of_soft_labels_have_a_histogram() -> None:
    with pytest.raises(TypeError, match="`posterior` must be a Posterior"):
        check_histogram(3)
