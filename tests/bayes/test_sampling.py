import logging
import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from labelbayes.bayes.bins import build_bins
from labelbayes.bayes.convergence import SamplingWarning
from labelbayes.bayes.imputation import build_imputation
from labelbayes.bayes.model import LabelModel
from labelbayes.bayes.posterior import Posterior
from labelbayes.bayes.sampling import sample
from labelbayes.bayes.stack import az, pm
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.masking import mask_mcar
from labelbayes.data.simulate import simulate_scores
from labelbayes.imputation.impute import impute
from labelbayes.metrics.registry import DEFAULT_METRICS

METRICS = list(DEFAULT_METRICS)


@pytest.fixture(scope="module")
def evaluation() -> EvaluationSet:
    return mask_mcar(simulate_scores(200, rng=0), 0.5, rng=1)


@pytest.fixture(scope="module")
def label_model(evaluation) -> LabelModel:
    return build_bins(evaluation, n_bins=2, prior="jeffreys")


@pytest.fixture(scope="module")
def forward(evaluation) -> LabelModel:
    return build_imputation(evaluation, impute(evaluation, evaluation.y_score), concentration=9)


@pytest.fixture(scope="module")
def posterior(label_model) -> Posterior:
    return sample(label_model, draws=600, tune=400, rng=0)


def test_metrics_are_variables_of_the_posterior(posterior) -> None:
    dataset = posterior.dataset
    assert set(dataset.data_vars) == {"rate", *METRICS}
    for name in METRICS:
        assert dataset[name].dims == ("chain", "draw")
        assert dataset[name].shape == (4, 600)
    for attributes in (posterior.container.attrs, dataset.attrs):
        assert attributes["target"] == "sample"
        assert attributes["n_labeled"] == 100
        assert attributes["n_unlabeled"] == 100
        assert {"method", "assumption"} <= attributes.keys()


@pytest.mark.filterwarnings("ignore")
def test_arviz_opens_the_container(posterior, forward) -> None:
    for container in (posterior.container, sample(forward, draws=200, rng=0).container):
        assert set(METRICS) <= set(az.summary(container).index)
        for plot in (az.plot_forest, az.plot_rank, az.plot_trace):
            plot(container, var_names=["precision", "recall"])
            assert plt.get_fignums(), plot
            plt.close("all")


@pytest.mark.parametrize("which", ["label_model", "forward"])
@pytest.mark.filterwarnings("ignore::labelbayes.bayes.convergence.SamplingWarning")
def test_a_seed_gives_the_same_draws(which, request) -> None:
    chosen = request.getfixturevalue(which)
    first, second, other = (
        sample(chosen, draws=30, tune=50, chains=2, rng=rng).dataset for rng in (7, 7, 8)
    )
    assert first.equals(second)
    assert not first["f1"].equals(other["f1"])
    generator = np.random.default_rng(7)
    one, two = (sample(chosen, draws=30, tune=50, chains=2, rng=generator) for _ in range(2))
    assert one.dataset.equals(first)
    assert not two.dataset.equals(first)


def test_a_failing_gate_warns_with_each_reason(label_model, forward) -> None:
    with pytest.warns(SamplingWarning, match="effective draws are not above 400") as caught:
        found = sample(label_model, draws=20, tune=100, chains=1, rng=0)
    assert "one chain has no R-hat" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert not found.diagnostics.ok
    assert found.dataset.sizes["draw"] == 20
    assert any(note.startswith("Sampling: ") for note in found.estimates().notes)
    with pytest.warns(SamplingWarning, match="effective draws"):
        sample(forward, draws=20, rng=0)


def test_a_passing_gate_says_nothing(posterior) -> None:
    assert posterior.diagnostics.ok
    assert posterior.diagnostics.divergences == 0


def test_nothing_is_printed_or_logged(label_model, capfd, caplog) -> None:
    logger = logging.getLogger("pymc")
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplingWarning)
        sample(label_model, draws=50, tune=50, rng=0)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
    assert logger.level == level


def test_the_log_level_comes_back_after_an_error(label_model, monkeypatch) -> None:
    logger = logging.getLogger("pymc")
    level = logger.level

    def fail(**_: object) -> None:
        assert logger.level == logging.ERROR
        raise RuntimeError("no draws today")

    monkeypatch.setattr("labelbayes.bayes.sampling.pm.sample", fail)
    with pytest.raises(RuntimeError, match="no draws today"):
        sample(label_model)
    assert logger.level == level


