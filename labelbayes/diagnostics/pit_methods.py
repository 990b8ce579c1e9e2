"""The estimators that a PIT study compares, the wrong ones among them on purpose."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.special import expit, logit

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.impute import impute
from labelbayes.laws.labeled import estimate_labeled, estimate_shared_rate
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.metrics.registry import Metric
from labelbayes.results.estimates import Estimates
from labelbayes.results.sentences import Target

#: Draws of the sampled baselines, and refits of the calibrated ones: enough for a PIT value.
N_DRAWS, N_REFITS = 2_000, 20
#: What makes p wrong on purpose: added to its log odds, and what they are multiplied by.
SHIFT, SCALE = 0.5, 1.5

#: Estimates of one masked set, and the mean p of its missing rows (nan where there is no p).
Answer = tuple[Estimates, float]


def _labeled(how: str, target: Target) -> Callable[..., Answer]:
    def answer(
        evaluation: EvaluationSet, metrics: Sequence[Metric], rng: np.random.Generator
    ) -> Answer:
        found = estimate_labeled(
            evaluation,
            metrics=metrics,
            method=how,
            target=target,
            n_draws=N_DRAWS,
            rng=rng,
        )
        return found, math.nan

    return answer


def _shared(
    evaluation: EvaluationSet, metrics: Sequence[Metric], rng: np.random.Generator
) -> Answer:
    return estimate_shared_rate(evaluation, metrics=metrics, rng=rng), math.nan


def _pemi(
    how: str,
    *,
    method: str = "exact",
    n_refits: int = N_REFITS,
    change: Callable[[EvaluationSet, Imputation], Imputation] | None = None,
) -> Callable[..., Answer]:
    def answer(
        evaluation: EvaluationSet, metrics: Sequence[Metric], rng: np.random.Generator
    ) -> Answer:
        belief = impute(evaluation, how, n_refits=n_refits, rng=rng)
        if change is not None:
            belief = change(evaluation, belief)
        found = estimate_pemi(evaluation, belief, metrics=metrics, method=method, rng=rng)
        missing = ~evaluation.is_labeled
        mean = float(np.average(belief.p[missing], weights=evaluation.count[missing]))
        return found, mean

    return answer


def _shifted(evaluation: EvaluationSet, belief: Imputation) -> Imputation:
    return belief.tilt(math.exp(SHIFT))


def _scaled(evaluation: EvaluationSet, belief: Imputation) -> Imputation:
    return impute(evaluation, expit(SCALE * logit(belief.p)))


#: Name -> what it answers on one masked set.
PIT_METHODS: dict[str, Callable[..., Answer]] = {
    "labeled rows, bootstrap": _labeled("bootstrap", "population"),
    "labeled rows, bootstrap completed": _labeled("bootstrap", "sample"),
    "labeled rows only": _labeled("bayes", "sample"),
    "coin flips (MaxEnt)": _pemi("maxent"),
    "coin flips (MaxEnt), normal": _pemi("maxent", method="gauss"),
    "shared unknown rate": _shared,
    "prevalence": _pemi("prevalence"),
    "prevalence, normal": _pemi("prevalence", method="gauss"),
    "scaling-binning": _pemi("scaling_binning"),
    "scaling-binning, plug-in": _pemi("scaling_binning", n_refits=0),
    "scaling-binning, plug-in, normal": _pemi("scaling_binning", method="gauss", n_refits=0),
    "histogram": _pemi("histogram"),
    "histogram, plug-in": _pemi("histogram", n_refits=0),
    "scaling-binning, log odds + 0.5": _pemi("scaling_binning", change=_shifted),
    "scaling-binning, log odds x 1.5": _pemi("scaling_binning", n_refits=0, change=_scaled),
}


def answers(
    names: Sequence[str],
    evaluation: EvaluationSet,
    metrics: Sequence[Metric],
    place: Sequence[int],
) -> Iterator[tuple[str, Estimates, float]]:
    """Yield what each method says of one masked set.

    Parameters
    ----------
    names : sequence of str
        Keys of `PIT_METHODS`.
    evaluation : EvaluationSet
        The masked set.
    metrics : sequence of CountMetric or RankingMetric
        What is asked for.
    place : sequence of int
        What its randomness depends on: each method gets a generator of its own from it.

    Yields
    ------
    name : str
        The method.
    estimates : Estimates
        Its laws.
    believed : float
        Mean p of the missing rows; nan where the method has none.
    """
    for name in names:
        own = np.random.SeedSequence([*place, *name.encode()])
        found, believed = PIT_METHODS[name](evaluation, metrics, np.random.default_rng(own))
        yield name, found, believed
