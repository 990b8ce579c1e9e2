"""Bounds of valid verdicts beside matches with the gold label, as a figure."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import shorten

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from labelbayes.plots.style import (
    PALETTE,
    SMALL_SIZE,
    TEXT_SIZE,
    Inks,
    add_footnotes,
    dress,
    inks_on,
    new_axes,
)
from labelbayes.results.estimates import Bounds
from labelbayes.results.interval import Interval
from labelbayes.results.text import kind_text

_WIDTH, _ROW, _FRAME = 6.2, 0.62, 1.5
_GOLD, _VALID, _ELICITED = (
    PALETTE["worst case"],
    PALETTE["calibration taken as known"],
    PALETTE["calibration with its uncertainty"],
)
_HOW_TO_READ = (
    "Gray: verdicts that equal the gold label. Blue bar: bounds of the verdicts that are valid. "
    "Green: valid by elicited response sets. A bar of either is what missing verdicts, or sampling "
    "of items, leave open."
)


def plot_response_sets(bounds: Bounds | Mapping[str, Bounds], *, ax: Axes | None = None) -> Axes:
    """Draw the match with the gold label and the bounds of the valid share, a row per judge.

    Parameters
    ----------
    bounds : Bounds or mapping of str to Bounds
        From `bound_response_sets`: of one judge, or by the name of each judge, construction or
        share of indeterminate items.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Bars are bounds or intervals, whose kind stands at the right; a mark is a known value.

    Raises
    ------
    TypeError
        If an entry is no Bounds.
    ValueError
        If there is none, or it lacks ``gold_match`` or ``valid_match``.

    See Also
    --------
    plot_agreement : Judges under several measures of agreement.

    Examples
    --------
    >>> from labelbayes.bounds.response_sets import bound_response_sets
    >>> from labelbayes.data.ratings import Ratings
    >>> ratings = Ratings([1, 1, 2, 2], ["ann", "bob"] * 2, ["A", "B", "C", "C"])
    >>> ax = plot_response_sets(bound_response_sets(["A", "B"], ratings))
    >>> ax.get_xlabel()
    'share of items'
    """
    rows = {"": bounds} if isinstance(bounds, Bounds) else bounds
    _check(rows)
    if ax is None:
        ax = new_axes(_WIDTH, _ROW * len(rows) + _FRAME)
    inks = inks_on(ax)
    for i, (name, result) in enumerate(rows.items()):
        _draw_row(ax, inks, i, str(name), result)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(len(rows), 0)
    ax.set_yticks([])
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    dress(ax, inks, xlabel="share of items")
    ax.spines["left"].set_visible(False)
    targets = " and ".join(dict.fromkeys(result.target for result in rows.values()))
    ax.set_title(
        f"Gold match and valid verdicts (target: {targets})",
        loc="left",
        color=inks.text,
        fontsize=TEXT_SIZE + 1,
        fontweight="bold",
    )
    add_footnotes(ax, inks, [_HOW_TO_READ])
    return ax


def _check(rows: object) -> None:
    if not isinstance(rows, Mapping):
        raise TypeError(
            f"`bounds` must be Bounds, or a mapping of names to them; got {type(rows).__name__}."
        )
    if not rows:
        raise ValueError("`bounds` must hold at least one result; got none.")
    for name, result in rows.items():
        if not isinstance(result, Bounds):
            raise TypeError(
                f"`bounds[{name!r}]` must be Bounds; got {type(result).__name__}. Make them with "
                "`bound_response_sets`."
            )
        if not {"gold_match", "valid_match"} <= result.keys():
            raise ValueError(
                f"`bounds[{name!r}]` must hold gold_match and valid_match; it has "
                f"{', '.join(result)}. Make it with `bound_response_sets`."
            )


def _draw_row(ax: Axes, inks: Inks, i: int, name: str, result: Bounds) -> None:
    valid = result["valid_match"]
    statement = "bounds" if valid.ci_kind == "bounds" else result.statement
    kind = kind_text(valid.ci_prob, valid.ci_kind, statement)
    words = [
        (0.0, shorten(name, 48, placeholder=" ..."), "left", inks.text, TEXT_SIZE, "bold"),
        (
            1.0,
            f"valid [{valid.low:.3f}, {valid.high:.3f}] {kind}",
            "right",
            inks.muted,
            SMALL_SIZE,
            "normal",
        ),
    ]
    for x, word, side, color, size, weight in words:
        ax.text(
            x,
            i + 0.2,
            word,
            transform=ax.get_yaxis_transform(),
            ha=side,
            va="center",
            color=color,
            fontsize=size,
            fontweight=weight,
            parse_math=False,
        )
    _draw_interval(ax, i + 0.52, result["gold_match"], _GOLD, 4.0)
    _draw_interval(ax, i + 0.68, valid, _VALID, 9.0)
    if "valid_match_elicited" in result:
        _draw_interval(ax, i + 0.84, result["valid_match_elicited"], _ELICITED, 4.0)


def _draw_interval(ax: Axes, y: float, span: Interval, color: str, width: float) -> None:
    ends = [span.low, span.high]
    ax.plot(ends, [y, y], color=color, alpha=0.45, linewidth=width, solid_capstyle="butt")
    if span.width > 0:
        ax.plot(ends, [y, y], color=color, marker="|", markersize=width + 2, linestyle="none")
    else:
        ax.plot([span.low], [y], color=color, marker="o", markersize=6, linestyle="none")
