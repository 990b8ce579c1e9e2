"""Speed of positive-unlabeled bounds against targets: `python -m tests.benchmarks`."""

import numpy as np

from labelbayes.bounds.beta_sweep import sweep_beta
from labelbayes.bounds.positive_unlabeled import bound_positive_unlabeled
from labelbayes.data.evaluation_set import EvaluationSet
from tests.benchmarks.engine import Row, best_of, peak_megabytes

N_ROWS = 1_000_000
BETAS = np.linspace(0.02, 0.6, 50)


def simulate(n_known: int) -> tuple[EvaluationSet, float]:
    """Return a million rows, 40% positive, of which some are known, and beta."""
    rng = np.random.default_rng(0)
    truth = rng.random(N_ROWS) < 0.4
    y_true = np.full(N_ROWS, np.nan)
    y_true[rng.choice(np.flatnonzero(truth), n_known, replace=False)] = 1
    rows = EvaluationSet(y_true, rng.normal(truth, 1.0), pos_label=1)
    return rows, float((truth.sum() - n_known) / (N_ROWS - n_known))


def everything(rows: EvaluationSet, beta: float) -> tuple[object, ...]:
    """Sort, band, both curves and both areas."""
    result = bound_positive_unlabeled(rows, beta)
    return result.roc(), result.precision_recall(), result.auc(), result.average_precision()


def positive_unlabeled_rows() -> list[Row]:
    """Return (what, measured, target) of every row of the table of positive-unlabeled bounds."""
    table: list[Row] = []
    for n_known, target in ((10_000, "<= 4"), (100_000, "<= 12")):
        rows, beta = simulate(n_known)
        bounds, sort = best_of(
            7, lambda r=rows, b=beta: everything(r, b), lambda r=rows: np.argsort(r.y_score)
        )
        name = f"n = 1e6, {n_known:,} known, all"
        table.append(Row(f"{name}: ms", 1e3 * bounds, "-"))
        table.append(Row(f"{name}: time / argsort", bounds / sort, target))
        memory = peak_megabytes(lambda r=rows, b=beta: everything(r, b))
        table.append(Row(f"{name}: memory, MB", memory, "<= 100" if n_known == 10_000 else "-"))
    rows, beta = simulate(10_000)
    fifty, one = best_of(
        3, lambda: sweep_beta({"model": rows}, betas=BETAS), lambda: everything(rows, beta)
    )
    table.append(Row("n = 1e6, 10,000 known, 50 betas: time / one", fifty / one, "<= 5"))
    return table


if __name__ == "__main__":
    for what, measured, target in positive_unlabeled_rows():
        print(f"{what:<48} {measured:>10.3f}   target {target}")
