"""Point values of metrics where known rows rank exactly as the latent ones do."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from labelbayes._checks import FloatArray
from labelbayes.bounds.count_bounds import complete
from labelbayes.bounds.path_areas import roc_area
from labelbayes.bounds.path_extremes import Reference
from labelbayes.bounds.score_blocks import ScoreBlocks
from labelbayes.data.evaluation_set import Counts
from labelbayes.metrics.confusion import COUNT_METRICS, CountMetric
from labelbayes.metrics.registry import METRICS

#: Count metrics that get a point value.
POINT_METRICS = ("accuracy", "precision", "recall", "f1", "specificity")


def scar_counts(
    known: Counts, beta: float, *, reference: Reference = "positive"
) -> tuple[float, float, str]:
    """Return latent positives above and below a cutoff at the known rows' rate.

    Parameters
    ----------
    known : Counts
        Labeled and unlabeled rows by decision.
    beta : float
        Share of positives among unlabeled rows.
    reference : {"positive", "negative"}, default "positive"
        Whose known rows are a random sample.

    Returns
    -------
    tuple of float, float and str
        beta T u and beta (1 - T) u for u unlabeled rows and recall T of the known positives,
        or what latent negatives at the known negatives' rate leave; never rounded or clipped;
        and a sentence where there are more than rows, else "".

    Examples
    --------
    >>> scar_counts(Counts(8, 0, 2, 0, 30, 70), 0.5)
    (40.0, 10.0, 'SCAR with beta = 0.5 puts 40.0 positives among the 30 unlabeled rows predicted \
positive: the data contradict it.')
    """
    is_positive = reference == "positive"
    above, below = (known.tp, known.fn) if is_positive else (known.fp, known.tn)
    n_known = above + below
    if not n_known:
        return math.nan, math.nan, f"There is no known {reference}, so SCAR gives no value."
    latent = (beta if is_positive else 1 - beta) * known.n_unlabeled
    counts = latent * above / n_known, latent * below / n_known
    rows = known.unlabeled_predicted_positive, known.unlabeled_predicted_negative
    said = ""
    for count, n_rows, side in zip(counts, rows, ("positive", "negative"), strict=True):
        if count > n_rows * (1 + 1e-12) and not said:
            said = (
                f"SCAR with beta = {beta:g} puts {count:,.1f} {reference}s among the {n_rows:,} "
                f"unlabeled rows predicted {side}: the data contradict it."
            )
    if not is_positive:
        counts = rows[0] - counts[0], rows[1] - counts[1]
    return *counts, said


def scar_values(
    metrics: Sequence[CountMetric],
    known: Counts,
    beta: float,
    *,
    reference: Reference = "positive",
) -> tuple[dict[str, float], str]:
    """Return count metrics with latent rows at the known rows' rate.

    Parameters
    ----------
    metrics : sequence of CountMetric
        What is asked for.
    known : Counts
        Labeled and unlabeled rows by decision.
    beta : float
        Share of positives among unlabeled rows.
    reference : {"positive", "negative"}, default "positive"
        Whose known rows are a random sample.

    Returns
    -------
    tuple of dict and str
        A value per metric, which may leave its range; and why it does, or "".

    Notes
    -----
    **Assumes** SCAR without sampling error. For unlabeled rows alone precision is beta T / F and
    the false positive rate (F - beta T) / (1 - beta), with F the share predicted positive.
    """
    u, v, reason = scar_counts(known, beta, reference=reference)
    tables = complete(known, np.array(u), np.array(v))
    return {metric.name: float(metric(*tables)) for metric in metrics}, reason


def _scar_path(blocks: ScoreBlocks, beta: float, reference: Reference) -> FloatArray | None:
    """Return all positives down to each block, with latent rows ranked as the known ones."""
    n = blocks.n_unlabeled
    if reference == "positive":
        known, n_known = blocks.known_positive, blocks.n_known_positive
        return np.asarray(known * ((n_known + beta * n) / n_known)) if n_known else None
    known, n_known = blocks.known_negative, blocks.n_known_negative
    if not n_known:
        return None
    latent_negative = known * ((1 - beta) * n / n_known)
    return np.asarray(blocks.known_positive + blocks.unlabeled - latent_negative)


def scar_roc_auc(blocks: ScoreBlocks, beta: float, *, reference: Reference = "positive") -> float:
    """Return the ROC area with latent rows ranked as the known ones.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    beta : float
        Share of positives among unlabeled rows.
    reference : {"positive", "negative"}, default "positive"
        Whose known rows are a random sample.

    Returns
    -------
    float
        Not clipped to [0, 1]; nan without such known rows, or where a class is empty.

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
    positive = _scar_path(blocks, beta, reference)
    if positive is None:
        return math.nan
    n_positive = blocks.n_known_positive + beta * blocks.n_unlabeled
    width = np.diff(blocks.rank)
    integral = float(width @ (positive[1:] + positive[:-1])) / 2
    return float(roc_area(integral, np.array(n_positive), int(blocks.rank[-1])))


