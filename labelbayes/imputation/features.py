"""Tables of features: read, encoded as numbers, and asked which further columns they settle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from labelbayes._checks import BoolArray, FloatArray, IntArray, read_only
from labelbayes.data.columns import Column, as_column, as_groups, as_reals
from labelbayes.data.evaluation_set import EvaluationSet

#: Different texts that one column may hold: each becomes a column of its own.
MOST_LEVELS = 200

#: What a user may pass: a DataFrame, or an array of shape (n_rows,) or (n_rows, k).
FeaturesLike = pd.DataFrame | npt.ArrayLike


@dataclass(frozen=True, eq=False)
class Features:
    """Columns that a model uses.

    Parameters
    ----------
    frame : DataFrame, shape (n_rows, k)
        The columns as given.
    encoded : ndarray of float, shape (n_rows, n_encoded)
        The same as numbers, times in days; a column of text or categories as one column of 0 and
        1 per text, in sorted order.
    encoded_names : tuple of str, length n_encoded
        The name of the column, with the text after ``=`` where there is one.
    """

    frame: pd.DataFrame
    encoded: FloatArray
    encoded_names: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns as given."""
        return tuple(str(name) for name in self.frame.columns)

    @property
    def is_indicator(self) -> BoolArray:
        """Which encoded columns hold 0 and 1 only, shape (n_encoded,)."""
        return np.asarray(((self.encoded == 0) | (self.encoded == 1)).all(axis=0))


def read_features(
    features: FeaturesLike, n_rows: int, *, argument: str = "features", stem: str = "feature_"
) -> Features:
    """Return columns as they were given and as numbers.

    Parameters
    ----------
    features : DataFrame or array_like, shape (n_rows,) or (n_rows, k)
        Numbers, bools, times, text or categories, nothing missing.
    n_rows : int
        Rows expected.
    argument : str, default "features"
        Argument name, for the sentence of an error.
    stem : str, default "feature_"
        Columns of an array are named by it and their number; a single one by it alone.

    Returns
    -------
    Features
        A copy.

    Raises
    ------
    ValueError
        If the shape is wrong, a value is missing or infinite, two columns have one name, or a
        column has more than 200 different texts.
    TypeError
        If `features` is no table, or a cell a collection.

    Examples
    --------
    >>> read = read_features(pd.DataFrame({"age": [30, 40], "site": ["b", "a"]}), 2)
    >>> read.encoded
    array([[30.,  0.,  1.],
           [40.,  1.,  0.]])
    >>> read.encoded_names
    ('age', 'site=a', 'site=b')
    """
    frame = _as_frame(features, argument, stem)
    if len(frame) != n_rows or frame.shape[1] == 0:
        raise ValueError(
            f"`{argument}` must have one row per row of the evaluation and at least one column, "
            f"shape ({n_rows}, k); got {frame.shape}."
        )
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise ValueError(
            f"`{argument}` must have one column per name; got {twice[0]!r} twice. Rename one."
        )
    encoded: list[FloatArray] = []
    names: list[str] = []
    for name in frame.columns:
        numbers, levels = _encode(argument, str(name), frame[name])
        encoded.append(numbers)
        names += [f"{name}={level}" for level in levels] or [str(name)]
    return Features(frame, read_only(np.column_stack(encoded)), tuple(names))


