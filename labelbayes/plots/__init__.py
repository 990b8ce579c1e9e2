"""Figures, one file per kind; every one returns the Axes that it drew on."""

from labelbayes.plots.compare import plot_comparison
from labelbayes.plots.ladder import plot_ladder
from labelbayes.plots.law import plot_law
from labelbayes.plots.sbc import plot_sbc

__all__ = ["plot_comparison", "plot_ladder", "plot_law", "plot_sbc"]
