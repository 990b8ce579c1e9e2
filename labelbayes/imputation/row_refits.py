"""Refits that give each row a probability of its own: fitted calibrators, asked on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from labelbayes._checks import BoolArray, FloatArray
from labelbayes._user_models import filters_kept


class Calibrator(Protocol):
    """Anything that learns P(y = 1) from columns of numbers, the score first."""

    def fit(self, X: FloatArray, y: FloatArray) -> Any:
        """Learn from labels.

        Parameters
        ----------
        X : ndarray of float, shape (n, 1 + k)
            Columns, the score first.
        y : ndarray of float, shape (n,)
            Labels, 0 or 1. Where there are refits `sample_weight` comes with it, by name.

        Returns
        -------
        object
            Anything; it is not used.
        """

    def predict(self, X: FloatArray) -> npt.ArrayLike:
        """Return P(y = 1) of each row.

        Parameters
        ----------
        X : ndarray of float, shape (n, 1 + k)
            Columns, the score first.

        Returns
        -------
        array_like of float, shape (n,)
            Probabilities.
        """


@dataclass(frozen=True, eq=False)
class RowRefits:
    """Fitted calibrators and the rows without a label that they are asked about.

    Parameters
    ----------
    X : ndarray of float, shape (n_missing, 1 + k)
        Columns of each of these rows, the score first.
    calibrators : tuple of Calibrator
        One per refit.
    """

    X: FloatArray
    calibrators: tuple[Calibrator, ...]

    def __len__(self) -> int:
        """Return the number of refits."""
        return len(self.calibrators)

    def predict(self, i: int) -> FloatArray:
        """Return P(y = 1) of the rows under one refit.

        Parameters
        ----------
        i : int, 0 <= i < number of refits
            Which refit.

        Returns
        -------
        ndarray of float, shape (n_missing,)
            Probabilities.
        """
        return ask(self.calibrators[i], self.X)

    def subset(self, rows: BoolArray) -> RowRefits:
        """Return the same refits of some rows.

        Parameters
        ----------
        rows : ndarray of bool, shape (n_missing,)
            Rows to keep.

        Returns
        -------
        RowRefits
            Refits of these rows.
        """
        return RowRefits(self.X[rows], self.calibrators)


def ask(calibrator: Calibrator, X: FloatArray) -> FloatArray:
    """Return what a fitted calibrator says, once it has been looked at.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted.
    X : ndarray of float, shape (n, 1 + k)
        Columns, the score first.

    Returns
    -------
    ndarray of float, shape (n,)
        Probabilities; up to 1e-9 outside [0, 1] is taken for round-off.

    Raises
    ------
    ValueError
        If it gives another shape, nan, or a value outside [0, 1].
    """
    if len(X) == 0:  # scikit-learn refuses to predict for no rows
        return np.empty(0)
    with filters_kept():
        p = np.asarray(calibrator.predict(X), dtype=np.float64)
    name = type(calibrator).__name__
    if p.shape != (len(X),):
        raise ValueError(
            f"`how` must predict one probability per row, shape ({len(X)},); {name}.predict gave "
            f"shape {p.shape}. Wrap it so that `predict(X)` returns P(y = 1)."
        )
    bad = ~((p >= -1e-9) & (p <= 1 + 1e-9))
    if bad.any():
        raise ValueError(
            f"`how` must predict probabilities in [0, 1]; {name}.predict gave "
            f"{float(p[np.argmax(bad)])!r} ({int(bad.sum())} such values of {len(p)}). Wrap it so "
            "that `predict(X)` returns P(y = 1), clipped where it extrapolates."
        )
    return np.clip(p, 0.0, 1.0)
