"""The calibration against quadrature over its coefficients and tilt; planted errors fail."""

import itertools

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import minimize
from scipy.special import expit, logit

from labelbayes.bayes.calibration import PARTS, build_calibration
from labelbayes.bayes.posterior import Posterior
from labelbayes.bayes.sampling import sample
from labelbayes.bayes.score_cells import count_rows, fit_quickly, platt_terms
from labelbayes.bayes.stack import pm, quiet
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.masking import mask_mcar
from labelbayes.data.simulate import simulate_scores
from labelbayes.metrics.confusion import COUNT_METRICS
from labelbayes.results.distribution import DiscreteLaw

METRICS = ["accuracy", "precision", "recall", "f1"]
DELTA_SD = 0.5


def _rounded(n_rows: int) -> EvaluationSet:
    """Scores at nine log odds: a likelihood and a quadrature of few cells."""
    truth = simulate_scores(n_rows, intercept=-0.5, slope=0.8, rng=3)
    score = expit(np.clip(np.round(logit(truth.y_score)), -4, 4))
    return mask_mcar(EvaluationSet(truth.y_true, score), 0.6, rng=4)


@pytest.fixture(scope="module")
def evaluation() -> EvaluationSet:
    return _rounded(250)


@pytest.fixture(scope="module")
def audited(evaluation) -> np.ndarray:
    """Of 40 missing rows far more are positive than the labeled ones would say."""
    labels = np.full(evaluation.n_rows, np.nan)
    rows = np.flatnonzero(~evaluation.is_labeled)[:40]
    odds = -0.5 + 0.8 * logit(evaluation.y_score[rows]) + 1.2
    labels[rows] = np.random.default_rng(6).random(40) < expit(odds)
    return labels


def _log_posterior(
    theta: np.ndarray, evaluation: EvaluationSet, kind: str, tilt: dict, intercept_sd: float
) -> np.ndarray:
    """Log density at rows of theta: intercept, log slopes and, with a tilt, delta."""
    slopes = theta[:, 1:2] if kind == "platt" else theta[:, 1:3]
    density = -(theta[:, 0] ** 2) / (2 * intercept_sd**2) - (slopes**2).sum(axis=1) / (2 * 0.25)
    labels = [(evaluation.y_true, 0.0)]
    if tilt:
        delta = theta[:, -1]
        density = density - delta**2 / (2 * tilt["sd"] ** 2)
        if tilt["audited"] is not None:
            labels.append((tilt["audited"], delta[:, None]))
    for y, shift in labels:
        for value in (0.0, 1.0):
            score, count = np.unique(evaluation.y_score[y == value], return_counts=True)
            odds = _odds(theta, score, kind) + shift
            density = density - (np.logaddexp(0, -odds if value else odds) * count).sum(axis=1)
    return density


def _odds(theta: np.ndarray, score: np.ndarray, kind: str) -> np.ndarray:
    if kind == "platt":
        return theta[:, :1] + np.exp(theta[:, 1:2]) * logit(score)
    low, high = np.exp(theta[:, 1:2]), np.exp(theta[:, 2:3])
    return theta[:, :1] + low * np.log(score) - high * np.log1p(-score)


