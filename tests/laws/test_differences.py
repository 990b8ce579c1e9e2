"""Differences of models and of groups against all completions, one by one."""

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn import metrics as sk

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.impute import impute
from labelbayes.laws import group_counts, paired_counts
from labelbayes.laws.differences import compare_groups, compare_models
from labelbayes.metrics.confusion import COUNT_METRICS, CountMetric, fbeta
from labelbayes.results.estimates import Estimates
from labelbayes.results.sampled import SampledLaw
from tests.laws.conftest import Compare, Listed

EVERYTHING = [*COUNT_METRICS.values(), fbeta(0.5)]
Values = Callable[[npt.NDArray[Any]], tuple[float, float]]


def table(y: npt.NDArray[Any], decision: npt.NDArray[Any]) -> list[int]:
    return [int(((y == a) & (decision == b)).sum()) for a, b in ((1, 1), (0, 1), (1, 0), (0, 0))]


def completions(
    y_true: npt.NDArray[Any], p: npt.NDArray[Any]
) -> Iterator[tuple[float, npt.NDArray[Any]]]:
    missing = np.flatnonzero(np.isnan(y_true))
    for labels in itertools.product([0.0, 1.0], repeat=len(missing)):
        y = y_true.copy()
        y[missing] = labels
        yield float(np.where(y[missing] == 1, p[missing], 1 - p[missing]).prod()), y


def enumerate_difference(
    y_true: npt.NDArray[Any], beliefs: list[npt.NDArray[Any]], values: Values
) -> Listed:
    """List A - B over all completions, mixed over the beliefs; `values` gives A and B."""
    lost, found = 0.0, {}
    for p in beliefs:
        for weight, y in completions(y_true, p):
            a, b = values(y)
            if np.isnan(a - b):
                lost += weight
            else:
                key = round(a - b, 12) + 0.0
                found[key] = found.get(key, 0.0) + weight
    support = np.array(sorted(found))
    pmf = np.array([found[x] for x in support])
    return Listed(lost / len(beliefs), support, pmf / max(pmf.sum(), 1e-300))


def of_models(metric: CountMetric, a: EvaluationSet, b: EvaluationSet) -> Values:
    return lambda y: (float(metric(*table(y, a.y_pred))), float(metric(*table(y, b.y_pred))))


def of_groups(metric: CountMetric, rows: EvaluationSet, names: tuple[str, str]) -> Values:
    one, two = (rows.group == name for name in names)
    return lambda y: (
        float(metric(*table(y[one], rows.y_pred[one]))),
        float(metric(*table(y[two], rows.y_pred[two]))),
    )


def make_labels(rng: np.random.Generator, n: int, n_missing: int) -> npt.NDArray[Any]:
    y = rng.integers(0, 2, n).astype(float)
    y[rng.choice(n, n_missing, replace=False)] = np.nan
    return y


def make_models(
    seed: int, n: int = 9, n_missing: int = 6
) -> tuple[EvaluationSet, EvaluationSet, Imputation]:
    """Two models without scores, and a belief of two refits that knows both."""
    rng = np.random.default_rng(seed)
    y = make_labels(rng, n, n_missing)
    a, b = (EvaluationSet(y, y_pred=rng.integers(0, 2, n)) for _ in range(2))
    return a, b, two_fits(a, rng, np.column_stack([a.y_pred, b.y_pred]))


def two_fits(rows: EvaluationSet, rng: np.random.Generator, features: Any) -> Imputation:
    values = rng.random((3, rows.n_rows))
    return Imputation(
        p=np.where(rows.is_labeled, rows.y_true, values[0]),
        is_labeled=rows.is_labeled,
        method="two refits",
        assumption="two refits",
        bin_index=np.arange(rows.n_rows),
        bin_values=values,
        features=impute(rows, values[0], features=features).features,
    )


def beliefs_of(imputation: Imputation) -> list[npt.NDArray[Any]]:
    return [imputation.refit(i) for i in range(imputation.n_refits)] or [imputation.p]


@pytest.mark.parametrize("seed", range(4))
def test_models_are_every_completion(seed: int, law_faults: Compare) -> None:
    a, b, belief = make_models(seed)
    result = compare_models(a, b, belief, metrics=EVERYTHING)
    assert result.method.startswith("exact law;")
    for metric in EVERYTHING:
        listed = enumerate_difference(a.y_true, beliefs_of(belief), of_models(metric, a, b))
        assert law_faults(result[metric.name], listed) == [], metric.name


