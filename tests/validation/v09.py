"""V9: paths are attained, and outer bounds of average precision hold, by brute force with ties."""

import itertools
import time

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score, roc_auc_score

from labelbayes.bounds.positive_unlabeled import bound_positive_unlabeled
from labelbayes.bounds.score_blocks import make_blocks
from labelbayes.data.evaluation_set import EvaluationSet

SEED = 20261109


def one_case(rng: np.random.Generator) -> dict[str, float] | None:
    """Return how a random set compares with all of its labelings; None where none fits."""
    n_known, n_negative, n_unlabeled = rng.integers([1, 0, 2], [4, 3, 10])
    y_true = np.repeat([1.0, 0.0, np.nan], [n_known, n_negative, n_unlabeled])
    score = rng.integers(0, int(rng.integers(2, 14)), len(y_true))
    n_latent = int(rng.integers(1, n_unlabeled + 1))
    evaluation = EvaluationSet(y_true, score, pos_label=1)
    distinct, width = np.unique(score)[::-1], rng.uniform(0, 0.8)
    share = np.array([(score[y_true == 1] >= cut).mean() for cut in distinct])
    low, high = np.clip(share - width, 0, 1), np.clip(share + width, 0, 1)
    areas, precisions = [], []
    for chosen in itertools.combinations(np.flatnonzero(np.isnan(y_true)), n_latent):
        above = np.array([(score[list(chosen)] >= cut).sum() for cut in distinct])
        if (above < low * n_latent - 1e-9).any() or (above > high * n_latent + 1e-9).any():
            continue
        labels = np.nan_to_num(y_true)
        labels[list(chosen)] = 1
        precisions.append(average_precision_score(labels, score))
        areas.append(np.nan if labels.all() else roc_auc_score(labels, score))
    result = bound_positive_unlabeled(evaluation, n_latent / n_unlabeled, band=(low, high))
    if not areas:
        try:
            result.auc()
        except ValueError:
            return None
        raise AssertionError("bounds were given although no labeling fits")
    area, precision = result.auc(), result.average_precision()
    has_both = not np.isnan(areas[0])
    return {
        "area_error": max(abs(area.low - min(areas)), abs(area.high - max(areas)))
        if has_both
        else 0.0,
        "slack_low": min(precisions) - precision.low,
        "slack_high": precision.high - max(precisions),
        # Planted error: the value of the least path taken for the smallest one.
        "naive_low": naive_low(evaluation, result) - min(precisions),
    }


def naive_low(evaluation: EvaluationSet, result: object) -> float:
    """Return average precision along the lower curve."""
    blocks, frame = make_blocks(evaluation), result.precision_recall()
    gained = np.diff(np.concatenate([[0.0], frame["recall_low"]]))
    assert len(blocks.score) == len(frame)
    return float(gained @ frame["precision_low"])


def run(n: int) -> pd.DataFrame:
    """Return one row per set that some labeling fits."""
    rng = np.random.default_rng(SEED)
    return pd.DataFrame([row for row in (one_case(rng) for _ in range(n)) if row is not None])


def is_as_expected(found: pd.DataFrame) -> bool:
    """Areas are attained, average precision lies inside, and the naive bound is left."""
    return bool(
        found["area_error"].max() < 1e-12
        and found[["slack_low", "slack_high"]].min().min() > -1e-12
        and found["naive_low"].max() > 1e-3
    )


def main() -> bool:
    """Run 5,000 cases and say whether all is as expected."""
    start = time.perf_counter()
    found = run(5_000)
    print(found.describe().loc[["count", "mean", "max", "min"]].round(4).to_string())
    n_wrong = int((found["naive_low"] > 1e-12).sum())
    print(f"the path's own value is no bound in {n_wrong:,} of {len(found):,} sets")
    is_fine = is_as_expected(found)
    print(f"{time.perf_counter() - start:.0f} s; all as expected: {is_fine}")
    return is_fine
