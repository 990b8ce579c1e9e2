"""How wrong the matched normal law of a ratio metric can be, with a proof."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from labelbayes._checks import CI_PROB, FloatArray, check_open_unit, check_type
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.gaussian import fieller_law, normal_law
from labelbayes.laws.kolmogorov import distance_to_normal
from labelbayes.laws.missing_counts import CountPair, WeightedP, weigh_missing
from labelbayes.metrics.confusion import RatioMetric
from labelbayes.metrics.registry import Metric, resolve_count_metrics
from labelbayes.results.count_law import CountLaw

#: Constant of the Berry-Esseen theorem for summands of different laws (Shevtsova 2010).
BERRY_ESSEEN = 0.56
#: The bracket is evaluated at this many points, this many standard deviations to either side.
N_POINTS, REACH = 4_000, 8.0
#: Sizes beyond this are not looked for.
MOST_ROWS = 10**12

_RATIOS = "accuracy, precision, recall, specificity, npv, jaccard, f1, f2 or `fbeta(beta)`"


@dataclass(frozen=True, eq=False)
class RatioSums:
    """A ratio metric as Z / W, two weighted sums of independent labels.

    Parameters
    ----------
    mean_top, mean_bottom : float
        Expectations of Z and W.
    top, bottom : ndarray of float, shape (2,)
        What one more positive adds to Z and to W: among missing rows predicted positive, and
        among those predicted negative.
    variance, third : ndarray of float, shape (2,)
        Sums over these rows of the variance of the label, and of its third absolute moment
        around its mean.
    prob_no_bottom : float
        P(W = 0).
    """

    mean_top: float
    mean_bottom: float
    top: FloatArray
    bottom: FloatArray
    variance: FloatArray
    third: FloatArray
    prob_no_bottom: float

    @property
    def mean(self) -> float:
        """Mean of the matched normal."""
        return self.mean_top / self.mean_bottom

    @property
    def sd(self) -> float:
        """Standard deviation of the matched normal."""
        weight = self.top - self.mean * self.bottom
        return math.sqrt(float(weight**2 @ self.variance)) / self.mean_bottom

    def scaled(self, factor: float) -> RatioSums:
        """Return the sums of `factor` times as many rows of the same kinds.

        Parameters
        ----------
        factor : float > 0
            Labeled and missing rows alike.

        Returns
        -------
        RatioSums
            The mean of the matched normal stays, its standard deviation shrinks.
        """
        return RatioSums(
            self.mean_top * factor,
            self.mean_bottom * factor,
            self.top,
            self.bottom,
            self.variance * factor,
            self.third * factor,
            self.prob_no_bottom**factor,
        )

    def bound(self) -> float:
        """Return what the distance (Kolmogorov) to the matched normal law is at most.

        Returns
        -------
        float
            In [0, 1]; below 1 it says something.
        """
        center, sd = self.mean, self.sd
        if sd == 0:
            return min(1.0, self.prob_no_bottom)
        t = center + sd * np.linspace(-REACH, REACH, N_POINTS)
        normal, error = self._approximate(t)
        # P(Z/W <= t) rises with t, so a limit at one point limits all points on its side.
        high = np.minimum.accumulate(np.minimum(1.0, normal + error)[::-1])[::-1]
        low = np.maximum.accumulate(np.maximum(0.0, normal - error))
        matched = ndtr((t - center) / sd)
        above = np.append(high, 1.0) - np.insert(matched, 0, 0.0)
        below = np.append(matched, 1.0) - np.insert(low, 0, 0.0)
        return float(min(1.0, max(above.max(), below.max()) + self.prob_no_bottom))

    def _approximate(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the normal approximation of P(Z - t W <= 0) and its Berry-Esseen error."""
        weight = self.top - t[:, None] * self.bottom
        spread = np.sqrt(weight**2 @ self.variance)
        gap = t * self.mean_bottom - self.mean_top
        is_random = spread > 0
        divisor = np.where(is_random, spread, 1.0)
        normal = np.where(is_random, ndtr(gap / divisor), gap >= 0)
        error = BERRY_ESSEEN * (np.abs(weight) ** 3 @ self.third) / divisor**3
        return normal, np.where(is_random, np.minimum(error, 1.0), 0.0)


