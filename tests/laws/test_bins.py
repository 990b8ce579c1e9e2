import math
from itertools import product

import numpy as np
import pytest
from scipy.special import betaln
from scipy.stats import betabinom

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.masking import mask_mcar
from labelbayes.data.simulate import simulate_scores
from labelbayes.laws.beta_binomial import beta_binomial
from labelbayes.laws.bins import (
    assign_bins,
    bin_scores,
    bins_pair,
    convolve_laws,
    count_bins,
    estimate_bins,
)
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.metrics.ranking import RANKING_METRICS
from labelbayes.metrics.registry import DEFAULT_METRICS


def test_bins_hold_every_row_once_and_one_decision_each() -> None:
    evaluation = mask_mcar(simulate_scores(2_000, rng=0), 0.7, rng=1)
    bins = bin_scores(evaluation, 10)
    counts = evaluation.counts
    above = bins.decision == 1
    assert len(bins.decision) == 11
    assert bins.is_ordered
    assert (np.diff(bins.mean_score) > 0).all()
    assert bins.n_positive[above].sum() == counts.tp
    assert bins.n_negative[~above].sum() == counts.tn
    assert bins.n_missing[above].sum() == counts.unlabeled_predicted_positive
    assert bins.n_labeled.sum() == evaluation.n_labeled


def test_counts_are_multiplicities() -> None:
    once = bin_scores(EvaluationSet([0, 1, 1, None], [0.2, 0.8, 0.8, 0.8]), 2)
    twice = bin_scores(EvaluationSet([0, 1, None], [0.2, 0.8, 0.8], count=[1, 2, 1]), 2)
    assert once.n_positive.tolist() == twice.n_positive.tolist() == [0, 2]


def test_decisions_that_ignore_the_score_split_every_bin() -> None:
    evaluation = EvaluationSet([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], y_pred=[1, 0, 1, 0])
    bins = bin_scores(evaluation, 1)
    assert bins.decision.tolist() == [0, 1]
    assert not bins.is_ordered


def test_no_label_is_refused() -> None:
    with pytest.raises(ValueError, match="must hold labeled rows to learn rates from; got none"):
        bin_scores(EvaluationSet([None], [0.5]), 3)


@pytest.mark.parametrize("prior", [[0.5, 0.5], (0.5,), (0, 1), "jeffreys"])
def test_a_prior_that_is_no_pair_is_refused(prior) -> None:
    with pytest.raises(ValueError, match="Beta parameters"):
        estimate_bins(EvaluationSet([1, 0], [0.9, 0.1]), prior=prior)


def test_a_sum_has_the_moments_and_ends_of_its_parts() -> None:
    laws = [beta_binomial(40, 0.5, 3.5), beta_binomial(7, 2.0, 0.5), beta_binomial(0, 1.0, 1.0)]
    total = convolve_laws(laws)
    assert total.n == 47
    support = np.arange(total.start, total.stop)
    assert total.pmf @ support == pytest.approx(total.mean, abs=1e-12)
    assert total.pmf @ (support - total.mean) ** 2 == pytest.approx(total.variance, rel=1e-12)
    assert total.pmf[0] == pytest.approx(total.prob_none, rel=1e-10)
    assert total.pmf[-1] == pytest.approx(total.prob_all, rel=1e-10)


def test_long_convolutions_by_fft_equal_short_ones() -> None:
    laws = [beta_binomial(30_000, 40.0, 60.0), beta_binomial(20_000, 90.0, 30.0)]
    total = convolve_laws(laws)
    direct = np.convolve(laws[0].pmf, laws[1].pmf)
    start = total.start - laws[0].start - laws[1].start
    assert np.abs(total.pmf - direct[start : start + len(total.pmf)]).max() < 1e-15
    assert total.mean == pytest.approx(12_000 + 15_000)


def test_the_law_equals_enumeration() -> None:
    """Three bins, six missing labels: all counts weighed by their beta-binomial masses."""
    score = [0.1, 0.1, 0.2, 0.2, 0.6, 0.6, 0.7, 0.9, 0.9, 0.9]
    label = [0, None, 1, None, 1, None, None, 1, None, None]
    evaluation = EvaluationSet(label, score)
    bins = bin_scores(evaluation, 3)
    law = estimate_bins(evaluation, n_bins=3, prior=(0.5, 0.5))["f1"]
    values, mass = [], []
    for counts in np.ndindex(*(bins.n_missing + 1)):
        weights = betabinom.pmf(
            counts, bins.n_missing, 0.5 + bins.n_positive, 0.5 + bins.n_negative
        )
        u, v = (np.sum(np.array(counts)[bins.decision == side]) for side in (1, 0))
        known, missing = evaluation.counts, bins.n_missing
        n_above = missing[bins.decision == 1].sum()
        cells = (known.tp + u, known.fp + n_above - u, known.fn + v, known.tn + 2 - v)
        values.append(float(COUNT_METRICS["f1"](*cells)))
        mass.append(np.prod(weights))
    expected = np.array(values) @ np.array(mass)
    assert sum(mass) == pytest.approx(1.0)
    assert law.mean == pytest.approx(expected, abs=1e-12)
    wrong = estimate_bins(evaluation, n_bins=3, prior=(1.0, 1.0))["f1"]
    assert abs(wrong.mean - expected) > 1e-3


def test_a_side_of_bins_is_independent_of_the_other() -> None:
    evaluation = mask_mcar(simulate_scores(500, rng=0), 0.5, rng=1)
    first, second = bins_pair(bin_scores(evaluation, 5), 0.5, 0.5)
    assert first.n == evaluation.counts.unlabeled_predicted_positive
    assert second.n == evaluation.counts.unlabeled_predicted_negative


