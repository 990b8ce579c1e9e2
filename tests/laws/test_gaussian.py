"""Matched normals and Fieller's law against enumerated moments; exact laws against both."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.gaussian import fieller_law, gaussian_law, normal_law
from labelbayes.laws.missing_counts import CountPair, count_pairs
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.laws.poisson_binomial import poisson_binomial
from labelbayes.metrics.confusion import COUNT_METRICS, CountMetric, RatioMetric
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.count_law import CountLaw
from labelbayes.results.mixture import MixtureLaw


def _read(name: str) -> list[dict[str, Any]]:
    path = Path(__file__).with_name("oracles") / name
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return cases


# Oracle item03 (moments by enumeration, or by the joint count law at 40 digits).
GAUSSIAN = _read("gaussian_laws.json")
# Oracle item04 (exact law by dynamic programming over integer pairs).
DISTANCE = _read("normal_distance.json")


def known_and_pair(case: dict[str, Any]) -> tuple[Counts, CountPair]:
    evaluation = EvaluationSet(
        [np.nan if y is None else y for y in case["y_true"]], y_pred=case["y_pred"]
    )
    belief = impute(evaluation, [0.5 if q is None else q for q in case["p_missing"]])
    return evaluation.counts, count_pairs(evaluation, belief)[0]


@pytest.mark.parametrize("case", GAUSSIAN, ids=lambda case: case["name"])
def test_matched_normals_are_those_of_the_oracle(case: dict[str, Any]) -> None:
    known, pair = known_and_pair(case)
    assert case["laws"]
    for name, wanted in case["laws"].items():
        law = normal_law(COUNT_METRICS[name], known, pair)
        if wanted["mu"] is None:
            assert law.is_undefined
            assert law.undefined_reason == COUNT_METRICS[name].undefined_when
            continue
        assert law.mean == pytest.approx(wanted["mu"], abs=1e-10)
        assert law.sd == pytest.approx(wanted["sigma"], abs=1e-10)
        for q, value in wanted.get("normal_quantiles", {}).items():
            inside = min(max(value, 0.0), 1.0)
            assert law.quantile(float(q)) == pytest.approx(inside, abs=1e-10)
        if "normal_p_ge_0_8" in wanted:
            assert law.prob_at_least(0.8) == pytest.approx(wanted["normal_p_ge_0_8"], abs=1e-10)


@pytest.mark.parametrize("case", GAUSSIAN, ids=lambda case: case["name"])
def test_fieller_laws_are_those_of_the_oracle(case: dict[str, Any]) -> None:
    known, pair = known_and_pair(case)
    for name, wanted in case["laws"].items():
        metric = COUNT_METRICS[name]
        assert isinstance(metric, RatioMetric)
        law = fieller_law(metric, known, pair)
        if wanted["mu"] is None:
            assert law.is_undefined
            continue
        assert law.sd == pytest.approx(wanted["sigma"], abs=1e-10)
        for t, value in wanted.get("fieller_cdf", {}).items():
            assert law.cdf(float(t)) == pytest.approx(value, abs=1e-10)
        for q, value in wanted.get("fieller_quantiles_clipped", {}).items():
            if value is not None:
                assert law.quantile(float(q)) == pytest.approx(value, abs=1e-10)


def test_a_wrong_moment_is_caught_by_the_oracle() -> None:
    case = json.loads(json.dumps(GAUSSIAN[0]))
    case["laws"]["recall"]["sigma"] += 1e-9
    with pytest.raises(AssertionError):
        test_matched_normals_are_those_of_the_oracle(case)
    with pytest.raises(AssertionError):
        test_fieller_laws_are_those_of_the_oracle(case)


def weights_of(case: dict[str, Any]) -> list[tuple[float, float]]:
    """Weights (a, b) of the rows taken for predicted positive and for predicted negative."""
    return [(row["a"], row["b"]) for row in [*case["rows"], {"a": 0, "b": 0}][:2]]


def ratio_of(case: dict[str, Any]) -> tuple[CountMetric, CountPair]:
    """Write Z/W of an item04 case, with at most two kinds of rows, as a metric of tp and fn."""
    (a1, b1), (a0, b0) = weights_of(case)

    def value(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        z, w = case["alpha"] + a1 * tp + a0 * fn, case["beta"] + b1 * tp + b0 * fn
        return np.where(w != 0, z, np.nan) / np.where(w != 0, w, 1.0)

    p = [np.array(row["p"], dtype=float) for row in [*case["rows"], {"p": []}][:2]]
    metric = CountMetric("ratio", "the denominator is 0", value)
    return metric, (poisson_binomial(p[0]), poisson_binomial(p[1]))


def distance(case: dict[str, Any]) -> tuple[CountLaw, float, float, float, float]:
    """Exact law of an item04 case, its matched moments, and two distances from its list."""
    metric, (u, v) = ratio_of(case)
    law = CountLaw(metric, (0, 0, 0, 0), u, v)
    atoms = law.atoms()
    (a1, b1), (a0, b0) = weights_of(case)
    z, w = case["alpha"] + a1 * u.mean + a0 * v.mean, case["beta"] + b1 * u.mean + b0 * v.mean
    mean = z / w
    var_z, cov, var_w = (
        c1 * u.variance + c0 * v.variance
        for c1, c0 in [(a1 * a1, a0 * a0), (a1 * b1, a0 * b0), (b1 * b1, b0 * b0)]
    )
    sd = np.sqrt(var_z - 2 * mean * cov + mean * mean * var_w) / w
    above = np.cumsum(atoms.pmf)
    below = above - atoms.pmf
    x = atoms.support
    spread = np.sqrt(np.maximum(var_z - 2 * x * cov + x * x * var_w, 1e-300))
    steps = [ndtr((x - mean) / sd), ndtr((x * w - z) / spread)]
    normal, fieller = (max(abs(above - s).max(), abs(below - s).max()) for s in steps)
    return law, float(mean), float(sd), float(normal), float(fieller)


@pytest.mark.parametrize("case", DISTANCE, ids=lambda case: case["name"])
def test_all_25_exact_laws_and_their_distance_from_the_normal(case: dict[str, Any]) -> None:
    law, mean, sd, normal, fieller = distance(case)
    assert law.undefined_prob == pytest.approx(case["prob_den_zero"], abs=1e-13)
    assert law.mean == pytest.approx(case["exact_mean"], abs=1e-12)
    assert law.sd == pytest.approx(case["exact_sd"], abs=1e-12)
    assert mean == pytest.approx(case["mu"], abs=1e-12)
    assert sd == pytest.approx(case["sigma"], abs=1e-12)
    assert normal == pytest.approx(case["ks_vs_normal"], abs=1e-11)
    assert fieller == pytest.approx(case["ks_vs_fieller"], abs=1e-9)


#: Cases of item04 that are metrics of the registry, of the sizes that take no time.
NAMED = [
    case
    for case in DISTANCE
    if case["name"].split("_m")[0] in COUNT_METRICS and not case["name"].endswith("m200")
]


@pytest.mark.parametrize("case", NAMED, ids=lambda case: case["name"])
def test_registry_metrics_and_their_normals_reach_the_same_distance(case: dict[str, Any]) -> None:
    metric = COUNT_METRICS[case["name"].split("_m")[0]]
    assert isinstance(metric, RatioMetric)
    n1, n0 = (len(row["p"]) for row in case["rows"])
    # Known cells (tp, fp, fn, tn) with numerator alpha and denominator beta; masked rows that
    # are negative stand in FP and TN.
    weights = np.array([metric.numerator, metric.denominator])
    wanted = np.array([case["alpha"], case["beta"]]) - weights @ [0, n1, 0, n0]
    cells, *_ = np.linalg.lstsq(weights, wanted, rcond=None)
    pair = tuple(poisson_binomial(np.array(row["p"])) for row in case["rows"])
    law = CountLaw(metric, tuple(cells), pair[0], pair[1])
    counts = Counts(*cells, n1, n0)
    normal = normal_law(metric, counts, (pair[0], pair[1]))
    assert law.mean == pytest.approx(case["exact_mean"], abs=1e-11)
    assert law.sd == pytest.approx(case["exact_sd"], abs=1e-11)
    assert [normal.mean, normal.sd] == pytest.approx([case["mu"], case["sigma"]], abs=1e-11)
    unclipped = replace(normal, lowest=-9.0, highest=9.0)
    x = law.atoms().support
    gaps = [
        abs(law.cdf(x) - unclipped.cdf(x)).max(),
        max(abs(1 - law.prob_at_least(t) - float(unclipped.cdf(t))) for t in x),
    ]
    assert max(gaps) == pytest.approx(case["ks_vs_normal"], abs=1e-9)


def test_normals_of_metrics_that_are_no_ratio_use_the_slope() -> None:
    rng = np.random.default_rng(2)
    known = Counts(400, 80, 120, 300, 500, 700)
    pair = poisson_binomial(rng.random(500)), poisson_binomial(rng.random(700))
    for name in ("matthews_corrcoef", "balanced_accuracy", "cohen_kappa"):
        metric = COUNT_METRICS[name]
        exact = CountLaw(metric, (400, 80, 120, 300), *pair)
        normal = normal_law(metric, known, pair)
        assert normal.mean == pytest.approx(exact.mean, abs=0.02 * exact.sd)
        assert normal.sd == pytest.approx(exact.sd, rel=0.01)
        assert normal.lowest == metric.lowest


def test_one_pair_is_a_normal_and_several_are_a_mixture() -> None:
    known = Counts(4, 1, 2, 3, 6, 5)
    pairs = [
        (poisson_binomial(np.full(6, p)), poisson_binomial(np.full(5, p / 2))) for p in (0.3, 0.6)
    ]
    metric = COUNT_METRICS["f1"]
    one, two = gaussian_law(metric, known, pairs[:1]), gaussian_law(metric, known, pairs)
    assert isinstance(one, NormalLaw)
    assert isinstance(two, MixtureLaw)
    assert two.mean == pytest.approx(
        np.mean([gaussian_law(metric, known, [p]).mean for p in pairs])
    )


def test_nothing_missing_is_a_point() -> None:
    evaluation = EvaluationSet([1, 0, 1, 0], y_pred=[1, 1, 0, 0])
    laws = estimate_pemi(evaluation, impute(evaluation, "maxent"), method="gauss")
    assert all(law.sd == 0.0 and law.interval().width == 0.0 for law in laws.values())
    assert laws["accuracy"].mean == 0.5
