"""Bins of the score cut at the decision, and the exact law when each has a Beta rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
from scipy.signal import convolve

from labelbayes._checks import (
    CI_PROB,
    FloatArray,
    IntArray,
    check_real,
    check_type,
    check_whole,
    make_rng,
)
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.calibration import equal_mass_edges
from labelbayes.laws.beta_binomial import beta_binomial
from labelbayes.laws.count_metrics import exact_law, joint_draws
from labelbayes.laws.missing_cells import cells_of
from labelbayes.laws.missing_counts import CountPair
from labelbayes.laws.population import draws_laws
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.row_draws import RowSampler, drawn_rates, sampled_metrics
from labelbayes.metrics.registry import Metric, resolve_metrics, split_metrics
from labelbayes.results.distribution import Law
from labelbayes.results.estimates import Estimates
from labelbayes.results.integer_law import IntegerLaw
from labelbayes.results.sampled import draws_text
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
    return count_bins(evaluation, assign_bins(evaluation, n_bins))


def assign_bins(evaluation: EvaluationSet, n_bins: int) -> IntArray:
    """Return the bin of each row: those that `bin_scores` counts.

    Parameters
    ----------
    evaluation : EvaluationSet
        With at least one label. Without a score the decision stands for it.
    n_bins : int >= 1
        Bins at most, before the cut at the decision.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        Bins, numbered by ascending score; each has at least one row.

    Raises
    ------
    ValueError
        If there is no label, or `n_bins` is below 1.

    Examples
    --------
    >>> assign_bins(EvaluationSet([0, 1, None, 1], [0.1, 0.4, 0.6, 0.9]), 1)
    array([0, 0, 1, 1])
    """
    wanted = check_whole("n_bins", n_bins, least=1)
    if not evaluation.n_labeled:
        raise ValueError(
            "`evaluation` must hold labeled rows to learn rates from; got none. Use "
            "`estimate_shared_rate` or `bound_worst_case`, which need no label."
        )
    score, used = _score(evaluation), evaluation.is_labeled
    edges = equal_mass_edges(score[used], evaluation.count[used].astype(np.float64), wanted)
    # Rates are never shared across the decision: precision speaks of one side only.
    cell = 2 * np.searchsorted(edges, score, side="left") + evaluation.y_pred
    is_held = np.bincount(cell, minlength=2 * (len(edges) + 1)) > 0
    return (np.cumsum(is_held) - 1)[cell]


def count_bins(evaluation: EvaluationSet, bin_index: IntArray) -> ScoreBins:
    """Count the rows of each bin.

    Parameters
    ----------
    evaluation : EvaluationSet
        The rows.
    bin_index : ndarray of int, shape (n_rows,)
        Bin of each, by `assign_bins`.

    Returns
    -------
    ScoreBins
        Counts.
    """
    score, y_pred, count = _score(evaluation), evaluation.y_pred, evaluation.count
    n_bins = int(bin_index.max()) + 1
    label = np.where(evaluation.is_labeled, evaluation.y_true, 2).astype(np.int64)
    rows = np.bincount(3 * bin_index + label, weights=count, minlength=3 * n_bins)
    rows = rows.reshape(n_bins, 3)
    mean = np.bincount(bin_index, weights=count * score) / rows.sum(axis=1)
    decision = np.zeros(n_bins, dtype=np.int64)
    decision[bin_index[y_pred == 1]] = 1
    negative, positive, missing = rows.astype(np.int64).T
    above, below = score[y_pred == 1], score[y_pred == 0]
    is_ordered = not len(above) or not len(below) or bool(above.min() > below.max())
    return ScoreBins(mean, decision, positive, negative, missing, is_ordered)


def _score(evaluation: EvaluationSet) -> FloatArray:
    """Return the score, or the decision where there is none."""
    if evaluation.y_score is None:
        return evaluation.y_pred.astype(np.float64)
    return evaluation.y_score


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
    metrics: Sequence[str | Metric] | None = None,
    n_draws: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> Estimates:
    r"""Return the posterior laws when every bin of the score has a rate of its own.

    With :math:`s_b` positives and :math:`f_b` negatives among the labels of bin :math:`b`, the
    positives among its :math:`m_b` missing rows are
    :math:`\mathrm{BetaBinomial}(m_b, a + s_b, b + f_b)`, independent across bins. Bins lie on one
    side of the decision each, so U and V are sums over disjoint bins, and laws of count metrics
    are exact. Ranking metrics are sampled: rates are drawn from
    :math:`\mathrm{Beta}(a + s_b, b + f_b)` and labels at them.

    Parameters
    ----------
    evaluation : EvaluationSet
        With at least one label.
    n_bins : int >= 1, default 10
        Bins at most; the one in which the decision changes is cut in two.
    prior : tuple of float, default (0.5, 0.5)
        Beta parameters per bin.
    metrics : sequence of str, CountMetric or RankingMetric, optional
        None stands for accuracy, precision, recall and f1, with a score also for roc_auc and
        average_precision.
    n_draws : int >= 1, default 10_000
        Draws of the ranking metrics.
    rng : numpy.random.Generator, int, optional
        Where they come from.

    Returns
    -------
    Estimates
        Laws of these rows' metrics; column ``method`` of the summary says which are exact.

    Raises
    ------
    ValueError
        If there is no label, or an option is not as above.

    Notes
    -----
    **Assumes** that labels are missing at random within a bin, and rows are independent given
    the rates.

    The order of missing rows inside a bin says nothing about their labels here, which pulls
    ranking metrics a little toward chance: with 500 labels for 4,500 missing ones, whose log odds
    are linear in the score, 95% intervals of ROC-AUC cover .87 (`python -m tests.validation V01`).
    More bins lessen the pull, and widen the intervals.

    Examples
    --------
    >>> evaluation = EvaluationSet([0, 1, None, 1], [0.1, 0.4, 0.6, 0.9])
    >>> round(estimate_bins(evaluation, n_bins=1)["precision"].mean, 3)
    0.875
    """
    check_type("evaluation", evaluation, EvaluationSet)
    asked = resolve_metrics(metrics, has_score=evaluation.y_score is not None)
    counted, ranked = split_metrics(asked)
    a, b = check_beta_pair("prior", prior)
    size, generator = check_whole("n_draws", n_draws, least=1), make_rng(rng)
    bin_index = assign_bins(evaluation, n_bins)
    bins = count_bins(evaluation, bin_index)
    known, pairs = evaluation.counts, [bins_pair(bins, a, b)]
    joint = joint_draws(counted, known, pairs)
    laws: dict[str, Law] = {metric.name: exact_law(metric, known, pairs) for metric in counted}
    methods = dict.fromkeys(laws, "exact law")
    if ranked:
        rates = drawn_rates(partial(_draw_rates, bins, a, b))
        rows = RankedRows.from_evaluation(evaluation)
        sampler = RowSampler(rows, cells_of(rows, evaluation, bin_index), known, rates)
        joint = sampled_metrics(asked, sampler)
        laws |= draws_laws(ranked, joint, size, generator)
        methods |= {metric.name: draws_text(size) for metric in ranked}
    what = f"{len(bins.decision)} bins of the score, Beta({a:g}, {b:g}) rates"
    return Estimates(
        {metric.name: laws[metric.name] for metric in asked},
        method=f"{'; '.join(dict.fromkeys(methods.values()))}; {what}",
        assumption="missing labels are like labeled ones of the same bin of the score and the "
        "same decision",
        target="sample",
        statement="predictive",
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(predictive(evaluation.n, CI_PROB),),
        joint=joint,
        methods={name: f"{words}; {what}" for name, words in methods.items()},
    )


def _draw_rates(
    bins: ScoreBins, a: float, b: float, n: int, rng: np.random.Generator
) -> FloatArray:
    size = (n, len(bins.decision))
    return rng.beta(a + bins.n_positive, b + bins.n_negative, size)
