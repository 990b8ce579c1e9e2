"""Models that a user brings: copied with seeds of ours, asked without a trace in the session."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone


@contextmanager
def filters_kept() -> Iterator[None]:
    """Put the warning filters back as they were, whatever a model does to them.

    Before Python 3.14 filters belong to the process, and scikit-learn copies them into each of its
    threads: two that end out of turn leave the copy of the other behind
    (HistGradientBoostingClassifier did so in 14 of 30 fits on two cores).

    Yields
    ------
    None
        Fit and predict inside.
    """
    with warnings.catch_warnings():
        yield


def fresh_copy(model: Any, rng: np.random.Generator) -> Any:
    """Return an unfitted copy; what would draw from NumPy's global state gets a seed of ours.

    Parameters
    ----------
    model : object
        An estimator; one that is not of scikit-learn is copied as it is.
    rng : numpy.random.Generator
        Draws one seed for each `random_state` that is None, those of the steps of a pipeline
        among them.

    Returns
    -------
    object
        The copy.
    """
    if not isinstance(model, BaseEstimator):
        return copy.deepcopy(model)
    copied = clone(model)
    unseeded = [
        name
        for name, value in sorted(copied.get_params().items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return copied.set_params(**{name: int(rng.integers(2**31)) for name in unseeded})
