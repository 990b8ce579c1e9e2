"""The probability that a row's label is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from labelbayes._checks import FloatArray, check_probabilities, check_type, read_only
from labelbayes._html import table_html
from labelbayes.data.columns import as_column, as_reals
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.features import read_features
from labelbayes.weighting.cross_fitting import cross_fit, read_time


@dataclass(frozen=True, eq=False, repr=False)
class RowProbabilities:
    """A probability per row, and where it comes from.

    Parameters
    ----------
    p : ndarray of float, shape (n_rows,)
        Probabilities in [0, 1].
    method : str
        How they came about.
    features : tuple of str, default ()
        What they depend on.
    """

    p: FloatArray
    method: str
    features: tuple[str, ...] = ()

    #: What they are the probability of.
    _what: ClassVar[str] = "probability"

    def __post_init__(self) -> None:
        """Keep a copy that nobody can change; raise where it holds no probabilities."""
        p = np.array(self.p, dtype=np.float64)
        if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
            check_probabilities("p", p, len(p) if p.ndim else 1)
        object.__setattr__(self, "p", read_only(p))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle or deep copy; NumPy forgets there that arrays are read-only."""
        for name, value in state.items():
            kept = read_only(value) if isinstance(value, np.ndarray) else value
            object.__setattr__(self, name, kept)

    @property
    def _span(self) -> str:
        return f"{self.p.min():.3g} to {self.p.max():.3g}"

    def __repr__(self) -> str:
        """Return rows, range and method on one line."""
        kind = type(self).__name__
        return f"{kind}(n_rows={len(self.p)}, p from {self._span}, method={self.method!r})"

    def _repr_html_(self) -> str:
        rows = [
            ["rows", f"{len(self.p):,}"],
            [self._what, self._span],
            ["method", self.method],
            ["depends on", ", ".join(self.features) or "not said"],
        ]
        return table_html([type(self).__name__.lower(), ""], rows)


@dataclass(frozen=True, eq=False, repr=False)
class Propensity(RowProbabilities):
    """P(labeled) of every row.

    Parameters
    ----------
    p : ndarray of float, shape (n_rows,)
        Probabilities that the label is seen, in [0, 1].
    method : str
        How they came about.
    features : tuple of str, default ()
        What they depend on.

    Examples
    --------
    >>> Propensity(np.array([0.5, 0.25]), "known by design")
    Propensity(n_rows=2, p from 0.25 to 0.5, method='known by design')
    """

    _what: ClassVar[str] = "P(labeled)"


def fit_propensity(
    X: Any,
    evaluation: EvaluationSet,
    *,
    model: Any = None,
    n_folds: int = 5,
    time: npt.ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
) -> Propensity:
    """Estimate how probable it was that each row's label is seen.

    Parameters
    ----------
    X : DataFrame or array_like, shape (n_rows, k)
        What decided on labels: scores, groups, times. Columns of words become indicators.
    evaluation : EvaluationSet
        Which labels are there.
    model : scikit-learn classifier, optional
        Any with `predict_proba`; it is cloned. None stands for logistic regression on
        standardized features with a faint ridge (C = 1,000).
    n_folds : int >= 1, default 5
        Each row's probability comes from a model fitted on the other folds; 1 fits one model on
        all rows.
    time : array_like, shape (n_rows,), optional
        With times each block of rows is predicted from the blocks before it.
    rng : numpy.random.Generator, int, optional
        What deals rows to folds; the order of the rows plays no part.

    Returns
    -------
    Propensity
        With `.p` of shape (n_rows,).

    Raises
    ------
    ValueError
        If `X` does not fit the evaluation, or a fold has nothing to learn from.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    fit_outcome : The other nuisance model.

    Notes
    -----
    **Assumes** that labels are missing at random given `X`, and that the model is right. Where
    the probabilities are known by design, pass them as an array in its place. How well the model
    tells labeled rows from others says nothing about either; see `check_weights`. A row of
    multiplicity above 1 is in one fold. Shown in the notebook 08_selective_labels.

    References
    ----------
    .. [1] P. R. Rosenbaum and D. B. Rubin, "The central role of the propensity score in
       observational studies for causal effects", Biometrika 70(1), 41-55, 1983.
    .. [2] V. Chernozhukov et al., "Double/debiased machine learning for treatment and structural
       parameters", Econometrics Journal 21(1), C1-C68, 2018.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, None, 0, None] * 50, [0.9, 0.1, 0.8, 0.2] * 50)
    >>> fitted = fit_propensity(evaluation.y_pred, evaluation, rng=0)
    >>> bool(fitted.p[0] > 0.9 and fitted.p[1] < 0.1)
    True
    """
    check_type("evaluation", evaluation, EvaluationSet)
    features = read_features(X, evaluation.n_rows, argument="X", stem="x")
    p = cross_fit(
        features.encoded,
        evaluation,
        evaluation.is_labeled.astype(np.float64),
        model=model,
        n_folds=n_folds,
        time=read_time(time, evaluation.n_rows),
        rng=rng,
    )
    return Propensity(p, fit_text("P(labeled)", model, n_folds, time is not None), features.names)


