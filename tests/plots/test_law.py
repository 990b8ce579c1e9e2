"""The figure of a law holds the law."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from labelbayes.bounds.worst_case import bound_worst_case
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.plots.law import plot_law
from labelbayes.plots.shapes import MAX_STEMS, shape_of
from labelbayes.plots.style import PALETTE
from labelbayes.results.continuous import NormalLaw, RatioLaw
from labelbayes.results.distribution import DiscreteLaw, DrawsLaw
from labelbayes.results.mixture import MixtureLaw

COIN = DiscreteLaw(np.array([0.75, 1.0]), np.array([0.4, 0.6]))


def _laws(n_rows=400, n_refits=0, metrics=("accuracy", "recall", "f1"), method="exact"):
    rng = np.random.default_rng(5)
    score = rng.random(n_rows)
    label = np.where(rng.random(n_rows) < 0.5, np.nan, rng.random(n_rows) < score)
    evaluation = EvaluationSet(label, score)
    belief = impute(evaluation, "histogram", n_refits=n_refits, rng=1)
    return estimate_pemi(evaluation, belief, metrics=metrics, method=method, rng=2)


def _stems(ax):
    points = [line for line in ax.lines if line.get_linestyle() == "None"]
    return points[0].get_xdata(), points[0].get_ydata()


def _legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_few_values_are_stems_with_their_probabilities() -> None:
    ax = plot_law(COIN, metric="precision")
    x, y = _stems(ax)
    np.testing.assert_array_equal(x, COIN.support)
    np.testing.assert_array_equal(y, COIN.pmf)
    assert ax.get_xlabel() == "precision"
    assert ax.get_ylabel() == "probability"


def test_the_exact_law_is_drawn_as_it_is() -> None:
    law = _laws(40)["accuracy"]
    x, y = _stems(plot_law(law))
    assert len(x) <= MAX_STEMS
    np.testing.assert_allclose(np.cumsum(y), law.cdf(x), atol=2e-4)
    assert y.sum() == pytest.approx(1.0, abs=3e-4)


@pytest.mark.parametrize("n_refits", [0, 5])
def test_many_values_are_steps_of_the_cdf(n_refits: int) -> None:
    law = _laws(n_refits=n_refits)["f1"]
    ax = plot_law(law)
    steps = next(patch for patch in ax.patches if isinstance(patch, StepPatch)).get_data()
    mass = steps.values * np.diff(steps.edges)
    np.testing.assert_allclose(np.cumsum(mass), law.cdf(steps.edges[1:]) - law.cdf(steps.edges[0]))
    assert mass.sum() == pytest.approx(1.0, abs=3e-4)
    assert f"in {len(mass)} bins" in ax.get_ylabel()


def test_evenly_spaced_values_show_no_comb() -> None:
    law = _laws(4_000, metrics=("accuracy",))["accuracy"]
    shape = shape_of(law)
    assert shape.form == "steps"
    turns = np.diff(np.sign(np.diff(shape.y)))
    assert np.count_nonzero(turns) <= 3
    # The same law on bins that ignore where its values lie does show one.
    edges = np.linspace(shape.x[0], shape.x[-1], 41)
    density = np.diff(law.cdf(edges))
    assert np.count_nonzero(np.diff(np.sign(np.diff(density)))) > 3


def test_a_law_too_long_to_list_is_drawn_from_its_cdf() -> None:
    rng = np.random.default_rng(2)
    y_pred = rng.random(200_000) < 0.5
    evaluation = EvaluationSet(np.full(200_000, np.nan), y_pred=y_pred)
    law = estimate_pemi(evaluation, impute(evaluation, "maxent"), metrics=["f1"])["f1"]
    shape = shape_of(law)
    assert shape.form == "steps"
    assert (shape.y * np.diff(shape.x)).sum() == pytest.approx(1.0, abs=3e-4)


@pytest.mark.parametrize(
    "law",
    [
        NormalLaw(0.8, 0.05),
        RatioLaw(50.0, 80.0, 4.0, 6.0, 3.0),
        MixtureLaw((NormalLaw(0.4, 0.05), NormalLaw(0.6, 0.05))),
    ],
)
def test_a_continuous_law_is_a_density(law) -> None:
    ax = plot_law(law)
    line = ax.lines[0]
    x, y = line.get_xdata(), line.get_ydata()
    assert np.trapezoid(y, x) == pytest.approx(1.0, abs=2e-3)
    assert ax.get_ylabel() == "density"


def test_mass_at_the_end_of_the_range_is_said() -> None:
    law = NormalLaw(0.95, 0.05)
    shape = shape_of(law)
    assert shape.at_ends == (0.0, pytest.approx(1 - law.cdf(1 - 1e-9), abs=1e-6))
    assert any("sits at 1 itself" in text.get_text() for text in plot_law(law).texts)
    assert shape_of(NormalLaw(0.5, 0.05)).at_ends == (0.0, 0.0)


def test_draws_are_shares() -> None:
    law = DrawsLaw(np.array([0.2, np.nan, 0.4, 0.4]), "no row is positive")
    ax = plot_law(law, metric="recall")
    x, y = _stems(ax)
    np.testing.assert_allclose(x, [0.2, 0.4])
    np.testing.assert_allclose(y, [1 / 3, 2 / 3])
    assert ax.get_ylabel() == "share of 4 draws"
    note = ax.texts[0].get_text()
    assert note.startswith("recall is undefined with probability 0.25 (no row is positive)")
    many = DrawsLaw(np.random.default_rng(1).normal(0.5, 0.1, 5_000))
    assert shape_of(many).form == "steps"


def test_a_point_is_one_stem() -> None:
    for law in (NormalLaw(0.9, 0.0), DiscreteLaw(np.array([0.9]), np.array([1.0]))):
        x, y = _stems(plot_law(law))
        assert (x.tolist(), y.tolist()) == ([0.9], [1.0])


def test_interval_and_mean_are_marked_and_named() -> None:
    ax = plot_law(COIN, ci_prob=0.5, kind="hdi", truth=0.9)
    span = COIN.interval(0.5, "hdi")
    mark = next(line for line in ax.lines if str(line.get_label()).startswith("50% interval"))
    assert tuple(mark.get_xdata()) == (span.low, span.high)
    assert _legend(ax) == [
        f"50% interval (hdi) {span.low:.3f} to {span.high:.3f}",
        "mean 0.900",
        "truth 0.900",
    ]
    low, high = ax.get_xlim()
    assert low < 0.75
    assert high > 1.0


def test_an_undefined_law_gives_its_reason() -> None:
    law = DiscreteLaw(np.empty(0), np.empty(0), 1.0, "no row is predicted positive")
    ax = plot_law(law, metric="precision")
    assert [text.get_text() for text in ax.texts] == [
        "precision is undefined here:\nno row is predicted positive"
    ]
    assert not ax.lines


def test_the_color_is_that_of_the_assumption() -> None:
    ax = plot_law(COIN, assumption="prevalence")
    assert ax.get_legend().get_title().get_text() == "prevalence"
    assert {line.get_color() for line in ax.lines[:3]} >= {PALETTE["prevalence"]}


def test_own_axes_are_drawn_on_and_others_made() -> None:
    own = Figure().add_subplot()
    assert plot_law(COIN, ax=own) is own
    made = plot_law(COIN)
    assert made.figure.number in plt.get_fignums()
    assert made.figure.get_facecolor() == (1.0, 1.0, 1.0, 1.0)


def test_a_dark_page_gets_light_text() -> None:
    own = Figure(facecolor="black").add_subplot(facecolor="black")
    plot_law(COIN, ax=own)
    assert own.xaxis.label.get_color() == "#e6edf3"


def test_estimates_name_the_axis() -> None:
    estimates = _laws(40)
    for name in estimates:
        ax, twin = plot_law(estimates, metric=name), plot_law(estimates[name], metric=name)
        assert _picture(ax) == _picture(twin)
        assert ax.get_xlabel() == name
    assert plot_law(estimates).get_xlabel() == "accuracy"  # the first, as in other figures
    drawn = _laws(40, method="sampled")
    assert plot_law(drawn, metric="recall").get_xlabel() == "recall"
    with pytest.raises(ValueError, match="`metric` must be one of 'accuracy', 'recall', 'f1'"):
        plot_law(estimates, metric="precision")


@pytest.mark.parametrize("n_refits", [0, 5])
def test_an_exact_law_of_counts_names_itself(n_refits: int) -> None:
    estimates = _laws(40, n_refits=n_refits)
    for name, law in estimates.items():
        assert plot_law(law).get_xlabel() == name
    assert plot_law(estimates["recall"], metric="sensitivity").get_xlabel() == "sensitivity"


@pytest.mark.parametrize(
    "law",
    [
        COIN,
        MixtureLaw((NormalLaw(0.4, 0.05), NormalLaw(0.6, 0.05))),
        # What is no single metric has no name, whatever its parts are called.
        MixtureLaw((_laws(40)["recall"], _laws(40)["f1"])),
        MixtureLaw((_laws(40)["recall"], COIN)),
    ],
)
def test_a_law_without_a_name_is_a_metric(law) -> None:
    assert plot_law(law).get_xlabel() == "metric"


def test_something_else_is_refused() -> None:
    bounds = bound_worst_case(EvaluationSet([1, 0, None], [0.9, 0.2, 0.8]))
    with pytest.raises(TypeError) as raised:
        plot_law(bounds)
    assert str(raised.value) == (
        "`law` must be the law of one metric, or estimates; got Bounds. Pick one by name, e.g. "
        "`estimates['recall']`."
    )


OTHER_VALUES = {
    "metric": "recall",
    "assumption": "prevalence",
    "ci_prob": 0.5,
    "kind": "hdi",
    "truth": 0.8,
    "ax": None,  # tested above
}


def _picture(ax):
    lines = [(line.get_xydata().tolist(), line.get_color()) for line in ax.lines]
    return [lines, _legend(ax), ax.get_xlabel()]


def test_every_option_changes_the_figure() -> None:
    law = DiscreteLaw(np.arange(5) / 4, np.array([0.05, 0.1, 0.2, 0.3, 0.35]))
    assert OTHER_VALUES.keys() == set(inspect.signature(plot_law).parameters) - {"law"}
    plain = _picture(plot_law(law))
    for name, value in OTHER_VALUES.items():
        assert name == "ax" or _picture(plot_law(law, **{name: value})) != plain, name


@pytest.mark.parametrize(
    ("law", "places"),
    [
        (NormalLaw(0.5, 1e-17), [0.5]),
        (NormalLaw(0.5, 3.5e-151), [0.5]),
        (NormalLaw(0.0, 3.5e-151), [0.0]),
        (NormalLaw(1.5, 0.01), [1.0]),  # all of its mass is at the end of the range
        (NormalLaw(1.5, 0.0), [1.0]),
        (MixtureLaw((NormalLaw(0.5, 0.0), NormalLaw(0.5, 0.0))), [0.5]),
        (MixtureLaw((NormalLaw(0.5, 0.0), NormalLaw(0.6, 0.0))), [0.5, 0.6]),
        (MixtureLaw((NormalLaw(0.5, 1e-9), NormalLaw(), NormalLaw(0.6, 1e-17))), [0.5, 0.6]),
    ],
)
def test_a_law_without_width_is_a_stem_where_its_mass_is(law, places) -> None:
    ax = plot_law(law)
    ax.figure.canvas.draw()
    x, y = _stems(ax)
    np.testing.assert_array_equal(x, places)
    np.testing.assert_allclose(y, 1 / len(places))


def test_a_narrow_law_is_still_a_curve() -> None:
    shape = shape_of(NormalLaw(0.5, 1e-8))
    assert shape.form == "curve"
    assert shape.y.max() == pytest.approx(1e8 / np.sqrt(2 * np.pi), rel=1e-3)


def test_an_infinite_truth_is_said_and_not_drawn() -> None:
    ax = plot_law(NormalLaw(0.5, 0.1), truth=np.inf)
    ax.figure.canvas.draw()
    assert "The truth is inf" in ax.texts[0].get_text()
    assert not any("truth" in text for text in _legend(ax))


#: Matplotlib raises when it reads this as a formula.
NO_FORMULA = r"cost in $\no_such$"


@pytest.mark.parametrize("law", [COIN, NormalLaw()])
def test_dollar_signs_in_names_are_no_formula(law) -> None:
    ax = plot_law(law, metric=NO_FORMULA, assumption=NO_FORMULA)
    ax.figure.canvas.draw()
    assert ax.get_xlabel() == NO_FORMULA
    # The check sees a name that is read as a formula.
    ax.set_title(NO_FORMULA)
    with pytest.raises(ValueError, match="no_such"):
        ax.figure.canvas.draw()


def test_a_later_label_may_be_a_formula() -> None:
    ax = plot_law(COIN, metric="recall")
    assert ax.xaxis.label.get_parse_math()
