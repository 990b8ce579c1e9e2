"""Estimates that use labels and decisions only, no score: labeled rows, and shared rates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from labelbayes._checks import CI_PROB, FloatArray, check_choice, check_type, check_whole, make_rng
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.laws.beta_binomial import beta_binomial
from labelbayes.laws.count_metrics import exact_law, joint_draws
from labelbayes.laws.population import (
    HALF_ROW,
    Cells,
    completed_cells,
    draws_laws,
    population_draws,
)
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import resolve_metrics
from labelbayes.results.estimates import Estimates, JointDraws
from labelbayes.results.sentences import TARGETS, Statement, Target, population, predictive


def estimate_labeled(
    evaluation: EvaluationSet,
    *,
    metrics: Sequence[str | CountMetric] | None = None,
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
    metrics : sequence of str or CountMetric, optional
        None stands for accuracy, precision, recall and f1.
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
    asked = resolve_metrics(metrics, has_score=False)
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
    pairs = [_jeffreys_pair(known)]
    if target == "sample":
        return _wrap(
            evaluation,
            {m.name: exact_law(m, known, pairs) for m in asked},
            joint_draws(asked, known, pairs),
            "exact law; labeled rows only",
            "predictive",
            target,
        )
    labeled = Counts(known.tp, known.fp, known.fn, known.tn, 0, 0)
    nothing = [(beta_binomial(0, 1.0, 1.0), beta_binomial(0, 1.0, 1.0))]
    joint = population_draws(asked, completed_cells(labeled, nothing))
    laws = draws_laws(asked, joint, size, generator)
    name = f"{size:,} draws; labeled rows only"
    return _wrap(evaluation, laws, joint, name, "credible", target)


def _jeffreys_pair(known: Counts) -> tuple:
    """Laws of U and V at one Jeffreys rate per decision, given the labeled rows."""
    return (
        beta_binomial(known.unlabeled_predicted_positive, known.tp + HALF_ROW, known.fp + HALF_ROW),
        beta_binomial(known.unlabeled_predicted_negative, known.fn + HALF_ROW, known.tn + HALF_ROW),
    )


def _bootstrap(
    evaluation: EvaluationSet,
    metrics: Sequence[CountMetric],
    target: Target,
    n_draws: int,
    rng: np.random.Generator,
) -> Estimates:
    joint = partial(_draw_resamples, metrics, evaluation.counts, target)
    laws = draws_laws(metrics, joint, n_draws, rng)
    name = f"bootstrap, {n_draws:,} draws; labeled rows only"
    return _wrap(evaluation, laws, joint, name, "confidence", target)


def _draw_resamples(
    metrics: Sequence[CountMetric],
    known: Counts,
    target: Target,
    n: int,
    rng: np.random.Generator,
) -> dict[str, FloatArray]:
    cells = np.array([known.tp, known.fp, known.fn, known.tn])
    resampled = rng.multinomial(cells.sum(), cells / cells.sum(), size=n).T
    drawn = resampled if target == "population" else _complete(known, resampled, rng)
    return {metric.name: metric(*drawn) for metric in metrics}


def _complete(known: Counts, resampled: np.ndarray, rng: np.random.Generator) -> Cells:
    """Known counts, and masked rows at the resampled rate of their decision."""
    tp, fp, fn, tn = resampled
    with np.errstate(invalid="ignore"):
        of_positive, of_negative = tp / (tp + fp), fn / (fn + tn)
    n_positive = known.unlabeled_predicted_positive
    n_negative = known.unlabeled_predicted_negative
    # A resample without a row of one decision says nothing about it: even odds then.
    u = rng.binomial(n_positive, np.nan_to_num(of_positive, nan=0.5))
    v = rng.binomial(n_negative, np.nan_to_num(of_negative, nan=0.5))
    return known.tp + u, known.fp + n_positive - u, known.fn + v, known.tn + n_negative - v


def _wrap(
    evaluation: EvaluationSet,
    laws: dict,
    joint: JointDraws,
    method: str,
    statement: Statement,
    target: Target,
) -> Estimates:
    within = "decision" if target == "sample" else "label and decision"
    sentence = predictive(evaluation.n, CI_PROB) if target == "sample" else population(0, CI_PROB)
    return Estimates(
        laws,
        method=method,
        assumption="missing labels are like labeled ones of the same decision"
        if within == "decision"
        else "labeled rows are a random sample of all rows",
        target=target,
        statement=statement,
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(sentence,),
        joint=joint,
    )


def estimate_shared_rate(
    evaluation: EvaluationSet,
    *,
    metrics: Sequence[str | CountMetric] | None = None,
    target: Target = "sample",
    n_draws: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> Estimates:
    """Return the law of each metric when nothing is known of the missing labels' two rates.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels and decisions; no label is needed.
    metrics : sequence of str or CountMetric, optional
        None stands for accuracy, precision, recall and f1.
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
    asked = resolve_metrics(metrics, has_score=False)
    check_choice("target", target, TARGETS)
    size, generator = check_whole("n_draws", n_draws, least=1), make_rng(rng)
    known = evaluation.counts
    pairs = [
        (
            beta_binomial(known.unlabeled_predicted_positive, 1.0, 1.0),
            beta_binomial(known.unlabeled_predicted_negative, 1.0, 1.0),
        )
    ]
    if target == "sample":
        joint = joint_draws(asked, known, pairs)
        laws: dict = {m.name: exact_law(m, known, pairs) for m in asked}
        name, sentence = "exact law; shared unknown rate", predictive(evaluation.n, CI_PROB)
    else:
        joint = population_draws(asked, completed_cells(known, pairs))
        laws = dict(draws_laws(asked, joint, size, generator))
        name, sentence = f"{size:,} draws; shared unknown rate", population(0, CI_PROB)
    return Estimates(
        laws,
        method=name,
        assumption="missing labels share one unknown rate per decision, any rate equally likely",
        target=target,
        statement="predictive" if target == "sample" else "credible",
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(sentence,),
        joint=joint,
    )
