"""Whether draws can be used: the gate over parameters and metrics."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
import xarray as xr

from labelbayes._checks import FloatArray
from labelbayes._html import number_text, table_html
from labelbayes.bayes.stack import az

#: The gate: R-hat below, effective draws above.
MOST_R_HAT = 1.01
LEAST_ESS = 400


class SamplingWarning(UserWarning):
    """Draws failed the gate; the message holds each reason."""


@dataclass(frozen=True)
class Diagnostics:
    """How well the draws stand for the posterior.

    Parameters
    ----------
    r_hat : float
        Largest rank-normalized R-hat over parameters and metrics; nan for a single chain.
    ess_bulk, ess_tail : float
        Smallest effective number of draws, in the bulk and in the tails; nan below four draws.
    divergences : int
        Divergent transitions.
    between_chain_gap : float
        Largest distance between two chains' means, in posterior standard deviations. A chain in
        a mode of its own shows here, and may show no divergence.
    worst : str
        The variable that is nearest to failing, or fails most; empty where all are constant.
    problems : tuple of str
        Each reason why the gate fails, as a sentence.

    Examples
    --------
    >>> Diagnostics(1.001, 2_000.0, 1_500.0, 0, 0.03, "rate[2]", ()).ok
    True
    """

    r_hat: float
    ess_bulk: float
    ess_tail: float
    divergences: int
    between_chain_gap: float
    worst: str
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether R-hat < 1.01, all effective numbers exceed 400 and nothing diverged."""
        return not self.problems

    def _repr_html_(self) -> str:
        row = [
            number_text(self.r_hat),
            number_text(self.ess_bulk, 0),
            number_text(self.ess_tail, 0),
            str(self.divergences),
            number_text(self.between_chain_gap, 2),
            self.worst,
            "passed" if self.ok else "failed",
        ]
        head = ["R-hat", "ESS bulk", "ESS tail", "divergences", "chain gap", "worst", "gate"]
        return table_html(head, [row], notes=self.problems)


def diagnose(posterior: xr.Dataset, divergences: int) -> Diagnostics:
    """Return the diagnostics of all variables; constant ones have none.

    Parameters
    ----------
    posterior : xarray.Dataset
        Parameters and metrics, dimensions ``chain`` and ``draw`` first. Draws in which a metric
        is undefined count as the mean of the others.
    divergences : int
        Divergent transitions.

    Returns
    -------
    Diagnostics
        The extremes over the variables, and what is wrong.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))
    >>> diagnose(xr.Dataset({"rate": (("chain", "draw"), draws)}), 0).ok
    True
    >>> draws[0] += 3
    >>> diagnose(xr.Dataset({"rate": (("chain", "draw"), draws)}), 0).worst
    'rate'
    """
    names, columns = _columns(posterior)
    n_chains = len(columns)
    if not names:
        return _judge(_Extremes(math.nan, math.nan, math.nan, 0.0, ""), divergences, n_chains)
    r_hat, bulk, tail = _measure(columns)
    worst = int(np.argmax(np.fmax((r_hat - 1) / (MOST_R_HAT - 1), LEAST_ESS / np.fmin(bulk, tail))))
    means = columns.mean(axis=1)
    gap = (means.max(axis=0) - means.min(axis=0)) / columns.std(axis=(0, 1))
    extremes = _Extremes(
        float(r_hat.max()), float(bulk.min()), float(tail.min()), float(gap.max()), names[worst]
    )
    return _judge(extremes, divergences, n_chains)


@dataclass(frozen=True)
class _Extremes:
    r_hat: float
    ess_bulk: float
    ess_tail: float
    gap: float
    worst: str


def _columns(posterior: xr.Dataset) -> tuple[list[str], FloatArray]:
    """Return names and draws of every scalar that varies, shape (chains, draws, columns)."""
    names, columns = [], []
    shape = (posterior.sizes["chain"], posterior.sizes["draw"])
    for name, variable in posterior.data_vars.items():
        values = variable.transpose("chain", "draw", ...)
        flat = values.values.astype(float).reshape(*shape, -1)
        for k, place in enumerate(np.ndindex(*values.shape[2:])):
            column = flat[:, :, k]
            defined = ~np.isnan(column)
            if not defined.any():
                continue
            column = np.where(defined, column, column[defined].mean())
            if np.ptp(column) > 0:
                labels = ", ".join(map(str, place))
                names.append(f"{name}[{labels}]" if place else str(name))
                columns.append(column)
    return names, np.stack(columns, axis=-1) if columns else np.empty((*shape, 0))


def _measure(columns: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return R-hat and effective draws in bulk and tails of each column."""
    n_chains, n_draws, n_columns = columns.shape
    unknown = np.full(n_columns, math.nan)
    if n_draws < 4:
        return unknown, unknown, unknown
    dataset = xr.Dataset({"x": (("chain", "draw", "column"), columns)})
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # A chain that is constant divides by zero and is reported by its R-hat.
        warnings.simplefilter("ignore")
        r_hat = unknown if n_chains == 1 else az.rhat(dataset)["x"].values
        bulk, tail = (az.ess(dataset, method=method)["x"].values for method in ("bulk", "tail"))
    return r_hat, bulk, tail


def _judge(extremes: _Extremes, divergences: int, n_chains: int) -> Diagnostics:
    problems = []
    if extremes.worst:
        least = min(extremes.ess_bulk, extremes.ess_tail)
        if n_chains == 1:
            problems.append("one chain has no R-hat: use chains=4")
        elif not extremes.r_hat < MOST_R_HAT:
            problems.append(
                f"R-hat {extremes.r_hat:.3f} is not below {MOST_R_HAT} (worst: {extremes.worst}; "
                f"chain means differ by up to {extremes.gap:.2f} posterior sd)"
            )
        if not least > LEAST_ESS:
            problems.append(
                f"{least:.0f} effective draws are not above {LEAST_ESS} (worst: {extremes.worst}): "
                "raise draws"
            )
    if divergences:
        problems.append(
            f"{divergences} divergent transitions: raise target_accept, or the model is hard to "
            "sample"
        )
    return Diagnostics(
        extremes.r_hat,
        extremes.ess_bulk,
        extremes.ess_tail,
        divergences,
        extremes.gap,
        extremes.worst,
        tuple(problems),
    )
