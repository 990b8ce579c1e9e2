"""The figure of a tilt shows the laws, the bounds and the tipping point that belong to it."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from labelbayes.bounds.sensitivity import bound_tilt, tipping_odds_ratio
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.plots.sensitivity import plot_sensitivity

RNG = np.random.default_rng(2)
P = RNG.uniform(0.1, 0.9, 120)
ROWS = EvaluationSet(np.where(RNG.random(120) < 0.5, RNG.random(120) < P, np.nan), P)
BELIEF = impute(ROWS, P)


def test_lines_are_laws_bounds_and_the_claim() -> None:
    ax = plot_sensitivity(ROWS, BELIEF, metric="recall", max_odds_ratio=3, claim=0.6)
    low, high, mean, *_ = ax.get_lines()
    assert mean.get_xdata()[[0, -1]] == pytest.approx([1 / 3, 3])
    tilted = estimate_pemi(ROWS, BELIEF.tilt(3), metrics=["recall"])["recall"]
    assert mean.get_ydata()[-1] == pytest.approx(tilted.mean, abs=1e-12)
    bounds = bound_tilt(ROWS, BELIEF, 3, metrics=["recall"])["recall"]
    for at in (0, -1):
        assert low.get_ydata()[at] == pytest.approx(bounds.low)
        assert high.get_ydata()[at] == pytest.approx(bounds.high)
    tip = tipping_odds_ratio(ROWS, BELIEF, "recall", 0.6)
    said = " ".join(text.get_text() for text in ax.texts).replace("\n", " ")
    assert f"from an odds ratio of {tip:.3g} {'upward' if tip > 1 else 'downward'}" in said
    assert "95% interval, the same for all" in [t.get_text() for t in ax.get_legend().get_texts()]
    plt.close(ax.figure)


@pytest.mark.parametrize(
    ("claim", "sentence"), [(0.999, "fails without any tilt"), (0.0, "stands at every odds ratio")]
)
def test_a_claim_without_a_tipping_point_says_so(claim: float, sentence: str) -> None:
    figure, ax = plt.subplots()
    assert plot_sensitivity(ROWS, BELIEF, metric="accuracy", claim=claim, ax=ax) is ax
    assert sentence in " ".join(text.get_text() for text in ax.texts).replace("\n", " ")
    plt.close(figure)


def test_bad_ranges_are_refused() -> None:
    with pytest.raises(ValueError, match="`max_odds_ratio` must be above 1; got 1"):
        plot_sensitivity(ROWS, BELIEF, max_odds_ratio=1)
    with pytest.raises(ValueError, match="`metrics` must be count metrics; got 'roc_auc'"):
        plot_sensitivity(EvaluationSet([1, None], [0.9, 0.1]), BELIEF, metric="roc_auc")
