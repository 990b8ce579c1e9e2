"""Imports run one way through the rooms, at the top of each module; files stay small."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "labelbayes"
MODULES = sorted(PACKAGE.rglob("*.py"))
#: A module imports from its own room and from rooms to the left.
ROOMS = (
    "_checks _progress _html _user_models data metrics results imputation laws weighting bounds "
    "optimal bayes diagnostics ladder monitor plots report cli __main__"
).split()
#: The lowest room that may import a library; stands for every room where it is missing.
HEAVY = {"pymc": "bayes", "pytensor": "bayes", "arviz": "bayes", "matplotlib": "plots"}
MAX_LINES = 400
#: The one room with a lazy index: two of its figures need PyMC, which a report without Bayesian
#: rungs must not load. Its index may name modules in strings and imports for the type checker.
LAZY_INDEX = PACKAGE / "plots" / "__init__.py"
TARGET = re.compile(r"labelbayes(\.\w+)+:\w+")


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    else:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _at_top(tree: ast.Module) -> set[ast.stmt]:
    """Statements of the module itself, and of a `with` around imports (warnings kept quiet)."""
    top = set(tree.body)
    return top.union(*(block.body for block in tree.body if isinstance(block, ast.With)))


def _for_types(tree: ast.Module) -> set[ast.AST]:
    """The `if TYPE_CHECKING:` of the module itself, with its test and its statements."""
    blocks = [
        node
        for node in tree.body
        if isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
        and not node.orelse
    ]
    return {part for block in blocks for part in (block.test, *block.body)}


def _faults_of_name(name: str, room: str, is_lazy: bool) -> Iterator[str]:
    top, *rest = name.split(".")
    if top == "labelbayes":
        imported = rest[0] if rest else ""
        if imported not in ROOMS:
            yield f"{name}: import from the room, not the root"
        elif ROOMS.index(imported) > ROOMS.index(room):
            yield f"{room} must not import {name}"
    elif top in HEAVY and ROOMS.index(room) < ROOMS.index(HEAVY[top]):
        yield f"{room} must not import {top}"
    elif name in {"importlib", "importlib.import_module"} and room != "ladder" and not is_lazy:
        yield f"{room} must not import by a name in a string"


def faults(source: str, room: str, *, is_lazy: bool = False) -> list[str]:
    """Say what is wrong with a module's imports; `is_lazy` for the lazy index alone."""
    if room not in ROOMS:
        return [f"{room} is no room of the architecture"]
    tree = ast.parse(source)
    for_types = _for_types(tree) if is_lazy else set()
    top = _at_top(tree) | for_types
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node in for_types:
            continue
        if isinstance(node, ast.Name) and node.id in {"__import__", "TYPE_CHECKING"}:
            found.append(f"line {node.lineno}: {node.id}")
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            found.append(f"line {node.lineno}: relative import")
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "labelbayes":
            found.append(f"line {node.lineno}: import from the room, not the root")
            continue
        if node not in top:
            found.append(f"line {node.lineno}: import below the top of the module")
        for name in _imported(node):
            named = _faults_of_name(name, room, is_lazy)
            found.extend(f"line {node.lineno}: {fault}" for fault in named)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_rooms_import_only_rooms_below(path: Path) -> None:
    if path == PACKAGE / "__init__.py":  # the one lazy module: tests/test_root.py reads it
        return
    source = path.read_text(encoding="utf-8")
    assert faults(source, _room(path), is_lazy=path == LAZY_INDEX) == []


def test_the_lazy_index_is_excused_from_no_other_rule() -> None:
    source = LAZY_INDEX.read_text(encoding="utf-8")
    assert faults(source, "plots", is_lazy=True) == []
    found = " ".join(faults(source, "plots"))
    for fault in ("by a name in a string", "TYPE_CHECKING", "below the top"):
        assert fault in found
    for planted in (
        "if TYPE_CHECKING:\n    from labelbayes.report.build import x",
        "if TYPE_CHECKING:\n    import json\nelse:\n    import csv",
        "def f():\n    if TYPE_CHECKING:\n        import json",
        "if x:\n    import json",
        "pymc = __import__('pymc')",
    ):
        assert faults(planted, "plots", is_lazy=True), planted


