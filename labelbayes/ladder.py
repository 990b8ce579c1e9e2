"""The same data under every assumption: which part of a number is data, and which is assumption."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from labelbayes._checks import (
    CI_PROB,
    check_choice,
    check_probabilities,
    check_type,
    make_rng,
)
from labelbayes.bounds.beta_prior import resolve_beta
from labelbayes.data.columns import as_column, as_reals
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.count_metrics import true_values
from labelbayes.laws.missing_counts import check_made_from
from labelbayes.laws.rungs import RungInputs
from labelbayes.metrics.registry import Metric, resolve_metrics
from labelbayes.results.estimates import Bounds, Estimates
from labelbayes.results.ladder import Ladder
from labelbayes.results.result import Result, undefined_sentences
from labelbayes.results.sentences import (
    INDEPENDENCE,
    MISSING_AT_RANDOM,
    TARGETS,
    THRESHOLD,
    TRAINED_ROWS,
    Target,
)
from labelbayes.results.text import after_names
from labelbayes.weighting.propensity import RowProbabilities


class Rung(NamedTuple):
    """A line of the ladder: its name, what it assumes, and the function that climbs it.

    Attributes
    ----------
    name : str
        How tables and figures call it.
    assumption : str
        What must hold for its numbers to be right.
    function : str
        ``"module:function"``, which takes `RungInputs` and returns Estimates or Bounds.
    options : tuple of str, default ()
        Options of `ladder` that ask for this rung, all of them; empty for one that always stands.
    """

    name: str
    assumption: str
    function: str
    options: tuple[str, ...] = ()


#: From no assumption to full belief. A method that is added appends its line where it belongs.
#: The functions are named, not imported, so that a ladder loads only what it runs.
RUNGS: list[Rung] = [
    Rung("worst case", "nothing", "labelbayes.bounds.worst_case:worst_case"),
    Rung(
        "labeled rows only",
        "missing labels are like labeled ones of the same decision",
        "labelbayes.laws.rungs:labeled_only",
    ),
    Rung(
        "coin flips (MaxEnt)",
        "each missing label is an independent coin flip",
        "labelbayes.laws.rungs:coin_flip",
    ),
    Rung(
        "shared unknown rate",
        "missing labels share one unknown rate per decision",
        "labelbayes.laws.rungs:shared_rate",
    ),
    Rung(
        "prevalence",
        "missing labels are positive at the labeled rows' rate",
        "labelbayes.laws.rungs:prevalence",
    ),
    Rung(
        "calibration taken as known",
        "missing at random given the score, and the calibration is exact",
        "labelbayes.laws.rungs:calibration_known",
    ),
    Rung(
        "calibration with its uncertainty",
        "missing at random given the score",
        "labelbayes.laws.rungs:calibration_refitted",
    ),
    Rung(
        "calibration (Bayes, Platt)",
        "missing at random given the score, and the logit is linear in it",
        "labelbayes.bayes.rungs:platt",
        ("bayes",),
    ),
    Rung(
        "calibration (Bayes, bins)",
        "missing at random given the score, and rates of bins near a line",
        "labelbayes.bayes.rungs:bins",
        ("bayes",),
    ),
    Rung(
        "calibration (Bayes, tilted)",
        "log odds of missing labels differ by N(0, 0.5) from labeled ones of that score",
        "labelbayes.bayes.rungs:tilted",
        ("bayes",),
    ),
    Rung(
        "marginal sensitivity (odds ratio 2)",
        "odds of a label differ by a factor of at most 2 from those given the features",
        "labelbayes.bounds.marginal_sensitivity:marginal_sensitivity",
        ("outcome",),
    ),
    Rung(
        "outcome model",
        "missing at random, and the outcome model is exactly right",
        "labelbayes.weighting.rungs:outcome_model",
        ("outcome",),
    ),
    Rung(
        "Horvitz-Thompson",
        "missing at random, and the propensity is right",
        "labelbayes.weighting.rungs:horvitz_thompson",
        ("propensity",),
    ),
    Rung(
        "Hajek",
        "missing at random, and the propensity is right",
        "labelbayes.weighting.rungs:hajek",
        ("propensity",),
    ),
    Rung(
        "AIPW",
        "missing at random, and the propensity or the outcome model is right",
        "labelbayes.weighting.rungs:aipw",
        ("propensity", "outcome"),
    ),
    Rung(
        "positive-unlabeled",
        "known positives are a random sample of all positives (SCAR), and beta is right",
        "labelbayes.bounds.positive_unlabeled_rungs:positive_unlabeled",
        ("beta",),
    ),
    Rung(
        "unlabeled taken as negative",
        "no missing label is positive",
        "labelbayes.bounds.positive_unlabeled_rungs:unlabeled_negative",
        ("beta",),
    ),
    Rung(
        "optimum",
        "P(y = 1 | x) is an increasing function of the soft label",
        "labelbayes.optimal.rungs:headroom",
        ("soft_labels",),
    ),
]


def ladder(
    evaluation: EvaluationSet,
    *,
    metrics: Sequence[str | Metric] | None = None,
    target: Target = "sample",
    imputation: Imputation | None = None,
    beta: object = None,
    propensity: object = None,
    outcome: object = None,
    soft_labels: npt.ArrayLike | None = None,
    bayes: bool = False,
    extra: Mapping[str, Estimates | Bounds] | None = None,
    truth: EvaluationSet | None = None,
    rng: np.random.Generator | int | None = None,
) -> Ladder:
    """Estimate the metrics under every assumption, from none to full belief.

    Parameters
    ----------
    evaluation : EvaluationSet
        The data.
    metrics : sequence of str, CountMetric or RankingMetric, optional
        None stands for accuracy, precision, recall and f1, with a score also for roc_auc and
        average_precision.
    target : {"sample", "population"}, default "sample"
        The metrics of these rows once all labels are known, or of rows drawn like these.
    imputation : Imputation, optional
        Your own belief about the missing labels, in place of the default calibration.
    beta : float, tuple of float, BetaPrior or Audit, optional
        Share of positives among the missing labels, where only positives are labeled: adds what
        that alone implies (positive-unlabeled bounds).
    propensity : Propensity or array_like of float, shape (n_rows,), optional
        P(label seen) of each row: adds the weighted estimates.
    outcome : Outcome or array_like of float, shape (n_rows,), optional
        P(y = 1) of each row by a model of the outcome: adds the doubly robust estimate.
    soft_labels : array_like of float, shape (n_rows,), optional
        P(y = 1) of each row as raters see it: adds what the best classifier could reach.
    bayes : bool, default False
        Whether to sample the Bayesian rungs too, with PyMC: up to a minute more.
    extra : mapping of str to Estimates or Bounds, optional
        Further rungs of yours, below the built-in ones; of the same target.
    truth : EvaluationSet, optional
        The same rows with all labels, where they are known after all.
    rng : numpy.random.Generator, int, optional
        Where refits and draws come from. Each rung has a generator of its own.

    Returns
    -------
    Ladder
        A result per rung. Rungs that the data cannot support are named with the reason.

    Raises
    ------
    ValueError
        If an option is none of those above, `beta` lies outside [0, 1] or audits more rows than
        are unlabeled, `truth` still lacks labels, or a result in `extra` has another target or
        none of the metrics.

    Notes
    -----
    **Assumes** on each rung what stands beside it, and on all of them that rows are independent.
    No rung is "the best", and none is an average of others. Shown in the notebook 01_quickstart.

    References
    ----------
    .. [1] C. F. Manski, Partial Identification of Probability Distributions, 2003.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, 1, 0], [0.9, 0.2, 0.8, 0.4, 0.1])
    >>> steps = ladder(evaluation, metrics=["precision"], rng=0)
    >>> len(steps.results)
    7
    """
    check_type("evaluation", evaluation, EvaluationSet)
    if imputation is not None:
        check_type("imputation", imputation, Imputation)
        check_made_from(evaluation, imputation)
    asked = resolve_metrics(metrics, has_score=evaluation.y_score is not None)
    check_choice("target", target, TARGETS)
    if beta is not None:
        # A beta that cannot be is a slip of the caller; no rung is left out for it.
        resolve_beta(beta, evaluation.n_unlabeled, CI_PROB)
    _check_column("propensity", propensity, evaluation.n_rows)
    _check_column("outcome", outcome, evaluation.n_rows)
    _check_column("soft_labels", soft_labels, evaluation.n_rows)
    names = [metric.name for metric in asked]
    complete = None if truth is None else true_values(asked, truth, evaluation.counts)
    if extra is not None:
        check_type("extra", extra, Mapping)
    own = dict(extra or {})
    _check_extra(own, names, target)
    # One draw fixes every rung's seed, so that a rung that is added changes no other.
    entropy = int(make_rng(rng).integers(2**63))
    results: dict[str, Estimates | Bounds] = {}
    assumptions: dict[str, str] = {}
    left_out: dict[str, str] = {}
    asked_for = {
        "bayes": bayes,
        "beta": beta is not None,
        "propensity": propensity is not None,
        "outcome": outcome is not None,
        "soft_labels": soft_labels is not None,
    }
    for rung in RUNGS:
        if not all(asked_for[option] for option in rung.options):
            continue
        seed = np.random.SeedSequence([entropy, *rung.name.encode()])
        try:
            results[rung.name] = _load(rung)(
                RungInputs(
                    evaluation,
                    asked,
                    target,
                    imputation,
                    seed,
                    beta=beta,
                    propensity=propensity,
                    outcome=outcome,
                    soft_labels=soft_labels,
                )
            )
        except ValueError as reason:  # what the data cannot support is said, not hidden
            left_out[rung.name] = str(reason)
        else:
            assumptions[rung.name] = rung.assumption
    for name, result in own.items():
        results[name] = result
        assumptions[name] = result.assumption
    return Ladder(
        results,
        assumptions,
        left_out,
        tuple(names),
        target,
        complete,
        (*_sentences(results), INDEPENDENCE, MISSING_AT_RANDOM, TRAINED_ROWS, THRESHOLD),
        _ranges(asked, target, results),
    )


def _ranges(
    asked: Sequence[Metric], target: Target, results: Mapping[str, Estimates | Bounds]
) -> dict[str, tuple[float, float]]:
    """Return the values that a metric can have: of these rows, no more than in the worst case."""
    ranges = {metric.name: (metric.lowest, metric.highest) for metric in asked}
    if target == "sample" and "worst case" in results:
        for name, span in results["worst case"].items():
            if not math.isnan(span.low):
                ranges[name] = (span.low, span.high)
    return ranges


def _check_column(name: str, values: Any, n_rows: int) -> None:
    """Raise where a column of probabilities is none at all; no rung is left out for a slip."""
    if values is None or isinstance(values, RowProbabilities):
        return
    given = np.asarray(as_reals(name, as_column(name, values)), dtype=np.float64)
    # Whether a row may go without a value is for the rung to say.
    check_probabilities(name, np.where(np.isnan(given), 0.5, given), n_rows)


def _load(rung: Rung) -> Callable[[RungInputs], Estimates | Bounds]:
    module, _, function = rung.function.partition(":")
    loaded: Callable[[RungInputs], Estimates | Bounds] = getattr(
        importlib.import_module(module), function
    )
    return loaded


def _check_extra(
    extra: Mapping[str, Estimates | Bounds], names: Sequence[str], target: Target
) -> None:
    taken = {rung.name for rung in RUNGS}
    for name, result in extra.items():
        check_type(f"extra[{name!r}]", result, Result)
        if name in taken:
            raise ValueError(f"`extra` must not reuse the name of a rung; got {name!r}.")
        if result.target != target:
            raise ValueError(
                f"`extra` must have the target of the ladder, {target!r}; {name!r} has "
                f"{result.target!r}. Make two ladders."
            )
        if not any(metric in result for metric in names):
            raise ValueError(
                f"`extra` must speak of a metric of the ladder; {name!r} has {list(result)}, the "
                f"ladder {list(names)}. Name one in `metrics`."
            )


def _sentences(results: Mapping[str, Estimates | Bounds]) -> list[str]:
    """Return what the rungs say beside their numbers, each sentence once, after their names."""
    return after_names(
        (rung, sentence)
        for rung, result in results.items()
        for sentence in (*undefined_sentences(result), *result.notes)
    )
