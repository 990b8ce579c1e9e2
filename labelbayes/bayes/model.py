"""LabelModel: a PyMC model of rates, and how its draws complete the missing labels.

How a builder is written
------------------------
A builder ``build_x(evaluation, *, ...) -> LabelModel`` does four things, in this order.

1. It checks its arguments and reduces the rows to **cells**: groups of missing rows with one
   decision and one rate (score bins, pooled scores, groups by score bins). Nothing in the model
   has the size of the data.
2. It writes the `pymc.Model` **of the rates alone**, with the labeled counts as observed data
   (``pm.Data``, so that the model can be compiled once for many data sets) and Jeffreys, line
   or otherwise proper priors. Missing labels are never variables of the model: inside
   `pymc.sample` they would cost eighteen times the draws.
3. It says how a draw gives the rates: ``RateCells(known, decision, count, rates)`` of
   `labelbayes.bayes.cells`, where ``rates(draws)`` takes a block of draws (name -> array of
   shape (n_draws, ...)) and returns an array of shape (n_draws, n_cells). From that alone follow
   completed labels, the population, the plug-in rates, the exact laws and groups. With
   ``rows``, the cell of each row (`labelbayes.bayes.ranking.RankedCells`), ranking metrics follow
   too. A model in which a rate does not say all about its labels writes its own `Completion`
   (`labelbayes.bayes.imputation`, for instance).
4. It returns ``LabelModel(model, completion, method, assumption, prior_var, n_labeled,
   n_unlabeled)``, with ``metrics=resolve_metrics(None, has_score=...)`` where it has rows in
   rank order; `prior_var` holds the prior variance of the parameters that a reader would ask
   about, so that `Posterior.contraction` can say what the data added.

The builder's docstring has the order: story, formula, Parameters, Returns, Raises, See Also,
Notes with **Assumes**, **Not identified** and **Oracle**, References, Examples. Its test compares
draws with the oracle, and shows that the comparison fails on a planted error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import xarray as xr

from labelbayes._checks import FloatArray, check_choice, make_rng
from labelbayes._html import table_html
from labelbayes.bayes.stack import pm
from labelbayes.data.evaluation_set import Counts
from labelbayes.laws.missing_counts import CountPair
from labelbayes.laws.population import Cells
from labelbayes.laws.row_draws import check_drawable
from labelbayes.metrics.confusion import CountMetric
from labelbayes.metrics.registry import Metric, resolve_count_metrics
from labelbayes.results.sentences import Statement

BayesTarget = Literal["sample", "population", "rate"]
BAYES_TARGETS: tuple[BayesTarget, ...] = ("sample", "population", "rate")

#: Draws of the parameters by name, chains one after the other: arrays of shape (n_draws, ...).
Draws = Mapping[str, npt.NDArray]


class Completion(Protocol):
    """How draws of the parameters become confusion matrices."""

    @property
    def known(self) -> tuple[Counts, ...]:
        """Labeled rows of each group, and how many labels are missing; one where there are none."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups; empty where there are none."""

    def tables(
        self, draws: Draws, target: BayesTarget, rng: np.random.Generator
    ) -> tuple[Cells, Cells]:
        """Return counts that say where a metric is defined, and the cells that it is taken of.

        Parameters
        ----------
        draws : mapping of str to ndarray, shape (n_draws, ...)
            Draws of the parameters.
        target : {"sample", "population", "rate"}
            Whose labels.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        tuple of Cells
            Both (tp, fp, fn, tn), arrays of shape (n_draws, n_groups); they are the same but for
            the population.
        """

    def pairs(self, draws: Draws, group: int) -> list[CountPair]:
        """Return the exact laws of U and V of one group, whose equal mixture is the posterior's.

        Parameters
        ----------
        draws : mapping of str to ndarray, shape (n_draws, ...)
            Draws of the parameters.
        group : int
            Place of the group; 0 where there are none.

        Returns
        -------
        list of tuple of IntegerLaw
            A pair for each draw, or fewer where draws share their laws.
        """


class RankedTables(NamedTuple):
    """Completed rows in rank order, reduced to what metrics need.

    Attributes
    ----------
    counts, cells : tuple of ndarray, each of shape (n_draws, n_groups)
        tp, fp, fn, tn that say where a metric is defined, and those that it is taken of.
    ranking : dict of str to ndarray of float, shape (n_draws, n_groups)
        Ranking metrics by name, nan where undefined.
    """

    counts: Cells
    cells: Cells
    ranking: dict[str, FloatArray]