def ratio_sums(metric: RatioMetric, known: Counts, rows: Sequence[WeightedP]) -> RatioSums:
    """Return the sums that a ratio metric is made of.

    Parameters
    ----------
    metric : RatioMetric
        The metric.
    known : Counts
        Confusion matrix of the labeled rows.
    rows : sequence of WeightedP, length 2
        Missing rows predicted positive and negative; their first fit is taken as known.

    Returns
    -------
    RatioSums
        Expectations, weights and moments.
    """
    positive, negative = rows
    numerator, denominator = np.array(metric.numerator), np.array(metric.denominator)
    p = [side.p[0] for side in rows]
    spread = [one * (1 - one) for one in p]
    expected = [float(side.count @ one) for side, one in zip(rows, p, strict=True)]
    cells = np.array(
        [
            known.tp + expected[0],
            known.fp + (float(positive.count.sum()) - expected[0]),
            known.fn + expected[1],
            known.tn + (float(negative.count.sum()) - expected[1]),
        ]
    )
    law = CountLaw(metric, (known.tp, known.fp, known.fn, known.tn), *_pair(rows))
    return RatioSums(
        mean_top=float(numerator @ cells),
        mean_bottom=float(denominator @ cells),
        # One more positive moves a row from fp to tp (first), or from tn to fn (second).
        top=np.array([numerator[0] - numerator[1], numerator[2] - numerator[3]]),
        bottom=np.array([denominator[0] - denominator[1], denominator[2] - denominator[3]]),
        variance=np.array([side.count @ v for side, v in zip(rows, spread, strict=True)]),
        third=np.array(
            [side.count @ (v * (1 - 2 * v)) for side, v in zip(rows, spread, strict=True)]
        ),
        prob_no_bottom=law.undefined_prob,
    )


def _pair(rows: Sequence[WeightedP]) -> CountPair:
    return rows[0].law(0), rows[1].law(0)


def certify(
    evaluation: EvaluationSet,
    imputation: Imputation,
    *,
    metrics: Sequence[str | Metric] | None = None,
) -> pd.DataFrame:
    """Return how far the matched normal law of each ratio metric is from the exact one.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels and decisions.
    imputation : Imputation
        Belief about the missing labels; its fit is taken as known, refits are not used.
    metrics : sequence of str or RatioMetric, optional
        Metrics that are one sum of cells over another. None stands for accuracy, precision,
        recall and f1.

    Returns
    -------
    pandas.DataFrame
        Index ``metric``; columns ``mean`` and ``sd`` of the matched normal, ``fieller_low`` and
        ``fieller_high`` (95% quantiles of the ratio of two normals, nan where they do not exist),
        ``distance`` (Kolmogorov distance of the normal from the exact law, given that the metric
        is defined), ``bound`` (what is proved of it), ``is_trivial`` (whether the bound says
        nothing, being 1), ``undefined_prob``, ``ci_prob``, ``n_unlabeled``.

    Raises
    ------
    ValueError
        If a metric is no ratio of sums, or the imputation was made for other rows or scores.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    certify_sizes : How many missing rows it takes.
    estimate_pemi : The exact law, which needs no certificate.

    Notes
    -----
    **Assumes** p as given and independent labels. Under both the bound is a theorem: for each t,
    P(Z/W <= t) = P(Z - t W <= 0) concerns a sum of independent labels, so it is within
    0.56 L(t) of a normal probability (Berry and Esseen, with Shevtsova's constant); and since the
    cdf rises with t, limits at a grid of points limit it between them. P(W = 0) is added where
    the metric can be undefined. No derivative and no supremum over a grid is trusted.

    The published Theorem 3 is not used. It applies the Berry-Esseen theorem with thresholds that
    depend on the labels, its bound for a ratio of normals drops P(W <= 0), and one of its steps
    is false for weights below 1; its constants do not follow.

    The bound was 1.4 to 22 times the distance in 4,000 laws (median 2.6): a guarantee, not an
    estimate. ``distance`` is exact where the counts have up to a million pairs, else an upper
    value, at most 1% too large.

    References
    ----------
    .. [1] I. G. Shevtsova, "An improvement of convergence rate estimates in the Lyapunov
       theorem", Doklady Mathematics 82(3), 862-864, 2010.
    .. [2] D. Dervovic and M. Cashmore, arXiv 2504.18385, 2025, Theorem 3.
    .. [3] E. C. Fieller, "Some problems in interval estimation", Journal of the Royal
       Statistical Society B 16(2), 175-185, 1954.

    Examples
    --------
    >>> from labelbayes.imputation.impute import impute
    >>> evaluation = EvaluationSet([1, 0, 1, *[None] * 40], y_pred=[1, 0, 0] + [1, 0] * 20)
    >>> table = certify(evaluation, impute(evaluation, "maxent"), metrics=["recall"])
    >>> table[["distance", "bound"]].round(3).to_numpy().tolist()
    [[0.063, 0.11]]
    """
    known, rows = _inputs(evaluation, imputation)
    asked = _ratios(metrics)
    table = {metric.name: _certify_one(metric, known, rows) for metric in asked}
    frame = pd.DataFrame.from_dict(table, orient="index", columns=list(next(iter(table.values()))))
    return frame.assign(ci_prob=CI_PROB, n_unlabeled=evaluation.n_unlabeled).rename_axis("metric")


def _inputs(
    evaluation: EvaluationSet, imputation: Imputation
) -> tuple[Counts, tuple[WeightedP, WeightedP]]:
    check_type("evaluation", evaluation, EvaluationSet)
    check_type("imputation", imputation, Imputation)
    return evaluation.counts, weigh_missing(evaluation, imputation)


