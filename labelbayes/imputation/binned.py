"""Rates of positives in bins of the score, and their refits under Bayesian-bootstrap weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.calibration import HistogramCalibrator, ScalingBinningCalibrator
from labelbayes.imputation.platt import fit_platt

#: Bins of scaling-binning at most, and labels in each at least.
SCALING_BINS = 10
LABELS_PER_BIN = 5

#: Refits of Platt scaling work on about this many groups of scores where there are more.
MOST_SCORES = 2_000

#: A note is due when more than this share of the missing rows lies beyond every labeled score.
_EXTRAPOLATED = 0.05

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
    evaluation: EvaluationSet, n_refits: int, rng: np.random.Generator
) -> BinnedRates:
    """Return Jeffreys rates in bins of equal mass, with Beta refits.

    Parameters
    ----------
    evaluation : EvaluationSet
        With labels of both classes.
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
    score, used = _scores(evaluation), evaluation.is_labeled
    label, weight = evaluation.y_true[used], evaluation.count[used]
    wanted = max(1, round(float(np.cbrt(evaluation.n_labeled))))
    calibrator = HistogramCalibrator(n_bins=wanted).fit(score[used], label, weight)
    index, n_cells = _cut_at_decision(evaluation, calibrator.assign(score), used)
    positive = np.bincount(index[used], weight * label, n_cells)
    negative = np.bincount(index[used], weight * (1 - label), n_cells)
    values = np.empty((1 + n_refits, n_cells))
    values[0] = (positive + 0.5) / (positive + negative + 1)
    values[1:] = rng.beta(positive + 0.5, negative + 0.5, size=(n_refits, n_cells))
    return BinnedRates(
        index,
        values,
        f"histogram of the {_what(evaluation)}, {n_cells} bins",
        _notes(evaluation, score, used, wanted, calibrator.n_bins_),
    )


