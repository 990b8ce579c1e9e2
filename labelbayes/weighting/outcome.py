"""The probability of a positive given what is seen, for weighting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from labelbayes._checks import check_probabilities, check_type
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.features import read_features
from labelbayes.weighting.cross_fitting import cross_fit, read_time
from labelbayes.weighting.propensity import RowProbabilities, fit_text, read_reals


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(RowProbabilities):
    """P(y = 1) of every row given its features, labeled rows included.

    Parameters
    ----------
    p : ndarray of float, shape (n_rows,)
        Probabilities of a positive among labeled rows with these features.
    method : str
        How they came about.
    features : tuple of str, default ()
        What they depend on.

    Examples
    --------
    >>> Outcome(np.array([0.5, 0.25]), "by a nurse")
    Outcome(n_rows=2, p from 0.25 to 0.5, method='by a nurse')
    """

    _what: ClassVar[str] = "P(y = 1)"


def fit_outcome(
    X: Any,
    evaluation: EvaluationSet,
    *,
    model: Any = None,
    n_folds: int = 5,
    time: npt.ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
) -> Outcome:
    """Estimate P(y = 1) of each row from labeled rows that are not itself.

    Parameters
    ----------
    X : DataFrame or array_like, shape (n_rows, k)
        What tells about the label: the score, groups, times. Columns of words become indicators.
    evaluation : EvaluationSet
        The labels.
    model : scikit-learn classifier, optional
        Any with `predict_proba`; it is cloned. None stands for logistic regression on
        standardized features with a faint ridge (C = 1,000).
    n_folds : int >= 1, default 5
        Each row's probability comes from a model fitted on the other folds; 1 fits one model on
        all labeled rows.
    time : array_like, shape (n_rows,), optional
        With times each block of rows is predicted from the blocks before it.
    rng : numpy.random.Generator, int, optional
        What deals rows to folds; the order of the rows plays no part.

    Returns
    -------
    Outcome
        With `.p` of shape (n_rows,).

    Raises
    ------
    ValueError
        If there is no label, `X` does not fit the evaluation, or a fold has nothing to learn
        from.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    fit_propensity : The other nuisance model.

    Notes
    -----
    **Assumes** that missing labels are like labeled ones with the same `X`, and that the model
    is right. It is no new classifier: the scores and decisions that are evaluated stay as they
    are. Shown in the notebook 08_selective_labels.

    References
    ----------
    .. [1] V. Chernozhukov et al., "Double/debiased machine learning for treatment and structural
       parameters", Econometrics Journal 21(1), C1-C68, 2018.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, None, 0, None] * 50, [0.9, 0.1, 0.2, 0.8] * 50)
    >>> fitted = fit_outcome(evaluation.y_score, evaluation, rng=0)
    >>> bool(fitted.p[0] > 0.9 and fitted.p[1] < 0.1)
    True
    """
    check_type("evaluation", evaluation, EvaluationSet)
    if not evaluation.is_labeled.any():
        raise ValueError("`evaluation` must have labels to fit an outcome model; it has none.")
    features = read_features(X, evaluation.n_rows, argument="X", stem="x")
    p = cross_fit(
        features.encoded,
        evaluation,
        evaluation.y_true,
        model=model,
        n_folds=n_folds,
        time=read_time(time, evaluation.n_rows),
        rng=rng,
    )
    return Outcome(p, fit_text("P(y = 1)", model, n_folds, time is not None), features.names)


def read_outcome(outcome: Outcome | npt.ArrayLike, n_rows: int) -> Outcome:
    """Return given probabilities as an Outcome.

    Parameters
    ----------
    outcome : Outcome or array_like of float, shape (n_rows,)
        Fitted, or given.
    n_rows : int
        Rows expected.

    Returns
    -------
    Outcome
        Checked: one probability per row.

    Raises
    ------
    ValueError
        If the shape is wrong, or a value is nan or outside [0, 1].
    """
    if isinstance(outcome, Outcome):
        if len(outcome.p) != n_rows:
            raise ValueError(
                f"`outcome` must have been fitted on these rows, {n_rows}; it has {len(outcome.p)}."
            )
        return outcome
    p = check_probabilities("outcome", read_reals("outcome", outcome), n_rows)
    return Outcome(p, "P(y = 1) as given")
