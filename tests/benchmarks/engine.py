"""Speed of the Poisson-binomial engine against its targets: `python -m tests.benchmarks.engine`."""

import time
import tracemalloc
from collections.abc import Callable
from typing import NamedTuple

import fast_poibin
import numpy as np

from labelbayes.laws.poisson_binomial import poisson_binomial


class Row(NamedTuple):
    """One line of the table."""

    what: str
    measured: float
    target: str


def best_of(repetitions: int, *calls: Callable[[], object]) -> list[float]:
    """Return the best time of each call in seconds, the calls taking turns."""
    best = [np.inf] * len(calls)
    for _ in range(repetitions):
        for k, call in enumerate(calls):
            started = time.perf_counter()
            call()
            best[k] = min(best[k], time.perf_counter() - started)
    return best


def peak_megabytes(call: Callable[[], object]) -> float:
    """Return the most memory that a call holds at once, in MB."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def engine_rows() -> list[Row]:
    """Return (what, measured, target) of every row of the engine's table."""
    rng = np.random.default_rng(0)
    rows: list[Row] = []

    p = rng.random(1_000_000)
    engine, sort = best_of(15, lambda: poisson_binomial(p), lambda: np.sort(p))
    (other,) = best_of(3, lambda: fast_poibin.PoiBin(p).pmf)
    rows.append(Row("n = 1e6, pmf: ms", 1e3 * engine, "-"))
    rows.append(Row("n = 1e6, pmf: time / fast_poibin", engine / other, "<= 0.05"))
    rows.append(Row("n = 1e6, pmf: time / np.sort(p)", engine / sort, "<= 3"))
    memory = peak_megabytes(lambda: poisson_binomial(p))
    rows.append(Row("n = 1e6, pmf: memory beyond p, MB", memory, "<= 20"))

    distinct = rng.random(1_000)
    count = rng.multinomial(10_000_000, np.full(1_000, 1e-3))
    (grouped,) = best_of(100, lambda: poisson_binomial(distinct, count))
    rows.append(Row("1,000 distinct p, 1e7 rows: ms", 1e3 * grouped, "<= 1"))

    sizes = np.array([100_000, 300_000, 1_000_000, 3_000_000, 10_000_000])
    large = rng.random(sizes[-1])
    times = best_of(7, *(lambda n=n: poisson_binomial(large[:n]) for n in sizes))
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    rows.append(Row("log-log slope of time, n = 1e5 to 1e7", float(slope), "<= 1.1"))
    return rows


if __name__ == "__main__":
    for what, measured, target in engine_rows():
        print(f"{what:<42} {measured:>10.3f}   target {target}")
