"""Ranking metrics of posteriors: all labelings, alignment with the draws, groups and targets."""

import itertools
import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy.special import betaln
from sklearn.metrics import average_precision_score, roc_auc_score

from labelbayes.bayes.bins import build_bins
from labelbayes.bayes.calibration import build_calibration
from labelbayes.bayes.cells import RateCells
from labelbayes.bayes.convergence import diagnose
from labelbayes.bayes.groups import build_groups
from labelbayes.bayes.imputation import build_imputation
from labelbayes.bayes.model import LabelModel
from labelbayes.bayes.posterior import Posterior
from labelbayes.bayes.ranking import rank_rows
from labelbayes.bayes.sampling import sample
from labelbayes.bayes.stack import pm, wrap
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.masking import mask_mcar
from labelbayes.data.simulate import simulate_scores
from labelbayes.imputation.belief import Imputation
from labelbayes.imputation.impute import impute
from labelbayes.laws import row_draws
from labelbayes.laws.bins import assign_bins, bin_scores
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.ranking import RANKING_METRICS, RankingMetric
from labelbayes.metrics.registry import DEFAULT_METRICS, METRICS
from labelbayes.results.count_law import merge_atoms
from labelbayes.results.distribution import DiscreteLaw

N = math.nan
SIX = [METRICS[name] for name in DEFAULT_METRICS]
RANKING = ["roc_auc", "average_precision"]


def _draws(rate: np.ndarray, **others: np.ndarray) -> xr.Dataset:
    columns = {"rate": rate, **others}
    dims = ("chain", "draw", "bin")
    return xr.Dataset({name: (dims[: v.ndim], v) for name, v in columns.items()})


def _value(metric, labels: np.ndarray, evaluation: EvaluationSet) -> float:
    if not isinstance(metric, CountMetric):
        function = roc_auc_score if metric.name == "roc_auc" else average_precision_score
        return float(function(labels, evaluation.y_score, sample_weight=evaluation.count))
    decided, count = evaluation.y_pred, evaluation.count
    cells = [
        count[(labels == label) & (decided == side)].sum()
        for label, side in [(1, 1), (0, 1), (1, 0), (0, 0)]
    ]
    return float(metric(*cells))


# Bins against every labeling --------------------------------------------------------------------

#: Ties within a bin, across labels, and of two missing rows; both classes labeled.
LABELS = [1, N, 0, N, 1, N, 0, N, N, 0, 1, N, N, 0]
SCORES = [0.9, 0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.6, 0.4, 0.4, 0.3, 0.2, 0.1]


@pytest.fixture(scope="module")
def few() -> EvaluationSet:
    return EvaluationSet(LABELS, SCORES)


@pytest.fixture(scope="module")
def conjugate(few) -> xr.Dataset:
    """Independent draws of the posterior of Jeffreys rates, which is conjugate."""
    bins = bin_scores(few, 2)
    a, b = bins.n_positive + 0.5, bins.n_negative + 0.5
    return _draws(np.random.default_rng(0).beta(a, b, (4, 2_000, len(a))))


@pytest.fixture(scope="module")
def by_labeling(few) -> dict[str, DiscreteLaw]:
    """Laws over all completions, weighed by the beta integrals of their bins."""
    cell, missing = assign_bins(few, 2), np.flatnonzero(~few.is_labeled)
    values: dict[str, list[float]] = {metric.name: [] for metric in SIX}
    mass = []
    for labels in itertools.product([0.0, 1.0], repeat=len(missing)):
        complete = few.y_true.copy()
        complete[missing] = labels
        log_mass = 0.0
        for place in range(cell.max() + 1):
            before, after = (
                [0.5 + (y[cell == place] == label).sum() for label in (1, 0)]
                for y in (few.y_true, complete)
            )
            log_mass += betaln(*after) - betaln(*before)
        mass.append(math.exp(log_mass))
        for metric in SIX:
            values[metric.name].append(_value(metric, complete, few))
    assert sum(mass) == pytest.approx(1.0)
    laws = {}
    for name, column in values.items():
        laws[name] = DiscreteLaw(*merge_atoms(np.array(column), np.array(mass)), 0.0, "")
    return laws


