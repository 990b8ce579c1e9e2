"""Rows counted by score, as a calibration meets them."""

import tracemalloc

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit, logit

from labelbayes.bayes.calibration import PARTS, build_calibration
from labelbayes.bayes.score_cells import beta_terms, count_rows, platt_terms
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.masking import mask_mcar
from labelbayes.data.simulate import simulate_scores


@pytest.mark.parametrize("find", [platt_terms, beta_terms])
@pytest.mark.parametrize("parts", [9, 10_000])
def test_cells_keep_rows_positives_and_mean_terms(find, parts) -> None:
    evaluation = mask_mcar(simulate_scores(2_000, rng=0), 0.3, rng=1)
    terms, labeled = find(evaluation).values, evaluation.is_labeled
    cells = count_rows(terms, evaluation, labeled, parts=parts)
    assert len(cells.count) == min(parts, labeled.sum())
    assert cells.count.sum() == labeled.sum()
    assert cells.n_positive.sum() == np.nansum(evaluation.y_true)
    assert np.allclose(cells.count @ cells.terms, terms[labeled].sum(axis=0))
    assert (np.diff(cells.terms, axis=0) > 0).all()
    # Positives stay with their scores.
    score = terms[labeled].sum(axis=1)
    top = cells.terms.sum(axis=1)[-1:] if parts > 9 else np.quantile(score, [1 - 1 / 9])
    assert cells.n_positive[-1] == evaluation.y_true[labeled][score >= top[0] - 1e-9].sum()


def test_decisions_and_constant_scores_have_terms() -> None:
    decided = platt_terms(EvaluationSet([1, 0, None], y_pred=[1, 0, 1], count=[1, 2, 1]))
    assert decided.scaled == "standardized decision"
    assert decided.values.ravel().tolist() == [1.0, -1.0, 1.0]
    constant = platt_terms(EvaluationSet([1, 0, None], [3.0, 3.0, 3.0]))
    assert (constant.values == 0).all()
    huge = platt_terms(EvaluationSet([1, 0, None], [1e300, -1e300, 0.0]))
    assert np.isfinite(huge.values).all()


def test_many_scores_are_pooled_and_nothing_has_the_size_of_the_rows() -> None:
    evaluation = mask_mcar(simulate_scores(200_000, rng=0), 0.5, rng=1)
    label_model = build_calibration(evaluation)
    sizes = [np.size(data.get_value()) for data in label_model.model.data_vars]
    assert max(sizes) == PARTS
    rng = np.random.default_rng(0)
    columns = {"intercept": rng.normal(-0.5, 0.1, 2_000), "slope": rng.lognormal(0, 0.1, 2_000)}
    draws = xr.Dataset({k: (("chain", "draw"), values[None]) for k, values in columns.items()})
    tracemalloc.start()
    found = label_model.complete(draws, target="rate", rng=0)["accuracy"].values[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 2,000 draws of 100,000 labels would be 200 MB as bytes.
    assert peak < 60e6
    missing, counts = ~evaluation.is_labeled, evaluation.counts
    first = draws.isel(chain=0, draw=0)
    p = expit(
        float(first["intercept"]) + float(first["slope"]) * logit(evaluation.y_score[missing])
    )
    right = np.where(evaluation.y_pred[missing] == 1, p, 1 - p)
    error = found[0] * evaluation.n - (counts.tp + counts.tn) - right.sum()
    assert abs(error) < 0.02 * np.sqrt((p * (1 - p)).sum())


def test_multiplicities_are_repeated_rows() -> None:
    count = np.array([1, 3, 2, 4, 1])
    label, score = np.array([0, 1, np.nan, 1, np.nan]), np.array([0.1, 0.4, 0.6, 0.9, 0.6])
    audit = np.array([np.nan, np.nan, 1, np.nan, np.nan])
    short = build_calibration(EvaluationSet(label, score, count=count), delta_sd=1, audited=audit)
    repeated = EvaluationSet(np.repeat(label, count), np.repeat(score, count))
    long = build_calibration(repeated, delta_sd=1, audited=np.repeat(audit, count))
    assert (short.n_labeled, short.n_unlabeled) == (long.n_labeled, long.n_unlabeled) == (10, 1)
    assert short.completion.known == long.completion.known
    assert short.completion.count.tolist() == long.completion.count.tolist() == [1]
    for first, second in zip(short.model.data_vars, long.model.data_vars, strict=True):
        assert np.allclose(first.get_value(), second.get_value())


def test_scores_that_are_no_probabilities_are_standardized() -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(100, 20, 200)
    label = np.where(np.arange(200) % 2, (score > 100).astype(float), np.nan)
    label_model = build_calibration(EvaluationSet(label, score, threshold=100))
    assert "standardized score" in label_model.method
    terms = label_model.model["labels_terms"].get_value()
    assert np.abs(terms).max() < 4
    assert np.ptp(terms) > 2


@pytest.mark.parametrize("kind", ["platt", "beta"])
def test_a_label_against_certain_scores_keeps_the_density_finite(kind) -> None:
    evaluation = EvaluationSet([0, 1, 1, None], [1.0, 0.0, 0.9, 0.5])
    model = build_calibration(evaluation, kind=kind).model
    density = model.compile_logp()
    point = {name: value + 3 for name, value in model.initial_point().items()}
    assert np.isfinite(density(point))
