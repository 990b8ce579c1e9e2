"""What names of metrics stand for, with and without a score."""

import pytest

from labelbayes.metrics.confusion import COUNT_METRICS, fbeta
from labelbayes.metrics.ranking import RANKING_METRICS
from labelbayes.metrics.registry import resolve_metrics, split_metrics

COUNT_DEFAULTS = ["accuracy", "precision", "recall", "f1"]


def test_the_defaults_rank_only_where_there_is_a_score() -> None:
    without = resolve_metrics(None, has_score=False)
    assert [metric.name for metric in without] == COUNT_DEFAULTS
    ranked = resolve_metrics(None, has_score=True)
    assert [metric.name for metric in ranked] == [*COUNT_DEFAULTS, "roc_auc", "average_precision"]


def test_names_and_metrics_resolve_in_order() -> None:
    own = fbeta(3)
    asked = ("npv", own, "roc_auc")
    found = (COUNT_METRICS["npv"], own, RANKING_METRICS["roc_auc"])
    assert resolve_metrics(asked, has_score=True) == found
    assert split_metrics(found) == (found[:2], found[2:])


KNOWN = (
    "Known are accuracy, balanced_accuracy, cohen_kappa, f1, f2, jaccard, matthews_corrcoef, npv, "
    "precision, recall, specificity, average_precision, roc_auc, and any `fbeta(beta)`."
)


@pytest.mark.parametrize(
    ("metrics", "error", "sentence"),
    [
        (["f1", "auc"], ValueError, f"got 'auc' at position 1. {KNOWN}"),
        (["f1", 3], TypeError, "`metrics` must hold names or metrics; got 3 at position 1."),
        ([], ValueError, "`metrics` must name at least one metric; got an empty list."),
        (["f1", fbeta(1)], ValueError, "`metrics` must name each metric once; got 'f1' twice."),
        ("f1", TypeError, "must be a list of names; got 'f1' alone. Write it in brackets."),
        (
            ["f1", "roc_auc"],
            ValueError,
            "got it at position 1. Pass `y_score`, or leave it out.",
        ),
    ],
)
def test_bad_metrics_are_refused(metrics: object, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as raised:
        resolve_metrics(metrics, has_score=False)  # type: ignore[arg-type]
    assert str(raised.value).endswith(sentence)
