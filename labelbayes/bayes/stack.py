"""The two stacks, PyMC 5 with ArviZ 0.x and PyMC 6 with ArviZ 1.x: the only place that knows.

Everything else in this room takes `pm` and `az` from here and works on plain
`xarray.Dataset`.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import xarray as xr

with warnings.catch_warnings():
    # ArviZ 0.23 announces its successor when it is imported.
    warnings.simplefilter("ignore")
    import arviz as az
    import pymc as pm  # type: ignore[import-untyped]

__all__ = ["az", "count_divergences", "pm", "posterior", "quiet", "replace_posterior", "wrap"]

#: ArviZ 1.x keeps groups in xarray's own tree, ArviZ 0.x in a class of its own.
HAS_TREES = int(az.__version__.split(".")[0]) >= 1


#: Hints about speed that PyTensor gives while it compiles, however small the model is.
HINTS = ("PyTensor could not link to a BLAS", "Numba will use object mode")


@contextmanager
def quiet() -> Iterator[None]:
    """Keep PyMC's messages to errors and PyTensor's hints about speed away, for a while.

    Examples
    --------
    >>> with quiet():
    ...     logging.getLogger("pymc").level == logging.ERROR
    True
    """
    logger = logging.getLogger("pymc")
    level = logger.level
    with warnings.catch_warnings():
        for hint in HINTS:
            warnings.filterwarnings("ignore", message=hint)
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)


def wrap(posterior: xr.Dataset) -> Any:
    """Return draws in the container that PyMC of this stack returns.

    Parameters
    ----------
    posterior : xarray.Dataset
        Variables with dimensions ``chain`` and ``draw`` first.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        With one group, ``posterior``.

    Examples
    --------
    >>> import numpy as np
    >>> draws = xr.Dataset({"rate": (("chain", "draw"), np.zeros((2, 5)))})
    >>> dict(wrap(draws)["posterior"].sizes)
    {'chain': 2, 'draw': 5}
    """
    if HAS_TREES:
        return xr.DataTree.from_dict({"posterior": posterior})
    return az.InferenceData(posterior=posterior)


def posterior(container: Any) -> xr.Dataset:
    """Return the draws of a container.

    Parameters
    ----------
    container : arviz.InferenceData or xarray.DataTree
        What `wrap` or PyMC returned.

    Returns
    -------
    xarray.Dataset
        The posterior group, without the unconstrained twins that some samplers add.

    Examples
    --------
    >>> import numpy as np
    >>> draws = xr.Dataset({"rate": (("chain", "draw"), np.zeros((2, 5)))})
    >>> list(posterior(wrap(draws.assign(rate_logodds__=draws["rate"]))).data_vars)
    ['rate']
    """
    group = container["posterior"]
    dataset = group.to_dataset() if HAS_TREES else group
    return dataset[[name for name in dataset.data_vars if not str(name).endswith("__")]]


def replace_posterior(container: Any, dataset: xr.Dataset, attrs: dict[str, Any]) -> None:
    """Put a dataset in the place of a container's posterior, and attributes beside it.

    Parameters
    ----------
    container : arviz.InferenceData or xarray.DataTree
        Changed in place.
    dataset : xarray.Dataset
        The new posterior group.
    attrs : dict
        Added to the attributes of the container and of the group.
    """
    container["posterior"] = dataset.assign_attrs(attrs)
    container.attrs.update(attrs)


def count_divergences(container: Any) -> int:
    """Return the number of divergent transitions.

    Parameters
    ----------
    container : arviz.InferenceData or xarray.DataTree
        What PyMC returned, or draws that were wrapped.

    Returns
    -------
    int
        0 where no sampler ran.

    Examples
    --------
    >>> import numpy as np
    >>> count_divergences(wrap(xr.Dataset({"rate": (("chain", "draw"), np.zeros((2, 5)))})))
    0
    """
    try:
        diverging = container["sample_stats"]["diverging"]
    except KeyError:
        return 0
    return int(diverging.values.sum())
