"""The rungs of the assumption ladder that rest on laws, each in the form that the ladder calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.impute import impute
from labelbayes.laws.labeled import estimate_labeled, estimate_shared_rate
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.metrics.registry import Metric
from labelbayes.results.estimates import Estimates
from labelbayes.results.sentences import Target, plug_in

#: Draws up to so many missing rows, and beyond them; each result says how many it has.
MANY_DRAWS, MANY_ROWS, FEW_DRAWS = 10_000, 100_000, 1_000


@dataclass(frozen=True, eq=False)
class RungInputs:
    """What every rung is given.

    Parameters
    ----------
    evaluation : EvaluationSet
        The data.
    metrics : sequence of CountMetric or RankingMetric
        What is asked for.
    target : {"sample", "population"}
        One target per ladder.
    imputation : Imputation, optional
        The user's own belief; None lets each rung form its own.
    seed : numpy.random.SeedSequence
        A child of the ladder's seed, so that no rung's draws depend on another rung.
    beta, propensity, outcome, soft_labels : object, optional
        What the user knows beside the labels, as `ladder` was given it; each rung checks its own.
    """

    evaluation: EvaluationSet
    metrics: Sequence[Metric]
    target: Target
    imputation: Imputation | None
    seed: np.random.SeedSequence
    beta: Any = None
    propensity: Any = None
    outcome: Any = None
    soft_labels: Any = None

    def rng(self) -> np.random.Generator:
        """Return the generator of this rung."""
        return np.random.default_rng(self.seed)

    @property
    def n_draws(self) -> int:
        """Draws of what has to be sampled; a draw of a ranking metric costs by the missing row."""
        return MANY_DRAWS if self.evaluation.n_unlabeled <= MANY_ROWS else FEW_DRAWS


def labeled_only(inputs: RungInputs) -> Estimates:
    """Return the law that the labeled rows alone give.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given.

    Returns
    -------
    Estimates
        See `estimate_labeled`.
    """
    _check_both_classes(inputs)
    return estimate_labeled(
        inputs.evaluation,
        metrics=inputs.metrics,
        target=inputs.target,
        n_draws=inputs.n_draws,
        rng=inputs.rng(),
    )


def coin_flip(inputs: RungInputs) -> Estimates:
    """Return the law under p = 1/2, with the sentence that it is no ignorance.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given.

    Returns
    -------
    Estimates
        See `estimate_pemi`.
    """
    return _pemi(inputs, impute(inputs.evaluation, "maxent"))


def shared_rate(inputs: RungInputs) -> Estimates:
    """Return the law under one unknown rate per decision.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given.

    Returns
    -------
    Estimates
        See `estimate_shared_rate`.
    """
    return estimate_shared_rate(
        inputs.evaluation,
        metrics=inputs.metrics,
        target=inputs.target,
        n_draws=inputs.n_draws,
        rng=inputs.rng(),
    )


def prevalence(inputs: RungInputs) -> Estimates:
    """Return the law under the labeled rows' rate of positives, itself estimated.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given.

    Returns
    -------
    Estimates
        See `estimate_pemi`.
    """
    _check_both_classes(inputs)
    return _pemi(inputs, impute(inputs.evaluation, "prevalence", rng=inputs.rng()))


def calibration_known(inputs: RungInputs) -> Estimates:
    """Return the law under a calibration taken as exactly known.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given.

    Returns
    -------
    Estimates
        See `estimate_pemi`.
    """
    belief = inputs.imputation
    if belief is None:
        belief = impute(inputs.evaluation, n_refits=0, rng=inputs.rng())
    result = _pemi(inputs, belief.without_refits())
    if not belief.n_refits:
        return result
    warning = plug_in(inputs.evaluation.n_labeled, inputs.evaluation.n_unlabeled)
    return replace(result, notes=(*result.notes, warning))


def calibration_refitted(inputs: RungInputs) -> Estimates:
    """Return the law under a calibration with its uncertainty.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given.

    Returns
    -------
    Estimates
        See `estimate_pemi`.

    Raises
    ------
    ValueError
        If the user's own belief has no refits.
    """
    belief = inputs.imputation
    if belief is None:
        belief = impute(inputs.evaluation, rng=inputs.rng())
    if not belief.n_refits and inputs.evaluation.n_unlabeled:
        raise ValueError("the given probabilities come without refits")
    return _pemi(inputs, belief)


def _check_both_classes(inputs: RungInputs) -> None:
    """Refuse to learn a rate from labels that are positive by construction."""
    counts = inputs.evaluation.counts
    if inputs.beta is not None and counts.fp + counts.tn == 0:
        raise ValueError("only positives are labeled, so labeled rows say nothing of the others")


def _pemi(inputs: RungInputs, belief: Imputation) -> Estimates:
    return estimate_pemi(
        inputs.evaluation,
        belief,
        metrics=inputs.metrics,
        target=inputs.target,
        n_draws=inputs.n_draws,
        rng=inputs.rng(),
    )
