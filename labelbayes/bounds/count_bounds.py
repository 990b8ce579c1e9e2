"""Bounds of count metrics at one cutoff, from limits of the latent positives above it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from labelbayes._checks import FloatArray, check_real
from labelbayes.bounds.beta_prior import BetaRange
from labelbayes.bounds.latent_paths import Span, snap
from labelbayes.bounds.path_extremes import MOST_SPANS, Construction, Reference
from labelbayes.bounds.rank_bands import Band
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.metrics.confusion import CountMetric

#: Parts of a range that has more than 400 numbers of latent positives.
N_STEPS = 100
#: Cells of the completed confusion matrix.
Table = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def latent_limits(
    known: Counts,
    band: Band,
    n_latent: int,
    *,
    construction: Construction,
    reference: Reference,
) -> tuple[int, int]:
    """Return the fewest and most latent positives above the cutoff.

    Parameters
    ----------
    known : Counts
        Labeled and unlabeled rows by decision.
    band : Band
        Around the share of the reference rows above the cutoff.
    n_latent : int
        Latent positives in all.
    construction : {"attained", "paper"}
        Rounding inward, or outward as in the paper.
    reference : {"positive", "negative"}
        Whose known rows carry the band.

    Returns
    -------
    tuple of int
        Fewest first; reversed where the band contradicts the rows.
    """
    above, n = known.unlabeled_predicted_positive, known.n_unlabeled
    if reference == "negative":
        low, high = band.counts(known.fp, known.fp + known.tn, n - n_latent)
        least, most = _whole(low, high, construction, above, n, n - n_latent)
        return above - most, above - least
    low, high = band.counts(known.tp, known.tp + known.fn, n_latent)
    return _whole(low, high, construction, above, n, n_latent)


def _whole(
    low: float, high: float, construction: Construction, above: int, n: int, n_latent: int
) -> tuple[int, int]:
    """Round limits of a count, and move them to what the rows above and below the cutoff allow."""
    ends = snap(np.array([low, high]))
    inward = construction == "attained"
    least = int(np.ceil(ends[0]) if inward else np.floor(ends[0]))
    most = int(np.floor(ends[1]) if inward else np.ceil(ends[1]))
    fewest, largest = max(0, n_latent - (n - above)), min(above, n_latent)
    if inward:
        return max(least, fewest), min(most, largest)
    return max(fewest, min(above, least)), max(fewest, min(above, most))


def sample_bounds(
    metrics: Sequence[CountMetric],
    known: Counts,
    band: Band,
    beta: BetaRange,
    *,
    construction: Construction,
    reference: Reference,
) -> tuple[dict[str, tuple[float, float]], dict[str, bool], int]:
    """Return the extremes of metrics over the limits and over every number in the range of beta.

    Parameters
    ----------
    metrics : sequence of CountMetric
        What is asked for.
    known : Counts
        Labeled and unlabeled rows by decision.
    band : Band
        Around the share of the reference rows above the cutoff.
    beta : BetaRange
        Numbers of latent positives.
    construction : {"attained", "paper"}
        How limits are rounded.
    reference : {"positive", "negative"}
        Whose known rows carry the band.

    Returns
    -------
    ends : dict of str to tuple of float
        Lower and upper end of each metric, nan where nothing defines it.
    has_undefined : dict of str to bool
        Whether an extreme table leaves the metric undefined.
    n_dropped : int
        Numbers of latent positives that the band contradicts.

    Raises
    ------
    ValueError
        If it contradicts all of them.
    """
    pairs: list[tuple[float, float]] = []
    n_dropped = 0
    steps = _steps(beta.first, beta.last)
    limits = [
        latent_limits(known, band, count, construction=construction, reference=reference)
        for count in steps
    ]
    if len(steps) == beta.last - beta.first + 1:
        for count, at_count in zip(steps, limits, strict=True):
            found = _pairs_of_one(count, at_count)
            n_dropped += not found
            pairs += found
    else:
        sides = zip(steps[:-1], steps[1:], limits[:-1], limits[1:], strict=True)
        for first, last, below, above in sides:
            found = _pairs_between(Span(first, last), below, above)
            n_dropped += 0 if found else last - first
            pairs += found
    if not pairs:
        numbers = (
            f"{beta.first:,}" if beta.first == beta.last else f"{beta.first:,} to {beta.last:,}"
        )
        raise ValueError(
            f"`beta` and the band contradict the data at this cutoff: {numbers} latent positives, "
            f"{known.unlabeled_predicted_positive:,} unlabeled rows above the cutoff and "
            f"{known.unlabeled_predicted_negative:,} below. Change `beta` or widen the band."
        )
    u, v = np.array(pairs).T
    tables = complete(known, u, v)
    ends, has_undefined = {}, {}
    for metric in metrics:
        values = metric(*tables)
        is_defined = ~np.isnan(values)
        has_undefined[metric.name] = not is_defined.all()
        defined = values[is_defined]
        ends[metric.name] = (
            (float(defined.min()), float(defined.max())) if len(defined) else (math.nan, math.nan)
        )
    return ends, has_undefined, n_dropped


def _steps(first: int, last: int) -> list[int]:
    """Return every number in a range, or a hundred and one of them, both ends among them."""
    if last - first < MOST_SPANS:
        return list(range(first, last + 1))
    return [first + (last - first) * i // N_STEPS for i in range(N_STEPS + 1)]


def _pairs_of_one(count: int, limits: tuple[int, int]) -> list[tuple[float, float]]:
    """Return latent positives above and below the cutoff at which metrics are extreme.

    A count metric rises with the positives above the cutoff and falls with those below. Beside
    each corner stands its neighbor, since a corner may be undefined.
    """
    low, high = limits
    if low > high:
        return []
    inside = sorted({low, min(low + 1, high), max(high - 1, low), high})
    return [(above, count - above) for above in inside]


def _pairs_between(
    span: Span, first: tuple[int, int], last: tuple[int, int]
) -> list[tuple[float, float]]:
    """Return pairs that hold all numbers of a span, from the limits at both of its ends.

    Neither limit falls as latent positives are added, and neither rises faster than they do.
    """
    if first[0] > last[1]:
        return []
    return [(first[0], span.last - last[0]), (last[1], max(0, span.first - first[1]))]


def complete(known: Counts, u: FloatArray, v: FloatArray) -> Table:
    """Return the confusion matrices with latent positives above and below the cutoff.

    Parameters
    ----------
    known : Counts
        Labeled and unlabeled rows by decision.
    u, v : ndarray of float
        Latent positives above and below the cutoff.

    Returns
    -------
    tuple of ndarray
        tp, fp, fn, tn.
    """
    return (
        known.tp + u,
        known.fp + known.unlabeled_predicted_positive - u,
        known.fn + v,
        known.tn + known.unlabeled_predicted_negative - v,
    )


def counts_at(evaluation: EvaluationSet, threshold: float | None) -> Counts:
    """Return labeled and unlabeled rows by decision at a cutoff.

    Parameters
    ----------
    evaluation : EvaluationSet
        The rows.
    threshold : float or None
        Rows that score at least this, in the precision of the scores, are called positive; None
        stands for their decisions.

    Returns
    -------
    Counts
        At that cutoff.

    Raises
    ------
    ValueError
        If there is no score.
    """
    if threshold is None:
        return evaluation.counts
    if evaluation.y_score is None:
        raise ValueError(
            "`threshold` needs scores; this evaluation has decisions alone. Leave it out."
        )
    return evaluation._cut_at(check_real("threshold", threshold)).counts


def largest_step(beta: BetaRange) -> int:
    """Return how many numbers of latent positives are taken together at a cutoff.

    Parameters
    ----------
    beta : BetaRange
        The range.

    Returns
    -------
    int
        1 where each is taken by itself.
    """
    return int(np.diff(_steps(beta.first, beta.last)).max(initial=1))


def describe_decisions(known: Counts) -> list[str]:
    """Say where the decisions are all alike.

    Parameters
    ----------
    known : Counts
        Rows by decision.

    Returns
    -------
    list of str
        A sentence, or nothing.
    """
    if not known.fn + known.tn + known.unlabeled_predicted_negative:
        return ["Every row is called positive: recall is 1 whatever the labels are."]
    if not known.tp + known.fp + known.unlabeled_predicted_positive:
        return ["No row is called positive: precision is undefined."]
    return []


def describe_range(n_dropped: int, step: int, beta: BetaRange) -> list[str]:
    """Say what was done with the numbers of latent positives in a range.

    Parameters
    ----------
    n_dropped : int
        How many the band contradicts.
    step : int
        How many were taken together.
    beta : BetaRange
        The range.

    Returns
    -------
    list of str
        Sentences, or nothing.
    """
    said = []
    if n_dropped:
        said.append(
            f"{n_dropped:,} of {beta.last - beta.first + 1:,} numbers of latent positives in the "
            "range contradict the band and are left out."
        )
    if step > 1:
        said.append(
            f"Numbers of latent positives were taken {step:,} at a time: the bounds hold for each "
            "and may be wider than needed by that much."
        )
    return said
