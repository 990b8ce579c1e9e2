"""The ladder: the same data under every assumption, and what it leaves out."""

import dataclasses
import html
import importlib
import inspect
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from labelbayes.bounds.beta_prior import Audit
from labelbayes.bounds.worst_case import bound_worst_case
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.ladder import RUNGS, ladder
from labelbayes.laws import rungs
from labelbayes.laws.labeled import estimate_labeled, estimate_shared_rate
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.estimates import Estimates
from labelbayes.results.ladder import Ladder, ladder_rows, ladder_text
from labelbayes.results.sentences import INDEPENDENCE, MISSING_AT_RANDOM, THRESHOLD, TRAINED_ROWS

RNG = np.random.default_rng(3)
SCORE = RNG.beta(0.8, 1.1, 200)
TRUTH = (RNG.random(200) < SCORE).astype(float)
LABELS = np.where(RNG.random(200) < 0.4, TRUTH, np.nan)
ROWS = EvaluationSet(LABELS, SCORE)
COMPLETE = EvaluationSet(TRUTH, SCORE)
FOUR = ["accuracy", "precision", "recall", "f1"]
NAMES = [
    "worst case",
    "labeled rows only",
    "coin flips (MaxEnt)",
    "shared unknown rate",
    "prevalence",
    "calibration taken as known",
    "calibration with its uncertainty",
]


@pytest.fixture(scope="module")
def steps() -> Ladder:
    return ladder(ROWS, metrics=FOUR, truth=COMPLETE, rng=0)


def test_the_defaults_rank_where_there_is_a_score() -> None:
    steps = ladder(ROWS, truth=COMPLETE, rng=0)
    assert steps.metrics == (*FOUR, "roc_auc", "average_precision")
    assert steps.truth is not None
    assert steps.truth["roc_auc"] == pytest.approx(roc_auc_score(TRUTH, SCORE), abs=1e-12)
    for result in steps.results.values():
        span = result.records()["roc_auc"]
        assert 0 <= span["low"] <= span["high"] <= 1
    decided = ladder(EvaluationSet(LABELS, y_pred=ROWS.y_pred), rng=0)
    assert decided.metrics == tuple(FOUR)


def test_rungs_climb_from_nothing_to_full_belief(steps: Ladder) -> None:
    assert list(steps.results) == NAMES
    assert [rung.name for rung in RUNGS if not rung.options] == NAMES
    assert steps.assumptions["worst case"] == "nothing"
    assert list(steps.assumptions) == NAMES
    assert steps.left_out == {}
    assert steps.metrics == ("accuracy", "precision", "recall", "f1")


def test_each_rung_is_its_estimator(steps: Ladder) -> None:
    twins = {
        "worst case": bound_worst_case(ROWS, metrics=FOUR),
        "labeled rows only": estimate_labeled(ROWS, metrics=FOUR),
        "coin flips (MaxEnt)": estimate_pemi(ROWS, impute(ROWS, "maxent"), metrics=FOUR),
        "shared unknown rate": estimate_shared_rate(ROWS, metrics=FOUR),
        "calibration taken as known": estimate_pemi(ROWS, impute(ROWS, n_refits=0), metrics=FOUR),
    }
    ends = ["mean", "sd", "low", "high"]
    for name, twin in twins.items():
        ours, theirs = steps.results[name].summary()[ends], twin.summary()[ends]
        assert ours.to_numpy() == pytest.approx(theirs.to_numpy(), abs=1e-12, nan_ok=True)


def test_every_law_lies_within_the_worst_case(steps: Ladder) -> None:
    bounds = steps.results["worst case"]
    for name in NAMES[1:]:
        frame = steps.results[name].summary()
        for metric in steps.metrics:
            assert bounds[metric].low <= frame.loc[metric, "low"]
            assert frame.loc[metric, "high"] <= bounds[metric].high


