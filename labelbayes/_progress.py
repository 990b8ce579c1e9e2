"""The one progress bar."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm.auto import tqdm

Item = TypeVar("Item")


def track(items: Iterable[Item], *, total: int | None = None, label: str = "") -> Iterator[Item]:
    """Yield `items`, with a bar once two seconds have passed.

    Nothing is shown where there is neither a terminal nor a Jupyter kernel, or where
    ``TQDM_DISABLE`` is set; the bar leaves nothing behind, so saved notebooks stay clean.

    Parameters
    ----------
    items : iterable
        What is worked on.
    total : int, optional
        How many; ``len(items)`` where it is known.
    label : str, default ""
        What the work is.

    Yields
    ------
    object
        Each of `items`.

    Examples
    --------
    >>> list(track([1, 2, 3]))
    [1, 2, 3]
    """
    silent = bool(os.environ.get("TQDM_DISABLE")) or not (_in_kernel() or sys.stderr.isatty())
    yield from tqdm(items, total=total, desc=label, delay=2, leave=False, disable=silent)


def _in_kernel() -> bool:
    """Whether this process is a Jupyter kernel; asks without importing one."""
    return "ipykernel" in sys.modules
