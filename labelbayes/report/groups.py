"""The metrics of each group of rows, and the differences between groups, for a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from labelbayes._checks import CI_PROB, BoolArray
from labelbayes._progress import track
from labelbayes.bounds.worst_case import bound_worst_case
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.impute import impute
from labelbayes.laws.differences import compare_groups
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.metrics.registry import Metric
from labelbayes.results.estimates import Bounds, Estimates, stack
from labelbayes.results.group_differences import GroupDifferences
from labelbayes.results.ladder import Ladder
from labelbayes.results.result import undefined_sentences
from labelbayes.results.sentences import Target, multiplicity, not_known
from labelbayes.results.text import after_names

#: Groups that are shown, the largest ones; the others are named.
MOST_GROUPS = 12
#: Groups up to which every pair is compared; of more, each is compared with the largest.
MOST_IN_PAIRS = 4

SAME_MEANING = (
    "Each interval of a group speaks of that group alone and means the same as in the ladder; the "
    "worst case holds whatever the missing labels of the group are."
)
ONE_GROUP = "There is one group alone, and so no difference."
#: Rungs that stand on the belief that the ladder is given, and what they assume once it knows the
#: group.
_WITH_GROUP = {
    "calibration taken as known": "missing at random given the score and the group, and the "
    "calibration is exact",
    "calibration with its uncertainty": "missing at random given the score and the group",
}


@dataclass(frozen=True, eq=False, repr=False)
class GroupReport:
    """What a report says of the groups of an evaluation.

    Parameters
    ----------
    counts : mapping of str to Counts
        Rows by label and decision, of each group shown: at most 12, the largest.
    bounds : mapping of str to Bounds
        What holds whatever the missing labels of the group are.
    estimates : mapping of str to Estimates
        Laws under one belief about all missing labels; empty where none can be had.
    differences : GroupDifferences
        Laws of the first group less the second: of every pair up to 4 groups, else of each group
        and the largest.
    not_shown : tuple of str
        Names of the groups that are left out.
    metrics : tuple of str
        What was asked for.
    method, assumption : str
        The belief: how p came about and what it assumes; empty where there is none.
    notes : tuple of str
        Sentences that belong beside the numbers.
    """

    counts: Mapping[str, Counts]
    bounds: Mapping[str, Bounds]
    estimates: Mapping[str, Estimates]
    differences: GroupDifferences
    not_shown: tuple[str, ...]
    metrics: tuple[str, ...]
    method: str
    assumption: str
    notes: tuple[str, ...]

    def table(self, ci_prob: float = CI_PROB) -> pd.DataFrame:
        """Return every group and metric as one table.

        Parameters
        ----------
        ci_prob : float, default 0.95
            Probability content of the intervals.

        Returns
        -------
        pandas.DataFrame
            Index ``group`` and ``metric``; columns as in ``Estimates.summary``, and the bounds
            ``worst_low`` and ``worst_high``.
        """
        frame = stack(self.estimates or self.bounds, ci_prob=ci_prob)
        worst = stack(self.bounds, ci_prob=ci_prob).loc[frame.index]
        frame = frame.assign(worst_low=worst["low"], worst_high=worst["high"])
        return frame.rename_axis(["group", "metric"])

    def __repr__(self) -> str:
        """Return how many groups are shown and compared."""
        return (
            f"GroupReport({len(self.counts)} groups, {len(self.not_shown)} more not shown, "
            f"{len(self.differences)} differences)"
        )


def believe_with_group(
    evaluation: EvaluationSet, rng: np.random.Generator
) -> tuple[Imputation | None, str]:
    """Return a belief about the missing labels that knows the group, where the data allow it.

    Parameters
    ----------
    evaluation : EvaluationSet
        With a group for each row.
    rng : numpy.random.Generator
        Where refits come from.

    Returns
    -------
    tuple of Imputation or None, and str
        The belief; where p cannot know the group (too many groups, say) that of the score alone,
        and where that cannot be fitted either, None. Then the reason; empty if p knows the group.
    """
    try:
        return impute(evaluation, features=pd.Series(evaluation.group, name="group"), rng=rng), ""
    except ValueError as reason:
        said = str(reason)
    try:
        return impute(evaluation, rng=rng), said
    except ValueError as reason:
        return None, str(reason)


def name_group_in_assumptions(steps: Ladder) -> Ladder:
    """Return a ladder whose calibration rungs say that p knows the group.

    Parameters
    ----------
    steps : Ladder
        Made with a belief that knows the group.

    Returns
    -------
    Ladder
        The same numbers.
    """
    said = {name: _WITH_GROUP.get(name, text) for name, text in steps.assumptions.items()}
    return replace(steps, assumptions=said)


def report_groups(
    evaluation: EvaluationSet,
    belief: Imputation | None,
    reason: str,
    *,
    metrics: Sequence[Metric],
    target: Target,
    rng: np.random.Generator,
) -> GroupReport:
    """Return what can be said of each group and of the differences.

    Parameters
    ----------
    evaluation : EvaluationSet
        With a group for each row.
    belief : Imputation or None
        Belief about the missing labels of all rows.
    reason : str
        Why `belief` does not know the group or is None; empty if neither is so.
    metrics : sequence of CountMetric or RankingMetric
        What is asked for.
    target : {"sample", "population"}
        Of these rows, or of rows drawn like these.
    rng : numpy.random.Generator
        Where draws come from.

    Returns
    -------
    GroupReport
        What the data do not support is said in its notes.
    """
    assert evaluation.group is not None  # asked by the caller
    shown, not_shown = _choose(evaluation)
    masks = {name: np.asarray(evaluation.group == name) for name in shown}
    parts = {name: evaluation.subset(mask) for name, mask in masks.items()}
    notes = [SAME_MEANING]
    estimates: dict[str, Estimates] = {}
    differences = GroupDifferences()
    if belief is None:
        notes.append(f"No estimates by group: {reason}")
    else:
        for name, part in track(parts.items(), total=len(parts), label="groups"):
            estimates[name] = estimate_pemi(
                part, belief.subset(masks[name]), metrics=metrics, target=target, rng=rng
            )
        notes += _undefined(estimates)
        if not belief.knows(evaluation.group):
            notes.append(f"{not_known('the group', 'zero')} {reason}".strip())
        differences = _compare(evaluation, belief, masks, metrics, target, rng)
        if len(parts) == 1:
            notes.append(ONE_GROUP)
        notes += differences.notes
    return GroupReport(
        {name: part.counts for name, part in parts.items()},
        {
            name: bound_worst_case(part, metrics=metrics, target=target)
            for name, part in parts.items()
        },
        estimates,
        differences,
        not_shown,
        tuple(metric.name for metric in metrics),
        "" if belief is None else belief.method,
        "" if belief is None else belief.assumption,
        tuple(notes),
    )


def with_largest(largest: str) -> str:
    """Return which pairs of many groups are compared, and where the others are to be had.

    Parameters
    ----------
    largest : str
        The group that all others are compared with.

    Returns
    -------
    str
        A sentence.

    Examples
    --------
    >>> with_largest("north").partition(":")[0]
    "Each other group is compared with the largest, 'north', alone"
    """
    return (
        f"Each other group is compared with the largest, {largest!r}, alone: of more than "
        f"{MOST_IN_PAIRS} groups a report does not compare every pair; `compare_groups` does."
    )


def _choose(evaluation: EvaluationSet) -> tuple[list[str], tuple[str, ...]]:
    """Return the names of the largest groups and those of the others, each in order."""
    sizes = {name: part.n for name, part in evaluation.groups().items()}
    largest = set(sorted(sizes, key=lambda name: -sizes[name])[:MOST_GROUPS])
    return (
        [name for name in sizes if name in largest],
        tuple(name for name in sizes if name not in largest),
    )


def _undefined(estimates: Mapping[str, Estimates]) -> list[str]:
    """Say which metrics of which groups may be 0/0, groups of one sentence together."""
    return after_names(
        (group, lost) for group, result in estimates.items() for lost in undefined_sentences(result)
    )


def _compare(
    evaluation: EvaluationSet,
    belief: Imputation,
    masks: Mapping[str, BoolArray],
    metrics: Sequence[Metric],
    target: Target,
    rng: np.random.Generator,
) -> GroupDifferences:
    """Return the differences of all pairs where groups are few, else those from the largest."""
    said = []
    if len(masks) <= MOST_IN_PAIRS:
        pairs = list(combinations(masks, 2))
    else:
        largest = max(masks, key=lambda name: int(evaluation.count[masks[name]].sum()))
        pairs = [(name, largest) for name in masks if name != largest]
        said.append(with_largest(largest))
    differences = {}
    for first, second in track(pairs, label="differences"):
        rows = masks[first] | masks[second]
        both = evaluation.subset(rows)
        # Groups are compared in the order of their names: these two make it first less second.
        named = EvaluationSet(
            both.y_true,
            both.y_score,
            y_pred=both.y_pred,
            group=np.where(masks[first][rows], "1", "2"),
            count=both.count,
        )
        compared = compare_groups(
            named, belief.subset(rows), metrics=metrics, target=target, rng=rng
        )
        differences[first, second] = compared["1", "2"]
    if len(pairs) > 1:
        said.append(multiplicity(len(pairs), "pairs of groups"))
    return GroupDifferences(differences, said)
