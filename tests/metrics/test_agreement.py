"""Agreement against brute force (oracles, item 09), published tables and scikit-learn."""

from itertools import permutations
from math import nan

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import jensenshannon

from labelbayes.data.ratings import Ratings
from labelbayes.metrics.agreement import (
    cohen_kappa,
    fleiss_kappa,
    hit_rate,
    krippendorff_alpha,
)
from labelbayes.metrics.judge_scores import MEASURES, score_judges, split_variation
from labelbayes.metrics.set_agreement import (
    consistency,
    coverage,
    cross_entropy,
    decide,
    decision_bias,
    js_distance,
    kl_divergence,
    reach,
    set_error,
    top_choice,
)

#: Oracles, item 09, cases of kind "agreement"; argmax ties of the oracle take the lowest index.
AGREEMENT = {
    "K3_n5": {
        "inputs": {
            "human_O": [
                [0.6, 0.3, 0.1],
                [0.2, 0.5, 0.3],
                [0.1, 0.1, 0.8],
                [0.4, 0.4, 0.2],
                [1.0, 0.0, 0.0],
            ],
            "judge_O": [
                [0.5, 0.3, 0.2],
                [0.45, 0.35, 0.2],
                [0.0, 0.2, 0.8],
                [0.3, 0.5, 0.2],
                [0.7, 0.3, 0.0],
            ],
            "human_omega": [
                [0.8, 0.5, 0.1],
                [0.3, 0.7, 0.5],
                [0.2, 0.1, 0.9],
                [0.5, 0.6, 0.2],
                [1.0, 0.0, 0.3],
            ],
            "judge_omega": [
                [0.7, 0.4, 0.3],
                [0.6, 0.5, 0.2],
                [0.0, 0.3, 0.9],
                [0.4, 0.6, 0.25],
                [0.9, 0.5, 0.1],
            ],
            "tau": 0.5,
            "downstream_options": [0],
            "downstream_tau": 0.5,
        },
        "outputs": {
            "h_human": [0, 1, 2, 0, 0],
            "h_judge": [0, 0, 2, 1, 0],
            "hrs_human": [[1, 1, 0], [0, 1, 1], [0, 0, 1], [1, 1, 0], [1, 0, 0]],
            "hrs_judge": [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0], [1, 1, 0]],
            "hit_rate": 0.6,
            "cohen_kappa": 0.285714285714286,
            "krippendorff_alpha_nominal": 0.357142857142857,
            "kl_human_judge": 0.512674278605829,
            "kl_judge_human": 1.33344911358013,
            "ce_human_judge": 1.2369844323538,
            "jsd_distance_mean": 0.184887438521375,
            "js_divergence_mean": 0.0427845665440908,
            "coverage": 0.8,
            "mse_srs": 0.1345,
            "mse_srs_mean_over_options": 0.0448333333333333,
            "y_human": [1, 0, 0, 0, 1],
            "y_judge": [1, 1, 0, 0, 1],
            "consistency": 0.8,
            "bias": 0.2,
        },
    },
    "K2_constant_raters": {
        "inputs": {
            "human_O": [[0.9, 0.1], [0.9, 0.1], [0.9, 0.1]],
            "judge_O": [[0.8, 0.2], [0.8, 0.2], [0.8, 0.2]],
            "human_omega": [[0.9, 0.3], [0.9, 0.3], [0.9, 0.3]],
            "judge_omega": [[0.8, 0.2], [0.8, 0.2], [0.8, 0.2]],
            "tau": 0.3,
            "downstream_options": [1],
            "downstream_tau": 0.3,
        },
        "outputs": {
            "h_human": [0, 0, 0],
            "h_judge": [0, 0, 0],
            "hrs_human": [[1, 1], [1, 1], [1, 1]],
            "hrs_judge": [[1, 0], [1, 0], [1, 0]],
            "hit_rate": 1.0,
            "cohen_kappa": nan,
            "krippendorff_alpha_nominal": nan,
            "kl_human_judge": 0.0366900140347506,
            "kl_judge_human": 0.0444030075868823,
            "ce_human_judge": 0.361772987426199,
            "jsd_distance_mean": 0.0998318052585087,
            "js_divergence_mean": 0.00996638934117281,
            "coverage": 1.0,
            "mse_srs": 0.02,
            "mse_srs_mean_over_options": 0.01,
            "y_human": [0, 0, 0],
            "y_judge": [0, 0, 0],
            "consistency": 1.0,
            "bias": 0.0,
        },
    },
    "K2_n4": {
        "inputs": {
            "human_O": [[0.7, 0.3], [0.5, 0.5], [0.2, 0.8], [0.0, 1.0]],
            "judge_O": [[0.4, 0.6], [0.5, 0.5], [0.1, 0.9], [0.6, 0.4]],
            "human_omega": [[0.8, 0.4], [0.7, 0.6], [0.3, 0.9], [0.1, 1.0]],
            "judge_omega": [[0.5, 0.7], [0.6, 0.6], [0.2, 0.95], [0.7, 0.5]],
            "tau": 0.6,
            "downstream_options": [0],
            "downstream_tau": 0.5,
        },
        "outputs": {
            "h_human": [0, 0, 1, 1],
            "h_judge": [1, 0, 1, 0],
            "hrs_human": [[1, 0], [1, 1], [0, 1], [0, 1]],
            "hrs_judge": [[0, 1], [1, 1], [0, 1], [1, 0]],
            "hit_rate": 0.5,
            "cohen_kappa": 0.0,
            "krippendorff_alpha_nominal": 0.125,
            "kl_human_judge": 0.286120158649087,
            "kl_judge_human": 3.34280772453789,
            "ce_human_judge": 0.737223635750219,
            "jsd_distance_mean": 0.209641994349484,
            "js_divergence_mean": 0.0826314217682379,
            "coverage": 0.5,
            "mse_srs": 0.203125,
            "mse_srs_mean_over_options": 0.1015625,
            "y_human": [1, 1, 0, 0],
            "y_judge": [0, 1, 0, 1],
            "consistency": 0.5,
            "bias": 0.0,
        },
    },
}