def test_uncertain_calibration_is_wider_than_known(steps: Ladder) -> None:
    known, refitted = (steps.results[name].summary()["sd"] for name in NAMES[-2:])
    assert (refitted > known).all()


def test_table_names_target_statement_and_truth(steps: Ladder) -> None:
    table = steps.table()
    assert table.index.names == ["rung", "metric"]
    assert len(table) == 7 * 4
    assert set(table["target"]) == {"sample"}
    assert set(table["statement"]) == {"bounds", "predictive"}
    counts = COMPLETE.counts
    accuracy = (counts.tp + counts.tn) / 200
    assert (table.xs("accuracy", level="metric")["truth"] == accuracy).all()
    assert "truth" not in ladder(ROWS, metrics=["f1"], rng=0).table()
    assert set(steps.table(0.5)["ci_prob"].dropna()) == {0.5}


def test_verdict_weighs_assumptions_against_noise(steps: Ladder) -> None:
    assert steps.verdict.startswith("From rung to rung assumptions move the estimate of accuracy")
    means = steps.table().xs("recall", level="metric")["mean"].dropna()
    span = means.max() - means.min()
    assert f"recall by {span:.3f} ({means.min():.3f} to {means.max():.3f})" in steps.verdict
    assert steps.verdict.count("data noise by") == 4


def weighted(**values: float) -> Estimates:
    """Estimates of a user's own, as weights give them: at any value."""
    laws = {metric: NormalLaw(value, 0.05) for metric, value in values.items()}
    return Estimates(laws, "weights", "propensity is right", "sample", "confidence", 80, 120)


def worst(steps: Ladder, metric: str) -> tuple[str, float]:
    """The worst case of a metric as text, and its upper end."""
    span = steps.results["worst case"][metric]
    return f"[{span.low:.3g}, {span.high:.3g}]", span.high


def test_an_estimate_that_no_labels_give_moves_nothing(steps: Ladder) -> None:
    (recall, _), (f1, high), (_, top) = (worst(steps, m) for m in ("recall", "f1", "accuracy"))
    assert high < 0.999
    far = {"weights": weighted(recall=1.2, f1=high + 1e-3, accuracy=top + 1e-12)}
    beside = ladder(ROWS, metrics=FOUR, extra=far, rng=0)
    means = steps.table()["mean"].xs("recall", level="metric").dropna()
    span = f"recall by {means.max() - means.min():.3f} ({means.min():.3f} to {means.max():.3f})"
    assert span in beside.verdict
    assert beside.verdict.endswith(
        "to either side. Not counted, since no labels give such a value: recall by weights "
        f"(1.200, outside {recall}), f1 by weights ({high + 1e-3:.3f}, outside {f1})."
    )
    # The noise is that of the last rung that is counted; one is there by rounding and is counted.
    last = steps.results[NAMES[-1]].records()["recall"]
    assert f"{span}, data noise by {(last['high'] - last['low']) / 2:.3f} to" in beside.verdict
    assert f"to {top:.3f})" in beside.verdict.split("; ")[0]
    # Inside the range the same rung moves the metric: without the rule the verdict would differ.
    near = ladder(ROWS, metrics=FOUR, extra={"weights": weighted(f1=high - 1e-6)}, rng=0)
    assert f"to {high:.3f}), data noise" in near.verdict
    assert "Not counted" not in near.verdict + steps.verdict


def test_without_known_labels_everything_is_assumption() -> None:
    nothing = EvaluationSet([None] * 20, np.linspace(0, 1, 20))
    verdict = ladder(nothing, metrics=FOUR, rng=0).verdict
    assert verdict == "No label is known: every number here is assumption."


def test_one_rung_alone_is_no_noise_of_data(steps: Ladder) -> None:
    one = {name: steps.results[name] for name in ("worst case", "shared unknown rate")}
    verdict = dataclasses.replace(steps, results=one).verdict
    assert verdict.count("nowhere (one rung alone estimates it, ") == 4
    assert "data noise" not in verdict


