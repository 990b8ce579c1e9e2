"""Beta, both rates and the hidden positives, against a grid and against enumeration."""

import itertools

import numpy as np
import pytest
from scipy.stats import beta as beta_law
from scipy.stats import binom

from labelbayes.bayes.positive_unlabeled import HiddenPositives, build_positive_unlabeled
from labelbayes.bayes.sampling import sample
from labelbayes.bounds.beta_prior import Audit, BetaPrior
from labelbayes.bounds.positive_unlabeled import bound_positive_unlabeled
from labelbayes.data.evaluation_set import Counts, EvaluationSet

AUDIT = Audit(155, 145)


def rows(tp: int, fn: int, above: int, below: int) -> EvaluationSet:
    return EvaluationSet([1, 1, np.nan, np.nan], y_pred=[1, 0, 1, 0], count=[tp, fn, above, below])


EVALUATION = rows(140, 60, 1_650, 2_150)


def grid_posterior(evaluation: EvaluationSet, prior: BetaPrior, audit: Audit | None):
    """Return nodes (beta, tpr, fpr) and weights; the edges hold no mass."""
    c = evaluation.counts
    m, k = (audit.n, audit.n_positive) if audit else (0, 0)
    around = beta_law(prior.a + k, prior.b + m - k)
    share = np.linspace(*around.ppf([1e-7, 1 - 1e-7]), 71)
    tpr = np.linspace(*beta_law(c.tp + 0.5, c.fn + 0.5).ppf([1e-7, 1 - 1e-7]), 61)
    # Jeffreys' prior is flat in the arc sine of the root; its end at 0 may hold mass.
    fpr = np.sin(np.linspace(0, np.arcsin(np.sqrt(0.65)), 302)[1:] - 1e-3) ** 2
    b, t, f = np.meshgrid(share, tpr, fpr, indexing="ij")
    log_weight = around.logpdf(b) + beta_law(c.tp + 0.5, c.fn + 0.5).logpdf(t)
    log_weight += binom.logpmf(c.unlabeled_predicted_positive, c.n_unlabeled, b * t + (1 - b) * f)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    for axis in range(3):
        edge = np.moveaxis(weight, axis, 0)
        assert edge[-1].sum() + (edge[0].sum() if axis < 2 else 0.0) < 1e-5
    return np.stack([b, t, f]).reshape(3, -1), weight.ravel()


@pytest.fixture(scope="module")
def posterior():
    return sample(build_positive_unlabeled(EVALUATION, BetaPrior(1, 1), audit=AUDIT), rng=1)


def test_the_posterior_is_that_of_the_grid(posterior, mean_z) -> None:
    nodes, weight = grid_posterior(EVALUATION, BetaPrior(1, 1), AUDIT)
    assert posterior.diagnostics.ok
    for name, values in zip(("beta", "tpr", "fpr"), nodes, strict=True):
        draws = posterior.dataset[name].values
        assert mean_z(draws, float(values @ weight)) < 4
        for cut in (0.025, 0.5, 0.975):
            at = float(np.quantile(draws, cut))
            assert mean_z((draws <= at).astype(float), float(weight[values <= at].sum())) < 4.5
    # Planted error: without the audit the same draws do not fit.
    nodes, weight = grid_posterior(EVALUATION, BetaPrior(4, 6), None)
    assert mean_z(posterior.dataset["beta"].values, float(nodes[0] @ weight)) > 10


def test_completed_metrics_are_those_of_the_grid(posterior, mean_z) -> None:
    nodes, weight = grid_posterior(EVALUATION, BetaPrior(1, 1), AUDIT)
    rng = np.random.default_rng(2)
    chosen = nodes[:, rng.choice(len(weight), 20_000, p=weight)]
    draws = dict(zip(("beta", "tpr", "fpr"), chosen, strict=True))
    model = posterior.label_model
    tables, _ = model.completion.tables(draws, "sample", rng)
    for metric in model.metrics:
        expected = metric(*tables).ravel()
        found = posterior.dataset[metric.name].values
        error = expected.std() / np.sqrt(len(expected))
        assert abs(found.mean() - expected.mean()) < 4 * np.hypot(
            error, error * np.sqrt(len(expected) / 1_000)
        )
        assert found.std() == pytest.approx(expected.std(), rel=0.1)


def test_an_audit_tells_beta_and_a_flat_prior_without_one_warns(posterior) -> None:
    contraction = posterior.contraction()["contraction"]
    assert contraction["beta"] > 0.9
    with pytest.warns(UserWarning, match="beta is not identified, and its posterior is mostly"):
        model = build_positive_unlabeled(EVALUATION, BetaPrior(1, 1))
    assert "not identified" in model.notes[0]
    assert build_positive_unlabeled(EVALUATION, BetaPrior(4, 6)).notes == ()


