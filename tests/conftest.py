"""A guard around every test: global state stays as it was, figures are closed."""

import logging
import os
import random
import sys
import warnings
from collections.abc import Iterator

import pytest

# A backend without windows, for every figure that a test draws.
os.environ["MPLBACKEND"] = "agg"

pytest_plugins = ["pytester"]

#: Libraries that register filters and handlers, or draw, when a part of them is imported.
LIBRARIES = {"arviz", "matplotlib", "numpy", "pandas", "pymc", "pytensor", "rich", "sklearn"}


def _handlers(name: str) -> list[logging.Handler]:
    handlers = logging.getLogger(name).handlers
    return [handler for handler in handlers if not type(handler).__module__.startswith("_pytest")]


def _state() -> dict[str, object]:
    """Copy the global state that the libraries loaded so far share."""
    loaded = LIBRARIES & sys.modules.keys()
    state: dict[str, object] = {
        f"logging of {name or 'the root'}": (logging.getLogger(name).level, _handlers(name))
        for name in ("", "labelbayes", *sorted(loaded))
    }
    # What an import may change stands beside what has been imported: a test that is the first
    # to import a part of a library has no earlier state to compare with.
    parts = sum(name.partition(".")[0] in LIBRARIES for name in sys.modules)
    state[f"warning filters (with {parts} modules)"] = list(warnings.filters)
    state[f"random (with {parts} modules)"] = random.getstate()
    if "numpy" in loaded:
        numpy = sys.modules["numpy"]
        state["numpy errors"] = numpy.geterr()
        kind, keys, *place = numpy.random.get_state()
        state["numpy random"] = (kind, keys.tobytes(), *place)
    if "matplotlib" in loaded:
        # pyplot resolves the backend when it is first used.
        params = sys.modules["matplotlib"].rcParams
        # As a plain dictionary: its own reading resolves and checks every value, each time.
        values = dict.items(params)
        state["rcParams"] = {key: value for key, value in values if not key.startswith("backend")}
    return state


@pytest.fixture(autouse=True)
def _global_state_is_left_alone() -> Iterator[None]:
    before = _state()
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    after = _state()
    changed = [key for key in before.keys() & after.keys() if before[key] != after[key]]
    assert not changed, f"the test left changed: {', '.join(sorted(changed))}"
