"""What a calibration sees of the scores, and rows counted by it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.bayes.bins import CLIP, LOG_SLOPE_SD, LOG_SLOPE_SD_STANDARDIZED
from labelbayes.bayes.cells import pool
from labelbayes.bayes.stack import pm
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.platt import fit_platt

#: Log odds are kept inside this: beyond, 1 - p has no digits left.
MOST_LOGIT = 30.0


@dataclass(frozen=True, eq=False)
class ScoreTerms:
    """What the slopes of a calibration multiply.

    Parameters
    ----------
    values : ndarray of float, shape (n_rows, n_slopes)
        Terms of each row; each rises with the score.
    slopes : tuple of str
        Names of their slopes.
    log_slope_sd : float
        Prior sd of the log of each slope.
    scaled : str
        What the terms are, in a few words.
    """

    values: FloatArray
    slopes: tuple[str, ...]
    log_slope_sd: float
    scaled: str

    @property
    def slope_var(self) -> float:
        """Prior variance of each slope."""
        growth = math.exp(self.log_slope_sd**2)
        return growth * (growth - 1)


@dataclass(frozen=True, eq=False)
class TermCells:
    """Rows counted by their terms.

    Parameters
    ----------
    terms : ndarray of float, shape (n_cells, n_slopes)
        Mean terms of each cell, ascending by score.
    count, n_positive : ndarray of int, shape (n_cells,)
        Rows of the cell, and those labeled positive.
    """

    terms: FloatArray
    count: IntArray
    n_positive: IntArray


def platt_terms(evaluation: EvaluationSet) -> ScoreTerms:
    """Return the logit of the score, or the standardized score where it is no probability.

    Parameters
    ----------
    evaluation : EvaluationSet
        Without a score the decision stands for it.

    Returns
    -------
    ScoreTerms
        One term.

    Examples
    --------
    >>> platt_terms(EvaluationSet([1, 0, None], [0.9, 0.5, 0.1])).values.ravel().round(1)
    array([ 2.2,  0. , -2.2])
    """
    score, what = evaluation.y_score, "score"
    if score is not None and score.min() >= 0 and score.max() <= 1:
        clipped = np.clip(score, CLIP, 1 - CLIP)
        logit = np.log(clipped) - np.log1p(-clipped)
        return ScoreTerms(logit[:, None], ("slope",), LOG_SLOPE_SD, "logit of the score")
    if score is None:
        score, what = evaluation.y_pred.astype(np.float64), "decision"
    # In units of the largest first, so that no square of a finite score overflows.
    score = score / (float(np.abs(score).max()) or 1.0)
    center = float(np.average(score, weights=evaluation.count))
    sd = math.sqrt(float(np.average((score - center) ** 2, weights=evaluation.count)))
    place = (score - center) / (sd or 1.0)
    return ScoreTerms(place[:, None], ("slope",), LOG_SLOPE_SD_STANDARDIZED, f"standardized {what}")


def beta_terms(evaluation: EvaluationSet) -> ScoreTerms:
    """Return log s and -log(1 - s), whose slopes bend the curve at low and at high scores.

    Parameters
    ----------
    evaluation : EvaluationSet
        With scores.

    Returns
    -------
    ScoreTerms
        Two terms.

    Raises
    ------
    ValueError
        If a score is outside [0, 1].
    """
    score = evaluation.y_score
    assert score is not None
    outside = (score < 0) | (score > 1)
    if outside.any():
        first = int(np.argmax(outside))
        raise ValueError(
            f"`kind='beta'` needs scores in [0, 1]; got {float(score[first])!r} at row {first} "
            f"({int(outside.sum())} such values). Use kind='platt', which standardizes them."
        )
    clipped = np.clip(score, CLIP, 1 - CLIP)
    return ScoreTerms(
        np.stack([np.log(clipped), -np.log1p(-clipped)], axis=1),
        ("slope_low", "slope_high"),
        LOG_SLOPE_SD,
        "logs of the score and of its complement",
    )


def count_rows(
    terms: FloatArray, known: EvaluationSet, rows: BoolArray | IntArray, *, parts: int
) -> TermCells:
    """Count rows per distinct score, or per part of the scores where there are many.

    Parameters
    ----------
    terms : ndarray of float, shape (n_rows, n_slopes)
        Terms of each row.
    known : EvaluationSet
        Labels and multiplicities.
    rows : ndarray of bool, shape (n_rows,), or of int
        Rows that are counted.
    parts : int
        Distinct scores at most; where there are more, parts of nearly equal numbers of rows.

    Returns
    -------
    TermCells
        Counts; a row without a label counts as one that is not known to be positive.

    Examples
    --------
    >>> known = EvaluationSet([1, 0, 1, None], [0.2, 0.2, 0.7, 0.9])
    >>> cells = count_rows(known.y_score[:, None], known, known.is_labeled, parts=3)
    >>> cells.terms.ravel(), cells.count, cells.n_positive
    (array([0.2, 0.7]), array([2, 1]), array([1, 1]))
    """
    return count_parts(terms, known, rows, assign_parts(terms, known, rows, parts=parts))


def assign_parts(
    terms: FloatArray, known: EvaluationSet, rows: BoolArray | IntArray, *, parts: int
) -> IntArray:
    """Return the cell of each row: those that `count_rows` counts.

    Parameters
    ----------
    terms : ndarray of float, shape (n_rows, n_slopes)
        Terms of each row.
    known : EvaluationSet
        Multiplicities.
    rows : ndarray of bool, shape (n_rows,), or of int
        Rows that are counted.
    parts : int
        Distinct scores at most.

    Returns
    -------
    ndarray of int
        Cell of each counted row, ascending by score.
    """
    # The sum of the terms rises with the score, whatever their number.
    return pool(terms[rows].sum(axis=1), known.count[rows], parts)[2]


def count_parts(
    terms: FloatArray, known: EvaluationSet, rows: BoolArray | IntArray, part: IntArray
) -> TermCells:
    """Count the rows of each cell.

    Parameters
    ----------
    terms : ndarray of float, shape (n_rows, n_slopes)
        Terms of each row.
    known : EvaluationSet
        Labels and multiplicities.
    rows : ndarray of bool, shape (n_rows,), or of int
        Rows that are counted.
    part : ndarray of int
        Cell of each of them, by `assign_parts`.

    Returns
    -------
    TermCells
        Counts.
    """
    x, count, label = terms[rows], known.count[rows], known.y_true[rows]
    total = np.bincount(part, weights=count)
    columns = [np.bincount(part, weights=count * term) for term in x.T]
    positive = np.bincount(part, weights=count * (label == 1))
    return TermCells(
        np.stack(columns, axis=1) / total[:, None],
        total.astype(np.int64),
        positive.round().astype(np.int64),
    )


def observe_labels(name: str, cells: TermCells, log_odds: Callable[[Any], Any]) -> None:
    """Add counted labels to the model that is being written.

    Parameters
    ----------
    name : str
        Of the observed counts of positives.
    cells : TermCells
        Counts.
    log_odds : callable
        Terms of the cells, shape (n_cells, n_slopes) -> their log odds, both of PyTensor.
    """
    # Kept finite: a label against infinite odds would stop the sampler.
    kept = pm.math.clip(log_odds(pm.Data(f"{name}_terms", cells.terms)), -MOST_LOGIT, MOST_LOGIT)
    count = pm.Data(f"{name}_count", cells.count)
    pm.Binomial(name, n=count, logit_p=kept, observed=pm.Data(f"{name}_positive", cells.n_positive))


def fit_quickly(cells: TermCells) -> tuple[float, float]:
    """Return about the intercept and the slope of the curve, for what need not be exact.

    Parameters
    ----------
    cells : TermCells
        Labels; several terms are taken with one slope.

    Returns
    -------
    tuple of float
        Of a Platt fit; where labels are of one class, their rate with half a label of each class
        added, and slope 0.

    Examples
    --------
    >>> x = np.array([[-1.0], [1.0]])
    >>> fit_quickly(TermCells(x, np.array([9, 1]), np.array([0, 0])))[1]
    0.0
    """
    positive = cells.n_positive.astype(np.float64)
    negative = cells.count - positive
    if not positive.any() or not negative.any():
        return math.log((positive.sum() + 0.5) / (negative.sum() + 0.5)), 0.0
    x = cells.terms.sum(axis=1)
    center = float(np.average(x, weights=cells.count))
    sd = math.sqrt(float(np.average((x - center) ** 2, weights=cells.count))) or 1.0
    slope, intercept = fit_platt((x - center) / sd, positive[None], negative[None])
    return float(intercept[0] - slope[0] * center / sd), float(slope[0] / sd)


def check_labeled(evaluation: EvaluationSet) -> None:
    """Raise unless there is a label to learn from.

    Parameters
    ----------
    evaluation : EvaluationSet
        What was passed.

    Raises
    ------
    ValueError
        If no row is labeled.
    """
    if not evaluation.n_labeled:
        raise ValueError(
            "`evaluation` must hold labeled rows to learn rates from; got none. Use "
            "`estimate_shared_rate` or `bound_worst_case`, which need no label."
        )


def note_labels(evaluation: EvaluationSet) -> tuple[str, ...]:
    """Return what a reader should know of the labels that the curve is learned from.

    Parameters
    ----------
    evaluation : EvaluationSet
        With at least one label.

    Returns
    -------
    tuple of str
        Sentences.
    """
    counts, notes = evaluation.counts, []
    n_positive = counts.tp + counts.fn
    if n_positive in (0, counts.n_labeled):
        kind = "positive" if n_positive else "negative"
        notes.append(
            f"Every label is {kind}: how far rates go is left to the prior of the coefficients."
        )
    for labeled, missing, name in (
        (counts.tp + counts.fp, counts.unlabeled_predicted_positive, "positive"),
        (counts.fn + counts.tn, counts.unlabeled_predicted_negative, "negative"),
    ):
        if missing and not labeled:
            notes.append(
                f"No row predicted {name} is labeled: the rates of such rows are extrapolated "
                "from the others."
            )
    return tuple(notes)
