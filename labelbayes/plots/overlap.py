"""Overlap of labeled and missing rows in their chance of a label, as a figure."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from labelbayes._checks import check_type
from labelbayes.plots.style import (
    SMALL_SIZE,
    TEXT_SIZE,
    add_footnotes,
    color_of,
    dress,
    inks_on,
    new_axes,
)
from labelbayes.weighting.diagnostics import WeightCheck

_SIZE = (6.2, 3.6)
_N_BINS = 20
#: Below this P(labeled) a labeled row stands for more than ten.
SMALL_CHANCE = 0.1


def plot_overlap(check: WeightCheck, *, ax: Axes | None = None) -> Axes:
    """Draw how P(labeled) is spread among rows with a label and among rows without.

    Parameters
    ----------
    check : WeightCheck
        From `check_weights`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Labeled rows upward, missing rows downward, in twentieths of P(labeled). Where there are
        missing rows and hardly a labeled one, nothing stands for them.

    Raises
    ------
    TypeError
        If `check` is no WeightCheck.

    See Also
    --------
    plot_weights : What the smallest chances do to the weights.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.weighting.diagnostics import check_weights
    >>> evaluation = EvaluationSet([1, 0, None, 1], [0.9, 0.2, 0.8, 0.4])
    >>> ax = plot_overlap(check_weights(evaluation, [0.9, 0.5, 0.05, 0.5]))
    >>> ax.get_title(loc="left")
    'Overlap: 25% of rows have a chance of a label below 10%'
    """
    check_type("check", check, WeightCheck)
    if ax is None:
        ax = new_axes(*_SIZE)
    inks = inks_on(ax)
    edges = np.linspace(0, 1, _N_BINS + 1)
    sides = {
        "label seen": (check.is_labeled, 1, color_of("Hajek")),
        "label missing": (~check.is_labeled, -1, inks.muted),
    }
    for name, (rows, sign, color) in sides.items():
        height = np.histogram(check.p[rows], edges, weights=check.count[rows])[0]
        ax.bar(
            edges[:-1],
            sign * height,
            width=np.diff(edges),
            align="edge",
            color=color,
            edgecolor=inks.page,
            linewidth=0.6,
            label=name,
        )
    ax.axhline(0.0, color=inks.text, linewidth=0.8)
    ax.axvline(SMALL_CHANCE, color=inks.rule, linewidth=1.0, linestyle="--", zorder=0)
    ax.set_xlim(0, 1)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):,.0f}"))
    dress(ax, inks, xlabel="P(labeled)")
    ax.set_ylabel("rows", color=inks.text, fontsize=TEXT_SIZE)
    ax.set_ylim(top=1.2 * ax.get_ylim()[1])  # the legend stands above the bars
    ax.legend(loc="upper right", ncols=2, frameon=False, labelcolor=inks.text, fontsize=SMALL_SIZE)
    few = float(check.count[check.p < SMALL_CHANCE].sum() / check.count.sum())
    ax.set_title(
        f"Overlap: {few:.0%} of rows have a chance of a label below {SMALL_CHANCE:.0%}",
        loc="left",
        color=inks.text,
        fontsize=TEXT_SIZE + 1,
        fontweight="bold",
    )
    smallest = float(check.p[check.is_labeled].min())
    said = f"Smallest P(labeled) of a labeled row: {smallest:.3g}, so that it stands for "
    add_footnotes(ax, inks, [f"{said}{1 / smallest:,.3g} rows. Dashed: {SMALL_CHANCE:.0%}."])
    return ax
