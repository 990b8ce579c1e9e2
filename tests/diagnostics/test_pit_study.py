"""The study of masked sets: resumed, in parallel and in one go it is the same study."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.simulate import simulate_scores
from labelbayes.diagnostics import pit_study
from labelbayes.diagnostics.pit import summarize_pit
from labelbayes.diagnostics.pit_methods import PIT_METHODS
from labelbayes.diagnostics.pit_study import run_pit

COMPLETE = simulate_scores(3_000, rng=0)
SMALL: dict[str, Any] = {
    "rates": [0.3],
    "positive_fractions": [None, 0.5],
    "methods": ["prevalence", "labeled rows only"],
    "metrics": ["precision", "recall"],
    "n_rows": 60,
    "n_replications": 4,
    "rng": 7,
}


@pytest.fixture(scope="module")
def study() -> pd.DataFrame:
    return run_pit(COMPLETE, **SMALL)


def test_a_row_per_replication_method_and_metric(study: pd.DataFrame) -> None:
    assert len(study) == 2 * 4 * 2 * 2
    assert set(study["method"]) == set(SMALL["methods"])
    assert study["positive_fraction"].isna().sum() == len(study) / 2
    assert study["n_rows"].unique().tolist() == [60]
    assert study["pit"].between(0, 1).all()
    fixed = study[study["positive_fraction"] == 0.5]
    assert fixed["true_rate"].unique().tolist() == [0.5]
    assert study.loc[study["method"] == "prevalence", "believed_rate"].between(0, 1).all()
    assert study.loc[study["method"] != "prevalence", "believed_rate"].isna().all()
    # Rows are drawn anew: the metric on all labels differs from replication to replication.
    assert study.loc[study["metric"] == "recall", "truth"].nunique() > 4


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing(study: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(run_pit(COMPLETE, **(SMALL | {"n_processes": 2})), study)
    other = run_pit(COMPLETE, **(SMALL | {"rng": 8}))
    assert not other["pit"].equals(study["pit"])


@pytest.mark.parametrize("write_every", [0.0, math.inf])
@pytest.mark.parametrize("n_made", [1, 5])
def test_an_interrupted_study_keeps_what_was_made_and_goes_on(
    study: pd.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write_every: float,
    n_made: int,
) -> None:
    path = tmp_path / "study.parquet"
    monkeypatch.setattr(pit_study, "WRITE_EVERY", write_every)
    whole, done = pit_study._run_one, []

    def interrupted(*arguments: Any) -> pd.DataFrame:
        if len(done) == n_made:
            raise KeyboardInterrupt
        assert path.exists() == bool(done)  # the first is written at once
        done.append(whole(*arguments))
        return done[-1]

    monkeypatch.setattr(pit_study, "_run_one", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_pit(COMPLETE, path=path, **SMALL)
    kept = pd.read_parquet(path)
    assert len(kept) == len(study) * n_made / 8
    n_made = 8  # of 8: nothing interrupts it now
    pd.testing.assert_frame_equal(run_pit(COMPLETE, path=path, **SMALL), study)
    assert len(done) == 8  # each replication once


def test_a_finished_study_is_read_again(
    study: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "study.parquet"
    study.to_parquet(path)
    monkeypatch.setattr(pit_study, "_run_one", lambda *_: pytest.fail("made again"))
    pd.testing.assert_frame_equal(run_pit(COMPLETE, path=path, **SMALL), study)
    pd.testing.assert_frame_equal(run_pit(COMPLETE, path=path, **(SMALL | {"rng": None})), study)
    fewer = run_pit(COMPLETE, path=path, **(SMALL | {"n_replications": 2}))
    assert fewer["replication"].max() == 1
    with pytest.raises(ValueError, match="must be the seed of the file, 7, or None; got 8"):
        run_pit(COMPLETE, path=path, **(SMALL | {"rng": 8}))
    study.drop(columns="seed").to_parquet(path)
    with pytest.raises(ValueError, match="must name a file of `run_pit` or none"):
        run_pit(COMPLETE, path=path, **SMALL)


def test_what_is_asked_for_is_returned_and_the_file_keeps_all(
    study: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "study.parquet"
    at_random = study[study["positive_fraction"].isna()].reset_index(drop=True)
    fixed = study[study["positive_fraction"] == 0.5].reset_index(drop=True)
    # One file, at random first and then not, with fewer replications.
    first = run_pit(COMPLETE, path=path, **(SMALL | {"positive_fractions": [None]}))
    pd.testing.assert_frame_equal(first, at_random)
    options = SMALL | {"positive_fractions": [0.5], "n_replications": 2}
    second = run_pit(COMPLETE, path=path, **options)
    pd.testing.assert_frame_equal(second, fixed[fixed["replication"] < 2])
    assert len(pd.read_parquet(path)) == len(first) + len(second)
    # Another rate in it is not returned either.
    other = run_pit(COMPLETE, path=path, **(options | {"rates": [0.2]}))
    assert other["rate"].unique().tolist() == [0.2]
    again = run_pit(COMPLETE, path=path, **SMALL)
    pd.testing.assert_frame_equal(again, study)
    kept = pd.read_parquet(path)
    assert len(kept) == len(study) + len(other)
    keys = ["rate", "positive_fraction", "replication", "method", "metric"]
    assert not kept.duplicated(keys).any()


def test_what_cannot_be_hidden_is_named_and_left_out() -> None:
    with pytest.warns(UserWarning, match=r"24 positives and 36 negatives .*: rate 0\.5 with 0\.9"):
        found = run_pit(COMPLETE, **(SMALL | {"rates": [0.5], "positive_fractions": [0.5, 0.9]}))
    assert set(found["positive_fraction"]) == {0.5}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_pit(COMPLETE, **(SMALL | {"n_replications": 1}))


def test_replications_take_at_most_a_third_of_each_class() -> None:
    few = EvaluationSet([1] * 30 + [0] * 90, np.linspace(1, 0, 120))
    found = run_pit(few, **(SMALL | {"n_rows": 600, "n_replications": 1}))
    assert found["n_rows"].unique().tolist() == [25]


@pytest.mark.slow
def test_right_methods_pass_and_wrong_ones_fail() -> None:
    # Scores are calibrated and labels hidden at random, so refits are right; a shifted p is not.
    found = run_pit(
        COMPLETE,
        rates=[0.3],
        positive_fractions=[None],
        methods=["scaling-binning", "scaling-binning, log odds + 0.5"],
        metrics=["precision", "recall"],
        n_rows=300,
        n_replications=200,
        rng=2,
    )
    table = summarize_pit(found).set_index(["method", "metric"])
    right = table.loc["scaling-binning"]
    assert right["is_right"].all()
    # 3.3 standard errors of a share of 200.
    assert right["coverage"].between(0.899, 1.0).all()
    shifted = table.loc["scaling-binning, log odds + 0.5"]
    assert not shifted["is_right"].any()
    assert (shifted["believed_rate"] > shifted["true_rate"] + 0.05).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"methods": ["mine"]}, "got 'mine'. Known are"),
        ({"rates": [1.5]}, "`rates`"),
        ({"positive_fractions": [2]}, "`positive_fractions`"),
        ({"n_replications": 0}, "`n_replications`"),
        ({"n_processes": 0}, "`n_processes`"),
        ({"n_rows": 9}, "`n_rows`"),
    ],
)
def test_bad_options_are_refused(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        run_pit(COMPLETE, **(SMALL | change))


def test_sets_that_cannot_be_studied_are_refused() -> None:
    with pytest.raises(ValueError, match="must have every label; 1 are missing"):
        run_pit(EvaluationSet([1, 0, None], [0.9, 0.2, 0.4]))
    with pytest.raises(ValueError, match="at least 12 positives and 18 negatives; got 2 and 3"):
        run_pit(EvaluationSet([1, 0, 1, 0, 0], [0.9, 0.2, 0.4, 0.3, 0.1]))
    assert len(PIT_METHODS) == 15


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rates": [0]}, "`rates` must lie strictly between 0 and 1; got 0"),
        ({"rates": [1.0]}, "`rates` must lie strictly between 0 and 1"),
        ({"rates": 0.3}, "`rates` must be a list; got 0.3 alone"),
        ({"rates": []}, "`rates` must hold at least one value"),
        ({"rates": [0.3, 0.3]}, "`rates` must hold each value once; got 0.3 again at position 1"),
        ({"positive_fractions": [None, None]}, "each value once; got None again at position 1"),
        ({"methods": "prevalence"}, "`methods` must be a list; got 'prevalence' alone"),
        ({"path": 5}, "`path` must be a path or None; got int 5"),
        ({"path": "no such folder/run.parquet"}, "`path` must lie in a folder that exists"),
        ({"path": "."}, "`path` must name a file; got the folder"),
    ],
)
def test_what_would_fail_or_count_twice_is_refused_first(
    change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        run_pit(COMPLETE, **(SMALL | change))
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    "change", [{"methods": ["coin flips (MaxEnt)"]}, {"metrics": ["f1"]}, {"n_rows": 50}]
)
def test_the_file_of_another_run_is_not_taken_for_this_one(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    options = SMALL | {"methods": ["prevalence"], "metrics": ["recall"], "n_replications": 1}
    options |= {"path": tmp_path / "run.parquet", "rates": [0.3], "positive_fractions": [None]}
    first = run_pit(COMPLETE, **options)
    pd.testing.assert_frame_equal(run_pit(COMPLETE, **options), first)
    with pytest.raises(ValueError, match="the same methods, metrics and rows"):
        run_pit(COMPLETE, **(options | change))


def test_a_file_that_is_no_run_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.parquet"
    file.write_text("torn")
    with pytest.raises(ValueError, match="`path` must name a Parquet file of `run_pit` or none"):
        run_pit(COMPLETE, **(SMALL | {"path": file}))
