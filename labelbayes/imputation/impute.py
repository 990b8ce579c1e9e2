"""Belief about each missing label: P(y = 1) of every row, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labelbayes._checks import (
    BoolArray,
    FloatArray,
    IntArray,
    check_probabilities,
    check_whole,
    make_rng,
    read_only,
)
from labelbayes._html import table_html
from labelbayes.data.columns import as_column, as_reals
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.binned import count_in_bins, scale_and_bin
from labelbayes.results.sentences import coin_flips, plug_in

#: Labels above which "auto" counts in bins and does not trust Platt's two parameters.
MANY_LABELS = 2_000

_HOWS = ("auto", "maxent", "prevalence", "histogram", "scaling_binning")


@dataclass(frozen=True, eq=False)
class Imputation:
    """P(y = 1) of every row: the label where there is one, a belief where there is none.

    Parameters
    ----------
    p : ndarray of float, shape (n_rows,)
        Probabilities; 0 or 1 on labeled rows, as labeled.
    is_labeled : ndarray of bool, shape (n_rows,)
        Which rows have a label.
    method : str
        How `p` came about.
    assumption : str
        What must hold for `p` to be right, as one sentence.
    notes : tuple of str
        What was noticed, as sentences.
    bin_index : ndarray of int, shape (n_rows,), or None
        Bin of each row, where missing rows take few distinct values; None for a given array.
    bin_values : ndarray of float, shape (1 + n_refits, n_bins), or None
        P(y = 1) of each bin: first the fit, then each refit.
    """

    p: FloatArray
    is_labeled: BoolArray
    method: str
    assumption: str
    notes: tuple[str, ...] = ()
    bin_index: IntArray | None = None
    bin_values: FloatArray | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle or deep copy; NumPy forgets there that arrays are read-only."""
        for name, value in state.items():
            kept = read_only(value) if isinstance(value, np.ndarray) else value
            object.__setattr__(self, name, kept)

    @property
    def n_refits(self) -> int:
        """Number of refits; 0 where `p` is taken as known."""
        return 0 if self.bin_values is None else len(self.bin_values) - 1

    def refit(self, i: int) -> FloatArray:
        """Return P(y = 1) of every row under one refit, computed on demand.

        Parameters
        ----------
        i : int, 0 <= i < n_refits
            Which refit.

        Returns
        -------
        ndarray of float, shape (n_rows,)
            Probabilities; the label on labeled rows.

        Raises
        ------
        ValueError
            If there is no such refit.

        Examples
        --------
        >>> import numpy as np
        >>> evaluation = EvaluationSet([1, 0, np.nan], [0.9, 0.2, 0.6])
        >>> impute(evaluation, "prevalence", n_refits=2, rng=0).refit(1).round(3)
        array([1.   , 0.   , 0.174])
        """
        if check_whole("i", i, least=0) >= self.n_refits or self.bin_values is None:
            raise ValueError(
                f"`i` must be below the number of refits, {self.n_refits}; got {i}. "
                "More come with `impute(..., n_refits=)`, where p is estimated from labels."
            )
        return np.where(self.is_labeled, self.p, self.bin_values[1 + i][self.bin_index])

    def without_refits(self) -> Imputation:
        """Return the same belief, taken as exactly known.

        Returns
        -------
        Imputation
            The fit alone.
        """
        if not self.n_refits or self.bin_values is None:
            return self
        return replace(
            self,
            assumption=f"{self.assumption.partition(';')[0]}; calibration taken as known",
            bin_values=read_only(self.bin_values[:1].copy()),
        )

    def subset(self, mask: npt.ArrayLike) -> Imputation:
        """Return the same belief about some of the rows; nothing is fitted again.

        Parameters
        ----------
        mask : array_like of bool, shape (n_rows,)
            Rows to keep.

        Returns
        -------
        Imputation
            Belief about these rows.

        Raises
        ------
        TypeError
            If `mask` is not boolean.
        ValueError
            If it has another length or no true value.

        Examples
        --------
        >>> evaluation = EvaluationSet([1, 0, None], [0.9, 0.2, 0.6])
        >>> impute(evaluation, "maxent").subset(evaluation.y_pred == 1).p
        array([1. , 0.5])
        """
        keep = np.asarray(mask)
        if keep.dtype != np.bool_:
            raise TypeError(f"`mask` must be an array of bool; got {keep.dtype}.")
        if keep.shape != self.p.shape:
            raise ValueError(f"`mask` must have shape {self.p.shape}; got {keep.shape}.")
        if not keep.any():
            raise ValueError("`mask` must be true somewhere; it leaves no rows.")
        return replace(
            self,
            p=read_only(self.p[keep]),
            is_labeled=read_only(self.is_labeled[keep]),
            bin_index=None if self.bin_index is None else read_only(self.bin_index[keep]),
        )

    def __repr__(self) -> str:
        """Return rows, missing rows, refits and method on one line."""
        return (
            f"Imputation(n_rows={len(self.p)}, n_missing={int((~self.is_labeled).sum())}, "
            f"n_refits={self.n_refits}, method={self.method!r})"
        )

    def _repr_html_(self) -> str:
        missing = self.p[~self.is_labeled]
        spread = f"{missing.min():.3f} to {missing.max():.3f}" if len(missing) else "none"
        rows = [
            ["rows", f"{len(self.p):,}"],
            ["rows without label", f"{len(missing):,}"],
            ["p of these", spread],
            ["method", self.method],
            ["assumes", self.assumption],
            ["refits", f"{self.n_refits}"],
        ]
        return table_html(["imputation", ""], rows, notes=self.notes)


