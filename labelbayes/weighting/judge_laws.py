"""Laws of a pass rate that a judge's errors distort: posterior by quadrature, and a score law."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.signal import fftconvolve
from scipy.special import betainc, betaincinv, betaln, ndtr, ndtri, xlog1py, xlogy

from labelbayes._checks import FloatArray
from labelbayes.results.distribution import DiscreteLaw, Law

#: Cells of the lattice on which a posterior is held, and probability beyond either of its ends.
CELLS, TAIL = 4_096, 1e-12
#: Standard errors that a posterior reaches at most.
SPAN = 6.0
#: Nodes that stand for a Beta law: for one share, for each of two, and for a rate of errors.
SHARE_NODES, SHARE_NODES_EACH, RATE_NODES = 24, 10, 64


@dataclass(frozen=True, eq=False, repr=False)
class ScoreLaw(Law):
    """Confidence law of (apparent + specificity - 1) / (sensitivity + specificity - 1).

    P(rate <= t) is the normal probability of the distance between the apparent rate and the one
    that t would give, in the standard errors that t would give (a score test, after Wilson). No
    quantile leaves [0, 1], whatever the estimate.

    Parameters
    ----------
    apparent, sensitivity, specificity : float
        Estimates; sensitivity + specificity > 1.
    n : int
        Rows of the apparent rate.
    n_positive, n_negative : int
        Labeled rows by label.
    is_inside : bool
        Whether the labeled rows are among the rows of the apparent rate.
    undefined_prob : float, default 0.0
        Always 0.
    undefined_reason : str, default ""
        Always empty.

    Notes
    -----
    Where all labeled positives, or negatives, agree, the variance of that rate is taken with half
    a row added to each side.

    References
    ----------
    .. [1] W. J. Rogan and B. Gladen, "Estimating prevalence from the results of a screening
       test", American Journal of Epidemiology 107(1), 71-76, 1978.

    Examples
    --------
    >>> law = ScoreLaw(23 / 150, 0.96, 0.89, 150, 100, 100, False)
    >>> round(law.mean, 4), str(law.interval(0.95))
    (0.051, '[0.000, 0.152] (95% eti)')
    """

    apparent: float
    sensitivity: float
    specificity: float
    n: int
    n_positive: int
    n_negative: int
    is_inside: bool
    undefined_prob: float = 0.0
    undefined_reason: str = ""

    @property
    def mean(self) -> float:
        """The estimate as it comes out, outside [0, 1] where it does."""
        return (self.apparent + self.specificity - 1) / self._slope

    @property
    def sd(self) -> float:
        """Standard error at the estimate."""
        return self._error(min(1.0, max(0.0, self.mean))) / self._slope

    @property
    def _slope(self) -> float:
        return self.sensitivity + self.specificity - 1

    def _error(self, t: float) -> float:
        """Return the standard error of the apparent rate less the one expected at t."""
        expected = t * self.sensitivity + (1 - t) * (1 - self.specificity)
        a = _smooth_variance(self.sensitivity, self.n_positive)
        b = _smooth_variance(self.specificity, self.n_negative)
        square = expected * (1 - expected) / self.n
        square += t * t * a / self.n_positive + (1 - t) ** 2 * b / self.n_negative
        if self.is_inside:
            square -= 2 * (t * a + (1 - t) * b) / self.n
        # Inside, all rows labeled: what remains is the variance of the labels.
        return math.sqrt(max(square, t * (1 - t) * self._slope**2 / self.n, 1e-300))

    def _score(self, t: float) -> float:
        expected = t * self.sensitivity + (1 - t) * (1 - self.specificity)
        return (expected - self.apparent) / self._error(t)

    def _mass_up_to(self, limit: float) -> float:
        if limit < 0:
            return 0.0
        return 1.0 if limit >= 1 else float(ndtr(self._score(limit)))

    def _quantile(self, q: float) -> float:
        z = float(ndtri(q))
        if z <= self._score(0.0):
            return 0.0
        return 1.0 if z >= self._score(1.0) else float(brentq(lambda t: self._score(t) - z, 0, 1))

    def _draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        return np.array([self._quantile(q) for q in rng.random(n)])


def _smooth_variance(rate: float, n: int) -> float:
    if 0 < rate < 1:
        return rate * (1 - rate)
    smooth = (rate * n + 0.5) / (n + 1)
    return smooth * (1 - smooth)


def strata_law(strata: list[tuple[int, int, int]]) -> DiscreteLaw:
    """Return the posterior of a rate that is put together from strata.

    Parameters
    ----------
    strata : list of tuple of int
        For each stratum its rows, and of its labeled rows the positives and the negatives.

    Returns
    -------
    DiscreteLaw
        Law of sum_s share_s rate_s on 4,097 values, laid where the posterior is, with rates
        Beta(positives + 1/2, negatives + 1/2) and shares Dirichlet(rows + 1), which is
        Dirichlet(1/2) a cell.

    Examples
    --------
    >>> law = strata_law([(60, 18, 2), (40, 1, 9)])
    >>> round(law.mean, 3)
    0.582
    """
    shares, weights = _share_nodes([rows + 1 for rows, _, _ in strata])
    shares, weights = shares[weights > TAIL], weights[weights > TAIL]
    rates = [(positive + 0.5, negative + 0.5) for _, positive, negative in strata]
    least = np.array([betaincinv(a, b, TAIL) for a, b in rates])
    most = np.array([1 - betaincinv(b, a, TAIL) for a, b in rates])
    bottom, top = float((shares @ least).min()), float((shares @ most).max())
    step = (top - bottom) / CELLS
    total = np.zeros(CELLS + 1)
    for nodes, weight in zip(shares, weights, strict=True):
        pmf = np.ones(1)
        for share, (a, b), low, high in zip(nodes, rates, least, most, strict=True):
            pmf = fftconvolve(pmf, _scaled_beta(share, a, b, low, high, step))
        place = (float(nodes @ least) - bottom) / step
        first = int(place)
        # Between two points of the lattice; each part was rounded up to it.
        for start, part in ((first, 1 - place + first), (first + 1, place - first)):
            kept = np.maximum(pmf[: max(0, CELLS + 1 - start)], 0.0)
            total[start : start + len(kept)] += weight * part * kept
    support = np.minimum(bottom + np.arange(CELLS + 1) * step, 1.0)
    return DiscreteLaw(support, total / total.sum())


def _share_nodes(counts: list[int]) -> tuple[FloatArray, FloatArray]:
    """Return shares of 2 or 3 strata that stand for Dirichlet(counts), and their weights."""
    if len(counts) == 2:
        head, weight = _beta_nodes(counts[0], counts[1], SHARE_NODES)
        return np.stack([head, 1 - head], axis=1), weight
    head, first = _beta_nodes(counts[0], counts[1] + counts[2], SHARE_NODES_EACH)
    part, second = _beta_nodes(counts[1], counts[2], SHARE_NODES_EACH)
    rest = np.outer(1 - head, part)
    shares = np.stack(np.broadcast_arrays(head[:, None], rest, 1 - head[:, None] - rest), axis=-1)
    return shares.reshape(-1, 3), np.outer(first, second).ravel()


def _beta_nodes(a: float, b: float, n: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of a Beta law: those of a normal law, at the same quantiles."""
    score, weight = np.polynomial.hermite_e.hermegauss(n)
    return betaincinv(a, b, ndtr(score)), weight / weight.sum()


