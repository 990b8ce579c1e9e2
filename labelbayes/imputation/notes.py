"""What a reader of an imputation should know about the rows that it was fitted on."""

from __future__ import annotations

import numpy as np

from labelbayes._checks import IntArray
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.label_weights import LabelWeights
from labelbayes.imputation.odds import CLIP
from labelbayes.imputation.score_scale import name_of_score, score_of

#: A note is due when more than this share of the missing rows lies beyond every labeled score.
_EXTRAPOLATED = 0.05


def note_ties(evaluation: EvaluationSet, wanted: int, found: int) -> tuple[str, ...]:
    """Return a sentence where tied scores left fewer bins than wanted.

    Parameters
    ----------
    evaluation : EvaluationSet
        Scores.
    wanted, found : int
        Bins.

    Returns
    -------
    tuple of str
        None where all were found, or the decision is the score.
    """
    if found == wanted or evaluation.y_score is None:
        return ()
    return (f"{found} bins of the score, not {wanted}: tied scores stay together.",)


def note_reach(evaluation: EvaluationSet, used: IntArray, beyond_takes: str) -> tuple[str, ...]:
    """Return where p of missing rows has no labels of like rows to rest on.

    Parameters
    ----------
    evaluation : EvaluationSet
        Scores and decisions.
    used : ndarray of int
        Labeled rows of the fit.
    beyond_takes : str
        What scores outside the labeled ones get.

    Returns
    -------
    tuple of str
        Sentences.
    """
    notes = []
    score, missing = score_of(evaluation), ~evaluation.is_labeled
    for decision, name in ((1, "positive"), (0, "negative")):
        rows = evaluation.y_pred == decision
        if (rows & missing).any() and not rows[used].any():
            notes.append(
                f"No row predicted {name} is labeled: p of such rows is extrapolated from the "
                "others."
            )
    low, high = score[used].min(), score[used].max()
    beyond = missing & ((score < low) | (score > high))
    share = evaluation.count[beyond].sum() / max(evaluation.n_unlabeled, 1)
    if share > _EXTRAPOLATED:
        notes.append(
            f"{share:.0%} of the missing rows have scores outside the labeled ones, {low:g} to "
            f"{high:g}: {beyond_takes}."
        )
    return tuple(notes)


def note_clipped(evaluation: EvaluationSet) -> tuple[str, ...]:
    """Return a sentence where different scores have one logit.

    Parameters
    ----------
    evaluation : EvaluationSet
        Scores in [0, 1].

    Returns
    -------
    tuple of str
        None where at most one score lies beyond either end of what the logit tells apart.
    """
    score = score_of(evaluation)
    outside = [score < CLIP, score > 1 - CLIP]
    merged = [side for side in outside if len(np.unique(score[side])) > 1]
    if not merged:
        return ()
    n = sum(int(evaluation.count[side].sum()) for side in merged)
    note = (
        f"{n:,} rows have scores within {CLIP:g} of 0 or 1, whose logit is cut off there: Platt "
        "scaling takes them for one score. Pass log odds as the score to tell them apart."
    )
    return (note,)


def note_separation(evaluation: EvaluationSet, weights: LabelWeights) -> tuple[str, ...]:
    """Return a sentence where the score separates the labels perfectly.

    Parameters
    ----------
    evaluation : EvaluationSet
        Scores.
    weights : LabelWeights
        Labels of both classes.

    Returns
    -------
    tuple of str
        None where it does not.
    """
    score = score_of(evaluation)[weights.row]
    positive, negative = score[weights.label == 1], score[weights.label == 0]
    if positive.min() <= negative.max() and negative.min() <= positive.max():
        return ()
    note = (
        f"The {name_of_score(evaluation)} separates the labeled rows perfectly: how fast p rises "
        "between the classes is the ridge's choice, and intervals tend to be too narrow."
    )
    return (note,)


def say_refits(n_refits: int, what: str) -> str:
    """Return how sure a fit is taken to be.

    Parameters
    ----------
    n_refits : int
        Refits; 0 = none.
    what : str
        What was fitted.

    Returns
    -------
    str
        The end of an assumption.
    """
    if n_refits == 0:
        return f"{what} taken as known"
    return f"{what} uncertainty from {n_refits} Bayesian-bootstrap refits"
