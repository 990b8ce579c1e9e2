"""Corrected pass rates: published herds, quadrature, coverage, and intervals inside [0, 1]."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, xlog1py, xlogy
from scipy.stats import beta as beta_law
from scipy.stats import binom

from labelbayes.weighting.judge import estimate_pass_rate
from labelbayes.weighting.judge_laws import ScoreLaw, strata_law, truth_law

#: Case b04 (epiR's manual, Rogan and Gladen 1978): label, verdict, rows.
BRUCELLOSIS = [(1, 1, 96), (1, 0, 4), (0, 1, 11), (0, 0, 89), (None, 1, 23), (None, 0, 127)]
HELICOBACTER = [(1, 1, 964), (1, 0, 36), (0, 1, 73), (0, 0, 927), (None, 1, 6), (None, 0, 145)]


def _columns(cells) -> tuple[list, list]:
    y_true = [label for label, _, rows in cells for _ in range(rows)]
    return [verdict for _, verdict, rows in cells for _ in range(rows)], y_true


def _estimate(cells, **options):
    return estimate_pass_rate(*_columns(cells), **options)


def test_published_herds() -> None:
    first = _estimate(BRUCELLOSIS, method="rogan_gladen", validation="by_truth")["pass_rate"]
    assert first.mean == pytest.approx(0.050980392157, abs=1e-12)  # published .051
    second = _estimate(HELICOBACTER, method="rogan_gladen", validation="by_truth")
    law = second["pass_rate"]
    # The raw value is shown and flagged, not silently 0; the interval stays inside and is wide.
    assert law.mean == pytest.approx(-0.037334344178, abs=1e-12)
    assert law.interval().low == 0.0
    assert 0.005 < law.interval().high < 0.03  # published 0 to .013 (Blaker)
    assert any("raw estimate -0.0373 lies outside [0, 1]" in note for note in second.notes)
    posterior = _estimate(HELICOBACTER, validation="by_truth")["pass_rate"].interval()
    assert 0.0 <= posterior.low < 0.001
    assert posterior.high < 0.05


def test_what_the_labeled_rows_are_must_be_said() -> None:
    """Rows chosen by truth, read as a random part, give the pooled rate .3076: wrong here."""
    wrong = _estimate(BRUCELLOSIS, method="rogan_gladen", validation="random")["pass_rate"]
    assert wrong.mean == pytest.approx(0.30756302521, abs=1e-11)
    for validation, word in (("random", "random part"), ("by_truth", "chosen by their truth")):
        assert word in _estimate(BRUCELLOSIS, validation=validation).assumption


EDGES = np.linspace(0, 1, 201) ** 2  # finer near 0


def _truth_cdf(n_passed, n, positives, negatives) -> np.ndarray:
    """P(rate <= each edge): binomial likelihoods at nodes of equal mass of both error rates."""
    rate = (EDGES[1:] + EDGES[:-1]) / 2
    prior = np.diff(beta_law.cdf(EDGES, 0.5, 0.5))
    at = (np.arange(100) + 0.5) / 100
    se, sp = (beta_law.ppf(at, a + 0.5, b + 0.5) for a, b in (positives, negatives))
    like = []
    for r in rate:
        apparent = r * se[:, None] + (1 - r) * (1 - sp)
        like.append((apparent**n_passed * (1 - apparent) ** (n - n_passed)).mean())
    return np.append(0.0, np.cumsum(prior * like) / (prior @ like))


@pytest.mark.parametrize(
    ("n_passed", "n", "positives", "negatives"),
    [(23, 150, (96, 4), (89, 11)), (40, 60, (8, 2), (15, 1)), (3, 40, (5, 0), (30, 3))],
)
def test_the_posterior_by_truth_equals_quadrature(n_passed, n, positives, negatives) -> None:
    law = truth_law(n_passed, n, positives, negatives)
    # Two grids: mass within half a cell of 1/1024 of an edge may fall on either side.
    gap = np.abs(law.cdf(EDGES) - _truth_cdf(n_passed, n, positives, negatives))
    assert gap.max() < 1e-3 + law.pmf.max()
    # A planted error: the judge's errors taken as known.
    se, sp = (sum(c[:1]) / sum(c) for c in (positives, negatives))
    known = [binom.pmf(n_passed, n, r * se + (1 - r) * (1 - sp)) for r in law.support]
    known = np.array(known) * law.support**-0.5 * (1 - law.support) ** -0.5
    known /= known.sum()
    sd = np.sqrt(known @ (law.support - known @ law.support) ** 2)
    assert sd < 0.97 * law.sd


def test_a_narrow_apparent_rate_is_integrated_right() -> None:
    """A million rows against forty labels: the likelihood is a needle; moments by quadrature."""
    law = truth_law(300_000, 1_000_000, (18, 2), (17, 3))
    # The likelihood as a needle at .3: specificity follows from the rate and the sensitivity.
    edges = np.linspace(0, 1, 1_501)
    rate, prior = (edges[1:] + edges[:-1]) / 2, np.diff(beta_law.cdf(edges, 0.5, 0.5))
    se = (np.arange(1_500) + 0.5) / 1_500
    sp = 1 - (0.3 - rate[:, None] * se) / (1 - rate[:, None])
    mass = prior * (beta_law.pdf(sp, 17.5, 3.5) @ beta_law.pdf(se, 18.5, 2.5)) / (1 - rate)
    mass /= mass.sum()
    mean = float(mass @ rate)
    sd = np.sqrt(mass @ (rate - mean) ** 2)
    # Sixty-four nodes of equal mass leave out the last of the tails.
    assert law.mean == pytest.approx(mean, abs=5e-4)
    assert law.sd == pytest.approx(sd, rel=5e-3)


@pytest.mark.parametrize(
    "strata",
    [[(60, 18, 2), (40, 1, 9)], [(60, 18, 2), (40, 1, 9), (10, 2, 2)], [(5, 5, 0), (0, 0, 0)]],
)
def test_the_posterior_by_verdict_equals_its_moments_and_draws(strata) -> None:
    law = strata_law(strata)
    share = np.array([rows + 1 for rows, _, _ in strata], dtype=float)
    a = np.array([positive + 0.5 for _, positive, _ in strata])
    b = np.array([negative + 0.5 for _, _, negative in strata])
    total, rate = share.sum(), a / (a + b)
    mean = float(share @ rate) / total
    second = a * (a + 1) / ((a + b) * (a + b + 1))
    # E of the square: shares are Dirichlet, rates independent.
    cross = np.outer(share, share) / (total * (total + 1))
    own = share * (share + 1) / (total * (total + 1))
    square = float(own @ second) + float(rate @ cross @ rate - (np.diag(cross) @ rate**2))
    assert law.mean == pytest.approx(mean, abs=2e-4)
    # Nodes of the shares and the lattice of 1/4096.
    assert law.sd == pytest.approx(np.sqrt(square - mean**2), rel=2e-3)
    rng = np.random.default_rng(1)
    draws = (rng.dirichlet(share, 40_000) * rng.beta(a, b, (40_000, len(a)))).sum(axis=1)
    at = np.quantile(draws, [0.025, 0.25, 0.5, 0.75, 0.975])
    # 99.9% band of Dvoretzky, Kiefer and Wolfowitz.
    gap = np.abs(law.cdf(at) - np.array([0.025, 0.25, 0.5, 0.75, 0.975])).max()
    assert gap < np.sqrt(np.log(2 / 0.001) / 80_000) + 1e-3


def _simulate(rng, *, rate, n, n_labeled, se=0.9, sp=0.8, crash=0.0):
    y = (rng.random(n) < rate).astype(float)
    verdict = np.where(y == 1, rng.random(n) < se, rng.random(n) > sp).astype(object)
    verdict[(y == 0) & (rng.random(n) < crash)] = None
    labels = np.where(np.arange(n) < n_labeled, y, np.nan)
    return verdict, labels


@pytest.mark.parametrize("method", ["rogan_gladen", "prediction_powered"])
@pytest.mark.parametrize("rate", [0.5, 0.85])
def test_intervals_of_random_validation_cover(method, rate) -> None:
    rng, inside, n = np.random.default_rng(7), 0, 400
    for _ in range(n):
        columns = _simulate(rng, rate=rate, n=500, n_labeled=150)
        inside += rate in estimate_pass_rate(*columns, method=method)["pass_rate"].interval()
    # 3.3 standard errors of 400 replications.
    assert 0.914 <= inside / n <= 0.986


def test_score_intervals_by_truth_cover_and_naive_ones_do_not() -> None:
    rng, inside, naive, n = np.random.default_rng(8), 0, 0, 400
    for _ in range(n):
        passed = rng.binomial(200, 0.3 * 0.9 + 0.7 * 0.2)
        se, sp = rng.binomial(60, 0.9) / 60, rng.binomial(60, 0.8) / 60
        law = ScoreLaw(passed / 200, se, sp, 200, 60, 60, False)
        inside += 0.3 in law.interval()
        a = passed / 200
        naive += abs(a - 0.3) < 1.96 * np.sqrt(a * (1 - a) / 200)
    assert 0.914 <= inside / n <= 0.986
    assert naive / n < 0.5


def test_a_judge_that_breaks_on_failures_raises_nothing() -> None:
    """Half of the failures have no verdict: scored rows alone would pass far too often."""
    rng = np.random.default_rng(9)
    verdict, labels = _simulate(rng, rate=0.5, n=4_000, n_labeled=800, crash=0.5)
    scored = np.array([v is not None for v in verdict])
    # Scored rows only: 2/3 of them are passes in truth.
    wrong = estimate_pass_rate(verdict[scored], labels[scored])["pass_rate"]
    assert 0.5 not in wrong.interval(0.999)
    for method in ("posterior", "rogan_gladen", "prediction_powered"):
        found = estimate_pass_rate(verdict, labels, method=method)
        assert 0.5 in found["pass_rate"].interval(0.999)
        assert "without a verdict" in found.notes[0]
        assert "(worst case)" in found.notes[0]


def test_more_missing_verdicts_never_narrow_the_posterior() -> None:
    y_true = [1] * 20 + [0] * 20 + [None] * 60
    widths = []
    for n_missing in (0, 30, 60):
        y_judge = [1] * 18 + [0] * 2 + [0] * 18 + [1] * 2 + [1] * 30 + [0] * 30
        y_judge[100 - n_missing :] = [None] * n_missing
        law = estimate_pass_rate(y_judge, y_true)["pass_rate"]
        widths.append(law.interval().width)
    assert widths[0] < widths[1] < widths[2]


def test_all_labels_known_is_the_share_of_labels() -> None:
    y_judge, y_true = [1, 1, 0, 0, 1] * 20, [1, 0, 0, 0, 1] * 20
    for method in ("rogan_gladen", "prediction_powered"):
        law = estimate_pass_rate(y_judge, y_true, method=method)["pass_rate"]
        assert law.mean == pytest.approx(0.4)
        # The standard error of a share of 100 rows, up to its divisor n or n - 1.
        assert law.sd == pytest.approx(np.sqrt(0.24 / 100), rel=0.006)


def test_one_kind_of_label_gives_an_interval_of_some_width() -> None:
    y_judge = [1] * 50 + [1] * 100
    y_true = [1] * 50 + [None] * 100
    for method in ("posterior", "prediction_powered"):
        span = estimate_pass_rate(y_judge, y_true, method=method)["pass_rate"].interval()
        assert 0.85 < span.low < 1.0
        assert span.high <= 1.0


def test_a_judge_no_better_than_chance_is_undefined_with_a_reason() -> None:
    found = estimate_pass_rate(
        [1, 0, 1, 0, 1], [1, 1, 0, 0, None], method="rogan_gladen", validation="by_truth"
    )
    row = found.summary().loc["pass_rate"]
    assert np.isnan(row["mean"])
    assert row["undefined_prob"] == 1.0
    assert "sum to no more than 1" in row["undefined_reason"]


def test_rows_in_any_order_and_container() -> None:
    y_judge, y_true = _columns(BRUCELLOSIS)
    order = np.random.default_rng(0).permutation(len(y_true))
    plain = estimate_pass_rate(y_judge, y_true)
    again = estimate_pass_rate(
        pd.Series(y_judge, dtype="Int64").iloc[order].reset_index(drop=True),
        pd.Series(y_true, dtype="Int64").iloc[order].reset_index(drop=True),
    )
    assert again["pass_rate"].mean == plain["pass_rate"].mean
    assert plain.statement == "credible"
    assert plain.draws(50, rng=1)["pass_rate"].shape == (50,)


def test_laws_answer_as_laws_do() -> None:
    law = ScoreLaw(6 / 151, 0.964, 0.927, 151, 1_000, 1_000, False)
    q = np.array([0.05, 0.95, 0.99])
    at = law.quantile(q)
    np.testing.assert_allclose(law.cdf(at[1:]), q[1:], atol=1e-9)
    assert law.cdf(-0.1) == 0.0
    assert law.cdf(1.0) == 1.0
    draws = law.draws(300, rng=0)
    assert draws.min() == 0.0
    assert draws.max() < 0.05


@pytest.mark.parametrize(
    ("y_judge", "y_true", "options", "sentence"),
    [
        ([1, 2], [1, 0], {}, r"`y_judge` must hold 1 for a pass.* got 2 at position 1"),
        (["pass", "fail"], [1, 0], {}, r"Compare first, e\.g\. `y_judge == 'pass'`"),
        ([1, 0], [None, None], {}, "`y_true` must hold some labels"),
        ([1, 0], [1], {}, "one value per row"),
        ([1, 0], [1, 0], {"method": "x"}, "`method` must be one of"),
        ([1, 0], [1, 0], {"validation": "x"}, "`validation` must be one of"),
        ([1, 0], [1, 1], {"method": "rogan_gladen"}, "got no negative one"),
        ([1, 0], [1, 0], {"validation": "by_truth"}, "every row is labeled"),
        (
            [1, 0, 1],
            [1, 0, None],
            {"method": "prediction_powered", "validation": "by_truth"},
            "use 'posterior' or 'rogan_gladen'",
        ),
    ],
)
def test_bad_input(y_judge, y_true, options, sentence) -> None:
    with pytest.raises(ValueError, match=sentence):
        estimate_pass_rate(y_judge, y_true, **options)


def test_words_for_missing_verdicts_are_missing() -> None:
    found = estimate_pass_rate([1, "unparseable", 0, "errored", 1], [1, 0, 0, None, None])
    assert found.notes[0].startswith("5 rows: 3 scored by the judge, 2 without a verdict.")


@pytest.mark.parametrize(
    ("stream", "positives", "negatives"),
    [
        ((4, 20_000), (500, 5), (900, 3)),
        ((99_900, 100_000), (5, 1), (5, 1)),
        ((1, 100), (50, 50), (95, 5)),
    ],
)
def test_a_posterior_far_from_the_middle_has_its_width(stream, positives, negatives) -> None:
    """Against sums over grids of log odds, fine at both ends, of all three rates."""
    law = truth_law(*stream, positives, negatives)

    def grid(a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
        x = expit(np.linspace(-20, 14, 250))
        weight = np.exp(xlogy(a, x) + xlog1py(b, -x))
        return x, weight / weight.sum()

    missed, of_missed = grid(positives[1] + 0.5, positives[0] + 0.5)
    alarm, of_alarm = grid(negatives[1] + 0.5, negatives[0] + 0.5)
    rate = expit(np.linspace(-22, 22, 300))
    logs = []
    for t in rate:
        passed = t * (1 - missed)[:, None] + (1 - t) * alarm
        fit = xlogy(stream[0], passed) + xlog1py(stream[1] - stream[0], -passed)
        # What underflows adds nothing.
        mean = of_missed @ np.exp(np.maximum(fit - fit.max(), -700)) @ of_alarm
        logs.append(fit.max() + np.log(max(mean, 1e-300)) + np.log(t * (1 - t)) / 2)
    mass = np.exp(np.array(logs) - max(logs))
    mass /= mass.sum()
    mean = float(mass @ rate)
    sd = float(np.sqrt(mass @ (rate - mean) ** 2))
    # The grids are good to a few parts in a thousand.
    assert law.sd == pytest.approx(sd, rel=0.02)
    assert law.mean == pytest.approx(mean, abs=0.02 * sd)
    assert law.interval(0.95).width > 2 * sd


@pytest.mark.parametrize(("n_positive", "n_negative"), [(2, 99_998), (99_999, 1), (40, 19_960)])
def test_a_rate_near_an_end_has_its_width(n_positive: int, n_negative: int) -> None:
    """One stratum that holds all rows: the law is close to Beta, however narrow it is."""
    n = n_positive + n_negative
    law = strata_law([(n, n_positive, n_negative), (0, 0, 0)])
    exact = beta_law(n_positive + 0.5, n_negative + 0.5)
    # An empty stratum keeps its share, one in n + 2, and its rate, one half.
    mean = ((n + 1) * exact.mean() + 0.5) / (n + 2)
    assert abs(law.mean - mean) < 0.01 * exact.std()
    found = law.interval(0.95)
    assert (found.low, found.high) == pytest.approx(exact.ppf([0.025, 0.975]), abs=exact.std())
    assert found.width == pytest.approx(np.ptp(exact.ppf([0.025, 0.975])), rel=0.25)
