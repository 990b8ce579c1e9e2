"""A metric against the odds by which missing labels may differ, and where a claim fails."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from labelbayes._checks import CI_PROB, check_open_unit, check_real, check_type
from labelbayes.bounds.sensitivity import NO_ORDER, tipping_odds_ratio
from labelbayes.bounds.tilt_path import follow_tilt
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import resolve_count_metrics
from labelbayes.plots.style import (
    SMALL_SIZE,
    TEXT_SIZE,
    add_footnotes,
    color_of,
    dress,
    inks_on,
    new_axes,
)

_SIZE = (6.2, 3.9)
#: Odds ratios at which laws are computed, to either side of 1.
_N_STEPS = 12
_RUNG = "calibration (Bayes, tilted)"


def plot_sensitivity(
    evaluation: EvaluationSet,
    imputation: Imputation,
    *,
    metric: str | CountMetric = "f1",
    max_odds_ratio: float = 4.0,
    claim: float | None = None,
    ci_prob: float = CI_PROB,
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric against the odds ratio between missing and comparable labeled rows.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels and decisions.
    imputation : Imputation
        Belief about the missing labels.
    metric : str or CountMetric, default "f1"
        A count metric.
    max_odds_ratio : float > 1, default 4.0
        The axis runs from ``1 / max_odds_ratio`` to it.
    claim : float, optional
        The claim that the metric is at least this; where it fails is marked.
    ci_prob : float, default 0.95
        Probability content of the intervals.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Mean and interval where all missing labels have the same odds ratio, and outside them the
        bounds where each has its own, up to that factor.

    Raises
    ------
    ValueError
        If `max_odds_ratio` is not above 1, or the metric ranks.

    See Also
    --------
    bound_tilt : The bounds.
    tipping_odds_ratio : Where the claim fails.

    Examples
    --------
    >>> from labelbayes.imputation.impute import impute
    >>> evaluation = EvaluationSet([1, 0, 1, *[None] * 40], y_pred=[1, 0, 0] + [1, 0] * 20)
    >>> ax = plot_sensitivity(evaluation, impute(evaluation, "maxent"), metric="recall")
    >>> ax.get_ylabel()
    'recall'
    """
    check_type("evaluation", evaluation, EvaluationSet)
    check_type("imputation", imputation, Imputation)
    largest = check_real("max_odds_ratio", max_odds_ratio)
    if not largest > 1:
        raise ValueError(f"`max_odds_ratio` must be above 1; got {max_odds_ratio!r}. 4 is usual.")
    share = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
    (asked,) = resolve_count_metrics([metric], remedy=NO_ORDER)
    path = follow_tilt(evaluation, imputation, asked, largest, n_steps=_N_STEPS, ci_prob=share)
    steps = path.odds_ratio
    ax = new_axes(*_SIZE) if ax is None else ax
    inks, color = inks_on(ax), color_of(_RUNG)
    ax.plot(
        steps,
        np.stack([path.lowest, path.highest], axis=1),
        color=color,
        linewidth=1.2,
        linestyle=(0, (4, 2)),
        label=["each label its own, up to this factor", None],
    )
    ax.fill_between(
        steps,
        path.low,
        path.high,
        color=color,
        alpha=0.25,
        linewidth=0,
        label=f"{100 * share:g}% interval, the same for all",
    )
    ax.plot(steps, path.mean, color=color, linewidth=2.0, label="mean")
    ax.axvline(1.0, color=inks.rule, linewidth=1.0, zorder=1)
    notes = ["The data cannot tell the odds ratio: it is a statement of belief."]
    if claim is not None:
        notes.append(_mark_claim(ax, inks.text, evaluation, imputation, asked, claim))
    ax.set_xscale("log")
    ax.set_xlim(steps[0], steps[-1])
    ticks = [1 / largest, 1 / math.sqrt(largest), 1.0, math.sqrt(largest), largest]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticklabels([f"{tick:.3g}" for tick in ticks])
    dress(ax, inks, xlabel="odds ratio, missing against comparable labeled rows")
    ax.set_ylabel(asked.name, color=inks.text, fontsize=TEXT_SIZE)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        frameon=False,
        labelcolor=inks.text,
        fontsize=SMALL_SIZE,
        ncols=3,
    )
    add_footnotes(ax, inks, notes)
    return ax


def _mark_claim(
    ax: Axes,
    ink: str,
    evaluation: EvaluationSet,
    imputation: Imputation,
    metric: CountMetric,
    claim: float,
) -> str:
    """Draw the claim and the point at which it fails; return the sentence."""
    ax.axhline(claim, color=ink, linewidth=1.0, linestyle=(0, (1, 2)))
    tip = tipping_odds_ratio(evaluation, imputation, metric, claim)
    said = f"The claim '{metric.name} >= {claim:g}'"
    if math.isnan(tip):
        return f"{said} stands at every odds ratio."
    low, high = ax.get_xlim()
    if low <= tip <= high or tip == 1.0:
        ax.plot([tip], [claim], color=ink, marker="o", markersize=6, linestyle="none", zorder=5)
    if tip == 1.0:
        return f"{said} fails without any tilt."
    beyond = "upward" if tip > 1 else "downward"
    return f"{said} is no longer likely from an odds ratio of {tip:.3g} {beyond}."
