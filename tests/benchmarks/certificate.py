"""Cost of certificates: `python -m tests.benchmarks.certificate`."""

import numpy as np

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.certificate import certify, certify_sizes
from labelbayes.laws.far_tails import log_tail_prob
from tests.benchmarks.engine import Row, best_of


def certificate_rows() -> list[Row]:
    """Return (what, measured, target) of every row of the table of certificates."""
    rng = np.random.default_rng(0)
    p = rng.random(1_000_000)
    labels = np.where(rng.random(1_000_000) < 0.1, rng.random(1_000_000) < p, np.nan)
    evaluation = EvaluationSet(labels, p)
    belief = impute(evaluation, p)
    sort, four, sizes, tail = best_of(
        1,
        lambda: np.sort(p),
        lambda: certify(evaluation, belief),
        lambda: certify_sizes(evaluation, belief),
        lambda: log_tail_prob(p, 520_000),
    )
    return [
        Row("n = 1e6, certify of four metrics: time / np.sort", four / sort, "-"),
        Row("n = 1e6, certify_sizes: time / np.sort", sizes / sort, "-"),
        Row("n = 1e6, a far tail: time / np.sort", tail / sort, "-"),
    ]


if __name__ == "__main__":
    for what, measured, target in certificate_rows():
        print(f"{what:<50} {measured:>10.3f}   target {target}")
