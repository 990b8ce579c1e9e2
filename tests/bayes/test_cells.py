import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from labelbayes.bayes.bins import build_bins
from labelbayes.bayes.cells import RateCells, finish, pool
from labelbayes.bayes.model import LabelModel, flatten
from labelbayes.bayes.stack import pm
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.data.masking import mask_mcar
from labelbayes.data.simulate import simulate_scores
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.metrics.registry import resolve_count_metrics

KNOWN = Counts(5, 2, 1, 4, 30, 20)


def _cells(known=(KNOWN,), **options) -> RateCells:
    return RateCells(
        known, np.array([1, 0, 1]), np.array([10, 20, 20]), lambda draws: draws["rate"], **options
    )


def test_counts_have_the_binomial_moments() -> None:
    rate = np.tile([0.2, 0.5, 0.9], (20_000, 1))
    (tp, fp, fn, tn), cells = _cells().tables({"rate": rate}, "sample", np.random.default_rng(0))
    assert (tp + fp == 37).all()
    assert (fn + tn == 25).all()
    assert abs(tp.mean() - (5 + 2 + 18)) < 4 * np.sqrt(1.6 + 1.8) / np.sqrt(20_000)
    assert tp.var() == pytest.approx(1.6 + 1.8, rel=0.05)
    assert fn.var() == pytest.approx(5.0, rel=0.05)
    assert cells[0] is tp


def test_the_rate_target_has_no_label_noise() -> None:
    (tp, _, fn, _), _ = _cells().tables(
        {"rate": np.array([[0.2, 0.5, 0.9]])}, "rate", np.random.default_rng(0)
    )
    assert tp.item() == pytest.approx(25.0)
    assert fn.item() == pytest.approx(11.0)


def test_the_population_is_one_dirichlet_over_completed_rows() -> None:
    counts = (np.full((40_000, 1), 0.0), np.full((40_000, 1), 0.0))
    known = Counts(8, 2, 3, 7, 0, 0)
    cells, weights = finish((known,), *counts, "population", np.random.default_rng(0))
    assert cells[0][0, 0] == 8.0
    precision = COUNT_METRICS["precision"](*weights)
    # Dirichlet(counts + 1/2): precision is Beta(8.5, 2.5).
    assert precision.mean() == pytest.approx(8.5 / 11, abs=4 * 0.121 / 200)
    assert precision.var() == pytest.approx(8.5 * 2.5 / (121 * 12), rel=0.04)


def test_groups_take_their_own_cells() -> None:
    known = (Counts(1, 0, 0, 1, 10, 0), Counts(0, 1, 1, 0, 20, 20))
    cells = _cells(known, groups=("a", "b"), group=np.array([0, 1, 1]))
    draws = {"rate": np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])}
    (tp, fp, fn, tn), _ = cells.tables(draws, "sample", np.random.default_rng(0))
    assert tp.tolist() == [[11, 20], [1, 0]]
    assert fp.tolist() == [[0, 1], [10, 21]]
    assert fn.tolist() == [[0, 1], [0, 21]]
    assert tn.tolist() == [[1, 20], [1, 0]]
    pair = cells.pairs(draws, 1)[1]
    assert (pair[0].mean, pair[0].n, pair[1].mean) == (0.0, 20, 20.0)


def test_metrics_of_groups_have_a_group_dimension() -> None:
    cells = _cells((KNOWN, KNOWN), groups=("a", "b"), group=np.array([0, 0, 1]))
    label_model = LabelModel(pm.Model(), cells, "toy", "nothing", {}, 12, 50)
    draws = xr.Dataset({"rate": (("chain", "draw", "bin"), np.full((2, 3, 3), 0.5))})
    metrics = label_model.complete(draws, rng=0)
    assert metrics["precision"].dims == ("chain", "draw", "group")
    assert metrics["group"].values.tolist() == ["a", "b"]


def test_pooled_values_keep_rows_and_mean() -> None:
    rng = np.random.default_rng(0)
    values, count = rng.random(5_000), rng.integers(1, 5, 5_000)
    mean, total, part = pool(values, count, 50)
    assert len(mean) == 50
    assert (np.diff(mean) > 0).all()
    assert total.sum() == count.sum()
    assert mean @ total == pytest.approx(values @ count)
    assert np.abs(mean[part] - values).max() < 0.05


def test_undefined_metrics_are_nan() -> None:
    evaluation = EvaluationSet([0, None], y_pred=[0, 0])
    label_model = build_bins(evaluation, prior="jeffreys")
    draws = xr.Dataset({"rate": (("chain", "draw", "bin"), np.array([[[0.0], [1.0]]]))})
    metrics = label_model.complete(draws, rng=0)
    assert np.isnan(metrics["precision"].values).all()
    assert np.isnan(metrics["recall"].values).tolist() == [[True, False]]


def test_nothing_has_the_size_of_draws_by_rows() -> None:
    evaluation = mask_mcar(simulate_scores(300_000, rng=0), 0.5, rng=1)
    counted = resolve_count_metrics(None)
    label_model = replace(build_bins(evaluation, prior="jeffreys"), metrics=counted)
    sizes = [np.size(data.get_value()) for data in label_model.model.data_vars]
    assert max(sizes) <= 11
    shape = (4, 1_000, len(label_model.model.coords["bin"]))
    rate = np.random.default_rng(0).random(shape)
    draws = xr.Dataset({"rate": (("chain", "draw", "bin"), rate)})
    tracemalloc.start()
    metrics = label_model.complete(draws, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert metrics["f1"].shape == (4, 1_000)
    # 4,000 draws of 150,000 labels would be 600 MB as bytes.
    assert peak < 20e6


def test_chains_are_put_one_after_the_other() -> None:
    values = np.arange(12).reshape(3, 2, 2)
    draws = xr.Dataset({"x": (("bin", "chain", "draw"), values)})
    assert flatten(draws)["x"].tolist() == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
