"""A posterior can be put away and taken out again: the same laws, tables and draws."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labelbayes.bayes.bins import build_bins
from labelbayes.bayes.calibration import build_calibration
from labelbayes.bayes.convergence import SamplingWarning, diagnose
from labelbayes.bayes.groups import build_groups
from labelbayes.bayes.imputation import build_imputation
from labelbayes.bayes.model import LabelModel
from labelbayes.bayes.positive_unlabeled import build_positive_unlabeled
from labelbayes.bayes.posterior import Posterior
from labelbayes.bayes.rank_bootstrap import rank_bootstrap
from labelbayes.bayes.rating_sets import build_rating_sets
from labelbayes.bayes.sampling import _draw_forward, sample
from labelbayes.bayes.soft_labels import build_soft_labels
from labelbayes.bayes.stack import wrap
from labelbayes.bounds.beta_prior import BetaPrior
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.ratings import Ratings
from labelbayes.imputation.impute import impute
from labelbayes.metrics.confusion import fbeta

pytestmark = pytest.mark.filterwarnings("ignore::labelbayes.bayes.convergence.SamplingWarning")

RNG = np.random.default_rng(4)
SCORE = RNG.random(60)
LABELS = np.where(RNG.random(60) < 0.5, RNG.random(60) < SCORE, np.nan)
ROWS = EvaluationSet(LABELS, SCORE, group=np.repeat(["a", "b"], 30))
KNOWN = EvaluationSet(np.where(LABELS == 1, 1.0, np.nan), SCORE)
ANSWERS = pd.DataFrame({"one": ["yes", "no"] * 6, "two": ["yes", "yes", "no"] * 4})

#: Every builder; those that share a completion stand once.
MODELS: dict[str, Callable[[], LabelModel]] = {
    "bins": lambda: build_bins(ROWS, n_bins=2),
    "calibration": lambda: build_calibration(ROWS),
    "tilted calibration": lambda: build_calibration(ROWS, kind="beta", delta_sd=0.5),
    "groups": lambda: build_groups(ROWS),
    "imputation": lambda: build_imputation(ROWS, impute(ROWS, SCORE), concentration=9),
    "positive-unlabeled": lambda: build_positive_unlabeled(KNOWN, BetaPrior(3, 7)),
    "rating sets": lambda: build_rating_sets(Ratings.from_wide(ANSWERS), ["yes", "no", "no"] * 4),
    "soft labels": lambda: build_soft_labels(RNG.integers(0, 6, 40), np.full(40, 5)),
}


def draw(label_model: LabelModel) -> Posterior:
    """Return what `sample` does, from draws of the prior: how it was drawn is not the question."""
    parameters = _draw_forward(label_model, draws=20, chains=2, seed=1)
    metrics = label_model.complete(parameters, rng=2)
    combined = parameters.assign_coords(metrics.coords).assign(metrics.data_vars)
    return Posterior(label_model, wrap(combined), "sample", diagnose(combined, 0))


def quickly(label_model: LabelModel) -> Posterior:
    return sample(label_model, draws=20, tune=20, chains=2, rng=1)


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    with pytest.warns(SamplingWarning, match="failed the gate"):
        return quickly(replace(build_bins(ROWS, n_bins=2), metrics=(fbeta(0.5), fbeta(3))))


def same(one: Posterior, two: Posterior) -> bool:
    """Whether two posteriors say the same."""
    assert one.dataset.identical(two.dataset)
    assert one.diagnostics == two.diagnostics or repr(one.diagnostics) == repr(two.diagnostics)
    assert one.contraction().equals(two.contraction())
    assert repr(one) == repr(two)
    assert one._repr_html_() == two._repr_html_()
    first, second = one.estimates(), two.estimates()
    assert first.to_dict(0.8) == second.to_dict(0.8)
    assert first.draws(7, 3).equals(second.draws(7, 3))
    return first.summary().equals(second.summary())


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_pickle_of_any_posterior_says_the_same(make: Callable[[], LabelModel]) -> None:
    before = draw(make())
    after = pickle.loads(pickle.dumps(before))
    assert same(before, after)
    assert type(after.label_model) is type(before.label_model)
    assert before.label_model.model is not None
    assert after.label_model.model is None


def test_a_pickle_of_forward_draws_says_the_same() -> None:
    before = rank_bootstrap(KNOWN, BetaPrior(3, 7), n_draws=50, rng=0)
    assert same(before, pickle.loads(pickle.dumps(before)))


def test_exact_laws_and_completions_outlive_a_pickle(posterior: Posterior) -> None:
    after = pickle.loads(pickle.dumps(posterior))
    exact = after.estimates(exact=True)
    assert exact.summary().equals(posterior.estimates(exact=True).summary())
    assert not exact.summary().equals(after.estimates().summary())
    drawn = [
        one.label_model.complete(one.dataset, target="population", rng=3)
        for one in (posterior, after)
    ]
    assert drawn[0].identical(drawn[1])


def test_a_difference_would_be_seen(posterior: Posterior) -> None:
    other = copy.deepcopy(posterior)
    metric = other.dataset["f0.5"]
    other.container["posterior"]["f0.5"] = metric + 1e-9
    with pytest.raises(AssertionError):
        same(posterior, other)


def test_another_kernel_reads_it(posterior: Posterior, tmp_path: Path) -> None:
    path = tmp_path / "posterior.pickle"
    path.write_bytes(pickle.dumps(posterior))
    code = (
        "import pathlib, pickle, sys\n"
        "read = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())\n"
        "print(read.estimates().summary().to_json(double_precision=15))"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == posterior.estimates().summary().to_json(double_precision=15)


def test_a_restored_model_says_what_it_lacks(posterior: Posterior) -> None:
    restored = pickle.loads(pickle.dumps(posterior)).label_model
    assert "parameters not kept in a pickle" in repr(restored)
    assert "not kept in a pickle" in restored._repr_html_()
    with pytest.raises(ValueError, match="read from a pickle") as raised:
        sample(restored)
    assert str(raised.value).endswith("Build it again, e.g. with `build_bins`.")
    # Built again, it takes the place of the one that is gone.
    built = build_bins(ROWS, n_bins=2).model
    assert quickly(replace(restored, model=built)).dataset.equals(posterior.dataset)


def test_a_copy_keeps_the_model_too(posterior: Posterior) -> None:
    shallow, deep = copy.copy(posterior), copy.deepcopy(posterior)
    assert shallow.label_model is posterior.label_model
    assert same(posterior, shallow)
    assert same(posterior, deep)
    model, copied = posterior.label_model.model, deep.label_model.model
    assert copied is not model
    point = model.initial_point()
    assert copied.compile_logp()(point) == pytest.approx(float(model.compile_logp()(point)))
    deep.container["posterior"]["rate"] = 2 * deep.dataset["rate"]
    assert not deep.dataset.equals(posterior.dataset)


def test_a_second_pickle_is_like_the_first(posterior: Posterior) -> None:
    once = pickle.loads(pickle.dumps(posterior))
    assert same(once, pickle.loads(pickle.dumps(once)))
    assert same(once, copy.deepcopy(once))
