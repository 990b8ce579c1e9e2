"""README says what is true: its code runs, its names and its commands exist."""

import importlib.metadata
import itertools
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import labelbayes as lb

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
#: Programs that come from elsewhere than from this project's dependencies.
FOREIGN = {"cd", "conda", "git", "python", "python3", "source"}
PROGRAMS = set(importlib.metadata.entry_points(group="console_scripts").names)
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


def _blocks(text: str, *languages: str) -> list[tuple[int, str]]:
    """Return (first line's number, content) of each fenced block in one of the languages."""
    return [
        (text.count("\n", 0, found.start(2)), found[2])
        for found in FENCE.finditer(text)
        if found[1] in languages
    ]


def _commands(text: str) -> list[list[str]]:
    """Return the words of each shell command, the joined ones apart."""
    lines = itertools.chain.from_iterable(
        content.replace("\\\n", " ").splitlines()
        for _, content in _blocks(text, "sh", "bash", "shell", "console")
    )
    commands = []
    for line in lines:
        words = shlex.split(line.removeprefix("$ "), comments=True)
        for joined, group in itertools.groupby(words, key=lambda word: word in {"&&", ";", "|"}):
            if not joined:
                commands.append(list(group))
    return commands


def command_faults(words: list[str]) -> list[str]:
    """Say what a command names that does not exist."""
    program, arguments = Path(words[0]).name, words[1:]
    found = []
    if program in {"python", "python3"} and arguments[0].endswith(".py"):
        found += [f"no file {arguments[0]}"] * (not (ROOT / arguments[0]).exists())
    elif program in {"python", "python3"} and arguments[0] == "-m" and arguments[1] != "venv":
        module = ROOT.joinpath(*arguments[1].split("."))
        if not (module.with_suffix(".py").exists() or (module / "__main__.py").exists()):
            found.append(f"no module {arguments[1]}")
    elif program not in FOREIGN | PROGRAMS:
        found.append(f"no program {program}")
    elif program == "labelbayes":
        command = [sys.executable, "-m", "labelbayes", *arguments[:1], "--help"]
        if subprocess.run(command, capture_output=True, check=False, timeout=60).returncode:
            found.append(f"no command labelbayes {' '.join(arguments[:1])}")
    if program == "pip":
        extras = re.findall(r"\[(.*?)\]", " ".join(arguments))
        named = {extra for group in extras for extra in group.split(",")}
        unknown = named - PYPROJECT["project"]["optional-dependencies"].keys()
        found += [f"no extra {extra}" for extra in sorted(unknown)]
    if program == "pytest" and "-m" in arguments:
        markers = {m.split(":")[0] for m in PYPROJECT["tool"]["pytest"]["ini_options"]["markers"]}
        marker = arguments[arguments.index("-m") + 1]
        found += [f"no marker {marker}"] * (marker not in markers)
    if program == "conda" and "-f" in arguments:
        file = arguments[arguments.index("-f") + 1]
        found += [f"no file {file}"] * (not (ROOT / file).exists())
    return found


def run_python(text: str) -> int:
    """Run every Python block in one namespace; return how many there were."""
    namespace: dict[str, object] = {"__name__": "readme"}
    blocks = _blocks(text, "python", "py")
    for line, content in blocks:
        # Blank lines in front, so that a traceback names README's own line.
        exec(compile("\n" * line + content, "README.md", "exec"), namespace)
    return len(blocks)


def missing_names(text: str) -> set[str]:
    """Return what differs between `__all__` and README's table of names."""
    (table,) = re.findall(r"<!-- names -->\n(.*?)<!-- /names -->", text, flags=re.DOTALL)
    first_cells = [row.split("|")[1] for row in table.splitlines() if row.startswith("|")]
    named = [name for cell in first_cells for name in re.findall(r"`(?:lb\.)?(\w+)[^`]*`", cell)]
    assert len(named) == len(set(named)), "a name stands twice"
    return set(named) ^ set(lb.__all__)


