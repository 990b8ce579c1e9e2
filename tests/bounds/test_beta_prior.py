"""What is known of beta: intervals, audits without replacement, rounding."""

import numpy as np
import pytest
from scipy.stats import beta as beta_law
from scipy.stats import hypergeom

from labelbayes.bounds.beta_prior import Audit, BetaPrior, count_latent, resolve_beta, split_level


# Oracles, item 07, case beta_times_U_rounding, column count_round_half_even.
@pytest.mark.parametrize(
    ("n_unlabeled", "beta", "expected"),
    [
        (100, 0.29, 29),
        (100, 0.57, 57),
        (100, 0.58, 58),
        (100, 0.285, 28),
        (100, 0.287, 29),
        (39_000, 0.487179487179487, 19_000),
        (10, 0.3, 3),
        (7, 0.5, 4),
        (3, 1.0, 3),
        (3, 0.0, 0),
        (12, 0.25, 3),
        (1_000, 0.019, 19),
        (0, 0.4, 0),
    ],
)
def test_counts_are_snapped_and_rounded_half_even(n_unlabeled, beta, expected) -> None:
    assert count_latent(beta, n_unlabeled) == expected


def test_the_paper_interval_of_300_looks() -> None:
    # The paper's notebook: 148 of 300, Beta(149, 153): [.4372, .5497].
    span = BetaPrior(149, 153).interval(0.95)
    assert (round(span.low, 4), round(span.high, 4)) == (0.4372, 0.5497)
    assert BetaPrior.from_audit(148, 152) == BetaPrior(148.5, 152.5)


@pytest.mark.parametrize(("a", "b"), [(2, 7), (30, 3), (0.5, 0.5), (1, 4), (4, 1), (60, 60)])
def test_the_shortest_interval_has_its_level_and_is_no_longer(a, b) -> None:
    prior, law = BetaPrior(a, b), beta_law(a, b)
    shortest, equal = prior.interval(0.9, "hdi"), prior.interval(0.9)
    for span in (shortest, equal):
        assert law.cdf(span.high) - law.cdf(span.low) == pytest.approx(0.9, abs=1e-9)
    tails = np.linspace(0, 0.1, 200)
    widths = law.ppf(np.minimum(tails + 0.9, 1)) - law.ppf(tails)
    assert shortest.width <= widths.min() + 1e-6
    assert (shortest.ci_kind, equal.ci_kind) == ("hdi", "eti")


def audit_coverage(n: int, n_audited: int, n_positive: int, *, finite: bool) -> tuple[float, float]:
    """Return exact coverage and mean width of the interval of the share of positives in n rows."""
    covered = width = 0.0
    for found in range(max(0, n_positive - (n - n_audited)), min(n_positive, n_audited) + 1):
        mass = hypergeom.pmf(found, n, n_positive, n_audited)
        if mass < 1e-5:
            continue
        if finite:
            low, high = (c / n for c in Audit(found, n_audited - found).counts(n, 0.95))
        else:
            span = BetaPrior.from_audit(found, n_audited - found).interval(0.95)
            low, high = span.low, span.high
        covered += mass * (low - 1e-9 <= n_positive / n <= high + 1e-9)
        width += mass * (high - low)
    return covered, width


def test_an_audit_knows_the_rows_that_it_saw() -> None:
    """300 of 500 rows: taken for a sample with replacement it is far too careful."""
    sizes = range(200, 301, 20)
    finite = np.mean([audit_coverage(500, 300, n, finite=True) for n in sizes], axis=0)
    infinite = np.mean([audit_coverage(500, 300, n, finite=False) for n in sizes], axis=0)
    assert 0.935 < finite[0] < 0.965
    assert infinite[0] > 0.99
    assert finite[1] < 0.7 * infinite[1]


def test_an_audit_of_everything_is_the_count() -> None:
    assert Audit(12, 8).counts(20, 0.95) == (12, 12)
    low, high = Audit(1, 0).counts(10, 0.95)
    assert 1 <= low < high <= 10


def test_ranges_and_levels() -> None:
    found = resolve_beta((0.1, 0.3), 50, np.nan)
    assert (found.first, found.last, found.level) == (5, 15, 1.0)
    assert np.isnan(found.center)
    assert resolve_beta(BetaPrior(5, 15), 50, 0.975).center == 0.25
    assert split_level(0.5, 0.95, 1) == (0.95, False)
    assert split_level(Audit(1, 1), 0.95, 1) == (pytest.approx(0.975), True)
    assert np.isnan(split_level((0.1, 0.2), 0.95, 0)[0])


def test_faults_are_named() -> None:
    with pytest.raises(ValueError, match="`a` must be positive; got 0"):
        BetaPrior(0, 1)
    with pytest.raises(ValueError, match="must hold at least one row; got none"):
        Audit(0, 0)
    with pytest.raises(ValueError, match="`n_positive` must be at least 0; got -1"):
        Audit(-1, 3)
    with pytest.raises(ValueError, match="range of two numbers"):
        resolve_beta((0.1, 0.2, 0.3), 10, 0.95)
    with pytest.raises(ValueError, match=r"`beta\[1\]` must lie in \[0, 1\]"):
        resolve_beta((0.1, 1.3), 10, 0.95)
    with pytest.raises(TypeError, match="a BetaPrior or an Audit; got list"):
        resolve_beta([0.1, 0.3], 10, 0.95)
    with pytest.raises(ValueError, match=r"`a` must be positive and at most 1e\+15; got 1e\+200"):
        BetaPrior(1e200, 1)
    with pytest.raises(ValueError, match="`beta` must be a number that a float can hold"):
        resolve_beta(10**400, 10, 0.95)
    with pytest.raises(ValueError, match="`level` must lie strictly between 0 and 1; got 95"):
        Audit(3, 4).counts(10, 95)
    with pytest.raises(TypeError, match="`n_unlabeled` must be a whole number; got float 7"):
        Audit(3, 4).counts(7.5, 0.95)


@pytest.mark.parametrize("a", [1e-300, np.int32(10**6), np.int64(10**7), np.float32(2)])
def test_any_kind_of_number_gives_the_moments_of_its_float(a) -> None:
    prior, twin = BetaPrior(a, a), BetaPrior(float(a), float(a))
    assert isinstance(prior.var, float)
    assert (prior.mean, prior.var) == (twin.mean, twin.var)
    assert prior.var == pytest.approx(0.25 / (2 * float(a) + 1))
    assert isinstance(Audit(np.int64(3), np.int64(4)).n, int)
