"""Draws for many data sets from one model: compiled once, or drawn directly."""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import xarray as xr

from labelbayes._checks import FloatArray
from labelbayes.bayes.convergence import SamplingWarning
from labelbayes.bayes.model import LabelModel, flatten
from labelbayes.bayes.sampling import sample
from labelbayes.bayes.stack import pm, posterior, quiet
from labelbayes.results.estimates import Estimates

#: The sampler that can be given other data after it was compiled; not installed by default.
nutpie: Any = None
with suppress(ImportError):
    import nutpie  # type: ignore

#: Two chains, so that none is trusted alone; every fifth draw is kept, which makes the kept ones
#: nearly independent.
CHAINS, TUNE, THIN = 2, 500, 5
TARGET_ACCEPT = 0.9

#: Names and shapes of data, parameters and dimensions: models that share them share a compiled
#: sampler.
Signature = tuple[tuple[str, tuple[int | None, ...]], ...]


class ReusedModel:
    """Draws from the posteriors of one model for many data sets.

    Parameters
    ----------
    n_draws : int >= 1
        Draws for each data set.

    Notes
    -----
    A model without data is drawn forward, a closed form directly. Others are compiled once with
    nutpie, where it is installed, and given the data (``pm.Data``) of each further set. Without
    it, or where data enter a model otherwise, each set is compiled and sampled anew, which takes
    seconds instead of a third of one.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.laws.bins import estimate_bins
    >>> evaluation = EvaluationSet([1, 0, None, 1], [0.9, 0.2, 0.8, 0.4])
    >>> built = estimate_bins(evaluation, metrics=["accuracy", "f1"])
    >>> found = ReusedModel(9).draws(built, np.random.default_rng(0))
    >>> sorted(found), found["f1"].shape
    (['accuracy', 'f1'], (9,))
    """

    def __init__(self, n_draws: int) -> None:
        self.n_draws = n_draws
        self._compiled: dict[Signature, Any] = {}
        #: Models whose compiled form has served no second data set yet.
        self._unproven: dict[Signature, Any] = {}
        self._is_reusable = nutpie is not None

    def draws(
        self, built: LabelModel | Estimates, rng: np.random.Generator
    ) -> dict[str, FloatArray]:
        """Return nearly independent draws of parameters and metrics.

        Parameters
        ----------
        built : LabelModel or Estimates
            Model or closed form of one data set.
        rng : numpy.random.Generator
            Where the draws come from.

        Returns
        -------
        dict of str to ndarray, shape (n_draws, ...)
            Draws by name, nan where undefined.

        Warns
        -----
        UserWarning
            If models differ in more than their data, so that each set is compiled anew.
        """
        if isinstance(built, Estimates):
            drawn = built.draws(self.n_draws, rng)
            return {str(name): drawn[name].values for name in drawn.data_vars}
        if built.is_forward or not self._can_reuse(built):
            found = self._sample(built, rng)
        else:
            kept = self._run_compiled(built, rng)
            found = kept.assign(built.complete(kept, rng=rng).data_vars)
        return {name: values[: self.n_draws] for name, values in flatten(found).items()}

    def _sample(self, label_model: LabelModel, rng: np.random.Generator) -> xr.Dataset:
        """Return draws of the sampler that everybody has."""
        thin = 1 if label_model.is_forward else THIN
        with warnings.catch_warnings():
            # Too few effective draws for a gate, enough for a rank.
            warnings.simplefilter("ignore", SamplingWarning)
            found = sample(
                label_model,
                draws=thin * math.ceil(self.n_draws / CHAINS),
                tune=TUNE,
                chains=CHAINS,
                target_accept=TARGET_ACCEPT,
                rng=rng,
            )
        return found.dataset.isel(draw=slice(thin - 1, None, thin))

    def _can_reuse(self, label_model: LabelModel) -> bool:
        """Whether one compiled model serves all sets; asked at the second set of a kind."""
        signature = _signature(label_model.model)
        if self._is_reusable and signature in self._unproven:
            first = self._unproven.pop(signature)
            self._is_reusable = is_same_but_data(first, label_model.model)
            if not self._is_reusable:
                warnings.warn(
                    "`build` lets data into the model outside of pm.Data, so that no compiled "
                    "model serves two data sets: each is compiled anew.",
                    stacklevel=2,
                )
        return self._is_reusable

    def _run_compiled(self, label_model: LabelModel, rng: np.random.Generator) -> xr.Dataset:
        model = label_model.model
        signature = _signature(model)
        with quiet(), warnings.catch_warnings():
            # A hint about speed that Numba gives while it compiles, however small the model is.
            warnings.filterwarnings("ignore", message=r"(?s).*np\.dot\(\) is faster")
            if signature not in self._compiled:
                self._unproven[signature] = model
                self._compiled[signature] = nutpie.compile_pymc_model(model)
            compiled = self._compiled[signature]
            data = {variable.name: variable.get_value() for variable in model.data_vars}
            drawn = nutpie.sample(
                compiled.with_data(**data),
                draws=THIN * math.ceil(self.n_draws / CHAINS),
                tune=TUNE,
                chains=CHAINS,
                cores=1,
                target_accept=TARGET_ACCEPT,
                seed=int(rng.integers(2**31)),
                progress_bar=False,
                save_warmup=False,
            )
        return posterior(drawn).isel(draw=slice(THIN - 1, None, THIN))


def _signature(model: pm.Model) -> Signature:
    return (
        *((variable.name, variable.get_value().shape) for variable in model.data_vars),
        *((rv.name, rv.type.shape) for rv in model.free_RVs),
        *((dim, (len(names or ()),)) for dim, names in model.coords.items()),
    )


def is_same_but_data(first: pm.Model, second: pm.Model) -> bool:
    """Whether the first model becomes the second when it is given its data.

    Parameters
    ----------
    first, second : pymc.Model
        Models of two data sets, with the same variables. The first is left with the data of the
        second.

    Returns
    -------
    bool
        Whether their joint densities agree at a draw from the prior. The coordinates that a
        sampler moves in may differ: they change how it mixes and not what it draws.

    Examples
    --------
    >>> def build(count):
    ...     with pm.Model() as model:
    ...         pm.Poisson("seen", pm.Exponential("rate", 1.0), observed=pm.Data("count", count))
    ...     return model
    >>> is_same_but_data(build([3]), build([5]))
    True
    """
    pm.set_data({variable.name: variable.get_value() for variable in second.data_vars}, first)
    with quiet():
        values = pm.draw(second.free_RVs, random_seed=1)
        point = {rv.name: value for rv, value in zip(second.free_RVs, values, strict=True)}
        # Run once each: not worth compiling well.
        densities = [
            float(
                pm.model.transform.conditioning.remove_value_transforms(model).compile_logp(
                    mode="FAST_COMPILE"
                )(point)
            )
            for model in (first, second)
        ]
    return math.isclose(*densities, rel_tol=1e-9)