def test_the_index_of_figures_loads_pymc_when_it_is_needed() -> None:
    code = (
        "import sys, labelbayes.plots as plots; from labelbayes.report import build_report; "
        "assert 'pymc' not in sys.modules; "
        "assert set(plots.__all__) == set(dir(plots)) == {f.__name__ for f in "
        "(getattr(plots, n) for n in dir(plots))}; "
        "assert 'pymc' in sys.modules; plots.no_such_figure"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith("has no attribute 'no_such_figure'")


@pytest.mark.parametrize(
    ("source", "room", "sentence"),
    [
        ("from labelbayes.report.build import x", "plots", "plots must not import"),
        ("import labelbayes.ladder as x", "laws", "laws must not import"),
        ("from labelbayes.data.read import x", "_html", "_html must not import"),
        ("def f():\n    from labelbayes.cli import main", "data", "data must not import"),
        (
            "def f():\n    from labelbayes.data.read import x",
            "laws",
            "line 2: import below the top",
        ),
        ("class A:\n    import json", "laws", "line 2: import below the top"),
        (
            "try:\n    import json\nexcept ImportError:\n    json = 0",
            "laws",
            "line 2: import below",
        ),
        ("if TYPE_CHECKING:\n    import json", "laws", "line 1: TYPE_CHECKING"),
        ("from labelbayes import EvaluationSet", "plots", "from the room, not the root"),
        ("from labelbayes import data", "plots", "from the room, not the root"),
        ("import labelbayes", "plots", "from the room, not the root"),
        ("import labelbayes as lb", "cli", "from the room, not the root"),
        ("from labelbayes.utils import x", "plots", "from the room, not the root"),
        ("from .read import x", "data", "line 1: relative import"),
        ("from . import read", "data", "line 1: relative import"),
        ("import pymc as pm", "metrics", "metrics must not import pymc"),
        ("from pytensor.tensor import exp", "optimal", "optimal must not import pytensor"),
        ("import arviz", "laws", "laws must not import arviz"),
        ("def f():\n    import matplotlib.pyplot", "ladder", "ladder must not import matplotlib"),
        ("import importlib", "laws", "by a name in a string"),
        ("from importlib import import_module", "report", "by a name in a string"),
        ("pymc = __import__('pymc')", "laws", "line 1: __import__"),
        ("", "helpers", "helpers is no room"),
    ],
)
def test_planted_imports_are_caught(source: str, room: str, sentence: str) -> None:
    assert any(sentence in fault for fault in faults(source, room))


@pytest.mark.parametrize(
    ("source", "room"),
    [
        ("import numpy as np\nfrom labelbayes.data.read import x", "data"),
        ("from labelbayes._checks import make_rng", "data"),
        ("from labelbayes.ladder import ladder", "monitor"),
        ("import warnings\nwith warnings.catch_warnings():\n    import arviz", "bayes"),
        ("import importlib", "ladder"),
        ("from importlib.metadata import version", "report"),
        ("import matplotlib.pyplot as plt\nimport pymc", "report"),
    ],
)
def test_allowed_imports_pass(source: str, room: str) -> None:
    assert faults(source, room) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_stay_small_and_have_a_subject(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES
    assert path.stem != "utils"


def rung_faults(rungs: Iterable[tuple[str, str, str]]) -> list[str]:
    """Say which rungs name nothing that the ladder may run."""
    found = []
    for name, assumption, target, *_ in rungs:
        if not (name and assumption and TARGET.fullmatch(target)):
            found.append(f"{name}: not (name, assumption, 'labelbayes.module:function')")
            continue
        module, function = target.split(":")
        room = module.split(".")[1]
        if room not in ROOMS or ROOMS.index(room) > ROOMS.index("ladder"):
            found.append(f"{name}: {room} is no room below the ladder")
            continue
        try:
            run = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError) as error:
            found.append(f"{name}: {error}")
            continue
        if not callable(run):
            found.append(f"{name}: {target} cannot be called")
    names = [name for name, *_ in rungs]
    return found + [f"{name} stands twice" for name in set(names) if names.count(name) > 1]


def test_rungs_name_functions_that_the_ladder_may_run() -> None:
    rungs = importlib.import_module("labelbayes.ladder").RUNGS
    assert len(rungs) > 0
    assert rung_faults(rungs) == []


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("labelbayes.plots.style:apply", "no room below the ladder"),
        ("labelbayes.helpers:run", "no room below the ladder"),
        ("labelbayes._checks:no_such_function", "no_such_function"),
        ("labelbayes.laws.no_such_module:run", "no_such_module"),
        ("labelbayes._checks:CI_PROB", "cannot be called"),
        ("labelbayes._checks.make_rng", "not (name, assumption"),
        ("os:getcwd", "not (name, assumption"),
    ],
)
def test_planted_rungs_are_caught(target: str, sentence: str) -> None:
    good = ("good", "none", "labelbayes._checks:make_rng")
    (fault,) = rung_faults([good, ("bad", "none", target)])
    assert fault.startswith("bad")
    assert sentence in fault
    assert rung_faults([good, good]) == ["good stands twice"]
