"""Areas under the ROC curve by enumeration, and rows for the tests of their laws."""

import itertools
import math
from typing import NamedTuple

import numpy as np

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.impute import impute
from labelbayes.laws.missing_cells import Fits, MissingCells, cells_and_fits
from labelbayes.laws.rank_sums import RankSums
from labelbayes.laws.ranked_rows import RankedRows


class Prepared(NamedTuple):
    """What the laws need of an evaluation and a belief."""

    ranked: RankedRows
    cells: MissingCells
    fits: Fits

    @property
    def ranks(self) -> RankSums:
        return RankSums.from_cells(*self)


def prepare(evaluation: EvaluationSet, belief) -> Prepared:
    """Return rows in rank order; ``belief``: an Imputation or an array of p."""
    ranked = RankedRows.from_evaluation(evaluation)
    made = impute(evaluation, belief) if isinstance(belief, (list, np.ndarray)) else belief
    return Prepared(ranked, *cells_and_fits(ranked, evaluation, made))


class Listed(NamedTuple):
    """A law as a list: values given "defined", ascending, and their probabilities."""

    defined_prob: float
    undefined_prob: float
    support: np.ndarray
    pmf: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.support @ self.pmf) if len(self.support) else math.nan

    @property
    def sd(self) -> float:
        if not len(self.support):
            return math.nan
        return math.sqrt((self.support - self.mean) ** 2 @ self.pmf)


def enumerate_area(y_true, y_score, p) -> Listed:
    """List all completions of the missing labels; ties count one half, pair by pair."""
    y, s, q = (np.asarray(values, dtype=float) for values in (y_true, y_score, p))
    missing = np.flatnonzero(np.isnan(y))
    wins = (s[:, None] > s) + 0.5 * (s[:, None] == s)
    values, weights = [], []
    for labels in itertools.product([0.0, 1.0], repeat=len(missing)):
        full = y.copy()
        full[missing] = labels
        positive, negative = full == 1, full == 0
        weights.append(np.prod(np.where(np.array(labels) == 1, q[missing], 1 - q[missing])))
        pairs = wins[np.ix_(positive, negative)]
        values.append(pairs.mean() if pairs.size else math.nan)
    value, weight = np.array(values), np.array(weights)
    defined = ~np.isnan(value)
    possible = defined & (weight > 0)
    support = np.unique(value[possible].round(12))
    pmf = np.array([weight[possible & (abs(value - x) < 1e-10)].sum() for x in support])
    total = float(weight[defined].sum())
    return Listed(total, float(weight[~defined].sum()), support, pmf / max(total, 1e-300))


#: Beliefs that have made rank sums or counts lose their digits, or might.
BELIEFS = {
    "any": lambda rng, n: rng.random(n),
    "one half": lambda rng, n: np.full(n, 0.5),
    "nearly never": lambda rng, n: rng.random(n) * 1e-9,
    "nearly always": lambda rng, n: 1.0 - rng.random(n) * 1e-7,
    "some certain": lambda rng, n: rng.choice([0.0, 1.0, 0.3, 0.5], n),
}


def small_rows(rng: np.random.Generator, *, n: int = 9):
    """Return labels, some missing, and scores, some tied."""
    n_levels = int(rng.integers(1, n + 3))
    score = rng.integers(n_levels, size=n) / 3.0 if n_levels < n else rng.normal(size=n)
    return np.where(rng.random(n) < rng.random(), np.nan, rng.integers(2, size=n)), score
