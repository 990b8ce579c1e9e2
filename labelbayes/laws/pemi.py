"""Predictive evaluation by missing-label imputation: exact, Gaussian or sampled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelbayes._checks import CI_PROB, check_choice, check_type, check_whole, make_rng
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.count_metrics import exact_law, joint_draws
from labelbayes.laws.gaussian import gaussian_law
from labelbayes.laws.missing_cells import cells_and_fits
from labelbayes.laws.missing_counts import CountPair, count_pairs, weigh_missing
from labelbayes.laws.population import (
    completed_cells,
    draws_laws,
    population_draws,
    weighted_cells,
)
from labelbayes.laws.rank_groups import MOST_GROUPS
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.ranking_laws import ranking_laws
from labelbayes.laws.row_draws import RowSampler, sampled_metrics, spread_over
from labelbayes.laws.row_weights import SEPARATED, is_separated, weighted_metrics
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import Metric, resolve_metrics, split_metrics
from labelbayes.results.distribution import Law
from labelbayes.results.estimates import Estimates, JointDraws
from labelbayes.results.sampled import draws_text
from labelbayes.results.sentences import TARGETS, Target, population, predictive
from labelbayes.results.text import join_methods

METHODS = ("exact", "gauss", "sampled", "enumerated", "lattice", "edgeworth")


def estimate_pemi(
    evaluation: EvaluationSet,
    imputation: Imputation,
    *,
    metrics: Sequence[str | Metric] | None = None,
    method: str = "exact",
    target: Target = "sample",
    n_draws: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> Estimates:
    """Return the law of each metric when missing labels are draws with the probabilities believed.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels, decisions and scores.
    imputation : Imputation
        Belief about the missing labels, from `impute` on the same evaluation. With refits each
        law is the mixture over them.
    metrics : sequence of str, CountMetric or RankingMetric, optional
        None stands for accuracy, precision, recall and f1, with a score also for roc_auc and
        average_precision.
    method : {"exact", "gauss", "sampled", "enumerated", "lattice", "edgeworth"}, default "exact"
        The exact law, a matched normal, or the empirical law of `n_draws` completions. Of ranking
        metrics "exact" gives the exact law where that is affordable and else the best that is,
        with exact mean (of roc_auc also sd) and probability undefined in any case; column
        ``method`` of the summary says which. The last three force one kind of law of roc_auc
        ("enumerated" of both) and leave the others at "exact".
    target : {"sample", "population"}, default "sample"
        The metric of these rows once all labels are known, or that of rows drawn like these.
        The latter is always sampled and has no "gauss".
    n_draws : int >= 1, default 10_000
        Draws, where there are any.
    rng : numpy.random.Generator, int, optional
        Where draws come from.

    Returns
    -------
    Estimates
        A law per metric, conditional on the metric being defined, with the probability that it
        is not.

    Raises
    ------
    ValueError
        If the imputation was made for other rows or scores, or an option is none of those above.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    estimate_labeled : The labeled rows alone.
    bound_worst_case : No belief at all.

    Notes
    -----
    **Assumes** that, given p, missing labels are independent draws; that p is right; and, for
    the population, that the share of rows with a label is part of what is drawn.

    With U positives among the missing rows predicted positive and V among those predicted
    negative, every count metric is a function of the two independent Poisson-binomial counts U
    and V. The exact law needs only their distributions, whatever the number of rows.

    The notebook 01_quickstart compares the three methods.

    References
    ----------
    .. [1] D. Dervovic and M. Cashmore, arXiv 2504.18385, 2025.
    .. [2] D. B. Rubin, "The Bayesian bootstrap", Annals of Statistics 9(1), 130-134, 1981.

    Examples
    --------
    >>> from labelbayes.imputation.impute import impute
    >>> evaluation = EvaluationSet([1, 0, None, 1, 0, None], y_pred=[1, 0, 1, 1, 1, 0])
    >>> given = impute(evaluation, [0, 0, 0.75, 0, 0, 0.5])
    >>> law = estimate_pemi(evaluation, given)["recall"]
    >>> round(law.mean, 4), round(law.prob_at_least(1.0), 4)
    (0.8646, 0.5)
    """
    check_type("evaluation", evaluation, EvaluationSet)
    if not isinstance(imputation, Imputation):
        raise TypeError(
            f"`imputation` must be an Imputation; got {type(imputation).__name__}. "
            "Wrap probabilities with `impute(evaluation, p)`."
        )
    asked = resolve_metrics(metrics, has_score=evaluation.y_score is not None)
    check_choice("method", method, METHODS)
    check_choice("target", target, TARGETS)
    size = check_whole("n_draws", n_draws, least=1)
    if target == "population":
        return _estimate_population(evaluation, imputation, asked, method, size, make_rng(rng))
    counted, ranked = split_metrics(asked)
    known = evaluation.counts
    pairs = count_pairs(evaluation, imputation)
    laws, methods = _count_laws(counted, known, pairs, method)
    joint: JointDraws = joint_draws(counted, known, pairs)
    if ranked:
        rows = RankedRows.from_evaluation(evaluation)
        cells, fits = cells_and_fits(rows, evaluation, imputation)
        sampler = RowSampler(rows, cells, known, spread_over(fits))
        joint = sampled_metrics(asked, sampler)
        if method != "sampled":
            found = ranking_laws(
                ranked, sampler, fits, joint, method=method, n_draws=size, rng=make_rng(rng)
            )
            laws, methods = laws | found[0], methods | found[1]
    if method == "sampled":
        laws = dict(draws_laws(asked, joint, size, make_rng(rng)))
        methods = dict.fromkeys(laws, draws_text(size))
    return Estimates(
        {metric.name: laws[metric.name] for metric in asked},
        method=f"{join_methods(methods)}; {imputation.method}",
        assumption=imputation.assumption,
        target="sample",
        statement="predictive",
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(predictive(evaluation.n, CI_PROB), *imputation.notes),
        joint=None if method == "gauss" else joint,
        methods={name: f"{words}; {imputation.method}" for name, words in methods.items()},
    )


def _count_laws(
    metrics: Sequence[CountMetric], known: Counts, pairs: Sequence[CountPair], method: str
) -> tuple[dict[str, Law], dict[str, str]]:
    """Return the laws of count metrics: exact, whatever kind of law the ranking ones have."""
    if method == "gauss":
        laws = {metric.name: gaussian_law(metric, known, pairs) for metric in metrics}
        return laws, dict.fromkeys(laws, "matched normal law")
    laws = {metric.name: exact_law(metric, known, pairs) for metric in metrics}
    return laws, dict.fromkeys(laws, "exact law")


def _estimate_population(
    evaluation: EvaluationSet,
    imputation: Imputation,
    metrics: Sequence[Metric],
    method: str,
    n_draws: int,
    rng: np.random.Generator,
) -> Estimates:
    if method not in ("exact", "sampled"):
        raise ValueError(
            f"`method` must be 'exact' or 'sampled' with target='population'; got {method!r}, "
            "which knows only these rows."
        )
    known, notes = evaluation.counts, [population(imputation.n_refits, CI_PROB)]
    counted, ranked = split_metrics(metrics)
    how = f"{n_draws:,} draws of rows and labels"
    if ranked:
        joint = weighted_metrics(metrics, evaluation, imputation)
        rows = RankedRows.from_evaluation(evaluation)
        if rows.n_steps > MOST_GROUPS:
            how += ", ranks in groups of neighbors"
        if is_separated(known, rows):
            notes.append(SEPARATED)
    elif imputation.n_refits:
        joint = population_draws(
            counted, completed_cells(known, count_pairs(evaluation, imputation))
        )
    else:
        joint = population_draws(
            counted, weighted_cells(known, *weigh_missing(evaluation, imputation))
        )
    return Estimates(
        draws_laws(metrics, joint, n_draws, rng),
        method=f"{how}; {imputation.method}",
        assumption=imputation.assumption,
        target="population",
        statement="credible",
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(*notes, *imputation.notes),
        joint=joint,
    )
