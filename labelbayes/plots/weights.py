"""How much of all weight the heaviest rows carry, as a figure."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

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


def plot_weights(check: WeightCheck, *, ax: Axes | None = None) -> Axes:
    """Draw the share of all weight that the heaviest labeled rows carry.

    Parameters
    ----------
    check : WeightCheck
        From `check_weights`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The share of weight over the share of labeled rows, heaviest first; the diagonal is equal
        weights, and a dot marks the top 1%.

    Raises
    ------
    TypeError
        If `check` is no WeightCheck.

    See Also
    --------
    plot_clip_curve : What capping them does.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.weighting.diagnostics import check_weights
    >>> evaluation = EvaluationSet([1, 0, None, 1], [0.9, 0.2, 0.8, 0.4])
    >>> ax = plot_weights(check_weights(evaluation, [1.0, 0.5, 0.5, 0.5]))
    >>> ax.get_title(loc="left")
    'Weights: 3 labels are worth 2.8 of equal weight'
    """
    check_type("check", check, WeightCheck)
    if ax is None:
        ax = new_axes(*_SIZE)
    inks = inks_on(ax)
    seen = check.weight > 0
    order = np.argsort(-check.weight[seen])
    count, weight = check.count[seen][order], check.weight[seen][order]
    rows = np.concatenate([[0.0], np.cumsum(count) / count.sum()])
    share = np.concatenate([[0.0], np.cumsum(count * weight) / (count @ weight)])
    ax.plot([0, 1], [0, 1], color=inks.rule, linewidth=1.0, label="equal weights")
    ax.plot(rows, share, color=color_of("Hajek"), linewidth=1.8, label="weights, heaviest first")
    value = check.weights["value"]
    top = float(value["share of the top 1%"])
    ax.plot(
        [0.01],
        [top],
        marker="o",
        color=color_of("Hajek"),
        linestyle="none",
        label=f"the top 1% carry {top:.0%}",
    )
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    dress(ax, inks, xlabel="share of the labeled rows")
    ax.set_ylabel("share of all weight", color=inks.text, fontsize=TEXT_SIZE)
    ax.legend(loc="lower right", frameon=False, labelcolor=inks.text, fontsize=SMALL_SIZE)
    ax.set_title(
        f"Weights: {value['labeled rows']:,.0f} labels are worth "
        f"{_short(float(value['effective sample size']))} of equal weight",
        loc="left",
        color=inks.text,
        fontsize=TEXT_SIZE + 1,
        fontweight="bold",
    )
    largest, most, many = (
        f"{value[name]:,.3g}"
        for name in ("largest weight", "99% of weights below", "95% of weights below")
    )
    said = f"Largest weight {largest}; 99% are at most {most}, 95% at most {many}."
    add_footnotes(ax, inks, [said])
    return ax


def _short(size: float) -> str:
    return f"{size:,.0f}" if size >= 10 else f"{size:.1f}"
