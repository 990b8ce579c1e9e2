"""One look for every figure: a color per assumption, inks, and text sizes set on each artist.

Nothing here touches ``rcParams``: the figures of the user's own notebook stay as they are.
"""

from __future__ import annotations

import textwrap
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from labelbayes._checks import check_type

#: One color per assumption, the same in every figure and table: rungs that assume the same and
#: differ only in how they compute share one. Each has a contrast of at least 3 to 1 on white and
#: on a near-black page, and they stay apart for readers who see no red, no green or no blue; a
#: rung's name always stands beside its color.
PALETTE: dict[str, str] = {
    "worst case": "#988faa",
    "labeled rows only": "#c077cf",
    "coin flips (MaxEnt)": "#bb833e",
    "shared unknown rate": "#fb5570",
    "prevalence": "#9500ff",
    "calibration taken as known": "#288efb",
    "calibration with its uncertainty": "#2ea677",
    "calibration (Bayes, Platt)": "#2ea677",
    "calibration (Bayes, bins)": "#2ea677",
    "calibration (Bayes, tilted)": "#8a5198",
    "marginal sensitivity (odds ratio 2)": "#8a5198",
    "outcome model": "#665ac3",
    "Horvitz-Thompson": "#437246",
    "Hajek": "#437246",
    "AIPW": "#fd1afb",
    "positive-unlabeled": "#cd0840",
    "unlabeled taken as negative": "#a54873",
    "optimum": "#f80117",
}

#: For rungs of the user's own; the name picks one, so that it is the same in every session.
SPARE_COLORS = ("#00868b", "#c2405a", "#5f8a00", "#a0522d")

TEXT_SIZE = 9.5
SMALL_SIZE = 8.0


class Inks(NamedTuple):
    """Colors of what is no data.

    Parameters
    ----------
    text : str
        Text and the truth.
    muted : str
        Second-rank text.
    rule : str
        Axis lines.
    page : str
        What lies behind.
    """

    text: str
    muted: str
    rule: str
    page: str


LIGHT = Inks("#1f2328", "#656d76", "#c9ced4", "#ffffff")
DARK = Inks("#e6edf3", "#9aa4ae", "#4a525b", "#14181d")


def color_of(assumption: str) -> str:
    """Return the color of an assumption, the same in every figure.

    Parameters
    ----------
    assumption : str
        Name of the rung.

    Returns
    -------
    str
        Color as ``#rrggbb``.

    Examples
    --------
    >>> color_of("prevalence")
    '#9500ff'
    """
    check_type("assumption", assumption, str)
    # Python's own hash of a text changes from one session to the next.
    spare = SPARE_COLORS[zlib.crc32(assumption.encode()) % len(SPARE_COLORS)]
    return PALETTE.get(assumption, spare)


def new_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure that the notebook will show.

    The page is white and opaque in a dark notebook as well: a transparent one would need text
    that reads on both, and is unreadable once it is pasted into a document.

    Parameters
    ----------
    width, height : float
        Inches.

    Returns
    -------
    matplotlib.axes.Axes
        Empty axes.
    """
    _, ax = plt.subplots(figsize=(width, height), facecolor=LIGHT.page, layout="constrained")
    ax.set_facecolor(LIGHT.page)
    return ax


def inks_on(ax: Axes) -> Inks:
    """Return the inks that read on the page of these axes.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes, of the user's style perhaps.

    Returns
    -------
    Inks
        For a light or for a dark page.

    Raises
    ------
    TypeError
        If `ax` is no Axes.
    """
    check_type("ax", ax, Axes)
    red, green, blue, alpha = to_rgba(ax.get_facecolor())
    if alpha == 0 and ax.figure is not None:
        red, green, blue, alpha = to_rgba(ax.figure.get_facecolor())
    is_dark = alpha > 0 and 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
    return DARK if is_dark else LIGHT


def dress(ax: Axes, inks: Inks, *, xlabel: str) -> None:
    """Leave of the axes only what is read.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to dress.
    inks : Inks
        Colors.
    xlabel : str
        Name of what the x axis shows.
    """
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(inks.rule)
    ax.tick_params(colors=inks.rule, labelcolor=inks.text, labelsize=SMALL_SIZE, length=3)
    ax.set_xlabel(xlabel, color=inks.text, fontsize=TEXT_SIZE, parse_math=is_math_safe(xlabel))


def is_math_safe(text: str) -> bool:
    """Return whether a label or title may stay open to mathematics.

    A name with dollar signs is shown as it is. Other labels keep Matplotlib's default, so that
    what the user later puts in their place may be a formula.

    Parameters
    ----------
    text : str
        What is written.

    Returns
    -------
    bool
        False where it holds a dollar sign.

    Examples
    --------
    >>> is_math_safe("recall"), is_math_safe("recall per $")
    (True, False)
    """
    return "$" not in text


def add_footnotes(ax: Axes, inks: Inks, sentences: Sequence[str], *, width: int = 88) -> None:
    """Write small sentences under the x axis.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes.
    inks : Inks
        Colors.
    sentences : sequence of str
        What to write; nothing for none.
    width : int, default 88
        Characters in a line.
    """
    if not sentences:
        return
    lines = [line for sentence in sentences for line in textwrap.wrap(sentence, width)]
    ax.annotate(
        "\n".join(lines),
        (0.0, 0.0),
        xycoords="axes fraction",
        xytext=(0, -36),  # below tick labels and axis label
        textcoords="offset points",
        va="top",
        color=inks.muted,
        fontsize=SMALL_SIZE,
        annotation_clip=False,
        parse_math=False,
    )
