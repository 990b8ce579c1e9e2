"""Standard errors of weighted estimates: rows, clusters, moving blocks, or the draw of labels."""

from __future__ import annotations

import math

import numpy as np

from labelbayes._checks import FloatArray, IntArray
from labelbayes.results.sentences import Target
from labelbayes.weighting.rows import WeightedRows
from labelbayes.weighting.scores import Scored

#: Fewer distinct times than this say nothing about dependence over time.
LEAST_TIMES = 8
#: Fewer clusters than this make the cluster error itself uncertain.
FEW_CLUSTERS = 30


def standard_error(scored: Scored, rows: WeightedRows, target: Target) -> float:
    """Return the standard error of an estimate.

    Parameters
    ----------
    scored : Scored
        Estimate and influence.
    rows : WeightedRows
        Weights, clusters and times.
    target : {"sample", "population"}
        The draw of labels alone, or of rows as well.

    Returns
    -------
    float
        The error; nan where the estimate is undefined.

    Raises
    ------
    ValueError
        If there are fewer than 2 clusters or 8 distinct times.

    Notes
    -----
    For the population it is the root of the sum of squared influences (no small-sample factor):
    of rows, of whole clusters, or of overlapping blocks of consecutive times, as the moving
    block bootstrap gives with infinitely many resamples. The propensity is taken as known, which
    is conservative for weighting alone.

    For the sample it is the design error: labels are taken as drawn independently, each with its
    propensity. Clusters that are labeled as a whole are drawn as a whole. With an outcome model
    it is doubly robust as well: the variance of a pseudo-label around its label is
    R (w^2 - w) (y - m)^2 + (1 - R w) m (1 - m), whose second term has mean 0 where the propensity
    is right and repairs the first where the outcome model is.

    References
    ----------
    .. [1] H. R. Kuensch, "The jackknife and the bootstrap for general stationary observations",
       Annals of Statistics 17(3), 1217-1241, 1989.
    .. [2] C.-E. Saerndal, B. Swensson and J. Wretman, Model Assisted Survey Sampling, 1992.
    """
    if math.isnan(scored.value):
        return math.nan
    if target == "sample":
        assert scored.moved is not None
        is_whole = rows.clusters is not None and _is_drawn_whole(rows)
        variance = 0.0 if scored.noise is None or is_whole else rows.total(scored.noise)
        return math.sqrt(variance) if variance > 0 else _design_error(scored.moved, rows)
    if rows.clusters is not None:
        return math.sqrt(float(np.square(_sum_by(rows.clusters, scored.score, rows)).sum()))
    if rows.time is not None:
        return _block_error(_sum_by(rows.time, scored.score, rows))
    if rows.count is None:
        return math.sqrt(float(scored.score @ scored.score))
    return math.sqrt(float(rows.count @ np.square(scored.score)))


def dependence_notes(rows: WeightedRows, target: Target) -> list[str]:
    """Return what was assumed about rows that depend on each other, as sentences.

    Parameters
    ----------
    rows : WeightedRows
        Clusters and times.
    target : {"sample", "population"}
        What the errors are for.

    Returns
    -------
    list of str
        None where rows are independent.

    Raises
    ------
    ValueError
        If there are fewer than 2 clusters or 8 distinct times.
    """
    if rows.clusters is not None:
        n_clusters = int(rows.clusters.max()) + 1
        if n_clusters < 2:
            raise ValueError("`clusters` must name at least two clusters; got one.")
        if target == "sample" and not _is_drawn_whole(rows):
            said = "Labels were drawn row by row inside clusters: the error for these rows is as "
            return [said + "without clusters."]
        said = f"Rows of a cluster may depend on each other: {n_clusters:,} clusters."
        if n_clusters < FEW_CLUSTERS:
            said += f" With fewer than {FEW_CLUSTERS} the interval is somewhat too short."
        return [said]
    if rows.time is not None:
        n_times = int(rows.time.max()) + 1
        if n_times < LEAST_TIMES:
            raise ValueError(
                f"`time` must have at least {LEAST_TIMES} distinct values; got {n_times}. Use "
                "`clusters` for a few periods."
            )
        blocks = f"moving blocks of {block_length(n_times)} out of {n_times:,} times"
        return [f"Rows near in time may depend on each other: {blocks}."]
    return []


def block_length(n_times: int) -> int:
    """Return how many consecutive times form a block.

    Parameters
    ----------
    n_times : int >= 1
        Distinct times.

    Returns
    -------
    int
        The cube root, rounded.

    Examples
    --------
    >>> block_length(1_000)
    10
    """
    return max(1, round(n_times ** (1 / 3)))


def _sum_by(codes: IntArray, values: FloatArray, rows: WeightedRows) -> FloatArray:
    units = values if rows.count is None else rows.count * values
    return np.asarray(np.bincount(codes, weights=units), dtype=np.float64)


def _block_error(by_time: FloatArray) -> float:
    length = block_length(len(by_time))
    total = np.concatenate([[0.0], np.cumsum(by_time)])
    blocks = total[length:] - total[:-length]
    blocks = blocks - length * by_time.mean()
    return math.sqrt(len(by_time) / length * float(np.mean(blocks**2)))


def _design_error(moved: FloatArray, rows: WeightedRows) -> float:
    chance_missed = 1.0 - rows.p
    if rows.clusters is not None and _is_drawn_whole(rows):
        sums = _sum_by(rows.clusters, moved, rows)
        first = np.zeros(len(sums))
        first[rows.clusters] = chance_missed
        return math.sqrt(float(first @ sums**2))
    units = chance_missed if rows.count is None else chance_missed * rows.count
    return math.sqrt(float(units @ np.square(moved)))


def _is_drawn_whole(rows: WeightedRows) -> bool:
    """Whether each cluster is labeled as a whole, with one propensity."""
    assert rows.clusters is not None
    n = np.bincount(rows.clusters)
    labeled = np.bincount(rows.clusters, weights=rows.is_labeled)
    if ((labeled > 0) & (labeled < n)).any():
        return False
    mean = np.bincount(rows.clusters, weights=rows.p) / n
    return bool(np.allclose(rows.p, mean[rows.clusters], rtol=0, atol=1e-12))
