"""estimate_optimal: identities, standard errors, the bracket, and what is refused."""

import inspect
import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from labelbayes.data.simulate_soft_labels import simulate_soft_labels
from labelbayes.optimal.beta_mixture import optimum_of_beta
from labelbayes.optimal.estimate import estimate_optimal
from labelbayes.optimal.forms import optimal_auc, optimal_ber, optimal_error
from labelbayes.optimal.influence import ber_influence
from labelbayes.optimal.isotonic import fit_isotonic
from labelbayes.results.estimates import Estimates

NAMES = ("error", "ber", "roc_auc", "error_held_out", "ber_held_out", "roc_auc_held_out")


def _means(estimates: Estimates) -> dict[str, float]:
    return {name: estimates[name].mean for name in NAMES}


def _sds(estimates: Estimates) -> dict[str, float]:
    return {name: estimates[name].sd for name in NAMES}


def test_in_sample_numbers_are_best_thresholds_and_the_hull() -> None:
    simulated = simulate_soft_labels(1_500, noise_sd=0.3, rng=1)
    soft, label = simulated.soft_labels, simulated.y_true
    found = _means(estimate_optimal(soft, label))
    false, true, _ = roc_curve(label, soft, drop_intermediate=False)
    assert found["ber"] == pytest.approx((1 - (true - false).max()) / 2, abs=1e-12)
    assert found["error"] == pytest.approx(optimal_error(fit_isotonic(soft, label)), abs=1e-12)
    assert found["roc_auc"] == pytest.approx(
        roc_auc_score(label, fit_isotonic(soft, label)), abs=1e-12
    )
    assert found["roc_auc_held_out"] == pytest.approx(roc_auc_score(label, soft), abs=1e-12)


def test_without_calibration_the_plain_formulas() -> None:
    eta = simulate_soft_labels(800, slope=1, shift=0.5, rng=2).eta
    found = _means(estimate_optimal(eta, calibrator=None))
    assert found["error"] == pytest.approx(optimal_error(eta), abs=1e-12)
    assert found["ber"] == pytest.approx(optimal_ber(eta), abs=1e-12)
    assert found["roc_auc"] == pytest.approx(optimal_auc(eta), abs=1e-12)
    for form in ("min", "max", "mad"):
        known = _means(estimate_optimal(eta, calibrator=None, prior=0.21, form=form))
        for name, optimal in (("ber", optimal_ber), ("roc_auc", optimal_auc)):
            expected = optimal(eta, prior=0.21, form=form)
            assert known[name] == pytest.approx(expected, abs=1e-12), name


@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.parametrize("theta", [0.01, 0.5])
def test_few_soft_labels_hardly_bias_the_area(theta: float, n: int) -> None:
    """With pairs of an item with itself it would be off by .081 from 5 items, by .018 from 20."""
    a, b = 20 * theta, 20 * (1 - theta)
    truth = optimum_of_beta(np.array([a]), np.array([b])).roc_auc[0]
    rows = np.random.default_rng(6).beta(a, b, (300, n))
    found = np.array([estimate_optimal(eta, calibrator=None)["roc_auc"].mean for eta in rows])
    error = found.std() / math.sqrt(300)
    assert abs(found.mean() - truth) < 0.005 + 4 * error
    if theta == 0.01:
        # The companion: ties of each item with itself take a share 1/n of the pairs.
        with_itself = 0.5 + (found - 0.5) * (n - 1) / n
        assert abs(with_itself.mean() - truth) > 0.005 + 4 * error


@pytest.mark.parametrize(
    ("calibrator", "prior", "form"),
    [("isotonic", None, "auto"), ("isotonic", 0.2, "min"), ("isotonic", 0.2, "max"),
     (None, None, "auto"), (None, 0.2, "min"), (None, 0.2, "max"), (None, 0.2, "mad")],
)  # fmt: skip
def test_standard_errors_are_those_of_repeated_samples(calibrator, prior, form) -> None:
    """150 samples of 1,000 items: a standard deviation is known to 5.8%, four of these are 23%."""
    found, stated = [], []
    for seed in range(150):
        simulated = simulate_soft_labels(1_000, distance=1.5, rng=seed)
        soft = simulated.eta if calibrator is None else simulated.soft_labels
        estimates = estimate_optimal(
            soft, simulated.y_true, calibrator=calibrator, prior=prior, form=form, rng=0
        )
        found.append(list(_means(estimates).values()))
        stated.append(list(_sds(estimates).values()))
    ratio = np.mean(stated, axis=0) / np.std(found, axis=0, ddof=1)
    assert (np.abs(ratio - 1) < 0.23).all(), dict(zip(NAMES, ratio, strict=True))


