"""V12 in its quick form: bracket and coverage at 400 replications, and what must fail."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


def _experiment():
    spec = importlib.util.spec_from_file_location("v12", ROOT / "tests" / "validation" / "v12.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


V12 = _experiment()


@pytest.mark.parametrize("design", V12.QUICK[:2])
def test_both_ends_bracket_the_optimum_and_their_limits_cover(design) -> None:
    table = V12.study(design, 400)
    assert V12.is_bracketed(table).all(), table
    # R = 400: 3.3 standard errors below 95%.
    assert (table["covered"] >= 0.914).all(), table


def test_one_end_alone_covers_too_little() -> None:
    """Planted error: the optimistic end taken for the optimum."""
    table = V12.study(V12.Design(300, 0.2, 0.0), 400).set_index("metric")
    assert table.loc["roc_auc", "covered_in_sample"] < 0.914
    wrong = table.reset_index().assign(held_out=table["in_sample"].to_numpy())
    assert not V12.is_bracketed(wrong).any()


def test_noise_in_the_order_breaks_the_bracket() -> None:
    """Planted error: soft labels whose order is wrong in 8% of pairs."""
    table = V12.study(V12.QUICK[2], 40)
    assert table["inversions"].iloc[0] == pytest.approx(0.079, abs=0.005)
    assert not V12.is_bracketed(table).any(), table
    assert (table["covered"] < 0.9).all()


@pytest.mark.parametrize("noise_mean", [0.1, 0.5])
def test_a_bias_is_scored_times_the_mean_factor(noise_mean: float) -> None:
    found, expected = V12.bias_scores(0.02, noise_mean)
    assert found == pytest.approx(expected, abs=1e-12)


def test_the_committed_result_is_that_of_the_study() -> None:
    table = pd.read_parquet(V12.RESULT)
    assert V12.RESULT.stat().st_size < 50_000
    plain = table[table["noise_sd"] == 0]
    assert set(plain["n_items"]) == set(V12.SIZES)
    assert V12.is_bracketed(plain).all()
    enough = plain[plain["n_items"] * plain["prevalence"] >= 100]
    assert (enough["covered"] >= 0.918).all(), enough
    # The noise from which on the limits fail: the more items, the less of it.
    ber = table[(table["metric"] == "ber") & (table["prevalence"] == 0.2)]
    lost = ber[ber["covered"] < 0.9].groupby("n_items")["noise_sd"].min()
    assert lost.is_monotonic_decreasing
    assert (lost[200], lost[1_000], lost[20_000]) == (1.0, 0.5, 0.3)
