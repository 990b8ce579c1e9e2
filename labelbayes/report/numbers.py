"""A report as JSON: the numbers to full precision, undefined as null."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from labelbayes.report.build import Report
from labelbayes.report.groups import GroupReport

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
        A number that is undefined is None.

        - ``format, format_version, labelbayes_version, title, seed``;
        - ``target``: "sample" or "population";
        - ``data``: ``n, n_rows, n_labeled, n_unlabeled, counts, threshold, pos_label, notes``;
        - ``metrics``: names, in order;
        - ``truth``: metric -> value, or None;
        - ``rungs``: a dict each, with ``name``, ``assumes`` and the fields of
          ``Estimates.to_dict``; its ``metrics`` are those that the rung speaks of;
        - ``left_out``: rung -> reason;
        - ``groups``: None without groups, else ``method, assumption`` (of the belief; empty where
          there is none), ``shown`` (a dict each: ``name, counts, estimates, bounds``, the last
          two with the fields of ``Estimates.to_dict``; ``estimates`` may be None), ``not_shown``
          (names), ``differences`` (a dict each: ``first, second`` and the fields of
          ``Estimates.to_dict``, of the first group less the second) and ``notes``;
        - ``verdict, sentences``.
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
        "groups": None if report.groups is None else _groups_dict(report.groups),
        "verdict": report.verdict,
        "sentences": list(report.sentences),
    }


def _groups_dict(groups: GroupReport) -> dict[str, Any]:
    return {
        "method": groups.method,
        "assumption": groups.assumption,
        "shown": [
            {
                "name": name,
                "counts": asdict(counts),
                "estimates": groups.estimates[name].to_dict() if groups.estimates else None,
                "bounds": groups.bounds[name].to_dict(),
            }
            for name, counts in groups.counts.items()
        ],
        "not_shown": list(groups.not_shown),
        "differences": [
            {"first": first, "second": second, **result.to_dict()}
            for (first, second), result in groups.differences.items()
        ],
        "notes": list(groups.notes),
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
