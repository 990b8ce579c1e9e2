"""Estimates that use labels and decisions only, no score: labeled rows, and shared rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from labelbayes._checks import CI_PROB, FloatArray, check_choice, check_type, check_whole, make_rng
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.laws.beta_binomial import beta_binomial
from labelbayes.laws.count_metrics import exact_law, joint_draws
from labelbayes.laws.missing_counts import CountPair
from labelbayes.laws.population import (
    HALF_ROW,
    Cells,
    completed_cells,
    draws_laws,
    population_draws,
)
from labelbayes.laws.rate_draws import (
    RatePairs,
    beta_rates,
    completed_metrics,
    labeled_population,
    population_metrics,
    resampled_metrics,
    resampled_rates,
)
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import Metric, resolve_metrics, split_metrics
from labelbayes.results.distribution import Law
from labelbayes.results.estimates import Estimates, JointDraws
from labelbayes.results.sampled import draws_text
from labelbayes.results.sentences import TARGETS, Statement, Target, population, predictive
from labelbayes.results.text import join_methods


def estimate_labeled(
    evaluation: EvaluationSet,
    *,
    metrics: Sequence[str | Metric] | None = None,
    method: str = "bayes",
    target: Target = "sample",
    n_draws: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> Estimates:
    """Return the law of each metric that the labeled rows alone give.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels and decisions.
    metrics : sequence of str, CountMetric or RankingMetric, optional
        None stands for accuracy, precision, recall and f1, with a score also for roc_auc and
        average_precision. Ranking metrics are sampled, from the same completions as the others.
    method : {"bayes", "bootstrap"}, default "bayes"
        "bayes": Jeffreys rates. For these rows the law is exact: known counts, and a
        Dirichlet-multinomial completion of the masked rows given their decision. For the
        population it is Dirichlet(counts + 1/2), sampled.
        "bootstrap": labeled rows are resampled. For the population this is the usual baseline;
        for these rows the resampled rates complete the masked ones.
    target : {"sample", "population"}, default "sample"
        The metric of these rows once all labels are known, or that of rows drawn like these.
    n_draws : int >= 1, default 10_000
        Draws, where there are any.
    rng : numpy.random.Generator, int, optional
        Where draws come from.

    Returns
    -------
    Estimates
        A law per metric.

    Raises
    ------
    ValueError
        If no row is labeled, or an option is none of those above.

    Notes
    -----
    **Assumes** that labels are missing at random given the decision, so that the rate of
    positives among labeled rows with one decision holds for the masked ones too; for the
    population also that the labeled rows are a random sample of all.

    The bootstrap has zero width where all labeled rows with a decision agree; "bayes" has not.

    For these rows ranking metrics are pulled toward those of the decision alone, even if labels
    are missing at random: within a decision, completed labels do not follow the score. A note
    says so. For the population nothing is completed, and nothing pulled.

    References
    ----------
    .. [1] D. Dervovic and M. Cashmore, arXiv 2504.18385, 2025, for the bootstrap baseline.
    .. [2] B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics
       7(1), 1-26, 1979.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, 1], y_pred=[1, 0, 1, 1])
    >>> law = estimate_labeled(evaluation)["precision"]
    >>> round(law.mean, 4), round(law.prob_at_least(1.0), 4)
    (0.9444, 0.8333)
    """
    check_type("evaluation", evaluation, EvaluationSet)
    asked = resolve_metrics(metrics, has_score=evaluation.y_score is not None)
    check_choice("method", method, ("bayes", "bootstrap"))
    check_choice("target", target, TARGETS)
    size, generator = check_whole("n_draws", n_draws, least=1), make_rng(rng)
    known = evaluation.counts
    if not evaluation.n_labeled:
        raise ValueError(
            "`evaluation` must hold labeled rows; got none. Use `bound_worst_case`, or `impute` "
            "with probabilities of your own."
        )
    if method == "bootstrap":
        return _bootstrap(evaluation, asked, target, size, generator)
    counted, ranked = split_metrics(asked)
    if target == "sample":
        rates = beta_rates(_jeffreys(known.fn, known.tn), _jeffreys(known.tp, known.fp))
        pairs = [_jeffreys_pair(known)]
        laws, joint, methods = _at_rates(evaluation, asked, pairs, rates, size, generator)
        return _wrap(evaluation, asked, laws, joint, methods, "predictive", target)
    if ranked:
        joint = labeled_population(asked, evaluation)
    else:
        labeled = Counts(known.tp, known.fp, known.fn, known.tn, 0, 0)
        nothing = [(beta_binomial(0, 1.0, 1.0), beta_binomial(0, 1.0, 1.0))]
        joint = population_draws(counted, completed_cells(labeled, nothing))
    laws = dict(draws_laws(asked, joint, size, generator))
    methods = dict.fromkeys(laws, f"{size:,} draws")
    return _wrap(evaluation, asked, laws, joint, methods, "credible", target)


def _at_rates(
    evaluation: EvaluationSet,
    metrics: Sequence[Metric],
    pairs: Sequence[CountPair],
    rates: RatePairs,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[dict[str, Law], JointDraws, dict[str, str]]:
    """Return laws, joint draws and methods where missing labels share a rate per decision."""
    counted, ranked = split_metrics(metrics)
    known = evaluation.counts
    laws: dict[str, Law] = {m.name: exact_law(m, known, pairs) for m in counted}
    methods = dict.fromkeys(laws, "exact law")
    if not ranked:
        return laws, joint_draws(counted, known, pairs), methods
    joint = completed_metrics(metrics, evaluation, rates)
    laws |= draws_laws(ranked, joint, n_draws, rng)
    return laws, joint, methods | {metric.name: draws_text(n_draws) for metric in ranked}


def _jeffreys(n_positive: int, n_negative: int) -> tuple[float, float]:
    return n_positive + HALF_ROW, n_negative + HALF_ROW


def _jeffreys_pair(known: Counts) -> tuple:
    """Laws of U and V at one Jeffreys rate per decision, given the labeled rows."""
    return (
        beta_binomial(known.unlabeled_predicted_positive, known.tp + HALF_ROW, known.fp + HALF_ROW),
        beta_binomial(known.unlabeled_predicted_negative, known.fn + HALF_ROW, known.tn + HALF_ROW),
    )


def _bootstrap(
    evaluation: EvaluationSet,
    metrics: Sequence[Metric],
    target: Target,
    n_draws: int,
    rng: np.random.Generator,
) -> Estimates:
    counted, ranked = split_metrics(metrics)
    joint: JointDraws
    if not ranked:
        joint = partial(_draw_resamples, counted, evaluation.counts, target)
    elif target == "population":
        joint = resampled_metrics(metrics, evaluation)
    else:
        joint = completed_metrics(metrics, evaluation, resampled_rates(evaluation.counts))
    laws = dict(draws_laws(metrics, joint, n_draws, rng))
    methods = dict.fromkeys(laws, f"bootstrap, {n_draws:,} draws")
    return _wrap(evaluation, metrics, laws, joint, methods, "confidence", target)


def _draw_resamples(
    metrics: Sequence[CountMetric],
    known: Counts,
    target: Target,
    n: int,
    rng: np.random.Generator,
) -> dict[str, FloatArray]:
    if target == "population":
        cells = np.array([known.tp, known.fp, known.fn, known.tn])
        drawn = tuple(rng.multinomial(cells.sum(), cells / cells.sum(), size=n).T)
    else:
        drawn = _complete(known, n, rng)
    return {metric.name: metric(*drawn) for metric in metrics}


def _complete(known: Counts, n: int, rng: np.random.Generator) -> Cells:
    """Known counts, and masked rows at the resampled rate of their decision."""
    n_positive = known.unlabeled_predicted_positive
    n_negative = known.unlabeled_predicted_negative
    of_negative, of_positive = resampled_rates(known)(n, rng).T
    u, v = rng.binomial(n_positive, of_positive), rng.binomial(n_negative, of_negative)
    return known.tp + u, known.fp + n_positive - u, known.fn + v, known.tn + n_negative - v


def _wrap(
    evaluation: EvaluationSet,
    metrics: Sequence[Metric],
    laws: Mapping[str, Law],
    joint: JointDraws,
    methods: Mapping[str, str],
    statement: Statement,
    target: Target,
) -> Estimates:
    is_sample = target == "sample"
    notes = [predictive(evaluation.n, CI_PROB) if is_sample else population(0, CI_PROB)]
    ranked = [metric.name for metric in split_metrics(metrics)[1]]
    if is_sample and ranked and evaluation.n_unlabeled:
        notes.append(pulled_to_the_decision(ranked))
    whole = {name: f"{words}; labeled rows only" for name, words in methods.items()}
    return Estimates(
        {metric.name: laws[metric.name] for metric in metrics},
        method=f"{join_methods(methods)}; labeled rows only",
        assumption="missing labels are like labeled ones of the same decision"
        if is_sample
        else "labeled rows are a random sample of all rows",
        target=target,
        statement=statement,
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=tuple(notes),
        joint=joint,
        methods=whole,
    )


def pulled_to_the_decision(ranked: Sequence[str]) -> str:
    """Return what completion by decision does to metrics of the ranking.

    Parameters
    ----------
    ranked : sequence of str
        Names of the ranking metrics, at least one.

    Returns
    -------
    str
        Two sentences.

    Examples
    --------
    >>> pulled_to_the_decision(["roc_auc"]).partition(". ")[2][:57]
    'This pulls roc_auc toward the value of the decision alone'
    """
    return (
        "Missing labels are completed by decision: within one they do not follow the score, whose "
        "order among them is as good as chance (1/2 for ROC-AUC, the share of positives for "
        f"average precision). This pulls {' and '.join(ranked)} toward the value of the decision "
        "alone, even if labels are missing at random."
    )


def estimate_shared_rate(
    evaluation: EvaluationSet,
    *,
    metrics: Sequence[str | Metric] | None = None,
    target: Target = "sample",
    n_draws: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> Estimates:
    """Return the law of each metric when nothing is known of the missing labels' two rates.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels and decisions; no label is needed.
    metrics : sequence of str, CountMetric or RankingMetric, optional
        None stands for accuracy, precision, recall and f1, with a score also for roc_auc and
        average_precision. Ranking metrics are sampled, from the same completions as the others.
    target : {"sample", "population"}, default "sample"
        The metric of these rows once all labels are known, or that of rows drawn like these.
    n_draws : int >= 1, default 10_000
        Draws, for the population.
    rng : numpy.random.Generator, int, optional
        Where draws come from.

    Returns
    -------
    Estimates
        A law per metric; exact for these rows.

    Notes
    -----
    **Assumes** one rate of positives among missing rows predicted positive and one among those
    predicted negative, each uniform on [0, 1] and independent of the labeled rows. Unlike coin
    flips this does not narrow as more labels are missing: every number of positives is equally
    likely. The uniform law is meant: it is ignorance of a rate, not an estimate of one.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, 1], y_pred=[1, 0, 1, 1])
    >>> estimate_shared_rate(evaluation)["precision"].atoms().pmf
    array([0.5, 0.5])
    """
    check_type("evaluation", evaluation, EvaluationSet)
    asked = resolve_metrics(metrics, has_score=evaluation.y_score is not None)
    check_choice("target", target, TARGETS)
    size, generator = check_whole("n_draws", n_draws, least=1), make_rng(rng)
    known = evaluation.counts
    pairs = [
        (
            beta_binomial(known.unlabeled_predicted_positive, 1.0, 1.0),
            beta_binomial(known.unlabeled_predicted_negative, 1.0, 1.0),
        )
    ]
    uniform = beta_rates((1.0, 1.0), (1.0, 1.0))
    counted, ranked = split_metrics(asked)
    if target == "sample":
        laws, joint, methods = _at_rates(evaluation, asked, pairs, uniform, size, generator)
        sentence = predictive(evaluation.n, CI_PROB)
    else:
        if ranked:
            joint = population_metrics(asked, evaluation, uniform, generator)
        else:
            joint = population_draws(counted, completed_cells(known, pairs))
        laws = dict(draws_laws(asked, joint, size, generator))
        methods = dict.fromkeys(laws, f"{size:,} draws")
        sentence = population(0, CI_PROB)
    return Estimates(
        {metric.name: laws[metric.name] for metric in asked},
        method=f"{join_methods(methods)}; shared unknown rate",
        assumption="missing labels share one unknown rate per decision, any rate equally likely",
        target=target,
        statement="predictive" if target == "sample" else "credible",
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(sentence,),
        joint=joint,
        methods={name: f"{words}; shared unknown rate" for name, words in methods.items()},
    )