def test_a_model_without_data_is_drawn_forward(forward, monkeypatch) -> None:
    monkeypatch.setattr("labelbayes.bayes.sampling.pm.sample", None)
    assert forward.is_forward
    drawn = sample(forward, draws=500, chains=2, rng=0)
    assert dict(drawn.dataset.sizes) == {"chain": 2, "draw": 500, "decision": 2}
    assert drawn.dataset["decision"].values.tolist() == ["negative", "positive"]


@pytest.mark.filterwarnings("ignore::labelbayes.bayes.convergence.SamplingWarning")
def test_one_forward_draw_has_its_shape(forward) -> None:
    assert sample(forward, draws=1, chains=1, rng=0).dataset["f1"].shape == (1, 1)


@pytest.mark.filterwarnings("ignore::labelbayes.bayes.convergence.SamplingWarning")
@pytest.mark.parametrize("draws", [1, 5])
def test_a_parameter_with_dims_is_drawn_forward(forward, draws) -> None:
    # Its shape is known once it is drawn: to PyMC its length is that of a coordinate.
    with pm.Model(coords={"decision": ["negative", "positive"]}) as edited:
        pm.Beta("mean_p", 2, 2, dims="decision")
    drawn = sample(replace(forward, model=edited), draws=draws, chains=2, rng=0)
    assert drawn.dataset["mean_p"].dims == ("chain", "draw", "decision")
    assert drawn.dataset["mean_p"].shape == (2, draws, 2)


def test_targets_order_their_widths(posterior) -> None:
    label_model, draws = posterior.label_model, posterior.dataset
    sd = {
        target: float(label_model.complete(draws, target=target, rng=0)["f1"].std())
        for target in ("rate", "sample", "population")
    }
    assert sd["rate"] < 0.8 * sd["sample"]
    assert sd["sample"] < sd["population"]


@pytest.mark.parametrize("target", ["population", "rate"])
def test_the_target_is_named_and_has_no_exact_law(label_model, target) -> None:
    found = sample(label_model, draws=600, tune=400, target=target, rng=0)
    estimates = found.estimates()
    assert (estimates.summary()["target"] == target).all()
    assert found.container.attrs["target"] == target
    with pytest.raises(ValueError, match="needs target='sample'"):
        found.estimates(exact=True)


def test_views_name_what_matters(posterior, label_model) -> None:
    html = posterior._repr_html_()
    for word in ("precision", "R-hat", "passed", "contraction", "credible"):
        assert word in html
    assert "diagnostics passed" in repr(posterior)
    assert "parameters rate" in repr(label_model)
    assert "rows with and without label" in label_model._repr_html_()


def test_faults_are_named(label_model) -> None:
    with pytest.raises(TypeError, match="`label_model` must be a LabelModel; got Model"):
        sample(label_model.model)
    with pytest.raises(ValueError, match="`target` must be one of 'sample', 'population', 'rate'"):
        sample(label_model, target="finite")
    with pytest.raises(ValueError, match="`draws` must be at least 1; got 0"):
        sample(label_model, draws=0)
    with pytest.raises(ValueError, match="`target_accept` must lie strictly between 0 and 1"):
        sample(label_model, target_accept=1.0)
    with pytest.raises(ValueError, match="`nuts_sampler` must be one of"):
        sample(label_model, nuts_sampler="stan")


@pytest.mark.slow
def test_two_processes_give_the_same_draws(label_model, posterior) -> None:
    parallel = sample(label_model, draws=600, tune=400, cores=2, rng=0)
    assert parallel.dataset.equals(posterior.dataset)


@pytest.mark.slow
def test_nutpie_agrees(label_model, posterior, mean_z) -> None:
    pytest.importorskip("nutpie")
    other = sample(label_model, draws=600, tune=400, nuts_sampler="nutpie", rng=0)
    assert set(other.dataset.data_vars) == set(posterior.dataset.data_vars)
    mean = float(posterior.dataset["f1"].mean())
    assert mean_z(other.dataset["f1"].values, mean) < 5
