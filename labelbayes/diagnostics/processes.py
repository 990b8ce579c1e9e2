"""Work spread over processes that end with the one that asked."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from typing import TypeVar

Job = TypeVar("Job")
Found = TypeVar("Found")


def spread(work: Callable[[Job], Found], jobs: Sequence[Job], n_processes: int) -> Iterator[Found]:
    """Yield what the work finds for each job, in their order.

    Parameters
    ----------
    work : callable
        What is done, from the top of a module; it and what it returns can be pickled.
    jobs : sequence
        Its arguments.
    n_processes : int >= 1
        1 stays in this process.

    Yields
    ------
    object
        What `work` returned.
    """
    if n_processes == 1:
        yield from map(work, jobs)
        return
    # Spawned, so that no lock or thread of this process is copied.
    context = get_context("spawn")
    with ProcessPoolExecutor(n_processes, mp_context=context, initializer=_end_with_parent) as pool:
        yield from pool.map(work, jobs)


def _end_with_parent() -> None:
    """Leave when the asking process is gone: killed, it tells nobody, and workers would wait."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="end with parent", daemon=True).start()
