"""Posterior: draws of parameters and metrics, how good they are, and the laws they give."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd
import xarray as xr

from labelbayes._checks import CI_PROB, FloatArray, listed
from labelbayes._html import table_html
from labelbayes.bayes.convergence import Diagnostics
from labelbayes.bayes.model import BayesTarget, LabelModel, RankedCompletion, flatten
from labelbayes.bayes.stack import posterior as read_posterior
from labelbayes.laws.count_metrics import exact_law
from labelbayes.metrics.registry import Metric, split_metrics
from labelbayes.results.distribution import DrawsLaw, Law
from labelbayes.results.estimates import Estimates
from labelbayes.results.sentences import Target, population

#: Draws that the exact mixture takes at most, evenly spaced.
MOST_EXACT_DRAWS = 10_000
#: Share of the posterior variance above which a parameter is "mostly the prior".
MOSTLY = 0.5

CREDIBLE = f"{CI_PROB:.0%} credible interval: probability under the model and prior named."
RATE_ONLY = (
    "Rates only: labeled rows count as labeled and missing ones at their rate, without the noise "
    "of labels; the interval is narrower than that of the metric of these rows."
)


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Draws from a `LabelModel`.

    Parameters
    ----------
    label_model : LabelModel
        What was sampled.
    container : arviz.InferenceData or xarray.DataTree
        What PyMC returns; the metrics are among its posterior variables, under their own names,
        and ``method assumption target n_labeled n_unlabeled`` in its attributes.
    target : {"sample", "population", "rate"}
        Whose metrics they are.
    diagnostics : Diagnostics
        How good the draws are.

    See Also
    --------
    sample : Makes one.

    Notes
    -----
    A pickle holds everything but the PyMC model, which Python cannot pickle: ``label_model.model``
    is None in what is read from it. Laws, tables and figures are the same; `sample` asks for a
    model that is built again. Read it with the versions of PyMC, ArviZ and labelbayes that wrote
    it. A copy in memory (`copy.deepcopy`) has the model too.
    """

    label_model: LabelModel
    container: Any
    target: BayesTarget
    diagnostics: Diagnostics

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but the PyMC model, whose variables hold local functions."""
        return self.__dict__ | {"label_model": replace(self.label_model, model=None)}

    def __copy__(self) -> Posterior:
        """Return a posterior that shares all parts, the PyMC model among them."""
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Posterior:
        """Return a posterior with copies of all parts, the PyMC model among them."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        return Posterior(**copy.deepcopy(parts, memo))

    @property
    def dataset(self) -> xr.Dataset:
        """Parameters and metrics as an `xarray.Dataset`, whatever the stack."""
        return read_posterior(self.container)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Metrics that have draws: those of the model that it can tell for the target."""
        dataset = self.dataset
        return tuple(m for m in self.label_model.metrics if m.name in dataset)

    def contraction(self) -> pd.DataFrame:
        """Return how far the data have narrowed each parameter.

        Returns
        -------
        pandas.DataFrame
            Index ``parameter``; columns ``prior_sd``, ``posterior_sd``, ``contraction``
            (1 - posterior variance / prior variance: 1 = all data, 0 = all prior, up to the
            noise of the draws) and ``sentence``, which says so where more than half of the
            variance is the prior's.
        """
        dataset, rows = self.dataset, {}
        for name, prior_var in self.label_model.prior_var.items():
            # Two passes around the mean: a rate near 1 keeps its digits.
            after = dataset[name].var(("chain", "draw")).values
            before = np.broadcast_to(np.asarray(prior_var, dtype=float), after.shape)
            for place in np.ndindex(*after.shape):
                label = f"{name}[{', '.join(map(str, place))}]" if place else name
                rows[label] = _contract(label, float(before[place]), float(after[place]))
        columns = ["prior_sd", "posterior_sd", "contraction", "sentence"]
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        return frame.rename_axis("parameter")

    def estimates(self, *, exact: bool = False) -> Estimates:
        """Return the laws of the metrics.

        Parameters
        ----------
        exact : bool, default False
            False: the empirical laws of the draws. True: the equal mixture over the draws of the
            exact laws given their rates (Rao-Blackwell), for the sample target and count
            metrics; ranking metrics have no such laws and are left out.

        Returns
        -------
        Estimates
            A law per metric, or per metric and group, named ``precision[group]``. Joint draws are
            the posterior's own, whichever the laws.

        Raises
        ------
        ValueError
            If `exact` is asked for another target than the sample, or all metrics rank rows.

        Notes
        -----
        The mixture takes all draws up to 10,000, about a millisecond each, and evenly spaced ones
        beyond. It is free of label noise: the variance of its mean is smaller by the share that
        is due to the rates, 1.5 to 1.8 times with 289 labels and 711 missing, 17 to 23 times with
        2,781 and 219. Thinning costs in the tails: its distance from the true law (Kolmogorov)
        was .04 to .06 with 100 draws, .014 to .029 with 400 and .007 to .013 with 4,000.
        """
        if exact and self.target != "sample":
            raise ValueError(
                f"`exact=True` needs target='sample'; these draws have target={self.target!r}. "
                "Call `sample` again, or use exact=False."
            )
        dataset, metrics = self.dataset, self.metrics
        if exact:
            metrics = self._counted()
        columns = {
            self._key(metric, group): self._values(dataset, metric, group)
            for metric in metrics
            for group in self._group_places()
        }
        laws = self._exact_laws(dataset) if exact else self._draws_laws(columns)
        how = "exact laws mixed over posterior draws" if exact else "posterior draws"
        return Estimates(
            laws,
            method=f"{how}; {self.label_model.method}",
            assumption=self.label_model.assumption,
            # "rate" is no target of the closed forms, whose type names the other two.
            target=cast(Target, self.target),
            statement=self.label_model.statement,
            n_labeled=self.label_model.n_labeled,
            n_unlabeled=self.label_model.n_unlabeled,
            notes=self._notes(metrics),
            joint=partial(_pick_draws, columns),
        )

    def _counted(self) -> tuple[Metric, ...]:
        """Return the count metrics, of which there must be one."""
        counted, ranked = split_metrics(self.metrics)
        if not counted:
            names = ", ".join(metric.name for metric in ranked)
            raise ValueError(
                f"`exact=True` needs a count metric; got {names}. Ranking metrics have no exact "
                "law given the rates: use exact=False."
            )
        return counted

    def _group_places(self) -> range:
        return range(max(1, len(self.label_model.completion.groups)))

    def _key(self, metric: Metric, place: int) -> str:
        groups = self.label_model.completion.groups
        return f"{metric.name}[{groups[place]}]" if groups else metric.name

    def _values(self, dataset: xr.Dataset, metric: Metric, place: int) -> FloatArray:
        variable = dataset[metric.name]
        if self.label_model.completion.groups:
            variable = variable.isel(group=place)
        return variable.transpose("chain", "draw").values.reshape(-1)

    def _draws_laws(self, columns: dict[str, FloatArray]) -> dict[str, Law]:
        reasons = {
            self._key(metric, place): metric.undefined_when
            for metric in self.metrics
            for place in self._group_places()
        }
        return {
            name: DrawsLaw(values, reasons[name] if np.isnan(values).any() else "")
            for name, values in columns.items()
        }

    def _exact_laws(self, dataset: xr.Dataset) -> dict[str, Law]:
        n_draws = dataset.sizes["draw"]
        most = max(1, MOST_EXACT_DRAWS // dataset.sizes["chain"])
        used = np.linspace(0, n_draws - 1, min(n_draws, most)).round().astype(int)
        draws, completion = flatten(dataset.isel(draw=used)), self.label_model.completion
        laws: dict[str, Law] = {}
        for place in self._group_places():
            pairs = completion.pairs(draws, place)
            for metric in split_metrics(self.metrics)[0]:
                laws[self._key(metric, place)] = exact_law(metric, completion.known[place], pairs)
        return laws

    def _notes(self, metrics: tuple[Metric, ...]) -> tuple[str, ...]:
        said = [CREDIBLE] if self.label_model.statement == "credible" else []
        if self.target == "population":
            said.append(population(0, CI_PROB))
        elif self.target == "rate":
            said.append(RATE_ONLY)
        said += self._rank_notes(metrics)
        said += [sentence for sentence in self.contraction()["sentence"] if sentence]
        said += [f"Sampling: {problem}." for problem in self.diagnostics.problems]
        return (*said, *self.label_model.notes)

    def _rank_notes(self, metrics: tuple[Metric, ...]) -> tuple[str, ...]:
        """Return what belongs beside ranking metrics, and which metrics are left out."""
        said: tuple[str, ...] = ()
        completion = self.label_model.completion
        if split_metrics(metrics)[1] and isinstance(completion, RankedCompletion):
            said = completion.rank_notes(self.target)
        drawn = self.metrics
        for left, reason in (
            (
                [m for m in drawn if m not in metrics],
                "Ranking metrics have no exact law given the rates.",
            ),
            (
                [m for m in self.label_model.metrics if m not in drawn],
                f"This model has no ranking metrics for target={self.target!r}.",
            ),
        ):
            if left:
                said = (*said, f"Left out: {listed([m.name for m in left])}. {reason}")
        return said

    def __repr__(self) -> str:
        """Return model, draws and whether they passed the gate."""
        sizes = self.dataset.sizes
        problems = "; ".join(self.diagnostics.problems)
        return (
            f"Posterior({self.label_model.method}; target {self.target}; "
            f"{sizes['chain']} chains x {sizes['draw']:,} draws; diagnostics "
            f"{'passed' if self.diagnostics.ok else f'failed: {problems}'})"
        )

    def _repr_html_(self) -> str:
        frame = self.contraction()
        rows = [
            [str(name), *(f"{row[column]:.3g}" for column in frame.columns[:3])]
            for name, row in frame.iterrows()
        ]
        learned = table_html(["parameter", "prior sd", "posterior sd", "contraction"], rows)
        return (
            self.estimates()._repr_html_()
            + self.diagnostics._repr_html_()
            + (learned if rows else "")
        )


def _pick_draws(
    columns: dict[str, FloatArray], n: int, rng: np.random.Generator
) -> dict[str, FloatArray]:
    rows = rng.integers(len(next(iter(columns.values()))), size=n)
    return {name: values[rows] for name, values in columns.items()}


def _contract(label: str, before: float, after: float) -> tuple[float, float, float, str]:
    """Return prior sd, posterior sd, contraction and the sentence, if one is due."""
    share = after / before if before > 0 else math.nan
    sentence = ""
    if share > MOSTLY:
        sentence = (
            f"{label}: prior share of the posterior variance {min(share, 1.0):.0%}. This number "
            "is mostly the prior."
        )
    return math.sqrt(before), math.sqrt(after), 1.0 - share, sentence