def test_the_range_is_that_of_the_metric() -> None:
    steps = ladder(ROWS, metrics=["matthews_corrcoef", "recall"], rng=0)
    low = steps.results["worst case"]["matthews_corrcoef"].low
    assert low < 0
    extra = {"weights": weighted(matthews_corrcoef=low + 1e-6, recall=low)}
    verdict = ladder(ROWS, metrics=["matthews_corrcoef", "recall"], extra=extra, rng=0).verdict
    assert f"({low:.3f} to " in verdict
    assert verdict.endswith(f"recall by weights ({low:.3f}, outside {worst(steps, 'recall')[0]}).")


def test_a_metric_without_a_possible_estimate_is_moved_nowhere() -> None:
    steps = ladder(ROWS, metrics=["recall"], extra={"weights": weighted(recall=1.2)}, rng=0)
    alone = {name: steps.results[name] for name in ("worst case", "weights")}
    verdict = dataclasses.replace(steps, results=alone).verdict
    assert f"recall nowhere (no estimate lies in {worst(steps, 'recall')[0]})." in verdict


def test_horvitz_thompson_beyond_its_range_is_named() -> None:
    rare = np.where(TRUTH == 1, 0.15, 0.4)
    steps = ladder(ROWS, metrics=["precision", "recall"], propensity=rare, rng=0)
    beyond = steps.results["Horvitz-Thompson"].records()["precision"]["mean"]
    assert beyond > 1
    span = worst(steps, "precision")[0]
    assert f"precision by Horvitz-Thompson ({beyond:.3f}, outside {span})" in steps.verdict
    assert f"to {beyond:.3f})" not in steps.verdict


def test_notes_name_their_rungs_and_stand_once(steps: Ladder) -> None:
    notes = [
        note for note in steps.notes if ": " in note and note.split(": ")[0].split(", ")[0] in NAMES
    ]
    assert notes == list(steps.notes[: len(notes)])
    general = steps.notes[len(notes) :]
    assert general == (INDEPENDENCE, MISSING_AT_RANDOM, TRAINED_ROWS, THRESHOLD)
    said: dict[str, list[str]] = {}
    for rung, result in steps.results.items():
        for sentence in result.notes:
            said.setdefault(sentence, []).append(rung)
    assert any(len(rungs_of) > 1 for rungs_of in said.values())
    assert notes == [f"{', '.join(names)}: {sentence}" for sentence, names in said.items()]
    assert all(html.escape(note) in steps._repr_html_() for note in steps.notes)


def test_nothing_missing_is_one_number() -> None:
    complete = ladder(COMPLETE, metrics=FOUR, rng=0)
    assert complete.verdict == "No label is missing: every rung gives the same number."
    table = complete.table()
    means = table["mean"].fillna(table["low"])
    for metric in complete.metrics:
        values = means.xs(metric, level="metric")
        assert np.ptp(values.to_numpy()) < 1e-12
    assert (table["high"] - table["low"] == 0).all()


def test_what_cannot_be_climbed_is_left_out_with_the_reason() -> None:
    unlabeled = ladder(EvaluationSet([None] * 6, np.linspace(0, 1, 6)), metrics=["accuracy"], rng=0)
    assert list(unlabeled.results) == [
        "worst case",
        "coin flips (MaxEnt)",
        "shared unknown rate",
    ]
    assert unlabeled.left_out.keys() == set(NAMES) - unlabeled.results.keys()
    assert all(reason for reason in unlabeled.left_out.values())
    page = unlabeled._repr_html_()
    assert "Left out, prevalence:" in page
    lines = repr(unlabeled).splitlines()
    said = [f"Left out, {name}: {reason}" for name, reason in unlabeled.left_out.items()]
    assert [line for line in lines if line.startswith("Left out")] == said


