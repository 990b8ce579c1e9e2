"""The command line: what it prints, what it writes, and how it refuses."""

import errno
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from labelbayes import cli
from labelbayes.bounds.positive_unlabeled import bound_positive_unlabeled
from labelbayes.cli import main
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.examples import load_breast_cancer_scores
from labelbayes.data.masking import mask_mnar
from labelbayes.data.read import read_evaluation
from labelbayes.ladder import RUNGS, ladder
from labelbayes.metrics.registry import DEFAULT_METRICS, METRICS, resolve_metrics
from labelbayes.report import write
from labelbayes.weighting.outcome import fit_outcome
from labelbayes.weighting.propensity import fit_propensity

GOOD = "label,score,decision,who\n" + "".join(
    f"{label},{score},{int(score >= 0.5)},\n"
    for label, score in zip(
        ["1", "0", "", "0", "1", "", "0", "1"],
        [0.9, 0.2, 0.7, 0.4, 0.6, 0.1, 0.55, 0.3],
        strict=True,
    )
)
WORDS = ["--y-true", "label", "--y-score", "score"]
#: Four metrics, and so fewer figures.
DECIDED = ["--y-true", "label", "--y-pred", "decision"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(GOOD)
    return path


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write an empty page: drawing takes seconds, and most tests here read the numbers."""
    page = '<meta name="generator" content="labelbayes">'
    monkeypatch.setitem(write.FORMATS, "html", ("report.html", lambda _: page))


def _report(path: Path, *words: str) -> int:
    return main(["report", str(path), *words, "--output", str(path.parent / "out")])


def _numbers(path: Path) -> dict:
    return json.loads((path.parent / "out" / "report.json").read_text(encoding="utf-8"))


def _run(*words: str, cwd: Path, code: str = "", **environment: str):
    start = ["-c", code] if code else ["-m", "labelbayes"]
    return subprocess.run(
        [sys.executable, *start, *words],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


#: Runs the demo and then says what it loaded.
DEMO = """
import sys
from labelbayes.cli import main
status = main(sys.argv[1:])
print("loaded", sorted({"pymc", "pytensor", "arviz"} & set(sys.modules)), "status", status)
"""


def test_the_demo_prints_the_ladder_with_the_truth_and_writes_the_report(tmp_path: Path) -> None:
    # A terminal that knows only ASCII.
    done = _run("demo", cwd=tmp_path, code=DEMO, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.stderr == ""
    assert "loaded [] status 0" in done.stdout
    given = {"propensity", "outcome"}
    rungs = [rung.name for rung in RUNGS if given.issuperset(rung.options)]
    assert rungs[-1] == "AIPW"
    for rung in rungs:
        assert f"\n{rung} " in done.stdout
    truth = load_breast_cancer_scores()
    evaluation = mask_mnar(truth, 0.3, float(truth.y_true.mean()) / 2, rng=0)
    score = pd.DataFrame({"score": evaluation.y_score})
    steps = ladder(
        evaluation,
        truth=truth,
        propensity=fit_propensity(score, evaluation, rng=0),
        outcome=fit_outcome(score, evaluation, rng=0),
        rng=0,
    )
    assert steps.verdict in done.stdout
    truths = re.findall(r"^truth  +(.*)$", done.stdout, re.MULTILINE)
    assert [row.split() for row in truths] == [
        ["0.981", "0.986", "0.962"],
        ["0.974", "0.994", "0.993"],
    ]
    assert "Wrote labelbayes-demo/report.html\nWrote labelbayes-demo/report.json\n" in done.stdout
    read = json.loads((tmp_path / "labelbayes-demo" / "report.json").read_text(encoding="utf-8"))
    assert tuple(read["metrics"]) == DEFAULT_METRICS
    assert [rung["name"] for rung in read["rungs"]] == rungs
    assert read["data"]["n_unlabeled"] == 171  # 30% of 569
    assert read["truth"] == steps.truth
    frame = steps.table()
    for rung in read["rungs"]:
        for metric, row in rung["metrics"].items():
            assert row["low"] == frame.loc[(rung["name"], metric), "low"]
    page = (tmp_path / "labelbayes-demo" / "report.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == 2 * len(DEFAULT_METRICS)


def test_a_report_is_written_and_shown(table: Path, capsys) -> None:
    assert _report(table, *DECIDED) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "table.csv: metrics with missing labels" in shown.out
    assert "2 of 8 labels are missing (25.0%)" in shown.out
    assert "From rung to rung assumptions move" in shown.out
    assert f"Wrote {table.parent / 'out' / 'report.html'}" in shown.out
    read = _numbers(table)
    assert (read["seed"], read["target"]) == (0, "sample")
    page = (table.parent / "out" / "report.html").read_text(encoding="utf-8")
    assert str(table.parent) not in page  # a report is passed on; paths of a machine are not


def test_parquet_and_csv_give_the_same_numbers(table: Path, capsys, no_figures) -> None:
    assert _report(table, *WORDS) == 0
    from_csv = _numbers(table)["rungs"]
    pd.read_csv(table).to_parquet(table.with_suffix(".parquet"))
    assert _report(table.with_suffix(".parquet"), *WORDS) == 0
    assert _numbers(table)["rungs"] == from_csv


def _counts(table: Path, *words: str) -> dict[str, int]:
    assert _report(table, *words) == 0
    return _numbers(table)["data"]["counts"]


def test_every_option_bites(table: Path, capsys, no_figures) -> None:
    plain = _counts(table, *WORDS)
    assert (plain["tp"], plain["fp"], plain["fn"], plain["tn"]) == (2, 1, 1, 2)
    assert _counts(table, *WORDS, "--threshold", "0.25")["tp"] == 3
    assert _counts(table, *WORDS[:2], "--y-pred", "decision") == plain
    swapped = _counts(table, *WORDS, "--pos-label", "0")
    assert (swapped["tp"], swapped["fp"]) == (1, 2)
    assert _report(table, *WORDS, "--target", "population") == 0
    one = _numbers(table)
    assert one["target"] == "population"
    assert _report(table, *WORDS, "--target", "population", "--seed", "1") == 0
    assert (_numbers(table)["seed"], _numbers(table)["rungs"] == one["rungs"]) == (1, False)


def test_metrics_are_those_that_are_named(table: Path, capsys, no_figures) -> None:
    assert _report(table, *WORDS) == 0
    assert _numbers(table)["metrics"] == list(DEFAULT_METRICS)
    assert _report(table, *DECIDED) == 0
    assert _numbers(table)["metrics"] == list(DEFAULT_METRICS[:4])
    assert _report(table, *WORDS, "--metrics", "recall, npv") == 0
    assert _numbers(table)["metrics"] == ["recall", "npv"]
    assert _report(table, *WORDS, "--group", "decision", "--metrics", ",".join(METRICS)) == 0
    assert _numbers(table)["metrics"] == list(METRICS)


@pytest.mark.parametrize("names", [["recal"], ["f1", ""], ["f1", "f1"], ["roc_auc"]])
def test_metrics_are_refused_in_the_words_of_the_library(
    names: list[str], table: Path, capsys
) -> None:
    with pytest.raises(ValueError, match="metric") as raised:
        resolve_metrics(names, has_score=False)
    said = str(raised.value).replace("`metrics`", "`--metrics`").replace("`y_score`", "`--y-score`")
    status = _report(table, *DECIDED, "--metrics", ",".join(names))
    _is_refused(status, capsys.readouterr().err, said)
    assert not (table.parent / "out").exists()


def test_help_names_the_metrics_and_which_are_shown_by_default(capsys) -> None:
    with pytest.raises(SystemExit) as left:
        main(["report", "--help"])
    assert left.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"which of {', '.join(METRICS)} (default: {', '.join(DEFAULT_METRICS)};" in shown


#: P(label seen), P(positive) and a soft label beside each row, and two sites.
BESIDE = "label,score,site,seen,positive,soft\n" + "".join(
    f"{line.split(',')[0]},{score},{'ab'[i % 2]},{60 + i}%,{score},{1 - score:.2f}\n"
    for i, line in enumerate(GOOD.splitlines()[1:])
    for score in [float(line.split(",")[1])]
)


def test_groups_of_a_column(table: Path, capsys, no_figures) -> None:
    table.write_text(BESIDE)
    assert _report(table, *WORDS, "--group", "site") == 0
    shown = capsys.readouterr().out
    groups = _numbers(table)["groups"]
    assert [(g["name"], g["counts"]["tp"]) for g in groups["shown"]] == [("a", 2), ("b", 0)]
    assert [(d["first"], d["second"]) for d in groups["differences"]] == [("a", "b")]
    assert "By group: mean and 95% predictive (eti) interval, worst case (bounds) below" in shown
    assert re.search(r"^a less b  .*\[", shown, re.MULTILINE)
    assert _report(table, *WORDS) == 0
    assert _numbers(table)["groups"] is None


def test_an_empty_cell_is_a_group_too(table: Path, capsys, no_figures) -> None:
    assert _report(table, *DECIDED, "--group", "who") == 0
    assert [g["name"] for g in _numbers(table)["groups"]["shown"]] == ["(missing)"]


def test_columns_of_probabilities_add_their_rungs(table: Path, capsys, no_figures) -> None:
    table.write_text(BESIDE)
    evaluation = read_evaluation(table, y_true="label", y_score="score")
    seen = [(60 + i) / 100 for i in range(8)]
    columns = ["--propensity", "seen", "--outcome", "positive"]
    assert _report(table, *WORDS, *columns) == 0
    read = {rung["name"]: rung for rung in _numbers(table)["rungs"]}
    expected = ladder(
        evaluation, propensity=seen, outcome=evaluation.y_score, metrics=["accuracy"], rng=0
    )
    for name in ("outcome model", "Horvitz-Thompson", "Hajek", "AIPW"):
        found = read[name]["metrics"]["accuracy"]
        own = expected.results[name].records()["accuracy"]
        assert (found["mean"], found["low"]) == pytest.approx((own["mean"], own["low"])), name
    assert "percent signs were read as hundredths" in " ".join(_numbers(table)["data"]["notes"])
    assert _report(table, *WORDS, "--propensity", "seen") == 0
    fewer = {rung["name"] for rung in _numbers(table)["rungs"]}
    assert {"Hajek"} <= fewer
    assert not {"AIPW", "outcome model"} & fewer


def test_a_soft_label_limits_the_population(table: Path, capsys, no_figures) -> None:
    table.write_text(BESIDE)
    assert _report(table, *WORDS, "--soft-label", "soft", "--target", "population") == 0
    assert _numbers(table)["rungs"][-1]["name"] == "optimum"


def test_beta_is_a_share_or_a_range(table: Path, capsys, no_figures) -> None:
    ask = "Only positives are labeled. `--beta` adds the positive-unlabeled bounds"
    table.write_text(GOOD.replace("\n0,", "\n,"))
    evaluation = read_evaluation(table, y_true="label", y_score="score")
    assert _report(table, *WORDS) == 0
    assert f"Noticed: {ask}" in capsys.readouterr().out
    for word, beta in (("0.4", 0.4), ("0.2,0.4", (0.2, 0.4))):
        assert _report(table, *WORDS, "--beta", word) == 0
        assert ask not in capsys.readouterr().out
        read = {rung["name"]: rung for rung in _numbers(table)["rungs"]}
        found = read["positive-unlabeled"]["metrics"]
        own = bound_positive_unlabeled(evaluation, beta).bounds()
        for metric in ("precision", "roc_auc"):
            assert found[metric]["low"] == pytest.approx(own[metric].low)
            assert found[metric]["high"] == pytest.approx(own[metric].high)
    # Where negatives are known, nobody asks.
    table.write_text(GOOD)
    assert _report(table, *WORDS) == 0
    assert ask not in capsys.readouterr().out


def test_missing_may_be_given_more_than_once(table: Path, capsys, no_figures) -> None:
    text = GOOD.replace("\n,0.7", "\n-1,0.7").replace("\n,0.1", "\npending,0.1")
    table.write_text(text)
    plain = _counts(table, *WORDS, "--missing", "-1", "--missing", "pending")
    table.write_text(GOOD)
    assert plain == _counts(table, *WORDS)


def test_module_and_version(tmp_path: Path) -> None:
    done = _run("--version", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"labelbayes \S.*\n", done.stdout)


#: Text of a file (None: there is none), further words, and what the sentence must say.
REFUSED = {
    "no such column": (GOOD, ["--y-true", "truth", "--y-score", "score"], "no column 'truth'"),
    "three labels": (GOOD.replace("1,0.9", "2,0.9"), WORDS, "two labels"),
    "score with nan": (GOOD.replace("0.9", "nan"), WORDS, "row 1 is missing"),
    "score with inf": (GOOD.replace("0.9", "inf"), WORDS, "'inf'"),
    "score is a word": (GOOD.replace("0.9", "high"), WORDS, "'high'"),
    "empty file": ("", WORDS, "is empty"),
    "header alone": ("label,score\n", WORDS, "no rows"),
    "no table": ("PK\x03\x04\x00\x00", WORDS, "no table"),
    "parquet garbage": ("PAR1 and no more", WORDS, "no readable Parquet file"),
    "missing file": (None, WORDS, "does not exist"),
    "no score or decision": (GOOD, ["--y-true", "label"], "--y-score or --y-pred"),
    "wrong positive label": (GOOD, [*WORDS, "--pos-label", "yes"], "`--pos-label`"),
    "threshold is nan": (GOOD, [*WORDS, "--threshold", "nan"], "`--threshold` must be finite"),
    "no such group": (GOOD, [*WORDS, "--group", "site"], "no column 'site'"),
    "propensity is a word": (
        GOOD.replace("0.9,1,", "0.9,high,"),
        [*WORDS, "--propensity", "decision"],
        "column 'decision' must hold numbers; got 'high' in row 1",
    ),
    "propensity is a weight": (
        GOOD.replace("0.2,0,", "0.2,1.5,"),
        [*WORDS, "--propensity", "decision"],
        "`--propensity` must name a column of probabilities in [0, 1]; 'decision' has 1.5 in row 2",
    ),
    "outcome with a gap": (GOOD, [*WORDS, "--outcome", "who"], "column 'who' must hold a number"),
    "soft label below 0": (
        GOOD.replace("0.2,0,", "0.2,-1,"),
        [*WORDS, "--soft-label", "decision"],
        "`--soft-label` must name",
    ),
    "minus one": (GOOD.replace("\n,0.7", "\n-1,0.7"), WORDS, "two labels"),
}


def _is_refused(status: int, err: str, said: str) -> None:
    assert status == 2
    assert err.startswith("labelbayes: ")
    assert err.endswith(".\n")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_gives_one_sentence_and_writes_nothing(name: str, tmp_path: Path, capsys) -> None:
    text, words, said = REFUSED[name]
    path = tmp_path / "table.csv"
    if text is not None:
        path.write_bytes(text.encode())
    before = set(tmp_path.iterdir())
    status = _report(path, *words)
    shown = capsys.readouterr()
    _is_refused(status, shown.err, said)
    assert shown.out == ""
    assert set(tmp_path.iterdir()) == before


def test_a_gap_in_parquet_is_named_by_the_option_of_its_column(table: Path, capsys) -> None:
    frame = pd.read_csv(table).assign(p=[0.5, None, *[0.5] * 6])
    frame.to_parquet(table.with_suffix(".parquet"))
    status = _report(table.with_suffix(".parquet"), *WORDS, "--propensity", "p")
    _is_refused(status, capsys.readouterr().err, "`--propensity` must be finite; got nan at")


def test_a_directory_is_no_table(tmp_path: Path, capsys) -> None:
    assert _report(tmp_path, *WORDS) == 2
    _is_refused(2, capsys.readouterr().err, "is a directory")


def test_a_file_that_may_not_be_read(table: Path, capsys, monkeypatch) -> None:
    # Told, not tried: the administrator may read everything.
    def closed(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(table))

    monkeypatch.setattr(cli, "read_evaluation", closed)
    _is_refused(
        _report(table, *WORDS), capsys.readouterr().err, "cannot be used: Permission denied"
    )


@pytest.mark.parametrize("command", ["demo", "report"])
def test_an_output_that_cannot_be_written(command: str, table: Path, capsys) -> None:
    words = ["demo"] if command == "demo" else ["report", str(table), *WORDS]
    status = main([*words, "--output", str(table)])
    _is_refused(status, capsys.readouterr().err, "`--output` must be a directory")
    status = main([*words, "--output", str(table / "out")])
    _is_refused(status, capsys.readouterr().err, "lies in the file")
    status = main([*words, "--output", str(table.parent)])
    _is_refused(status, capsys.readouterr().err, "holds 'table.csv'")
    assert table.read_text() == GOOD
    assert list(table.parent.iterdir()) == [table]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "COMMAND"),
        (["reprot"], "'reprot'"),
        (["report"], "FILE"),
        (["report", "x.csv"], "--y-true"),
        (["report", "x.csv", *WORDS, "--y-pred", "p", "--threshold", "1"], "--y-pred"),
        (["report", "x.csv", *WORDS, "--threshold", "high"], "'high'"),
        (["report", "x.csv", *WORDS, "--target", "both"], "'both'"),
        (["report", "x.csv", *WORDS, "--thresh", "1"], "--thresh"),
        (["report", "x.csv", *WORDS, "--beta", "much"], "--beta: a share is a number"),
        (["report", "x.csv", *WORDS, "--beta", "1.5"], "--beta: a share lies in [0, 1]"),
        (["report", "x.csv", *WORDS, "--beta", "nan"], "--beta: a share lies in [0, 1]"),
        (["report", "x.csv", *WORDS, "--beta", "0.4,0.2"], "--beta: a range names its lower end"),
        (["report", "x.csv", *WORDS, "--beta", "0.1,0.2,0.3"], "--beta: a share is a number"),
        (["demo", "--seed", "-1"], "'-1'"),
        (["demo", "--seed", "x"], "'x'"),
        (["demo", "--seed", "9" * 5000], "at most 50 digits; got 5,000 characters"),
        (["demo", "\x1b[31m"], "\\x1b[31m"),
    ],
)
def test_words_that_make_no_command_are_refused_in_a_sentence(words, said, capsys) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    shown = capsys.readouterr()
    _is_refused(int(str(left.value.code)), shown.err, said)
    assert shown.out == ""


def test_a_fault_of_ours_is_not_dressed_up_as_bad_input(table: Path, monkeypatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("a defect")

    monkeypatch.setattr(cli, "build_report", broken)
    with pytest.raises(ValueError, match="a defect"):
        _report(table, *WORDS)


def test_an_interrupt_is_quiet(table: Path, monkeypatch, capsys) -> None:
    def interrupted(*_: object, **__: object) -> EvaluationSet:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "read_evaluation", interrupted)
    assert _report(table, *WORDS) == 130
    assert capsys.readouterr() == ("", "")


#: Reads nothing of what the command prints.
CLOSED_PIPE = """
import os, sys
from labelbayes.cli import main
reading, writing = os.pipe()
os.close(reading)
os.dup2(writing, 1)
sys.exit(main(sys.argv[1:]))
"""


def test_a_reader_that_left_costs_no_files(table: Path) -> None:
    words = ["report", str(table), *DECIDED, "--output", "out"]
    done = _run(*words, cwd=table.parent, code=CLOSED_PIPE)
    assert (done.returncode, done.stderr) == (141, "")
    assert sorted(p.name for p in (table.parent / "out").iterdir()) == [
        "report.html",
        "report.json",
    ]


def test_names_that_the_terminal_does_not_know_are_spelled_out(
    table: Path, monkeypatch, no_figures
) -> None:
    path = table.with_name("caf\u00e9.csv")
    path.write_text(GOOD.replace("score", "sc\u00f6re"), encoding="utf-8")
    shown = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", shown)
    assert _report(path, "--y-true", "label", "--y-score", "sc\u00f6re") == 0
    shown.seek(0)
    assert "caf\\xe9.csv: metrics" in shown.read()


def test_a_sentence_too(table: Path) -> None:
    words = ["report", table.name, "--y-true", "label", "--y-score", "sc\u00f8re"]
    bad = _run(*words, cwd=table.parent, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    _is_refused(bad.returncode, bad.stderr, "no column 'sc\\xf8re'")


@pytest.mark.parametrize(
    ("target", "reason"), [("&-", "it is closed"), ("/dev/full", os.strerror(errno.ENOSPC))]
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_what_cannot_be_printed_is_still_written(target: str, reason: str, table: Path) -> None:
    words = ["report", table.name, *DECIDED, "--output", "out"]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" >{target}', "sh", sys.executable, "-m", "labelbayes", *words],
        cwd=table.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "labelbayes: The report was written to out and could not be printed to standard output: "
        f"{reason}.\n"
    )
    assert len(list((table.parent / "out").iterdir())) == 2


def test_control_characters_in_names_are_spelled_out(table: Path, capsys, no_figures) -> None:
    path = table.with_name("a\x1b[31m\nb.csv")
    path.write_text(GOOD)
    assert main(["report", str(path), *WORDS, "--output", str(table.parent / "o\x07")]) == 0
    shown = capsys.readouterr().out
    assert "a\\x1b[31m\\nb.csv: metrics" in shown
    assert "o\\x07/report.json" in shown
    assert not {"\x1b", "\x07"} & set(shown)
    assert _report(table.with_name("no\x1b.csv"), *WORDS) == 2
    assert "no\\x1b.csv" in capsys.readouterr().err
