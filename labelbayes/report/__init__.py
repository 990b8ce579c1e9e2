"""From an evaluation to numbers, words and files."""

from labelbayes.report.build import Report, build_report
from labelbayes.report.write import write_report

__all__ = ["Report", "build_report", "write_report"]
