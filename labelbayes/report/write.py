"""A report on disk: written whole or not at all, and an old one replaced whole."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from labelbayes._checks import check_choice, listed
from labelbayes.report.build import Report
from labelbayes.report.numbers import FORMAT, report_json
from labelbayes.report.page import report_html

#: Format -> name of its file and what writes it.
FORMATS: dict[str, tuple[str, Callable[[Report], str]]] = {
    "html": ("report.html", report_html),
    "json": ("report.json", report_json),
}
#: What stands near the top of each file that is ours.
_MARKS = {
    "report.html": b'<meta name="generator" content="labelbayes',
    "report.json": f'"format": "{FORMAT}"'.encode(),
}
_MARK_BYTES = 600

_AT_CWD = -100
_EXCHANGE = 2


def write_report(
    report: Report,
    directory: str | os.PathLike[str],
    *,
    formats: Sequence[str] = ("html", "json"),
) -> dict[str, Path]:
    """Write a report into a directory of its own.

    Parameters
    ----------
    report : Report
        From `build_report`.
    directory : path
        Made if it is not there, with its parents; an earlier report in it is replaced.
    formats : sequence of {"html", "json"}, default ("html", "json")
        Files to write: a page that needs no network, and the same numbers to full precision.

    Returns
    -------
    dict of str to Path
        Format -> file.

    Raises
    ------
    TypeError
        If `report` is no Report, or `directory` no path.
    ValueError
        If a format is unknown, or `directory` holds something else than an earlier report.
    OSError
        If it cannot be written; nothing has changed then.

    Notes
    -----
    All files are written into a hidden directory beside `directory`, which then takes its place
    in one step. A process that is killed leaves either the old report or the new one, at worst
    with a hidden leftover beside it. Where the system cannot exchange two directories (all but
    Linux, and some network drives) an old report is moved aside first: killed between these two
    moves, it stays in the hidden directory.

    Examples
    --------
    >>> import tempfile
    >>> from labelbayes.data.evaluation_set import EvaluationSet
    >>> from labelbayes.report.build import build_report
    >>> evaluation = EvaluationSet([1, 0, None, 1, 0], [0.9, 0.2, 0.8, 0.4, 0.1])
    >>> report = build_report(evaluation, metrics=["precision"], rng=0)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     write_report(report, f"{place}/first", formats=["json"])["json"].name
    'report.json'
    """
    if not isinstance(report, Report):
        raise TypeError(
            f"`report` must be a Report; got {type(report).__name__}. Make one with "
            "`build_report(...)`."
        )
    chosen = [formats] if isinstance(formats, str) else list(dict.fromkeys(formats))
    if not chosen:
        raise ValueError("`formats` must name at least one of 'html', 'json'; got none.")
    for name in chosen:
        check_choice("formats", name, FORMATS)
    place = check_directory(directory)
    files = {FORMATS[name][0]: FORMATS[name][1](report) for name in chosen}
    try:
        _put(place, files)
    except OSError as error:
        raise OSError(
            f"the report could not be written to {directory}: {error.strerror or error}. Name "
            "another directory, and check that there is room."
        ) from error
    return {name: Path(directory) / FORMATS[name][0] for name in chosen}


def check_directory(directory: str | os.PathLike[str]) -> Path:
    """Return where a report will be written, if it may be.

    Parameters
    ----------
    directory : path
        Where the caller wants it.

    Returns
    -------
    Path
        Absolute, links followed, so that what a link points to is replaced and not the link.

    Raises
    ------
    TypeError
        If it is no path.
    ValueError
        If it is a file, holds something else than an earlier report, or is where the process
        stands.
    OSError
        If it cannot be looked into.
    """
    if not isinstance(directory, str | os.PathLike):
        raise TypeError(
            f"`directory` must be a path; got {type(directory).__name__}. Pass its name as text."
        )
    place = Path(os.path.realpath(directory))
    try:
        if not place.exists():
            _check_parent(place, directory)
            return place
        if not place.is_dir():
            raise ValueError(f"`directory` must be a directory; {directory} is a file.")
        strangers = [entry.name for entry in sorted(place.iterdir()) if not _is_ours(entry)]
    except OSError as error:
        raise OSError(
            f"{directory} cannot be used: {error.strerror or error}. Name another directory."
        ) from error
    if strangers:
        raise ValueError(
            f"`directory` must be empty or hold an earlier report; {directory} holds "
            f"{listed(strangers, limit=3)}. Name another directory: nothing of yours is replaced."
        )
    if Path.cwd().is_relative_to(place):
        raise ValueError(
            f"`directory` must not be the directory that you are in, since it is replaced as a "
            f"whole; got {directory}. Name one inside it."
        )
    return place


def _check_parent(place: Path, directory: str | os.PathLike[str]) -> None:
    """Raise unless the directories that are there allow a new one."""
    nearest = next(parent for parent in place.parents if parent.exists())
    if not nearest.is_dir():
        raise ValueError(
            f"`directory` must lie in a directory; {directory} lies in the file {nearest}."
        )
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(nearest))


def _is_ours(entry: Path) -> bool:
    mark = _MARKS.get(entry.name)
    if mark is None or not entry.is_file() or entry.is_symlink():
        return False
    with entry.open("rb") as file:
        return mark in file.read(_MARK_BYTES)


def _put(place: Path, files: dict[str, str]) -> None:
    """Write `files` beside `place`, then let them take its place."""
    place.parent.mkdir(parents=True, exist_ok=True)
    new = _sibling(place)
    new.mkdir()
    try:
        for name, text in files.items():
            with (new / name).open("wb") as file:
                # A file name that is no Unicode may be part of the title.
                file.write(text.encode("utf-8", "backslashreplace"))
                file.flush()
                # The new name must not reach the disk before what it names.
                os.fsync(file.fileno())
        _swap(new, place)
    finally:
        # Here stands what failed, or what was replaced.
        shutil.rmtree(new, ignore_errors=True)


def _swap(new: Path, place: Path) -> None:
    if not place.exists():
        new.rename(place)
    elif not _exchange(new, place):
        aside = _sibling(place)
        place.rename(aside)
        try:
            new.rename(place)
        except BaseException:
            aside.rename(place)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Let two directories change places in one step, where Linux can; else change nothing."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        return False
    names = os.fsencode(first), os.fsencode(second)
    return bool(rename(_AT_CWD, names[0], _AT_CWD, names[1], _EXCHANGE) == 0)


def _sibling(place: Path) -> Path:
    return place.with_name(f".{place.name}.{secrets.token_hex(4)}")
