"""What is no pandas DataFrame where one is wanted: what it is, and how it becomes one."""

from __future__ import annotations


def not_a_frame(name: str, wanted: str, given: object) -> TypeError:
    """Return the error for a table of another library, or for no table at all.

    Parameters
    ----------
    name : str
        Argument name.
    wanted : str
        What it must be, as the end of a sentence's first half.
    given : object
        What was passed.

    Returns
    -------
    TypeError
        Names the library where the type is not Python's own, since many call their table
        DataFrame, and the conversion where there is one.

    Examples
    --------
    >>> str(not_a_frame("frame", "a pandas DataFrame", [1, 2]))
    '`frame` must be a pandas DataFrame; got list.'
    """
    kind = type(given)
    library = kind.__module__.partition(".")[0]
    found = kind.__name__ if library == "builtins" else f"{library}.{kind.__name__}"
    said = f"`{name}` must be {wanted}; got {found}."
    is_convertible = callable(getattr(given, "to_pandas", None))
    return TypeError(f"{said} Pass its `.to_pandas()`." if is_convertible else said)
