"""Speed of the optimum against its targets: `python -m tests.benchmarks.optimal`."""

import numpy as np
from sklearn.isotonic import IsotonicRegression

from labelbayes.data.simulate_soft_labels import simulate_soft_labels
from labelbayes.optimal.estimate import estimate_optimal
from labelbayes.optimal.forms import optimal_auc
from labelbayes.optimal.isotonic import fit_isotonic
from tests.benchmarks.engine import Row, best_of, peak_megabytes


def optimal_rows() -> list[Row]:
    """Return (what, measured, target) of every row of the optimum's table."""
    rows: list[Row] = []
    eta = np.random.default_rng(0).random(10_000_000)
    auc, sort = best_of(5, lambda: optimal_auc(eta), lambda: np.sort(eta))
    rows.append(Row("n = 1e7, optimal AUC: ms", 1e3 * auc, "-"))
    rows.append(Row("n = 1e7, optimal AUC: time / np.sort", auc / sort, "<= 2"))

    simulated = simulate_soft_labels(1_000_000, rng=0)
    soft, label = simulated.soft_labels, simulated.y_true
    ours, theirs = best_of(
        5,
        lambda: fit_isotonic(soft, label),
        lambda: IsotonicRegression().fit(soft, label).predict(soft),
    )
    rows.append(Row("n = 1e6, isotonic: ms", 1e3 * ours, "-"))
    rows.append(Row("n = 1e6, isotonic: time / IsotonicRegression", ours / theirs, "<= 0.25"))

    simulated = simulate_soft_labels(100_000, rng=0)
    soft, label = simulated.soft_labels, simulated.y_true

    def resample(n_resamples: int) -> object:
        return estimate_optimal(soft, label, n_resamples=n_resamples, rng=0)

    (seconds,) = best_of(2, lambda: resample(1_000))
    rows.append(Row("n = 1e5, 1,000 resamples: s", seconds, "<= 3"))
    few, many = (peak_megabytes(lambda n=n: resample(n)) for n in (10, 100))
    rows.append(Row("n = 1e5, memory of 100 resamples / 10", many / few, "<= 1.1"))
    return rows


if __name__ == "__main__":
    for what, measured, target in optimal_rows():
        print(f"{what:<46} {measured:>10.3f}   target {target}")
