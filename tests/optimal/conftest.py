"""Oracle item08 (exact rationals), by kind of case."""

import json
from pathlib import Path
from typing import Any

import pytest

CASES = json.loads(Path(__file__).with_name("optimal_oracle.json").read_text(encoding="utf-8"))[
    "cases"
]


@pytest.fixture(scope="session")
def oracle() -> dict[str, list[dict[str, Any]]]:
    return CASES
