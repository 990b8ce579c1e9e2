"""The figures of the checks hold the numbers of the checks."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from labelbayes.bayes.cells import RateCells
from labelbayes.bayes.convergence import diagnose
from labelbayes.bayes.model import LabelModel
from labelbayes.bayes.posterior import Posterior
from labelbayes.bayes.stack import pm, wrap
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.diagnostics.compare import compare_laws
from labelbayes.diagnostics.sbc import sbc_uniformity
from labelbayes.imputation.impute import impute
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.plots.compare import plot_comparison
from labelbayes.plots.sbc import plot_sbc
from labelbayes.plots.style import LIGHT, SPARE_COLORS

EVALUATION = EvaluationSet([1, 0, 1, 0, None, None, None, None], y_pred=[1, 1, 0, 0, 1, 1, 1, 0])


def _closed(method="exact", p=0.6):
    return estimate_pemi(EVALUATION, impute(EVALUATION, np.full(8, p)), method=method)


def _posterior(evaluation=EVALUATION, p=0.6, n_draws=1_000) -> Posterior:
    """Draws whose rates are known, from the completion alone."""
    counts = evaluation.counts
    cells = RateCells(
        (counts,),
        np.array([1, 0]),
        np.array([counts.unlabeled_predicted_positive, counts.unlabeled_predicted_negative]),
        lambda draws: draws["rate"],
    )
    label_model = LabelModel(
        pm.Model(), cells, "toy", "nothing", {}, evaluation.n_labeled, evaluation.n_unlabeled
    )
    rate = xr.DataArray(np.full((4, n_draws, 2), p), dims=("chain", "draw", "bin"))
    drawn = label_model.complete(rate.to_dataset(name="rate"), rng=0)
    return Posterior(label_model, wrap(drawn), "sample", diagnose(drawn, 0))


def _notes(ax) -> str:
    return ax.texts[-1].get_text().replace("\n", " ")


def test_both_cdfs_are_drawn_as_steps() -> None:
    sampled, closed = _posterior(), _closed()
    ax = plot_comparison(sampled, closed, metric="precision")
    exact, drawn = ax.lines[:2]
    assert {exact.get_drawstyle(), drawn.get_drawstyle()} == {"steps-post"}
    at = exact.get_xdata()
    np.testing.assert_allclose(exact.get_ydata(), closed["precision"].cdf(at + 1e-9))
    values = sampled.dataset["precision"].values
    np.testing.assert_allclose(drawn.get_ydata(), [(values <= t + 1e-9).mean() for t in at])
    assert (exact.get_ydata()[0], exact.get_ydata()[-1]) == (0.0, 1.0)
    assert set(np.round(np.unique(values), 9)) <= set(np.round(at, 9))
    assert ax.get_xlabel() == "precision"


def test_the_panel_holds_the_difference_and_the_band() -> None:
    sampled, closed = _posterior(), _closed()
    ax = plot_comparison(sampled, closed, metric="f1")
    (panel,) = ax.child_axes
    difference = panel.lines[-1].get_ydata()
    np.testing.assert_allclose(difference, ax.lines[1].get_ydata() - ax.lines[0].get_ydata())
    row = compare_laws(sampled, closed).loc["f1"]
    band = panel.patches[0].get_height() / 2
    assert band * np.sqrt(row["ess"]) == pytest.approx(1.95)
    assert np.abs(difference).max() < band
    assert panel.get_xlim() == ax.get_xlim()


def test_the_verdict_and_the_numbers_are_written() -> None:
    sampled, closed = _posterior(), _closed()
    row = compare_laws(sampled, closed).loc["accuracy"]
    ax = plot_comparison(sampled, closed)
    assert ax.get_title(loc="left") == "accuracy: draws and closed form agree"
    assert f"Mean {row['mean_z']:+.1f} standard errors" in _notes(ax)
    assert f"scaled distance {row['ks_scaled']:.2f}" in _notes(ax)
    assert "Draws: toy. Closed form: exact law" in _notes(ax)
    wrong = _closed(p=0.7)
    row = compare_laws(sampled, wrong).loc["accuracy"]
    title = plot_comparison(sampled, wrong).get_title(loc="left").replace("\n", " ")
    assert title == f"accuracy: draws and closed form differ: {row['reason'].split(';')[0]}"
    assert "standard errors off" in title


def test_a_gaussian_law_is_a_curve_and_says_what_is_compared() -> None:
    ax = plot_comparison(_posterior(), _closed("gauss"), metric="accuracy")
    assert ax.lines[0].get_drawstyle() == "default"
    assert "only moments are compared" in _notes(ax)
    assert not ax.child_axes[0].patches


def test_undefined_shares_are_written() -> None:
    evaluation = EvaluationSet([0, 0, None, None], y_pred=[1, 0, 1, 0])
    closed = estimate_pemi(evaluation, impute(evaluation, np.full(4, 0.5)))
    ax = plot_comparison(_posterior(evaluation, p=0.5), closed, metric="recall")
    assert "probability 0.25 in the closed form" in _notes(ax)
    assert ax.get_title(loc="left") == "recall: draws and closed form agree"


def test_a_metric_that_is_never_defined_is_said() -> None:
    evaluation = EvaluationSet([0, 1, None], y_pred=[0, 0, 0])
    closed = estimate_pemi(evaluation, impute(evaluation, np.full(3, 0.5)))
    sampled = _posterior(evaluation, p=0.5)
    ax = plot_comparison(sampled, closed, metric="precision")
    assert ax.texts[0].get_text().startswith("undefined in the closed form (")
    lost = sampled.dataset.assign(recall=sampled.dataset["recall"] * np.nan)
    never = Posterior(sampled.label_model, wrap(lost), "sample", sampled.diagnostics)
    ax = plot_comparison(never, closed, metric="recall")
    assert ax.texts[0].get_text() == "undefined in all draws"
    assert "differ" in ax.get_title(loc="left")


def test_own_axes_are_drawn_on_and_other_metrics_refused() -> None:
    own = Figure().add_subplot()
    assert plot_comparison(_posterior(), _closed(), ax=own) is own
    with pytest.raises(ValueError, match=r"^`metric` must be one of 'accuracy', .*; got 'npv'\.$"):
        plot_comparison(_posterior(), _closed(), metric="npv")


def _ranks() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ranks = {
        "recall": rng.integers(0, 200, 500),
        "f1": 50 + rng.integers(0, 100, 500),
        "precision": np.r_[rng.integers(0, 200, 490), np.full(10, np.nan)],
    }
    return pd.concat(
        [pd.DataFrame({"quantity": k, "rank": r, "n_defined": 199}) for k, r in ranks.items()]
    )


def test_quantities_that_fail_are_named_and_colored() -> None:
    ax = plot_sbc(_ranks())
    assert ax.get_title(loc="left") == "Ranks of 3 quantities: 1 not uniform"
    colors = [to_hex(line.get_color()) for line in ax.lines[:3]]
    assert sorted(colors) == sorted([SPARE_COLORS[0], LIGHT.muted, LIGHT.muted])
    (text,) = ax.get_legend().get_texts()
    assert text.get_text() == "f1: draws are too wide"
    assert "No rank for 10 truths" in _notes(ax)
    assert "490 replications" in _notes(ax)


def test_a_line_is_the_cdf_less_the_diagonal_and_the_band_is_the_test() -> None:
    ranks = _ranks()
    ranks = ranks[ranks["quantity"] == "f1"]
    ax = plot_sbc(ranks)
    line = ax.lines[0]
    np.testing.assert_allclose(
        line.get_ydata(),
        [(ranks["rank"] + 1 <= 200 * t + 1e-9).mean() - t for t in line.get_xdata()],
        atol=1e-12,
    )
    band = ax.patches[0].get_height() / 2
    assert np.abs(line.get_ydata()).max() > band
    assert sbc_uniformity(ranks)["ks_p"].item() < 1e-3 / 3


def test_uniform_ranks_have_no_legend() -> None:
    ranks = _ranks()
    own = Figure().add_subplot()
    ax = plot_sbc(ranks[ranks["quantity"] == "recall"], ax=own)
    assert ax is own
    assert ax.get_title(loc="left") == "Ranks of 1 quantity: all uniform"
    assert ax.get_legend() is None
    assert np.abs(ax.lines[0].get_ydata()).max() < ax.patches[0].get_height() / 2


def test_quantities_that_are_never_defined_are_named() -> None:
    ranks = pd.DataFrame({"quantity": "npv", "rank": np.full(20, np.nan), "n_defined": 199})
    ax = plot_sbc(pd.concat([ranks, _ranks()]))
    assert ax.get_title(loc="left") == "Ranks of 4 quantities: 2 not uniform"
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["npv: the truth is never defined", "f1: draws are too wide"]
    assert "490 replications" in _notes(ax)
    assert plot_sbc(ranks).get_title(loc="left") == "Ranks of 1 quantity: 1 not uniform"


def test_dollar_signs_in_names_are_no_formula() -> None:
    name = r"cost in $\no_such$"
    ranks = _ranks()
    failed = ranks.assign(quantity=name, rank=0)
    ax = plot_sbc(failed)
    ax.figure.canvas.draw()
    assert name in ax.get_legend().get_texts()[0].get_text()
