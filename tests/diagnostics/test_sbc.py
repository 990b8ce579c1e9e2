"""Ranks are uniform where draws are right; errors, other runs and other models are found."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labelbayes.bayes.imputation import build_imputation
from labelbayes.bayes.stack import pm
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.diagnostics import reuse
from labelbayes.diagnostics.reuse import ReusedModel, is_same_but_data
from labelbayes.diagnostics.sbc import COLUMNS, rank_cdf, run_sbc, sbc_uniformity
from labelbayes.imputation.impute import impute
from labelbayes.laws.bins import estimate_bins
from labelbayes.results.estimates import Estimates

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "notebooks" / "results" / "sbc.parquet"


def _experiment():
    spec = importlib.util.spec_from_file_location("v15", ROOT / "tests" / "validation" / "v15.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


V15 = _experiment()
SIMULATE = V15.simulator(V15.jeffreys, only_metrics=True)


def _build(evaluation: EvaluationSet) -> Estimates:
    return V15.bins_with_error(evaluation, error="none")


def _ranks(rank, n_defined=199) -> pd.DataFrame:
    return pd.DataFrame({"quantity": "f1", "rank": rank, "n_defined": n_defined})


@pytest.mark.parametrize("error", V15.ERRORS)
def test_right_draws_pass_and_planted_errors_fail(error) -> None:
    right = V15.check_error(error, n=100, planted=False)
    assert right["passed"].all(), right
    wrong = V15.check_error(error, n=100)
    assert not wrong["passed"].any(), wrong
    assert (wrong["reason"] == "draws are too narrow").all()


def test_the_closed_form_passes() -> None:
    build, simulate, _ = V15.MODELS["bins, jeffreys, closed form"]
    table = sbc_uniformity(run_sbc(build, simulate, n=100, rng=3))
    assert table["passed"].all(), table


def test_the_committed_result_passes() -> None:
    result = pd.read_parquet(RESULT)
    assert RESULT.stat().st_size < 50_000
    assert set(result["model"]) == set(V15.MODELS)
    for name, ranks in result.groupby("model", observed=True):
        assert ranks["replication"].nunique() == V15.MODELS[name][2] >= 500
        table = sbc_uniformity(ranks)
        assert table["passed"].all(), table
        # Of an array, such as a metric of groups, the file holds the first entry.
        assert {"accuracy", "precision", "recall", "f1"} <= set(table.index.str.removesuffix("[0]"))


def test_the_table_names_run_and_quantities() -> None:
    frame = run_sbc(_build, SIMULATE, n=3, draws=19, rng=5)
    assert tuple(frame.columns) == COLUMNS
    assert frame["replication"].tolist() == np.repeat([0, 1, 2], 4).tolist()
    assert frame["quantity"].tolist()[:4] == ["accuracy", "precision", "recall", "f1"]
    assert frame["rank"].between(0, 19).all()
    assert (frame["n_defined"] == 19).all()
    assert (frame["draws"] == 19).all()
    assert (frame["seed"] == 5).all()


def test_a_seed_gives_the_same_ranks() -> None:
    first, again, other = (run_sbc(_build, SIMULATE, n=4, draws=19, rng=rng) for rng in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not first["rank"].equals(other["rank"])
    more = run_sbc(_build, SIMULATE, n=6, draws=19, rng=1)
    pd.testing.assert_frame_equal(more[more["replication"] < 4], first)
    generator = np.random.default_rng(3)
    one, two = (run_sbc(_build, SIMULATE, n=1, draws=9, rng=generator) for _ in range(2))
    assert one["seed"][0] != two["seed"][0]
    assert run_sbc(_build, SIMULATE, n=1, draws=9)["seed"][0] >= 0


def test_arrays_are_ranked_entry_by_entry_and_ties_at_random() -> None:
    values = {"rate": np.array([0.0, 0.5]), "f1": 0.5}

    def joint(n, rng):
        return {"rate": np.tile([0.25, 0.5], (n, 1)), "f1": np.full(n, 0.5 + 2**-53)}

    class Built(ReusedModel):
        def draws(self, built, rng):
            return joint(self.n_draws, rng)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labelbayes.diagnostics.sbc.ReusedModel", Built)
        frame = run_sbc(_build, lambda rng: (values, SIMULATE(rng)[1]), n=200, draws=9, rng=0)
    ranks = {name: group["rank"] for name, group in frame.groupby("quantity")}
    assert set(ranks) == {"rate[0]", "rate[1]", "f1"}
    assert (ranks["rate[0]"] == 0).all()
    for name in ("rate[1]", "f1"):
        assert set(ranks[name]) == set(range(10))
        assert sbc_uniformity(_ranks(ranks[name], 9))["passed"].all()


def test_undefined_truths_have_no_rank_and_undefined_draws_do_not_count() -> None:
    y_pred = np.array([1, 0, 1, 0])

    def simulate(rng):
        label = rng.random(4) < np.tile(rng.beta(0.5, 0.5, 2), 2)
        truth = label[y_pred == 1].sum() / label.sum() if label.any() else np.nan
        known = np.append(label[:2], [np.nan, np.nan])
        return {"recall": truth}, EvaluationSet(known, y_pred=y_pred)

    frame = run_sbc(estimate_bins, simulate, n=60, draws=19, rng=0)
    lost = frame["rank"].isna()
    assert 5 < lost.sum() < 55
    assert frame["n_defined"].min() < 19
    assert (frame["rank"][~lost] <= frame["n_defined"][~lost]).all()
    table = sbc_uniformity(frame)
    assert table["n_undefined"].item() == lost.sum()
    assert table["n"].item() == 60 - lost.sum()
    assert table["passed"].item()


def test_a_run_goes_on_where_it_was(tmp_path, monkeypatch) -> None:
    path, seen = tmp_path / "ranks.parquet", []
    monkeypatch.setattr("labelbayes.diagnostics.sbc.BATCH", 2)
    whole = run_sbc(_build, SIMULATE, n=7, draws=19, rng=8)

    def stopped(evaluation):
        seen.append(evaluation)
        if len(seen) == 6:
            raise KeyboardInterrupt
        return _build(evaluation)

    with pytest.raises(KeyboardInterrupt):
        run_sbc(stopped, SIMULATE, n=7, draws=19, path=path, rng=8)
    assert pd.read_parquet(path)["replication"].nunique() == 4
    assert [file.name for file in tmp_path.iterdir()] == ["ranks.parquet"]
    seen[:] = [None] * 10
    resumed = run_sbc(stopped, SIMULATE, n=7, draws=19, path=path)
    assert len(seen) == 13
    pd.testing.assert_frame_equal(resumed, whole)
    pd.testing.assert_frame_equal(pd.read_parquet(path), whole)
    again = run_sbc(stopped, SIMULATE, n=5, draws=19, path=path, rng=8)
    assert len(seen) == 13
    pd.testing.assert_frame_equal(again, whole[whole["replication"] < 5])


def test_a_file_of_another_run_is_refused(tmp_path) -> None:
    path = tmp_path / "ranks.parquet"
    run_sbc(_build, SIMULATE, n=1, draws=19, path=path, rng=8)
    with pytest.raises(
        ValueError, match=r"^`rng` must be the seed of the file, 8, or None; got 9 "
    ):
        run_sbc(_build, SIMULATE, n=2, draws=19, path=path, rng=9)
    with pytest.raises(
        ValueError, match=r"^`draws` must be that of the file, 19; got 9 for .*path\.$"
    ):
        run_sbc(_build, SIMULATE, n=2, draws=9, path=path, rng=8)
    pd.DataFrame({"x": [1]}).to_parquet(path)
    with pytest.raises(
        ValueError, match=r"^`path` must name a file of `run_sbc` or none; got .* x\.$"
    ):
        run_sbc(_build, SIMULATE, n=2, path=path)


def test_a_model_without_data_is_drawn_forward() -> None:
    score = np.linspace(0.1, 0.9, 9)
    known = np.r_[1.0, 0.0, np.full(7, np.nan)]

    def simulate(rng):
        label = rng.random(9) < score
        label[:2] = [True, False]
        above = score >= 0.5
        return {"precision": label[above].mean()}, EvaluationSet(known, score)

    def build(evaluation):
        return build_imputation(evaluation, impute(evaluation, score), concentration=4)

    frame = run_sbc(build, simulate, n=3, draws=19, rng=0)
    assert frame["n_defined"].eq(19).all()
    assert frame["rank"].between(0, 19).all()


def test_without_nutpie_every_set_is_sampled(monkeypatch) -> None:
    monkeypatch.setattr(reuse, "nutpie", None)
    monkeypatch.setattr(reuse, "TUNE", 100)
    build, simulate, _ = V15.MODELS["calibration, beta"]
    frame = run_sbc(build, simulate, n=1, draws=9, rng=0)
    assert set(frame["quantity"]) >= {"intercept", "slope_low", "slope_high", "f1"}
    assert frame["rank"].between(0, 9).all()


@pytest.mark.slow
@pytest.mark.skipif(reuse.nutpie is None, reason="needs nutpie")
def test_a_compiled_model_serves_all_sets(monkeypatch) -> None:
    compiled = []
    compile_once = reuse.nutpie.compile_pymc_model
    monkeypatch.setattr(
        reuse.nutpie, "compile_pymc_model", lambda model: compiled.append(1) or compile_once(model)
    )
    build, simulate, _ = V15.MODELS["calibration, platt with tilt"]
    table = sbc_uniformity(run_sbc(build, simulate, n=40, draws=99, rng=0))
    assert len(compiled) == 1
    assert table["passed"].all(), table
    # The tilt has no data: its posterior is its prior, whatever the labels.
    assert abs(table.loc["delta", "mean"] - 0.5) < 0.2


def _counted(count, scale) -> pm.Model:
    with pm.Model() as model:
        pm.Poisson("seen", scale * pm.Exponential("rate", 1.0), observed=pm.Data("count", [count]))
    return model


def test_models_that_differ_in_more_than_data_are_found() -> None:
    first = _counted(3, 1.0)
    assert is_same_but_data(first, _counted(5, 1.0))
    assert first["count"].get_value().tolist() == [5]
    assert not is_same_but_data(_counted(3, 1.0), _counted(5, 2.0))


def test_other_coordinates_are_no_other_model() -> None:
    def build(scale):
        with pm.Model() as model:
            rate = pm.Normal(
                "rate", default_transform=pm.distributions.transforms.Interval(-scale, 9)
            )
            pm.Normal("seen", rate, observed=pm.Data("value", [scale]))
        return model

    assert is_same_but_data(build(5.0), build(7.0))


def test_models_with_other_data_are_sampled_anew(monkeypatch) -> None:
    ran = []

    class Compiler:
        """Stands for nutpie, as far as it goes before a second data set."""

        @staticmethod
        def compile_pymc_model(model):
            ran.append("compiled")
            raise InterruptedError

    monkeypatch.setattr(reuse, "nutpie", Compiler)
    monkeypatch.setattr(reuse, "is_same_but_data", lambda first, second: False)
    monkeypatch.setattr(ReusedModel, "_sample", lambda self, built, rng: ran.append("sampled"))
    monkeypatch.setattr(reuse, "flatten", lambda found: {})
    build, simulate, _ = V15.MODELS["bins, jeffreys"]
    model, rng = ReusedModel(9), np.random.default_rng(0)
    first, second, third = (build(simulate(rng)[1]) for _ in range(3))
    with pytest.raises(InterruptedError):
        model.draws(first, rng)
    with pytest.warns(UserWarning, match=r"^`build` lets data into .*: each is compiled anew\.$"):
        model.draws(second, rng)
    model.draws(third, rng)
    assert ran == ["compiled", "sampled", "sampled"]


def test_what_is_no_study_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^`n` must be at least 1; got 0\.$"):
        run_sbc(_build, SIMULATE, n=0)
    with pytest.raises(ValueError, match=r"^`draws` must be at least 1; got 0\.$"):
        run_sbc(_build, SIMULATE, draws=0)
    with pytest.raises(TypeError, match=r"^`build` must return a LabelModel or Estimates; got int"):
        run_sbc(lambda _: 3, SIMULATE, n=1, rng=0)
    with pytest.raises(
        ValueError, match=r"names? truths as the draws do, accuracy, .*; got 'rate'"
    ):
        run_sbc(_build, V15.simulator(V15.jeffreys), n=1, rng=0)
    with pytest.raises(ValueError, match=r"give 'f1' the shape of a draw, \(\); got \(2,\)\.$"):
        run_sbc(_build, lambda rng: ({"f1": [0, 1]}, SIMULATE(rng)[1]), n=1, rng=0)
    with pytest.raises(ValueError, match=r"got no column 'rank'\.$"):
        sbc_uniformity(pd.DataFrame({"quantity": ["f1"]}))
    with pytest.raises(ValueError, match=r"got no row\.$"):
        sbc_uniformity(_ranks([]))


def test_uniform_ranks_pass_as_often_as_the_gate_says() -> None:
    rng = np.random.default_rng(0)
    tables = [sbc_uniformity(_ranks(rng.integers(0, 200, 500))) for _ in range(150)]
    for test in ("chi2_p", "ks_p", "spread_p"):
        share = np.mean([table[test].item() < 0.1 for table in tables])
        assert 0.04 < share < 0.16, test
    assert all(table["passed"].item() for table in tables)


def test_ranks_among_few_or_unequal_draws_are_judged_as_well() -> None:
    rng = np.random.default_rng(1)
    n_defined = rng.integers(1, 20, 2_000)
    assert sbc_uniformity(_ranks(rng.integers(0, n_defined + 1), n_defined))["passed"].item()
    assert not sbc_uniformity(_ranks(rng.integers(0, n_defined), n_defined))["passed"].item()
    few = sbc_uniformity(_ranks(rng.integers(0, 4, 2_000), 3))
    assert few["ks_p"].item() > 0.01


@pytest.mark.parametrize(
    ("power", "reason"),
    [
        (lambda u: u**1.5, "draws are too high"),
        (lambda u: 1 - u**1.5, "draws are too low"),
        (lambda u: 0.5 + 0.8 * (u - 0.5), "draws are too wide"),
        (lambda u: np.where(u < 0.5, u**2 * 2, 1 - (1 - u) ** 2 * 2), "draws are too narrow"),
    ],
)
def test_the_reason_says_what_is_wrong(power, reason) -> None:
    u = np.random.default_rng(0).random(1_000)
    table = sbc_uniformity(_ranks(np.floor(200 * power(u))))
    assert table["reason"].item() == reason


def test_uneven_ranks_without_a_shift_or_a_width_are_found() -> None:
    rank = np.random.default_rng(0).integers(0, 200, 1_000)
    table = sbc_uniformity(_ranks(rank[np.isin(rank // 10 % 4, [1, 2])]))
    assert table["reason"].item() == "ranks are uneven"


def test_more_tests_need_smaller_p() -> None:
    ranks = _ranks(np.random.default_rng(0).integers(0, 190, 500))
    one = sbc_uniformity(ranks)
    many = sbc_uniformity(pd.concat([ranks.assign(quantity=f"q{i}") for i in range(10)]))
    assert many["p_adjusted"].iloc[0] == pytest.approx(min(1, 10 * one["p_adjusted"].item()))


def test_the_expected_cdf_is_that_of_uniform_ranks() -> None:
    grid, observed, expected = rank_cdf(np.array([0.0, 3.0, 9.0]), np.array([9, 9, 9]))
    np.testing.assert_allclose(expected, grid)
    np.testing.assert_allclose(observed, np.repeat([0, 1, 2, 3], [1, 3, 6, 1]) / 3)
