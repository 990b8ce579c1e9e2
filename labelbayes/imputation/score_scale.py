"""The score that calibrators look at, and its scale in standard deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelbayes._checks import FloatArray, check_choice
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.odds import logit_of

#: How a score may be taken: see `ScoreScale.fit`.
SCALES = ("auto", "logit", "standardized")


@dataclass(frozen=True)
class ScoreScale:
    """A score or its logit, with mean 0 and sd 1 on the rows that it was fitted on.

    Parameters
    ----------
    kind : {"logit", "standardized"}
        Whether the logit of the score is taken first.
    unit : float > 0
        The largest absolute value of the fitted rows, so that no square overflows.
    center, spread : float
        Mean and standard deviation in this unit; a spread of 1 where there is none.
    """

    kind: str
    unit: float
    center: float
    spread: float

    @classmethod
    def fit(cls, score: FloatArray, weight: FloatArray, scale: str) -> ScoreScale:
        """Return the scale of weighted scores.

        Parameters
        ----------
        score : ndarray of float, shape (n,)
            Scores.
        weight : ndarray of float >= 0, shape (n,)
            Weights, not all 0.
        scale : {"auto", "logit", "standardized"}
            "auto" takes the logit where every score lies in [0, 1].

        Returns
        -------
        ScoreScale
            The scale.
        """
        check_choice("scale", scale, SCALES)
        if scale == "auto":
            scale = "logit" if within_unit(score) else "standardized"
        raw = logit_of(score) if scale == "logit" else score
        unit = float(np.abs(raw).max()) or 1.0
        raw = raw / unit
        center = float(np.average(raw, weights=weight))
        spread = float(np.sqrt(np.average((raw - center) ** 2, weights=weight))) or 1.0
        return cls(scale, unit, center, spread)

    def transform(self, score: FloatArray) -> FloatArray:
        """Return scores on this scale.

        Parameters
        ----------
        score : ndarray of float, shape (n,)
            Scores.

        Returns
        -------
        ndarray of float, shape (n,)
            Standardized scores.
        """
        raw = logit_of(score) if self.kind == "logit" else score
        return (raw / self.unit - self.center) / self.spread


def within_unit(score: FloatArray) -> bool:
    """Return whether every score lies in [0, 1].

    Parameters
    ----------
    score : ndarray of float
        Scores.

    Returns
    -------
    bool
        True where they may be probabilities.
    """
    return bool(((score >= 0) & (score <= 1)).all())


def score_of(evaluation: EvaluationSet) -> FloatArray:
    """Return what stands for the score of each row: the decision where there is none.

    Parameters
    ----------
    evaluation : EvaluationSet
        Rows.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        Scores.
    """
    if evaluation.y_score is None:
        return evaluation.y_pred.astype(np.float64)
    return np.asarray(evaluation.y_score, dtype=np.float64)


def name_of_score(evaluation: EvaluationSet) -> str:
    """Return what the score of `score_of` is.

    Parameters
    ----------
    evaluation : EvaluationSet
        Rows.

    Returns
    -------
    str
        "score" or "decision".
    """
    return "decision" if evaluation.y_score is None else "score"
