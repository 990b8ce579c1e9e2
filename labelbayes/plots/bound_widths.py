"""How wide bounds are, over how much is known, as a figure."""

from __future__ import annotations

from itertools import cycle

import pandas as pd
from matplotlib.axes import Axes
from pandas.api.types import is_numeric_dtype

from labelbayes._checks import check_type
from labelbayes.plots.style import (
    SMALL_SIZE,
    SPARE_COLORS,
    TEXT_SIZE,
    dress,
    inks_on,
    is_math_safe,
    new_axes,
)

_SIZE = (5.4, 3.6)


def plot_bound_widths(widths: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the widths of bounds over a number of rows, a line per metric.

    Parameters
    ----------
    widths : pandas.DataFrame
        The index holds the numbers of rows, in any order, and is named after what they are (else
        "rows"), each column the widths of one metric.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Rows on a logarithmic scale where all numbers are positive.

    Raises
    ------
    TypeError
        If `widths` is no DataFrame, or its index or a column is not numeric.
    ValueError
        If it has no rows or no columns.

    See Also
    --------
    labelbayes.plots.curve_bounds.plot_curves : The bounds themselves.

    Examples
    --------
    >>> table = pd.DataFrame({"recall": [0.4, 0.1]}, pd.Index([20, 200], name="known positives"))
    >>> plot_bound_widths(table).get_xlabel()
    'known positives'
    """
    check_type("widths", widths, pd.DataFrame)
    if widths.empty:
        raise ValueError("`widths` must hold at least one number of rows and one metric.")
    for name, kind in (("index", widths.index.dtype), *widths.dtypes.items()):
        if not is_numeric_dtype(kind):
            raise TypeError(f"`widths` must hold numbers; {name!r} holds {kind}.")
    widths = widths.sort_index()
    what = "rows" if widths.index.name is None else str(widths.index.name)
    if ax is None:
        ax = new_axes(*_SIZE)
    inks = inks_on(ax)
    for name, color in zip(widths.columns, cycle(SPARE_COLORS), strict=False):
        ax.plot(widths.index, widths[name], color=color, marker="o", markersize=3, label=str(name))
    if (widths.index > 0).all():
        ax.set_xscale("log")
    ax.set_ylim(bottom=0)
    dress(ax, inks, xlabel=what)
    ax.set_ylabel("width of the bounds", color=inks.text, fontsize=TEXT_SIZE)
    ax.set_title(
        f"Bounds by {what}",
        loc="left",
        color=inks.text,
        fontsize=TEXT_SIZE + 1,
        fontweight="bold",
    )
    legend = ax.legend(loc="best", frameon=False, labelcolor=inks.text, fontsize=SMALL_SIZE)
    for text in legend.get_texts():
        text.set_parse_math(is_math_safe(text.get_text()))
    return ax
