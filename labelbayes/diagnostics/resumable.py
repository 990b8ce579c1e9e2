"""Files of long runs: written whole, read again to go on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from labelbayes._checks import make_rng


def run_file(path: str | os.PathLike[str] | None) -> Path | None:
    """Return the file of a run, before any work is done for it.

    Parameters
    ----------
    path : path-like or None
        What was passed.

    Returns
    -------
    pathlib.Path or None
        The file, which need not be there yet.

    Raises
    ------
    TypeError
        If `path` is no path.
    ValueError
        If it is a folder, or lies in none.
    """
    if path is None:
        return None
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"`path` must be a path or None; got {type(path).__name__} {path!r}.")
    file = Path(path)
    if file.is_dir():
        raise ValueError(f"`path` must name a file; got the folder {str(file)!r}. Add a name.")
    if not file.parent.is_dir():
        raise ValueError(
            f"`path` must lie in a folder that exists; got {str(file)!r}. Make the folder first."
        )
    return file


def read_run(file: Path | None, columns: Sequence[str], maker: str) -> pd.DataFrame:
    """Return what an earlier run has left in a file.

    Parameters
    ----------
    file : pathlib.Path or None
        Parquet file; None or a file that is not there is an empty run.
    columns : sequence of str
        What it must hold, in this order.
    maker : str
        Function that writes such files, for the error.

    Returns
    -------
    pandas.DataFrame
        Its rows.

    Raises
    ------
    ValueError
        If the file holds something else.
    """
    if file is None or not file.exists():
        return pd.DataFrame(columns=list(columns))
    try:
        frame = pd.read_parquet(file)
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"`path` must name a Parquet file of `{maker}` or none; {str(file)!r} is something "
            "else. Use another path."
        ) from error
    if list(frame.columns) != list(columns):
        raise ValueError(
            f"`path` must name a file of `{maker}` or none; got {str(file)!r} with columns "
            f"{', '.join(map(str, frame.columns))}."
        )
    return frame


def write_whole(frame: pd.DataFrame, file: Path) -> None:
    """Write the rows of a run whole or not at all.

    Parameters
    ----------
    frame : pandas.DataFrame
        All rows so far.
    file : pathlib.Path
        Parquet file, replaced.
    """
    part = file.with_name(f"{file.name}.part")
    frame.to_parquet(part, index=False, compression="zstd")
    part.replace(file)


def run_seed(done: pd.DataFrame, rng: np.random.Generator | int | None, file: Path | None) -> int:
    """Return the seed of a run, that of its file if there is one.

    Parameters
    ----------
    done : pandas.DataFrame
        Rows of an earlier run, with a column ``seed``, or none.
    rng : numpy.random.Generator, int or None
        What was asked for.
    file : pathlib.Path or None
        Where the rows came from, for the error.

    Returns
    -------
    int
        The seed.

    Raises
    ------
    ValueError
        If the file was made with another seed.
    """
    wanted = int(rng) if isinstance(rng, (int, np.integer)) else None
    fresh = int(make_rng(rng).integers(2**63))
    if done.empty:
        return fresh if wanted is None else wanted
    seed = int(done["seed"].iloc[0])
    if rng is not None and wanted != seed:
        raise ValueError(
            f"`rng` must be the seed of the file, {seed}, or None; got {rng!r} for {str(file)!r}. "
            "Use another path for another run."
        )
    return seed
