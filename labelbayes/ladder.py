"""The same data under every assumption: which part of a number is data, and which is assumption."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from labelbayes._checks import CI_PROB, check_choice, check_type, make_rng
from labelbayes._html import number_text, table_html
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import Imputation
from labelbayes.laws.count_metrics import true_values
from labelbayes.laws.missing_counts import check_made_from
from labelbayes.laws.rungs import RungInputs
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import resolve_metrics
from labelbayes.results.estimates import Bounds, Estimates, stack
from labelbayes.results.result import Result
from labelbayes.results.sentences import (
    INDEPENDENCE,
    MISSING_AT_RANDOM,
    TARGETS,
    THRESHOLD,
    TRAINED_ROWS,
    Target,
    undefined,
)
from labelbayes.results.text import estimate_text, kind_text, text_table


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
    option : str, default ""
        Option of `ladder` that asks for this rung; empty for a rung that always stands.
    """

    name: str
    assumption: str
    function: str
    option: str = ""


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
        "bayes",
    ),
    Rung(
        "calibration (Bayes, bins)",
        "missing at random given the score, and rates of bins near a line",
        "labelbayes.bayes.rungs:bins",
        "bayes",
    ),
    Rung(
        "calibration (Bayes, tilted)",
        "log odds of missing labels differ by N(0, 0.5) from labeled ones of that score",
        "labelbayes.bayes.rungs:tilted",
        "bayes",
    ),
]


