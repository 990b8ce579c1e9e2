"""Bands: closed forms against references, exact coverage, and the bootstrap shown to fail."""

import math

import numpy as np
import pytest
from scipy.stats import betabinom, hypergeom, ks_2samp

from labelbayes.bounds.rank_bands import (
    EXACT_WIDTHS,
    Band,
    exceedance,
    one_sample_width,
    two_sample_width,
)

PREDICTIVE, BINOMIAL = Band("predictive", 0.95, 0.0), Band("binomial", 0.95, 0.0)


# Oracles, item 07, case dkw_halfwidth.
@pytest.mark.parametrize(
    ("n_known", "alpha", "expected"),
    [(4, 0.05, 0.67905075787031), (50, 0.05, 0.192064558263984), (1000, 0.1, 0.0387022756020495)],
)
def test_one_sample_width_is_the_oracles(n_known, alpha, expected) -> None:
    assert one_sample_width(n_known, 1 - alpha) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 5), (7, 4), (10, 40), (12, 12)])
def test_exceedance_is_the_exact_two_sample_law(m, n) -> None:
    """SciPy's exact p-value is P(D >= d); just below a value of D both are the same."""
    for shift in range(0, m + n, 3):
        first = np.arange(m) * 2.0
        second = np.arange(n) * 2.0 + 1.0 + shift
        found = ks_2samp(first, second, method="exact")
        beyond = exceedance(m, n, [found.statistic - 1e-9])[0]
        assert beyond == pytest.approx(found.pvalue, abs=1e-12)


def test_exceedance_of_a_wrong_size_is_caught() -> None:
    found = ks_2samp(np.arange(10) * 2.0, np.arange(40) * 2.0 + 21, method="exact")
    assert exceedance(10, 39, [found.statistic - 1e-9])[0] != pytest.approx(found.pvalue, rel=0.01)


@pytest.mark.parametrize(("m", "n"), [(1, 5), (4, 9), (20, 20), (30, 570), (300, 75)])
def test_two_sample_width_covers_and_little_less_would_not(m, n) -> None:
    width = two_sample_width(m, n, 0.95, smooth=False)
    assert exceedance(m, n, [width])[0] <= 0.05
    if width < 1:
        # The grid is 1% apart, and D moves in steps of 1 / (m n).
        assert exceedance(m, n, [0.97 * width - 1 / min(m, n)])[0] > 0.05


def test_the_closed_form_is_safe_where_it_stands_alone() -> None:
    """Above 400 numbers of latent rows only the closed form is used."""
    for m, n in [(1, 401), (2, 500), (5, 420), (30, 600), (100, 900), (240, 410)]:
        assert exceedance(m, n, [two_sample_width(m, n, 0.95, smooth=True)])[0] <= 0.05


def test_limits_of_counts_never_fall_as_latent_rows_are_added() -> None:
    for known in (0, 3, 50, 97, 100):
        ends = [PREDICTIVE.counts(known, 100, n) for n in range(1, 400, 7)]
        assert (np.diff(ends, axis=0) >= 0).all()
        lost = np.arange(1, 400, 7)[:, None] - np.array(ends)
        assert (np.diff(lost, axis=0) >= 0).all()
        curves = [
            PREDICTIVE.curve(np.array([known]), 100, n, smooth=True) for n in range(1, 3_000, 7)
        ]
        sizes = np.arange(1, 3_000, 7)
        assert (np.diff([float(c.low[0]) for c in curves] * sizes) >= -1e-9).all()
        assert (np.diff([float(c.high[0]) for c in curves] * sizes) >= -1e-9).all()


def test_the_binomial_band_is_the_bootstrap_without_resampling() -> None:
    """Resampled counts at the k-th known rank, 40,000 times (a quantile is off by one at most)."""
    rng = np.random.default_rng(0)
    n_known = 40
    ranks = np.arange(1, n_known + 1)
    counts = rng.multinomial(n_known, np.full(n_known, 1 / n_known), size=40_000).cumsum(axis=1)
    low, high = np.quantile(counts, [0.025, 0.975], axis=0, method="inverted_cdf") / n_known
    band = BINOMIAL.curve(ranks, n_known, 100, smooth=False)
    assert np.abs(band.low - low).max() <= 1 / n_known + 1e-12
    assert np.abs(band.high - high).max() <= 1 / n_known + 1e-12
    assert (band.low == low).mean() > 0.8


def test_before_the_first_known_row_latent_rows_may_lie() -> None:
    for n_latent in (10, 1_000):
        assert PREDICTIVE.counts(0, 100, n_latent)[1] > 0
        assert PREDICTIVE.curve(np.array([0]), 100, n_latent, smooth=False).high[0] > 0
        assert BINOMIAL.counts(0, 100, n_latent) == (0.0, 0.0)