@pytest.fixture(scope="module")
def jeffreys(few) -> LabelModel:
    return build_bins(few, n_bins=2, prior="jeffreys")


def test_draws_of_all_six_agree_with_every_labeling(jeffreys, conjugate, by_labeling, agree):
    assert [metric.name for metric in jeffreys.metrics] == list(DEFAULT_METRICS)
    drawn = jeffreys.complete(conjugate, rng=1)
    found = {name: agree(drawn[name].values, law) for name, law in by_labeling.items()}
    assert all(agreement.ok for agreement in found.values()), found


def test_planted_errors_disagree_with_every_labeling(jeffreys, conjugate, by_labeling, agree):
    plug_in = jeffreys.complete(conjugate, target="rate", rng=1)
    known = conjugate.mean(("chain", "draw")).broadcast_like(conjugate)
    no_doubt = jeffreys.complete(known.transpose("chain", "draw", "bin"), rng=1)
    # Each missing row takes the rate of the next bin.
    rows = jeffreys.completion.rows[0]
    n_cells = len(jeffreys.completion.count)
    moved = replace(rows, cell=(rows.cell + 1) % n_cells)
    misplaced = replace(jeffreys, completion=replace(jeffreys.completion, rows=(moved,)))
    wrong = misplaced.complete(conjugate, rng=1)
    for name in RANKING:
        for drawn in (plug_in, no_doubt, wrong):
            assert not agree(drawn[name].values, by_labeling[name]).ok, name


def test_the_sampler_gives_the_same_laws(few, jeffreys, by_labeling, agree) -> None:
    posterior = sample(jeffreys, draws=600, tune=400, rng=3)
    assert posterior.diagnostics.ok
    estimates = posterior.estimates()
    assert list(estimates) == list(DEFAULT_METRICS)
    for name in RANKING:
        assert agree(posterior.dataset[name].values, by_labeling[name]).ok
        assert estimates[name].mean == pytest.approx(float(posterior.dataset[name].mean()))
    # Metrics of one draw stay together.
    joint = estimates.draws(50, rng=0)
    pairs = {
        tuple(row) for row in np.stack([posterior.dataset[n].values.ravel() for n in RANKING]).T
    }
    assert {tuple(row) for row in np.stack([joint[name].values for name in RANKING]).T} <= pairs


# Alignment --------------------------------------------------------------------------------------


def _spread_rows(n: int, seed: int, group: bool = False) -> EvaluationSet:
    """Rows with ties, multiplicities and decisions that are no cutoff of the score."""
    rng = np.random.default_rng(seed)
    score = rng.integers(1, 20, n) / 20
    return EvaluationSet(
        rng.choice([0.0, 1.0, N, N], n),
        score,
        y_pred=(score + rng.normal(0, 0.2, n) > 0.5).astype(int),
        count=rng.integers(1, 4, n),
        group=rng.choice(["b", "a", None], n) if group else None,
    )


def _completed(evaluation: EvaluationSet, cell: np.ndarray, rate: np.ndarray) -> np.ndarray:
    return np.where(evaluation.is_labeled, evaluation.y_true, rate[cell])


@pytest.mark.parametrize("few_cells", [256, 0], ids=["cells", "rows"])
@pytest.mark.parametrize("target", ["sample", "rate"])
def test_certain_rates_give_the_metrics_of_these_labels(few_cells, target, monkeypatch) -> None:
    monkeypatch.setattr(row_draws, "FEW_CELLS", few_cells)
    monkeypatch.setattr(row_draws, "BINOMIAL_COST", 30 if few_cells else 10_000)
    # Several blocks of draws, the last one shorter.
    monkeypatch.setattr("labelbayes.bayes.cells.BLOCK_DRAWS", 30)
    evaluation = _spread_rows(120, seed=1)
    label_model = build_bins(evaluation, n_bins=6, prior="jeffreys")
    cell, n_cells = assign_bins(evaluation, 6), len(label_model.completion.count)
    rate = np.random.default_rng(2).integers(0, 2, (2, 40, n_cells)).astype(float)
    drawn = label_model.complete(_draws(rate), target=target, rng=0)
    for chain, draw in itertools.product(range(2), range(40)):
        labels = _completed(evaluation, cell, rate[chain, draw])
        for metric in SIX:
            expected = _value(metric, labels, evaluation)
            assert drawn[metric.name].values[chain, draw] == pytest.approx(expected, abs=1e-12)


