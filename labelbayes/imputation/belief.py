"""Belief about each missing label: P(y = 1) of every row, its refits, and what it knows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from labelbayes._checks import (
    BoolArray,
    FloatArray,
    IntArray,
    check_real,
    check_whole,
    read_only,
)
from labelbayes._html import table_html
from labelbayes.data.columns import as_column
from labelbayes.imputation.features import determines, read_features
from labelbayes.imputation.odds import tilt_odds
from labelbayes.imputation.row_refits import RowRefits

_TILTED = ", with odds of a positive times "


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
    score : ndarray of float, shape (n_rows,), or None
        The score that `p` uses (the decision where there is none); None where it uses none.
        Estimators take `p` only with an evaluation of this score, or one whose score it knows.
    features : DataFrame, shape (n_rows, k), or None
        What `p` uses beside the score; beside a given array, what it is said to use.
    row_refits : RowRefits or None
        Refits that give each row a probability of its own, where rows do not come in bins.
    odds_ratio : float, default 1
        Factor by which the odds of the missing labels have been tilted.
    """

    p: FloatArray
    is_labeled: BoolArray
    method: str
    assumption: str
    notes: tuple[str, ...] = ()
    bin_index: IntArray | None = None
    bin_values: FloatArray | None = None
    score: FloatArray | None = None
    features: pd.DataFrame | None = None
    row_refits: RowRefits | None = None
    odds_ratio: float = 1.0

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle or deep copy; NumPy forgets there that arrays are read-only."""
        for name, value in state.items():
            kept = read_only(value) if isinstance(value, np.ndarray) else value
            object.__setattr__(self, name, kept)

    @property
    def n_refits(self) -> int:
        """Number of refits; 0 where `p` is taken as known."""
        if self.bin_values is None:
            return 0 if self.row_refits is None else len(self.row_refits)
        return len(self.bin_values) - 1

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
        >>> from labelbayes.data.evaluation_set import EvaluationSet
        >>> from labelbayes.imputation.impute import impute
        >>> evaluation = EvaluationSet([1, 0, None], [0.9, 0.2, 0.6])
        >>> impute(evaluation, "prevalence", n_refits=2, rng=0).refit(1).round(3)
        array([1.   , 0.   , 0.174])
        """
        if check_whole("i", i, least=0) >= self.n_refits:
            raise ValueError(
                f"`i` must be below the number of refits, {self.n_refits}; got {i}. "
                "More come with `impute(..., n_refits=)`, where p is estimated from labels."
            )
        if self.bin_values is not None:
            return np.where(self.is_labeled, self.p, self.bin_values[1 + i][self.bin_index])
        assert self.row_refits is not None  # else there are no refits
        p = self.p.copy()
        missing = ~self.is_labeled
        p[missing] = tilt_odds(self.row_refits.predict(i), self.odds_ratio)
        return p

    def without_refits(self) -> Imputation:
        """Return the same belief, taken as exactly known.

        Returns
        -------
        Imputation
            The fit alone.
        """
        if not self.n_refits:
            return self
        values = self.bin_values
        return replace(
            self,
            assumption=f"{self.assumption.partition(';')[0]}; calibration taken as known",
            bin_values=None if values is None else read_only(values[:1].copy()),
            row_refits=None,
        )

    def tilt(self, odds_ratio: float) -> Imputation:
        """Return the belief that missing labels differ from comparable labeled ones.

        Parameters
        ----------
        odds_ratio : float > 0
            Factor on the odds of a positive of every missing label, in the fit and in each
            refit. Tilts multiply: by 2 and then by 3 is by 6.

        Returns
        -------
        Imputation
            The tilted belief; probabilities of exactly 0 and 1 stay.

        Raises
        ------
        TypeError
            If `odds_ratio` is no number.
        ValueError
            If it is not positive and finite.

        Notes
        -----
        **Assumes** one odds ratio for all missing labels. The data cannot tell it: it is a
        statement of belief. With probability of a label ``expit(g(x) + c y)`` the odds of
        missing labels are exactly those of labeled ones times ``exp(-c)``.

        Examples
        --------
        >>> from labelbayes.data.evaluation_set import EvaluationSet
        >>> from labelbayes.imputation.impute import impute
        >>> evaluation = EvaluationSet([1, 0, None], [0.9, 0.2, 0.6])
        >>> impute(evaluation, "maxent").tilt(3.0).p
        array([1.  , 0.  , 0.75])
        """
        ratio = check_real("odds_ratio", odds_ratio)
        total = self.odds_ratio * ratio
        if not (ratio > 0 and 0 < total < np.inf):
            before = f" after a tilt by {self.odds_ratio:g}" if self.odds_ratio != 1 else ""
            raise ValueError(
                f"`odds_ratio` must be positive, and so must all tilts together be, and finite; "
                f"got {odds_ratio!r}{before}. Values below 1 make missing labels less often "
                "positive, values above 1 more often."
            )
        head, semicolon, tail = self.assumption.partition(";")
        said = f"{_TILTED}{total:g}" if total != 1 else ""
        values = self.bin_values
        return replace(
            self,
            p=read_only(np.where(self.is_labeled, self.p, tilt_odds(self.p, ratio))),
            assumption=f"{head.partition(_TILTED)[0]}{said}{semicolon}{tail}",
            bin_values=None if values is None else read_only(tilt_odds(values, ratio)),
            odds_ratio=total,
        )

    def knows(self, values: npt.ArrayLike) -> bool:
        """Return whether `p` uses a column, so that slices and comparisons by it are honest.

        Where it does not, differences between the groups of the column, or between the model
        whose score it is and another, are pulled toward what `p` does use.

        Parameters
        ----------
        values : array_like, shape (n_rows,)
            Scores, decisions, groups or times.

        Returns
        -------
        bool
            True where nothing is missing; where the column is constant; where it is a monotone
            function of the score or of one numeric feature (text: where it changes along it only
            from one text to the next); or where each of its texts is a sum of texts of the
            features.

        Raises
        ------
        ValueError
            If it has another number of rows.
        TypeError
            If `values` is no list or array.

        Notes
        -----
        **Assumes**, beside a given array, that it uses the `features` it came with.

        Examples
        --------
        >>> from labelbayes.data.evaluation_set import EvaluationSet
        >>> from labelbayes.imputation.impute import impute
        >>> evaluation = EvaluationSet([1, 0, None, 0, 1], [0.9, 0.2, 0.6, 0.3, 0.7])
        >>> site = ["a", "b", "a", "b", "b"]
        >>> impute(evaluation).knows(site)
        False
        >>> impute(evaluation, features=site).knows(site)
        True
        """
        column = as_column("values", values)
        if len(column) != len(self.p):
            raise ValueError(
                f"`values` must have one value per row, {len(self.p)}; got {len(column)}."
            )
        if self.is_labeled.all():
            return True
        numeric = [] if self.score is None else [self.score]
        indicators = np.empty((len(self.p), 0))
        if self.features is not None:
            features = read_features(self.features, len(self.p))
            indicators = features.encoded[:, features.is_indicator]
            numeric.extend(features.encoded[:, ~features.is_indicator].T)
        return determines(numeric, indicators, column)

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
        >>> from labelbayes.data.evaluation_set import EvaluationSet
        >>> from labelbayes.imputation.impute import impute
        >>> evaluation = EvaluationSet([1, 0, None], [0.9, 0.2, 0.6])
        >>> impute(evaluation, "maxent").subset(evaluation.y_pred == 1).p
        array([1. , 0.5])
        """
        if np.ma.is_masked(mask):
            raise TypeError("`mask` must be an array of bool; got masked values. Fill them.")
        keep = np.asarray(mask)
        if keep.dtype != np.bool_:
            raise TypeError(f"`mask` must be an array of bool; got {keep.dtype}.")
        if keep.shape != self.p.shape:
            raise ValueError(f"`mask` must have shape {self.p.shape}; got {keep.shape}.")
        if not keep.any():
            raise ValueError("`mask` must be true somewhere; it leaves no rows.")
        refits = self.row_refits
        return replace(
            self,
            p=read_only(self.p[keep]),
            is_labeled=read_only(self.is_labeled[keep]),
            bin_index=None if self.bin_index is None else read_only(self.bin_index[keep]),
            score=None if self.score is None else read_only(self.score[keep]),
            features=None if self.features is None else self.features[keep].reset_index(drop=True),
            row_refits=None if refits is None else refits.subset(keep[~self.is_labeled]),
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
