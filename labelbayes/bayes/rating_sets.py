"""Items with two options that may both be valid: response sets, rater error and the judge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from labelbayes._checks import FloatArray, IntArray, check_type
from labelbayes.bayes.cells import RateCells
from labelbayes.bayes.model import Draws, LabelModel
from labelbayes.bayes.stack import pm
from labelbayes.data.evaluation_set import Counts
from labelbayes.data.ratings import Ratings
from labelbayes.data.verdicts import read_verdicts
from labelbayes.laws.bins import check_beta_pair
from labelbayes.metrics.confusion import CountMetric

#: Rater error stays below chance, where it would exchange the two options.
CHANCE = 0.5
#: Valid sets {A}, {B} and {A, B}, and "not elicited".
ONLY_A, ONLY_B, BOTH, NOT_ELICITED = range(4)
#: Log probability of a set that the elicited one rules out, and the smallest probability.
BARRED, TINY = -1e9, 1e-300


def _share_valid(tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> FloatArray:
    """Return valid verdicts over all: they stand in the column of predicted positives."""
    total = tp + fp
    return np.where(total > 0, tp, np.nan) / np.where(total > 0, total, 1.0)


VALID_MATCH = CountMetric("valid_match", "there are no items", _share_valid)


@dataclass(frozen=True, eq=False)
class RatingTable:
    """Distinct rows of the data, and how many items have them.

    Parameters
    ----------
    n_a, n_b : ndarray of int, shape (n_rows,)
        Forced choices of either option.
    judge : ndarray of int, shape (n_rows,)
        The judge's verdict: 0, 1, or -1 where it is missing.
    valid : ndarray of int, shape (n_rows,)
        The elicited set: 0 {A}, 1 {B}, 2 {A, B}, 3 not elicited.
    count : ndarray of int, shape (n_rows,)
        Items.
    """

    n_a: IntArray
    n_b: IntArray
    judge: IntArray
    valid: IntArray
    count: IntArray


def build_rating_sets(
    ratings: Ratings, y_judge: object, *, error: tuple[float, float] = (1, 4)
) -> LabelModel:
    r"""Model which of two options are valid for each item, how raters err, and how a judge does.

    Each item has a valid set :math:`V`: {A}, {B} or both. Raters choose evenly inside it, and
    outside with a probability below chance; the judge's verdict is valid with a probability where
    one option is, and always where both are. What is valid is never drawn: it is summed out.

    .. math::
       \theta &\sim \mathrm{Dirichlet}(1, 1, 1), \quad
       \epsilon = e / 2,\ e \sim \mathrm{Beta}(a, b), \quad
       \mathrm{acc} \sim \mathrm{Beta}(1, 1) \\
       P(\text{item}) &= \sum_V \theta_V\, P(n_A, n_B \mid V, \epsilon)\,
       P(\text{verdict} \mid V, \mathrm{acc})

    Parameters
    ----------
    ratings : Ratings
        Of two options. Response sets, where elicited, are taken for the valid sets (of several
        for one item, their union).
    y_judge : array_like, shape (n_items,), or Series or mapping by item
        The judge's verdicts, as in `bound_response_sets`.
    error : tuple of float, default (1, 4)
        Beta parameters of twice the rater error: mean 0.1.

    Returns
    -------
    LabelModel
        Unsampled. ``theta`` (``response_set``), ``error`` in (0, 1/2), ``accuracy``; derived
        ``rho`` = P(both valid) and ``omega`` (``option``) = P(option valid). Its metric is
        ``valid_match``, the share of valid verdicts, M*.

    Raises
    ------
    ValueError
        If there are more than two options, a verdict is no option, or `error` is no pair of
        positive numbers.
    TypeError
        If `ratings` is no Ratings.

    See Also
    --------
    bound_response_sets : Bounds that need no model, for any number of options.

    Notes
    -----
    **Assumes** that all raters err alike and independently, and choose evenly where both options
    are valid; that a judge is right by definition where both are valid, and as often right on
    items with one valid option whichever it is. A missing verdict is missing at random given the
    ratings: `bound_response_sets` counts it as wrong and as right.

    **Not identified** by one forced choice per item: neither rho nor the rater error; both are
    then mostly their priors. Response sets of some items identify rho, repeated ratings both.
    An uneven choice inside a set is confounded with theta.

    Rater error is kept below chance: above it the model has a mirror image (options exchanged,
    1 - error, 1 - accuracy), which chains can sit in without a divergence. With two ratings per
    item and no response sets use ``target_accept=0.95`` and more draws.

    The cost depends on the number of distinct rows, not on that of items.

    **Oracle.** A grid over theta, error and accuracy, with the same sum over valid sets.

    References
    ----------
    .. [1] L. Guerdan et al., "Validating LLM-as-a-judge systems under rating indeterminacy",
       arXiv:2503.05965, 2025.
    .. [2] A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates
       using the EM algorithm", Applied Statistics 28(1), 20-28, 1979.

    Examples
    --------
    >>> ratings = Ratings([1, 1, 2, 2], ["ann", "bob"] * 2, ["yes", "no", "no", "no"])
    >>> label_model = build_rating_sets(ratings, ["no", "no"])
    >>> sorted(variable.name for variable in label_model.model.free_RVs)
    ['accuracy', 'scaled_error', 'theta']
    """
    check_type("ratings", ratings, Ratings)
    if ratings.n_options != 2:
        raise ValueError(
            f"`ratings` must have two options for `build_rating_sets`; got {ratings.n_options}. "
            "With more options, how raters choose inside a set is not identified: use "
            "`bound_response_sets`, or merge options into valid and not."
        )
    a, b = check_beta_pair("error", error)
    choice = read_verdicts("y_judge", y_judge, ratings).choice
    table = _tabulate(ratings, choice)
    is_known = (table.valid != NOT_ELICITED) & (table.judge >= 0)
    n_known = int(table.count[is_known].sum())
    n_right = int(table.count[is_known & _is_right(table)].sum())
    hidden = _take(table, ~is_known)
    coords = {
        "response_set": ["first only", "second only", "both"],
        "option": [str(option) for option in ratings.options],
    }
    with pm.Model(coords=coords) as model:
        theta = pm.Dirichlet("theta", np.ones(3), dims="response_set")
        rater_error = pm.Deterministic("error", CHANCE * pm.Beta("scaled_error", a, b))
        accuracy = pm.Beta("accuracy", 1.0, 1.0)
        pm.Deterministic("rho", theta[BOTH])
        pm.Deterministic("omega", theta[:2] + theta[BOTH], dims="option")
        powers, constant = _design(table)
        # A step of the sampler may reach an end to the last bit, and 0 times -inf is nothing.
        parts = pm.math.stack([1 - rater_error, rater_error, accuracy, 1 - accuracy])
        logs = pm.math.log(pm.math.maximum(parts, TINY))
        log_theta = pm.math.log(pm.math.maximum(theta, TINY))
        log_each = (pm.math.dot(powers, logs) + constant).reshape((-1, 3)) + log_theta
        log_rows = pm.math.logsumexp(log_each, axis=1, keepdims=False)
        pm.Potential("ratings", pm.math.dot(log_rows, table.count))
    unknown = ratings.n_items - n_known
    return LabelModel(
        model,
        RateCells(
            (Counts(n_right, n_known - n_right, 0, 0, unknown, 0),),
            np.ones(len(hidden.count), dtype=np.int64),
            hidden.count,
            partial(_rates, hidden),
        ),
        method="response sets of two options, with rater error",
        assumption="raters err alike, below chance, and choose evenly among valid options; a judge "
        "is right wherever both options are valid",
        prior_var={
            "rho": 1 / 18,
            "error": CHANCE**2 * a * b / ((a + b) ** 2 * (a + b + 1)),
            "accuracy": 1 / 12,
        },
        n_labeled=n_known,
        n_unlabeled=unknown,
        notes=_notes(ratings, table),
        metrics=(VALID_MATCH,),
    )


def _tabulate(ratings: Ratings, choice: IntArray) -> RatingTable:
    counts, sets = ratings.count_array, ratings.set_array
    elicited = np.where(sets.all(axis=1), BOTH, np.where(sets[:, 0], ONLY_A, ONLY_B))
    valid = np.where(ratings.has_set, elicited, NOT_ELICITED)
    rows = np.column_stack([counts, choice, valid])
    distinct, count = np.unique(rows, axis=0, return_counts=True)
    n_a, n_b, judge, code = distinct.T
    return RatingTable(n_a, n_b, judge, code, count)


def _take(table: RatingTable, rows: np.ndarray) -> RatingTable:
    return RatingTable(
        table.n_a[rows], table.n_b[rows], table.judge[rows], table.valid[rows], table.count[rows]
    )


def _is_right(table: RatingTable) -> np.ndarray:
    return (table.valid == BOTH) | (table.valid == table.judge)


def _design(table: RatingTable) -> tuple[FloatArray, FloatArray]:
    """Return how log P(row | valid set) is put together, for each row and then each set.

    Powers of (1 - error, error, accuracy, 1 - accuracy), shape (3 n_rows, 4), and what does not
    depend on them, shape (3 n_rows,).
    """
    says_a, says_b = (table.judge == 0).astype(float), (table.judge == 1).astype(float)
    none = np.zeros(len(table.count))
    powers = np.stack(
        [
            np.column_stack([table.n_a, table.n_b, says_a, says_b]),
            np.column_stack([table.n_b, table.n_a, says_b, says_a]),
            np.column_stack([none, none, none, none]),
        ],
        axis=1,
    )
    by_chance = (table.n_a + table.n_b + says_a + says_b) * math.log(CHANCE)
    constant = np.column_stack([none, none, by_chance])
    is_elicited = (table.valid != NOT_ELICITED)[:, None]
    constant[is_elicited & (table.valid[:, None] != np.arange(3))] = BARRED
    return powers.reshape(-1, 4), constant.ravel()


def _rates(table: RatingTable, draws: Draws) -> FloatArray:
    """Return P(verdict is valid | row) for each draw, shape (n_draws, n_rows)."""
    error, accuracy = draws["error"], draws["accuracy"]
    powers, constant = _design(table)
    parts = np.stack([1 - error, error, accuracy, 1 - accuracy], axis=1)
    # A draw may sit on an end to the last bit.
    logs = np.log(np.maximum(parts, TINY)) @ powers.T + constant
    log_each = logs.reshape(len(error), -1, 3) + np.log(np.maximum(draws["theta"], TINY))[:, None]
    weight = np.exp(log_each - log_each.max(axis=-1, keepdims=True))
    weight /= weight.sum(axis=-1, keepdims=True)
    acc = accuracy[:, None]
    right_a = np.where(table.judge == 0, 1.0, np.where(table.judge == 1, 0.0, acc))
    right_b = np.where(table.judge == 1, 1.0, np.where(table.judge == 0, 0.0, acc))
    return np.clip(weight[..., 0] * right_a + weight[..., 1] * right_b + weight[..., 2], 0.0, 1.0)


def _notes(ratings: Ratings, table: RatingTable) -> tuple[str, ...]:
    notes = []
    most, n_sets = int((table.n_a + table.n_b).max()), int(ratings.has_set.sum())
    if most <= 1 and not n_sets:
        notes.append(
            "One forced choice per item identifies neither the share of items with two valid "
            "options nor the rater error: both are mostly their priors. Elicit response sets of "
            "some items, or ask several raters."
        )
    elif most <= 1:
        notes.append(
            f"One forced choice per item: the {n_sets:,} response sets identify the share of items "
            "with two valid options, but not the rater error."
        )
    n_missing = int(table.count[table.judge < 0].sum())
    if n_missing:
        notes.append(
            f"{n_missing:,} verdicts are missing and taken as missing at random given the ratings; "
            "`bound_response_sets` counts them as wrong and as right."
        )
    return tuple(notes)
