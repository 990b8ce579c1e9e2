"""Weighted estimates against a random audit of rows whose label was missing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtri

from labelbayes._checks import CI_PROB, check_type
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.metrics.confusion import fbeta
from labelbayes.metrics.registry import METRICS, Metric
from labelbayes.results.estimates import Estimates
from labelbayes.weighting.ipw import estimate_ipw


def compare_audit(
    evaluation: EvaluationSet, audited: npt.ArrayLike, results: Mapping[str, Estimates]
) -> pd.DataFrame:
    """Compare estimates with one that a random audit of missing labels gives, without a model.

    Parameters
    ----------
    evaluation : EvaluationSet
        The data that the estimates were made from.
    audited : array_like of float, shape (n_rows,)
        Labels, 0 or 1, of rows drawn at random among those without one; nan elsewhere.
    results : mapping of str to Estimates
        By name, all with one target.

    Returns
    -------
    DataFrame
        Index ``estimator`` and ``metric``; mean, audit, difference, sd (of the difference),
        errors (their ratio) and is_apart (beyond 95%).

    Raises
    ------
    ValueError
        If a label is audited that was never missing, none is, targets differ, or a result holds
        what is no metric of a classifier.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    estimate_ipw : With the audited labels filled in it is the estimate of the audit.

    Notes
    -----
    **Assumes** that the audited rows are a random draw of those without a label, and nothing
    else: labeled rows get weight 1, audited rows the number of missing rows over their own. The
    error of a difference takes the two as independent, which overstates it where both lean on
    the same labels. An estimate that is apart rests on a wrong assumption.

    References
    ----------
    .. [1] W. G. Cochran, Sampling Techniques, 3rd ed., 1977.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, None], y_pred=[1, 0, 1, 0])
    >>> naive = estimate_ipw(evaluation, [0.5] * 4, metrics=["accuracy"])
    >>> found = compare_audit(evaluation, [None, None, 0, None], {"naive": naive})
    >>> float(found.loc[("naive", "accuracy"), "audit"])
    0.5
    """
    check_type("evaluation", evaluation, EvaluationSet)
    check_type("results", results, Mapping)
    for name, result in results.items():
        check_type(f"results[{name!r}]", result, Estimates)
    targets = {result.target for result in results.values()}
    if len(targets) != 1:
        raise ValueError(
            f"`results` must hold estimates of one target; got {sorted(targets) or 'none'}."
        )
    # An audit has rules of its own for labels: those of any evaluation.
    labels = EvaluationSet(audited, y_pred=evaluation.y_pred).y_true
    if len(labels) != evaluation.n_rows:
        raise ValueError(
            f"`audited` must hold one entry per row, shape ({evaluation.n_rows},); got "
            f"({len(labels)},)."
        )
    is_audited = ~np.isnan(labels)
    twice = is_audited & evaluation.is_labeled
    if twice.any() or not is_audited.any():
        where = f"row {int(np.argmax(twice))} had a label before" if twice.any() else "none is"
        raise ValueError(
            f"`audited` must hold labels of rows that had none, and at least one; {where}."
        )
    count = evaluation.count
    share = count[is_audited].sum() / evaluation.n_unlabeled
    filled = evaluation._take(
        np.arange(evaluation.n_rows), y_true=np.where(is_audited, labels, evaluation.y_true)
    )
    metrics = list(dict.fromkeys(metric for result in results.values() for metric in result))
    audit = estimate_ipw(
        filled,
        np.where(evaluation.is_labeled, 1.0, share),
        target=targets.pop(),
        metrics=[_metric(name) for name in metrics],
    )
    lines = []
    for name, result in results.items():
        for metric, law in result.items():
            sd = float(np.hypot(law.sd, audit[metric].sd))
            gap = law.mean - audit[metric].mean
            lines.append((name, metric, law.mean, audit[metric].mean, gap, sd))
    frame = pd.DataFrame(
        lines, columns=["estimator", "metric", "mean", "audit", "difference", "sd"]
    ).set_index(["estimator", "metric"])
    frame["errors"] = frame["difference"] / frame["sd"]
    frame["is_apart"] = frame["errors"].abs() > float(ndtri((1 + CI_PROB) / 2))
    return frame


def _metric(name: str) -> Metric:
    if name in METRICS:
        return METRICS[name]
    try:
        return fbeta(float(name[1:]))
    except ValueError:
        raise ValueError(
            f"`results` must hold metrics of a classifier, which an audit of labels can give; got "
            f"{name!r}. Leave it out."
        ) from None
