"""Placements of hidden positives by brute force, shared by the tests of positive-unlabeled data."""

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest

from labelbayes.data.evaluation_set import EvaluationSet


class Case(NamedTuple):
    """A small positive-unlabeled set, a band at its distinct scores, and every labeling inside."""

    evaluation: EvaluationSet
    n_latent: int
    low: np.ndarray
    high: np.ndarray
    labelings: list[np.ndarray]

    @property
    def beta(self) -> float:
        return self.n_latent / self.evaluation.n_unlabeled


def make_case(rng: np.random.Generator, *, has_ties: bool, most: int) -> Case:
    n_known, n_negative, n_unlabeled = rng.integers([1, 0, 2], [4, 3, most + 1])
    y_true = np.repeat([1.0, 0.0, np.nan], [n_known, n_negative, n_unlabeled])
    n_scores = int(rng.integers(2, 14))
    score = rng.integers(0, n_scores, len(y_true)) if has_ties else rng.permutation(len(y_true))
    n_latent = int(rng.integers(1, n_unlabeled + 1))
    distinct, width = np.unique(score)[::-1], rng.uniform(0, 0.8)
    share = np.array([(score[y_true == 1] >= cut).mean() for cut in distinct])
    low, high = np.clip(share - width, 0, 1), np.clip(share + width, 0, 1)
    labelings = []
    for chosen in itertools.combinations(np.flatnonzero(np.isnan(y_true)), n_latent):
        places = np.array(chosen)
        above = np.array([(score[places] >= cut).sum() for cut in distinct])
        if (above < low * n_latent - 1e-9).any() or (above > high * n_latent + 1e-9).any():
            continue
        labels = np.nan_to_num(y_true)
        labels[places] = 1
        labelings.append(labels)
    evaluation = EvaluationSet(y_true, score, pos_label=1, threshold=float(np.median(distinct)))
    return Case(evaluation, n_latent, low, high, labelings)


@pytest.fixture(scope="session")
def placements() -> Callable[..., Iterator[Case]]:
    """Return a function that gives random cases: seed, number, ties, most unlabeled rows."""

    def cases(seed: int, n: int, *, has_ties: bool = True, most: int = 8) -> Iterator[Case]:
        rng = np.random.default_rng(seed)
        for _ in range(n):
            yield make_case(rng, has_ties=has_ties, most=most)

    return cases


def make_known_sets(n: int, *, n_known: int, seed: int, n_negative: int = 0) -> EvaluationSet:
    """Positives N(1, 1) and negatives N(0, 1), half each, rounded so that scores tie."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) < n // 2
    y_true = np.full(n, np.nan)
    y_true[rng.choice(n // 2, n_known, replace=False)] = 1
    y_true[n // 2 + rng.choice(n - n // 2, n_negative, replace=False)] = 0
    return EvaluationSet(y_true, np.round(rng.normal(truth, 1.0), 2), pos_label=1)


@pytest.fixture(scope="session")
def known_sets() -> Callable[..., EvaluationSet]:
    """Return a function that gives known positives among unlabeled rows."""
    return make_known_sets
