"""Docstrings and signatures of everything public follow one dialect."""

import dataclasses
import functools
import importlib
import inspect
import pkgutil
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

import labelbayes as lb

ROOT = Path(__file__).parents[1]
CODES = {"GL07", "GL08", "PR01", "PR02", "PR04", "PR07", "PR10", "RT03", "SS03"}
ESTIMATOR = re.compile(r"(estimate|bound|build|fit)_\w+|impute")
NOTEBOOK = re.compile(r"\b\d\d_[a-z][a-z0-9_]*\b")
#: What belongs to the data, or is the one thing a call is about, may have a positional default.
POSITIONAL_DEFAULTS = {
    ("EvaluationSet", "y_score"),
    ("estimate_optimal", "y_true"),
    ("impute", "how"),
}
MEMBER_KINDS = (
    types.FunctionType,
    property,
    functools.cached_property,
    classmethod,
    staticmethod,
)


def _public_modules() -> Iterator[types.ModuleType]:
    for found in pkgutil.walk_packages(lb.__path__, "labelbayes."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            yield importlib.import_module(found.name)


def _defined(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    for name, value in vars(module).items():
        is_code = inspect.isclass(value) or inspect.isfunction(value)
        if is_code and not name.startswith("_") and value.__module__ == module.__name__:
            yield name, value


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(cls).items():
        if not name.startswith("_") and isinstance(value, MEMBER_KINDS):
            yield name, getattr(cls, name)


OBJECTS = {f"{m.__name__}.{name}": value for m in _public_modules() for name, value in _defined(m)}
CLASSES = {name: value for name, value in OBJECTS.items() if inspect.isclass(value)}
FUNCTIONS = {name: value for name, value in OBJECTS.items() if not inspect.isclass(value)}
METHODS = {f"{c}.{name}": value for c, cls in CLASSES.items() for name, value in _members(cls)}
EXPORTED = {name: getattr(lb, name) for name in lb.__all__}


def _fields_stand_under_attributes(cls: Any) -> bool:
    """Whether a value class, or one it extends, documents as attributes what it takes."""
    if not inspect.isclass(cls):
        return False
    if Protocol in cls.__bases__:  # never called, though Python gives it a signature
        return True
    docs = [Validator(get_doc_object(base)) for base in cls.__mro__ if base in CLASSES.values()]
    docs = docs or [Validator(get_doc_object(cls))]
    named = {
        name.strip()
        for doc in docs
        for parameter in [*doc.doc["Attributes"], *doc.doc["Parameters"]]
        for name in parameter.name.split(",")
    }
    is_value = dataclasses.is_dataclass(cls) or hasattr(cls, "_fields")
    return is_value and set(docs[0].signature_parameters) <= named


def docstring_faults(obj: Any) -> list[tuple[str, str]]:
    """List what numpydoc finds, of the codes that we hold to."""
    errors = validate(get_doc_object(obj))["errors"]
    return [
        (code, message)
        for code, message in errors
        if code in CODES and not (code == "PR01" and _fields_stand_under_attributes(obj))
    ]


def estimator_faults(name: str, docstring: str) -> list[str]:
    """Say what an estimator's docstring leaves out or names in vain."""
    found = []
    if ESTIMATOR.fullmatch(name) and "Assumes" not in docstring:
        found.append(f"{name}: no paragraph **Assumes**")
    for slug in NOTEBOOK.findall(docstring):
        if not (ROOT / "notebooks" / f"{slug}.py").exists():
            found.append(f"{name}: there is no notebook {slug}")
    return found


def type_faults(name: str, function: Any) -> list[str]:
    """Say which parameters are open-ended or untyped."""
    signature = inspect.signature(function)
    found = []
    for parameter in signature.parameters.values():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            found.append(f"{name}: {parameter}")
        if parameter.annotation is parameter.empty and parameter.name not in {"self", "cls"}:
            found.append(f"{name}: {parameter.name} has no type")
    if inspect.isfunction(function) and signature.return_annotation is signature.empty:
        found.append(f"{name}: the return has no type")
    return found


def option_faults(name: str, function: Any) -> list[str]:
    """Say which options could be passed by position."""
    return [
        f"{name}: option {parameter.name} is not keyword-only"
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is not parameter.KEYWORD_ONLY
        and parameter.default is not parameter.empty
        and (name, parameter.name) not in POSITIONAL_DEFAULTS
    ]


def _is_built_by_hand(value: Any) -> bool:
    """Whether a user calls it: not a value class whose constructor a dataclass wrote."""
    if inspect.isclass(value):
        return "__init__" in vars(value) and value.__init__.__code__.co_filename != "<string>"
    return inspect.isfunction(value)


CALLED = {name: value for name, value in EXPORTED.items() if _is_built_by_hand(value)} | {
    name: value
    for name, value in FUNCTIONS.items()
    if name.startswith(("labelbayes.plots.", "labelbayes.report."))
}


@pytest.mark.parametrize("name", [*OBJECTS, *METHODS])
def test_docstrings_are_complete(name: str) -> None:
    assert docstring_faults((OBJECTS | METHODS)[name]) == []


@pytest.mark.parametrize("name", [name for name in EXPORTED if name not in lb._ROOMS])
def test_exported_docstrings_name_assumptions_and_notebooks(name: str) -> None:
    assert estimator_faults(name, inspect.getdoc(EXPORTED[name]) or "") == []


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_functions_and_methods_are_typed(name: str) -> None:
    function = (FUNCTIONS | METHODS)[name]
    assert not callable(function) or type_faults(name, function) == []


@pytest.mark.parametrize("name", CALLED)
def test_what_a_user_calls_takes_options_by_keyword(name: str) -> None:
    assert option_faults(name, CALLED[name]) == []


def test_the_walk_finds_what_is_exported() -> None:
    found = {id(value) for value in OBJECTS.values()}
    code = {name: value for name, value in EXPORTED.items() if not inspect.ismodule(value)}
    assert code
    assert [name for name, value in code.items() if id(value) not in found] == []
    assert METHODS


def _undocumented(a: int) -> int:
    return a


def _phantom(a: int) -> int:
    """Return a number.

    Parameters
    ----------
    a : int
        A number.
    b : int
        Taken by nobody.

    Returns
    -------
    int
        The number.
    """
    return a


def _forgotten(a: int, b: int) -> int:
    """Return a number

    Parameters
    ----------
    a
    """
    return a + b


def _silent_return(a: int) -> int:
    """Return a number.

    Parameters
    ----------
    a : int
        A number.

    Returns
    -------
    int
    """
    return a


@dataclasses.dataclass
class _Documented:
    """A pair.

    Attributes
    ----------
    a, b : int
        Numbers.
    """

    a: int
    b: int


@dataclasses.dataclass
class _HalfDocumented:
    """A pair.

    Attributes
    ----------
    a : int
        A number.
    """

    a: int
    b: int


@pytest.mark.parametrize(
    ("obj", "codes"),
    [
        (_undocumented, {"GL08"}),
        (_phantom, {"PR02"}),
        (_forgotten, {"SS03", "PR01", "PR04", "PR07"}),
        (_silent_return, {"RT03"}),
        (_HalfDocumented, {"PR01"}),
        (_Documented, set()),
    ],
)
def test_planted_docstring_faults_are_caught(obj: Any, codes: set[str]) -> None:
    assert {code for code, _ in docstring_faults(obj)} == codes


def test_planted_estimator_faults_are_caught() -> None:
    assert estimator_faults("estimate_x", "Estimate.") == ["estimate_x: no paragraph **Assumes**"]
    assert estimator_faults("impute", "Impute.") == ["impute: no paragraph **Assumes**"]
    assert estimator_faults("read_x", "Read.") == []
    assert estimator_faults("estimate_x", "**Assumes** much; see 99_no_such_notebook.") == [
        "estimate_x: there is no notebook 99_no_such_notebook"
    ]


def _open_ended(*values: int, **options: int) -> None:
    """Take anything."""


def _untyped(a, *, b: int = 1):
    """Say nothing of types."""


def _positional_option(a: int, b: int = 1) -> None:
    """Let an option be positional."""


def _careful(a: int, *, b: int = 1) -> None:
    """Do as the house does."""


def test_planted_signature_faults_are_caught() -> None:
    assert len(type_faults("f", _open_ended)) == 2
    assert type_faults("f", _untyped) == ["f: a has no type", "f: the return has no type"]
    assert option_faults("f", _positional_option) == ["f: option b is not keyword-only"]
    assert type_faults("f", _careful) == option_faults("f", _careful) == []
    assert {"EvaluationSet", "impute"} <= CALLED.keys()
    assert "Interval" not in CALLED
