"""The Bayesian rungs of the ladder: there when asked for, with the metrics and target asked for."""

import pytest

from labelbayes.data.masking import mask_mcar
from labelbayes.data.simulate import simulate_scores
from labelbayes.ladder import RUNGS, ladder

COMPLETE = simulate_scores(300, intercept=-0.5, rng=1)
SOME = mask_mcar(COMPLETE, 0.5, rng=1)
NAMES = [rung.name for rung in RUNGS if rung.options == ("bayes",)]


@pytest.mark.slow
def test_bayesian_rungs_stand_above_the_others_and_agree_with_the_refits() -> None:
    steps = ladder(SOME, metrics=["npv", "roc_auc"], bayes=True, truth=COMPLETE, rng=0)
    assert list(steps.results)[-3:] == NAMES
    assert steps.left_out == {}
    refits = steps.results["calibration with its uncertainty"]["npv"]
    for name in NAMES:
        result = steps.results[name]
        assert result.target == "sample"
        # Priors and bins move the mean by less than the spread that they all report.
        assert abs(result["npv"].mean - refits.mean) < refits.sd
        assert 0.5 < result["npv"].sd / refits.sd < 2.0
    tilted = steps.results["calibration (Bayes, tilted)"]
    assert tilted.statement == "sensitivity"
    assert tilted["npv"].sd > steps.results["calibration (Bayes, Platt)"]["npv"].sd
    assert any("mostly the prior" in note for note in tilted.notes)