def test_population_draws_belong_to_their_rates() -> None:
    # Either label pattern separates: rows drawn like these have area 1, or area 0.
    evaluation = EvaluationSet([N] * 6, [0.9, 0.8, 0.7, 0.3, 0.2, 0.1])
    known, missing = evaluation.counts, np.array([0, 0, 0, 1, 1, 1])
    cells = RateCells(
        (known,),
        np.array([1, 0]),
        np.array([3, 3]),
        lambda draws: draws["rate"],
        rows=rank_rows([evaluation], missing),
    )
    label_model = LabelModel(pm.Model(), cells, "toy", "nothing", {}, 0, 6, metrics=tuple(SIX))
    up = np.random.default_rng(0).integers(0, 2, (2, 300))
    drawn = label_model.complete(
        _draws(np.stack([up, 1 - up], -1).astype(float)), rng=0, target="population"
    )
    assert drawn["roc_auc"].values == pytest.approx(up, abs=1e-12)
    # Count metrics of the same draw are near 1, or 0, but for half a row in each cell.
    accuracy = drawn["accuracy"].values
    assert accuracy[up == 1].mean() > 0.8
    assert accuracy[up == 0].mean() < 0.2


def test_draws_of_refits_belong_to_their_refit() -> None:
    evaluation = _spread_rows(60, seed=4)
    rng = np.random.default_rng(0)
    bins, values = rng.integers(0, 5, 60), rng.integers(0, 2, (9, 5)).astype(float)
    p = np.where(evaluation.is_labeled, evaluation.y_true, values[0][bins])
    belief = Imputation(p, evaluation.is_labeled, "bins", "given", (), bins, values)
    label_model = build_imputation(evaluation, belief, concentration=4)
    refit = rng.integers(0, 8, (2, 30))
    draws = xr.Dataset(
        {
            "refit": (("chain", "draw"), refit),
            "mean_p": (("chain", "draw", "decision"), np.zeros((2, 30, 2))),
        }
    )
    drawn = label_model.complete(draws, rng=0)
    for chain, draw in itertools.product(range(2), range(30)):
        labels = _completed(evaluation, bins, values[1 + refit[chain, draw]])
        for metric in SIX:
            expected = _value(metric, labels, evaluation)
            assert drawn[metric.name].values[chain, draw] == pytest.approx(expected, abs=1e-12)
    assert len(np.unique(drawn["roc_auc"].values)) > 4


@pytest.mark.parametrize("build", [build_bins, build_calibration, build_groups])
def test_each_row_has_the_rate_of_its_cell(build) -> None:
    evaluation = _spread_rows(300, seed=5, group=True)
    completion = build(evaluation).completion
    code = np.concatenate([np.full(r.evaluation.n_rows, i) for i, r in enumerate(completion.rows)])
    parts = [r.evaluation for r in completion.rows]
    cell = np.concatenate([r.cell for r in completion.rows])
    y_pred, count, is_labeled = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("y_pred", "count", "is_labeled")
    )
    missing = ~is_labeled
    rows = np.bincount(cell[missing], count[missing], len(completion.count))
    assert np.array_equal(rows, completion.count)
    assert np.array_equal(completion.decision[cell[missing]], y_pred[missing])
    if build is build_groups:
        assert completion.groups == ("a", "b", "(missing)")
        assert np.array_equal(completion.group[cell[missing]], code[missing])
    if build is not build_bins:
        # Rows of few scores: the cell's curve is that of the row's own score.
        score = np.concatenate([part.y_score for part in parts])
        shift = np.array([0.3, -0.4, 0.8])
        names = {"intercept": np.array([0.3]), "slope": np.array([1.7])}
        own = 0.3
        if build is build_groups:
            names, own = {"group_intercept": shift[None], "slope": np.array([1.7])}, shift[code]
        p = completion.rates(names)[0][cell]
        expected = 1 / (1 + np.exp(-(own + 1.7 * np.log(score / (1 - score)))))
        assert p[missing] == pytest.approx(expected[missing], abs=1e-12)


