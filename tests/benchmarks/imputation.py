"""Speed of calibrators and refits against targets: `python -m tests.benchmarks.imputation`."""

import numpy as np
import pandas as pd
from sklearn.isotonic import IsotonicRegression

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.calibration import ScalingBinningCalibrator
from labelbayes.imputation.impute import impute
from labelbayes.laws.missing_counts import count_pairs
from labelbayes.laws.pemi import estimate_pemi
from tests.benchmarks.engine import Row, best_of, peak_megabytes


def fit_and_predict(calibrator: object, score: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Fit a calibrator and ask it about the same rows."""
    return calibrator.fit(score, label).predict(score)


def summarize(evaluation: EvaluationSet, how: str, n_refits: int) -> pd.DataFrame:
    """Calibrate, refit, and read the summary of the default metrics."""
    belief = impute(evaluation, how, n_refits=n_refits, rng=0)
    return estimate_pemi(evaluation, belief, metrics=["f1", "recall"]).summary()


def imputation_rows() -> list[Row]:
    """Return (what, measured, target) of every row of the table of calibrators and refits."""
    rng = np.random.default_rng(0)
    rows: list[Row] = []
    score = rng.random(1_000_000)
    label = (rng.random(1_000_000) < score).astype(float)
    ours, isotonic = best_of(
        3,
        lambda: fit_and_predict(ScalingBinningCalibrator(), score, label),
        lambda: fit_and_predict(IsotonicRegression(out_of_bounds="clip"), score, label),
    )
    rows.append(Row("n = 1e6, scaling-binning, fit and predict: ms", 1e3 * ours, "-"))
    rows.append(Row("n = 1e6, scaling-binning: time / IsotonicRegression", ours / isotonic, "-"))

    masked = np.where(rng.random(1_000_000) < 0.01, label, np.nan)
    evaluation = EvaluationSet(masked, score)
    none, fifty = best_of(
        3,
        lambda: summarize(evaluation, "platt", 0),
        lambda: summarize(evaluation, "platt", 50),
    )
    rows.append(Row("n = 1e6, Platt by row, no refit: ms", 1e3 * none, "-"))
    rows.append(Row("n = 1e6, Platt by row, 50 refits: time / no refit", fifty / none, "-"))
    belief = impute(evaluation, "platt", n_refits=50, rng=0)
    memory = peak_megabytes(lambda: count_pairs(evaluation, belief))
    rows.append(Row("n = 1e6, laws of 50 refits by row: memory, MB", memory, "<= 100"))

    group = rng.choice(["a", "b", "c"], 1_000_000)
    known = impute(evaluation, features=group, n_refits=0)
    (asked,) = best_of(3, lambda: known.knows(group))
    rows.append(Row("n = 1e6, does p know the group: ms", 1e3 * asked, "-"))
    return rows


if __name__ == "__main__":
    for what, measured, target in imputation_rows():
        print(f"{what:<52} {measured:>10.3f}   target {target}")
