"""What weights rest on: overlap, calibration of the propensity, balance, and a few heavy rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from labelbayes._checks import BoolArray, FloatArray, IntArray, check_type, read_only
from labelbayes._html import number_text, table_html
from labelbayes.data.columns import MISSING_GROUP, as_column
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.features import read_features
from labelbayes.weighting.ipw import counted
from labelbayes.weighting.propensity import Propensity
from labelbayes.weighting.rows import WeightedRows, lopsided, read_rows, top_share

#: Edges of the classes of P(labeled) in the overlap table; narrow where weights explode.
OVERLAP_EDGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
#: Standardized difference after weighting, and standard errors off, that are worth a note.
MOST_IMBALANCE = 0.1
MOST_ERRORS = 3.0
#: Numbers with more values than this are compared in fifths.
_MOST_LEVELS = 12


@dataclass(frozen=True, eq=False, repr=False)
class WeightCheck:
    """What can be looked at before weighted estimates are trusted.

    Parameters
    ----------
    weights : DataFrame
        Index ``quantity``, column ``value``: labels, effective sample size, large weights.
    overlap : DataFrame
        Rows, labeled and missing, and weight by class of P(labeled).
    calibration : DataFrame
        Labels expected and seen, by each variable and level; ``errors`` is their difference in
        standard errors.
    balance : DataFrame
        Means of each feature over all rows and over labeled ones, and their differences in
        standard deviations before and after weighting.
    notes : tuple of str
        What stands out.
    p, weight : ndarray of float, shape (n_rows,)
        P(labeled) of all rows; weights of labeled rows, 0 elsewhere.
    is_labeled : ndarray of bool, shape (n_rows,)
        Which labels are seen.
    count : ndarray of int, shape (n_rows,)
        Multiplicities.
    """

    weights: pd.DataFrame
    overlap: pd.DataFrame
    calibration: pd.DataFrame
    balance: pd.DataFrame
    notes: tuple[str, ...]
    p: FloatArray
    weight: FloatArray
    is_labeled: BoolArray
    count: IntArray

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle or deep copy; NumPy forgets there that arrays are read-only."""
        for name, value in state.items():
            kept = read_only(value) if isinstance(value, np.ndarray) else value
            object.__setattr__(self, name, kept)

    def __repr__(self) -> str:
        """Return the table of weights and the notes as text."""
        return "\n".join(["WeightCheck", self.weights.round(4).to_string(), *self.notes])

    def _repr_html_(self) -> str:
        rows = [
            [str(name), number_text(float(value))] for name, value in self.weights["value"].items()
        ]
        return table_html(["weights", "value"], rows, notes=self.notes)


def check_weights(
    evaluation: EvaluationSet,
    propensity: Propensity | npt.ArrayLike,
    *,
    features: Any = None,
    by: Mapping[str, npt.ArrayLike] | None = None,
) -> WeightCheck:
    """Look at the weights that P(labeled) gives, before their estimates are trusted.

    Parameters
    ----------
    evaluation : EvaluationSet
        Which labels are there.
    propensity : Propensity or array_like of float, shape (n_rows,)
        P(labeled) of each row.
    features : DataFrame or array_like, shape (n_rows, k), optional
        What labeled rows and all rows should agree in after weighting. None stands for the score
        and the decision.
    by : mapping of str to array_like, shape (n_rows,), optional
        Segments, times, versions of the policy that chose labels: as many labels as expected
        should be seen in each. The group of the evaluation and fifths of P(labeled) come first;
        missing values are a segment of their own.

    Returns
    -------
    WeightCheck
        Tables ``weights``, ``overlap``, ``calibration`` and ``balance``, and notes.

    Raises
    ------
    ValueError
        If a labeled row has propensity 0, nothing is labeled, or shapes differ.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    estimate_ipw : What the weights are for.
    clip_curve : How an estimate depends on the largest weight.

    Notes
    -----
    How well the propensity tells labeled rows from others is no evidence for it, and is not
    shown: a model that separates them perfectly leaves no overlap. Differences in standard
    errors take P(labeled) as given and labels as drawn independently.

    Rows without overlap can be left out only by hand, with ``evaluation.subset(mask)`` and the
    same rows of the propensity: the target is then the rows that are kept, and no longer all.

    References
    ----------
    .. [1] P. C. Austin and E. A. Stuart, "Moving towards best practice when using inverse
       probability of treatment weighting using the propensity score", Statistics in Medicine
       34(28), 3661-3679, 2015.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 0, None, 1], [0.9, 0.2, 0.8, 0.4])
    >>> found = check_weights(evaluation, [1.0, 0.5, 0.5, 0.5])
    >>> round(float(found.weights.loc["effective sample size", "value"]), 2)
    2.78
    """
    check_type("evaluation", evaluation, EvaluationSet)
    if by is not None:
        check_type("by", by, Mapping)
    rows = read_rows(
        evaluation.is_labeled,
        counted(evaluation),
        propensity,
        clip=None,
        clusters=None,
        time=None,
        target="population",
    )
    p = rows.propensity.p
    weight = np.divide(1.0, p, out=np.zeros(len(p)), where=evaluation.is_labeled)
    calibration = _calibration(evaluation, p, by or {})
    balance = _balance(evaluation, weight, features)
    return WeightCheck(
        _weights(evaluation, rows),
        _overlap(evaluation, p, weight),
        calibration,
        balance,
        (*rows.notes, *lopsided(rows), *_notes(calibration, balance)),
        p,
        read_only(weight),
        evaluation.is_labeled,
        evaluation.count,
    )


