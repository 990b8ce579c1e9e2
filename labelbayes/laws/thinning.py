"""A few steps that stand for all steps of a long ranking."""

from __future__ import annotations

import numpy as np

from labelbayes._checks import IntArray
from labelbayes.laws.ranked_rows import RankedRows


def choose_knots(ranked: RankedRows, most: int) -> IntArray:
    """Return the steps of the ranking at which it is followed.

    Parameters
    ----------
    ranked : RankedRows
        Rows by score.
    most : int
        How many steps at most.

    Returns
    -------
    ndarray of int, shape (at most `most`,)
        All steps where they are few; else some, ascending, the last step among them: half at
        equal distances in rows, the others closer and closer toward both ends, where curves are
        steep.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> ranked = RankedRows.from_evaluation(EvaluationSet([None] * 99, range(99)))
    >>> len(choose_knots(ranked, 99)), len(choose_knots(ranked, 20)) <= 20
    (99, True)
    """
    n_steps, n = ranked.n_steps, ranked.n
    if n_steps <= most:
        return np.arange(n_steps)
    ends = np.geomspace(1.0, n, most // 4)
    rows = np.concatenate([np.linspace(1.0, n, most // 2), ends, n - ends])
    steps = np.searchsorted(np.cumsum(ranked.step_count), rows.round())
    steps[0] = n_steps - 1
    return np.unique(np.minimum(steps, n_steps - 1))