def test_an_influence_that_forgets_the_prior_is_caught() -> None:
    """Planted error: the estimated prior taken for a known one."""
    found, right, wrong = [], [], []
    for seed in range(150):
        simulated = simulate_soft_labels(1_000, distance=1.5, rng=seed)
        estimates = estimate_optimal(simulated.eta, calibrator=None)
        found.append(estimates["ber"].mean)
        right.append(estimates["ber"].sd)
        own = ber_influence(simulated.eta, simulated.eta >= simulated.eta.mean(), 0.2, shift=1.0)
        wrong.append(math.sqrt(own @ own) / 1_000)
    sd = np.std(found, ddof=1)
    assert abs(np.mean(right) / sd - 1) < 0.23
    assert abs(np.mean(wrong) / sd - 1) > 0.5


def test_the_bracket_contains_the_optimum_on_average() -> None:
    """100 samples of 300 items; means within three standard errors of their side."""
    rows, truth = [], simulate_soft_labels(2, rng=0)
    for seed in range(100):
        simulated = simulate_soft_labels(300, rng=seed)
        rows.append(
            list(_means(estimate_optimal(simulated.soft_labels, simulated.y_true)).values())
        )
    mean, error = np.mean(rows, axis=0), np.std(rows, axis=0) / 10
    for k, (name, sign) in enumerate((("error", 1), ("ber", 1), ("roc_auc", -1))):
        best = getattr(truth, name)
        # In-sample is optimistic by more than chance; held-out is not.
        assert sign * (mean[k] - best) < -3 * error[k], name
        assert sign * (mean[k + 3] - best) > -3 * error[k + 3], name


def test_limits_of_both_ends_cover_and_those_of_one_do_not() -> None:
    """400 samples of 300 items, 95%: within 3.3 standard errors is .914 to .986."""
    covered = np.zeros((2, 3))
    names = ("error", "ber", "roc_auc")
    for seed in range(400):
        simulated = simulate_soft_labels(300, rng=seed)
        estimates = estimate_optimal(simulated.soft_labels, simulated.y_true)
        for k, name in enumerate(names):
            truth, own = getattr(simulated, name), estimates[name].interval()
            other = estimates[f"{name}_held_out"].interval()
            low, high = min(own.low, other.low), max(own.high, other.high)
            covered[:, k] += [low <= truth <= high, truth in own]
            assert estimates.notes[k + 1].endswith(f"[{low:.4f}, {high:.4f}].")
    both, one = covered / 400
    assert (both >= 0.914).all(), both
    # The optimism of a best threshold is no sampling error: of one end alone the AUC fails.
    assert one[2] < 0.9, one


def test_order_of_items_and_labels_container_do_not_matter() -> None:
    simulated = simulate_soft_labels(500, rng=3)
    soft, label = simulated.soft_labels, simulated.y_true
    shuffle = np.random.default_rng(0).permutation(500)
    first = estimate_optimal(soft, label)
    for other in (
        estimate_optimal(soft[shuffle], label[shuffle]),
        estimate_optimal(soft.tolist(), label.astype(bool).tolist()),
        estimate_optimal(soft.astype(np.float64), label.astype(float)),
        estimate_optimal(np.clip(soft**2, 0, 1), label),
    ):
        assert _means(other) == pytest.approx(_means(first), abs=1e-12)
        assert _sds(other) == pytest.approx(_sds(first), abs=1e-12)


def test_swapping_the_classes_changes_nothing() -> None:
    simulated = simulate_soft_labels(500, rng=4)
    first = _means(estimate_optimal(simulated.soft_labels, simulated.y_true))
    other = _means(estimate_optimal(1 - simulated.soft_labels, 1 - simulated.y_true))
    for name in ("error", "ber", "roc_auc", "roc_auc_held_out"):
        assert other[name] == pytest.approx(first[name], abs=1e-12)