def test_groups_are_ranked_among_themselves() -> None:
    evaluation = _spread_rows(200, seed=6, group=True)
    label_model = build_groups(evaluation)
    rng = np.random.default_rng(0)
    shift = np.where(rng.random((2, 20, 3)) < 0.5, 80.0, -80.0)
    draws = xr.Dataset(
        {
            "group_intercept": (("chain", "draw", "group"), shift),
            "slope": (("chain", "draw"), np.full((2, 20), 1.0)),
        }
    )
    drawn = label_model.complete(draws, rng=0)
    assert drawn["roc_auc"].dims == ("chain", "draw", "group")
    for place, part in enumerate(evaluation.groups().values()):
        for label in (0.0, 1.0):
            labels = np.where(part.is_labeled, part.y_true, label)
            chosen = (shift[..., place] > 0) == bool(label)
            for metric in SIX:
                # All missing labels of the group are alike; 1e-13 is left of the other label.
                values = drawn[metric.name].values[..., place][chosen]
                assert values == pytest.approx(_value(metric, labels, part), abs=1e-9)


# Targets ----------------------------------------------------------------------------------------


def test_the_rate_target_counts_parts_of_rows(few, jeffreys, conjugate) -> None:
    draws = conjugate.isel(draw=slice(0, 30))
    drawn = jeffreys.complete(draws, target="rate", rng=0)
    cell = assign_bins(few, 2)
    for chain, draw in itertools.product(range(4), range(30)):
        p = _completed(few, cell, draws["rate"].values[chain, draw])
        at_step = np.equal.outer(np.unique(few.y_score)[::-1], few.y_score)
        steps = at_step @ p, at_step @ (1 - p)
        for name in RANKING:
            expected = float(RANKING_METRICS[name].value(*steps))
            assert drawn[name].values[chain, draw] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_rows", [60, 500])
def test_the_population_is_that_of_refits_with_these_rates(n_rows) -> None:
    evaluation = mask_mcar(simulate_scores(n_rows, rng=2), 0.4, rng=3)
    label_model = build_bins(evaluation, n_bins=4, prior="jeffreys")
    bins, cell = bin_scores(evaluation, 4), assign_bins(evaluation, 4)
    a, b = bins.n_positive + 0.5, bins.n_negative + 0.5
    rate = np.random.default_rng(0).beta(a, b, (4, 500, len(a)))
    drawn = label_model.complete(_draws(rate), target="population", rng=1)
    values = np.concatenate([rate.mean((0, 1))[None], rate.reshape(-1, len(a))])
    p = np.where(evaluation.is_labeled, evaluation.y_true, values[0][cell])
    belief = Imputation(p, evaluation.is_labeled, "bins", "given", (), cell, values)
    closed = estimate_pemi(evaluation, belief, target="population", n_draws=4_000, rng=2)
    sample_sd = label_model.complete(_draws(rate), rng=1).std()
    for name in DEFAULT_METRICS:
        values, law = drawn[name].values, closed[name]
        # Two sets of 2,000 and 4,000 draws: 4 standard errors of the difference.
        assert abs(values.mean() - law.mean) < 4 * law.sd * math.sqrt(1 / 2_000 + 1 / 4_000)
        assert values.std() == pytest.approx(law.sd, rel=0.1)
        # A planted error: these rows' metrics have not the spread of other rows.
        assert float(sample_sd[name]) < 0.85 * law.sd


@pytest.mark.parametrize("n_refits", [0, 40])
@pytest.mark.parametrize("target", ["sample", "population"])
def test_an_imputation_has_the_laws_of_the_closed_form(n_refits, target) -> None:
    """Theorem 4: independent noise on p does nothing to ranking metrics either."""
    evaluation = mask_mcar(simulate_scores(250, rng=6), 0.6, rng=7)
    imputation = impute(evaluation, rng=8, n_refits=n_refits)
    label_model = build_imputation(evaluation, imputation, concentration=5)
    drawn = sample(label_model, target=target, rng=9).dataset
    closed = estimate_pemi(evaluation, imputation, target=target, n_draws=4_000, rng=10)
    for name in RANKING:
        values, law = drawn[name].values, closed[name]
        assert abs(values.mean() - law.mean) < 4 * law.sd * math.sqrt(2 / 4_000)
        assert values.std() == pytest.approx(law.sd, rel=0.08)
    # A planted error: the calibration taken as known, or these rows for the population.
    if n_refits and target == "sample":
        known = estimate_pemi(evaluation, imputation.without_refits(), rng=10)
        assert known["roc_auc"].sd < 0.9 * drawn["roc_auc"].values.std()


