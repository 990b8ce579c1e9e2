"""Cost of Bayesian models against the number of rows: `python -m tests.benchmarks.bayes`."""

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from labelbayes.bayes.bins import build_bins
from labelbayes.bayes.calibration import build_calibration
from labelbayes.bayes.convergence import SamplingWarning
from labelbayes.bayes.model import LabelModel
from labelbayes.bayes.sampling import sample
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.masking import mask_mcar
from labelbayes.data.simulate import simulate_scores
from labelbayes.metrics.registry import resolve_count_metrics
from tests.benchmarks.engine import Row, best_of


def _masked(n: int) -> EvaluationSet:
    return mask_mcar(simulate_scores(n, rng=0), 0.5, rng=0)


def _sample(build: Callable[[EvaluationSet], LabelModel], evaluation: EvaluationSet) -> None:
    with warnings.catch_warnings():
        # How long it takes is asked here, not how well it mixes.
        warnings.simplefilter("ignore", SamplingWarning)
        # Ranking metrics take a pass over the missing rows for each draw.
        counted = resolve_count_metrics(None)
        sample(replace(build(evaluation), metrics=counted), rng=0)


def _largest_variable(label_model: LabelModel) -> int:
    model = label_model.model
    variables = [*model.basic_RVs, *model.deterministics]
    shapes = [np.shape(variable.eval()) for variable in variables]
    return max(int(np.prod(shape, dtype=int)) for shape in shapes)


def bayes_rows() -> list[Row]:
    """Return (what, measured, target) of every row of the table of Bayesian models."""
    few, many = _masked(1_000), _masked(1_000_000)
    rows: list[Row] = []
    for name, build in (("bins, line", build_bins), ("Platt", build_calibration)):
        small, large = best_of(
            3,
            lambda build=build: _sample(build, few),
            lambda build=build: _sample(build, many),
        )
        rows.append(Row(f"{name}: time at 1e6 rows / at 1e3", large / small, "<= 1.3"))
        largest = _largest_variable(build(many))
        rows.append(Row(f"{name}: largest variable at 1e6 rows", largest, "<= 400"))
    return rows


if __name__ == "__main__":
    for what, measured, target in bayes_rows():
        print(f"{what:<42} {measured:>10.3f}   target {target}")
