"""The one way to write a small static table or chart for a notebook.

JupyterLab cleans the HTML of saved notebooks that are not trusted: it drops ``<style>``,
``<svg>``, ``id`` and every color that is not a plain one (``var(--jp-...)`` included). What is
written here is what survives that cleaning: ``style=`` attributes, a translucent gray for the
rules, which reads on a light and on a dark page, and text in the color of the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

_RULE = "rgba(128,128,128,0.45)"
_CELL = "padding:3px 10px;vertical-align:top;"
_SMALL = "font-size:90%;opacity:0.85;"


def table_html(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str = "",
    notes: Sequence[str] = (),
) -> str:
    """Return a static table that looks right on a light and on a dark page.

    Parameters
    ----------
    columns : sequence of str, length k
        Headings.
    rows : sequence of sequence of str, each of length k
        Cells as text; a column whose cells are all numbers is set to the right. A line that
        starts with a bracket is an interval and stays in one piece.
    caption : str, default ""
        Title above the table.
    notes : sequence of str, default ()
        Sentences below it.

    Returns
    -------
    str
        HTML without ``<style>``, ``<svg>`` or ``id``.

    Examples
    --------
    >>> "0.5" in table_html(["metric", "mean"], [["recall", "0.5"]])
    True
    """
    sides = [
        "right" if _is_numeric([row[k] for row in rows]) else "left" for k in range(len(columns))
    ]
    head = "".join(
        f'<th style="{_CELL}text-align:{side};border-bottom:1px solid {_RULE}">{escape(name)}</th>'
        for name, side in zip(columns, sides, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL}text-align:{side}">{_cell_html(cell)}</td>'
            for cell, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    title = (
        f'<div style="font-weight:bold;padding:2px 10px">{escape(caption)}</div>' if caption else ""
    )
    return (
        f"<div>{title}"
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>{notes_html(notes)}</div>"
    )


def _cell_html(cell: str) -> str:
    """Return a cell: a line break stays one, and an interval is never broken."""
    return "<br>".join(
        escape(line).replace(" ", "&nbsp;") if line.startswith("[") else escape(line)
        for line in cell.split("\n")
    )


def notes_html(notes: Sequence[str]) -> str:
    """Return sentences as small paragraphs.

    Parameters
    ----------
    notes : sequence of str
        Sentences; none give an empty string.

    Returns
    -------
    str
        HTML.
    """
    return "".join(
        f'<div style="{_SMALL}padding:2px 10px;max-width:60em">{escape(note)}</div>'
        for note in notes
    )


def number_text(value: float, digits: int = 3) -> str:
    """Return a number for a table cell.

    Parameters
    ----------
    value : float
        Any float; nan is a dash.
    digits : int, default 3
        Digits after the point.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> number_text(0.12345), number_text(float("nan"))
    ('0.123', '-')
    """
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def _is_numeric(cells: Sequence[str]) -> bool:
    stripped = [cell.strip("-% <>[],to") for cell in cells]
    return bool(cells) and all(
        part.replace(".", "", 1).replace("-", "", 1).replace(",", "").isdigit() or not part
        for part in stripped
    )
