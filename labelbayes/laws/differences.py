"""Laws of differences: two models on the same rows, and two groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from labelbayes._checks import check_choice, check_type, check_whole, make_rng
from labelbayes._progress import track
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.compared import compared_laws, what_it_means
from labelbayes.laws.disjoint_rows import DisjointRows, RowPart
from labelbayes.laws.group_counts import GroupCounts
from labelbayes.laws.missing_counts import check_made_from, check_same_labels
from labelbayes.laws.paired_counts import PairedCounts
from labelbayes.laws.row_completions import RowCompletions
from labelbayes.laws.row_differences import RowDifferences
from labelbayes.laws.row_weights import SEPARATED
from labelbayes.metrics.registry import Metric, resolve_metrics, split_metrics
from labelbayes.results.estimates import Estimates
from labelbayes.results.group_differences import GroupDifferences, pair_name
from labelbayes.results.sentences import TARGETS, Target, multiplicity, not_known
from labelbayes.results.text import after_names


def compare_models(
    evaluation_a: EvaluationSet,
    evaluation_b: EvaluationSet,
    imputation: Imputation,
    *,
    metrics: Sequence[str | Metric] | None = None,
    method: str = "exact",
    target: Target = "sample",
    n_draws: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> Estimates:
    """Return the law of A - B for two models on the same rows with the same labels.

    Parameters
    ----------
    evaluation_a, evaluation_b : EvaluationSet
        The same rows, labels and counts; scores and decisions of either model.
    imputation : Imputation
        Belief about the missing labels. It must know both scores: ``impute(evaluation_a,
        features=evaluation_b.y_score)``.
    metrics : sequence of str, CountMetric or RankingMetric, optional
        None stands for accuracy, precision, recall and f1, and where both have scores also for
        roc_auc and average_precision.
    method : {"exact", "gauss", "sampled"}, default "exact"
        The exact law where its values can be listed, else draws with the exact mean and standard
        deviation; a matched normal; or draws. The result's `method` says what was done.
    target : {"sample", "population"}, default "sample"
        The difference on these rows once all labels are known, or that on rows drawn like
        these. The latter is always sampled and has no "gauss".
    n_draws : int >= 1, default 10_000
        Draws, where there are any.
    rng : numpy.random.Generator, int, optional
        Where draws come from.

    Returns
    -------
    Estimates
        A law of A - B per metric; A beats B with probability ``1 - law.cdf(0)``.

    Raises
    ------
    ValueError
        If the rows or labels differ, `imputation` was made for others or does not know both
        models, or an option is none of those above.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    compare_groups : The same model on different rows.

    Notes
    -----
    **Assumes** that, given p, missing labels are independent draws; that p is right given both
    scores; and, for the population, that the share of labeled rows is part of what is drawn.

    A p from one model's score alone makes that model look good on every missing row: two equal
    models differ with certainty. Such a p is refused. One p for all missing rows (maximum
    entropy, prevalence) favors neither and is taken, with a note; a given array says what it
    knows by the `features` it comes with.

    Missing labels enter count metrics through four independent counts, one per pair of
    decisions. For accuracy, rows on which both decide alike cancel, and the law is that of one
    signed sum over the others, at any number of rows; metrics whose denominators count decisions
    or labels alone need three counts, the others four.

    References
    ----------
    .. [1] X.-L. Meng, "Multiple-imputation inferences with uncongenial sources of input",
       Statistical Science 9(4), 538-558, 1994.

    Examples
    --------
    >>> from labelbayes.imputation.impute import impute
    >>> y_true = [1, 0, None, 1, 0, None]
    >>> a = EvaluationSet(y_true, y_pred=[1, 0, 1, 1, 0, 0])
    >>> b = EvaluationSet(y_true, y_pred=[1, 0, 0, 1, 1, 0])
    >>> law = compare_models(a, b, impute(a, "maxent"), metrics=["accuracy"])["accuracy"]
    >>> law.atoms().support.round(3).tolist(), law.atoms().pmf.tolist()
    ([0.0, 0.333], [0.5, 0.5])
    """
    check_type("evaluation_a", evaluation_a, EvaluationSet)
    check_type("evaluation_b", evaluation_b, EvaluationSet)
    check_type("imputation", imputation, Imputation)
    has_score = evaluation_a.y_score is not None and evaluation_b.y_score is not None
    asked = resolve_metrics(metrics, has_score=has_score)
    size = _check_options(method, target, n_draws)
    _check_same_rows(evaluation_a, evaluation_b)
    check_same_labels(evaluation_a, imputation)
    notes = _check_knows_both(evaluation_a, evaluation_b, imputation)
    rows = None
    if split_metrics(asked)[1]:
        rows = RowCompletions.of_models(evaluation_a, evaluation_b, imputation)
    return compared_laws(
        PairedCounts(evaluation_a, evaluation_b, imputation),
        None if rows is None else RowDifferences(rows),
        asked,
        imputation,
        method=method,
        target=target,
        n_draws=size,
        rng=make_rng(rng),
        n_labeled=evaluation_a.n_labeled,
        n_unlabeled=evaluation_a.n_unlabeled,
        notes=(*notes, *_say_separated(rows, target)),
    )


def compare_groups(
    evaluation: EvaluationSet,
    imputation: Imputation,
    *,
    metrics: Sequence[str | Metric] | None = None,
    method: str = "exact",
    target: Target = "sample",
    n_draws: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> GroupDifferences:
    """Return the law of the difference of each metric between each two groups.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels, decisions and scores, with a group for each row.
    imputation : Imputation
        Belief about the missing labels, made from this evaluation with the group in it:
        ``impute(evaluation, features=evaluation.group)``.
    metrics : sequence of str, CountMetric or RankingMetric, optional
        None stands for accuracy, precision, recall and f1, and where there is a score also for
        roc_auc and average_precision.
    method : {"exact", "gauss", "sampled"}, default "exact"
        The exact law where its values can be listed, else draws with the exact mean and standard
        deviation; a matched normal; or draws. The result's `method` says what was done.
    target : {"sample", "population"}, default "sample"
        The difference between these rows once all labels are known, or between rows drawn like
        these. The latter is always sampled and has no "gauss".
    n_draws : int >= 1, default 10_000
        Draws, where there are any.
    rng : numpy.random.Generator, int, optional
        Where draws come from.

    Returns
    -------
    GroupDifferences
        A dictionary that shows itself as a table. For each pair of groups, in the order of their
        names: laws of the first less the second. ``.summary()`` has them all, ``.notes`` says
        what their numbers mean.

    Raises
    ------
    ValueError
        If there are fewer than two groups, the imputation was made for other rows or scores, or
        an option is none of those above.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    compare_models : Two models on the same rows.
    labelbayes.plots.differences.plot_differences : All pairs as a figure.

    Notes
    -----
    **Assumes** that, given p, missing labels are independent draws, and that p is right in each
    group. Where p does not know the group, a note says that differences are pulled toward zero.

    Groups are disjoint rows, so that under each fit of p their metrics are independent and
    ``P(A - B <= t)`` is one sum over the values of A. What the fit itself does is common to
    both: the laws of the difference, not those of the groups, are mixed over the fits.

    Examples
    --------
    >>> from labelbayes.imputation.impute import impute
    >>> evaluation = EvaluationSet(
    ...     [1, 0, None, 1, 0, None], y_pred=[1, 1, 1, 1, 0, 1], group=list("aaabbb")
    ... )
    >>> gaps = compare_groups(evaluation, impute(evaluation, [0, 0, 0.5, 0, 0, 0.2]))
    >>> law = gaps["a", "b"]["precision"]
    >>> round(law.mean, 3), law.atoms().support.round(3).tolist()
    (-0.1, [-0.667, -0.333, -0.167, 0.167])
    >>> gaps.summary().round(3).loc["a less b", "mean"].to_dict()["precision"]
    -0.1
    """
    check_type("evaluation", evaluation, EvaluationSet)
    check_type("imputation", imputation, Imputation)
    asked = resolve_metrics(metrics, has_score=evaluation.y_score is not None)
    size = _check_options(method, target, n_draws)
    check_made_from(evaluation, imputation)
    if evaluation.group is None:
        raise ValueError("`evaluation` must have a group for each row; this one has no `group`.")
    names = list(evaluation.groups())
    if len(names) < 2:
        raise ValueError(
            f"`evaluation` must have at least two groups to compare; got {names[0]!r} alone."
        )
    generator = make_rng(rng)
    masks = {name: evaluation.group == name for name in names}
    parts = {name: RowPart.from_rows(evaluation, imputation, mask) for name, mask in masks.items()}
    pairs, has_ranking = list(combinations(names, 2)), bool(split_metrics(asked)[1])
    notes: tuple[str, ...] = ()
    if not imputation.knows(evaluation.group):
        notes = (not_known("the group", "zero"),)
    if len(pairs) > 1:
        notes += (multiplicity(len(pairs), "pairs of groups"),)
    results: dict[tuple[str, str], Estimates] = {}
    separated: list[tuple[str, str]] = []
    for first, second in track(pairs, label="pairs of groups"):
        known = [parts[name].known for name in (first, second)]
        rows = None
        if has_ranking:
            both = (masks[first], masks[second])
            rows = RowCompletions.of_groups(evaluation, both, imputation)
        flat = _say_separated(rows, target)
        separated += [(pair_name(first, second), note) for note in flat]
        results[first, second] = compared_laws(
            GroupCounts(DisjointRows((parts[first], parts[second]))),
            None if rows is None else RowDifferences(rows),
            asked,
            imputation,
            method=method,
            target=target,
            n_draws=size,
            rng=generator,
            n_labeled=sum(counts.n_labeled for counts in known),
            n_unlabeled=sum(counts.n_unlabeled for counts in known),
            notes=(*notes, *flat),
        )
    meaning = what_it_means(imputation, target, evaluation.n)
    said = (meaning, *notes, *after_names(separated), *imputation.notes)
    return GroupDifferences(results, said)


def _check_options(method: str, target: str, n_draws: int) -> int:
    check_choice("method", method, ("exact", "gauss", "sampled"))
    check_choice("target", target, TARGETS)
    if target == "population" and method == "gauss":
        raise ValueError(
            "`method` must be 'exact' or 'sampled' with target='population'; got 'gauss', which "
            "knows only these rows."
        )
    return check_whole("n_draws", n_draws, least=1)


def _say_separated(rows: RowCompletions | None, target: Target) -> tuple[str, ...]:
    is_flat = target == "population" and rows is not None and rows.is_separated
    return (SEPARATED,) if is_flat else ()


def _check_same_rows(a: EvaluationSet, b: EvaluationSet) -> None:
    if a.n_rows != b.n_rows:
        raise ValueError(
            f"`evaluation_b` must have the rows of `evaluation_a`, {a.n_rows}; got {b.n_rows}."
        )
    for name, of_a, of_b in (("labels", a.y_true, b.y_true), ("counts", a.count, b.count)):
        differ = ~((of_a == of_b) | (np.isnan(of_a) & np.isnan(of_b)))
        if differ.any():
            row = int(np.argmax(differ))
            raise ValueError(
                f"`evaluation_b` must have the {name} of `evaluation_a`; row {row} has "
                f"{of_b[row]:g} for {of_a[row]:g} ({int(differ.sum())} such rows). Pass the same "
                "rows in the same order, each model with its own scores."
            )


def _check_knows_both(
    a: EvaluationSet, b: EvaluationSet, imputation: Imputation
) -> tuple[str, ...]:
    """Raise unless p knows both models, or neither; return what is to be said."""
    missing = ~imputation.is_labeled
    knows_nothing = imputation.score is None and imputation.features is None
    if missing.any() and knows_nothing and np.ptp(imputation.p[missing]) == 0:
        return (not_known("the score of either model", "zero"),)
    for name, evaluation in (("evaluation_a", a), ("evaluation_b", b)):
        for column, values in _deciding_columns(evaluation):
            if not imputation.knows(values):
                raise ValueError(
                    f"`imputation` must know both models; it does not use `{name}.{column}`. "
                    "With p from one model alone, two equal models would look different with "
                    "certainty. Fit p with it, as in `impute(evaluation_a, "
                    "features=evaluation_b.y_score)`; beside an array of your own, `features` "
                    "says what it knows."
                )
    return ()


def _deciding_columns(evaluation: EvaluationSet) -> list[tuple[str, npt.NDArray[Any]]]:
    """Return the score, and the decisions where they are no cut of it."""
    y_pred, y_score = evaluation.y_pred, evaluation.y_score
    if y_score is None:
        return [("y_pred", y_pred)]
    is_positive = y_pred == 1
    if is_positive.all() or not is_positive.any():
        return [("y_score", y_score)]
    is_cut = y_score[is_positive].min() > y_score[~is_positive].max()
    return [("y_score", y_score)] if is_cut else [("y_score", y_score), ("y_pred", y_pred)]