def _scaled_beta(
    share: float, a: float, b: float, low: float, high: float, step: float
) -> FloatArray:
    """Return the probabilities of share x Beta(a, b) around points from share x low, step apart."""
    n = math.ceil(share * (high - low) / step) + 1
    edges = low + (np.arange(n + 1) - 0.5) * step / max(share, 1e-12)
    return np.diff(betainc(a, b, np.clip(edges, 0.0, 1.0)))


def truth_law(
    n_passed: int, n: int, positives: tuple[int, int], negatives: tuple[int, int]
) -> DiscreteLaw:
    """Return the posterior of the pass rate of rows that a judge with unknown errors judged.

    Parameters
    ----------
    n_passed, n : int
        Rows that the judge passed, and all.
    positives : tuple of int
        Labeled positives that the judge passed, and did not.
    negatives : tuple of int
        Labeled negatives that the judge did not pass, and did.

    Returns
    -------
    DiscreteLaw
        On the midpoints of 1,024 cells, equal in the arc sine of the root (finest near 0 and 1) and
        laid where the posterior is; all three rates have Beta(1/2, 1/2) priors.

    Examples
    --------
    >>> law = truth_law(23, 150, (96, 4), (89, 11))
    >>> round(law.mean, 3)
    0.047
    """
    sensitivity, specificity = (_Rate(a + 0.5, b + 0.5) for a, b in (positives, negatives))
    apparent = _Rate(n_passed + 1.0, n - n_passed + 1.0)
    angles = np.linspace(*_span(apparent, sensitivity, specificity), CELLS // 4 + 1)
    # Beta(1/2, 1/2) is uniform in the angle, so cells of equal width weigh the same.
    rate = np.sin((angles[1:] + angles[:-1]) / 2) ** 2
    mass = np.array([_likelihood(t, apparent, sensitivity, specificity) for t in rate.tolist()])
    return DiscreteLaw(rate, mass / mass.sum())


def _span(apparent: _Rate, sensitivity: _Rate, specificity: _Rate) -> tuple[float, float]:
    """Return the angles between which all but a negligible part of the posterior lies."""
    slope = sensitivity.mean + specificity.mean - 1
    spread = SPAN * math.hypot(sensitivity.sd, specificity.sd)
    if slope <= spread:
        return 0.0, math.pi / 2
    top = apparent.mean + specificity.mean - 1
    reach = 2 * SPAN * math.hypot(apparent.sd, specificity.sd)
    ends = [(top + a) / (slope + b) for a in (-reach, reach) for b in (-spread, spread)]
    low, high = (math.asin(math.sqrt(min(1.0, max(0.0, end)))) for end in (min(ends), max(ends)))
    return (low, high) if low < high else (0.0, math.pi / 2)


class _Rate:
    """A Beta law as weighted nodes, and as a density."""

    def __init__(self, a: float, b: float) -> None:
        self.a, self.b = a, b
        self.mean = a / (a + b)
        self.sd = math.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))
        self.nodes, self.weight = _beta_nodes(a, b, RATE_NODES)

    def density(self, at: FloatArray) -> FloatArray:
        """Return the density at some places; 0 outside (0, 1)."""
        is_inside = (at > 0) & (at < 1)
        inside = np.where(is_inside, at, 0.5)
        logs = xlogy(self.a - 1, inside) + xlog1py(self.b - 1, -inside)
        return np.where(is_inside, np.exp(logs - betaln(self.a, self.b)), 0.0)


def _likelihood(t: float, apparent: _Rate, sensitivity: _Rate, specificity: _Rate) -> float:
    """Return P(judge's passes | rate t), up to a factor, the judge's errors integrated out.

    Two of the three uncertain quantities stand at weighted nodes; the third, the one that moves
    the apparent rate most, enters by its density, so that the sum is smooth.
    """
    widest = int(np.argmax([apparent.sd, t * sensitivity.sd, (1 - t) * specificity.sd]))
    true = t * sensitivity.nodes[:, None]
    false = (1 - t) * (1 - specificity.nodes)
    if widest == 0:
        density = apparent.density(true + false)
        return float(sensitivity.weight @ density @ specificity.weight)
    if widest == 1:
        density = sensitivity.density((apparent.nodes[:, None] - false) / t) / t
        return float(apparent.weight @ density @ specificity.weight)
    density = specificity.density(1 - (apparent.nodes - true) / (1 - t)) / (1 - t)
    return float(sensitivity.weight @ density @ apparent.weight)
