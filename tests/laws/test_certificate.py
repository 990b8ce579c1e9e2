"""The certificate of the matched normal: exact distances below it, in every configuration."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws import kolmogorov
from labelbayes.laws.certificate import RatioSums, certify, certify_sizes, ratio_sums
from labelbayes.laws.count_metrics import exact_law
from labelbayes.laws.kolmogorov import distance_to_normal
from labelbayes.laws.missing_counts import WeightedP, count_pairs, weigh_missing
from labelbayes.metrics.confusion import COUNT_METRICS, CountMetric, RatioMetric
from labelbayes.results.count_law import CountLaw
from tests.validation import v05

#: Oracles, item 04: distances by dynamic programming, and the certificate on a grid of 20,001
#: points plus P(W = 0), a lower value of the supremum that it stands for.
CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).with_name("oracles") / "normal_distance.json").read_text(encoding="utf-8")
)["cases"]
ON_A_GRID = {
    "review_falsification_n20_p_odd_.9_alpha0_beta1": 0.484039,
    "review_falsification_n20_p_odd_.9_alpha5_beta10": 0.484039,
    "review_falsification_n20_p_odd_.9_alpha0_beta0": 0.484039,
    "review_falsification_n20_p_even_.9_alpha0_beta1": 0.484039,
    "review_falsification_n20_p_even_.9_alpha5_beta10": 0.484039,
    "review_falsification_n20_p_even_.9_alpha0_beta0": 0.484039,
    "recall_m20": 0.29032,
    "f1_m20": 0.29032,
    "precision_m20": 0.29032,
    "accuracy_m20": 0.181871,
    "specificity_m20": 0.290321,
    "recall_m60": 0.149701,
    "f1_m60": 0.136004,
    "precision_m60": 0.136004,
    "accuracy_m60": 0.100666,
    "specificity_m60": 0.149701,
    "recall_m200": 0.082797,
    "f1_m200": 0.082797,
    "precision_m200": 0.082797,
    "accuracy_m200": 0.054379,
    "specificity_m200": 0.082797,
    "rare_positives_recall_beta0": 1.0,
    "tiny_m3_recall": 0.666644,
    "all_missing_predicted_positive_recall": 0.260193,
    "p_half_m400_recall": 0.039598,
}


def _sums_and_law(case: dict[str, Any]) -> tuple[RatioSums, CountLaw]:
    rows = [*case["rows"], {"a": 0, "b": 0, "p": []}][:2]
    sides = [WeightedP(np.array([row["p"]]), np.ones(len(row["p"]), dtype=int)) for row in rows]
    top, bottom = (np.array([float(row[key]) for row in rows]) for key in ("a", "b"))
    expected = np.array([side.p[0].sum() for side in sides])
    spread = [side.p[0] * (1 - side.p[0]) for side in sides]

    def value(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        z = case["alpha"] + top[0] * tp + top[1] * fn
        w = case["beta"] + bottom[0] * tp + bottom[1] * fn
        return np.where(w != 0, z, np.nan) / np.where(w != 0, w, 1.0)

    metric = CountMetric("ratio", "the denominator is 0", value)
    law = CountLaw(metric, (0, 0, 0, 0), sides[0].law(0), sides[1].law(0))
    sums = RatioSums(
        float(case["alpha"] + top @ expected),
        float(case["beta"] + bottom @ expected),
        top,
        bottom,
        np.array([v.sum() for v in spread]),
        np.array([(v * (1 - 2 * v)).sum() for v in spread]),
        case["prob_den_zero"],
    )
    return sums, law


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_certificate_lies_between_the_distance_and_the_grid(case: dict[str, Any]) -> None:
    sums, law = _sums_and_law(case)
    assert [sums.mean, sums.sd] == pytest.approx([case["mu"], case["sigma"]], abs=1e-12)
    found = distance_to_normal(law, sums.mean, sums.sd)
    assert found == pytest.approx(case["ks_vs_normal"], abs=1e-10)
    # 0.002: how far apart neighboring points of the bracket are, in probability.
    assert found <= sums.bound() <= ON_A_GRID[case["name"]] + 0.002


def test_the_case_that_falsified_the_published_proof() -> None:
    case = next(case for case in CASES if case["name"].endswith("odd_.9_alpha0_beta1"))
    sums, law = _sums_and_law(case)
    assert distance_to_normal(law, sums.mean, sums.sd) == pytest.approx(0.1140, abs=1e-4)
    assert 0.4 < sums.bound() < 0.4845


SETS = v05.configurations(60, most=400)


def test_no_distance_exceeds_its_certificate() -> None:
    assert sum(v05.violations(v05.certified(one)) for one in SETS) == 0


def test_a_constant_that_is_too_small_is_caught() -> None:
    assert sum(v05.planted_violations(one) for one in SETS) > 10


def test_a_metric_that_is_always_one_is_a_point() -> None:
    # No row predicted positive: specificity is TN / TN, whose slope is 0 up to round-off.
    p = np.random.default_rng(0).beta(1, 5, 244)
    evaluation = EvaluationSet(np.full(244, np.nan), y_pred=np.zeros(244, dtype=int))
    row = certify(evaluation, impute(evaluation, p), metrics=["specificity"]).iloc[0]
    found = row[["mean", "sd", "distance", "bound"]].tolist()
    assert found == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e-15)


def test_many_pairs_are_bracketed_from_above(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation, p = SETS[0]
    pair = count_pairs(evaluation, impute(evaluation, p))
    for name in ("f1", "accuracy"):
        law = exact_law(COUNT_METRICS[name], evaluation.counts, pair)
        assert isinstance(law, CountLaw)
        listed = distance_to_normal(law, law.mean, law.sd)
        monkeypatch.setattr(kolmogorov, "MOST_PAIRS", 0)
        assert listed <= distance_to_normal(law, law.mean, law.sd) + 1e-12
        most = listed * (1 + kolmogorov.SHARE) + kolmogorov.TOLERANCE
        assert distance_to_normal(law, law.mean, law.sd) <= most
        monkeypatch.undo()


def test_a_point_has_distance_zero_and_nothing_missing_needs_no_size() -> None:
    complete = EvaluationSet([1, 0, 1, 0], y_pred=[1, 0, 0, 0])
    belief = impute(complete, np.full(4, 0.5))
    table = certify(complete, belief)
    assert (table[["sd", "distance", "bound"]] == 0).all(axis=None)
    assert not table["is_trivial"].any()
    assert certify_sizes(complete, belief).isna().all(axis=None)


def test_undefined_for_certain_says_nothing() -> None:
    evaluation = EvaluationSet([1, None, 0], y_pred=[0, 0, 0])
    row = certify(evaluation, impute(evaluation, np.full(3, 0.5))).loc["precision"]
    assert row["is_trivial"]
    assert row["undefined_prob"] == 1
    assert np.isnan([row["mean"], row["bound"]]).all()


def test_fieller_ends_exist_only_where_the_denominator_is_surely_positive() -> None:
    rare = EvaluationSet([None] * 12, y_pred=[1] * 6 + [0] * 6)
    row = certify(rare, impute(rare, np.full(12, 0.05)), metrics=["recall"]).loc["recall"]
    assert np.isnan(row["fieller_low"])
    assert row["is_trivial"]
    evaluation, p = SETS[1]
    row = certify(evaluation, impute(evaluation, p), metrics=["f1"]).loc["f1"]
    assert row["fieller_low"] < row["mean"] < row["fieller_high"]
    assert row["ci_prob"] == 0.95


def test_sizes_reach_their_level_and_one_row_less_does_not() -> None:
    evaluation, p = SETS[2]
    belief = impute(evaluation, p)
    sizes = certify_sizes(evaluation, belief, metrics=["recall"], levels=(0.1, 0.02))
    assert list(sizes.columns) == [0.1, 0.02]
    metric = COUNT_METRICS["recall"]
    assert isinstance(metric, RatioMetric)
    rows = weigh_missing(evaluation, belief)
    sums = ratio_sums(metric, evaluation.counts, rows)
    for level, size in sizes.loc["recall"].items():
        m = evaluation.n_unlabeled
        assert sums.scaled(size / m).bound() < float(str(level))
        assert sums.scaled((size - 1) / m).bound() >= float(str(level))


def test_counts_are_repeated_rows() -> None:
    evaluation, p = SETS[3]
    twice = EvaluationSet(evaluation.y_true, y_pred=evaluation.y_pred, count=[2] * len(p))
    rows = np.repeat(np.arange(len(p)), 2)
    listed = EvaluationSet(evaluation.y_true[rows], y_pred=evaluation.y_pred[rows])
    one = certify(twice, impute(twice, p))
    other = certify(listed, impute(listed, p[rows]))
    assert np.allclose(one.to_numpy(float), other.to_numpy(float), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("metrics", "sentence"),
    [
        (["matthews_corrcoef"], "ratios of sums of labels; got 'matthews_corrcoef'. Ratios are"),
        (["roc_auc"], "must be count metrics; got 'roc_auc'. Ratios are"),
    ],
)
def test_what_is_no_ratio_is_refused(metrics: list[str], sentence: str) -> None:
    evaluation, p = SETS[0]
    with pytest.raises(ValueError, match=sentence):
        certify(evaluation, impute(evaluation, p), metrics=metrics)


def test_counts_of_another_set_are_refused() -> None:
    evaluation, p = SETS[0]
    other = EvaluationSet(evaluation.y_true[1:], y_pred=evaluation.y_pred[1:])
    with pytest.raises(ValueError, match="`imputation` must be made from this evaluation"):
        certify(other, impute(evaluation, p))


@pytest.mark.parametrize(
    ("levels", "error", "sentence"),
    [
        (0.1, TypeError, "`levels` must be a list; got 0.1 alone"),
        ([], ValueError, "one or more different levels"),
        ([0.1, 0.1], ValueError, "one or more different levels"),
    ],
)
def test_levels_are_a_list(levels: Any, error: type[Exception], sentence: str) -> None:
    rows = EvaluationSet([1, 0, None], y_pred=[1, 0, 1])
    with pytest.raises(error, match=sentence):
        certify_sizes(rows, impute(rows, "maxent"), levels=levels)
