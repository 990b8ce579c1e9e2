"""CurveBounds: what positive-unlabeled data say of curves, areas and metrics at a cutoff."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from labelbayes._checks import FloatArray
from labelbayes.bounds.beta_prior import BetaRange
from labelbayes.bounds.count_bounds import (
    counts_at,
    describe_decisions,
    describe_range,
    largest_step,
    sample_bounds,
)
from labelbayes.bounds.curve_table import curve_html, curve_text
from labelbayes.bounds.latent_paths import Limits, Span
from labelbayes.bounds.path_extremes import (
    Construction,
    Extremes,
    Reference,
    find_extremes,
)
from labelbayes.bounds.population_curves import (
    population_at,
    population_auc,
    population_curves,
)
from labelbayes.bounds.rank_bands import Band, band_at
from labelbayes.bounds.scar_identities import scar_points
from labelbayes.bounds.score_blocks import ScoreBlocks
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import (
    Metric,
    resolve_count_metrics,
    resolve_metrics,
    split_metrics,
)
from labelbayes.results.estimates import Bounds
from labelbayes.results.interval import Interval
from labelbayes.results.sentences import Target


@dataclass(frozen=True, eq=False, repr=False)
class CurveBounds:
    """Bounds of curves, areas and metrics from known positives and unlabeled rows.

    Parameters
    ----------
    evaluation : EvaluationSet
        The data.
    blocks : ScoreBlocks
        Its rows by falling score.
    band : Band
        Around the rank distribution of the reference rows.
    beta : BetaRange
        Share and number of positives among the unlabeled rows.
    construction : {"attained", "paper"}
        How counts are rounded and joined.
    reference : {"positive", "negative"}
        Whose known rows carry the band.
    target : {"sample", "population"}
        These rows, or rows drawn like these.
    ci_prob : float
        Joint level; nan where both the band and beta are the user's word.
    rows_level : float
        Level of the part that covers the sampling of rows; nan for the sample.
    notes : tuple of str
        What the numbers assume, as sentences.

    See Also
    --------
    bound_positive_unlabeled : Makes one.
    """

    evaluation: EvaluationSet
    blocks: ScoreBlocks
    band: Band
    beta: BetaRange
    construction: Construction
    reference: Reference
    target: Target
    ci_prob: float
    rows_level: float
    notes: tuple[str, ...]

    @property
    def method(self) -> str:
        """How the bounds were computed, in a few words."""
        steps = "tight, attained" if self.construction == "attained" else "Theorem 1"
        name = f"{self.reference}-unlabeled bounds"
        return f"{name} ({steps}), {self.band.said}, {self.beta.said}"

    @property
    def assumption(self) -> str:
        """What has to be true for the bounds to hold."""
        name = f"{self.reference}s"
        moved = self.band.scar_violation
        slack = f", up to {moved:g} in the share above any cutoff" if moved else ""
        return f"known {name} are a random sample of all {name} (SCAR){slack}; {self.beta.said}"

    @cached_property
    def _extremes(self) -> Extremes:
        return find_extremes(
            self.blocks,
            self.band,
            Span(self.beta.first, self.beta.last),
            construction=self.construction,
            reference=self.reference,
        )

    @cached_property
    def _population_limits(self) -> Limits:
        known = self.blocks.known_positive
        return self.band.curve(known[1:], int(known[-1]), math.inf, smooth=True)

    @cached_property
    def _curves(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Recall, false positive rate and precision, each (2, n_blocks + 1)."""
        if self.target == "population":
            return population_curves(
                self.blocks, self._population_limits, self.beta, rows_level=self.rows_level
            )
        found = self._extremes
        return found.tpr, found.fpr, found.precision

    def roc(self) -> pd.DataFrame:
        """Return bounds of the ROC curve.

        Returns
        -------
        pandas.DataFrame
            One row per cutoff, falling, from inf on: ``threshold`` (rows that score at least this
            are called positive), ``fpr_low``, ``fpr_high``, ``tpr_low``, ``tpr_high``. The upper
            curve is (fpr_low, tpr_high), the lower one (fpr_high, tpr_low). Every distinct score
            is a cutoff up to 20,000 of them, beyond that those around labeled rows.

        Raises
        ------
        ValueError
            If the band contradicts beta; names the first cutoff at which it does.
        """
        tpr, fpr, _ = self._curves
        columns = {"fpr_low": fpr[0], "fpr_high": fpr[1], "tpr_low": tpr[0], "tpr_high": tpr[1]}
        thresholds = np.concatenate([[math.inf], self.blocks.score])
        return pd.DataFrame({"threshold": thresholds, **columns})

    def precision_recall(self) -> pd.DataFrame:
        """Return bounds of the precision-recall curve.

        Returns
        -------
        pandas.DataFrame
            One row per cutoff as in `roc`, but for the first, at which nothing is called
            positive: ``threshold``, ``recall_low``, ``recall_high``, ``precision_low``,
            ``precision_high``.

        Raises
        ------
        ValueError
            If the band contradicts beta.
        """
        tpr, _, precision = self._curves
        columns = {
            "recall_low": tpr[0, 1:],
            "recall_high": tpr[1, 1:],
            "precision_low": precision[0, 1:],
            "precision_high": precision[1, 1:],
        }
        return pd.DataFrame({"threshold": self.blocks.score, **columns})

    def auc(self) -> Interval:
        """Return bounds of the area under the ROC curve.

        Returns
        -------
        Interval
            Each end is the area of one labeling that the band allows (for the sample and the
            attained construction); nan where a class is empty for every beta.

        Raises
        ------
        ValueError
            If the band contradicts beta.
        """
        if self.target == "population":
            return population_auc(
                self.blocks,
                self._population_limits,
                self.beta,
                rows_level=self.rows_level,
                ci_prob=self.ci_prob,
            )
        return self._interval(*self._extremes.roc_auc.tolist())

    def average_precision(self) -> Interval:
        """Return outer bounds of average precision.

        Returns
        -------
        Interval
            Not attained where rows tie: then the extreme path is not the extreme value.

        Raises
        ------
        ValueError
            If the band contradicts beta, or the target is the population.
        """
        if self.target == "population":
            raise ValueError(
                "`average_precision` has bounds for target='sample' only: its sampling error over "
                "rows is not known. Use roc_auc, or the metrics at a cutoff."
            )
        return self._interval(*self._extremes.average_precision.tolist())

    def _interval(self, low: float, high: float) -> Interval:
        return Interval(
            low, high, self.ci_prob, "bounds" if self.target == "sample" else "confidence"
        )

    def at(
        self, threshold: float | None = None, metrics: Sequence[str | Metric] | None = None
    ) -> Bounds:
        """Return bounds of count metrics at one cutoff.

        Parameters
        ----------
        threshold : float, optional
            Rows that score at least this are called positive, compared in the precision in which
            the scores were given; None stands for the decisions of the evaluation.
        metrics : sequence of str or CountMetric, optional
            None stands for accuracy, precision, recall and f1.

        Returns
        -------
        Bounds
            From the band at this cutoff alone: with the predictive band these hold at the joint
            level for one cutoff chosen beforehand, the curves for all cutoffs at once.

        Raises
        ------
        ValueError
            If a metric is no count metric, or the band contradicts beta at this cutoff.
        """
        asked = resolve_count_metrics(metrics, remedy="An area has no cutoff: ask `bounds` for it.")
        known = counts_at(self.evaluation, threshold)
        intervals, reasons, notes = self._at(asked, known)
        if self.target == "sample":
            notes += describe_range(0, largest_step(self.beta), self.beta)
        return self._bounds(intervals, reasons, notes)

    def _at(
        self, asked: Sequence[CountMetric], known: Counts
    ) -> tuple[dict[str, Interval], dict[str, str], list[str]]:
        band = band_at(self.band, self.blocks, known)
        notes = describe_decisions(known)
        if self.target == "population":
            intervals = population_at(
                asked,
                known,
                band,
                self.beta,
                rows_level=self.rows_level,
                ci_prob=self.ci_prob,
            )
            reasons = {m.name: m.undefined_when for m in asked if math.isnan(intervals[m.name].low)}
            return intervals, reasons, notes
        ends, has_undefined, n_dropped = sample_bounds(
            asked,
            known,
            band,
            self.beta,
            construction=self.construction,
            reference=self.reference,
        )
        notes += describe_range(n_dropped, 1, self.beta)
        intervals = {name: self._interval(*pair) for name, pair in ends.items()}
        reasons = {m.name: m.undefined_when for m in asked if has_undefined[m.name]}
        return intervals, reasons, notes

    def bounds(self, metrics: Sequence[str | Metric] | None = None) -> Bounds:
        """Return bounds of count metrics at the evaluation's decisions, and of the areas.

        Parameters
        ----------
        metrics : sequence of str, CountMetric or RankingMetric, optional
            None stands for accuracy, precision, recall, f1 and, where there is a score and the
            target allows, roc_auc and average_precision.

        Returns
        -------
        Bounds
            An interval per metric.

        Raises
        ------
        ValueError
            If the band contradicts beta, or a metric has no bounds for this target.
        """
        has_score = self.evaluation.y_score is not None
        asked = resolve_metrics(metrics, has_score=has_score)
        if metrics is None and self.target == "population":
            asked = tuple(metric for metric in asked if metric.name != "average_precision")
        counts, ranking = split_metrics(asked)
        intervals: dict[str, Interval] = {}
        reasons: dict[str, str] = {}
        notes: list[str] = []
        if counts:
            intervals, reasons, notes = self._at(counts, self.evaluation.counts)
        areas = {"roc_auc": self.auc, "average_precision": self.average_precision}
        for metric in ranking:
            if metric.name not in areas:
                raise ValueError(
                    f"`metrics` must hold count metrics, 'roc_auc' or 'average_precision'; got "
                    f"{metric.name!r}, whose bounds are not known. Leave it out."
                )
            intervals[metric.name] = areas[metric.name]()
            if math.isnan(intervals[metric.name].low):
                reasons[metric.name] = metric.undefined_when
        if ranking and self.target == "sample":
            notes += describe_range(self._extremes.n_dropped, self._extremes.step, self.beta)
        ordered = {metric.name: intervals[metric.name] for metric in asked}
        return self._bounds(ordered, reasons, list(dict.fromkeys(notes)))

    def _bounds(
        self, intervals: dict[str, Interval], reasons: dict[str, str], notes: list[str]
    ) -> Bounds:
        return Bounds(
            intervals,
            method=self.method,
            assumption=self.assumption,
            target=self.target,
            statement="bounds" if self.target == "sample" else "confidence",
            n_labeled=self.evaluation.n_labeled,
            n_unlabeled=self.evaluation.n_unlabeled,
            notes=(*self.notes, *notes),
            undefined_reasons=reasons,
        )

    def points(self, threshold: float | None = None) -> pd.DataFrame:
        """Return the values under SCAR of the known rows, without sampling error, at one beta.

        Parameters
        ----------
        threshold : float, optional
            As in `at`.

        Returns
        -------
        pandas.DataFrame
            Index ``metric``: accuracy, precision, recall, f1, specificity, roc_auc,
            average_precision; columns ``value`` (never clipped, nan for a range of beta) and
            ``contradiction`` (a sentence where the data cannot have it or it is undefined, else
            "").
        """
        known = counts_at(self.evaluation, threshold)
        return scar_points(self.blocks, known, self.beta.center, reference=self.reference)

    def summary(self) -> pd.DataFrame:
        """Return bounds and point values, one row a metric.

        Returns
        -------
        pandas.DataFrame
            Index ``metric``; the columns of ``Bounds.summary`` and ``point``, the value under
            SCAR without sampling error (nan for a range of beta).

        Raises
        ------
        ValueError
            If the band contradicts beta.
        """
        frame = self.bounds().summary()
        frame.insert(4, "point", self.points()["value"].reindex(frame.index))
        return frame

    def __repr__(self) -> str:
        """Return bounds and points as text."""
        head = f"CurveBounds: {self.method} (target: {self.target})\n{self.assumption}"
        return curve_text(self.summary, head=head)

    def _repr_html_(self) -> str:
        return curve_html(
            self.bounds,
            self.points(),
            caption=self.method,
            assumption=self.assumption,
            notes=self.notes,
        )
