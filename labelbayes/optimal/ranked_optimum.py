"""The optimum of labels in the order of their soft labels: values, errors, resamples, doubts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from labelbayes._checks import FloatArray, IntArray
from labelbayes.optimal.bootstrap import BootstrapLaw, acceleration_of, resample
from labelbayes.optimal.forms import ROUND_OFF, Form
from labelbayes.optimal.influence import (
    HeldOutRules,
    auc_influence,
    ber_influence,
    choose_form,
    error_influence,
    fit_held_out,
)
from labelbayes.optimal.isotonic import RankedLabels, merge_blocks, rank_labels
from labelbayes.optimal.logit_law import LogitLaw
from labelbayes.optimal.plug_in import SHIFTS, FixedForm, plug_in, ranked_pairs
from labelbayes.optimal.soft_labels import prior_of
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.distribution import Law

#: Folds of the held-out end.
N_FOLDS = 10
#: Metric -> its range.
RANGES = {
    "error": (0.0, 0.5),
    "ber": (0.0, 0.5),
    "roc_auc": (0.5, 1.0),
    "error_held_out": (0.0, 1.0),
    "ber_held_out": (0.0, 1.0),
    "roc_auc_held_out": (0.0, 1.0),
}
IN_SAMPLE = ("error", "ber", "roc_auc")
#: Why a held-out end is undefined.
NO_JUDGE = "no hard labels judge a rule"
ONE_KIND = "all labels are of one class"
#: Standard errors between the mean of the labels and a given prior from which on it is doubted.
DOUBT = 4.0


class ItemGroups(NamedTuple):
    """Items that no statistic tells apart: of one cell, label and decisions.

    Attributes
    ----------
    group : ndarray of int, shape (n,)
        Group of each item, in ascending order of the soft label.
    size : ndarray of float, shape (n_groups,)
        Items of each group.
    first : ndarray of int, shape (n_cells,)
        First group of each cell.
    label, hard, wrong, decision : ndarray of float, shape (n_groups,)
        Label that the optimum is computed from, hard label, whether the held-out rule for the
        error is wrong, and the decision of the one for the BER.
    """

    group: IntArray
    size: FloatArray
    first: IntArray
    label: FloatArray
    hard: FloatArray
    wrong: FloatArray
    decision: FloatArray


@dataclass(frozen=True, eq=False)
class RankedOptimum:
    """The optimum of labels in the order of their soft labels.

    Parameters
    ----------
    ranked : RankedLabels
        What the optimum is computed from: hard labels, or the soft labels themselves.
    hard : RankedLabels or None
        Hard labels in the same order, which judge the held-out rules.
    rules : HeldOutRules or None
        Decisions that are judged.
    prior : float or None
        P(y = 1) where it is known.
    forms : tuple of str
        Form of BER and AUC.
    influences : dict of str to ndarray, shape (n,)
        Influence of each item on each metric.
    """

    ranked: RankedLabels
    hard: RankedLabels | None
    rules: HeldOutRules | None
    prior: float | None
    forms: tuple[FixedForm, FixedForm]
    influences: dict[str, FloatArray]

    @classmethod
    def of(
        cls,
        score: FloatArray,
        known: FloatArray | None,
        *,
        is_fitted: bool,
        prior: float | None,
        form: Form,
        rng: np.random.Generator,
    ) -> RankedOptimum:
        """Rank the labels and fit the rules.

        Parameters
        ----------
        score : ndarray of float, shape (n,)
            Soft labels.
        known : ndarray of float, shape (n,), or None
            Hard labels, none missing.
        is_fitted : bool
            Whether soft labels are calibrated on the hard labels.
        prior : float or None
            P(y = 1) where it is known.
        form : {"auto", "min", "max", "mad"}
            Form of BER and AUC for a known prior.
        rng : numpy.random.Generator
            Breaks ties between soft labels when folds are made.

        Returns
        -------
        RankedOptimum
            Ready to be asked.
        """
        ranked = rank_labels(score, known if is_fitted and known is not None else score, rng)
        forms, influences = _influences(ranked, prior, form)
        if known is None:
            return cls(ranked, None, None, prior, forms, influences)
        if is_fitted:
            hard, rules = ranked, fit_held_out(ranked, prior, min(N_FOLDS, len(score)))
        else:
            hard = replace(ranked, label=known[ranked.order], starts=ranked.ties)
            ordered = score[ranked.order]
            rules = HeldOutRules(ordered >= 0.5, ordered >= prior_of(score, prior))
        influences["error_held_out"] = error_influence(hard.label, rules.error)
        influences["ber_held_out"] = ber_influence(hard.label, rules.ber, None)
        influences["roc_auc_held_out"] = auc_influence(hard.label, hard.ties, None)
        return cls(ranked, hard, rules, prior, forms, influences)

    @cached_property
    def estimates(self) -> dict[str, float]:
        """The six numbers, unclipped; nan where there is nothing to judge a rule by."""
        return dict(zip(RANGES, self.values(), strict=True))

    @cached_property
    def groups(self) -> ItemGroups:
        """Items in groups, of which only the weight matters: there are far fewer than items."""
        n = len(self.ranked.label)
        cell = np.repeat(np.arange(len(self.ranked.starts)), np.diff(self.ranked.starts, append=n))
        hard = wrong = decision = np.zeros(n, dtype=np.int64)
        if self.hard is not None and self.rules is not None:
            hard = self.hard.label.astype(np.int64)
            wrong = (self.rules.error != (hard == 1)).astype(np.int64)
            decision = self.rules.ber.astype(np.int64)
        key = ((cell * 2 + hard) * 2 + wrong) * 2 + decision
        _, item, group, size = np.unique(
            key, return_index=True, return_inverse=True, return_counts=True
        )
        columns = (part[item].astype(float) for part in (self.ranked.label, hard, wrong, decision))
        first = np.flatnonzero(np.diff(cell[item], prepend=-1))
        return ItemGroups(group, size.astype(float), first, *columns)

    def values(self, weight: FloatArray | None = None) -> tuple[float, ...]:
        """Return the six numbers with a weight for each group of items.

        Parameters
        ----------
        weight : ndarray of float >= 0, shape (n_groups,), optional
            Items of each of `groups`; None stands for those that there are.

        Returns
        -------
        tuple of float
            In the order of `RANGES`, unclipped, nan where undefined.
        """
        groups = self.groups
        mass = groups.size if weight is None else weight
        total = np.add.reduceat(mass, groups.first)
        positive = np.add.reduceat(mass * groups.label, groups.first)
        is_soft = self.hard is not self.ranked
        itself = float(mass @ (groups.label * (1 - groups.label))) if is_soft else None
        found = plug_in(total - positive, positive, self.prior, self.forms, itself)
        if self.hard is None:
            return (*found, math.nan, math.nan, math.nan)
        of_positive = mass * groups.hard
        n, n_positive = float(mass.sum()), float(of_positive.sum())
        n_negative = n - n_positive
        if not (n_positive and n_negative):
            return (*found, math.nan, math.nan, math.nan)
        caught = float(of_positive @ groups.decision)
        missed, alarms = n_positive - caught, float(mass @ groups.decision) - caught
        if is_soft:
            positive = np.add.reduceat(of_positive, groups.first)
        return (
            *found,
            float(mass @ groups.wrong) / n,
            (missed / n_positive + alarms / n_negative) / 2,
            ranked_pairs(total - positive, positive) / (n_positive * n_negative),
        )

    def laws(self) -> dict[str, Law]:
        """Return laws with the standard errors of the influence functions.

        Returns
        -------
        dict of str to Law
            By metric, normal on the scale of log odds. A perfect sample is no perfect population:
            its law is normal with the standard error of half an item on the wrong side.
        """
        return {name: self._law(name) for name in RANGES}

    def _law(self, name: str) -> Law:
        value = self.estimates[name]
        if math.isnan(value):
            return NormalLaw(
                undefined_prob=1.0, undefined_reason=NO_JUDGE if "held_out" in name else ONE_KIND
            )
        own = self.influences[name]
        n = len(own)
        inside = _inside(name, value)
        error = math.sqrt(float(own @ own) / (n * max(n - 1, 1)))
        if error < ROUND_OFF or not ROUND_OFF < inside < 1 - ROUND_OFF:
            return NormalLaw(inside, max(error, self._least_error(name)), *RANGES[name])
        return LogitLaw(inside, error, *RANGES[name])

    def _least_error(self, name: str) -> float:
        """Return the standard error that half an item of either class on the wrong side gives.

        For samples that are perfect, or tell nothing: no influence is left there to measure.
        """
        n = len(self.ranked.label)
        if name.startswith("error"):
            return math.sqrt(0.5) / n
        theta = float(self.ranked.label.mean()) if self.prior is None else self.prior
        least = 0.25 / n
        theta = min(1 - least, max(least, theta))
        spread = math.sqrt(0.5 / theta**2 + 0.5 / (1 - theta) ** 2)
        return (spread if name.startswith("roc_auc") else spread / 2) / n

    def resampled(self, n_resamples: int, rng: np.random.Generator) -> dict[str, Law]:
        """Return bootstrap laws with BCa limits.

        Parameters
        ----------
        n_resamples : int
            Resamples.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        dict of str to Law
            By metric; the one of `laws` where no resample differs from the estimate.
        """
        draws = resample(self.values, self.groups.group, n_resamples, rng)
        laws: dict[str, Law] = {}
        for k, name in enumerate(RANGES):
            column = draws[~np.isnan(draws[:, k]), k]
            if len(column) < 2 or np.ptp(column) < ROUND_OFF:
                laws[name] = self._law(name)
                continue
            laws[name] = BootstrapLaw(
                _inside(name, self.estimates[name]),
                column,
                acceleration_of(self.influences[name]),
                *RANGES[name],
            )
        return laws

    def joint(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        """Return draws of the laws, with the correlations of the influence functions.

        Parameters
        ----------
        n : int
            How many.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        dict of str to ndarray, shape (n,)
            By metric; nan where undefined.
        """
        names = list(self.influences)
        matrix = np.array([self.influences[name] for name in names])
        size = np.sqrt((matrix**2).sum(axis=1, keepdims=True))
        matrix = matrix / np.where(size > 0, size, 1.0)
        scores = rng.multivariate_normal(np.zeros(len(names)), matrix @ matrix.T, n, method="eigh")
        columns = {name: np.full(n, math.nan) for name in RANGES}
        for k, name in enumerate(names):
            law, score = self._law(name), scores[:, k]
            if isinstance(law, LogitLaw):
                columns[name] = law.values_at(score)
            else:
                columns[name] = np.clip(law.mean + law.sd * score, *RANGES[name])
        return columns

    def brackets(self) -> dict[str, tuple[float, float]]:
        """Return both ends of each metric, where labels were fitted.

        Returns
        -------
        dict of str to tuple of float
            In-sample and held-out.
        """
        if self.hard is not self.ranked:
            return {}
        known = self.estimates
        return {name: (known[name], known[f"{name}_held_out"]) for name in IN_SAMPLE}

    def doubts(self) -> list[str]:
        """Say what was clipped, and whether labels and prior belong together.

        Returns
        -------
        list of str
            Sentences.
        """
        said = []
        for name, value in self.estimates.items():
            clipped = _inside(name, value)
            if abs(value - clipped) > ROUND_OFF:
                low, high = RANGES[name]
                said.append(
                    f"{name}: {value:.4g} is outside [{low:g}, {high:g}] and was clipped to "
                    f"{clipped:g}."
                )
        if self.prior is not None:
            label = self.ranked.label
            share = float(label.mean())
            error = math.sqrt(self.prior * (1 - self.prior) / len(label))
            if abs(share - self.prior) > DOUBT * error:
                said.append(
                    f"The labels have mean {share:.4g}, the given prior is {self.prior:.4g}: "
                    "further apart than chance allows. The forms of BER and AUC disagree, and "
                    "none can be trusted until one of the two is put right."
                )
        return said


def _inside(name: str, value: float) -> float:
    low, high = RANGES[name]
    return min(max(value, low), high)


def _influences(
    ranked: RankedLabels, prior: float | None, form: Form
) -> tuple[tuple[FixedForm, FixedForm], dict[str, FloatArray]]:
    """Return the forms of BER and AUC, and the influence of each item in-sample."""
    label = ranked.label
    negative, positive = ranked.cells()
    first = merge_blocks(negative, positive)
    starts = ranked.starts[first]
    share = np.add.reduceat(positive, first) / np.add.reduceat(negative + positive, first)
    fitted = np.repeat(share, np.diff(starts, append=len(label)))
    decision = fitted >= (float(label.mean()) if prior is None else prior)
    makers = (
        partial(ber_influence, label, decision, prior),
        partial(auc_influence, label, starts, prior),
    )
    forms: list[FixedForm] = []
    for influence in makers:
        if form != "auto":
            forms.append(form)
        elif prior is None:
            forms.append("min")  # all are the same
        else:
            forms.append(choose_form(influence(0.0), influence(1.0)))
    ber, auc = (make(SHIFTS[chosen]) for make, chosen in zip(makers, forms, strict=True))
    influences = {"error": error_influence(label, fitted >= 0.5), "ber": ber, "roc_auc": auc}
    return (forms[0], forms[1]), influences
