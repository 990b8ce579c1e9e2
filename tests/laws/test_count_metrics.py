"""Exact laws of count metrics against enumerated completions."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.beta_binomial import beta_binomial
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.metrics.confusion import COUNT_METRICS, fbeta
from labelbayes.results.count_law import CountLaw
from labelbayes.results.distribution import Law
from labelbayes.results.integer_law import IntegerLaw

METRICS = [*COUNT_METRICS.values(), fbeta(0.5)]
NAMES = [metric.name for metric in METRICS]
ORACLES = Path(__file__).with_name("oracles")


def _read(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((ORACLES / name).read_text(encoding="utf-8"))["cases"]
    return cases


# Oracle item01 (enumeration in exact rationals, 60-digit decimals rounded to 15 digits).
CONFUSION = _read("confusion_laws.json")
# Oracle item11 (rational beta-binomials).
BETA_BINS = _read("beta_bins.json")


def estimate(
    y_true: Any, y_pred: Any, p: Any, metrics: Any = METRICS, count: Any = None
) -> dict[str, Law]:
    evaluation = EvaluationSet(
        [np.nan if y is None else y for y in y_true], y_pred=y_pred, count=count
    )
    belief = impute(evaluation, [0.5 if q is None else q for q in p])
    return dict(estimate_pemi(evaluation, belief, metrics=metrics))


def check_against(law: Law, wanted: dict[str, Any], tolerance: float = 1e-12) -> None:
    """Compare a law with an entry of item01 or item11; None stands for undefined."""
    assert law.undefined_prob == pytest.approx(wanted["undefined_prob"], abs=tolerance)
    if wanted["mean"] is None:
        assert law.is_undefined
        assert law.undefined_reason
        return
    assert law.mean == pytest.approx(wanted["mean"], abs=tolerance)
    assert law.sd == pytest.approx(wanted["sd"], abs=tolerance)
    assert law.prob_at_least(0.8) == pytest.approx(wanted["p_ge_0_8"], abs=tolerance)
    for level, value in wanted["quantiles"].items():
        found, q = float(law.quantile(float(level))), float(level)
        if wanted["quantile_margin"] >= 1e-12:
            assert found == pytest.approx(value, abs=tolerance)
        else:  # the cdf equals q to the last bits: either neighbor is right
            assert law.cdf(found) >= q - 1e-12
            assert law.cdf(found - 1e-9) <= q + 1e-12
    if "support" in wanted and isinstance(law, CountLaw):
        atoms = law.atoms()
        assert atoms.support == pytest.approx(wanted["support"], abs=tolerance)
        assert atoms.pmf == pytest.approx(wanted["pmf"], abs=tolerance)


@pytest.mark.parametrize("case", CONFUSION, ids=lambda case: case["name"])
def test_laws_are_those_of_the_oracle(case: dict[str, Any]) -> None:
    laws = estimate(case["y_true"], case["y_pred"], case["p_missing"], list(COUNT_METRICS))
    assert laws.keys() == case["laws"].keys()
    for name, wanted in case["laws"].items():
        check_against(laws[name], wanted)


def test_a_wrong_probability_is_caught_by_the_oracle() -> None:
    case = CONFUSION[0]
    p = [None if q is None else q + 1e-10 for q in case["p_missing"]]
    law = estimate(case["y_true"], case["y_pred"], p, ["recall"])["recall"]
    with pytest.raises(AssertionError):
        check_against(law, case["laws"]["recall"])


def bin_means(case: dict[str, Any]) -> tuple[list[float], list[int]]:
    """Posterior mean and decision of each masked row of an item11 case."""
    p: list[float] = []
    decision: list[int] = []
    for b in case["bins"]:
        a_post, b_post = case["prior_a"] + b["successes"], case["prior_b"] + b["failures"]
        size = b["masked_pred_pos"] + b["masked_pred_neg"]
        p += [a_post / (a_post + b_post)] * size
        decision += [1] * b["masked_pred_pos"] + [0] * b["masked_pred_neg"]
    return p, decision


@pytest.mark.parametrize("case", BETA_BINS, ids=lambda case: case["name"])
def test_rows_with_rates_of_their_own_follow_the_posterior_mean(case: dict[str, Any]) -> None:
    p, decision = bin_means(case)
    cells = [case["known_confusion"][cell] for cell in ("tp", "fp", "fn", "tn")]
    y_true = [*np.repeat([1.0, 0.0, 1.0, 0.0], cells), *[None] * len(p)]
    y_pred = [*np.repeat([1, 1, 0, 0], cells), *decision]
    p = [*[0.5] * sum(cells), *p]
    laws = estimate(y_true, y_pred, p)
    for name, wanted in case["independent_row_rates"].items():
        check_against(laws[name], wanted)


def convolved(laws: list[IntegerLaw]) -> IntegerLaw:
    """Law of a sum of independent counts whose windows are whole."""
    pmf, n = np.ones(1), 0
    for law in laws:
        whole = np.zeros(law.n + 1)
        whole[law.start : law.stop] = law.pmf
        pmf, n = np.convolve(pmf, whole), n + law.n
    mean, variance = (
        float(sum(getattr(law, what) for law in laws)) for what in ("mean", "variance")
    )
    return IntegerLaw(0, pmf, n, mean, variance, float(pmf[0]), float(pmf[-1]))


@pytest.mark.parametrize(
    "case",
    [case for case in BETA_BINS if "shared_bin_rate" in case],
    ids=lambda case: case["name"],
)
def test_bins_on_one_side_share_their_rate(case: dict[str, Any]) -> None:
    known = tuple(case["known_confusion"][cell] for cell in ("tp", "fp", "fn", "tn"))
    sides = [
        convolved(
            [
                beta_binomial(
                    b[side], case["prior_a"] + b["successes"], case["prior_b"] + b["failures"]
                )
                for b in case["bins"]
            ]
        )
        for side in ("masked_pred_pos", "masked_pred_neg")
    ]
    for name, wanted in case["shared_bin_rate"].items():
        check_against(CountLaw(COUNT_METRICS[name], known, *sides), wanted)


@st.composite
def small_sets(draw: st.DrawFn) -> tuple[list[float], list[int], list[float]]:
    n = draw(st.integers(1, 12))
    labels = draw(st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=n, max_size=n))
    first_missing = np.flatnonzero(np.isnan(labels))[8:]  # at most 8 are missing
    y_true = [1.0 if i in first_missing else y for i, y in enumerate(labels)]
    y_pred = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    p = draw(
        st.lists(
            st.one_of(st.floats(0.001, 0.999), st.sampled_from([0.0, 1.0, 0.5])),
            min_size=n,
            max_size=n,
        )
    )
    return y_true, y_pred, p


@given(case=small_sets())
@settings(max_examples=20, deadline=None)
def test_laws_are_those_of_enumeration(
    case: tuple[list[float], list[int], list[float]],
    enumerate_law: Callable[..., Any],
    law_faults: Callable[..., list[str]],
) -> None:
    laws = estimate(*case)
    for metric in METRICS:
        assert law_faults(laws[metric.name], enumerate_law(metric, *case)) == []


def test_a_wrong_law_is_caught_by_enumeration(
    enumerate_law: Callable[..., Any], law_faults: Callable[..., list[str]]
) -> None:
    y_true, y_pred = [1, 0, np.nan, np.nan, np.nan], [1, 1, 1, 0, 0]
    listed = enumerate_law(COUNT_METRICS["recall"], y_true, y_pred, [0.5, 0.5, 0.3, 0.2, 0.6])
    wrong = estimate(y_true, y_pred, [0.5, 0.5, 0.3, 0.2, 0.6 + 1e-9], ["recall"])["recall"]
    faults = law_faults(wrong, listed)
    assert {fault.split(":")[0] for fault in faults} >= {"mean", "sd", "cdf at atoms"}
    moved = listed._replace(support=np.sort(1 - listed.support))
    right = estimate(y_true, y_pred, [0.5, 0.5, 0.3, 0.2, 0.6], ["recall"])["recall"]
    assert any(fault.startswith("quantile") for fault in law_faults(right, moved))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_nothing_missing_gives_the_ordinary_metric_without_spread(metric: Any) -> None:
    rng = np.random.default_rng(4)
    y_true, y_pred = rng.integers(0, 2, 30), rng.integers(0, 2, 30)
    law = estimate(y_true, y_pred, rng.random(30), [metric])[metric.name]
    (tn, fp), (fn, tp) = sklearn.metrics.confusion_matrix(y_true, y_pred)
    assert law.mean == pytest.approx(float(metric(tp, fp, fn, tn)), abs=1e-12)
    assert law.sd == 0.0
    assert law.interval().width == 0.0
    assert law.undefined_prob == 0.0


def test_all_missing_needs_only_p(
    enumerate_law: Callable[..., Any], law_faults: Callable[..., list[str]]
) -> None:
    case = ([np.nan] * 6, [1, 1, 1, 0, 0, 0], [0.9, 0.6, 0.7, 0.2, 0.4, 0.1])
    for name, law in estimate(*case).items():
        listed = enumerate_law(METRICS[NAMES.index(name)], *case)
        assert law_faults(law, listed) == []


def test_one_labeled_positive_gives_a_finite_answer() -> None:
    laws = estimate([1.0, None, None, None], [1, 1, 0, 0], [None, 0.5, 0.2, 0.1])
    for law in laws.values():
        assert np.isfinite([law.mean, law.sd, *law.quantile([0.025, 0.975])]).all()
        assert law.sd > 0


def summary(laws: dict[str, Law]) -> np.ndarray:
    return np.array(
        [
            [law.undefined_prob, law.mean, law.sd, *law.quantile([0.025, 0.5, 0.975]), law.cdf(0.6)]
            for law in laws.values()
        ]
    )


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, decisions and probabilities of 400 rows; the masked ones in sixes."""
    rng = np.random.default_rng(8)
    n = 400
    y_true = np.where(rng.random(n) < 0.3, rng.integers(0, 2, n), np.nan)
    return y_true, rng.integers(0, 2, n), rng.choice([0.1, 0.35, 0.7, 0.95], n)


