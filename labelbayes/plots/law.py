"""The law of one metric as a figure."""

from __future__ import annotations

import math
import textwrap
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from labelbayes._checks import CI_PROB, check_choice
from labelbayes.plots.shapes import NO_WIDTH, LawShape, shape_of
from labelbayes.plots.style import (
    SMALL_SIZE,
    TEXT_SIZE,
    Inks,
    add_footnotes,
    color_of,
    dress,
    inks_on,
    new_axes,
)
from labelbayes.results.count_law import CountLaw
from labelbayes.results.estimates import Estimates
from labelbayes.results.interval import Interval
from labelbayes.results.mixture import MixtureLaw
from labelbayes.results.protocol import MetricDistribution

_SIZE = (6.2, 3.6)
#: Share of the height that lies below zero, for the mark of the interval.
_BELOW = 0.12
#: Characters in a line of what stands in place of a law.
_LINE = 60


def plot_law(
    law: MetricDistribution | Estimates,
    *,
    metric: str | None = None,
    assumption: str = "",
    ci_prob: float = CI_PROB,
    kind: Literal["eti", "hdi"] = "eti",
    truth: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the law of a metric with its mean and interval.

    Parameters
    ----------
    law : MetricDistribution or Estimates
        A law, such as ``estimates["precision"]``; or the estimates, which know its name.
    metric : str, optional
        Which metric, for estimates; None stands for the first. Of a law, its name for the x axis:
        None stands for that of the count metric whose exact law it is, and "metric" for any other,
        since only exact laws of counts know what they are of.
    assumption : str, default ""
        Rung that the law stands on; it gives the color that this rung has in every figure.
    ci_prob : float, default 0.95
        Probability content of the interval, in (0, 1).
    kind : {"eti", "hdi"}, default "eti"
        Equal tails, or the shortest interval.
    truth : float, optional
        The metric on complete labels, where it is known.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Stems for up to 60 values, steps for more, a curve for a density. Probability that the
        metric is undefined is written below; a law that is never defined gives the reason.

    Raises
    ------
    TypeError
        If `law` is neither a law of one metric nor estimates.
    ValueError
        If `ci_prob` or `kind` is not one of these, or estimates lack the metric.

    See Also
    --------
    plot_ladder : One metric under every assumption.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.laws.labeled import estimate_labeled
    >>> evaluation = EvaluationSet([1, 0, None, 1, 0], [0.9, 0.2, 0.8, 0.4, 0.1])
    >>> plot_law(estimate_labeled(evaluation), metric="recall").get_xlabel()
    'recall'
    """
    law, metric = _pick(law, metric)
    span = law.interval(ci_prob, kind)
    if ax is None:
        ax = new_axes(*_SIZE)
    inks = inks_on(ax)
    if math.isnan(law.mean):
        _write_undefined(ax, inks, metric, law.undefined_reason)
        return ax
    shape, color = shape_of(law), color_of(assumption)
    _draw_shape(ax, shape, color)
    top = 1.08 * float(shape.y.max())
    _mark_interval(ax, law, span, color, -_BELOW / 2 * top)
    if truth is not None and math.isfinite(truth):
        ax.axvline(
            truth,
            color=inks.text,
            linestyle=(0, (4, 3)),
            linewidth=1.2,
            label=f"truth {truth:.3f}",
        )
    _set_range(ax, shape, span, law.mean if truth is None else truth)
    ax.set_ylim(-_BELOW * top, top)
    dress(ax, inks, xlabel=metric)
    ax.axhline(0.0, color=inks.rule, linewidth=0.8, zorder=1)
    ax.set_yticks(
        [
            tick
            for tick in MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(0.0, top)
            if 0 <= tick <= top
        ]
    )
    ax.set_ylabel(shape.meaning, color=inks.text, fontsize=SMALL_SIZE)
    legend = ax.legend(
        title=assumption or None,
        title_fontproperties={"size": TEXT_SIZE, "weight": "bold"},
        alignment="left",
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        frameon=False,
        labelcolor=inks.text,
        fontsize=SMALL_SIZE,
        ncols=3,
    )
    legend.get_title().set_color(inks.text)
    legend.get_title().set_parse_math(False)
    notes = _notes(law, shape, metric)
    if truth is not None and math.isinf(truth):
        notes.append(f"The truth is {truth:g}, beyond the figure.")
    add_footnotes(ax, inks, notes)
    return ax


def _pick(
    law: MetricDistribution | Estimates, metric: str | None
) -> tuple[MetricDistribution, str]:
    """Return one law, and what the x axis calls it."""
    if isinstance(law, Estimates):
        name = next(iter(law)) if metric is None else metric
        check_choice("metric", name, list(law))
        return law[name], name
    if not isinstance(law, MetricDistribution):
        raise TypeError(
            f"`law` must be the law of one metric, or estimates; got {type(law).__name__}. Pick "
            "one by name, e.g. `estimates['recall']`."
        )
    return law, (_own_name(law) or "metric") if metric is None else metric


def _own_name(law: MetricDistribution) -> str:
    """Return the name of the metric where the law knows it; refits of one metric share it."""
    if isinstance(law, MixtureLaw):
        names = {_own_name(component) for component in law.components}
        return names.pop() if len(names) == 1 else ""
    return law.metric.name if isinstance(law, CountLaw) else ""


def _write_undefined(ax: Axes, inks: Inks, metric: str, reason: str) -> None:
    dress(ax, inks, xlabel=metric)
    ax.set_xticks([])
    ax.set_yticks([])
    # Matplotlib's own wrapping would read dollar signs as a formula.
    lines = [f"{metric} is undefined here:", *textwrap.wrap(reason, _LINE)]
    ax.text(
        0.5,
        0.5,
        "\n".join(lines),
        transform=ax.transAxes,
        ha="center",
        va="center",
        color=inks.text,
        fontsize=TEXT_SIZE,
        parse_math=False,
    )


def _draw_shape(ax: Axes, shape: LawShape, color: str) -> None:
    if shape.form == "stems":
        ax.vlines(shape.x, 0.0, shape.y, color=color, linewidth=2.0, alpha=0.75)
        ax.plot(shape.x, shape.y, color=color, marker="o", markersize=3.2, linestyle="none")
    elif shape.form == "steps":
        ax.stairs(shape.y, shape.x, color=color, fill=True, alpha=0.3)
        ax.stairs(shape.y, shape.x, color=color, linewidth=1.2)
    else:
        ax.fill_between(shape.x, 0.0, shape.y, color=color, alpha=0.3, linewidth=0)
        ax.plot(shape.x, shape.y, color=color, linewidth=1.6)


def _mark_interval(ax: Axes, law: MetricDistribution, span: Interval, color: str, y: float) -> None:
    """Draw interval and mean under the law, the way the ladder draws them."""
    ax.plot(
        [span.low, span.high],
        [y, y],
        color=color,
        linewidth=2.2,
        marker="|",
        markersize=7,
        label=f"{100 * span.ci_prob:g}% interval ({span.ci_kind}) {span.low:.3f} to "
        f"{span.high:.3f}",
    )
    ax.plot(
        [law.mean],
        [y],
        color=color,
        marker="o",
        markersize=6.5,
        linestyle="none",
        label=f"mean {law.mean:.3f}",
    )


def _set_range(ax: Axes, shape: LawShape, span: Interval, point: float) -> None:
    values = [*shape.x[[0, -1]], span.low, span.high, *([point] if math.isfinite(point) else [])]
    low, high = min(values), max(values)
    room = 0.04 * (high - low) if high - low > NO_WIDTH else 0.05
    ax.set_xlim(low - room, high + room)
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))


def _notes(law: MetricDistribution, shape: LawShape, metric: str) -> list[str]:
    """Say what the figure cannot show."""
    notes = [
        f"A probability of {mass:.3g} sits at {law.quantile(q):.3g} itself."
        for mass, q in zip(shape.at_ends, (0.0, 1.0), strict=True)
        if mass
    ]
    if law.undefined_prob:
        notes.append(
            f"{metric} is undefined with probability {law.undefined_prob:.3g} "
            f"({law.undefined_reason}); all that is drawn is given that it is defined."
        )
    return notes