@pytest.mark.slow
def test_without_an_audit_the_prior_is_confined_and_no_more(agree) -> None:
    evaluation = rows(70, 30, 165, 215)
    model = build_positive_unlabeled(evaluation, BetaPrior(4, 6))
    posterior = sample(model, target_accept=0.99, rng=3)
    nodes, weight = grid_posterior(evaluation, BetaPrior(4, 6), None)
    draws = posterior.dataset["beta"].values
    mean = float(nodes[0] @ weight)
    sd = float(np.sqrt((nodes[0] - mean) ** 2 @ weight))
    assert draws.mean() == pytest.approx(mean, abs=0.1 * sd)
    assert draws.std() == pytest.approx(sd, rel=0.1)
    # Beta stays where F = (u / n - beta T) / (1 - beta) is at least 0.
    assert draws.max() < 165 / 380 / 0.45
    exact = posterior.estimates(exact=True)
    for name in ("precision", "recall"):
        assert agree(posterior.dataset[name].values, exact[name]).ok


def test_posteriors_lie_mostly_inside_the_bounds(posterior) -> None:
    bounds = bound_positive_unlabeled(EVALUATION, AUDIT).at()
    for name, span in bounds.items():
        draws = posterior.dataset[name].values
        assert ((draws >= span.low) & (draws <= span.high)).mean() > 0.9


def enumerate_tables(
    n_above: int, n: int, audit: Audit, beta: float, tpr: float, fpr: float
) -> dict[tuple[int, int], float]:
    """Return P(hidden positives above, below | rows above, audited positives) over all rows."""
    law: dict[tuple[int, int], float] = {}
    kinds = list(itertools.product([0, 1], repeat=2))
    for states in itertools.product(kinds, repeat=n):
        above = sum(decision for _, decision in states)
        found = sum(label for label, _ in states[: audit.n])
        if above != n_above or found != audit.n_positive:
            continue
        mass = 1.0
        for label, decision in states:
            rate = tpr if label else fpr
            mass *= (beta if label else 1 - beta) * (rate if decision else 1 - rate)
        u = sum(label for label, decision in states if decision)
        v = sum(label for label, decision in states if not decision)
        law[u, v] = law.get((u, v), 0.0) + mass
    total = sum(law.values())
    return {key: mass / total for key, mass in law.items()}


@pytest.mark.parametrize(
    ("n_above", "n", "audit"), [(2, 5, Audit(1, 1)), (3, 6, Audit(2, 2)), (2, 5, Audit(2, 3))]
)
def test_completions_with_an_audit_are_those_of_enumeration(n_above, n, audit) -> None:
    size, parameters = 30_000, (0.4, 0.7, 0.2)
    law = enumerate_tables(n_above, n, audit, *parameters)
    completion = HiddenPositives((Counts(3, 0, 1, 0, n_above, n - n_above),), audit)
    draws = {
        name: np.full(size, value)
        for name, value in zip(("beta", "tpr", "fpr"), parameters, strict=True)
    }
    (tp, _, fn, _), _ = completion.tables(draws, "sample", np.random.default_rng(4))
    found = {(int(u), int(v)): 0 for u, v in law}
    for u, v in zip(tp.ravel() - 3, fn.ravel() - 1, strict=True):
        found[int(u), int(v)] += 1
    for key, mass in law.items():
        assert found[key] / size == pytest.approx(mass, abs=4.5 * np.sqrt(mass / size) + 1e-9)
    # The law is not that of rows without an audit.
    plain = HiddenPositives(completion.known, None)
    (tp, _, fn, _), _ = plain.tables(draws, "sample", np.random.default_rng(4))
    total = (tp - 3 + fn - 1).ravel()
    assert total.min() < audit.n_positive


def test_rates_and_populations_are_targets_too() -> None:
    completion = HiddenPositives((Counts(3, 0, 1, 0, 40, 60),), None)
    draws = {name: np.full(4_000, v) for name, v in (("beta", 0.4), ("tpr", 0.7), ("fpr", 0.2))}
    rng = np.random.default_rng(0)
    (tp, fp, fn, _), _ = completion.tables(draws, "rate", rng)
    assert tp[0, 0] == pytest.approx(3 + 40 * 0.28 / 0.4)
    assert fn[0, 0] == pytest.approx(1 + 60 * 0.12 / 0.6)
    assert fp[0, 0] == pytest.approx(40 * 0.12 / 0.4)
    counts, weights = completion.tables(draws, "population", rng)
    assert (counts[0] % 1 == 0).all()
    assert weights[0].std() > counts[0].std()


def test_faults_are_named() -> None:
    with pytest.raises(ValueError, match="must hold a known positive; there is none"):
        build_positive_unlabeled(EvaluationSet([None, 0], y_pred=[1, 0]), BetaPrior(2, 2))
    with pytest.raises(ValueError, match="must hold an unlabeled row; there is none"):
        build_positive_unlabeled(EvaluationSet([1, 0], y_pred=[1, 0]), BetaPrior(2, 2))
    with pytest.raises(ValueError, match="got 30 audited rows and 20 unlabeled"):
        build_positive_unlabeled(rows(4, 1, 10, 10), BetaPrior(2, 2), audit=Audit(10, 20))
    with pytest.raises(TypeError, match="`beta` must be a BetaPrior; got float"):
        build_positive_unlabeled(EVALUATION, 0.4)
    model = build_positive_unlabeled(rows(4, 1, 10, 10), BetaPrior(2, 2), audit=Audit(1, 2))
    with pytest.raises(ValueError, match="needs a model without audit"):
        model.completion.pairs({}, 0)