#: Oracles, item 09, kinds "krippendorff" and "fleiss".
ALPHAS = [
    ([[0, 0, 1], [1, 1, nan], [2, 2, 2], [0, nan, nan], [1, 2, 2], [nan, 0, 0]], 0.571428571428571),
    ([[1, 1], [1, 1], [1, nan]], nan),
    ([[1, nan], [nan, 0]], nan),
    ([[0, 0], [1, 0], [1, 1], [0, 0], [1, 1], [0, 1]], 0.388888888888889),
]
FLEISS = [([[5, 0, 0], [2, 3, 0], [0, 4, 1], [1, 1, 3]], 0.3359375), ([[3, 0], [3, 0]], nan)]

#: Krippendorff 2011, four coders and twelve units (case b08).
CODERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
    [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
]
#: Fleiss 1971, fourteen raters and ten subjects (case b08).
SUBJECTS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


@pytest.mark.parametrize("name", AGREEMENT)
def test_agreement_equals_brute_force(name) -> None:
    given, expected = AGREEMENT[name]["inputs"], AGREEMENT[name]["outputs"]
    human, judge = given["human_O"], given["judge_O"]
    hard = expected["h_human"], expected["h_judge"]
    members = given["judge_omega"], given["human_omega"]
    # The oracle decides above its threshold, this project at it.
    cut = np.nextafter(given["downstream_tau"], 1) + 1e-11
    decisions = [decide(m, given["downstream_options"], cut) for m in members]
    found = {
        "hit_rate": hit_rate(*hard),
        "cohen_kappa": cohen_kappa(*hard),
        "krippendorff_alpha_nominal": krippendorff_alpha(np.transpose(hard)),
        "kl_human_judge": kl_divergence(human, judge),
        "kl_judge_human": kl_divergence(judge, human),
        "ce_human_judge": cross_entropy(human, judge),
        "jsd_distance_mean": js_distance(human, judge),
        "coverage": coverage(hard[1], reach(given["human_omega"], given["tau"])),
        "mse_srs": set_error(*members),
        "y_judge": decisions[0].astype(int).tolist(),
        "y_human": decisions[1].astype(int).tolist(),
        "consistency": consistency(*decisions),
        "bias": decision_bias(*decisions),
    }
    for key, value in found.items():
        # Sums of a few terms near 1.
        assert value == pytest.approx(expected[key], abs=1e-12, nan_ok=True), key
    for who in ("human", "judge"):
        sets = reach(given[f"{who}_omega"], given["tau"]).astype(int)
        assert sets.tolist() == expected[f"hrs_{who}"]
        top = top_choice(given[f"{who}_O"])
        clear = top >= 0
        assert top[clear].tolist() == np.array(expected[f"h_{who}"])[clear].tolist()


