"""Speed of the laws of count metrics against targets: `python -m tests.benchmarks.metrics`."""

import subprocess
import sys

import numpy as np
from sklearn.metrics import f1_score

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.laws.poisson_binomial import poisson_binomial
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.results.count_law import CountLaw
from tests.benchmarks.engine import Row, best_of

NINE = (
    "accuracy balanced_accuracy cohen_kappa f1 jaccard matthews_corrcoef precision recall "
    "specificity"
).split()


def exact_answers(p: np.ndarray, decision: np.ndarray, names: list[str]) -> list[tuple]:
    """Mean, sd, three quantiles and probability undefined, from raw p and decisions."""
    pair = poisson_binomial(p[decision]), poisson_binomial(p[~decision])
    laws = [CountLaw(COUNT_METRICS[name], (0, 0, 0, 0), *pair) for name in names]
    levels = [0.025, 0.5, 0.975]
    return [(law.mean, law.sd, *law.quantile(levels), law.undefined_prob) for law in laws]


def summarize(evaluation: EvaluationSet, n_refits: int) -> None:
    """Calibrate in bins, refit, and read the summary of four count metrics."""
    belief = impute(evaluation, "histogram", n_refits=n_refits, rng=0)
    estimate_pemi(evaluation, belief, metrics=["accuracy", "precision", "recall", "f1"]).summary()


def import_seconds(module: str) -> float:
    """Best time of an import in a fresh interpreter, in seconds."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(5)
    ]
    return min(float(run.stdout) for run in runs)


def metric_rows() -> list[Row]:
    """Return (what, measured, target) of every row of the table of metrics."""
    rng = np.random.default_rng(0)
    rows: list[Row] = []

    p = rng.random(1_000_000)
    decision = p > 0.5
    y_true, y_pred = (rng.random(1_000_000) < p).astype(int), decision.astype(int)
    two, nine, sklearn = best_of(
        7,
        lambda: exact_answers(p, decision, ["f1", "recall"]),
        lambda: exact_answers(p, decision, NINE),
        lambda: f1_score(y_true, y_pred),
    )
    rows.append(Row("n = 1e6, laws of F1 and recall: ms", 1e3 * two, "-"))
    rows.append(Row("n = 1e6, F1 and recall: time / f1_score", two / sklearn, "<= 1"))
    rows.append(Row("n = 1e6, nine metrics: time / f1_score", nine / sklearn, "<= 2"))

    labels = np.where(rng.random(1_000_000) < 0.1, y_true, np.nan)
    evaluation = EvaluationSet(labels, p)
    none, fifty = best_of(5, lambda: summarize(evaluation, 0), lambda: summarize(evaluation, 50))
    rows.append(Row("n = 1e6, 50 refits: time / no refit", fifty / none, "<= 3"))

    sizes = np.array([100_000, 300_000, 1_000_000, 3_000_000, 10_000_000])
    large = rng.random(sizes[-1])
    times = best_of(
        5,
        *(lambda n=n: exact_answers(large[:n], large[:n] > 0.5, ["f1", "recall"]) for n in sizes),
    )
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    rows.append(Row("log-log slope of time, n = 1e5 to 1e7", float(slope), "<= 1.1"))

    extra = import_seconds("labelbayes") - import_seconds("numpy")
    rows.append(Row("import labelbayes beyond numpy: s", extra, "<= 0.1"))
    return rows


if __name__ == "__main__":
    for what, measured, target in metric_rows():
        print(f"{what:<42} {measured:>10.3f}   target {target}")