def _weights(evaluation: EvaluationSet, rows: WeightedRows) -> pd.DataFrame:
    seen = rows.is_labeled
    weight = rows.weight[seen]
    count = np.ones(len(weight), dtype=np.int64) if rows.count is None else rows.count[seen]
    order = np.argsort(weight)
    below = np.cumsum(count[order]) / count.sum()
    at = [int(np.searchsorted(below, q - 1e-12)) for q in (0.95, 0.99)]
    values = {
        "labeled rows": evaluation.n_labeled,
        "labeled fraction": evaluation.n_labeled / evaluation.n,
        "effective sample size": rows.ess,
        "largest weight": weight.max(),
        "99% of weights below": weight[order][at[1]],
        "95% of weights below": weight[order][at[0]],
        "share of the top 1%": top_share(rows.weight, rows.count),
        "sum of weights / rows": rows.total_weight / rows.n,
        "share without a chance": 1 - rows.n / evaluation.n,
    }
    frame = pd.DataFrame({"value": pd.Series(values, dtype=np.float64)})
    return frame.rename_axis("quantity")


def _overlap(evaluation: EvaluationSet, p: FloatArray, weight: FloatArray) -> pd.DataFrame:
    edges = np.array(OVERLAP_EDGES)
    place = np.clip(np.searchsorted(edges, p, side="left") - 1, 0, len(edges) - 2)
    count = evaluation.count
    labeled = np.bincount(place, weights=count * evaluation.is_labeled, minlength=len(edges) - 1)
    everything = np.bincount(place, weights=count, minlength=len(edges) - 1)
    heavy = np.bincount(place, weights=count * weight, minlength=len(edges) - 1)
    names = [f"{low:g} to {high:g}" for low, high in itertools.pairwise(edges)]
    return pd.DataFrame(
        {
            "n_labeled": labeled.astype(np.int64),
            "n_unlabeled": (everything - labeled).astype(np.int64),
            "share_of_rows": everything / everything.sum(),
            "share_of_weight": heavy / heavy.sum(),
        },
        index=pd.Index(names, name="propensity"),
    )


def _calibration(
    evaluation: EvaluationSet, p: FloatArray, by: Mapping[str, npt.ArrayLike]
) -> pd.DataFrame:
    variables: dict[str, Any] = {"P(labeled)": p}
    if evaluation.group is not None:
        variables["group"] = evaluation.group
    twice = [name for name in by if name in variables]
    if twice:
        raise ValueError(
            f"`by` must not name {twice[0]!r}, which is always looked at. Give it another name."
        )
    parts = []
    for name, values in (variables | dict(by)).items():
        codes, levels = _levels(name, values, evaluation.count)
        frame = pd.DataFrame(
            {
                "level": codes,
                "n": evaluation.count,
                "expected": evaluation.count * p,
                "seen": evaluation.count * evaluation.is_labeled,
                "variance": evaluation.count * p * (1 - p),
            }
        )
        sums = frame.groupby("level", sort=True).sum()
        sums.index = pd.MultiIndex.from_product(
            [[name], [levels[code] for code in sums.index]], names=["variable", "level"]
        )
        parts.append(sums)
    table = pd.concat(parts)
    spread = np.sqrt(table["variance"].to_numpy())
    gap = (table["seen"] - table["expected"]).to_numpy()
    errors = np.divide(gap, spread, out=np.zeros(len(gap)), where=spread > 0)
    return pd.DataFrame(
        {
            "n": table["n"],
            "expected_fraction": table["expected"] / table["n"],
            "labeled_fraction": table["seen"] / table["n"],
            "errors": errors,
        }
    )


