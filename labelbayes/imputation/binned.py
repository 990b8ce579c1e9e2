"""Rates of positives in bins of the score, and their refits under Bayesian-bootstrap weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from labelbayes._checks import FloatArray, IntArray
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.calibration import HistogramCalibrator, ScalingBinningCalibrator
from labelbayes.imputation.fit_tests import note_fit
from labelbayes.imputation.label_weights import LabelWeights, runs
from labelbayes.imputation.notes import note_clipped, note_reach, note_separation, note_ties
from labelbayes.imputation.platt import fit_platt
from labelbayes.imputation.score_scale import name_of_score, score_of, within_unit

#: Bins of scaling-binning at most, and labels in each at least.
SCALING_BINS = 10
LABELS_PER_BIN = 5

#: Refits of Platt scaling work on about this many groups of scores where there are more.
MOST_SCORES = 2_000

#: Refits that are in memory at once.
_BLOCK = 50


@dataclass(frozen=True, eq=False)
class BinnedRates:
    """Bins of rows, and the rate of positives in each.

    Parameters
    ----------
    index : ndarray of int, shape (n_rows,)
        Bin of each row.
    values : ndarray of float, shape (1 + n_refits, n_bins)
        Rates in [0, 1]: the fit, then each refit.
    method : str
        How they came about.
    notes : tuple of str
        What was noticed.
    """

    index: IntArray
    values: FloatArray
    method: str
    notes: tuple[str, ...]


def count_in_bins(
    evaluation: EvaluationSet, weights: LabelWeights, n_refits: int, rng: np.random.Generator
) -> BinnedRates:
    """Return Jeffreys rates in bins of equal mass, with Beta refits.

    Parameters
    ----------
    evaluation : EvaluationSet
        Scores and decisions.
    weights : LabelWeights
        Labels of both classes.
    n_refits : int >= 0
        Refits.
    rng : numpy.random.Generator
        Where they come from.

    Returns
    -------
    BinnedRates
        Bins, rates and what was noticed.

    Notes
    -----
    The number of bins is the cube root of the number of labels: differences inside a bin fall
    with the square of that number and the half counts rise with it, and here both are smaller
    than the sampling error of the rates.
    """
    score, used, label = score_of(evaluation), weights.row, weights.label
    wanted = max(1, round(float(np.cbrt(evaluation.n_labeled))))
    calibrator = HistogramCalibrator(n_bins=wanted).fit(score[used], label, weights.weight)
    index, n_cells = _cut_at_decision(evaluation, calibrator.assign(score), used)
    values = count_rates(index[used], n_cells, weights, n_refits, rng)
    return BinnedRates(
        index,
        values,
        f"histogram of the {name_of_score(evaluation)}, {n_cells} bins",
        (
            *note_ties(evaluation, wanted, calibrator.n_bins_),
            *note_reach(evaluation, used, "they take the rate of the nearest bin"),
        ),
    )


def scale_and_bin(
    evaluation: EvaluationSet, weights: LabelWeights, n_refits: int, rng: np.random.Generator
) -> BinnedRates:
    """Return mean Platt outputs in bins of equal mass, with refitted Platt scaling.

    Parameters
    ----------
    evaluation : EvaluationSet
        Scores and decisions.
    weights : LabelWeights
        Labels of both classes.
    n_refits : int >= 0
        Refits.
    rng : numpy.random.Generator
        Where they come from.

    Returns
    -------
    BinnedRates
        Bins, rates and what was noticed.
    """
    score, used = score_of(evaluation), weights.row
    wanted = int(np.clip(evaluation.n_labeled // LABELS_PER_BIN, 1, SCALING_BINS))
    # Of all rows: a missing row outside [0, 1] also says that scores are no probabilities.
    inside = within_unit(score)
    grouped = group_labels(evaluation, weights)
    calibrator = ScalingBinningCalibrator(
        n_bins=wanted, scale="logit" if inside else "standardized"
    )
    calibrator.fit(
        np.tile(grouped.score, 2),
        np.repeat([1.0, 0.0], len(grouped.score)),
        np.concatenate([grouped.positive, grouped.negative]),
    )
    index, n_cells = _cut_at_decision(evaluation, calibrator.assign(score), used)
    cell, weight = index[grouped.row], grouped.positive + grouped.negative
    values = np.empty((1 + n_refits, n_cells))
    output = calibrator.platt(grouped.score)
    values[0] = np.bincount(cell, weight * output, n_cells) / np.bincount(cell, weight, n_cells)
    values[1:] = _refit_platt(
        calibrator.transform(grouped.score), grouped, cell, n_cells, n_refits, rng
    )
    scaled = "logit of the" if calibrator.scale_ == "logit" else "standardized"
    what = name_of_score(evaluation)
    return BinnedRates(
        index,
        values,
        f"scaling-binning: Platt scaling on the {scaled} {what}, {n_cells} bins",
        (
            *note_ties(evaluation, wanted, calibrator.n_bins_),
            *note_reach(evaluation, used, "they take the rate of the nearest bin"),
            *(note_clipped(evaluation) if inside else ()),
            *note_separation(evaluation, weights),
            *note_fit(score[:, None], weights, calibrator.scale_),
        ),
    )


def count_rates(
    cell: IntArray,
    n_cells: int,
    weights: LabelWeights,
    n_refits: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return shares of positives per cell with half a count of each class, and refits of them.

    Parameters
    ----------
    cell : ndarray of int, shape (k,)
        Cell of each labeled row.
    n_cells : int
        Cells.
    weights : LabelWeights
        The labeled rows.
    n_refits : int >= 0
        Refits.
    rng : numpy.random.Generator
        Where they come from.

    Returns
    -------
    ndarray of float, shape (1 + n_refits, n_cells)
        Rates of the fit, then of each refit.

    Notes
    -----
    Exponential weights and half counts that are gamma(1/2) make a Beta law where labels weigh
    alike and are independent: one draw per cell then replaces one per row.
    """
    positive = np.bincount(cell, weights.weight * weights.label, n_cells)
    negative = np.bincount(cell, weights.weight * (1 - weights.label), n_cells)
    values = np.empty((1 + n_refits, n_cells))
    values[0] = (positive + 0.5) / (positive + negative + 1)
    if weights.is_plain:
        values[1:] = rng.beta(positive + 0.5, negative + 0.5, size=(n_refits, n_cells))
        return values
    cell_of_row = np.zeros(int(weights.row.max()) + 1, dtype=np.int64)
    cell_of_row[weights.row] = cell
    pooled = weights.pool([cell])
    cell = cell_of_row[pooled.row]
    for i in range(n_refits):
        drawn, half = pooled.draw(rng), rng.standard_gamma(0.5, size=(2, n_cells))
        positive = half[0] + np.bincount(cell, drawn * pooled.label, n_cells)
        negative = half[1] + np.bincount(cell, drawn * (1 - pooled.label), n_cells)
        values[1 + i] = positive / (positive + negative)
    return values


