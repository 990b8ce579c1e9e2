"""V3: p must know what a comparison is about, or equal models differ and groups do not.

Scores of two models are independent given the label and equally good; the scores of two groups
separate equally, but positives are rarer in one. In both designs Platt scaling on all columns is
the right model of p. What is planted is p from the first model's score alone, and p without the
group.
"""

import sys

import numpy as np
import pandas as pd

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.differences import compare_groups, compare_models
from labelbayes.results.distribution import Law

SEED = 20260403
SHARE_LABELED = 0.1
#: Distance between the means of the scores of the two classes, in standard deviations.
SEPARATION = 1.5
PREVALENCE = 0.3
GROUP_PREVALENCE = (0.15, 0.45)
#: Bias in standard errors: at most this where p knows all, at least that where it does not.
MOST, LEAST = 3.0, 20.0


def _scores(label: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return SEPARATION * (label - 0.5) + rng.normal(size=len(label))


def _hide(label: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(label)) < SHARE_LABELED, label, np.nan)


def two_models(
    n: int, n_refits: int, rng: np.random.Generator, *, planted: bool
) -> dict[str, tuple[Law, float]]:
    """Return law and truth of each difference between two equally good models."""
    label = (rng.random(n) < PREVALENCE).astype(float)
    one, two = _scores(label, rng), _scores(label, rng)
    y_true = _hide(label, rng)
    a, b = (EvaluationSet(y_true, score, threshold=0.0) for score in (one, two))
    belief = impute(a, "platt", features=None if planted else two, n_refits=n_refits, rng=rng)
    if planted:  # refused as it is: the array says that it knows what it does not know
        belief = impute(a, belief.p, features=np.column_stack([one, two]))
    laws = compare_models(a, b, belief, metrics=["accuracy", "roc_auc"], method="gauss")
    full = [EvaluationSet(label, score, threshold=0.0) for score in (one, two)]
    truth = compare_models(*full, impute(full[0]), metrics=list(laws))
    return {name: (law, truth[name].mean) for name, law in laws.items()}


def two_groups(
    n: int, n_refits: int, rng: np.random.Generator, *, planted: bool
) -> dict[str, tuple[Law, float]]:
    """Return law and truth of each difference between a group of few positives and one of many."""
    group = rng.integers(0, 2, n)
    label = (rng.random(n) < np.take(GROUP_PREVALENCE, group)).astype(float)
    score, names = _scores(label, rng), np.array(["few", "many"])[group]
    rows = EvaluationSet(_hide(label, rng), score, threshold=0.0, group=names)
    belief = impute(rows, "platt", features=None if planted else names, n_refits=n_refits, rng=rng)
    laws = compare_groups(rows, belief, metrics=["precision"], method="gauss")["few", "many"]
    full = EvaluationSet(label, score, threshold=0.0, group=names)
    truth = compare_groups(full, impute(full), metrics=list(laws))["few", "many"]
    return {name: (law, truth[name].mean) for name, law in laws.items()}


DESIGNS = {"two models": two_models, "two groups": two_groups}


def check(
    design: str, *, n: int, n_refits: int, n_replications: int, planted: bool
) -> pd.DataFrame:
    """Return bias, its size in standard errors, coverage and P(A beats B) of each metric."""
    rng = np.random.default_rng([SEED, planted, list(DESIGNS).index(design)])
    rows = []
    for _ in range(n_replications):
        for metric, (law, truth) in DESIGNS[design](n, n_refits, rng, planted=planted).items():
            span = law.interval(0.95)
            rows.append((metric, law.mean - truth, truth, truth in span, 1 - float(law.cdf(0.0))))
    frame = pd.DataFrame(rows, columns=["metric", "bias", "truth", "coverage", "prob_first_better"])
    table = frame.groupby("metric").mean()
    error = frame.groupby("metric")["bias"].std() / np.sqrt(n_replications)
    return table.assign(standard_error=error, z=table["bias"] / error)


def main() -> bool:
    """Run both designs in full, with p that knows and with p that does not."""
    is_fine = True
    for design in DESIGNS:
        for planted in (False, True):
            table = check(design, n=4_000, n_refits=60, n_replications=500, planted=planted)
            name = "planted: p does not know" if planted else "p knows"
            print(f"\n{design}, {name}\n{table.round(4).to_string()}", flush=True)
            size = table["z"].abs()
            is_fine &= bool((size > LEAST).all() if planted else (size < MOST).all())
    print(f"\nas expected: {is_fine}")
    return is_fine


if __name__ == "__main__":
    sys.exit(not main())
