"""What scores of known positives and unlabeled rows say of beta: at most how large it is."""

from __future__ import annotations

import math

import numpy as np

from labelbayes._checks import (
    CI_PROB,
    FloatArray,
    IntArray,
    check_open_unit,
    check_type,
    check_whole,
    make_rng,
)
from labelbayes.bounds.rank_bands import one_sample_width
from labelbayes.bounds.score_blocks import ScoreBlocks, make_blocks
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.results.distribution import DrawsLaw
from labelbayes.results.estimates import Bounds, Estimates
from labelbayes.results.interval import Interval

SCAR = "known positives are a random sample of all positives (SCAR)"
#: Beta is estimated from cutoffs that at least this many known positives reach.
FEWEST_KNOWN = 5


def bound_beta(evaluation: EvaluationSet, *, ci_prob: float = CI_PROB) -> Bounds:
    """Return the largest share of positives among unlabeled rows that the scores allow.

    Of the latent positives a share T lies above a cutoff, so the unlabeled rows above it are at
    least beta T of all: beta is at most F / T. Below a cutoff the same holds.

    Parameters
    ----------
    evaluation : EvaluationSet
        Known positives (1) and unlabeled rows (nan).
    ci_prob : float, default 0.95
        Level, in (0, 1).

    Returns
    -------
    Bounds
        Metric ``beta``, from 0 to the upper limit: nothing in such data says that beta is not 0.

    Raises
    ------
    ValueError
        If there is no known positive or no unlabeled row.

    See Also
    --------
    estimate_beta : A published estimator of beta.

    Notes
    -----
    **Assumes** SCAR. T and F are taken at the pessimistic ends of two
    Dvoretzky-Kiefer-Wolfowitz bands of half the level each, so the limit holds for all cutoffs
    at once, for the population that rows are drawn from.

    References
    ----------
    .. [1] G. Blanchard, G. Lee and C. Scott, "Semi-supervised novelty detection", Journal of
       Machine Learning Research 11, 2973-3009, 2010.

    Examples
    --------
    >>> y_true = [1] * 40 + [None] * 400
    >>> y_score = [0.9] * 40 + [0.9] * 100 + [0.1] * 300
    >>> print(bound_beta(EvaluationSet(y_true, y_score))["beta"])
    [0.000, 0.423] (95% confidence)
    """
    share = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
    known, unlabeled = _shares(_check_rows(evaluation))
    part = 1 - (1 - share) / 2
    moved = [one_sample_width(int(rows), part) for rows in _sizes(make_blocks(evaluation))]
    ratios = [1.0]
    for positive, rows in ((known, unlabeled), (1 - known, 1 - unlabeled)):
        least = positive - moved[0]
        is_usable = least > 0
        ratios.append(float(np.min((rows + moved[1])[is_usable] / least[is_usable], initial=1.0)))
    return Bounds(
        {"beta": Interval(0.0, min(ratios), share, "confidence")},
        method="largest beta that two bands of the scores allow",
        assumption=SCAR,
        target="population",
        statement="confidence",
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=("Beta is bounded from above only: it is not identified.",),
    )


