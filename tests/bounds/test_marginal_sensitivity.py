"""Marginal sensitivity bounds: oracles, vertices, their two limits, coverage, tipping points."""

import inspect
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelbayes.bounds.marginal_sensitivity import (
    bound_marginal_sensitivity,
    marginal_sensitivity,
    tipping_marginal_sensitivity,
)
from labelbayes.bounds.odds_limits import limit_slopes, odds_limits
from labelbayes.bounds.worst_case import bound_worst_case
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.simulate_selection import simulate_selection
from labelbayes.imputation.impute import impute
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.laws.rungs import RungInputs
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.metrics.registry import resolve_metrics
from labelbayes.weighting.aipw import estimate_aipw, tilt
from labelbayes.weighting.ipw import estimate_ipw

# Oracles, item 10: extremes over all vertices of the weights, and by a linear program.
ORACLE: dict[str, dict[str, Any]] = {
    case["name"]: case
    for case in json.loads(
        Path(__file__).with_name("marginal_sensitivity_oracle.json").read_text(encoding="utf-8")
    )["cases"]
}
MADE = simulate_selection(500, floor=0.15, rng=17)
COUNT = ["accuracy", "precision", "recall", "f1", "specificity", "npv", "matthews_corrcoef"]


@pytest.mark.parametrize("name", ["msm_n9", "msm_n11"])
def test_extremes_of_hajek_are_those_of_the_oracle(name: str) -> None:
    case = ORACLE[name]
    evaluation = EvaluationSet(case["y_true_labelled"], y_pred=case["y_pred"])
    for row in case["expected"]["rows"]:
        expected = {"accuracy": row["accuracy_vertices"], **row["ratio_metrics"]}
        found = bound_marginal_sensitivity(
            evaluation, None, row["Lambda"], propensity=case["pi"], metrics=list(expected)
        )
        for metric, (low, high) in expected.items():
            assert (found[metric].low, found[metric].high) == pytest.approx((low, high), abs=1e-12)
        plain = estimate_ipw(evaluation, case["pi"], metrics=list(expected))
        if row["Lambda"] == 1.0:
            for metric, law in plain.items():
                assert found[metric].low == pytest.approx(law.mean, abs=1e-12)


def test_limits_are_those_of_the_oracle() -> None:
    for row in ORACLE["msm_sharp_binary_p"]["rows"]:
        low, high = odds_limits([row["m"]], row["Lambda"])
        assert (low[0], high[0]) == pytest.approx((row["p_lo"], row["p_hi"]), abs=1e-15)


def test_limits_are_what_selection_by_the_odds_ratio_allows() -> None:
    """Scan P(labeled | x, y) itself: odds within a factor, and the right mean over y."""
    g = 2.5
    for m, pi in itertools.product((0.1, 0.5, 0.8), (0.3, 0.7)):
        # P(labeled | y): pi = share of labels; the odds of each y within a factor g of pi's.
        odds = pi / (1 - pi)
        found = []
        for factor in np.geomspace(1 / g, g, 2_001):
            e1 = odds * factor / (1 + odds * factor)  # P(labeled | y = 1)
            # P(y = 1) over all rows from P(y = 1 | labeled) = m, then what is left of y = 0.
            positive = m * pi / e1
            e0 = (1 - m) * pi / (1 - positive) if positive < 1 else math.nan
            ratio = e0 / (1 - e0) / odds if 0 < e0 < 1 else math.nan
            if 1 / g - 1e-9 <= ratio <= g + 1e-9:
                found.append((positive - m * pi) / (1 - pi))
        low, high = odds_limits([m], g)
        assert min(found) == pytest.approx(low[0], abs=2e-3)
        assert max(found) == pytest.approx(high[0], abs=2e-3)


def test_slopes_are_derivatives_of_the_limits() -> None:
    m, step = np.array([0.05, 0.2, 0.5, 0.7, 0.95]), 1e-6
    for g in (1.0, 2.0, 5.0):
        ahead, here = odds_limits(m + step, g), odds_limits(m, g)
        for end, takes_high in ((0, False), (1, True)):
            slope = (ahead[end] - here[end]) / step
            found = limit_slopes(m, g, np.full(5, takes_high))
            assert found == pytest.approx(slope, abs=1e-6)


