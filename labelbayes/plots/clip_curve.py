"""Weighted estimates under several largest weights, as a figure."""

from __future__ import annotations

from itertools import cycle

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

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

#: Estimators that assume the same have one color.
_DASHES = ("-", "--", "-.")
_SIZE = (6.2, 3.8)
_COLUMNS = ("estimator", "cap", "metric", "mean", "low", "high", "ci_prob", "clipped_share", "ess")


def plot_clip_curve(curve: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw how weighted estimates move with the largest weight that is allowed.

    Parameters
    ----------
    curve : DataFrame
        From `clip_curve`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A line per estimator over the cap (log scale), each with its confidence band.

    Raises
    ------
    TypeError
        If `curve` is no DataFrame.
    ValueError
        If it lacks a column of `clip_curve`, or has no row.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.weighting.clipping import clip_curve
    >>> evaluation = EvaluationSet([1, 0, None, 1] * 9, [0.9, 0.2, 0.8, 0.4] * 9)
    >>> ax = plot_clip_curve(clip_curve(evaluation, [1.0, 0.5, 0.5, 0.25] * 9, "accuracy"))
    >>> len(ax.lines)
    2
    """
    if not isinstance(curve, pd.DataFrame):
        raise TypeError(f"`curve` must be a DataFrame of `clip_curve`; got {type(curve).__name__}.")
    lacking = [name for name in _COLUMNS if name not in curve]
    if lacking or curve.empty:
        raise ValueError(
            f"`curve` must be a table of `clip_curve`; it lacks {lacking or 'rows'}. Pass what "
            "`clip_curve` returned."
        )
    if ax is None:
        ax = new_axes(*_SIZE)
    inks = inks_on(ax)
    for dash, (estimator, rows) in zip(
        cycle(_DASHES), curve.groupby("estimator", sort=False), strict=False
    ):
        color = color_of(str(estimator))
        cap = rows["cap"]
        ax.fill_between(cap, rows["low"], rows["high"], color=color, alpha=0.13, linewidth=0)
        ax.plot(
            cap,
            rows["mean"],
            color=color,
            linewidth=1.8,
            linestyle=dash,
            marker="o",
            markersize=3.5,
            label=str(estimator),
        )
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ticks = sorted({float(f"{cap:.2g}") for cap in curve["cap"]})
    ax.set_xticks(ticks[:: max(1, len(ticks) // 6)], minor=False)
    dress(ax, inks, xlabel="largest weight allowed")
    metric = str(curve["metric"].iloc[0])
    ax.set_ylabel(metric, color=inks.text, fontsize=TEXT_SIZE, parse_math=is_math_safe(metric))
    ax.legend(loc="best", frameon=False, labelcolor=inks.text, fontsize=SMALL_SIZE)
    ax.set_title(
        f"{metric}: how far the largest weights move it",
        loc="left",
        color=inks.text,
        fontsize=TEXT_SIZE + 1,
        fontweight="bold",
        parse_math=is_math_safe(metric),
    )
    first, last = (curve.sort_values("cap").iloc[k] for k in (0, -1))
    left, right = (f"{end['ess']:,.0f} ({end['clipped_share']:.0%} cut)" for end in (first, last))
    said = f"Bands: {100 * first['ci_prob']:g}% confidence intervals. Effective labels, and weight "
    said += f"that is cut: {left} at the left end, {right} at the right. "
    add_footnotes(ax, inks, [said + "An estimate that moves rests on few rows."])
    return ax
