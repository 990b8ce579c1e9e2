"""Companion notebooks: the pair agrees, the outputs are clean, the source still runs."""

import copy
import importlib.util
import re
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

import labelbayes as lb

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
SOURCES = sorted(NOTEBOOKS.glob("*.py"))
STEMS = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
MAX_CELLS = 30
BUDGET_SECONDS = 20
#: pandas' own, which JupyterLab and GitHub know how to show.
PANDAS_STYLE = re.compile(r"<style scoped>\s*\.dataframe tbody.*?</style>", flags=re.DOTALL)
#: JupyterLab and GitHub strip these from saved notebooks.
STRIPPED = re.compile(r"<style\b|<svg\b|<script\b|<[^>]*\sid\s*=", flags=re.IGNORECASE)


def _load_build() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("build", ROOT / ".ci" / "build_notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = _load_build()


def _committed(source: Path) -> nbformat.NotebookNode:
    return nbformat.read(source.with_suffix(".ipynb"), as_version=4)


def _cells(nb: nbformat.NotebookNode) -> list[tuple[object, ...]]:
    return [(c.id, c.cell_type, c.source.strip(), c.metadata.get("tags", [])) for c in nb.cells]


def _outputs(nb: nbformat.NotebookNode) -> Iterator[tuple[int, nbformat.NotebookNode]]:
    for i, cell in enumerate(nb.cells):
        for output in cell.get("outputs", []):
            yield i, output


def printed(nb: nbformat.NotebookNode) -> dict[int, list[tuple[object, ...]]]:
    """Return what each cell shows, pixels aside, but for cells with random draws."""
    shown: dict[int, list[tuple[object, ...]]] = {}
    for i, output in _outputs(nb):
        if "mcmc" not in nb.cells[i].metadata.get("tags", []):
            data = output.get("data", {})
            text = output.get("text"), data.get("text/plain"), data.get("text/html")
            shown.setdefault(i, []).append((output.output_type, *text, sorted(data)))
    return shown


def output_faults(nb: nbformat.NotebookNode) -> list[str]:
    """Say what a reader of the committed notebook should not meet."""
    found = []
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    if [cell.execution_count for cell in code] != list(range(1, len(code) + 1)):
        found.append("cells were not run once each, in order")
    for i, output in _outputs(nb):
        data = output.get("data", {})
        text = f"{output.get('text', '')}{data.get('text/plain', '')}{data.get('text/html', '')}"
        if output.output_type == "error":
            found.append(f"cell {i}: an error")
        if output.get("name") == "stderr":
            found.append(f"cell {i}: stderr")
        if " at 0x" in text:
            found.append(f"cell {i}: a memory address")
    for i, html in _html(nb):
        found.extend(f"cell {i}: {tag}" for tag in STRIPPED.findall(html))
    markdown = [cell.source for cell in nb.cells if cell.cell_type == "markdown"]
    headings = [m for text in markdown for m in re.findall(r"^# .*", text, flags=re.MULTILINE)]
    if len(headings) != 1 or not nb.cells[0].source.startswith("# "):
        found.append("not exactly one title, in the first cell")
    if len(nb.cells) > MAX_CELLS:
        found.append(f"{len(nb.cells)} cells")
    if nb.metadata != BUILD.METADATA:
        found.append("metadata of one machine")
    return found


def _html(nb: nbformat.NotebookNode) -> Iterator[tuple[int, str]]:
    for i, cell in enumerate(nb.cells):
        if cell.cell_type == "markdown":
            yield i, cell.source
    for i, output in _outputs(nb):
        yield i, PANDAS_STYLE.sub("", output.get("data", {}).get("text/html", ""))


def size_limit(source: Path) -> int:
    """Return the most bytes that a built notebook may have."""
    return 1_000_000 if "gallery" in source.stem else 300_000


def test_every_notebook_has_its_pair() -> None:
    assert SOURCES
    assert {p.stem for p in SOURCES} == {p.stem for p in NOTEBOOKS.glob("*.ipynb")}
    assert all(re.fullmatch(r"\d\d_[a-z0-9_]+", p.stem) for p in SOURCES)
    assert len({p.stem[:2] for p in SOURCES}) == len(SOURCES)


@STEMS
def test_pair_agrees(source: Path) -> None:
    rebuilt = _cells(BUILD.read_source(source))
    assert _cells(_committed(source)) == rebuilt, "run: python .ci/build_notebooks.py"


@STEMS
def test_committed_outputs_are_clean(source: Path) -> None:
    assert output_faults(_committed(source)) == []
    assert source.with_suffix(".ipynb").stat().st_size < size_limit(source)


@pytest.mark.notebook
@STEMS
def test_source_still_runs_and_prints_the_same(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = time.perf_counter()
    fresh = BUILD.execute(source)
    seconds = time.perf_counter() - start
    with capsys.disabled():
        print(f"\n{source.stem}: {seconds:.1f} s (budget {BUDGET_SECONDS} s)")
    assert printed(fresh) == printed(_committed(source))


SMALL = """# %% [markdown]
# # Small
#
# A notebook to break.

# %%
import sys

import labelbayes as lb
import matplotlib.pyplot as plt
import pandas as pd

print("one")
print("two", file=sys.stdout)

# %% tags=["mcmc"]
import random

random.random()

# %%
pd.DataFrame({"a": [1.5]})

# %%
fig, ax = plt.subplots(figsize=(1, 1))
_ = ax.plot([1, 2])
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, nbformat.NotebookNode]:
    """Build a small notebook."""
    source = tmp_path_factory.mktemp("notebooks") / "98_small.py"
    source.write_text(SMALL, encoding="utf-8")
    return source, BUILD.execute(source)


def test_rebuilding_gives_the_same_bytes(small: tuple[Path, nbformat.NotebookNode]) -> None:
    source, built = small
    again = BUILD.execute(source)
    assert output_faults(built) == []
    assert printed(again) == printed(built)
    # The random cell was run, and is all that differs.
    assert again.cells[2].outputs != built.cells[2].outputs
    again.cells[2].outputs = built.cells[2].outputs
    assert nbformat.writes(again) == nbformat.writes(built)
    assert "image/png" in built.cells[4].outputs[0].data
    assert _cells(built) == _cells(BUILD.read_source(source))


def _append_html(nb: Any, html: str) -> None:
    output = nbformat.v4.new_output("display_data", data={"text/html": html})
    nb.cells[1].outputs.append(output)


PLANTED = {
    "stripped": lambda nb: nb.cells[1].update(execution_count=None, outputs=[]),
    "out of order": lambda nb: nb.cells[1].update(execution_count=7),
    "stderr": lambda nb: nb.cells[1].outputs[0].update(name="stderr"),
    "address": lambda nb: nb.cells[1].outputs[0].update(text="<object at 0x7f3c>"),
    "error": lambda nb: nb.cells[1].outputs.append(nbformat.v4.new_output("error")),
    "style": lambda nb: _append_html(nb, "<style>p {color: red}</style>"),
    "svg": lambda nb: _append_html(nb, "<svg width='3'></svg>"),
    "id": lambda nb: _append_html(nb, "<table class='a'\n id='b'></table>"),
    "id in prose": lambda nb: nb.cells[0].update(source="# Small\n\n<a id='x'></a>"),
    "second title": lambda nb: nb.cells[0].update(source="# Small\n\n# Other"),
    "no title": lambda nb: nb.cells[0].update(source="Small"),
    "too many cells": lambda nb: nb.cells.extend([nbformat.v4.new_markdown_cell("x")] * 30),
    "metadata": lambda nb: nb.metadata.language_info.update(version="3.11.7"),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_output_faults_are_caught(
    small: tuple[Path, nbformat.NotebookNode], fault: str
) -> None:
    broken = copy.deepcopy(small[1])
    PLANTED[fault](broken)
    assert len(output_faults(broken)) == 1


def test_planted_differences_are_caught(
    small: tuple[Path, nbformat.NotebookNode], tmp_path: Path
) -> None:
    source, built = small
    changed = copy.deepcopy(built)
    changed.cells[1].outputs[0].text = "one\nthree\n"
    assert printed(changed) != printed(built)
    changed = copy.deepcopy(built)
    changed.cells[4].outputs = []
    assert printed(changed) != printed(built)
    for old, new in [('"two"', '"three"'), ('tags=["mcmc"]', 'tags=["check"]')]:
        edited = tmp_path / source.name
        edited.write_text(SMALL.replace(old, new), encoding="utf-8")
        assert _cells(BUILD.read_source(edited)) != _cells(built)


def test_kernel_is_this_interpreter(tmp_path: Path) -> None:
    source = tmp_path / "99_kernel.py"
    program = "import os, sys\nprint(sys.prefix, os.environ['TQDM_DISABLE'])\n"
    source.write_text(f"# %%\n{program}print(os.environ['PYTHONWARNINGS'])\n", encoding="utf-8")
    (output,) = BUILD.execute(source).cells[0].outputs
    assert output.text == f"{sys.prefix} 1\nignore::FutureWarning:arviz\n"
    assert size_limit(Path("07_gallery.py")) > size_limit(source)


def reprs_of(evaluation: lb.EvaluationSet) -> dict[str, str]:
    """Return the HTML of every public kind of result about this data, by its class."""
    imputation = lb.impute(evaluation, n_refits=3, rng=20260301)
    shown = [evaluation, imputation, lb.bound_worst_case(evaluation), lb.ladder(evaluation, rng=1)]
    shown += [
        lb.DiscreteLaw(np.array([0.0, 1.0]), np.array([0.5, 0.5])),
        lb.RatioLaw(6.0, 10.0, 0.5, 0.25, 0.1),
    ]
    propensity = lb.fit_propensity(evaluation.y_pred, evaluation, rng=4)
    outcome = lb.fit_outcome(evaluation.y_pred, evaluation, rng=5)
    shown += [propensity, outcome, lb.check_weights(evaluation, propensity)]
    shown.append(lb.compare_weighting(evaluation, propensity, outcome=outcome))
    only_positives = lb.EvaluationSet(
        np.where(evaluation.y_true == 1, 1.0, np.nan), evaluation.y_score, group=evaluation.group
    )
    shown += [
        lb.bound_positive_unlabeled(only_positives, 0.05),
        lb.sweep_beta({"<svg>": only_positives}, betas=[0.01, 0.02]),
        lb.estimate_curves(evaluation, imputation, n_draws=20, rng=6),
        lb.Ratings(["<b>", "<b>"], ["r1", "r2"], ["<svg>", "no"]),
    ]
    model = lb.build_imputation(evaluation, imputation, concentration=10)
    posterior = lb.sample(model, rng=3)
    shown += [model, posterior, posterior.diagnostics]
    for how in (imputation, lb.impute(evaluation, imputation.p)):
        for method in ("exact", "gauss", "sampled"):
            estimates = lb.estimate_pemi(evaluation, how, method=method, n_draws=50, rng=2)
            shown += [estimates, *estimates.values()]
    return {type(value).__name__: value._repr_html_() for value in shown}


def test_html_of_results_survives_jupyterlab_and_github() -> None:
    """Also with names that look like markup."""
    complete = lb.load_breast_cancer_scores(rng=20260301)
    group = np.where(np.arange(complete.n_rows) % 2, "<svg id='a'>", "<style>b</style>")
    grouped = lb.EvaluationSet(complete.y_true, complete.y_score, group=group)
    reprs = reprs_of(lb.mask_mcar(grouped, 0.3, rng=20260302))
    classes = {name for name in lb.__all__ if hasattr(getattr(lb, name), "_repr_html_")}
    assert classes <= reprs.keys()
    for name, html in reprs.items():
        assert STRIPPED.findall(html) == [], name
        assert html.count("<img ") == html.count("<img alt="), name


@pytest.mark.parametrize(
    "html",
    ["<style>p {}</style>", "<SVG>", "<b class='x' id='y'>", "<p\nID = 'x'>", "<script>1</script>"],
)
def test_planted_markup_is_caught(html: str) -> None:
    assert STRIPPED.search(html)
    assert not STRIPPED.search("<img alt='a law' src='data:image/svg+xml;base64,PHN2Zz4='>")
    assert not STRIPPED.search("<p style='color: red'>id = 3 &lt;svg id=1&gt;</p>")
