"""What belongs beside bounds for rated items, as sentences."""

from __future__ import annotations

from collections.abc import Mapping

from labelbayes.data.ratings import Ratings
from labelbayes.data.verdicts import Verdicts
from labelbayes.results.interval import Interval
from labelbayes.results.sentences import Target, disagreement


def rating_notes(
    intervals: Mapping[str, Interval],
    verdicts: Verdicts,
    ratings: Ratings,
    target: Target,
    ci_prob: float,
    has_chance: bool,
    caution: str,
) -> tuple[str, ...]:
    """Return the sentences of `bound_response_sets`.

    Parameters
    ----------
    intervals : mapping of str to Interval
        Bounds by metric.
    verdicts : Verdicts
        The judge's verdicts.
    ratings : Ratings
        Ratings.
    target : {"sample", "population"}
        Whose metric it is.
    ci_prob : float
        Joint level.
    has_chance : bool
        Whether anything was estimated.
    caution : str
        A further sentence, or empty.

    Returns
    -------
    tuple of str
        Sentences.
    """
    said = [_meaning(target, ci_prob, has_chance)]
    gone = ratings.n_items - verdicts.n_scored
    if gone:
        said.append(
            f"{ratings.n_items:,} items: {verdicts.n_scored:,} verdicts scored, "
            f"{verdicts.n_unparseable:,} unparseable, {verdicts.n_errored:,} errored, "
            f"{verdicts.n_missing:,} missing. The low ends count the {gone:,} without a verdict "
            "as wrong, the high ends as right."
        )
    rated = ratings.count_array.sum(axis=1)
    tied = int(((ratings.gold < 0) & (rated > 0)).sum())
    if tied:
        said.append(
            f"{tied:,} items have a tied gold label: they are taken as indeterminate, and a "
            "verdict among t tied options matches 1/t."
        )
    if not rated.all():
        said.append(f"{int((rated == 0).sum()):,} items have no forced choice.")
    n_sets = int(ratings.has_set.sum())
    if n_sets:
        said.append(
            f"valid_match_elicited is that of the {n_sets:,} items with response sets: an option "
            "is valid where at least one rater holds it valid."
        )
        inside, found = intervals["valid_match"], intervals["valid_match_elicited"]
        if found.high < inside.low or found.low > inside.high:
            said.append(disagreement("Bounds", "elicited response sets", "valid_match"))
    said += [caution] if caution else []
    return (*said, "Items are taken as independent.")


def _meaning(target: Target, ci_prob: float, has_chance: bool) -> str:
    if target == "population":
        return (
            f"The bounds are estimated. {ci_prob:.0%} of repeated samples of items give an "
            "interval that contains the true value, whatever the valid answers of marked items "
            "are (Imbens and Manski)."
        )
    if has_chance:
        return (
            f"For these items. With a probability of at least {ci_prob:.0%} over which items were "
            "audited, or looked determinate by chance, valid_match lies between its two ends."
        )
    return (
        "Not an interval with a probability: whatever the valid answers of the indeterminate "
        "items are, the value lies between these two."
    )