def expected_value(name: str, evaluation: EvaluationSet, p: np.ndarray) -> float:
    """Metric of expected counts, or area by pairs of rows, a row's pair with itself half won."""
    e = np.where(evaluation.is_labeled, evaluation.y_true, p)
    if name in COUNT_METRICS:
        psi = evaluation.y_pred
        cells = (e @ psi, (1 - e) @ psi, e @ (1 - psi), (1 - e) @ (1 - psi))
        return float(COUNT_METRICS[name](*cells))
    score = evaluation.y_score
    wins = (score[:, None] > score[None, :]) + 0.5 * (score[:, None] == score[None, :])
    off = 1.0 - np.eye(len(e))
    pairs = np.outer(e, 1 - e) * off
    return float((pairs * wins).sum() / pairs.sum())


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_extremes_over_every_vertex(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 11
    score = rng.integers(0, 6, n).astype(float) if seed % 2 else rng.random(n)
    label = np.where(rng.random(n) < 0.4, rng.integers(0, 2, n), np.nan)
    label[:2] = [0, 1]
    evaluation = EvaluationSet(label, score, threshold=float(np.median(score)))
    m = rng.uniform(0.05, 0.95, n)
    low, high = odds_limits(m, 3.0)
    missing = np.flatnonzero(~evaluation.is_labeled)
    metrics = [*COUNT, "roc_auc"]
    found = bound_marginal_sensitivity(evaluation, m, 3.0, metrics=metrics)
    values = {metric: [] for metric in metrics}
    for corner in itertools.product([False, True], repeat=len(missing)):
        p = m.copy()
        p[missing] = np.where(corner, high[missing], low[missing])
        for metric in metrics:
            values[metric].append(expected_value(metric, evaluation, p))
    for metric in metrics:
        span = found[metric]
        # The area is exact but for pairs of a row with itself.
        slack = 0.5 / n if metric == "roc_auc" else 1e-12
        assert np.nanmin(values[metric]) == pytest.approx(span.low, abs=slack), metric
        assert np.nanmax(values[metric]) == pytest.approx(span.high, abs=slack), metric
        # Attained: no bound lies beyond what some labeling probabilities give.
        assert span.low >= np.nanmin(values[metric]) - 1e-12
        assert span.high <= np.nanmax(values[metric]) + 1e-12


def test_area_by_cuts_is_exact_where_self_pairs_are_few() -> None:
    """A search over single rows finds nothing beyond the best cut by more than 1 / n^2."""
    evaluation, rng = MADE.evaluation, np.random.default_rng(0)
    limits = odds_limits(MADE.outcome, 2.0)
    span = bound_marginal_sensitivity(evaluation, MADE.outcome, 2.0, metrics=["roc_auc"])["roc_auc"]
    rank = np.argsort(np.argsort(evaluation.y_score)).astype(float)
    p = np.where(rng.random(500) < 0.5, limits.high, limits.low)
    for _ in range(8):
        value = expected_value("roc_auc", evaluation, p)
        e = np.where(evaluation.is_labeled, evaluation.y_true, p)
        # Raise a row where positives at its rank win more than the area asks for.
        gain = rank - e.sum() - value * (500 - 2 * e.sum())
        p = np.where(gain > 0, limits.high, limits.low)
    assert span.high == pytest.approx(expected_value("roc_auc", evaluation, p), abs=4 / 500**2)


def test_one_is_missing_at_random_and_large_is_the_worst_case() -> None:
    metrics = [*COUNT, "roc_auc"]
    both = bound_marginal_sensitivity(
        MADE.evaluation, MADE.outcome, 1.0, propensity=MADE.propensity, metrics=metrics
    )
    for metric, span in both.items():
        assert span.high - span.low < 1e-12
        assert math.isnan(span.ci_prob)
        assert metric in metrics
    # With y in the place of the labeled rows' m, AIPW and the corrected bounds meet.
    aipw = estimate_aipw(MADE.evaluation, MADE.propensity, MADE.outcome, metrics=metrics)
    for metric, law in aipw.items():
        assert both[metric].low == pytest.approx(law.mean, abs=1e-12)
    wide = bound_marginal_sensitivity(MADE.evaluation, MADE.outcome, 1e9, metrics=COUNT)
    worst = bound_worst_case(MADE.evaluation, metrics=COUNT)
    for metric, span in worst.items():
        assert (wide[metric].low, wide[metric].high) == pytest.approx(
            (span.low, span.high), abs=1e-6
        )


def test_one_tilt_lies_strictly_inside_and_bounds_are_nested() -> None:
    g = 2.0
    spans = [
        bound_marginal_sensitivity(MADE.evaluation, MADE.outcome, ratio)
        for ratio in (1.0, 1.5, g, 4.0)
    ]
    for metric in spans[0]:
        lows = [found[metric].low for found in spans]
        highs = [found[metric].high for found in spans]
        assert lows == sorted(lows, reverse=True)
        assert highs == sorted(highs)
    limits = odds_limits(MADE.outcome, g)
    for ratio in (1 / g, g):
        tilted = tilt(MADE.outcome, ratio)
        assert (limits.low < tilted).all()
        assert (tilted < limits.high).all()
        for metric in ("recall", "roc_auc", "f1"):
            value = expected_value(metric, MADE.evaluation, tilted)
            span = spans[2][metric]
            assert span.low < value < span.high


def test_laws_under_the_ends_bracket_laws_between() -> None:
    """The p-box: more positives among predicted positives and fewer among others, in law."""
    evaluation, rng = MADE.evaluation, np.random.default_rng(3)
    limits = odds_limits(MADE.outcome, 2.0)
    above = evaluation.y_pred == 1
    best, worst = (
        estimate_pemi(evaluation, impute(evaluation, p), metrics=COUNT[:4])
        for p in (
            np.where(above, limits.high, limits.low),
            np.where(above, limits.low, limits.high),
        )
    )
    between = estimate_pemi(
        evaluation, impute(evaluation, rng.uniform(limits.low, limits.high)), metrics=COUNT[:4]
    )
    grid = np.linspace(0, 1, 401)
    for metric in COUNT[:4]:
        middle = between[metric].cdf(grid)
        assert (best[metric].cdf(grid) <= middle + 1e-12).all()
        assert (middle <= worst[metric].cdf(grid) + 1e-12).all()


def test_row_order_and_counts_change_nothing() -> None:
    rng = np.random.default_rng(2)
    order, count = rng.permutation(500), rng.integers(1, 4, 500)
    rows = np.repeat(np.arange(500), count)
    tied = EvaluationSet(MADE.evaluation.y_true, np.round(MADE.evaluation.y_score, 1))
    for target in ("sample", "population"):
        for p in (None, MADE.propensity):

            def run(taken, index, p=p, target=target):
                return bound_marginal_sensitivity(
                    taken,
                    MADE.outcome[index],
                    2.0,
                    propensity=None if p is None else p[index],
                    target=target,
                )

            plain = run(tied, np.arange(500))
            shuffled = run(tied._take(order), order)
            counted = run(tied._take(np.arange(500), count=count), np.arange(500))
            repeated = run(tied._take(rows), rows)
            for one, other in ((plain, shuffled), (counted, repeated)):
                for metric, span in one.items():
                    twin = other[metric]
                    # Cuts inside a step of equal scores differ by less than one copy of a row.
                    slack = 2e-4 if metric == "roc_auc" and one is counted else 1e-12
                    assert (span.low, span.high) == pytest.approx((twin.low, twin.high), abs=slack)


def test_population_intervals_hold_the_bare_bounds() -> None:
    for outcome, p in (
        (MADE.outcome, None),
        (MADE.outcome, MADE.propensity),
        (None, MADE.propensity),
    ):
        bare = bound_marginal_sensitivity(MADE.evaluation, outcome, 2.0, propensity=p)
        wide = bound_marginal_sensitivity(
            MADE.evaluation, outcome, 2.0, propensity=p, target="population"
        )
        wider = bound_marginal_sensitivity(
            MADE.evaluation, outcome, 2.0, propensity=p, target="population", ci_prob=0.99
        )
        for metric, span in bare.items():
            assert wider[metric].low < wide[metric].low < span.low
            assert span.high < wide[metric].high < wider[metric].high
            assert wide[metric].ci_kind == "confidence"
            assert span.ci_kind == "sensitivity"
        assert wide.statement == bare.statement == "sensitivity"
        assert any("outcome model is taken as exact" in note for note in wide.notes) is (p is None)
        assert bare.notes[0].startswith("If the odds of a positive among missing rows differ from")
        assert any("bounds of what the metric is expected to be" in one for one in bare.notes)


def test_a_tipping_point_tips() -> None:
    for outcome, p in ((MADE.outcome, None), (None, MADE.propensity)):
        start = bound_marginal_sensitivity(MADE.evaluation, outcome, 1.0, propensity=p)
        claim = start["precision"].low - 0.05
        ratio = tipping_marginal_sensitivity(
            MADE.evaluation, outcome, "precision", claim, propensity=p
        )
        at = bound_marginal_sensitivity(MADE.evaluation, outcome, ratio, propensity=p)
        assert at["precision"].low == pytest.approx(claim, abs=1e-9)
        assert ratio > 1
    assert tipping_marginal_sensitivity(MADE.evaluation, MADE.outcome, "precision", 0.999) == 1.0
    assert math.isnan(tipping_marginal_sensitivity(MADE.evaluation, MADE.outcome, "recall", 0.01))


ROWS = EvaluationSet([1, 0, None, 1], [0.9, 0.8, 0.7, 0.2])
REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    ([0.5] * 4, {"max_odds_ratio": 0.5}, r"an odds ratio at least 1; got 0\.5\."),
    (None, {}, r"`outcome` or `propensity` must be given"),
    ([0.5] * 4, {"metrics": ["average_precision"]}, r"'average_precision' has none\.$"),
    (None, {"metrics": ["roc_auc"], "propensity": [0.5] * 4}, r"has none without an outcome model"),
    (None, {"metrics": ["cohen_kappa"], "propensity": [0.5] * 4}, r"'cohen_kappa' has none with"),
    ([0.5] * 3, {}, r"`outcome` must hold one probability per row, shape \(4,\)"),
    ([0.5] * 4, {"target": "all"}, r"`target` must be one of"),
    ([0.5] * 4, {"ci_prob": 95}, r"Write 0\.95 for 95%\.$"),
]


