"""Which law of ROC-AUC is taken, what it says of itself, and that its moments are exact."""

import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.laws.roc_auc import KINDS, roc_auc_law
from labelbayes.laws.roc_auc_moments import delta_moments, mix_moments, roc_auc_moments
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.grid_law import GridLaw
from labelbayes.results.mixture import MixtureLaw
from labelbayes.results.sampled import SampledLaw
from tests.laws.area_cases import prepare

HERE = Path(__file__)
# Oracles, items 02 (exact law) and 03 (matched normal).
CASES = json.loads(HERE.with_name("oracles").joinpath("roc_auc_laws.json").read_text())["cases"]


def _experiment():
    path = HERE.parents[1] / "validation" / "v07.py"
    spec = importlib.util.spec_from_file_location("v07", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


V07 = _experiment()


def no_draws():
    raise AssertionError("this law needs no draws")


def labels(case):
    return [math.nan if label is None else label for label in case["y_true"]]


@pytest.mark.parametrize("kind", ["exact", "enumerated", "lattice"])
@pytest.mark.parametrize("case", [c for c in CASES if "law" in c], ids=lambda case: case["name"])
def test_exact_laws_are_those_of_the_oracle(case, kind):
    prepared = prepare(EvaluationSet(labels(case), case["y_score"]), case["p_missing"])
    law, method, error = roc_auc_law(*prepared, no_draws, kind=kind)
    wanted = case["law"]
    assert method.startswith("exact law")
    assert error == 0.0
    assert law.undefined_prob == pytest.approx(wanted["undefined_prob"], abs=1e-15)
    assert bool(law.undefined_reason) == (wanted["undefined_prob"] > 0)
    if wanted["mean"] is None:
        assert law.is_undefined
        return
    assert law.mean == pytest.approx(wanted["mean"], abs=1e-14)
    assert law.sd == pytest.approx(wanted["sd"], abs=1e-14)
    assert law.prob_at_least(0.8) == pytest.approx(wanted["p_ge_0_8"], abs=1e-13)
    for level, value in wanted["quantiles"].items():
        assert float(law.quantile(float(level))) == pytest.approx(value, abs=1e-14)
    if "support" in wanted:
        np.testing.assert_allclose(law.support, wanted["support"], rtol=0, atol=1e-14)
        np.testing.assert_allclose(law.pmf, wanted["pmf"], rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_constant_scores_are_one_half_in_every_law_and_draw(kind):
    label = [1, 0, *[None] * 40]
    prepared = prepare(EvaluationSet(label, np.full(42, 0.7)), np.full(42, 0.3))
    law, _, _ = roc_auc_law(*prepared, lambda: np.full(100, 0.5), kind=kind)
    assert (law.mean, law.sd) == (0.5, 0.0)
    assert set(law.draws(50, 0)) == {0.5}
    assert law.quantile([0.025, 0.975]).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("kind", ["exact", "lattice", "edgeworth", "gauss"])
@pytest.mark.parametrize("n", [6, 400])
def test_nothing_missing_is_the_metric_itself(kind, n):
    rng = np.random.default_rng(n)
    label, score = rng.permutation(np.arange(n) % 2), rng.integers(n // 2, size=n)
    prepared = prepare(EvaluationSet(label, score), np.full(n, 0.5))
    law, _, _ = roc_auc_law(*prepared, no_draws, kind=kind)
    area = roc_auc_score(label, score)
    assert law.mean == pytest.approx(area, abs=1e-15)
    assert law.sd == 0.0
    assert law.quantile([0.0, 0.5, 1.0]) == pytest.approx([area] * 3, abs=1e-15)


def test_certain_p_leaves_no_spread():
    rng = np.random.default_rng(1)
    score, truth = rng.normal(size=200), rng.integers(2, size=200)
    label = np.where(rng.random(200) < 0.8, np.nan, truth)
    prepared = prepare(EvaluationSet(label, score), truth.astype(float))
    law, _, error = roc_auc_law(*prepared, no_draws)
    assert law.mean == pytest.approx(roc_auc_score(truth, score), abs=1e-15)
    assert (law.sd, error) == (0.0, 0.0)


@pytest.mark.parametrize("how", ["maxent", "prevalence", "given"])
@pytest.mark.parametrize("kind", ["exact", "edgeworth", "sampled"])
def test_moments_are_exact_in_every_kind(how, kind):
    rng = np.random.default_rng(2)
    score = rng.normal(size=1_200)
    label = np.where(np.arange(1_200) < 600, np.nan, rng.random(1_200) < 0.5)
    evaluation = EvaluationSet(label, score)
    belief = rng.random(1_200) if how == "given" else impute(evaluation, how, n_refits=5, rng=0)
    prepared = prepare(evaluation, belief)
    ranks = prepared.ranks
    exact = mix_moments([roc_auc_moments(ranks, i) for i in range(ranks.n_fits)])
    law, method, error = roc_auc_law(
        *prepared, lambda: 0.5 + 0.01 * rng.normal(size=500), kind=kind
    )
    assert (law.mean, law.sd, law.undefined_prob) == (exact.mean, exact.sd, exact.undefined_prob)
    assert isinstance(law, SampledLaw if kind == "sampled" else GridLaw)
    said = "exact mean and sd; 500 draws"
    assert method.startswith(said if kind == "sampled" else "Edgeworth mixture, cdf within")
    assert 0 < error < 0.1


def test_the_matched_normal_has_the_delta_moments_and_the_exact_undefined_prob():
    prepared = prepare(EvaluationSet([None, 0, None], [0.9, 0.5, 0.1]), np.array([0.5, 0, 0.2]))
    law, method, error = roc_auc_law(*prepared, no_draws, kind="gauss")
    delta = delta_moments(prepared.ranks)
    assert isinstance(law, NormalLaw)
    assert (law.mean, law.sd, method) == (delta.mean, delta.sd, "matched normal law")
    assert law.undefined_prob == pytest.approx(0.4)
    assert math.isnan(error)


def test_refits_of_the_matched_normal_are_a_mixture():
    evaluation = EvaluationSet([1, 0, *[None] * 30], np.arange(32))
    belief = impute(evaluation, "prevalence", n_refits=4, rng=0)
    law, _, _ = roc_auc_law(*prepare(evaluation, belief), no_draws, kind="gauss")
    assert isinstance(law, MixtureLaw)
    assert len(law.components) == 4


def test_where_no_draw_is_defined_the_law_still_has_its_moments():
    prepared = prepare(EvaluationSet([None] * 300, np.arange(300)), np.full(300, 1e-9))
    law, method, error = roc_auc_law(*prepared, lambda: np.full(50, np.nan), kind="sampled")
    assert law.mean == pytest.approx(0.5, abs=1e-6)
    assert 0.0 <= float(law.quantile(0.025)) < float(law.quantile(0.975)) <= 1.0
    assert "no draw being defined" in method
    assert math.isnan(error)


@pytest.mark.parametrize("kind", ["enumerated", "lattice"])
def test_a_kind_that_does_not_serve_is_refused(kind):
    n = 3_000
    prepared = prepare(EvaluationSet(np.full(n, np.nan), np.arange(n)), np.full(n, 0.5))
    with pytest.raises(ValueError, match=rf"`kind` must serve these rows; '{kind}' does not"):
        roc_auc_law(*prepared, no_draws, kind=kind)
    with pytest.raises(ValueError, match="`kind` must be one of"):
        roc_auc_law(*prepared, no_draws, kind="normal")


#: Cells that have told right laws from wrong ones: few levels, rare positives, a plain case.
QUICK = [
    (None, 0.1, 100),
    (None, 0.01, 300),
    (None, 0.5, 300),
    (None, 0.1, 1_000),
    (2, 0.5, 300),
    (3, 0.5, 300),
    (5, 0.5, 300),
    (20, 0.003, 300),
]


@pytest.mark.parametrize(("n_levels", "prevalence", "m"), QUICK)
def test_laws_are_as_near_as_they_say(n_levels, prevalence, m):
    row = V07.check(n_levels, prevalence, m, n_draws=50_000)
    # The reference has its own error here, 0.0087 with probability 99.9%.
    assert V07.is_honest(row, V07.SLACK + row["noise"]), row


@pytest.mark.parametrize(("planted", "n_levels", "prevalence", "m"), V07.PLANTED)
def test_planted_errors_are_found(planted, n_levels, prevalence, m):
    row = V07.check(n_levels, prevalence, m, n_draws=50_000, planted=planted)
    assert not V07.is_honest(row, V07.SLACK + row["noise"]), row


def test_billions_of_rows_overflow_no_count() -> None:
    def law(count: int) -> tuple[float, float]:
        rows = EvaluationSet([1, 0, None, 1, 0], [0.9, 0.1, 0.5, 0.4, 0.6], count=[count] * 5)
        found = estimate_pemi(
            rows, impute(rows, [0.3] * 5), metrics=["roc_auc"], n_draws=100, rng=0
        )["roc_auc"]
        return found.mean, found.sd * math.sqrt(count)

    assert law(10**9) == pytest.approx(law(10**6), rel=1e-5)
