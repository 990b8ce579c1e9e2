"""Counts of raters as soft labels: the optimum without the bias of plain shares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy.special import betaln

from labelbayes._checks import FloatArray, IntArray, check_choice, make_rng
from labelbayes._progress import track
from labelbayes.bayes.model import BAYES_TARGETS, BayesTarget, Draws, LabelModel, flatten
from labelbayes.bayes.stack import pm
from labelbayes.data.evaluation_set import Counts
from labelbayes.laws.missing_counts import CountPair
from labelbayes.laws.population import Cells
from labelbayes.metrics.confusion import CountMetric
from labelbayes.optimal.beta_mixture import optimum_of_bernstein, optimum_of_beta
from labelbayes.optimal.discriminant import sum_sorted
from labelbayes.optimal.soft_labels import check_counts

Family = Literal["beta", "bernstein"]
#: Prior of the concentration, mean and sd of its logarithm.
LOG_CONCENTRATION, LOG_CONCENTRATION_SD = math.log(2), 1.0
#: Parameters count as this far from the ends of their range in the likelihood.
EDGE = 1e-6
#: Parts of the Bernstein mixture: as fine as 20 raters can tell.
N_PARTS = 20


@dataclass(frozen=True, eq=False)
class RatedItems:
    """Items in groups of equal counts; the completion of a model without confusion matrices.

    Parameters
    ----------
    k, m, n_items : ndarray of int, shape (n_cells,)
        Raters who said positive, raters in all, and items with these two.
    known : tuple of Counts, default ()
        None here.
    groups : tuple of str, default ()
        None here.
    """

    k: IntArray
    m: IntArray
    n_items: IntArray
    known: tuple[Counts, ...] = ()
    groups: tuple[str, ...] = ()

    def tables(
        self, draws: Draws, target: BayesTarget, rng: np.random.Generator
    ) -> tuple[Cells, Cells]:
        """Raise: an optimum is no function of a confusion matrix.

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
        """
        raise ValueError("a model of soft labels has no confusion matrices")

    def pairs(self, draws: Draws, group: int) -> list[CountPair]:
        """Raise: an optimum has no law of counts.

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
        """
        raise ValueError(
            "`exact=True` needs metrics of a confusion matrix; the optimum from soft labels is "
            "none. Use exact=False: each draw is exact already."
        )

    def log_mass(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return the log probability of each count where P(y = 1 | x) ~ Beta(a, b).

        Parameters
        ----------
        a, b : ndarray of float > 0, shape (n, 1)
            Parameters.

        Returns
        -------
        ndarray of float, shape (n, n_cells)
            Beta-binomial log probabilities.
        """
        return _log_beta_binomial(self.k, self.m, a, b)


