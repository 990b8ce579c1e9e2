"""Bounds from known positives: attained, never left, indifferent to order, honest at the edges."""

import inspect
import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import labelbayes.bounds.score_blocks as score_blocks
from labelbayes.bounds.beta_prior import Audit, BetaPrior
from labelbayes.bounds.positive_unlabeled import (
    bound_negative_unlabeled,
    bound_positive_unlabeled,
)
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.metrics.ranking import RankingMetric, roc_auc

METRICS = ["accuracy", "precision", "recall", "f1", "matthews_corrcoef"]


def all_ends(result) -> list[float]:
    bounds = result.bounds()
    return [end for span in bounds.values() for end in (span.low, span.high)]


@pytest.mark.parametrize("has_ties", [True, False])
def test_areas_are_attained_and_nothing_lies_beyond(placements, has_ties) -> None:
    n_attained = 0
    for case in placements(1, 60, has_ties=has_ties, most=8):
        result = bound_positive_unlabeled(case.evaluation, case.beta, band=(case.low, case.high))
        if not case.labelings:
            with pytest.raises(ValueError, match="contradict the data"):
                result.auc()
            continue
        score = case.evaluation.y_score
        found = result.average_precision()
        precisions = [average_precision_score(y, score) for y in case.labelings]
        assert found.low <= min(precisions) + 1e-12
        assert found.high >= max(precisions) - 1e-12
        if not has_ties:
            assert [found.low, found.high] == pytest.approx([min(precisions), max(precisions)])
        if case.labelings[0].all():
            assert math.isnan(result.auc().low)
            continue
        areas = [roc_auc_score(y, score) for y in case.labelings]
        area = result.auc()
        assert [area.low, area.high] == pytest.approx([min(areas), max(areas)], abs=1e-12)
        n_attained += 1
    assert n_attained >= 7


def test_curves_and_metrics_are_attained_cutoff_by_cutoff(placements) -> None:
    for case in placements(2, 25, most=9):
        if not case.labelings:
            continue
        result = bound_positive_unlabeled(case.evaluation, case.beta, band=(case.low, case.high))
        frame = result.roc().iloc[1:]
        pairs = result.precision_recall()
        score, labels = case.evaluation.y_score, np.array(case.labelings)
        for place, cut in enumerate(frame["threshold"]):
            called = score >= cut
            recall = labels[:, called].sum(axis=1) / labels.sum(axis=1)
            precision = labels[:, called].mean(axis=1)
            row, pair = frame.iloc[place], pairs.iloc[place]
            assert [row["tpr_low"], row["tpr_high"]] == pytest.approx([recall.min(), recall.max()])
            ends = [pair["precision_low"], pair["precision_high"]]
            assert ends == pytest.approx([precision.min(), precision.max()])
            bounds = result.at(cut, METRICS)
            for name in METRICS:
                tables = [confusion(y, called) for y in case.labelings]
                values = COUNT_METRICS[name](*np.array(tables).T)
                if not np.isnan(values).all():
                    # The band at one cutoff allows at least what the whole band allows.
                    assert bounds[name].low <= np.nanmin(values) + 1e-12
                    assert bounds[name].high >= np.nanmax(values) - 1e-12


def confusion(y: np.ndarray, called: np.ndarray) -> list[float]:
    return [
        (y[called] == 1).sum(),
        (y[called] == 0).sum(),
        (y[~called] == 1).sum(),
        (y[~called] == 0).sum(),
    ]


def test_metrics_at_one_cutoff_are_attained_without_a_band(placements) -> None:
    for case in placements(3, 20, most=7):
        n_scores = len(case.low)
        band = (np.zeros(n_scores), np.ones(n_scores))
        result = bound_positive_unlabeled(case.evaluation, case.beta, band=band)
        hidden = np.isnan(case.evaluation.y_true)
        called = case.evaluation.y_pred == 1
        n_above, n = (hidden & called).sum(), hidden.sum()
        above = np.arange(max(0, case.n_latent - (n - n_above)), min(n_above, case.n_latent) + 1)
        known = case.evaluation.counts
        values = COUNT_METRICS["f1"](
            known.tp + above,
            known.fp + n_above - above,
            known.fn + case.n_latent - above,
            known.tn + n - n_above - case.n_latent + above,
        )
        span = result.at(metrics=["f1"])["f1"]
        assert [span.low, span.high] == pytest.approx([values.min(), values.max()])


