"""Reliability of probabilities as a figure."""

from __future__ import annotations

from matplotlib.axes import Axes

from labelbayes._checks import check_type
from labelbayes.diagnostics.calibration import Reliability
from labelbayes.plots.style import (
    SMALL_SIZE,
    TEXT_SIZE,
    add_footnotes,
    color_of,
    dress,
    inks_on,
    new_axes,
)

_SIZE = (5.2, 4.8)
#: Share of the height that lies below zero, for the counts.
_BELOW = 0.14
_COLOR = color_of("calibration with its uncertainty")


def plot_reliability(reliability: Reliability, *, ax: Axes | None = None) -> Axes:
    """Draw the rate of positives against p, a point per bin that has labels.

    Parameters
    ----------
    reliability : Reliability
        From `check_calibration`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Points with intervals, and the number of labels below each; empty bins stay empty. Where
        p is right, intervals cross the diagonal.

    Raises
    ------
    TypeError
        If `reliability` is anything else.

    See Also
    --------
    labelbayes.diagnostics.calibration.check_calibration : The numbers.

    Notes
    -----
    Points lie at the mean p of their bin, not at its middle.

    References
    ----------
    .. [1] A. Niculescu-Mizil, R. Caruana, Predicting good probabilities with supervised learning,
       ICML 2005.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.diagnostics.calibration import check_calibration
    >>> p = [0.1, 0.2, 0.1, 0.2, 0.8, 0.9, 0.8, 0.9]
    >>> rows = EvaluationSet([0, 0, 0, 1, 0, 1, 1, 1], p)
    >>> plot_reliability(check_calibration(rows, p)).get_xlabel()
    'probability p'
    """
    check_type("reliability", reliability, Reliability)
    if ax is None:
        ax = new_axes(*_SIZE)
    inks = inks_on(ax)
    bins = reliability.table[reliability.table["n_labeled"] > 0]
    span = reliability.interval
    ax.plot([0, 1], [0, 1], color=inks.text, linestyle=(0, (4, 3)), linewidth=1.0, zorder=1)
    ax.vlines(
        bins["mean_p"],
        bins["low"],
        bins["high"],
        color=_COLOR,
        linewidth=2.0,
        label=f"{100 * span.ci_prob:g}% interval of the rate ({span.ci_kind})",
    )
    ax.plot(
        bins["mean_p"],
        bins["rate"],
        color=_COLOR,
        marker="o",
        markersize=5.5,
        linestyle="none",
        label="rate of positives",
    )
    for mean_p, n_labeled in zip(bins["mean_p"], bins["n_labeled"], strict=True):
        ax.text(
            mean_p,
            -_BELOW / 2,
            f"{n_labeled:,}",
            ha="center",
            va="center",
            rotation=90 if len(bins) > 6 else 0,
            color=inks.muted,
            fontsize=SMALL_SIZE,
        )
    ax.axhline(0.0, color=inks.rule, linewidth=0.8, zorder=1)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-_BELOW, 1.02)
    ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    dress(ax, inks, xlabel="probability p")
    ax.set_ylabel("rate of positives, labels below", color=inks.text, fontsize=SMALL_SIZE)
    legend = ax.legend(
        title=f"calibration error {reliability.error:.3f} {span}",
        title_fontproperties={"size": TEXT_SIZE, "weight": "bold"},
        alignment="left",
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        frameon=False,
        labelcolor=inks.text,
        fontsize=SMALL_SIZE,
        ncols=2,
    )
    legend.get_title().set_color(inks.text)
    method = reliability.method[:1].upper() + reliability.method[1:]
    add_footnotes(ax, inks, [f"{method}.", *reliability.notes], width=72)
    return ax
