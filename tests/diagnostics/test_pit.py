"""PIT values against exact rationals, and what the summary makes of right and wrong laws."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from labelbayes.diagnostics.pit import (
    _distance_from_uniform,
    _ks,
    pit_values,
    summarize_pit,
)
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.distribution import DiscreteLaw, DrawsLaw, Law


class _Fixed(np.random.Generator):
    """A generator whose uniforms are all the same."""

    def __init__(self, u: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.u = u

    def random(self, size: int) -> np.ndarray:  # type: ignore[override]
        return np.full(size, self.u)


THREE = DiscreteLaw(np.array([0.2, 0.5, 0.9]), np.array([0.25, 0.5, 0.25]))
TIED = DrawsLaw(np.array([0.5, 0.5, 0.75, 0.25, 0.5, 1.0, 0.75, 0.25]))


@pytest.mark.parametrize(
    ("law", "observed", "u", "value"),
    [
        # Oracles, item 12: cases three_atoms, point_mass, empirical_draws_with_ties.
        (THREE, 0.2, 0.25, 0.0625),
        (THREE, 0.5, 0.0, 0.25),
        (THREE, 0.5, 0.75, 0.625),
        (THREE, 0.9, 1.0, 1.0),
        (THREE, -0.1, 0.5, 0.0),
        (THREE, 0.551, 0.25, 0.75),
        (THREE, 1.1, 0.5, 1.0),
        (DiscreteLaw(np.array([0.75]), np.array([1.0])), 0.75, 0.25, 0.25),
        (TIED, 0.5, 0.25, 0.34375),
        (TIED, 0.75, 0.75, 0.8125),
        (TIED, 0.55, 0.5, 0.625),
        (NormalLaw(0.5, 0.1), 0.6, 0.3, float(ndtr(1.0))),
    ],
)
def test_values_are_those_of_exact_rationals(
    law: Law, observed: float, u: float, value: float
) -> None:
    assert pit_values([law], [observed], rng=_Fixed(u))[0] == pytest.approx(value, abs=1e-12)


def test_distances_are_those_of_the_oracle() -> None:
    # Oracles, item 12, case pit_distances.
    u = np.array([0.02, 0.1, 0.18, 0.33, 0.5, 0.51, 0.77, 0.96])
    assert _distance_from_uniform(u) == pytest.approx(0.086775, abs=1e-12)
    assert _ks(u) == pytest.approx(0.24, abs=1e-12)
    assert u.mean() - 0.5 == pytest.approx(-0.07875, abs=1e-12)


def test_undefined_truths_have_no_value_and_counts_must_agree() -> None:
    assert np.isnan(pit_values([THREE], [np.nan])[0])
    never = DiscreteLaw(np.empty(0), np.empty(0), 1.0, "no row is positive")
    assert np.isnan(pit_values([never], [0.5])[0])
    with pytest.raises(ValueError, match=r"one value a law, shape \(1,\); got \(2,\)"):
        pit_values([THREE], [0.2, 0.5])


def _values(n: int, shift: float = 0.0, spread: float = 1.0) -> pd.DataFrame:
    """Truths from N(shift, spread^2) in laws N(0, 1), as a study would list them."""
    rng = np.random.default_rng(4)
    truth = shift + spread * rng.normal(size=n)
    law = NormalLaw(0.0, 1.0, lowest=-99.0, highest=99.0)
    return pd.DataFrame(
        {
            "rate": 0.3,
            "positive_fraction": np.nan,
            "method": "mine",
            "metric": "f1",
            "pit": pit_values([law] * n, truth, rng=rng),
            "truth": truth,
            "low": -1.959964,
            "high": 1.959964,
            "believed_rate": 0.5,
            "true_rate": 0.4,
        }
    )


def test_right_laws_are_right_and_planted_errors_are_not() -> None:
    # 500 replications: the limits are 0 +- 0.115 and 0.84 to 1.17.
    right = summarize_pit(_values(500)).iloc[0]
    assert right["is_right"]
    assert right["mean_score"] == pytest.approx(0, abs=0.115)
    assert right["coverage"] == pytest.approx(0.95, abs=3.3 * 0.0097)
    assert right["location_low"] <= right["location"] <= right["location_high"]
    assert (right["width"], right["believed_rate"], right["true_rate"]) == (3.919928, 0.5, 0.4)
    shifted = summarize_pit(_values(500, shift=0.3)).iloc[0]
    assert not shifted["is_right"]
    assert shifted["location_low"] > 0
    narrow = summarize_pit(_values(500, spread=1.4)).iloc[0]
    assert not narrow["is_right"]
    assert narrow["var_score"] > 1.5
    assert narrow["coverage"] < 0.9
    wide = summarize_pit(_values(500, spread=0.7)).iloc[0]
    assert not wide["is_right"]
    assert wide["shape_low"] > right["shape_low"]


def test_a_summary_counts_undefined_truths() -> None:
    frame = _values(50)
    frame.loc[:9, "pit"] = np.nan
    row = summarize_pit(frame).iloc[0]
    assert (row["n"], row["n_undefined"]) == (40, 10)
    frame["pit"] = np.nan
    nothing = summarize_pit(frame).iloc[0]
    assert (nothing["n"], nothing["n_undefined"]) == (0, 50)
    with pytest.raises(ValueError, match=r"lacks \['pit'\]"):
        summarize_pit(frame.drop(columns="pit"))


@pytest.mark.parametrize(
    ("laws", "truths", "error", "sentence"),
    [
        (THREE, [0.5], TypeError, "`laws` must be a list of laws; got DiscreteLaw"),
        ([THREE, 3], [0.5, 0.5], TypeError, "`laws` must hold laws; got int at position 1"),
        ([THREE], ["a"], TypeError, "`truths` must hold numbers; got str 'a' at position 0"),
    ],
)
def test_what_is_no_law_or_number_is_refused(
    laws: Any, truths: Any, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=re.escape(sentence)):
        pit_values(laws, truths)


def test_a_masked_truth_is_undefined() -> None:
    assert np.isnan(pit_values([THREE], np.ma.masked_array([0.5], mask=[True]))).all()


def test_a_summary_has_every_column_and_refuses_what_is_no_pit_value() -> None:
    row = {"rate": 0.3, "positive_fraction": np.nan, "method": "mine", "metric": "f1", "pit": 0.4}
    row |= {"truth": 0.5, "low": 0.4, "high": 0.6, "believed_rate": 0.4, "true_rate": 0.4}
    one, two = pd.DataFrame([row]), pd.DataFrame([row, row | {"pit": 0.7}])
    assert list(summarize_pit(one)) == list(summarize_pit(two))
    assert np.isnan(summarize_pit(one)["coverage"].iloc[0])
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]; got 2 at row 1 \(1 such"):
        summarize_pit(two.assign(pit=[0.5, 2.0]))
    with pytest.raises(ValueError, match="at least one row"):
        summarize_pit(one[:0])
    with pytest.raises(TypeError, match="`values` must be a DataFrame; got None"):
        summarize_pit(None)  # type: ignore[arg-type]
