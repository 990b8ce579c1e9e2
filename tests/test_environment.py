"""environment.yml and pyproject.toml name the same packages with the same pins."""

import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
ENVIRONMENT = (ROOT / "environment.yml").read_text(encoding="utf-8")
#: Packages whose next major version may break us.
CEILINGS = {"numpy", "scipy", "pymc", "arviz"}


def _wanted(pyproject: str) -> dict[str, SpecifierSet]:
    config = tomllib.loads(pyproject)
    project, conda_names = config["project"], config["tool"]["labelbayes"]["conda"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["lab"]]
    wanted = {"python": SpecifierSet(project["requires-python"])}
    return wanted | {conda_names.get(r.name, r.name): r.specifier for r in map(Requirement, lines)}


def _check(environment: str, pyproject: str = PYPROJECT) -> None:
    content = yaml.safe_load(environment)
    assert content["channels"] == ["conda-forge", "nodefaults"]
    entries = content["dependencies"]
    assert all(isinstance(entry, str) for entry in entries), "a section inside `dependencies`"
    requirements = [Requirement(entry) for entry in entries]
    found = {r.name: r.specifier for r in requirements if r.name != "pip"}
    assert len({r.name for r in requirements}) == len(entries), "a package stands twice"
    wanted = _wanted(pyproject)
    assert found == wanted, {
        "only in pyproject.toml": sorted(wanted.keys() - found.keys()),
        "only in environment.yml": sorted(found.keys() - wanted.keys()),
        "different pins": sorted(k for k in wanted.keys() & found.keys() if wanted[k] != found[k]),
    }


def test_environment_matches_pyproject() -> None:
    _check(ENVIRONMENT)
    assert yaml.safe_load(ENVIRONMENT)["name"] == "labelbayes"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("- scipy>=1.13,<2\n", "- scipy\n", "different pins.*scipy"),
        ("  - scipy>=1.13,<2\n", "", "only in pyproject.toml.*scipy"),
        ("- pip\n", "- pip\n  - seaborn>=0.13\n", "only in environment.yml.*seaborn"),
        ("- pip\n", "- pip\n  - tqdm>=4.66\n", "stands twice"),
        ("- python>=3.11\n", "- python>=3.12\n", "different pins.*python"),
        ("- nodefaults\n", "- defaults\n", "conda-forge"),
        ("- pip\n", "- pip\n  - pip:\n      - pymc\n", "a section inside"),
        ("- matplotlib-base>=", "- matplotlib>=", "only in pyproject.toml.*matplotlib-base"),
    ],
    ids=[
        "loose pin",
        "missing package",
        "extra package",
        "package twice",
        "python range",
        "defaults channel",
        "pip section",
        "pip's name",
    ],
)
def test_planted_faults_are_caught(old: str, new: str, sentence: str) -> None:
    assert ENVIRONMENT.count(old) == 1
    with pytest.raises(AssertionError, match=sentence):
        _check(ENVIRONMENT.replace(old, new))


def _unpinned(pyproject: str) -> list[str]:
    faults = []
    project = tomllib.loads(pyproject)["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    for requirement in map(Requirement, [*project["dependencies"], *extras]):
        operators = {specifier.operator for specifier in requirement.specifier}
        if ">=" not in operators or (requirement.name in CEILINGS and "<" not in operators):
            faults.append(requirement.name)
    return faults


def test_every_dependency_has_a_floor_and_the_moving_ones_a_ceiling() -> None:
    assert _unpinned(PYPROJECT) == []
    assert _unpinned(PYPROJECT.replace('"tqdm>=4.66"', '"tqdm"')) == ["tqdm"]
    assert _unpinned(PYPROJECT.replace('"scipy>=1.13,<2"', '"scipy>=1.13"')) == ["scipy"]