def test_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_python(README) > 0


def test_table_of_names_is_all_that_is_exported() -> None:
    assert missing_names(README) == set()


@pytest.mark.parametrize("words", _commands(README), ids=" ".join)
def test_commands_exist(words: list[str]) -> None:
    assert command_faults(words) == []


def test_ci_runs_the_commands_of_readme() -> None:
    """CI finds the two lines by these patterns and runs them as they stand."""
    patterns = re.findall(r"^readme_command '(.*)'$", CI, flags=re.MULTILINE)
    assert len(patterns) == 2
    for pattern in patterns:
        assert len(re.findall(f"^{pattern}$", README, flags=re.MULTILINE)) == 1, pattern


def test_first_picture_is_of_the_lines_below_it() -> None:
    notebook = (ROOT / "notebooks" / "01_quickstart.py").read_text(encoding="utf-8")
    assert "results/ladder.png" in notebook
    made = re.findall(r"^(?:complete|some|steps) = [^#\n]*", README, flags=re.MULTILINE)
    assert [line.split()[0] for line in made] == ["complete", "some", "steps"]
    assert [line for line in made if f"\n{line.rstrip()}\n" not in notebook] == []


def test_planted_python_faults_are_caught() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_python("one\n\n```python\nx = 1\n```\n\n```python\nx / 0\n```\n")
    assert caught.traceback[-1].lineno == 7  # counted from 0
    assert (
        run_python("```python\nx = 1\n```\n```text\nx / 0\n```\n```python\nassert x == 1\n```\n")
        == 2
    )


def test_planted_name_faults_are_caught() -> None:
    rows = "".join(f"| `{name}` | what it is |\n" for name in lb.__all__)
    table = f"<!-- names -->\n| name | |\n|---|---|\n{rows}<!-- /names -->\n"
    assert missing_names(table) == set()
    assert missing_names(table.replace("| `fbeta` |", "| fbeta |")) == {"fbeta"}
    assert missing_names(table.replace("| `fbeta` |", "| `fbeta`, `gbeta` |")) == {"gbeta"}
    assert missing_names(table.replace("| `fbeta` |", "| `lb.fbeta(beta)` |")) == set()
    with pytest.raises(AssertionError, match="stands twice"):
        missing_names(table.replace("| `fbeta` |", "| `fbeta`, `fbeta` |"))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("python3 -m venv .venv && .venv/bin/pip install -e '.[lab,test]' && .venv/bin/pytest", ""),
        ("pip install -e '.[lab,tests]'", "no extra tests"),
        ("pytest -m notebooks", "no marker notebooks"),
        ("pytest -m notebook  # takes a minute", ""),
        ("python .ci/build_notebook.py", "no file .ci/build_notebook.py"),
        ("python .ci/build_notebooks.py", ""),
        ("python -m tests.no_such_module", "no module tests.no_such_module"),
        ("python -m tests.benchmarks", ""),
        ("conda env create -f environment.yaml", "no file environment.yaml"),
        ("labelbayes no-such-command x.csv", "no command labelbayes no-such-command"),
        ("no-such-program --help", "no program no-such-program"),
    ],
)
def test_planted_commands_are_caught(line: str, fault: str) -> None:
    commands = _commands(f"```bash\n{line}\n```\n")
    assert [f for words in commands for f in command_faults(words)] == ([fault] if fault else [])
    assert len(commands) == 1 + line.count("&&")


def missing_links(text: str) -> list[str]:
    """Return the files that a text links to or shows, and that are not there."""
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", text)
    return [target for target in targets if not (ROOT / target).exists()]


def test_links_lead_to_files() -> None:
    assert missing_links(README) == []
    assert missing_links("[a](no_such.md), ![b](LICENSE), [c](https://x.org)") == ["no_such.md"]


def test_readme_names_no_path_of_a_machine() -> None:
    assert os.path.expanduser("~") not in README