def test_rates_of_an_imputation_have_no_ranking_and_say_so() -> None:
    evaluation = mask_mcar(simulate_scores(60, rng=6), 0.5, rng=7)
    given = impute(evaluation, evaluation.y_score)
    label_model = build_imputation(evaluation, given, concentration=5)
    posterior = sample(label_model, draws=200, target="rate", rng=0)
    assert [metric.name for metric in posterior.metrics] == list(DEFAULT_METRICS[:4])
    estimates = posterior.estimates()
    assert list(estimates) == list(DEFAULT_METRICS[:4])
    assert any(
        note == "Left out: 'roc_auc' and 'average_precision'. "
        "This model has no ranking metrics for target='rate'."
        for note in estimates.notes
    )
    alone = replace(label_model, metrics=(METRICS["roc_auc"],))
    with pytest.raises(ValueError, match="must hold a count metric with target='rate'; got roc_a"):
        sample(alone, draws=20, target="rate", rng=0)


def _posterior(label_model: LabelModel, drawn: xr.Dataset, target="sample") -> Posterior:
    return Posterior(label_model, wrap(drawn), target, diagnose(drawn, 0))


def test_exact_laws_are_those_of_count_metrics(jeffreys, conjugate) -> None:
    draws = conjugate.isel(draw=slice(0, 100))
    combined = draws.assign(jeffreys.complete(draws, rng=0).data_vars)
    exact = _posterior(jeffreys, combined).estimates(exact=True)
    assert list(exact) == list(DEFAULT_METRICS[:4])
    assert list(exact.draws(5, rng=0)) == list(DEFAULT_METRICS[:4])
    assert any(
        note.endswith("Ranking metrics have no exact law given the rates.") for note in exact.notes
    )
    alone = replace(jeffreys, metrics=(METRICS["roc_auc"],))
    posterior = _posterior(alone, combined)
    assert list(posterior.estimates()) == ["roc_auc"]
    assert not any("Left out" in note for note in posterior.estimates().notes)
    with pytest.raises(ValueError, match=r"needs a count metric; got roc_auc\. Ranking metrics"):
        posterior.estimates(exact=True)


# What must not matter, and what cannot be -------------------------------------------------------


def test_constant_scores_give_one_half_and_prevalence_in_every_draw() -> None:
    evaluation = EvaluationSet([1, 0] + [N] * 50, [0.4] * 52)
    label_model = build_bins(evaluation, prior="jeffreys")
    rate = np.random.default_rng(0).random((2, 50, 1))
    for target in ("sample", "population", "rate"):
        drawn = label_model.complete(_draws(rate), target=target, rng=0)
        assert drawn["roc_auc"].values == pytest.approx(0.5, abs=1e-12)
        assert (drawn["average_precision"].values > 0).all()
    counted = label_model.complete(_draws(rate), target="rate", rng=0)["average_precision"]
    assert counted.values == pytest.approx((1 + 50 * rate[..., 0]) / 52)


