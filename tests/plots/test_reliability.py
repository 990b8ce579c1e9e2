"""The figure of reliability holds the table."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.diagnostics.calibration import check_calibration
from labelbayes.plots.reliability import plot_reliability


def judge(gap=True):
    rng = np.random.default_rng(0)
    p = rng.random(300)
    p = np.where(gap & (p > 0.4) & (p < 0.7), 0.75, p)
    return check_calibration(EvaluationSet((rng.random(300) < p).astype(float), p), p)


def test_points_intervals_and_counts_are_those_of_the_table() -> None:
    judged = judge()
    ax = plot_reliability(judged)
    used = judged.table[judged.table["n_labeled"] > 0]
    points = next(line for line in ax.lines if line.get_linestyle() == "None")
    np.testing.assert_array_equal(points.get_xdata(), used["mean_p"])
    np.testing.assert_array_equal(points.get_ydata(), used["rate"])
    spans = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
    np.testing.assert_array_equal(spans, used[["low", "high"]])
    counts = [text.get_text() for text in ax.texts][: len(used)]
    assert counts == [f"{n:,}" for n in used["n_labeled"]]


def test_empty_bins_are_empty() -> None:
    judged = judge()
    n_empty = int(judged.table["n_labeled"].eq(0).sum())
    assert n_empty == 3
    ax = plot_reliability(judged)
    assert len(ax.collections[0].get_segments()) == 10 - n_empty
    assert not any(text.get_text() == "0" for text in ax.texts)
    assert len(plot_reliability(judge(gap=False)).collections[0].get_segments()) == 10


def test_error_interval_and_method_are_written() -> None:
    judged = judge()
    ax = plot_reliability(judged)
    legend = ax.get_legend()
    assert str(judged.interval) in legend.get_title().get_text()
    assert "95% interval of the rate (confidence)" in [t.get_text() for t in legend.get_texts()]
    assert "Given probabilities, as they are." in ax.texts[-1].get_text()


def test_it_draws_where_it_is_told() -> None:
    _, ax = plt.subplots()
    assert plot_reliability(judge(), ax=ax) is ax


def test_other_things_are_refused() -> None:
    with pytest.raises(TypeError, match="`reliability` must be a Reliability; got ndarray"):
        plot_reliability(np.zeros(3))  # type: ignore[arg-type]
