"""A report as one HTML page that needs no network and no script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from labelbayes._progress import track
from labelbayes.plots.style import color_of
from labelbayes.report.build import Report
from labelbayes.report.figures import ladder_svg, last_estimates, law_svg
from labelbayes.report.group_words import group_caption, group_rows, group_sentences
from labelbayes.report.groups import GroupReport
from labelbayes.report.words import (
    DATA_COLUMNS,
    data_rows,
    data_sentence,
    decision_sentence,
    left_out,
)
from labelbayes.results.group_differences import difference_rows
from labelbayes.results.ladder import Ladder, ladder_rows

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --muted: #59626c; --rule: #d3d8de;
  --page: #f5f6f8; --card: #ffffff; --notice: #fff6dd; --notice-rule: #d9a514; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --muted: #9aa4ae; --rule: #3a424b;
  --page: #0e1216; --card: #161b21; --notice: #2b2412; --notice-rule: #b98d1c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 78rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .5rem; }
p, li { max-width: 48rem; }
.lead, .muted, figcaption, footer { color: var(--muted); }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--rule);
  border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { padding: .5rem .7rem; text-align: left; vertical-align: top; white-space: nowrap; }
thead th { border-bottom: 1px solid var(--rule); color: var(--muted); font-weight: 600; }
tbody tr + tr > * { border-top: 1px solid var(--rule); }
tbody th { font-weight: 600; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td small, th small { display: block; color: var(--muted); font-weight: 400; font-size: .85em; }
tbody th { white-space: normal; min-width: 12rem; }
.kind { white-space: normal; min-width: 7rem; }
td.kind { color: var(--muted); font-size: .85rem; }
tr.truth > * { border-top: 2px solid var(--ink); }
.swatch { display: inline-block; width: .75em; height: .75em; border-radius: 3px;
  margin-right: .5em; }
.notice { background: var(--notice); border-left: 4px solid var(--notice-rule);
  border-radius: 4px; padding: .7rem 1rem; margin: 1rem 0; }
.notice h2 { margin: 0 0 .3rem; font-size: 1rem; }
.notice ul { margin: 0; padding-left: 1.1rem; }
.verdict { border-left: 4px solid var(--ink); padding: .1rem 1rem; margin: 1.1rem 0;
  font-weight: 600; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr));
  gap: 1rem; }
figure { margin: 0; background: var(--card); border: 1px solid var(--rule);
  border-radius: 8px; padding: .8rem; }
figure svg { display: block; width: 100%; height: auto; max-width: 44rem; margin: 0 auto; }
@media (max-width: 40rem) { th, td { padding: .45rem .5rem; } thead th { white-space: normal; }
  tbody th { min-width: 8.5rem; } }
footer { margin-top: 2.5rem; border-top: 1px solid var(--rule); padding-top: .8rem;
  font-size: .88rem; }
"""


