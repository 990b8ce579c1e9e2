"""Work of an experiment on every core, with results in the order of the jobs."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from labelbayes._progress import track

Job = TypeVar("Job")
Found = TypeVar("Found")


def spread(work: Callable[[Job], Found], jobs: Sequence[Job], *, label: str) -> Iterator[Found]:
    """Yield what the work finds for each job; `work` stands at the top of a module."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        yield from track(pool.map(work, jobs), total=len(jobs), label=label)
