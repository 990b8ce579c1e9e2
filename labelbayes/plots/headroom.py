"""A classifier next to the best that any classifier could do."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from labelbayes._checks import CI_PROB, check_type
from labelbayes.optimal.headroom import LIMITS, describe_headroom, limit_of
from labelbayes.plots.style import (
    SMALL_SIZE,
    TEXT_SIZE,
    add_footnotes,
    color_of,
    dress,
    inks_on,
    new_axes,
)
from labelbayes.results.estimates import Estimates

_WIDTH = 6.2
#: Inches for a metric, and for axis, title and notes.
_ROW, _FRAME = 0.75, 1.5


def plot_headroom(classifier: Estimates, optimum: Estimates, *, ax: Axes | None = None) -> Axes:
    """Draw how far a classifier is from the best that could be done, a row per metric.

    Parameters
    ----------
    classifier : Estimates
        Metrics of the classifier; those of accuracy, balanced_accuracy and roc_auc are drawn.
    optimum : Estimates
        From `estimate_optimal`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The classifier above, the optimum below, each with its 95% interval; a bar from the
        optimistic to the pessimistic end of the optimum.

    Raises
    ------
    TypeError
        If an argument is no Estimates.
    ValueError
        If the classifier has none of these metrics, or `optimum` is not from `estimate_optimal`.

    See Also
    --------
    estimate_optimal : The optimum.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.laws.labeled import estimate_labeled
    >>> from labelbayes.optimal.estimate import estimate_optimal
    >>> y_true = [0, 0, 1, 0, 1, 1]
    >>> optimum = estimate_optimal([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], y_true)
    >>> classifier = estimate_labeled(EvaluationSet(y_true, y_pred=[0, 0, 0, 0, 1, 1]))
    >>> plot_headroom(classifier, optimum).get_xlabel()
    'value of the metric'
    """
    check_type("classifier", classifier, Estimates)
    check_type("optimum", optimum, Estimates)
    metrics = [name for name in classifier if name in LIMITS]
    if not metrics:
        raise ValueError(
            f"`classifier` must hold one of {', '.join(LIMITS)}; it has {', '.join(classifier)}."
        )
    if ax is None:
        ax = new_axes(_WIDTH, _ROW * len(metrics) + _FRAME)
    inks = inks_on(ax)
    own_color, best_color = color_of("labeled rows only"), color_of("optimum")
    for i, metric in enumerate(metrics):
        most, span = limit_of(optimum, metric)
        held = optimum[f"{LIMITS[metric]}_held_out"].mean
        held = held if LIMITS[metric] == metric else 1 - held
        own = classifier[metric]
        ends = own.interval(CI_PROB)
        ax.plot(
            [held, most],
            [i + 0.78] * 2,
            color=best_color,
            alpha=0.35,
            linewidth=9,
            solid_capstyle="butt",
            label="held-out to in-sample" if i == 0 else None,
        )
        rows = (
            (0.48, own.mean, ends, own_color, f"classifier ({CI_PROB:.0%} {classifier.statement})"),
            (0.78, most, span, best_color, f"optimum ({CI_PROB:.0%} {optimum.statement})"),
        )
        for y, middle, interval, color, label in rows:
            ax.plot(
                [interval.low, interval.high],
                [i + y] * 2,
                color=color,
                linewidth=2.2,
                marker="|",
                markersize=7,
            )
            ax.plot(
                [middle],
                [i + y],
                color=color,
                marker="o",
                markersize=6.5,
                label=label if i == 0 else None,
            )
        ax.text(
            0.0,
            i + 0.2,
            describe_headroom(classifier, optimum, metric),
            transform=ax.get_yaxis_transform(),
            va="center",
            color=inks.text,
            fontsize=SMALL_SIZE,
        )
    ax.set_ylim(len(metrics), 0)
    ax.set_yticks([])
    ax.margins(x=0.06)
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    dress(ax, inks, xlabel="value of the metric")
    ax.spines["left"].set_visible(False)
    ax.set_title(
        f"What is left to gain (classifier: {classifier.target}, optimum: {optimum.target})",
        loc="left",
        color=inks.text,
        fontsize=TEXT_SIZE + 1,
        fontweight="bold",
        pad=22,
    )
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        frameon=False,
        labelcolor=inks.text,
        fontsize=SMALL_SIZE,
        ncols=3,
        columnspacing=1.0,
        handlelength=1.2,
        handletextpad=0.5,
    )
    add_footnotes(
        ax,
        inks,
        [f"Optimum assumes: {optimum.assumption}. It knows only what soft labels know."],
    )
    return ax
