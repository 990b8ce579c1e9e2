"""Bootstrap with refitted nuisance models: the check on errors that take them as known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from labelbayes._checks import (
    CI_PROB,
    FloatArray,
    IntArray,
    check_choice,
    check_type,
    check_whole,
    make_rng,
)
from labelbayes._progress import track
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.features import read_features
from labelbayes.metrics.registry import Metric, resolve_metrics
from labelbayes.weighting.aipw import fit_aipw
from labelbayes.weighting.cross_fitting import cross_fit, read_clusters
from labelbayes.weighting.ipw import fit_ipw
from labelbayes.weighting.outcome import Outcome
from labelbayes.weighting.propensity import Propensity, check_propensities
from labelbayes.weighting.rows import read_rows
from labelbayes.weighting.weighted import WeightedFit

_METHODS = ("aipw", "hajek", "horvitz_thompson")


def bootstrap_errors(
    X: Any,
    evaluation: EvaluationSet,
    *,
    method: str = "aipw",
    propensity: npt.ArrayLike | None = None,
    propensity_model: Any = None,
    outcome_model: Any = None,
    n_folds: int = 5,
    clusters: npt.ArrayLike | None = None,
    metrics: Sequence[str | Metric] | None = None,
    n_resamples: int = 200,
    rng: np.random.Generator | int | None = None,
) -> pd.DataFrame:
    """Compare influence-function errors with those of a bootstrap that refits everything.

    Parameters
    ----------
    X : DataFrame or array_like, shape (n_rows, k)
        Features of both nuisance models.
    evaluation : EvaluationSet
        Rows, each once (no multiplicities).
    method : {"aipw", "hajek", "horvitz_thompson"}, default "aipw"
        The estimator.
    propensity : array_like of float, shape (n_rows,), optional
        P(labeled) where it is known by design: it is then not refitted.
    propensity_model, outcome_model : scikit-learn classifier, optional
        As for `fit_propensity` and `fit_outcome`.
    n_folds : int >= 1, default 5
        Folds of each refit; copies of a row share a fold.
    clusters : array_like, shape (n_rows,), optional
        What is resampled as a whole; None resamples rows.
    metrics : sequence of str, CountMetric or RankingMetric, optional
        None stands for accuracy, precision, recall, f1 and, with scores, roc_auc and
        average_precision.
    n_resamples : int >= 2, default 200
        Resamples.
    rng : numpy.random.Generator, int, optional
        Folds and resamples.

    Returns
    -------
    DataFrame
        Index ``metric``; mean, influence_sd, bootstrap_sd, ratio (influence over bootstrap), low
        and high (percentiles), ci_prob, n_resamples (those that can be fitted, and in which the
        metric is defined).

    Raises
    ------
    ValueError
        If a row has a count above 1, or an option is none of those above.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    estimate_aipw : The error that is checked.

    Notes
    -----
    **Assumes** that rows, or clusters, are independent. The target is the population. A ratio
    above 1 is expected for weighting with a fitted propensity: taking it as known overstates the
    error.

    References
    ----------
    .. [1] B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap, 1993.

    Examples
    --------
    >>> from labelbayes.data.simulate_selection import simulate_selection
    >>> made = simulate_selection(300, floor=0.3, rng=0)
    >>> found = bootstrap_errors(
    ...     made.features, made.evaluation, metrics=["accuracy"], n_resamples=20, rng=0
    ... )
    >>> bool(0.5 < found.loc["accuracy", "ratio"] < 2)
    True
    """
    check_type("evaluation", evaluation, EvaluationSet)
    check_choice("method", method, _METHODS)
    if evaluation.n != evaluation.n_rows:
        raise ValueError(
            "`evaluation` must hold each row once to be resampled; its largest count is "
            f"{int(evaluation.count.max())}. Repeat such rows."
        )
    asked = resolve_metrics(metrics, has_score=evaluation.y_score is not None)
    size = check_whole("n_resamples", n_resamples, least=2)
    matrix = read_features(X, evaluation.n_rows, argument="X", stem="x").encoded
    known = None if propensity is None else check_propensities(propensity, evaluation.n_rows)
    codes = read_clusters(clusters, evaluation.n_rows)
    generator = make_rng(rng)

    def fit(rows: IntArray) -> WeightedFit:
        return _refit(
            rows,
            matrix,
            evaluation,
            method,
            None if known is None else known[rows],
            (propensity_model, outcome_model),
            n_folds,
            codes,
            asked,
            generator,
        )

    everything = np.arange(evaluation.n_rows)
    first = fit(everything)
    errors = first.errors("population")
    units = everything if codes is None else codes
    n_units = int(units.max()) + 1
    if n_units < 2:
        raise ValueError(
            f"`{'evaluation' if codes is None else 'clusters'}` must have at least two "
            f"{'rows' if codes is None else 'clusters'} to resample; got one."
        )
    members = np.split(np.argsort(units, kind="stable"), np.cumsum(np.bincount(units))[:-1])
    draws: dict[str, list[float]] = {metric.name: [] for metric in asked}
    for _ in track(range(size), label="resamples"):
        picked = generator.integers(0, n_units, n_units)
        try:
            again = fit(np.concatenate([members[unit] for unit in picked])).scored
        except ValueError:
            # All rows could be fitted: these few have no label, or one that a fold gave no chance.
            continue
        for name, scored in again.items():
            draws[name].append(scored.value)
    return _table(first, errors, {name: np.array(values) for name, values in draws.items()})


def _refit(
    rows: IntArray,
    matrix: FloatArray,
    evaluation: EvaluationSet,
    method: str,
    known: FloatArray | None,
    models: tuple[Any, Any],
    n_folds: int,
    clusters: IntArray | None,
    metrics: Sequence[Metric],
    generator: np.random.Generator,
) -> WeightedFit:
    """Fit both nuisance models and the estimator on some rows, each perhaps several times."""
    taken = evaluation._take(rows)
    X = matrix[rows]

    def predict(target: FloatArray, model: Any) -> FloatArray:
        return cross_fit(
            X,
            taken,
            target,
            model=model,
            n_folds=n_folds,
            time=None,
            rng=generator,
            units=np.unique(rows, return_inverse=True)[1],
        )

    p = predict(taken.is_labeled.astype(np.float64), models[0]) if known is None else known
    weighted = read_rows(
        taken.is_labeled,
        None,
        Propensity(p, "refitted"),
        clip=None,
        clusters=None if clusters is None else clusters[rows],
        time=None,
        target="population",
    )
    if method == "aipw":
        outcome = Outcome(predict(taken.y_true, models[1]), "refitted")
        return fit_aipw(taken, weighted, outcome, metrics, odds_ratio=1.0, target="population")
    return fit_ipw(
        taken,
        weighted,
        metrics,
        method="hajek" if method == "hajek" else "horvitz_thompson",
        target="population",
    )


def _table(
    first: WeightedFit, errors: dict[str, float], draws: dict[str, FloatArray]
) -> pd.DataFrame:
    lines = {}
    for name, values in draws.items():
        defined = values[~np.isnan(values)]
        sd = float(defined.std(ddof=1)) if len(defined) > 1 else np.nan
        tails = [(1 - CI_PROB) / 2, (1 + CI_PROB) / 2]
        low, high = np.quantile(defined, tails) if len(defined) else (np.nan, np.nan)
        lines[name] = {
            "mean": first.scored[name].value,
            "influence_sd": errors[name],
            "bootstrap_sd": sd,
            "ratio": errors[name] / sd if sd > 0 else np.nan,
            "low": float(low),
            "high": float(high),
            "ci_prob": CI_PROB,
            "n_resamples": len(defined),
        }
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("metric")
