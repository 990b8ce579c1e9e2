"""What a law looks like: its values and probabilities in a form that can be drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from labelbayes._checks import FloatArray
from labelbayes.results.continuous import NormalLaw, RatioLaw
from labelbayes.results.count_law import CountLaw, merge_atoms
from labelbayes.results.distribution import DiscreteLaw, DrawsLaw
from labelbayes.results.mixture import MixtureLaw
from labelbayes.results.protocol import MetricDistribution

#: Up to this many values each one gets a stem of its own.
MAX_STEMS = 60
#: Numbers of bins that are tried in turn, until the steps are no comb.
N_BINS = (40, 28, 20, 14, 10)
N_POINTS = 241
#: Pairs of counts that are listed for a figure; beyond, the cdf at the edges of the bins is all
#: that is needed.
_MAX_PAIRS = 2_000_000
#: Probability that is left out of sight at either end.
_TAIL = 1e-4
#: A continuous law narrower than this is drawn as a point: its density would be that of rounding.
NO_WIDTH = 1e-12


@dataclass(frozen=True, eq=False)
class LawShape:
    """A law as it is drawn.

    Parameters
    ----------
    form : {"stems", "steps", "curve"}
        A stem per value, a density on bins, or a density curve.
    x : ndarray of float
        Values; the k + 1 edges of the bins for "steps".
    y : ndarray of float
        Probability of each value, or density.
    meaning : str
        What the y axis shows.
    at_ends : tuple of float
        Probability of the lowest and of the highest value of a continuous law, which a density
        does not show; 0 elsewhere.
    """

    form: Literal["stems", "steps", "curve"]
    x: FloatArray
    y: FloatArray
    meaning: str
    at_ends: tuple[float, float] = (0.0, 0.0)


def shape_of(law: MetricDistribution) -> LawShape:
    """Return values and probabilities to draw, for a law that is defined.

    Parameters
    ----------
    law : MetricDistribution
        Any of the laws.

    Returns
    -------
    LawShape
        Stems for few values, steps for many, a curve for a density. All but 1e-4 of the
        probability at either end is in it.

    Examples
    --------
    >>> shape_of(DiscreteLaw(np.array([0.5, 1.0]), np.array([0.25, 0.75]))).form
    'stems'
    """
    if _is_continuous(law):
        points = _points(law)
        if points is None:
            return _curve(law)
        return LawShape("stems", points.support, points.pmf, "probability")
    if law.sd == 0:
        return LawShape("stems", np.array([law.mean]), np.ones(1), "probability")
    atoms = _atoms(law)
    what = f"share of {len(law.values):,} draws" if isinstance(law, DrawsLaw) else "probability"
    if atoms is not None:
        low, high = law.quantile([_TAIL, 1 - _TAIL])
        seen = (atoms.support >= low) & (atoms.support <= high)
        if seen.sum() <= MAX_STEMS:
            return LawShape("stems", atoms.support[seen], atoms.pmf[seen], what)
    return _steps(law, atoms, what)


def _is_continuous(law: MetricDistribution) -> bool:
    if isinstance(law, MixtureLaw):
        return all(_is_continuous(part) for part in law.components)
    return isinstance(law, (NormalLaw, RatioLaw))


def _points(law: MetricDistribution) -> DiscreteLaw | None:
    """Return the points of a continuous law that has no width to draw; None where it has one.

    The parts of a mixture are points where the curve would show each as a single step.
    """
    low, high = (float(end) for end in law.quantile([_TAIL, 1 - _TAIL]))
    least = NO_WIDTH * max(1.0, abs(low), abs(high))
    parts: list[MetricDistribution] = [law]
    if isinstance(law, MixtureLaw):
        parts = [part for part in law.components if not math.isnan(part.mean)]
        least = max(least, (high - low) / N_POINTS)
    ends = [part.quantile([_TAIL, 1 - _TAIL]) for part in parts]
    if any(end[1] - end[0] > least for end in ends):
        return None
    # Where the mean of a normal is beyond the range, its mass sits at the end of the range.
    places = [np.clip(part.mean, *part.quantile([0.0, 1.0])) for part in parts]
    weights = np.array([1 - part.undefined_prob for part in parts])
    values, mass = merge_atoms(np.array(places, dtype=np.float64), weights / weights.sum())
    return DiscreteLaw(values, mass)


def _atoms(law: MetricDistribution) -> DiscreteLaw | None:
    """List the values of a law; None where there are too many to list."""
    if isinstance(law, DiscreteLaw):
        return law
    if isinstance(law, DrawsLaw):
        values, found = np.unique(law.values[~np.isnan(law.values)], return_counts=True)
        return DiscreteLaw(values, found / found.sum())
    parts = law.components if isinstance(law, MixtureLaw) else (law,)
    count_laws = [part for part in parts if isinstance(part, CountLaw)]
    if len(count_laws) < len(parts) or sum(map(_n_pairs, count_laws)) > _MAX_PAIRS:
        return None
    lists = [part.atoms(_MAX_PAIRS) for part in count_laws]
    weights = np.array([part.defined_prob for part in count_laws])
    values, mass = merge_atoms(
        np.concatenate([part.support for part in lists]),
        np.concatenate([w * part.pmf for w, part in zip(weights, lists, strict=True)]),
    )
    return DiscreteLaw(values, mass / weights.sum())


def _n_pairs(law: CountLaw) -> int:
    return len(law.predicted_positive.pmf) * len(law.predicted_negative.pmf)


def _steps(law: MetricDistribution, atoms: DiscreteLaw | None, what: str) -> LawShape:
    """Return cdf differences on bins.

    Values of F1, say, gather near evenly spaced places: bins narrower than these show a comb
    where the law has one hump.
    """
    low, high = (float(end) for end in law.quantile([_TAIL, 1 - _TAIL]))
    for n_bins in N_BINS:
        edges = np.linspace(low, high, n_bins + 1)
        # The first bin must hold the atom at its lower edge.
        edges[0] -= (high - low) / (2 * n_bins)
        if atoms is not None:
            edges = _between_atoms(edges, atoms.support)
        density = np.diff(law.cdf(edges)) / np.diff(edges)
        if not _is_comb(density):
            break
    return LawShape("steps", edges, density, f"density ({what} in {len(density)} bins)")


def _is_comb(density: FloatArray) -> bool:
    """Whether the steps go down and up again more than once, by more than a hundredth."""
    moves = np.diff(density)
    turns = np.sign(moves[np.abs(moves) > 0.01 * density.max()])
    return int((np.diff(turns) != 0).sum()) > 3


def _between_atoms(edges: FloatArray, support: FloatArray) -> FloatArray:
    """Move edges halfway between values: evenly spaced values would else show as a comb."""
    middles = (support[1:] + support[:-1]) / 2
    ends = [support[0] - (middles[0] - support[0]), support[-1] + (support[-1] - middles[-1])]
    places = np.concatenate([ends[:1], middles, ends[1:]])
    nearest = np.clip(np.searchsorted(places, edges), 1, len(places) - 1)
    is_lower = edges - places[nearest - 1] < places[nearest] - edges
    return np.unique(places[nearest - is_lower])


def _curve(law: MetricDistribution) -> LawShape:
    low, high = (float(end) for end in law.quantile([_TAIL, 1 - _TAIL]))
    x = np.linspace(low, high, N_POINTS)
    # A density is the slope of the cdf; mass that sits at an end is no part of it.
    below = float(law.cdf(math.nextafter(low, -math.inf)))
    is_at_low = float(law.cdf(low)) > 2 * _TAIL
    is_at_high = law.prob_at_least(high) > 2 * _TAIL
    inner = x[1:-1]
    half = (x[1] - x[0]) / 2
    density = (law.cdf(inner + half) - law.cdf(inner - half)) / (2 * half)
    return LawShape(
        "curve",
        inner,
        density,
        "density",
        (
            float(law.cdf(low)) - below if is_at_low else 0.0,
            law.prob_at_least(high) if is_at_high else 0.0,
        ),
    )
