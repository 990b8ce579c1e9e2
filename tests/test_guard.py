"""The guard of conftest.py sees what a test leaves behind, and only that."""

from pathlib import Path

import pytest

CONFTEST = (Path(__file__).parent / "conftest.py").read_text(encoding="utf-8")

#: Statement that leaves something behind -> what the guard calls it.
LEFT_BEHIND = {
    "matplotlib.rcParams['figure.dpi'] = 51": "rcParams",
    "warnings.simplefilter('ignore')": "warning filters",
    "np.seterr(all='ignore')": "numpy errors",
    "np.random.seed(1)": "numpy random",
    "random.seed(1)": "random",
    "logging.getLogger().addHandler(logging.NullHandler())": "logging of the root",
    "logging.getLogger('pymc').setLevel(7)": "logging of pymc",
    "logging.getLogger('labelbayes').addHandler(logging.NullHandler())": "logging of labelbayes",
}

HEAD = """
import logging, random, sys, types, warnings
import matplotlib
import numpy as np
import pytest
sys.modules.setdefault("pymc", types.ModuleType("pymc"))  # the guard needs no more of it
"""

CLEAN = """
def test_clean():
    import matplotlib.pyplot as plt
    plt.figure()
    rng = np.random.default_rng(1)
    with warnings.catch_warnings(), np.errstate(all="ignore"), matplotlib.rc_context():
        warnings.simplefilter("ignore")
        matplotlib.rcParams["figure.dpi"] = 51
        rng.random()

def test_figures_were_closed():
    import matplotlib.pyplot as plt
    assert plt.get_fignums() == []
"""


def test_guard_catches_each_planted_change(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    tests = [f"def test_{i}():\n    {line}\n" for i, line in enumerate(LEFT_BEHIND)]
    pytester.makepyfile("\n".join([HEAD, *tests, CLEAN]))
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=len(LEFT_BEHIND) + 2, errors=len(LEFT_BEHIND))
    for i, name in enumerate(LEFT_BEHIND.values()):
        sentence = f"E * the test left changed: {name}*"
        result.stdout.fnmatch_lines([f"*ERROR at teardown of test_{i} *", sentence])


def test_guard_loads_no_library(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("import sys\ndef test_it():\n    assert 'matplotlib' not in sys.modules")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
