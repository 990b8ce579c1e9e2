"""CurveBounds as text and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labelbayes._html import number_text, table_html

if TYPE_CHECKING:
    from labelbayes.bounds.curve_bounds import CurveBounds


def curve_text(result: CurveBounds) -> str:
    """Return bounds and points as text.

    Parameters
    ----------
    result : CurveBounds
        What is shown.

    Returns
    -------
    str
        Where the band contradicts beta, the sentence that says so stands for the numbers: an
        object that cannot be looked at helps nobody.
    """
    try:
        frame = result.summary()[["low", "high", "point", "ci_prob", "ci_kind"]]
        said = frame.round(4).to_string()
    except ValueError as contradiction:
        said = str(contradiction)
    head = f"CurveBounds: {result.method} (target: {result.target})"
    return f"{head}\n{result.assumption}\n{said}"


def curve_html(result: CurveBounds) -> str:
    """Return bounds and points as a table.

    Parameters
    ----------
    result : CurveBounds
        What is shown.

    Returns
    -------
    str
        HTML; a contradiction stands for the numbers as in `curve_text`.
    """
    points = result.points()
    try:
        bounds = result.bounds()
    except ValueError as contradiction:
        spans, notes = [], [str(contradiction), *result.notes]
    else:
        spans, notes = list(bounds.items()), list(bounds.notes)
    rows = [
        [name, *map(number_text, (span.low, span.high, float(points["value"][name])))]
        for name, span in spans
    ]
    contradictions = [text for text in dict.fromkeys(points["contradiction"]) if text]
    return table_html(
        ["metric", "low", "high", "point under SCAR"],
        rows,
        caption=result.method,
        notes=[f"Assumption: {result.assumption}.", *notes, *contradictions],
    )
