"""The rungs of the assumption ladder that are sampled with PyMC."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labelbayes.bayes.bins import build_bins
from labelbayes.bayes.calibration import build_calibration
from labelbayes.bayes.model import LabelModel
from labelbayes.bayes.sampling import sample
from labelbayes.laws.rungs import RungInputs
from labelbayes.results.estimates import Estimates

#: Draws a chain for bins, whose spread mixes slowly: 1,000 gave 386 effective ones on the data of
#: the demo, where the gate is 400. At the usual 0.9 one run of four has a divergence.
BINS_DRAWS, BINS_TARGET_ACCEPT = 2_000, 0.98


def bins(inputs: RungInputs) -> Estimates:
    """Return the posterior under score bins whose rates lie near a line.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given.

    Returns
    -------
    Estimates
        See `build_bins`.
    """
    return _sample(
        inputs, build_bins(inputs.evaluation), draws=BINS_DRAWS, target_accept=BINS_TARGET_ACCEPT
    )


def platt(inputs: RungInputs) -> Estimates:
    """Return the posterior under Platt scaling.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given.

    Returns
    -------
    Estimates
        See `build_calibration`.
    """
    return _sample(inputs, build_calibration(inputs.evaluation))


def tilted(inputs: RungInputs) -> Estimates:
    """Return the posterior under Platt scaling and missing labels that may differ from it.

    Parameters
    ----------
    inputs : RungInputs
        What every rung is given.

    Returns
    -------
    Estimates
        See `build_calibration`; the tilt is almost all prior, so it states a sensitivity.
    """
    return _sample(inputs, build_calibration(inputs.evaluation, delta_sd=0.5))


def _sample(inputs: RungInputs, label_model: LabelModel, **options: Any) -> Estimates:
    asked = replace(label_model, metrics=tuple(inputs.metrics))
    return sample(asked, target=inputs.target, rng=inputs.rng(), **options).estimates()
