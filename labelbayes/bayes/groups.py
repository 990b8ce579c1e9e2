"""Groups of rows whose rates hang together: partial pooling of the intercept."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from labelbayes._checks import BoolArray, FloatArray, IntArray, check_real, listed
from labelbayes.bayes.calibration import INTERCEPT_SD
from labelbayes.bayes.cells import RateCells
from labelbayes.bayes.model import Draws, LabelModel
from labelbayes.bayes.ranking import rank_rows
from labelbayes.bayes.score_cells import (
    MOST_LOGIT,
    ScoreTerms,
    TermCells,
    assign_parts,
    check_labeled,
    count_parts,
    fit_quickly,
    note_labels,
    observe_labels,
    platt_terms,
)
from labelbayes.bayes.stack import pm
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.metrics.registry import resolve_metrics

#: Cells of all groups, over which distinct scores are spread; at least so many per group.
CELLS, LEAST_PARTS = 1_000, 50
#: Newton steps of the rough fit per group.
FIT_STEPS = 20


def build_groups(evaluation: EvaluationSet, *, sigma: float = 1.0) -> LabelModel:
    r"""Model P(positive) as a curve in the score with an intercept for each group.

    Groups differ in how often rows of one score are positive, and some have few labels. Each has
    an intercept of its own, drawn from one normal law whose spread is learned: a group with many
    labels keeps to them, one with few leans on the others. The slope is shared:

    .. math::
       \mathrm{logit}\, p_g(s) &= \alpha_g + \gamma\, \mathrm{logit}\, s, \quad
           \alpha_g = \alpha + \sigma z_g \\
       \alpha \sim N(0, 1.5^2), \quad \sigma &\sim N^+(0, \texttt{sigma}^2), \quad
           z_g \sim N(0, 1), \quad \log\gamma \sim N(0, 0.5^2)

    Parameters
    ----------
    evaluation : EvaluationSet
        With groups and at least one label. A group without labels takes its rate from the others.
        Without a score the decision stands for it.
    sigma : float > 0, default 1.0
        Scale of the half-normal prior of the spread :math:`\sigma`, in log odds: 1 puts 95% below
        2, an odds ratio of 7 between a group and the middle.

    Returns
    -------
    LabelModel
        Unsampled. ``intercept``, ``slope`` > 0, ``spread`` >= 0 and ``group_intercept``
        (``group``). Metrics have a dimension ``group``.

    Raises
    ------
    ValueError
        If there are no groups or no label, or `sigma` is not positive.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    build_calibration : One curve for all rows.
    EvaluationSet.groups : The parts themselves.

    Notes
    -----
    **Assumes** that labels are missing at random given score and group, that log odds are linear
    in the logit of the score (clipped to [1e-6, 1 - 1e-6]; for scores that are no probabilities
    in the standardized score, with :math:`\log\gamma \sim N(0, 1)`) with one slope, and that
    groups are exchangeable: nothing is known that would set one apart beforehand.

    **Not identified**: the intercept of a group without labels, beyond the law of the others;
    ``spread`` with one or two groups, where `sigma` decides.

    Against groups fitted apart the gain is modest: in simulated sets of 12 groups with 5 to 39
    labels each the error of precision was 6% smaller and intervals 8% to 15% narrower at nominal
    coverage. One curve for all groups covered 69%. A true outlier is drawn to the others.

    NUTS moves in coordinates that are standard normal given the spread, whether a group has few
    labels (where centered intercepts diverge) or many (where offsets mix slowly). With two groups
    of many labels a divergence may be left: raise `target_accept`.

    The cost of sampling does not depend on the number of rows (ranking metrics then complete
    labels row by row; rows of one group are ranked among themselves): with :math:`G` groups, above
    1,000 / G distinct scores (at least 50) of a group and decision rows are counted in so many
    parts of them. With 50 parts this moved the mode of a curve by at most 7% of its posterior sd
    with 2,000 labels.

    **Oracle.** A grid over intercept, log slope and spread with 81 equally spaced points of each
    offset inside; the law of a metric of one group is the mixture of its exact Poisson-binomial
    laws.

    References
    ----------
    .. [1] A. Gelman and J. Hill, Data Analysis Using Regression and Multilevel/Hierarchical
       Models, Cambridge University Press, 2007.
    .. [2] O. Papaspiliopoulos, G. O. Roberts and M. Skoeld, "A general framework for the
       parametrization of hierarchical models", Statistical Science 22(1), 59-73, 2007.

    Examples
    --------
    >>> evaluation = EvaluationSet(
    ...     [0, 1, None, 1, 0, None], [0.1, 0.4, 0.6, 0.9, 0.7, 0.2], group=list("aabbba")
    ... )
    >>> label_model = build_groups(evaluation)
    >>> label_model.completion.groups
    ('a', 'b')
    """
    if not isinstance(evaluation, EvaluationSet):
        raise TypeError(f"`evaluation` must be an EvaluationSet; got {type(evaluation).__name__}.")
    scale = check_real("sigma", sigma)
    if not scale > 0:
        raise ValueError(
            f"`sigma` must be positive; got {sigma!r}. For one curve use `build_calibration`."
        )
    if evaluation.group is None:
        raise ValueError(
            "`evaluation` must have groups; got none. Pass `group=` to EvaluationSet, or use "
            "`build_calibration`."
        )
    check_labeled(evaluation)
    parts = evaluation.groups()
    names, terms = tuple(parts), platt_terms(evaluation)
    code = pd.Index(names).get_indexer(pd.Index(evaluation.group))
    most = max(LEAST_PARTS, CELLS // len(names))
    labeled = _count_groups(terms, evaluation, code, evaluation.is_labeled, most)
    missing = _count_groups(terms, evaluation, code, ~evaluation.is_labeled, most)
    return LabelModel(
        _write_model(terms, labeled, names, scale),
        RateCells(
            tuple(part.counts for part in parts.values()),
            missing.decision,
            missing.cells.count,
            missing.rates,
            groups=names,
            group=missing.group,
            # Parts keep the order of the rows, and so does a stable sort by group.
            rows=rank_rows(list(parts.values()), missing.of_row[np.argsort(code, kind="stable")]),
        ),
        method=f"{len(names)} groups partially pooled, Platt calibration on the {terms.scaled}",
        assumption="missing labels are like labeled ones of the same score and group; groups "
        f"differ by shifts from one normal law; log odds are linear in the {terms.scaled}",
        prior_var={
            "intercept": INTERCEPT_SD**2,
            "slope": terms.slope_var,
            "spread": scale**2 * (1 - 2 / math.pi),
        },
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(*note_labels(evaluation), *_note_groups(parts)),
        metrics=resolve_metrics(None, has_score=evaluation.y_score is not None),
    )


@dataclass(frozen=True, eq=False)
class _GroupCells:
    """Cells of all groups, one after the other, and the cell of each row that is counted."""

    cells: TermCells
    group: IntArray
    decision: IntArray
    of_row: IntArray

    def rates(self, draws: Draws) -> FloatArray:
        """Return P(y = 1) in each cell, shape (n_draws, n_cells)."""
        logit = draws["group_intercept"][:, self.group]
        logit += draws["slope"][:, None] * self.cells.terms[:, 0]
        return expit(np.clip(logit, -MOST_LOGIT, MOST_LOGIT))


def _count_groups(
    terms: ScoreTerms, evaluation: EvaluationSet, code: IntArray, rows: BoolArray, parts: int
) -> _GroupCells:
    """Count rows by group, decision and score."""
    used = np.flatnonzero(rows)
    slot = 2 * code[used] + evaluation.y_pred[used]
    order = np.argsort(slot, kind="stable")
    slots, starts = np.unique(slot[order], return_index=True)
    cells, of_row, start = [], np.zeros(evaluation.n_rows, dtype=np.int64), 0
    for place in np.split(order, starts[1:]) if len(slots) else [order]:
        part = assign_parts(terms.values, evaluation, used[place], parts=parts)
        cells.append(count_parts(terms.values, evaluation, used[place], part))
        of_row[used[place]] = start + part
        start += len(cells[-1].count)
    slot_of_cell = np.repeat(slots, [len(each.count) for each in cells] if len(slots) else 0)
    joined = TermCells(
        np.concatenate([each.terms for each in cells]),
        np.concatenate([each.count for each in cells]),
        np.concatenate([each.n_positive for each in cells]),
    )
    return _GroupCells(joined, slot_of_cell // 2, slot_of_cell % 2, of_row)


class _Standardized(pm.logprob.transforms.Transform):
    """Coordinates for NUTS: a variable less about its mean, over about its sd, given others.

    Parameters
    ----------
    moments : callable
        Parameters of the variable's prior -> mean and sd, both of PyTensor.
    """

    name = "standardized"
    ndim_supp = 0

    def __init__(self, moments: Callable[..., tuple[Any, Any]]) -> None:
        self.moments = moments

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return coordinates."""
        mean, sd = self.moments(*inputs)
        return (value - mean) / sd

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the variable."""
        mean, sd = self.moments(*inputs)
        return mean + sd * value

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log of what a coordinate is stretched by."""
        return pm.math.log(self.moments(*inputs)[1]) + 0 * value


