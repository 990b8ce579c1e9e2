"""A study of many masked sets: where the metrics on all labels fall in their predicted laws."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from labelbayes._checks import (
    CI_PROB,
    check_open_unit,
    check_type,
    check_unit,
    check_whole,
    listed,
)
from labelbayes._progress import track
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.masking import mask_mcar, mask_mnar
from labelbayes.diagnostics.pit import pit_values
from labelbayes.diagnostics.pit_methods import PIT_METHODS, answers
from labelbayes.diagnostics.processes import spread
from labelbayes.diagnostics.resumable import read_run, run_file, run_seed, write_whole
from labelbayes.laws.count_metrics import true_values
from labelbayes.metrics.registry import Metric, resolve_metrics

#: Shares of positives among the hidden labels; None hides completely at random.
POSITIVE_FRACTIONS: tuple[float | None, ...] = (None, *(k / 10 for k in range(1, 10)))
#: A replication takes at most this share of each class, so that replications differ; and this
#: share of positives.
LARGEST_SHARE, POSITIVE_SHARE = 1 / 3, 0.4
#: Seconds after which the file is written again: replications are many, and it is written whole.
WRITE_EVERY = 10.0
COLUMNS = (
    "rate",
    "positive_fraction",
    "replication",
    "method",
    "metric",
    "pit",
    "truth",
    "mean",
    "low",
    "high",
    "believed_rate",
    "true_rate",
    "n_rows",
    "seed",
)

#: A way to hide labels: the share that is hidden, and the share of positives among them.
Cell = tuple[float, float | None]


def run_pit(
    evaluation: EvaluationSet,
    *,
    rates: Sequence[float] = (0.1, 0.2, 0.3),
    positive_fractions: Sequence[float | None] | None = None,
    methods: Sequence[str] | None = None,
    metrics: Sequence[str | Metric] | None = None,
    n_rows: int = 600,
    n_replications: int = 200,
    n_processes: int = 1,
    path: str | os.PathLike[str] | None = None,
    rng: np.random.Generator | int | None = None,
) -> pd.DataFrame:
    """Hide labels of a complete set again and again, and see where the truth falls.

    Each replication draws its own rows, hides some of their labels, asks every method for the
    laws of the metrics and notes where the metrics on all labels fall in them.

    Parameters
    ----------
    evaluation : EvaluationSet
        All labels. Scores must be of a model that did not see the rows.
    rates : sequence of float in (0, 1), default (0.1, 0.2, 0.3)
        Shares of labels that are hidden.
    positive_fractions : sequence of float or None, optional
        Shares of positives among them; None in the sequence hides completely at random. None
        stands for that and 0.1, 0.2, ..., 0.9.
    methods : sequence of str, optional
        Keys of ``labelbayes.diagnostics.pit_methods.PIT_METHODS``; None stands for all.
    metrics : sequence of str or Metric, optional
        None stands for accuracy, precision, recall and f1, with a score also for roc_auc and
        average_precision.
    n_rows : int >= 10, default 600
        Rows of a replication at most: 40% positives, and no more than a third of each class.
    n_replications : int >= 1, default 200
        Replications of each pair of rate and fraction. 20 have a power of .07 against a plug-in
        at 30% missing; 200 see it.
    n_processes : int >= 1, default 1
        Processes. The result does not depend on it. Scripts that use more guard their main part
        with ``if __name__ == "__main__"``.
    path : path-like, optional
        Parquet file, written whole after the first replication, then every ten seconds, and when
        the run ends or is interrupted. To resume, call again with the same path and options: only
        replications that it lacks are made. Other rates, fractions and more replications extend
        it; it keeps all that it has, and what is asked for is returned. Of several processes an
        interrupt loses the replications under way.
    rng : numpy.random.Generator, int or None, default None
        Where all randomness comes from; with an int a run can be resumed.

    Returns
    -------
    pandas.DataFrame
        A row per replication, method and metric: ``rate``, ``positive_fraction`` (nan: completely
        at random), ``replication``, ``method``, ``metric``, ``pit`` (nan where the truth is
        undefined), ``truth``, ``mean``, ``low``, ``high`` (95% interval), ``believed_rate`` (mean
        p of the hidden rows; nan without p), ``true_rate`` (positives among them), ``n_rows``,
        ``seed``.

    Raises
    ------
    ValueError
        If labels are missing, an option is not as above, or the file holds another run.
    TypeError
        If an argument is of the wrong type.

    Warns
    -----
    UserWarning
        Pairs of rate and fraction that the rows do not allow; they are left out.

    See Also
    --------
    summarize_pit : Location, spread and coverage of the values.

    Notes
    -----
    **Assumes** that the complete labels are right. Rows are drawn anew for every replication: on
    one fixed set with only the mask drawn anew even a perfect method fails the test.

    References
    ----------
    .. [1] D. Dervovic and M. Cashmore, arXiv 2504.18385, 2025, for the design.

    Examples
    --------
    >>> from labelbayes.data.simulate import simulate_scores
    >>> complete = simulate_scores(600, rng=0)
    >>> found = run_pit(
    ...     complete, rates=[0.3], positive_fractions=[None], methods=["prevalence"],
    ...     metrics=["recall"], n_rows=100, n_replications=3, rng=0,
    ... )
    >>> found.shape
    (3, 14)
    """
    check_type("evaluation", evaluation, EvaluationSet)
    if evaluation.n_unlabeled:
        raise ValueError(
            f"`evaluation` must have every label; {evaluation.n_unlabeled:,} are missing. The "
            "study hides labels itself."
        )
    asked = resolve_metrics(metrics, has_score=evaluation.y_score is not None)
    names = _check_methods(methods)
    size = _sizes(evaluation, check_whole("n_rows", n_rows, least=10))
    cells = _feasible(_check_cells(rates, positive_fractions), size)
    wanted = check_whole("n_replications", n_replications, least=1)
    workers = check_whole("n_processes", n_processes, least=1)
    file = run_file(path)
    done = read_run(file, COLUMNS, "run_pit")
    _check_same_run(done, names, [metric.name for metric in asked], sum(size), file)
    seed = run_seed(done, rng, file)
    made = set(zip(_places(done), done["replication"], strict=True))
    jobs = [
        (cell, replication)
        for replication, cell in product(range(wanted), cells)
        if (_place(cell), replication) not in made
    ]
    work = partial(_run_one, evaluation, size, names, asked, seed)
    whole, fresh = done, []
    try:
        found = track(spread(work, jobs, workers), total=len(jobs), label="replications")
        # The first at once: that a file cannot be written is to be known before hours of work.
        next_write = -math.inf
        for frame in found:
            fresh.append(frame)
            if time.monotonic() >= next_write:
                whole, fresh = _save(whole, fresh, file), []
                next_write = time.monotonic() + WRITE_EVERY
    finally:
        if fresh:
            whole = _save(whole, fresh, file)
    places = {_place(cell) for cell in cells}
    is_asked = np.array([place in places for place in _places(whole)], dtype=bool)
    return whole[is_asked & (whole["replication"] < wanted)].reset_index(drop=True)


def _place(cell: Cell) -> tuple[float, float]:
    """Return a pair of rate and fraction that equals itself: nan, which stands in files, does not.

    Completely at random is -1.
    """
    return cell[0], -1.0 if cell[1] is None else cell[1]


def _places(frame: pd.DataFrame) -> list[tuple[float, float]]:
    columns = frame[["rate", "positive_fraction"]].fillna(-1.0)
    return list(columns.itertuples(index=False, name=None))


def _save(whole: pd.DataFrame, fresh: list[pd.DataFrame], file: Path | None) -> pd.DataFrame:
    """Return all rows in the order of a run that nothing has interrupted, once they are on disk."""
    keys = ["rate", "positive_fraction", "replication"]
    frame = pd.concat([whole, *fresh] if len(whole) else fresh, ignore_index=True)
    frame = frame.sort_values(keys, na_position="first", kind="stable", ignore_index=True)
    if file is not None:
        write_whole(frame, file)
    return frame


def _check_methods(methods: Sequence[str] | None) -> list[str]:
    if methods is None:
        return list(PIT_METHODS)
    names = _distinct("methods", methods)
    if unknown := [name for name in names if name not in PIT_METHODS]:
        raise ValueError(
            f"`methods` must hold known names; got {unknown[0]!r}. Known are "
            f"{listed(PIT_METHODS, limit=20)}."
        )
    return names


def _check_cells(
    rates: Sequence[float], positive_fractions: Sequence[float | None] | None
) -> list[Cell]:
    fractions = POSITIVE_FRACTIONS if positive_fractions is None else positive_fractions
    shares = [
        None if one is None else check_unit("positive_fractions", one)
        for one in _distinct("positive_fractions", fractions)
    ]
    hidden = [check_open_unit("rates", rate) for rate in _distinct("rates", rates)]
    return list(product(hidden, shares))


def _distinct(name: str, values: Iterable[Any]) -> list[Any]:
    """Return the values as a list; raise if they are none or one of them comes twice."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"`{name}` must be a list; got {values!r} alone. Write it in brackets.")
    found = list(values)
    if not found:
        raise ValueError(f"`{name}` must hold at least one value; got an empty list.")
    for place, value in enumerate(found):
        if value in found[:place]:
            raise ValueError(
                f"`{name}` must hold each value once; got {value!r} again at position {place}."
            )
    return found