@pytest.mark.parametrize(("units", "alpha"), ALPHAS)
def test_alpha_equals_brute_force(units, alpha) -> None:
    assert krippendorff_alpha(units) == pytest.approx(alpha, abs=1e-13, nan_ok=True)


@pytest.mark.parametrize(("counts", "kappa"), FLEISS)
def test_fleiss_equals_brute_force(counts, kappa) -> None:
    assert fleiss_kappa(counts) == pytest.approx(kappa, abs=1e-13, nan_ok=True)


def test_published_tables() -> None:
    """Krippendorff .743 and Fleiss .210, in exact fractions 0.743421052632 and 0.209930704422."""
    wide = Ratings.from_wide(pd.DataFrame(np.transpose(CODERS), columns=list("abcd")))
    assert wide.n_scored == 41
    assert krippendorff_alpha(wide.units()) == pytest.approx(0.743421052632, abs=1e-12)
    assert fleiss_kappa(SUBJECTS) == pytest.approx(0.209930704422, abs=1e-12)
    with pytest.raises(ValueError, match=r"same number of ratings.* got 1 to 4\. Use `kripp"):
        fleiss_kappa(wide.count_array)
    # Wrong readings of the first table: gaps as a category, numbers as quantities.
    gaps = np.nan_to_num(np.transpose(CODERS), nan=9.0)
    assert krippendorff_alpha(gaps) == pytest.approx(0.576576576577, abs=1e-12)


def test_fleiss_needs_two_ratings_and_items() -> None:
    for counts, found in (([[1, 0], [0, 1]], "1 to 1"), (np.empty((0, 2)), "no items")):
        with pytest.raises(ValueError, match=found):
            fleiss_kappa(counts)


def test_names_of_options_and_order_of_items_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 3, (2, 40))
    order, renamed = rng.permutation(40), np.array([2, 0, 1])
    for measure in (hit_rate, cohen_kappa):
        assert measure(renamed[a][order], renamed[b][order]) == pytest.approx(measure(a, b))
    units = np.stack([a, b], axis=1)
    assert krippendorff_alpha(renamed[units][order]) == pytest.approx(krippendorff_alpha(units))


def test_the_distance_of_laws_equals_scipy_and_is_0_for_equal_ones() -> None:
    rng = np.random.default_rng(6)
    p, q = rng.dirichlet([0.3] * 4, (2, 50))
    assert js_distance(p, q) == pytest.approx(jensenshannon(p, q, axis=1).mean(), abs=1e-12)
    # Warnings are errors here: round-off never gets under a root.
    shares = rng.dirichlet([0.4, 0.4, 0.6], 500)
    assert js_distance(shares, shares) == 0.0


def test_missing_answers_are_left_out_and_ties_have_no_top() -> None:
    assert hit_rate([0, -1, 1], [0, 0, -1]) == 1.0
    assert np.isnan(hit_rate([-1], [0]))
    assert np.isnan(coverage([-1], [[True, False]]))
    assert top_choice([[0.4, 0.4, 0.2], [0, 0, 0], [nan, nan, nan]]).tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: hit_rate([0], [0, 1]), r"`second` must have the shape of `first`, \(1,\)"),
        (lambda: kl_divergence([[0.5, 0.6]], [[0.5, 0.5]]), "`first` must hold probabilities"),
        (lambda: js_distance([[0.5, 0.5]], [[0.5, 0.6]]), r"`second` .* in row 0\. Divide"),
        (lambda: reach([0.5], 1.5), "`threshold` must lie in"),
    ],
)
def test_bad_input(call, sentence) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()


def _case(name: str) -> tuple:
    given = AGREEMENT[name]["inputs"]
    return tuple(
        (np.array(given[f"{who}_O"]), np.array(given[f"{who}_omega"])) for who in ("judge", "human")
    )