def _grid(density, dim: int, step: float, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Points along the axes of the Hessian around the mode, and their weights."""
    mode = minimize(lambda x: -density(x[None])[0], np.zeros(dim)).x
    h = 1e-3 * np.eye(dim)
    hessian = np.array(
        [
            [
                sum(
                    s * t * density((mode + s * a + t * b)[None])[0]
                    for s in (1, -1)
                    for t in (1, -1)
                )
                / -4e-6
                for a in h
            ]
            for b in h
        ]
    )
    axis = np.arange(-reach, reach + step / 2, step)
    z = np.array(list(itertools.product(axis, repeat=dim)))
    points = mode + z @ np.linalg.cholesky(np.linalg.inv(hessian)).T
    log_mass = density(points)
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    assert mass[np.abs(z).max(axis=1) > reach - step / 2].sum() < 1e-6
    kept = mass > 1e-9
    return points[kept], mass[kept] / mass[kept].sum()


def _count_pmf(p: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Law of the number of positives at each point, from its characteristic function."""
    n = int(count.sum())
    turn = np.exp(-2j * np.pi * np.arange(n // 2 + 1 + n % 2) / (n + 1)) - 1
    found = np.zeros((len(p), len(turn)), dtype=complex)
    for k, m in enumerate(count):
        found += m * np.log(1 + p[:, k, None] * turn)
    return np.fft.irfft(np.exp(found), n=n + 1, axis=1)


def _laws(
    evaluation: EvaluationSet,
    *,
    kind: str = "platt",
    delta_sd: float | None = None,
    audited: np.ndarray | None = None,
    intercept_sd: float = 1.5,
    step: float = 0.5,
    reach: float = 8.0,
) -> tuple[dict[str, DiscreteLaw], np.ndarray]:
    """Mixtures of exact laws over the grid, and the mean of the coefficients."""
    tilt = {} if delta_sd is None else {"sd": delta_sd, "audited": audited}
    dim = (2 if kind == "platt" else 3) + bool(tilt)
    points, mass = _grid(
        lambda theta: _log_posterior(theta, evaluation, kind, tilt, intercept_sd), dim, step, reach
    )
    y = evaluation.y_true
    if audited is not None:
        y = np.where(np.isnan(y), audited, y)
    pmf, cells = [], []
    for side in (1, 0):
        rows = evaluation.y_pred == side
        score, count = np.unique(evaluation.y_score[rows & np.isnan(y)], return_counts=True)
        odds = _odds(points, score, kind) + (points[:, -1:] if tilt else 0.0)
        pmf.append(_count_pmf(expit(odds), count))
        cells.append([(y[rows] == 1).sum(), (y[rows] == 0).sum()])
    joint = (mass[:, None] * pmf[0]).T @ pmf[1]
    u, v = np.indices(joint.shape)
    table = (
        cells[0][0] + u,
        cells[0][1] + joint.shape[0] - 1 - u,
        cells[1][0] + v,
        cells[1][1] + joint.shape[1] - 1 - v,
    )
    laws = {}
    for name in METRICS:
        support, place = np.unique(COUNT_METRICS[name](*table).round(12), return_inverse=True)
        law = np.bincount(place.ravel(), weights=np.maximum(joint, 0).ravel())
        laws[name] = DiscreteLaw(support, law / law.sum())
    return laws, mass @ points


def _compare(posterior: Posterior, laws: dict, agree) -> dict:
    return {name: agree(posterior.dataset[name].values, laws[name]) for name in METRICS}


@pytest.fixture(scope="module")
def platt(evaluation) -> Posterior:
    return sample(build_calibration(evaluation), rng=21)


@pytest.fixture(scope="module")
def tilted(evaluation) -> Posterior:
    return sample(build_calibration(evaluation, delta_sd=DELTA_SD), rng=23)


@pytest.fixture(scope="module")
def checked(evaluation, audited) -> Posterior:
    label_model = build_calibration(evaluation, delta_sd=DELTA_SD, audited=audited)
    return sample(label_model, rng=24)


def test_platt_agrees_with_quadrature(evaluation, platt, agree, mean_z) -> None:
    assert platt.diagnostics.ok, platt.diagnostics
    laws, mean = _laws(evaluation)
    found = _compare(platt, laws, agree)
    assert all(agreement.ok for agreement in found.values()), found
    assert mean_z(platt.dataset["intercept"].values, mean[0]) < 4
    assert mean_z(np.log(platt.dataset["slope"].values), mean[1]) < 4


def test_planted_errors_disagree(evaluation, platt, agree, mean_z) -> None:
    laws, _ = _laws(evaluation)
    draws, label_model = platt.dataset, platt.label_model
    noiseless = label_model.complete(draws, target="rate", rng=0)["f1"].values
    assert not agree(noiseless, laws["f1"]).ok, "label noise forgotten"
    known = draws.copy(deep=True)
    for name in ("intercept", "slope"):
        known[name] = known[name].mean() + 0 * known[name]
    assert not agree(label_model.complete(known, rng=0)["f1"].values, laws["f1"]).ok, "known curve"
    other, mean = _laws(evaluation, intercept_sd=0.3)
    assert mean_z(draws["intercept"].values, mean[0]) > 4.5, "wrong prior scale"
    assert not all(agreement.ok for agreement in _compare(platt, other, agree).values())


def test_beta_agrees_with_quadrature(evaluation, agree, mean_z) -> None:
    posterior = sample(build_calibration(evaluation, kind="beta"), rng=22)
    assert posterior.diagnostics.ok, posterior.diagnostics
    laws, mean = _laws(evaluation, kind="beta")
    found = _compare(posterior, laws, agree)
    assert all(agreement.ok for agreement in found.values()), found
    for place, name in enumerate(("slope_low", "slope_high"), start=1):
        assert mean_z(np.log(posterior.dataset[name].values), mean[place]) < 4
        # Mixed up, the two slopes do not agree.
        assert mean_z(np.log(posterior.dataset[name].values), mean[3 - place]) > 4.5


def test_the_tilt_agrees_with_quadrature(evaluation, tilted, agree) -> None:
    assert tilted.diagnostics.ok, tilted.diagnostics
    laws, _ = _laws(evaluation, delta_sd=DELTA_SD)
    found = _compare(tilted, laws, agree)
    assert all(agreement.ok for agreement in found.values()), found


def test_a_forgotten_tilt_and_another_one_disagree(evaluation, tilted, platt, agree) -> None:
    laws, _ = _laws(evaluation, delta_sd=DELTA_SD)
    assert not all(agreement.ok for agreement in _compare(platt, laws, agree).values())
    wide, _ = _laws(evaluation, delta_sd=2 * DELTA_SD)
    assert not all(agreement.ok for agreement in _compare(tilted, wide, agree).values())


def test_the_tilt_is_mostly_the_prior_and_says_so(tilted) -> None:
    frame = tilted.contraction()
    assert frame.index.tolist() == ["intercept", "slope", "delta"]
    assert frame.loc["delta", "prior_sd"] == DELTA_SD
    assert abs(frame.loc["delta", "contraction"]) < 0.15
    assert frame.loc["delta", "sentence"].endswith("This number is mostly the prior.")
    assert frame.loc["intercept", "contraction"] > 0.9
    estimates = tilted.estimates()
    assert estimates.statement == "sensitivity"
    notes = estimates.notes
    assert not any("credible" in note for note in notes)
    assert any("by a factor between 0.38 and 2.66 (95%)" in note for note in notes)
    assert any("it is a statement of belief" in note for note in notes)
    assert any("audit of 100 missing rows would shrink" in note for note in notes)


def test_an_audit_agrees_with_quadrature(evaluation, audited, checked, agree, mean_z) -> None:
    assert checked.diagnostics.ok, checked.diagnostics
    laws, mean = _laws(evaluation, delta_sd=DELTA_SD, audited=audited)
    found = _compare(checked, laws, agree)
    assert all(agreement.ok for agreement in found.values()), found
    assert mean_z(checked.dataset["delta"].values, mean[-1]) < 4
    assert mean[-1] > 0.2
    assert checked.contraction().loc["delta", "contraction"] > 0.3
    assert checked.estimates().statement == "credible"
    assert checked.container.attrs["n_labeled"] == 100 + 40
    assert checked.container.attrs["n_unlabeled"] == 150 - 40


def test_an_audit_that_is_ignored_or_taken_for_labels_disagrees(
    evaluation, audited, checked, agree, mean_z
) -> None:
    _, mean = _laws(evaluation, delta_sd=DELTA_SD)
    assert mean_z(checked.dataset["delta"].values, mean[-1]) > 4.5
    y_true = np.where(np.isnan(audited), evaluation.y_true, audited)
    labels, _ = _laws(EvaluationSet(y_true, evaluation.y_score))
    assert not all(agreement.ok for agreement in _compare(checked, labels, agree).values())


def test_the_audit_shrinks_the_tilt_by_about_what_the_note_said(evaluation, checked) -> None:
    labeled = evaluation.is_labeled
    terms = platt_terms(evaluation)
    cells = count_rows(terms.values, evaluation, labeled, parts=PARTS)
    intercept, slope = fit_quickly(cells)
    assert intercept == pytest.approx(-0.5, abs=0.6)
    assert slope == pytest.approx(0.8, abs=0.4)
    p = expit(intercept + slope * terms.values[~labeled, 0])
    expected = (1 / DELTA_SD**2 + 40 * (p * (1 - p)).mean()) ** -0.5
    assert checked.contraction().loc["delta", "posterior_sd"] == pytest.approx(expected, rel=0.25)


def test_the_exact_mixture_agrees_with_quadrature(evaluation, platt, monkeypatch) -> None:
    monkeypatch.setattr("labelbayes.bayes.posterior.MOST_EXACT_DRAWS", 400)
    laws, _ = _laws(evaluation)
    mixed = platt.estimates(exact=True)["f1"]
    assert mixed.mean == pytest.approx(laws["f1"].mean, abs=0.15 * laws["f1"].sd)
    assert mixed.sd == pytest.approx(laws["f1"].sd, rel=0.1)


def _coefficients(n_draws: int, **more: np.ndarray) -> xr.Dataset:
    rng = np.random.default_rng(0)
    columns = {
        "intercept": rng.normal(-0.5, 0.1, n_draws),
        "slope": np.exp(rng.normal(0, 0.1, n_draws)),
    }
    columns |= more
    return xr.Dataset({name: (("chain", "draw"), values[None]) for name, values in columns.items()})


def test_a_draw_completes_labels_at_its_tilted_rates(evaluation) -> None:
    draws = _coefficients(4, delta=np.array([0.0, 2.0, 20.0, -60.0]))
    label_model = build_calibration(evaluation, delta_sd=1.0)
    accuracy = label_model.complete(draws, target="rate")["accuracy"].values[0]
    missing, counts = ~evaluation.is_labeled, evaluation.counts
    for i in range(4):
        part = {name: float(values[0, i]) for name, values in draws.items()}
        odds = part["intercept"] + part["slope"] * logit(evaluation.y_score[missing])
        p = expit(odds + part["delta"])
        right = np.where(evaluation.y_pred[missing] == 1, p, 1 - p).sum()
        assert accuracy[i] == pytest.approx((counts.tp + counts.tn + right) / evaluation.n)


def test_prior_variances_are_those_of_the_prior() -> None:
    raw = EvaluationSet([0, 1, None], [-3.0, 2.0, 40.0], threshold=0.0)
    for evaluation, kind in ((_rounded(50), "platt"), (_rounded(50), "beta"), (raw, "platt")):
        label_model = build_calibration(evaluation, kind=kind, delta_sd=0.7)
        names = list(label_model.prior_var)
        with quiet():
            drawn = pm.draw([label_model.model[name] for name in names], 20_000, random_seed=1)
        for name, values in zip(names, drawn, strict=True):
            expected = label_model.prior_var[name]
            assert values.var() == pytest.approx(expected, rel=0.3 if "slope" in name else 0.06)


def test_labels_of_one_class_and_of_one_decision_are_noted() -> None:
    one = build_calibration(EvaluationSet([1, 1, None, None], [0.9, 0.8, 0.7, 0.1]), delta_sd=1)
    assert one.notes[0].startswith("Every label is positive")
    assert one.notes[1].startswith("No row predicted negative is labeled")
    assert "audit of 2 missing rows" in one.notes[3]
    complete = build_calibration(EvaluationSet([1, 0], [0.9, 0.8]), delta_sd=1)
    assert len(complete.notes) == 1
    metrics = complete.complete(_coefficients(3, delta=np.zeros(3)), rng=0)
    assert (metrics["accuracy"] == 0.5).all()


@pytest.mark.filterwarnings("ignore::labelbayes.bayes.convergence.SamplingWarning")
def test_a_seed_gives_the_same_draws(tilted) -> None:
    options = {"draws": 30, "tune": 50, "chains": 2}
    first, second = (sample(tilted.label_model, rng=7, **options).dataset for _ in range(2))
    assert first.equals(second)


def test_faults_are_named(evaluation, audited) -> None:
    def fault(kind=ValueError, data=evaluation, **options) -> str:
        with pytest.raises(kind) as caught:
            build_calibration(data, **options)
        return str(caught.value)

    assert fault(TypeError, [0, 1]) == "`evaluation` must be an EvaluationSet; got list."
    assert fault(kind=ValueError, data=EvaluationSet([1, None], y_pred=[1, 0])) == (
        "`evaluation` must have scores to calibrate; it holds decisions alone. Use `build_bins`, "
        "where the decision stands for the score."
    )
    assert "must hold labeled rows to learn rates from; got none" in fault(
        data=EvaluationSet([None, None], [0.2, 0.8])
    )
    assert fault(delta_sd=0) == "`delta_sd` must be positive; got 0. None stands for no tilt."
    assert "`delta_sd` must be a number; got str" in fault(TypeError, delta_sd="wide")
    assert fault(audited=audited).startswith(
        "`audited` informs the tilt and needs `delta_sd`; got None."
    )
    short = "`audited` must hold a label or nan per row, shape (250,); got (3,)."
    assert fault(delta_sd=1, audited=[1, 0, None]) == short
    wrong = audited.copy()
    wrong[np.flatnonzero(~np.isnan(audited))[1]] = 0.5
    assert "must hold 1 (positive), 0 (negative) or nan; got 0.5 at row" in fault(
        delta_sd=1, audited=wrong
    )
    assert "got none. Leave it out." in fault(delta_sd=1, audited=np.full(250, np.nan))
    row = int(np.flatnonzero(evaluation.is_labeled)[0])
    wrong = audited.copy()
    wrong[row] = 1.0
    assert fault(delta_sd=1, audited=wrong) == (
        f"`audited` must be nan on labeled rows; got 1 at row {row} (1 such rows). An audit is of "
        "missing rows."
    )


def test_faults_of_the_kind_are_named(evaluation) -> None:
    with pytest.raises(ValueError, match="`kind` must be one of 'platt', 'beta'; got 'isotonic'"):
        build_calibration(evaluation, kind="isotonic")
    with pytest.raises(ValueError, match=r"needs scores in \[0, 1\]; got 1.5 at row 1 \(1 such"):
        build_calibration(EvaluationSet([1, 0, None], [0.2, 1.5, 0.3]), kind="beta")
