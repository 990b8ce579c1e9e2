"""Point values of metrics where known positives rank exactly as the latent ones do."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from labelbayes.bounds.count_bounds import complete
from labelbayes.bounds.path_areas import roc_area
from labelbayes.bounds.score_blocks import ScoreBlocks
from labelbayes.data.evaluation_set import Counts
from labelbayes.metrics.confusion import COUNT_METRICS, CountMetric

#: Count metrics that get a point value.
POINT_METRICS = ("accuracy", "precision", "recall", "f1", "specificity")


def scar_counts(known: Counts, beta: float) -> tuple[float, float, str]:
    """Return latent positives above and below a cutoff at the known positives' rate.

    Parameters
    ----------
    known : Counts
        Labeled and unlabeled rows by decision.
    beta : float
        Share of positives among unlabeled rows.

    Returns
    -------
    tuple of float, float and str
        beta T u and beta (1 - T) u for u unlabeled rows and recall T of the known positives,
        never rounded or clipped; and a sentence where there are more than rows, else "".

    Examples
    --------
    >>> scar_counts(Counts(8, 0, 2, 0, 30, 70), 0.5)
    (40.0, 10.0, 'SCAR with beta = 0.5 puts 40.0 positives among the 30 unlabeled rows predicted \
positive: the data contradict it.')
    """
    n_known = known.tp + known.fn
    if not n_known:
        return math.nan, math.nan, "There is no known positive, so SCAR gives no value."
    latent = beta * known.n_unlabeled
    u, v = latent * known.tp / n_known, latent * known.fn / n_known
    for count, rows, side in (
        (u, known.unlabeled_predicted_positive, "positive"),
        (v, known.unlabeled_predicted_negative, "negative"),
    ):
        if count > rows * (1 + 1e-12):
            said = (
                f"SCAR with beta = {beta:g} puts {count:,.1f} positives among the {rows:,} "
                f"unlabeled rows predicted {side}: the data contradict it."
            )
            return u, v, said
    return u, v, ""


def scar_values(
    metrics: Sequence[CountMetric], known: Counts, beta: float
) -> tuple[dict[str, float], str]:
    """Return count metrics with latent positives at the known positives' rate.

    Parameters
    ----------
    metrics : sequence of CountMetric
        What is asked for.
    known : Counts
        Labeled and unlabeled rows by decision.
    beta : float
        Share of positives among unlabeled rows.

    Returns
    -------
    tuple of dict and str
        A value per metric, which may leave its range; and why it does, or "".

    Notes
    -----
    **Assumes** SCAR without sampling error. For unlabeled rows alone precision is beta T / F and
    the false positive rate (F - beta T) / (1 - beta), with F the share predicted positive.
    """
    u, v, reason = scar_counts(known, beta)
    tables = complete(known, np.array(u), np.array(v))
    return {metric.name: float(metric(*tables)) for metric in metrics}, reason


def scar_roc_auc(blocks: ScoreBlocks, beta: float) -> float:
    """Return the ROC area with latent positives ranked as the known ones.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    beta : float
        Share of positives among unlabeled rows.

    Returns
    -------
    float
        Not clipped to [0, 1]; nan without known positives or without negatives.

    Notes
    -----
    **Assumes** SCAR without sampling error. Without known negatives it is
    (AUC of known positives against unlabeled rows - beta / 2) / (1 - beta).

    References
    ----------
    .. [1] A. K. Menon, B. van Rooyen, C. S. Ong and R. C. Williamson, "Learning from corrupted
       binary labels via class-probability estimation", ICML 2015.
    .. [2] S. Jain, M. White and P. Radivojac, "Recovering true classifier performance in
       positive-unlabeled learning", AAAI 2017.

    Examples
    --------
    >>> from labelbayes.bounds.score_blocks import make_blocks
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> rows = EvaluationSet([1, 1, None, None, None, None], [0.9, 0.4, 0.8, 0.3, 0.2, 0.1])
    >>> round(scar_roc_auc(make_blocks(rows), 0.25), 6) == round((7 / 8 - 0.125) / 0.75, 6)
    True
    """
    if not blocks.n_known_positive:
        return math.nan
    n_positive = blocks.n_known_positive + beta * blocks.n_unlabeled
    positive = blocks.known_positive * (n_positive / blocks.n_known_positive)
    width = np.diff(blocks.rank)
    integral = float(width @ (positive[1:] + positive[:-1])) / 2
    return float(roc_area(integral, np.array(n_positive), int(blocks.rank[-1])))


def scar_average_precision(blocks: ScoreBlocks, beta: float) -> float:
    """Return average precision with latent positives ranked as the known ones.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    beta : float
        Share of positives among unlabeled rows.

    Returns
    -------
    float
        nan without known positives.

    Notes
    -----
    **Assumes** SCAR without sampling error. Precision counts at the scores of known positives.
    """
    if not blocks.n_known_positive:
        return math.nan
    n_positive = blocks.n_known_positive + beta * blocks.n_unlabeled
    share = blocks.known_positive / blocks.n_known_positive
    return float((np.diff(share) * share[1:] * n_positive / blocks.rank[1:]).sum())


def scar_slopes(known: Counts, beta: float) -> tuple[float, float]:
    """Return the derivatives of the false positive rate and of precision with respect to beta.

    Parameters
    ----------
    known : Counts
        Labeled and unlabeled rows by decision.
    beta : float
        Share of positives among unlabeled rows.

    Returns
    -------
    tuple of float
        Of the point values of `scar_values`; nan where these are undefined.

    Notes
    -----
    For unlabeled rows alone they are (F - T) / (1 - beta)^2 and T / F.

    References
    ----------
    .. [1] M. Claesen, J. Davis, F. De Smet and B. De Moor, "Assessing binary classifiers using
       only positive and unlabeled data", arXiv:1504.06837, appendix B, 2015.

    Examples
    --------
    >>> fpr, precision = scar_slopes(Counts(8, 0, 2, 0, 40, 60), 0.25)
    >>> round(fpr, 6), round(precision, 6)
    (-0.711111, 1.666667)
    """
    n_known = known.tp + known.fn
    if not n_known:
        return math.nan, math.nan
    rate, rows = known.tp / n_known, known.n_unlabeled
    above = known.unlabeled_predicted_positive
    wrong = known.fp + above - beta * rate * rows
    negatives = known.fp + known.tn + (1 - beta) * rows
    called = known.tp + known.fp + above
    fpr = rows * (wrong / negatives - rate) / negatives if negatives > 0 else math.nan
    return fpr, rate * rows / called if called else math.nan


def scar_points(blocks: ScoreBlocks, known: Counts, beta: float) -> pd.DataFrame:
    """Return all point values, and why the data cannot have one.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    known : Counts
        Labeled and unlabeled rows by decision.
    beta : float
        Share of positives among unlabeled rows; nan for none.

    Returns
    -------
    pandas.DataFrame
        Index ``metric``; columns ``value`` and ``contradiction``.
    """
    metrics = tuple(COUNT_METRICS[name] for name in POINT_METRICS)
    if math.isnan(beta):
        values, reason = dict.fromkeys(POINT_METRICS, math.nan), ""
    else:
        values, reason = scar_values(metrics, known, beta)
    reasons = dict.fromkeys(values, reason)
    for name, value in (
        ("roc_auc", scar_roc_auc(blocks, beta)),
        ("average_precision", scar_average_precision(blocks, beta)),
    ):
        values[name] = value
        is_outside = value < 0 or value > 1
        reasons[name] = (
            f"SCAR with beta = {beta:g} puts {name} outside [0, 1]: the data contradict it."
            if is_outside
            else ""
        )
    frame = pd.DataFrame({"value": values, "contradiction": reasons})
    return frame.rename_axis("metric")
