"""V2: intervals for the population cover it, and the completion that counts noise twice does not.

Sets as in V1, labels masked completely at random; truth is the metric of the law that rows are
drawn from, by quadrature. With p known, labeled rows get Dirichlet weights by their cells and
masked rows weights of their own; with p estimated, refits are completed and one Dirichlet law
covers all rows. Naive: one Dirichlet law over completed rows although p is known.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.labeled import estimate_labeled
from labelbayes.laws.missing_counts import count_pairs
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.laws.population import completed_cells, draws_laws, population_draws
from labelbayes.metrics.registry import resolve_count_metrics
from labelbayes.results.distribution import Law
from tests.validation import v01
from tests.validation.processes import on_all_cores
from tests.validation.v10 import gates

RESULT = Path(__file__).parents[2] / "notebooks" / "results" / "population.parquet"
SIZES, SHARES = (300, 1_000, 5_000), (0.3, 0.9)
N_REPLICATIONS, N_REFITS, N_DRAWS = 2_000, 60, 1_000
METRICS = resolve_count_metrics(None)
SEED = 20261130
BATCH = 50
NAIVE = "p known, completed naively"

#: n, share masked, number of the replication.
Job = tuple[int, float, int]
#: Method, metric, whether the interval held the truth, its width.
Line = tuple[str, str, bool, float]


def truth() -> dict[str, float]:
    """Return the metrics of the population of V1 with a logistic truth, decided at 0.5."""
    z = np.linspace(-0.3 - 15, -0.3 + 15, 200_001)
    weight = norm.pdf(z, -0.3, 1.5)
    p, decided = expit(z), z >= 0
    cells = [
        np.trapezoid(weight * side * label, z)
        for side, label in ((decided, p), (decided, 1 - p), (~decided, p), (~decided, 1 - p))
    ]
    return {metric.name: float(metric(*cells)) for metric in METRICS}


TRUTH = truth()


def methods(
    evaluation: EvaluationSet, rng: np.random.Generator
) -> Iterator[tuple[str, dict[str, Law]]]:
    options = {"metrics": METRICS, "target": "population", "n_draws": N_DRAWS, "rng": rng}
    known = impute(evaluation, evaluation.y_score)
    learned = impute(evaluation, "scaling_binning", n_refits=N_REFITS, rng=rng)
    yield "p known", dict(estimate_pemi(evaluation, known, **options))
    yield "p learned, refits", dict(estimate_pemi(evaluation, learned, **options))
    yield "p learned, plug-in", dict(estimate_pemi(evaluation, learned.without_refits(), **options))
    yield "labeled rows only", dict(estimate_labeled(evaluation, **options))
    naive = completed_cells(evaluation.counts, count_pairs(evaluation, known))
    yield NAIVE, draws_laws(METRICS, population_draws(METRICS, naive), N_DRAWS, rng)


def replicate_batch(jobs: list[Job]) -> list[list[Line]]:
    """Return what each replication finds: a line per method and metric."""
    return [list(_replicate(*job)) for job in jobs]


def _replicate(n: int, share: float, number: int) -> Iterator[Line]:
    rng = np.random.default_rng([SEED, n, round(100 * share), number])
    evaluation, _ = v01.draw(n, share, "logit", rng)
    for name, laws in methods(evaluation, rng):
        for metric, law in laws.items():
            span = law.interval(0.95)
            yield name, metric, TRUTH[metric] in span, span.width


def study() -> pd.DataFrame:
    """Return coverage and mean width of each method and metric in each cell."""
    batches = [
        [(n, share, number) for number in range(start, start + BATCH)]
        for n, share in product(SIZES, SHARES)
        for start in range(0, N_REPLICATIONS, BATCH)
    ]
    made = on_all_cores(replicate_batch, batches, label="population")
    lines = [
        (n, share, *line)
        for batch, found in zip(batches, made, strict=True)
        for (n, share, _), some in zip(batch, found, strict=True)
        for line in some
    ]
    columns = ["n", "masked", "method", "metric", "covered", "width"]
    values = pd.DataFrame(lines, columns=columns)
    grouped = values.groupby(columns[:4], sort=False)
    return grouped.agg(coverage=("covered", "mean"), width=("width", "mean")).reset_index()


def checks(table: pd.DataFrame) -> dict[str, bool]:
    """What must be so, and planted errors that must not."""
    gate = gates(N_REPLICATIONS)
    of = dict(list(table.set_index(["n", "masked", "metric"]).groupby("method")))
    known, naive, refits = of["p known"], of[NAIVE], of["p learned, refits"]
    # Few labels are few for any calibrator: refits are judged where there are more than a hundred.
    labels = refits.index.get_level_values("n") * (1 - refits.index.get_level_values("masked"))
    has_labels = labels.to_numpy().round() > 100
    most_masked = refits.index.get_level_values("masked") >= 0.9
    plug_in = of["p learned, plug-in"]["coverage"]
    return {
        "p known covers": bool(known["coverage"].between(gate["least"], gate["most"]).all()),
        "refits cover": bool((refits["coverage"][has_labels] > gate["least"]).all()),
        "the plug-in does not": bool((plug_in[most_masked] < gate["least"]).all()),
        "naive completion is wider": bool((naive["width"] > known["width"]).all()),
        "naive completion covers too much": bool(
            (naive["coverage"][most_masked] > gate["most"]).all()
        ),
    }


def main() -> bool:
    table = study()
    table.to_parquet(RESULT, index=False, compression="zstd")
    keys = ["metric", "n", "masked"]
    for value in ("coverage", "width"):
        print(f"\n{value}")
        print(table.pivot_table(index=keys, columns="method", values=value).round(3).to_string())
    found = checks(table)
    for what, holds in found.items():
        print(f"{'passed' if holds else 'FAILED'}: {what}")
    return all(found.values())


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
