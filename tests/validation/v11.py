"""V11: marginal sensitivity bounds hold the truth inside the stated odds ratio, and miss outside.

Labels are missing by a selector that nobody measured, with a known odds ratio.
"""

import time
from collections.abc import Sequence

import numpy as np
import pandas as pd

from labelbayes.bounds.marginal_sensitivity import bound_marginal_sensitivity
from labelbayes.bounds.odds_limits import odds_limits
from labelbayes.data.simulate_selection import simulate_selection
from labelbayes.imputation.impute import impute
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.weighting.aipw import tilt
from tests.validation.v10 import METRICS, gates, population_truth

MAX_ODDS_RATIO = 2.0
#: Odds ratios of missing rows: inside the stated range, at its edge, and outside.
INSIDE, OUTSIDE = (0.5, 0.7, 1.4, 2.0), (0.15, 7.0)
N_ROWS, FLOOR = 1_500, 0.1
SEED = 20260421


def containment(odds_ratio: float, *, n: int, metrics: Sequence[str] = METRICS) -> pd.Series:
    """Return how often Imbens-Manski intervals of the population hold its metrics."""
    truth = population_truth(floor=FLOOR, odds_ratio=odds_ratio)
    rng = np.random.default_rng([SEED, int(100 * odds_ratio)])
    held = []
    for _ in range(n):
        made = simulate_selection(N_ROWS, floor=FLOOR, odds_ratio=odds_ratio, rng=rng)
        found = bound_marginal_sensitivity(
            made.evaluation,
            made.outcome,
            MAX_ODDS_RATIO,
            propensity=made.propensity,
            metrics=metrics,
            target="population",
        )
        held.append([truth[metric] in found[metric] for metric in metrics])
    return pd.Series(np.mean(held, axis=0), index=list(metrics))


def boxes(odds_ratio: float, *, n: int) -> float:
    """Return how often laws under the two ends bracket the law under the true tilt."""
    rng = np.random.default_rng([SEED, 7])
    grid = np.linspace(0.3, 1, 29)
    held = []
    for _ in range(n):
        made = simulate_selection(120, floor=FLOOR, odds_ratio=odds_ratio, rng=rng)
        evaluation = made.evaluation
        limits = odds_limits(made.outcome, MAX_ODDS_RATIO)
        above = evaluation.y_pred == 1
        ends = (
            np.where(above, limits.high, limits.low),
            np.where(above, limits.low, limits.high),
            tilt(made.outcome, odds_ratio),
        )
        best, worst, true = (
            estimate_pemi(evaluation, impute(evaluation, p), metrics=METRICS[:-1]) for p in ends
        )
        held.append(
            all(
                (best[m].cdf(grid) <= true[m].cdf(grid) + 1e-12).all()
                and (true[m].cdf(grid) <= worst[m].cdf(grid) + 1e-12).all()
                for m in METRICS[:-1]
            )
        )
    return float(np.mean(held))


def main() -> bool:
    """Run all odds ratios in full, and say whether all came as expected."""
    n, is_fine = 1_000, True
    gate = gates(n)
    for ratio in (*INSIDE, *OUTSIDE):
        start = time.perf_counter()
        found = containment(ratio, n=n)
        seconds = time.perf_counter() - start
        print(f"\nodds ratio {ratio:g} of {MAX_ODDS_RATIO:g}: R = {n}, {seconds:.0f} s")
        print(found.round(3).to_string(), flush=True)
        if ratio in INSIDE:
            is_fine &= bool((found >= gate["least"]).all())
        else:
            is_fine &= bool(found.min() < gate["planted"])
    inside, outside = boxes(1.8, n=n // 10), boxes(OUTSIDE[1], n=n // 10)
    print(f"\nboxes hold the law: {inside:.2f} inside, {outside:.2f} outside")
    is_fine &= inside == 1.0 and outside < 0.5
    print(f"\nall as expected: {is_fine}")
    return is_fine
