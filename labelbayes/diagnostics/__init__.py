"""Checks of laws and draws: against closed forms, truths from the prior, and hidden labels."""

from labelbayes.diagnostics.calibration import check_calibration
from labelbayes.diagnostics.compare import compare_laws
from labelbayes.diagnostics.pit import pit_values, summarize_pit
from labelbayes.diagnostics.pit_study import run_pit
from labelbayes.diagnostics.sbc import run_sbc, sbc_uniformity

__all__ = [
    "check_calibration",
    "compare_laws",
    "pit_values",
    "run_pit",
    "run_sbc",
    "sbc_uniformity",
    "summarize_pit",
]