def _as_frame(features: FeaturesLike, argument: str, stem: str) -> pd.DataFrame:
    if isinstance(features, pd.DataFrame):
        return features.reset_index(drop=True).copy()
    single = stem.removesuffix("_")
    if isinstance(features, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        column = pd.Series(features).reset_index(drop=True)
        return column.to_frame(single if column.name is None else column.name)
    # Words beside numbers would make words of these.
    array = np.asarray(features, dtype=object if isinstance(features, (list, tuple)) else None)
    if np.ma.is_masked(features):
        hidden = np.ma.getmaskarray(np.ma.asarray(features))
        array = array.astype(object)
        array[hidden] = None
    if array.ndim == 0:
        raise TypeError(
            f"`{argument}` must be a DataFrame or an array of shape (n_rows, k); got "
            f"{type(features).__name__}."
        )
    is_ragged = array.ndim == 1 and any(
        isinstance(cell, (list, tuple, np.ndarray)) for cell in array[:2]
    )
    if is_ragged or array.ndim > 2:
        found = "rows of different lengths" if is_ragged else f"shape {array.shape}"
        raise ValueError(
            f"`{argument}` must be a DataFrame or an array of shape (n_rows, k); got {found}."
        )
    if array.ndim == 1:
        return pd.DataFrame({single: array}).infer_objects()
    frame = pd.DataFrame(array, columns=[f"{stem}{j}" for j in range(array.shape[1])])
    return frame.infer_objects()


def _encode(argument: str, name: str, values: pd.Series) -> tuple[FloatArray, list[str]]:
    """Return a column as numbers, shape (n_rows, width), and the texts that it was split by."""
    column = as_column(f"{argument}[{name!r}]", values)
    # What was declared a category is one, numbers for names or not.
    is_category = isinstance(values.dtype, pd.CategoricalDtype)
    numbers = None if is_category else _as_numbers(f"{argument}[{name!r}]", column)
    bad = column.is_missing if numbers is None else ~np.isfinite(numbers)
    if bad.any():
        where = int(np.argmax(bad))
        found = "nan" if column.is_missing[where] else column.values[where]
        raise ValueError(
            f"`{argument}` must hold no missing or infinite values; column {name!r} has {found} at "
            f"row {where} ({int(bad.sum())} such values). Fill them in, with a column that says "
            "where, or give them a text of their own such as '(missing)'."
        )
    if numbers is not None:
        return numbers[:, None], []
    try:
        code, levels = pd.factorize(as_groups(column))
    except TypeError:
        raise TypeError(
            f"`{argument}` must hold one number or text per cell; column {name!r} holds "
            "collections."
        ) from None
    if len(levels) > MOST_LEVELS:
        raise ValueError(
            f"`{argument}` must hold at most {MOST_LEVELS} different texts per column, each of "
            f"which gets an effect of its own; column {name!r} has {len(levels):,}. Group them, "
            "or pass numbers."
        )
    order = np.argsort(levels.astype(str))
    return (code[:, None] == order).astype(np.float64), levels[order].tolist()


def _as_numbers(name: str, column: Column) -> FloatArray | None:
    """Return a column as floats, times in days, nan where missing; None where it holds text."""
    kind = column.values.dtype.kind
    if kind in "mM":
        exact = column.values.astype(f"{kind}8[ns]").astype(np.int64)
        return np.where(column.is_missing, np.nan, exact / 86_400e9)
    try:
        return np.asarray(as_reals(name, column), dtype=np.float64)
    except TypeError:
        return None


def add_decision(features: Features | None, evaluation: EvaluationSet) -> Features | None:
    """Return the features, and the decision among them where the score does not settle it.

    Parameters
    ----------
    features : Features or None
        Columns beside the score.
    evaluation : EvaluationSet
        Scores and decisions.

    Returns
    -------
    Features or None
        With a column "decision" where rows of one score have different decisions, or decisions
        change along the score more than once.
    """
    if evaluation.y_score is None:
        return features
    positive = evaluation.y_pred == 1
    above, below = evaluation.y_score[positive], evaluation.y_score[~positive]
    if not (len(above) and len(below)):
        return features
    if above.min() > below.max() or above.max() < below.min():
        return features
    decision = evaluation.y_pred.astype(np.float64)
    if features is None:
        frame = pd.DataFrame({"decision": evaluation.y_pred})
        return Features(frame, decision[:, None], ("decision",))
    if (features.encoded == decision[:, None]).all(axis=0).any():
        return features
    name = "decision" if "decision" not in features.frame else "decision of the evaluation"
    return Features(
        features.frame.assign(**{name: evaluation.y_pred}),
        np.column_stack([features.encoded, decision]),
        (*features.encoded_names, name),
    )


def determines(numeric: Sequence[FloatArray], indicators: FloatArray, column: Column) -> bool:
    """Return whether known columns fix a further one in a form that additive log odds can use.

    Parameters
    ----------
    numeric : sequence of ndarray of float, shape (n_rows,)
        Known columns of numbers.
    indicators : ndarray of 0 and 1, shape (n_rows, k)
        Known columns of 0 and 1.
    column : Column
        The column that is asked about; missing values count as one more text.

    Returns
    -------
    bool
        True where the column is constant; where it is a monotone function of a numeric one, or
        text that changes along it only from one text to the next and never back; or where its
        texts are sums of indicators. An arbitrary function of a numeric column with distinct
        values would be any column whatever, and is none that p knows.
    """
    numbers = None if column.is_missing.any() else _as_numbers("values", column)
    code, levels = pd.factorize(as_groups(column, name="values") if numbers is None else numbers)
    is_short = len(levels) <= MOST_LEVELS
    if len(levels) == 1 or (is_short and _adds_up(indicators, code, len(levels))):
        return True
    for known in numeric:
        order = np.lexsort((code, known))
        sorted_code, tied = code[order], np.diff(known[order]) == 0
        changes = np.diff(sorted_code) != 0
        if (changes & tied).any():
            continue
        if numbers is None:
            if changes.sum() == len(levels) - 1:
                return True
        elif (steps := np.diff(numbers[order])).min() >= 0 or steps.max() <= 0:
            return True
    return False


def _adds_up(indicators: FloatArray, code: IntArray, n_levels: int) -> bool:
    """Return whether every level is a linear combination of 1 and the indicators."""
    kinds = pd.DataFrame(np.column_stack([indicators, code])).drop_duplicates().to_numpy()
    design = np.column_stack([np.ones(len(kinds)), kinds[:, :-1]])
    if len(np.unique(design, axis=0)) < len(kinds):
        return False  # equal indicators, different levels
    wanted = (kinds[:, -1:] == np.arange(n_levels)).astype(np.float64)
    fitted = design @ np.linalg.lstsq(design, wanted, rcond=None)[0]
    # Entries are 0 and 1: what is no combination is off by a rational far above round-off.
    return bool(np.abs(fitted - wanted).max() < 1e-8)