def test_own_belief_takes_the_place_of_the_calibration() -> None:
    given = impute(ROWS, np.full(200, 0.9))
    mine = ladder(ROWS, metrics=FOUR, imputation=given, rng=0)
    twin = estimate_pemi(ROWS, given, metrics=FOUR).summary()["mean"]
    ours = mine.results["calibration taken as known"].summary()["mean"]
    assert (ours == twin).all()
    assert mine.left_out == {
        "calibration with its uncertainty": "the given probabilities come without refits"
    }
    refitted = impute(ROWS, "histogram", n_refits=5, rng=0)
    steps = ladder(ROWS, metrics=FOUR, imputation=refitted, rng=0)
    assert steps.results["calibration with its uncertainty"].method.endswith(refitted.method)
    sd = [steps.results[name].summary()["sd"] for name in NAMES[-2:]]
    assert (sd[1] > sd[0]).all()
    notes = " ".join(steps.results["calibration taken as known"].notes)
    assert "Calibration taken as exactly known." in notes


@pytest.mark.parametrize("target", ["sample", "population"])
def test_a_ladder_has_one_target(target: Any) -> None:
    steps = ladder(ROWS, metrics=["precision"], target=target, rng=0)
    assert {result.target for result in steps.results.values()} == {target}
    assert f"(target: {target})" in repr(steps)
    assert f"(target: {target})" in steps._repr_html_()


def test_seeds_give_equal_ladders_and_rungs_of_their_own() -> None:
    first, again, other = (
        ladder(ROWS, metrics=["f1", "roc_auc"], target="population", rng=seed) for seed in (1, 1, 2)
    )
    assert first.table().equals(again.table())
    assert not first.table().equals(other.table())
    removed = RUNGS.pop(1)
    try:
        shorter = ladder(ROWS, metrics=["f1", "roc_auc"], target="population", rng=1)
    finally:
        RUNGS.insert(1, removed)
    kept = shorter.table().loc["prevalence"]
    assert kept.equals(first.table().loc["prevalence"])


def test_text_and_page_hold_every_rung_and_number(steps: Ladder) -> None:
    text, page = repr(steps), steps._repr_html_()
    assert text == "\n".join(
        ["Assumption ladder (target: sample)", ladder_text(steps), "", steps.verdict]
    )
    rows = ladder_rows(steps)
    assert [row[0] for row in rows] == [*NAMES, "truth"]
    for row in rows:
        for cell in (row[0], *row[2:]):
            assert cell in text
        assert row[1].replace("'", "&#x27;") in page
    assert "95% predictive (eti)" in text
    assert "bounds" in text
    assert not any(word in page for word in ("<style", "<svg", "id="))
    assert "(target: sample)" in page
    widths = {line.rstrip() for line in text.splitlines()}
    assert len(widths) > len(rows)


def test_undefined_is_said_once_beside_the_numbers() -> None:
    rare = EvaluationSet([0, 0, None, 0, None], y_pred=[0, 0, 0, 0, 0])
    steps = ladder(rare, metrics=["precision", "recall"], rng=0)
    page = steps._repr_html_()
    assert "precision is undefined here: no row is predicted positive." in page
    assert "In 25.0% of completions recall is undefined" in page
    cells = {row[0]: row[2] for row in ladder_rows(steps)}
    assert set(cells.values()) == {"undefined"}
    assert "precision nowhere (it is undefined)" in steps.verdict
    assert len(steps.notes) == len(set(steps.notes))
    # Every rung says that precision is undefined: one note, with all their names.
    (lost,) = [note for note in steps.notes if "precision is undefined here" in note]
    assert lost.startswith(f"{', '.join(steps.results)}: ")


def test_further_rungs_stand_below_the_built_in_ones() -> None:
    own = estimate_labeled(ROWS, method="bootstrap", rng=0)
    steps = ladder(ROWS, metrics=FOUR, extra={"mine": own}, rng=0)
    assert list(steps.results) == [*NAMES, "mine"]
    assert steps.assumptions["mine"] == own.assumption
    assert steps.results["mine"] is own