@pytest.mark.parametrize("seed", range(4))
def test_groups_are_every_completion(seed: int, law_faults: Compare) -> None:
    rng = np.random.default_rng(seed)
    y = make_labels(rng, 10, 7)
    rows = EvaluationSet(y, y_pred=rng.integers(0, 2, 10), group=list("aabbbabbab"))
    belief = two_fits(rows, rng, rows.group)
    result = compare_groups(rows, belief, metrics=EVERYTHING)["a", "b"]
    assert result.method.startswith("exact law;")
    for metric in EVERYTHING:
        values = of_groups(metric, rows, ("a", "b"))
        listed = enumerate_difference(y, beliefs_of(belief), values)
        assert law_faults(result[metric.name], listed) == [], metric.name


def test_each_refit_by_itself_would_be_another_law(law_faults: Compare) -> None:
    # A planted error: the groups' own mixtures, taken as independent, forget the shared fit.
    rng = np.random.default_rng(0)
    y = make_labels(rng, 10, 7)
    rows = EvaluationSet(y, y_pred=rng.integers(0, 2, 10), group=list("aabbbabbab"))
    belief = two_fits(rows, rng, rows.group)
    metric = COUNT_METRICS["accuracy"]
    right = compare_groups(rows, belief, metrics=[metric])["a", "b"]["accuracy"]
    p_a, p_b = (beliefs_of(belief)[i] for i in (0, 1))
    is_a = rows.group == "a"
    mixed = [np.where(is_a, one, two) for one in (p_a, p_b) for two in (p_a, p_b)]
    wrong = enumerate_difference(y, mixed, of_groups(metric, rows, ("a", "b")))
    assert law_faults(right, wrong) != []


def test_exact_rationals_agree() -> None:
    y = np.array([1.0, 0.0, np.nan, np.nan, np.nan, np.nan, 1.0])
    a = EvaluationSet(y, y_pred=[1, 1, 1, 1, 0, 0, 0])
    b = EvaluationSet(y, y_pred=[1, 0, 1, 0, 1, 0, 1])
    p = [Fraction(1, 4), Fraction(1, 8), Fraction(3, 4), Fraction(1, 2)]
    law = compare_models(a, b, given(a, b, [0, 0, *map(float, p), 0]), metrics=["recall"])["recall"]
    total, square, at_most_zero = Fraction(0), Fraction(0), Fraction(0)
    for labels in itertools.product((0, 1), repeat=4):
        weight = Fraction(1)
        for label, q in zip(labels, p, strict=True):
            weight *= q if label else 1 - q
        n_positive = 2 + sum(labels)
        # a finds the first labeled positive, b both; a the first two missing, b one and three.
        found_a, found_b = 1 + labels[0] + labels[1], 2 + labels[0] + labels[2]
        gap = Fraction(found_a - found_b, n_positive)
        total, square = total + weight * gap, square + weight * gap**2
        at_most_zero += weight * (gap <= 0)
    assert law.mean == pytest.approx(float(total), abs=1e-15)
    assert law.sd**2 == pytest.approx(float(square - total**2), abs=1e-15)
    assert float(law.cdf(0.0)) == pytest.approx(float(at_most_zero), abs=1e-15)


def given(a: EvaluationSet, b: EvaluationSet, p: Any) -> Imputation:
    columns = [e.y_pred if e.y_score is None else e.y_score for e in (a, b)]
    return impute(a, p, features=np.column_stack(columns))


def make_large(n: int, seed: int = 0) -> tuple[EvaluationSet, EvaluationSet, Imputation]:
    rng = np.random.default_rng(seed)
    score = rng.beta(0.8, 1.2, n)
    other = np.clip(score + rng.normal(0, 0.2, n), 0, 1)
    y = np.where(rng.random(n) < 0.5, rng.random(n) < score, np.nan)
    group = rng.choice(["east", "west"], n, p=[0.4, 0.6])
    a, b = EvaluationSet(y, score, group=group), EvaluationSet(y, other)
    return a, b, two_fits(a, rng, np.column_stack([score, other]))


COUNTS = [*COUNT_METRICS, fbeta(0.5)]