@runtime_checkable
class RankedCompletion(Completion, Protocol):
    """A completion that also knows where in the ranking its missing rows are."""

    @property
    def rank_targets(self) -> tuple[BayesTarget, ...]:
        """Targets for which it gives ranking metrics; none where rows have no score."""

    def ranked_tables(
        self, draws: Draws, target: BayesTarget, rng: np.random.Generator
    ) -> RankedTables:
        """Return tables and ranking metrics of the same completed labels.

        Parameters
        ----------
        draws : mapping of str to ndarray, shape (n_draws, ...)
            Draws of the parameters.
        target : {"sample", "population", "rate"}
            One of `rank_targets`.
        rng : numpy.random.Generator
            Where labels come from.

        Returns
        -------
        RankedTables
            In the order of the draws. Rows of one group are ranked among themselves.
        """

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


@dataclass(frozen=True, eq=False, repr=False)
class LabelModel:
    """A model of the missing labels, not yet sampled.

    Parameters
    ----------
    model : pymc.Model or None
        Rates and the labels that inform them. It can be edited before `sample`: whatever leaves
        the names of the parameters in place is carried through to the metrics. None in a
        `Posterior` that was read from a pickle, which holds no PyMC model.
    completion : Completion
        How draws of its parameters become confusion matrices.
    method : str
        What the model is, in a few words.
    assumption : str
        What must hold for it to be right, as one sentence.
    prior_var : mapping of str to float or ndarray
        Prior variance of parameters, by name.
    n_labeled, n_unlabeled : int
        Rows with and without a label.
    notes : tuple of str, default ()
        What was noticed, as sentences.
    kept : tuple of str, default ()
        Parameters that forward draws keep; empty for all.
    metrics : tuple of CountMetric or RankingMetric
        What is completed: accuracy, precision, recall and f1. Builders that know the rank of each
        row add roc_auc and average_precision where there is a score. Other metrics:
        ``dataclasses.replace(label_model, metrics=...)``.
    statement : {"credible", "sensitivity"}, default "credible"
        What an interval may be taken for: "sensitivity" where a belief that the data cannot touch
        makes most of it.

    See Also
    --------
    sample : Draw from it.
    """

    model: pm.Model
    completion: Completion
    method: str
    assumption: str
    prior_var: Mapping[str, float | FloatArray]
    n_labeled: int
    n_unlabeled: int
    notes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = field(default_factory=lambda: resolve_count_metrics(None))
    statement: Statement = "credible"

    @property
    def is_forward(self) -> bool:
        """Whether no data inform the model, so that it is drawn from and not sampled."""
        return not self.model.observed_RVs and not self.model.potentials

    def complete(
        self,
        posterior: xr.Dataset,
        *,
        target: BayesTarget = "sample",
        rng: np.random.Generator | int | None = None,
    ) -> xr.Dataset:
        """Complete the missing labels once for each draw, and return the metrics.

        Parameters
        ----------
        posterior : xarray.Dataset
            Draws of the parameters, dimensions ``chain`` and ``draw``.
        target : {"sample", "population", "rate"}, default "sample"
            The metric of these rows once all labels are known; that of rows drawn like these;
            or that of known labels and, for missing ones, their rates (no label noise): a row of
            rate p counts p positive and 1 - p negative, at its place in the ranking.
        rng : numpy.random.Generator, int or None, default None
            Where the labels come from.

        Returns
        -------
        xarray.Dataset
            One variable a metric, dimensions chain, draw and, where there are groups, group;
            nan where undefined. Metrics of one draw are those of the same completed labels.

        Raises
        ------
        ValueError
            If `target` is none of these, or all metrics rank rows and the model cannot tell them
            for this target.

        Notes
        -----
        Labels are drawn by counts, in blocks of draws: nothing of size draws x rows is made.
        Where ranking metrics are asked for, labels are drawn row by row, unless few cells tell
        rows apart: the cost then grows with the number of missing labels. For the population, rows
        are weighted once their labels are completed; beyond 2,048 distinct scores neighbors in
        rank are weighted together. Rows of one group are ranked among themselves.

        Ranking metrics that a model cannot tell for a target are left out beside count metrics
        (the notes of `Posterior.estimates` name them), and refused alone.

        Examples
        --------
        >>> from labelbayes.bayes.bins import build_bins
        >>> from labelbayes.data.evaluation_set import EvaluationSet
        >>> evaluation = EvaluationSet([1, 0, None, 1], [0.9, 0.2, 0.8, 0.4])
        >>> label_model = build_bins(evaluation, n_bins=1, prior="jeffreys")
        >>> rate = xr.DataArray(np.full((1, 3, 2), 1.0), dims=("chain", "draw", "bin"))
        >>> label_model.complete(rate.to_dataset(name="rate"), rng=0)["precision"].values
        array([[1., 1., 1.]])
        """
        check_choice("target", target, BAYES_TARGETS)
        flat, generator = flatten(posterior), make_rng(rng)
        completion, ranking = self.completion, dict[str, FloatArray]()
        metrics = self._metrics_of(target)
        if isinstance(completion, RankedCompletion) and any(_ranks(m) for m in metrics):
            counts, cells, ranking = completion.ranked_tables(flat, target, generator)
        else:
            # Also where no metric is left: a completion without tables says why.
            counts, cells = completion.tables(flat, target, generator)
        if not metrics:
            raise ValueError(
                f"`metrics` must hold a count metric with target={target!r}; got "
                f"{', '.join(metric.name for metric in self.metrics)}, and this model does not "
                "say where in the ranking its positives are. Ask for others by "
                "`dataclasses.replace(label_model, metrics=...)`."
            )
        dims, shape = ["chain", "draw"], [posterior.sizes["chain"], posterior.sizes["draw"]]
        coords = {name: posterior[name].values for name in dims if name in posterior.coords}
        if completion.groups:
            dims, shape = [*dims, "group"], [*shape, len(completion.groups)]
            coords["group"] = np.array(completion.groups, dtype=object)
        variables = {}
        for metric in metrics:
            if isinstance(metric, CountMetric):
                values = np.where(np.isnan(metric(*counts)), np.nan, metric(*cells))
            else:
                values = ranking[metric.name]
            variables[metric.name] = (dims, values.reshape(shape))
        return xr.Dataset(variables, coords)

    def _metrics_of(self, target: BayesTarget) -> tuple[Metric, ...]:
        """Return the metrics that can be told for a target."""
        for metric in self.metrics:
            check_drawable(metric)
        completion = self.completion
        if isinstance(completion, RankedCompletion) and target in completion.rank_targets:
            return self.metrics
        return tuple(metric for metric in self.metrics if not _ranks(metric))

    def _parameters(self) -> str:
        if self.model is None:
            return "not kept in a pickle"
        return ", ".join(variable.name for variable in self.model.free_RVs)

    def __repr__(self) -> str:
        """Return method, parameters and rows on one line."""
        return (
            f"LabelModel({self.method}; parameters {self._parameters()}; {self.n_labeled:,} "
            f"labeled, {self.n_unlabeled:,} missing)"
        )

    def _repr_html_(self) -> str:
        rows = [
            ["parameters", self._parameters()],
            ["assumes", self.assumption],
            ["rows with and without label", f"{self.n_labeled:,} and {self.n_unlabeled:,}"],
        ]
        return table_html(["model", self.method], rows, notes=self.notes)


def _ranks(metric: Metric) -> bool:
    return not isinstance(metric, CountMetric)


def flatten(posterior: xr.Dataset) -> dict[str, npt.NDArray]:
    """Return draws with the chains one after the other.

    Parameters
    ----------
    posterior : xarray.Dataset
        Variables with dimensions ``chain`` and ``draw``.

    Returns
    -------
    dict of str to ndarray, shape (n_chains * n_draws, ...)
        Draws by name.

    Examples
    --------
    >>> draws = xr.Dataset({"rate": (("chain", "draw", "bin"), np.zeros((2, 5, 3)))})
    >>> flatten(draws)["rate"].shape
    (10, 3)
    """
    flat = {}
    for name, variable in posterior.data_vars.items():
        values = variable.transpose("chain", "draw", ...).values
        flat[str(name)] = values.reshape(-1, *values.shape[2:])
    return flat