def test_a_rung_that_does_not_speak_of_a_metric_leaves_its_cell_empty() -> None:
    own = bound_worst_case(ROWS, metrics=["recall"])
    both = ["precision", "recall"]
    steps = ladder(ROWS, metrics=both, extra={"mine": own}, truth=COMPLETE, rng=0)
    cells = {row[0]: row[2:4] for row in ladder_rows(steps)}
    assert cells["mine"] == ["-", cells["worst case"][1]]
    assert ("mine", "precision") not in steps.table().index
    assert steps.table().loc[("mine", "recall"), "high"] == own["recall"].high
    assert steps.verdict.count("data noise by") == 2


OTHER: dict[str, Any] = {
    "metrics": ["npv"],
    "target": "population",
    "imputation": impute(ROWS, np.full(200, 0.9)),
    "beta": 0.4,
    "propensity": np.full(200, 0.4),
    "outcome": SCORE,
    "soft_labels": SCORE,
    "bayes": True,
    "extra": {"mine": estimate_labeled(ROWS, method="bootstrap", rng=0)},
    "truth": COMPLETE,
    "rng": 1,
}


@pytest.mark.parametrize("option", OTHER)
def test_every_option_bites(option: str, steps: Ladder, monkeypatch: pytest.MonkeyPatch) -> None:
    # What the rungs that sample would give is not the question here, only whether they stand.
    quick = [rung._replace(function=RUNGS[1].function) if rung.options else rung for rung in RUNGS]
    monkeypatch.setattr(importlib.import_module("labelbayes.ladder"), "RUNGS", quick)
    base = steps.table().drop(columns="truth")
    changed = ladder(ROWS, **({"rng": 0, "metrics": FOUR} | {option: OTHER[option]})).table()
    assert not base.equals(changed)


def test_the_table_of_options_is_whole() -> None:
    parameters = inspect.signature(ladder).parameters.values()
    assert {p.name for p in parameters if p.default is not inspect.Parameter.empty} == OTHER.keys()


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda: ladder([1, 0]),  # type: ignore[arg-type]
            TypeError,
            "`evaluation` must be an EvaluationSet; got list.",
        ),
        (
            lambda: ladder(ROWS, target="both"),  # type: ignore[arg-type]
            ValueError,
            "`target` must be one of 'sample', 'population'; got 'both'.",
        ),
        (
            lambda: ladder(ROWS, truth=ROWS),
            ValueError,
            "of 200 are missing. Pass the complete set, or leave it out.",
        ),
        (
            lambda: ladder(ROWS, extra={"prevalence": bound_worst_case(ROWS)}),
            ValueError,
            "`extra` must not reuse the name of a rung; got 'prevalence'.",
        ),
        (
            lambda: ladder(ROWS, extra={"mine": bound_worst_case(ROWS)}, target="population"),
            ValueError,
            "'population'; 'mine' has 'sample'. Make two ladders.",
        ),
        (
            lambda: ladder(
                ROWS, metrics=["npv"], extra={"mine": bound_worst_case(ROWS, metrics=["f1"])}
            ),
            ValueError,
            "'mine' has ['f1'], the ladder ['npv']. Name one in `metrics`.",
        ),
    ],
)
def test_bad_arguments_are_refused(
    call: Callable[[], object], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value).endswith(sentence)