@dataclass(frozen=True, eq=False, repr=False)
class Ladder:
    """Results of every rung for one data set and one target.

    Parameters
    ----------
    results : mapping of str to Estimates or Bounds
        By rung, from the weakest assumption to the strongest.
    assumptions : mapping of str to str
        What each rung assumes.
    left_out : mapping of str to str
        Rungs that could not be climbed, and why.
    target : {"sample", "population"}
        One target per ladder.
    truth : mapping of str to float or None
        Metrics on complete labels, where they are known.
    notes : tuple of str
        Sentences that belong beside the numbers.
    """

    results: Mapping[str, Estimates | Bounds]
    assumptions: Mapping[str, str]
    left_out: Mapping[str, str]
    target: Target
    truth: Mapping[str, float] | None
    notes: tuple[str, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return tuple(next(iter(self.results.values())))

    def table(self, ci_prob: float = CI_PROB) -> pd.DataFrame:
        """Return every rung and metric as one table.

        Parameters
        ----------
        ci_prob : float, default 0.95
            Probability content of the intervals.

        Returns
        -------
        pandas.DataFrame
            Index ``rung`` and ``metric``; columns as in ``Estimates.summary``, and ``truth``
            where the complete labels are known.
        """
        frame = stack(self.results, ci_prob=ci_prob).rename_axis(["rung", "metric"])
        if self.truth is not None:
            frame["truth"] = [self.truth[metric] for _, metric in frame.index]
        return frame

    @property
    def verdict(self) -> str:
        """How far the assumptions move each metric and how far data noise does, in a sentence."""
        if not any(result.n_unlabeled for result in self.results.values()):
            return "No label is missing: every rung gives the same number."
        parts = [self._verdict_on(metric) for metric in self.metrics]
        return "From rung to rung assumptions move the estimate of " + "; ".join(parts) + "."

    def _verdict_on(self, metric: str) -> str:
        rows = [result.records()[metric] for result in self.results.values()]
        known = [row for row in rows if not math.isnan(row["mean"])]
        if not known:
            return f"{metric} nowhere (it is undefined)"
        low, high = min(row["mean"] for row in known), max(row["mean"] for row in known)
        noise = (known[-1]["high"] - known[-1]["low"]) / 2
        return (
            f"{metric} by {high - low:.3f} ({low:.3f} to {high:.3f}), data noise by "
            f"{noise:.3f} to either side"
        )

    def __repr__(self) -> str:
        """Return the table and the verdict as text."""
        lines = [f"Assumption ladder (target: {self.target})", ladder_text(self), "", self.verdict]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [[cell.replace(" [", "\n[") for cell in row] for row in ladder_rows(self)]
        return table_html(
            ["rung", "assumes", *self.metrics, "interval"],
            rows,
            caption=f"Assumption ladder (target: {self.target})",
            notes=[self.verdict, *left_out_sentences(self), *self.notes],
        )


def ladder(
    evaluation: EvaluationSet,
    *,
    metrics: Sequence[str | CountMetric] | None = None,
    target: Target = "sample",
    imputation: Imputation | None = None,
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
    metrics : sequence of str or CountMetric, optional
        None stands for accuracy, precision, recall and f1.
    target : {"sample", "population"}, default "sample"
        The metrics of these rows once all labels are known, or of rows drawn like these.
    imputation : Imputation, optional
        Your own belief about the missing labels, in place of the default calibration.
    bayes : bool, default False
        Whether to sample the Bayesian rungs too, with PyMC: half a minute more.
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
        If an option is none of those above, `truth` still lacks labels, or a result in `extra`
        has another target or lacks a metric.

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
    asked = resolve_metrics(metrics, has_score=False)
    check_choice("target", target, TARGETS)
    names = [metric.name for metric in asked]
    complete = None if truth is None else true_values(asked, truth, evaluation.counts)
    own = dict(extra or {})
    _check_extra(own, names, target)
    # One draw fixes every rung's seed, so that a rung that is added changes no other.
    entropy = int(make_rng(rng).integers(2**63))
    results: dict[str, Estimates | Bounds] = {}
    assumptions: dict[str, str] = {}
    left_out: dict[str, str] = {}
    options = {"": True, "bayes": bayes}
    for rung in RUNGS:
        if not options[rung.option]:
            continue
        seed = np.random.SeedSequence([entropy, *rung.name.encode()])
        try:
            results[rung.name] = _load(rung)(
                RungInputs(evaluation, asked, target, imputation, seed)
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
        target,
        complete,
        (*_sentences(results), INDEPENDENCE, MISSING_AT_RANDOM, TRAINED_ROWS, THRESHOLD),
    )


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
        if missing := [metric for metric in names if metric not in result]:
            raise ValueError(f"`extra` must hold every metric; {name!r} lacks {missing}.")


def _sentences(results: Mapping[str, Estimates | Bounds]) -> list[str]:
    """Return what the rungs say beside their numbers, each sentence once."""
    said: dict[str, None] = {}
    for rung, result in results.items():
        for metric, row in result.records().items():
            if row["undefined_prob"] > 0:
                lost = undefined(metric, row["undefined_prob"], row["undefined_reason"])
                said[f"{rung}: {lost}"] = None
        for note in result.notes:
            said[note] = None
    return list(said)


def left_out_sentences(steps: Ladder) -> list[str]:
    """Return one sentence for each rung that could not be climbed.

    Parameters
    ----------
    steps : Ladder
        The ladder.

    Returns
    -------
    list of str
        Sentences.
    """
    return [f"Left out, {name}: {reason}" for name, reason in steps.left_out.items()]


def ladder_rows(steps: Ladder, ci_prob: float = CI_PROB) -> list[list[str]]:
    """Return the rungs as rows of text: name, assumption, one cell a metric, kind of interval.

    Parameters
    ----------
    steps : Ladder
        The ladder.
    ci_prob : float, default 0.95
        Probability content of the intervals.

    Returns
    -------
    list of list of str
        A row per rung, and the truth last where it is known.
    """
    rows = []
    for rung, result in steps.results.items():
        records = result.records(ci_prob)
        cells = [estimate_text(records[metric]) for metric in steps.metrics]
        first = records[steps.metrics[0]]
        kind = kind_text(first["ci_prob"], first["ci_kind"], first["statement"])
        rows.append([rung, steps.assumptions[rung], *cells, kind])
    if steps.truth is not None:
        cells = [number_text(steps.truth[metric]) for metric in steps.metrics]
        rows.append(["truth", "all labels known", *cells, ""])
    return rows


def ladder_text(steps: Ladder, ci_prob: float = CI_PROB) -> str:
    """Return the ladder as a table for a terminal.

    Parameters
    ----------
    steps : Ladder
        The ladder.
    ci_prob : float, default 0.95
        Probability content of the intervals.

    Returns
    -------
    str
        Lines of equal columns.
    """
    rows = [[row[0], *row[2:]] for row in ladder_rows(steps, ci_prob)]
    return text_table(["rung", *steps.metrics, "interval"], rows)
