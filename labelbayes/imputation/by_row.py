"""Calibrators that give each row a probability of its own, fitted and refitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import has_fit_parameter

from labelbayes._checks import BoolArray, FloatArray, IntArray, read_only
from labelbayes._progress import track
from labelbayes._user_models import filters_kept, fresh_copy
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.calibration import HistogramCalibrator, ScalingBinningCalibrator
from labelbayes.imputation.features import Features, add_decision
from labelbayes.imputation.fit_tests import note_fit
from labelbayes.imputation.isotonic import IsotonicCalibrator
from labelbayes.imputation.label_weights import LabelWeights
from labelbayes.imputation.notes import note_clipped, note_reach, note_separation, say_refits
from labelbayes.imputation.odds import logit_of
from labelbayes.imputation.parametric import BetaCalibrator, PlattCalibrator
from labelbayes.imputation.row_refits import Calibrator, RowRefits, ask
from labelbayes.imputation.score_scale import name_of_score, score_of, within_unit
from labelbayes.results.sentences import plug_in

#: Calibrators that look at the score alone.
_SCORE_ONLY = (HistogramCalibrator, ScalingBinningCalibrator, IsotonicCalibrator, BetaCalibrator)


_DECISION_UNUSED = (
    "The decision does not follow from the score and p does not use it: precision and recall are "
    "pulled toward those of a decision by chance. Add it to `features`, or use how='platt'."
)

#: Names written out in a sentence; more are counted.
_MOST_NAMES = 4


def impute_rows(
    evaluation: EvaluationSet,
    how: str | Calibrator,
    features: Features | None,
    weights: LabelWeights,
    n_refits: int,
    rng: np.random.Generator,
) -> Imputation:
    """Return the belief of a calibrator that gives each row a probability of its own.

    Parameters
    ----------
    evaluation : EvaluationSet
        Scores or decisions.
    how : {"platt", "isotonic", "beta"} or Calibrator
        What is fitted.
    features : Features or None
        Columns beside the score.
    weights : LabelWeights
        Labels of both classes.
    n_refits : int >= 0
        Refits.
    rng : numpy.random.Generator
        Where their weights come from.

    Returns
    -------
    Imputation
        p of each row and its refits.
    """
    score, what, missing = score_of(evaluation), name_of_score(evaluation), ~evaluation.is_labeled
    notes: tuple[str, ...] = ()
    if how == "platt":
        features = add_decision(features, evaluation)
        scale = "logit" if within_unit(score) else "standardized"
        # The logit is taken once, not again by every refit.
        first = logit_of(score) if scale == "logit" else score
        X = np.column_stack([first, *_for_platt(features)])
        calibrator: Calibrator = PlattCalibrator(scale="standardized")
        taken = "logit of the" if scale == "logit" else "standardized"
        method = f"Platt scaling on the {taken} {what}"
        notes = (
            *(note_clipped(evaluation) if scale == "logit" else ()),
            *note_separation(evaluation, weights),
            *note_fit(X, weights, "standardized"),
        )
    else:
        X = score[:, None] if features is None else np.column_stack([score, features.encoded])
        if how == "isotonic":
            calibrator, method = IsotonicCalibrator(), f"isotonic regression on the {what}"
        elif how == "beta":
            _check_beta(score)
            calibrator, method = BetaCalibrator(), f"beta calibration of the {what}"
        else:
            calibrator = check_calibrator(how, with_features=features is not None)
            method = f"{type(calibrator).__name__} on the {what}"
        if add_decision(features, evaluation) is not features:
            notes = (_DECISION_UNUSED,)
    beside = "" if features is None else _name_columns(features)
    fitted, refits = fit_rows(calibrator, X, weights, missing, n_refits, rng)
    p = evaluation.y_true.copy()
    p[missing] = fitted
    reach = "p of these is extrapolated"
    return Imputation(
        p=read_only(p),
        is_labeled=evaluation.is_labeled,
        method=f"{method}{beside}",
        assumption=f"missing labels are independent draws, like labeled ones of the same {what}"
        f"{beside} (missing at random given the {what}{beside}); "
        f"{say_refits(n_refits, 'calibration')}",
        notes=(
            *note_reach(evaluation, weights.row, reach),
            *notes,
            *certain_note(fitted, evaluation.count[missing]),
            *weights.notes(),
            *(() if n_refits else (plug_in(evaluation.n_labeled, evaluation.n_unlabeled),)),
        ),
        score=read_only(score),
        features=None if features is None else features.frame,
        row_refits=refits,
    )


def _for_platt(features: Features | None) -> list[FloatArray]:
    """Return the columns of a regression: other scores in [0, 1] by their logit, like the score."""
    if features is None:
        return []
    return [
        column if plain or not within_unit(column) else logit_of(column)
        for column, plain in zip(features.encoded.T, features.is_indicator, strict=True)
    ]


def _name_columns(features: Features) -> str:
    names = features.names
    if len(names) > _MOST_NAMES:
        return f" and {len(names)} features"
    return "".join(f", {name}" for name in names[:-1]) + f" and {names[-1]}"


def _check_beta(score: FloatArray) -> None:
    if not within_unit(score):
        raise ValueError(
            f"`how='beta'` needs scores in [0, 1]; got {score.min():g} to {score.max():g}. Use "
            "how='platt', which takes any score."
        )


def fit_rows(
    calibrator: Calibrator,
    X: FloatArray,
    weights: LabelWeights,
    missing: BoolArray,
    n_refits: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, RowRefits | None]:
    """Return p of the missing rows and refits under Bayesian-bootstrap weights.

    Parameters
    ----------
    calibrator : Calibrator
        Not fitted, and never changed: copies are.
    X : ndarray of float, shape (n_rows, 1 + k)
        The score, then features.
    weights : LabelWeights
        Labels of both classes.
    missing : ndarray of bool, shape (n_rows,)
        Rows without a label.
    n_refits : int >= 0
        Refits.
    rng : numpy.random.Generator
        Where their weights come from.

    Returns
    -------
    tuple
        p of the missing rows, shape (n_missing,), and the refits (None where there are none).

    Raises
    ------
    TypeError
        If weights are needed and `fit` of the calibrator takes none.
    ValueError
        If the calibrator predicts something other than probabilities.
    """
    labels = weights.pool(list(X[weights.row].T))
    needs_weights = n_refits > 0 or bool((labels.weight != 1).any())
    if needs_weights and not has_fit_parameter(calibrator, "sample_weight"):
        raise TypeError(
            f"`how` must take `sample_weight` in `fit`; {type(calibrator).__name__} does not. Wrap "
            "it in a class that passes weights on, or set n_refits=0 where rows weigh alike."
        )

    def fit(weight: FloatArray) -> Calibrator:
        fresh: Calibrator = fresh_copy(calibrator, rng)
        columns, label = X[labels.row], labels.label
        fitted: Any = fresh
        with filters_kept():
            if needs_weights:
                fitted.fit(columns, label, sample_weight=weight)
            else:
                fitted.fit(columns, label)
        return fresh

    X_missing = X[missing]
    p = ask(fit(labels.weight), X_missing)
    refits = [fit(labels.draw(rng)) for _ in track(range(n_refits), label="refits")]
    return p, RowRefits(X_missing, tuple(refits)) if n_refits else None


def check_calibrator(how: Any, *, with_features: bool) -> Calibrator:
    """Return a calibrator that somebody passed, once it looks like one.

    Parameters
    ----------
    how : object
        What was passed.
    with_features : bool
        Whether it is to use features.

    Returns
    -------
    Calibrator
        The same object.

    Raises
    ------
    TypeError
        If it is a class and no object, or a classifier.
    ValueError
        If it looks at the score alone and is to use features.
    """
    name = type(how).__name__
    if isinstance(how, type):
        raise TypeError(f"`how` must be an object, not a class; pass `{how.__name__}(...)`.")
    if hasattr(how, "predict_proba") or isinstance(how, ClassifierMixin):
        raise TypeError(
            f"`how` must return P(y = 1) from `predict`; {name} is a classifier, so its `predict` "
            "gives classes. Wrap it in a class whose `fit(X, y, sample_weight=None)` fits it and "
            "whose `predict(X)` returns `predict_proba(X)[:, 1]`."
        )
    if with_features and isinstance(how, _SCORE_ONLY):
        raise ValueError(
            f"`features` must be used by p; {name} looks at the score alone. Use how='platt' or a "
            "calibrator that uses every column."
        )
    calibrator: Calibrator = how
    return calibrator


def certain_note(p: FloatArray, count: IntArray) -> tuple[str, ...]:
    """Return a sentence where p takes missing labels for certain.

    Parameters
    ----------
    p : ndarray of float, shape (n_missing,)
        Probabilities of the missing rows.
    count : ndarray of int, shape (n_missing,)
        Multiplicities.

    Returns
    -------
    tuple of str
        None where no p is 0 or 1.
    """
    n_certain = int(count[(p == 0) | (p == 1)].sum())
    if not n_certain:
        return ()
    note = (
        f"The calibrator gives {n_certain:,} missing rows a probability of exactly 0 or 1: their "
        "labels are taken as certain."
    )
    return (note,)
