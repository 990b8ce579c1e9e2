"""V3 in quick form: what p does not know, comparisons get wrong."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def v03() -> ModuleType:
    path = Path(__file__).parents[1] / "validation" / "v03.py"
    spec = importlib.util.spec_from_file_location("v03", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("design", ["two models", "two groups"])
def test_differences_are_unbiased_where_p_knows(v03: ModuleType, design: str) -> None:
    found = v03.check(design, n=2_000, n_refits=10, n_replications=20, planted=False)
    assert (found["z"].abs() < v03.MOST).all()
    if design == "two models":
        assert found["prob_first_better"].between(0.2, 0.8).all()


@pytest.mark.parametrize("design", ["two models", "two groups"])
def test_differences_are_wrong_where_p_does_not_know(v03: ModuleType, design: str) -> None:
    found = v03.check(design, n=2_000, n_refits=10, n_replications=20, planted=True)
    assert (found["z"].abs() > v03.LEAST).all()
    assert (found["coverage"] < 0.1).all()
    if design == "two models":  # equal, and yet the first is better for certain
        assert (found["prob_first_better"] > 0.999).all()