def test_the_order_of_rows_and_the_form_of_counts_change_nothing(known_sets) -> None:
    evaluation = known_sets(300, n_known=20, seed=3, n_negative=5)
    shuffled = np.random.default_rng(0).permutation(300)
    other = EvaluationSet(
        evaluation.y_true[shuffled], evaluation.y_score[shuffled].tolist(), pos_label=1
    )
    distinct, place, count = np.unique(
        np.column_stack([np.nan_to_num(evaluation.y_true, nan=2), evaluation.y_score]),
        axis=0,
        return_index=True,
        return_counts=True,
    )
    counted = EvaluationSet(
        evaluation.y_true[place], evaluation.y_score[place], pos_label=1, count=count
    )
    assert len(distinct) < 300
    expected = all_ends(bound_positive_unlabeled(evaluation, 0.4))
    for twin in (other, counted):
        assert all_ends(bound_positive_unlabeled(twin, 0.4)) == expected


@pytest.mark.parametrize("seed", range(6))
def test_runs_of_unlabeled_rows_change_nothing(monkeypatch, seed, known_sets) -> None:
    evaluation = known_sets(400, n_known=12, seed=seed, n_negative=seed)
    plain = bound_positive_unlabeled(evaluation, 0.35)
    monkeypatch.setattr(score_blocks, "FEW_SCORES", 0)
    merged = bound_positive_unlabeled(evaluation, 0.35)
    assert len(merged.blocks.score) < 0.5 * len(plain.blocks.score)
    assert [merged.auc().low, merged.auc().high] == [plain.auc().low, plain.auc().high]
    here, there = merged.roc().set_index("threshold"), plain.roc().set_index("threshold")
    np.testing.assert_array_equal(there.loc[here.index], here)
    outer, inner = merged.average_precision(), plain.average_precision()
    assert outer.low <= inner.low
    assert outer.high >= inner.high
    # Ties inside a run cost a little; these scores have two decimals.
    assert outer.width - inner.width < 0.03


def test_without_ties_runs_cost_nothing(monkeypatch) -> None:
    rng = np.random.default_rng(8)
    y_true = np.where(rng.random(500) < 0.04, 1.0, np.nan)
    evaluation = EvaluationSet(y_true, rng.normal(size=500) + np.nan_to_num(y_true), pos_label=1)
    plain = bound_positive_unlabeled(evaluation, 0.3).average_precision()
    monkeypatch.setattr(score_blocks, "FEW_SCORES", 0)
    merged = bound_positive_unlabeled(evaluation, 0.3).average_precision()
    assert [merged.low, merged.high] == pytest.approx([plain.low, plain.high], abs=1e-12)


@pytest.mark.parametrize("construction", ["attained", "paper"])
def test_beta_zero_is_unlabeled_as_negative(construction, known_sets) -> None:
    evaluation = known_sets(200, n_known=20, seed=1)
    result = bound_positive_unlabeled(evaluation, 0.0, construction=construction)
    labels = np.nan_to_num(evaluation.y_true)
    expected = roc_auc_score(labels, evaluation.y_score)
    assert [result.auc().low, result.auc().high] == pytest.approx([expected] * 2, abs=1e-12)
    counts = confusion(labels, evaluation.y_pred == 1)
    for name, span in result.at(metrics=METRICS).items():
        value = float(COUNT_METRICS[name](*counts))
        assert [span.low, span.high] == pytest.approx([value] * 2)


def test_beta_one_leaves_what_needs_a_negative_undefined(known_sets) -> None:
    result = bound_positive_unlabeled(known_sets(400, n_known=150, seed=1), 1.0)
    with pytest.raises(ValueError, match="with 250 positives among 250 unlabeled rows"):
        result.auc()
    rows = EvaluationSet([1, None, None], [0.9, 0.5, 0.1])
    everything = bound_positive_unlabeled(rows, 1.0).bounds([*METRICS, "specificity", "roc_auc"])
    assert math.isnan(everything["roc_auc"].low)
    assert everything.undefined_reasons["roc_auc"] == "no row is positive, or none is negative"
    assert everything.undefined_reasons["specificity"] == "no row is negative"
    assert everything["precision"].low == everything["precision"].high == 1


def test_nothing_unlabeled_is_the_metric() -> None:
    rng = np.random.default_rng(2)
    y_true, score = rng.integers(0, 2, 40), rng.integers(0, 9, 40)
    result = bound_positive_unlabeled(EvaluationSet(y_true, score, threshold=4), 0.3).bounds()
    assert result["roc_auc"].low == pytest.approx(roc_auc_score(y_true, score), abs=1e-12)
    assert result["average_precision"].high == pytest.approx(
        average_precision_score(y_true, score), abs=1e-12
    )
    assert all(span.width == pytest.approx(0, abs=1e-12) for span in result.values())


def test_constant_scores_are_half() -> None:
    result = bound_positive_unlabeled(EvaluationSet([1, None, None, None], [0.3] * 4), 1 / 3)
    assert [result.auc().low, result.auc().high] == [0.5, 0.5]
    precision = result.average_precision()
    assert [precision.low, precision.high] == [0.5, 0.5]


