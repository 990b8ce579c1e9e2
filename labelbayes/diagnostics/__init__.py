"""Checks of laws and draws: against closed forms, and against truths drawn from the prior."""

from labelbayes.diagnostics.compare import compare_laws
from labelbayes.diagnostics.sbc import run_sbc, sbc_uniformity

__all__ = ["compare_laws", "run_sbc", "sbc_uniformity"]
