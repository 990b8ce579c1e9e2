"""Bounds of curves as text and as a table, which show a contradiction instead of raising it."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from labelbayes._html import number_text, table_html
from labelbayes.results.estimates import Bounds


def curve_text(summary: Callable[[], pd.DataFrame], *, head: str) -> str:
    """Return bounds and points as text.

    Parameters
    ----------
    summary : callable
        Returns the table of bounds and points, or raises where the band contradicts beta.
    head : str
        What stands above.

    Returns
    -------
    str
        With the sentence of a contradiction in place of the table: an object that cannot be
        looked at helps nobody.
    """
    try:
        frame = summary()[["low", "high", "point", "ci_prob", "ci_kind"]]
        said = frame.round(4).to_string()
    except ValueError as contradiction:
        said = str(contradiction)
    return f"{head}\n{said}"


def curve_html(
    make_bounds: Callable[[], Bounds],
    points: pd.DataFrame,
    *,
    caption: str,
    assumption: str,
    notes: tuple[str, ...],
) -> str:
    """Return bounds and points as a table.

    Parameters
    ----------
    make_bounds : callable
        Returns the bounds, or raises where the band contradicts beta.
    points : pandas.DataFrame
        Index ``metric``; columns ``value`` and ``contradiction``.
    caption, assumption : str
        What stands above and first below.
    notes : tuple of str
        Sentences where there are no bounds to bring their own.

    Returns
    -------
    str
        HTML, with a contradiction as in `curve_text`.
    """
    rows = []
    try:
        bounds = make_bounds()
    except ValueError as contradiction:
        said = [str(contradiction), *notes]
    else:
        said = list(bounds.notes)
        for name, span in bounds.items():
            values = (span.low, span.high, float(points["value"][name]))
            rows.append([name, *map(number_text, values)])
    said += [text for text in dict.fromkeys(points["contradiction"]) if text]
    return table_html(
        ["metric", "low", "high", "point under SCAR"],
        rows,
        caption=caption,
        notes=[f"Assumption: {assumption}.", *said],
    )
