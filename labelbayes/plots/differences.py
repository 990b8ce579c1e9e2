"""The laws of differences as a figure: how far apart, and which is better."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from labelbayes._checks import CI_PROB, FloatArray, check_choice, check_type
from labelbayes.plots.shapes import MAX_STEMS, LawShape, shape_of
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
from labelbayes.results.difference import DifferenceLaw
from labelbayes.results.distribution import DrawsLaw, Law
from labelbayes.results.estimates import Estimates
from labelbayes.results.group_differences import pair_name
from labelbayes.results.text import kind_text

_WIDTH = 7.2
#: Inches of a row, and of what stands above and below all rows.
_ROW, _REST = 0.62, 1.1
#: Height of a law in units of its row, above the line of its interval.
_TALL = 0.62
#: Pairs of values that are listed to find out whether there are few enough for stems.
_MAX_PAIRS = 100_000


def plot_differences(
    differences: Estimates | Mapping[tuple[str, str], Estimates],
    *,
    metric: str | None = None,
    names: tuple[str, str] = ("A", "B"),
    assumption: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw laws of A - B, a row for each, with zero and the probability that A beats B.

    Parameters
    ----------
    differences : Estimates or mapping of tuple of str to Estimates
        From `compare_models`, a row per metric; or from `compare_groups`, a row per pair of
        groups.
    metric : str, optional
        Which metric, for pairs of groups; None stands for the first. Of models, None draws all.
    names : tuple of str, default ("A", "B")
        What the two models are called.
    assumption : str, default ""
        Rung that the laws stand on; it gives the color that this rung has in every figure.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Laws, 95% intervals and means, from top to bottom in the order of the results. Right of
        each stands the probability that the first beats the second, and that of a tie where
        there is one.

    Raises
    ------
    ValueError
        If there is nothing to draw, or no such metric.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    labelbayes.laws.differences.compare_models : The laws, for two models.
    labelbayes.laws.differences.compare_groups : The laws, for groups.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.imputation.impute import impute
    >>> from labelbayes.laws.differences import compare_models
    >>> y_true = [1, 0, None, 1, 0, None]
    >>> a = EvaluationSet(y_true, y_pred=[1, 0, 1, 1, 0, 0])
    >>> b = EvaluationSet(y_true, y_pred=[1, 0, 0, 1, 1, 0])
    >>> ax = plot_differences(compare_models(a, b, impute(a, "maxent"), metrics=["accuracy"]))
    >>> ax.texts[0].get_text().splitlines()
    ['A better: 50.0%', 'tie: 50.0%']
    """
    is_pair = isinstance(names, (tuple, list)) and len(names) == 2
    if not is_pair or not all(isinstance(name, str) for name in names):
        raise TypeError(f"`names` must be a pair of texts, such as ('A', 'B'); got {names!r}.")
    rows, first, xlabel = _rows_of(differences, metric, names)
    word = "better" if isinstance(differences, Estimates) else "higher"
    if ax is None:
        ax = new_axes(_WIDTH, _REST + _ROW * len(rows))
    inks, color = inks_on(ax), color_of(assumption)
    dress(ax, inks, xlabel=xlabel)
    ends: list[float] = [0.0]
    for place, (_, larger, law) in enumerate(rows):
        ends.extend(_draw_row(ax, inks, color, -float(place), (larger, word), law))
    low, high = min(ends), max(ends)
    room = 0.04 * (high - low) or 0.05
    ax.set_xlim(low - room, high + room)
    ax.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    ax.set_ylim(-len(rows) + 0.62, _TALL + 0.12)
    ax.set_yticks([-float(place) for place in range(len(rows))], [name for name, *_ in rows])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
        label.set_fontsize(TEXT_SIZE)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.axvline(0.0, color=inks.text, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
    add_footnotes(ax, inks, _notes(rows, first))
    return ax


def _rows_of(
    differences: Estimates | Mapping[tuple[str, str], Estimates],
    metric: str | None,
    names: tuple[str, str],
) -> tuple[list[tuple[str, str, Law]], Estimates, str]:
    """Return name, what the first is called, and law of each row; a result; and the x label."""
    if isinstance(differences, Estimates):
        asked = list(differences) if metric is None else [metric]
        for name in asked:
            check_choice("metric", name, list(differences))
        rows = [(name, names[0], differences[name]) for name in asked]
        return rows, differences, pair_name(*names)
    check_type("differences", differences, Mapping)
    if not differences:
        raise ValueError("`differences` must hold at least one pair; got none.")
    for pair, result in differences.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"`differences` must have pairs of groups as keys; got {pair!r}.")
        check_type(f"differences[{pair!r}]", result, Estimates)
    results = list(differences.values())
    asked_metric = next(iter(results[0])) if metric is None else metric
    check_choice("metric", asked_metric, list(results[0]))
    rows = [
        (pair_name(first, second), first, differences[first, second][asked_metric])
        for first, second in differences
    ]
    return rows, results[0], f"difference of {asked_metric}"


