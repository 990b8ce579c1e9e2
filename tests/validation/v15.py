"""V15: simulation-based calibration of every builder, and of two errors that are easily made.

Scores take eight values; each has four labels and twelve missing labels, or the reverse, so that
either the rates or the label noise makes up most of the width. Truths come from the priors as the
docstrings of the builders state them, written out here a second time.
"""

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from labelbayes.bayes.bins import build_bins
from labelbayes.bayes.calibration import build_calibration
from labelbayes.bayes.groups import build_groups
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.diagnostics.sbc import Simulation, run_sbc, sbc_uniformity
from labelbayes.laws.bins import bin_scores, estimate_bins
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.results.estimates import Estimates

RESULT = Path(__file__).parents[2] / "notebooks" / "results" / "sbc.parquet"
SEED = 20260415
LEVELS = np.array([0.08, 0.2, 0.32, 0.44, 0.56, 0.68, 0.8, 0.92])
IS_ABOVE = LEVELS >= 0.5
FEW_LABELS, MANY_LABELS = (4, 12), (12, 4)
METRICS = ("accuracy", "precision", "recall", "f1")

Truth = dict[str, object]
#: rng -> parameters, rates of labeled rows, rates of missing rows.
Prior = Callable[[np.random.Generator], tuple[Truth, np.ndarray, np.ndarray]]


def jeffreys(rng: np.random.Generator) -> tuple[Truth, np.ndarray, np.ndarray]:
    rate = rng.beta(0.5, 0.5, len(LEVELS))
    return {"rate": rate}, rate, rate


def line(rng: np.random.Generator) -> tuple[Truth, np.ndarray, np.ndarray]:
    intercept, slope = rng.normal(0, 1), rng.lognormal(0, 0.5)
    spread = abs(rng.normal(0, 0.5))
    rate = expit(intercept + slope * logit(LEVELS) + spread * rng.normal(size=len(LEVELS)))
    truth = {"intercept": intercept, "slope": slope, "spread": spread, "rate": rate}
    return truth, rate, rate


def monotone(rng: np.random.Generator) -> tuple[Truth, np.ndarray, np.ndarray]:
    rate = np.sort(rng.random(len(LEVELS)))
    return {"rate": rate}, rate, rate


def platt_tilted(rng: np.random.Generator) -> tuple[Truth, np.ndarray, np.ndarray]:
    intercept, slope, delta = rng.normal(0, 1.5), rng.lognormal(0, 0.5), rng.normal(0, 0.5)
    odds = intercept + slope * logit(LEVELS)
    truth = {"intercept": intercept, "slope": slope, "delta": delta}
    return truth, expit(odds), expit(odds + delta)


def beta_curve(rng: np.random.Generator) -> tuple[Truth, np.ndarray, np.ndarray]:
    intercept, low, high = rng.normal(0, 1.5), *rng.lognormal(0, 0.5, 2)
    rate = expit(intercept + low * np.log(LEVELS) - high * np.log1p(-LEVELS))
    return {"intercept": intercept, "slope_low": low, "slope_high": high}, rate, rate


def simulator(
    prior: Prior, *, only_metrics: bool = False, sizes: tuple[int, int] = FEW_LABELS
) -> Callable[[np.random.Generator], Simulation]:
    """Return a function that draws a truth and the evaluation that it makes.

    ``sizes``: labels and missing labels at each level.
    """

    def simulate(rng: np.random.Generator) -> Simulation:
        truth, labeled_rate, missing_rate = prior(rng)
        metrics, y_true, score, count = observe(labeled_rate, missing_rate, sizes, rng)
        evaluation = EvaluationSet(y_true, score, count=count)
        return metrics if only_metrics else {**truth, **metrics}, evaluation

    return simulate


def simulate_groups(rng: np.random.Generator) -> Simulation:
    """Draw a truth for three groups and the evaluation that it makes."""
    intercept, spread, slope = rng.normal(0, 1.5), abs(rng.normal(0, 1)), rng.lognormal(0, 0.5)
    own = intercept + spread * rng.normal(size=3)
    parts = []
    for shift in own:
        rate = expit(shift + slope * logit(LEVELS))
        parts.append(observe(rate, rate, FEW_LABELS, rng))
    group = np.repeat(["a", "b", "c"], [len(count) for *_, count in parts])
    y_true, score, count = (np.concatenate([part[i] for part in parts]) for i in (1, 2, 3))
    truth = {"intercept": intercept, "spread": spread, "slope": slope, "group_intercept": own}
    metrics = {name: np.array([part[0][name] for part in parts]) for name in METRICS}
    return {**truth, **metrics}, EvaluationSet(y_true, score, group=group, count=count)


def observe(
    labeled_rate: np.ndarray,
    missing_rate: np.ndarray,
    sizes: tuple[int, int],
    rng: np.random.Generator,
) -> tuple[Truth, np.ndarray, np.ndarray, np.ndarray]:
    """Return the metrics of complete labels, and labels, scores and numbers of the rows."""
    n_labels, n_missing = sizes
    labels = rng.binomial(n_labels, labeled_rate)
    positive = labels + rng.binomial(n_missing, missing_rate)
    cells = [side[part].sum() for part, side in _order(positive, n_labels + n_missing - positive)]
    metrics: Truth = {name: float(COUNT_METRICS[name](*cells)) for name in METRICS}
    count = np.concatenate([labels, n_labels - labels, np.full(len(LEVELS), n_missing)])
    kept = count > 0
    y_true = np.repeat([1.0, 0.0, np.nan], len(LEVELS))
    return metrics, y_true[kept], np.tile(LEVELS, 3)[kept], count[kept]


