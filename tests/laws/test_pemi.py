"""The PEMI estimator: three methods, two targets, what it says and what it refuses."""

import inspect
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.impute import impute
from labelbayes.laws.missing_counts import count_pairs, weigh_missing
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.metrics.confusion import COUNT_METRICS, fbeta
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.count_law import CountLaw
from labelbayes.results.distribution import DrawsLaw
from labelbayes.results.estimates import Estimates
from labelbayes.results.mixture import MixtureLaw


def make_rows(n: int, share_labeled: float, seed: int) -> EvaluationSet:
    rng = np.random.default_rng(seed)
    score = rng.beta(0.8, 1.2, n)
    y_true = np.where(rng.random(n) < share_labeled, rng.random(n) < score, np.nan)
    return EvaluationSet(y_true, score)


ROWS = make_rows(300, 0.3, 0)
GIVEN = impute(ROWS, np.linspace(0.05, 0.95, 300))
FITTED = impute(ROWS, "histogram", n_refits=6, rng=0)
EVERYTHING = [*COUNT_METRICS, fbeta(0.5)]
DEFAULTS = ["accuracy", "precision", "recall", "f1"]


@pytest.mark.parametrize("belief", [GIVEN, FITTED], ids=["given", "refits"])
def test_draws_follow_the_exact_law(belief: Imputation) -> None:
    n = 20_000
    exact = estimate_pemi(ROWS, belief, metrics=EVERYTHING)
    sampled = estimate_pemi(ROWS, belief, metrics=EVERYTHING, method="sampled", n_draws=n, rng=1)
    limit = np.sqrt(np.log(2 / 1e-7) / (2 * n))  # Dvoretzky-Kiefer-Wolfowitz
    for name, law in exact.items():
        t = law.mean + law.sd * np.linspace(-3, 3, 60)
        apart = abs(law.cdf(t) - sampled[name].cdf(t))
        assert apart.max() < limit
        # A tenth of a standard deviation away is seen.
        assert abs(law.cdf(t) - sampled[name].cdf(t + 0.1 * law.sd)).max() > limit


@pytest.mark.parametrize("belief", [GIVEN, FITTED], ids=["given", "refits"])
def test_joint_draws_follow_the_exact_laws(belief: Imputation) -> None:
    exact = estimate_pemi(ROWS, belief, metrics=EVERYTHING)
    drawn = exact.draws(20_000, 4)
    for name, law in exact.items():
        error = law.sd / np.sqrt(20_000)
        assert float(drawn[name].mean()) == pytest.approx(law.mean, abs=6 * error)
        assert float(drawn[name].std()) == pytest.approx(law.sd, rel=0.05)


def test_refits_are_mixed_and_pulled_wider() -> None:
    exact = estimate_pemi(ROWS, FITTED, metrics=DEFAULTS)
    pairs = count_pairs(ROWS, FITTED)
    assert len(pairs) == 6
    for law in exact.values():
        assert isinstance(law, MixtureLaw)
        assert len(law.components) == 6
    known = estimate_pemi(ROWS, FITTED.without_refits(), metrics=DEFAULTS)
    assert all(exact[name].sd > known[name].sd for name in exact)
    assert all(isinstance(law, CountLaw) for law in known.values())


def test_bins_give_the_laws_of_their_rows() -> None:
    bins = estimate_pemi(ROWS, FITTED, metrics=EVERYTHING)
    by_row = [
        estimate_pemi(ROWS, impute(ROWS, FITTED.refit(i)), metrics=EVERYTHING) for i in range(6)
    ]
    for name, law in bins.items():
        laws = [estimates[name] for estimates in by_row]
        assert law.mean == pytest.approx(np.mean([part.mean for part in laws]), abs=1e-12)
        mixed = np.mean([part.cdf([0.4, 0.6, 0.8]) for part in laws], axis=0)
        assert law.cdf([0.4, 0.6, 0.8]) == pytest.approx(mixed, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "words", "kind"),
    [
        ({}, "exact law; given probabilities", CountLaw),
        ({"method": "gauss"}, "matched normal law; given probabilities", NormalLaw),
        (
            {"method": "sampled", "n_draws": 2_000},
            "2,000 draws, cdf within 0.0304 (DKW, 95%); given probabilities",
            DrawsLaw,
        ),
        (
            {"target": "population", "n_draws": 3_000},
            "3,000 draws of rows and labels; given probabilities",
            DrawsLaw,
        ),
    ],
)
def test_the_method_says_what_was_done(options: dict[str, Any], words: str, kind: type) -> None:
    result = estimate_pemi(ROWS, GIVEN, metrics=DEFAULTS, rng=0, **options)
    assert result.method == words
    assert all(isinstance(law, kind) for law in result.values())
    assert result.target == options.get("target", "sample")
    assert result.statement == ("credible" if "target" in options else "predictive")
    assert result.assumption == GIVEN.assumption
    assert (result.n_labeled, result.n_unlabeled) == (ROWS.n_labeled, ROWS.n_unlabeled)


def test_exact_stays_exact_however_many_rows() -> None:
    rows = make_rows(200_000, 0.1, 3)
    result = estimate_pemi(rows, impute(rows, np.full(200_000, 0.37)), metrics=["f1"])
    assert result.method.startswith("exact law")
    assert isinstance(result["f1"], CountLaw)