def impute(
    evaluation: EvaluationSet,
    how: str | npt.ArrayLike = "auto",
    *,
    n_refits: int = 50,
    rng: np.random.Generator | int | None = None,
) -> Imputation:
    """Say how probable a positive is on each row whose label is missing.

    Parameters
    ----------
    evaluation : EvaluationSet
        Scores or decisions, with some labels missing. Without a score the decision stands for it.
    how : str or array_like of float, shape (n_rows,), default "auto"
        - "auto": "histogram" above 2,000 labels or without a score, else "scaling_binning";
        - "maxent": p = 1/2;
        - "prevalence": the share of positives among labeled rows;
        - "histogram": that share in bins of the score, with half a count of each class added;
        - "scaling_binning": Platt scaling, averaged in bins;
        - an array: your own probabilities, taken as known; values on labeled rows are ignored.

        Bins are cut where the decision changes, so that a bin never lends the rate of rows
        predicted positive to rows predicted negative, as long as both have labels.
    n_refits : int >= 0, default 50
        Fits under Bayesian-bootstrap weights, one exponential(1) draw per label. They carry the
        uncertainty of a calibration that is estimated from these labels; 0 takes it as known.
        None are made for "maxent" and a given array.
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
        learn from, or labels of one class only where calibration needs both.
    TypeError
        If `evaluation` is no EvaluationSet, `n_refits` no whole number, or a given array holds
        something that is no real number, such as text.

    Notes
    -----
    **Assumes** independent labels and, for every estimated p, that missing labels are like
    labeled ones of the same score and decision (missing at random). Scores of rows that the
    model was trained on are more extreme than those of new rows: use out-of-fold scores.

    Bins stay where the fit put them; refits change the rates in them. A histogram bin with s
    positives and f negatives has Beta(s + 1/2, f + 1/2) refits, which is what exponential
    weights and half counts give, so one draw per bin replaces one per row.

    Refits hold what is uncertain within the model, not a wrong model: Platt scaling has two
    parameters, whatever the bins.

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
    if not isinstance(how, str) and hasattr(how, "__len__"):
        return _take_given(evaluation, how)
    if not isinstance(how, str) or how not in _HOWS:
        raise ValueError(
            f"`how` must be one of {', '.join(map(repr, _HOWS))}, or an array of probabilities of "
            f"shape ({evaluation.n_rows},); got {how!r}."
        )
    if evaluation.is_labeled.all():
        return _take_labels(evaluation)
    if how == "maxent":
        return _flip_coins(evaluation)
    if how == "prevalence":
        return _share_prevalence(evaluation, n_refits, generator)
    if 0 in (counts := _count_classes(evaluation, how)):
        raise ValueError(
            f"`how={how!r}` needs labels of both classes; got {counts[0]} positive and "
            f"{counts[1]} negative. Use how='prevalence', how='maxent', an array of "
            "probabilities, or `estimate_shared_rate`, which needs no p."
        )
    # Two decisions are two bins: there is nothing for Platt scaling to smooth.
    many = evaluation.n_labeled > MANY_LABELS or evaluation.y_score is None
    by_counts = how == "histogram" or (how == "auto" and many)
    fit = (count_in_bins if by_counts else scale_and_bin)(evaluation, n_refits, generator)
    given = "score" if evaluation.y_score is not None else "decision"
    return _bin_rows(
        evaluation,
        fit.index,
        fit.values,
        method=fit.method,
        assumption=f"missing labels are independent draws, like labeled ones of the same {given} "
        f"(missing at random given the {given}); {_say_refits(n_refits, 'calibration')}",
        notes=(*fit.notes, *_plug_in_notes(evaluation, n_refits)),
    )


def _take_given(evaluation: EvaluationSet, how: npt.ArrayLike) -> Imputation:
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
    )


def _take_labels(evaluation: EvaluationSet) -> Imputation:
    return Imputation(
        p=evaluation.y_true,
        is_labeled=evaluation.is_labeled,
        method="labels as given",
        assumption="nothing: no label is missing",
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
    evaluation: EvaluationSet, n_refits: int, rng: np.random.Generator
) -> Imputation:
    n_positive, n_negative = _count_classes(evaluation, "prevalence")
    values = np.empty((1 + n_refits, 1))
    notes: tuple[str, ...] = ()
    if n_positive and n_negative:
        values[0] = n_positive / (n_positive + n_negative)
    else:
        values[0] = (n_positive + 0.5) / (n_positive + n_negative + 1)
        notes = (
            f"The {n_positive + n_negative:,} labels are of one class: half a count of each added.",
        )
    values[1:, 0] = rng.beta(n_positive + 0.5, n_negative + 0.5, size=n_refits)
    return _bin_rows(
        evaluation,
        np.zeros(evaluation.n_rows, dtype=np.int64),
        values,
        method="prevalence of the labeled rows",
        assumption="missing labels are independent draws at the labeled rows' rate, whatever "
        f"their score; {_say_refits(n_refits, 'rate')}",
        notes=(*notes, *_plug_in_notes(evaluation, n_refits)),
    )


def _count_classes(evaluation: EvaluationSet, how: str) -> tuple[int, int]:
    """Return the numbers of positive and negative labels; raise if there is none."""
    counts = evaluation.counts
    n_positive, n_negative = counts.tp + counts.fn, counts.fp + counts.tn
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
) -> Imputation:
    # A rate that rounds to 0 or 1 would call a missing label certain.
    values = np.clip(values, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)
    return Imputation(
        p=read_only(np.where(evaluation.is_labeled, evaluation.y_true, values[0][index])),
        is_labeled=evaluation.is_labeled,
        method=method,
        assumption=assumption,
        notes=notes,
        bin_index=read_only(index),
        bin_values=read_only(values),
    )


def _say_refits(n_refits: int, what: str) -> str:
    if n_refits == 0:
        return f"{what} taken as known"
    return f"{what} uncertainty from {n_refits} Bayesian-bootstrap refits"


def _plug_in_notes(evaluation: EvaluationSet, n_refits: int) -> tuple[str, ...]:
    return () if n_refits else (plug_in(evaluation.n_labeled, evaluation.n_unlabeled),)