def _order(positive: np.ndarray, negative: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return tp, fp, fn, tn as parts of the counts."""
    return [(part, side) for part in (IS_ABOVE, ~IS_ABOVE) for side in (positive, negative)]


def bins_with_error(evaluation: EvaluationSet, *, error: str) -> Estimates:
    """Draw from the bins with Jeffreys rates, rightly or with an error.

    ``error``: "none", "no label noise" (missing rows count at their rate) or "rates known" (at
    their posterior mean).
    """
    bins = bin_scores(evaluation, len(LEVELS))
    a, b = bins.n_positive + 0.5, bins.n_negative + 0.5

    def joint(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        rate = (
            np.tile(a / (a + b), (n, 1)) if error == "rates known" else rng.beta(a, b, (n, len(a)))
        )
        hidden = rate * bins.n_missing
        if error != "no label noise":
            hidden = rng.binomial(bins.n_missing, rate)
        positive, total = bins.n_positive + hidden, bins.n_labeled + bins.n_missing
        cells = [
            side[:, part].sum(axis=1)
            for part, side in _order(positive, total - positive)  # bins are the levels, ascending
        ]
        return {name: COUNT_METRICS[name](*cells) for name in METRICS}

    return Estimates(
        {}, f"draws, error: {error}", "none", "sample", "predictive", 0, 0, joint=joint
    )


def _bins(prior: str) -> Callable[[EvaluationSet], object]:
    return lambda evaluation: build_bins(evaluation, n_bins=len(LEVELS), prior=prior)


#: Name -> build, simulate, replications.
MODELS = {
    "bins, jeffreys, closed form": (
        lambda evaluation: estimate_bins(evaluation, n_bins=len(LEVELS), metrics=METRICS),
        simulator(jeffreys, only_metrics=True),
        2_000,
    ),
    "bins, jeffreys": (_bins("jeffreys"), simulator(jeffreys), 500),
    "bins, line": (_bins("line"), simulator(line), 500),
    "bins, monotone": (_bins("monotone"), simulator(monotone), 500),
    "calibration, platt with tilt": (
        lambda evaluation: build_calibration(evaluation, delta_sd=0.5),
        simulator(platt_tilted),
        500,
    ),
    "calibration, beta": (
        lambda evaluation: build_calibration(evaluation, kind="beta"),
        simulator(beta_curve),
        500,
    ),
    "groups": (build_groups, simulate_groups, 500),
}
#: Error -> labels and missing labels where it matters.
ERRORS = {"no label noise": MANY_LABELS, "rates known": FEW_LABELS}


def check_error(error: str, *, n: int, planted: bool = True) -> pd.DataFrame:
    """Return the tests of draws with an error, or of right draws in the same design."""
    made = error if planted else "none"
    ranks = run_sbc(
        lambda evaluation: bins_with_error(evaluation, error=made),
        simulator(jeffreys, only_metrics=True, sizes=ERRORS[error]),
        n=n,
        rng=SEED,
    )
    return sbc_uniformity(ranks)


def write_result(ranks: pd.DataFrame) -> None:
    """Write the ranks of all models as a small file: of arrays the first entry."""
    is_kept = ~ranks["quantity"].astype(str).str.contains(r"\[(?!0\])")
    kinds = {"model": "category", "quantity": "category"}
    # Replications last, so that every quantity repeats the same numbers.
    order = (
        ranks[is_kept]
        .astype(kinds)
        .sort_values(["model", "quantity", "replication"], kind="stable")
    )
    RESULT.parent.mkdir(exist_ok=True)
    order.to_parquet(RESULT, index=False, compression="zstd", compression_level=19)


def main() -> bool:
    """Run all models, write the ranks, and say whether every one passed and every error failed."""
    # Parts are kept until all is done: a run that was stopped goes on where it was.
    parts = Path(tempfile.gettempdir()) / f"labelbayes_v15_{SEED}"
    parts.mkdir(exist_ok=True)
    frames, is_fine = [], True
    for i, (name, (build, simulate, n)) in enumerate(MODELS.items()):
        start = time.perf_counter()
        ranks = run_sbc(build, simulate, n=n, path=parts / f"{i}.parquet", rng=SEED + i)
        frames.append(ranks.assign(model=name))
        table = sbc_uniformity(ranks)
        is_fine &= bool(table["passed"].all())
        print(
            f"\n{name}: N = {n}, {time.perf_counter() - start:.0f} s\n{table.round(4).to_string()}",
            flush=True,
        )
    for error in ERRORS:
        table = check_error(error, n=100)
        is_fine &= not table["passed"].all()
        print(f"\nplanted error, {error}: N = 100\n{table.round(4).to_string()}")
    write_result(pd.concat(frames, ignore_index=True))
    shutil.rmtree(parts)
    print(f"\nwrote {RESULT.name}, {RESULT.stat().st_size:,} bytes; all as expected: {is_fine}")
    return is_fine
