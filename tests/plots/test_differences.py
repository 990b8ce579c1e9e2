"""The figure of differences holds laws, zero and who is better."""

import inspect
import re

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.patches import StepPatch

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.differences import compare_groups, compare_models
from labelbayes.plots.differences import plot_differences
from labelbayes.plots.style import DARK, PALETTE, new_axes
from labelbayes.results.distribution import DiscreteLaw, DrawsLaw
from labelbayes.results.estimates import Estimates

N = 200
RNG = np.random.default_rng(0)
SCORE = RNG.random(N)
OTHER = np.clip(SCORE + RNG.normal(0, 0.3, N), 0, 1)
Y = np.where(RNG.random(N) < 0.5, RNG.random(N) < SCORE, np.nan)
GROUP = RNG.choice(["east", "west"], N)
A, B = EvaluationSet(Y, SCORE, group=GROUP), EvaluationSet(Y, OTHER)
BELIEF = impute(A, (SCORE + OTHER) / 2, features=np.column_stack([SCORE, OTHER]))
MODELS = compare_models(A, B, BELIEF, n_draws=500, rng=0)
GROUPS = compare_groups(A, impute(A, SCORE, features=GROUP), metrics=["recall", "accuracy"])


def made(laws: dict[str, object]) -> Estimates:
    return Estimates(laws, "method", "assumption", "sample", "predictive", 1, 1)


def test_each_metric_has_a_row_with_its_law_interval_and_probability() -> None:
    ax = plot_differences(MODELS, names=("new", "old"))
    assert [text.get_text() for text in ax.get_yticklabels()] == list(MODELS)
    assert ax.get_xlabel() == "new less old"
    rows = [line for line in ax.lines if line.get_marker() == "|"]
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert len(rows) == len(dots) == len(MODELS)
    for place, (name, law) in enumerate(MODELS.items()):
        span = law.interval(0.95)
        assert rows[place].get_xdata() == pytest.approx([span.low, span.high])
        assert set(rows[place].get_ydata()) == {-place}
        assert dots[place].get_xdata() == pytest.approx([law.mean])
        said = ax.texts[place].get_text()
        share = 1 - float(law.cdf(0.0))
        if 5e-4 < share < 1 - 5e-4:
            assert f"new better: {100 * share:.1f}%" in said, name
    zero = [line for line in ax.lines if list(line.get_xdata()) == [0, 0]]
    assert len(zero) == 1
    notes = ax.texts[-1].get_text().replace("\n", " ")
    assert notes.startswith("Bars: 95% predictive (eti) intervals; dots: means; dashes: no")
    assert MODELS.method[1:] in notes


def test_steps_and_stems_are_the_law() -> None:
    ax = plot_differences(MODELS, metric="f1")
    steps = next(patch for patch in ax.patches if isinstance(patch, StepPatch)).get_data()
    law = MODELS["f1"]
    mass = np.diff(law.cdf(steps.edges)) / np.diff(steps.edges)
    height = steps.values - steps.baseline
    np.testing.assert_allclose(height / height.max(), mass / mass.max(), atol=1e-12)
    few = compare_models(
        A.subset(GROUP == "east"),
        B.subset(GROUP == "east"),
        BELIEF.subset(GROUP == "east"),
        metrics=["accuracy"],
    )
    stems = [c for c in plot_differences(few).collections if isinstance(c, LineCollection)]
    assert len(stems) == 1
    x = np.array([path.vertices[0, 0] for path in stems[0].get_paths()])
    tall = np.array([np.ptp(path.vertices[:, 1]) for path in stems[0].get_paths()])
    atoms = few["accuracy"].atoms()
    at = [int(np.argmin(abs(atoms.support - value))) for value in x]
    np.testing.assert_allclose(tall / tall.max(), atoms.pmf[at] / atoms.pmf.max(), atol=1e-12)


def test_pairs_of_groups_are_rows_of_one_metric() -> None:
    ax = plot_differences(GROUPS)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["east less west"]
    assert ax.get_xlabel() == "difference of recall"
    assert "east higher: " in ax.texts[0].get_text()
    assert plot_differences(GROUPS, metric="accuracy").get_xlabel() == "difference of accuracy"


def test_draws_are_never_certain_and_laws_may_be() -> None:
    sure = DiscreteLaw(np.array([0.1, 0.2]), np.array([0.5, 0.5]))
    equal = DiscreteLaw(np.array([0.0]), np.array([1.0]))
    drawn = DrawsLaw(np.array([0.1, 0.2]))
    ax = plot_differences(made({"sure": sure, "equal": equal, "drawn": drawn}))
    said = [text.get_text() for text in ax.texts[:3]]
    assert said == ["A better: 100%", "A better: 0%\ntie: 100%", "A better: above 99.9%"]


def test_undefined_is_said() -> None:
    never = DiscreteLaw(np.empty(0), np.empty(0), 1.0, "no row, in one of the two groups")
    some = DiscreteLaw(np.array([0.1, 0.3]), np.array([0.5, 0.5]), 0.25, "no row is positive")
    ax = plot_differences(made({"precision": never, "recall": some}))
    texts = [text.get_text().replace("\n", " ") for text in ax.texts]
    assert texts[0] == "undefined: no row, in one of the two groups"
    assert "recall: undefined with probability 0.25 (no row is positive); all that is" in texts[-1]


def test_color_is_that_of_the_rung_and_dark_pages_are_readable() -> None:
    ax = plot_differences(MODELS, assumption="prevalence")
    assert ax.lines[0].get_color() == PALETTE["prevalence"]
    dark = new_axes(6, 4)
    dark.set_facecolor(DARK.page)
    assert plot_differences(MODELS, metric="f1", ax=dark) is dark
    assert dark.texts[0].get_color() == DARK.text


def test_names_with_dollar_signs_are_shown_as_they_are() -> None:
    ax = plot_differences(MODELS, metric="f1", names=("$5", "$10"))
    ax.figure.canvas.draw()
    assert ax.get_xlabel() == "$5 less $10"
    assert not ax.texts[0].get_parse_math()


@pytest.mark.parametrize(
    ("differences", "options", "error", "sentence"),
    [
        (MODELS, {"metric": "npv"}, ValueError, "`metric` must be one of 'accuracy'"),
        (GROUPS, {"metric": "npv"}, ValueError, "`metric` must be one of 'recall', 'accuracy'"),
        ({}, {}, ValueError, "at least one pair"),
        (3, {}, TypeError, "`differences` must be a Mapping; got int"),
        ({("a", "b"): 3}, {}, TypeError, "must be an Estimates; got int"),
    ],
)
def test_what_cannot_be_drawn_is_refused(differences, options, error, sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        plot_differences(differences, **options)


def test_every_option_is_tried_here() -> None:
    options = inspect.signature(plot_differences).parameters
    assert list(options) == ["differences", "metric", "names", "assumption", "ax"]


@pytest.mark.parametrize(
    ("differences", "options", "sentence"),
    [
        (MODELS, {"names": ("A",)}, "`names` must be a pair of texts"),
        (MODELS, {"names": "AB"}, "`names` must be a pair of texts"),
        (MODELS, {"assumption": None}, "`assumption` must be a str; got NoneType"),
        (MODELS, {"ax": "x"}, "`ax` must be an Axes; got str"),
        ({"east": MODELS}, {}, "`differences` must have pairs of groups as keys; got 'east'"),
    ],
)
def test_what_cannot_be_drawn_is_named(differences, options, sentence) -> None:
    with pytest.raises(TypeError, match=re.escape(sentence)):
        plot_differences(differences, **options)