@pytest.mark.parametrize("construction", ["attained", "paper"])
def test_the_true_distribution_of_ranks_gives_the_truth(construction) -> None:
    rng = np.random.default_rng(9)
    truth = np.arange(300) < 120
    score = rng.normal(truth, 1.0).round(1)
    y_true = np.full(300, np.nan)
    y_true[:20] = 1
    hidden = truth & np.isnan(y_true)
    distinct = np.unique(score)[::-1]
    share = np.array([(score[hidden] >= cut).mean() for cut in distinct])
    result = bound_positive_unlabeled(
        EvaluationSet(y_true, score, pos_label=1),
        hidden.sum() / 280,
        band=(share, share),
        construction=construction,
    )
    area = roc_auc_score(truth, score)
    assert [result.auc().low, result.auc().high] == pytest.approx([area, area], abs=1e-12)
    called = score >= 0.5
    assert result.at(0.5)["precision"].low == pytest.approx(truth[called].mean())


ALTERNATIVES = {
    "band": "dkw",
    "ci_prob": 0.5,
    "construction": "paper",
    "scar_violation": 0.1,
    "target": "population",
}


@pytest.mark.parametrize("function", [bound_positive_unlabeled, bound_negative_unlabeled])
def test_every_option_bites(function, known_sets) -> None:
    evaluation = known_sets(160, n_known=8, seed=1, n_negative=9)
    options = [p for p in inspect.signature(function).parameters if p not in ("evaluation", "beta")]
    assert set(options) | {"target"} == set(ALTERNATIVES)
    beta = 0.2 if function is bound_positive_unlabeled else 0.8
    plain = function(evaluation, beta).bounds(["precision", "roc_auc"])
    for option in options:
        changed = function(evaluation, beta, **{option: ALTERNATIVES[option]})
        other = changed.bounds(["precision", "roc_auc"])
        assert (plain["precision"], plain["roc_auc"]) != (other["precision"], other["roc_auc"])
    assert function(evaluation, beta).at()["f1"] != function(evaluation, 0.5).at()["f1"]


@pytest.mark.parametrize(
    ("function", "name", "other"),
    [
        (bound_positive_unlabeled, "positive-unlabeled", "negative-unlabeled"),
        (bound_negative_unlabeled, "negative-unlabeled", "positive-unlabeled"),
    ],
)
def test_bounds_are_called_by_the_labels_that_carry_them(function, name, other, known_sets) -> None:
    result = function(known_sets(60, n_known=8, seed=1, n_negative=9), 0.5)
    shown = [result.method, repr(result), result._repr_html_(), repr(result.at())]
    shown += [bounds.method for bounds in (result.bounds(), result.at())]
    shown += result.summary()["method"].tolist()
    assert all(name in text and other not in text for text in shown)


def test_the_paper_is_up_to_one_row_wider(known_sets) -> None:
    evaluation = known_sets(160, n_known=8, seed=2)
    tight = bound_positive_unlabeled(evaluation, 0.4, band="dkw").auc()
    loose = bound_positive_unlabeled(evaluation, 0.4, band="dkw", construction="paper").auc()
    assert loose.low < tight.low < tight.high < loose.high
    # The paper's counts do not join to one labeling, which costs a second row.
    n_positive = 8 + round(0.4 * 152)
    assert tight.low - loose.low < 2 * 160 / (n_positive * (160 - n_positive))


def test_a_violation_of_scar_is_added_to_the_band(known_sets) -> None:
    evaluation = known_sets(160, n_known=10, seed=2)
    plain = bound_positive_unlabeled(evaluation, 0.25, band="dkw")
    moved = bound_positive_unlabeled(evaluation, 0.25, band="dkw", scar_violation=0.1)
    known = evaluation.counts
    for side, result in (("low", plain), ("low", moved)):
        recall = getattr(result.at(metrics=["recall"])["recall"], side)
        share = known.tp / 10 - math.sqrt(math.log(40) / 20) - (0.1 if result is moved else 0.0)
        n_latent = round(0.25 * known.n_unlabeled)
        count = known.tp + max(math.ceil(share * n_latent - 1e-9), 0)
        assert recall == pytest.approx(count / (10 + n_latent))


def test_levels_are_joint_and_said(known_sets) -> None:
    evaluation = known_sets(160, n_known=10, seed=2)
    one = bound_positive_unlabeled(evaluation, 0.4)
    both = bound_positive_unlabeled(evaluation, BetaPrior(40, 60))
    assert (one.band.level, both.band.level) == (0.95, 0.975)
    assert (both.beta.low, both.beta.high) == (
        BetaPrior(40, 60).interval(0.975).low,
        BetaPrior(40, 60).interval(0.975).high,
    )
    assert both.notes[0].endswith("Joint level at least 95%: band 97.5%, beta 97.5%.")
    assert "not identified" in one.notes[1]
    assert not any("not identified" in note for note in both.notes)
    assert str(one.auc()).endswith("(95% bounds)")
    given = bound_positive_unlabeled(EvaluationSet([1, None], [0.9, 0.1]), 0, band=([0, 0], [1, 1]))
    assert math.isnan(given.auc().ci_prob)
    assert given.notes[0].endswith("(SCAR). band as given, beta as given.")


