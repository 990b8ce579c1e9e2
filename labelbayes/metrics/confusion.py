"""Count metrics as functions of (tp, fp, fn, tn)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from labelbayes._checks import FloatArray, check_real

Coefficients = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class CountMetric:
    """A metric of the four cells of a confusion matrix.

    Every metric here is non-decreasing in the positives among predicted-positive rows and
    non-increasing in those among predicted-negative rows; the laws and bounds rest on that.

    Parameters
    ----------
    name : str
        scikit-learn's name for it.
    undefined_when : str
        When the metric is 0/0, as the end of "undefined when ...".
    value : callable
        ``value(tp, fp, fn, tn)``, nan where undefined.
    lowest, highest : float
        Range of the metric.
    """

    name: str
    undefined_when: str
    value: Callable[[Any, Any, Any, Any], Any]
    lowest: float = 0.0
    highest: float = 1.0

    def __call__(
        self, tp: npt.ArrayLike, fp: npt.ArrayLike, fn: npt.ArrayLike, tn: npt.ArrayLike
    ) -> FloatArray:
        """Return the metric of each table.

        Parameters
        ----------
        tp, fp, fn, tn : array_like of float >= 0, broadcastable
            Cells of the confusion matrices, in rows or in weight.

        Returns
        -------
        ndarray of float
            The metric, nan where undefined; shape of the broadcast cells.

        Examples
        --------
        >>> COUNT_METRICS["precision"](3, [1, 0], 0, 2)
        array([0.75, 1.  ])
        """
        cells = np.broadcast_arrays(*(np.asarray(cell, dtype=float) for cell in (tp, fp, fn, tn)))
        return np.asarray(self.value(*cells))

    def gradient(self, cells: Sequence[float]) -> FloatArray:
        """Return the derivative with respect to each cell, exact to round-off.

        Parameters
        ----------
        cells : sequence of float, length 4
            (tp, fp, fn, tn), where the metric is defined.

        Returns
        -------
        ndarray of float, shape (4,)
            Partial derivatives (complex-step differentiation, no subtraction).
        """
        step = 1e-30
        derivative = np.empty(4)
        for k in range(4):
            moved = [np.asarray(complex(cell)) for cell in cells]
            moved[k] = moved[k] + 1j * step
            derivative[k] = np.asarray(self.value(*moved)).imag / step
        return derivative


@dataclass(frozen=True, eq=False)
class RatioMetric(CountMetric):
    """A count metric that is one weighted sum of the cells over another.

    Parameters
    ----------
    numerator, denominator : tuple of float, length 4
        Weights of (tp, fp, fn, tn).
    """

    numerator: Coefficients = (0.0, 0.0, 0.0, 0.0)
    denominator: Coefficients = (0.0, 0.0, 0.0, 0.0)

    @property
    def has_fixed_denominator(self) -> bool:
        """Whether the denominator does not depend on labels, only on decisions."""
        tp, fp, fn, tn = self.denominator
        return tp == fp and fn == tn


def _divide(numerator: Any, denominator: Any) -> Any:
    """Divide, nan where the denominator is 0; works on complex arrays too."""
    defined = denominator != 0
    return np.where(defined, numerator, np.nan) / np.where(defined, denominator, 1.0)


def _weigh(weights: Coefficients, cells: tuple[Any, Any, Any, Any]) -> Any:
    """Weighted sum of the cells, without work for zero weights."""
    total: Any = 0.0
    for weight, cell in zip(weights, cells, strict=True):
        if weight:
            total = total + (cell if weight == 1.0 else weight * cell)
    return total


def _divide_sums(numerator: Coefficients, denominator: Coefficients, *cells: Any) -> Any:
    tp, fp, fn, tn = cells
    return _divide(_weigh(numerator, (tp, fp, fn, tn)), _weigh(denominator, (tp, fp, fn, tn)))


def _ratio(
    name: str, numerator: Coefficients, denominator: Coefficients, undefined_when: str
) -> RatioMetric:
    # Partial and not a closure, so that results can be pickled.
    value = partial(_divide_sums, numerator, denominator)
    return RatioMetric(name, undefined_when, value, numerator=numerator, denominator=denominator)


def fbeta(beta: float) -> RatioMetric:
    """Return the F-measure that weighs recall `beta` times as much as precision.

    Parameters
    ----------
    beta : float > 0
        Weight of recall; 1 gives F1.

    Returns
    -------
    RatioMetric
        Named ``f`` and the weight, e.g. ``f0.5``.

    Raises
    ------
    ValueError
        If `beta` is not positive.

    References
    ----------
    .. [1] C. J. van Rijsbergen, Information Retrieval, 2nd ed., 1979.

    Examples
    --------
    >>> fbeta(0.5).name
    'f0.5'
    >>> float(fbeta(1)(2, 1, 1, 0).round(4))
    0.6667
    """
    if check_real("beta", beta) <= 0:
        raise ValueError(f"`beta` must be positive; got {beta!r}.")
    square = float(beta) ** 2
    return _ratio(
        f"f{beta:g}",
        (1 + square, 0.0, 0.0, 0.0),
        (1 + square, 1.0, square, 0.0),
        "no row is positive and none is predicted positive",
    )


def _balanced_accuracy(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    return (_divide(tp, tp + fn) + _divide(tn, tn + fp)) / 2


def _matthews_corrcoef(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    # One square root, not a product of two: the root of a square is exact, so 1 is never passed.
    margins = np.sqrt(((tp + fp) * (fn + tn)) * ((tp + fn) * (fp + tn)))
    return _divide(tp * tn - fp * fn, margins)


def _cohen_kappa(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    by_chance = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    return _divide(2 * (tp * tn - fp * fn), by_chance)


_ENTRIES = (
    _ratio("accuracy", (1.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 1.0), "there are no rows"),
    CountMetric(
        "balanced_accuracy",
        "no row is positive, or none is negative",
        _balanced_accuracy,
    ),
    CountMetric(
        "cohen_kappa",
        "labels and predictions are all of one and the same class",
        _cohen_kappa,
        lowest=-1.0,
    ),
    fbeta(1.0),
    fbeta(2.0),
    _ratio(
        "jaccard",
        (1.0, 0.0, 0.0, 0.0),
        (1.0, 1.0, 1.0, 0.0),
        "no row is positive and none is predicted positive",
    ),
    CountMetric(
        "matthews_corrcoef",
        "labels or predictions are all of one class",
        _matthews_corrcoef,
        lowest=-1.0,
    ),
    _ratio("npv", (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0), "no row is predicted negative"),
    _ratio("precision", (1.0, 0.0, 0.0, 0.0), (1.0, 1.0, 0.0, 0.0), "no row is predicted positive"),
    _ratio("recall", (1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 1.0, 0.0), "no row is positive"),
    _ratio("specificity", (0.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0), "no row is negative"),
)

#: The count metrics by name.
COUNT_METRICS: dict[str, CountMetric] = {metric.name: metric for metric in _ENTRIES}