def _check_same_run(
    done: pd.DataFrame, methods: list[str], metrics: list[str], n_rows: int, file: Path | None
) -> None:
    """Raise where a file holds replications of other methods, metrics or sizes."""
    asked: dict[str, list[Any]] = {"method": methods, "metric": metrics, "n_rows": [n_rows]}
    for column, wanted in asked.items():
        found = done[column].unique().tolist()
        if found and set(found) != set(wanted):
            raise ValueError(
                f"`path` must name a run of the same methods, metrics and rows; {str(file)!r} has "
                f"{column} {listed(found)} where {listed(wanted)} was asked for. Use another path "
                "for another run."
            )


def _sizes(evaluation: EvaluationSet, n_rows: int) -> tuple[int, int]:
    """Return positives and negatives of a replication."""
    counts = evaluation.counts
    most = [LARGEST_SHARE * (counts.tp + counts.fn), LARGEST_SHARE * (counts.fp + counts.tn)]
    size = min(n_rows, int(most[0] / POSITIVE_SHARE), int(most[1] / (1 - POSITIVE_SHARE)))
    n_positive = round(POSITIVE_SHARE * size)
    if n_positive < 4:
        raise ValueError(
            f"`evaluation` must have at least 12 positives and 18 negatives; got "
            f"{counts.tp + counts.fn} and {counts.fp + counts.tn}. A replication takes at most a "
            "third of each."
        )
    return n_positive, size - n_positive


