"""Figures of positive-unlabeled bounds hold the numbers they are to show."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from labelbayes.bayes.rank_bootstrap import rank_bootstrap
from labelbayes.bounds.beta_prior import BetaPrior
from labelbayes.bounds.beta_sweep import sweep_beta
from labelbayes.bounds.positive_unlabeled import bound_positive_unlabeled
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.plots.beta_sweep import plot_beta_sweep
from labelbayes.plots.bound_widths import plot_bound_widths
from labelbayes.plots.curve_bounds import plot_curves


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows() -> tuple[EvaluationSet, EvaluationSet]:
    rng = np.random.default_rng(1)
    truth = np.arange(300) < 120
    y_true = np.where(np.arange(300) < 30, 1.0, np.nan)
    score = rng.normal(truth, 1.0)
    return EvaluationSet(y_true, score, pos_label=1), EvaluationSet(truth, score)


def texts(ax) -> str:
    return " ".join(" ".join(text.get_text() for text in ax.texts).split())


def test_roc_shows_both_ends_the_posterior_and_the_truth(rows) -> None:
    some, complete = rows
    result = bound_positive_unlabeled(some, 1 / 3)
    posterior = rank_bootstrap(some, BetaPrior(30, 60), n_draws=200, rng=0)
    ax = plot_curves(result, posterior=posterior, truth=complete)
    frame = result.roc()
    lower, upper = ax.lines[:2]
    np.testing.assert_array_equal(lower.get_xdata(), frame["fpr_high"])
    np.testing.assert_array_equal(upper.get_ydata(), frame["tpr_high"])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["95% bounds", "posterior median", "95% credible (pointwise)", "truth"]
    median = posterior.dataset["tpr"].median(("chain", "draw")).to_numpy()
    np.testing.assert_allclose(ax.lines[2].get_ydata(), median)
    area = result.auc()
    assert ax.get_title(loc="left") == f"ROC area in [{area.low:.3f}, {area.high:.3f}]"
    assert "random sample" in texts(ax)
    assert (ax.lines[-1].get_xdata()[-1], ax.lines[-1].get_ydata()[-1]) == (1, 1)


def test_precision_recall_shows_both_ends(rows) -> None:
    some, complete = rows
    result = bound_positive_unlabeled(some, 1 / 3)
    _, ax = plt.subplots()
    assert plot_curves(result, curve="precision_recall", truth=complete, ax=ax) is ax
    frame = result.precision_recall()
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), frame["recall_high"])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), frame["precision_low"])
    assert ax.get_ylabel() == "precision"
    population = bound_positive_unlabeled(some, 1 / 3, target="population")
    title = plot_curves(population, curve="precision_recall").get_title(loc="left")
    assert title == "Precision-recall curve"


def test_sweeps_show_models_bounds_and_flips(rows) -> None:
    some, _ = rows
    other = EvaluationSet(some.y_true, some.y_score - 1.2, pos_label=1)
    sweep = sweep_beta({"bold": some, "careful $x": other}, betas=np.linspace(0.05, 0.5, 10))
    ax = plot_beta_sweep(sweep, metric="accuracy")
    flips = sweep.flips.query("metric == 'accuracy' and series == 'point'")
    dashed = [line.get_xdata()[0] for line in ax.lines[2:]]
    assert dashed == pytest.approx(flips["beta"].tolist())
    assert len(flips) == 1
    assert ax.get_title(loc="left") == "accuracy: order flips 1 time"
    assert len(ax.collections) == 0
    area = plot_beta_sweep(sweep)
    assert len(area.collections) == 2
    assert "Bands: 95% bounds" in texts(area)
    names = [text.get_text() for text in area.get_legend().get_texts()]
    assert names == ["bold", "careful $x"]


def test_widths_are_drawn_on_a_logarithmic_scale() -> None:
    index = pd.Index([20, 200, 2_000], name="known positives")
    table = pd.DataFrame({"recall": [0.4, 0.1, 0.03], "roc_auc": [0.5, 0.2, 0.1]}, index)
    ax = plot_bound_widths(table)
    assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "known positives")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), table["recall"])
    table.index = pd.Index([0, 10, 20], name="known negatives")
    assert plot_bound_widths(table).get_xscale() == "linear"


def test_faults_are_named(rows) -> None:
    some, _ = rows
    with pytest.raises(TypeError, match=r"must be a CurveBounds; got EvaluationSet.*`plot_roc`"):
        plot_curves(some)
    with pytest.raises(ValueError, match="`curve` must be one of 'roc', 'precision_recall'"):
        plot_curves(bound_positive_unlabeled(some, 0.3), curve="det")
    with pytest.raises(TypeError, match="`sweep` must be a BetaSweep"):
        plot_beta_sweep(some)
    with pytest.raises(ValueError, match="`metric` must be one of 'accuracy'"):
        plot_beta_sweep(sweep_beta({"a": some}, betas=[0.2]), metric="mcc")
    with pytest.raises(ValueError, match="at least one number of rows"):
        plot_bound_widths(pd.DataFrame())
    bounds = bound_positive_unlabeled(some, 0.3)
    for options, error, match in [
        ({"posterior": some}, TypeError, "`posterior` must hold curves, as from `rank_bootstrap`"),
        ({"truth": 1}, TypeError, "`truth` must be an EvaluationSet; got int"),
        ({"truth": some}, ValueError, "`truth` must have every label"),
        ({"truth": EvaluationSet([1, 0], [1, 2])}, ValueError, "must complete the evaluation's"),
        ({"ax": 1}, TypeError, "`ax` must be an Axes; got int"),
    ]:
        with pytest.raises(error, match=match):
            plot_curves(bounds, **options)
    for table in [pd.DataFrame({"f1": [0.1]}, ["a"]), pd.DataFrame({"f1": ["a"]}, [10])]:
        with pytest.raises(TypeError, match=r"`widths` must hold numbers; '(index|f1)' holds"):
            plot_bound_widths(table)


def test_what_is_undefined_or_unnamed_is_said_in_words() -> None:
    hidden = EvaluationSet([1, None, None], [0.9, 0.8, 0.1])
    ax = plot_curves(bound_positive_unlabeled(hidden, 1.0))
    assert ax.get_title(loc="left") == "ROC area undefined"
    ax = plot_bound_widths(pd.DataFrame({"f1": [0.1, 0.4]}, [200, 20]))
    assert ax.get_xlabel() == "rows"
    assert ax.lines[0].get_xdata().tolist() == [20, 200]
    ax = plot_curves(bound_positive_unlabeled(hidden, 0.5, target="population"))
    assert ax.get_legend().get_texts()[0].get_text() == "95% confidence"