@dataclass(frozen=True, eq=False)
class GroupedLabels:
    """Labels counted per distinct score and decision, in ascending order.

    Parameters
    ----------
    score : ndarray of float, shape (n_groups,)
        Score of each group.
    positive, negative : ndarray of float, shape (n_groups,)
        Weight of its labels.
    row : ndarray of int, shape (n_groups,)
        One row of each group.
    labels : LabelWeights
        The labels, pooled where no fit can tell them apart.
    group : ndarray of int
        Group of each pooled label.
    """

    score: FloatArray
    positive: FloatArray
    negative: FloatArray
    row: IntArray
    labels: LabelWeights
    group: IntArray


def group_labels(evaluation: EvaluationSet, weights: LabelWeights) -> GroupedLabels:
    """Count labels so that neither the order of rows nor a split of their counts matters.

    Parameters
    ----------
    evaluation : EvaluationSet
        Scores and decisions.
    weights : LabelWeights
        Labels.

    Returns
    -------
    GroupedLabels
        Counts.
    """
    score, decision = score_of(evaluation), evaluation.y_pred
    labels = weights.pool([score[weights.row], decision[weights.row]])
    starts, group = runs([score[labels.row], decision[labels.row]])
    return GroupedLabels(
        score[labels.row[starts]],
        _total(group, labels.weight * labels.label),
        _total(group, labels.weight * (1 - labels.label)),
        labels.row[starts],
        labels,
        group,
    )


