"""Bins of the score cut at the decision, and the exact law when each has a Beta rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.signal import convolve

from labelbayes._checks import CI_PROB, FloatArray, IntArray, check_real, check_whole
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.calibration import equal_mass_edges
from labelbayes.laws.beta_binomial import beta_binomial
from labelbayes.laws.count_metrics import exact_law, joint_draws
from labelbayes.laws.missing_counts import CountPair
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import resolve_count_metrics
from labelbayes.results.estimates import Estimates
from labelbayes.results.integer_law import IntegerLaw
from labelbayes.results.sentences import predictive

#: Probabilities below this are left out at the ends of a convolution.
NEGLIGIBLE = 1e-20


@dataclass(frozen=True, eq=False)
class ScoreBins:
    """Rows counted in bins of the score, each on one side of the decision.

    Parameters
    ----------
    mean_score : ndarray of float, shape (n_bins,)
        Mean score of all rows of the bin, ascending by bin; the decision where there is no score.
    decision : ndarray of int, shape (n_bins,)
        1 where the bin's rows are predicted positive, else 0.
    n_positive, n_negative, n_missing : ndarray of int, shape (n_bins,)
        Rows by label.
    is_ordered : bool
        Whether every row predicted positive scores above every other row.
    """

    mean_score: FloatArray
    decision: IntArray
    n_positive: IntArray
    n_negative: IntArray
    n_missing: IntArray
    is_ordered: bool

    @property
    def n_labeled(self) -> IntArray:
        """Labeled rows of each bin."""
        return self.n_positive + self.n_negative


def bin_scores(evaluation: EvaluationSet, n_bins: int) -> ScoreBins:
    """Count rows in bins of nearly equal numbers of labels, cut where the decision changes.

    Parameters
    ----------
    evaluation : EvaluationSet
        With at least one label. Without a score the decision stands for it.
    n_bins : int >= 1
        Bins at most, before the cut; a bin that holds both decisions becomes two.

    Returns
    -------
    ScoreBins
        Counts; bins without rows are left out.

    Raises
    ------
    ValueError
        If there is no label, or `n_bins` is below 1.

    Examples
    --------
    >>> evaluation = EvaluationSet([0, 1, None, 1], [0.1, 0.4, 0.6, 0.9])
    >>> bins = bin_scores(evaluation, 1)
    >>> bins.decision, bins.n_positive, bins.n_missing
    (array([0, 1]), array([1, 1]), array([0, 1]))
    """
    wanted = check_whole("n_bins", n_bins, least=1)
    if not evaluation.n_labeled:
        raise ValueError(
            "`evaluation` must hold labeled rows to learn rates from; got none. Use "
            "`estimate_shared_rate` or `bound_worst_case`, which need no label."
        )
    score, y_pred, count = evaluation.y_score, evaluation.y_pred, evaluation.count
    if score is None:
        score = y_pred.astype(np.float64)
    used = evaluation.is_labeled
    edges = equal_mass_edges(score[used], count[used].astype(np.float64), wanted)
    # Rates are never shared across the decision: precision speaks of one side only.
    cell = 2 * np.searchsorted(edges, score, side="left") + y_pred
    n_cells = 2 * (len(edges) + 1)
    label = np.where(used, evaluation.y_true, 2).astype(np.int64)
    rows = np.bincount(3 * cell + label, weights=count, minlength=3 * n_cells).reshape(n_cells, 3)
    total = rows.sum(axis=1)
    held = np.flatnonzero(total)
    mean = np.bincount(cell, weights=count * score, minlength=n_cells)[held] / total[held]
    negative, positive, missing = rows[held].astype(np.int64).T
    above, below = score[y_pred == 1], score[y_pred == 0]
    is_ordered = not len(above) or not len(below) or bool(above.min() > below.max())
    return ScoreBins(mean, held % 2, positive, negative, missing, is_ordered)


def convolve_laws(laws: Sequence[IntegerLaw]) -> IntegerLaw:
    """Return the law of the sum of independent counts.

    Parameters
    ----------
    laws : sequence of IntegerLaw
        Laws of the counts; none gives the count that is always 0.

    Returns
    -------
    IntegerLaw
        Law of the sum, right to about 1e-15 absolute.

    Examples
    --------
    >>> die = beta_binomial(2, 1, 1)
    >>> convolve_laws([die, die]).pmf.round(4)
    array([0.1111, 0.2222, 0.3333, 0.2222, 0.1111])
    """
    start, pmf = 0, np.ones(1)
    for law in laws:
        # By FFT only where that is faster; its round-off may fall below zero.
        pmf = np.maximum(convolve(pmf, law.pmf, method="auto"), 0.0)
        kept = np.flatnonzero(pmf > NEGLIGIBLE)
        start += law.start + int(kept[0])
        pmf = pmf[kept[0] : kept[-1] + 1]
    return IntegerLaw(
        start,
        pmf / pmf.sum(),
        sum(law.n for law in laws),
        math.fsum(law.mean for law in laws),
        math.fsum(law.variance for law in laws),
        reduce(float.__mul__, (law.prob_none for law in laws), 1.0),
        reduce(float.__mul__, (law.prob_all for law in laws), 1.0),
    )


def bins_pair(bins: ScoreBins, a: float, b: float) -> CountPair:
    """Return the exact laws of U and V when the rate of every bin is Beta(a, b) beforehand.

    Parameters
    ----------
    bins : ScoreBins
        Counts.
    a, b : float > 0
        Pseudo-counts of positives and negatives per bin.

    Returns
    -------
    tuple of IntegerLaw
        Law of the positives among missing rows predicted positive, and predicted negative:
        sums of independent beta-binomial counts.
    """
    laws = [
        beta_binomial(int(missing), a + float(positive), b + float(negative))
        for missing, positive, negative in zip(
            bins.n_missing, bins.n_positive, bins.n_negative, strict=True
        )
    ]
    positive, negative = (np.flatnonzero(bins.decision == side) for side in (1, 0))
    return convolve_laws([laws[i] for i in positive]), convolve_laws([laws[i] for i in negative])


def check_beta_pair(name: str, pair: object) -> tuple[float, float]:
    """Return a pair of Beta parameters.

    Parameters
    ----------
    name : str
        Argument name.
    pair : object
        What was passed.

    Returns
    -------
    tuple of float
        Both positive.

    Raises
    ------
    ValueError
        If it is not two positive numbers.
    TypeError
        If an entry is no number.
    """
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ValueError(f"`{name}` must be a pair (a, b) of Beta parameters; got {pair!r}.")
    a, b = (check_real(name, value) for value in pair)
    if not (a > 0 and b > 0):
        raise ValueError(
            f"`{name}` must hold two positive Beta parameters; got {pair!r}. (0.5, 0.5) is "
            "Jeffreys' prior."
        )
    return a, b


def estimate_bins(
    evaluation: EvaluationSet,
    *,
    n_bins: int = 10,
    prior: tuple[float, float] = (0.5, 0.5),
    metrics: Sequence[str | CountMetric] | None = None,
) -> Estimates:
    r"""Return the exact posterior laws when every bin of the score has a rate of its own.

    With :math:`s_b` positives and :math:`f_b` negatives among the labels of bin :math:`b`, the
    positives among its :math:`m_b` missing rows are
    :math:`\mathrm{BetaBinomial}(m_b, a + s_b, b + f_b)`, independent across bins. Bins lie on one
    side of the decision each, so U and V are sums over disjoint bins.

    Parameters
    ----------
    evaluation : EvaluationSet
        With at least one label.
    n_bins : int >= 1, default 10
        Bins at most; the one in which the decision changes is cut in two.
    prior : tuple of float, default (0.5, 0.5)
        Beta parameters per bin.
    metrics : sequence of str or CountMetric, optional
        None stands for accuracy, precision, recall and f1.

    Returns
    -------
    Estimates
        Exact laws of these rows' metrics.

    Raises
    ------
    ValueError
        If there is no label, or an option is not as above.

    Notes
    -----
    **Assumes** that labels are missing at random within a bin, and rows are independent given
    the rates.

    Examples
    --------
    >>> evaluation = EvaluationSet([0, 1, None, 1], [0.1, 0.4, 0.6, 0.9])
    >>> round(estimate_bins(evaluation, n_bins=1)["precision"].mean, 3)
    0.875
    """
    asked = resolve_count_metrics(metrics)
    a, b = check_beta_pair("prior", prior)
    bins = bin_scores(evaluation, n_bins)
    known, pairs = evaluation.counts, [bins_pair(bins, a, b)]
    return Estimates(
        {metric.name: exact_law(metric, known, pairs) for metric in asked},
        method=f"exact law; {len(bins.decision)} bins of the score, Beta({a:g}, {b:g}) rates",
        assumption="missing labels are like labeled ones of the same bin of the score and the "
        "same decision",
        target="sample",
        statement="predictive",
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(predictive(evaluation.n, CI_PROB),),
        joint=joint_draws(asked, known, pairs),
    )
