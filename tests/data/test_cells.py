"""Cells of text are read exactly or refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelbayes.data.cells import BadCell, read_numbers


@pytest.mark.parametrize(
    ("cells", "numbers", "note"),
    [
        (["0.92", "8e-2", ".5", "-1", "+3"], [0.92, 0.08, 0.5, -1, 3], ""),
        (["92%", "8 %", "0.3%"], [0.92, 0.08, 0.003], "percent signs were read as hundredths"),
        (["0,92", "0,02", "1"], [0.92, 0.02, 1], "(0,92 is 0.92)"),
        (["12,5%", "8,25%"], [0.125, 0.0825], "commas were read as decimal commas (12,5% is"),
        # No other reading than a decimal comma: a thousand does not begin with 0.
        (["0,125", "1,250"], [0.125, 1.25], "(0,125 is 0.125)"),
        (["1,250", "3,5"], [1.25, 3.5], "decimal commas"),
    ],
)
def test_numbers_are_read(cells: list[str], numbers: list[float], note: str) -> None:
    values, how = read_numbers(cells)
    assert values.tolist() == numbers
    assert note in how
    assert bool(note) == bool(how)


@pytest.mark.parametrize(
    ("cells", "position", "reason"),
    [
        (["0.5", "0,02"], 1, "it has a decimal comma and other cells have a point"),
        (["1,234", "2,345"], 0, "its comma can be a decimal comma or a thousands mark"),
        (["0.5", "92%"], 1, "other cells have no percent sign"),
        (["1.5", "1,234"], 1, "its comma can be a decimal comma or a thousands mark"),
        (["1.5", "1,234.5"], 1, "it looks like a number with thousands marks"),
        (["1.5", "1.234,5"], 1, "it looks like a number with thousands marks"),
        (["1.5", "1 234"], 1, "it looks like a number with thousands marks"),
        (["1.5", "1'234"], 1, "it looks like a number with thousands marks"),
        (["0.5", "inf"], 1, "it is no number"),
        (["0.5", "high", "high"], 1, "it is no number"),
        (["0.5", "0x1A"], 1, "it is no number"),
        (["0.5", "1_000.5"], 1, "it looks like a number with thousands marks"),
    ],
)
def test_other_cells_are_refused(cells: list[str], position: int, reason: str) -> None:
    with pytest.raises(BadCell) as caught:
        read_numbers(cells)
    assert (caught.value.position, caught.value.cell) == (position, cells[position])
    assert caught.value.reason == reason


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_what_python_writes_is_read_back_to_the_bit(values: list[float]) -> None:
    read, how = read_numbers([repr(value) for value in values])
    np.testing.assert_array_equal(read, values)
    assert how == ""


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_percents_and_decimal_commas_are_the_floats_one_would_write(units: list[int]) -> None:
    wanted = [float(f"{unit}e-6") for unit in units]
    percent = [f"{unit // 10_000}.{unit % 10_000:04d}%" for unit in units]
    assert read_numbers(percent)[0].tolist() == wanted
    comma = [f"{unit // 1_000_000},{unit % 1_000_000:06d}" for unit in units]
    assert read_numbers(comma)[0].tolist() == wanted


@pytest.mark.parametrize(
    "cells",
    [
        ["0.5", "9007199254740993"],
        ["9007199254740992", "9007199254740993.0"],
        ["1%", "900719925474099301%"],
        ["0,5", "9007199254740993"],
    ],
)
def test_whole_numbers_that_a_float_rounds_are_refused(cells: list[str]) -> None:
    with pytest.raises(BadCell) as caught:
        read_numbers(cells)
    assert (caught.value.position, caught.value.cell) == (1, cells[1])
    assert "2^53" in caught.value.reason


def test_large_numbers_that_a_float_holds_are_read() -> None:
    cells = ["9007199254740994", "1e300", "10000000000000000", "0.5"]
    assert read_numbers(cells)[0].tolist() == [9007199254740994, 1e300, 1e16, 0.5]
