"""Bounds of ROC and precision-recall curves as a figure."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes

from labelbayes._checks import CI_PROB, FloatArray, check_choice, check_type
from labelbayes.bounds.curve_bounds import CurveBounds
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.laws.count_metrics import true_values
from labelbayes.metrics.ranking import count_steps, precision_recall_points, roc_points
from labelbayes.plots.style import (
    SMALL_SIZE,
    TEXT_SIZE,
    add_footnotes,
    color_of,
    dress,
    inks_on,
    new_axes,
)

_SIZE = (5.4, 4.6)
_REMEDY = (
    "Pass a result of `bound_positive_unlabeled`; curves of `estimate_curves` are drawn by "
    "`plot_roc` and `plot_precision_recall`."
)
#: Names whose colors stand for the bounds and for a posterior laid over them.
RUNG, POSTERIOR = "positive-unlabeled", "positive-unlabeled (Bayes)"


def plot_curves(
    bounds: CurveBounds,
    *,
    curve: Literal["roc", "precision_recall"] = "roc",
    posterior: Any = None,
    truth: EvaluationSet | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the region in which a curve lies, and a posterior and the truth over it.

    Parameters
    ----------
    bounds : CurveBounds
        From `bound_positive_unlabeled`.
    curve : {"roc", "precision_recall"}, default "roc"
        Which curve.
    posterior : Posterior, optional
        From `rank_bootstrap`: its median and pointwise interval are drawn.
    truth : EvaluationSet, optional
        The same rows with all labels, where they are known after all.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A filled region between the lower and the upper curve, lines for the others.

    Raises
    ------
    TypeError
        If `bounds` is no CurveBounds, or `posterior` holds no curves.
    ValueError
        If `curve` is none of those above, `truth` does not complete the labels, or the band
        contradicts beta.

    See Also
    --------
    labelbayes.plots.beta_sweep.plot_beta_sweep : Over values of beta.
    labelbayes.plots.curves.plot_roc : A curve of `estimate_curves`, with its bands.

    Examples
    --------
    >>> from labelbayes.bounds.positive_unlabeled import bound_positive_unlabeled
    >>> rows = EvaluationSet([1, None, 1, None, None], [0.9, 0.8, 0.7, 0.4, 0.2])
    >>> plot_curves(bound_positive_unlabeled(rows, 1 / 3)).get_xlabel()
    'false positive rate'
    """
    check_type("bounds", bounds, CurveBounds, _REMEDY)
    check_choice("curve", curve, ("roc", "precision_recall"))
    is_roc = curve == "roc"
    if posterior is not None:
        _check_posterior(posterior)
    if truth is not None:
        true_values((), truth, bounds.evaluation.counts)  # refuses what are not the same rows
    if ax is None:
        ax = new_axes(*_SIZE)
    inks = inks_on(ax)
    color = color_of(RUNG)
    lower, upper = _ends(bounds, is_roc)
    level = "" if math.isnan(bounds.ci_prob) else f"{100 * bounds.ci_prob:g}% "
    ax.fill(
        np.concatenate([upper[0], lower[0][::-1]]),
        np.concatenate([upper[1], lower[1][::-1]]),
        color=color,
        alpha=0.18,
        linewidth=0,
        label=f"{level}{'bounds' if bounds.target == 'sample' else 'confidence'}",
    )
    for end in (lower, upper):
        ax.plot(*end, color=color, linewidth=1.0)
    if posterior is not None:
        _draw_posterior(ax, posterior, is_roc)
    if truth is not None:
        ax.plot(
            *_true_curve(truth, is_roc),
            color=inks.text,
            linestyle=(0, (4, 3)),
            linewidth=1.3,
            label="truth",
        )
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.01)
    dress(ax, inks, xlabel="false positive rate" if is_roc else "recall")
    ax.set_ylabel(
        "true positive rate" if is_roc else "precision", color=inks.text, fontsize=TEXT_SIZE
    )
    ax.set_title(
        _title(bounds, is_roc),
        loc="left",
        color=inks.text,
        fontsize=TEXT_SIZE + 1,
        fontweight="bold",
    )
    ax.legend(
        loc="lower right" if is_roc else "lower center",
        frameon=False,
        labelcolor=inks.text,
        fontsize=SMALL_SIZE,
    )
    add_footnotes(ax, inks, [f"Assumes: {bounds.assumption}.", bounds.notes[0]], width=78)
    return ax


def _title(bounds: CurveBounds, is_roc: bool) -> str:
    if not is_roc and bounds.target == "population":
        return "Precision-recall curve"
    area = bounds.auc() if is_roc else bounds.average_precision()
    name = "ROC area" if is_roc else "Average precision"
    if math.isnan(area.low):
        return f"{name} undefined"
    return f"{name} in [{area.low:.3f}, {area.high:.3f}]"


def _ends(bounds: CurveBounds, is_roc: bool) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the lower and the upper curve, each as x and y."""
    frame = bounds.roc() if is_roc else bounds.precision_recall()
    if is_roc:
        names = ("fpr_high", "tpr_low"), ("fpr_low", "tpr_high")
    else:
        names = ("recall_low", "precision_low"), ("recall_high", "precision_high")
    lower, upper = ([frame[name].to_numpy() for name in pair] for pair in names)
    return lower, upper


def _check_posterior(posterior: Any) -> None:
    drawn = getattr(posterior, "dataset", {})
    if not ("tpr" in drawn and "fpr" in drawn["tpr"].dims):
        raise TypeError(
            "`posterior` must hold curves, as from `rank_bootstrap`; got "
            f"{type(posterior).__name__}."
        )


def _draw_posterior(ax: Axes, posterior: Any, is_roc: bool) -> None:
    name, along = ("tpr", "fpr") if is_roc else ("precision", "recall")
    drawn = posterior.dataset[name]
    grid = drawn[along].to_numpy()
    values = drawn.transpose("chain", "draw", along).to_numpy().reshape(-1, len(grid))
    tail = (1 - CI_PROB) / 2
    low, middle, high = np.quantile(values, [tail, 0.5, 1 - tail], axis=0)
    color = color_of(POSTERIOR)
    ax.plot(grid, middle, color=color, linewidth=1.8, label="posterior median")
    label = f"{CI_PROB:.0%} credible (pointwise)"
    ax.plot(grid, low, color=color, linewidth=0.9, linestyle=":", label=label)
    ax.plot(grid, high, color=color, linewidth=0.9, linestyle=":")


def _true_curve(truth: EvaluationSet, is_roc: bool) -> tuple[FloatArray, FloatArray]:
    score = truth.y_pred if truth.y_score is None else truth.y_score
    steps = count_steps(truth.y_true, score, truth.count)
    if is_roc:
        return roc_points(*steps)
    precision, recall = precision_recall_points(*steps)
    return recall, precision
