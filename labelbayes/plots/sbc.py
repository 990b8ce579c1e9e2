"""Ranks of simulation-based calibration as a figure."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import kstwo

from labelbayes.diagnostics.sbc import LEAST_P, TESTS, rank_cdf, sbc_uniformity
from labelbayes.plots.style import (
    SMALL_SIZE,
    SPARE_COLORS,
    TEXT_SIZE,
    add_footnotes,
    dress,
    inks_on,
    new_axes,
)

_SIZE = (6.2, 3.8)


def plot_sbc(ranks: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw how far the cdf of the ranks is from uniform, a line per quantity.

    Parameters
    ----------
    ranks : pandas.DataFrame
        From `run_sbc`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Quantities that pass are gray, those that fail have a color and are named with the reason.
        The band is where a line may go before its Kolmogorov-Smirnov test fails.

    Raises
    ------
    ValueError
        If `ranks` is no table of `run_sbc`.

    See Also
    --------
    labelbayes.diagnostics.sbc.sbc_uniformity : The tests.

    Notes
    -----
    A posterior that is too narrow shows as a line that rises first and falls last (more truths in
    the tails), one that is too wide the other way round.

    References
    ----------
    .. [1] T. Sailynoja, P.-C. Buerkner and A. Vehtari, "Graphical test for discrete uniformity and
       its applications in goodness-of-fit evaluation and multiple sample comparison", Statistics
       and Computing 32, 2022.

    Examples
    --------
    >>> rank = np.random.default_rng(0).integers(0, 200, 500)
    >>> ax = plot_sbc(pd.DataFrame({"quantity": "f1", "rank": rank, "n_defined": 199}))
    >>> ax.get_title(loc="left")
    'Ranks of 1 quantity: all uniform'
    """
    tests = sbc_uniformity(ranks)
    if ax is None:
        ax = new_axes(*_SIZE)
    inks = inks_on(ax)
    failed = {str(name): row["reason"] for name, row in tests.iterrows() if not row["passed"]}
    colors = dict(zip(failed, cycle(SPARE_COLORS), strict=False))
    n_ranks = int(tests["n"][tests["n"] > 0].min()) if tests["n"].any() else 0
    for name in tests.index:
        quantity = str(name)
        group = ranks[(ranks["quantity"] == name) & ranks["rank"].notna()]
        grid, observed, expected = rank_cdf(
            group["rank"].to_numpy(dtype=float), group["n_defined"].to_numpy(dtype=np.int64)
        )
        ax.plot(
            grid,
            observed - expected,
            color=colors.get(quantity, inks.muted),
            linewidth=1.8 if quantity in failed else 0.9,
            label=f"{quantity}: {failed[quantity]}" if quantity in failed else None,
        )
    if n_ranks:
        band = float(kstwo.isf(LEAST_P / (len(TESTS) * len(tests)), n_ranks))
        ax.axhspan(-band, band, color=inks.rule, alpha=0.35, linewidth=0, zorder=0)
    ax.axhline(0.0, color=inks.rule, linewidth=0.8, zorder=1)
    ax.set_xlim(0, 1)
    dress(ax, inks, xlabel="rank of the truth among the draws, scaled")
    ax.set_ylabel("share of truths below, less the rank", color=inks.text, fontsize=SMALL_SIZE)
    what = f"{len(tests)} quantit{'y' if len(tests) == 1 else 'ies'}"
    ax.set_title(
        f"Ranks of {what}: " + (f"{len(failed)} not uniform" if len(failed) else "all uniform"),
        loc="left",
        color=inks.text,
        fontsize=TEXT_SIZE + 1,
        fontweight="bold",
    )
    if len(failed):
        legend = ax.legend(loc="best", frameon=False, labelcolor=inks.text, fontsize=SMALL_SIZE)
        for text in legend.get_texts():
            text.set_parse_math(False)
    n_tests = len(TESTS) * len(tests)
    notes = [
        f"{n_ranks:,} replications.",
        f"Gray band: where a line may go at p > {LEAST_P:g}, adjusted for {n_tests} tests.",
        "A line that rises first and falls last: draws too narrow.",
    ]
    lost = int(tests["n_undefined"].sum())
    if lost:
        notes.append(f"No rank for {lost:,} truths that are undefined.")
    add_footnotes(ax, inks, [" ".join(notes)])
    return ax
