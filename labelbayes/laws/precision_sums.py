"""Sums over a ranking from which average precision follows, known labels put in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelbayes._checks import FloatArray, read_only
from labelbayes.laws.missing_cells import MissingCells
from labelbayes.laws.ranked_rows import RankedRows


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionSums:
    r"""What the known labels add to average precision, and what each missing one may.

    With :math:`K_s` positives at step s, :math:`M_s` down to it and :math:`r_s` rows down to it,
    average precision is S / N with :math:`S = \sum_s K_s M_s / r_s` and N positives in all. Split
    by known and missing labels, with :math:`X_s` missing positives at step s,

    .. math:: S = c + \sum_i g_i Y_i + \sum_s X_s (X_1 + \dots + X_s) / r_s .

    Parameters
    ----------
    constant : float
        c, the sum over known positives alone.
    slope : ndarray of float, shape (k,)
        g of each cell of missing rows.
    inverse_rows : ndarray of float, shape (k,)
        1 / r at the step of each cell.
    n_known_positive : int
        Known positives.

    Examples
    --------
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.laws.missing_cells import cells_of
    >>> evaluation = EvaluationSet([1, None, 1], [0.9, 0.5, 0.1])
    >>> ranked = RankedRows.from_evaluation(evaluation)
    >>> sums = PrecisionSums.from_cells(ranked, cells_of(ranked, evaluation, np.zeros(3, int)))
    >>> round(sums.constant, 4), sums.slope.round(4), sums.inverse_rows
    (1.6667, array([0.8333]), array([0.5]))
    """

    constant: float
    slope: FloatArray
    inverse_rows: FloatArray
    n_known_positive: int

    @classmethod
    def from_cells(cls, ranked: RankedRows, cells: MissingCells) -> PrecisionSums:
        """Add up what is known along the ranking.

        Parameters
        ----------
        ranked : RankedRows
            Rows by score.
        cells : MissingCells
            Their missing rows.

        Returns
        -------
        PrecisionSums
            The sums.
        """
        inverse = 1.0 / np.cumsum(ranked.step_count)
        at_cells = inverse[cells.step]
        if not ranked.n_known_positive:
            slope = np.zeros(len(cells.step))
            return cls(0.0, read_only(slope), read_only(at_cells), 0)
        above = np.cumsum(ranked.known_positive)
        share = ranked.known_positive * inverse
        # A missing positive meets known ones above it (and beside it) at its own step, and adds
        # one to the positives above every known one below it (and beside it).
        below = np.cumsum(share[::-1])[::-1]
        slope = (above * inverse + below)[cells.step]
        return cls(
            known_precision_sum(ranked),
            read_only(slope),
            read_only(at_cells),
            ranked.n_known_positive,
        )


def known_precision_sum(ranked: RankedRows) -> float:
    """Return S over the known positives alone.

    Parameters
    ----------
    ranked : RankedRows
        Rows by score.

    Returns
    -------
    float
        The sum of their precisions, were every missing row negative.
    """
    known = ranked.known_positive
    return float((known / np.cumsum(ranked.step_count)) @ np.cumsum(known))