def _levels(name: str, values: Any, count: IntArray) -> tuple[IntArray, list[str]]:
    """Return the level of each row and the levels' names; fifths where numbers take many values."""
    n_rows = len(count)
    column = as_column(f"by[{name!r}]", values)
    if len(column) != n_rows:
        raise ValueError(
            f"`by` must hold one value per row, shape ({n_rows},); {name!r} has {len(column)}."
        )
    known = pd.Series(column.values[~column.is_missing]).infer_objects()
    is_number = pd.api.types.is_numeric_dtype(known)
    is_ordered = is_number or known.dtype.kind in "mM"
    if is_ordered and known.nunique() > _MOST_LEVELS:
        if is_number and not np.isfinite(known.to_numpy(dtype=np.float64)).all():
            raise ValueError(f"`by` must hold finite numbers; {name!r} has infinite ones.")
        edges = _fifths(known, count[~column.is_missing])
        fifths = pd.cut(known, edges, include_lowest=True, precision=4)
        write = "{:.10g}".format if is_number else str
        ends = [(span.left, span.right) for span in fifths.cat.categories]
        ends[0] = known.min(), ends[0][1]  # pandas starts a little below
        codes = fifths.cat.codes.to_numpy()
        levels = [f"{write(low)} to {write(high)}" for low, high in ends]
    else:
        codes, found = pd.factorize(known if is_ordered else known.astype(str), sort=True)
        levels = [str(level) for level in found]
    by_row = np.full(n_rows, len(levels), dtype=np.int64)
    by_row[~column.is_missing] = codes
    return by_row, [*levels, MISSING_GROUP]


def _fifths(values: pd.Series, count: IntArray) -> list[Any]:
    """Return the distinct ends of fifths, each value counted as often as it stands for rows."""
    order = np.argsort(values.to_numpy(), kind="stable")
    up_to = np.cumsum(count[order])
    edges = []
    for fifth in range(6):
        place = fifth * (int(up_to[-1]) - 1) / 5
        whole = math.floor(place)
        below, above = (
            values.iloc[int(order[np.searchsorted(up_to, k, side="right")])]
            for k in (whole, math.ceil(place))
        )
        edges.append(below + (above - below) * (place - whole))
    return sorted(set(edges))


def _balance(evaluation: EvaluationSet, weight: FloatArray, features: Any) -> pd.DataFrame:
    if features is None:
        features = pd.DataFrame({"y_pred": evaluation.y_pred})
        if evaluation.y_score is not None:
            features["y_score"] = evaluation.y_score
    read = read_features(features, evaluation.n_rows, stem="x")
    matrix = read.encoded
    count = evaluation.count.astype(np.float64)
    seen, heavy = count * evaluation.is_labeled, count * weight
    mean = count @ matrix / count.sum()
    spread = np.sqrt(count @ (matrix - mean) ** 2 / count.sum())
    safe = np.where(spread > 0, spread, 1.0)
    labeled, weighted = seen @ matrix / seen.sum(), heavy @ matrix / heavy.sum()
    return pd.DataFrame(
        {
            "mean": mean,
            "mean_labeled": labeled,
            "mean_weighted": weighted,
            "difference_before": (labeled - mean) / safe,
            "difference_after": (weighted - mean) / safe,
        },
        index=pd.Index(read.encoded_names, name="feature"),
    )


def _notes(calibration: pd.DataFrame, balance: pd.DataFrame) -> list[str]:
    found = []
    worst = calibration["errors"].abs()
    n_off = int((worst > MOST_ERRORS).sum())
    if n_off:
        variable, level = calibration.index[int(worst.argmax())]
        found.append(
            f"Labels seen and expected differ by more than {MOST_ERRORS:g} standard errors in "
            f"{n_off} of {len(calibration)} cells, most where {variable} is {level} "
            f"({worst.max():.1f})."
        )
    apart = balance["difference_after"].abs()
    if (apart > MOST_IMBALANCE).any():
        found.append(
            f"After weighting {apart.idxmax()} is still {apart.max():.2f} standard deviations "
            "off: the propensity misses something, or too few rows overlap."
        )
    return found