def test_items_without_a_label_are_left_out_and_counted() -> None:
    simulated = simulate_soft_labels(300, rng=5)
    label = simulated.y_true.astype(float)
    label[::3] = np.nan
    kept = ~np.isnan(label)
    found = estimate_optimal(simulated.soft_labels, label)
    expected = estimate_optimal(simulated.soft_labels[kept], simulated.y_true[kept])
    assert _means(found) == _means(expected)
    assert (found.n_labeled, found.n_unlabeled) == (200, 100)
    assert "100 items without a hard label are left out." in found.notes
    assert "missing completely at random" in found.assumption


def test_without_hard_labels_nothing_is_held_out() -> None:
    found = estimate_optimal([0.1, 0.3, 0.8], calibrator=None)
    row = found.summary().loc["error_held_out"]
    assert math.isnan(row["mean"])
    assert (row["undefined_prob"], row["undefined_reason"]) == (1.0, "no hard labels judge a rule")
    assert (found.n_labeled, found.n_unlabeled) == (0, 3)
    assert set(found) == set(NAMES)


def test_a_perfect_sample_is_no_perfect_population() -> None:
    soft, label = np.linspace(0, 1, 50), np.repeat([0, 1], 25)
    for size in (0, 50):
        found = estimate_optimal(soft, label, n_resamples=size, rng=0)
        assert (found["error"].mean, found["roc_auc"].mean) == pytest.approx((0, 1))
        for name in ("error", "ber", "roc_auc"):
            span = found[name].interval()
            assert span.width > 0.01
            assert 0 <= span.low <= span.high <= 1


def test_draws_are_joint() -> None:
    simulated = simulate_soft_labels(2_000, rng=6)
    found = estimate_optimal(simulated.soft_labels, simulated.y_true)
    draws = found.draws(4_000, rng=0)
    for name in NAMES:
        assert float(draws[name].std()) == pytest.approx(found[name].sd, rel=0.06)
    # A larger BER goes with a smaller AUC.
    assert np.corrcoef(draws["ber"].values, draws["roc_auc"].values)[0, 1] < -0.5


def test_sentences_travel_with_the_numbers() -> None:
    simulated = simulate_soft_labels(400, rng=7)
    found = estimate_optimal(simulated.soft_labels, simulated.y_true, ci_prob=0.9)
    assert (found.statement, found.target) == ("confidence", "population")
    assert found.notes[0].startswith("90% confidence interval for sampling error")
    ends = [found["error"].mean, found["error_held_out"].mean]
    spans = [found[name].interval(0.9) for name in ("error", "error_held_out")]
    assert found.notes[1] == (
        f"error: between {ends[0]:.4f} (in-sample, optimistic) and {ends[1]:.4f} (held-out, "
        "pessimistic) on average; each interval covers sampling error only. From the lower 90% "
        f"limit of the two to the upper: [{spans[0].low:.4f}, {spans[1].high:.4f}]."
    )
    assert set(found.summary()["ci_kind"]) == {"confidence"}


def test_labels_that_do_not_fit_the_prior_are_an_alarm() -> None:
    """Distorted soft labels, not calibrated: their mean is far from the prior."""
    simulated = simulate_soft_labels(3_000, rng=8)
    raised = estimate_optimal(
        simulated.soft_labels, simulated.y_true, calibrator=None, prior=0.2, form="max"
    )
    assert any("further apart than chance allows" in note for note in raised.notes)
    assert any("was clipped to" in note for note in raised.notes)
    quiet = estimate_optimal(simulated.soft_labels, simulated.y_true, prior=0.2)
    assert not any("further apart" in note for note in quiet.notes)