def test_a_ladder_loads_neither_pymc_nor_matplotlib() -> None:
    code = (
        "import sys, labelbayes as lb\n"
        "lb.ladder(lb.EvaluationSet([1, 0, None, 1, 0], [0.9, 0.2, 0.8, 0.4, 0.1]), rng=0)\n"
        "print(*sorted({'pymc', 'arviz', 'matplotlib'} & sys.modules.keys()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert run.stdout.strip() == ""


KNOWN: dict[str, Any] = {
    "propensity": np.full(200, 0.4),
    "outcome": SCORE,
    "soft_labels": SCORE,
}


@pytest.mark.parametrize("target", ["sample", "population"])
def test_what_is_known_beside_the_labels_adds_its_rungs(target: Any) -> None:
    steps = ladder(ROWS, target=target, truth=COMPLETE, rng=0, **KNOWN)
    added = ["marginal sensitivity (odds ratio 2)", "outcome model", "Horvitz-Thompson", "Hajek"]
    assert [*NAMES, *added, "AIPW"] == [name for name in steps.results if name != "optimum"]
    assert ("optimum" in steps.results) is (target == "population")
    for name in (*added, "AIPW"):
        rows = steps.results[name].records()
        assert {"accuracy", "precision", "recall", "f1"} <= rows.keys()
        assert all(row["low"] <= row["high"] for row in rows.values())
    assert steps.results["Hajek"].records()["f1"]["ess"] > 1
    text, page = repr(steps), steps._repr_html_()
    assert "AIPW" in text
    assert "AIPW" in page


def test_only_positives_known_adds_bounds_that_hold_the_truth() -> None:
    known = np.where((TRUTH == 1) & (np.arange(200) % 3 == 0), 1.0, np.nan)
    hidden = float(TRUTH[np.isnan(known)].mean())
    rows = EvaluationSet(known, SCORE)
    steps = ladder(rows, beta=hidden, truth=COMPLETE, rng=0)
    bounds, pessimistic = (
        steps.results[name].records()
        for name in ("positive-unlabeled", "unlabeled taken as negative")
    )
    assert steps.truth is not None
    for metric in ("precision", "roc_auc"):
        assert bounds[metric]["low"] <= steps.truth[metric] <= bounds[metric]["high"]
        assert pessimistic[metric]["high"] < steps.truth[metric]
    assert "calibration with its uncertainty" in steps.left_out
    # Labels that are positive by construction say nothing of precision.
    for name in ("labeled rows only", "prevalence"):
        assert steps.left_out[name].startswith("only positives are labeled")


@pytest.mark.parametrize("beta", [1.5, (0.4, 0.1), math.nan, Audit(500, 500)])
def test_a_beta_that_cannot_be_is_refused_and_leaves_no_rung_out(beta) -> None:
    with pytest.raises(ValueError, match="`beta` must"):
        ladder(EvaluationSet([1, None, 0], [0.9, 0.4, 0.1]), beta=beta, rng=0)


@pytest.mark.parametrize("name", ["propensity", "outcome", "soft_labels"])
@pytest.mark.parametrize(
    ("values", "sentence"),
    [([0.5], r"one probability per row, shape \(3,\)"), ([0.5, 2.0, 0.5], "got 2.0 at row 1")],
)
def test_a_column_that_cannot_be_is_refused_and_leaves_no_rung_out(name, values, sentence) -> None:
    rows = EvaluationSet([1, None, 0], [0.9, 0.4, 0.1])
    with pytest.raises(ValueError, match=f"`{name}` must .*{sentence}"):
        ladder(rows, rng=0, **{name: values})


def test_extra_rungs_come_with_names() -> None:
    with pytest.raises(TypeError, match="`extra` must be a Mapping; got int"):
        ladder(EvaluationSet([1, None, 0], [0.9, 0.4, 0.1]), extra=5)  # type: ignore[arg-type]


def test_beyond_many_missing_rows_the_ladder_draws_less_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rungs, "MANY_ROWS", 50)
    steps = ladder(ROWS, metrics=["f1", "average_precision"], rng=0)
    methods = {name: result.summary()["method"] for name, result in steps.results.items()}
    for name in NAMES[1:]:
        assert "1,000 draws, cdf within 0.0429" in methods[name]["average_precision"], name
        assert methods[name]["f1"].startswith("exact law")