def report_html(report: Report) -> str:
    """Return a report as a page.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    str
        A whole HTML document; the same bytes for the same report.
    """
    title = escape(report.title)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="labelbayes {escape(report.version)}">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="lead">{escape(data_sentence(report.facts))}</p>
{_noticed(report.facts.notes)}
<h2>The data</h2>
{_table(DATA_COLUMNS, data_rows(report.facts), label="Rows by decision and label")}
<p class="muted">{escape(decision_sentence(report.facts))}</p>
<h2>The same data under every assumption (target: {escape(report.ladder.target)})</h2>
{_ladder_table(report.ladder)}
<p class="verdict">{_lines(report.verdict)}</p>
{_left_out(report.ladder)}
{_groups(report.groups)}
{_figures(report.ladder)}
<h2>What these numbers mean</h2>
<ul>
{_items(report.ladder.notes)}
</ul>
<footer>labelbayes {escape(report.version)}. {_seed(report.seed)}</footer>
</main>
</body>
</html>
"""


def _lines(verdict: str) -> str:
    """Return each part of the verdict on a line: one metric after the other, then the rest."""
    return escape(verdict).replace("; ", ";<br>").replace(". ", ".<br>")


def _seed(seed: int | None) -> str:
    if seed is None:
        return "No seed was given, so refits and draws differ from run to run."
    return f"Seed {seed}: the same data and seed give the same report."


def _items(sentences: Sequence[str]) -> str:
    return "\n".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)


def _noticed(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    return (
        '<section class="notice"><h2>Noticed in the data</h2><ul>\n'
        f"{_items(notes)}\n</ul></section>"
    )


def _left_out(steps: Ladder) -> str:
    if not steps.left_out:
        return ""
    return f"<p>Left out:</p>\n<ul>\n{_items(left_out(steps))}\n</ul>"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, label: str) -> str:
    head = "".join(
        f'<th scope="col"{"" if k == 0 else _NUMBER}>{escape(name)}</th>'
        for k, name in enumerate(columns)
    )
    body = "\n".join(
        "<tr>"
        f'<th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td{_NUMBER}>{_number_cell(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return _scroll(f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>", label)


_NUMBER = ' class="number"'


def _scroll(inside: str, label: str) -> str:
    # A region that scrolls must be reachable by keyboard.
    return (
        f'<div class="scroll" role="region" aria-label="{escape(label, quote=True)}" '
        f'tabindex="0"><table>{inside}</table></div>'
    )


def _ladder_table(steps: Ladder) -> str:
    head = "".join(
        f'<th scope="col"{_NUMBER}>{escape(metric)}<small>mean, interval</small></th>'
        for metric in steps.metrics
    )
    rows = []
    for name, assumption, *cells, kind in ladder_rows(steps):
        is_truth = name not in steps.results
        swatch = (
            "" if is_truth else f'<span class="swatch" style="background:{color_of(name)}"></span>'
        )
        rows.append(
            ('<tr class="truth">' if is_truth else "<tr>")
            + f'<th scope="row">{swatch}{escape(name)}<small>{escape(assumption)}</small></th>'
            + "".join(f"<td{_NUMBER}>{_number_cell(cell)}</td>" for cell in cells)
            + f'<td class="kind">{escape(kind)}</td></tr>'
        )
    body = "\n".join(rows)
    return _scroll(
        f'<thead><tr><th scope="col">rung<small>what it assumes</small></th>{head}'
        f'<th scope="col" class="kind">interval</th></tr></thead>\n<tbody>\n{body}\n</tbody>',
        "The assumption ladder",
    )


def _number_cell(cell: str) -> str:
    """Put the interval of a cell on a line of its own."""
    mean, bracket, rest = cell.partition("[")
    interval = escape(bracket + rest)
    if not bracket:
        return escape(mean)
    return f"{escape(mean.strip())}<small>{interval}</small>" if mean.strip() else interval


def _groups(groups: GroupReport | None) -> str:
    if groups is None:
        return ""
    head = "".join(f'<th scope="col"{_NUMBER}>{escape(metric)}</th>' for metric in groups.metrics)
    body = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td{_NUMBER}>{total}</td>'
        f"<td{_NUMBER}>{labeled}</td>"
        + "".join(
            f"<td{_NUMBER}>{_group_cell(mean, bounds) if groups.estimates else escape(bounds)}</td>"
            for mean, bounds in zip(own, worst, strict=True)
        )
        + "</tr>"
        for name, total, labeled, own, worst in group_rows(groups)
    )
    table = _scroll(
        f'<thead><tr><th scope="col">group</th><th scope="col"{_NUMBER}>rows</th>'
        f'<th scope="col"{_NUMBER}>labeled</th>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>',
        "Metrics by group",
    )
    page = (
        f'<h2>By group</h2>\n<p class="muted">In each cell: {escape(group_caption(groups))}.</p>\n'
        f"{table}\n"
    )
    if groups.differences:
        page += "<h3>Differences between groups (mean and interval)</h3>\n" + _table(
            ("difference", *groups.metrics),
            difference_rows(groups.differences, groups.metrics),
            label="Differences between groups",
        )
    return f"{page}\n<ul>\n{_items(group_sentences(groups))}\n</ul>"


def _group_cell(mean: str, bounds: str) -> str:
    return f"{_number_cell(mean)}<small>{escape(bounds)}</small>"


def _figures(steps: Ladder) -> str:
    rung = last_estimates(steps)
    jobs = [("ladder", metric) for metric in steps.metrics]
    if rung is not None:
        jobs += [("law", metric) for metric in steps.metrics if metric in steps.results[rung]]
    drawn: dict[str, list[str]] = {"ladder": [], "law": []}
    for k, (kind, metric) in enumerate(track(jobs, label="figures")):
        if kind == "ladder":
            svg = ladder_svg(steps, metric, f"f{k}")
        else:
            assert rung is not None
            svg = law_svg(steps, rung, metric, f"f{k}")
        drawn[kind].append(f"<figure>{svg}</figure>")
    page = (
        f'<h2>The ladder, metric by metric</h2>\n<div class="grid">{"".join(drawn["ladder"])}</div>'
    )
    if rung is None:
        return page
    return (
        f"{page}\n<h2>Laws under one rung: {escape(rung)}</h2>\n"
        f'<p class="muted">Assumes {escape(steps.assumptions[rung])}.</p>\n'
        f'<div class="grid">{"".join(drawn["law"])}</div>'
    )