def test_judges_are_scored_by_every_measure() -> None:
    judge, human = _case("K3_n5")
    table = score_judges({"j": judge, "human": human}, human, threshold=0.5)
    assert tuple(table.columns) == tuple(MEASURES)
    expected = AGREEMENT["K3_n5"]["outputs"]
    assert table.loc["j", "js_distance"] == pytest.approx(expected["jsd_distance_mean"])
    assert table.loc["j", "mse"] == pytest.approx(expected["mse_srs"])
    best = table.loc["human"]
    assert best[["hit_rate", "cohen_kappa", "consistency", "coverage"]].tolist() == [1.0] * 4
    assert best[["mse", "bias", "js_distance"]].tolist() == [0.0] * 3


def test_every_option_of_score_judges_bites() -> None:
    judge, human = _case("K3_n5")
    plain = score_judges({"j": judge}, human)
    assert not score_judges({"j": judge}, human, decision_options=[2]).equals(plain)
    assert not score_judges({"j": judge}, human, threshold=0.3).equals(plain)


@pytest.mark.parametrize(
    ("judges", "error", "sentence"),
    [
        ({}, ValueError, "at least one judge"),
        ([1], TypeError, "`judges` must be a Mapping"),
        ({"j": [[1.0]]}, ValueError, r"`judges\['j'\]` must be a pair"),
        ({"j": ([[1.0, 0.0]], [[1.0]])}, ValueError, "two tables of shape"),
        ({"j": ([[1.0, 0.0]], [[1.0, 2.0]])}, ValueError, "probabilities in"),
    ],
)
def test_score_judges_refuses(judges, error, sentence) -> None:
    with pytest.raises(error, match=sentence):
        score_judges(judges, ([[0.5, 0.5]], [[1.0, 1.0]]))


def test_variation_is_split_exactly_and_chance_is_its_mean_over_permutations() -> None:
    item, rater = [1, 1, 1, 2, 2, 2], ["a", "b", "c"] * 2
    group = ["x", "x", "y"] * 2
    answers = np.array(list("AABBBA"))

    def split(answer) -> pd.DataFrame:
        return split_variation(Ratings(item, rater, list(answer), rater_group=group))

    shares = [split(answers[list(order)])["share"] for order in permutations(range(6))]
    found = split(answers)
    assert found["variation"].iloc[:3].sum() == pytest.approx(found["variation"]["total"])
    # Within a total of 6 ratings, 3 of each: 6 (1 - 1/2) = 3.
    assert found["variation"]["total"] == pytest.approx(3.0)
    mean = pd.concat(shares, axis=1).mean(axis=1)
    np.testing.assert_allclose(mean, found["chance_share"], atol=1e-12)


def test_variation_needs_groups_and_disagreement() -> None:
    with pytest.raises(ValueError, match="must have `rater_group`"):
        split_variation(Ratings([1, 1], ["a", "b"], ["A", "B"]))
    same = Ratings([1, 1], ["a", "b"], ["A", "A"], options=["A", "B"], rater_group=["x", "y"])
    with pytest.raises(ValueError, match="all agree"):
        split_variation(same)


HUMAN = ([[0.9, 0.1], [0.2, 0.8]], [[1.0, 0.8], [0.3, 0.9]])


@pytest.mark.parametrize(
    ("judge", "options", "error", "sentence"),
    [
        ((HUMAN[0][:1], HUMAN[1][:1]), {}, ValueError, "items and options of `human`"),
        ((np.ma.array(HUMAN[0], mask=[[1, 0], [0, 0]]), HUMAN[1]), {}, ValueError, "in row 0"),
        (("a", "b"), {}, TypeError, r"`judges\['j'\]` must hold two tables of numbers"),
        ((np.empty((0, 2)), np.empty((0, 2))), {}, ValueError, "at least one item"),
        (HUMAN, {"decision_options": [5]}, ValueError, r"from 0 to 1; got \[5\]"),
        (HUMAN, {"decision_options": [-1]}, ValueError, "must be at least 0; got -1"),
        (HUMAN, {"decision_options": [0, 0]}, ValueError, "each once"),
        (HUMAN, {"decision_options": []}, ValueError, "must name places"),
        (HUMAN, {"decision_options": 0}, TypeError, "list of places; got 0"),
    ],
)
def test_judges_that_cannot_be_scored(judge, options: dict, error: type, sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        score_judges({"j": judge}, HUMAN, **options)
