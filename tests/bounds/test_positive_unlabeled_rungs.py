"""The two rungs: bounds under SCAR, and unlabeled rows taken for negatives."""

import numpy as np
import pytest

from labelbayes.bounds.positive_unlabeled import bound_positive_unlabeled
from labelbayes.bounds.positive_unlabeled_rungs import (
    describe_pessimism,
    positive_unlabeled,
    unlabeled_negative,
)
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.laws.rungs import RungInputs
from labelbayes.metrics.registry import resolve_metrics


def inputs(evaluation: EvaluationSet, **options) -> RungInputs:
    return RungInputs(
        evaluation,
        options.pop("metrics", resolve_metrics(None, has_score=True)),
        options.pop("target", "sample"),
        None,
        np.random.SeedSequence(0),
        **options,
    )


def simulated(shift: float) -> tuple[EvaluationSet, np.ndarray]:
    rng = np.random.default_rng(3)
    truth = np.arange(400) < 160
    y_true = np.full(400, np.nan)
    y_true[rng.choice(160, 50, replace=False)] = 1
    return EvaluationSet(y_true, rng.normal(shift * truth, 1.0), pos_label=1), truth


def test_the_rung_is_the_bounds() -> None:
    evaluation, _ = simulated(1.5)
    found = positive_unlabeled(inputs(evaluation, beta=0.3))
    assert dict(found) == dict(bound_positive_unlabeled(evaluation, 0.3).bounds())
    population = positive_unlabeled(inputs(evaluation, beta=0.3, target="population"))
    assert "average_precision" not in population
    assert population.target == "population"


def test_unlabeled_as_negative_understates_a_good_model() -> None:
    evaluation, truth = simulated(1.5)
    low = unlabeled_negative(inputs(evaluation))
    true_beta = truth[np.isnan(evaluation.y_true)].mean()
    points = bound_positive_unlabeled(evaluation, float(true_beta)).points()["value"]
    for name in ("precision", "roc_auc", "average_precision"):
        assert low[name].low == low[name].high < points[name]
    assert low.assumption == "every unlabeled row is negative"
    assert np.isnan(low["precision"].ci_prob)
    assert "understates" in low.notes[0]


def test_it_is_not_called_pessimistic_where_it_is_not() -> None:
    evaluation, _ = simulated(-1.0)
    assert "this is not pessimistic" in unlabeled_negative(inputs(evaluation)).notes[0]
    ordered = EvaluationSet([1, 1, None, None, None, None], [6, 5, 4, 3, 2, 1])
    assert "at every cutoff, so under SCAR this understates" in describe_pessimism(ordered)


def test_what_the_data_cannot_support_is_said() -> None:
    nothing = EvaluationSet([None, 0], [0.9, 0.1])
    for rung in (positive_unlabeled, unlabeled_negative):
        with pytest.raises(ValueError, match="no positive is known"):
            rung(inputs(nothing, beta=0.5))
    with pytest.raises(ValueError, match="was not given"):
        positive_unlabeled(inputs(simulated(1)[0]))
    with pytest.raises(ValueError, match="no row is unlabeled"):
        unlabeled_negative(inputs(EvaluationSet([1, 0], [0.9, 0.1])))
    with pytest.raises(ValueError, match="no statement about a population"):
        unlabeled_negative(inputs(simulated(1)[0], target="population"))