@dataclass(frozen=True, eq=False, repr=False)
class SoftLabelModel(LabelModel):
    """A model of P(y = 1 | x) behind raters' counts; its metrics are error, BER and AUC at best.

    Parameters
    ----------
    model : pymc.Model
        The law of P(y = 1 | x).
    completion : RatedItems
        The counts.
    method : str
        What the model is, in a few words.
    assumption : str
        What must hold for it to be right, as one sentence.
    prior_var : mapping of str to float or ndarray
        Prior variance of parameters, by name.
    n_labeled, n_unlabeled : int
        0, and the number of items: none has a hard label.
    notes : tuple of str, default ()
        What was noticed, as sentences.
    kept : tuple of str, default ()
        Not needed here.
    metrics : tuple of CountMetric
        error, ber and roc_auc.
    statement : {"credible"}, default "credible"
        What an interval may be taken for.
    """

    completion: RatedItems

    def complete(
        self,
        posterior: xr.Dataset,
        *,
        target: BayesTarget = "sample",
        rng: np.random.Generator | int | None = None,
    ) -> xr.Dataset:
        """Return the optimum for each draw.

        Parameters
        ----------
        posterior : xarray.Dataset
            Draws of the parameters, dimensions ``chain`` and ``draw``.
        target : {"sample", "population"}, default "sample"
            For these items, whose P(y = 1 | x) are drawn given their counts (about a tenth of a
            microsecond per item and draw), or for items drawn like these, in closed form.
        rng : numpy.random.Generator, int or None, default None
            Where the probabilities of these items come from.

        Returns
        -------
        xarray.Dataset
            ``error``, ``ber`` and ``roc_auc``, dimensions chain and draw.

        Raises
        ------
        ValueError
            If `target` is another one: there are no missing labels that could count at their rate.
        """
        check_choice("target", target, BAYES_TARGETS)
        if target == "rate":
            raise ValueError(
                "`target` must be 'sample' or 'population' for soft labels; got 'rate'. There are "
                "no missing labels that could count at their rate."
            )
        draws = flatten(posterior)
        if target == "population":
            found = np.array(self._population(draws))
        else:
            found = self._sample(draws, make_rng(rng))
        dims, shape = ["chain", "draw"], (posterior.sizes["chain"], posterior.sizes["draw"])
        coords = {name: posterior[name].values for name in dims if name in posterior.coords}
        columns = {
            metric.name: (dims, values.reshape(shape))
            for metric, values in zip(self.metrics, found, strict=True)
        }
        return xr.Dataset(columns, coords)

    def parts(self, draws: Draws) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the law of P(y = 1 | x) of each draw as a mixture of Beta laws.

        Parameters
        ----------
        draws : mapping of str to ndarray, shape (n_draws, ...)
            Draws of the parameters.

        Returns
        -------
        tuple of ndarray of float
            Weights, shape (n_draws, n_parts), and both parameters, broadcastable to it.
        """
        if "weight" in draws:
            weight = np.asarray(draws["weight"], dtype=float)
            first = np.arange(1.0, weight.shape[1] + 1)
            return weight, first, weight.shape[1] + 1 - first
        a, b = _beta_parameters(draws)
        return np.ones((len(a), 1)), a[:, None], b[:, None]

    def _population(self, draws: Draws) -> tuple[FloatArray, ...]:
        if "weight" in draws:
            return optimum_of_bernstein(draws["weight"])
        return optimum_of_beta(*_beta_parameters(draws))

    def _sample(self, draws: Draws, rng: np.random.Generator) -> FloatArray:
        """Draw P(y = 1 | x) of these items given their counts, one posterior draw at a time."""
        items = self.completion
        weight, first, second = self.parts(draws)
        found = np.empty((3, len(weight)))
        for i in track(range(len(weight)), label="drawing soft labels"):
            a, b = (np.broadcast_to(part, weight.shape)[i] for part in (first, second))
            mass = np.exp(items.log_mass(a[:, None], b[:, None])) * weight[i][:, None]
            drawn = rng.multinomial(items.n_items, (mass / mass.sum(axis=0)).T)
            cell, part = np.nonzero(drawn)
            size = drawn[cell, part]
            alpha, beta = a[part] + items.k[cell], b[part] + (items.m - items.k)[cell]
            found[:, i] = _optimum_of_items(rng.beta(np.repeat(alpha, size), np.repeat(beta, size)))
        return found


def build_soft_labels(
    counts: npt.ArrayLike, n_ratings: npt.ArrayLike, *, family: Family = "beta"
) -> SoftLabelModel:
    r"""Model P(y = 1 | x) behind the counts of raters, for the best that any classifier could do.

    Each item has a probability that a rater says positive, and its raters answer independently at
    it. Shares of few raters spread more than the probabilities behind them, so that an optimum
    computed from shares looks too good; a model of the spread takes this out:

    .. math::
       k_i &\sim \mathrm{Binomial}(m_i, \eta_i) \\
       \text{beta:} \quad \eta_i &\sim \mathrm{Beta}(\mu\kappa, (1 - \mu)\kappa), \quad
       \mu \sim \mathrm{Beta}(1/2, 1/2),\ \log\kappa \sim N(\log 2, 1) \\
       \text{bernstein:} \quad \eta_i &\sim \textstyle\sum_j w_j\, \mathrm{Beta}(j, J + 1 - j),
       \quad w \sim \mathrm{Dirichlet}(1, \dots, 1),\ J = 20

    Parameters
    ----------
    counts : array_like of int, shape (n,)
        Raters who said positive, :math:`k_i`.
    n_ratings : int or array_like of int, shape (n,)
        Raters in all, :math:`m_i`; some with at least 2.
    family : {"beta", "bernstein"}, default "beta"
        Law of :math:`\eta`. "beta" has two parameters and needs `check_histogram`; "bernstein" can
        take nearly any shape, and is what to use where that check fails.

    Returns
    -------
    SoftLabelModel
        Unsampled. "beta": ``mean`` in (0, 1) and ``concentration`` > 0. "bernstein": ``mass`` > 0
        (``part``) and ``weight`` (``part``), its shares. Its metrics are ``error``, ``ber`` and
        ``roc_auc`` of the best possible classifier.

    Raises
    ------
    ValueError
        If a count is not whole, negative or above its raters, all items have a single rater, or
        `family` is none of these.

    See Also
    --------
    labelbayes.bayes.histogram_check.check_histogram : Does the family fit the counts?
    estimate_optimal : Without a model; bounds the bias of plain shares.

    Notes
    -----
    **Assumes** that raters are exchangeable and independent given the item, that a rater's
    "positive" is the label itself, and that the law of :math:`\eta` is of the family. A Beta
    law that is wrong is confidently wrong: with two clusters of items (.7 Beta(2, 18) +
    .3 Beta(30, 6), error .120), 1,000 items and 20 raters it gave .181 [.173, .189], the Bernstein
    mixture .128 [.122, .135]: nearer, but narrow clusters are smoothed, and the check of the
    histogram may still object. Then the bound of `estimate_optimal` is what can be said.

    **Not identified** with one rater an item, who says nothing of the spread; with few, the
    Bernstein mixture leans on its prior.

    The cost does not depend on the number of items, only on that of different counts. Sample the
    Bernstein mixture with ``target_accept=0.95``.

    **Oracle.** A grid over mean and concentration ("beta"); for "bernstein" importance sampling
    from its prior with few parts, and closed forms against quadrature.

    Shown in the notebook 06_bayes_optimal.

    References
    ----------
    .. [1] S. Petrone, "Bayesian density estimation using Bernstein polynomials", Canadian Journal
       of Statistics 27(1), 105-126, 1999.

    Examples
    --------
    >>> label_model = build_soft_labels([0, 3, 1, 2, 3], 3)
    >>> [variable.name for variable in label_model.model.free_RVs]
    ['mean', 'concentration']
    """
    check_choice("family", family, ("beta", "bernstein"))
    k, m = check_counts("counts", counts, n_ratings)
    if m.max() < 2:
        raise ValueError(
            "`n_ratings` must exceed 1 for some items; all have one rater, which says nothing of "
            "how much probabilities differ. Collect second ratings of some items."
        )
    cells, size = np.unique(np.column_stack([k, m]), axis=0, return_counts=True)
    items = RatedItems(cells[:, 0], cells[:, 1], size)
    prior_var: dict[str, float | FloatArray]
    with pm.Model(coords={"part": range(1, N_PARTS + 1)}) as model:
        if family == "beta":
            mean = pm.Beta("mean", 0.5, 0.5)
            spread = pm.LogNormal("concentration", LOG_CONCENTRATION, LOG_CONCENTRATION_SD)
            # Far off, where a first step may land, likelihoods overflow.
            center = pm.math.clip(mean, EDGE, 1 - EDGE)
            width = pm.math.clip(spread, EDGE, 1 / EDGE)
            law = pm.BetaBinomial.dist(n=items.m, alpha=center * width, beta=(1 - center) * width)
            pm.Potential("histogram", (size * pm.logp(law, items.k)).sum())
            growth = math.exp(LOG_CONCENTRATION_SD**2)
            prior_var = {
                "mean": 1 / 8,
                "concentration": growth * (growth - 1) * math.exp(2 * LOG_CONCENTRATION),
            }
        else:
            # Shares of exponential masses are a flat Dirichlet law, without a sum to keep.
            mass = pm.Exponential("mass", 1.0, dims="part")
            bounded = pm.math.clip(mass, EDGE, 1 / EDGE)
            weight = pm.Deterministic("weight", bounded / bounded.sum(), dims="part")
            first = np.arange(1.0, N_PARTS + 1)[:, None]
            likelihood = np.exp(items.log_mass(first, N_PARTS + 1 - first))
            pm.Potential("histogram", (size * pm.math.log(pm.math.dot(weight, likelihood))).sum())
            share = 1 / N_PARTS
            prior_var = {"weight": np.full(N_PARTS, share * (1 - share) / (N_PARTS + 1))}
    shape = "Beta law" if family == "beta" else f"mixture of {N_PARTS} Beta laws"
    return SoftLabelModel(
        model,
        items,
        method=f"{shape} of P(y = 1 | x) behind raters' counts",
        assumption="raters answer independently with P(y = 1 | x), which follows a "
        + ("Beta law" if family == "beta" else "smooth law"),
        prior_var=prior_var,
        n_labeled=0,
        n_unlabeled=len(k),
        notes=("Whether the family fits the counts is what `check_histogram` says.",),
        metrics=tuple(
            CountMetric(name, "", _no_function_of_counts, *ends)
            for name, ends in (("error", (0, 0.5)), ("ber", (0, 0.5)), ("roc_auc", (0.5, 1)))
        ),
    )


def _no_function_of_counts(tp: object, fp: object, fn: object, tn: object) -> FloatArray:
    raise TypeError("the optimum is no function of a confusion matrix")


def _beta_parameters(draws: Draws) -> tuple[FloatArray, FloatArray]:
    mean, spread = (np.asarray(draws[name], dtype=float) for name in ("mean", "concentration"))
    return mean * spread, (1 - mean) * spread


def _log_beta_binomial(k: IntArray, m: IntArray, a: FloatArray, b: FloatArray) -> FloatArray:
    ways = -np.log(m + 1) - betaln(k + 1, m - k + 1)
    return ways + betaln(k + a, m - k + b) - betaln(a, b)


def _optimum_of_items(eta: FloatArray) -> tuple[float, float, float]:
    """Return error, BER and AUC at best of items with these probabilities, all pairs counted."""
    theta = float(eta.mean())
    scale = 4 * theta * (1 - theta)
    sums = sum_sorted(eta)
    # Sum of |eta - eta'| over ordered pairs, from the sum weighted by ranks.
    gini = 2 * (2 * sums.ranked - (sums.n - 1) * sums.total) / sums.n**2
    error = float(np.minimum(eta, 1 - eta).mean())
    if scale <= 0:
        return error, math.nan, math.nan
    return error, 0.5 - float(np.abs(eta - theta).mean()) / scale, 0.5 + gini / scale
