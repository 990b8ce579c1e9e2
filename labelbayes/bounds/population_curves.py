"""Bounds for rows drawn like these: bands of two distributions, and Imbens-Manski intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.bounds.beta_prior import BetaRange
from labelbayes.bounds.count_bounds import complete
from labelbayes.bounds.imbens_manski import cover_bounds
from labelbayes.bounds.latent_paths import Limits
from labelbayes.bounds.rank_bands import Band, one_sample_width
from labelbayes.bounds.score_blocks import ScoreBlocks
from labelbayes.data.evaluation_set import Counts
from labelbayes.metrics.confusion import CountMetric
from labelbayes.results.interval import Interval

#: Parts into which a range of beta is cut.
N_PARTS = 200
#: Added to each kind of rows, so that an end at 0 or 1 is not taken for certain.
HALF_ROW = 0.5


def population_at(
    metrics: Sequence[CountMetric],
    known: Counts,
    band: Band,
    beta: BetaRange,
    *,
    rows_level: float,
    ci_prob: float,
) -> dict[str, Interval]:
    """Return confidence intervals of count metrics of the population at one cutoff.

    Parameters
    ----------
    metrics : sequence of CountMetric
        What is asked for.
    known : Counts
        Labeled and unlabeled rows by decision.
    band : Band
        Around the recall of the population.
    beta : BetaRange
        Shares of positives among unlabeled rows.
    rows_level : float
        Level of the part that covers the sampling of rows.
    ci_prob : float
        Joint level, which the intervals name.

    Returns
    -------
    dict of str to Interval
        One per metric.
    """
    low_rate, high_rate = band.share(known.tp, known.tp + known.fn)
    edges = np.linspace(beta.low, beta.high, N_PARTS + 1 if beta.high > beta.low else 2)
    found = {}
    for metric in metrics:
        low, at_low = _end(metric, known, low_rate, edges[:-1], edges[1:], -1)
        high, at_high = _end(metric, known, high_rate, edges[1:], edges[:-1], 1)
        bare = Interval(low, max(low, high), math.nan, "bounds")
        if math.isnan(low) or math.isnan(high):
            found[metric.name] = Interval(math.nan, math.nan, ci_prob, "confidence")
            continue
        span = cover_bounds(
            bare,
            _row_error(metric, known, low_rate, at_low),
            _row_error(metric, known, high_rate, at_high),
            ci_prob=rows_level,
            lowest=metric.lowest,
            highest=metric.highest,
        )
        found[metric.name] = Interval(span.low, span.high, ci_prob, "confidence")
    return found


def _end(
    metric: CountMetric, known: Counts, rate: float, caught: FloatArray, lost: FloatArray, sign: int
) -> tuple[float, float]:
    """Return one end of a metric over parts of a range of beta, and the beta of its part.

    Positives above the cutoff are taken at one end of a part and those below at the other, which
    bounds the metric for every beta between.
    """
    n = known.n_unlabeled
    u = np.minimum(caught * rate * n, known.unlabeled_predicted_positive)
    v = np.minimum(lost * (1 - rate) * n, known.unlabeled_predicted_negative)
    values = metric(*complete(known, u, v))
    if np.isnan(values).all():
        return math.nan, math.nan
    best = int(np.nanargmax(sign * values))
    return float(values[best]), float((caught[best] + lost[best]) / 2)


def _row_error(metric: CountMetric, known: Counts, rate: float, beta: float) -> float:
    """Return the delta-method standard error of an end, from the six kinds of rows."""
    rows = HALF_ROW + np.array(
        [
            known.tp,
            known.fp,
            known.fn,
            known.tn,
            known.unlabeled_predicted_positive,
            known.unlabeled_predicted_negative,
        ],
        dtype=float,
    )
    caught, lost = beta * rate, beta * (1 - rate)
    # Column k: what one more row of kind k adds to tp, fp, fn and tn.
    kinds = np.array(
        [
            [1, 0, 0, 0, caught, caught],
            [0, 1, 0, 0, 1 - caught, -caught],
            [0, 0, 1, 0, lost, lost],
            [0, 0, 0, 1, -lost, 1 - lost],
        ]
    )
    cells = np.maximum(kinds @ rows, HALF_ROW)
    slope = metric.gradient(list(cells)) @ kinds
    return math.sqrt(float(rows @ (slope - rows @ slope / rows.sum()) ** 2))


def population_auc(
    blocks: ScoreBlocks, limits: Limits, beta: BetaRange, *, rows_level: float, ci_prob: float
) -> Interval:
    """Return a confidence interval of the population's ROC area.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    limits : Limits, shape (n_blocks,)
        Limits of the recall of the population at each cutoff.
    beta : BetaRange
        Shares of positives among unlabeled rows.
    rows_level, ci_prob : float
        Level of the part that covers the sampling of rows, and the joint level.

    Returns
    -------
    Interval
        nan where all unlabeled rows may be positive and no negative is known.

    Notes
    -----
    With recall T the area is a mean of T over the unlabeled rows, less that of their own
    positives, 1/2. It is 1/2 plus a constant over the number of negatives, so the ends of the
    range of beta hold all between. Rows enter by the standard error of that mean.
    """
    ends, errors = [], []
    for share, sign in ((limits.low, -1), (limits.high, 1)):
        recall = np.concatenate([[0.0], share])
        middle = (recall[1:] + recall[:-1]) / 2
        # In a run recall is that of its last row throughout.
        middle[blocks.run] = recall[1:][blocks.run]
        found = [_area(blocks, middle, value) for value in (beta.low, beta.high)]
        best = max(found, key=lambda pair: sign * pair[0])
        ends.append(best[0])
        errors.append(best[1])
    if any(math.isnan(end) for end in ends):
        return Interval(math.nan, math.nan, ci_prob, "confidence")
    low, high = (min(max(end, 0.0), 1.0) for end in ends)
    span = cover_bounds(
        Interval(low, high, math.nan, "bounds"),
        *errors,
        ci_prob=rows_level,
        lowest=0.0,
        highest=1.0,
    )
    return Interval(span.low, span.high, ci_prob, "confidence")


def _area(blocks: ScoreBlocks, recall: FloatArray, beta: float) -> tuple[float, float]:
    """Return the area at one beta, and its standard error over rows."""
    negatives = blocks.n_known_negative + (1 - beta) * blocks.n_unlabeled
    if negatives <= 0:
        return math.nan, math.nan
    rows = np.diff(blocks.known_negative), np.diff(blocks.unlabeled)
    total = sum(float(weight @ recall) for weight in rows)
    area = (total - beta * blocks.n_unlabeled / 2) / negatives
    variance = 0.0
    for weight in rows:
        if n := int(weight.sum()):
            mean = float(weight @ recall) / n
            variance += float(weight @ (recall - mean) ** 2)
    return area, math.sqrt(variance) / negatives


def population_curves(
    blocks: ScoreBlocks, limits: Limits, beta: BetaRange, *, rows_level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return limits of recall, false positive rate and precision of the population.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    limits : Limits, shape (n_blocks,)
        Limits of the recall of the population at each cutoff.
    beta : BetaRange
        Shares of positives among unlabeled rows.
    rows_level : float
        Level of the band around the scores of the unlabeled rows.

    Returns
    -------
    tuple of ndarray, each of shape (2, n_blocks + 1)
        Lower and upper ends, before the first cutoff first; nan where undefined.
    """
    low, high = (np.concatenate([[0.0], end]) for end in limits)
    n = blocks.n_unlabeled
    width = one_sample_width(n, rows_level) * n if n else 0.0
    above = np.clip(blocks.unlabeled + width * np.array([[-1.0], [1.0]]), 0, n)
    fpr, precision = np.full((2, 2, len(low)), np.nan)
    for share in (beta.low, beta.high):
        negatives = blocks.n_known_negative + (1 - share) * n
        for recall, rows, end in ((high, above[0], 0), (low, above[1], 1)):
            wrong = blocks.known_negative + rows - share * n * recall
            if negatives > 0:
                choose = np.fmax if end else np.fmin
                fpr[end] = choose(fpr[end], np.clip(wrong / negatives, 0, 1))
    for recall, rows, share, end in (
        (low, above[1], beta.low, 0),
        (high, above[0], beta.high, 1),
    ):
        found = (blocks.n_known_positive + share * n) * recall
        called = blocks.n_known_positive * recall + blocks.known_negative + rows
        is_defined = called > 0
        value = np.minimum(found / np.where(is_defined, called, 1.0), 1.0)
        precision[end] = np.where(is_defined, value, float(end))
    fpr[:, 0], precision[:, 0] = 0.0, np.nan
    return np.array([low, high]), fpr, precision
