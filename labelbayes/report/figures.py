"""Figures of a report as SVG that stands in the page, follows its colors and repeats exactly."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from labelbayes.plots.ladder import plot_ladder
from labelbayes.plots.law import plot_law
from labelbayes.plots.style import LIGHT
from labelbayes.results.estimates import Estimates
from labelbayes.results.ladder import Ladder

#: Narrow, so that the text is still read on a telephone.
_LADDER_WIDTH = 5.5
_LAW_SIZE = (5.5, 3.3)

#: Inks of a figure -> the page's own, which change with the reader's color scheme.
_PAGE_INKS = {
    LIGHT.text: "var(--ink)",
    LIGHT.muted: "var(--muted)",
    LIGHT.rule: "var(--rule)",
    LIGHT.page: "var(--card)",
}
_ID = re.compile(r'\s+id="([^"]*)"')
_REFERENCE = re.compile(r'(?:href="#|url\(#)([^")]*)')


def ladder_svg(steps: Ladder, metric: str, prefix: str) -> str:
    """Return the ladder of one metric as SVG.

    Parameters
    ----------
    steps : Ladder
        The numbers.
    metric : str
        Which metric.
    prefix : str
        What the ids in the SVG begin with, different for every figure of a page.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    n_rungs = sum(metric in result for result in steps.results.values())
    height = 1.3 + 0.62 * n_rungs + (0.3 if steps.left_out else 0.0)
    return _draw(
        lambda ax: plot_ladder(steps, metric=metric, ax=ax),
        (_LADDER_WIDTH, height),
        alt=f"{metric} under each assumption of the ladder",
        prefix=prefix,
    )


def law_svg(steps: Ladder, rung: str, metric: str, prefix: str) -> str:
    """Return the law of one metric on one rung as SVG.

    Parameters
    ----------
    steps : Ladder
        The numbers.
    rung, metric : str
        Which law; the rung's results are estimates.
    prefix : str
        What the ids in the SVG begin with, different for every figure of a page.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    truth = None if steps.truth is None else steps.truth[metric]
    law = steps.results[rung][metric]
    return _draw(
        lambda ax: plot_law(law, metric=metric, assumption=rung, truth=truth, ax=ax),
        _LAW_SIZE,
        alt=f"law of {metric} under: {rung}",
        prefix=prefix,
    )


def last_estimates(steps: Ladder) -> str | None:
    """Return the last rung that has laws of the metrics, the one with the strongest assumption.

    A weighted estimate with its standard error is no law of the metric, and is passed over.

    Parameters
    ----------
    steps : Ladder
        The numbers.

    Returns
    -------
    str or None
        Its name; None if no rung has laws.
    """
    names = [
        name
        for name, result in steps.results.items()
        if isinstance(result, Estimates) and result.statement != "confidence"
    ]
    return names[-1] if names else None


def _draw(
    draw: Callable[[Axes], object], size: tuple[float, float], *, alt: str, prefix: str
) -> str:
    # A Figure made without pyplot is shown nowhere and needs no closing.
    figure = Figure(figsize=size, facecolor=LIGHT.page, layout="constrained")
    ax = figure.add_subplot()
    ax.set_facecolor(LIGHT.page)
    draw(ax)
    return figure_svg(figure, alt=alt, prefix=prefix)


def figure_svg(figure: Figure, *, alt: str, prefix: str) -> str:
    """Return a figure as an ``<svg>`` element for the inside of a page.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn with the light inks.
    alt : str
        What it shows, for readers who do not see it.
    prefix : str
        What the ids in the SVG begin with.

    Returns
    -------
    str
        The same bytes for the same figure. Matplotlib salts its ids at random, and two figures
        of a page may share one, so that they are numbered here; those that nothing refers to
        are dropped.
    """
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(buffer, format="svg", metadata=nothing)
    svg = buffer.getvalue()
    svg = re.sub(r"<!--.*?-->\s*", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    names = dict.fromkeys(_REFERENCE.findall(svg))
    numbered = {name: f"{prefix}-{k}" for k, name in enumerate(names)}
    svg = _ID.sub(lambda m: f' id="{numbered[m[1]]}"' if m[1] in numbered else "", svg)
    svg = _REFERENCE.sub(lambda m: m[0].replace(m[1], numbered[m[1]]), svg)
    for ink, page_ink in _PAGE_INKS.items():
        svg = svg.replace(ink, page_ink)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(alt, quote=True)}"', 1)
