"""Print one table a subject."""

import importlib.util

import pandas as pd

#: Module of this folder -> its function that returns rows (one mapping a row).
SUBJECTS = {
    "bayes": "bayes_rows",
    "engine": "engine_rows",
    "imputation": "imputation_rows",
    "metrics": "metric_rows",
    "positive_unlabeled": "positive_unlabeled_rows",
    "optimal": "optimal_rows",
    "ranking": "ranking_rows",
    "row_draws": "draw_rows",
    "weighting": "weighting_rows",
}


def main() -> None:
    """Run every subject that has been written."""
    for module, function in SUBJECTS.items():
        name = f"tests.benchmarks.{module}"
        if importlib.util.find_spec(name) is not None:
            rows = getattr(importlib.import_module(name), function)()
            print(f"\n{module}\n{pd.DataFrame(rows).to_string(index=False)}")


if __name__ == "__main__":
    main()
