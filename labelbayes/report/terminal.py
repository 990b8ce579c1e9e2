"""Text on a terminal, which may know few characters, obey some, or be closed."""

from __future__ import annotations

import os
import sys


def visible(text: str) -> str:
    r"""Spell out what a terminal would obey instead of show: control characters and the like.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        On one line.

    Examples
    --------
    >>> visible("red\x1b[31m")
    'red\\x1b[31m'
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def print_text(text: str) -> None:
    """Print lines to standard output; nothing where it was closed before the program began.

    Parameters
    ----------
    text : str
        Lines.

    Raises
    ------
    OSError
        If standard output takes no more; `BrokenPipeError` where its reader has left.
    """
    if sys.stdout is None:
        return
    # A terminal that knows few characters gets the others spelled out.
    encoding = sys.stdout.encoding or "utf-8"
    shown = "\n".join(visible(line) for line in text.split("\n"))
    print(shown.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def drop_output() -> None:
    """Send what is not yet printed nowhere; else Python complains when it flushes at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
