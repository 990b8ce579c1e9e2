"""ROC and precision-recall curves with their bands as figures."""

from __future__ import annotations

import math

from matplotlib.axes import Axes

from labelbayes._checks import check_type
from labelbayes.laws.curves import Band, Curves
from labelbayes.plots.style import (
    SMALL_SIZE,
    TEXT_SIZE,
    add_footnotes,
    color_of,
    dress,
    inks_on,
    is_math_safe,
    new_axes,
)

_SIZE = (5.4, 5.2)
_REMEDY = "Pass a result of `estimate_curves`; bounds of curves are drawn by `plot_curves`."
_COLOR_OF = "calibration with its uncertainty"


def plot_roc(curves: Curves, *, ax: Axes | None = None) -> Axes:
    """Draw the ROC curve with its bands.

    Parameters
    ----------
    curves : Curves
        From `estimate_curves`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The mean curve, the pointwise band inside the simultaneous one, and the diagonal of a
        random ranking.

    Raises
    ------
    TypeError
        If `curves` is no Curves.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.imputation.impute import impute
    >>> from labelbayes.laws.curves import estimate_curves
    >>> evaluation = EvaluationSet([1, 0, None, 1, 0], [0.9, 0.7, 0.6, 0.4, 0.1])
    >>> curves = estimate_curves(evaluation, impute(evaluation, "maxent"), rng=0)
    >>> plot_roc(curves).get_ylabel()
    'true positive rate'
    """
    check_type("curves", curves, Curves, _REMEDY)
    ax = new_axes(*_SIZE) if ax is None else ax
    muted = inks_on(ax).muted
    ax.plot([0, 1], [0, 1], color=muted, linewidth=0.9, linestyle=(0, (4, 3)))
    reason = "no row is positive, or none is negative"
    _draw(ax, curves, curves.roc_band, reason, "false positive rate", "true positive rate")
    return ax


def plot_precision_recall(curves: Curves, *, ax: Axes | None = None) -> Axes:
    """Draw the precision-recall curve with its bands.

    Parameters
    ----------
    curves : Curves
        From `estimate_curves`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The mean curve, and the pointwise band inside the simultaneous one.

    Raises
    ------
    TypeError
        If `curves` is no Curves.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.imputation.impute import impute
    >>> from labelbayes.laws.curves import estimate_curves
    >>> evaluation = EvaluationSet([1, 0, None, 1, 0], [0.9, 0.7, 0.6, 0.4, 0.1])
    >>> curves = estimate_curves(evaluation, impute(evaluation, "maxent"), rng=0)
    >>> plot_precision_recall(curves).get_xlabel()
    'recall'
    """
    check_type("curves", curves, Curves, _REMEDY)
    ax = new_axes(*_SIZE) if ax is None else ax
    reason = "no row is positive"
    _draw(ax, curves, curves.precision_recall_band, reason, "recall", "precision")
    return ax


def _draw(ax: Axes, curves: Curves, band: Band, reason: str, xlabel: str, ylabel: str) -> None:
    inks, color = inks_on(ax), color_of(_COLOR_OF)
    level = f"{100 * curves.ci_prob:g}% {curves.statement} band"
    ax.fill_between(
        band.x,
        band.low_simultaneous,
        band.high_simultaneous,
        color=color,
        alpha=0.18,
        linewidth=0,
        label=f"{level}, the whole curve",
    )
    ax.fill_between(
        band.x,
        band.low,
        band.high,
        color=color,
        alpha=0.35,
        linewidth=0,
        label=f"{level}, one place at a time",
    )
    ax.plot(band.x, band.mean, color=color, linewidth=1.8, label="mean over completions")
    dress(ax, inks, xlabel=xlabel)
    ax.set_ylabel(ylabel, color=inks.text, fontsize=TEXT_SIZE, parse_math=is_math_safe(ylabel))
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.01)
    ax.set_aspect("equal")
    legend = ax.legend(
        title=f"{curves.n_labeled:,} labeled, {curves.n_unlabeled:,} missing",
        title_fontsize=TEXT_SIZE,
        alignment="left",
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        frameon=False,
        labelcolor=inks.text,
        fontsize=SMALL_SIZE,
    )
    legend.get_title().set_color(inks.text)
    notes = [f"Assumes: {curves.assumption}."]
    if math.isnan(band.mean[0]):
        notes.insert(0, f"The curve is undefined here: {reason}.")
    elif band.undefined_prob > 0:
        notes.insert(
            0, f"Undefined in {band.undefined_prob:.1%} of completions ({reason}), left out here."
        )
    add_footnotes(ax, inks, notes, width=72)