@dataclass(frozen=True, eq=False)
class _RoughFit:
    """About where labels alone put the intercept of each group, and with what precision.

    Offsets in units of the spread suit groups with few labels and leave a narrow curved ridge
    where there are many; intercepts themselves do the reverse. Coordinates around this fit lie
    between: given the spread, they are nearly standard normal for any number of labels. They
    change how the sampler moves, not the model.
    """

    place: FloatArray
    weight: FloatArray

    def common(self, *inputs: Any) -> tuple[Any, Any]:
        """Return mean and sd of the common intercept given the spread, the last input."""
        each = self.weight / (1 + self.weight * inputs[-1] ** 2)
        precision = INTERCEPT_SD**-2 + each.sum()
        return (each * self.place).sum() / precision, precision**-0.5

    def own(self, *inputs: Any) -> tuple[Any, Any]:
        """Return mean and sd of each intercept given the common one and the spread."""
        middle, spread = inputs[-2:]
        share = self.weight * spread**2
        return (middle + share * self.place) / (1 + share), spread * (1 + share) ** -0.5


def _fit_roughly(labeled: _GroupCells, n_groups: int) -> _RoughFit:
    """Fit intercepts by Newton steps, each drawn to the common one by one unit of weight."""
    common, slope = fit_quickly(labeled.cells)
    x = slope * labeled.cells.terms[:, 0]
    place: FloatArray = np.full(n_groups, common)
    weight: FloatArray = np.zeros(n_groups)
    group, count, positive = labeled.group, labeled.cells.count, labeled.cells.n_positive
    for _ in range(FIT_STEPS):
        p = expit(place[group] + x)
        excess = _total(group, count * p - positive, n_groups) + place - common
        weight = _total(group, count * p * (1 - p), n_groups)
        place = place - np.clip(excess / (weight + 1), -1.0, 1.0)
    return _RoughFit(place, weight)


