"""Speed and memory of weighted estimates: `python -m tests.benchmarks.weighting`."""

import numpy as np
from sklearn.metrics import roc_auc_score

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.weighting.aipw import estimate_aipw
from tests.benchmarks.engine import Row, best_of, peak_megabytes

N = 1_000_000
METRICS = ["accuracy", "precision", "recall", "f1", "roc_auc", "average_precision"]


def weighting_rows() -> list[Row]:
    """Return (what, measured, target) of every row of the table of weighted estimates."""
    rng = np.random.default_rng(0)
    score = rng.random(N)
    label = (rng.random(N) < score).astype(float)
    propensity = 0.1 + 0.8 * score
    evaluation = EvaluationSet(np.where(rng.random(N) < propensity, label, np.nan), score)
    assert evaluation.n_labeled + evaluation.n_unlabeled == N  # counted once, as for any estimate

    def auc() -> float:
        found = estimate_aipw(evaluation, propensity, score, metrics=["roc_auc"])
        return found["roc_auc"].sd

    weighted, sklearn, six = best_of(
        5,
        auc,
        lambda: roc_auc_score(label, score),
        lambda: estimate_aipw(evaluation, propensity, score, metrics=METRICS),
    )
    arrays = peak_megabytes(auc) * 1e6 / (8 * N)
    return [
        Row("n = 1e6, AIPW ROC-AUC with its error: ms", 1e3 * weighted, "-"),
        Row("n = 1e6, the same: time / roc_auc_score", weighted / sklearn, "<= 0.5"),
        Row("n = 1e6, the same: float64 arrays of n", arrays, "<= 12"),
        Row("n = 1e6, six metrics: time / roc_auc_score", six / sklearn, "-"),
    ]


if __name__ == "__main__":
    for what, measured, target in weighting_rows():
        print(f"{what:<44} {measured:>10.3f}   target {target}")