def scar_average_precision(
    blocks: ScoreBlocks, beta: float, *, reference: Reference = "positive"
) -> float:
    """Return average precision with latent rows ranked as the known ones.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    beta : float
        Share of positives among unlabeled rows.
    reference : {"positive", "negative"}, default "positive"
        Whose known rows are a random sample.

    Returns
    -------
    float
        Not clipped to [0, 1]; nan without such known rows or without positives.

    Notes
    -----
    **Assumes** SCAR without sampling error. Precision counts where positives are gained: for
    known positives at their scores, for known negatives at every score.
    """
    positive = _scar_path(blocks, beta, reference)
    n_positive = blocks.n_known_positive + beta * blocks.n_unlabeled
    if positive is None or not n_positive:
        return math.nan
    gained = np.diff(positive)
    total = gained * positive[1:] / blocks.rank[1:]
    # A run holds no labeled row, so it gains nothing or is positive throughout.
    run = blocks.run[gained[blocks.run] > 0]
    if len(run):
        place = np.isin(blocks.run, run)
        start, stop = blocks.run_start[place], blocks.run_stop[place]
        wrong = blocks.rank[run] - positive[run]
        total[run] = gained[run] - wrong * (blocks.harmonic[stop] - blocks.harmonic[start])
    return float(total.sum() / n_positive)


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


def scar_points(
    blocks: ScoreBlocks, known: Counts, beta: float, *, reference: Reference = "positive"
) -> pd.DataFrame:
    """Return all point values, and why the data cannot have one.

    Parameters
    ----------
    blocks : ScoreBlocks
        The rows.
    known : Counts
        Labeled and unlabeled rows by decision.
    beta : float
        Share of positives among unlabeled rows; nan for none.
    reference : {"positive", "negative"}, default "positive"
        Whose known rows are a random sample.

    Returns
    -------
    pandas.DataFrame
        Index ``metric``; columns ``value`` and ``contradiction``.
    """
    metrics = tuple(COUNT_METRICS[name] for name in POINT_METRICS)
    if math.isnan(beta):
        values, reason = dict.fromkeys(POINT_METRICS, math.nan), ""
    else:
        values, reason = scar_values(metrics, known, beta, reference=reference)
    reasons = dict.fromkeys(values, reason)
    for name, value in (
        ("roc_auc", scar_roc_auc(blocks, beta, reference=reference)),
        ("average_precision", scar_average_precision(blocks, beta, reference=reference)),
    ):
        values[name] = value
        # Round-off of a sum over many rows is no contradiction.
        is_outside = value < -1e-9 or value > 1 + 1e-9
        is_without = math.isnan(value) and "no known" in reason
        reasons[name] = (
            f"SCAR with beta = {beta:g} puts {name} outside [0, 1]: the data contradict it."
            if is_outside
            else reason * is_without
        )
    for name, value in values.items():
        if math.isnan(value) and not math.isnan(beta) and not reasons[name]:
            reasons[name] = f"{name} is undefined: {METRICS[name].undefined_when}."
    frame = pd.DataFrame({"value": values, "contradiction": reasons})
    return frame.rename_axis("metric")