def _total(group: IntArray, weight: FloatArray, n_groups: int) -> FloatArray:
    return np.bincount(group, weight, n_groups).astype(np.float64)


def _write_model(
    terms: ScoreTerms, labeled: _GroupCells, names: tuple[str, ...], scale: float
) -> pm.Model:
    fit = _fit_roughly(labeled, len(names))
    with pm.Model(coords={"group": names}) as model:
        slope = pm.LogNormal("slope", 0.0, terms.log_slope_sd)
        spread = pm.HalfNormal("spread", scale)
        # A normal variable that does not depend on the spread; its coordinates do.
        intercept = pm.CustomDist(
            "intercept",
            spread,
            logp=lambda value, _: pm.logp(pm.Normal.dist(0.0, INTERCEPT_SD), value),
            random=lambda _, rng=None, size=None: rng.normal(0.0, INTERCEPT_SD, size),
            default_transform=_Standardized(fit.common),
        )
        own = pm.Normal(
            "group_intercept",
            intercept,
            spread,
            dims="group",
            default_transform=_Standardized(fit.own),
        )
        group = pm.Data("labels_group", labeled.group)
        observe_labels("labels", labeled.cells, lambda x: own[group] + slope * x[:, 0])
    return model


def _note_groups(parts: dict[str, EvaluationSet]) -> tuple[str, ...]:
    bare = [name for name, part in parts.items() if not part.n_labeled]
    if not bare:
        return ()
    which = "group" if len(bare) == 1 else "groups"
    return (
        f"No row of {which} {listed(bare)} is labeled: the rates there come from the other groups.",
    )
