"""The package root: complete, lazy, and without side effects."""

import ast
import importlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import labelbayes as lb

PACKAGE = Path(lb.__file__).parent
#: Everything `import labelbayes` must leave alone: the required packages and what they build on.
HEAVY = {
    "arviz",
    "matplotlib",
    "numpy",
    "pandas",
    "pyarrow",
    "pymc",
    "pytensor",
    "scipy",
    "sklearn",
    "tqdm",
    "xarray",
}
#: Public functions that are named like the module they stand in.
SAME_NAME = [name for name in lb.__all__ if (PACKAGE / f"{name}.py").exists()]

IMPORT_ORDERS = [
    "import labelbayes as lb; import labelbayes.{name}",
    "import labelbayes.{name}; import labelbayes as lb",
    "from labelbayes.{name} import {name}; import labelbayes as lb",
    "import labelbayes as lb; lb.{name}; import labelbayes.{name}",
    "import labelbayes as lb; import labelbayes.{name}; import labelbayes.{name} as again",
    "from labelbayes import {name}; import labelbayes as lb",
    "import importlib; importlib.import_module('labelbayes.{name}'); import labelbayes as lb",
    # pytest sets a module that it collects on its package.
    "import importlib as i, labelbayes as lb; lb.{name} = i.import_module('labelbayes.{name}')",
]

#: Runs each statement with a fresh package, then looks at what the name means.
RUN_ORDERS = """
import json, sys

for statement in json.loads(sys.argv[1]):
    for module in [name for name in sys.modules if name.split(".")[0] == "labelbayes"]:
        del sys.modules[module]
    namespace = {}
    exec(statement, namespace)
    module = sys.modules["labelbayes.%(name)s"]
    assert namespace["lb"].%(name)s is module.%(name)s, statement
"""

SIDE_EFFECTS = """
import importlib, json, logging, random, sys, warnings

for module in json.loads(sys.argv[1]):
    importlib.import_module(module)
import matplotlib
import numpy as np

def state():
    names = ["", *logging.root.manager.loggerDict]
    loggers = [logging.getLogger(name) for name in names if not name.startswith("labelbayes")]
    return {
        "rcParams": dict(matplotlib.rcParams),
        "warning filters": list(warnings.filters),
        "numpy errors": np.geterr(),
        "logging": [(log.name, log.level, list(log.handlers)) for log in loggers],
        "numpy random": str(np.random.get_state()),
        "random": random.getstate(),
    }

before = state()
%s
after = state()
changed = [key for key in before if before[key] != after[key]]
assert not changed, changed
"""


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def _exports(source: str) -> dict[str, object]:
    """Read the root's three lists of names without running it."""
    tree = ast.parse(source)
    values = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    (checking,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = {
        alias.name: node.module
        for node in checking.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return values | {"imports": imports}


def _check_exports(source: str) -> None:
    exports = _exports(source)
    rooms = dict.fromkeys(exports["_ROOMS"], "labelbayes")
    assert exports["imports"] == exports["_MODULES"] | rooms
    assert list(exports["imports"].keys() ^ exports["__all__"]) == []
    assert exports["__all__"] == sorted(exports["__all__"])
    assert list(exports["_MODULES"]) == sorted(exports["_MODULES"])


ROOT_SOURCE = (PACKAGE / "__init__.py").read_text(encoding="utf-8")


def test_all_the_table_and_the_typed_imports_agree() -> None:
    _check_exports(ROOT_SOURCE)
    assert dir(lb) == sorted([*lb.__all__, "__version__"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('    "fbeta",\n', ""),
        ('    "fbeta": "labelbayes.metrics.confusion",\n', ""),
        (
            '    "fbeta": "labelbayes.metrics.confusion",\n',
            '    "fbeta": "labelbayes.laws.pemi",\n',
        ),
        ("    from labelbayes.metrics.confusion import fbeta\n", ""),
        ('_ROOMS = ("diagnostics", "plots", "report")', '_ROOMS = ("plots",)'),
    ],
)
def test_planted_export_faults_are_caught(old: str, new: str) -> None:
    assert ROOT_SOURCE.count(old) == 1
    with pytest.raises(AssertionError):
        _check_exports(ROOT_SOURCE.replace(old, new))


@pytest.mark.parametrize("name", lb.__all__)
def test_each_name_is_the_object_of_its_module(name: str) -> None:
    modules = _exports(ROOT_SOURCE)["_MODULES"]
    if name in modules:
        found = getattr(lb, name)
        assert found is getattr(importlib.import_module(modules[name]), name)
        assert found.__module__ == modules[name]
    else:
        assert getattr(lb, name) is importlib.import_module(f"labelbayes.{name}")


def test_unknown_names_and_the_version() -> None:
    with pytest.raises(AttributeError, match=r"^module 'labelbayes' has no attribute 'nothing'$"):
        lb.nothing  # noqa: B018
    assert lb.__version__ == importlib.import_module("importlib.metadata").version("labelbayes")


def test_importing_the_root_loads_no_library() -> None:
    loaded = "import json, sys; print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    plain = _run(loaded)
    rooted = _run(f"import labelbayes; {loaded}")
    assert rooted.returncode == 0, rooted.stderr
    assert not HEAVY & set(json.loads(rooted.stdout)) - set(json.loads(plain.stdout))
    assert "numpy" in json.loads(_run(f"import numpy; {loaded}").stdout)


def _run_orders(name: str, orders: list[str]) -> str:
    statements = json.dumps([order.format(name=name) for order in orders])
    return _run(RUN_ORDERS % {"name": name}, statements).stderr


@pytest.mark.parametrize("name", SAME_NAME)
def test_function_named_like_its_module_survives_every_order(name: str) -> None:
    assert _run_orders(name, IMPORT_ORDERS) == ""


def test_without_the_guard_the_module_would_hide_the_function() -> None:
    assert "ladder" in SAME_NAME
    unguarded = "import types; import labelbayes as lb; lb.__class__ = types.ModuleType; "
    assert "AssertionError: import types" in _run_orders("ladder", [unguarded + IMPORT_ORDERS[0]])


def _foreign_imports() -> list[str]:
    """Modules of other packages that this package imports; their side effects are not ours.

    A package of an extra that is not installed is left out: it cannot be imported either way.
    """
    found = {"matplotlib", "numpy"}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module))
    packages = {name.split(".")[0] for name in found} - {"labelbayes", "__future__"}
    installed = {name for name in packages if importlib.util.find_spec(name) is not None}
    return sorted(name for name in found if name.split(".")[0] in installed)


def _side_effects(statement: str, foreign_imports: list[str]) -> str:
    done = _run(SIDE_EFFECTS % statement, json.dumps(foreign_imports))
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def test_importing_every_public_name_has_no_side_effect() -> None:
    touch_all = "import labelbayes\n[getattr(labelbayes, name) for name in dir(labelbayes)]"
    assert _side_effects(touch_all, _foreign_imports()) == ""


@pytest.mark.parametrize(
    ("statement", "key"),
    [
        ("matplotlib.rcParams['figure.dpi'] = 51", "rcParams"),
        ("warnings.simplefilter('ignore')", "warning filters"),
        ("np.seterr(all='ignore')", "numpy errors"),
        ("logging.getLogger('pymc').addHandler(logging.NullHandler())", "logging"),
        ("logging.basicConfig()", "logging"),
        ("np.random.seed(1)", "numpy random"),
        ("random.seed(1)", "random"),
    ],
)
def test_planted_side_effects_are_seen(statement: str, key: str) -> None:
    assert _side_effects(statement, []) == f"AssertionError: ['{key}']"
