"""The registry of metrics: what names stand for, and what is shown when nothing is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from labelbayes.metrics.confusion import COUNT_METRICS, CountMetric
from labelbayes.metrics.ranking import RANKING_METRICS, RankingMetric

Metric = CountMetric | RankingMetric

#: Every metric by name.
METRICS: dict[str, Metric] = {**COUNT_METRICS, **RANKING_METRICS}

#: What is shown when nothing is asked for; ranking metrics only where there is a score.
DEFAULT_METRICS = ("accuracy", "precision", "recall", "f1", "roc_auc", "average_precision")


def resolve_metrics(
    metrics: Sequence[str | Metric] | None, *, has_score: bool
) -> tuple[Metric, ...]:
    """Return the metrics that names or metric objects stand for.

    Parameters
    ----------
    metrics : sequence of str, CountMetric or RankingMetric, optional
        None stands for accuracy, precision, recall and f1, and where there is a score also for
        roc_auc and average_precision.
    has_score : bool
        Whether rows have a score, which ranking metrics need.

    Returns
    -------
    tuple of CountMetric or RankingMetric
        One per entry, in order.

    Raises
    ------
    ValueError
        If a name is unknown or given twice, there is none, or a ranking metric lacks a score.
    TypeError
        If an entry is neither a name nor a metric.

    Examples
    --------
    >>> from labelbayes.metrics.confusion import fbeta
    >>> [metric.name for metric in resolve_metrics(["recall", fbeta(0.5)], has_score=False)]
    ['recall', 'f0.5']
    >>> len(resolve_metrics(None, has_score=True))
    6
    """
    if metrics is None:
        known = [METRICS[name] for name in DEFAULT_METRICS]
        return tuple(m for m in known if has_score or isinstance(m, CountMetric))
    if isinstance(metrics, (str, CountMetric, RankingMetric)):
        raise TypeError(
            f"`metrics` must be a list of names; got {metrics!r} alone. Write it in brackets."
        )
    if not isinstance(metrics, Sequence):
        raise TypeError(f"`metrics` must be a list of names; got {type(metrics).__name__}.")
    resolved: dict[str, Metric] = {}
    for position, entry in enumerate(metrics):
        metric = _resolve_one(entry, position)
        if metric.name in resolved:
            raise ValueError(f"`metrics` must name each metric once; got {metric.name!r} twice.")
        if isinstance(metric, RankingMetric) and not has_score:
            raise ValueError(
                f"`metrics` must not name {metric.name!r} where rows have no score; got it at "
                f"position {position}. Pass `y_score`, or leave it out."
            )
        resolved[metric.name] = metric
    if not resolved:
        raise ValueError("`metrics` must name at least one metric; got an empty list.")
    return tuple(resolved.values())


def resolve_count_metrics(
    metrics: Sequence[str | Metric] | None, *, remedy: str = ""
) -> tuple[CountMetric, ...]:
    """Return the count metrics that names or metric objects stand for.

    Parameters
    ----------
    metrics : sequence of str or CountMetric, optional
        None stands for accuracy, precision, recall and f1.
    remedy : str, default ""
        What to do about a metric that ranks, as the end of the sentence that refuses it.

    Returns
    -------
    tuple of CountMetric
        One per entry, in order.

    Raises
    ------
    ValueError
        As `resolve_metrics`, and if a metric ranks.

    Examples
    --------
    >>> len(resolve_count_metrics(None))
    4
    """
    # A name that ranks is resolved too, to be refused for what it is.
    counts, ranks = split_metrics(resolve_metrics(metrics, has_score=metrics is not None))
    if ranks:
        said = f"`metrics` must be count metrics; got {ranks[0].name!r}. {remedy}"
        raise ValueError(said.strip())
    return counts


def _resolve_one(entry: object, position: int) -> Metric:
    if isinstance(entry, (CountMetric, RankingMetric)):
        return entry
    if not isinstance(entry, str):
        raise TypeError(
            f"`metrics` must hold names or metrics; got {entry!r} at position {position}."
        )
    if entry not in METRICS:
        known = ", ".join(METRICS)
        raise ValueError(
            f"`metrics` must hold known names; got {entry!r} at position {position}. "
            f"Known are {known}, and any `fbeta(beta)`."
        )
    return METRICS[entry]


def split_metrics(
    metrics: Sequence[Metric],
) -> tuple[tuple[CountMetric, ...], tuple[RankingMetric, ...]]:
    """Return the count metrics and the ranking metrics, each in order.

    Parameters
    ----------
    metrics : sequence of CountMetric or RankingMetric
        Resolved metrics.

    Returns
    -------
    tuple of tuple
        Count metrics, ranking metrics.

    Examples
    --------
    >>> counts, ranks = split_metrics(resolve_metrics(None, has_score=True))
    >>> len(counts), len(ranks)
    (4, 2)
    """
    counts = tuple(metric for metric in metrics if isinstance(metric, CountMetric))
    return counts, tuple(metric for metric in metrics if isinstance(metric, RankingMetric))
