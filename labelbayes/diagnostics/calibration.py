"""Reliability of probabilities on labeled rows: rates per bin, and the error with an interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import beta, chi2, ncx2

from labelbayes._checks import (
    CI_PROB,
    FloatArray,
    check_open_unit,
    check_probabilities,
    check_type,
    check_whole,
    make_rng,
)
from labelbayes._html import table_html
from labelbayes.data.columns import as_column, as_reals
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.features import FeaturesLike, read_features
from labelbayes.imputation.impute import impute
from labelbayes.imputation.label_weights import LabelWeights, weigh_labels
from labelbayes.imputation.row_refits import Calibrator
from labelbayes.imputation.score_scale import score_of
from labelbayes.results.interval import Interval
from labelbayes.results.sentences import INDEPENDENCE


@dataclass(frozen=True, eq=False)
class Reliability:
    """How well probabilities agree with the labels of rows they did not learn from.

    Parameters
    ----------
    table : DataFrame
        A row per bin of p, from 0 to 1: `p_low`, `p_high`, `n_labeled`, `mean_p`, `rate` (share
        of positives), `low`, `high` (interval of the rate). An empty bin holds nan.
    error : float
        Root mean square of mean p less the rate over bins, by labels, less what chance adds to
        it; in [0, 1].
    interval : Interval
        Confidence interval of that error before chance.
    method : str
        What was judged, and how.
    notes : tuple of str
        What to keep in mind, as sentences.
    """

    table: pd.DataFrame
    error: float
    interval: Interval
    method: str
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return error, interval and method on one line."""
        return f"Reliability(error={self.error:.3f}, {self.interval}, method={self.method!r})"

    def _repr_html_(self) -> str:
        header = ["p", "labels", "mean p", "rate", "low", "high"]
        rows = [
            [
                f"{low:.2g} to {high:.2g}",
                f"{int(n_labeled):,}",
                *("" if np.isnan(value) else f"{value:.3f}" for value in values),
            ]
            for low, high, n_labeled, *values in self.table.to_numpy(dtype=float)
        ]
        said = f"Calibration error {self.error:.3f}, {self.interval}; {self.method}."
        return table_html(header, rows, notes=(said, *self.notes))