@pytest.mark.parametrize(("outcome", "options", "sentence"), REFUSED)
def test_bad_input_is_one_sentence(outcome: Any, options: dict[str, Any], sentence: str) -> None:
    given = {"max_odds_ratio": 2.0} | options
    with pytest.raises(ValueError, match=sentence):
        bound_marginal_sensitivity(ROWS, outcome, given.pop("max_odds_ratio"), **given)


def test_undefined_is_nan_with_a_reason() -> None:
    nobody = EvaluationSet([1, None], y_pred=[0, 0])
    for target in ("sample", "population"):
        found = bound_marginal_sensitivity(nobody, [0.5, 0.5], 2.0, target=target)
        row = found.summary().loc["precision"]
        assert math.isnan(row["low"])
        assert row["undefined_reason"] == "no row is predicted positive"


def test_every_argument_bites() -> None:
    base = bound_marginal_sensitivity(MADE.evaluation, MADE.outcome, 2.0)
    others = {
        "propensity": MADE.propensity,
        "metrics": ["npv"],
        "target": "population",
    }
    names = [
        name
        for name, parameter in inspect.signature(bound_marginal_sensitivity).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    assert set(names) == {*others, "ci_prob"}  # ci_prob: see the population's intervals
    for option, value in others.items():
        other = bound_marginal_sensitivity(MADE.evaluation, MADE.outcome, 2.0, **{option: value})
        assert dict(other.items()) != dict(base.items()), option


def test_the_rung() -> None:
    given = RungInputs(
        MADE.evaluation,
        resolve_metrics(None, has_score=True),
        "sample",
        None,
        np.random.SeedSequence(0),
        propensity=MADE.propensity,
        outcome=MADE.outcome,
    )
    found = marginal_sensitivity(given)
    assert list(found) == ["accuracy", "precision", "recall", "f1", "roc_auc"]
    twin = bound_marginal_sensitivity(
        MADE.evaluation, MADE.outcome, 2.0, propensity=MADE.propensity
    )
    assert found["f1"] == twin["f1"]


def test_an_end_without_spread_is_not_certain() -> None:
    """Every labeled positive was found: recall is 1 in these rows, and less sure beyond them."""
    rows = EvaluationSet([1, 0, 1, 0, None, None] * 10, y_pred=[1, 0, 1, 1, 1, 0] * 10)
    bounds = bound_marginal_sensitivity(
        rows, None, 2.0, propensity=[0.5] * 60, metrics=["recall"], target="population"
    )
    law = estimate_ipw(rows, [0.5] * 60, metrics=["recall"])["recall"]
    assert bounds["recall"].low == pytest.approx(law.interval(0.95).low)
    assert bounds["recall"].low < 0.9


@pytest.mark.parametrize("target", ["sample", "population"])
def test_bounds_stay_in_the_range_and_say_so(target: str) -> None:
    rows = EvaluationSet([1, 1, 0], [0.7, 0.8, 0.1])
    bounds = bound_marginal_sensitivity(
        rows, [0.5] * 3, 2.0, propensity=[0.5] * 3, metrics=["accuracy"], target=target
    )
    assert 0 <= bounds["accuracy"].low <= bounds["accuracy"].high == 1
    assert any("leave [0, 1]" in note and "cut at the range" in note for note in bounds.notes)


def test_a_claim_about_an_undefined_metric_is_refused() -> None:
    rows = EvaluationSet([0, 0, None, 0], y_pred=[0, 0, 0, 0])
    with pytest.raises(ValueError, match=r"`metric` must be defined .* precision is not"):
        tipping_marginal_sensitivity(rows, [0.5] * 4, "precision", 0.5)


def test_the_corrected_tip_is_where_the_reported_bound_crosses() -> None:
    rng = np.random.default_rng(3)
    m = np.clip(MADE.outcome + rng.normal(0, 0.1, 500), 0.01, 0.99)
    given = {"propensity": MADE.propensity}
    base = estimate_aipw(MADE.evaluation, MADE.propensity, m, metrics=["f1"])["f1"].mean
    claim = base - 0.05
    tip = tipping_marginal_sensitivity(MADE.evaluation, m, "f1", claim, **given)
    for ratio, is_below in ((tip * 0.999, False), (tip * 1.001, True)):
        found = bound_marginal_sensitivity(MADE.evaluation, m, ratio, metrics=["f1"], **given)
        assert (found["f1"].low < claim) is is_below