def test_counts_of_raters_bound_their_bias() -> None:
    rng = np.random.default_rng(9)
    eta = rng.beta(0.5, 0.5, 4_000)
    counts = rng.binomial(10, eta)
    found = estimate_optimal(counts, n_ratings=10, calibrator=None)
    assert found["error"].mean == pytest.approx(optimal_error(counts / 10), abs=1e-14)
    (note,) = [note for note in found.notes if note.startswith("Shares of raters")]
    assert note.endswith("`build_soft_labels` removes this bias.")
    label = (rng.random(4_000) < eta).astype(int)
    fitted = estimate_optimal(counts, label, n_ratings=10)
    assert any("the optimum given the items is better" in note for note in fitted.notes)
    # Sixty raters each: the same shares, the same numbers.
    more = estimate_optimal(counts * 6, n_ratings=np.full(4_000, 60), calibrator=None)
    assert _means(more) == pytest.approx(_means(found), nan_ok=True)


@pytest.mark.parametrize(
    ("soft", "label", "options", "sentence"),
    [
        ([0.2, 1.4], [0, 1], {}, r"got 1.4 at row 1"),
        ([0.2, 0.4], None, {}, "or `calibrator=None` where the soft labels are the probabilities"),
        ([0.2, 0.4], [1, 1], {}, "Label items of the other class"),
        ([0.2, 0.4], [0, 1, 1], {}, "got 3 for 2"),
        ([[0.2, 0.8]], [0], {}, "The optimum of several classes is not offered"),
        ([3, 11], [0, 1], {"n_ratings": 10}, r"must not exceed `n_ratings`; got 11 of 10 at row 1"),
        ([3, 0.5], [0, 1], {"n_ratings": 10}, "Leave out `n_ratings` for soft labels"),
        ([3, 1], [0, 1], {"n_ratings": [10]}, r"one number or one per item, shape \(2,\)"),
        ([3, 1], [0, 1], {"n_ratings": 0}, "at least 1; got 0.0 at row 0"),
        ([[3, 1]], [0], {"n_ratings": 3}, "add up the columns that are positive"),
        ([0.2, 0.4], [0, 1], {"calibrator": "platt"}, "must be one of 'isotonic'; got 'platt'"),
        ([0.2, 0.4], [0, 1], {"form": "f1"}, "one of 'auto', 'min', 'max', 'mad'"),
        ([0.2, 0.4], [0, 1], {"prior": 1.0}, "strictly between 0 and 1; got 1.0"),
        ([0.2, 0.4], [0, 1], {"n_resamples": -1}, "at least 0; got -1"),
        ([0.2, 0.4], [0, 1], {"ci_prob": 95}, "Write 0.95 for 95%"),
        ([0.2, 0.4], [0.3, 1], {}, "soft"),
    ],
)  # fmt: skip
def test_bad_input(soft, label, options: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        estimate_optimal(soft, label, **options)


def test_every_option_bites() -> None:
    simulated = simulate_soft_labels(300, rng=10)
    tied = simulated.soft_labels.round(1)
    label = simulated.y_true

    def numbers(soft=tied, rng=0, **options) -> dict[str, float]:
        estimates = estimate_optimal(soft, label, rng=rng, **options)
        return {f"{name} {k}": value for name in NAMES for k, value in enumerate(
            (estimates[name].mean, estimates[name].sd, estimates.notes[0]))}  # fmt: skip

    others = {
        "n_ratings": lambda: numbers((tied * 10).round(), n_ratings=10, calibrator=None),
        "calibrator": lambda: numbers(calibrator=None),
        "prior": lambda: numbers(prior=0.3),
        "form": lambda: numbers(prior=0.3, form="mad"),
        "ci_prob": lambda: numbers(ci_prob=0.5),
        "n_resamples": lambda: numbers(n_resamples=20),
        "rng": lambda: numbers(rng=1),
    }
    named = set(inspect.signature(estimate_optimal).parameters) - {"soft_labels", "y_true"}
    assert named == set(others)
    for name, call in others.items():
        base = numbers(prior=0.3) if name == "form" else numbers()
        assert call() != base, name
    assert numbers() == numbers()


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("n_resamples", [0, 20])
def test_soft_labels_of_one_class_leave_ber_and_auc_undefined(value: float, n_resamples) -> None:
    found = estimate_optimal([value] * 5, calibrator=None, n_resamples=n_resamples, rng=0)
    assert found["error"].mean == 0.0
    for name in ("ber", "roc_auc"):
        assert found[name].undefined_prob == 1.0
        assert found[name].undefined_reason == "all labels are of one class"
    assert found["error_held_out"].undefined_reason == "no hard labels judge a rule"
