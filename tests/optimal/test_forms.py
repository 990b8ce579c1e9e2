"""The forms of the optimum against exact rationals, double loops, and what they cannot be."""

import inspect
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelbayes.optimal.beta_mixture import optimum_of_beta
from labelbayes.optimal.combine import combine_auc, combine_ber
from labelbayes.optimal.discriminant import (
    auc_discriminant,
    auc_variance_difference,
    ber_discriminant,
    ber_variance_difference,
)
from labelbayes.optimal.forms import (
    ClippedWarning,
    auc_forms,
    ber_forms,
    optimal_auc,
    optimal_ber,
    optimal_error,
)
from labelbayes.optimal.soft_labels import prior_of

LABELS = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.6, 0.9, 1.0]), min_size=2, max_size=9)
PRIORS = st.sampled_from([0.05, 0.3, 0.5, 0.8])


def test_all_forms_equal_the_exact_rationals(oracle) -> None:
    seen = 0
    for case in oracle["forms"]:
        eta = case["inputs"]["eta"]
        for output in case["outputs"]:
            result = output["result"]
            if result is None:
                continue
            prior = None if output["theta_rule"] == "mean" else float(output["theta_rule"])
            found = [optimal_error(eta), *ber_forms(eta, prior=prior)]
            found.append(ber_discriminant(eta, prior=prior))
            names = ["error_min", "ber_min", "ber_max", "ber_mad", "delta_ber"]
            if "auc_min_raw" in result:
                found += [*auc_forms(eta, prior=prior), auc_discriminant(eta, prior=prior)]
                names += ["auc_min_raw", "auc_max_raw", "auc_gini_raw", "delta_auc"]
            # Ten digits of a form that reaches 8: round-off of the oracle's own 15 digits.
            assert found == pytest.approx([result[name] for name in names], rel=1e-13, abs=1e-13)
            seen += 1
    assert seen == 36


def _clipped(call, expected: float, raw: float) -> None:
    if abs(raw - expected) > 1e-9:
        with pytest.warns(ClippedWarning, match="it was clipped to"):
            found = call()
    else:
        found = call()
    assert found == pytest.approx(expected, abs=1e-13)


def test_public_values_are_the_clipped_rationals_and_say_so(oracle) -> None:
    n_checked = 0
    for case in oracle["forms"]:
        eta = case["inputs"]["eta"]
        for output in case["outputs"]:
            result = output["result"] or {}
            prior = None if output["theta_rule"] == "mean" else float(output["theta_rule"])
            for form, name in (("min", "min"), ("max", "max"), ("mad", "mad")):
                if f"ber_{name}_clipped" in result:
                    _clipped(
                        lambda f=form, e=eta, p=prior: optimal_ber(e, prior=p, form=f),
                        result[f"ber_{name}_clipped"],
                        result[f"ber_{name}"],
                    )
                    n_checked += 1
                auc = "gini" if name == "mad" else name
                if f"auc_{auc}_clipped" in result:
                    _clipped(
                        lambda f=form, e=eta, p=prior: optimal_auc(e, prior=p, form=f),
                        result[f"auc_{auc}_clipped"],
                        result[f"auc_{auc}_raw"],
                    )
                    n_checked += 1
    assert n_checked > 100


def test_truncated_prior_equals_the_rationals(oracle) -> None:
    rows = [row for case in oracle["prior"] for row in case["outputs"]["rows"] if row["c"] == 0.25]
    assert len(rows) == 2
    for row in rows:
        assert prior_of(np.array(row["y"], dtype=float), None) == pytest.approx(row["theta"])


