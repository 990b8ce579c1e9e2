"""Draws of one metric against its law in closed form, as a figure."""

from __future__ import annotations

import math
import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from labelbayes._checks import FloatArray, check_choice
from labelbayes.bayes.posterior import Posterior
from labelbayes.diagnostics.compare import (
    ALL,
    DIGITS,
    MOST_KS,
    TIE,
    Comparison,
    compare_draws,
    match_laws,
)
from labelbayes.plots.style import (
    PALETTE,
    SMALL_SIZE,
    TEXT_SIZE,
    Inks,
    add_footnotes,
    dress,
    inks_on,
    is_math_safe,
    new_axes,
)
from labelbayes.results.distribution import Law
from labelbayes.results.estimates import Estimates

_SIZE = (6.2, 4.6)
#: Height of the panel of differences in units of the cdf, and where the axes end below it.
_PANEL, _BOTTOM = 0.42, -0.62
#: Most places at which the cdfs are taken.
_POINTS = 400
_CLOSED_COLOR = PALETTE["calibration taken as known"]
_DRAWS_COLOR = PALETTE["shared unknown rate"]


def plot_comparison(
    sampled: Posterior, closed: Estimates, *, metric: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the cdf of draws over that of the closed form, and their difference below.

    Parameters
    ----------
    sampled : Posterior
        Draws, from `sample`.
    closed : Estimates
        Closed forms for the same rows and the same target.
    metric : str, optional
        Which metric; None stands for the first that both have.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The cdfs; steps where the law is discrete. The difference stands in a panel inside
        (``ax.child_axes[0]``), with the band that the scaled distance must stay in. The title says
        whether the two agree and, if not, what differs.

    Raises
    ------
    ValueError
        If the two cannot be compared, or lack the metric.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    labelbayes.diagnostics.compare.compare_laws : The numbers, for all metrics.

    Examples
    --------
    >>> from labelbayes.bayes.imputation import build_imputation
    >>> from labelbayes.bayes.sampling import sample
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.imputation.impute import impute
    >>> from labelbayes.laws.pemi import estimate_pemi
    >>> evaluation = EvaluationSet([1, 0, None, 1], [0.9, 0.2, 0.8, 0.4])
    >>> given = impute(evaluation, [0, 0, 0.75, 0])
    >>> sampled = sample(build_imputation(evaluation, given, concentration=10), rng=0)
    >>> ax = plot_comparison(sampled, estimate_pemi(evaluation, given), metric="precision")
    >>> ax.get_title(loc="left")
    'precision: draws and closed form agree'
    """
    pairs = match_laws(sampled, closed)
    name = next(iter(pairs)) if metric is None else metric
    check_choice("metric", name, pairs)
    draws, law = pairs[name]
    found = compare_draws(draws, law)
    if ax is None:
        ax = new_axes(*_SIZE)
    inks = inks_on(ax)
    dress(ax, inks, xlabel=name)
    # The notes below hold all numbers.
    verdict = "agree" if found.passed else f"differ: {found.reason.split(';')[0]}"
    ax.set_title(
        textwrap.fill(f"{name}: draws and closed form {verdict}", 62),
        loc="left",
        color=inks.text,
        fontsize=TEXT_SIZE + 1,
        fontweight="bold",
        parse_math=is_math_safe(name),
    )
    values = np.round(draws[~np.isnan(draws)], DIGITS)
    if law.is_undefined or not len(values):
        _write_undefined(ax, inks, law, len(values))
    else:
        _draw_cdfs(ax, inks, np.sort(values), law, found)
    add_footnotes(ax, inks, _notes(sampled, closed, draws, law, found))
    return ax


def _draw_cdfs(ax: Axes, inks: Inks, values: FloatArray, law: Law, found: Comparison) -> None:
    """Draw both cdfs above, and the difference in a panel below."""
    at = _places(values, law)
    closed = law.cdf(at + TIE)
    drawn = np.searchsorted(values, at + TIE, side="right") / len(values)
    style = "steps-post" if found.compared == ALL else "default"
    ax.plot(
        at,
        closed,
        color=_CLOSED_COLOR,
        alpha=0.45,
        linewidth=5.0,
        drawstyle=style,
        label=f"closed form, mean {found.mean_closed:.4f}",
    )
    ax.plot(
        at,
        drawn,
        color=_DRAWS_COLOR,
        linewidth=1.4,
        drawstyle="steps-post",
        label=f"{len(values):,} draws, mean {found.mean_sampled:.4f}",
    )
    ax.set_xlim(at[0], at[-1])
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    ax.set_ylim(_BOTTOM, 1.03)
    ax.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0])
    ax.set_ylabel("probability up to here", y=0.68, color=inks.text, fontsize=SMALL_SIZE)
    ax.axhline(0.0, color=inks.rule, linewidth=0.8, zorder=1)
    ax.legend(
        loc="upper left",
        frameon=False,
        labelcolor=inks.text,
        fontsize=SMALL_SIZE,
    )
    panel = ax.inset_axes((0.0, 0.0, 1.0, _PANEL / (1.03 - _BOTTOM)), sharex=ax)
    panel.set_facecolor("none")
    for side in ("top", "right", "bottom"):
        panel.spines[side].set_visible(False)
    panel.spines["left"].set_color(inks.rule)
    panel.tick_params(colors=inks.rule, labelcolor=inks.text, labelsize=SMALL_SIZE, length=3)
    panel.tick_params(axis="x", bottom=False, labelbottom=False)
    band = MOST_KS / math.sqrt(found.ess)
    if found.compared == ALL:
        panel.axhspan(-band, band, color=inks.rule, alpha=0.4, linewidth=0)
    panel.axhline(0.0, color=_CLOSED_COLOR, alpha=0.45, linewidth=2.0)
    panel.plot(at, drawn - closed, color=_DRAWS_COLOR, linewidth=1.2, drawstyle="steps-post")
    reach = 1.15 * max(band, float(np.abs(drawn - closed).max()))
    panel.set_ylim(-reach, reach)
    panel.yaxis.set_major_locator(MaxNLocator(3, symmetric=True))
    panel.set_ylabel("difference", color=inks.text, fontsize=SMALL_SIZE)


def _places(values: FloatArray, law: Law) -> FloatArray:
    """Return values at which a cdf may step, evenly thinned, from below to above both laws."""
    ends = np.round(law.quantile([1e-4, 1 - 1e-4]), DIGITS)
    inner = np.round(law.quantile(np.linspace(0.002, 0.998, 250)), DIGITS)
    distinct = np.unique(np.concatenate([values, ends, inner]))
    picks = np.linspace(0, len(distinct) - 1, min(_POINTS, len(distinct))).round().astype(int)
    room = 0.03 * (distinct[-1] - distinct[0]) or 0.05
    return np.concatenate([distinct[:1] - room, distinct[picks], distinct[-1:] + room])


def _write_undefined(ax: Axes, inks: Inks, law: Law, n_defined: int) -> None:
    ax.set_xticks([])
    ax.set_yticks([])
    said = (
        f"undefined in the closed form ({law.undefined_reason}),\ndefined in {n_defined:,} draws"
        if law.is_undefined
        else "undefined in all draws"
    )
    ax.text(
        *(0.5, 0.5),
        said,
        transform=ax.transAxes,
        ha="center",
        va="center",
        color=inks.text,
        fontsize=TEXT_SIZE,
        parse_math=False,
    )


def _notes(
    sampled: Posterior, closed: Estimates, draws: FloatArray, law: Law, found: Comparison
) -> list[str]:
    """Say what is compared and in which units."""
    notes = [f"Draws: {sampled.label_model.method}. Closed form: {closed.method}."]
    if not math.isnan(found.mean_z):
        said = f"Mean {found.mean_z:+.1f} standard errors from the closed form"
        if found.compared == ALL:
            notes.append(
                f"{said}; cdf at most {found.cdf_z:.1f}; scaled distance {found.ks_scaled:.2f}, in "
                f"the band up to {MOST_KS} ({found.ess:,.0f} effective draws)."
            )
        else:
            notes.append(
                f"{said}, variance {found.sd_z:+.1f}. The closed form is Gaussian: only moments "
                "are compared, and the difference below includes its own error."
            )
    share = float(np.isnan(draws).mean())
    if share or law.undefined_prob:
        notes.append(
            f"Undefined in {share:.3g} of the draws, probability {law.undefined_prob:.3g} in the "
            "closed form; the cdfs are given that it is defined."
        )
    return notes
