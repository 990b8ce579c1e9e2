"""Speed of average precision and of joint draws: `python -m tests.benchmarks.row_draws`."""

import tracemalloc

import numpy as np
from sklearn.metrics import average_precision_score

from labelbayes.bounds.ranking import bound_ranking
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.average_precision_mean import average_precision_mean
from labelbayes.laws.missing_cells import cells_and_fits
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.row_draws import RowSampler, sampled_metrics
from labelbayes.metrics.ranking import RANKING_METRICS
from labelbayes.metrics.registry import DEFAULT_METRICS, METRICS
from tests.benchmarks.engine import Row, best_of

SIX = [METRICS[name] for name in DEFAULT_METRICS]
ROWS = 1_000_000


def exact_mean(evaluation: EvaluationSet, p: np.ndarray) -> float:
    """Return the mean of average precision from raw scores, sorting included."""
    ranked = RankedRows.from_evaluation(evaluation)
    belief = impute(evaluation, p)
    return average_precision_mean(ranked, *cells_and_fits(ranked, evaluation, belief)).mean


def slope(sizes: np.ndarray, times: list[float]) -> float:
    """Return the log-log slope of time over size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def draw_rows() -> list[Row]:
    """Return (what, measured, target) of every row of the table."""
    rng = np.random.default_rng(0)
    rows: list[Row] = []
    score = rng.random(ROWS)
    y_true = (rng.random(ROWS) < score).astype(float)
    missing = np.full(ROWS, np.nan)
    unlabeled = EvaluationSet(missing, score)
    half = EvaluationSet(np.where(rng.random(ROWS) < 0.5, y_true, np.nan), score)

    everything, some, sklearn = best_of(
        5,
        lambda: exact_mean(unlabeled, score),
        lambda: exact_mean(half, score),
        lambda: average_precision_score(y_true, score),
    )
    rows.append(Row("n = 1e6, exact mean of AP: ms", 1e3 * everything, "-"))
    rows.append(Row("the same: time / average_precision_score", everything / sklearn, "<= 1.5"))
    rows.append(Row("half labeled: time / average_precision_score", some / sklearn, "<= 1.5"))

    p32 = score.astype(np.float32)

    def draw_bare() -> None:
        for _ in range(20):
            rng.random(ROWS, dtype=np.float32) < p32  # noqa: B015

    sampler = RowSampler.from_imputation(unlabeled, impute(unlabeled, score))
    joint = sampled_metrics(SIX, sampler)
    bare, six = best_of(3, draw_bare, lambda: joint(100, np.random.default_rng(0)))
    rows.append(Row("n = 1e6, a draw of six metrics: ms", 10 * six, "-"))
    rows.append(Row("1,000 such draws / bare Bernoulli draws", six / 100 / (bare / 20), "<= 2.5"))
    tracemalloc.start()
    joint(50, np.random.default_rng(0))
    rows.append(
        Row("memory beyond the data, MB", tracemalloc.get_traced_memory()[1] / 1e6, "<= 300")
    )
    tracemalloc.stop()

    levels = (np.floor(1_000 * score) + 0.5) / 1_000
    leveled = EvaluationSet(missing, levels)
    sampler = RowSampler.from_imputation(leveled, impute(leveled, levels))
    by_level = sampled_metrics(SIX, sampler)
    (few,) = best_of(3, lambda: by_level(1_000, np.random.default_rng(0)))
    rows.append(Row("1,000 levels of p, 1,000 draws: s", few, "<= 0.2"))

    sizes = np.array([100_000, 300_000, 1_000_000])
    parts = [EvaluationSet(missing[:n], score[:n]) for n in sizes]
    means = best_of(5, *(lambda e=e: exact_mean(e, score[: e.n_rows]) for e in parts))
    rows.append(Row("log-log slope of the exact mean", slope(sizes, means), "<= 1.15"))
    samplers = [
        sampled_metrics(SIX, RowSampler.from_imputation(e, impute(e, score[: e.n_rows])))
        for e in parts
    ]
    draws = best_of(3, *(lambda j=j: j(25, np.random.default_rng(0)) for j in samplers))
    rows.append(Row("log-log slope of draws", slope(sizes, draws), "<= 1.15"))
    ranked = [RankedRows.from_evaluation(e) for e in parts]
    for name, metric in RANKING_METRICS.items():
        bounds = best_of(3, *(lambda r=r, m=metric: bound_ranking(m, r) for r in ranked))
        rows.append(Row(f"bounds of {name} after the sort: ms", 1e3 * bounds[-1], "-"))
        rows.append(Row(f"log-log slope of bounds of {name}", slope(sizes, bounds), "<= 1.15"))
    return rows


if __name__ == "__main__":
    for what, measured, target in draw_rows():
        print(f"{what:<46} {measured:>10.3f}   target {target}")
