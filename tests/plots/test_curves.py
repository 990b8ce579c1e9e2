"""Figures of curves: what is drawn, said, and left alone."""

import math
from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.curves import Band, Curves, estimate_curves
from labelbayes.plots.curves import plot_precision_recall, plot_roc

Plot = Callable[..., Axes]
FIGURES: list[tuple[Plot, str]] = [
    (plot_roc, "roc_band"),
    (plot_precision_recall, "precision_recall_band"),
]


def make() -> Curves:
    """Return curves of a small set."""
    rng = np.random.default_rng(0)
    score = rng.random(50)
    labels = np.where(rng.random(50) < 0.5, rng.random(50) < score, math.nan)
    evaluation = EvaluationSet(labels, score)
    return estimate_curves(evaluation, impute(evaluation, score), n_draws=80, rng=0)


@pytest.mark.parametrize(("plot", "attribute"), FIGURES)
def test_mean_and_both_bands_are_drawn_and_named(plot: Plot, attribute: str) -> None:
    curves = make()
    band: Band = getattr(curves, attribute)
    ax = plot(curves)
    assert any(
        np.array_equal(line.get_ydata(), band.mean) and np.array_equal(line.get_xdata(), band.x)
        for line in ax.lines
    )
    wide, narrow = (part for part in ax.collections if isinstance(part, PolyCollection))
    for part, low, high in (
        (wide, band.low_simultaneous, band.high_simultaneous),
        (narrow, band.low, band.high),
    ):
        y = part.get_paths()[0].vertices[:, 1]
        assert (y.min(), y.max()) == pytest.approx((low.min(), high.max()))
    legend = ax.get_legend()
    assert legend is not None
    said = [text.get_text() for text in legend.get_texts()]
    assert said == [
        "95% predictive band, the whole curve",
        "95% predictive band, one place at a time",
        "mean over completions",
    ]
    assert any("Assumes: " in text.get_text() for text in ax.texts)


@pytest.mark.parametrize(("plot", "_attribute"), FIGURES)
def test_given_axes_are_used(plot: Plot, _attribute: str) -> None:
    _, ax = plt.subplots()
    assert plot(make(), ax=ax) is ax


@pytest.mark.parametrize(("plot", "_attribute"), FIGURES)
def test_undefined_curves_say_so(plot: Plot, _attribute: str) -> None:
    evaluation = EvaluationSet([0, 0, None], [0.1, 0.2, 0.3])
    never = plot(estimate_curves(evaluation, impute(evaluation, [0, 0, 0.0]), rng=0))
    assert any("The curve is undefined here" in text.get_text() for text in never.texts)
    often = plot(estimate_curves(evaluation, impute(evaluation, [0, 0, 0.5]), rng=0))
    assert any("of completions (no row is positive" in text.get_text() for text in often.texts)


@pytest.mark.parametrize(("plot", "_attribute"), FIGURES)
def test_other_results_are_refused(plot: Plot, _attribute: str) -> None:
    with pytest.raises(TypeError, match=r"`curves` must be a Curves; got str.*`plot_curves`"):
        plot("curves")


@pytest.mark.parametrize("plot", [plot_roc, plot_precision_recall])
def test_what_is_no_axes_is_named(plot: Plot) -> None:
    with pytest.raises(TypeError, match="`ax` must be an Axes; got str"):
        plot(make(), ax="x")
