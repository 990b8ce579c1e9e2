"""Execute notebooks/*.py in fresh kernels and write the .ipynb beside each.

All of them, or those whose names are given: ``python .ci/build_notebooks.py 00_start``.
"""

import os
import sys
import time
from pathlib import Path

import jupytext
import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
#: The same in every notebook, whatever Python built it.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}
#: Points to a live model with a random id; dead in a saved notebook.
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
CELL_TIMEOUT = 120


def read_source(source: Path) -> nbformat.NotebookNode:
    """Read one percent-format notebook; ids and metadata depend on nothing but the source."""
    nb = jupytext.read(source)
    nb.nbformat, nb.nbformat_minor = 4, 5
    nb.metadata = nbformat.from_dict(METADATA)
    for i, cell in enumerate(nb.cells):
        cell.id = f"{source.stem[:2]}-{i:03d}"
        cell.metadata = nbformat.from_dict(
            {"tags": cell.metadata.tags} if "tags" in cell.metadata else {}
        )
    return nb


def _environment() -> dict[str, str]:
    # MPLBACKEND would keep figures out of the notebook: the kernel chooses its own.
    kept = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    quiet = {"TQDM_DISABLE": "1", "PYTHONWARNINGS": "ignore::FutureWarning:arviz"}
    return kept | quiet


def execute(source: Path) -> nbformat.NotebookNode:
    """Run one percent-format notebook from a clean kernel of this interpreter, in order."""
    nb = read_source(source)
    # Without directories there is one kernel left: this interpreter's own.
    kernels = KernelSpecManager(kernel_dirs=[])
    client = NotebookClient(
        nb,
        km=AsyncKernelManager(kernel_name="python3", kernel_spec_manager=kernels),
        timeout=CELL_TIMEOUT,
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
        # The kernel's advice on encrypting its local sockets is no part of a build's output.
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(source.parent)}},
    )
    # A client leaves a manager that it was handed running, unless told.
    client.execute(env=_environment(), cleanup_kc=True)
    nb.metadata = nbformat.from_dict(METADATA)
    for cell in nb.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET_VIEW, None)
    return nb


def main(names: list[str]) -> None:
    """Build the named notebooks, or all."""
    sources = [NOTEBOOKS / f"{Path(name).stem}.py" for name in names]
    for source in sources or sorted(NOTEBOOKS.glob("*.py")):
        start = time.perf_counter()
        nbformat.write(execute(source), source.with_suffix(".ipynb"))
        print(f"wrote {source.stem}.ipynb in {time.perf_counter() - start:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
