"""Joint draws of count and ranking metrics for rows drawn like these: a random weight a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from labelbayes._checks import BoolArray, FloatArray, IntArray
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.missing_cells import Fits, MissingCells, cells_and_fits
from labelbayes.laws.population import HALF_ROW
from labelbayes.laws.rank_groups import RankGroups
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.row_draws import CHUNK, check_drawable, spread_over
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import Metric
from labelbayes.results.estimates import JointDraws

#: Stands beside ranking metrics of the population where labels are separated (`is_separated`).
SEPARATED = (
    "The score separates the labels perfectly: ranking metrics then show no sampling error, "
    "although other rows may well be ranked less perfectly."
)

#: Beyond this many rates, rows of one group share one where their p agree to 1 / `LEVELS`.
MOST_BINS, LEVELS = 64, 16


@dataclass(frozen=True, eq=False)
class PopulationDraws:
    """What the metrics need of draws of the population.

    Parameters
    ----------
    counts : ndarray of float, shape (4, n)
        Completed rows tp, fp, fn, tn.
    weights : ndarray of float, shape (4, n)
        Their weights in the population, half a row added to each.
    roc_auc, average_precision : ndarray of float, shape (n,)
        Ranking metrics in the population; nan where the completed rows leave them undefined.
    """

    counts: FloatArray
    weights: FloatArray
    roc_auc: FloatArray
    average_precision: FloatArray

    def take(self, draws: IntArray) -> PopulationDraws:
        """Return some of the draws.

        Parameters
        ----------
        draws : ndarray of int
            Which.

        Returns
        -------
        PopulationDraws
            Copies of them.
        """
        return PopulationDraws(
            self.counts[:, draws],
            self.weights[:, draws],
            self.roc_auc[draws],
            self.average_precision[draws],
        )


@dataclass(frozen=True, eq=False, repr=False)
class RowWeights:
    """Kinds of rows, from the highest ranked to the lowest, and how their weights are drawn.

    Parameters
    ----------
    groups : RankGroups
        Neighbors in rank.
    group : ndarray of int, shape (k,)
        Group of each kind, ascending.
    is_positive : ndarray of bool, shape (k,)
        Whether its rows are predicted positive.
    label : ndarray of float, shape (k,)
        Their label, nan where it is missing.
    count : ndarray of int, shape (k,)
        Rows of each kind.
    kind : ndarray of int, shape (n_cells,)
        Kind of each cell of missing rows.
    cells : MissingCells
        Missing rows.
    fits : Fits
        Rates of their bins.
    completes : bool
        Whether labels are completed before rows are weighted (p estimated), or a missing row
        counts p positive and 1 - p negative (p known: drawing rows and drawing labels are one
        and the same uncertainty).

    Notes
    -----
    A row has a standard exponential weight (the Bayesian bootstrap), rows of one kind together a
    gamma one. Half a row in each cell of the confusion matrix is added for count metrics; ranking
    metrics have none, since half a row has no place in the ranking.
    """

    groups: RankGroups
    group: IntArray
    is_positive: BoolArray
    label: FloatArray
    count: IntArray
    kind: IntArray
    cells: MissingCells
    fits: Fits
    completes: bool

    @classmethod
    def from_imputation(cls, evaluation: EvaluationSet, imputation: Imputation) -> RowWeights:
        """Return the kinds of rows that a belief tells apart.

        Parameters
        ----------
        evaluation : EvaluationSet
            Labels, scores and decisions.
        imputation : Imputation
            Belief, made from this evaluation.

        Returns
        -------
        RowWeights
            The kinds.
        """
        ranked = RankedRows.from_evaluation(evaluation)
        cells, fits = cells_and_fits(ranked, evaluation, imputation)
        assert evaluation.y_score is not None  # RankedRows needs it
        step = np.searchsorted(-ranked.score, -evaluation.y_score)
        expected = np.bincount(
            step, weights=evaluation.count * imputation.p, minlength=ranked.n_steps
        )
        groups = RankGroups.from_ranked(ranked, expected.astype(np.float64))
        # The levels of what tells rows of one group and decision apart: label, or rate.
        if cells.n_bins <= MOST_BINS:
            level = 2 + cells.bin
        else:
            level = 2 + (LEVELS * imputation.p[cells.row]).astype(np.int64)
        n_levels = int(level.max(initial=1)) + 1
        labeled = np.flatnonzero(evaluation.is_labeled)
        of_labeled = _key(
            groups.of_step[step[labeled]],
            evaluation.y_pred[labeled] == 1,
            evaluation.y_true[labeled].astype(np.int64),
            n_levels,
        )
        of_cells = _key(groups.of_step[cells.step], cells.is_positive, level, n_levels)
        keys, index = np.unique(np.concatenate([of_labeled, of_cells]), return_inverse=True)
        rows = np.concatenate([evaluation.count[labeled], cells.count])
        key_level = keys % n_levels
        return cls(
            groups=groups,
            group=keys // (2 * n_levels),
            is_positive=keys // n_levels % 2 == 1,
            label=np.where(key_level < 2, key_level, np.nan),
            count=np.bincount(index, weights=rows, minlength=len(keys)).astype(np.int64),
            kind=index[len(labeled) :],
            cells=cells,
            fits=fits,
            completes=imputation.n_refits > 0,
        )

    def _rates(self, fit: int) -> FloatArray:
        """Return P(y = 1) of each kind: the label, or the mean over its rows."""
        weight = self.cells.count * self.fits.rates(fit)[self.cells.bin]
        total = np.bincount(self.kind, weights=weight, minlength=len(self.count))
        rate = np.where(np.isnan(self.label), total / self.count, self.label)
        return np.minimum(rate, 1.0)

    def draw(self, n: int, rng: np.random.Generator) -> PopulationDraws:
        """Return n populations.

        Parameters
        ----------
        n : int
            How many.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        PopulationDraws
            Exchangeable draws.
        """
        fit, _ = spread_over(self.fits)(n, rng)
        return self.draw_at(np.sort(fit), rng).take(rng.permutation(n))

    def draw_at(self, fit: IntArray, rng: np.random.Generator) -> PopulationDraws:
        """Return a population for each of the fits that are named.

        Parameters
        ----------
        fit : ndarray of int, shape (n,)
            Fit of each draw.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        PopulationDraws
            Draws in the order of `fit`.
        """
        # Draws of one fit stand together, so that its rates are asked for once.
        n, order = len(fit), np.argsort(fit, kind="stable")
        fit = fit[order]
        counts, weights = np.zeros((2, 4, n))
        areas, precisions = np.zeros((2, n))
        seeds = np.random.SeedSequence(rng.integers(2**63, size=4).tolist()).spawn(-(-n // CHUNK))
        rate, of_fit = np.empty(0), -1
        for chunk, seed in enumerate(seeds):
            generator = np.random.Generator(np.random.SFC64(seed))
            start, stop = chunk * CHUNK, min(n, (chunk + 1) * CHUNK)
            changes = start + 1 + np.flatnonzero(np.diff(fit[start:stop]))
            for first, last in pairwise([start, *changes.tolist(), stop]):
                if fit[first] != of_fit:
                    of_fit = int(fit[first])
                    rate = self._rates(of_fit)
                part = slice(first, last)
                drawn = self._draw_run(rate, last - first, generator)
                counts[:, part], weights[:, part] = drawn.counts, drawn.weights
                areas[part], precisions[part] = drawn.roc_auc, drawn.average_precision
        drawn = PopulationDraws(counts, weights, areas, precisions)
        return drawn.take(np.argsort(order))

    def _draw_run(
        self, rate: FloatArray, n: int, generator: np.random.Generator
    ) -> PopulationDraws:
        """Return populations of one fit."""
        size = (len(self.count), n)
        count = self.count[:, np.newaxis]
        completed = generator.binomial(count, rate[:, np.newaxis], size).astype(np.float64)
        if self.completes:
            positive = generator.standard_gamma(completed)
            negative = generator.standard_gamma(count - completed)
        else:
            weight = generator.standard_gamma(count, size)
            positive = weight * rate[:, np.newaxis]
            negative = weight - positive
        counts = _confusion(completed, count - completed, self.is_positive)
        weights = _confusion(positive, negative, self.is_positive)
        weights += generator.standard_gamma(HALF_ROW, size=(4, n))
        starts = np.flatnonzero(np.diff(self.group, prepend=-1))
        area, precision = self.groups.metrics(
            np.add.reduceat(positive, starts, axis=0), np.add.reduceat(negative, starts, axis=0)
        )
        has_positive, has_negative = counts[0] + counts[2] > 0, counts[1] + counts[3] > 0
        return PopulationDraws(
            counts,
            weights,
            np.where(has_positive & has_negative, area, np.nan),
            np.where(has_positive, precision, np.nan),
        )


def _key(group: IntArray, is_positive: BoolArray, level: IntArray, n_levels: int) -> IntArray:
    return (2 * group + is_positive) * n_levels + level


def _confusion(positive: FloatArray, negative: FloatArray, decided: BoolArray) -> FloatArray:
    """Add up positives and negatives by decision: tp, fp, fn, tn."""
    is_positive = decided.astype(np.float64)
    tp, fp = is_positive @ positive, is_positive @ negative
    is_negative = 1.0 - is_positive
    return np.array([tp, fp, is_negative @ positive, is_negative @ negative])


def weighted_metrics(
    metrics: Sequence[Metric], evaluation: EvaluationSet, imputation: Imputation
) -> JointDraws:
    """Return the function that draws metrics of rows drawn like these, jointly.

    Parameters
    ----------
    metrics : sequence of CountMetric or RankingMetric
        The metrics; of the ranking ones those of `RANKING_METRICS`.
    evaluation : EvaluationSet
        Labels, scores and decisions.
    imputation : Imputation
        Belief, made from this evaluation. With refits, labels are completed and all rows weighted;
        without, missing rows count with p.

    Returns
    -------
    callable
        ``joint(n, rng)`` -> metric -> draws. A metric that the completed sample leaves undefined
        is nan.

    Raises
    ------
    ValueError
        If the imputation was made for other rows or scores, or a ranking metric is of the user's
        own.

    Notes
    -----
    **Assumes** independent rows. Where every positive outranks every negative, weights of rows
    cannot tell how sure that is: the area is 1 in every draw (`is_separated`). Beyond 2,048
    distinct scores neighbors in rank are weighted together (`RankGroups`).

    References
    ----------
    .. [1] D. B. Rubin, "The Bayesian bootstrap", Annals of Statistics 9(1), 130-134, 1981.

    Examples
    --------
    >>> from labelbayes.imputation.impute import impute
    >>> from labelbayes.metrics.registry import METRICS
    >>> evaluation = EvaluationSet([1, 0, 1, 0], [0.9, 0.8, 0.4, 0.2])
    >>> joint = weighted_metrics([METRICS["roc_auc"]], evaluation, impute(evaluation))
    >>> bool(0.7 < joint(2_000, np.random.default_rng(0))["roc_auc"].mean() < 0.8)
    True
    """
    for metric in metrics:
        check_drawable(metric)
    rows = RowWeights.from_imputation(evaluation, imputation)
    return partial(_draw_metrics, tuple(metrics), rows)


def _draw_metrics(
    metrics: Sequence[Metric], rows: RowWeights, n: int, rng: np.random.Generator
) -> dict[str, FloatArray]:
    drawn = rows.draw(n, rng)
    ranking = {"roc_auc": drawn.roc_auc, "average_precision": drawn.average_precision}
    return {
        metric.name: _of_counts(metric, drawn)
        if isinstance(metric, CountMetric)
        else ranking[metric.name]
        for metric in metrics
    }


def _of_counts(metric: CountMetric, drawn: PopulationDraws) -> FloatArray:
    return np.where(np.isnan(metric(*drawn.counts)), np.nan, metric(*drawn.weights))


def is_separated(known: Counts, ranked: RankedRows) -> bool:
    """Return whether known labels separate perfectly and no label is missing.

    Parameters
    ----------
    known : Counts
        Labeled and missing rows.
    ranked : RankedRows
        Rows by score.

    Returns
    -------
    bool
        True where every weighting of the rows gives the area 1, or the area 0.
    """
    if known.n_unlabeled:
        return False
    positive, negative = (
        np.flatnonzero(labels) for labels in (ranked.known_positive, ranked.known_negative)
    )
    if not len(positive) or not len(negative):
        return False
    return bool(positive[-1] < negative[0] or negative[-1] < positive[0])
