"""A metric of several models over values of beta as a figure."""

from __future__ import annotations

from itertools import cycle

from matplotlib.axes import Axes

from labelbayes._checks import check_choice, check_type
from labelbayes.bounds.beta_sweep import SWEPT, BetaSweep
from labelbayes.plots.style import (
    SMALL_SIZE,
    SPARE_COLORS,
    TEXT_SIZE,
    add_footnotes,
    dress,
    inks_on,
    is_math_safe,
    new_axes,
)

_SIZE = (6.2, 4.2)


def plot_beta_sweep(sweep: BetaSweep, *, metric: str = "roc_auc", ax: Axes | None = None) -> Axes:
    """Draw one metric of each model over beta, with its bounds and where the order flips.

    Parameters
    ----------
    sweep : BetaSweep
        From `sweep_beta`.
    metric : str, default "roc_auc"
        One of accuracy, precision, recall, f1, roc_auc and average_precision.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A line per model for the value under SCAR, a band for the bounds of areas (where the band
        of the ranks allows that beta), a dashed line at each flip of the values.

    Raises
    ------
    TypeError
        If `sweep` is no BetaSweep.
    ValueError
        If the metric was not swept.

    See Also
    --------
    labelbayes.plots.curve_bounds.plot_curves : Whole curves at one beta.

    Examples
    --------
    >>> from labelbayes.bounds.beta_sweep import sweep_beta
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> rows = EvaluationSet([1, 1, None, None, None], [0.9, 0.8, 0.7, 0.4, 0.2])
    >>> plot_beta_sweep(sweep_beta({"only": rows}), metric="f1").get_ylabel()
    'f1'
    """
    check_type("sweep", sweep, BetaSweep)
    check_choice("metric", metric, SWEPT)
    if ax is None:
        ax = new_axes(*_SIZE)
    inks = inks_on(ax)
    table = sweep.table[sweep.table["metric"] == metric]
    has_bounds = bool(table["low"].notna().any())
    for (name, rows), color in zip(
        table.groupby("model", sort=False), cycle(SPARE_COLORS), strict=False
    ):
        beta = rows["beta"].to_numpy()
        if has_bounds:
            ax.fill_between(
                beta,
                rows["low"].to_numpy(),
                rows["high"].to_numpy(),
                color=color,
                alpha=0.15,
                linewidth=0,
            )
        ax.plot(beta, rows["point"].to_numpy(), color=color, linewidth=1.6, label=str(name))
    flips = sweep.flips[(sweep.flips["metric"] == metric) & (sweep.flips["series"] == "point")]
    for beta in flips["beta"]:
        ax.axvline(beta, color=inks.muted, linestyle=(0, (4, 3)), linewidth=1.0)
        ax.text(
            beta,
            1.0,
            f" {beta:.3f}",
            transform=ax.get_xaxis_transform(),
            color=inks.muted,
            fontsize=SMALL_SIZE,
            va="top",
        )
    ax.set_ylim(-0.02, 1.02)
    dress(ax, inks, xlabel="beta, share of positives among unlabeled rows")
    ax.set_ylabel(metric, color=inks.text, fontsize=TEXT_SIZE)
    found = f"order flips {len(flips)} time{'s' if len(flips) != 1 else ''}"
    ax.set_title(
        f"{metric}: {found if len(flips) else 'no flip'}",
        loc="left",
        color=inks.text,
        fontsize=TEXT_SIZE + 1,
        fontweight="bold",
    )
    legend = ax.legend(loc="best", frameon=False, labelcolor=inks.text, fontsize=SMALL_SIZE)
    for text in legend.get_texts():
        text.set_parse_math(is_math_safe(text.get_text()))
    notes = ["Lines: values under SCAR, outside [0, 1] where the data contradict that beta."]
    if has_bounds:
        notes.append(f"Bands: {100 * sweep.ci_prob:g}% bounds.")
    add_footnotes(ax, inks, [" ".join(notes), *sweep.verdicts])
    return ax
