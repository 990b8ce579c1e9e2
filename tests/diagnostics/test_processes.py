"""Work in processes: in order, whole, and gone when the one that asked is gone."""

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from labelbayes.diagnostics.processes import spread


def say_and_wait(folder: str) -> None:
    """Leave the number of this process in a file, and stay busy for longer than any test."""
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(300)


ASK = """
import sys
from labelbayes.diagnostics.processes import spread
from tests.diagnostics.test_processes import say_and_wait

if __name__ == "__main__":
    list(spread(say_and_wait, [sys.argv[1]] * 2, 2))
"""


@pytest.mark.parametrize("n_processes", [1, 2])
def test_results_come_in_the_order_of_the_jobs(n_processes: int) -> None:
    assert list(spread(math.factorial, range(7), n_processes)) == [1, 1, 2, 6, 24, 120, 720]
    with pytest.raises(ValueError, match="negative"):
        list(spread(math.factorial, [3, -1], n_processes))


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/status")
    # One that has ended and that nobody has asked about yet still has its number.
    return not (status.exists() and "zombie" in status.read_text(encoding="utf-8"))


def until(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_workers_do_not_outlive_a_killed_process(tmp_path: Path) -> None:
    script, folder = tmp_path / "ask.py", tmp_path / "workers"
    script.write_text(ASK, encoding="utf-8")
    folder.mkdir()
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    asking = subprocess.Popen(
        [sys.executable, str(script), str(folder)], env={**os.environ, "PYTHONPATH": path}
    )
    try:
        assert until(lambda: len(list(folder.iterdir())) == 2, 90)
        workers = [int(file.name) for file in folder.iterdir()]
        assert all(is_running(worker) for worker in workers)
    finally:
        asking.send_signal(signal.SIGKILL)
        asking.wait()
    assert until(lambda: not any(is_running(worker) for worker in workers), 30)
