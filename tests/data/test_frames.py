"""Tables of other libraries are named, with the way to a pandas DataFrame."""

import pandas as pd
import pyarrow as pa
import pytest

from labelbayes.data.ratings import Ratings
from labelbayes.data.read import read_evaluation
from labelbayes.data.read_ratings import read_ratings


class DataFrame:
    """A stand-in for the table of another library: called DataFrame, and no pandas."""

    def to_pandas(self) -> pd.DataFrame:
        return pd.DataFrame({"label": [1, 0], "score": [0.9, 0.1]})


#: As polars has it: the module in which a class is written is deep inside the library.
DataFrame.__module__ = "polars.dataframe.frame"


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (
            lambda table: read_evaluation(table, y_true="label", y_score="score"),
            "`source` must be a pandas DataFrame or the path of a CSV or Parquet file",
        ),
        (
            read_ratings,
            "`source` must be a pandas DataFrame or the path of a CSV, Parquet or JSON-lines file",
        ),
        (Ratings.from_wide, "`frame` must be a pandas DataFrame"),
    ],
)
@pytest.mark.parametrize(
    ("table", "found"),
    [
        (DataFrame(), "polars.DataFrame. Pass its `.to_pandas()`."),
        (pa.table({"label": [1]}), "pyarrow.Table. Pass its `.to_pandas()`."),
        ([1, 0], "list."),
    ],
    ids=["polars", "pyarrow", "list"],
)
def test_what_is_no_pandas_frame_is_named(call, wanted: str, table: object, found: str) -> None:
    with pytest.raises(TypeError) as raised:
        call(table)
    assert str(raised.value) == f"{wanted}; got {found}"


def test_the_remedy_works() -> None:
    found = read_evaluation(DataFrame().to_pandas(), y_true="label", y_score="score")
    assert found.counts.tp == 1
