"""The figures of overlap, weights and clipping hold the numbers of the checks."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.simulate_selection import simulate_selection
from labelbayes.plots.clip_curve import plot_clip_curve
from labelbayes.plots.overlap import plot_overlap
from labelbayes.plots.style import DARK, LIGHT, color_of
from labelbayes.plots.weights import plot_weights
from labelbayes.weighting.clipping import clip_curve
from labelbayes.weighting.diagnostics import check_weights

MADE = simulate_selection(500, floor=0.05, rng=19)
CHECK = check_weights(MADE.evaluation, MADE.propensity)
CURVE = clip_curve(MADE.evaluation, MADE.propensity, "recall", outcome=MADE.outcome, caps=[1, 3, 9])


def _words(ax) -> str:
    return " ".join(text.get_text() for text in ax.texts).replace("\n", " ")


def test_overlap_counts_rows_up_and_down() -> None:
    ax = plot_overlap(CHECK)
    up, down = ax.containers
    assert sum(bar.get_height() for bar in up) == MADE.evaluation.n_labeled
    assert sum(bar.get_height() for bar in down) == -MADE.evaluation.n_unlabeled
    inside = (MADE.propensity >= 0.5) & (MADE.propensity < 0.55) & MADE.evaluation.is_labeled
    assert up[10].get_height() == inside.sum()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "label seen",
        "label missing",
    ]
    below = (MADE.propensity < 0.1).mean()
    title = f"Overlap: {below:.0%} of rows have a chance of a label below 10%"
    assert ax.get_title(loc="left") == title
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("P(labeled)", "rows")
    assert "stands for" in _words(ax)
    assert ax.yaxis.get_major_formatter()(-50, 0) == "50"


def test_overlap_counts_multiplicities() -> None:
    evaluation = EvaluationSet([1, None], [0.9, 0.1], count=[3, 5])
    up, down = plot_overlap(check_weights(evaluation, [0.5, 0.5])).containers
    assert (up[10].get_height(), down[10].get_height()) == (3, -5)


def test_weights_are_summed_from_the_heaviest() -> None:
    ax = plot_weights(CHECK)
    equal, curve, dot = ax.lines
    x, y = curve.get_xdata(), curve.get_ydata()
    assert (x[0], y[0], x[-1], y[-1]) == pytest.approx((0, 0, 1, 1))
    weight = np.sort(1 / MADE.propensity[MADE.evaluation.is_labeled])[::-1]
    np.testing.assert_allclose(y[1:], np.cumsum(weight) / weight.sum())
    assert (np.diff(y, 2) < 1e-12).all()
    assert list(equal.get_xdata()) == list(equal.get_ydata()) == [0, 1]
    assert dot.get_ydata()[0] == CHECK.weights.loc["share of the top 1%", "value"]
    ess = CHECK.weights.loc["effective sample size", "value"]
    assert f"are worth {ess:,.0f} of equal weight" in ax.get_title(loc="left")
    assert "Largest weight" in _words(ax)


def test_the_clip_curve_holds_the_table() -> None:
    ax = plot_clip_curve(CURVE)
    assert [line.get_label() for line in ax.lines] == ["Horvitz-Thompson", "Hajek", "AIPW"]
    assert len(ax.collections) == 3
    for line in ax.lines:
        rows = CURVE[CURVE["estimator"] == line.get_label()]
        np.testing.assert_array_equal(line.get_xdata(), rows["cap"])
        np.testing.assert_array_equal(line.get_ydata(), rows["mean"])
        assert line.get_color() == color_of(line.get_label())
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 3
    assert ax.get_xscale() == "log"
    assert ax.get_ylabel() == "recall"
    assert "95% confidence intervals" in _words(ax)


@pytest.mark.parametrize(
    ("plot", "given"),
    [(plot_overlap, CHECK), (plot_weights, CHECK), (plot_clip_curve, CURVE)],
)
def test_figures_use_the_axes_and_the_page_given(plot, given) -> None:
    _, ax = plt.subplots()
    ax.set_facecolor("#000000")
    assert plot(given, ax=ax) is ax
    assert DARK.text != LIGHT.text
    assert ax.xaxis.label.get_color() == DARK.text
    assert plot(given).figure.get_facecolor() == (1.0, 1.0, 1.0, 1.0)


def test_bad_input_is_one_sentence() -> None:
    for plot in (plot_overlap, plot_weights):
        with pytest.raises(TypeError, match="`check` must be a WeightCheck; got list"):
            plot([1, 2])
    with pytest.raises(TypeError, match=r"a DataFrame of `clip_curve`; got list\.$"):
        plot_clip_curve([1])
    with pytest.raises(ValueError, match=r"it lacks \['ess'\]\. Pass what `clip_curve` returned"):
        plot_clip_curve(CURVE.drop(columns="ess"))
    with pytest.raises(ValueError, match=r"it lacks rows\."):
        plot_clip_curve(pd.DataFrame(columns=CURVE.columns))
