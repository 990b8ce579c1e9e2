"""Work of an experiment on every core, with results in the order of the jobs."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from labelbayes._progress import track
from labelbayes.diagnostics.processes import spread

Job = TypeVar("Job")
Found = TypeVar("Found")


def on_all_cores(
    work: Callable[[Job], Found], jobs: Sequence[Job], *, label: str
) -> Iterator[Found]:
    """Yield what the work finds for each job; `work` stands at the top of a module."""
    yield from track(spread(work, jobs, os.cpu_count() or 1), total=len(jobs), label=label)
