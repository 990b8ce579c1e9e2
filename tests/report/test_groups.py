"""The groups of a report: right numbers, honest p, and the same in every form."""

import functools
import html
import itertools
import json
import re

import numpy as np
import pytest

from labelbayes.bounds.worst_case import bound_worst_case
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.ladder import ladder
from labelbayes.metrics.registry import METRICS
from labelbayes.report.build import Report, build_report
from labelbayes.report.groups import MOST_GROUPS, ONE_GROUP, SAME_MEANING, with_largest
from labelbayes.report.numbers import report_dict, report_json
from labelbayes.report.page import report_html
from labelbayes.results.sentences import multiplicity, not_known

ROWS = 40
COUNTED = ["accuracy", "recall"]


def rows_of(n_groups: int) -> EvaluationSet:
    """Some rows of each group, the second group the largest; every group has labels."""
    rng = np.random.default_rng(5)
    group = np.r_[np.arange(ROWS) % n_groups, 1]
    y_true = np.where(np.arange(ROWS + 1) % 7 > 2, rng.integers(2, size=ROWS + 1), np.nan)
    y_pred = rng.integers(2, size=ROWS + 1)
    return EvaluationSet(y_true, y_pred=y_pred, group=[f"g{k:02d}" for k in group])


def given_p(evaluation: EvaluationSet) -> np.ndarray:
    return np.random.default_rng(6).uniform(0.1, 0.9, evaluation.n_rows)


def known_p_report(n_groups: int, **options: object) -> Report:
    evaluation = rows_of(n_groups)
    belief = impute(evaluation, given_p(evaluation), features=evaluation.group)
    options = {"metrics": COUNTED, "rng": 0} | options
    return build_report(evaluation, imputation=belief, **options)  # type: ignore[arg-type]


