"""V8 and V9 in quick form: bands cover, the bootstrap fails, paths are attained."""

import importlib.util
from pathlib import Path
from types import ModuleType

VALIDATION = Path(__file__).parents[1] / "validation"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, VALIDATION / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_v08_bands_cover_and_the_bootstrap_fails() -> None:
    v08 = load("v08")
    tables = v08.run(full=False)
    assert v08.is_as_expected(tables)
    # The gates can fail: the bootstrap in place of our band does.
    swapped = {
        name: table.rename(columns={"predictive": "binomial", "binomial": "predictive"})
        for name, table in tables.items()
    }
    assert not v08.is_as_expected(swapped)


def test_v09_paths_are_attained() -> None:
    v09 = load("v09")
    found = v09.run(60)
    assert len(found) > 20
    assert v09.is_as_expected(found)
    assert not v09.is_as_expected(found.assign(area_error=1e-6))
    assert not v09.is_as_expected(found.assign(slack_low=-1e-6))
