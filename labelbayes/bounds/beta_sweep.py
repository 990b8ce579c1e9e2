"""Models on the same positive-unlabeled rows, compared over values of beta."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from labelbayes._checks import (
    CI_PROB,
    FloatArray,
    IntArray,
    check_open_unit,
    check_type,
    check_unit,
)
from labelbayes._html import table_html
from labelbayes._progress import track
from labelbayes.bounds.beta_prior import count_latent
from labelbayes.bounds.count_bounds import complete
from labelbayes.bounds.latent_paths import Span
from labelbayes.bounds.path_extremes import find_areas, find_paths
from labelbayes.bounds.rank_bands import Band
from labelbayes.bounds.scar_identities import (
    scar_average_precision,
    scar_counts,
    scar_roc_auc,
    scar_slopes,
)
from labelbayes.bounds.score_blocks import ScoreBlocks, make_blocks
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.metrics.confusion import COUNT_METRICS

AREAS = ("roc_auc", "average_precision")
AT_CUTOFF = ("accuracy", "precision", "recall", "f1")
SWEPT = (*AT_CUTOFF, *AREAS)
FLIP_COLUMNS = (
    *("metric", "series", "model_a", "model_b", "beta", "better_below", "better_above"),
    *("fpr_slope_a", "precision_slope_a", "fpr_slope_b", "precision_slope_b"),
)
#: Values of beta unless the caller names some.
DEFAULT_BETAS = tuple(np.round(np.arange(0.02, 0.99, 0.02), 2).tolist())


@dataclass(frozen=True, eq=False, repr=False)
class BetaSweep:
    """Point values and bounds of models over values of beta.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns ``model``, ``metric``, ``beta``, ``point`` (under SCAR, never clipped), ``low`` and
        ``high`` (bounds of the areas; nan at a cutoff and where the band contradicts beta).
    flips : pandas.DataFrame
        Where the order of two models changes: ``metric``, ``series`` (point, low or high),
        ``model_a``, ``model_b``, ``beta``, ``better_below``, ``better_above``, and the derivatives
        with respect to beta of the false positive rate and of precision, ``fpr_slope_a``,
        ``precision_slope_a``, ``fpr_slope_b``, ``precision_slope_b``.
    verdicts : tuple of str
        A sentence per pair of models.
    ci_prob : float
        Level of the band.

    See Also
    --------
    sweep_beta : Makes one.
    """

    table: pd.DataFrame
    flips: pd.DataFrame
    verdicts: tuple[str, ...]
    ci_prob: float

    def __repr__(self) -> str:
        """Return the verdicts."""
        return "BetaSweep:\n" + ("\n".join(self.verdicts) or "One model: nothing to compare.")

    def _repr_html_(self) -> str:
        rows = [
            [str(row[name]) for name in ("metric", "series", "better_below", "better_above")]
            + [f"{row['beta']:.3f}"]
            for _, row in self.flips.iterrows()
        ]
        return table_html(
            ["metric", "series", "better below", "better above", "beta"],
            rows,
            caption="Where the order of models flips",
            notes=self.verdicts,
        )


@dataclass(frozen=True, eq=False)
class _Model:
    name: str
    blocks: ScoreBlocks
    known: Counts


def sweep_beta(
    evaluations: Mapping[str, EvaluationSet],
    *,
    betas: npt.ArrayLike | None = None,
    ci_prob: float = CI_PROB,
) -> BetaSweep:
    """Compare models over values of beta, and find where their order flips.

    Parameters
    ----------
    evaluations : mapping of str to EvaluationSet
        One per model, with the same known positives and unlabeled rows.
    betas : array_like of float, shape (k,), optional
        Shares of positives among unlabeled rows, rising, in [0, 1). None stands for 0.02 to 0.98.
    ci_prob : float, default 0.95
        Level of the predictive band of the areas, in (0, 1).

    Returns
    -------
    BetaSweep
        Values, flips and a verdict per pair of models.

    Raises
    ------
    ValueError
        If there is no model, models differ in their labels, or `betas` is not as above.

    See Also
    --------
    bound_positive_unlabeled : Bounds of one model.

    Notes
    -----
    **Assumes** SCAR. Point values take latent positives at the known positives' rate; a flip of
    them is found to 1e-9 in beta. Flips of bounds lie between two values of beta and are
    interpolated.

    Model A dominates B at the cutoff if its recall is no lower and it calls no more unlabeled rows
    and known negatives positive; it dominates B on the curve if at every share of unlabeled rows
    called positive its recall is no lower. Then no beta can flip the point values.

    References
    ----------
    .. [1] M. Claesen, J. Davis, F. De Smet and B. De Moor, "Assessing binary classifiers using
       only positive and unlabeled data", arXiv:1504.06837, section 5 and appendix B, 2015.

    Examples
    --------
    >>> y_true = [1, 1, 1, 1, None, None, None, None, None, None]
    >>> bold = EvaluationSet(y_true, [0.9, 0.9, 0.9, 0.2, 0.9, 0.9, 0.9, 0.1, 0.1, 0.1])
    >>> careful = EvaluationSet(y_true, [0.9, 0.9, 0.2, 0.2, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1])
    >>> sweep = sweep_beta({"bold": bold, "careful": careful})
    >>> sweep.flips.query("metric == 'accuracy'")["beta"].round(3).tolist()
    [0.333]
    """
    check_type("evaluations", evaluations, Mapping)
    if not evaluations:
        raise ValueError("`evaluations` must name at least one model; got none.")
    level = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
    values = _check_betas(betas)
    for name, evaluation in evaluations.items():
        check_type(f"evaluations[{name!r}]", evaluation, EvaluationSet)
    models = [
        _Model(name, make_blocks(evaluation), evaluation.counts)
        for name, evaluation in evaluations.items()
    ]
    _check_same_rows(models)
    rows = [row for model in track(models, label="models") for row in _sweep(model, values, level)]
    table = pd.DataFrame(rows)
    flips, verdicts = [], []
    for first, second in combinations(models, 2):
        found = _find_flips(table, first, second)
        flips += found
        verdicts.append(_say(first, second, found))
    frame = pd.DataFrame(flips, columns=list(FLIP_COLUMNS))
    return BetaSweep(table, frame, tuple(verdicts), level)


def _check_betas(betas: npt.ArrayLike | None) -> FloatArray:
    given = DEFAULT_BETAS if betas is None else betas
    if isinstance(given, str) or not np.iterable(given):
        raise TypeError(f"`betas` must be a list of shares; got {type(given).__name__}.")
    values = np.array([check_unit(f"betas[{i}]", value) for i, value in enumerate(given)])
    if not len(values):
        raise ValueError("`betas` must hold at least one share; got none.")
    if len(falls := np.flatnonzero(np.diff(values) <= 0)):
        a, b = values[falls[0] : falls[0] + 2].tolist()
        raise ValueError(f"`betas` must rise; got {b} after {a}. Sort them, drop what is twice.")
    if values[-1] == 1:
        raise ValueError("`betas` must lie in [0, 1); with beta = 1 no negative is left: drop it.")
    return values


def _check_same_rows(models: list[_Model]) -> None:
    first = models[0]
    for model in models:
        sizes = [
            (m.blocks.n_known_positive, m.blocks.n_known_negative, m.blocks.n_unlabeled)
            for m in (first, model)
        ]
        if sizes[0] != sizes[1]:
            raise ValueError(
                f"`evaluations` must hold the same labels; {first.name!r} has {sizes[0]} known "
                f"positives, known negatives and unlabeled rows, {model.name!r} {sizes[1]}."
            )
    if not first.blocks.n_known_positive:
        raise ValueError("`evaluations` must hold known positives; there are none.")


def _sweep(model: _Model, betas: FloatArray, level: float) -> list[dict[str, object]]:
    band = Band("predictive", level, 0.0)
    rows: list[dict[str, object]] = []
    for beta in betas.tolist():
        for metric in SWEPT:
            row = {"model": model.name, "metric": metric, "beta": beta}
            point = point_value(model, metric, beta)
            rows.append(row | {"point": point, "low": math.nan, "high": math.nan})
        count = count_latent(beta, model.blocks.n_unlabeled)
        span = Span(count, count)
        paths = find_paths(
            model.blocks,
            band,
            span,
            construction="attained",
            reference="positive",
            smooth=False,
        )
        if paths.conflict < 0:  # else the band contradicts this beta, and there are no bounds
            low, high = find_areas(model.blocks, paths, span)
            for offset in (0, 1):
                ends = {"low": float(low[offset]), "high": float(high[offset])}
                rows[offset - len(AREAS)] |= ends
    return rows


def point_value(model: _Model, metric: str, beta: float) -> float:
    """Return the value of one metric under SCAR, without sampling error.

    Parameters
    ----------
    model : _Model
        Rows of a model.
    metric : str
        Which.
    beta : float
        Share of positives among unlabeled rows.

    Returns
    -------
    float
        Never clipped.
    """
    if metric == "roc_auc":
        return scar_roc_auc(model.blocks, beta)
    if metric == "average_precision":
        return scar_average_precision(model.blocks, beta)
    u, v, _ = scar_counts(model.known, beta)
    return float(COUNT_METRICS[metric](*complete(model.known, np.array(u), np.array(v))))


def _find_flips(table: pd.DataFrame, first: _Model, second: _Model) -> list[dict[str, object]]:
    flips: list[dict[str, object]] = []
    for metric in SWEPT:
        columns = [
            table[(table["model"] == model.name) & (table["metric"] == metric)].reset_index()
            for model in (first, second)
        ]
        betas = columns[0]["beta"].to_numpy()
        for series in ("point", "low", "high"):
            gap = (columns[0][series] - columns[1][series]).to_numpy(dtype=float)
            for left, right in _sign_changes(gap):
                beta = _cross(metric, series, first, second, betas, gap, left, right)
                names = (first.name, second.name)
                below, above = names if gap[left] > 0 else names[::-1]
                slopes = [scar_slopes(model.known, beta) for model in (first, second)]
                said = (metric, series, *names, beta, below, above, *slopes[0], *slopes[1])
                flips.append(dict(zip(FLIP_COLUMNS, said, strict=True)))
    return flips


def _sign_changes(gap: FloatArray) -> list[tuple[int, int]]:
    """Return neighbors of opposite sign, with ties and gaps in the values passed over."""
    place = np.flatnonzero(np.isfinite(gap) & (np.abs(gap) > 1e-12))
    change = np.flatnonzero(np.diff(np.sign(gap[place])) != 0)
    return list(zip(place[change].tolist(), place[change + 1].tolist(), strict=True))


def _cross(
    metric: str,
    series: str,
    first: _Model,
    second: _Model,
    betas: FloatArray,
    gap: FloatArray,
    left: int,
    right: int,
) -> float:
    """Return the beta at which two models are equal, between two values."""
    low, high = float(betas[left]), float(betas[right])
    if series != "point":
        return low + (high - low) * float(gap[left] / (gap[left] - gap[right]))
    sign = math.copysign(1.0, gap[left])
    while high - low > 1e-9:
        middle = (low + high) / 2
        difference = point_value(first, metric, middle) - point_value(second, metric, middle)
        low, high = (middle, high) if sign * difference > 0 else (low, middle)
    return (low + high) / 2


def dominates_at_cutoff(first: Counts, second: Counts) -> bool:
    """Return whether one model's decisions beat another's whatever beta is.

    Parameters
    ----------
    first, second : Counts
        Rows by decision of both models.

    Returns
    -------
    bool
        Recall of the known positives is no lower, and no more unlabeled rows and known negatives
        are called positive.
    """
    return (
        first.tp >= second.tp
        and first.fp <= second.fp
        and first.unlabeled_predicted_positive <= second.unlabeled_predicted_positive
    )


def dominates_on_curve(first: ScoreBlocks, second: ScoreBlocks) -> bool:
    """Return whether one model's ROC curve lies above another's whatever beta is.

    Parameters
    ----------
    first, second : ScoreBlocks
        Rows of both models; without known negatives.

    Returns
    -------
    bool
        At every share of unlabeled rows called positive the recall of the known positives is no
        lower. With known negatives, never.
    """
    if first.n_known_negative or second.n_known_negative:
        return False
    at = np.union1d(first.unlabeled, second.unlabeled)
    # Where a curve steps up without unlabeled rows, both ends of the step count.
    sides: tuple[Literal["left", "right"], ...] = ("left", "right")
    for side in sides:
        heights = [_height(blocks, at, side) for blocks in (first, second)]
        if (heights[0] < heights[1] - 1e-9).any():
            return False
    return True


def _height(blocks: ScoreBlocks, at: IntArray, side: Literal["left", "right"]) -> FloatArray:
    """Return known positives above cutoffs by unlabeled rows, ties joined by straight lines."""
    rows, known = blocks.unlabeled, blocks.known_positive
    place = np.searchsorted(rows, at, side=side) - (side == "right")
    return np.where(rows[place] == at, known[place], np.interp(at, rows, known))


def _where_dominates(first: _Model, second: _Model) -> list[str]:
    places = []
    if dominates_at_cutoff(first.known, second.known):
        places.append("at their cutoffs")
    if dominates_on_curve(first.blocks, second.blocks):
        places.append("on the ROC curve")
    return places


def _say(first: _Model, second: _Model, flips: list[dict[str, object]]) -> str:
    """Return one sentence about a pair of models."""
    said = []
    forward, backward = _where_dominates(first, second), _where_dominates(second, first)
    if ties := [place for place in forward if place in backward]:
        said.append(f"{first.name} and {second.name} are equal {' and '.join(ties)}.")
    for a, b, places in ((first, second, forward), (second, first, backward)):
        if own := [place for place in places if place not in ties]:
            said.append(f"{a.name} dominates {b.name} {' and '.join(own)}: no beta can flip them.")
    points = [flip for flip in flips if flip["series"] == "point"]
    if points:
        where = ", ".join(f"{flip['metric']} at beta = {flip['beta']:.3f}" for flip in points)
        said.append(f"The order of {first.name} and {second.name} flips: {where}.")
    if not said:
        said.append(
            f"{first.name} and {second.name} keep their order at these values of beta, and neither "
            "dominates."
        )
    return " ".join(said)