def test_the_order_of_rows_changes_nothing(rows: tuple[np.ndarray, ...]) -> None:
    order = np.random.default_rng(0).permutation(400)
    shuffled = estimate(*(values[order] for values in rows))
    assert summary(shuffled) == pytest.approx(summary(estimate(*rows)), abs=1e-12)


def test_a_row_split_by_multiplicity_changes_nothing(rows: tuple[np.ndarray, ...]) -> None:
    distinct, count = np.unique(np.nan_to_num(np.array(rows), nan=-1.0), axis=1, return_counts=True)
    y_true = np.where(distinct[0] == -1, np.nan, distinct[0])
    grouped = estimate(y_true, distinct[1].astype(int), distinct[2], count=count)
    assert len(count) < 30
    assert summary(grouped) == pytest.approx(summary(estimate(*rows)), abs=1e-12)


MIRRORED = {
    "recall": "specificity",
    "precision": "npv",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced_accuracy",
    "matthews_corrcoef": "matthews_corrcoef",
    "cohen_kappa": "cohen_kappa",
}


def test_swapping_the_classes_mirrors_the_laws(rows: tuple[np.ndarray, ...]) -> None:
    y_true, y_pred, p = rows
    laws, swapped = estimate(y_true, y_pred, p), estimate(1 - y_true, 1 - y_pred, 1 - p)
    for name, mirror in MIRRORED.items():
        pair = {name: laws[name]}, {name: swapped[mirror]}
        assert summary(pair[0]) == pytest.approx(summary(pair[1]), abs=1e-12)
        assert mirror == name or laws[name].mean != pytest.approx(swapped[name].mean, abs=1e-3)


def test_knowing_a_label_is_p_of_0_or_1(rows: tuple[np.ndarray, ...]) -> None:
    y_true, y_pred, p = rows
    told = np.where(np.isnan(y_true), p, y_true)
    nothing_known = estimate(np.full(400, np.nan), y_pred, told)
    assert summary(nothing_known) == pytest.approx(summary(estimate(*rows)), abs=1e-12)
