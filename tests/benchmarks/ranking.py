"""Speed of ranking metrics against targets: `python -m tests.benchmarks.ranking`."""

from collections.abc import Callable, Mapping

import numpy as np
from sklearn.metrics import roc_auc_score

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.impute import impute
from labelbayes.laws.missing_cells import cells_and_fits
from labelbayes.laws.rank_sums import RankSums
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.roc_auc_moments import Moments, mix_moments, roc_auc_moments
from tests.benchmarks.engine import Row, best_of, peak_megabytes

N_ROWS = 1_000_000


def area_moments(evaluation: EvaluationSet, belief: Imputation) -> Moments:
    """Exact mean and sd of ROC-AUC from raw scores: sorting, cells and sums included."""
    ranked = RankedRows.from_evaluation(evaluation)
    cells, fits = cells_and_fits(ranked, evaluation, belief)
    ranks = RankSums.from_cells(ranked, cells, fits)
    return mix_moments([roc_auc_moments(ranks, i) for i in range(ranks.n_fits)])


def made_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores, all different, and labels with these probabilities."""
    rng = np.random.default_rng(0)
    score = rng.random(n)
    return score, (rng.random(n) < score).astype(float)


def roc_auc_rows() -> list[Row]:
    """Return (what, measured, target) of ROC-AUC."""
    score, label = made_rows(N_ROWS)
    unlabeled = EvaluationSet(np.full(N_ROWS, np.nan), score)
    given = impute(unlabeled, score)
    few = EvaluationSet(np.where(np.arange(N_ROWS) % 10 == 0, label, np.nan), score)
    refits = impute(few, "histogram", n_refits=50, rng=0)
    once = refits.without_refits()
    exact, sklearn, one, fifty = best_of(
        7,
        lambda: area_moments(unlabeled, given),
        lambda: roc_auc_score(label, score),
        lambda: area_moments(few, once),
        lambda: area_moments(few, refits),
    )
    memory = peak_megabytes(lambda: area_moments(unlabeled, given))
    return [
        Row("n = 1e6, mean and sd of ROC-AUC: ms", 1e3 * exact, "-"),
        Row("n = 1e6, mean and sd of ROC-AUC: time / roc_auc_score", exact / sklearn, "<= 0.5"),
        Row("n = 1e6, 50 refits in bins: time / one fit", fifty / one, "<= 2"),
        Row("n = 1e6, mean and sd of ROC-AUC: memory, MB", memory, "-"),
        *slopes(),
    ]


def slopes() -> list[Row]:
    """Return log-log slopes of time from a million rows to ten million."""
    times = []
    for n in (N_ROWS, 10 * N_ROWS):
        score, _ = made_rows(n)
        evaluation = EvaluationSet(np.full(n, np.nan), score)
        belief = impute(evaluation, score)
        ranked = RankedRows.from_evaluation(evaluation)
        ranks = RankSums.from_cells(ranked, *cells_and_fits(ranked, evaluation, belief))
        times.append(
            best_of(
                3,
                lambda evaluation=evaluation, belief=belief: area_moments(evaluation, belief),
                lambda score=score: np.argsort(score),
                lambda ranks=ranks: roc_auc_moments(ranks),
            )
        )
    whole, sort, sums = np.log10(np.array(times[1]) / times[0])
    return [
        Row("slope of time, n = 1e6 to 1e7: from raw scores", float(whole), "<= 1.15"),
        Row("slope of time, n = 1e6 to 1e7: np.argsort alone", float(sort), "-"),
        Row("slope of time, n = 1e6 to 1e7: after sorting", float(sums), "<= 1.15"),
    ]


#: What is measured: one function a metric, each returns its rows.
PARTS: Mapping[str, Callable[[], list[Row]]] = {"roc_auc": roc_auc_rows}


def ranking_rows() -> list[Row]:
    """Return (what, measured, target) of every row of the table of ranking metrics."""
    return [row for part in PARTS.values() for row in part()]


if __name__ == "__main__":
    for what, measured, target in ranking_rows():
        print(f"{what:<60} {measured:>10.3f}   target {target}")
