"""Figures, one file per kind; every one returns the Axes that it drew on.

Some of them are imported from their modules when they are first used: they need PyMC, which a
ladder or a report without Bayesian rungs must not load.
"""

import importlib
from typing import TYPE_CHECKING

from labelbayes.plots.agreement import plot_agreement
from labelbayes.plots.beta_sweep import plot_beta_sweep
from labelbayes.plots.bound_widths import plot_bound_widths
from labelbayes.plots.clip_curve import plot_clip_curve
from labelbayes.plots.curve_bounds import plot_curves
from labelbayes.plots.curves import plot_precision_recall, plot_roc
from labelbayes.plots.differences import plot_differences
from labelbayes.plots.feebee import plot_feebee
from labelbayes.plots.headroom import plot_headroom
from labelbayes.plots.ladder import plot_ladder
from labelbayes.plots.law import plot_law
from labelbayes.plots.overlap import plot_overlap
from labelbayes.plots.response_sets import plot_response_sets
from labelbayes.plots.sensitivity import plot_sensitivity
from labelbayes.plots.weights import plot_weights

if TYPE_CHECKING:
    from labelbayes.plots.compare import plot_comparison
    from labelbayes.plots.reliability import plot_reliability
    from labelbayes.plots.sbc import plot_sbc

__all__ = [
    "plot_agreement",
    "plot_beta_sweep",
    "plot_bound_widths",
    "plot_clip_curve",
    "plot_comparison",
    "plot_curves",
    "plot_differences",
    "plot_feebee",
    "plot_headroom",
    "plot_ladder",
    "plot_law",
    "plot_overlap",
    "plot_precision_recall",
    "plot_reliability",
    "plot_response_sets",
    "plot_roc",
    "plot_sbc",
    "plot_sensitivity",
    "plot_weights",
]

_MODULES = {
    "plot_comparison": "labelbayes.plots.compare",
    "plot_reliability": "labelbayes.plots.reliability",
    "plot_sbc": "labelbayes.plots.sbc",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__]