def compare_east_west(
    a: EvaluationSet, b: EvaluationSet, imputation: Imputation, **options: Any
) -> Estimates:
    """Compare groups with the signature of the comparison of models."""
    return compare_groups(a, imputation, **options)["east", "west"]


BOTH = pytest.mark.parametrize("compare", [compare_models, compare_east_west])


@BOTH
def test_draws_with_known_moments_stand_in_for_a_list_too_long(
    compare: Callable[..., Estimates], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = make_large(150)
    exact = compare(*rows, metrics=COUNTS)
    assert exact.method.startswith("exact law;")
    monkeypatch.setattr(paired_counts, "MOST_CELLS", 1)
    monkeypatch.setattr(group_counts, "MOST_VALUES", 1)
    n = 20_000
    drawn = compare(*rows, metrics=COUNTS, n_draws=n, rng=0)
    assert "20,000 draws, cdf within 0.0096 (DKW, 95%) of " in drawn.method
    limit = np.sqrt(np.log(2 / 1e-7) / (2 * n))
    n_sampled = 0
    for name, law in exact.items():
        if not isinstance(drawn[name], SampledLaw):
            continue
        n_sampled += 1
        # Moments come from quadrature (models) and from the laws of the groups.
        assert drawn[name].mean == pytest.approx(law.mean, abs=1e-9), name
        assert drawn[name].sd == pytest.approx(law.sd, rel=1e-8), name
        t = law.mean + law.sd * np.linspace(-3, 3, 40)
        assert abs(law.cdf(t) - drawn[name].cdf(t)).max() < limit, name
        # A tenth of a standard deviation away is seen.
        assert abs(law.cdf(t) - drawn[name].cdf(t + 0.1 * law.sd)).max() > limit, name
    assert n_sampled >= 8


@BOTH
def test_joint_draws_follow_the_exact_laws(compare: Callable[..., Estimates]) -> None:
    exact = compare(*make_large(150), metrics=COUNTS)
    drawn = exact.draws(20_000, 4)
    for name, law in exact.items():
        assert float(drawn[name].mean()) == pytest.approx(law.mean, abs=6 * law.sd / 141)
        assert float(drawn[name].std()) == pytest.approx(law.sd, rel=0.05)


@BOTH
def test_the_matched_normal_has_the_moments_of_linear_metrics(
    compare: Callable[..., Estimates],
) -> None:
    rows = make_large(2_000)
    exact = compare(*rows, metrics=["accuracy", "precision"])
    normal = compare(*rows, metrics=["accuracy", "precision", "f1"], method="gauss")
    assert normal.method.startswith("matched normal law;")
    for name, law in exact.items():
        assert normal[name].mean == pytest.approx(law.mean, abs=1e-12)
        assert normal[name].sd == pytest.approx(law.sd, rel=1e-9)
    with pytest.raises(ValueError, match="law of its own"):
        normal.draws(10, 0)


@BOTH
def test_nothing_missing_is_the_difference_itself(compare: Callable[..., Estimates]) -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 60)
    a, b = (EvaluationSet(y, rng.random(60), group=["east", "west"] * 30) for _ in range(2))
    result = compare(a, b, impute(a))
    east = a.group == "east"
    sides = ((y, a), (y, b))
    if compare is compare_east_west:
        sides = ((y[east], a.subset(east)), (y[~east], a.subset(~east)))
    functions = {
        "accuracy": lambda y, e: sk.accuracy_score(y, e.y_pred),
        "precision": lambda y, e: sk.precision_score(y, e.y_pred),
        "recall": lambda y, e: sk.recall_score(y, e.y_pred),
        "f1": lambda y, e: sk.f1_score(y, e.y_pred),
        "roc_auc": lambda y, e: sk.roc_auc_score(y, e.y_score),
        "average_precision": lambda y, e: sk.average_precision_score(y, e.y_score),
    }
    assert list(result) == list(functions)
    for name, function in functions.items():
        wanted = function(*sides[0]) - function(*sides[1])
        assert result[name].mean == pytest.approx(wanted, abs=1e-12)
        assert result[name].sd == 0.0
        assert result[name].undefined_prob == 0.0


