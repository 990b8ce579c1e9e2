"""The probability of a claim under tilted odds: with and without the laws of all fits."""

import math

import numpy as np
import pytest

from labelbayes.bounds import tilted_counts
from labelbayes.bounds.tilted_counts import ROUGH, TiltedClaim
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.impute import impute
from labelbayes.laws.count_metrics import exact_law
from labelbayes.laws.missing_counts import count_pairs
from labelbayes.metrics.confusion import COUNT_METRICS

RNG = np.random.default_rng(8)
P = RNG.uniform(0.02, 0.98, 600)
Y = np.where(RNG.random(600) < 0.4, (RNG.random(600) < P).astype(float), np.nan)
ROWS = EvaluationSet(Y, P)
ONLY_ONE_DECISION = EvaluationSet([1.0, *[np.nan] * 80], y_pred=[0] * 81)
BELIEFS = {
    "bins": (ROWS, impute(ROWS, "histogram", n_refits=4, rng=0)),
    "rows": (ROWS, impute(ROWS, np.where(P > 0.9, 1.0, P))),
    "refits of rows": (ROWS, impute(ROWS, "platt", n_refits=3, rng=0)),
    "undefined at times": (ONLY_ONE_DECISION, impute(ONLY_ONE_DECISION, "maxent")),
}


def exact(name: str, rows: EvaluationSet, belief: Imputation, claim: float, odds: float) -> float:
    law = exact_law(COUNT_METRICS[name], rows.counts, count_pairs(rows, belief.tilt(odds)))
    return law.prob_at_least(claim)


@pytest.mark.parametrize("name", ["f1", "accuracy", "precision", "recall", "matthews_corrcoef"])
@pytest.mark.parametrize("belief", BELIEFS)
def test_probabilities_are_those_of_the_laws(
    name: str, belief: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Few classes, so that rows share one and its two ends differ.
    monkeypatch.setattr(tilted_counts, "MOST_CLASSES", 100)
    rows, given = BELIEFS[belief]
    for claim in (0.0, 0.3, 0.6, 0.75):
        claimed = TiltedClaim.from_belief(COUNT_METRICS[name], claim, rows, given)
        for odds in (1e-4, 0.1, 0.7, 1.0, 3.0, 1e4):
            expected = exact(name, rows, given, claim, odds)
            assert claimed.prob(odds) == pytest.approx(expected, abs=1e-12, nan_ok=True)
            assert math.isnan(claimed.prob(odds)) == math.isnan(expected)
            for prob in (0.05, 0.5, 0.95):
                assert claimed.is_likely(odds, prob) == (not expected < prob)


def test_limits_hold_as_often_as_they_say_and_spare_most_laws() -> None:
    rows, given = BELIEFS["bins"]
    claimed = TiltedClaim.from_belief(COUNT_METRICS["f1"], 0.6, rows, given)
    spared = 0
    for odds in np.exp(np.arange(-9, 9.5, 0.5)).tolist():
        holds, fails = claimed._verdicts(odds, ROUGH)
        spared += int((holds | fails).all())
        for i, pair in enumerate(count_pairs(rows, given.tilt(odds))):
            for law, side in zip(pair, claimed.classes, strict=True):
                low, high = side.limits(odds, ROUGH)
                outside = 1 - law.prob(np.arange(low[i], high[i] + 1, dtype=np.int64)).sum()
                assert outside < 2 * math.exp(-ROUGH) + 1e-12
                if odds == 1.0:
                    # A planted error: limits of far less reach are passed far more often.
                    low, high = side.limits(odds, 0.05)
                    inside = law.prob(np.arange(low[i], high[i] + 1, dtype=np.int64)).sum()
                    assert 1 - inside > 0.1
    assert spared > 20
