"""The figures of rated items hold the numbers that they are given."""

import numpy as np
import pandas as pd
import pytest

from labelbayes.bounds.response_sets import bound_response_sets
from labelbayes.bounds.worst_case import bound_worst_case
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.simulate_ratings import simulate_ratings
from labelbayes.plots.agreement import plot_agreement
from labelbayes.plots.response_sets import plot_response_sets


@pytest.fixture(scope="module")
def bounds():
    simulated = simulate_ratings(80, n_ratings=5, n_audited=80, rng=1)
    verdicts = [None, *simulated.y_judge[1:]]
    return bound_response_sets(verdicts, simulated.ratings)


def test_bars_are_the_bounds(bounds) -> None:
    ax = plot_response_sets({"first": bounds, "second": bounds})
    ends = [tuple(line.get_xdata()) for line in ax.lines]
    for name in ("gold_match", "valid_match", "valid_match_elicited"):
        assert ends.count((bounds[name].low, bounds[name].high)) >= 2
    words = " ".join(text.get_text() for text in ax.texts)
    assert "first" in words
    assert f"[{bounds['valid_match'].low:.3f}, {bounds['valid_match'].high:.3f}] " in words
    assert "target: sample" in ax.get_title(loc="left")
    assert ax.get_xlim() == (-0.02, 1.02)


def test_a_known_value_is_a_mark_and_a_given_axis_is_used(bounds) -> None:
    ax = plot_response_sets(bounds)
    points = [line for line in ax.lines if line.get_marker() == "o"]
    assert not points  # one verdict is missing: every row is a bar
    simulated = simulate_ratings(40, rng=2)
    known = bound_response_sets(simulated.y_judge, simulated.ratings)
    again = plot_response_sets(known, ax=ax)
    assert again is ax
    assert [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"] == [
        known["gold_match"].low
    ]


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        (1, TypeError, "`bounds` must be Bounds, or a mapping"),
        ({}, ValueError, "at least one result"),
        ({"x": 1}, TypeError, r"`bounds\['x'\]` must be Bounds"),
        (
            bound_worst_case(EvaluationSet([1, 0], y_pred=[1, 0])),
            ValueError,
            "must hold gold_match and valid_match",
        ),
    ],
)
def test_other_results_are_refused(given, error, sentence) -> None:
    with pytest.raises(error, match=sentence):
        plot_response_sets(given)


TABLE = pd.DataFrame(
    {"hit_rate": [0.9, 0.7, 0.7], "mse": [0.3, 0.1, 0.2], "bias": [-0.2, 0.3, np.nan]},
    index=["a", "b", "$c$"],
)


def test_ranks_are_those_of_the_measures() -> None:
    ax = plot_agreement(TABLE)
    ranks = np.array([line.get_xdata() for line in ax.lines])
    # Ties share the mean rank; bias is best near 0; a judge without a value has no rank.
    np.testing.assert_array_equal(ranks, [[1, 3, 1], [2.5, 1, 2], [2.5, 2, np.nan]])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b", "$c$"]
    assert not ax.get_legend().get_texts()[2].get_parse_math()
    words = [text.get_text() for text in ax.texts]
    assert {"0.900", "-0.200", "0.100"} <= set(words)
    assert plot_agreement(TABLE[["mse"]], ax=ax) is ax


def test_other_tables_are_refused() -> None:
    with pytest.raises(TypeError, match="`scores` must be a DataFrame"):
        plot_agreement([1])
    with pytest.raises(ValueError, match="a row per judge"):
        plot_agreement(pd.DataFrame({"x": [1.0]}))
