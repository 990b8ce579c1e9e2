"""The rungs of the assumption ladder that rest on weights, in the form that the ladder calls."""

from __future__ import annotations

from typing import Any

from labelbayes.laws.rungs import RungInputs
from labelbayes.results.estimates import Estimates
from labelbayes.results.sentences import Target
from labelbayes.weighting.aipw import estimate_aipw
from labelbayes.weighting.ipw import IpwMethod, counted, estimate_ipw
from labelbayes.weighting.outcome import read_outcome
from labelbayes.weighting.outcome_model import fit_outcome_model
from labelbayes.weighting.rows import read_rows


def hajek(inputs: RungInputs) -> Estimates:
    """Return the estimates by weights over their sum.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given; it needs a propensity.

    Returns
    -------
    Estimates
        See `estimate_ipw`.
    """
    return _weighted(inputs, "hajek")


def horvitz_thompson(inputs: RungInputs) -> Estimates:
    """Return the estimates by weights over the number of rows.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given; it needs a propensity.

    Returns
    -------
    Estimates
        See `estimate_ipw`.
    """
    return _weighted(inputs, "horvitz_thompson")


def aipw(inputs: RungInputs) -> Estimates:
    """Return the doubly robust estimates.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given; it needs a propensity and an outcome model.

    Returns
    -------
    Estimates
        See `estimate_aipw`.
    """
    return estimate_aipw(
        inputs.evaluation,
        _given(inputs.propensity, "propensity"),
        _given(inputs.outcome, "outcome"),
        target=inputs.target,
        metrics=inputs.metrics,
    )


def outcome_model(inputs: RungInputs) -> Estimates:
    """Return the estimates by an outcome model in the place of all labels.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given; it needs an outcome model.

    Returns
    -------
    Estimates
        Its own uncertainty is not included, and `assumption` says so.
    """
    evaluation = inputs.evaluation
    model = read_outcome(_given(inputs.outcome, "outcome"), evaluation.n_rows)
    target: Target = inputs.target
    rows = read_rows(
        evaluation.is_labeled,
        counted(evaluation),
        [1.0] * evaluation.n_rows,
        clip=None,
        clusters=None,
        time=None,
        target=target,
    )
    fit = fit_outcome_model(evaluation, rows, model, inputs.metrics, target=target)
    return fit.estimates(target, evaluation.n_labeled, evaluation.n_unlabeled)


def _weighted(inputs: RungInputs, method: IpwMethod) -> Estimates:
    return estimate_ipw(
        inputs.evaluation,
        _given(inputs.propensity, "propensity"),
        method=method,
        target=inputs.target,
        metrics=inputs.metrics,
    )


def _given(value: Any, name: str) -> Any:
    if value is None:
        raise ValueError(f"no `{name}` was given")
    return value
