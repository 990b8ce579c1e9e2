"""Groups against a grid over their law with offsets integrated inside; planted errors fail."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from scipy.special import expit, logit

from labelbayes.bayes.groups import build_groups
from labelbayes.bayes.posterior import Posterior
from labelbayes.bayes.sampling import sample
from labelbayes.bayes.stack import pm, quiet
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.results.distribution import DiscreteLaw

METRICS = ["accuracy", "f1"]
#: Positive labels and labels at the log odds -1.5, 0 and 1.5; missing rows at each.
PLACES = np.array([-1.5, 0.0, 1.5])
CELLS = {
    "a": ([0, 1, 2], [6, 6, 6], [3, 4, 5]),
    "b": ([4, 8, 9], [8, 10, 10], [4, 4, 4]),
    "c": ([0, 0, 0], [0, 0, 0], [5, 4, 3]),
}


@pytest.fixture(scope="module")
def evaluation() -> EvaluationSet:
    label, score, group = [], [], []
    for name, cells in CELLS.items():
        for place, positive, count, missing in zip(PLACES, *cells, strict=True):
            label += [1.0] * positive + [0.0] * (count - positive) + [np.nan] * missing
            score += [expit(place)] * (count + missing)
            group += [name] * (count + missing)
    return EvaluationSet(label, score, group=group)


def _pmf(p: np.ndarray, count: list[int]) -> np.ndarray:
    """Law of a sum of independent binomials at each row of p, by convolution."""
    total = np.ones((len(p), 1))
    for k, n in enumerate(count):
        part = stats.binom.pmf(np.arange(n + 1), n, p[:, k, None])
        grown = np.zeros((len(p), total.shape[1] + n))
        for j in range(n + 1):
            grown[:, j : j + total.shape[1]] += part[:, j, None] * total
        total = grown
    return total


class Oracle:
    """Grid over intercept, log slope and spread; 81 points of each group's offset inside."""

    z = np.linspace(-6, 6, 81)
    #: Group intercepts on which the laws are taken; weights go to the two nearest.
    alpha = np.arange(-14, 14, 0.05)

    def __init__(self, sigma: float = 1.0, spread: float | None = None) -> None:
        a, log_c = np.linspace(-6.5, 6.5, 31), np.linspace(-2, 2, 19)
        # At midpoints: a point at 0 would need half a weight.
        s = (np.arange(30) + 0.5) * (4.8 * sigma / 30) if spread is None else np.array([spread])
        self.a, self.log_c, self.s = (x.ravel() for x in np.meshgrid(a, log_c, s, indexing="ij"))
        slope = np.exp(self.log_c)[:, None]
        self.own = self.a[:, None] + self.s[:, None] * self.z
        self.likelihood = {}
        for name, (positive, count, _) in CELLS.items():
            total = np.full(self.own.shape, -(self.z**2) / 2)
            for place, y, n in zip(PLACES, positive, count, strict=True):
                odds = self.own + slope * place
                total += y * odds - n * np.logaddexp(0, odds)
            self.likelihood[name] = np.exp(total)
        self.inside = {name: values.sum(axis=1) for name, values in self.likelihood.items()}
        log_mass = -(self.a**2) / (2 * 1.5**2) - self.log_c**2 / (2 * 0.25)
        log_mass = log_mass - self.s**2 / (2 * sigma**2)
        log_mass += sum(np.log(values) for values in self.inside.values())
        self.mass = np.exp(log_mass - log_mass.max())
        self.mass /= self.mass.sum()
        edge = (np.abs(self.a) > 6.4) | (np.abs(self.log_c) > 1.95)
        assert self.mass[edge].sum() < 1e-4

    def mean(self, values: np.ndarray) -> float:
        return float(values @ self.mass)

    def _weight(self, name: str) -> np.ndarray:
        return self.likelihood[name] * (self.mass / self.inside[name])[:, None]

    def own_mean(self, name: str) -> float:
        return float((self._weight(name) * self.own).sum())

    def law(self, name: str, metric: str) -> DiscreteLaw:
        positive, count, missing = CELLS[name]
        # Beyond, rates are 0 and 1.
        own = np.clip(self.own, -13.9, 13.9)
        below = np.searchsorted(self.alpha, own) - 1
        share = (own - self.alpha[below]) / 0.05
        weight = self._weight(name)
        slopes, slope = np.unique(self.log_c, return_inverse=True)
        slot = below * len(slopes) + slope[:, None]
        size = len(self.alpha) * len(slopes)
        spread = np.bincount(slot.ravel(), (weight * (1 - share)).ravel(), size)
        spread += np.bincount((slot + len(slopes)).ravel(), (weight * share).ravel(), size)
        used = np.flatnonzero(spread > 1e-12)
        odds = (
            self.alpha[used // len(slopes), None]
            + np.exp(slopes[used % len(slopes), None]) * PLACES
        )
        # Log odds of 0 are a score of 0.5: predicted positive.
        u, v = _pmf(expit(odds[:, 1:]), missing[1:]), _pmf(expit(odds[:, :1]), missing[:1])
        joint = (spread[used, None] * u).T @ v
        more, fewer = np.indices(joint.shape)
        tp, fn = sum(positive[1:]), positive[0]
        table = (
            tp + more,
            sum(count[1:]) - tp + joint.shape[0] - 1 - more,
            fn + fewer,
            count[0] - fn + joint.shape[1] - 1 - fewer,
        )
        found = COUNT_METRICS[metric](*table).round(12).ravel()
        defined = ~np.isnan(found)
        support, place = np.unique(found[defined], return_inverse=True)
        pmf = np.bincount(place, joint.ravel()[defined])
        return DiscreteLaw(support, pmf / pmf.sum())


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle()


@pytest.fixture(scope="module")
def posterior(evaluation) -> Posterior:
    return sample(build_groups(evaluation), rng=31)


def _laws_agree(posterior: Posterior, oracle: Oracle, agree) -> dict:
    found = {}
    for place, name in enumerate(CELLS):
        for metric in METRICS:
            draws = posterior.dataset[metric].values[..., place]
            # f1 of the group without labels is undefined in some draws.
            draws = np.where(np.isnan(draws), np.nanmean(draws), draws)
            found[metric, name] = agree(draws, oracle.law(name, metric))
    return found


def _parameters(posterior: Posterior, oracle: Oracle, mean_z) -> dict[str, float]:
    draws = posterior.dataset
    found = {
        "intercept": mean_z(draws["intercept"].values, oracle.mean(oracle.a)),
        "log slope": mean_z(np.log(draws["slope"].values), oracle.mean(oracle.log_c)),
        "spread": mean_z(draws["spread"].values, oracle.mean(oracle.s)),
        "spread squared": mean_z(draws["spread"].values ** 2, oracle.mean(oracle.s**2)),
    }
    for place, name in enumerate(CELLS):
        own = draws["group_intercept"].values[..., place]
        found[name] = mean_z(own, oracle.own_mean(name))
    return found


def test_groups_agree_with_the_grid(posterior, oracle, agree, mean_z) -> None:
    assert posterior.diagnostics.ok, posterior.diagnostics
    found = _parameters(posterior, oracle, mean_z)
    assert max(found.values()) < 4, found
    laws = _laws_agree(posterior, oracle, agree)
    assert all(agreement.ok for agreement in laws.values()), laws


def test_full_pooling_disagrees(posterior, agree) -> None:
    found = _laws_agree(posterior, Oracle(spread=1e-3), agree)
    assert not any(found["accuracy", name].ok for name in CELLS)


def test_no_pooling_and_another_prior_disagree(posterior, agree, mean_z) -> None:
    apart = _parameters(posterior, Oracle(spread=4.0), mean_z)
    assert max(apart["a"], apart["b"], apart["c"]) > 4.5
    assert not all(found.ok for found in _laws_agree(posterior, Oracle(spread=4.0), agree).values())
    assert _parameters(posterior, Oracle(sigma=0.5), mean_z)["spread"] > 4.5


def test_the_density_is_the_one_of_the_formula(evaluation) -> None:
    """The coordinates of the sampler do not change the model, with their Jacobian counted."""
    sigma = 0.7
    model = build_groups(evaluation, sigma=sigma).model
    density, point = model.compile_logp(), model.initial_point()
    names = {name.split("_standardized")[0]: name for name in point if "standardized" in name}
    transforms = {str(rv.name): transform for rv, transform in model.rvs_to_transforms.items()}
    fit = transforms["intercept"].moments.__self__
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(5):
        log_c, log_s, base = rng.normal(), rng.normal(), rng.normal(size=4)
        s = np.exp(log_s)
        middle, sd = (float(x) for x in fit.common(s))
        a = middle + sd * base[0]
        centers, sds = fit.own(a, s)
        own = centers + sds * base[1:]
        expected = stats.norm.logpdf(a, 0, 1.5) + stats.norm.logpdf(log_c, 0, 0.5)
        expected += stats.halfnorm.logpdf(s, scale=sigma) + log_s
        expected += stats.norm.logpdf(own, a, s).sum() + np.log(sd) + np.log(sds).sum()
        for alpha, (positive, count, _) in zip(own, CELLS.values(), strict=True):
            odds = alpha + np.exp(log_c) * PLACES
            expected += stats.binom.logpmf(positive, count, expit(odds)).sum()
        at = {"slope_log__": np.array(log_c), "spread_log__": np.array(log_s)}
        at |= {names["intercept"]: np.array(base[0]), names["group_intercept"]: base[1:]}
        gaps.append(float(density(at)) - expected)
    assert np.abs(gaps).max() < 1e-6


def test_metrics_have_a_group_dimension(evaluation, posterior) -> None:
    dataset = posterior.dataset
    assert dataset["precision"].dims == ("chain", "draw", "group")
    assert dataset["group"].values.tolist() == ["a", "b", "c"]
    assert dataset["group_intercept"].dims == ("chain", "draw", "group")
    parts = evaluation.groups()
    for place, known in enumerate(posterior.label_model.completion.known):
        assert known == parts["abc"[place]].counts
    summary = posterior.estimates().summary()
    assert {"accuracy[a]", "f1[b]", "recall[c]"} <= set(summary.index)
    assert summary.loc["accuracy[a]", "n_unlabeled"] == evaluation.n_unlabeled


def test_the_group_without_labels_is_noted_and_the_widest(posterior) -> None:
    notes = posterior.estimates().notes
    note = "No row of group 'c' is labeled: the rates there come from the other groups."
    assert note in notes
    sd = posterior.dataset["group_intercept"].std(("chain", "draw")).values
    assert sd[2] > 2 * max(sd[:2])
    assert posterior.contraction().index.tolist() == ["intercept", "slope", "spread"]


def test_prior_variances_are_those_of_the_prior(evaluation) -> None:
    label_model = build_groups(evaluation, sigma=0.6)
    expected = {**label_model.prior_var, "group_intercept": 1.5**2 + 0.6**2}
    with quiet():
        drawn = pm.draw([label_model.model[name] for name in expected], 20_000, random_seed=1)
    for name, values in zip(expected, drawn, strict=True):
        tolerance = 0.3 if name == "slope" else 0.06
        assert values.var() == pytest.approx(expected[name], rel=tolerance), name


def test_a_draw_completes_labels_at_the_rates_of_their_group() -> None:
    """Of unordered rows, with many scores, one group unnamed and counts beside the rows."""
    rng = np.random.default_rng(0)
    n = 3_000
    place, group = rng.normal(0, 2, n), rng.choice(["y", "x", None], n)
    label = np.where(rng.random(n) < 0.5, (rng.random(n) < expit(place)).astype(float), np.nan)
    count = rng.integers(1, 4, n)
    evaluation = EvaluationSet(label, expit(place), group=group, count=count)
    label_model = build_groups(evaluation)
    assert label_model.completion.groups == ("x", "y", "(missing)")
    own = np.array([[[-1.0, 0.5, 2.0]]])
    draws = xr.Dataset(
        {
            "group_intercept": (("chain", "draw", "group"), own),
            "slope": (("chain", "draw"), np.array([[0.8]])),
        }
    )
    accuracy = label_model.complete(draws, target="rate")["accuracy"].values[0, 0]
    for k, (name, part) in enumerate(evaluation.groups().items()):
        missing, counts = ~part.is_labeled, part.counts
        p = expit(own[0, 0, k] + 0.8 * logit(part.y_score[missing]))
        right = np.where(part.y_pred[missing] == 1, p, 1 - p) @ part.count[missing]
        expected = (counts.tp + counts.tn + right) / part.n
        assert accuracy[k] == pytest.approx(expected, abs=1e-5), name


def test_sizes_do_not_follow_the_rows() -> None:
    rng = np.random.default_rng(0)
    n = 100_000
    place = rng.normal(0, 2, n)
    label = np.where(rng.random(n) < 0.5, (rng.random(n) < expit(place)).astype(float), np.nan)
    model = build_groups(EvaluationSet(label, expit(place), group=rng.integers(4, size=n))).model
    assert max(np.size(data.get_value()) for data in model.data_vars) <= 2 * 1_000
    assert (
        sum(data.get_value().sum() for data in model.data_vars if data.name == "labels_count")
        == (~np.isnan(label)).sum()
    )


def test_decisions_stand_for_missing_scores() -> None:
    label_model = build_groups(
        EvaluationSet([1, 0, None, 1], y_pred=[1, 0, 1, 0], group=["a", "a", "b", "b"])
    )
    assert "standardized decision" in label_model.method
    assert not label_model.is_forward


@pytest.mark.filterwarnings("ignore::labelbayes.bayes.convergence.SamplingWarning")
def test_a_seed_gives_the_same_draws(posterior) -> None:
    options = {"draws": 30, "tune": 50, "chains": 2}
    first, second = (sample(posterior.label_model, rng=7, **options).dataset for _ in range(2))
    assert first.equals(second)


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "n_groups", "masked"), [(2_664, 12, 0.9), (30_000, 5, 0.5)])
def test_few_and_many_labels_pass_the_gate(n_rows, n_groups, masked) -> None:
    rng = np.random.default_rng(0)
    place, group = rng.normal(0, 2, n_rows), rng.integers(n_groups, size=n_rows)
    p = expit(rng.normal(-0.3, 0.8, n_groups)[group] + 0.8 * place)
    label = np.where(rng.random(n_rows) < masked, np.nan, (rng.random(n_rows) < p).astype(float))
    found = sample(build_groups(EvaluationSet(label, expit(place), group=group)), rng=0)
    assert found.diagnostics.ok, found.diagnostics
    # Offsets in units of the spread gave 1,097 and, with 500 labels in each of 3 groups, 933.
    assert found.diagnostics.ess_bulk > 1_500


def test_faults_are_named(evaluation) -> None:
    def fault(kind=ValueError, data=evaluation, **options) -> str:
        with pytest.raises(kind) as caught:
            build_groups(data, **options)
        return str(caught.value)

    assert fault(TypeError, [0, 1]) == "`evaluation` must be an EvaluationSet; got list."
    assert fault(data=EvaluationSet([1, None], [0.9, 0.2])) == (
        "`evaluation` must have groups; got none. Pass `group=` to EvaluationSet, or use "
        "`build_calibration`."
    )
    assert "must hold labeled rows to learn rates from; got none" in fault(
        data=EvaluationSet([None, None], [0.2, 0.8], group=["a", "b"])
    )
    assert fault(sigma=0.0) == (
        "`sigma` must be positive; got 0.0. For one curve use `build_calibration`."
    )
    assert fault(TypeError, sigma="1") == "`sigma` must be a number; got str '1'."
