"""Standard errors against enumerated designs, clusters by hand, and a moving-block bootstrap."""

import itertools
import math

import numpy as np
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.simulate_selection import simulate_selection
from labelbayes.weighting.aipw import estimate_aipw
from labelbayes.weighting.bootstrap import bootstrap_errors
from labelbayes.weighting.ipw import estimate_ipw
from labelbayes.weighting.mean import estimate_mean
from labelbayes.weighting.standard_errors import block_length

MADE = simulate_selection(600, floor=0.3, rng=11)


def test_design_error_is_unbiased_over_every_draw_of_labels() -> None:
    """All 2^7 draws: estimate and squared error have the right mean, exactly (Horvitz-Thompson)."""
    values = np.array([1.2, -0.3, 1.1, 0.9, 0.1, 0.3, 2.0])
    p = np.array([0.5, 0.25, 0.75, 0.9, 0.4, 0.6, 0.3])
    model = np.array([0.8, 0.1, 0.5, 1.0, 0.0, 0.5, 1.5])
    for options in ({"method": "horvitz_thompson"}, {"predicted": model}):
        probs, means, squares = [], [], []
        for seen in itertools.product([False, True], repeat=7):
            is_seen = np.array(seen)
            probs.append(float(np.prod(np.where(is_seen, p, 1 - p))))
            if not is_seen.any():
                # Nothing can be estimated; both formulas give their value without weights.
                means.append(float(model.mean()) if "predicted" in options else 0.0)
                squares.append(0.0)
                continue
            found = estimate_mean(np.where(is_seen, values, np.nan), p, target="sample", **options)[
                "mean"
            ]
            means.append(found.mean)
            squares.append(found.sd**2)
        truth = values.mean()
        expected = np.dot(probs, means)
        assert expected == pytest.approx(truth, abs=1e-12)
        variance = np.dot(probs, (np.array(means) - truth) ** 2)
        assert np.dot(probs, squares) == pytest.approx(variance, abs=1e-12)


def test_clusters_are_summed_and_singletons_are_rows() -> None:
    clusters = np.arange(600) // 4
    score = _influences("f1")
    sums = np.bincount(clusters, weights=score)
    grouped = estimate_aipw(
        MADE.evaluation, MADE.propensity, MADE.outcome, clusters=clusters, metrics=["f1"]
    )
    assert grouped["f1"].sd == pytest.approx(math.sqrt(sums @ sums), rel=1e-4)
    alone = estimate_aipw(
        MADE.evaluation, MADE.propensity, MADE.outcome, clusters=np.arange(600), metrics=["f1"]
    )
    plain = estimate_aipw(MADE.evaluation, MADE.propensity, MADE.outcome, metrics=["f1"])
    assert alone["f1"].sd == pytest.approx(plain["f1"].sd, rel=1e-12)
    # Names of clusters and their order play no part.
    named = np.array([f"c{(7 * k) % 600}" for k in clusters])
    again = estimate_aipw(
        MADE.evaluation, MADE.propensity, MADE.outcome, clusters=named, metrics=["f1"]
    )
    assert again["f1"].sd == pytest.approx(grouped["f1"].sd, rel=1e-12)


def _influences(metric: str) -> np.ndarray:
    """Influence of each row on AIPW by a thousandth more of the row."""

    def value(count: np.ndarray) -> float:
        counted = MADE.evaluation._take(np.arange(600), count=count)
        return estimate_aipw(counted, MADE.propensity, MADE.outcome, metrics=[metric])[metric].mean

    million = np.full(600, 1_000_000)
    base = value(million)
    return np.array(
        [1_000 * (value(million + 1_000 * row) - base) for row in np.eye(600, dtype=int)]
    )


@pytest.mark.parametrize("metric", ["f1", "matthews_corrcoef", "roc_auc", "average_precision"])
def test_influence_is_the_derivative_in_the_rows_weight(metric: str) -> None:
    """The infinitesimal jackknife; a step of a thousandth leaves an error of about as much."""
    found = _influences(metric)
    error = estimate_aipw(MADE.evaluation, MADE.propensity, MADE.outcome, metrics=[metric])
    # Copies of a row are pairs of two rows, one row is none with itself: a share 1 / n.
    tolerance = 0.01 if metric == "roc_auc" else 1e-3
    assert error[metric].sd == pytest.approx(math.sqrt(found @ found), rel=tolerance)


def test_whole_clusters_are_drawn_whole() -> None:
    clusters = np.repeat(np.arange(60), 10)
    rng = np.random.default_rng(3)
    seen = rng.random(60)[clusters] < 0.5
    labels = np.where(seen, MADE.complete.y_true, np.nan)
    evaluation = EvaluationSet(labels, MADE.complete.y_score)
    options = {"target": "sample", "metrics": ["accuracy"], "method": "horvitz_thompson"}
    grouped = estimate_ipw(evaluation, np.full(600, 0.5), clusters=clusters, **options)
    right = np.where(seen, evaluation.y_true == evaluation.y_pred, 0)
    by_cluster = np.bincount(clusters, weights=right)
    by_hand = math.sqrt((0.5 / 0.25 * by_cluster**2).sum()) / 600
    assert grouped["accuracy"].sd == pytest.approx(by_hand, rel=1e-12)
    by_row = estimate_ipw(
        MADE.evaluation, MADE.propensity, clusters=clusters, target="sample", metrics=["accuracy"]
    )
    plain = estimate_ipw(MADE.evaluation, MADE.propensity, target="sample", metrics=["accuracy"])
    assert by_row["accuracy"].sd == plain["accuracy"].sd
    assert any("row by row inside clusters" in note for note in by_row.notes)


