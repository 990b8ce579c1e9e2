"""Population targets: intervals that cover rows drawn again, where bare bounds do not."""

import numpy as np
import pytest
from scipy.stats import norm

from labelbayes.bounds.beta_prior import BetaPrior
from labelbayes.bounds.positive_unlabeled import bound_positive_unlabeled
from labelbayes.data.evaluation_set import EvaluationSet

BETA, SHARE, CUT = 0.4, 0.2, 0.5
RECALL, FALSE = norm.sf(CUT - 1), norm.sf(CUT)


def draw(rng: np.random.Generator, n: int) -> EvaluationSet:
    """Known positives (a share of all rows) and unlabeled rows, N(1, 1) against N(0, 1)."""
    is_known = rng.random(n) < SHARE
    truth = is_known | (rng.random(n) < BETA)
    y_true = np.where(is_known, 1.0, np.nan)
    return EvaluationSet(y_true, rng.normal(truth, 1.0), threshold=CUT, pos_label=1)


def true_values() -> dict[str, float]:
    positive = SHARE + (1 - SHARE) * BETA
    caught, wrong = positive * RECALL, (1 - positive) * FALSE
    return {
        "precision": caught / (caught + wrong),
        "recall": RECALL,
        "accuracy": caught + (1 - positive) * (1 - FALSE),
        "roc_auc": norm.cdf(1 / np.sqrt(2)),
    }


def test_population_intervals_cover_and_hold_the_bounds_of_the_sample() -> None:
    rng, truth, covered = np.random.default_rng(5), true_values(), []
    for _ in range(60):
        result = bound_positive_unlabeled(draw(rng, 400), BETA, target="population")
        bounds = result.bounds(list(truth))
        covered.append([value in bounds[name] for name, value in truth.items()])
        assert bounds.statement == "confidence"
    # Joint level 95%, and no less for each; 3.3 standard errors of 60 replications.
    assert np.mean(covered, axis=0).min() >= 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / 60)


def test_curves_hold_the_true_curve() -> None:
    rng, held = np.random.default_rng(6), 0
    for _ in range(40):
        frame = bound_positive_unlabeled(draw(rng, 300), BETA, target="population").roc().iloc[1:]
        recall, false = norm.sf(frame["threshold"] - 1), norm.sf(frame["threshold"])
        held += bool(
            ((frame["tpr_low"] <= recall) & (recall <= frame["tpr_high"])).all()
            and ((frame["fpr_low"] <= false) & (false <= frame["fpr_high"])).all()
        )
    assert held >= 0.95 * 40 - 3.3 * np.sqrt(40 * 0.95 * 0.05)


def test_precision_curves_hold_the_true_one() -> None:
    rng = np.random.default_rng(7)
    result = bound_positive_unlabeled(draw(rng, 2_000), BETA, target="population")
    frame, curve = result.precision_recall(), result.roc()
    positive = SHARE + (1 - SHARE) * BETA
    caught = positive * norm.sf(frame["threshold"] - 1)
    precision = caught / (caught + (1 - positive) * norm.sf(frame["threshold"]))
    assert (frame["precision_low"] <= precision).all()
    assert (precision <= frame["precision_high"]).all()
    assert curve.iloc[0].tolist() == [np.inf, 0, 0, 0, 0]


def test_a_wrong_beta_is_caught_by_coverage() -> None:
    rng, truth = np.random.default_rng(8), true_values()["precision"]
    covered = [
        truth
        in bound_positive_unlabeled(draw(rng, 4_000), 0.1, target="population").at()["precision"]
        for _ in range(10)
    ]
    assert np.mean(covered) < 0.5


def test_a_law_of_beta_widens_and_levels_are_split() -> None:
    rows = draw(np.random.default_rng(9), 800)
    one = bound_positive_unlabeled(rows, BETA, target="population")
    law = bound_positive_unlabeled(rows, BetaPrior(40, 60), target="population")
    assert one.band.level == pytest.approx(0.975)
    assert law.band.level == pytest.approx(1 - 0.05 / 3)
    for name in ("precision", "accuracy", "roc_auc"):
        assert law.bounds()[name].width > one.bounds()[name].width
    with pytest.raises(ValueError, match="has bounds for target='sample' only"):
        one.average_precision()
    assert "average_precision" not in one.bounds()


def test_without_negatives_there_is_no_area() -> None:
    everything = bound_positive_unlabeled(
        EvaluationSet([1, None, None], [0.9, 0.5, 0.1]), 1.0, target="population"
    )
    assert np.isnan(everything.auc().low)
