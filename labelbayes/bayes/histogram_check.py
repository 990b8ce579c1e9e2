"""Does a model of soft labels fit the counts of raters? A posterior predictive check."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from labelbayes._checks import (
    CI_PROB,
    FloatArray,
    check_open_unit,
    check_type,
    check_whole,
    make_rng,
)
from labelbayes._html import table_html
from labelbayes.bayes.model import flatten
from labelbayes.bayes.posterior import Posterior
from labelbayes.bayes.soft_labels import SoftLabelModel, _log_beta_binomial

REMEDIES = {
    "beta": "use family='bernstein'",
    "bernstein": (
        "its numbers cannot be trusted; bound the bias of plain shares instead, with "
        "`estimate_optimal(..., calibrator=None)`"
    ),
}
#: Below this probability the family is said not to fit.
LEAST_P = 0.01


@dataclass(frozen=True, eq=False, repr=False)
class HistogramCheck:
    """Counts of raters next to what the model would give.

    Parameters
    ----------
    table : pandas.DataFrame
        Index ``n_ratings`` and ``count``; columns ``observed`` (items), ``mean``, ``low`` and
        ``high`` (predictive).
    p_value : float
        Posterior predictive probability of a histogram that is at least as far from the model as
        the observed one.
    ci_prob : float
        Probability content of low to high.
    remedy : str
        What to do where the family does not fit.
    """

    table: pd.DataFrame
    p_value: float
    ci_prob: float
    remedy: str

    @property
    def ok(self) -> bool:
        """Whether the probability is at least 0.01."""
        return self.p_value >= LEAST_P

    @property
    def sentence(self) -> str:
        """What the check says, with the remedy where it fails."""
        outside = ~self.table["observed"].between(self.table["low"], self.table["high"])
        said = (
            f"Posterior predictive p = {self.p_value:.3f}; {int(outside.sum())} of "
            f"{len(self.table)} counts lie outside their {self.ci_prob:.0%} predictive interval."
        )
        if self.ok:
            return said
        return f"{said} The family does not fit: {self.remedy}."

    def __repr__(self) -> str:
        """Return the sentence."""
        return f"HistogramCheck({self.sentence})"

    def _repr_html_(self) -> str:
        rows = [
            [*(str(part) for part in np.atleast_1d(place)), *(f"{cell:.0f}" for cell in row)]
            for place, row in zip(self.table.index, self.table.to_numpy(), strict=True)
        ]
        head = ["raters", "said positive", "items", "predicted", "low", "high"]
        return table_html(head, rows, notes=[self.sentence])


def check_histogram(
    posterior: Posterior,
    *,
    n_draws: int = 1_000,
    ci_prob: float = CI_PROB,
    rng: np.random.Generator | int | None = None,
) -> HistogramCheck:
    """Compare the histogram of raters' counts with histograms that the model would give.

    Parameters
    ----------
    posterior : Posterior
        Draws of a model of `build_soft_labels`.
    n_draws : int >= 1, default 1_000
        Draws that are used, at random.
    ci_prob : float, default 0.95
        Probability content of the predictive interval of each count.
    rng : numpy.random.Generator, int, optional
        Where predicted histograms come from.

    Returns
    -------
    HistogramCheck
        Table, probability and sentence.

    Raises
    ------
    TypeError
        If `posterior` is no Posterior of such a model.
    ValueError
        If an option is not as above.

    Notes
    -----
    **Assumes** nothing beyond the model that it checks. The distance is the log likelihood ratio of
    a histogram against the draw's own probabilities, computed for the observed histogram and for
    one that is drawn. The same data fit and judge the model, so a good fit gives probabilities near
    1/2 and not uniform ones; small ones are all the more telling.

    References
    ----------
    .. [1] A. Gelman, X.-L. Meng, H. Stern, "Posterior predictive assessment of model fitness via
       realized discrepancies", Statistica Sinica 6, 733-807, 1996.

    Examples
    --------
    >>> import xarray as xr
    >>> from labelbayes.bayes.convergence import diagnose
    >>> from labelbayes.bayes.soft_labels import build_soft_labels
    >>> from labelbayes.bayes.stack import wrap
    >>> label_model = build_soft_labels([0, 1, 2, 3] * 25, 3)
    >>> draws = xr.Dataset(
    ...     {name: (("chain", "draw"), np.full((2, 50), value))
    ...      for name, value in (("mean", 0.5), ("concentration", 2.0))}
    ... )  # P(y = 1 | x) uniform: each count is equally likely
    >>> posterior = Posterior(label_model, wrap(draws), "population", diagnose(draws, 0))
    >>> check_histogram(posterior, rng=0).ok
    True
    """
    check_type("posterior", posterior, Posterior)
    label_model = posterior.label_model
    if not isinstance(label_model, SoftLabelModel):
        raise TypeError(
            "`posterior` must come from a model of `build_soft_labels`; got one of "
            f"{type(label_model).__name__}."
        )
    share = check_open_unit("ci_prob", ci_prob, "Write 0.95 for 95%.")
    size, generator = check_whole("n_draws", n_draws, least=1), make_rng(rng)
    items = label_model.completion
    draws = flatten(posterior.dataset)
    weight, first, second = label_model.parts(draws)
    first, second = (np.broadcast_to(part, weight.shape) for part in (first, second))
    picks = generator.choice(len(weight), min(size, len(weight)), replace=False)
    kinds = np.unique(items.m)
    places = [(int(m), k) for m in kinds for k in range(m + 1)]
    observed = dict.fromkeys(places, 0)
    for k, m, n_items in zip(items.k, items.m, items.n_items, strict=True):
        observed[int(m), int(k)] += int(n_items)
    seen = np.array([observed[place] for place in places], dtype=np.float64)
    drawn = np.empty((len(picks), len(places)))
    distance = np.zeros((2, len(picks)))
    for row, i in enumerate(picks):
        start = 0
        for m in kinds:
            part = slice(start, start + m + 1)
            start += m + 1
            count = np.arange(m + 1)
            parts = _log_beta_binomial(count, m, first[i][:, None], second[i][:, None])
            mass = weight[i] @ np.exp(parts)
            mass /= mass.sum()
            drawn[row, part] = generator.multinomial(int(seen[part].sum()), mass)
            for side, histogram in enumerate((seen[part], drawn[row, part])):
                distance[side, row] += _deviance(histogram, mass)
    ends = np.quantile(drawn, [(1 - share) / 2, (1 + share) / 2], axis=0)
    table = pd.DataFrame(
        {"observed": seen, "mean": drawn.mean(axis=0), "low": ends[0], "high": ends[1]},
        index=pd.MultiIndex.from_tuples(places, names=["n_ratings", "count"]),
    )
    remedy = REMEDIES["bernstein" if "weight" in draws else "beta"]
    return HistogramCheck(table, float((distance[1] >= distance[0]).mean()), share, remedy)


def _deviance(histogram: FloatArray, mass: FloatArray) -> float:
    """Return twice the log likelihood ratio of a histogram against these probabilities."""
    used = histogram > 0
    expected = histogram.sum() * mass[used]
    return float(2 * (histogram[used] * np.log(histogram[used] / expected)).sum())