def check_calibration(
    evaluation: EvaluationSet,
    how: str | npt.ArrayLike | Calibrator,
    *,
    features: FeaturesLike | None = None,
    n_bins: int = 10,
    n_folds: int = 5,
    ci_prob: float = CI_PROB,
    rng: np.random.Generator | int | None = None,
) -> Reliability:
    """Compare probabilities with the labels of this set.

    Parameters
    ----------
    evaluation : EvaluationSet
        Scores or decisions, with labels of both classes.
    how : str, calibrator, or array_like of float, shape (n_rows,)
        As in `impute`. What learns from labels is cross-fitted: each label is compared with a p
        that was fitted without it. Given probabilities are compared as they are, and must not
        come from these labels; values on rows without a label are not used.
    features : DataFrame or array_like, shape (n_rows,) or (n_rows, k), optional
        As in `impute`.
    n_bins : int >= 1, default 10
        Bins of equal width in p; p = 0 and p = 1 belong to the end bins.
    n_folds : int >= 2, default 5
        Parts of the labels, of which each is left out once.
    ci_prob : float, default 0.95
        Probability content of all intervals, in (0, 1).
    rng : numpy.random.Generator, int or None, default None
        Where the parts come from; equal seeds give equal ones, whatever the order of rows.

    Returns
    -------
    Reliability
        Rates per bin, and the calibration error with its interval.

    Raises
    ------
    ValueError
        If labels are too few for the folds, or an option is out of range.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    labelbayes.imputation.impute.impute : What is judged here.

    Notes
    -----
    **Assumes** independent labels. With a difference d in each bin, of variance s^2 and share w
    of the labels, the sum of w d^2 is the squared error plus the sum of w s^2. That excess is
    subtracted (and the root of a negative rest is 0). The interval inverts a scaled noncentral
    chi-square law with the right mean and at least the right variance, so that it covers at
    least as often as it says where bins hold more than a few labels; its upper end is never below
    that of the median square under a right p, so that luck cannot prove p right. Intervals of
    the rates are Jeffreys'.

    Differences inside a bin that cancel are not seen. Where missing labels are not missing at
    random, p can be right here and wrong for them.

    References
    ----------
    .. [1] A. Kumar, P. Liang, T. Ma, Verified uncertainty calibration, NeurIPS 2019 (the excess).
    .. [2] L. D. Brown, T. T. Cai, A. DasGupta, Interval estimation for a binomial proportion,
       Statistical Science 16, 2001.

    Examples
    --------
    >>> y_true = [0, 0, 0, 1, 0, 1, 1, 1]
    >>> p = [0.1, 0.2, 0.1, 0.2, 0.8, 0.9, 0.8, 0.9]
    >>> judged = check_calibration(EvaluationSet(y_true, p), p, n_bins=2)
    >>> judged.table["rate"].tolist()
    [0.25, 0.75]
    """
    check_type("evaluation", evaluation, EvaluationSet)
    n_bins = check_whole("n_bins", n_bins, least=1)
    n_folds = check_whole("n_folds", n_folds, least=2)
    ci_prob = check_open_unit("ci_prob", ci_prob)
    labeled = evaluation.is_labeled
    if not labeled.any():
        raise ValueError("`evaluation` must hold labels to compare p with; got none.")
    if isinstance(how, Imputation):
        raise TypeError(
            "`how` must be what `impute` is told, so that p can be fitted without the labels it is "
            f"compared with; got its result ({how.method}). Pass e.g. how='platt', or your own "
            "probabilities."
        )
    is_calibrator = hasattr(how, "fit") and hasattr(how, "predict")
    if not isinstance(how, str) and not is_calibrator and hasattr(how, "__len__"):
        given = np.asarray(as_reals("how", as_column("how", how)), dtype=np.float64)
        if given.shape == labeled.shape:
            given = np.where(labeled, given, 0.5)
        p = check_probabilities("how", given, evaluation.n_rows)
        count = evaluation.count[labeled].astype(np.float64)
        judged = _Judged(p[labeled], evaluation.y_true[labeled], count)
        method = "given probabilities, as they are"
    else:
        learner = cast("str | Calibrator", how)
        judged, method = _cross_fit(evaluation, learner, features, n_folds, make_rng(rng))
    table = _table(judged, n_bins, ci_prob)
    error, low, high = _error(table, ci_prob)
    return Reliability(
        table, error, Interval(low, high, ci_prob, "confidence"), method, (INDEPENDENCE,)
    )


@dataclass(frozen=True, eq=False)
class _Judged:
    """Probabilities beside the labels that they are compared with, and how many labels."""

    p: FloatArray
    label: FloatArray
    count: FloatArray


def _cross_fit(
    evaluation: EvaluationSet,
    how: str | Calibrator,
    features: FeaturesLike | None,
    n_folds: int,
    rng: np.random.Generator,
) -> tuple[_Judged, str]:
    """Return p of each label, fitted without it, and what was fitted."""
    columns: list[npt.NDArray[Any]] = [score_of(evaluation), evaluation.y_pred]
    frame = None
    if features is not None:
        read = read_features(features, evaluation.n_rows)
        frame = read.frame
        columns.extend(read.encoded.T)
    weights = weigh_labels(evaluation, None, None)
    groups = weights.pool([column[weights.row] for column in columns])
    held = _split(groups, n_folds, rng)
    unlabeled = np.flatnonzero(~evaluation.is_labeled)
    judged, method = [], ""
    for out in held.T:
        left = groups.count - out
        rows = np.concatenate([groups.row[left > 0], groups.row[out > 0], unlabeled])
        label = np.full(len(rows), np.nan)
        label[: int((left > 0).sum())] = groups.label[left > 0]
        part = EvaluationSet(
            label,
            None if evaluation.y_score is None else evaluation.y_score[rows],
            y_pred=evaluation.y_pred[rows],
            count=np.concatenate([left[left > 0], out[out > 0], evaluation.count[unlabeled]]),
        )
        chosen = None if frame is None else frame.iloc[rows]
        belief = impute(part, how, features=chosen, n_refits=0)
        start = int((left > 0).sum())
        stop = start + int((out > 0).sum())
        judged.append(_Judged(belief.p[start:stop], groups.label[out > 0], out[out > 0]))
        method = belief.method
    together = _Judged(
        np.concatenate([part.p for part in judged]),
        np.concatenate([part.label for part in judged]),
        np.concatenate([part.count for part in judged]),
    )
    return together, f"{method.partition(',')[0]}, cross-fitted in {n_folds} parts"


