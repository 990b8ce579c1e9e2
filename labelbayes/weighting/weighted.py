"""From values and influences of weighted rows to estimates with their laws and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from labelbayes._checks import CI_PROB
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.distribution import Law
from labelbayes.results.estimates import Estimates
from labelbayes.results.sentences import POLICY, Target, confidence
from labelbayes.weighting.rows import WeightedRows, lopsided
from labelbayes.weighting.score_law import EndLaw
from labelbayes.weighting.scores import END_WIDTH, Scored
from labelbayes.weighting.standard_errors import dependence_notes, standard_error


@dataclass(frozen=True, eq=False)
class MetricRange:
    """What a law has to know of a metric.

    Parameters
    ----------
    lowest, highest : float
        Its range, infinite for a loss.
    undefined_when : str
        When it is 0/0.
    """

    lowest: float
    highest: float
    undefined_when: str


@dataclass(frozen=True, eq=False)
class WeightedFit:
    """Values and influences of several metrics by one estimator.

    Parameters
    ----------
    scored : mapping of str to Scored
        By metric.
    ranges : mapping of str to MetricRange
        By metric.
    rows : WeightedRows
        Weights.
    method : str
        Name of the estimator and its denominator.
    given : str
        What labels are missing at random given.
    needs : str
        What has to be correct.
    assumption : str
        Both, as one clause.
    """

    scored: Mapping[str, Scored]
    ranges: Mapping[str, MetricRange]
    rows: WeightedRows
    method: str
    given: str
    needs: str
    assumption: str

    def errors(self, target: Target) -> dict[str, float]:
        """Return the standard error of each metric.

        Parameters
        ----------
        target : {"sample", "population"}
            What is estimated.

        Returns
        -------
        dict of str to float
            By metric.
        """
        return {
            name: standard_error(scored, self.rows, target) for name, scored in self.scored.items()
        }

    def estimates(self, target: Target, n_labeled: int, n_unlabeled: int) -> Estimates:
        """Return laws and sentences.

        Parameters
        ----------
        target : {"sample", "population"}
            What is estimated.
        n_labeled, n_unlabeled : int
            Rows with and without a label.

        Returns
        -------
        Estimates
            A normal law per metric, held inside its range.
        """
        dependence = dependence_notes(self.rows, target)
        is_weighted = self.rows.total_weight > 0
        open_share = 1.0 if target == "population" else n_unlabeled / (n_labeled + n_unlabeled)
        laws, said = {}, []
        for name, error in self.errors(target).items():
            scored, span = self.scored[name], self.ranges[name]
            laws[name] = _law(scored, error, span, open_share, is_weighted)
            said += _range_notes(name, scored.value, span)
        return Estimates(
            laws,
            method=self.method,
            assumption=self.assumption,
            target=target,
            statement="confidence",
            n_labeled=n_labeled,
            n_unlabeled=n_unlabeled,
            notes=(
                confidence(CI_PROB, target, self.given, self.needs),
                *self.rows.notes,
                *(lopsided(self.rows) if is_weighted else ()),
                *dependence,
                *said,
            ),
            ess=self.rows.ess if is_weighted else math.nan,
        )


def _law(
    scored: Scored, error: float, span: MetricRange, open_share: float, is_weighted: bool
) -> Law:
    if math.isnan(scored.value):
        return NormalLaw(undefined_prob=1.0, undefined_reason=scored.reason or span.undefined_when)
    # Labels of one class say nothing about a ranking: no effective row, and the whole range.
    is_known = scored.n_effective > 0 or (is_weighted and scored.n_effective == 0)
    if math.isfinite(span.lowest) and error <= END_WIDTH and is_known:
        for end in (span.lowest, span.highest):
            if abs(scored.value - end) <= END_WIDTH:
                return EndLaw(end, scored.n_effective, open_share, span.lowest, span.highest)
    return NormalLaw(scored.value, error, span.lowest, span.highest)


def _range_notes(name: str, value: float, span: MetricRange) -> list[str]:
    if math.isnan(value) or span.lowest - END_WIDTH <= value <= span.highest + END_WIDTH:
        return []
    limits = f"[{span.lowest:g}, {span.highest:g}]"
    said = f"The estimate of {name}, {value:.4g}, lies outside {limits}: the weights took it there."
    return [f"{said} It is given as it is, and its interval is cut at the range."]


def refuse_policy(outcome_depends_on_decision: bool) -> None:
    """Raise where no weighting of seen labels can answer.

    Parameters
    ----------
    outcome_depends_on_decision : bool
        Whether the decision changes the outcome.

    Raises
    ------
    ValueError
        If it does; the sentence names the estimand and what it needs.
    TypeError
        If it is no bool.
    """
    if not isinstance(outcome_depends_on_decision, (bool, np.bool_)):
        raise TypeError(
            "`outcome_depends_on_decision` must be True or False; got "
            f"{outcome_depends_on_decision!r}."
        )
    if outcome_depends_on_decision:
        raise ValueError(
            "`outcome_depends_on_decision` must be False to weight seen labels; got True. "
            f"{POLICY} What can be asked is the metric of the outcomes under one action for all "
            "rows (potential outcomes, had every loan been granted): that needs action "
            "propensities, P(action | features), above 0 for every row, in the place of P(labeled)."
        )


def kept_rows(evaluation: EvaluationSet, rows: WeightedRows) -> EvaluationSet:
    """Return the rows that had a chance of a label.

    Parameters
    ----------
    evaluation : EvaluationSet
        All rows.
    rows : WeightedRows
        Which of them are kept.

    Returns
    -------
    EvaluationSet
        Those.
    """
    return evaluation if rows.kept is None else evaluation._take(rows.kept)


def features_text(names: tuple[str, ...], otherwise: str = "what P(labeled) depends on") -> str:
    """Return what labels are missing at random given, in words.

    Parameters
    ----------
    names : tuple of str
        Features of a nuisance model; empty where they are not said.
    otherwise : str, default "what P(labeled) depends on"
        What stands for features that are not said.

    Returns
    -------
    str
        For a sentence.
    """
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    return shown or otherwise
