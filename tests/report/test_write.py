"""A report is written whole or not at all, and an old one is replaced whole."""

import functools
import inspect
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.report import write
from labelbayes.report.build import Report, build_report
from labelbayes.report.page import report_html
from labelbayes.report.write import write_report

#: Drawing a page takes a second, and most tests here are about files.
_page = functools.cache(report_html)


@pytest.fixture(autouse=True)
def _pages_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(write.FORMATS, "html", ("report.html", _page))


def _report(seed: int) -> Report:
    evaluation = EvaluationSet([1, 0, None, 1, 0], [0.9, 0.2, 0.8, 0.4, 0.1])
    return build_report(evaluation, metrics=["recall"], title=f"Report {seed}", rng=seed)


@pytest.fixture(scope="module")
def old() -> Report:
    return _report(1)


@pytest.fixture(scope="module")
def new() -> Report:
    return _report(2)


def whole(place: Path) -> str | None:
    """Title of the report in `place`, None if there is none; fails if it is no whole one."""
    if not place.exists():
        return None
    assert sorted(entry.name for entry in place.iterdir()) == ["report.html", "report.json"]
    page = (place / "report.html").read_text(encoding="utf-8")
    title = json.loads((place / "report.json").read_text(encoding="utf-8"))["title"]
    assert f"<title>{title}</title>" in page
    assert page.endswith("</html>\n")
    return title


def alone(place: Path) -> bool:
    """Whether nothing was left beside `place`."""
    return set(place.parent.iterdir()) <= {place}


def test_files_are_written_and_named(tmp_path: Path, old: Report, new: Report) -> None:
    place = tmp_path / "out"
    files = write_report(old, str(place))
    assert files == {"html": place / "report.html", "json": place / "report.json"}
    assert whole(place) == "Report 1"
    write_report(new, place)
    assert whole(place) == "Report 2"
    assert alone(place)


def test_one_format_replaces_both_files(tmp_path: Path, old: Report, new: Report) -> None:
    place = tmp_path / "out"
    write_report(old, place)
    assert write_report(new, place, formats=["json"]).keys() == {"json"}
    assert [entry.name for entry in place.iterdir()] == ["report.json"]


def test_parents_are_made_and_empty_directories_filled(tmp_path: Path, old: Report) -> None:
    place = tmp_path / "a" / "b"
    write_report(old, place)
    assert whole(place) == "Report 1"
    (tmp_path / "empty").mkdir()
    write_report(old, tmp_path / "empty")
    assert whole(tmp_path / "empty") == "Report 1"


