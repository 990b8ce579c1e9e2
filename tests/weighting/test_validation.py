"""Quick forms of V10 and V11: the cells that tell right from wrong, gates on both sides."""

import numpy as np
import pytest

from labelbayes.data.simulate_selection import simulate_selection
from tests.validation import v10, v11

METRICS = ("accuracy", "recall", "roc_auc")
N = 400
GATE = v10.gates(N)


def test_the_population_of_the_simulation_is_known() -> None:
    made = simulate_selection(400_000, floor=0.2, odds_ratio=2.0, rng=1)
    truth = v10.population_truth(floor=0.2, odds_ratio=2.0)
    # 400,000 rows: standard errors of at most 0.0011.
    assert truth == pytest.approx(v10.sample_truth(made), abs=0.004)
    assert v10.population_truth(floor=0.2)["recall"] != pytest.approx(truth["recall"], abs=0.004)


@pytest.fixture(scope="module")
def covered():
    kinds = ["outcome wrong", "propensity wrong", "both wrong"]
    return v10.coverage(kinds, floor=0.2, n=N, metrics=METRICS)


def test_one_right_nuisance_is_enough_for_either_target(covered) -> None:
    own = covered[covered["error"] == covered["truth"]]
    right = own[own["nuisances"] != "both wrong"]["covered"]
    assert len(right) == 2 * 2 * len(METRICS)
    assert right.between(GATE["least"], GATE["most"]).all(), own


def test_both_wrong_fails(covered) -> None:
    own = covered[(covered["error"] == covered["truth"]) & (covered["nuisances"] == "both wrong")]
    assert (own.groupby("truth")["covered"].min() < GATE["planted"]).all(), own


def test_the_wrong_targets_error_fails(covered) -> None:
    right = covered[covered["nuisances"] == "propensity wrong"]
    design = right[(right["error"] == "sample") & (right["truth"] == "population")]["covered"]
    influence = right[(right["error"] == "population") & (right["truth"] == "sample")]["covered"]
    assert (design < GATE["planted"]).all(), right
    # Too long rather than too short: nearly every interval holds the sample's value.
    assert (influence > 0.97).all(), right


def test_clusters_cover_and_rows_taken_as_independent_do_not() -> None:
    found = v10.clustered(n=N, metrics=["recall"]).set_index("error")["covered"]
    assert GATE["least"] <= found["clusters"] <= GATE["most"]
    assert found["rows"] < GATE["planted"]


def test_bounds_hold_inside_the_odds_ratio_and_miss_outside() -> None:
    inside = v11.containment(v11.MAX_ODDS_RATIO, n=N, metrics=["precision", "recall"])
    assert (inside >= GATE["least"]).all()
    outside = v11.containment(v11.OUTSIDE[1], n=100, metrics=["precision", "recall"])
    assert (outside < v10.gates(100)["planted"]).all()


def test_boxes_hold_the_law_inside_and_not_outside() -> None:
    assert v11.boxes(1.8, n=5) == 1.0
    assert v11.boxes(v11.OUTSIDE[1], n=5) < 0.5


def test_verdicts_see_what_is_wrong(covered) -> None:
    """The companion: a table with one coverage spoiled is not as expected."""
    both = covered.replace({"nuisances": {"propensity wrong": "both right"}})
    assert v10.verdicts(both, N)["one right: inside the gate"]
    spoiled = both.copy()
    where = np.flatnonzero((spoiled["error"] == spoiled["truth"]) & (spoiled["nuisances"] != "x"))
    spoiled.loc[where[0], "covered"] = 0.9
    assert not v10.verdicts(spoiled, N)["one right: inside the gate"]
