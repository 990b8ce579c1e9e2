"""Simulated raters and a judge whose valid answers are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelbayes._checks import BoolArray, FloatArray, IntArray, check_unit, check_whole, make_rng
from labelbayes.data.ratings import Ratings

#: Name of the rater whose response sets are the valid sets.
AUDITOR = "auditor"


@dataclass(frozen=True, eq=False)
class SimulatedRatings:
    """Ratings, a judge, and the truth behind them.

    Parameters
    ----------
    ratings : Ratings
        Forced choices, and response sets of audited items.
    y_judge : ndarray of str (object), shape (n_items,)
        The judge's verdicts.
    valid : ndarray of bool, shape (n_items, n_options)
        Which options are valid.
    valid_match : float
        Share of items whose verdict is valid, M*.
    indeterminate_rate : float
        Share of items with several valid options.
    """

    ratings: Ratings
    y_judge: np.ndarray
    valid: BoolArray
    valid_match: float
    indeterminate_rate: float


def simulate_ratings(
    n_items: int,
    *,
    n_options: int = 3,
    n_ratings: int = 3,
    indeterminate_rate: float = 0.4,
    rater_error: float = 0.0,
    herding: float = 0.0,
    group_pull: float = 0.0,
    judge_accuracy: float = 0.7,
    n_audited: int = 0,
    rng: np.random.Generator | int | None = None,
) -> SimulatedRatings:
    """Return ratings of items of which some have several valid answers.

    Parameters
    ----------
    n_items : int >= 1
        Items.
    n_options : int >= 2, default 3
        Options, the same for all items.
    n_ratings : int >= 1, default 3
        Forced choices per item, by raters drawn from as many (at least two).
    indeterminate_rate : float, default 0.4
        P(several options are valid).
    rater_error : float, default 0.0
        P(a rater's choice lies outside the valid set), where there is an outside.
    herding : float, default 0.0
        P(a rater repeats the item's first rater instead of choosing).
    group_pull : float, default 0.0
        P(a rater takes the reading of the instruction that the rater's group has of this item,
        which is one valid option); otherwise any valid option. Raters form two groups.
    judge_accuracy : float, default 0.7
        P(the judge's verdict is valid), where there is an outside.
    n_audited : int, default 0
        Items, the first ones, whose valid set is elicited from an "auditor".
    rng : numpy.random.Generator, int, optional
        Where everything comes from.

    Returns
    -------
    SimulatedRatings
        Ratings, verdicts and the truth; options are "A", "B", ...

    Raises
    ------
    ValueError
        If an option is not as above.
    TypeError
        If an argument is no number.

    Notes
    -----
    The causes run from the instruction to the answers: an item's instruction leaves one or
    several readings, which make its valid set (one option, or 2 to `n_options` with equal
    chance, any options alike). A rater reads it in a way that may depend on the rater's group,
    chooses a valid option, or errs; the judge chooses a valid option or errs, knowing nothing of
    the raters.

    Examples
    --------
    >>> simulated = simulate_ratings(1_000, indeterminate_rate=0.5, rng=0)
    >>> simulated.valid.sum(axis=1).min(), simulated.ratings.n_scored
    (np.int64(1), 3000)
    """
    size = check_whole("n_items", n_items, least=1)
    k = check_whole("n_options", n_options, least=2)
    if k > 26:
        raise ValueError(f"`n_options` must be at most 26, one per letter; got {k}.")
    per_item = check_whole("n_ratings", n_ratings, least=1)
    n_audits = check_whole("n_audited", n_audited, least=0)
    if n_audits > size:
        raise ValueError(f"`n_audited` must not pass the {size} items; got {n_audits}.")
    rho, error = (
        check_unit("indeterminate_rate", indeterminate_rate),
        check_unit("rater_error", rater_error),
    )
    copy, pull = check_unit("herding", herding), check_unit("group_pull", group_pull)
    accuracy = check_unit("judge_accuracy", judge_accuracy)
    generator = make_rng(rng)
    n_raters = max(2, per_item)
    valid = _draw_valid(size, k, rho, generator)
    reading = np.stack([_pick(valid, np.zeros(size), generator) for _ in range(2)], axis=1)
    rater = np.argsort(generator.random((size, n_raters)), axis=1)[:, :per_item]
    choice = np.empty((size, per_item), dtype=np.int64)
    for r in range(per_item):
        own = _pick(valid, np.full(size, error), generator)
        is_pulled = valid[np.arange(size), own] & (generator.random(size) < pull)
        own = np.where(is_pulled, reading[np.arange(size), rater[:, r] % 2], own)
        repeats = (r > 0) & (generator.random(size) < copy)
        choice[:, r] = np.where(repeats, choice[:, 0], own)
    judge = _pick(valid, np.full(size, 1 - accuracy), generator)
    letters = np.array([chr(ord("A") + j) for j in range(k)], dtype=object)
    item = np.repeat(np.arange(size), per_item)
    answer = [*letters[choice.ravel()]]
    answer += [letters[row].tolist() for row in valid[:n_audits]]
    raters = np.array([f"rater {r + 1}" for r in range(n_raters)], dtype=object)
    groups = np.array(["group 1", "group 2"], dtype=object)
    ratings = Ratings(
        np.concatenate([item, np.arange(n_audits)]).astype(np.int64),
        [*raters[rater.ravel()], *[AUDITOR] * n_audits],
        answer,
        options=list(letters),
        rater_group=[*groups[rater.ravel() % 2], *[AUDITOR] * n_audits],
    )
    return SimulatedRatings(
        ratings,
        letters[judge],
        valid,
        float(valid[np.arange(size), judge].mean()),
        float((valid.sum(axis=1) > 1).mean()),
    )


def _draw_valid(n: int, k: int, rho: float, rng: np.random.Generator) -> BoolArray:
    is_several = rng.random(n) < rho
    size = np.where(is_several, rng.integers(2, k + 1, n), 1)
    rank = np.argsort(np.argsort(rng.random((n, k)), axis=1), axis=1)
    return rank < size[:, None]


def _pick(valid: BoolArray, error: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return a valid option of each item, or with a probability one that is not."""
    n, k = valid.shape
    errs = (rng.random(n) < error) & (valid.sum(axis=1) < k)
    wanted = valid ^ errs[:, None]
    return np.where(wanted, rng.random((n, k)), -1.0).argmax(axis=1)