@given(eta=LABELS, prior=PRIORS)
@settings(max_examples=40, deadline=None)
def test_sorting_equals_double_loops(eta: list[float], prior: float) -> None:
    pairs = list(itertools.permutations(range(len(eta)), 2))
    smaller = np.mean([min(eta[i] * (1 - eta[j]), eta[j] * (1 - eta[i])) for i, j in pairs])
    larger = np.mean([max(eta[i] * (1 - eta[j]), eta[j] * (1 - eta[i])) for i, j in pairs])
    scale = 2 * prior * (1 - prior)
    forms = auc_forms(eta, prior=prior)
    assert forms.min == pytest.approx(1 - smaller / scale, abs=1e-12)
    assert forms.max == pytest.approx(larger / scale, abs=1e-12)
    gap = [(eta[i] - prior) * abs(eta[i] - eta[j]) for i, j in pairs]
    assert auc_discriminant(eta, prior=prior) == pytest.approx(
        (1 - 2 * prior) * np.mean(gap), abs=1e-13
    )


@given(eta=LABELS)
@settings(max_examples=40, deadline=None)
def test_the_trap_with_the_mean_as_prior_all_forms_of_ber_are_one_number(
    eta: list[float],
) -> None:
    if 0 < np.mean(eta) < 1:
        forms = ber_forms(eta)
        assert max(forms) - min(forms) < 1e-12
    # With any other prior they are not: the choice matters there alone.
    other = ber_forms(eta, prior=0.37)
    expected = (1 - 0.74) * (np.mean(eta) - 0.37) / (2 * 0.37 * 0.63)
    assert other.min - other.max == pytest.approx(expected, abs=1e-12)


def test_forms_of_auc_differ_by_one_over_n_with_the_mean_as_prior() -> None:
    rng = np.random.default_rng(0)
    gaps = []
    for n in (100, 1_000, 10_000):
        forms = auc_forms(rng.beta(0.5, 2, n))
        gaps.append(n * (forms.max - forms.min))
    assert max(gaps) / min(gaps) < 1.5
    assert gaps[-1] / 10_000 < 1e-3


def test_auto_is_the_sign_of_the_discriminant() -> None:
    for eta, prior in (([0.02, 0.1, 0.3, 0.9], 0.3), ([0.05, 0.4, 0.4, 0.4], 0.35)):
        for discriminant, forms, optimal in (
            (ber_discriminant, ber_forms, optimal_ber),
            (auc_discriminant, auc_forms, optimal_auc),
        ):
            values = forms(eta, prior=prior)
            wanted = values.min if discriminant(eta, prior=prior) >= 0 else values.max
            low, high = (0, 0.5) if forms is ber_forms else (0.5, 1)
            if low <= wanted <= high:
                assert optimal(eta, prior=prior) == pytest.approx(wanted)
            else:
                with pytest.warns(ClippedWarning):
                    optimal(eta, prior=prior)
    # The two cases are on both sides of zero.
    assert ber_discriminant([0.02, 0.1, 0.3, 0.9], prior=0.3) > 0
    assert ber_discriminant([0.05, 0.4, 0.4, 0.4], prior=0.35) < 0


@pytest.mark.parametrize("prior", [5e-324, 1e-300, 1 - 2**-53])
def test_a_prior_at_the_edge_of_the_floats_does_not_overflow(prior: float) -> None:
    eta = [0.0, 0.0, 1e-3]
    assert 0 <= optimal_ber(eta, prior=prior, form="min") <= 0.5
    with pytest.warns(ClippedWarning):
        assert 0.5 <= optimal_auc([0.2, 0.3], prior=prior, form="min") <= 1


@pytest.mark.parametrize("eta", [[0, 1, 0, 0, 1], [0, 0, 0], [1, 1, 1]])
def test_hard_soft_labels_are_perfectly_separable(eta: list[int]) -> None:
    assert (optimal_error(eta), optimal_ber(eta), optimal_auc(eta)) == (0, 0, 1)


@pytest.mark.parametrize("p", [0.5, 0.3, 0.01, 1e-9, 1e-300, 1 - 1e-4, 1 - 1e-9])
def test_equal_soft_labels_tell_nothing_however_rare_the_class(p: float) -> None:
    eta = [p] * 4
    assert optimal_error(eta) == pytest.approx(min(p, 1 - p))
    assert (optimal_ber(eta), optimal_auc(eta)) == pytest.approx((0.5, 0.5))


