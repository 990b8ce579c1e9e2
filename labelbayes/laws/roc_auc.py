"""The law of ROC-AUC with missing labels: exact where it can be, with exact moments always."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from labelbayes._checks import FloatArray, check_choice
from labelbayes.laws.missing_cells import Fits, MissingCells
from labelbayes.laws.rank_sums import RankSums
from labelbayes.laws.ranked_rows import RankedRows
from labelbayes.laws.roc_auc_edgeworth import edgeworth_law
from labelbayes.laws.roc_auc_lattice import (
    MOST_CELLS,
    MOST_CHANGES,
    MOST_COMBINATIONS,
    CellLattice,
    enumerated_law,
    lattice_law,
    lattice_size,
)
from labelbayes.laws.roc_auc_moments import (
    Moments,
    delta_moments,
    mix_moments,
    roc_auc_moments,
)
from labelbayes.metrics.ranking import RANKING_METRICS
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.distribution import DiscreteLaw, Law
from labelbayes.results.mixture import MixtureLaw
from labelbayes.results.sampled import SampledLaw, draws_text

REASON = RANKING_METRICS["roc_auc"].undefined_when

#: How a law can be asked for. "exact" picks the first of the others, "gauss" apart, that serves.
KINDS = ("exact", "enumerated", "lattice", "edgeworth", "sampled", "gauss")

#: Combinations up to which they are listed even where a lattice is affordable.
FEW_COMBINATIONS = 1 << 16

#: Twice a sum of midranks is counted in 64 bits.
MOST_RANK_SUM = 2**63 - 1

#: A law that is asked for by its kind may take this many times the usual effort.
PATIENCE = 8


class RocAucLaw(NamedTuple):
    """A law, what kind it is in words, and how far its cdf may be from the exact one.

    Attributes
    ----------
    law : Law
        Law of the area given that it is defined.
    method : str
        Its kind.
    error : float
        0 where the law is exact; an estimate meant to be too large for the Edgeworth mixture;
        not exceeded with probability 95% (DKW) by draws; nan for a normal law.
    """

    law: Law
    method: str
    error: float


def roc_auc_law(
    ranked: RankedRows,
    cells: MissingCells,
    fits: Fits,
    draw: Callable[[], FloatArray],
    *,
    kind: str = "exact",
) -> RocAucLaw:
    """Return the law of ROC-AUC, mixed over the fits of a belief.

    Parameters
    ----------
    ranked : RankedRows
        Rows by score.
    cells : MissingCells
        Their missing rows.
    fits : Fits
        Rates of the bins of these cells.
    draw : callable
        Returns draws of the area from the same belief, nan where undefined; called only where
        the law is sampled.
    kind : {"exact", "enumerated", "lattice", "edgeworth", "sampled", "gauss"}, default "exact"
        "exact" lists the law where that is affordable, takes the Edgeworth mixture where its
        error is small, and else draws; mean, sd and probability undefined are exact in any case.
        "gauss" is the matched normal, whose mean and sd are those of the delta method.

    Returns
    -------
    RocAucLaw
        The law given that the area is defined, and its kind in words.

    Raises
    ------
    ValueError
        If a kind that was asked for does not serve here.

    Notes
    -----
    **Assumes** that missing labels are independent draws with these rates.

    References
    ----------
    .. [1] D. Dervovic and M. Cashmore, arXiv 2504.18385, 2025.
    .. [2] J. A. Hanley and B. J. McNeil, "The meaning and use of the area under a receiver
       operating characteristic (ROC) curve", Radiology 143(1), 29-36, 1982.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.imputation.impute import impute
    >>> from labelbayes.laws.missing_cells import cells_and_fits
    >>> evaluation = EvaluationSet([1, 0, None], [0.9, 0.4, 0.6])
    >>> ranked = RankedRows.from_evaluation(evaluation)
    >>> missing = cells_and_fits(ranked, evaluation, impute(evaluation, [1, 0, 0.25]))
    >>> law, method, error = roc_auc_law(ranked, *missing, lambda: np.empty(0))
    >>> law.mean, method, error
    (1.0, 'exact law, enumerated', 0.0)
    """
    check_choice("kind", kind, KINDS)
    ranks = RankSums.from_cells(ranked, cells, fits)
    if kind == "gauss":
        laws = tuple(_normal_law(delta_moments(ranks, i)) for i in range(ranks.n_fits))
        return RocAucLaw(
            laws[0] if len(laws) == 1 else MixtureLaw(laws), "matched normal law", math.nan
        )
    total = mix_moments([roc_auc_moments(ranks, i) for i in range(ranks.n_fits)])
    if total.defined_prob == 0.0:
        return RocAucLaw(DiscreteLaw(np.empty(0), np.empty(0), 1.0, REASON), "exact law", 0.0)
    if kind != "sampled":
        found = _listed(ranked, cells, fits, total, kind)
        if found is None and kind in ("exact", "edgeworth"):
            found = _smooth(ranked, cells, ranks, kind)
        if found is not None:
            return found
        if kind != "exact":
            raise ValueError(
                f"`kind` must serve these rows; {kind!r} does not: too many of them, one class "
                "too rare, or scores too few. Leave it at 'exact', which picks one that does."
            )
    return _sampled(draw(), total)


def _reason(lost: float) -> str:
    return REASON if lost else ""


def _normal_law(moments: Moments) -> NormalLaw:
    lost = moments.undefined_prob
    return NormalLaw(moments.mean, moments.sd, 0.0, 1.0, lost, _reason(lost))


def _listed(
    ranked: RankedRows, cells: MissingCells, fits: Fits, total: Moments, kind: str
) -> RocAucLaw | None:
    """Return the law as a list of values, where that is affordable and asked for."""
    lost = total.undefined_prob
    if ranked.n_steps == 1:
        half = DiscreteLaw(np.array([0.5]), np.ones(1), lost, _reason(lost))
        return RocAucLaw(half, "exact law, all scores being equal", 0.0)
    if int(ranked.n) * (int(ranked.n) + 1) > MOST_RANK_SUM:
        return None
    lattice = CellLattice.from_cells(ranked, cells, fits)
    patience = PATIENCE if kind in ("enumerated", "lattice") else 1
    size, changes = lattice_size(lattice)
    has_lattice = size <= patience * MOST_CELLS and changes <= patience * MOST_CHANGES
    if kind in ("exact", "enumerated") or size == 1:
        # Listing few combinations is faster than any lattice, listing many slower.
        limit = FEW_COMBINATIONS if has_lattice and kind == "exact" else MOST_COMBINATIONS
        law = enumerated_law(lattice, lost, _reason(lost), limit=patience * limit)
        if law is not None:
            return RocAucLaw(law, "exact law, enumerated", 0.0)
    if kind in ("exact", "lattice") and has_lattice:
        law = lattice_law(lattice, lost, _reason(lost))
        return RocAucLaw(law, "exact law, on a lattice", 0.0)
    return None


def _smooth(
    ranked: RankedRows, cells: MissingCells, ranks: RankSums, kind: str
) -> RocAucLaw | None:
    """Return the Edgeworth mixture with its error in words."""
    found = edgeworth_law(ranked, cells, ranks, REASON, force=kind == "edgeworth")
    if found is None:
        return None
    method = f"Edgeworth mixture, cdf within {found.error:.4f} (estimate)"
    return RocAucLaw(found.law, method, found.error)


def _sampled(values: FloatArray, total: Moments) -> RocAucLaw:
    """Return the law of draws with exact moments."""
    n_defined = int(np.sum(~np.isnan(values)))
    if n_defined == 0:
        method = "normal law with exact moments, no draw being defined"
        return RocAucLaw(_normal_law(total), method, math.nan)
    law = SampledLaw(
        values,
        _reason(total.undefined_prob),
        known_mean=total.mean,
        known_sd=total.sd,
        known_undefined_prob=total.undefined_prob,
    )
    error = math.sqrt(math.log(2 / 0.05) / (2 * n_defined))
    return RocAucLaw(law, f"exact mean and sd; {draws_text(n_defined)}", error)
