"""Coverage of the whole pipeline, from masked rows to exact intervals of four metrics."""

import numpy as np
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.metrics.registry import resolve_count_metrics

METRICS = resolve_count_metrics(None)


def coverage(n_replications: int, seed: int) -> dict[str, np.ndarray]:
    """Share of 95% intervals that hold the metric of all 1,000 rows, 900 of them masked."""
    rng = np.random.default_rng(seed)
    held: dict[str, list[list[bool]]] = {"refits": [], "plug-in": []}
    for _ in range(n_replications):
        score = 1 / (1 + np.exp(-rng.normal(-0.3, 1.5, 1_000)))
        truth = (rng.random(1_000) < score).astype(float)
        masked = rng.random(1_000) < 0.9
        evaluation = EvaluationSet(np.where(masked, np.nan, truth), score)
        complete = EvaluationSet(truth, score).counts
        cells = (complete.tp, complete.fp, complete.fn, complete.tn)
        belief = impute(evaluation, "scaling_binning", n_refits=50, rng=rng)
        for name, one in [("refits", belief), ("plug-in", belief.without_refits())]:
            laws = estimate_pemi(evaluation, one, metrics=METRICS)
            # The interval from quantile .025 to quantile .975 holds t where P(M <= t) >= .025
            # and P(M < t) < .975, which needs no quantile.
            held[name].append(
                [
                    float(laws[m.name].cdf(value)) >= 0.025
                    and 1 - laws[m.name].prob_at_least(value) < 0.975
                    for m in METRICS
                    for value in [float(m(*cells))]
                ]
            )
    return {name: np.mean(rows, axis=0) for name, rows in held.items()}


def test_refits_cover_and_the_plug_in_does_not() -> None:
    share = coverage(40, seed=3)
    # 3.3 standard errors of .95 in 40 replications reach from .836 to beyond 1; an interval
    # that ignores the calibration covers 2 Phi(1.96 sqrt(.1)) - 1 = .46, .72 at 3.3 of them.
    assert (share["refits"] > 0.836).all()
    assert (share["plug-in"] < 0.72).all()


@pytest.mark.slow
def test_refits_cover_to_both_sides() -> None:
    share = coverage(400, seed=4)
    assert (share["refits"] > 0.914).all()
    assert (share["refits"] < 0.986).all()
    assert (share["plug-in"] < 0.914).all()


def test_membership_by_cdf_is_membership_in_the_interval() -> None:
    rng = np.random.default_rng(0)
    evaluation = EvaluationSet(np.where(rng.random(60) < 0.5, np.nan, 1.0), rng.random(60))
    law = estimate_pemi(evaluation, impute(evaluation, np.full(60, 0.4)), metrics=["f1"])["f1"]
    low, high = law.quantile([0.025, 0.975])
    for t in [*law.quantile(np.linspace(0.001, 0.999, 200)), low - 1e-9, high + 1e-9]:
        by_cdf = float(law.cdf(t)) >= 0.025 and 1 - law.prob_at_least(float(t)) < 0.975
        assert by_cdf is bool(low <= t <= high)
