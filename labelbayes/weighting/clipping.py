"""How an estimate depends on the largest weight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from labelbayes._checks import CI_PROB, check_real, check_type
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.metrics.registry import Metric
from labelbayes.results.estimates import Estimates
from labelbayes.results.sentences import Target
from labelbayes.weighting.aipw import estimate_aipw
from labelbayes.weighting.ipw import estimate_ipw
from labelbayes.weighting.outcome import Outcome
from labelbayes.weighting.propensity import Propensity, read_propensity


def clip_curve(
    evaluation: EvaluationSet,
    propensity: Propensity | npt.ArrayLike,
    metric: str | Metric,
    *,
    outcome: Outcome | npt.ArrayLike | None = None,
    caps: Sequence[float] | None = None,
    target: Target = "population",
) -> pd.DataFrame:
    """Return weighted estimates of one metric under several largest weights.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels, decisions and scores.
    propensity : Propensity or array_like of float, shape (n_rows,)
        P(labeled) of each row.
    metric : str, CountMetric or RankingMetric
        What is estimated.
    outcome : Outcome or array_like of float, shape (n_rows,), optional
        P(y = 1) of each row; with it there is AIPW too.
    caps : sequence of float >= 1, optional
        Largest weights. None stands for twelve, evenly spaced in logs from the median weight to
        the largest.
    target : {"sample", "population"}, default "population"
        What is estimated.

    Returns
    -------
    DataFrame
        A row per estimator and cap: estimator, cap, metric, mean, sd, low, high, ci_prob,
        n_clipped, clipped_share (of all weight), ess.

    Raises
    ------
    ValueError
        If a labeled row has propensity 0, nothing is labeled, a cap is below 1, or there is none.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    check_weights : Which weights there are.

    Notes
    -----
    An estimate that moves with the cap rests on a few heavy rows; no cap makes it right, it only
    trades noise for bias. AIPW moves less where its outcome model is right.

    References
    ----------
    .. [1] S. R. Cole and M. A. Hernan, "Constructing inverse probability weights for marginal
       structural models", American Journal of Epidemiology 168(6), 656-664, 2008.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, 1], [0.9, 0.2, 0.8, 0.4])
    >>> found = clip_curve(evaluation, [1.0, 0.5, 0.5, 0.25], "accuracy", caps=[1, 2, 4])
    >>> found.loc[found["estimator"] == "Hajek", "n_clipped"].tolist()
    [2, 1, 0]
    """
    check_type("evaluation", evaluation, EvaluationSet)
    p = read_propensity(propensity, evaluation.n_rows).p
    seen = evaluation.is_labeled & (p > 0)
    weight, count = 1 / p[seen], evaluation.count[seen]
    if caps is not None:
        caps = _read_caps(caps)
    elif not seen.any():
        raise ValueError("`evaluation` must have labels to weight; it has none.")
    else:
        middle, largest = np.median(weight), weight.max()
        caps = [float(cap) for cap in np.unique(np.geomspace(middle, largest, 12))]
    lines: list[dict[str, Any]] = []
    for cap in caps:
        found: dict[str, Estimates] = {
            "Horvitz-Thompson": estimate_ipw(
                evaluation,
                propensity,
                method="horvitz_thompson",
                target=target,
                clip=cap,
                metrics=[metric],
            ),
            "Hajek": estimate_ipw(
                evaluation, propensity, target=target, clip=cap, metrics=[metric]
            ),
        }
        if outcome is not None:
            found["AIPW"] = estimate_aipw(
                evaluation, propensity, outcome, target=target, clip=cap, metrics=[metric]
            )
        cut = weight > cap
        for name, result in found.items():
            ((label, row),) = result.records(CI_PROB).items()
            lines.append(
                {"estimator": name, "cap": cap, "metric": label}
                | {key: row[key] for key in ("mean", "sd", "low", "high", "ci_prob")}
                | {
                    "n_clipped": int(count[cut].sum()),
                    "clipped_share": float(count[cut] @ (weight[cut] - cap) / (count @ weight)),
                    "ess": result.ess,
                }
            )
    return pd.DataFrame(lines)


def _read_caps(caps: Sequence[float]) -> list[float]:
    if isinstance(caps, str) or not isinstance(caps, Iterable):
        raise TypeError(f"`caps` must be a list of numbers; got {caps!r}. Write it in brackets.")
    found = [check_real("caps", cap) for cap in caps]
    if not found or min(found) < 1:
        shown = min(found) if found else "an empty list"
        raise ValueError(
            f"`caps` must hold weights of at least 1, that of a row that is always labeled; got "
            f"{shown}. Leave it out for twelve of them."
        )
    return found
