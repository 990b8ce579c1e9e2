"""Figures, one file per kind; every one returns the Axes that it drew on.

Two of them are imported from their modules when they are first used: they need PyMC, which a
ladder or a report without Bayesian rungs must not load.
"""

import importlib
from typing import TYPE_CHECKING

from labelbayes.plots.ladder import plot_ladder
from labelbayes.plots.law import plot_law

if TYPE_CHECKING:
    from labelbayes.plots.compare import plot_comparison
    from labelbayes.plots.sbc import plot_sbc

__all__ = ["plot_comparison", "plot_ladder", "plot_law", "plot_sbc"]

_MODULES = {
    "plot_comparison": "labelbayes.plots.compare",
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
