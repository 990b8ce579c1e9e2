import logging
import os
import subprocess
import sys

import numpy as np
import xarray as xr

from labelbayes.bayes.stack import count_divergences, posterior, replace_posterior, wrap


def _draws() -> xr.Dataset:
    values = np.arange(24.0).reshape(2, 4, 3)
    return xr.Dataset(
        {"rate": (("chain", "draw", "bin"), values)},
        {"chain": [0, 1], "draw": range(4), "bin": range(3)},
    )


def test_a_wrapped_dataset_comes_back() -> None:
    xr.testing.assert_identical(posterior(wrap(_draws())), _draws())


def test_unconstrained_twins_are_dropped() -> None:
    draws = _draws()
    both = draws.assign(rate_logodds__=draws["rate"] * 2)
    assert list(posterior(wrap(both)).data_vars) == ["rate"]


def test_a_replaced_posterior_carries_its_attributes() -> None:
    container = wrap(_draws())
    replace_posterior(container, _draws().assign(recall=_draws()["rate"].mean("bin")), {"n": 3})
    assert list(posterior(container).data_vars) == ["rate", "recall"]
    assert container.attrs["n"] == posterior(container).attrs["n"] == 3


def test_divergences_are_counted() -> None:
    container = wrap(_draws())
    assert count_divergences(container) == 0
    diverging = np.array([[True, False, False, True], [False] * 4])
    statistics = {"sample_stats": {"diverging": xr.DataArray(diverging, dims=("chain", "draw"))}}
    assert count_divergences(statistics) == 2


def test_importing_says_nothing(tmp_path) -> None:  # ArviZ 0.23 warns once a day and home
    code = "import labelbayes.bayes.sampling, logging; print(logging.getLogger('pymc').level)"
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONWARNINGS": "default"}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert ran.stderr == ""
    assert ran.stdout.strip() == str(logging.INFO)