def test_moving_blocks_are_the_bootstrap_without_resamples() -> None:
    rng = np.random.default_rng(4)
    n = 216
    noise = rng.normal(size=n + 5)
    values = np.convolve(noise, np.ones(6) / 6, mode="valid")
    time = rng.permutation(n)
    found = estimate_mean(values[time], np.ones(n), time=time)["mean"]
    length = block_length(n)
    assert length == 6
    starts = rng.integers(0, n - length + 1, (4_000, n // length))
    draws = values[starts[..., None] + np.arange(length)].reshape(4_000, -1).mean(axis=1)
    # Blocks are centered at the mean of all rows here, at that of all blocks there.
    assert found.sd == pytest.approx(draws.std(), rel=0.06)
    independent = estimate_mean(values, np.ones(n))["mean"].sd
    assert found.sd > 1.5 * independent
    by_time = estimate_mean(values[time], np.ones(n), time=time.astype(float) * 2)["mean"]
    assert by_time.sd == pytest.approx(found.sd, rel=1e-12)


def test_influence_error_agrees_with_a_bootstrap_that_refits() -> None:
    found = bootstrap_errors(
        MADE.features,
        MADE.evaluation,
        metrics=["accuracy", "recall", "roc_auc"],
        n_folds=2,
        n_resamples=100,
        rng=2,
    )
    # 100 resamples: the bootstrap's own standard error is 7%, three of them 21%.
    assert found["ratio"].between(0.79, 1.21).all()
    assert (found["low"] < found["mean"]).all()
    assert (found["mean"] < found["high"]).all()
    assert (found["n_resamples"] == 100).all()


def test_bootstrap_options() -> None:
    evaluation = MADE.evaluation.subset(np.arange(600) < 200)
    features, p = MADE.features[:200], MADE.propensity[:200]
    clusters = np.repeat(np.arange(20), 10)

    def run(**options):
        base = {"metrics": ["accuracy"], "n_resamples": 4, "n_folds": 2, "rng": 0}
        return bootstrap_errors(features, evaluation, **(base | options)).loc["accuracy"]

    base = run()
    for options in (
        {"method": "hajek"},
        {"method": "horvitz_thompson"},
        {"propensity": p},
        {"clusters": clusters},
        {"n_folds": 3},
        {"rng": 1},
    ):
        assert run(**options)["bootstrap_sd"] != base["bootstrap_sd"], options
    assert run()["bootstrap_sd"] == base["bootstrap_sd"]
    counted = evaluation._take(np.arange(200), count=np.full(200, 2))
    with pytest.raises(ValueError, match=r"must hold each row once .* is 2\. Repeat such rows\.$"):
        bootstrap_errors(features, counted)


def test_aipws_error_for_these_rows_is_right_over_every_draw_of_labels_and_signs() -> None:
    """All draws of labels, and of y by the outcome model: right if either nuisance is (2^4 x 2^4).

    Precision with all decisions positive is the mean of y, so that nothing is linearized.
    """
    true_p, true_m = np.array([0.5, 0.3, 0.8, 0.6]), np.array([0.7, 0.2, 0.5, 0.9])
    wrong_p, wrong_m = np.array([0.7, 0.4, 0.4, 0.5]), np.array([0.2, 0.6, 0.4, 0.5])
    decided = np.ones(4, dtype=int)
    for p, m, is_right in (
        (true_p, wrong_m, True),
        (wrong_p, true_m, True),
        (wrong_p, wrong_m, False),
    ):
        gaps = expected = 0.0
        for y in itertools.product([0.0, 1.0], repeat=4):
            label = np.array(y)
            of_label = float(np.prod(np.where(label == 1, true_m, 1 - true_m)))
            for seen in itertools.product([False, True], repeat=4):
                is_seen = np.array(seen)
                prob = of_label * float(np.prod(np.where(is_seen, true_p, 1 - true_p)))
                weight = is_seen / p
                gap = np.mean(m + weight * (label - m)) - label.mean()
                gaps += prob * gap**2
                # The estimator's own variance, or its formula where no label was seen or it
                # falls back on the design error.
                noise = (weight**2 - weight) * (label - m) ** 2 + (1 - weight) * m * (1 - m)
                expected += prob * noise.sum() / 16
                if is_seen.any() and noise.sum() > 0:
                    evaluation = EvaluationSet(np.where(is_seen, label, np.nan), y_pred=decided)
                    law = estimate_aipw(evaluation, p, m, target="sample", metrics=["precision"])[
                        "precision"
                    ]
                    if law.sd != 0:
                        assert law.sd**2 == pytest.approx(noise.sum() / 16, abs=1e-12)
        assert bool(abs(expected - gaps) < 1e-12) is is_right, (expected, gaps)
