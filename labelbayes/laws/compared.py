"""From what a comparison knows to its laws: exact where they can be listed, else sampled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from labelbayes._checks import CI_PROB
from labelbayes.imputation.belief import Imputation
from labelbayes.laws.metric_differences import MetricDifferences
from labelbayes.laws.row_draws import check_drawable
from labelbayes.metrics.registry import Metric, split_metrics
from labelbayes.results.distribution import DrawsLaw, Law
from labelbayes.results.estimates import Estimates
from labelbayes.results.sampled import SampledLaw, draws_text
from labelbayes.results.sentences import Target, population, predictive


def compared_laws(
    of_counts: MetricDifferences,
    of_rows: MetricDifferences | None,
    asked: Sequence[Metric],
    imputation: Imputation,
    *,
    method: str,
    target: Target,
    n_draws: int,
    rng: np.random.Generator,
    n_labeled: int,
    n_unlabeled: int,
    notes: tuple[str, ...],
) -> Estimates:
    """Return the laws of the differences of all metrics.

    Parameters
    ----------
    of_counts : PairedCounts or GroupCounts
        Count metrics, from counts of rows.
    of_rows : RowDifferences or None
        All metrics, from completions of every row; None where no ranking metric is asked for.
    asked : sequence of CountMetric or RankingMetric
        The metrics.
    imputation : Imputation
        Belief about the missing labels.
    method : {"exact", "gauss", "sampled"}
        Which laws.
    target : {"sample", "population"}
        These rows, or rows drawn like these.
    n_draws : int
        Draws, where there are any.
    rng : numpy.random.Generator
        Where they come from.
    n_labeled, n_unlabeled : int
        Rows compared, with and without a label.
    notes : tuple of str
        What is to be said of this comparison.

    Returns
    -------
    Estimates
        A law per metric.

    Raises
    ------
    ValueError
        If a ranking metric is of the user's own, or has no matched normal where it is asked for.
    """
    for metric in asked:
        check_drawable(metric)
    source = of_rows or of_counts
    is_sample = target == "sample"
    joint = partial(source.draw if is_sample else source.draw_population, tuple(asked))
    laws: dict[str, Law]
    if method == "exact" and is_sample:
        laws, said = _exact_laws(of_counts, of_rows, asked, n_draws, rng)
    elif method == "gauss":
        by_kind = _by_kind(of_counts, of_rows, asked)
        laws, said = {m.name: kind.normal_law(m) for m, kind in by_kind}, "matched normal law"
    else:
        columns = joint(n_draws, rng)
        laws = {
            m.name: DrawsLaw(columns[m.name], kind.undefined(m)[1])
            for m, kind in _by_kind(of_counts, of_rows, asked)
        }
        said = f"{n_draws:,} draws" if is_sample else f"{n_draws:,} draws of rows and labels"
    meaning = what_it_means(imputation, target, n_labeled + n_unlabeled)
    return Estimates(
        laws,
        method=f"{said}; {imputation.method}",
        assumption=imputation.assumption,
        target=target,
        statement="predictive" if is_sample else "credible",
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
        notes=(meaning, *notes, *imputation.notes),
        joint=None if method == "gauss" else joint,
    )


def what_it_means(imputation: Imputation, target: Target, n: int) -> str:
    """Return what an interval of a comparison means.

    Parameters
    ----------
    imputation : Imputation
        Belief about the missing labels.
    target : {"sample", "population"}
        These rows, or rows drawn like these.
    n : int
        How many they are.

    Returns
    -------
    str
        A sentence.
    """
    if target == "sample":
        return predictive(n, CI_PROB)
    return population(imputation.n_refits, CI_PROB)


def _by_kind(
    of_counts: MetricDifferences, of_rows: MetricDifferences | None, asked: Sequence[Metric]
) -> list[tuple[Metric, MetricDifferences]]:
    """Return each metric with what knows most of it."""
    _, rankings = split_metrics(asked)
    return [(m, of_rows if of_rows and m in rankings else of_counts) for m in asked]


def _exact_laws(
    of_counts: MetricDifferences,
    of_rows: MetricDifferences | None,
    asked: Sequence[Metric],
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[dict[str, Law], str]:
    """Return exact laws, and joint draws of the others with whatever is known exactly of them."""
    by_kind = _by_kind(of_counts, of_rows, asked)
    found = {metric.name: kind.exact_law(metric) for metric, kind in by_kind}
    exact = {name: law for name, law in found.items() if law is not None}
    rest = [(metric, kind) for metric, kind in by_kind if metric.name not in exact]
    if not rest:
        return exact, "exact law"
    source = of_rows if any(kind is of_rows for _, kind in rest) else of_counts
    assert source is not None  # there is no metric of rows without it
    columns = source.draw([metric for metric, _ in rest], n_draws, rng)
    laws: dict[str, Law] = {}
    parts: dict[str, list[str]] = {}
    for metric, kind in rest:
        prob, reason = kind.undefined(metric)
        mean, sd = kind.moments(metric)
        laws[metric.name] = SampledLaw(columns[metric.name], reason, mean, sd, prob)
        known = [word for word, value in (("mean", mean), ("sd", sd)) if not np.isnan(value)]
        parts.setdefault(f"exact {' and '.join(known)}" if known else "", []).append(metric.name)
    said = [f"{', '.join(names)}{f' ({known})' if known else ''}" for known, names in parts.items()]
    text = f"{draws_text(n_draws)} of {'; '.join(said)}"
    if exact:
        text = f"exact law of {', '.join(exact)}; {text}"
    return {metric.name: exact.get(metric.name) or laws[metric.name] for metric in asked}, text
