"""The standard table: the same metrics by every weighted estimator, and whether they agree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtri

from labelbayes._checks import CI_PROB, check_choice, check_type
from labelbayes._html import number_text, table_html
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.metrics.registry import Metric, resolve_metrics
from labelbayes.results.estimates import Estimates, stack
from labelbayes.results.sentences import TARGETS, Target, disagreement
from labelbayes.results.text import estimate_text, text_table
from labelbayes.weighting.aipw import fit_aipw
from labelbayes.weighting.ipw import counted, fit_ipw
from labelbayes.weighting.outcome import Outcome, read_outcome
from labelbayes.weighting.outcome_model import fit_outcome_model
from labelbayes.weighting.prediction_powered import fit_prediction_powered
from labelbayes.weighting.propensity import Propensity
from labelbayes.weighting.rows import WeightedRows, read_rows
from labelbayes.weighting.scores import Scored
from labelbayes.weighting.standard_errors import standard_error
from labelbayes.weighting.weighted import WeightedFit


@dataclass(frozen=True, eq=False, repr=False)
class WeightingComparison:
    """The same metrics by every weighted estimator.

    Parameters
    ----------
    results : mapping of str to Estimates
        By estimator: naive, outcome model, Horvitz-Thompson, Hajek, AIPW, and for accuracy
        prediction-powered.
    notes : tuple of str
        Which of them disagree by more than their uncertainty, and what stands out in the weights.
    target : {"sample", "population"}
        What all of them estimate.
    labeled_fraction : float
        Share of the rows that have a label.
    """

    results: Mapping[str, Estimates]
    notes: tuple[str, ...]
    target: Target
    labeled_fraction: float

    def table(self, ci_prob: float = CI_PROB) -> pd.DataFrame:
        """Return all estimates as one table.

        Parameters
        ----------
        ci_prob : float, default 0.95
            Probability content of the intervals.

        Returns
        -------
        pandas.DataFrame
            Index ``estimator`` and ``metric``; columns as in ``Estimates.summary`` (among them
            n_labeled and ess), and ``labeled_fraction``.
        """
        frame = stack(self.results, ci_prob=ci_prob).rename_axis(["estimator", "metric"])
        frame["labeled_fraction"] = self.labeled_fraction
        return frame

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        metrics = list(dict.fromkeys(m for result in self.results.values() for m in result))
        rows = []
        for name, result in self.results.items():
            records = result.records()
            cells = [estimate_text(records[m]) if m in records else "" for m in metrics]
            ess = "-" if math.isnan(result.ess) else number_text(result.ess, 1)
            rows.append(
                [name, f"{self.labeled_fraction:.1%}", f"{result.n_labeled:,}", ess, *cells]
            )
        return ["estimator", "labeled", "n labeled", "ESS", *metrics], rows

    def __repr__(self) -> str:
        """Return the table and the notes as text."""
        head = f"Weighted estimates (target: {self.target}; 95% confidence intervals)"
        return "\n".join([head, text_table(*self._cells()), *self.notes])

    def _repr_html_(self) -> str:
        columns, rows = self._cells()
        return table_html(
            columns,
            [[cell.replace(" [", "\n[") for cell in row] for row in rows],
            caption=f"Weighted estimates (target: {self.target}; 95% confidence intervals)",
            notes=self.notes,
        )


def compare_weighting(
    evaluation: EvaluationSet,
    propensity: Propensity | npt.ArrayLike,
    *,
    outcome: Outcome | npt.ArrayLike | None = None,
    metrics: Sequence[str | Metric] | None = None,
    target: Target = "population",
    clip: float | None = None,
    clusters: npt.ArrayLike | None = None,
    time: npt.ArrayLike | None = None,
) -> WeightingComparison:
    """Estimate metrics from labeled rows alone, by an outcome model, by weights, and by both.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels, decisions and scores.
    propensity : Propensity or array_like of float, shape (n_rows,)
        P(labeled) of each row.
    outcome : Outcome or array_like of float, shape (n_rows,), optional
        P(y = 1) of each row; without it there is neither outcome model nor AIPW.
    metrics : sequence of str, CountMetric or RankingMetric, optional
        None stands for accuracy, precision, recall, f1 and, with scores, roc_auc and
        average_precision.
    target : {"sample", "population"}, default "population"
        What all of them estimate.
    clip : float >= 1, optional
        Largest weight.
    clusters : array_like, shape (n_rows,), optional
        Rows of one cluster may depend on each other.
    time : array_like, shape (n_rows,), optional
        Rows near in time may depend on each other.

    Returns
    -------
    WeightingComparison
        ``.results``, ``.table()`` and ``.notes``; pairs that differ by more than their
        uncertainty are named.

    Raises
    ------
    ValueError
        As `estimate_ipw` and `estimate_aipw`.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    check_weights : Whether the weights can be trusted.

    Notes
    -----
    **Assumes** on each line what stands in its `assumption`. The error of a difference comes from
    the difference of the two influence functions, so that it allows for the rows that both share;
    a pair is named where the difference is beyond 95%, adjusted for the number of comparisons.

    References
    ----------
    .. [1] J. M. Robins and A. Rotnitzky, comment on Bickel and Kwon, Statistica Sinica 11,
       920-936, 2001.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, 1], [0.9, 0.2, 0.8, 0.4])
    >>> found = compare_weighting(evaluation, [1.0, 0.5, 0.5, 0.5], metrics=["accuracy"])
    >>> list(found.results)
    ['naive', 'Horvitz-Thompson', 'Hajek']
    """
    check_type("evaluation", evaluation, EvaluationSet)
    check_choice("target", target, TARGETS)
    asked = resolve_metrics(metrics, has_score=evaluation.y_score is not None)
    rows = read_rows(
        evaluation.is_labeled,
        counted(evaluation),
        propensity,
        clip=clip,
        clusters=clusters,
        time=time,
        target=target,
    )
    model = None if outcome is None else read_outcome(outcome, evaluation.n_rows)
    fits = {"naive": _naive(evaluation, rows, asked, target)}
    if model is not None:
        fits["outcome model"] = fit_outcome_model(evaluation, rows, model, asked, target=target)
    for name, method in (("Horvitz-Thompson", "horvitz_thompson"), ("Hajek", "hajek")):
        fits[name] = fit_ipw(evaluation, rows, asked, method=method, target=target)  # type: ignore[arg-type]
    if model is not None:
        fits["AIPW"] = fit_aipw(evaluation, rows, model, asked, odds_ratio=1.0, target=target)
        wants_accuracy = any(metric.name == "accuracy" for metric in asked)
        if wants_accuracy and target == "population" and evaluation.n_unlabeled:
            fits["prediction-powered"] = fit_prediction_powered(evaluation, rows, model)
    results = {
        name: fit.estimates(target, evaluation.n_labeled, evaluation.n_unlabeled)
        for name, fit in fits.items()
    }
    said = dict.fromkeys(note for result in results.values() for note in result.notes[1:])
    return WeightingComparison(
        results,
        (*disagreements(fits, rows, target), *said),
        target,
        evaluation.n_labeled / evaluation.n,
    )


def _naive(
    evaluation: EvaluationSet, rows: WeightedRows, metrics: Sequence[Metric], target: Target
) -> WeightedFit:
    """Labeled rows alone: the case of one propensity for all rows."""
    share = rows.total(rows.is_labeled.astype(np.float64)) / rows.n
    plain = replace(rows, weight=rows.is_labeled / share, p=np.full(len(rows.p), share), notes=())
    fit = fit_ipw(evaluation, plain, metrics, method="hajek", target=target)
    return replace(
        fit,
        method=f"labeled rows alone, denominator: their number, {rows.n * share:,.0f}",
        given="nothing",
        needs="a draw of labels that every row had the same chance in",
        assumption="labels missing completely at random",
    )


def disagreements(fits: Mapping[str, WeightedFit], rows: WeightedRows, target: Target) -> list[str]:
    """Name the pairs of estimators that differ by more than their uncertainty.

    Parameters
    ----------
    fits : mapping of str to WeightedFit
        By estimator, all on the same rows.
    rows : WeightedRows
        Those rows.
    target : {"sample", "population"}
        What all of them estimate.

    Returns
    -------
    list of str
        A sentence per pair; none where all agree.
    """
    pairs = list(itertools.combinations(fits, 2))
    n_tests = sum(len(fits[a].scored.keys() & fits[b].scored.keys()) for a, b in pairs)
    limit = -float(ndtri((1 - CI_PROB) / 2 / max(1, n_tests)))
    found = []
    for first, second in pairs:
        apart = [
            metric
            for metric, one in fits[first].scored.items()
            if metric in fits[second].scored
            and _is_apart(first, second, one, fits[second].scored[metric], rows, target, limit)
        ]
        if apart:
            found.append(disagreement(first, second, ", ".join(apart)))
    return found


def _is_apart(
    first: str,
    second: str,
    one: Scored,
    other: Scored,
    rows: WeightedRows,
    target: Target,
    limit: float,
) -> bool:
    if math.isnan(one.value) or math.isnan(other.value):
        return False
    moved = None
    if target == "sample":
        # The draw of labels moves nothing in an outcome model that is given.
        parts = [
            np.zeros(len(rows.p)) if name == "outcome model" or part.moved is None else part.moved
            for name, part in ((first, one), (second, other))
        ]
        moved = parts[0] - parts[1]
    gap = one.value - other.value
    error = standard_error(Scored(gap, one.score - other.score, moved, math.nan), rows, target)
    return abs(gap) > limit * error + 1e-9
