"""What a report holds: the facts of the data and the ladder, before any words or files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import numpy.typing as npt

from labelbayes._checks import check_type, make_rng
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.ladder import ladder
from labelbayes.metrics.registry import Metric, resolve_metrics
from labelbayes.report.groups import (
    GroupReport,
    believe_with_group,
    name_group_in_assumptions,
    report_groups,
)
from labelbayes.report.words import (
    FactsOfData,
    notebook_html,
    report_text,
    sentences_of,
)
from labelbayes.results.estimates import Bounds, Estimates
from labelbayes.results.ladder import Ladder
from labelbayes.results.sentences import Target


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A ladder, the data that it stands on, and what both mean.

    Parameters
    ----------
    title : str
        What the report is about.
    facts : FactsOfData
        Counts of the data and what was noticed in them.
    ladder : Ladder
        The numbers.
    seed : int or None
        Seed of refits and draws; None where a generator or fresh entropy was used.
    version : str
        Version of labelbayes.
    groups : GroupReport or None
        The metrics of each group and the differences between groups; None where rows have no
        group.

    See Also
    --------
    build_report : Makes one.
    labelbayes.report.write.write_report : Writes it to files.
    """

    title: str
    facts: FactsOfData
    ladder: Ladder
    seed: int | None
    version: str
    groups: GroupReport | None = None

    @property
    def verdict(self) -> str:
        """How far assumptions move each number, and how far data noise does, in a sentence."""
        return self.ladder.verdict

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the numbers mean and what was assumed, one sentence each."""
        return sentences_of(self.facts, self.ladder, self.groups)

    def __repr__(self) -> str:
        """Return the facts, the ladder and the verdict as text."""
        return report_text(self.title, self.facts, self.ladder, self.groups)

    def _repr_html_(self) -> str:
        return notebook_html(self.title, self.facts, self.ladder, self.groups)


def build_report(
    evaluation: EvaluationSet,
    *,
    truth: EvaluationSet | None = None,
    metrics: Sequence[str | Metric] | None = None,
    target: Target = "sample",
    imputation: Imputation | None = None,
    beta: object = None,
    propensity: object = None,
    outcome: object = None,
    soft_labels: npt.ArrayLike | None = None,
    bayes: bool = False,
    extra: Mapping[str, Estimates | Bounds] | None = None,
    title: str = "Metrics with missing labels",
    rng: np.random.Generator | int | None = None,
) -> Report:
    """Gather the facts of the data and the assumption ladder into one report.

    Parameters
    ----------
    evaluation : EvaluationSet
        The data. With a group for each row, the report speaks of each group too.
    truth : EvaluationSet, optional
        The same rows with all labels, where they are known after all.
    metrics : sequence of str, CountMetric or RankingMetric, optional
        None stands for accuracy, precision, recall and f1, with a score also for roc_auc and
        average_precision.
    target : {"sample", "population"}, default "sample"
        The metrics of these rows once all labels are known, or of rows drawn like these.
    imputation : Imputation, optional
        Your own belief about the missing labels, in place of the default calibration. With groups
        that is Platt scaling on the score and the group.
    beta, propensity, outcome, soft_labels : optional
        What is known beside the labels; see `ladder`.
    bayes : bool, default False
        Whether to sample the Bayesian rungs too, with PyMC.
    extra : mapping of str to Estimates or Bounds, optional
        Further rungs of yours, of the same target.
    title : str, default "Metrics with missing labels"
        What the report is about.
    rng : numpy.random.Generator, int, optional
        Where refits and draws come from. An int makes the report repeatable and is named in it.

    Returns
    -------
    Report
        Shows itself in a notebook; `write_report` writes it to files.

    Raises
    ------
    ValueError
        As `ladder`.
    TypeError
        If `evaluation` is no EvaluationSet, or `title` no text.

    See Also
    --------
    labelbayes.ladder.ladder : The numbers alone.

    Notes
    -----
    **Assumes** on each rung what stands beside it, and on all of them that rows are independent.

    A p that does not know the group pulls differences between groups toward zero. So p is fitted
    with the group in it, and a note says so where that cannot be.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, 1, 0], [0.9, 0.2, 0.8, 0.4, 0.1])
    >>> report = build_report(evaluation, metrics=["precision"], rng=0)
    >>> report.facts.n_unlabeled
    1
    """
    if not isinstance(title, str):
        raise TypeError(
            f"`title` must be a text; got {type(title).__name__}. Leave it out for the default."
        )
    check_type("evaluation", evaluation, EvaluationSet)
    generator = make_rng(rng)
    # Children of their own, so that groups change no draw of the ladder.
    fit_rng, group_rng = generator.spawn(2)
    belief, reason = imputation, ""
    is_fitted = evaluation.group is not None and imputation is None
    if is_fitted:
        belief, reason = believe_with_group(evaluation, fit_rng)
    steps = ladder(
        evaluation,
        metrics=metrics,
        target=target,
        imputation=belief,
        beta=beta,
        propensity=propensity,
        outcome=outcome,
        soft_labels=soft_labels,
        bayes=bayes,
        extra=extra,
        truth=truth,
        rng=generator,
    )
    if is_fitted and not reason:
        steps = name_group_in_assumptions(steps)
    groups = None
    if evaluation.group is not None:
        groups = report_groups(
            evaluation,
            belief,
            reason,
            metrics=resolve_metrics(metrics, has_score=evaluation.y_score is not None),
            target=target,
            rng=group_rng,
        )
    seed = int(rng) if isinstance(rng, (int, np.integer)) else None
    return Report(title, _facts(evaluation), steps, seed, installed_version(), groups)


def _facts(evaluation: EvaluationSet) -> FactsOfData:
    counts: Counts = evaluation.counts
    return FactsOfData(
        n=evaluation.n,
        n_rows=evaluation.n_rows,
        counts=counts,
        threshold=evaluation.threshold if evaluation._is_thresholded else None,
        pos_label=None if evaluation.pos_label is None else str(evaluation.pos_label),
        notes=evaluation.notes,
    )


def installed_version() -> str:
    """Return the version of labelbayes.

    Returns
    -------
    str
        As installed; a source tree that is merely on the path has none and says so.
    """
    try:
        return version("labelbayes")
    except PackageNotFoundError:
        return "(not installed)"