def enumerated(part: EvaluationSet, p: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Values of a metric over all completions of the labels, and their probabilities."""
    missing = np.flatnonzero(~part.is_labeled)
    values, masses = [], []
    for labels in itertools.product((0, 1), repeat=len(missing)):
        y_true = part.y_true.copy()
        y_true[missing] = labels
        completed = EvaluationSet(y_true, y_pred=part.y_pred)
        c = completed.counts
        values.append(float(METRICS[metric](c.tp, c.fp, c.fn, c.tn)))  # type: ignore[operator]
        masses.append(np.prod(np.where(labels, p[missing], 1 - p[missing])))
    return np.array(values), np.array(masses)


@functools.cache
def oracle(n_groups: int, metric: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    evaluation = rows_of(n_groups)
    p = given_p(evaluation)
    masks = {name: evaluation.group == name for name in evaluation.groups()}
    return {name: enumerated(evaluation.subset(m), p[m], metric) for name, m in masks.items()}


@pytest.mark.parametrize("metric", COUNTED)
@pytest.mark.parametrize("n_groups", [3, 5])
def test_groups_and_differences_are_those_of_all_completions(n_groups: int, metric: str) -> None:
    groups = known_p_report(n_groups).groups
    laws = oracle(n_groups, metric)
    for name, (values, masses) in laws.items():
        assert not np.isnan(values).any()
        assert groups.estimates[name][metric].mean == pytest.approx(values @ masses, abs=1e-12)
        bounds = groups.bounds[name][metric]
        assert (bounds.low, bounds.high) == pytest.approx((values.min(), values.max()), abs=1e-12)
    pairs = list(itertools.combinations(laws, 2))
    if n_groups == 5:  # each with the largest
        pairs = [(name, "g01") for name in laws if name != "g01"]
    assert list(groups.differences) == pairs
    for first, second in pairs:
        (a, mass_a), (b, mass_b) = laws[first], laws[second]
        gap, mass = np.subtract.outer(a, b).ravel(), np.outer(mass_a, mass_b).ravel()
        law = groups.differences[first, second][metric]
        assert law.mean == pytest.approx(gap @ mass, abs=1e-12)
        for limit in (-0.1, 0.0, 0.15):
            below = mass[gap <= limit + 1e-12].sum()
            assert float(law.cdf(limit)) == pytest.approx(below, abs=1e-10)
        # The other order would be seen.
        assert law.mean != pytest.approx(-(gap @ mass), abs=1e-3)


def test_only_the_largest_are_shown_and_the_others_are_named() -> None:
    evaluation = rows_of(20)
    groups = known_p_report(20, metrics=["accuracy"]).groups
    sizes = {name: part.n for name, part in evaluation.groups().items()}
    assert len(groups.counts) == MOST_GROUPS
    assert "g01" in groups.counts
    assert min(sizes[name] for name in groups.counts) >= max(sizes[n] for n in groups.not_shown)
    assert {*groups.counts, *groups.not_shown} == set(sizes)
    assert set(groups.differences) == {(n, "g01") for n in groups.counts if n != "g01"}
    assert with_largest("g01") in groups.differences.notes
    assert multiplicity(11, "pairs of groups") in groups.notes
    text = repr(known_p_report(20, metrics=["accuracy"]))
    assert "The 12 largest groups are shown. Not shown: 'g12', 'g13'" in text


@pytest.mark.parametrize("n_groups", [4, 5])
def test_pairs_that_are_not_compared_are_said_in_every_form(n_groups: int) -> None:
    report = known_p_report(n_groups, metrics=["accuracy"])
    said = with_largest("g01")
    assert "largest, 'g01', alone" in said
    forms = [
        " ".join(report.groups.differences.notes),
        " ".join(report.sentences),
        repr(report),
        html.unescape(report._repr_html_()),
        html.unescape(report_html(report)),
        report_json(report),
    ]
    assert [said in form for form in forms] == [n_groups == 5] * len(forms)


def two_sites() -> tuple[EvaluationSet, np.ndarray]:
    """Two sites with the same scores, and labels that differ: nine in ten are missing."""
    rng = np.random.default_rng(11)
    n = 4_000
    score, site = rng.random(n), rng.integers(2, size=n)
    logit = np.log(score / (1 - score)) + np.where(site == 1, 0.8, -0.8)
    truth = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(float)
    known = np.where(rng.random(n) < 0.1, truth, np.nan)
    return EvaluationSet(known, score, group=np.where(site == 1, "north", "south")), truth


def test_p_knows_the_group_and_a_p_that_does_not_pulls_to_zero() -> None:
    evaluation, truth = two_sites()
    decided = (evaluation.group == "north", evaluation.y_pred == 1)
    gap = truth[decided[0] & decided[1]].mean() - truth[~decided[0] & decided[1]].mean()
    pair = ("north", "south")
    report = build_report(evaluation, metrics=["precision"], rng=0)
    law = report.groups.differences[pair]["precision"]
    span = law.interval(0.99)
    assert span.low < gap < span.high
    assert not any(note.startswith("The imputation does not use") for note in report.groups.notes)
    blind = build_report(
        evaluation, metrics=["precision"], imputation=impute(evaluation, rng=0), rng=0
    )
    pulled = blind.groups.differences[pair]["precision"].interval(0.99)
    assert pulled.high < gap / 2  # the planted error: it misses by far
    assert not_known("the group", "zero") in blind.groups.notes
    assert not_known("the group", "zero") in repr(blind)
    name = "calibration with its uncertainty"
    assert report.ladder.assumptions[name] == "missing at random given the score and the group"
    assert blind.ladder.assumptions[name] == "missing at random given the score"


def test_too_many_groups_for_p_are_said() -> None:
    rng = np.random.default_rng(2)
    score = rng.random(600)
    label = np.where(rng.random(600) < 0.5, np.nan, rng.random(600) < score)
    evaluation = EvaluationSet(label, score, group=[f"g{i % 201}" for i in range(600)])
    report = build_report(evaluation, metrics=["accuracy"], rng=0)
    (note,) = [n for n in report.groups.notes if n.startswith("The imputation does not use")]
    assert note.startswith(not_known("the group", "zero"))
    assert "at most 200 different texts" in note
    assert len(report.groups.not_shown) == 201 - MOST_GROUPS
    assert "and 169 more" in repr(report)
    assert "group" not in report.ladder.assumptions["calibration with its uncertainty"]


def test_labels_of_one_class_leave_bounds_and_the_reason() -> None:
    evaluation = EvaluationSet(
        [1, None, 1, None, 1], [0.9, 0.2, 0.8, 0.4, 0.1], group=list("aabbb")
    )
    report = build_report(evaluation, metrics=["recall"], rng=0)
    groups = report.groups
    assert (dict(groups.estimates), dict(groups.differences)) == ({}, {})
    part = evaluation.subset(evaluation.group == "b")
    assert groups.bounds["b"]["recall"] == bound_worst_case(part, metrics=["recall"])["recall"]
    assert any(note.startswith("No estimates by group: `how=") for note in groups.notes)
    assert report_dict(report)["groups"]["shown"][0]["estimates"] is None
    assert list(groups.table()["low"]) == list(groups.table()["worst_low"])
    with pytest.raises(ValueError, match="at least one result"):
        groups.differences.summary()
    assert "worst case (bounds)" in html.unescape(report_html(report))


def test_one_group_has_no_difference() -> None:
    evaluation = EvaluationSet([1, 0, None, 1, 0], [0.9, 0.2, 0.8, 0.4, 0.1], group=["only"] * 5)
    groups = build_report(evaluation, metrics=["recall"], rng=0).groups
    assert groups.notes[-1] == ONE_GROUP
    assert dict(groups.differences) == {}


def test_an_undefined_metric_is_said_once_for_its_groups() -> None:
    evaluation = EvaluationSet(
        [1, 0, None, 1, 0, 1], y_pred=[0, 0, 0, 0, 1, 1], group=list("aabbcc")
    )
    groups = build_report(evaluation, metrics=["precision"], rng=0).groups
    assert "a, b: precision is undefined here: no row is predicted positive." in groups.notes


def test_groups_change_no_other_rung() -> None:
    def fitted(seed: int) -> Report:
        return build_report(rows_of(3), metrics=COUNTED, rng=seed)

    with_groups, plain = fitted(0), ladder(rows_of(3), metrics=COUNTED, rng=0)
    for rung in ("worst case", "prevalence", "shared unknown rate"):
        assert with_groups.ladder.results[rung].to_dict() == plain.results[rung].to_dict()
    assert report_json(with_groups) == report_json(fitted(0))
    assert report_json(with_groups) != report_json(fitted(1))
    assert build_report(rows_without_groups(), metrics=["accuracy"], rng=0).groups is None


def rows_without_groups() -> EvaluationSet:
    evaluation = rows_of(3)
    return EvaluationSet(evaluation.y_true, y_pred=evaluation.y_pred)


@pytest.mark.parametrize("target", ["sample", "population"])
def test_page_text_and_json_agree(target: str) -> None:
    report = known_p_report(3, target=target)
    read = json.loads(report_json(report))["groups"]
    page, text = html.unescape(report_html(report)), repr(report)
    for group in read["shown"]:
        assert sum(group["counts"].values()) == report.groups.counts[group["name"]].n_labeled + (
            report.groups.counts[group["name"]].n_unlabeled
        )
        for metric in COUNTED:
            row, worst = (group[kind]["metrics"][metric] for kind in ("estimates", "bounds"))
            ends = f"[{row['low']:.3f}, {row['high']:.3f}]"
            bounds = f"[{worst['low']:.3f}, {worst['high']:.3f}]"
            assert f"{row['mean']:.3f}<small>{ends}</small><small>{bounds}</small>" in page
            assert re.search(re.escape(f"{row['mean']:.3f} {ends}"), text)
            assert bounds in text
    assert [(d["first"], d["second"]) for d in read["differences"]] == list(
        report.groups.differences
    )
    for gap in read["differences"]:
        row = gap["metrics"]["recall"]
        assert f"{row['mean']:.3f}<small>[{row['low']:.3f}, {row['high']:.3f}]</small>" in page
        assert f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" in text
        assert f"{gap['first']} less {gap['second']}" in text
    assert read["notes"] == list(report.groups.notes)
    for note in (SAME_MEANING, *report.groups.notes):
        assert note in page
        assert note in text
        assert note in report.sentences
        assert html.escape(note) in report._repr_html_()
    table = report.groups.table()
    assert table.index.names == ["group", "metric"]
    shown = {group["name"]: group for group in read["shown"]}
    for (name, metric), row in table.iterrows():
        assert row["low"] == shown[name]["estimates"]["metrics"][metric]["low"]
        assert row["worst_high"] == shown[name]["bounds"]["metrics"][metric]["high"]
    differences = report.groups.differences
    assert len(differences.summary()) == 3 * len(COUNTED)
    assert set(differences.notes) <= set(read["notes"])
    assert differences.notes == (multiplicity(3, "pairs of groups"),)


def test_names_are_escaped_on_the_page_and_cut_in_the_terminal() -> None:
    names = ["<b>", "one\nline", "long " * 20]
    evaluation = EvaluationSet(
        [1, 0, None, 1, 0, 1], [0.9, 0.2, 0.8, 0.4, 0.1, 0.7], group=[*names, *names]
    )
    report = build_report(evaluation, metrics=["accuracy"], rng=0)
    page, text = report_html(report), repr(report)
    assert "&lt;b&gt;" in page
    assert "<b>" not in page + report._repr_html_()
    table = text[text.index("By group") : text.index("By group, p is")]
    assert "one line" in table
    assert ("long " * 20).strip() not in table
    assert (("long " * 20).strip()) in page


def test_six_metrics_stand_in_two_blocks() -> None:
    rng = np.random.default_rng(3)
    score = rng.random(40)
    label = np.where(rng.random(40) < 0.3, np.nan, rng.random(40) < score)
    text = repr(build_report(EvaluationSet(label, score, group=["a", "b"] * 20), rng=0))
    start = text.index("By group")
    assert re.findall(r"^group .*", text[start:], re.MULTILINE)[1].split()[3:] == [
        *("f1", "roc_auc", "average_precision")
    ]
    assert max(map(len, text[start : text.index("By group, p is")].splitlines())) < 120


def test_a_metric_of_the_users_own_is_refused_in_a_sentence() -> None:
    evaluation = rows_of(3)
    with pytest.raises(ValueError, match="known names"):
        build_report(evaluation, metrics=["accurary"], rng=0)
