"""Simulation-based calibration: ranks of true values among draws given data that they made."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import chi2, kstwo, norm

from labelbayes._checks import FloatArray, IntArray, check_whole
from labelbayes._progress import track
from labelbayes.bayes.model import LabelModel
from labelbayes.diagnostics.resumable import read_run, run_file, run_seed, write_whole
from labelbayes.diagnostics.reuse import ReusedModel
from labelbayes.results.estimates import Estimates

#: Truth by name, and the data that it made.
Simulation = tuple[Mapping[str, npt.ArrayLike], Any]

#: Replications after which the file is written.
BATCH = 25
#: Values are rounded to this many digits: equal fractions of counts may differ in the last bit.
DIGITS = 12
#: Bins of the chi-square test at most, and replications that a bin needs.
MOST_BINS, PER_BIN = 20, 5
#: The gate on p, over all tests of a table.
LEAST_P = 1e-3
TESTS = ("chi2_p", "ks_p", "spread_p")
COLUMNS = ("replication", "quantity", "rank", "n_defined", "draws", "seed")


def run_sbc(
    build: Callable[[Any], LabelModel | Estimates],
    simulate: Callable[[np.random.Generator], Simulation],
    *,
    n: int = 500,
    draws: int = 199,
    path: str | os.PathLike[str] | None = None,
    rng: np.random.Generator | int | None = None,
) -> pd.DataFrame:
    r"""Rank true values, drawn from the prior, among posterior draws given data that they made.

    .. math::
       \theta \sim p(\theta), \quad \text{data} \sim p(\cdot \mid \theta), \quad
       \theta_1, \dots, \theta_L \sim p(\theta \mid \text{data}) \implies
       \#\{\theta_l < \theta\} \sim \mathrm{Uniform}\{0, \dots, L\}

    Ranks that pile up at both ends show posteriors that are too narrow, in the middle too wide, at
    one end shifted. `sbc_uniformity` tests them.

    Parameters
    ----------
    build : callable
        ``build(data)`` -> LabelModel, or Estimates with joint draws, whose laws are checked
        without a sampler.
    simulate : callable
        ``simulate(rng)`` -> truth, data. Truth: name -> value, of parameters and metrics that the
        posterior holds under the same names, drawn from the model's own prior; an array is taken
        entry by entry. nan where the metric is undefined.
    n : int >= 1, default 500
        Replications. With 200 the test is no reliable gate; use 500 or more.
    draws : int >= 1, default 199
        Nearly independent draws per replication, L.
    path : path-like, optional
        Parquet file that is written every 25 replications, whole or not at all. If it is there,
        its replications are kept and only the missing ones run.
    rng : numpy.random.Generator, int or None, default None
        Where all randomness comes from. With an int each replication depends on it and its number
        alone, so that a run can be resumed; None takes the seed of the file, if there is one.

    Returns
    -------
    pandas.DataFrame
        A row per replication and quantity: ``replication`` (from 0), ``quantity`` (``name`` or
        ``name[i]``), ``rank`` (0 to ``n_defined``; nan where the truth is undefined),
        ``n_defined`` (draws in which the quantity is defined), ``draws`` and ``seed``.

    Raises
    ------
    ValueError
        If an option is not as above, a truth is not among the draws or of another shape, or the
        file holds another run.
    TypeError
        If `build` returns neither LabelModel nor Estimates, or an argument is of the wrong type.

    Warns
    -----
    UserWarning
        If models differ in more than their data, so that each is compiled anew.

    See Also
    --------
    sbc_uniformity : Tests of the ranks.
    compare_laws : Draws against a closed form for one data set.
    labelbayes.plots.sbc.plot_sbc : The ranks as a figure.

    Notes
    -----
    **Assumes** that `simulate` draws from the prior and the likelihood of the model: the check is
    of computation and code, not of whether the model suits real data.

    Ties are broken at random: metrics of finite sets take few values, and their ranks would
    otherwise be skewed. Where the truth is undefined there is no rank; where it is defined, it is
    ranked among the draws that are.

    A model is compiled once and given the data of each replication, where nutpie is installed
    and all data are ``pm.Data`` (checked at the second replication): about half a second each,
    after compiling once. Otherwise every replication compiles and samples anew, and a warning says
    so where the model is the reason. Two chains, of which every fifth draw is kept.

    References
    ----------
    .. [1] S. Talts, M. Betancourt, D. Simpson, A. Vehtari and A. Gelman, "Validating Bayesian
       inference algorithms with simulation-based calibration", arXiv:1804.06788, 2018.
    .. [2] M. Modrak et al., "Simulation-based calibration checking for Bayesian computation: the
       choice of test quantities shapes sensitivity", Bayesian Analysis 20(2), 461-488, 2025.

    Examples
    --------
    A rate with a Jeffreys prior, four labels and one label missing:

    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.laws.bins import estimate_bins
    >>> def simulate(rng):
    ...     label = rng.random(5) < rng.beta(0.5, 0.5)
    ...     known = np.append(label[:4], np.nan)
    ...     return {"precision": label.mean()}, EvaluationSet(known, y_pred=np.ones(5))
    >>> ranks = run_sbc(estimate_bins, simulate, n=200, draws=19, rng=0)
    >>> sbc_uniformity(ranks)["passed"].all()
    np.True_
    """
    check_whole("n", n, least=1)
    check_whole("draws", draws, least=1)
    file = run_file(path)
    done = read_run(file, COLUMNS, "run_sbc")
    _check_draws(done, draws, file)
    seed = run_seed(done, rng, file)
    kept = set(done["replication"])
    model, batch = ReusedModel(draws), [done] if kept else []
    missing = [i for i in range(n) if i not in kept]
    for i, replication in enumerate(track(missing, label="calibration"), start=1):
        source = np.random.default_rng([seed, replication])
        truth, data = simulate(source)
        rows = _rank(truth, _draw(model, build(data), source), source)
        frame = pd.DataFrame(rows, columns=["quantity", "rank", "n_defined"])
        batch.append(frame.assign(replication=replication, draws=draws, seed=seed))
        if file is not None and (i % BATCH == 0 or i == len(missing)):
            batch = [_tidy(batch)]
            write_whole(batch[0], file)
    frame = _tidy(batch)
    return frame[frame["replication"] < n].reset_index(drop=True)


def sbc_uniformity(ranks: pd.DataFrame) -> pd.DataFrame:
    """Test whether the ranks of each quantity are uniform.

    Parameters
    ----------
    ranks : pandas.DataFrame
        From `run_sbc`, with columns ``quantity``, ``rank`` and ``n_defined``.

    Returns
    -------
    pandas.DataFrame
        Index ``quantity``; columns ``n`` (ranks), ``n_undefined`` (replications in which the truth
        is undefined), ``mean`` of the scaled ranks (1/2 if uniform), ``spread`` (their variance
        around 1/2 over that of a uniform; above 1 where posteriors are too narrow), ``chi2_p``,
        ``ks_p``, ``spread_p``, ``p_adjusted`` (the smallest of them times the number of tests in
        the table, at most 1), ``passed`` (p_adjusted > 0.001) and ``reason`` (what the ranks show,
        where it failed).

    Raises
    ------
    ValueError
        If a column is missing or there are no ranks.

    Notes
    -----
    Chi-square on up to 20 bins with at least five expected ranks each; Kolmogorov-Smirnov of the
    discrete ranks, which errs on the side of passing; and the normal score of the spread, which
    sees a wrong width far sooner. Bonferroni over quantities and the three tests.

    **Power.** At 100 replications of small data sets the two errors that are easily made fail:
    label noise left out where 3 of 4 rows are labeled, and rates taken as known at their posterior
    mean where 1 of 4 is (``python -m tests.validation V15``).
    A test of 200 replications at p > 0.01 fails correct models now and then: hence 500 and 0.001.

    References
    ----------
    .. [1] T. Sailynoja, P.-C. Buerkner and A. Vehtari, "Graphical test for discrete uniformity and
       its applications in goodness-of-fit evaluation and multiple sample comparison", Statistics
       and Computing 32, 2022.

    Examples
    --------
    >>> rank = np.random.default_rng(0).integers(0, 200, 500)
    >>> ranks = pd.DataFrame({"quantity": "f1", "rank": rank, "n_defined": 199})
    >>> sbc_uniformity(ranks)["passed"].item()
    True
    >>> sbc_uniformity(ranks.assign(rank=50 + rank // 2))["reason"].item()
    'draws are too wide'
    """
    missing = [name for name in ("quantity", "rank", "n_defined") if name not in ranks]
    if missing or ranks.empty:
        raise ValueError(
            "`ranks` must be a table of `run_sbc` with ranks; got "
            f"{f'no column {missing[0]!r}' if missing else 'no row'}."
        )
    groups = ranks.groupby("quantity", sort=False, observed=True)
    rows = {str(name): _test(group) for name, group in groups}
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("quantity")
    smallest = frame[list(TESTS)].min(axis=1)
    frame["p_adjusted"] = np.minimum(1.0, len(TESTS) * len(frame) * smallest)
    # A quantity without any rank has not been tested, and has not passed.
    frame["passed"] = frame["p_adjusted"] > LEAST_P
    frame["reason"] = [
        "" if row["passed"] else _reason(row["n"], row["mean"], row["spread"])
        for _, row in frame.iterrows()
    ]
    return frame


def rank_cdf(rank: FloatArray, n_defined: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return observed and expected cdf of the scaled ranks on a grid.

    Parameters
    ----------
    rank : ndarray of float, shape (n,)
        Ranks, 0 to `n_defined`.
    n_defined : ndarray of int, shape (n,)
        Draws that each was ranked among.

    Returns
    -------
    tuple of ndarray, each of shape (k,)
        Grid from 0 to 1, share of scaled ranks (rank + 1) / (n_defined + 1) up to it, and the
        share expected of uniform ranks; empty where there are no ranks.

    Examples
    --------
    >>> rank_cdf(np.array([0.0, 1.0, 1.0]), np.array([1, 1, 1]))[1].round(2)
    array([0.  , 0.33, 1.  ])
    """
    if not len(rank):
        return np.empty(0), np.empty(0), np.empty(0)
    size = int(n_defined.max()) + 1
    steps = np.arange(size + 1)
    # In whole numbers, so that no rank falls off a step by round-off.
    slots = steps[:, None] * (n_defined + 1) // size
    observed = (rank + 1 <= slots).mean(axis=1)
    return steps / size, observed, (slots / (n_defined + 1)).mean(axis=1)


def _test(group: pd.DataFrame) -> dict[str, float]:
    """Return the tests of one quantity."""
    defined = group["rank"].notna().to_numpy()
    row: dict[str, float] = {"n": int(defined.sum()), "n_undefined": int((~defined).sum())}
    if not row["n"]:
        return row | dict.fromkeys(("mean", "spread", *TESTS), math.nan)
    rank = group["rank"].to_numpy(dtype=float)[defined]
    n_defined = group["n_defined"].to_numpy(dtype=np.int64)[defined]
    scaled = (rank + 0.5) / (n_defined + 1)
    row |= {"mean": float(scaled.mean()), "spread": float(12 * ((scaled - 0.5) ** 2).mean())}
    grid, observed, expected = rank_cdf(rank, n_defined)
    n_bins = min(MOST_BINS, max(2, len(rank) // PER_BIN), len(grid) - 1)
    cuts = np.linspace(0, len(grid) - 1, n_bins + 1).round().astype(int)
    share = np.diff(expected[cuts])
    gaps = np.diff(observed[cuts]) - share
    used = share > 0
    statistic = len(rank) * float((gaps[used] ** 2 / share[used]).sum())
    distance = float(np.abs(observed - expected).max())
    return row | {
        "chi2_p": float(chi2.sf(statistic, max(1, int(used.sum()) - 1))),
        "ks_p": float(kstwo.sf(distance, len(rank))) if distance > 0 else 1.0,
        "spread_p": float(2 * norm.sf(abs(_width_z(row["spread"], len(rank))))),
    }


def _width_z(spread: float, n: int) -> float:
    """Return the spread in standard errors: that of n uniform ranks has variance 4/(5 n)."""
    return (spread - 1.0) * math.sqrt(n / 0.8)


def _reason(n: int, mean: float, spread: float) -> str:
    """Say what ranks that are not uniform show, by what is farther off."""
    if not n:
        return "the truth is never defined"
    shift, width = (mean - 0.5) * math.sqrt(12 * n), _width_z(spread, n)
    if max(abs(shift), abs(width)) < 3:
        return "ranks are uneven"
    if abs(shift) > abs(width):
        return f"draws are too {'low' if shift > 0 else 'high'}"
    return f"draws are too {'narrow' if width > 0 else 'wide'}"


def _draw(
    model: ReusedModel, built: LabelModel | Estimates, rng: np.random.Generator
) -> dict[str, FloatArray]:
    if not isinstance(built, (LabelModel, Estimates)):
        raise TypeError(
            f"`build` must return a LabelModel or Estimates; got {type(built).__name__}."
        )
    return model.draws(built, rng)


def _rank(
    truth: Mapping[str, npt.ArrayLike], drawn: Mapping[str, FloatArray], rng: np.random.Generator
) -> list[tuple[str, float, int]]:
    """Return quantity, rank and defined draws of every entry of the truth."""
    rows = []
    for name, value in truth.items():
        true = np.round(np.asarray(value, dtype=float), DIGITS)
        if name not in drawn:
            raise ValueError(
                f"`simulate` must name truths as the draws do, {', '.join(drawn)}; got {name!r}."
            )
        sampled = np.round(drawn[name], DIGITS)
        if sampled.shape[1:] != true.shape:
            raise ValueError(
                f"`simulate` must give {name!r} the shape of a draw, {sampled.shape[1:]}; got "
                f"{true.shape}."
            )
        for place in np.ndindex(*true.shape):
            label = f"{name}[{', '.join(map(str, place))}]" if place else name
            column = sampled[(slice(None), *place)]
            column = column[~np.isnan(column)]
            below, tied = int((column < true[place]).sum()), int((column == true[place]).sum())
            rank = below + int(rng.integers(tied + 1))
            rows.append((label, math.nan if np.isnan(true[place]) else float(rank), len(column)))
    return rows


def _check_draws(done: pd.DataFrame, draws: int, file: Path | None) -> None:
    if not done.empty and (made := int(done["draws"].iloc[0])) != draws:
        raise ValueError(
            f"`draws` must be that of the file, {made}; got {draws} for {str(file)!r}. Use another "
            "path."
        )


def _tidy(batch: list[pd.DataFrame]) -> pd.DataFrame:
    frame = pd.concat(batch, ignore_index=True)[list(COLUMNS)]
    kinds = {"replication": np.int32, "n_defined": np.int32, "draws": np.int32, "seed": np.int64}
    order = frame.astype(kinds).sort_values("replication", kind="stable", ignore_index=True)
    return order.astype({"rank": np.float32})