def test_nothing_missing_is_scikit_learn_and_one_class_is_undefined() -> None:
    evaluation = EvaluationSet([1, 0, 1, 0], [0.9, 0.8, 0.4, 0.2])
    label_model = build_bins(evaluation, n_bins=1, prior="jeffreys")
    drawn = label_model.complete(_draws(np.full((1, 5, 2), 0.5)), rng=0)
    for name in RANKING:
        expected = _value(METRICS[name], evaluation.y_true, evaluation)
        assert drawn[name].values == pytest.approx(expected)
    calibrated = build_calibration(evaluation)
    names = {"intercept": np.zeros((1, 5)), "slope": np.ones((1, 5))}
    draws = xr.Dataset({name: (("chain", "draw"), values) for name, values in names.items()})
    assert calibrated.complete(draws, rng=0)["roc_auc"].values == pytest.approx(0.75)
    separated = EvaluationSet([1, 0, 0, 0], [0.9, 0.8, 0.4, 0.2])
    label_model = build_bins(separated, n_bins=1, prior="jeffreys")
    draws = _draws(np.random.default_rng(0).random((1, 5, 2)))
    weighed = draws.assign(label_model.complete(draws, target="population", rng=0).data_vars)
    assert weighed["roc_auc"].values == pytest.approx(1.0, abs=1e-12)
    notes = _posterior(label_model, weighed, "population").estimates().notes
    assert any(note.startswith("The score separates the labels perfectly") for note in notes)
    one_class = build_bins(EvaluationSet([0, N], [0.3, 0.1]), n_bins=1, prior="jeffreys")
    rate = np.array([[[0.0], [1.0]]])
    drawn = one_class.complete(_draws(rate), rng=0)
    assert np.isnan(drawn["roc_auc"].values).tolist() == [[True, False]]
    assert np.isnan(drawn["average_precision"].values).tolist() == [[True, False]]


def test_row_order_and_multiplicities_change_nothing() -> None:
    grouped = _spread_rows(150, seed=8)
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(150), grouped.count))
    repeated = EvaluationSet(
        grouped.y_true[order], grouped.y_score[order], y_pred=grouped.y_pred[order]
    )
    n_cells = len(bin_scores(grouped, 5).decision)
    rate = np.random.default_rng(1).random((2, 40, n_cells))
    for target in ("sample", "rate", "population"):
        one, two = (
            build_bins(rows, n_bins=5, prior="jeffreys").complete(
                _draws(rate), target=target, rng=3
            )
            for rows in (grouped, repeated)
        )
        for name in DEFAULT_METRICS:
            assert one[name].values == pytest.approx(two[name].values, abs=1e-12)


def test_a_seed_gives_the_same_draws(jeffreys, conjugate) -> None:
    draws = conjugate.isel(draw=slice(0, 300))
    for target in ("sample", "population"):
        first, again, other = (
            jeffreys.complete(draws, target=target, rng=seed) for seed in (1, 1, 2)
        )
        assert first.equals(again)
        assert not first["roc_auc"].equals(other["roc_auc"])


@pytest.mark.parametrize("target", ["sample", "rate", "population"])
def test_memory_does_not_grow_with_draws_times_rows(target) -> None:
    n = 60_000
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(n) < 0.5, rng.integers(0, 2, n), N)
    evaluation = EvaluationSet(labels, rng.random(n))
    label_model = build_bins(evaluation, prior="jeffreys")
    n_cells = len(label_model.completion.count)
    peaks = []
    for n_draws in (25, 75):
        draws = _draws(np.random.default_rng(0).random((1, n_draws, n_cells)))
        tracemalloc.start()
        label_model.complete(draws, target=target, rng=0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # 50 further draws of 30,000 labels would be 1.5 MB as bytes, 12 MB as floats.
    assert peaks[1] - peaks[0] < 0.3e6
    assert peaks[1] < 1_000 * n


def test_without_scores_or_ranks_there_are_count_metrics_only() -> None:
    decided = build_bins(EvaluationSet([1, 0, None], y_pred=[1, 0, 1]), prior="jeffreys")
    assert [metric.name for metric in decided.metrics] == list(DEFAULT_METRICS[:4])
    asked = replace(decided, metrics=(METRICS["f1"], METRICS["roc_auc"]))
    drawn = asked.complete(_draws(np.full((1, 4, 2), 0.5)), rng=0)
    assert list(drawn) == ["f1"]
    with pytest.raises(ValueError, match="this model does not say where in the ranking"):
        replace(decided, metrics=(METRICS["roc_auc"],)).complete(
            _draws(np.full((1, 4, 2), 0.5)), rng=0
        )


def test_ranking_metrics_of_ones_own_are_refused(jeffreys, conjugate) -> None:
    own = RankingMetric("top", "never", lambda positive, negative: positive[..., 0])
    with pytest.raises(ValueError, match="got a ranking metric 'top'"):
        replace(jeffreys, metrics=(own,)).complete(conjugate, rng=0)
