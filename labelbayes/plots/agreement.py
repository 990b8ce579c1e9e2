"""Judges under several measures of agreement: who comes first, as a figure."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from labelbayes._checks import check_type
from labelbayes.metrics.judge_scores import MEASURES
from labelbayes.plots.style import (
    PALETTE,
    SMALL_SIZE,
    SPARE_COLORS,
    TEXT_SIZE,
    add_footnotes,
    dress,
    inks_on,
    is_math_safe,
    new_axes,
)

_WIDTH, _ROW, _FRAME = 6.2, 0.34, 1.6
_COLORS = (*SPARE_COLORS, PALETTE["calibration taken as known"], PALETTE["shared unknown rate"])
_MARKERS = "osD^vP"
_LABELS = {
    "hit_rate": "hit rate",
    "cohen_kappa": "Cohen's kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
    "kl_human_judge": "KL(human, judge)",
    "kl_judge_human": "KL(judge, human)",
    "js_distance": "JS distance",
    "coverage": "coverage of response sets",
    "mse": "error of response sets",
    "consistency": "decisions: consistency",
    "bias": "decisions: bias",
}


def plot_agreement(scores: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the rank of each judge under each measure of agreement.

    Parameters
    ----------
    scores : DataFrame
        From `score_judges`: a row per judge, a column per measure.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A row per measure, the best judge at the left with the value beside the mark; judges that
        tie share the mean rank, and one without a value has no mark. Lines join the marks of a
        judge.

    Raises
    ------
    TypeError
        If `scores` is no DataFrame.
    ValueError
        If there is no judge, or no column is a measure.

    See Also
    --------
    plot_response_sets : Bounds of the share of valid verdicts.

    Examples
    --------
    >>> table = pd.DataFrame({"hit_rate": [0.9, 0.7], "mse": [0.3, 0.1]}, index=["a", "b"])
    >>> [text.get_text() for text in plot_agreement(table).get_yticklabels()]
    ['hit rate', 'error of response sets']
    """
    check_type("scores", scores, pd.DataFrame)
    names = [name for name in MEASURES if name in scores.columns]
    if not names or scores.empty:
        raise ValueError(
            "`scores` must hold a row per judge and columns of `score_judges`; got "
            f"{scores.shape[0]} rows and the columns {list(scores.columns)}."
        )
    ranks = _rank(scores, names)
    if ax is None:
        ax = new_axes(_WIDTH, _ROW * len(names) + _FRAME)
    inks = inks_on(ax)
    y = np.arange(len(names))
    for k, judge in enumerate(scores.index):
        color = _COLORS[k % len(_COLORS)]
        place = ranks.loc[judge].to_numpy(dtype=float)
        ax.plot(
            place,
            y,
            color=color,
            marker=_MARKERS[k % len(_MARKERS)],
            markersize=6,
            linewidth=1.4,
            label=str(judge),
        )
        for row, name in enumerate(names):
            if not np.isnan(place[row]):
                ax.annotate(
                    f"{scores.loc[judge, name]:.3f}",
                    (place[row], row),
                    xytext=(7, 0),
                    textcoords="offset points",
                    va="center",
                    color=inks.muted,
                    fontsize=SMALL_SIZE,
                    # Lines pass behind the numbers.
                    bbox={"facecolor": inks.page, "edgecolor": "none", "pad": 0.5},
                )
    ax.set_yticks(y, [_LABELS[name] for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xticks(np.arange(1, len(scores) + 1))
    ax.set_xlim(0.8, len(scores) + 0.5)
    dress(ax, inks, xlabel="rank of the judge (1 is best)")
    legend = ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=min(4, len(scores)),
        frameon=False,
        fontsize=SMALL_SIZE,
        labelcolor=inks.text,
    )
    for text in legend.get_texts():
        text.set_parse_math(is_math_safe(text.get_text()))
    ax.set_title(
        "Which judge each measure prefers",
        loc="left",
        pad=26,
        color=inks.text,
        fontsize=TEXT_SIZE + 1,
        fontweight="bold",
    )
    add_footnotes(
        ax,
        inks,
        ["The number beside a mark is the measure itself; lines only join a judge's marks."],
    )
    return ax


def _rank(scores: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return ranks, 1 best; bias is best near 0, and nan has none."""
    columns = {}
    for name in names:
        values = scores[name].abs() if name == "bias" else scores[name]
        # Values that differ by round-off alone are tied.
        columns[name] = values.round(12).rank(ascending=not MEASURES[name])
    return pd.DataFrame(columns, index=scores.index)
