"""Counts of raters: what they must be, and the bound of the bias of plain shares."""

import numpy as np
import pytest
from scipy.stats import betabinom

from labelbayes.optimal.beta_mixture import optimum_of_beta
from labelbayes.optimal.soft_labels import (
    bound_plug_in_bias,
    check_counts,
    check_metric,
    check_soft_labels,
)


def _bias(a: float, b: float, m: int) -> tuple[float, float, float]:
    """Exact bias of error, BER and AUC from shares of m raters where eta ~ Beta(a, b)."""
    k = np.arange(m + 1)
    mass = betabinom.pmf(k, m, a, b)
    share, theta = k / m, a / (a + b)
    scale = 4 * theta * (1 - theta)
    error = mass @ np.minimum(share, 1 - share)
    ber = 0.5 - mass @ np.abs(share - theta) / scale
    auc = 0.5 + mass @ np.abs(share[:, None] - share) @ mass / scale
    best = optimum_of_beta(np.array([a]), np.array([b]))
    return best.error[0] - error, best.ber[0] - ber, auc - best.roc_auc[0]


@pytest.mark.parametrize("m", [2, 3, 10, 50])
@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (2.0, 2.0), (0.4, 1.6), (5.0, 1.0)])
def test_the_bound_holds_for_every_law_and_number_of_raters(a: float, b: float, m: int) -> None:
    rng = np.random.default_rng(0)
    counts = rng.binomial(m, rng.beta(a, b, 20_000))
    bound, bias = bound_plug_in_bias(counts, m), _bias(a, b, m)
    for name, most, real in zip(bound._fields, bound, bias, strict=True):
        assert 0 <= real <= most, name


def test_the_bound_of_the_source_is_reproduced() -> None:
    """eta ~ Beta(1/2, 1/2), m = 50: bias .0031; the source's computable bound is .104."""
    rng = np.random.default_rng(1)
    counts = rng.binomial(50, rng.beta(0.5, 0.5, 100_000))
    assert _bias(0.5, 0.5, 50)[0] == pytest.approx(0.0031, abs=1e-4)
    # sqrt(V) with V = 1/8/50 is tighter here.
    assert bound_plug_in_bias(counts, 50).error == pytest.approx(np.sqrt(1 / 400), abs=1e-3)


def test_sure_raters_have_next_to_no_bias() -> None:
    counts = np.r_[np.zeros(500, int), np.full(500, 20)]
    assert max(bound_plug_in_bias(counts, 20)) == 0


def test_one_rater_says_nothing_of_the_bias() -> None:
    assert bound_plug_in_bias([0, 1, 1, 0], 1).error == pytest.approx(0.5)


def test_different_numbers_of_raters() -> None:
    few, many = bound_plug_in_bias([1, 2], 3), bound_plug_in_bias([10, 20], 30)
    mixed = bound_plug_in_bias([1, 20], [3, 30])
    assert many.ber < mixed.ber < few.ber


@pytest.mark.parametrize("metric", ["f1", "error", "macro_f1"])
def test_f_scores_and_several_classes_are_refused(metric: str) -> None:
    with pytest.raises(
        ValueError, match=f"got '{metric}'.*not moved by label noise in a known way"
    ):
        check_metric(metric)


def test_counts_and_soft_labels_are_read_from_any_container() -> None:
    masked = np.ma.array([0.0, 1.0], mask=[False, True])
    with pytest.raises(ValueError, match="got nan at row 1"):
        check_soft_labels("eta", masked)
    with pytest.raises(ValueError, match="got nan at row 1"):
        check_counts("counts", masked, 3)
    for values in (["0.5", "0.5"], "ab", {"a": 1}, np.array([0.5]) + 0j):
        with pytest.raises(TypeError, match="`eta` must"):
            check_soft_labels("eta", values)
        with pytest.raises(TypeError, match="`counts` must"):
            check_counts("counts", values, 3)
    for n_ratings in ("3", None, True):
        with pytest.raises(TypeError, match="`n_ratings` must be a number"):
            check_counts("counts", [1, 2], n_ratings)
    given = np.array([0.25, 0.5])
    assert check_soft_labels("eta", given) is given