def test_contradictions_are_reported_with_the_numbers() -> None:
    # All known positives rank below all unlabeled rows: hardly any of these can be positive.
    y_true = [None] * 60 + [1] * 60
    evaluation = EvaluationSet(y_true, np.arange(120)[::-1], threshold=60)
    with pytest.raises(ValueError, match=r"30 positives among 60 unlabeled rows no labeling fits"):
        bound_positive_unlabeled(evaluation, 0.5).auc()
    some = bound_positive_unlabeled(evaluation, (0.0, 0.5)).bounds(["roc_auc"])
    assert any("numbers of latent positives in the range contradict" in n for n in some.notes)


def test_decisions_that_are_all_alike_are_flagged() -> None:
    rows = EvaluationSet([1, None, None], [0.9, 0.8, 0.7])
    result = bound_positive_unlabeled(rows, 0.5)
    assert "Every row is called positive: recall is 1 whatever the labels are." in result.at().notes
    assert "No row is called positive: precision is undefined." in result.at(2.0).notes
    assert math.isnan(result.at(2.0)["precision"].low)


def test_decisions_stand_in_for_scores() -> None:
    rows = EvaluationSet([1, 1, None, None, None], y_pred=[1, 0, 1, 0, 0])
    result = bound_positive_unlabeled(rows, 1 / 3)
    assert len(result.roc()) == 3
    assert "roc_auc" not in result.bounds()
    with pytest.raises(ValueError, match="`threshold` needs scores"):
        result.at(0.5)


def test_faults_are_named() -> None:
    rows = EvaluationSet([1, None, None], [0.9, 0.8, 0.1])
    for call, error, match in [
        (lambda: bound_positive_unlabeled([1], 0.5), TypeError, "`evaluation` must be an Eval"),
        (lambda: bound_positive_unlabeled(rows, 1.5), ValueError, r"`beta` must lie in \[0, 1\]"),
        (lambda: bound_positive_unlabeled(rows, (0.5, 0.1)), ValueError, "low first; got"),
        (lambda: bound_positive_unlabeled(rows, "half"), TypeError, "got str"),
        (lambda: bound_positive_unlabeled(rows, Audit(2, 2)), ValueError, "4 audited rows and 2"),
        (lambda: bound_positive_unlabeled(rows, 0.5, band="ks"), ValueError, "`band` must be one"),
        (lambda: bound_positive_unlabeled(rows, 0.5, band=([0], [1])), ValueError, "distinct"),
        (
            lambda: bound_positive_unlabeled(rows, 0.5, band=[[0, 0, 0], [1, 1, 1]]),
            TypeError,
            "a tuple of two arrays, .low, high.; got list",
        ),
        *(
            (
                lambda low=low: bound_positive_unlabeled(rows, 0.5, band=(low, [1, 1, 1])),
                TypeError,
                r"`band\[0\]` must hold numbers, one share per distinct score",
            )
            for low in ("abc", ["a", 0, 0], [[0], [0, 1], 1], [0j, 0, 0])
        ),
        (
            lambda: bound_positive_unlabeled(rows, 0.5).at(0.5, ["roc_auc"]),
            ValueError,
            "must be count metrics; got 'roc_auc'. An area has no cutoff",
        ),
        (
            lambda: bound_positive_unlabeled(rows, 0.5).bounds(
                [RankingMetric("lift", "never", roc_auc)]
            ),
            ValueError,
            "got 'lift', whose bounds are not known",
        ),
        (
            lambda: bound_positive_unlabeled(rows, 0.5, band=([0, 0.6, 0], [1, 0.5, 1])),
            ValueError,
            "at position 1 low is 0.6 and high 0.5",
        ),
        (
            lambda: bound_positive_unlabeled(rows, 0.5, band=([0, 0, 0], [1, 2, 1])),
            ValueError,
            "got 2.0 at position 1",
        ),
        (
            lambda: bound_positive_unlabeled(rows, 0.5, scar_violation=2),
            ValueError,
            "scar_violation",
        ),
    ]:
        with pytest.raises(error, match=match):
            call()


def test_a_contradiction_is_shown_and_not_raised_by_a_look() -> None:
    rows = EvaluationSet([1] * 30 + [None] * 30, [0.9] * 30 + [0.1] * 30)
    result = bound_positive_unlabeled(rows, 0.9)
    with pytest.raises(ValueError, match="contradict the data") as raised:
        result.summary()
    assert str(raised.value) in repr(result)
    assert "contradict the data at this cutoff" in result._repr_html_()
