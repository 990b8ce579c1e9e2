"""Print one table a subject."""

import importlib
import time

import pandas as pd

#: Module of this folder -> its function that returns rows (one mapping a row).
SUBJECTS = {
    "bayes": "bayes_rows",
    "certificate": "certificate_rows",
    "engine": "engine_rows",
    "imputation": "imputation_rows",
    "metrics": "metric_rows",
    "optimal": "optimal_rows",
    "positive_unlabeled": "positive_unlabeled_rows",
    "ranking": "ranking_rows",
    "row_draws": "draw_rows",
    "weighting": "weighting_rows",
}


def main() -> None:
    """Run every subject."""
    for module, function in SUBJECTS.items():
        started = time.perf_counter()
        rows = getattr(importlib.import_module(f"tests.benchmarks.{module}"), function)()
        seconds = time.perf_counter() - started
        print(
            f"\n{module} ({seconds:.0f} s)\n{pd.DataFrame(rows).to_string(index=False)}", flush=True
        )


if __name__ == "__main__":
    main()