def _total(group: IntArray, weight: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(group, weight), dtype=np.float64)


def _totals(group: IntArray, weight: FloatArray) -> FloatArray:
    return np.stack([_total(group, row) for row in weight])


def _refit_platt(
    z: FloatArray,
    grouped: GroupedLabels,
    cell: IntArray,
    n_cells: int,
    n_refits: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return mean Platt outputs per cell, shape (n_refits, n_cells), each under new weights."""
    counts = np.stack([grouped.positive, grouped.negative])
    z, pool, cell = _thin(z, counts.sum(axis=0), cell)
    counts = _totals(pool, counts)
    labels, pool_of_label = grouped.labels, pool[grouped.group]
    member = np.zeros((len(z), n_cells))
    member[np.arange(len(z)), cell] = 1.0
    values = np.empty((n_refits, n_cells))
    for start in range(0, n_refits, _BLOCK):
        size = min(_BLOCK, n_refits - start)
        if labels.is_plain:
            # A sum of k exponential(1) weights is gamma(k): one draw per score and label.
            weight = rng.standard_gamma(counts, size=(size, *counts.shape))
        else:
            drawn = np.stack([labels.draw(rng) for _ in range(size)])
            weight = np.stack(
                [_totals(pool_of_label, drawn * side) for side in (labels.label, 1 - labels.label)],
                axis=1,
            )
        slope, intercept = fit_platt(z, weight[:, 0], weight[:, 1])
        total = weight.sum(axis=1)
        output = expit(slope[:, None] * z + intercept[:, None])
        values[start : start + size] = ((total * output) @ member) / (total @ member)
    return values


def _thin(
    z: FloatArray, weight: FloatArray, cell: IntArray
) -> tuple[FloatArray, IntArray, IntArray]:
    """Pool neighboring scores of a cell where there are very many; the fit itself is not pooled.

    Returned are the mean score of each pool, the pool of each score, and the cell of each pool.
    """
    if len(z) <= MOST_SCORES:
        return z, np.arange(len(z)), cell
    order = np.lexsort((z, cell))
    z, weight, cell = z[order], weight[order], cell[order]
    share = (np.cumsum(weight) - weight / 2) / weight.sum()
    starts, sorted_pool = runs([cell, np.floor(share * MOST_SCORES)])
    pool = np.empty_like(sorted_pool)
    pool[order] = sorted_pool
    mean = _total(sorted_pool, weight * z) / _total(sorted_pool, weight)
    return mean, pool, cell[starts]


def _cut_at_decision(
    evaluation: EvaluationSet, bins: IntArray, used: IntArray
) -> tuple[IntArray, int]:
    """Return the cell of each row, bins cut where the decision changes, and how many there are.

    Precision is about one side of the cut: a rate shared across it would bias it by a share of
    the bin, which many labels make larger than the error of the rate. A side without labels
    stays with the other.
    """
    cell = 2 * bins + evaluation.y_pred
    n_labels = np.bincount(cell[used], minlength=2 * int(bins.max()) + 2)
    number = np.cumsum(n_labels > 0) - 1
    every = np.arange(len(n_labels))
    return number[np.where(n_labels > 0, every, every ^ 1)][cell], int(number[-1]) + 1
