"""Extremes of curves and areas over every number of latent positives in a range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.bounds.latent_paths import (
    PathPair,
    Span,
    attained_paths,
    paper_paths,
    reverse_paths,
)
from labelbayes.bounds.path_areas import (
    find_kinks,
    greatest_precision_sum,
    least_precision_sum,
    precision_sum,
    rank_integral,
    roc_area,
)
from labelbayes.bounds.rank_bands import Band
from labelbayes.bounds.score_blocks import ScoreBlocks

Construction = Literal["attained", "paper"]
Reference = Literal["positive", "negative"]
CONSTRUCTIONS: tuple[Construction, ...] = ("attained", "paper")

#: Up to so many numbers of latent positives each one is taken by itself.
MOST_SPANS = 400


@dataclass(frozen=True, eq=False)
class Extremes:
    """The smallest and largest values at each cutoff, and of the areas.

    Parameters
    ----------
    tpr, fpr, precision : ndarray of float, shape (2, n_blocks + 1)
        Lower and upper ends at the end of each block, before the first block first; nan where
        undefined.
    roc_auc, average_precision : ndarray of float, shape (2,)
        Lower and upper ends.
    n_dropped : int
        Numbers of latent positives that the band contradicts.
    step : int
        Numbers of latent positives taken together; 1 = each by itself.
    """

    tpr: FloatArray
    fpr: FloatArray
    precision: FloatArray
    roc_auc: FloatArray
    average_precision: FloatArray
    n_dropped: int
    step: int


def cut_range(first: int, last: int) -> tuple[list[Span], int]:
    """Return a range of counts as at most 400 parts, and the largest part.

    Parameters
    ----------
    first, last : int
        Ends, both included.

    Returns
    -------
    list of Span and int
        Parts that follow one another, and how many counts the largest holds.

    Examples
    --------
    >>> cut_range(3, 5)
    ([Span(first=3, last=3), Span(first=4, last=4), Span(first=5, last=5)], 1)
    """
    n_counts = last - first + 1
    n_parts = min(n_counts, MOST_SPANS)
    edges = first + np.arange(n_parts + 1) * n_counts // n_parts
    pairs = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    spans = [Span(start, stop - 1) for start, stop in pairs]
    return spans, max(span.last - span.first + 1 for span in spans)


def find_paths(
    blocks: ScoreBlocks,
    band: Band,
    span: Span,
    *,
    construction: Construction,
    reference: Reference,
    smooth: bool,
) -> PathPair:
    """Return the extreme paths of latent positives.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    band : Band
        Around the rank distribution of the reference rows.
    span : Span
        Numbers of latent positives.
    construction : {"attained", "paper"}
        How counts are rounded and joined.
    reference : {"positive", "negative"}
        Whose known rows carry the band.
    smooth : bool
        Whether the band's closed form is used throughout.

    Returns
    -------
    PathPair
        Least and greatest path.
    """
    if reference == "negative":
        n = blocks.n_unlabeled
        latent = Span(n - span.last, n - span.first)
        known = blocks.known_negative
    else:
        latent, known = span, blocks.known_positive
    n_known = int(known[-1])
    first = band.curve(known[1:], n_known, latent.first, smooth=smooth)
    last = first
    if latent.last > latent.first:
        last = band.curve(known[1:], n_known, latent.last, smooth=smooth)
    make = attained_paths if construction == "attained" else paper_paths
    paths = make(blocks, first, last, latent)
    return reverse_paths(blocks, paths) if reference == "negative" else paths


def find_extremes(
    blocks: ScoreBlocks,
    band: Band,
    latent: Span,
    *,
    construction: Construction,
    reference: Reference,
) -> Extremes:
    """Return the extremes over every number of latent positives in a range.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    band : Band
        Around the rank distribution of the reference rows.
    latent : Span
        Numbers of latent positives.
    construction : {"attained", "paper"}
        How counts are rounded and joined.
    reference : {"positive", "negative"}
        Whose known rows carry the band.

    Returns
    -------
    Extremes
        Exact for each number where there are at most 400. Else neighbors are taken together: the
        least path of the smallest and the greatest of the largest hold for all between.

    Raises
    ------
    ValueError
        If the band contradicts every number; names the first cutoff at which it does.
    """
    spans, step = cut_range(latent.first, latent.last)
    size = len(blocks.rank)
    tpr, fpr, precision = (_nothing(size) for _ in range(3))
    areas = _nothing(2)
    n_dropped, conflict = 0, -1
    known = blocks.known_positive if reference == "positive" else blocks.known_negative
    band = band.settle(known[1:], int(known[-1]))
    for span in spans:
        paths = find_paths(
            blocks,
            band,
            span,
            construction=construction,
            reference=reference,
            smooth=step > 1,
        )
        if paths.conflict >= 0:
            conflict = conflict if n_dropped else paths.conflict
            n_dropped += span.last - span.first + 1
            continue
        _widen_curves(blocks, paths, span, tpr, fpr, precision)
        _widen(areas, *find_areas(blocks, paths, span))
    if n_dropped == latent.last - latent.first + 1:
        raise ValueError(_describe_conflict(blocks, conflict, latent, reference))
    return Extremes(tpr, fpr, precision, areas[:, 0], areas[:, 1], n_dropped, step)


def _nothing(size: int) -> FloatArray:
    return np.full((2, size), np.nan)


def _widen(ends: FloatArray, low: FloatArray, high: FloatArray) -> None:
    np.fmin(ends[0], low, out=ends[0])
    np.fmax(ends[1], high, out=ends[1])


def _divide(numerator: FloatArray, denominator: FloatArray | float) -> FloatArray:
    """Divide, nan where the denominator is not positive, at most 1."""
    is_defined = np.asarray(denominator) > 0
    value = numerator / np.where(is_defined, denominator, 1.0)
    return np.where(is_defined, np.minimum(value, 1.0), np.nan)


def _widen_curves(
    blocks: ScoreBlocks,
    paths: PathPair,
    span: Span,
    tpr: FloatArray,
    fpr: FloatArray,
    precision: FloatArray,
) -> None:
    rank, known = blocks.rank, blocks.known_positive
    low, high = known + paths.least, known + paths.greatest
    n = int(rank[-1])
    fewest, most = _class_sizes(blocks, span)
    _widen(tpr, _divide(low, most), _divide(high, fewest))
    _widen(fpr, _divide(rank - high, n - fewest), _divide(rank - low, n - most))
    _widen(precision, _divide(low, rank), _divide(high, rank))


def _class_sizes(blocks: ScoreBlocks, span: Span) -> tuple[int, int]:
    """Return the fewest and most positives of a span with which both classes have rows.

    A single number is left as it is: what it leaves undefined is undefined.
    """
    fewest, most = blocks.n_known_positive + span.first, blocks.n_known_positive + span.last
    if span.last > span.first:
        fewest, most = max(fewest, 1), min(most, int(blocks.rank[-1]) - 1)
    return fewest, most


def find_areas(blocks: ScoreBlocks, paths: PathPair, span: Span) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper ends of the areas.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    paths : PathPair
        Extreme paths, without conflict.
    span : Span
        Numbers of latent positives for which they hold.

    Returns
    -------
    tuple of ndarray, each of shape (2,)
        Lower ends and upper ends of (roc_auc, average_precision).
    """
    n = int(blocks.rank[-1])
    positives = blocks.n_known_positive + np.arange(span.first, span.last + 1, dtype=np.float64)
    late = find_kinks(blocks, paths.least, early=False)
    early = find_kinks(blocks, paths.greatest, early=True)
    least = roc_area(rank_integral(blocks, paths.least, late, early=False), positives, n)
    most = roc_area(rank_integral(blocks, paths.greatest, early, early=True), positives, n)
    fewest, _ = _class_sizes(blocks, span)
    sums = [
        least_precision_sum(blocks, paths.least, late),
        greatest_precision_sum(blocks, paths.greatest, early),
    ]
    if np.array_equal(paths.least, paths.greatest):
        # One labeling is left, and its value needs no outer bound.
        exact = precision_sum(blocks, paths.least)
        sums = sums if np.isnan(exact) else [exact, exact]
    ap_low = _divide(np.array(sums[0]), positives[-1])
    ap_high = _divide(np.array(sums[1]), fewest)
    # An area beyond 0 or 1 has counts that no labeling attains.
    low, high = np.fmin.reduce(least), np.fmax.reduce(most)
    return (
        np.array([np.maximum(low, 0.0), ap_low]),
        np.array([np.minimum(high, 1.0), ap_high]),
    )


def _describe_conflict(blocks: ScoreBlocks, place: int, latent: Span, reference: Reference) -> str:
    """Say where a band and beta contradict the data, with the numbers and what to do."""
    known = blocks.known_positive if reference == "positive" else blocks.known_negative
    first, last = latent
    numbers = f"{first:,}" if first == last else f"{first:,} to {last:,}"
    return (
        f"`beta` and the band contradict the data: with {numbers} positives among "
        f"{blocks.n_unlabeled:,} unlabeled rows no labeling fits, first at score >= "
        f"{blocks.score[place]:g}, where {known[place + 1]:,} of {known[-1]:,} known {reference}s "
        f"and {blocks.unlabeled[place + 1]:,} unlabeled rows lie. Change `beta`, widen the band, "
        "or doubt that known rows are a random sample."
    )
