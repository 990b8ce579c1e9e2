"""A report holds the numbers of the ladder, in every form."""

import functools
import html
import inspect
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from labelbayes.bounds.worst_case import bound_worst_case
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.ladder import RUNGS, ladder
from labelbayes.report.build import Report, build_report
from labelbayes.report.figures import ladder_svg, last_estimates
from labelbayes.report.numbers import report_dict, report_json
from labelbayes.report.page import report_html

SCORES = [0.81, 0.35, 0.77, 0.22, 0.66, 0.71, 0.58, 0.31, 0.12, 0.44, 0.19, 0.05]
TRUTH = [1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0]
KNOWN = [1, 0, None, 0, 1, None, 0, 1, None, None, 0, 0]
METRICS = ["precision", "recall"]


def evaluation_set() -> EvaluationSet:
    return EvaluationSet(KNOWN, SCORES)


def truth_set() -> EvaluationSet:
    return EvaluationSet(TRUTH, SCORES)


@functools.cache
def full_report() -> Report:
    return build_report(evaluation_set(), truth=truth_set(), metrics=METRICS, rng=3)


@functools.cache
def poor_report() -> Report:
    """Only positives are known, and nothing is predicted positive: much is undefined."""
    evaluation = EvaluationSet([1, None, 1, None], y_pred=[0, 0, 0, 0])
    return build_report(evaluation, title="<b> & co", rng=np.random.default_rng(1))