def coverage(band: Band, n_known: int, n_latent: int, n_above: int) -> float:
    """Return the exact probability that the limits hold the latent rows above a cutoff.

    Known and latent rows are exchangeable, and n_above of them all lie above.
    """
    total = n_known + n_latent
    covered = 0.0
    for known in range(max(0, n_above - n_latent), min(n_known, n_above) + 1):
        low, high = band.counts(known, n_known, n_latent)
        inside = low - 1e-9 <= n_above - known <= high + 1e-9
        covered += inside * hypergeom.pmf(known, total, n_above, n_known)
    return covered


@pytest.mark.parametrize("ratio", [0.25, 1, 4, 19])
@pytest.mark.parametrize("share", [0.02, 0.2, 0.5])
def test_predictive_limits_cover_latent_rows_and_the_bootstrap_does_not(ratio, share) -> None:
    n_known = 100
    n_latent = int(n_known * ratio)
    shares = np.linspace(0.5, 1.5, 9) * share
    total = n_known + n_latent
    found = [
        np.mean([coverage(band, n_known, n_latent, round(s * total)) for s in shares])
        for band in (PREDICTIVE, BINOMIAL)
    ]
    # On average over neighboring cutoffs, as for any discrete count.
    assert found[0] >= 0.94
    if ratio <= 1:
        assert found[1] < 0.90


def test_predictive_limits_are_beta_binomial_quantiles() -> None:
    law = betabinom(300, 12.5, 88.5)
    assert PREDICTIVE.counts(12, 100, 300) == (law.ppf(0.025), law.ppf(0.975))


def test_simultaneous_bands_hold_the_whole_distribution_and_pointwise_ones_do_not() -> None:
    rng = np.random.default_rng(3)
    n_known, n_latent, held = 60, 120, {"predictive": 0, "binomial": 0}
    for _ in range(400):
        order = rng.permutation(n_known + n_latent) < n_known
        known, latent = np.cumsum(order), np.cumsum(~order) / n_latent
        for name in held:
            band = Band(name, 0.95, 0.0).curve(known, n_known, n_latent, smooth=False)
            held[name] += bool(((band.low <= latent) & (latent <= band.high)).all())
    # 3.3 standard errors of 400 replications.
    assert held["predictive"] >= 0.914 * 400
    assert held["binomial"] < 0.1 * 400


def test_nothing_known_says_nothing_and_a_violation_moves_both_ends() -> None:
    empty = PREDICTIVE.curve(np.zeros(3, dtype=int), 0, 5, smooth=False)
    assert (empty.low == 0).all()
    assert (empty.high == 1).all()
    assert PREDICTIVE.counts(0, 0, 5) == (0.0, 5.0)
    moved = Band("predictive", 0.95, 0.1)
    plain = PREDICTIVE.counts(50, 100, 200)
    assert moved.counts(50, 100, 200) == (plain[0] - 20, plain[1] + 20)
    assert moved.share(50, 100)[0] == pytest.approx(PREDICTIVE.share(50, 100)[0] - 0.1)
    assert two_sample_width(5, 0, 0.95, smooth=False) == 0.0
    assert two_sample_width(50, math.inf, 0.95, smooth=True) == one_sample_width(50, 0.95)


@pytest.mark.parametrize("name", ["binomial", "dkw"])
def test_a_settled_band_has_the_same_limits_whatever_the_latent_rows(name) -> None:
    known = np.array([0, 2, 5, 9, 10])
    band = Band(name, 0.9, 0.05)
    settled = band.settle(known, 10)
    assert settled.given is not None
    for n_latent in (0, 3, 400):
        direct = band.curve(known, 10, n_latent, smooth=False)
        for end, twin in zip(settled.curve(known, 10, n_latent, smooth=False), direct, strict=True):
            np.testing.assert_array_equal(end, twin)
    predictive = Band("predictive", 0.9, 0.05)
    assert predictive.settle(known, 10) is predictive


def test_the_search_finds_the_narrowest_of_all_widths() -> None:
    for n_known, n_latent, level in [(3, 4, 0.5), (12, 40, 0.95), (37, 5, 0.9), (60, 60, 0.99)]:
        found = two_sample_width(n_known, n_latent, level, smooth=False)
        widths = two_sample_width(n_known, n_latent, level, smooth=True) * EXACT_WIDTHS
        enough = widths[exceedance(n_known, n_latent, widths) <= 1 - level + 1e-12]
        assert found == (enough[0] if len(enough) else 1.0)