def _draw_row(
    ax: Axes, inks: Inks, color: str, at: float, words: tuple[str, str], law: Law
) -> tuple[float, ...]:
    """Draw one law above its line; return what the x axis has to reach."""
    if law.is_undefined:
        said = f"undefined: {law.undefined_reason}"
        ax.annotate(
            *(said, (0.01, at)),
            xycoords=("axes fraction", "data"),
            va="center",
            color=inks.muted,
            fontsize=SMALL_SIZE,
            parse_math=False,
        )
        return ()
    shape = shape_of(_listed(law))
    _draw_shape(ax, shape, color, at)
    span = law.interval(CI_PROB)
    ax.plot([span.low, span.high], [at, at], color=color, linewidth=2.2, marker="|", markersize=7)
    ax.plot([law.mean], [at], color=color, marker="o", markersize=6.0, linestyle="none")
    ax.annotate(
        _probabilities(*words, law),
        (1.01, at),
        xycoords=("axes fraction", "data"),
        va="center",
        color=inks.text,
        fontsize=SMALL_SIZE,
        annotation_clip=False,
        parse_math=False,
    )
    return float(shape.x[0]), float(shape.x[-1]), span.low, span.high


def _listed(law: Law) -> Law:
    """Return a law as a list where that is short, so that few values are drawn one by one."""
    if not isinstance(law, DifferenceLaw):
        return law
    if len(law.first.values) * len(law.second.values) > _MAX_PAIRS:
        return law
    atoms = law.atoms(_MAX_PAIRS)
    return atoms if len(atoms.support) <= 4 * MAX_STEMS else law


def _draw_shape(ax: Axes, shape: LawShape, color: str, at: float) -> None:
    scale = _TALL / float(shape.y.max())
    height: FloatArray = at + scale * shape.y
    if shape.form == "stems":
        ax.vlines(shape.x, at, height, color=color, linewidth=1.6, alpha=0.6)
    elif shape.form == "steps":
        ax.stairs(height, shape.x, baseline=at, color=color, fill=True, alpha=0.3)
    else:
        ax.fill_between(shape.x, at, height, color=color, alpha=0.3, linewidth=0)


def _probabilities(first: str, word: str, law: Law) -> str:
    """Say how probable it is that the first is larger, and that both are equal."""
    is_drawn = isinstance(law, DrawsLaw)
    larger = 1.0 - float(law.cdf(0.0))
    tie = float(law.cdf(0.0)) - (1.0 - law.prob_at_least(0.0))
    said = f"{first} {word}: {_percent(larger, is_drawn)}"
    return f"{said}\ntie: {_percent(tie, is_drawn)}" if tie >= 5e-4 else said


def _percent(prob: float, is_drawn: bool) -> str:
    """Write a probability so that only certainty is 0% or 100%; draws are never certain."""
    if prob < 5e-4 and (prob > 0.0 or is_drawn):
        return "below 0.1%"
    if prob > 1 - 5e-4 and (prob < 1.0 or is_drawn):
        return "above 99.9%"
    return f"{100 * prob:.1f}%" if 0.0 < prob < 1.0 else f"{100 * prob:.0f}%"


def _notes(rows: list[tuple[str, str, Law]], result: Estimates) -> list[str]:
    method = result.method[0].upper() + result.method[1:]
    kind = kind_text(CI_PROB, "eti", result.statement)
    notes = [f"Bars: {kind} intervals; dots: means; dashes: no difference. {method}."]
    for name, _, law in rows:
        if law.undefined_prob > 0 and not law.is_undefined:
            notes.append(
                f"{name}: undefined with probability {law.undefined_prob:.3g} "
                f"({law.undefined_reason}); all that is drawn is given that it is defined."
            )
    return notes