def fit_text(what: str, model: Any, n_folds: int, is_timed: bool) -> str:
    """Return how a nuisance model was fitted, in words.

    Parameters
    ----------
    what : str
        What it predicts.
    model : scikit-learn classifier or None
        None stands for logistic regression.
    n_folds : int
        Folds.
    is_timed : bool
        Whether blocks of time took the place of folds.

    Returns
    -------
    str
        For `method`.
    """
    name = "logistic regression" if model is None else type(model).__name__
    if n_folds == 1:
        how = "fitted on all rows"
    elif is_timed:
        how = f"each of {n_folds} blocks of time from those before it"
    else:
        how = f"cross-fitted in {n_folds} folds"
    return f"{what} by {name}, {how}"


def read_propensity(propensity: Propensity | npt.ArrayLike, n_rows: int) -> Propensity:
    """Return given probabilities as a Propensity.

    Parameters
    ----------
    propensity : Propensity or array_like of float, shape (n_rows,)
        Fitted, or known by design.
    n_rows : int
        Rows expected.

    Returns
    -------
    Propensity
        Checked: one probability per row.

    Raises
    ------
    ValueError
        If the shape is wrong, or a value is nan or outside [0, 1].
    """
    if isinstance(propensity, Propensity):
        if len(propensity.p) != n_rows:
            raise ValueError(
                f"`propensity` must have been fitted on these rows, {n_rows}; it has "
                f"{len(propensity.p)}."
            )
        return propensity
    return Propensity(check_propensities(propensity, n_rows), "P(labeled) as given")


def check_propensities(values: npt.ArrayLike, n_rows: int) -> FloatArray:
    """Return probabilities of a label, with a sentence of their own where they are none.

    Parameters
    ----------
    values : array_like of float, shape (n_rows,)
        Probabilities.
    n_rows : int
        Rows expected.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        Values in [0, 1].

    Raises
    ------
    ValueError
        If the shape is wrong, or a value is nan or outside [0, 1].
    TypeError
        If a value is no number.
    """
    p = read_reals("propensity", values)
    try:
        return check_probabilities("propensity", p, n_rows)
    except ValueError as error:
        # Calibration is no remedy here.
        sentence = str(error).replace(" Calibrate scores first, e.g. with `impute`.", "")
        hint = "" if "shape" in sentence else " Pass P(labeled), not the weight 1 / P."
        raise ValueError(sentence + hint) from None


def read_reals(name: str, values: object) -> FloatArray:
    """Return one number per row out of any container.

    Parameters
    ----------
    name : str
        Argument name.
    values : array_like of float, shape (n_rows,)
        Numbers; text is none.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        The numbers, nan where missing or masked.

    Raises
    ------
    TypeError
        If it is no column of numbers, or what another model was fitted for.
    ValueError
        If it is not one-dimensional.
    """
    if isinstance(values, RowProbabilities):
        raise TypeError(
            f"`{name}` must be P(labeled) or P(y = 1), whichever it names; got the "
            f"{type(values).__name__} of the other model. Exchange the two."
        )
    return as_reals(name, as_column(name, values)).astype(np.float64)