def test_a_link_is_kept_and_what_it_points_to_replaced(
    tmp_path: Path, old: Report, new: Report
) -> None:
    write_report(old, tmp_path / "real")
    (tmp_path / "link").symlink_to("real", target_is_directory=True)
    write_report(new, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert whole(tmp_path / "real") == "Report 2"


def _fail(*_: object) -> None:
    raise OSError(28, "No space left on device")


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _second(step, failure):
    """Let `step` succeed once, then fail."""
    calls = []

    def run(*arguments):
        calls.append(arguments)
        return failure() if len(calls) == 2 else step(*arguments)

    return run


@pytest.mark.parametrize("had_one", [True, False])
@pytest.mark.parametrize("failure", [_fail, _interrupt])
@pytest.mark.parametrize("place_of_failure", ["second file", "swap", "page"])
def test_a_failure_in_the_middle_changes_nothing(
    tmp_path: Path, old: Report, new: Report, monkeypatch, had_one, failure, place_of_failure
) -> None:
    place = tmp_path / "out"
    if had_one:
        write_report(old, place)
    if place_of_failure == "second file":
        monkeypatch.setattr(write.os, "fsync", _second(os.fsync, failure))
    elif place_of_failure == "swap":
        monkeypatch.setattr(write, "_swap", failure)
    else:
        monkeypatch.setitem(write.FORMATS, "json", ("report.json", failure))
    with pytest.raises(KeyboardInterrupt if failure is _interrupt else OSError):
        write_report(new, place)
    assert whole(place) == ("Report 1" if had_one else None)
    assert alone(place)


def test_a_full_disk_is_said_in_a_sentence(
    tmp_path: Path, old: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write.os, "fsync", _fail)
    sentence = (
        r"the report could not be written to .*out: No space left on device\. Name another "
        r"directory, and check that there is room\.$"
    )
    with pytest.raises(OSError, match=sentence):
        write_report(old, tmp_path / "out")


def test_a_writer_without_care_is_caught(
    tmp_path: Path, old: Report, new: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put_in_place(place: Path, files: dict[str, str]) -> None:
        for name, text in files.items():
            with (place / name).open("w", encoding="utf-8") as file:
                file.write(text)
                os.fsync(file.fileno())

    place = tmp_path / "out"
    write_report(old, place)
    monkeypatch.setattr(write, "_put", put_in_place)
    monkeypatch.setattr(write.os, "fsync", _fail)
    with pytest.raises(OSError, match="No space"):
        write_report(new, place)
    with pytest.raises(AssertionError):
        whole(place)


@pytest.mark.parametrize("fails", [False, True])
def test_where_directories_cannot_be_exchanged(
    tmp_path: Path, old: Report, new: Report, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    place = tmp_path / "out"
    write_report(old, place)
    monkeypatch.setattr(write, "_exchange", lambda *_: False)
    if fails:
        rename = Path.rename
        calls: list[Path] = []

        def second_fails(self: Path, target: Path) -> Path:
            calls.append(self)
            return _fail() if len(calls) == 2 else rename(self, target)  # type: ignore[return-value]

        monkeypatch.setattr(Path, "rename", second_fails)
        with pytest.raises(OSError, match="No space"):
            write_report(new, place)
        assert len(calls) == 3
    else:
        write_report(new, place)
    assert whole(place) == ("Report 1" if fails else "Report 2")
    assert alone(place)


#: Replaces a report in a child that kills itself, at one point after another.
KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from labelbayes.report import write

place = Path(sys.argv[1])
old = {"report.html": "old page", "report.json": "old numbers"}
new = {"report.html": "new page", "report.json": "new numbers"}

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def read():
    return {entry.name: entry.read_text() for entry in place.iterdir()}

def kill_before(owner, name, call):
    real, calls = getattr(owner, name), []
    def step(*arguments, **options):
        calls.append(1)
        return die() if len(calls) == call else real(*arguments, **options)
    setattr(owner, name, step)

for owner, name, call, left in [
    (write.os, "fsync", 1, old),
    (write.os, "fsync", 2, old),
    (write, "_exchange", 1, old),
    (write.shutil, "rmtree", 1, new),
]:
    write._put(place, old)
    child = os.fork()
    if not child:
        kill_before(owner, name, call)
        write._put(place, new)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL, (name, status)
    assert read() == left, (name, call, read())
print("whole")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals of POSIX")
def test_a_killed_process_leaves_the_old_report_or_the_new_one(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("whole\n", "")


def test_what_is_no_report_is_never_replaced(tmp_path: Path, old: Report) -> None:
    place = tmp_path / "out"
    write_report(old, place)
    (place / "notes.txt").write_text("mine")
    sentence = (
        r"`directory` must be empty or hold an earlier report; .*out holds 'notes\.txt'\. Name "
        r"another directory: nothing of yours is replaced\.$"
    )
    with pytest.raises(ValueError, match=sentence):
        write_report(old, place)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "report.html").write_text("<title>of another tool</title>")
    with pytest.raises(ValueError, match=r"holds 'report\.html'"):
        write_report(old, foreign)
    assert (place / "notes.txt").read_text() == "mine"


def test_a_file_in_the_way_is_said(tmp_path: Path, old: Report) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match=r"`directory` must be a directory; .*file is a file\.$"):
        write_report(old, tmp_path / "file")
    with pytest.raises(ValueError, match=r"lies in the file .*file\.$"):
        write_report(old, tmp_path / "file" / "out")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_directory_that_may_not_be_written_is_said(
    tmp_path: Path, old: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Told, not tried: the administrator may write everywhere.
    monkeypatch.setattr(write.os, "access", lambda *_: False)
    sentence = r"out cannot be used: Permission denied\. Name another directory\.$"
    with pytest.raises(OSError, match=sentence):
        write_report(old, tmp_path / "out")


def test_where_the_process_stands_is_not_replaced(
    tmp_path: Path, old: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ValueError, match=r"must not be the directory that you are in.*inside it\.$"
    ):
        write_report(old, ".")
    assert list(tmp_path.iterdir()) == []


def test_arguments_are_checked(tmp_path: Path, old: Report) -> None:
    with pytest.raises(TypeError, match=r"`report` must be a Report; got str\. .*`build_report"):
        write_report("report", tmp_path / "out")
    with pytest.raises(ValueError, match=r"`formats` must be one of 'html', 'json'; got 'pdf'\.$"):
        write_report(old, tmp_path / "out", formats=["html", "pdf"])
    with pytest.raises(ValueError, match=r"`formats` must name at least one .*; got none\.$"):
        write_report(old, tmp_path / "out", formats=[])
    assert list(tmp_path.iterdir()) == []
    assert set(inspect.signature(write_report).parameters) == {"report", "directory", "formats"}


def test_a_title_that_is_no_unicode_is_spelled_out(tmp_path: Path) -> None:
    evaluation = EvaluationSet([1, 0, None, 1, 0], [0.9, 0.2, 0.8, 0.4, 0.1])
    title = os.fsdecode(b"caf\xe9.csv")
    report = build_report(evaluation, metrics=["recall"], title=title, rng=0)
    files = write_report(report, tmp_path / "out")
    assert re.search(r"<title>caf\\udce9\.csv</title>", files["html"].read_text(encoding="utf-8"))
    assert json.loads(files["json"].read_text(encoding="utf-8"))["title"] == title


def test_a_directory_must_be_a_path() -> None:
    with pytest.raises(TypeError, match=r"^`directory` must be a path; got int\. Pass"):
        write_report(_report(0), 5)
