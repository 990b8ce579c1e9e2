"""sample(): from a LabelModel to draws of parameters and metrics."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import xarray as xr

from labelbayes._checks import check_choice, check_open_unit, check_whole, make_rng
from labelbayes._progress import track
from labelbayes.bayes.convergence import SamplingWarning, diagnose
from labelbayes.bayes.model import BAYES_TARGETS, BayesTarget, LabelModel
from labelbayes.bayes.posterior import Posterior
from labelbayes.bayes.stack import count_divergences, pm, quiet, replace_posterior, wrap
from labelbayes.bayes.stack import posterior as read_posterior

SAMPLERS = ("pymc", "nutpie", "numpyro", "blackjax")


def sample(
    label_model: LabelModel,
    *,
    draws: int = 1_000,
    tune: int = 1_000,
    chains: int = 4,
    cores: int = 1,
    target: BayesTarget = "sample",
    target_accept: float = 0.9,
    nuts_sampler: str = "pymc",
    rng: np.random.Generator | int | None = None,
) -> Posterior:
    """Draw the parameters, complete the missing labels and return the metrics' posterior.

    Parameters
    ----------
    label_model : LabelModel
        From a builder such as `build_bins`.
    draws, tune : int, default 1_000
        Draws kept and discarded per chain, at least 1 and 0.
    chains : int >= 1, default 4
        Chains; at least two are needed for R-hat.
    cores : int >= 1, default 1
        Processes. Starting them costs more than the small models here; use 2 above five seconds.
    target : {"sample", "population", "rate"}, default "sample"
        The metric of these rows once all labels are known; that of rows drawn like these; or that
        of known labels and, for missing ones, their rates, without the noise of labels. The
        variable is always named by the metric.
    target_accept : float in (0, 1), default 0.9
        Acceptance that NUTS tunes its steps for; higher means smaller steps.
    nuts_sampler : {"pymc", "nutpie", "numpyro", "blackjax"}, default "pymc"
        What runs NUTS; all but the first are further packages.
    rng : numpy.random.Generator, int or None, default None
        Where all randomness comes from. Equal seeds give equal draws with the same version of
        PyMC, not across versions.

    Returns
    -------
    Posterior
        Draws, diagnostics and laws.

    Raises
    ------
    ValueError
        If an option is not as above, or `label_model` came out of a pickle without its PyMC model.
    TypeError
        If `label_model` is no LabelModel, or a number is of the wrong type.

    Warns
    -----
    SamplingWarning
        If R-hat, effective draws or divergences of a parameter or a metric fail the gate of
        `Diagnostics`; each reason is named. Nothing is dropped and nothing raised.

    Notes
    -----
    **Assumes** what the model does; see its `assumption`. A model without observed variables is
    drawn forward: its draws are independent, and chains are only a way to lay them out.

    Missing labels are completed after sampling, given the rates: as counts, or row by row where
    ranking metrics are asked for (the default where there is a score), at a cost that grows with
    the number of missing labels. `LabelModel.metrics` says what is completed.

    References
    ----------
    .. [1] M. D. Hoffman and A. Gelman, "The No-U-Turn Sampler", JMLR 15, 1593-1623, 2014.
    .. [2] A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Buerkner, "Rank-normalization,
       folding, and localization: an improved R-hat", Bayesian Analysis 16(2), 667-718, 2021.

    Examples
    --------
    >>> from labelbayes.bayes.imputation import build_imputation
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.imputation.impute import impute
    >>> evaluation = EvaluationSet([1, 0, None, 1], [0.9, 0.2, 0.8, 0.4])
    >>> label_model = build_imputation(
    ...     evaluation, impute(evaluation, [0, 0, 0.75, 0]), concentration=10
    ... )
    >>> posterior = sample(label_model, rng=0)
    >>> round(posterior.estimates()["precision"].mean, 1), posterior.diagnostics.ok
    (0.9, True)
    """
    if not isinstance(label_model, LabelModel):
        raise TypeError(
            f"`label_model` must be a LabelModel; got {type(label_model).__name__}. Build one with "
            "`build_bins`, for instance."
        )
    if label_model.model is None:
        raise ValueError(
            "`label_model` must have a PyMC model; this one was read from a pickle, which keeps "
            "none. Build it again, e.g. with `build_bins`."
        )
    check_choice("target", target, BAYES_TARGETS)
    check_choice("nuts_sampler", nuts_sampler, SAMPLERS)
    options: dict[str, Any] = {
        "draws": check_whole("draws", draws, least=1),
        "tune": check_whole("tune", tune, least=0),
        "chains": check_whole("chains", chains, least=1),
        "cores": check_whole("cores", cores, least=1),
        "target_accept": check_open_unit("target_accept", target_accept),
        "nuts_sampler": nuts_sampler,
    }
    # Taken from the generator and not spawned: each call with the same one gets other draws.
    seeds = np.random.SeedSequence(int(make_rng(rng).integers(2**63))).spawn(2)
    seed = int(seeds[0].generate_state(1)[0])
    if label_model.is_forward:
        container = wrap(_draw_forward(label_model, draws, chains, seed))
    else:
        container = _run_nuts(label_model, options, seed)
    parameters = read_posterior(container)
    metrics = label_model.complete(parameters, target=target, rng=np.random.default_rng(seeds[1]))
    combined = parameters.assign_coords(metrics.coords).assign(metrics.data_vars)
    attributes = {
        "method": label_model.method,
        "assumption": label_model.assumption,
        "target": target,
        "n_labeled": label_model.n_labeled,
        "n_unlabeled": label_model.n_unlabeled,
    }
    replace_posterior(container, combined, attributes)
    diagnostics = diagnose(combined, count_divergences(container))
    if not diagnostics.ok:
        warnings.warn(
            f"The draws failed the gate: {'; '.join(diagnostics.problems)}.",
            SamplingWarning,
            stacklevel=2,
        )
    return Posterior(label_model, container, target, diagnostics)


def _draw_forward(label_model: LabelModel, draws: int, chains: int, seed: int) -> xr.Dataset:
    """Return independent draws of a model without data, laid out in chains."""
    model = label_model.model
    variables = [
        variable
        for variable in (*model.free_RVs, *model.deterministics)
        if not label_model.kept or variable.name in label_model.kept
    ]
    with quiet():
        values = pm.draw(variables, draws=chains * draws, random_seed=seed)
    columns, coords = {}, {"chain": np.arange(chains), "draw": np.arange(draws)}
    for variable, drawn in zip(variables, values, strict=True):
        name = variable.name
        # Its own shape is read off the draws: a variable with dims need not know it before.
        own = np.shape(drawn)[np.ndim(drawn) - variable.ndim :]
        drawn = np.reshape(drawn, (chains, draws, *own))
        dims = model.named_vars_to_dims.get(name) or tuple(
            f"{name}_dim_{axis}" for axis in range(drawn.ndim - 2)
        )
        columns[name] = (("chain", "draw", *dims), drawn)
        coords |= {dim: np.asarray(model.coords[dim]) for dim in dims if model.coords.get(dim)}
    return xr.Dataset(columns, coords)


def _run_nuts(label_model: LabelModel, options: dict[str, Any], seed: int) -> Any:
    total = options["chains"] * (options["draws"] + options["tune"])
    with quiet(), _advance(total) as advance:
        return pm.sample(
            model=label_model.model,
            random_seed=seed,
            progressbar=False,
            compute_convergence_checks=False,
            # Only PyMC's own sampler reports each draw.
            callback=advance if options["nuts_sampler"] == "pymc" else None,
            **options,
        )


@contextmanager
def _advance(total: int) -> Iterator[Callable[..., None]]:
    """Give a function that moves the progress bar by one draw, whatever it is called with."""
    steps = track(range(total), label="sampling")

    def advance(*_: object, **__: object) -> None:
        next(steps, None)

    try:
        yield advance
    finally:
        # Run out, so that the bar goes away also where a sampler reports nothing.
        deque(steps, maxlen=0)