def scale_and_bin(
    evaluation: EvaluationSet, n_refits: int, rng: np.random.Generator
) -> BinnedRates:
    """Return mean Platt outputs in bins of equal mass, with refitted Platt scaling.

    Parameters
    ----------
    evaluation : EvaluationSet
        With labels of both classes.
    n_refits : int >= 0
        Refits.
    rng : numpy.random.Generator
        Where they come from.

    Returns
    -------
    BinnedRates
        Bins, rates and what was noticed.
    """
    score, used = _scores(evaluation), evaluation.is_labeled
    wanted = int(np.clip(evaluation.n_labeled // LABELS_PER_BIN, 1, SCALING_BINS))
    # Of all rows: a missing row outside [0, 1] also says that scores are no probabilities.
    inside = bool(((score >= 0) & (score <= 1)).all())
    grouped = _group_labels(evaluation, score, used)
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
    return BinnedRates(
        index,
        values,
        f"scaling-binning: Platt scaling on the {scaled} {_what(evaluation)}, {n_cells} bins",
        (
            *_notes(evaluation, score, used, wanted, calibrator.n_bins_),
            *_note_separation(_what(evaluation), grouped),
        ),
    )


@dataclass(frozen=True, eq=False)
class _GroupedLabels:
    """Labels counted per distinct score and decision, in ascending order."""

    score: FloatArray
    positive: FloatArray
    negative: FloatArray
    row: IntArray  # one row of each group


def _group_labels(evaluation: EvaluationSet, score: FloatArray, used: BoolArray) -> _GroupedLabels:
    """Count labels so that neither the order of rows nor a split of their counts matters."""
    rows = np.flatnonzero(used)
    rows = rows[np.lexsort((evaluation.y_pred[rows], score[rows]))]
    starts, group = _runs(score[rows], evaluation.y_pred[rows])
    label, weight = evaluation.y_true[rows], evaluation.count[rows]
    return _GroupedLabels(
        score[rows[starts]],
        _total(group, weight * label),
        _total(group, weight * (1 - label)),
        rows[starts],
    )


def _total(group: IntArray, weight: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(group, weight), dtype=np.float64)


def _runs(*columns: npt.NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Return where runs of equal entries start, and the run of each entry."""
    changes = np.ones(len(columns[0]), dtype=bool)
    changes[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.flatnonzero(changes), np.cumsum(changes) - 1


def _refit_platt(
    z: FloatArray,
    grouped: _GroupedLabels,
    cell: IntArray,
    n_cells: int,
    n_refits: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return mean Platt outputs per cell, shape (n_refits, n_cells), each under new weights."""
    z, counts, cell = _thin(z, np.stack([grouped.positive, grouped.negative]), cell)
    member = np.zeros((len(z), n_cells))
    member[np.arange(len(z)), cell] = 1.0
    values = np.empty((n_refits, n_cells))
    for start in range(0, n_refits, _BLOCK):
        size = min(_BLOCK, n_refits - start)
        # A sum of k exponential(1) weights is gamma(k): one draw per score and label.
        weight = rng.standard_gamma(counts, size=(size, *counts.shape))
        slope, intercept = fit_platt(z, weight[:, 0], weight[:, 1])
        total = weight.sum(axis=1)
        output = expit(slope[:, None] * z + intercept[:, None])
        values[start : start + size] = ((total * output) @ member) / (total @ member)
    return values


def _thin(
    z: FloatArray, counts: FloatArray, cell: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Pool neighboring scores of a cell where there are very many; the fit itself is not pooled."""
    if len(z) <= MOST_SCORES:
        return z, counts, cell
    order = np.lexsort((z, cell))
    z, counts, cell = z[order], counts[:, order], cell[order]
    weight = counts.sum(axis=0)
    share = (np.cumsum(weight) - weight / 2) / weight.sum()
    starts, pool = _runs(cell, np.floor(share * MOST_SCORES))
    pooled = np.stack([_total(pool, row) for row in counts])
    return _total(pool, weight * z) / pooled.sum(axis=0), pooled, cell[starts]


def _scores(evaluation: EvaluationSet) -> FloatArray:
    """Return what stands for the score of each row: the decision where there is none."""
    if evaluation.y_score is None:
        return evaluation.y_pred.astype(np.float64)
    return evaluation.y_score


def _cut_at_decision(
    evaluation: EvaluationSet, bins: IntArray, used: BoolArray
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


def _what(evaluation: EvaluationSet) -> str:
    return "decision" if evaluation.y_score is None else "score"


def _notes(
    evaluation: EvaluationSet, score: FloatArray, used: BoolArray, wanted: int, found: int
) -> tuple[str, ...]:
    """Return what a reader of these bins should know."""
    notes = []
    if found < wanted and evaluation.y_score is not None:
        notes.append(f"{found} bins of the score, not {wanted}: tied scores stay together.")
    missing = ~used
    for decision, name in ((1, "positive"), (0, "negative")):
        rows = evaluation.y_pred == decision
        if (rows & missing).any() and not (rows & used).any():
            notes.append(
                f"No row predicted {name} is labeled: p of such rows is extrapolated from the "
                "others."
            )
    low, high = score[used].min(), score[used].max()
    beyond = missing & ((score < low) | (score > high))
    share = evaluation.count[beyond].sum() / max(evaluation.n_unlabeled, 1)
    if share > _EXTRAPOLATED:
        notes.append(
            f"{share:.0%} of the missing rows have scores outside the labeled ones, {low:g} to "
            f"{high:g}: they take the rate of the nearest bin."
        )
    return tuple(notes)


def _note_separation(what: str, grouped: _GroupedLabels) -> tuple[str, ...]:
    positive = grouped.score[grouped.positive > 0]
    negative = grouped.score[grouped.negative > 0]
    if positive.min() <= negative.max() and negative.min() <= positive.max():
        return ()
    note = (
        f"The {what} separates the labeled rows perfectly: how fast p rises between the classes is "
        "the ridge's choice, and intervals tend to be too narrow."
    )
    return (note,)