def _feasible(cells: Sequence[Cell], size: tuple[int, int]) -> list[Cell]:
    """Leave out pairs that would need more positives or negatives than there are."""
    kept: list[Cell] = []
    lost: list[Cell] = []
    for rate, fraction in cells:
        n_hidden = round(rate * sum(size))
        n_positive = None if fraction is None else round(fraction * n_hidden)
        # One label of each class stays, so that every method has something to learn from.
        fits = n_positive is None or (n_positive < size[0] and n_hidden - n_positive < size[1])
        (kept if fits else lost).append((rate, fraction))
    if lost:
        named = ", ".join(f"{rate:g} with {fraction:g}" for rate, fraction in lost)
        warnings.warn(
            f"Left out, since {size[0]} positives and {size[1]} negatives do not allow them: "
            f"rate {named}.",
            stacklevel=3,
        )
    return kept


def _run_one(
    evaluation: EvaluationSet,
    size: tuple[int, int],
    names: Sequence[str],
    metrics: Sequence[Metric],
    seed: int,
    job: tuple[Cell, int],
) -> pd.DataFrame:
    rows = _replicate(evaluation, size, names, metrics, seed, *job)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _replicate(
    evaluation: EvaluationSet,
    size: tuple[int, int],
    names: Sequence[str],
    metrics: Sequence[Metric],
    seed: int,
    cell: Cell,
    replication: int,
) -> Iterator[tuple[object, ...]]:
    rate, fraction = cell
    # A replication's randomness depends on its place alone, whoever makes it.
    place = [
        seed,
        round(rate * 1e6),
        0 if fraction is None else 1 + round(fraction * 1e6),
        replication,
    ]
    source = np.random.default_rng(place)
    whole = _draw_rows(evaluation, size, source)
    hidden = (
        mask_mcar(whole, rate, rng=source)
        if fraction is None
        else mask_mnar(whole, rate, fraction, rng=source)
    )
    truth = true_values(metrics, whole, hidden.counts)
    true_rate = _true_rate(whole, hidden)
    for name, estimates, believed in answers(names, hidden, metrics, place):
        laws = [estimates[metric.name] for metric in metrics]
        where = pit_values(laws, [truth[metric.name] for metric in metrics], rng=source)
        for metric, law, value in zip(metrics, laws, where.tolist(), strict=True):
            span = law.interval(CI_PROB)
            yield (
                rate,
                np.nan if fraction is None else fraction,
                replication,
                name,
                metric.name,
                value,
                truth[metric.name],
                law.mean,
                span.low,
                span.high,
                believed,
                true_rate,
                whole.n,
                seed,
            )


def _draw_rows(
    evaluation: EvaluationSet, size: tuple[int, int], rng: np.random.Generator
) -> EvaluationSet:
    """Draw rows of each class, without replacement, in their order."""
    rows = np.repeat(np.arange(evaluation.n_rows), evaluation.count)
    label = evaluation.y_true[rows]
    taken = [
        rng.choice(rows[label == value], n, replace=False)
        for value, n in zip((1, 0), size, strict=True)
    ]
    order = np.sort(np.concatenate(taken))
    return evaluation._take(order, count=np.ones(len(order), dtype=np.int64))


def _true_rate(whole: EvaluationSet, hidden: EvaluationSet) -> float:
    n_positive = whole.counts.tp + whole.counts.fn - hidden.counts.tp - hidden.counts.fn
    return n_positive / hidden.n_unlabeled if hidden.n_unlabeled else float("nan")
