"""Several judges against the same raters, and where the raters' answers vary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from labelbayes._checks import FloatArray, check_type, check_unit, check_whole
from labelbayes.data.cutoffs import precision_of
from labelbayes.data.ratings import Ratings
from labelbayes.metrics.agreement import cohen_kappa, hit_rate, krippendorff_alpha
from labelbayes.metrics.set_agreement import (
    consistency,
    coverage,
    decide,
    decision_bias,
    js_distance,
    kl_divergence,
    reach,
    set_error,
    top_choice,
)

#: Column -> whether more is better; of `bias` the smallest distance from 0 is best.
MEASURES = {
    "hit_rate": True,
    "cohen_kappa": True,
    "krippendorff_alpha": True,
    "kl_human_judge": False,
    "kl_judge_human": False,
    "js_distance": False,
    "coverage": True,
    "mse": False,
    "consistency": True,
    "bias": False,
}


#: How far from 1 the sum of a law may be; in float16 and float32, the round-off of each option.
LAW_SLACK = 1e-9


def score_judges(
    judges: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]],
    human: tuple[npt.ArrayLike, npt.ArrayLike],
    *,
    decision_options: Sequence[int] = (0,),
    threshold: float = 0.5,
) -> pd.DataFrame:
    """Score judges against human raters under forced choice and under response sets.

    Parameters
    ----------
    judges : mapping of str to pair of array_like, each of shape (n_items, n_options)
        Name -> (law of the forced choice, P(option in the response set)).
    human : pair of array_like
        The same of the human raters.
    decision_options : sequence of int, default (0,)
        Places of the options whose validity leads to a decision downstream.
    threshold : float, default 0.5
        An option is taken for valid, and a decision is taken, where the probability reaches it,
        compared in the precision in which the probabilities came.

    Returns
    -------
    pandas.DataFrame
        Index ``judge``. Of forced choice: ``hit_rate, cohen_kappa, krippendorff_alpha`` on the
        likeliest option (items with a tie are left out), ``kl_human_judge, kl_judge_human,
        js_distance`` on the law. Of response sets: ``coverage`` (the judge's likeliest option is
        valid), ``mse``. Downstream: ``consistency`` and ``bias`` of the decisions.

    Raises
    ------
    ValueError
        If there is no judge, shapes differ, a row of a law does not sum to 1, or a place is no
        option.
    TypeError
        If `judges` is no mapping, or a table or place is no number.

    See Also
    --------
    rank_models : Which of two is better for certain, from verdicts and ratings alone.

    Notes
    -----
    Measures of forced choice compare how people pick among valid answers, which a judge need not
    share to be right: the best judge by them can be the worst downstream.

    References
    ----------
    .. [1] L. Guerdan et al., "Validating LLM-as-a-judge systems under rating indeterminacy",
       arXiv:2503.05965, 2025.

    Examples
    --------
    >>> human = ([[0.9, 0.1]], [[1.0, 0.8]])
    >>> judges = {"a": ([[0.8, 0.2]], [[1.0, 0.1]]), "b": ([[0.2, 0.8]], [[0.9, 0.9]])}
    >>> table = score_judges(judges, human, decision_options=[1])
    >>> table["hit_rate"].idxmax(), table["consistency"].idxmax()
    ('a', 'b')
    """
    check_type("judges", judges, Mapping)
    if not judges:
        raise ValueError("`judges` must hold at least one judge; got none.")
    check_unit("threshold", threshold)
    human_law, human_members = _pair("human", human)
    places = _check_places(decision_options, human_law.shape[1])
    valid, human_choice = reach(human_members, threshold), top_choice(human_law)
    human_decision = decide(human_members, places, threshold)
    rows = {}
    for name, given in judges.items():
        law, members = _pair(f"judges[{name!r}]", given)
        if law.shape != human_law.shape:
            raise ValueError(
                f"`judges[{name!r}]` must have the items and options of `human`, shape "
                f"{human_law.shape}; got {law.shape}."
            )
        choice, decision = top_choice(law), decide(members, places, threshold)
        codes = np.stack([human_choice, choice], axis=1).astype(float)
        rows[name] = {
            "hit_rate": hit_rate(human_choice, choice),
            "cohen_kappa": cohen_kappa(human_choice, choice),
            "krippendorff_alpha": krippendorff_alpha(np.where(codes < 0, np.nan, codes)),
            "kl_human_judge": kl_divergence(human_law, law),
            "kl_judge_human": kl_divergence(law, human_law),
            "js_distance": js_distance(human_law, law),
            "coverage": coverage(choice, valid),
            "mse": set_error(members, human_members),
            "consistency": consistency(decision, human_decision),
            "bias": decision_bias(decision, human_decision),
        }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(MEASURES))
    return frame.rename_axis("judge")


def _pair(
    name: str, given: tuple[npt.ArrayLike, npt.ArrayLike]
) -> tuple[FloatArray, npt.NDArray[np.floating]]:
    """Return a law as float64, and probabilities in the precision in which they came."""
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ValueError(
            f"`{name}` must be a pair: the law of the forced choice, and P(option in the response "
            f"set); got {type(given).__name__}."
        )
    short, members = (_table(name, part) for part in given)
    law = short.astype(np.float64)
    if law.ndim != 2 or law.shape != members.shape or not law.size:
        raise ValueError(
            f"`{name}` must hold two tables of shape (n_items, n_options), with at least one item; "
            f"got shapes {law.shape} and {members.shape}."
        )
    total = law.sum(axis=1, keepdims=True)
    slack = max(LAW_SLACK, law.shape[1] * float(np.finfo(short.dtype).eps))
    is_bad = ~((law >= 0).all(axis=1) & (np.abs(total[:, 0] - 1) < slack))
    if is_bad.any():
        row = int(np.argmax(is_bad))
        raise ValueError(
            f"`{name}` must hold a law of the forced choice that sums to 1 in each row; got "
            f"{law[row].tolist()} in row {row}. Divide counts by their sum."
        )
    if not ((members >= 0) & (members <= 1)).all():
        raise ValueError(f"`{name}` must hold probabilities in [0, 1].")
    return law if short.dtype == np.float64 else law / total, members


def _table(name: str, part: npt.ArrayLike) -> npt.NDArray[np.floating]:
    try:
        given: np.ma.MaskedArray = np.ma.asarray(part)
        table: np.ma.MaskedArray = np.ma.asarray(given, dtype=precision_of(given))
    except (TypeError, ValueError):
        raise TypeError(
            f"`{name}` must hold two tables of numbers, shape (n_items, n_options); got "
            f"{type(part).__name__} that is none."
        ) from None
    return np.asarray(table.filled(np.nan))


def _check_places(options: Sequence[int], n_options: int) -> list[int]:
    if isinstance(options, str) or not isinstance(options, Iterable):
        raise TypeError(
            f"`decision_options` must be a list of places; got {options!r}. Write it in brackets."
        )
    places = [check_whole("decision_options", place, least=0) for place in options]
    if not places or max(places) >= n_options or len(set(places)) < len(places):
        raise ValueError(
            f"`decision_options` must name places of options, each once, from 0 to "
            f"{n_options - 1}; got {places}."
        )
    return places


def split_variation(ratings: Ratings) -> pd.DataFrame:
    """Split the variation of forced choices by item, rater group within item, and rater.

    Parameters
    ----------
    ratings : Ratings
        With a group for each rater.

    Returns
    -------
    pandas.DataFrame
        Index ``source``: "item", "group within item", "rater within group", "total". Columns
        ``variation`` (sum over options of squared deviations of 0/1 indicators),
        ``degrees_of_freedom``, ``share`` of the total, and ``chance_share``: what the share is
        on average if answers were dealt out at random.

    Raises
    ------
    ValueError
        If there are no groups, or all choices agree.
    TypeError
        If `ratings` is no Ratings.

    Notes
    -----
    **Assumes** nothing: it describes these ratings. The parts add up to the total exactly. A share
    near its `chance_share` is no evidence of anything: with few ratings per item much of the
    variation lies between items by chance alone.

    References
    ----------
    .. [1] R. J. Light and B. H. Margolin, "An analysis of variance for categorical data", Journal
       of the American Statistical Association 66(335), 534-544, 1971.

    Examples
    --------
    >>> groups = ["x", "x", "y", "y"] * 2
    >>> ratings = Ratings([1] * 4 + [2] * 4, list("abcd") * 2, list("AABBBBBB"), rater_group=groups)
    >>> split_variation(ratings)["share"].round(3).tolist()
    [0.333, 0.667, 0.0, 1.0]
    """
    check_type("ratings", ratings, Ratings)
    if ratings.rater_group is None:
        raise ValueError("`ratings` must have `rater_group` to split by it; these have none.")
    is_choice = ratings.answers.choice >= 0
    choice, item = ratings.answers.choice[is_choice], ratings.item[is_choice]
    group = pd.factorize(ratings.rater_group)[0][ratings.rater[is_choice]]
    levels = [np.zeros(len(item), dtype=np.int64), item, item * (group.max(initial=0) + 1) + group]
    within = [_within(choice, codes, ratings.n_options) for codes in levels]
    sizes = [len(np.unique(codes)) for codes in levels]
    if not within[0] > 0:
        raise ValueError("`ratings` must hold different choices to split; all agree.")
    parts = [
        ("item", within[0] - within[1], sizes[1] - sizes[0]),
        ("group within item", within[1] - within[2], sizes[2] - sizes[1]),
        ("rater within group", within[2], len(item) - sizes[2]),
        ("total", within[0], len(item) - 1),
    ]
    frame = pd.DataFrame(parts, columns=["source", "variation", "degrees_of_freedom"])
    frame["share"] = frame["variation"] / within[0]
    frame["chance_share"] = frame["degrees_of_freedom"] / (len(item) - 1)
    return frame.set_index("source")


def _within(choice: npt.NDArray, codes: npt.NDArray, n_options: int) -> float:
    """Return the variation inside the parts that `codes` name."""
    _, part = np.unique(codes, return_inverse=True)
    cells = np.bincount(part * n_options + choice).astype(float)
    counts = np.zeros((int(part.max(initial=-1)) + 1) * n_options)
    counts[: len(cells)] = cells
    table = counts.reshape(-1, n_options)
    size = table.sum(axis=1)
    return float((size - (table**2).sum(axis=1) / np.maximum(size, 1)).sum())
