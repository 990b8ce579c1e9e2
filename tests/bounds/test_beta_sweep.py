"""Models over beta: flips where they must be, dominance that no beta breaks."""

import numpy as np
import pytest

from labelbayes.bounds.beta_sweep import (
    dominates_at_cutoff,
    dominates_on_curve,
    sweep_beta,
)
from labelbayes.bounds.positive_unlabeled import bound_positive_unlabeled
from labelbayes.bounds.scar_identities import scar_slopes
from labelbayes.bounds.score_blocks import make_blocks
from labelbayes.data.evaluation_set import Counts, EvaluationSet


def models(seed: int) -> dict[str, EvaluationSet]:
    """A bold model (calls many positive), a careful one, and one worse than bold."""
    rng = np.random.default_rng(seed)
    truth = np.arange(600) < 240
    y_true = np.full(600, np.nan)
    y_true[:60] = 1
    signal = rng.normal(truth * 1.5, 1.0)
    scores = {
        "bold": signal + 0.6,
        "careful": signal - 0.9,
        "noisy": signal + rng.normal(0, 2, 600) + 0.6,
    }
    return {name: EvaluationSet(y_true, s, pos_label=1) for name, s in scores.items()}


def test_accuracy_flips_where_the_line_crosses_zero() -> None:
    pair = {name: models(1)[name] for name in ("bold", "careful")}
    sweep = sweep_beta(pair, betas=np.linspace(0, 0.9, 10))
    flip = sweep.flips.query("metric == 'accuracy' and series == 'point'").iloc[0]
    bold, careful = (pair[name].counts for name in ("bold", "careful"))
    # Right answers are h + u_below + P (2 T - 1) over n: linear in the latent positives P.
    gap = (bold.tp - careful.tp) - (
        bold.unlabeled_predicted_positive - careful.unlabeled_predicted_positive
    )
    latent = -gap / (2 * (bold.tp - careful.tp) / 60)
    assert flip["beta"] == pytest.approx(latent / 540, abs=1e-8)
    assert (flip["better_below"], flip["better_above"]) == ("careful", "bold")
    slopes = scar_slopes(bold, flip["beta"])
    assert (flip["fpr_slope_a"], flip["precision_slope_a"]) == pytest.approx(slopes)
    assert f"accuracy at beta = {flip['beta']:.3f}" in sweep.verdicts[0]


def test_bounds_of_the_table_are_those_of_one_beta() -> None:
    only = {"bold": models(2)["bold"]}
    table = sweep_beta(only, betas=[0.1, 0.3]).table
    for beta in (0.1, 0.3):
        result = bound_positive_unlabeled(only["bold"], beta)
        for name, span in (("roc_auc", result.auc()), ("average_precision", None)):
            span = span or result.average_precision()
            row = table.query("metric == @name and beta == @beta").iloc[0]
            assert (row["low"], row["high"]) == (span.low, span.high)
            assert row["point"] == pytest.approx(result.points().loc[name, "value"])
    assert table.query("metric == 'precision'")["low"].isna().all()


def test_dominance_is_said_and_true_at_every_beta() -> None:
    y_true = [1.0] * 10 + [np.nan] * 90
    good = np.r_[np.ones(8), np.zeros(2), np.ones(20), np.zeros(70)]
    bad = np.r_[np.ones(6), np.zeros(4), np.ones(30), np.zeros(60)]
    sweep = sweep_beta(
        {"good": EvaluationSet(y_true, good), "bad": EvaluationSet(y_true, bad)},
        betas=np.linspace(0, 0.2, 21),
    )
    assert "good dominates bad at their cutoffs and on the ROC curve" in sweep.verdicts[0]
    assert sweep.verdicts[0].endswith("no beta can flip them.")
    points = sweep.table.pivot_table(index=["metric", "beta"], columns="model", values="point")
    assert (points["good"] > points["bad"] - 1e-12).all()
    assert not len(sweep.flips.query("series == 'point'"))


def test_dominance_fails_where_curves_cross() -> None:
    y_true = [1.0] * 4 + [np.nan] * 6
    early = EvaluationSet(y_true, [9, 8, 1, 0, 7, 6, 5, 4, 3, 2])
    late = EvaluationSet(y_true, [7, 6, 5, 4, 9, 8, 3, 2, 1, 0])
    blocks = [make_blocks(rows) for rows in (early, late)]
    assert not dominates_on_curve(*blocks)
    assert not dominates_on_curve(*blocks[::-1])
    best = make_blocks(EvaluationSet(y_true, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]))
    assert all(dominates_on_curve(best, other) for other in blocks)
    assert not dominates_on_curve(blocks[0], best)
    tied = make_blocks(EvaluationSet(y_true, [1] * 10))
    assert dominates_on_curve(best, tied)
    assert not dominates_on_curve(tied, best)
    assert dominates_at_cutoff(Counts(5, 0, 5, 0, 9, 1), Counts(5, 0, 5, 0, 10, 0))
    assert not dominates_at_cutoff(Counts(5, 1, 5, 0, 9, 1), Counts(5, 0, 5, 0, 10, 0))


def test_equal_curves_are_said_to_be_equal() -> None:
    bold = models(1)["bold"]
    shifted = EvaluationSet(bold.y_true, bold.y_score - 1.0, pos_label=1)
    said = sweep_beta({"bold": bold, "shifted": shifted}, betas=[0.2]).verdicts[0]
    assert said.startswith("bold and shifted are equal on the ROC curve.")


def test_where_the_band_contradicts_beta_there_are_no_bounds() -> None:
    table = sweep_beta({"bold": models(1)["bold"]}, betas=[0.3, 0.98]).table
    areas = table.query("metric == 'roc_auc'").set_index("beta")
    assert areas.loc[0.3, ["low", "high"]].notna().all()
    assert areas.loc[0.98, ["low", "high"]].isna().all()
    assert sweep_beta({"bold": models(1)["bold"]}).table["beta"].nunique() == 49


def test_levels_bite_and_faults_are_named() -> None:
    pair = models(3)
    low = [
        sweep_beta({"bold": pair["bold"]}, betas=[0.3], ci_prob=level).table["low"].iloc[-2]
        for level in (0.5, 0.95)
    ]
    assert low[0] > low[1]
    with pytest.raises(ValueError, match="at least one model; got none"):
        sweep_beta({})
    for betas, error, match in [
        ([0.5, 1.0], ValueError, r"must lie in \[0, 1\); with beta = 1 no negative"),
        ([0.5, 0.2], ValueError, "`betas` must rise; got 0.2 after 0.5"),
        ([0.1, 1.2], ValueError, r"`betas\[1\]` must lie in \[0, 1\]; got 1.2"),
        ([0.1, "a"], TypeError, r"`betas\[1\]` must be a number; got str 'a'"),
        ([True], TypeError, r"`betas\[0\]` must be a number; got bool True"),
        ([], ValueError, "at least one share; got none"),
        ("0.3", TypeError, "`betas` must be a list of shares; got str"),
        (0.3, TypeError, "`betas` must be a list of shares; got float"),
    ]:
        with pytest.raises(error, match=match):
            sweep_beta(pair, betas=betas)
    assert "nothing to compare" in repr(sweep_beta({"bold": pair["bold"]}, betas=[0.3]))
    other = EvaluationSet([1, None], [0.2, 0.1])
    with pytest.raises(ValueError, match="must hold the same labels; 'bold' has"):
        sweep_beta({"bold": pair["bold"], "other": other})
    with pytest.raises(ValueError, match="must hold known positives; there are none"):
        sweep_beta({"none": EvaluationSet([None, 0], [0.2, 0.1])})