def test_models_that_decide_alike_are_equal_with_certainty() -> None:
    a, _, _ = make_large(300)
    b = EvaluationSet(a.y_true, a.y_score)
    result = compare_models(a, b, impute(a, rng=0), metrics=["accuracy", "precision", "roc_auc"])
    for law in result.values():
        assert law.mean == pytest.approx(0.0, abs=1e-12)
        assert law.sd == pytest.approx(0.0, abs=1e-9)
        assert float(law.cdf(0.0)) == 1.0
        assert law.prob_at_least(0.0) == 1.0


def test_swapping_the_models_mirrors_the_law() -> None:
    a, b, belief = make_large(120)
    one = compare_models(a, b, belief, metrics=COUNTS)
    two = compare_models(b, a, belief, metrics=COUNTS)
    for name, law in one.items():
        other = two[name]
        assert (law.mean, law.sd) == pytest.approx((-other.mean, other.sd), abs=1e-12)
        for t in law.mean + law.sd * np.array([-2.0, -0.7, 0.0, 0.4, 1.5]):
            assert float(law.cdf(t)) == pytest.approx(other.prob_at_least(-t), abs=1e-12)


@BOTH
def test_counts_are_repeated_rows(compare: Callable[..., Estimates]) -> None:
    a, b, belief = make_large(60)
    count = np.random.default_rng(1).integers(1, 4, 60)
    rows = np.repeat(np.arange(60), count)
    weighted = [EvaluationSet(e.y_true, e.y_score, group=a.group, count=count) for e in (a, b)]
    repeated = [EvaluationSet(e.y_true[rows], e.y_score[rows], group=a.group[rows]) for e in (a, b)]
    long = Imputation(
        p=belief.p[rows],
        is_labeled=belief.is_labeled[rows],
        method="",
        assumption="",
        bin_index=belief.bin_index[rows],
        bin_values=belief.bin_values,
        features=belief.features.iloc[rows].reset_index(drop=True),
    )
    one = compare(*weighted, belief, metrics=COUNTS)
    two = compare(*repeated, long, metrics=COUNTS)
    for name, law in one.items():
        assert (law.mean, law.sd) == pytest.approx((two[name].mean, two[name].sd), abs=1e-12)
        assert law.quantile([0.1, 0.5, 0.9]) == pytest.approx(two[name].quantile([0.1, 0.5, 0.9]))


def test_population_is_a_dirichlet_where_p_is_known() -> None:
    a, b, belief = make_large(400)
    known = given(a, b, np.where(a.is_labeled, 0, belief.p))
    law = compare_models(a, b, known, metrics=["accuracy"], target="population", rng=0)["accuracy"]
    # The difference weighs each row by how much more often A is right: a Dirichlet mean, with a
    # quarter of a row for each label and pair of decisions.
    gain = (2 * known.p - 1) * (a.y_pred.astype(float) - b.y_pred)
    gains, weights = (
        np.append(gain, [1, 1, -1, -1, 0, 0, 0, 0]),
        np.append(np.ones(400), [0.25] * 8),
    )
    total = weights.sum()
    mean = weights @ gains / total
    sd = np.sqrt(weights @ (gains - mean) ** 2 / (total * (total + 1)))
    assert law.mean == pytest.approx(mean, abs=5 * sd / 100)
    assert law.sd == pytest.approx(sd, rel=0.04)  # 10,000 draws: 0.7% a standard error
    sample = compare_models(a, b, known, metrics=["accuracy"])["accuracy"]
    assert not np.isclose(law.sd, sample.sd, rtol=0.1)


@BOTH
@pytest.mark.parametrize("metrics", [["f1"], ["f1", "roc_auc"]])
def test_population_completes_first_where_p_was_fitted(
    compare: Callable[..., Estimates], metrics: list[str]
) -> None:
    rows = make_large(300)
    sample = compare(*rows, metrics=metrics, rng=0)
    result = compare(*rows, metrics=metrics, target="population", n_draws=4_000, rng=0)
    assert result.method.startswith("4,000 draws of rows and labels;")
    assert "rows drawn like these" in result.notes[0]
    assert result.statement == "credible"
    for name, law in result.items():
        assert law.mean == pytest.approx(sample[name].mean, abs=0.02)
        assert law.sd > 1.1 * sample[name].sd
        assert float(result.draws(4_000, 1)[name].std()) == pytest.approx(law.sd, rel=0.1)
