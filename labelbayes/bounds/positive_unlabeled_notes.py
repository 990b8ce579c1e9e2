"""Sentences that travel with positive-unlabeled bounds."""

from __future__ import annotations

import math

from labelbayes.bounds.path_extremes import Reference
from labelbayes.bounds.rank_bands import Band
from labelbayes.results.sentences import Target, population_bounds

NOT_IDENTIFIED = "Without an audit or outside knowledge beta is not identified."
OUTER = (
    "Bounds of average precision are outer bounds: every labeling lies between them, and where "
    "rows tie they may be wider than needed."
)
BINOMIAL = (
    "The binomial band is for the population, cutoff by cutoff: of the latent rows it may hold far "
    "less than it says, and before the first known row it says that none can be there."
)
DKW = "The one-sample band is for the population; it may hold less of these latent rows."


def describe_bounds(
    band: Band,
    *,
    joint: float,
    beta_level: float | None,
    reference: Reference,
    target: Target,
    has_known: bool,
) -> tuple[str, ...]:
    """Return what positive-unlabeled bounds mean.

    Parameters
    ----------
    band : Band
        Around the rank distribution of the reference rows.
    joint : float
        Level of the whole statement; nan where the user gave band and beta.
    beta_level : float or None
        Level of the interval of beta; None where beta is the user's word.
    reference : {"positive", "negative"}
        Whose known rows carry the band.
    target : {"sample", "population"}
        These rows, or rows drawn like these.
    has_known : bool
        Whether there is any such row.

    Returns
    -------
    tuple of str
        Sentences.
    """
    name = f"{reference}s"
    said = (
        f"Bounds for the {name} hidden among these unlabeled rows, assuming that known {name} are "
        f"a random sample of all {name} (SCAR)."
    )
    parts = [
        "band as given" if math.isnan(band.level) else f"band {100 * band.level:g}%",
        "beta as given" if beta_level is None else f"beta {100 * beta_level:g}%",
    ]
    level = "" if math.isnan(joint) else f"Joint level at least {100 * joint:g}%: "
    notes = [f"{said} {level}{', '.join(parts)}."]
    if target == "population":
        notes.append(population_bounds(joint))
    if beta_level is None:
        notes.append(NOT_IDENTIFIED)
    notes += [text for kind, text in (("binomial", BINOMIAL), ("dkw", DKW)) if band.name == kind]
    if not has_known and band.given is None:
        notes.append(f"No {reference} is known: the band says nothing.")
    if target == "sample":
        notes.append(OUTER)
    return tuple(notes)
