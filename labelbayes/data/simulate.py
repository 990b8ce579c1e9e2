"""Simulated classifiers with a known truth."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from labelbayes._checks import check_real, check_whole, make_rng
from labelbayes.data.evaluation_set import EvaluationSet


def simulate_scores(
    n_rows: int,
    *,
    intercept: float = 0.0,
    slope: float = 1.0,
    rng: np.random.Generator | int | None = None,
) -> EvaluationSet:
    """Return a fully labeled set whose scores are off in a known way.

    Parameters
    ----------
    n_rows : int >= 1
        Rows.
    intercept, slope : float, default 0.0 and 1.0
        P(y = 1) of a row with score s is expit(intercept + slope logit(s)); 0 and 1 are
        calibrated scores.
    rng : numpy.random.Generator, int, optional
        Where scores and labels come from.

    Returns
    -------
    EvaluationSet
        Scores with logit(s) normal, mean 0 and standard deviation 2, and their labels.

    Raises
    ------
    ValueError
        If there are no rows, or an option is not finite.
    TypeError
        If an argument is no number.

    Examples
    --------
    >>> simulate_scores(1_000, intercept=-1.0, rng=0).n_labeled
    1000
    """
    size = check_whole("n_rows", n_rows, least=1)
    shift, steepness = check_real("intercept", intercept), check_real("slope", slope)
    generator = make_rng(rng)
    logit = generator.normal(0.0, 2.0, size)
    y_true = generator.random(size) < expit(shift + steepness * logit)
    return EvaluationSet(y_true.astype(int), expit(logit))
