"""V13: bounds of M* under rating indeterminacy, with rater error and with raters who herd.

The raw partition bound [M, M + P(no match, marked)] forgets items that look determinate by chance
and raters who err; the adjusted one has both allowances. Truths are written out from the
simulator's description.
"""

import time
from typing import NamedTuple

import numpy as np
import pandas as pd

from labelbayes.bounds.response_sets import bound_response_sets
from labelbayes.data.simulate_ratings import simulate_ratings

SEED = 20260513
ACCURACY = 0.95
N_ITEMS = 1_000
N_AUDITED = 200
OPTIONS = (2, 3, 4)
RATES = (0.0, 0.2, 0.4, 0.8)
RATINGS = (2, 3, 5, 10)
ERRORS = (0.0, 0.05, 0.1, 0.2)
HERDING = (0.0, 0.5)


class Design(NamedTuple):
    """One cell: options, share of indeterminate items, ratings per item, rater error, herding."""

    n_options: int
    rate: float
    n_ratings: int
    error: float
    herding: float


#: Cells that tell right from wrong, for the quick form.
QUICK = (
    Design(3, 0.4, 3, 0.0, 0.0),
    Design(3, 0.4, 5, 0.1, 0.0),
    Design(2, 0.4, 2, 0.0, 0.0),
    Design(4, 0.0, 3, 0.2, 0.0),
)


def true_valid_match(design: Design) -> float:
    """Return M* of the population: a judge cannot miss a set of all options."""
    whole = design.rate / (design.n_options - 1)
    return whole + (1 - whole) * ACCURACY


def cover(design: Design, n_replications: int, *, n_items: int = N_ITEMS) -> dict[str, float]:
    """Return the share of replications in which bounds contain the truth.

    ``raw``: no allowance, bare bounds of the items against M* of the items. ``adjusted``: the
    population's interval, allowance from the closed form, or from audited items where raters
    herd. ``items``: the same for the items' own M*, where no rater errs.
    """
    rng = np.random.default_rng([SEED, *(round(100 * float(part)) for part in design)])
    truth = true_valid_match(design)
    inside = {"raw": 0, "adjusted": 0, "items": 0}
    width = 0.0
    for _ in range(n_replications):
        simulated = simulate_ratings(
            n_items,
            n_options=design.n_options,
            n_ratings=design.n_ratings,
            indeterminate_rate=design.rate,
            rater_error=design.error,
            herding=design.herding,
            judge_accuracy=ACCURACY,
            n_audited=N_AUDITED if design.herding else 0,
            rng=rng,
        )
        judged = simulated.y_judge, simulated.ratings
        raw = bound_response_sets(*judged, agreement=0.8, miss_allowance=0.0)["valid_match"]
        adjusted = bound_response_sets(
            *judged, agreement=0.8, rater_error=design.error, target="population"
        )["valid_match"]
        inside["raw"] += simulated.valid_match in raw
        inside["adjusted"] += truth in adjusted
        if not design.error:
            own = bound_response_sets(*judged, agreement=0.8)["valid_match"]
            inside["items"] += simulated.valid_match in own
        width += adjusted.width
    shares = {name: count / n_replications for name, count in inside.items()}
    if design.error:
        shares["items"] = np.nan
    return shares | {"width": width / n_replications}


def main(n: int = 200) -> bool:
    """Run every cell, print the table, and say whether it is as it should be."""
    start, rows = time.perf_counter(), []
    for k in OPTIONS:
        for rate in RATES:
            for n_ratings in RATINGS:
                for error in ERRORS:
                    for herding in HERDING:
                        design = Design(k, rate, n_ratings, error, herding)
                        rows.append(design._asdict() | cover(design, n))
    table = pd.DataFrame(rows)
    least = 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / n)
    is_fine = bool((table["adjusted"] >= least).all())
    is_fine &= bool((table["items"].dropna() >= least).all())
    # With three options, rate .4, three ratings and no error the raw bound fails always.
    named = table.query("n_options == 3 and rate == 0.4 and error == 0 and n_ratings == 3")
    is_fine &= bool((named["raw"] == 0).all())
    print(table.round(3).to_string())
    print(f"R = {n}, gate {least:.3f}, {time.perf_counter() - start:.0f} s; as expected: {is_fine}")
    return is_fine