def test_notes_say_what_the_interval_means() -> None:
    sample = estimate_pemi(ROWS, GIVEN)
    assert sample.notes[0].startswith("95% predictive interval for the metric of these 300 rows")
    population = estimate_pemi(ROWS, FITTED, target="population", n_draws=50, rng=0)
    assert "rows drawn like these" in population.notes[0]
    assert "(6 refits)" in population.notes[0]
    assert set(FITTED.notes) <= set(population.notes)


def values(result: Estimates) -> np.ndarray:
    table = result.summary()[["mean", "sd", "low", "high"]].to_numpy()
    return table


def test_equal_seeds_give_equal_draws_and_leave_numpy_alone() -> None:
    for target in ("sample", "population"):
        for belief in (GIVEN, FITTED):
            options: dict[str, Any] = {"method": "sampled", "target": target, "n_draws": 400}
            before = np.random.get_state(legacy=False)  # noqa: NPY002 - it must stay as it is
            first = estimate_pemi(ROWS, belief, rng=7, **options)
            again = estimate_pemi(ROWS, belief, rng=np.random.default_rng(7), **options)
            after = np.random.get_state(legacy=False)  # noqa: NPY002
            assert repr(before) == repr(after)
            assert (values(first) == values(again)).all()
            assert (values(first) != values(estimate_pemi(ROWS, belief, rng=8, **options))).any()


@pytest.mark.parametrize("target", ["sample", "population"])
def test_draws_by_rows_are_never_held(target: Any) -> None:
    rows = make_rows(300_000, 0.2, 2)
    p = np.random.default_rng(0).random(300_000)
    belief = impute(rows, p)
    tracemalloc.start()
    try:
        estimate_pemi(rows, belief, method="sampled", target=target, n_draws=1_000, rng=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150e6  # 300,000 x 1,000 bytes would be 3e8


#: A base in which every option matters, and one other value of each.
BASE: dict[str, Any] = {"method": "sampled", "n_draws": 300, "rng": 0}
OTHER: dict[str, Any] = {
    "metrics": ["npv"],
    "method": "exact",
    "target": "population",
    "n_draws": 301,
    "rng": 1,
}


@pytest.mark.parametrize("option", OTHER)
def test_every_option_bites(option: str) -> None:
    base = estimate_pemi(ROWS, GIVEN, **BASE)
    changed = estimate_pemi(ROWS, GIVEN, **(BASE | {option: OTHER[option]}))
    assert list(base) != list(changed) or (values(base) != values(changed)).any()


def test_the_table_of_options_is_whole() -> None:
    parameters = inspect.signature(estimate_pemi).parameters.values()
    optional = {p.name for p in parameters if p.default is not inspect.Parameter.empty}
    assert optional == OTHER.keys()


def other_rows() -> Imputation:
    return impute(EvaluationSet([1, None], [0.9, 0.2]), [0.5, 0.5])


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda: estimate_pemi([1, 0], GIVEN),  # type: ignore[arg-type]
            TypeError,
            "`evaluation` must be an EvaluationSet; got list.",
        ),
        (
            lambda: estimate_pemi(ROWS, np.full(300, 0.5)),  # type: ignore[arg-type]
            TypeError,
            "must be an Imputation; got ndarray. Wrap probabilities with `impute(evaluation, p)`.",
        ),
        (
            lambda: estimate_pemi(ROWS, other_rows()),
            ValueError,
            "against 300 rows with 93. Call `impute` on this evaluation.",
        ),
        (
            lambda: estimate_pemi(ROWS, GIVEN, method="exakt"),
            ValueError,
            "'gauss', 'sampled', 'enumerated', 'lattice', 'edgeworth'; got 'exakt'.",
        ),
        (
            lambda: estimate_pemi(ROWS, GIVEN, target="rate"),  # type: ignore[arg-type]
            ValueError,
            "`target` must be one of 'sample', 'population'; got 'rate'.",
        ),
        (
            lambda: estimate_pemi(ROWS, GIVEN, method="gauss", target="population"),
            ValueError,
            "with target='population'; got 'gauss', which knows only these rows.",
        ),
        (
            lambda: estimate_pemi(ROWS, GIVEN, n_draws=0),
            ValueError,
            "`n_draws` must be at least 1; got 0.",
        ),
        (
            lambda: estimate_pemi(ROWS, GIVEN, rng="7", method="sampled"),  # type: ignore[arg-type]
            TypeError,
            "`rng` must be a numpy Generator, a whole number or None; got '7'.",
        ),
    ],
)
def test_bad_arguments_are_refused(
    call: Callable[[], object], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value).endswith(sentence)


def test_missing_rows_are_weighed_by_decision() -> None:
    positive, negative = weigh_missing(ROWS, FITTED)
    missing = ~ROWS.is_labeled
    assert positive.count.sum() == (missing & (ROWS.y_pred == 1)).sum()
    assert negative.count.sum() == (missing & (ROWS.y_pred == 0)).sum()
    for i in range(6):
        p = FITTED.refit(i)
        rows = missing & (ROWS.y_pred == 1)
        assert positive.law(1 + i).mean == pytest.approx(p[rows].sum(), rel=1e-12)
    assert positive.law(0).mean == pytest.approx(FITTED.p[missing & (ROWS.y_pred == 1)].sum())
