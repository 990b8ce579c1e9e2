"""Predictive evaluation by missing-label imputation: exact, Gaussian or sampled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelbayes._checks import CI_PROB, check_choice, check_type, check_whole, make_rng
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import Imputation
from labelbayes.laws.count_metrics import exact_law, joint_draws
from labelbayes.laws.gaussian import gaussian_law
from labelbayes.laws.missing_counts import count_pairs, weigh_missing
from labelbayes.laws.population import (
    completed_cells,
    draws_laws,
    population_draws,
    weighted_cells,
)
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import resolve_metrics
from labelbayes.results.distribution import Law
from labelbayes.results.estimates import Estimates, JointDraws
from labelbayes.results.sentences import TARGETS, Target, population, predictive

METHODS = ("exact", "gauss", "sampled")


def estimate_pemi(
    evaluation: EvaluationSet,
    imputation: Imputation,
    *,
    metrics: Sequence[str | CountMetric] | None = None,
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
    metrics : sequence of str or CountMetric, optional
        None stands for accuracy, precision, recall and f1.
    method : {"exact", "gauss", "sampled"}, default "exact"
        The exact law, a matched normal, or the empirical law of `n_draws` completions. The
        result's `method` says which it is.
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
        If the imputation was made for other rows, or an option is none of those above.
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
    asked = resolve_metrics(metrics, has_score=False)
    check_choice("method", method, METHODS)
    check_choice("target", target, TARGETS)
    size = check_whole("n_draws", n_draws, least=1)
    if target == "population":
        return _estimate_population(evaluation, imputation, asked, method, size, make_rng(rng))
    known = evaluation.counts
    pairs = count_pairs(evaluation, imputation)
    joint: JointDraws | None = joint_draws(asked, known, pairs)
    laws: dict[str, Law]
    if method == "exact":
        laws, name = {m.name: exact_law(m, known, pairs) for m in asked}, "exact law"
    elif method == "gauss":
        laws, name = {m.name: gaussian_law(m, known, pairs) for m in asked}, "matched normal law"
        joint = None
    else:
        assert joint is not None
        laws, name = dict(draws_laws(asked, joint, size, make_rng(rng))), f"{size:,} draws"
    return Estimates(
        laws,
        method=f"{name}; {imputation.method}",
        assumption=imputation.assumption,
        target="sample",
        statement="predictive",
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(predictive(evaluation.n, CI_PROB), *imputation.notes),
        joint=joint,
    )


def _estimate_population(
    evaluation: EvaluationSet,
    imputation: Imputation,
    metrics: Sequence[CountMetric],
    method: str,
    n_draws: int,
    rng: np.random.Generator,
) -> Estimates:
    if method == "gauss":
        raise ValueError(
            "`method` must be 'exact' or 'sampled' with target='population'; got 'gauss', which "
            "knows only these rows."
        )
    known = evaluation.counts
    if imputation.n_refits:
        joint = population_draws(
            metrics, completed_cells(known, count_pairs(evaluation, imputation))
        )
    else:
        joint = population_draws(
            metrics, weighted_cells(known, *weigh_missing(evaluation, imputation))
        )
    return Estimates(
        draws_laws(metrics, joint, n_draws, rng),
        method=f"{n_draws:,} draws of rows and labels; {imputation.method}",
        assumption=imputation.assumption,
        target="population",
        statement="credible",
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(population(imputation.n_refits, CI_PROB), *imputation.notes),
        joint=joint,
    )
