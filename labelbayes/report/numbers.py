"""A report as JSON: the numbers to full precision, undefined as null."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from labelbayes.report.build import Report

FORMAT = "labelbayes-report"
FORMAT_VERSION = 1


def report_dict(report: Report) -> dict[str, Any]:
    """Return a report as plain numbers and strings.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    dict
        ``format, format_version, labelbayes_version, title, seed, target, data, metrics, truth,
        rungs, left_out, verdict, sentences``; a rung is a dict with ``name``, ``assumes`` and the
        fields of ``Estimates.to_dict``. A number that is undefined is None.
    """
    steps, facts = report.ladder, report.facts
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "labelbayes_version": report.version,
        "title": report.title,
        "seed": report.seed,
        "target": steps.target,
        "data": {
            "n": facts.n,
            "n_rows": facts.n_rows,
            "n_labeled": facts.n_labeled,
            "n_unlabeled": facts.n_unlabeled,
            "counts": asdict(facts.counts),
            "threshold": facts.threshold,
            "pos_label": facts.pos_label,
            "notes": list(facts.notes),
        },
        "metrics": list(steps.metrics),
        "truth": None
        if steps.truth is None
        else {metric: _plain(value) for metric, value in steps.truth.items()},
        "rungs": [
            {"name": name, "assumes": steps.assumptions[name], **result.to_dict()}
            for name, result in steps.results.items()
        ],
        "left_out": dict(steps.left_out),
        "verdict": report.verdict,
        "sentences": list(report.sentences),
    }


def report_json(report: Report) -> str:
    """Return a report as strict JSON.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    str
        ASCII, without NaN or Infinity, which are no JSON.
    """
    return json.dumps(report_dict(report), indent=1, allow_nan=False) + "\n"


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
