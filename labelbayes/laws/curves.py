"""ROC and precision-recall curves with missing labels, and bands around them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from labelbayes._checks import (
    CI_PROB,
    FloatArray,
    check_open_unit,
    check_type,
    check_whole,
    make_rng,
    read_only,
)
from labelbayes._html import table_html
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.row_draws import RowSampler
from labelbayes.laws.thinning import choose_knots
from labelbayes.results.sentences import Statement, Target, predictive

#: Steps of the ranking at which curves are followed; straight lines join them.
MOST_KNOTS = 1_000
#: Points at which bands are given.
GRID = 200


@dataclass(frozen=True, eq=False, repr=False)
class Band:
    """A curve's mean over completions of the labels, and two bands around it.

    Parameters
    ----------
    x : ndarray of float, shape (k,)
        Where the curve is read: false positive rates, or recalls.
    mean : ndarray of float, shape (k,)
        Mean height; nan where the curve is undefined.
    low, high : ndarray of float, shape (k,)
        Pointwise band: right at one x chosen beforehand.
    low_simultaneous, high_simultaneous : ndarray of float, shape (k,)
        Simultaneous band: holds the whole curve.
    undefined_prob : float
        Share of completions without a curve.
    """

    x: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    low_simultaneous: FloatArray
    high_simultaneous: FloatArray
    undefined_prob: float

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle or deep copy; NumPy forgets there that arrays are read-only."""
        for name, value in state.items():
            kept = read_only(value) if isinstance(value, np.ndarray) else value
            object.__setattr__(self, name, kept)

    @classmethod
    def from_draws(cls, x: FloatArray, heights: FloatArray, ci_prob: float) -> Band:
        """Return the band that draws of a curve give.

        Parameters
        ----------
        x : ndarray of float, shape (k,)
            Where curves are read.
        heights : ndarray of float, shape (n_draws, k)
            Curves; rows of nan are undefined.
        ci_prob : float
            Probability content, in (0, 1).

        Returns
        -------
        Band
            Pointwise: equal-tailed quantiles. Simultaneous: the same distances from the median,
            stretched by one factor until the wanted share of whole curves lies inside.

        Notes
        -----
        Where more than half of the tail on one side sits at the median itself there is nothing
        to stretch, and that side reaches to the farthest draw.

        References
        ----------
        .. [1] J. L. Montiel Olea and M. Plagborg-Moller, "Simultaneous confidence bands: theory,
           implementation, and an application to SVARs", Journal of Applied Econometrics 34(1),
           1-17, 2019.

        Examples
        --------
        >>> heights = np.random.default_rng(0).random((500, 3))
        >>> band = Band.from_draws(np.arange(3.0), heights, 0.8)
        >>> bool((band.low_simultaneous < band.low).all())
        True
        """
        defined = heights[~np.isnan(heights).any(axis=1)]
        lost = 1.0 - len(defined) / len(heights)
        if not len(defined):
            nothing = read_only(np.full(len(x), math.nan))
            return cls(read_only(x), nothing, nothing, nothing, nothing, nothing, 1.0)
        tail = (1.0 - ci_prob) / 2.0
        low, middle, high = np.quantile(defined, [tail, 0.5, 1.0 - tail], axis=0)
        up, down = high - middle, middle - low
        above, below = defined - middle, middle - defined
        with np.errstate(invalid="ignore", divide="ignore"):
            stretch = np.where(above > 0, above / up, below / down)
        # A side without width cannot be stretched.
        stretch[~np.isfinite(stretch)] = 0.0
        factor = max(1.0, float(np.quantile(stretch.max(axis=1), ci_prob, method="higher")))
        lowest, highest = defined.min(axis=0), defined.max(axis=0)
        wide_low = np.where(down > 0, np.maximum(middle - factor * down, 0.0), lowest)
        wide_high = np.where(up > 0, np.minimum(middle + factor * up, 1.0), highest)
        return cls(
            x=read_only(x),
            mean=read_only(defined.mean(axis=0)),
            low=read_only(low),
            high=read_only(high),
            low_simultaneous=read_only(wide_low),
            high_simultaneous=read_only(wide_high),
            undefined_prob=lost,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Curves:
    """ROC and precision-recall curves of the completed set, with bands.

    Parameters
    ----------
    roc_band, precision_recall_band : Band
        The two curves.
    ci_prob : float
        Probability content of the bands.
    method : str
        How they were computed.
    assumption : str
        What has to be true for them to be right.
    target : {"sample", "population"}
        Whether the curves are those of these rows, or of rows drawn like these.
    statement : {"predictive", "credible", "confidence", "bounds", "sensitivity"}
        What a band may be taken for.
    n_labeled, n_unlabeled : int
        Rows with and without a label.
    notes : tuple of str
        Sentences that belong beside the figure.
    """

    roc_band: Band
    precision_recall_band: Band
    ci_prob: float
    method: str
    assumption: str
    target: Target
    statement: Statement
    n_labeled: int
    n_unlabeled: int
    notes: tuple[str, ...] = ()

    def roc(self) -> pd.DataFrame:
        """Return the ROC curve.

        Returns
        -------
        pandas.DataFrame
            Columns false_positive_rate, true_positive_rate (mean over completions), low, high
            (pointwise), low_simultaneous, high_simultaneous, ci_prob, statement, target,
            assumption, undefined_prob.
        """
        return self._table(self.roc_band, "false_positive_rate", "true_positive_rate")

    def precision_recall(self) -> pd.DataFrame:
        """Return the precision-recall curve.

        Returns
        -------
        pandas.DataFrame
            Columns recall, precision (mean over completions), low, high (pointwise),
            low_simultaneous, high_simultaneous, ci_prob, statement, target, assumption,
            undefined_prob.
        """
        return self._table(self.precision_recall_band, "recall", "precision")

    def _table(self, band: Band, x: str, y: str) -> pd.DataFrame:
        return pd.DataFrame(
            {
                x: band.x,
                y: band.mean,
                "low": band.low,
                "high": band.high,
                "low_simultaneous": band.low_simultaneous,
                "high_simultaneous": band.high_simultaneous,
                "ci_prob": self.ci_prob,
                "statement": self.statement,
                "target": self.target,
                "assumption": self.assumption,
                "undefined_prob": band.undefined_prob,
            }
        )

    def __repr__(self) -> str:
        """Return rows, method and level on one line."""
        return (
            f"Curves({self.n_labeled:,} labeled, {self.n_unlabeled:,} missing; {self.method}; "
            f"{self.ci_prob:.0%} {self.statement} bands, target {self.target})"
        )

    def _repr_html_(self) -> str:
        rows = []
        for frame in (self.roc(), self.precision_recall()):
            x, y = frame.columns[:2]
            for i in (GRID // 10, GRID // 2, 9 * GRID // 10):
                row = frame.iloc[min(i, len(frame) - 1)]
                cells = [row[y], row.low, row.high, row.low_simultaneous, row.high_simultaneous]
                rows.append([f"{y} at {x} {row[x]:.2f}", *(f"{cell:.3f}" for cell in cells)])
        level = f"{self.ci_prob:.0%}"
        header = ["curve", "mean", f"{level} low", f"{level} high", "all: low", "all: high"]
        facts = f"Target: {self.target}. Assumption: {self.assumption}."
        return table_html(header, rows, caption=self.method, notes=[facts, *self.notes])


def estimate_curves(
    evaluation: EvaluationSet,
    imputation: Imputation,
    *,
    n_draws: int = 1_000,
    ci_prob: float = CI_PROB,
    rng: np.random.Generator | int | None = None,
) -> Curves:
    """Return ROC and precision-recall curves of these rows, with bands for the missing labels.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels and scores.
    imputation : Imputation
        Belief about the missing labels, from `impute` on the same evaluation. Refits share the
        draws evenly.
    n_draws : int >= 1, default 1_000
        Completions that are drawn.
    ci_prob : float, default 0.95
        Probability content of the bands, in (0, 1).
    rng : numpy.random.Generator, int, optional
        Where draws come from.

    Returns
    -------
    Curves
        Means and bands on a grid of 201 false positive rates and 200 recalls, 1/200 to 1.

    Raises
    ------
    ValueError
        If rows have no score, the imputation was made for other rows or scores, or an option is
        out of range.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    estimate_pemi : The areas as numbers, with their laws.

    Notes
    -----
    **Assumes** that, given p, missing labels are independent draws, and that p is right.

    The pointwise band is right at one place chosen beforehand, the simultaneous band for the
    whole curve. Both curves are read from the counts of positives and negatives above each
    cutoff, joined by straight lines: between two scores that is the curve of rows ordered at
    random among ties (for precision and recall after Davis and Goadrich). Beyond 1,000 distinct
    scores the curve is followed at 1,000 of them, closer together at both ends of the ranking.

    References
    ----------
    .. [1] J. Davis and M. Goadrich, "The relationship between precision-recall and ROC curves",
       ICML 2006.
    .. [2] J. L. Montiel Olea and M. Plagborg-Moller, "Simultaneous confidence bands: theory,
       implementation, and an application to SVARs", Journal of Applied Econometrics 34(1), 1-17,
       2019.

    Examples
    --------
    >>> from labelbayes.imputation.impute import impute
    >>> evaluation = EvaluationSet([1, 0, None, 1, 0], [0.9, 0.7, 0.6, 0.4, 0.1])
    >>> curves = estimate_curves(evaluation, impute(evaluation, "maxent"), rng=0)
    >>> curves.roc().loc[100, ["false_positive_rate", "low", "high"]].tolist()
    [0.5, 0.5, 1.0]
    """
    check_type("evaluation", evaluation, EvaluationSet)
    check_type("imputation", imputation, Imputation)
    size = check_whole("n_draws", n_draws, least=1)
    share = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
    sampler = RowSampler.from_imputation(evaluation, imputation)
    ranked = sampler.ranked
    knots = choose_knots(ranked, MOST_KNOTS)
    known = np.cumsum(ranked.known_positive)[knots]
    rows = np.cumsum(ranked.step_count)[knots].astype(np.float64)
    # Without missing labels every draw is the same.
    drawn = sampler.draw(size if evaluation.n_unlabeled else 1, make_rng(rng), knots).at_knots
    rates, recalls = np.arange(GRID + 1) / GRID, np.arange(1, GRID + 1) / GRID
    roc = np.empty((len(drawn), len(rates)))
    precision_recall = np.empty((len(drawn), len(recalls)))
    for i, missing in enumerate(drawn):
        roc[i], precision_recall[i] = read_curves(known + missing, rows, rates, recalls)
    joined = f"; followed at {len(knots):,} of {ranked.n_steps:,} scores"
    thinned = joined if len(knots) < ranked.n_steps else ""
    return Curves(
        roc_band=Band.from_draws(rates, roc, share),
        precision_recall_band=Band.from_draws(recalls, precision_recall, share),
        ci_prob=share,
        method=f"{len(drawn):,} draws{thinned}; {imputation.method}",
        assumption=imputation.assumption,
        target="sample",
        statement="predictive",
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(predictive(evaluation.n, share), *imputation.notes),
    )


def read_curves(
    positive: FloatArray, rows: FloatArray, rates: FloatArray, recalls: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Read the curves of one completed set.

    Parameters
    ----------
    positive, rows : ndarray of float, shape (n_knots,)
        Positives and rows down to each knot; the last knot is the last row.
    rates, recalls : ndarray of float
        False positive rates, and recalls above 0.

    Returns
    -------
    tuple of ndarray of float
        True positive rates at `rates`, precisions at `recalls`: the best where several cutoffs
        have the same; nan where a class they need is empty.

    Examples
    --------
    >>> tpr, precision = read_curves(
    ...     np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), np.array([0.0]), np.array([1.0])
    ... )
    >>> tpr, precision.round(4)
    (array([0.5]), array([0.6667]))
    """
    tp = np.concatenate([[0.0], positive])
    fp = np.concatenate([[0.0], rows - positive])
    n_positive, n_negative = tp[-1], fp[-1]
    tpr, precision = np.full(len(rates), math.nan), np.full(len(recalls), math.nan)
    if n_positive == 0:
        return tpr, precision
    # Rounded, so that a share of a count is the count that it means.
    wanted = np.round(recalls * n_positive, 9)
    # From the far end, so that of several cutoffs with one recall the highest is read.
    first = np.interp(-wanted, -tp[::-1], fp[::-1])
    precision = wanted / (wanted + first)
    if n_negative > 0:
        tpr = np.interp(np.round(rates * n_negative, 9), fp, tp) / n_positive
    return tpr, precision