def _ratios(metrics: Sequence[str | Metric] | None) -> list[RatioMetric]:
    ratios: list[RatioMetric] = []
    for metric in resolve_count_metrics(metrics, remedy=f"Ratios are {_RATIOS}."):
        if not isinstance(metric, RatioMetric):
            raise ValueError(
                f"`metrics` must be ratios of sums of labels; got {metric.name!r}. Ratios are "
                f"{_RATIOS}."
            )
        ratios.append(metric)
    return ratios


def _certify_one(
    metric: RatioMetric, known: Counts, rows: Sequence[WeightedP]
) -> dict[str, float | bool]:
    pair = _pair(rows)
    law = CountLaw(metric, (known.tp, known.fp, known.fn, known.tn), *pair)
    matched = normal_law(metric, known, pair)
    if matched.is_undefined:
        nothing = dict.fromkeys(("mean", "sd", "fieller_low", "fieller_high", "distance", "bound"))
        empty = {name: math.nan for name in nothing}
        return {**empty, "is_trivial": True, "undefined_prob": law.undefined_prob}
    bound = ratio_sums(metric, known, rows).bound()
    low, high = _fieller_ends(metric, known, pair)
    return {
        "mean": matched.mean,
        "sd": matched.sd,
        "fieller_low": low,
        "fieller_high": high,
        "distance": distance_to_normal(law, matched.mean, matched.sd),
        "bound": bound,
        "is_trivial": bound >= 1.0,
        "undefined_prob": law.undefined_prob,
    }


def _fieller_ends(metric: RatioMetric, known: Counts, pair: CountPair) -> tuple[float, float]:
    """Return 95% quantiles of the ratio of two normals, where they exist."""
    law = fieller_law(metric, known, pair)
    score = (
        law.mean_denominator / math.sqrt(law.var_denominator) if law.var_denominator else math.inf
    )
    tail = (1 - CI_PROB) / 2
    if score <= -float(ndtri(tail)):
        return math.nan, math.nan
    low, high = law.quantile([tail, 1 - tail])
    return float(low), float(high)


def certify_sizes(
    evaluation: EvaluationSet,
    imputation: Imputation,
    *,
    metrics: Sequence[str | Metric] | None = None,
    levels: Sequence[float] = (0.1, 0.05, 0.02),
) -> pd.DataFrame:
    """Return how many missing rows it takes for the bound of `certify` to fall below each level.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels and decisions.
    imputation : Imputation
        Belief about the missing labels; its fit is taken as known.
    metrics : sequence of str or RatioMetric, optional
        As in `certify`.
    levels : sequence of float in (0, 1), default (0.1, 0.05, 0.02)
        What the bound has to reach.

    Returns
    -------
    pandas.DataFrame
        Index ``metric``, a column for each level: missing rows, were there more or fewer rows of
        the same kinds in the same proportions; nan where no size up to 1e12 reaches it, or no
        label is missing.

    Raises
    ------
    ValueError
        If a level or metric is not as above, or the imputation was made for other rows or scores.

    See Also
    --------
    certify : The bound at the size at hand.

    Notes
    -----
    **Assumes** what `certify` does. The bound falls with the square root of the size.

    References
    ----------
    .. [1] I. G. Shevtsova, "An improvement of convergence rate estimates in the Lyapunov
       theorem", Doklady Mathematics 82(3), 862-864, 2010.

    Examples
    --------
    >>> from labelbayes.imputation.impute import impute
    >>> evaluation = EvaluationSet([1, 0, 1, *[None] * 40], y_pred=[1, 0, 0] + [1, 0] * 20)
    >>> sizes = certify_sizes(evaluation, impute(evaluation, "maxent"), metrics=["recall"])
    >>> sizes.loc["recall"].tolist()
    [47.0, 151.0, 926.0]
    """
    known, rows = _inputs(evaluation, imputation)
    asked = _ratios(metrics)
    if isinstance(levels, str) or not isinstance(levels, Iterable):
        raise TypeError(f"`levels` must be a list; got {levels!r} alone. Write it in brackets.")
    checked = [check_open_unit("levels", level, "Write 0.05.") for level in levels]
    if not checked or len(set(checked)) < len(checked):
        raise ValueError(f"`levels` must hold one or more different levels; got {levels!r}.")
    n_missing = evaluation.n_unlabeled
    table = {}
    for metric in asked:
        sums = ratio_sums(metric, known, rows)
        table[metric.name] = [_size_for(sums, n_missing, level) for level in checked]
    return pd.DataFrame.from_dict(table, orient="index", columns=checked).rename_axis("metric")


def _size_for(sums: RatioSums, n_missing: int, level: float) -> float:
    if not n_missing or not sums.mean_bottom > 0 or sums.sd == 0:
        return math.nan

    def is_reached(size: int) -> bool:
        return sums.scaled(size / n_missing).bound() < level

    high = 1
    while not is_reached(high):
        high *= 2
        if high > MOST_ROWS:
            return math.nan
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_reached(middle) else (middle, high)
    return float(high)
