"""Headroom: what no classifier can exceed, and how near to it a classifier is."""

from __future__ import annotations

from labelbayes._checks import CI_PROB, check_open_unit, check_type
from labelbayes.results.estimates import Bounds, Estimates
from labelbayes.results.interval import Interval

#: Metric of a classifier -> metric of the optimum that limits it.
LIMITS = {"accuracy": "error", "balanced_accuracy": "ber", "roc_auc": "roc_auc"}


def bound_headroom(optimum: Estimates, *, ci_prob: float = CI_PROB) -> Bounds:
    """Return what accuracy, balanced accuracy and AUC of any classifier are at most.

    Parameters
    ----------
    optimum : Estimates
        From `estimate_optimal`.
    ci_prob : float, default 0.95
        Probability with which each limit holds.

    Returns
    -------
    Bounds
        From 0 to the upper confidence limit of the optimistic end.

    Raises
    ------
    TypeError
        If `optimum` is no Estimates.
    ValueError
        If it is not from `estimate_optimal`, or `ci_prob` is not inside (0, 1).

    Notes
    -----
    **Assumes** what `estimate_optimal` does, and that soft labels know all that a classifier may
    use: one that sees more than the raters or the model behind the soft labels did can be better.
    The limit is one-sided, so it lies below the end of a two-sided interval of this probability.

    Examples
    --------
    >>> from labelbayes.optimal.estimate import estimate_optimal
    >>> optimum = estimate_optimal([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [0, 0, 1, 0, 1, 1])
    >>> print(bound_headroom(optimum)["accuracy"])
    [0.000, 0.973] (95% confidence)
    """
    check_type("optimum", optimum, Estimates)
    share = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
    if missing := [name for name in LIMITS.values() if name not in optimum]:
        raise ValueError(
            f"`optimum` must come from `estimate_optimal`; it lacks {', '.join(missing)}."
        )
    limits = {}
    for metric, best in LIMITS.items():
        law = optimum[best]
        high = law.quantile(share) if best == metric else 1.0 - law.quantile(1.0 - share)
        limits[metric] = Interval(0.0, float(high), share, "confidence")
    return Bounds(
        limits,
        method=f"optimum from soft labels, {optimum.method}",
        assumption=optimum.assumption,
        target="population",
        statement="confidence",
        n_labeled=optimum.n_labeled,
        n_unlabeled=optimum.n_unlabeled,
        notes=(
            (
                "No classifier is better than the optimum: this rung says what is at most "
                "possible, and nothing of the classifier at hand."
            ),
            *optimum.notes,
        ),
    )


def limit_of(optimum: Estimates, metric: str, ci_prob: float = CI_PROB) -> tuple[float, Interval]:
    """Return the most that a metric can be: the optimistic end and its interval.

    Parameters
    ----------
    optimum : Estimates
        From `estimate_optimal`.
    metric : {"accuracy", "balanced_accuracy", "roc_auc"}
        Metric of a classifier.
    ci_prob : float, default 0.95
        Probability content of the two-sided interval.

    Returns
    -------
    tuple of float and Interval
        In units of the metric.

    Raises
    ------
    ValueError
        If soft labels say nothing about the metric, as about F-scores.

    Examples
    --------
    >>> from labelbayes.optimal.estimate import estimate_optimal
    >>> optimum = estimate_optimal([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [0, 0, 1, 0, 1, 1])
    >>> round(limit_of(optimum, "accuracy")[0], 3)
    0.833
    """
    if metric not in LIMITS:
        raise ValueError(
            f"`metric` must be one of {', '.join(LIMITS)}; got {metric!r}. The optimum of F-scores "
            "and other ratios is no mean over items, so soft labels do not give it in this way."
        )
    law = optimum[LIMITS[metric]]
    span = law.interval(ci_prob)
    if LIMITS[metric] == metric:
        return law.mean, Interval(span.low, span.high, span.ci_prob, "confidence")
    return 1 - law.mean, Interval(1 - span.high, 1 - span.low, span.ci_prob, "confidence")


def describe_headroom(classifier: Estimates, optimum: Estimates, metric: str) -> str:
    """Return how near to the optimum a classifier is, in a sentence.

    Parameters
    ----------
    classifier : Estimates
        Metrics of the classifier.
    optimum : Estimates
        From `estimate_optimal`.
    metric : {"accuracy", "balanced_accuracy", "roc_auc"}
        Which metric.

    Returns
    -------
    str
        Both numbers, with their 95% intervals.

    Raises
    ------
    ValueError
        If soft labels say nothing about the metric, or the classifier lacks it.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.laws.labeled import estimate_labeled
    >>> from labelbayes.optimal.estimate import estimate_optimal
    >>> y_true = [0, 0, 1, 0, 1, 1]
    >>> optimum = estimate_optimal([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], y_true)
    >>> classifier = estimate_labeled(EvaluationSet(y_true, y_pred=[0, 0, 0, 0, 1, 1]))
    >>> describe_headroom(classifier, optimum, "accuracy")[:37]
    'accuracy 0.833 [0.833, 0.833] of at m'
    """
    most, span = limit_of(optimum, metric)
    if metric not in classifier:
        raise ValueError(f"`classifier` lacks {metric!r}; it has {', '.join(classifier)}.")
    own = classifier[metric]
    ends = own.interval(CI_PROB)
    return (
        f"{metric} {own.mean:.3f} [{ends.low:.3f}, {ends.high:.3f}] of at most {most:.3f} "
        f"[{span.low:.3f}, {span.high:.3f}] ({CI_PROB:.0%} intervals)"
    )