def _split(groups: LabelWeights, n_folds: int, rng: np.random.Generator) -> FloatArray:
    """Return how many labels of each group belong to each part, shape (n_groups, n_folds).

    Within a class, labels are numbered group by group in random order and dealt out in turn. So
    each part has its share of a class, and tied scores are not held out together.
    """
    if min(groups.n_by_class) < n_folds:
        raise ValueError(
            f"`n_folds` must be at most the labels of the rarer class, {min(groups.n_by_class)}; "
            f"got {n_folds}. Label more rows, or take fewer folds."
        )
    held = np.empty((len(groups.row), n_folds))
    for side in (0.0, 1.0):
        members = rng.permutation(np.flatnonzero(groups.label == side))
        stop = np.cumsum(groups.count[members])
        start = stop - groups.count[members]
        for k in range(n_folds):
            # Numbers below x that leave a remainder of k.
            below_stop, below_start = (np.ceil((x - k) / n_folds) for x in (stop, start))
            held[members, k] = below_stop - below_start
    return held


def _table(judged: _Judged, n_bins: int, ci_prob: float) -> pd.DataFrame:
    p, label, count = judged.p, judged.label, judged.count
    bins = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    n = np.bincount(bins, count, n_bins)
    positive = np.bincount(bins, count * label, n_bins)
    tail = (1 - ci_prob) / 2
    edges = np.arange(n_bins + 1) / n_bins
    empty = n == 0
    share = np.where(empty, 1, n)
    low = np.where(positive == 0, 0.0, beta.ppf(tail, positive + 0.5, n - positive + 0.5))
    high = np.where(positive == n, 1.0, beta.isf(tail, positive + 0.5, n - positive + 0.5))
    return pd.DataFrame(
        {
            "p_low": edges[:-1],
            "p_high": edges[1:],
            "n_labeled": n.astype(np.int64),
            "mean_p": np.where(empty, np.nan, np.bincount(bins, count * p, n_bins) / share),
            "rate": np.where(empty, np.nan, positive / share),
            "low": np.where(empty, np.nan, low),
            "high": np.where(empty, np.nan, high),
        }
    )


def _error(table: pd.DataFrame, ci_prob: float) -> tuple[float, float, float]:
    """Return the root mean square error without its excess, and its interval."""
    used = table[table["n_labeled"] > 0]
    n, rate = used["n_labeled"].to_numpy(float), used["rate"].to_numpy()
    square = float(n @ (used["mean_p"].to_numpy() - rate) ** 2 / n.sum())
    # With half a count of each class: a bin of one label has an unknown variance, not none.
    smoothed = (n * rate + 0.5) / (n + 1)
    spread = smoothed * (1 - smoothed)
    excess = float(spread.sum() / n.sum())
    unit = float(spread.max() / n.sum())
    dof = excess / unit

    def end(prob: float, at: float) -> float:
        def gap(size: float) -> float:
            return float(ncx2.cdf(at / unit, dof, size)) - prob

        # At size 0 the law is the central one.
        return float(np.sqrt(unit * _falling_root(gap)))

    tail = (1 - ci_prob) / 2
    error = float(np.sqrt(max(square - excess, 0.0)))
    # A square far below chance would leave the empty interval, shown as 0 to 0.
    typical = unit * float(chi2.median(dof))
    return error, min(end(1 - tail, square), 1.0), min(end(tail, max(square, typical)), 1.0)


def _falling_root(gap: Callable[[float], float]) -> float:
    """Return where a falling function of a size >= 0 is 0; 0 where it starts below."""
    if gap(0.0) <= 0:
        return 0.0
    top = 1.0
    while gap(top) > 0:
        top *= 2
    return float(brentq(gap, 0.0, top, xtol=1e-9, rtol=1e-9))
