"""Response sets of two options: the posterior against a grid; planted errors fail."""

import numpy as np
import pytest
from scipy.special import logsumexp

from labelbayes.bayes.posterior import Posterior
from labelbayes.bayes.rating_sets import build_rating_sets
from labelbayes.bayes.sampling import sample
from labelbayes.data.ratings import Ratings
from labelbayes.data.simulate_ratings import SimulatedRatings, simulate_ratings
from labelbayes.data.verdicts import read_verdicts


def _simulate(n_ratings: int, **options) -> SimulatedRatings:
    return simulate_ratings(
        200,
        n_options=2,
        n_ratings=n_ratings,
        rater_error=0.08,
        judge_accuracy=0.83,
        rng=3,
        **options,
    )


@pytest.fixture(scope="module")
def simulated() -> SimulatedRatings:
    return _simulate(5, n_audited=40)


@pytest.fixture(scope="module")
def posterior(simulated) -> Posterior:
    return sample(
        build_rating_sets(simulated.ratings, simulated.y_judge), draws=500, tune=500, rng=4
    )


def _grid_axis(draws: np.ndarray, low: float, high: float, n: int) -> np.ndarray:
    """Midpoints that hold the posterior: six of its standard deviations to each side."""
    center, reach = float(draws.mean()), 6 * float(draws.std())
    edges = np.linspace(max(low, center - reach), min(high, center + reach), n + 1)
    return (edges[1:] + edges[:-1]) / 2


def _oracle(simulated: SimulatedRatings, posterior: Posterior, *, judge_counts: bool = True):
    """Means on a grid of theta (two of three), error and accuracy, written out once more."""
    ratings, data = simulated.ratings, posterior.dataset
    choice = read_verdicts("y_judge", simulated.y_judge, ratings).choice
    sets = ratings.set_array
    rows = np.column_stack([ratings.count_array, choice, ratings.has_set, sets])
    rows, count = np.unique(rows, axis=0, return_counts=True)
    theta = data["theta"].values.reshape(-1, 3)
    n = 19
    axes = [
        _grid_axis(theta[:, 0], 0, 1, n),
        _grid_axis(theta[:, 2], 0, 1, n),
        _grid_axis(data["error"].values, 0, 0.5, n),
        _grid_axis(data["accuracy"].values, 0, 1, n),
    ]
    a, both, error, accuracy = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
    b = 1 - a - both
    inside = b > 0
    a, both, error, accuracy, b = (axis[inside] for axis in (a, both, error, accuracy, b))
    log_mass = 3 * np.log1p(-2 * error)  # Beta(1, 4) of twice the error
    valid = 0.0
    shares = []
    for (n_a, n_b, judge, is_known, has_a, has_b), items in zip(rows, count, strict=True):
        says = accuracy if judge_counts else 0 * accuracy + 0.5
        hit, miss = np.log(says), np.log1p(-says)
        terms = np.stack(
            [
                np.log(a) + n_a * np.log1p(-error) + n_b * np.log(error),
                np.log(b) + n_b * np.log1p(-error) + n_a * np.log(error),
                np.log(both) - (n_a + n_b + 1) * np.log(2),
            ]
        )
        terms[0] += hit if judge == 0 else miss
        terms[1] += hit if judge == 1 else miss
        if is_known:
            kept = {(True, False): 0, (False, True): 1, (True, True): 2}[(bool(has_a), bool(has_b))]
            log_mass = log_mass + items * terms[kept]
            valid += items * float(kept in (2, judge))
            continue
        total = logsumexp(terms, axis=0)
        log_mass = log_mass + items * total
        shares.append(items * np.exp(logsumexp(terms[[judge, 2]], axis=0) - total))
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    share = (valid + np.sum(shares, axis=0)) / ratings.n_items
    found = {"rho": both, "error": error, "accuracy": accuracy, "valid_match": share}
    return {name: float(values @ mass) for name, values in found.items()}


def test_the_posterior_agrees_with_a_grid(simulated, posterior, mean_z) -> None:
    assert posterior.diagnostics.ok, posterior.diagnostics
    expected = _oracle(simulated, posterior)
    found = {
        name: mean_z(posterior.dataset[name].values, value) for name, value in expected.items()
    }
    # Midpoints of a third of a standard deviation add nothing to a Monte Carlo error.
    assert max(found.values()) < 4, (found, expected)
    assert simulated.valid_match in posterior.estimates()["valid_match"].interval(0.99)