def estimate_beta(
    evaluation: EvaluationSet,
    *,
    n_resamples: int = 200,
    rng: np.random.Generator | int | None = None,
) -> Estimates:
    """Estimate the share of positives among unlabeled rows by the best bin of top scores.

    Among cutoffs c the one is chosen that minimizes an upper confidence limit of F(c) / T(c), the
    shares of unlabeled rows and of known positives above it; the estimate is the ratio there.

    Parameters
    ----------
    evaluation : EvaluationSet
        Known positives (1) and unlabeled rows (nan).
    n_resamples : int, default 200
        Bootstrap samples of known positives and of unlabeled rows for its uncertainty.
    rng : numpy.random.Generator, int, optional
        Where they come from.

    Returns
    -------
    Estimates
        Metric ``beta``, as the law of the bootstrap samples.

    Raises
    ------
    ValueError
        If there is no known positive or no unlabeled row.

    See Also
    --------
    bound_beta : What the data imply without more assumptions than SCAR.

    Notes
    -----
    **Assumes** SCAR and that some top scores belong to positives alone; where they do not, it
    estimates an upper limit of beta (of the population). The cutoff minimizes
    F / T + (1 + gamma) / T (sqrt(ln(4 / delta) / 2 n_u) + sqrt(ln(4 / delta) / 2 n_p)) with
    gamma = 0.01 and delta = 0.1 as in [1]_. The bootstrap does not know the bias that is left
    where positives and negatives overlap at the top.

    Shown in the notebook 05_positive_unlabeled.

    References
    ----------
    .. [1] S. Garg, Y. Wu, A. Smola, S. Balakrishnan and Z. Lipton, "Mixture proportion estimation
       and PU learning: a modern approach", NeurIPS 2021.

    Examples
    --------
    >>> y_true = [1] * 40 + [None] * 400
    >>> y_score = [0.9] * 40 + [0.9] * 100 + [0.1] * 300
    >>> round(estimate_beta(EvaluationSet(y_true, y_score), rng=0)["beta"].mean, 2)
    0.25
    """
    blocks = _check_rows(evaluation)
    n_draws = check_whole("n_resamples", n_resamples, least=1)
    generator = make_rng(rng)
    sizes = _sizes(blocks)
    known = np.diff(blocks.known_positive) / sizes[0]
    unlabeled = np.diff(blocks.unlabeled) / sizes[1]
    draws = np.empty(n_draws)
    for i in range(n_draws):
        counts = [
            generator.multinomial(int(size), share)
            for size, share in zip(sizes, (known, unlabeled), strict=True)
        ]
        draws[i] = best_bin(np.cumsum(counts[0]), np.cumsum(counts[1]))
    found = best_bin(blocks.known_positive[1:], blocks.unlabeled[1:])
    return Estimates(
        {"beta": DrawsLaw(draws)},
        method=f"best bin of top scores, {n_draws:,} bootstrap samples",
        assumption=f"{SCAR}; some top scores are positive alone",
        target="population",
        statement="confidence",
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(
            f"From all rows, without resampling: {found:.3f}.",
            "Where negatives reach the top scores too, this is too high.",
            *_describe_few(sizes),
        ),
    )


def best_bin(known: IntArray, unlabeled: IntArray) -> float:
    """Return the ratio of shares at the cutoff with the smallest upper limit.

    Parameters
    ----------
    known, unlabeled : ndarray of int, shape (k,)
        Rows down to each cutoff; the last entries are all.

    Returns
    -------
    float
        Estimate of beta, at most 1.

    Examples
    --------
    >>> best_bin(np.array([90, 100]), np.array([300, 1000]))
    0.3333333333333333
    """
    gamma, delta = 0.01, 0.1
    n_known, n_unlabeled = int(known[-1]), int(unlabeled[-1])
    is_usable = known >= min(FEWEST_KNOWN, n_known)
    share = known[is_usable] / n_known
    ratio = unlabeled[is_usable] / n_unlabeled / share
    slack = math.sqrt(math.log(4 / delta) / 2) * (n_known**-0.5 + n_unlabeled**-0.5)
    return float(min(1.0, ratio[np.argmin(ratio + (1 + gamma) * slack / share)]))


def _check_rows(evaluation: EvaluationSet) -> ScoreBlocks:
    check_type("evaluation", evaluation, EvaluationSet)
    blocks = make_blocks(evaluation)
    for n, what in ((blocks.n_known_positive, "known positive"), (blocks.n_unlabeled, "unlabeled")):
        if not n:
            raise ValueError(f"`evaluation` must hold {what} rows to say anything of beta.")
    return blocks


def _describe_few(sizes: tuple[int, int]) -> list[str]:
    """Say where there are so few rows that resampling them says little."""
    if min(sizes) >= FEWEST_KNOWN:
        return []
    said = (
        f"With {sizes[0]:,} known positives and {sizes[1]:,} unlabeled rows the bootstrap says "
        "little of the uncertainty; see `bound_beta`."
    )
    return [said]


def _sizes(blocks: ScoreBlocks) -> tuple[int, int]:
    return blocks.n_known_positive, blocks.n_unlabeled


def _shares(blocks: ScoreBlocks) -> tuple[FloatArray, FloatArray]:
    """Return the shares of known positives and unlabeled rows above each cutoff."""
    n_known, n_unlabeled = _sizes(blocks)
    return blocks.known_positive[1:] / n_known, blocks.unlabeled[1:] / n_unlabeled
