"""The assumption ladder of one metric as a figure."""

from __future__ import annotations

import math
from textwrap import shorten

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from labelbayes._checks import CI_PROB, check_choice
from labelbayes.plots.style import (
    SMALL_SIZE,
    TEXT_SIZE,
    Inks,
    add_footnotes,
    color_of,
    dress,
    inks_on,
    is_math_safe,
    new_axes,
)
from labelbayes.results.ladder import Ladder
from labelbayes.results.text import kind_text

_WIDTH = 6.2
#: Inches for a rung: its name, what it assumes, and its mark.
_ROW = 0.62
#: Inches for the axis, the title and the notes.
_FRAME = 1.35
_HOW_TO_READ = "Bar: bounds. Line with a dot: interval and mean."


def plot_ladder(
    ladder: Ladder, *, metric: str | None = None, ci_prob: float = CI_PROB, ax: Axes | None = None
) -> Axes:
    """Draw one metric under every assumption, a row per rung from the weakest to the strongest.

    Parameters
    ----------
    ladder : Ladder
        What `ladder` returned.
    metric : str, optional
        Which metric; None stands for the first.
    ci_prob : float, default 0.95
        Probability content of the intervals, in (0, 1).
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Bounds are bars, intervals lines with a dot at the mean, the truth a dashed line where it
        is known. Rungs that were left out are named below.

    Raises
    ------
    TypeError
        If `ladder` is no Ladder.
    ValueError
        If the ladder lacks the metric.

    See Also
    --------
    plot_law : The law of one rung.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.ladder import ladder
    >>> evaluation = EvaluationSet([1, 0, None, 1, 0], [0.9, 0.2, 0.8, 0.4, 0.1])
    >>> ax = plot_ladder(ladder(evaluation, metrics=["recall"], rng=0))
    >>> ax.get_xlabel()
    'recall'
    """
    if not isinstance(ladder, Ladder):
        raise TypeError(
            f"`ladder` must be a Ladder; got {type(ladder).__name__}. Make one with `ladder(...)`."
        )
    name = ladder.metrics[0] if metric is None else metric
    check_choice("metric", name, ladder.metrics)
    frame = pd.DataFrame(ladder.table(ci_prob).xs(name, level="metric"))
    notes = [_HOW_TO_READ]
    if ladder.left_out:
        notes.append(f"Left out: {', '.join(ladder.left_out)}.")
    if ax is None:
        ax = new_axes(_WIDTH, _ROW * len(frame) + _FRAME + 0.2 * len(notes))
    inks = inks_on(ax)
    truth = math.nan if ladder.truth is None else ladder.truth[name]
    for i, (rung, row) in enumerate(frame.iterrows()):
        _write_row(ax, inks, i, str(rung), ladder.assumptions[str(rung)], row)
        _draw_mark(ax, inks, i, row, color_of(str(rung)))
    if not math.isnan(truth):
        ax.axvline(truth, color=inks.text, linestyle=(0, (4, 3)), linewidth=1.2, zorder=1)
        ax.text(
            truth,
            1.0,
            f"truth {truth:.3f}",
            transform=ax.get_xaxis_transform(),
            ha="center",
            va="bottom",
            color=inks.text,
            fontsize=SMALL_SIZE,
        )
    ax.set_xlim(*_limits(frame, truth))
    ax.set_ylim(len(frame), 0)
    ax.set_yticks([])
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    dress(ax, inks, xlabel=name)
    ax.spines["left"].set_visible(False)
    ax.set_title(
        f"{name} under each assumption (target: {ladder.target})",
        loc="left",
        pad=8 if math.isnan(truth) else 18,  # the truth is named between title and rows
        color=inks.text,
        fontsize=TEXT_SIZE + 1,
        fontweight="bold",
        parse_math=is_math_safe(name),
    )
    add_footnotes(ax, inks, notes)
    return ax


def _write_row(ax: Axes, inks: Inks, i: int, rung: str, assumption: str, row: pd.Series) -> None:
    """Write name and kind of interval on a line, assumption and numbers on the next."""
    kind = kind_text(row["ci_prob"], row["ci_kind"], row["statement"])
    # The table beside the figure has it in full; the longest of a built-in rung fits.
    assumes = shorten(assumption, 64, placeholder=" ...")
    numbers = "" if math.isnan(row["low"]) else f"[{row['low']:.3f}, {row['high']:.3f}]"
    if not math.isnan(row["mean"]):
        numbers = f"{row['mean']:.3f} {numbers}"
    words = [
        (0.0, 0.2, shorten(rung, 42, placeholder=" ..."), "left", inks.text, TEXT_SIZE, "bold"),
        (1.0, 0.2, kind, "right", inks.muted, SMALL_SIZE, "normal"),
        (0.0, 0.48, f"assumes: {assumes}", "left", inks.muted, SMALL_SIZE, "normal"),
        (1.0, 0.48, numbers, "right", inks.text, SMALL_SIZE, "normal"),
    ]
    for x, y, word, side, color, size, weight in words:
        ax.text(
            x,
            i + y,
            word,
            transform=ax.get_yaxis_transform(),
            ha=side,
            va="center",
            color=color,
            fontsize=size,
            fontweight=weight,
            # The truth's line passes behind the words.
            bbox={"facecolor": inks.page, "edgecolor": "none", "pad": 1.0},
            zorder=3,
            parse_math=False,
        )


def _draw_mark(ax: Axes, inks: Inks, i: int, row: pd.Series, color: str) -> None:
    y, low, high = i + 0.79, row["low"], row["high"]
    if math.isnan(low):
        ax.text(
            0.0,
            y,
            f"undefined: {row['undefined_reason']}",
            transform=ax.get_yaxis_transform(),
            va="center",
            color=inks.muted,
            fontsize=SMALL_SIZE,
            parse_math=False,
        )
        return
    if math.isnan(row["mean"]):
        ax.plot([low, high], [y, y], color=color, alpha=0.4, linewidth=9, solid_capstyle="butt")
        ax.plot([low, high], [y, y], color=color, marker="|", markersize=11, linestyle="none")
        return
    ax.plot([low, high], [y, y], color=color, linewidth=2.2, marker="|", markersize=7)
    ax.plot([row["mean"]], [y], color=color, marker="o", markersize=6.5, zorder=4)


def _limits(frame: pd.DataFrame, truth: float) -> tuple[float, float]:
    """Return a range that holds every mark, with room at both ends."""
    values = pd.Series([*frame["low"], *frame["high"], *frame["mean"], truth]).dropna()
    if values.empty:
        return 0.0, 1.0
    room = 0.04 * (values.max() - values.min()) or 0.05
    return values.min() - room, values.max() + room
