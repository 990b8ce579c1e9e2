"""The figure of the ladder holds the ladder."""

import functools
import inspect
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from labelbayes.bounds.worst_case import bound_worst_case
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.ladder import ladder
from labelbayes.plots.ladder import plot_ladder
from labelbayes.plots.law import plot_law
from labelbayes.plots.style import color_of
from labelbayes.results.ladder import Ladder

SCORES = [0.81, 0.35, 0.77, 0.22, 0.66, 0.71, 0.58, 0.31, 0.12, 0.44, 0.19, 0.05]
TRUTH = [1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0]
KNOWN = [1, 0, None, 0, 1, None, 0, 1, None, None, 0, 0]


@functools.cache
def _steps(target="sample", with_truth=True) -> Ladder:
    evaluation = EvaluationSet(KNOWN, SCORES)
    own = bound_worst_case(evaluation, metrics=["precision", "recall"], target=target)
    return ladder(
        evaluation,
        metrics=["precision", "recall"],
        target=target,
        truth=EvaluationSet(TRUTH, SCORES) if with_truth else None,
        extra={"my audit": own},
        rng=3,
    )


def _texts(ax):
    return [text.get_text() for text in ax.texts]


def _marks(ax):
    """Lines that stand at a row, by row."""
    rows: dict[int, list] = {}
    for line in ax.lines:
        y = np.atleast_1d(line.get_ydata())
        if line.get_linestyle() != (0, (4, 3)) and y[0] % 1 == pytest.approx(0.79):
            rows.setdefault(int(y[0]), []).append(line)
    return rows


@pytest.mark.parametrize("metric", ["precision", "recall"])
def test_every_rung_stands_in_its_row(metric: str) -> None:
    steps = _steps()
    ax = plot_ladder(steps, metric=metric)
    frame = steps.table().xs(metric, level="metric")
    rows = _marks(ax)
    assert list(rows) == list(range(len(steps.results)))
    for i, (rung, row) in enumerate(frame.iterrows()):
        span = rows[i][0]
        assert tuple(span.get_xdata()) == (row["low"], row["high"])
        assert to_hex(span.get_color()) == color_of(str(rung))
        if np.isnan(row["mean"]):
            assert span.get_linewidth() > 5  # a bar
        else:
            assert rows[i][1].get_xdata()[0] == row["mean"]
    low, high = ax.get_xlim()
    assert low < frame["low"].min()
    assert high > frame["high"].max()
    assert ax.get_ylim() == (len(steps.results), 0)


def test_names_assumptions_numbers_and_kinds_are_written() -> None:
    steps = _steps()
    texts = _texts(plot_ladder(steps))
    for rung in steps.results:
        assert rung in texts
        assert f"assumes: {steps.assumptions[rung]}" in texts
    assert texts.count("bounds") == 2
    assert texts.count("95% predictive (eti)") == 6
    row = steps.table().loc[("prevalence", "precision")]
    assert f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" in texts


def test_a_long_assumption_is_cut_and_the_built_in_ones_are_not() -> None:
    evaluation = EvaluationSet(KNOWN, SCORES)
    own = replace(bound_worst_case(evaluation), assumption="a word and another " * 9)
    texts = _texts(plot_ladder(ladder(evaluation, extra={"mine": own}, rng=0)))
    cut = [text for text in texts if text.endswith(" ...")]
    assert len(cut) == 1
    assert cut[0].startswith("assumes: a word and another a word")
    assert len(cut[0]) <= 73


def test_the_kind_of_interval_follows_target_and_probability() -> None:
    texts = _texts(plot_ladder(_steps("population"), ci_prob=0.8))
    assert texts.count("80% credible (eti)") == 6
    assert texts.count("95% confidence") == 2  # bounds keep the level they were computed for


def test_the_truth_is_a_dashed_line_where_it_is_known() -> None:
    ax = plot_ladder(_steps())
    line = next(line for line in ax.lines if line.get_ydata()[0] == 0)
    assert line.get_xdata()[0] == 0.6  # 3 of the 5 rows predicted positive
    assert "truth 0.600" in _texts(ax)
    assert not any("truth" in text for text in _texts(plot_ladder(_steps(with_truth=False))))


def test_rungs_that_were_left_out_are_named() -> None:
    evaluation = EvaluationSet([1, None, 1, None], [0.9, 0.4, 0.8, 0.7])
    steps = ladder(evaluation, rng=0)
    assert steps.left_out
    note = _texts(plot_ladder(steps))[-1].replace("\n", " ")
    assert note.endswith(f"Left out: {', '.join(steps.left_out)}.")
    assert "Left out" not in _texts(plot_ladder(_steps()))[-1]


def test_a_metric_that_is_never_defined_gives_its_reason() -> None:
    evaluation = EvaluationSet([1, 0, None, 1], y_pred=[0, 0, 0, 0])
    steps = ladder(evaluation, metrics=["precision"], rng=0)
    ax = plot_ladder(steps)
    assert not _marks(ax)
    assert sum(text.startswith("undefined: ") for text in _texts(ax)) == len(steps.results)
    assert ax.get_xlim() == (0.0, 1.0)


def test_an_assumption_has_one_color_in_all_figures() -> None:
    steps = _steps()
    rung = "shared unknown rate"
    row = list(steps.results).index(rung)
    law = plot_law(steps.results[rung]["recall"], assumption=rung)
    colors = {
        to_hex(_marks(plot_ladder(steps, metric=m))[row][0].get_color()) for m in steps.metrics
    }
    assert colors == {to_hex(law.lines[0].get_color())}


def test_own_axes_are_drawn_on() -> None:
    own = Figure().add_subplot()
    assert plot_ladder(_steps(), ax=own) is own


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"`ladder` must be a Ladder; got dict\. .*`ladder\(...\)`\.$"
    ):
        plot_ladder({})
    with pytest.raises(
        ValueError, match=r"`metric` must be one of 'precision', 'recall'; got 'f1'\.$"
    ):
        plot_ladder(_steps(), metric="f1")


OTHER_VALUES = {"metric": "recall", "ci_prob": 0.5, "ax": None}


def test_every_option_changes_the_figure() -> None:
    assert OTHER_VALUES.keys() == set(inspect.signature(plot_ladder).parameters) - {"ladder"}
    plain = _texts(plot_ladder(_steps()))
    assert _texts(plot_ladder(_steps(), metric="recall")) != plain
    assert _texts(plot_ladder(_steps(), ci_prob=0.5)) != plain


def test_dollar_signs_in_names_are_no_formula() -> None:
    name = r"cost in $\no_such$"
    steps = _steps()
    rung = next(iter(steps.results))
    named = replace(
        steps,
        results={name: steps.results[rung]},
        assumptions={name: name},
        left_out={name: "why"},
    )
    ax = plot_ladder(named)
    ax.figure.canvas.draw()
    assert any(text.get_text() == name for text in ax.texts)