def test_rare_and_common_classes_are_exchanged() -> None:
    rare = 2.0 ** np.array([-30, -29, -27, -31])
    for optimal in (optimal_error, optimal_ber, optimal_auc):
        assert optimal(rare) == optimal(1 - rare)
    assert 0.5 < optimal_auc(rare) < 1


def biases(theta: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Bias of BER and AUC from n soft labels of a Beta law, by the mean and by one with a floor."""
    a, b = 20 * theta, 20 * (1 - theta)
    truth = optimum_of_beta(np.array([a]), np.array([b]))
    eta = np.random.default_rng(5).beta(a, b, (1_500, n))
    floor = 0.25 / n
    found = np.array(
        [
            [ber_forms(e, prior=p).min, np.clip(auc_forms(e, prior=p).min, 0.5, 1)]
            for e in eta
            for p in (None, min(1 - floor, max(floor, float(e.mean()))))
        ]
    ).reshape(-1, 2, 2)
    mean = found.mean(axis=0) - [truth.ber[0], truth.roc_auc[0]]
    return mean, found.std(axis=0) / np.sqrt(len(eta))


@pytest.mark.parametrize("n", [5, 10, 50])
@pytest.mark.parametrize("theta", [0.002, 0.01, 0.05, 0.5, 0.99])
def test_few_items_are_hardly_biased(theta: float, n: int) -> None:
    (ber, auc), (ber_error, auc_error) = (part[0] for part in biases(theta, n))
    assert abs(auc) < 0.005 + 4 * auc_error
    assert -4 * ber_error < ber < 1 / (2 * n) + 4 * ber_error


def test_a_floor_under_the_prior_would_be_caught() -> None:
    for theta in (0.01, 0.99):
        (ber, auc), (ber_error, auc_error) = (part[1] for part in biases(theta, 10))
        assert auc > 0.05 > 0.005 + 4 * auc_error
        assert ber < -0.04 < -4 * ber_error


def test_order_and_container_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    eta = rng.random(501)
    shuffled = eta[rng.permutation(501)]
    for optimal in (optimal_error, optimal_ber, optimal_auc):
        # Sums in another order.
        assert optimal(shuffled) == pytest.approx(optimal(eta), abs=1e-14)
        assert optimal(eta.tolist()) == optimal(eta)
    before = eta.copy()
    eta.setflags(write=False)
    optimal_auc(eta)
    np.testing.assert_array_equal(eta, before)


def test_blocks_make_no_difference(monkeypatch) -> None:
    eta = np.random.default_rng(2).random(1_000)
    whole = optimal_auc(eta, prior=0.4)
    monkeypatch.setattr("labelbayes.optimal.discriminant.BLOCK", 7)
    assert optimal_auc(eta, prior=0.4) == pytest.approx(whole, abs=1e-13)


@pytest.mark.parametrize(
    ("eta", "options", "sentence"),
    [
        ([0.2, 1.3], {}, r"in \[0, 1\]; got 1.3 at row 1 \(1 such values\)"),
        ([0.2, np.nan], {}, r"got nan at row 1"),
        ([], {}, "at least . items; got 0"),
        ([[0.2, 0.8]], {}, "add up the columns that are positive"),
        ([0.2, 0.3], {"prior": 0.0}, "Leave it out to take the mean"),
        ([0.2, 0.3], {"form": "gini"}, "one of 'auto', 'min', 'max', 'mad'; got 'gini'"),
    ],
)
def test_bad_input(eta: list, options: dict, sentence: str) -> None:
    for optimal in (optimal_ber, optimal_auc):
        with pytest.raises(ValueError, match=sentence):
            optimal(eta, **options)
    if not options:
        with pytest.raises(ValueError, match=sentence):
            optimal_error(eta)


def test_one_item_has_no_pairs() -> None:
    assert optimal_ber([0.4]) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="at least 2 items; got 1"):
        optimal_auc([0.4])


def test_every_option_bites() -> None:
    eta = [0.05, 0.2, 0.3, 0.9]
    for optimal in (optimal_ber, optimal_auc):
        options = set(inspect.signature(optimal).parameters) - {"eta"}
        assert options == {"prior", "form"}
        base = optimal(eta, prior=0.35)
        assert optimal(eta) != base
        assert optimal(eta, prior=0.35, form="mad") != base


def test_variances_differ_as_the_discriminants_say(oracle) -> None:
    """All 27 samples of 3 from three values, weighted: exact variances of the estimators."""
    (case,) = oracle["variance"]
    eta, weight = (np.array(case["inputs"][key]) for key in ("eta", "weight"))
    theta, expected = case["outputs"]["theta"], case["outputs"]["var"]
    values, mass = [], []
    for sample in itertools.product(range(3), repeat=3):
        picked = eta[list(sample)]
        ber, auc = ber_forms(picked, prior=theta), auc_forms(picked, prior=theta)
        values.append([ber.min, ber.max, auc.min, auc.max])
        mass.append(np.prod(weight[list(sample)]))
    mean = np.array(mass) @ np.array(values)
    variance = np.array(mass) @ (np.array(values) - mean) ** 2
    names = ["ber_min", "ber_max", "auc_min_raw", "auc_max_raw"]
    assert variance == pytest.approx([expected[name] for name in names], rel=1e-12)
    assert mean == pytest.approx([case["outputs"]["mean"][name] for name in names], rel=1e-12)
    # 20 items have these weights exactly; the formulas are for n = 20 there.
    items = np.repeat(eta, [12, 5, 3])
    scale = theta**2 * (1 - theta) ** 2
    by_formula = ber_variance_difference(items, theta) * 20 / 3
    assert variance[1] - variance[0] == pytest.approx(by_formula, rel=1e-12)
    # Pairs of different items miss the pairs of an item with itself, where the distance is 0.
    delta = auc_discriminant(items, prior=theta) * 19 / 20
    assert delta == pytest.approx(case["outputs"]["delta_auc"], rel=1e-12)
    gamma = (auc_variance_difference(items, theta) * 20 * scale * 19 / 20 - delta) * 19
    assert gamma == pytest.approx(case["outputs"]["gamma"], rel=1e-9)
    assert variance[3] - variance[2] == pytest.approx((delta + gamma / 2) / (3 * scale), rel=1e-9)


def test_the_combination_varies_less_than_both_forms() -> None:
    """400 items, prior 0.2 known: standard deviations of 400 samples."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(400):
        eta = rng.beta(0.5, 2.0, 400)
        ber, auc = ber_forms(eta, prior=0.2), auc_forms(eta, prior=0.2)
        one, two = combine_ber(eta, 0.2), combine_auc(eta, 0.2)
        found.append([ber.min, ber.max, one.value, auc.min, auc.max, two.value])
        errors = one.standard_error, two.standard_error
    sd = np.std(found, axis=0)
    assert sd[2] < min(sd[:2]) * 1.01
    assert sd[5] < min(sd[3:5]) * 1.01
    # Unbiased: within four standard errors of the mean of the min form, which is.
    means = np.mean(found, axis=0)
    assert abs(means[2] - means[0]) < 4 * sd[0] / 20
    assert abs(means[5] - means[3]) < 4 * sd[3] / 20
    # Its own standard error is right to what 400 replications can tell (sd of a sd: 3.5%).
    assert errors == pytest.approx((sd[2], sd[5]), rel=0.25)


def test_a_wrong_prior_biases_the_combination() -> None:
    eta = np.random.default_rng(4).beta(0.5, 2.0, 20_000)
    right, wrong = combine_ber(eta, 0.2), combine_ber(eta, 0.4)
    assert abs(right.value - optimal_ber(eta)) < 0.002
    assert abs(wrong.value - optimal_ber(eta)) > 0.01