def test_every_row_is_in_the_bin_that_counts_it() -> None:
    rng = np.random.default_rng(0)
    score = rng.integers(0, 30, 300) / 30
    evaluation = EvaluationSet(
        rng.choice([0, 1, math.nan], 300),
        score,
        y_pred=(score + rng.normal(0, 0.1, 300) > 0.5).astype(int),
        count=rng.integers(1, 4, 300),
    )
    place, bins = assign_bins(evaluation, 5), bin_scores(evaluation, 5)
    assert set(place) == set(range(len(bins.decision)))
    assert np.array_equal(bins.decision[place], evaluation.y_pred)
    for label, found in ((1, bins.n_positive), (0, bins.n_negative)):
        weight = evaluation.count * (evaluation.y_true == label)
        assert np.array_equal(np.bincount(place, weight), found)
    mean = [np.average(score[place == b], weights=evaluation.count[place == b]) for b in set(place)]
    assert bins.mean_score == pytest.approx(mean)
    assert np.array_equal(count_bins(evaluation, place).n_missing, bins.n_missing)


FEW = EvaluationSet(
    [1, math.nan, 0, math.nan, 1, math.nan, 0, math.nan, math.nan, 0, 1, math.nan],
    [0.9, 0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.6, 0.4, 0.4, 0.3],
)


def _ranking_laws(prior: tuple[float, float]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Values and masses of all labelings; labels of a bin are exchangeable."""
    place, missing = assign_bins(FEW, 2), np.flatnonzero(~FEW.is_labeled)
    values, mass = {name: [] for name in RANKING_METRICS}, []
    for labels in product([0.0, 1.0], repeat=len(missing)):
        complete = FEW.y_true.copy()
        complete[missing] = labels
        log_mass = 0.0
        for b in set(place):
            for sign, y in ((1, complete), (-1, FEW.y_true)):
                own = y[place == b]
                log_mass += sign * betaln(prior[0] + (own == 1).sum(), prior[1] + (own == 0).sum())
        mass.append(math.exp(log_mass))
        for name, metric in RANKING_METRICS.items():
            values[name].append(metric(complete, FEW.y_score))
    assert sum(mass) == pytest.approx(1.0)
    return {name: (np.array(column), np.array(mass)) for name, column in values.items()}


def _largest_z(name: str, values: np.ndarray, mass: np.ndarray, n_draws: int) -> float:
    """Largest z of the mean, and of the cdf between its atoms, of sampled laws."""
    law = estimate_bins(FEW, n_bins=2, prior=(0.5, 0.5), n_draws=n_draws, rng=0)[name]
    mean = values @ mass
    found = [abs(law.mean - mean) / math.sqrt(mass @ (values - mean) ** 2 / n_draws)]
    for t in np.quantile(values, [0.1, 0.3, 0.5, 0.7, 0.9]) + 1e-9:
        p = mass[values <= t].sum()
        found.append(abs(float(law.cdf(t)) - p) / math.sqrt(p * (1 - p) / n_draws))
    return max(found)


@pytest.mark.parametrize("name", list(RANKING_METRICS))
def test_sampled_laws_of_ranking_metrics_are_those_of_all_labelings(name: str) -> None:
    assert _largest_z(name, *_ranking_laws((0.5, 0.5))[name], n_draws=20_000) < 4.5
    # A planted error: another prior.
    assert _largest_z(name, *_ranking_laws((1.5, 0.5))[name], n_draws=20_000) > 6


def test_ranking_metrics_stand_beside_exact_laws() -> None:
    found, again = (estimate_bins(FEW, n_bins=2, rng=5) for _ in range(2))
    assert list(found) == list(DEFAULT_METRICS)
    counted = estimate_bins(FEW, n_bins=2, metrics=list(DEFAULT_METRICS[:4]))
    for name in DEFAULT_METRICS[:4]:
        assert found[name].mean == counted[name].mean
        assert found.methods[name].startswith("exact law; ")
    for name in RANKING_METRICS:
        assert found.methods[name].startswith("10,000 draws, cdf within 0.0136 (DKW, 95%); ")
        assert found[name].mean == again[name].mean
    # Joint: labels that are drawn once serve all metrics.
    joint = found.draws(4_000, rng=0)
    assert joint["f1"].mean() == pytest.approx(found["f1"].mean, abs=4 * found["f1"].sd / 60)
    three = ["accuracy", "roc_auc", "average_precision"]
    drawn = np.stack([joint[name].values for name in three], axis=1).round(9)
    missing, completed = np.flatnonzero(~FEW.is_labeled), set()
    for labels in product([0.0, 1.0], repeat=len(missing)):
        complete = FEW.y_true.copy()
        complete[missing] = labels
        areas = [RANKING_METRICS[name](complete, FEW.y_score) for name in three[1:]]
        completed.add(tuple(np.round([(complete == FEW.y_pred).mean(), *areas], 9)))
    assert {tuple(row) for row in drawn} <= completed
    decided = EvaluationSet(FEW.y_true, y_pred=FEW.y_pred)
    assert list(estimate_bins(decided)) == list(DEFAULT_METRICS[:4])
    with pytest.raises(ValueError, match="must not name 'roc_auc' where rows have no score"):
        estimate_bins(decided, metrics=["roc_auc"])
    with pytest.raises(TypeError, match="`evaluation` must be an EvaluationSet; got list"):
        estimate_bins([1, 0])
