"""Belief about each missing label, by name, from your own probabilities or your calibrator."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from labelbayes._checks import (
    FloatArray,
    IntArray,
    check_probabilities,
    check_whole,
    make_rng,
    read_only,
)
from labelbayes.data.columns import as_column, as_reals
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.binned import count_in_bins, count_rates, scale_and_bin
from labelbayes.imputation.by_row import impute_rows
from labelbayes.imputation.features import Features, FeaturesLike, add_decision, read_features
from labelbayes.imputation.label_weights import LabelWeights, weigh_labels
from labelbayes.imputation.notes import say_refits
from labelbayes.imputation.odds import inside_unit
from labelbayes.imputation.row_refits import Calibrator
from labelbayes.imputation.score_scale import name_of_score, score_of
from labelbayes.results.sentences import coin_flips, plug_in

#: Labels above which "auto" counts in bins and does not trust Platt's two parameters.
MANY_LABELS = 2_000

_HOWS = (
    "auto",
    "maxent",
    "prevalence",
    "platt",
    "isotonic",
    "beta",
    "histogram",
    "scaling_binning",
)
#: These give each row a probability of its own.
_BY_ROW = ("platt", "isotonic", "beta")


def impute(
    evaluation: EvaluationSet,
    how: str | npt.ArrayLike | Calibrator = "auto",
    *,
    features: FeaturesLike | None = None,
    n_refits: int = 50,
    clusters: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
) -> Imputation:
    """Say how probable a positive is on each row whose label is missing.

    Parameters
    ----------
    evaluation : EvaluationSet
        Scores or decisions, with some labels missing. Without a score the decision stands for it.
    how : str, array_like of float, shape (n_rows,), or calibrator, default "auto"
        - "auto": "platt" where `features` are given; else "histogram" above 2,000 labels or
          without a score; else "scaling_binning";
        - "maxent": p = 1/2;
        - "prevalence": the share of positives among labeled rows;
        - "platt": logistic regression on the score and the features;
        - "isotonic": the best non-decreasing steps of the score;
        - "beta": beta calibration of a score in [0, 1];
        - "histogram": the share of positives in bins of the score, with half a count of each
          class added;
        - "scaling_binning": Platt scaling, averaged in bins;
        - an array: your own probabilities, taken as known; values on labeled rows are ignored;
        - a calibrator: any object with ``fit(X, y, sample_weight=None)`` and ``predict(X)`` ->
          P(y = 1), where X has shape (n, 1 + k), the score first. It is copied, not changed. A
          classifier is refused: its ``predict`` gives classes.

        Bins are cut where the decision changes, so that a bin never lends the rate of rows
        predicted positive to rows predicted negative, where the bin has labels of both. "platt"
        takes a decision that does not follow from the score as one more feature.
    features : DataFrame or array_like, shape (n_rows,) or (n_rows, k), optional
        What p is to know beside the score: another model's score, the group, the time. A column
        of text or categories gets an effect per text (at most 200), pulled together where labels
        are few.
        Numbers in [0, 1] enter "platt" by their logit. Beside a given array they say what your
        probabilities know.
    n_refits : int >= 0, default 50
        Fits under Bayesian-bootstrap weights, one exponential(1) draw per label. They carry the
        uncertainty of a calibration that is estimated from these labels; 0 takes it as known.
        None are made for "maxent" and a given array.
    clusters : array_like, shape (n_rows,), optional
        Cluster of each row, such as the person it is about: weights are drawn per cluster.
    sample_weight : array_like of float >= 0, shape (n_rows,), optional
        Weight of each labeled row in the fit, such as one over its chance of a label. Only
        ratios count; what stands on missing rows is not used.
    rng : numpy.random.Generator, int or None, default None
        Where the weights come from. Equal seeds give equal refits, whatever the order of rows.

    Returns
    -------
    Imputation
        P(y = 1) of each row, its refits, and what it assumes.

    Raises
    ------
    ValueError
        If `how` is unknown, a given array has another shape or a value on a missing row that is
        no probability (nan and masked are none), `n_refits` is negative, there is no label to
        learn from, or labels of one class only where calibration needs both; if `features`,
        `clusters` or `sample_weight` have a missing value, another number of rows, or no use.
    TypeError
        If `evaluation` is no EvaluationSet, `n_refits` no whole number, a given array holds
        something that is no real number, such as text, or a calibrator is a classifier or takes
        no weights.

    Notes
    -----
    **Assumes** independent labels (of clusters, where they are given) and, for every estimated
    p, that missing labels are like labeled ones of the same score, decision and features
    (missing at random). Scores of rows that the model was trained on are more extreme than
    those of new rows: use out-of-fold scores.

    p must contain everything that the question compares: both scores in a comparison of models,
    the group in a comparison of groups (`Imputation.knows`).

    Bins stay where the fit put them; refits change the rates in them. A histogram bin with s
    positives and f negatives has Beta(s + 1/2, f + 1/2) refits, which is what exponential
    weights and half counts give, so one draw per bin replaces one per row.

    Refits hold what is uncertain within the model, not a wrong model: Platt scaling has two
    parameters, whatever the bins. Where rates in bins differ from it beyond chance, a note says
    so.

    References
    ----------
    .. [1] D. Dervovic, M. Cashmore, Model evaluation in the dark: robust classifier metrics with
       missing labels, arXiv:2504.18385, 2025.
    .. [2] A. Kumar, P. Liang, T. Ma, Verified uncertainty calibration, NeurIPS 2019.
    .. [3] D. B. Rubin, The Bayesian bootstrap, Annals of Statistics 9, 1981.

    Examples
    --------
    >>> import numpy as np
    >>> evaluation = EvaluationSet([1, 1, 0, 0, np.nan], [0.9, 0.4, 0.6, 0.1, 0.8])
    >>> impute(evaluation, rng=0).p.round(2)
    array([1.  , 1.  , 0.  , 0.  , 0.73])
    """
    if not isinstance(evaluation, EvaluationSet):
        raise TypeError(f"`evaluation` must be an EvaluationSet; got {type(evaluation).__name__}.")
    n_refits = check_whole("n_refits", n_refits, least=0)
    generator = make_rng(rng)
    read = None if features is None else read_features(features, evaluation.n_rows)
    is_calibrator = hasattr(how, "fit") and hasattr(how, "predict")
    if not isinstance(how, str) and not is_calibrator and hasattr(how, "__len__"):
        _refuse_unused("a given array", None, clusters, sample_weight)
        return _take_given(evaluation, cast(npt.ArrayLike, how), read)
    if not is_calibrator and (not isinstance(how, str) or how not in _HOWS):
        raise ValueError(
            f"`how` must be one of {', '.join(map(repr, _HOWS))}, an array of probabilities of "
            f"shape ({evaluation.n_rows},), or a calibrator with `fit` and `predict`; got {how!r}."
        )
    name = how if isinstance(how, str) else ""
    if name not in ("auto", "platt", ""):
        _refuse_unused(f"how={name!r}", features, None, None)
    if name == "maxent":
        _refuse_unused("how='maxent'", None, clusters, sample_weight)
    weights = weigh_labels(evaluation, sample_weight, clusters)
    if evaluation.is_labeled.all():
        return _take_labels(evaluation, read)
    if name == "maxent":
        return _flip_coins(evaluation)
    n_positive, n_negative = _count_classes(weights, name)
    if name == "prevalence":
        return _share_prevalence(evaluation, weights, n_refits, generator)
    if 0 in (n_positive, n_negative):
        raise ValueError(
            f"`how={name or type(how).__name__!r}` needs labels of both classes; got {n_positive} "
            f"positive and {n_negative} negative. Use how='prevalence', how='maxent', an array of "
            "probabilities, or `estimate_shared_rate`, which needs no p."
        )
    if is_calibrator or name in _BY_ROW or read is not None:
        return impute_rows(
            evaluation,
            cast("str | Calibrator", "platt" if name == "auto" else how),
            read,
            weights,
            n_refits,
            generator,
        )
    return _fit_bins(evaluation, name, weights, n_refits, generator)


def _refuse_unused(what: str, features: Any, clusters: Any, sample_weight: Any) -> None:
    """Raise where an option would be ignored."""
    if features is not None:
        raise ValueError(
            f"`features` must be used by p; {what} looks at the score alone or at nothing. Use "
            "how='platt', how='auto' or a calibrator."
        )
    for name, option in (("clusters", clusters), ("sample_weight", sample_weight)):
        if option is not None:
            raise ValueError(
                f"`{name}` must change how p is learned from labels; {what} learns nothing from "
                "them. Leave it out."
            )


def _fit_bins(
    evaluation: EvaluationSet,
    how: str,
    weights: LabelWeights,
    n_refits: int,
    rng: np.random.Generator,
) -> Imputation:
    # Two decisions are two bins: there is nothing for Platt scaling to smooth.
    many = evaluation.n_labeled > MANY_LABELS or evaluation.y_score is None
    by_counts = how == "histogram" or (how == "auto" and many)
    fit = (count_in_bins if by_counts else scale_and_bin)(evaluation, weights, n_refits, rng)
    given = name_of_score(evaluation)
    beside = add_decision(None, evaluation)
    return _bin_rows(
        evaluation,
        fit.index,
        fit.values,
        method=fit.method,
        assumption=f"missing labels are independent draws, like labeled ones of the same {given} "
        f"(missing at random given the {given}); {say_refits(n_refits, 'calibration')}",
        notes=(*fit.notes, *weights.notes(), *_plug_in_notes(evaluation, n_refits)),
        score=read_only(score_of(evaluation)),
        features=None if beside is None else beside.frame,
    )


def _take_given(
    evaluation: EvaluationSet, how: npt.ArrayLike, features: Features | None
) -> Imputation:
    given = as_reals("how", as_column("how", how))
    if given.shape == (evaluation.n_rows,):
        # Whatever stands on a labeled row is not used, so it need not be a probability.
        given = np.where(evaluation.is_labeled, evaluation.y_true, given)
    return Imputation(
        p=read_only(check_probabilities("how", given, evaluation.n_rows)),
        is_labeled=evaluation.is_labeled,
        method="given probabilities",
        assumption="each missing label is an independent draw with the given probability, "
        "which is taken as known",
        features=None if features is None else features.frame,
    )


def _take_labels(evaluation: EvaluationSet, features: Features | None) -> Imputation:
    return Imputation(
        p=evaluation.y_true,
        is_labeled=evaluation.is_labeled,
        method="labels as given",
        assumption="nothing: no label is missing",
        features=None if features is None else features.frame,
    )


def _flip_coins(evaluation: EvaluationSet) -> Imputation:
    return _bin_rows(
        evaluation,
        np.zeros(evaluation.n_rows, dtype=np.int64),
        np.array([[0.5]]),
        method="maximum entropy: p = 1/2",
        assumption="each missing label is an independent coin flip",
        notes=(coin_flips(evaluation.n_unlabeled),),
    )


def _share_prevalence(
    evaluation: EvaluationSet, weights: LabelWeights, n_refits: int, rng: np.random.Generator
) -> Imputation:
    n_positive, n_negative = weights.n_by_class
    cell = np.zeros(len(weights.row), dtype=np.int64)
    values = count_rates(cell, 1, weights, n_refits, rng)
    notes: tuple[str, ...] = ()
    if n_positive and n_negative:
        values[0] = (weights.weight @ weights.label) / weights.weight.sum()
    else:
        notes = (
            f"The {n_positive + n_negative:,} labels are of one class: half a count of each added.",
        )
    return _bin_rows(
        evaluation,
        np.zeros(evaluation.n_rows, dtype=np.int64),
        values,
        method="prevalence of the labeled rows",
        assumption="missing labels are independent draws at the labeled rows' rate, whatever "
        f"their score; {say_refits(n_refits, 'rate')}",
        notes=(*notes, *weights.notes(), *_plug_in_notes(evaluation, n_refits)),
    )


def _count_classes(weights: LabelWeights, how: str) -> tuple[int, int]:
    """Return the numbers of positive and negative labels; raise if there is none."""
    n_positive, n_negative = weights.n_by_class
    if n_positive + n_negative == 0:
        raise ValueError(
            f"`how={how!r}` learns from labels and there is none. Use how='maxent', an array of "
            "probabilities, or `estimate_shared_rate`, which needs no p."
        )
    return n_positive, n_negative


def _bin_rows(
    evaluation: EvaluationSet,
    index: IntArray,
    values: FloatArray,
    *,
    method: str,
    assumption: str,
    notes: tuple[str, ...],
    score: FloatArray | None = None,
    features: pd.DataFrame | None = None,
) -> Imputation:
    values = inside_unit(values)
    return Imputation(
        p=read_only(np.where(evaluation.is_labeled, evaluation.y_true, values[0][index])),
        is_labeled=evaluation.is_labeled,
        method=method,
        assumption=assumption,
        notes=notes,
        bin_index=read_only(index),
        bin_values=read_only(values),
        score=score,
        features=features,
    )


def _plug_in_notes(evaluation: EvaluationSet, n_refits: int) -> tuple[str, ...]:
    return () if n_refits else (plug_in(evaluation.n_labeled, evaluation.n_unlabeled),)