def test_a_model_without_the_judge_disagrees(simulated, posterior, mean_z) -> None:
    expected = _oracle(simulated, posterior, judge_counts=False)
    found = {
        name: mean_z(posterior.dataset[name].values, value) for name, value in expected.items()
    }
    assert max(found.values()) > 8, found


def test_the_exact_mixture_and_the_rates_agree_with_the_draws(posterior) -> None:
    draws, exact = posterior.estimates()["valid_match"], posterior.estimates(exact=True)
    assert exact["valid_match"].mean == pytest.approx(draws.mean, abs=0.2 * draws.sd)
    assert exact["valid_match"].sd == pytest.approx(draws.sd, rel=0.1)
    model = posterior.label_model
    rate = model.complete(posterior.dataset, target="rate", rng=0)["valid_match"]
    assert float(rate.std()) < draws.sd
    wide = model.complete(posterior.dataset, target="population", rng=0)["valid_match"]
    assert float(wide.std()) > draws.sd


def test_repeats_and_sets_identify_and_one_choice_does_not(posterior) -> None:
    frame = posterior.contraction()
    assert (frame["contraction"] > 0.8).all()
    assert frame.index.tolist() == ["rho", "error", "accuracy"]
    alone, some = _simulate(1), _simulate(1, n_audited=100)
    note = build_rating_sets(alone.ratings, alone.y_judge).notes[0]
    assert note.startswith("One forced choice per item identifies neither")
    note = build_rating_sets(some.ratings, some.y_judge).notes[0]
    assert "100 response sets identify the share" in note


@pytest.mark.slow
def test_one_choice_per_item_leaves_the_prior() -> None:
    alone = _simulate(1)
    once = sample(build_rating_sets(alone.ratings, alone.y_judge), draws=1_500, rng=5)
    sentences = once.contraction()["sentence"]
    assert "mostly the prior" in sentences["rho"]
    assert "mostly the prior" in sentences["error"]


def test_items_with_known_sets_are_known() -> None:
    ratings = Ratings(
        [1, 1, 2, 2, 3, 3], ["ann", "bob"] * 3, ["A", ["A"], "B", ["A", "B"], "A", "B"]
    )
    label_model = build_rating_sets(ratings, ["B", "A", None])
    assert (label_model.n_labeled, label_model.n_unlabeled) == (2, 1)
    known = label_model.completion.known[0]
    assert (known.tp, known.fp) == (1, 1)
    assert any("1 verdicts are missing" in note for note in label_model.notes)


def test_rates_by_hand() -> None:
    ratings = Ratings([1, 1, 2, 2], ["ann", "bob"] * 2, ["A", "A", "A", "B"])
    label_model = build_rating_sets(ratings, ["B", None])
    theta, error, accuracy = np.array([[0.5, 0.2, 0.3]]), 0.1, 0.8
    draws = {"theta": theta, "error": np.array([error]), "accuracy": np.array([accuracy])}
    rates = label_model.completion.rates(draws)[0]
    weight = np.array([0.5 * 0.9**2 * 0.2, 0.2 * 0.1**2 * 0.8, 0.3 * 0.5**3])
    told = (weight[1] + weight[2]) / weight.sum()
    weight = np.array([0.5 * 0.09, 0.2 * 0.09, 0.3 * 0.25])
    unseen = (0.8 * (weight[0] + weight[1]) + weight[2]) / weight.sum()
    assert sorted(rates) == pytest.approx(sorted([told, unseen]))


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        (["A", "B", "C"], (1, 4), r"must have two options for `build_rating_sets`; got 3\. With"),
        (["A", "B"], (0, 4), "`error`"),
    ],
)
def test_bad_input(options, error, sentence) -> None:
    ratings = Ratings([1, 1], ["ann", "bob"], ["A", "B"], options=options)
    with pytest.raises(ValueError, match=sentence):
        build_rating_sets(ratings, ["A"], error=error)
    with pytest.raises(TypeError, match="`ratings` must be a Ratings"):
        build_rating_sets([1], ["A"])


def test_the_prior_of_the_error_bites(simulated) -> None:
    models = [
        build_rating_sets(simulated.ratings, simulated.y_judge, error=error)
        for error in ((1, 4), (2, 38))
    ]
    assert models[0].prior_var["error"] > models[1].prior_var["error"]