class _Cells(HTMLParser):
    """The text of every table cell, by table and row."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self._open = False

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._open = True
        elif tag == "small" and self._open:
            self.tables[-1][-1][-1] += "|"

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._open = False

    def handle_data(self, data):
        if self._open:
            self.tables[-1][-1][-1] += data


def tables(page: str) -> list[list[list[str]]]:
    parser = _Cells()
    parser.feed(page)
    return parser.tables


def test_a_report_holds_the_ladder_and_the_facts() -> None:
    report = full_report()
    steps = ladder(evaluation_set(), truth=truth_set(), metrics=METRICS, rng=3)
    assert report.ladder.table().equals(steps.table())
    assert report.verdict == steps.verdict
    assert report.facts.counts == Counts(2, 1, 1, 4, 2, 2)
    assert (report.facts.n, report.facts.n_labeled, report.facts.n_unlabeled) == (12, 8, 4)
    assert report.seed == 3
    missing, decided = report.sentences[:2]
    assert missing.startswith("4 of 12 labels are missing (33.3%): 40.0% of rows predicted pos")
    assert missing.endswith("itive, 28.6% of the others.")
    assert decided == "A row is predicted positive where its score is at least 0.5."
    assert report.sentences[2:] == steps.notes


def test_json_holds_the_numbers_to_the_bit() -> None:
    report = full_report()
    read = json.loads(report_json(report))
    assert read == report_dict(report)
    for rung in read["rungs"]:
        frame = report.ladder.results[rung["name"]].summary()
        for metric, row in rung["metrics"].items():
            for column in ("mean", "sd", "low", "high"):
                number = frame.loc[metric, column]
                assert row[column] == (None if np.isnan(number) else number)
        assert rung["assumes"] == report.ladder.assumptions[rung["name"]]
    assert read["truth"] == {"precision": 0.6, "recall": 0.6}
    assert read["verdict"] == report.verdict
    assert read["sentences"] == list(report.sentences)
    assert read["data"]["counts"]["unlabeled_predicted_negative"] == 2


def test_json_is_strict_and_undefined_is_null() -> None:
    text = report_json(poor_report())
    assert not re.search(r"\b(NaN|-?Infinity)\b", text)
    read = json.loads(text, parse_constant=pytest.fail)
    worst = read["rungs"][0]["metrics"]["precision"]
    assert (worst["low"], worst["undefined_prob"]) == (None, 1.0)
    assert worst["undefined_reason"]
    assert read["seed"] is None
    # The check sees what Python writes when it is not told to be strict.
    assert re.search(r"\b(NaN|-?Infinity)\b", json.dumps({"low": np.nan}))


@pytest.mark.parametrize("make", [full_report, poor_report])
def test_page_and_json_agree(make) -> None:
    report = make()
    read = report_dict(report)
    data, rungs = tables(report_html(report))
    counts = read["data"]["counts"]
    assert data[1][1:4] == [
        str(counts[cell]) for cell in ("tp", "fp", "unlabeled_predicted_positive")
    ]
    assert len(rungs) == 1 + len(read["rungs"]) + (read["truth"] is not None)
    for shown, rung in zip(rungs[1:], read["rungs"], strict=False):
        assert shown[0] == f"{rung['name']}|{rung['assumes']}"
        for cell, metric in zip(shown[1:], read["metrics"], strict=False):
            row = rung["metrics"][metric]
            if row["low"] is None:
                assert cell == "undefined"
            elif row["mean"] is None:
                assert cell == f"[{row['low']:.3f}, {row['high']:.3f}]"
            else:
                assert cell == f"{row['mean']:.3f}|[{row['low']:.3f}, {row['high']:.3f}]"
    if read["truth"] is not None:
        assert rungs[-1][1:3] == [f"{read['truth'][metric]:.3f}" for metric in read["metrics"]]


def test_the_page_says_what_must_be_said() -> None:
    page = html.unescape(report_html(full_report())).replace(";<br>", "; ")
    for sentence in (full_report().verdict, *full_report().sentences):
        assert sentence in page
    assert "Seed 3" in page
    poor = html.unescape(report_html(poor_report()))
    assert "Noticed in the data" in poor
    for note in poor_report().facts.notes:
        assert note in poor
    for name, reason in poor_report().ladder.left_out.items():
        assert name in poor
        assert reason in poor
    assert "No seed was given" in poor
    assert "Noticed in the data" not in page


def test_the_page_stands_alone() -> None:
    page = report_html(full_report())
    assert not re.search(r"<script|<link|<iframe|<img|\bsrc=|@import|@font-face", page)
    assert set(re.findall(r"url\((.)", page)) == {"#"}
    assert set(re.findall(r'href="(.)', page)) == {"#"}
    assert page.count("<svg") == 4  # ladder and law of each metric
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids)) > 0
    assert {name for name in re.findall(r'(?:href="|url\()#([^")]+)', page)} == set(ids)


def test_what_the_user_names_is_escaped() -> None:
    page = report_html(poor_report())
    assert "<title>&lt;b&gt; &amp; co</title>" in page
    assert "<b>" not in page
    assert "<b>" not in poor_report()._repr_html_()


def test_figures_follow_the_page() -> None:
    page = report_html(full_report())
    svg = page[page.index("<svg") :]
    assert "var(--ink)" in svg
    assert "#1f2328" not in svg  # the light ink, which dark pages would hide
    assert "prefers-color-scheme: dark" in page
    assert 'aria-label="precision under each assumption of the ladder"' in svg


def test_the_same_seed_gives_the_same_bytes() -> None:
    again = build_report(evaluation_set(), truth=truth_set(), metrics=METRICS, rng=3)
    assert report_html(again) == report_html(full_report())
    assert report_json(again) == report_json(full_report())
    other = build_report(evaluation_set(), truth=truth_set(), metrics=METRICS, rng=4)
    assert report_json(other) != report_json(full_report())


def test_the_notebook_shows_tables_that_survive_cleaning() -> None:
    for report in (full_report(), poor_report()):
        shown = report._repr_html_()
        assert not re.search(r"<style|<svg|<script|\sid=", shown)
        assert len(tables(shown)) == 2
    assert html.escape(full_report().verdict) in full_report()._repr_html_()


def test_the_text_holds_the_ladder_and_reasons_once() -> None:
    text = repr(full_report())
    assert "shared unknown rate" in text
    assert full_report().verdict in text
    poor = repr(poor_report())
    assert all(f"Noticed: {note}" in poor for note in poor_report().facts.notes)
    for reason in set(poor_report().ladder.left_out.values()):
        assert poor.count(reason) == 1


def test_what_the_verdict_does_not_count_has_a_line_of_its_own() -> None:
    seen = np.where(np.asarray(KNOWN, dtype=float) == 1, 0.15, 0.6)
    report = build_report(evaluation_set(), metrics=METRICS, propensity=seen, rng=0)
    assert ". Not counted, since no labels give such a value: " in report.verdict
    page = report_html(report)
    (verdict,) = re.findall(r'<p class="verdict">(.*?)</p>', page, re.DOTALL)
    lines = html.unescape(verdict).split("<br>")
    assert [line.split()[0] for line in lines] == ["From", "recall", "Not"]
    assert " ".join(lines) == report.verdict


def test_nothing_missing_is_said() -> None:
    report = build_report(truth_set(), metrics=METRICS, rng=0)
    assert "No label is missing" in report.verdict
    assert report.sentences[0].startswith("0 of 12 labels are missing (0.0%)")
    _, rungs = tables(report_html(report))
    assert {row[1].split("|")[0] for row in rungs[2:]} == {"0.600"}


def test_an_all_positive_classifier_has_no_other_rows() -> None:
    evaluation = EvaluationSet([1, 0, None, 1], y_pred=[1, 1, 1, 1])
    report = build_report(evaluation, metrics=METRICS, rng=0)
    assert (
        report.sentences[0]
        == "1 of 4 labels are missing (25.0%): 25.0% of rows predicted positive."
    )
    assert report.sentences[1] == "Decisions were given."
    data, _ = tables(report_html(report))
    assert data[2][1:] == ["0", "0", "0", "-"]


def _other_values() -> dict[str, object]:
    evaluation = evaluation_set()
    return {
        "truth": truth_set(),
        "metrics": ["accuracy"],
        "target": "population",
        "imputation": impute(evaluation, np.full(12, 0.3)),
        "beta": 0.25,
        "propensity": np.full(12, 0.5),
        "outcome": np.linspace(0.8, 0.2, 12),
        "soft_labels": np.linspace(0.8, 0.2, 12),
        "extra": {"mine": bound_worst_case(evaluation)},
        "title": "Another",
        "rng": 1,
    }


def test_every_option_changes_the_report() -> None:
    others = _other_values()
    # `bayes` samples, which takes long: the next test.
    left_out = {"evaluation", "bayes"}
    assert others.keys() == set(inspect.signature(build_report).parameters) - left_out
    common = {"rng": 0, "metrics": ["precision"]}
    plain = report_dict(build_report(evaluation_set(), **common))
    for name, value in others.items():
        changed = report_dict(build_report(evaluation_set(), **common | {name: value}))
        assert changed != plain, name
        if name not in ("title", "truth", "soft_labels"):
            assert changed["rungs"] != plain["rungs"], name
    assert (
        "population"
        in report_dict(build_report(evaluation_set(), **common, soft_labels=others["soft_labels"]))[
            "left_out"
        ]["optimum"]
    )


def test_a_rung_that_lacks_a_metric_has_a_dash_and_no_row_in_its_figure() -> None:
    report = build_report(
        evaluation_set(),
        metrics=["recall", "average_precision"],
        outcome=np.linspace(0.8, 0.2, 12),
        propensity=np.full(12, 0.6),
        truth=truth_set(),
        rng=0,
    )
    partial = "marginal sensitivity (odds ratio 2)"
    read = {rung["name"]: rung for rung in report_dict(report)["rungs"]}
    assert list(read[partial]["metrics"]) == ["recall"]
    page = report_html(report)
    (row,) = [row for row in tables(page)[1] if row[0].startswith(partial)]
    assert row[2] == "-"
    assert re.search(rf"^{re.escape(partial)} .* - +sensitivity$", repr(report), re.MULTILINE)
    recall, ap = (ladder_svg(report.ladder, metric, "x") for metric in report.ladder.metrics)
    assert _height(ap) < _height(recall)
    # Weighted estimates come last and have no law of the metric.
    assert list(report.ladder.results)[-1] == "AIPW"
    assert last_estimates(report.ladder) == "calibration with its uncertainty"
    assert "Laws under one rung: calibration with its uncertainty" in page


def _height(svg: str) -> float:
    return float(re.search(r'viewBox="0 0 \S+ (\S+)"', svg)[1])  # type: ignore[index]


@pytest.mark.slow
def test_bayes_adds_the_sampled_rungs() -> None:
    names = [rung.name for rung in RUNGS if rung.options == ("bayes",)]
    assert len(names) == 3
    evaluation = load_some_rows()
    report = build_report(evaluation, metrics=METRICS, bayes=True, rng=0)
    assert set(names) <= set(report.ladder.results)
    page = html.unescape(report_html(report))
    plain = build_report(evaluation, metrics=METRICS, rng=0)
    assert all(name in page for name in names)
    assert not set(names) & set(plain.ladder.results)
    assert not any(name in html.unescape(report_html(plain)) for name in names)


def load_some_rows() -> EvaluationSet:
    """Rows enough for every calibration."""
    rng = np.random.default_rng(7)
    score = rng.random(200)
    label = np.where(rng.random(200) < 0.3, np.nan, rng.random(200) < score)
    return EvaluationSet(label, score)


def test_the_threshold_is_named_unless_decisions_were_given() -> None:
    # 0.7 in float32 is below 0.7 in float64, and at least 0.7 where it was compared.
    scores = np.array([0.1, 0.7, 0.05, 0.9], dtype=np.float32)
    labels = [1, None, 0, 1]
    cut = build_report(EvaluationSet(labels, scores, threshold=0.7), metrics=METRICS, rng=0)
    assert cut.facts.threshold == float(np.float32(0.7))
    given = EvaluationSet(labels, scores, y_pred=[0, 1, 0, 1])
    report = build_report(given, metrics=METRICS, rng=0)
    assert report.facts.threshold is None
    assert report.sentences[1] == "Decisions were given."


def test_a_title_must_be_text() -> None:
    with pytest.raises(TypeError, match=r"^`title` must be a text; got NoneType\. Leave"):
        build_report(evaluation_set(), title=None)
