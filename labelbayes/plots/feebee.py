"""Estimates of the optimum under label noise, and the bounds that they must keep."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from labelbayes._checks import check_type
from labelbayes.plots.style import (
    SMALL_SIZE,
    SPARE_COLORS,
    TEXT_SIZE,
    add_footnotes,
    dress,
    inks_on,
    new_axes,
)

_SIZE = (6.2, 3.8)
_COLUMNS = ("noise_mean", "noise_level", "estimate", "low", "high", "excess")


def plot_feebee(scores: pd.DataFrame, *, metric: str = "ber", ax: Axes | None = None) -> Axes:
    """Draw how an estimator of the optimum follows label noise, and where it must be wrong.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `score_feebee`.
    metric : str, default "ber"
        What was estimated, for the y axis.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A line and a shaded range per noise mean. Crosses are estimates outside their range; the
        legend has each score.

    Raises
    ------
    TypeError
        If `scores` is no DataFrame.
    ValueError
        If it is no table of `score_feebee`.

    See Also
    --------
    score_feebee : Makes the table.

    Examples
    --------
    >>> from labelbayes.optimal.feebee import score_feebee
    >>> from labelbayes.optimal.forms import optimal_ber
    >>> scores = score_feebee(
    ...     lambda soft_labels, y_true: optimal_ber(soft_labels), [0.1, 0.7], None, best_known=0.3
    ... )
    >>> plot_feebee(scores).get_ylabel()
    'ber of the best possible classifier'
    """
    check_type("scores", scores, pd.DataFrame)
    if missing := [name for name in _COLUMNS if name not in scores.columns]:
        raise ValueError(
            f"`scores` must be a table of `score_feebee`; it lacks {', '.join(missing)}."
        )
    if ax is None:
        ax = new_axes(*_SIZE)
    inks = inks_on(ax)
    groups = list(scores.groupby("noise_mean"))
    for k, (mean, group) in enumerate(groups):
        color = SPARE_COLORS[k % len(SPARE_COLORS)]
        group = group.sort_values("noise_level")
        level = group["noise_level"].to_numpy()
        ax.fill_between(level, group["low"], group["high"], color=color, alpha=0.12, linewidth=0)
        for side in ("low", "high"):
            ax.plot(level, group[side], color=color, linewidth=0.8, linestyle=(0, (4, 3)))
        ax.plot(
            level,
            group["estimate"],
            color=color,
            linewidth=1.8,
            label=f"replaced by 1 with probability {mean:g}: score {group['excess'].mean():.4f}",
        )
        outside = group[group["excess"] > 0]
        ax.plot(
            outside["noise_level"],
            outside["estimate"],
            color=color,
            marker="x",
            markersize=5,
            linestyle="none",
        )
    dress(ax, inks, xlabel="share of labels replaced")
    ax.set_ylabel(f"{metric} of the best possible classifier", color=inks.text, fontsize=SMALL_SIZE)
    ax.set_title(
        f"FeeBee: score {scores.groupby('noise_mean')['excess'].mean().mean():.4f}",
        loc="left",
        color=inks.text,
        fontsize=TEXT_SIZE + 1,
        fontweight="bold",
    )
    ax.legend(loc="best", frameon=False, labelcolor=inks.text, fontsize=SMALL_SIZE)
    said = (
        "Shaded, between dashed lines: where the optimum must lie. Crosses: estimates outside, "
        "which err by at least that distance. Score: mean distance outside."
    )
    add_footnotes(ax, inks, [said])
    return ax
