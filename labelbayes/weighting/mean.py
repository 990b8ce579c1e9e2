"""The mean of a loss or cost that was seen on some rows only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelbayes._checks import FloatArray, check_choice
from labelbayes.data.columns import as_column, as_reals
from labelbayes.results.estimates import Estimates
from labelbayes.results.sentences import TARGETS, Target
from labelbayes.weighting.propensity import Propensity
from labelbayes.weighting.rows import WeightedRows, effective_size, read_rows
from labelbayes.weighting.scores import Scored
from labelbayes.weighting.weighted import MetricRange, WeightedFit, features_text

#: Squares of larger numbers, and their weighted sums, overflow.
_LARGEST = 1e100
_METHODS = ("hajek", "horvitz_thompson")


def estimate_mean(
    values: npt.ArrayLike,
    propensity: Propensity | npt.ArrayLike,
    *,
    predicted: npt.ArrayLike | None = None,
    method: str = "hajek",
    target: Target = "population",
    clip: float | None = None,
    clusters: npt.ArrayLike | None = None,
    time: npt.ArrayLike | None = None,
) -> Estimates:
    """Estimate the mean of a loss, a cost or "correct or not" that some rows lack.

    Parameters
    ----------
    values : array_like of float, shape (n_rows,)
        The loss of each row, nan where it was not seen; any finite real number.
    propensity : Propensity or array_like of float, shape (n_rows,)
        P(seen) of each row, in (0, 1] where a value was seen: fitted, or known by design.
    predicted : array_like of float, shape (n_rows,), optional
        A model's prediction of every row's value, not fitted on that row: AIPW.
    method : {"hajek", "horvitz_thompson"}, default "hajek"
        Divide by the sum of the weights, or by the number of rows; without `predicted` only.
    target : {"sample", "population"}, default "population"
        The mean over rows drawn like these, or over these rows.
    clip : float >= 1, optional
        Largest weight.
    clusters : array_like, shape (n_rows,), optional
        Rows of one cluster may depend on each other.
    time : array_like, shape (n_rows,), optional
        Rows near in time may depend on each other: errors from moving blocks.

    Returns
    -------
    Estimates
        One law, ``mean``. Where every value seen is 0 or 1 it is a share, and its interval stays
        in [0, 1].

    Raises
    ------
    ValueError
        If a row that was seen has propensity 0, nothing was seen, shapes differ, or an option is
        none of those above.
    TypeError
        If a value is no number.

    See Also
    --------
    estimate_ipw : For metrics of a classifier.
    estimate_aipw : The same, with an outcome model.

    Notes
    -----
    **Assumes** that values are missing at random given what the propensity depends on, and that
    the propensity, or with `predicted` one of the two, is right. Shown in the notebook
    08_selective_labels.

    References
    ----------
    .. [1] J. M. Robins, A. Rotnitzky and L. P. Zhao, "Estimation of regression coefficients when
       some regressors are not always observed", Journal of the American Statistical Association
       89(427), 846-866, 1994.

    Examples
    --------
    >>> correct = [1] * 5 + [0] * 3 + [None] * 12 + [1] * 20 + [0] * 4 + [None] * 56
    >>> found = estimate_mean(correct, [0.5] * 20 + [0.25] * 80)
    >>> round(found["mean"].mean, 7), round(found.ess, 4)
    (0.8035714, 30.1538)
    """
    check_choice("method", method, _METHODS)
    check_choice("target", target, TARGETS)
    if predicted is not None and method != "hajek":
        raise ValueError(
            f"`method` must be left out where `predicted` makes it AIPW; got {method!r}."
        )
    numbers = _finite("values", values)
    seen = ~np.isnan(numbers)
    numbers[~seen] = 0.0
    rows = read_rows(seen, None, propensity, clip=clip, clusters=clusters, time=time, target=target)
    kept = rows.take(numbers)
    model = None
    if predicted is not None:
        model = _finite("predicted", predicted)
        if model.shape != numbers.shape or np.isnan(model).any():
            raise ValueError(
                f"`predicted` must hold one number per row, shape {numbers.shape}, none missing; "
                f"got shape {model.shape} with {int(np.isnan(model).sum())} missing."
            )
        model = rows.take(model)
    scored = score_mean(kept, rows, method=method, target=target, predicted=model)
    is_share = bool(np.isin(kept[rows.is_labeled], (0.0, 1.0)).all())
    given = features_text(rows.propensity.features)
    needs = "a correct propensity" if model is None else "a correct propensity or prediction"
    if model is not None:
        name = f"AIPW, denominator: the number of rows, {rows.n:,.0f}"
    elif method == "hajek":
        name = f"Hajek, denominator: the weights' sum, {rows.total_weight:,.6g}"
    else:
        name = f"Horvitz-Thompson, denominator: the number of rows, {rows.n:,.0f}"
    fit = WeightedFit(
        {"mean": scored},
        {"mean": MetricRange(*((0.0, 1.0) if is_share else (-np.inf, np.inf)), "")},
        rows,
        f"{name}; {rows.propensity.method}",
        given,
        needs,
        f"values missing at random given {given}; {needs.removeprefix('a correct ')} is right",
    )
    return fit.estimates(target, int(seen.sum()), int((~seen).sum()))


def _finite(name: str, values: npt.ArrayLike) -> FloatArray:
    numbers = as_reals(name, as_column(name, values)).astype(np.float64)
    bad = np.abs(numbers) > _LARGEST
    if bad.any():
        where = int(np.argmax(bad))
        is_infinite = np.isinf(numbers[where])
        rule = "be finite" if is_infinite else f"be at most {_LARGEST:g} in size, for squares"
        raise ValueError(f"`{name}` must {rule}; got {numbers[where]} at row {where}.")
    return numbers


def score_mean(
    values: FloatArray,
    rows: WeightedRows,
    *,
    method: str,
    target: Target,
    predicted: FloatArray | None = None,
) -> Scored:
    """Return a weighted mean and each row's influence on it.

    Parameters
    ----------
    values : ndarray of float, shape (n_kept,)
        Values; anything where the weight is 0.
    rows : WeightedRows
        Weights.
    method : {"hajek", "horvitz_thompson"}
        The denominator, without a prediction.
    target : {"sample", "population"}
        Whether the part that the draw of labels moves is needed.
    predicted : ndarray of float, shape (n_kept,), optional
        Predictions: AIPW.

    Returns
    -------
    Scored
        Estimate and influence.
    """
    weight, n = rows.weight, rows.n
    if predicted is not None:
        moved = weight * (values - predicted) / n
        by_row = predicted / n + moved
        value = rows.total(by_row)
        score = by_row - value / n
    elif method == "hajek":
        total = rows.total_weight
        value = rows.total(weight * values) / total
        moved = weight * (values - value) / total
        score = moved
    else:
        moved = weight * values / n
        value = rows.total(moved)
        score = moved - value / n
    return Scored(
        value, score, moved if target == "sample" else None, effective_size(weight, rows.count)
    )
