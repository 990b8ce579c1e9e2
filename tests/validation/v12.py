"""V12: the optimum's two ends bracket the truth, its limits cover, and FeeBee sees a bias.

Two Gaussian classes (AUC .977), soft labels distorted and in part noisy. Without noise the
in-sample end is optimistic and the held-out end pessimistic in mean; the limits of both together
cover. Noise breaks the order of soft labels: from a share of pairs on that the table shows, what
is estimated is the best that can be done from the soft labels, and no longer the optimum.
"""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import logit
from scipy.stats import kendalltau

from labelbayes.data.simulate_soft_labels import simulate_soft_labels
from labelbayes.optimal.estimate import estimate_optimal
from labelbayes.optimal.feebee import score_feebee
from labelbayes.optimal.forms import optimal_ber

RESULT = Path(__file__).parents[2] / "notebooks" / "results" / "optimum.parquet"
SEED = 20260512
METRICS = ("error", "ber", "roc_auc")
SIZES = (200, 1_000, 5_000, 20_000)
PREVALENCES = (0.05, 0.2, 0.5)
NOISE = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)


class Design(NamedTuple):
    """One cell: items, prevalence, noise on the logit of the soft label."""

    n_items: int
    prevalence: float
    noise_sd: float


#: Cells that tell right from wrong, for the quick form.
QUICK = (Design(1_000, 0.2, 0.0), Design(1_000, 0.5, 0.0), Design(5_000, 0.2, 0.5))


def study(design: Design, n_replications: int) -> pd.DataFrame:
    """Return a row per metric.

    ``inversions``: share of pairs in the wrong order. ``in_sample``, ``held_out``: mean of each
    end, with standard errors ``in_sample_error`` and ``held_out_error``. ``covered_in_sample``,
    ``covered``: share of replications whose 95% limits of the one end, and of both, hold the truth.
    """
    rng = np.random.default_rng([SEED, *(round(1000 * float(part)) for part in design)])
    values = np.empty((n_replications, 2, len(METRICS)))
    inside = np.zeros((2, len(METRICS)))
    inversions = []
    for i in range(n_replications):
        simulated = simulate_soft_labels(
            design.n_items, prevalence=design.prevalence, noise_sd=design.noise_sd, rng=rng
        )
        if not 0 < simulated.y_true.sum() < design.n_items:  # no estimate without both classes
            values[i] = np.nan
            continue
        estimates = estimate_optimal(simulated.soft_labels, simulated.y_true, rng=rng)
        for k, metric in enumerate(METRICS):
            laws = estimates[metric], estimates[f"{metric}_held_out"]
            values[i, :, k] = [law.mean for law in laws]
            own, other = (law.interval() for law in laws)
            truth = getattr(simulated, metric)
            both = min(own.low, other.low) <= truth <= max(own.high, other.high)
            inside[:, k] += [truth in own, both]
        if design.noise_sd and len(inversions) < 5:
            tau = kendalltau(simulated.soft_labels[:5_000], logit(simulated.eta[:5_000])).statistic
            inversions.append((1 - tau) / 2)
    kept = ~np.isnan(values[:, 0, 0])
    mean = values[kept].mean(axis=0)
    error = values[kept].std(axis=0, ddof=1) / np.sqrt(kept.sum())
    return pd.DataFrame(
        {
            **design._asdict(),
            "metric": METRICS,
            "n_replications": int(kept.sum()),
            "inversions": float(np.mean(inversions)) if inversions else 0.0,
            "truth": [getattr(simulated, metric) for metric in METRICS],
            "in_sample": mean[0],
            "held_out": mean[1],
            "in_sample_error": error[0],
            "held_out_error": error[1],
            "covered_in_sample": inside[0] / kept.sum(),
            "covered": inside[1] / kept.sum(),
        }
    )


def is_bracketed(table: pd.DataFrame) -> pd.Series:
    """Return whether the truth lies between the means of both ends, up to 3.3 standard errors."""
    sign = np.where(table["metric"] == "roc_auc", -1.0, 1.0)
    optimistic = sign * (table["in_sample"] - table["truth"]) <= 3.3 * table["in_sample_error"]
    pessimistic = sign * (table["held_out"] - table["truth"]) >= -3.3 * table["held_out_error"]
    return optimistic & pessimistic


def bias_scores(bias: float, noise_mean: float) -> tuple[float, float]:
    """Return the FeeBee score of an estimator that is off by a bias before noise, and b kappa."""
    eta = np.r_[np.full(800, 0.05), np.full(200, 0.8)]  # prevalence 0.2
    frame = score_feebee(
        lambda soft_labels, y_true: optimal_ber(soft_labels),
        eta,
        None,
        best_known=optimal_ber(eta) - bias,
        noise_means=(noise_mean,),
    )
    level = frame["noise_level"].to_numpy()
    noisy = (1 - level) * 0.2 + level * noise_mean
    kappa = (1 - level) * 0.16 / (noisy * (1 - noisy))
    return float(frame["excess"].mean()), bias * float(kappa.mean())


def main() -> bool:
    """Run all cells, write the table, and say whether all is as expected."""
    start, parts = time.perf_counter(), []
    for n_items in SIZES:
        for prevalence in PREVALENCES:
            for noise_sd in NOISE if prevalence == 0.2 else (0.0,):
                parts.append(study(Design(n_items, prevalence, noise_sd), 500))
    table = pd.concat(parts, ignore_index=True)
    plain = table[table["noise_sd"] == 0]
    bracketed = bool(is_bracketed(plain).all())
    # 500 replications: 3.3 standard errors below 95% are .918; few positives are said to be few.
    enough = plain[plain["n_items"] * plain["prevalence"] >= 100]
    covered = bool((enough["covered"] >= 0.918).all())
    # Among few items the optimism of the fit hides the noise.
    noisy = table[(table["noise_sd"] >= 0.5) & (table["n_items"] >= 5_000)]
    caught = not is_bracketed(noisy[noisy["metric"] == "ber"]).any()
    pairs = [bias_scores(0.02, mean) for mean in (0.1, 0.2, 0.5, 0.9)]
    scored = bool(np.allclose(*np.array(pairs).T, atol=1e-12))
    columns = ["n_items", "prevalence", "noise_sd", "inversions", "metric", "truth"]
    columns += ["in_sample", "held_out", "covered_in_sample", "covered"]
    print(table[columns].round(4).to_string())
    RESULT.parent.mkdir(exist_ok=True)
    table.to_parquet(RESULT, index=False, compression="zstd")
    print(f"\nR = 500, {time.perf_counter() - start:.0f} s, wrote {RESULT.name}")
    print(f"bracket {bracketed}, limits {covered}, noise {caught}, score = b kappa {scored}")
    return bracketed and covered and caught and scored
