"""The figure of FeeBee holds the table."""

import numpy as np
import pandas as pd
import pytest

from labelbayes.optimal.feebee import score_feebee
from labelbayes.optimal.forms import optimal_ber
from labelbayes.plots.feebee import plot_feebee


@pytest.fixture
def scores() -> pd.DataFrame:
    return score_feebee(
        lambda soft, label: optimal_ber(soft) + 0.02,
        np.linspace(0.02, 0.6, 40),
        None,
        best_known=optimal_ber(np.linspace(0.02, 0.6, 40)),
        noise_means=(0.2, 0.7),
    )


def test_lines_hold_estimates_and_crosses_those_outside(scores) -> None:
    ax = plot_feebee(scores, metric="ber")
    named = [line for line in ax.lines if not line.get_label().startswith("_")]
    assert len(named) == 2
    for line, (mean, group) in zip(named, scores.groupby("noise_mean"), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), group["noise_level"])
        np.testing.assert_array_equal(line.get_ydata(), group["estimate"])
        assert line.get_label() == (
            f"replaced by 1 with probability {mean:g}: score {group['excess'].mean():.4f}"
        )
    crosses = [line for line in ax.lines if line.get_marker() == "x"]
    assert sum(len(line.get_xdata()) for line in crosses) == (scores["excess"] > 0).sum() > 0
    assert ax.get_title(loc="left").endswith("score 0.0200")
    assert ax.get_xlabel() == "share of labels replaced"


def test_bounds_are_drawn(scores) -> None:
    ax = plot_feebee(scores)
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    drawn = np.concatenate([line.get_ydata() for line in dashed])
    expected = np.concatenate(
        [group[side] for _, group in scores.groupby("noise_mean") for side in ("low", "high")]
    )
    np.testing.assert_array_equal(drawn, expected)
    assert len(ax.collections) == 2


def test_what_is_no_table_of_scores_is_refused() -> None:
    with pytest.raises(TypeError, match="`scores` must be a DataFrame"):
        plot_feebee([1, 2])
    with pytest.raises(ValueError, match="it lacks noise_mean, noise_level, estimate"):
        plot_feebee(pd.DataFrame({"low": [0.1]}))
