"""Posterior of whole curves from known positives, unlabeled rows and a law of beta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import xarray as xr

from labelbayes._checks import FloatArray, check_type, check_whole, make_rng
from labelbayes._progress import track
from labelbayes.bayes.convergence import diagnose
from labelbayes.bayes.model import BayesTarget, Draws, LabelModel
from labelbayes.bayes.posterior import Posterior
from labelbayes.bayes.stack import pm, replace_posterior, wrap
from labelbayes.bounds.beta_prior import BetaPrior
from labelbayes.bounds.score_blocks import ScoreBlocks, make_blocks
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.laws.missing_counts import CountPair
from labelbayes.laws.population import Cells
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.ranking import RANKING_METRICS

#: Places at which curves are kept.
GRID = np.linspace(0.0, 1.0, 101)
N_CHAINS = 4
#: Weights drawn at a time.
BLOCK = 1_000_000
AREAS = ("roc_auc", "average_precision")
LARGEST_BETA = np.nextafter(1.0, 0.0)
ROUND_OFF = 1e-9
NO_MEAN = (
    "The law of beta reaches 1 so often (b is at most 1) that the ROC area has no mean: read its "
    "median and interval."
)


@dataclass(frozen=True, eq=False)
class CurvesOnly:
    """Completion of a model whose draws are curves: it has no tables.

    Parameters
    ----------
    known : tuple of Counts
        Labeled rows; one entry.
    groups : tuple of str, default ()
        None here.
    """

    known: tuple[Counts, ...]
    groups: tuple[str, ...] = ()

    def tables(
        self, draws: Draws, target: BayesTarget, rng: np.random.Generator
    ) -> tuple[Cells, Cells]:
        """Raise: curves have no confusion matrix.

        Parameters
        ----------
        draws : mapping of str to ndarray
            Not used.
        target : {"sample", "population", "rate"}
            Not used.
        rng : numpy.random.Generator
            Not used.

        Returns
        -------
        tuple of Cells
            Never.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            "`rank_bootstrap` draws curves and has no tables. Use `build_positive_unlabeled` for "
            "metrics at a cutoff."
        )

    def pairs(self, draws: Draws, group: int) -> list[CountPair]:
        """Raise: curves have no law of counts.

        Parameters
        ----------
        draws : mapping of str to ndarray
            Not used.
        group : int
            Not used.

        Returns
        -------
        list of tuple of IntegerLaw
            Never.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError("`exact=True` has no meaning for curves; use exact=False.")


def rank_bootstrap(
    evaluation: EvaluationSet,
    beta: BetaPrior,
    *,
    n_draws: int = 4_000,
    rng: np.random.Generator | int | None = None,
) -> Posterior:
    r"""Draw ROC curve, precision-recall curve and their areas from a Bayesian bootstrap.

    Known positives and unlabeled rows get random weights, beta is drawn from its law, and the
    identities of SCAR turn the two weighted rank distributions T and F into curves:

    .. math::
       \mathrm{FPR} = \frac{F - \beta T}{1 - \beta}, \qquad
       \mathrm{AUC} = \frac{\int T\, dF - \beta / 2}{1 - \beta}

    Parameters
    ----------
    evaluation : EvaluationSet
        Known positives (1), unlabeled rows (nan), and known negatives (0) if there are any.
    beta : BetaPrior
        Law of the share of positives among unlabeled rows, an audit included: the scores add
        nothing to it here.
    n_draws : int, default 4_000
        Draws, rounded up to a multiple of four.
    rng : numpy.random.Generator, int, optional
        Where they come from.

    Returns
    -------
    Posterior
        Independent draws for rows drawn like these: ``beta``, ``roc_auc``, ``average_precision``,
        ``tpr`` (dimension ``fpr``), ``precision`` (dimension ``recall``).

    Raises
    ------
    ValueError
        If there is no known positive or no unlabeled row.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    bound_positive_unlabeled : Bounds, over which `labelbayes.plots.plot_curves` lays these draws.
    build_positive_unlabeled : Metrics at one cutoff, which learn about beta from an audit.

    Notes
    -----
    **Assumes** that known positives are a random sample of all positives (SCAR), and independent
    rows. Known negatives keep weight 1: nobody says that they are a random sample.

    Weights are Dirichlet(1, ..., 1). A drawn false positive rate below 0 or above 1 is moved to
    the end of its range, and the rates are sorted so that the curve is monotone. The areas are not
    touched: a draw beyond [0, 1] is a beta that the scores contradict. Notes say how often. With
    b of at most 1 and no known negative the area has no mean, and a note says so. A model with one
    Dirichlet weight a bin was tried and left out: J pseudo-positives spread evenly pull the area
    toward 1/2.

    **Oracle.** The mean of the area is the integral of (A - beta / 2) / (1 - beta) over the law of
    beta, with A the observed area; its variance adds that of the placements over (n + 1).

    Shown in the notebook 12_bayes_beta.

    References
    ----------
    .. [1] D. B. Rubin, "The Bayesian bootstrap", Annals of Statistics 9(1), 130-134, 1981.
    .. [2] S. Jain, M. White and P. Radivojac, "Recovering true classifier performance in
       positive-unlabeled learning", AAAI 2017.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 1, None, None, None], [0.9, 0.4, 0.8, 0.3, 0.2])
    >>> posterior = rank_bootstrap(evaluation, BetaPrior(2, 8), n_draws=400, rng=0)
    >>> posterior.dataset["tpr"].dims
    ('chain', 'draw', 'fpr')
    """
    check_type("evaluation", evaluation, EvaluationSet)
    check_type("beta", beta, BetaPrior)
    size = -(-check_whole("n_draws", n_draws, least=1) // N_CHAINS)
    blocks = make_blocks(evaluation)
    for n, what in (
        (blocks.n_known_positive, "a known positive"),
        (blocks.n_unlabeled, "an unlabeled row"),
    ):
        if not n:
            raise ValueError(f"`evaluation` must hold {what}; there is none.")
    generator = make_rng(rng)
    columns, n_moved = _draw(blocks, beta, N_CHAINS * size, generator)
    notes = _describe_draws(columns, n_moved)
    if beta.b <= 1 and not blocks.n_known_negative:
        notes.append(NO_MEAN)
    dims = {"tpr": ("fpr",), "precision": ("recall",)}
    dataset = xr.Dataset(
        {
            name: (
                ("chain", "draw", *dims.get(name, ())),
                values.reshape(N_CHAINS, size, *values.shape[1:]),
            )
            for name, values in columns.items()
        },
        {"chain": np.arange(N_CHAINS), "draw": np.arange(size), "fpr": GRID, "recall": GRID},
    )
    with pm.Model() as model:
        pm.Beta("beta", beta.a, beta.b)
    label_model = LabelModel(
        model,
        CurvesOnly((evaluation.counts,)),
        method=f"Bayesian bootstrap of ranks, beta ~ Beta({beta.a:g}, {beta.b:g})",
        assumption="known positives are a random sample of all positives (SCAR)",
        prior_var={"beta": beta.var},
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=tuple(notes),
        # Only their names and reasons are asked for: the draws are made here.
        metrics=cast("tuple[CountMetric, ...]", tuple(RANKING_METRICS[name] for name in AREAS)),
    )
    container = wrap(dataset)
    attributes = {
        "method": label_model.method,
        "assumption": label_model.assumption,
        "target": "population",
        "n_labeled": label_model.n_labeled,
        "n_unlabeled": label_model.n_unlabeled,
    }
    replace_posterior(container, dataset, attributes)
    return Posterior(label_model, container, "population", diagnose(dataset[["beta", *AREAS]], 0))


def _describe_draws(columns: dict[str, FloatArray], n_moved: int) -> list[str]:
    """Say how often draws contradict the data."""
    notes = []
    n_draws = len(columns["beta"])
    if n_moved:
        notes.append(
            f"In {n_moved / n_draws:.1%} of draws a false positive rate left [0, 1] by more than "
            "0.001."
        )
    for name in AREAS:
        beyond = float(np.mean((columns[name] < -ROUND_OFF) | (columns[name] > 1 + ROUND_OFF)))
        if beyond:
            notes.append(
                f"In {beyond:.1%} of draws {name} lies outside [0, 1]: the scores contradict the "
                "beta drawn, and these draws are left as they are."
            )
    return notes


def _draw(
    blocks: ScoreBlocks, beta: BetaPrior, n_draws: int, rng: np.random.Generator
) -> tuple[dict[str, FloatArray], int]:
    """Return draws by name, and in how many a false positive rate had to be moved."""
    columns = {
        # A draw that rounds to 1 would leave no negative.
        "beta": np.minimum(rng.beta(beta.a, beta.b, n_draws), LARGEST_BETA),
        "roc_auc": np.empty(n_draws),
        "average_precision": np.empty(n_draws),
        "tpr": np.empty((n_draws, len(GRID))),
        "precision": np.empty((n_draws, len(GRID))),
    }
    n_moved = 0
    size = max(1, BLOCK // len(blocks.score))
    for start in track(range(0, n_draws, size), label="drawing curves"):
        part = slice(start, min(start + size, n_draws))
        share = columns["beta"][part, None]
        recall = _weigh(np.diff(blocks.known_positive), len(share), rng)
        unlabeled = _weigh(np.diff(blocks.unlabeled), len(share), rng) * blocks.n_unlabeled
        wrong = blocks.known_negative + unlabeled - share * blocks.n_unlabeled * recall
        negatives = blocks.n_known_negative + (1 - share) * blocks.n_unlabeled
        fpr = wrong / negatives
        n_moved += int(((fpr < -1e-3) | (fpr > 1 + 1e-3)).any(axis=1).sum())
        columns["roc_auc"][part] = _area(blocks, recall, unlabeled, share, negatives)
        # Of rows like these the known positives are a share, the hidden ones another.
        found = recall * (blocks.n_known_positive + share * blocks.n_unlabeled)
        called = recall * blocks.n_known_positive + blocks.known_negative + unlabeled
        precision = np.minimum(found / np.where(called > 0, called, 1.0), 1.0)
        columns["average_precision"][part] = (np.diff(recall) * precision[:, 1:]).sum(axis=1)
        # Rearranged, not pushed up: a running maximum would pull the curve to the right.
        fpr = np.sort(np.clip(fpr, 0.0, 1.0), axis=1)
        for i in range(len(share)):
            place = start + i
            columns["tpr"][place] = np.interp(GRID, fpr[i], recall[i])
            # Interpolated precision: the best at this recall or more.
            best = np.maximum.accumulate(precision[i, :0:-1])[::-1]
            reached = np.searchsorted(recall[i, 1:], GRID - 1e-12)
            columns["precision"][place] = best[np.minimum(reached, len(best) - 1)]
    return columns, n_moved


def _weigh(rows: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Return the share of Dirichlet weight above the end of each block, 0 first."""
    weight = rng.standard_gamma(rows, size=(n_draws, len(rows)))
    total = np.zeros((n_draws, len(rows) + 1))
    np.cumsum(weight, axis=1, out=total[:, 1:])
    return total / total[:, -1:]


def _area(
    blocks: ScoreBlocks,
    recall: FloatArray,
    unlabeled: FloatArray,
    share: FloatArray,
    negatives: FloatArray,
) -> FloatArray:
    """Return the ROC area of each draw, not clipped."""
    middle = (recall[:, 1:] + recall[:, :-1]) / 2
    rows = np.diff(unlabeled, axis=1) + np.diff(blocks.known_negative)
    total = (rows * middle).sum(axis=1, keepdims=True)
    return np.asarray((total - share * blocks.n_unlabeled / 2) / negatives)[:, 0]
