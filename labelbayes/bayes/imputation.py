"""A Beta belief about each imputation probability: what it changes, and what it does not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labelbayes._checks import FloatArray, IntArray, check_real
from labelbayes.bayes.cells import finish, pool
from labelbayes.bayes.model import BayesTarget, Draws, LabelModel, RankedTables
from labelbayes.bayes.ranking import IN_GROUPS, stack_groups, take_population, take_totals
from labelbayes.bayes.stack import pm
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.imputation.belief import Imputation
from labelbayes.laws import rank_groups
from labelbayes.laws.missing_cells import Fits, MissingCells, cells_and_fits
from labelbayes.laws.missing_counts import CountPair, WeightedP, weigh_missing
from labelbayes.laws.population import MOST_GROUPS, Cells, weighted_cells
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.row_draws import RowSampler
from labelbayes.laws.row_weights import RowWeights
from labelbayes.metrics.registry import resolve_metrics

#: Probabilities are kept this far from 0 and 1, where a Beta law has no parameters.
EDGE = 1e-12


@dataclass(frozen=True, eq=False)
class ImputedLabels:
    """Completion when the p of the rows are independent Beta variables with known means.

    Labels then are independent draws with the mean p, whatever the Beta laws (Theorem 4), so
    counts come from their exact laws; the draws of the p enter only the rate target. Ranking
    metrics come from labels drawn row by row at the mean p.

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels, decisions and scores.
    imputation : Imputation
        Mean p, made from this evaluation.
    positive, negative : WeightedP
        Missing rows predicted positive and negative.
    groups : tuple of str, default ()
        None here.
    """

    evaluation: EvaluationSet
    imputation: Imputation
    positive: WeightedP
    negative: WeightedP
    groups: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[Counts, ...]:
        """Labeled rows; one entry."""
        return (self.evaluation.counts,)

    @property
    def rank_targets(self) -> tuple[BayesTarget, ...]:
        """Targets with ranking metrics: not the rates, drawn as means over rows of all ranks."""
        return () if self.evaluation.y_score is None else ("sample", "population")

    @cached_property
    def _ranked(self) -> RankedRows:
        """Rows by score."""
        return RankedRows.from_evaluation(self.evaluation)

    @cached_property
    def _cells(self) -> tuple[MissingCells, Fits]:
        """Missing rows by score, and their mean p under each refit."""
        return cells_and_fits(self._ranked, self.evaluation, self.imputation)

    @cached_property
    def _fits(self) -> list[CountPair]:
        """Exact laws of U and V, a pair per refit, or one where p is taken as known."""
        sides = (self.positive, self.negative)
        return list(zip(*(side.laws(side.fits) for side in sides), strict=True))

    def _which(self, draws: Draws) -> IntArray:
        """Refit of each draw."""
        if "refit" in draws:
            return draws["refit"].astype(np.int64)
        return np.zeros(len(draws["mean_p"]), dtype=np.int64)

    def tables(
        self, draws: Draws, target: BayesTarget, rng: np.random.Generator
    ) -> tuple[Cells, Cells]:
        """Return completed confusion matrices.

        Parameters
        ----------
        draws : mapping of str to ndarray, shape (n_draws, ...)
            ``mean_p`` of both decisions and, with refits, ``refit``.
        target : {"sample", "population", "rate"}
            Whose labels. With p known the population needs no labels: drawing rows and drawing
            labels are then one uncertainty, and a gamma weight per row carries both.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        tuple of Cells
            Counts that say where a metric is defined, and the cells that it is taken of.
        """
        which = self._which(draws)
        if target == "rate":
            total = np.array([self.negative.count.sum(), self.positive.count.sum()])
            mean = draws["mean_p"] * total
            return finish(self.known, mean[:, 1:], mean[:, :1], target, rng)
        if target == "population" and "refit" not in draws:
            sampler = weighted_cells(self.known[0], self.positive, self.negative)
            counts, weights = sampler(len(which), rng)
            return _as_columns(counts), _as_columns(weights)
        u, v = np.empty((len(which), 1)), np.empty((len(which), 1))
        for i, (first, second) in enumerate(self._fits):
            rows = which == i
            u[rows, 0] = first.draws(int(rows.sum()), rng)
            v[rows, 0] = second.draws(int(rows.sum()), rng)
        return finish(self.known, u, v, target, rng)

    def ranked_tables(
        self, draws: Draws, target: BayesTarget, rng: np.random.Generator
    ) -> RankedTables:
        """Return tables and ranking metrics of the same completed labels.

        Parameters
        ----------
        draws : mapping of str to ndarray, shape (n_draws, ...)
            With refits ``refit``; else only their number matters.
        target : {"sample", "population"}
            Whose labels; the population as in `tables`.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        RankedTables
            In the order of the draws.
        """
        which = self._which(draws)
        if target == "population":
            weights = RowWeights.from_imputation(self.evaluation, self.imputation)
            return stack_groups([take_population(weights.draw_at(which, rng))])
        cells, fits = self._cells
        known = self.evaluation.counts
        sampler = RowSampler(self._ranked, cells, known, fits.told(which))
        totals = sampler.draw(len(which), rng, in_order=True)
        return stack_groups([take_totals(known, self._ranked, totals)])

    def rank_notes(self, target: BayesTarget) -> tuple[str, ...]:
        """Return sentences that belong beside ranking metrics.

        Parameters
        ----------
        target : {"sample", "population", "rate"}
            Whose labels.

        Returns
        -------
        tuple of str
            Sentences.
        """
        is_grouped = self._ranked.n_steps > rank_groups.MOST_GROUPS
        return (IN_GROUPS,) if target == "population" and is_grouped else ()

    def pairs(self, draws: Draws, group: int) -> list[CountPair]:
        """Return the exact laws of U and V: one pair, or a pair for each refit.

        Parameters
        ----------
        draws : mapping of str to ndarray, shape (n_draws, ...)
            Not needed: nothing is learned from labels, and all refits are equally likely.
        group : int
            0: there are no groups.

        Returns
        -------
        list of tuple of IntegerLaw
            Poisson-binomial laws.
        """
        return self._fits


def build_imputation(
    evaluation: EvaluationSet, imputation: Imputation, *, concentration: float
) -> LabelModel:
    r"""Put an independent Beta belief on the probability of each missing label.

    Each missing label has a probability of its own, uncertain around the imputed one; labels are
    drawn at it. With :math:`R` refits of the imputation one of them is drawn first:

    .. math::
       r &\sim \mathrm{Uniform}\{1, \dots, R\} \\
       P_i &\sim \mathrm{Beta}(k\, p_i^{(r)},\ k\, (1 - p_i^{(r)})), \quad
       Y_i \sim \mathrm{Bernoulli}(P_i), \quad \text{independent over missing rows } i

    Parameters
    ----------
    evaluation : EvaluationSet
        Labels and decisions.
    imputation : Imputation
        Belief about the missing labels :math:`p_i`, made from this evaluation.
    concentration : float > 0
        :math:`k`, in pseudo-counts: how many labels of the very same row the belief is worth.

    Returns
    -------
    LabelModel
        Unsampled, and drawn forward: it has no likelihood. ``p`` (``p_group``) is the mean
        probability of missing rows with one imputed p and one decision, ``mean_p``
        (``decision``) their mean by decision, kept in the posterior; with refits also ``refit``.

    Raises
    ------
    ValueError
        If the imputation was made for other rows, nothing is missing, or `concentration` is not
        positive.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    estimate_pemi : The closed form, which the sample target reduces to for every concentration.
    build_bins : Noise that rows share, learned from labels: that one changes the law.

    Notes
    -----
    **Assumes** that the uncertain probabilities are independent given the refit. Then labels are
    independent Bernoulli(:math:`p_i`) and the law of every metric is that without Betas
    (Theorem 4 of [1]_): **independent noise on p does nothing to the sample and population
    targets**. It neither covers a biased p nor noise that rows share, which refits carry.

    **Not identified**: `concentration`. Only target="rate" depends on it: the variance of the
    metric there is about 1 / (k + 1) of that of the labels.

    Parameters have not the size of the data. Counts of labels come from the exact laws or, where
    ranking metrics are asked for, from labels drawn row by row; target="rate" has no ranking
    metrics, since it draws means of p and not the p of each row. The mean
    of the :math:`c` probabilities of a group is drawn as one Beta variable with its mean and
    variance, Beta(pK, (1 - p)K) with :math:`K = c (k + 1) - 1`, exact where :math:`c = 1`. Above
    1,024 distinct p neighbors are pooled for it.

    **Oracle.** The exact laws of `estimate_pemi`; for the rate target the means
    and variances of sums of independent Beta variables.

    References
    ----------
    .. [1] D. Dervovic and M. Cashmore, "Model evaluation in the dark: robust classifier metrics
       with missing labels", arXiv:2504.18385, 2025.

    Examples
    --------
    >>> from labelbayes.imputation.impute import impute
    >>> evaluation = EvaluationSet([1, 0, None, 1, None], [0.9, 0.2, 0.8, 0.4, 0.3])
    >>> given = impute(evaluation, [0, 0, 0.75, 0, 0.25])
    >>> label_model = build_imputation(evaluation, given, concentration=10)
    >>> label_model.is_forward, [variable.name for variable in label_model.model.free_RVs]
    (True, ['p'])
    """
    if not isinstance(evaluation, EvaluationSet):
        raise TypeError(f"`evaluation` must be an EvaluationSet; got {type(evaluation).__name__}.")
    if not isinstance(imputation, Imputation):
        raise TypeError(
            f"`imputation` must be an Imputation; got {type(imputation).__name__}. "
            "Wrap probabilities with `impute(evaluation, p)`."
        )
    k = check_real("concentration", concentration)
    if not k > 0:
        raise ValueError(f"`concentration` must be positive; got {concentration!r}.")
    positive, negative = weigh_missing(evaluation, imputation)
    if not evaluation.n_unlabeled:
        raise ValueError(
            "`evaluation` must have missing labels; every row is labeled and each metric known."
        )
    p, count, decision = _stack_sides(positive, negative)
    n_refits = imputation.n_refits
    share = np.zeros((2, len(count)))
    share[decision, np.arange(len(count))] = count
    share /= np.maximum(share.sum(axis=1, keepdims=True), 1.0)
    coords = {"p_group": range(len(count)), "decision": ["negative", "positive"]}
    with pm.Model(coords=coords) as model:
        imputed = pm.Data("imputed_p", p)
        mean = imputed[pm.DiscreteUniform("refit", 0, n_refits - 1) if n_refits else 0]
        size = count * (k + 1) - 1
        each = pm.Beta("p", mean * size, (1 - mean) * size, dims="p_group")
        pm.Deterministic("mean_p", pm.math.dot(share, each), dims="decision")
    within = (p * (1 - p) / (k + 1)) @ np.divide(share**2, count).T
    return LabelModel(
        model,
        ImputedLabels(evaluation, imputation, positive, negative),
        method=f"Beta belief on each p, concentration {k:g}; {imputation.method}",
        assumption=f"{imputation.assumption}; uncertain probabilities are independent",
        prior_var={"mean_p": within.mean(axis=0) + (p @ share.T).var(axis=0)},
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=(
            "Independent uncertainty of each p leaves the law of these rows' metrics as it is.",
            *imputation.notes,
        ),
        kept=("refit", "mean_p"),
        metrics=resolve_metrics(None, has_score=evaluation.y_score is not None),
    )


def _stack_sides(positive: WeightedP, negative: WeightedP) -> tuple[FloatArray, IntArray, IntArray]:
    """Return p per refit (one row where there is none), rows and decision of each group."""
    sides = []
    for side in (positive, negative):
        if len(side.p) > 1:
            sides.append((side.p[1:], side.count))
        else:
            mean, total, _ = pool(side.p[0], side.count, MOST_GROUPS)
            sides.append((mean[None, :], total))
    p = np.clip(np.concatenate([side[0] for side in sides], axis=1), EDGE, 1 - EDGE)
    count = np.concatenate([side[1] for side in sides])
    decision = np.repeat([1, 0], [len(side[1]) for side in sides])
    return p, count, decision


def _as_columns(cells: Cells) -> Cells:
    tp, fp, fn, tn = (cell[:, None] for cell in cells)
    return tp, fp, fn, tn
