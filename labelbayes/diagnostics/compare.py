"""Whether draws and a closed form are the same law: means, cdf and undefined probability."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from scipy.special import betainc, ndtri

from labelbayes._checks import FloatArray
from labelbayes.bayes.convergence import LEAST_ESS
from labelbayes.bayes.posterior import Posterior
from labelbayes.bayes.stack import az
from labelbayes.results.continuous import NormalLaw, RatioLaw
from labelbayes.results.distribution import DrawsLaw, Law
from labelbayes.results.estimates import Estimates
from labelbayes.results.mixture import MixtureLaw

#: Quantiles of the closed law at which the share of draws below is compared.
LEVELS = (0.025, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.975)
#: What correct draws stay below; see `compare_laws`.
MOST_MEAN_Z, MOST_CDF_Z, MOST_KS = 4.0, 4.5, 1.95
#: Values are rounded to this many digits, and values as close as the last of them are tied.
DIGITS, TIE = 12, 1e-12
#: Distinct draws at which the distance of the two cdfs is taken.
KS_POINTS = 200
MOMENTS, ALL = "moments", "moments and cdf"


@dataclass(frozen=True)
class Comparison:
    """How far draws of one metric are from a law.

    Parameters
    ----------
    mean_sampled, mean_closed : float
        Means given that the metric is defined.
    mean_z : float
        Their difference in Monte Carlo standard errors, positive where the draws are higher.
    sd_z : float
        Difference of the variances in Monte Carlo standard errors; nan where cdfs are compared.
    cdf_z : float
        Largest |z| of the share of draws below a quantile of the law; nan for moments only.
    ks_scaled : float
        Largest distance of the cdfs, times the root of the smallest effective number; nan for
        moments only.
    undefined_z : float
        z of the share of draws in which the metric is undefined.
    ess : float
        Smallest effective number of draws that these numbers rest on.
    compared : {"moments", "moments and cdf"}
        What was compared.

    Examples
    --------
    >>> Comparison(0.8, 0.8, 5.0, float("nan"), 2.0, 0.9, 0.0, 2_000.0, ALL).reason
    'the mean is 5.0 standard errors off'
    """

    mean_sampled: float
    mean_closed: float
    mean_z: float
    sd_z: float
    cdf_z: float
    ks_scaled: float
    undefined_z: float
    ess: float
    compared: str

    @property
    def reason(self) -> str:
        """What is wrong, in words; empty where nothing is."""
        found = [
            f"the {what} is {abs(z):.1f} standard errors off"
            for what, z, most in (
                ("mean", self.mean_z, MOST_MEAN_Z),
                ("variance", self.sd_z, MOST_MEAN_Z),
                ("cdf", self.cdf_z, MOST_CDF_Z),
                ("undefined probability", self.undefined_z, MOST_MEAN_Z),
            )
            if abs(z) >= most
        ]
        if self.ks_scaled >= MOST_KS:
            found.append(f"the scaled distance of the cdfs is {self.ks_scaled:.2f}")
        if not self.ess > LEAST_ESS:
            found.append(f"{self.ess:.0f} effective draws are too few to tell")
        return "; ".join(found)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.reason


def compare_laws(sampled: Posterior, closed: Estimates) -> pd.DataFrame:
    r"""Compare draws of the metrics with their laws in closed form, one row a metric.

    Draws carry Monte Carlo error, so they are compared in units of it. With :math:`\bar x` the mean
    of the draws, :math:`\mu` and :math:`F` mean and cdf of the closed law, :math:`F_n` the share of
    draws below, and :math:`n_\mathrm{eff}` the effective number of draws of what is averaged:

    .. math::
       z_\mathrm{mean} &= (\bar x - \mu) / \mathrm{MCSE}, \\
       z_\mathrm{cdf} &= \max_{q} |z(F_n(t_q), F(t_q), n_\mathrm{eff}(1[x \le t_q]))|, \quad
           t_q = F^{-1}(q), \\
       \mathrm{KS} &= \sup_t |F_n(t) - F(t)| \sqrt{\min_q n_\mathrm{eff}(1[x \le t_q])}

    Parameters
    ----------
    sampled : Posterior
        Draws, from `sample`.
    closed : Estimates
        Closed forms for the same rows and the same target. Laws that are made of draws, and so
        have Monte Carlo error of their own, are not compared.

    Returns
    -------
    pandas.DataFrame
        Index ``metric``, those that both have; columns ``mean_sampled``, ``mean_closed``,
        ``mean_z``, ``sd_z``, ``cdf_z``, ``ks_scaled``, ``undefined_z``, ``ess``, ``compared``
        ("moments and cdf", or "moments" where the closed form is Gaussian), ``passed`` (bool) and
        ``reason`` (what is wrong, in words; empty where nothing is).

    Raises
    ------
    ValueError
        If the two have other targets or other numbers of labels, share no metric, or every shared
        law of `closed` is itself made of draws.
    TypeError
        If an argument is of the wrong type.

    See Also
    --------
    run_sbc : Whether a model covers on data drawn from its own prior; needs no closed form.
    labelbayes.plots.compare.plot_comparison : The two cdfs of one metric.

    Notes
    -----
    A row passes if \|mean z\| < 4, largest \|cdf z\| < 4.5, scaled KS < 1.95 and more than 400
    effective draws stand behind each of them.

    **Why these.** Over all correct runs of a study of eight models in two versions of PyMC the
    largest values were 2.6, 3.3 and 1.27; an oracle that had been cut off two standard deviations
    from its mode gave 4 to 6, 5.7 and 2.5. For independent draws a mean passes 4 with probability
    6e-5, one of nine quantiles 4.5 with less than 6e-5, and KS 1.95 with 0.001; KS is scaled by the
    smallest effective number and laws are discrete, both of which make it rarer.

    **Power.** With :math:`n_\mathrm{eff}` effective draws a mean that is off by
    :math:`5.3/\sqrt{n_\mathrm{eff}}` standard deviations fails in 9 of 10 runs: 0.08 with 4,000,
    0.17 with 1,000. A standard deviation that is 10% too small fails in 96% of runs with 4,000 and
    in 3% with 1,000, one that is 20% too small in 97% with 1,000: errors of the width need draws.

    **How it is taken.** Every quantile has the effective number of its own indicator: tails mix
    worse than the mean. The z of a share is that of the binomial tail at the effective number, so
    that rare values are no false alarm. Metrics are compared given that they are defined, and the
    probability that they are not beside them. Values are rounded to 12 digits first: equal
    fractions of counts may differ in the last bit. A Gaussian closed form is compared by mean and
    variance only, since its cdf is off by more (0.005 to 0.05) than Monte Carlo error; its mean is
    off by about the square of its standard deviation, which long runs will also find.

    **Assumes** chains that have converged: see `Posterior.diagnostics`.

    References
    ----------
    .. [1] A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Buerkner, "Rank-normalization,
       folding, and localization: an improved R-hat", Bayesian Analysis 16(2), 667-718, 2021.

    Examples
    --------
    >>> from labelbayes.bayes.imputation import build_imputation
    >>> from labelbayes.bayes.sampling import sample
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.imputation.impute import impute
    >>> from labelbayes.laws.pemi import estimate_pemi
    >>> evaluation = EvaluationSet([1, 0, None, 1], [0.9, 0.2, 0.8, 0.4])
    >>> given = impute(evaluation, [0, 0, 0.75, 0])
    >>> sampled = sample(build_imputation(evaluation, given, concentration=10), rng=0)
    >>> compare_laws(sampled, estimate_pemi(evaluation, given))["passed"].all()
    np.True_
    """
    rows = {name: compare_draws(*pair) for name, pair in match_laws(sampled, closed).items()}
    frame = pd.DataFrame.from_dict(
        {
            name: {**asdict(row), "passed": row.passed, "reason": row.reason}
            for name, row in rows.items()
        },
        orient="index",
    )
    return frame.rename_axis("metric")


def match_laws(sampled: Posterior, closed: Estimates) -> dict[str, tuple[FloatArray, Law]]:
    """Return draws and closed law of each metric that both have.

    Parameters
    ----------
    sampled : Posterior
        Draws.
    closed : Estimates
        Closed forms for the same rows and target.

    Returns
    -------
    dict of str to tuple
        Metric, or ``metric[group]``, -> draws of shape (n_chains, n_draws), nan where undefined,
        and law.

    Raises
    ------
    ValueError
        If the two cannot be compared; see `compare_laws`.
    TypeError
        If an argument is of the wrong type.
    """
    if not isinstance(sampled, Posterior):
        raise TypeError(
            f"`sampled` must be a Posterior; got {type(sampled).__name__}. Draw one with `sample`."
        )
    if not isinstance(closed, Estimates):
        raise TypeError(
            f"`closed` must be Estimates; got {type(closed).__name__}. Compute them with "
            "`estimate_pemi`, for instance."
        )
    if sampled.target != closed.target:
        raise ValueError(
            f"`closed` must have the target of the draws, {sampled.target!r}; got "
            f"{closed.target!r}. Metrics of different targets have different widths: ask both for "
            "the same one."
        )
    label_model = sampled.label_model
    sizes = (label_model.n_labeled, label_model.n_unlabeled)
    if sizes != (closed.n_labeled, closed.n_unlabeled):
        raise ValueError(
            f"`closed` must be about the rows of the draws, {sizes[0]:,} labeled and {sizes[1]:,} "
            f"missing; got {closed.n_labeled:,} and {closed.n_unlabeled:,}."
        )
    dataset, groups = sampled.dataset, label_model.completion.groups
    found, sampled_laws = {}, []
    for metric in sampled.metrics:
        values = dataset[metric.name].transpose("chain", "draw", ...).values
        for place, group in enumerate(groups or ("",)):
            name = f"{metric.name}[{group}]" if groups else metric.name
            if name in closed and isinstance(closed[name], DrawsLaw):
                sampled_laws.append(name)
            elif name in closed:
                found[name] = (values[..., place] if groups else values, closed[name])
    if sampled_laws and not found:
        raise ValueError(
            f"`closed` must hold laws in closed form; that of {sampled_laws[0]!r} is made of "
            "draws. Use an exact or a Gaussian law."
        )
    if not found:
        raise ValueError(
            f"`closed` must share a metric with the draws; got {', '.join(closed)} for draws of "
            f"{', '.join(metric.name for metric in label_model.metrics)}."
        )
    return found


def compare_draws(draws: FloatArray, law: Law) -> Comparison:
    """Compare draws of one metric with a law.

    Parameters
    ----------
    draws : ndarray of float, shape (n_chains, n_draws)
        Draws, nan where undefined.
    law : Law
        Closed form.

    Returns
    -------
    Comparison
        Distances in units of Monte Carlo error.

    Examples
    --------
    >>> from labelbayes.results.continuous import NormalLaw
    >>> draws = np.random.default_rng(0).normal(0.8, 0.02, (4, 1_000))
    >>> compare_draws(draws, NormalLaw(0.8, 0.02)).passed
    True
    >>> compare_draws(draws, NormalLaw(0.81, 0.02)).reason[:12]
    'the mean is '
    """
    defined = ~np.isnan(draws)
    share = float(defined.mean())
    lost = effective_numbers([(~defined).astype(float)])
    undefined_z = float(_share_z(1.0 - share, law.undefined_prob, lost[0]))
    compared = MOMENTS if _is_gaussian(law) else ALL
    if law.is_undefined or not share:
        nan, n_used = math.nan, float(draws.size if law.is_undefined else 0)
        return Comparison(nan, law.mean, nan, nan, nan, nan, undefined_z, n_used, compared)
    values = np.round(draws, DIGITS)
    mean = float(values[defined].mean())
    gaps = np.where(defined, values - law.mean, 0.0)
    ess = effective_numbers([gaps])
    # The larger spread, so that draws which all missed a rare value are no false alarm.
    mean_z = _z(gaps, ess[0], law.sd * math.sqrt(share))
    sd_z = cdf_z = ks_scaled = math.nan
    if compared == MOMENTS:
        squares = np.where(defined, (values - mean) ** 2 - law.sd**2, 0.0)
        more = effective_numbers([squares])
        sd_z = _z(squares, more[0], 0.0)
    else:
        at = np.unique(np.round(law.quantile(LEVELS), DIGITS)) + TIE
        expected = law.cdf(at)
        # Undefined draws carry no information: they stand at what is expected.
        below = [np.where(defined, values <= t, p) for t, p in zip(at, expected, strict=True)]
        more = effective_numbers(below) * share
        shares = np.array([float(column[defined].mean()) for column in below])
        cdf_z = float(np.abs(_share_z(shares, expected, more)).max())
        distance = _distance(values[defined], law)
        ks_scaled = distance * math.sqrt(min(more.min(), defined.sum()))
    smallest = float(min(ess[0], more.min()))
    return Comparison(
        mean, law.mean, mean_z, sd_z, cdf_z, ks_scaled, undefined_z, smallest, compared
    )


def effective_numbers(columns: list[FloatArray]) -> FloatArray:
    """Return the effective number of draws for the mean of each column.

    Parameters
    ----------
    columns : list of ndarray, each of shape (n_chains, n_draws)
        What is averaged.

    Returns
    -------
    ndarray of float, shape (n_columns,)
        The number of draws for a column that is constant; 0 below four draws a chain.
    """
    stacked = np.stack(columns)
    dataset = xr.Dataset({"x": (("column", "chain", "draw"), stacked)})
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # A constant chain divides by zero.
        warnings.simplefilter("ignore")
        ess = np.nan_to_num(az.ess(dataset, method="mean")["x"].values)
    return np.where(np.ptp(stacked, axis=(1, 2)) == 0, float(stacked[0].size), ess)


def _is_gaussian(law: Law) -> bool:
    if isinstance(law, MixtureLaw):
        return any(_is_gaussian(part) for part in law.components)
    return isinstance(law, (NormalLaw, RatioLaw)) and law.sd > 0


def _z(gaps: FloatArray, ess: float, least_sd: float) -> float:
    """Return the mean of the gaps in standard errors."""
    mean, sd = float(gaps.mean()), max(float(gaps.std()), least_sd)
    if sd < TIE:
        return 0.0 if abs(mean) < 10 * TIE else math.copysign(math.inf, mean)
    return mean / (sd / math.sqrt(ess)) if ess else math.nan


def _share_z(
    share: float | FloatArray, prob: float | FloatArray, n: float | FloatArray
) -> npt.NDArray[np.float64]:
    """Return the normal score of a share of n draws where `prob` is expected.

    The binomial tail and not a standard error: a value of probability 1e-6 that was drawn once in
    a thousand would be thirty standard errors off.
    """
    prob = np.clip(np.asarray(prob, dtype=float), 0.0, 1.0)
    found = np.clip(np.asarray(share * n, dtype=float), 0.0, n)
    with np.errstate(all="ignore"):
        at_least = np.where(found > 0, betainc(found, n - found + 1, prob), 1.0)
        at_most = np.where(found < n, betainc(n - found, found + 1, 1 - prob), 1.0)
        score = -ndtri(np.minimum(1.0, 2 * np.minimum(at_least, at_most)) / 2)
    return np.where(share < prob, -score, score) + 0.0


def _distance(values: FloatArray, law: Law) -> float:
    """Return the largest distance of the cdfs at and just below draws."""
    distinct, found = np.unique(values, return_counts=True)
    up_to = np.cumsum(found) / len(values)
    below = up_to - found / len(values)
    picks = np.linspace(0, len(distinct) - 1, min(KS_POINTS, len(distinct))).round().astype(int)
    at = distinct[picks]
    gaps = np.abs(law.cdf(at + TIE) - up_to[picks]), np.abs(law.cdf(at - TIE) - below[picks])
    return float(np.max(gaps))
