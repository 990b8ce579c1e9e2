"""Listed laws of ROC-AUC against all completions, and against each other where those are many."""

import numpy as np
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.roc_auc_lattice import (
    CellLattice,
    enumerated_law,
    lattice_law,
    lattice_size,
)
from labelbayes.laws.roc_auc_moments import roc_auc_moments
from tests.laws.area_cases import BELIEFS, enumerate_area, prepare, small_rows


def faults(law, listed):
    """Return what differs between a law and a list of all completions."""
    x, upto = listed.support, np.cumsum(listed.pmf)
    found = {
        "cdf": np.abs(law.cdf(x + 1e-11) - upto).max(),
        "cdf below": np.abs(law.cdf(x - 1e-11) - upto + listed.pmf).max(),
        "mean": abs(law.mean - listed.mean),
        "sd": abs(law.sd - listed.sd),
    }
    return {what: gap for what, gap in found.items() if not gap < 1e-12}


@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("kind", [enumerated_law, lattice_law])
def test_laws_are_those_of_all_completions(belief, kind):
    rng = np.random.default_rng(21)
    n_checked = 0
    while n_checked < 20:
        label, score = small_rows(rng)
        p = BELIEFS[belief](rng, len(label))
        listed = enumerate_area(label, score, p)
        if not np.isnan(label).any() or not len(listed.support):
            continue
        rows = CellLattice.from_cells(*prepare(EvaluationSet(label, score), p))
        if not len(rows.count):  # every p is 0 or 1
            continue
        n_checked += 1
        law = kind(rows, listed.undefined_prob, "")
        # Probabilities of 1e-7 and less are multiplied: relative 1e-12 of what is left.
        assert not faults(law, listed), (label, score, p)


def test_the_oracle_catches_a_wrong_probability():
    label, score = np.array([1, 0, np.nan, np.nan]), np.array([0.9, 0.5, 0.7, 0.3])
    rows = CellLattice.from_cells(*prepare(EvaluationSet(label, score), np.full(4, 0.5)))
    listed = enumerate_area(label, score, np.array([0, 0, 0.5, 0.51]))
    assert "cdf" in faults(enumerated_law(rows, 0.0, ""), listed)


@pytest.mark.parametrize("n_levels", [2, 3, 5])
def test_both_lists_agree_where_completions_are_too_many(n_levels):
    rng = np.random.default_rng(n_levels)
    label = np.where(np.arange(60) < 40, np.nan, rng.integers(2, size=60))
    score = rng.integers(n_levels, size=60)
    prepared = prepare(EvaluationSet(label, score), rng.random(60))
    rows = CellLattice.from_cells(*prepared)
    one, other = enumerated_law(rows, 0.0, ""), lattice_law(rows, 0.0, "")
    at = np.linspace(0.0, 1.0, 301)
    np.testing.assert_allclose(one.cdf(at), other.cdf(at), rtol=0, atol=1e-13)
    moments = roc_auc_moments(prepared.ranks)
    for law in (one, other):
        assert law.mean == pytest.approx(moments.mean, abs=1e-14)
        assert law.sd == pytest.approx(moments.sd, abs=1e-14)


@pytest.mark.parametrize("kind", [enumerated_law, lattice_law])
def test_refits_are_mixed_as_completions(kind):
    rng = np.random.default_rng(5)
    label = np.array([1, 0, 1, *[np.nan] * 6])
    score = rng.integers(4, size=9)
    evaluation = EvaluationSet(label, score)
    belief = impute(evaluation, "prevalence", n_refits=6, rng=0)
    rows = CellLattice.from_cells(*prepare(evaluation, belief))
    law = kind(rows, 0.0, "")
    lists = [enumerate_area(label, score, belief.refit(i)) for i in range(6)]
    for at in lists[0].support:
        wanted = np.mean([one.pmf[one.support <= at].sum() for one in lists])
        assert float(law.cdf(at + 1e-11)) == pytest.approx(wanted, abs=1e-13)


def test_counts_are_repeated_rows():
    label, score = [1, 0, None, None], [0.8, 0.3, 0.8, 0.1]
    count = [2, 1, 3, 2]
    grouped = prepare(EvaluationSet(label, score, count=count), [0, 0, 0.3, 0.6])
    rows = EvaluationSet(np.repeat(np.array(label, dtype=object), count), np.repeat(score, count))
    repeated = prepare(rows, np.repeat([0, 0, 0.3, 0.6], count))
    for kind in (enumerated_law, lattice_law):
        one, other = (kind(CellLattice.from_cells(*p), 0.0, "") for p in (grouped, repeated))
        np.testing.assert_array_equal(one.support, other.support)
        np.testing.assert_allclose(one.pmf, other.pmf, rtol=1e-12)


def test_ranks_are_divided_by_their_greatest_common_divisor():
    # Three levels of 10 rows: ranks 4.5, 14.5 and 24.5.
    score = np.repeat([3, 2, 1], 10)
    rows = CellLattice.from_cells(
        *prepare(EvaluationSet(np.full(30, np.nan), score), np.full(30, 0.4))
    )
    cells, _ = lattice_size(rows)
    assert cells == 31 * (10 * 2 + 10 * 1 + 1)


def test_too_many_combinations_are_left_alone():
    n = 30
    rows = CellLattice.from_cells(
        *prepare(EvaluationSet(np.full(n, np.nan), np.arange(n)), np.full(n, 0.5))
    )
    assert enumerated_law(rows, 0.0, "") is None
    few = CellLattice.from_cells(
        *prepare(EvaluationSet(np.full(n, np.nan), np.arange(n) // 3), np.full(n, 0.5))
    )
    assert enumerated_law(few, 0.0, "", limit=4**10 - 1) is None
    assert enumerated_law(few, 0.0, "", limit=4**10) is not None


def test_rare_counts_are_left_out_without_a_trace():
    # 4,000 rows on two levels: 16 million combinations, of which 1e5 matter.
    score = np.repeat([1, 0], 2_000)
    prepared = prepare(EvaluationSet(np.full(4_000, np.nan), score), np.repeat([0.04, 0.01], 2_000))
    law = enumerated_law(CellLattice.from_cells(*prepared), 0.0, "")
    moments = roc_auc_moments(prepared.ranks)
    assert law.mean == pytest.approx(moments.mean, abs=1e-14)
    assert law.sd == pytest.approx(moments.sd, abs=1e-13)
