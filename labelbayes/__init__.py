"""Classifier metrics when evaluation labels are missing: exact laws, bounds and posteriors.

Only this module is lazy: a name is imported from its module when it is first used, so that
``import labelbayes`` costs milliseconds.
"""

import importlib
import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labelbayes import diagnostics, plots, report
    from labelbayes.bayes.bins import build_bins
    from labelbayes.bayes.calibration import build_calibration
    from labelbayes.bayes.convergence import Diagnostics, SamplingWarning
    from labelbayes.bayes.groups import build_groups
    from labelbayes.bayes.histogram_check import check_histogram
    from labelbayes.bayes.imputation import build_imputation
    from labelbayes.bayes.model import LabelModel
    from labelbayes.bayes.positive_unlabeled import build_positive_unlabeled
    from labelbayes.bayes.posterior import Posterior
    from labelbayes.bayes.rank_bootstrap import rank_bootstrap
    from labelbayes.bayes.rating_sets import build_rating_sets
    from labelbayes.bayes.sampling import sample
    from labelbayes.bayes.soft_labels import build_soft_labels
    from labelbayes.bounds.beta_limits import bound_beta, estimate_beta
    from labelbayes.bounds.beta_prior import Audit, BetaPrior
    from labelbayes.bounds.beta_sweep import BetaSweep, sweep_beta
    from labelbayes.bounds.curve_bounds import CurveBounds
    from labelbayes.bounds.instructions import compare_instructions
    from labelbayes.bounds.marginal_sensitivity import (
        bound_marginal_sensitivity,
        tipping_marginal_sensitivity,
    )
    from labelbayes.bounds.positive_unlabeled import (
        bound_negative_unlabeled,
        bound_positive_unlabeled,
    )
    from labelbayes.bounds.rank_models import rank_models
    from labelbayes.bounds.response_sets import bound_response_sets
    from labelbayes.bounds.sensitivity import bound_tilt, tipping_odds_ratio, update_tilt
    from labelbayes.bounds.worst_case import bound_worst_case
    from labelbayes.data.evaluation_set import Counts, EvaluationSet
    from labelbayes.data.examples import load_breast_cancer_scores
    from labelbayes.data.masking import mask_mar, mask_mcar, mask_mnar
    from labelbayes.data.ratings import Ratings
    from labelbayes.data.read import read_evaluation
    from labelbayes.data.read_ratings import read_ratings
    from labelbayes.data.simulate import simulate_scores
    from labelbayes.data.simulate_ratings import simulate_ratings
    from labelbayes.data.simulate_selection import simulate_selection
    from labelbayes.data.simulate_soft_labels import simulate_soft_labels
    from labelbayes.imputation.belief import Imputation
    from labelbayes.imputation.impute import impute
    from labelbayes.ladder import ladder
    from labelbayes.laws.certificate import certify, certify_sizes
    from labelbayes.laws.curves import Curves, estimate_curves
    from labelbayes.laws.differences import compare_groups, compare_models
    from labelbayes.laws.labeled import estimate_labeled, estimate_shared_rate
    from labelbayes.laws.pemi import estimate_pemi
    from labelbayes.metrics.confusion import fbeta
    from labelbayes.metrics.judge_scores import score_judges, split_variation
    from labelbayes.optimal.estimate import estimate_optimal
    from labelbayes.optimal.feebee import score_feebee
    from labelbayes.optimal.forms import optimal_auc, optimal_ber, optimal_error
    from labelbayes.results.continuous import NormalLaw, RatioLaw
    from labelbayes.results.count_law import CountLaw
    from labelbayes.results.distribution import DiscreteLaw, DrawsLaw
    from labelbayes.results.estimates import Bounds, Estimates, stack
    from labelbayes.results.interval import Interval
    from labelbayes.results.ladder import Ladder
    from labelbayes.results.mixture import MixtureLaw
    from labelbayes.results.protocol import MetricDistribution
    from labelbayes.weighting.aipw import estimate_aipw
    from labelbayes.weighting.audit import compare_audit
    from labelbayes.weighting.bootstrap import bootstrap_errors
    from labelbayes.weighting.clipping import clip_curve
    from labelbayes.weighting.compare import WeightingComparison, compare_weighting
    from labelbayes.weighting.diagnostics import WeightCheck, check_weights
    from labelbayes.weighting.ipw import estimate_ipw
    from labelbayes.weighting.judge import estimate_pass_rate
    from labelbayes.weighting.mean import estimate_mean
    from labelbayes.weighting.outcome import Outcome, fit_outcome
    from labelbayes.weighting.propensity import Propensity, fit_propensity
    from labelbayes.weighting.tipping import tipping_tilt

    __version__: str

__all__ = [
    "Audit",
    "BetaPrior",
    "BetaSweep",
    "Bounds",
    "CountLaw",
    "Counts",
    "CurveBounds",
    "Curves",
    "Diagnostics",
    "DiscreteLaw",
    "DrawsLaw",
    "Estimates",
    "EvaluationSet",
    "Imputation",
    "Interval",
    "LabelModel",
    "Ladder",
    "MetricDistribution",
    "MixtureLaw",
    "NormalLaw",
    "Outcome",
    "Posterior",
    "Propensity",
    "Ratings",
    "RatioLaw",
    "SamplingWarning",
    "WeightCheck",
    "WeightingComparison",
    "bootstrap_errors",
    "bound_beta",
    "bound_marginal_sensitivity",
    "bound_negative_unlabeled",
    "bound_positive_unlabeled",
    "bound_response_sets",
    "bound_tilt",
    "bound_worst_case",
    "build_bins",
    "build_calibration",
    "build_groups",
    "build_imputation",
    "build_positive_unlabeled",
    "build_rating_sets",
    "build_soft_labels",
    "certify",
    "certify_sizes",
    "check_histogram",
    "check_weights",
    "clip_curve",
    "compare_audit",
    "compare_groups",
    "compare_instructions",
    "compare_models",
    "compare_weighting",
    "diagnostics",
    "estimate_aipw",
    "estimate_beta",
    "estimate_curves",
    "estimate_ipw",
    "estimate_labeled",
    "estimate_mean",
    "estimate_optimal",
    "estimate_pass_rate",
    "estimate_pemi",
    "estimate_shared_rate",
    "fbeta",
    "fit_outcome",
    "fit_propensity",
    "impute",
    "ladder",
    "load_breast_cancer_scores",
    "mask_mar",
    "mask_mcar",
    "mask_mnar",
    "optimal_auc",
    "optimal_ber",
    "optimal_error",
    "plots",
    "rank_bootstrap",
    "rank_models",
    "read_evaluation",
    "read_ratings",
    "report",
    "sample",
    "score_feebee",
    "score_judges",
    "simulate_ratings",
    "simulate_scores",
    "simulate_selection",
    "simulate_soft_labels",
    "split_variation",
    "stack",
    "sweep_beta",
    "tipping_marginal_sensitivity",
    "tipping_odds_ratio",
    "tipping_tilt",
    "update_tilt",
]

_ROOMS = ("diagnostics", "plots", "report")

_MODULES = {
    "Audit": "labelbayes.bounds.beta_prior",
    "BetaPrior": "labelbayes.bounds.beta_prior",
    "BetaSweep": "labelbayes.bounds.beta_sweep",
    "Bounds": "labelbayes.results.estimates",
    "CountLaw": "labelbayes.results.count_law",
    "Counts": "labelbayes.data.evaluation_set",
    "CurveBounds": "labelbayes.bounds.curve_bounds",
    "Curves": "labelbayes.laws.curves",
    "Diagnostics": "labelbayes.bayes.convergence",
    "DiscreteLaw": "labelbayes.results.distribution",
    "DrawsLaw": "labelbayes.results.distribution",
    "Estimates": "labelbayes.results.estimates",
    "EvaluationSet": "labelbayes.data.evaluation_set",
    "Imputation": "labelbayes.imputation.belief",
    "Interval": "labelbayes.results.interval",
    "LabelModel": "labelbayes.bayes.model",
    "Ladder": "labelbayes.results.ladder",
    "MetricDistribution": "labelbayes.results.protocol",
    "MixtureLaw": "labelbayes.results.mixture",
    "NormalLaw": "labelbayes.results.continuous",
    "Outcome": "labelbayes.weighting.outcome",
    "Posterior": "labelbayes.bayes.posterior",
    "Propensity": "labelbayes.weighting.propensity",
    "Ratings": "labelbayes.data.ratings",
    "RatioLaw": "labelbayes.results.continuous",
    "SamplingWarning": "labelbayes.bayes.convergence",
    "WeightCheck": "labelbayes.weighting.diagnostics",
    "WeightingComparison": "labelbayes.weighting.compare",
    "bootstrap_errors": "labelbayes.weighting.bootstrap",
    "bound_beta": "labelbayes.bounds.beta_limits",
    "bound_marginal_sensitivity": "labelbayes.bounds.marginal_sensitivity",
    "bound_negative_unlabeled": "labelbayes.bounds.positive_unlabeled",
    "bound_positive_unlabeled": "labelbayes.bounds.positive_unlabeled",
    "bound_response_sets": "labelbayes.bounds.response_sets",
    "bound_tilt": "labelbayes.bounds.sensitivity",
    "bound_worst_case": "labelbayes.bounds.worst_case",
    "build_bins": "labelbayes.bayes.bins",
    "build_calibration": "labelbayes.bayes.calibration",
    "build_groups": "labelbayes.bayes.groups",
    "build_imputation": "labelbayes.bayes.imputation",
    "build_positive_unlabeled": "labelbayes.bayes.positive_unlabeled",
    "build_rating_sets": "labelbayes.bayes.rating_sets",
    "build_soft_labels": "labelbayes.bayes.soft_labels",
    "certify": "labelbayes.laws.certificate",
    "certify_sizes": "labelbayes.laws.certificate",
    "check_histogram": "labelbayes.bayes.histogram_check",
    "check_weights": "labelbayes.weighting.diagnostics",
    "clip_curve": "labelbayes.weighting.clipping",
    "compare_audit": "labelbayes.weighting.audit",
    "compare_groups": "labelbayes.laws.differences",
    "compare_instructions": "labelbayes.bounds.instructions",
    "compare_models": "labelbayes.laws.differences",
    "compare_weighting": "labelbayes.weighting.compare",
    "estimate_aipw": "labelbayes.weighting.aipw",
    "estimate_beta": "labelbayes.bounds.beta_limits",
    "estimate_curves": "labelbayes.laws.curves",
    "estimate_ipw": "labelbayes.weighting.ipw",
    "estimate_labeled": "labelbayes.laws.labeled",
    "estimate_mean": "labelbayes.weighting.mean",
    "estimate_optimal": "labelbayes.optimal.estimate",
    "estimate_pass_rate": "labelbayes.weighting.judge",
    "estimate_pemi": "labelbayes.laws.pemi",
    "estimate_shared_rate": "labelbayes.laws.labeled",
    "fbeta": "labelbayes.metrics.confusion",
    "fit_outcome": "labelbayes.weighting.outcome",
    "fit_propensity": "labelbayes.weighting.propensity",
    "impute": "labelbayes.imputation.impute",
    "ladder": "labelbayes.ladder",
    "load_breast_cancer_scores": "labelbayes.data.examples",
    "mask_mar": "labelbayes.data.masking",
    "mask_mcar": "labelbayes.data.masking",
    "mask_mnar": "labelbayes.data.masking",
    "optimal_auc": "labelbayes.optimal.forms",
    "optimal_ber": "labelbayes.optimal.forms",
    "optimal_error": "labelbayes.optimal.forms",
    "rank_bootstrap": "labelbayes.bayes.rank_bootstrap",
    "rank_models": "labelbayes.bounds.rank_models",
    "read_evaluation": "labelbayes.data.read",
    "read_ratings": "labelbayes.data.read_ratings",
    "sample": "labelbayes.bayes.sampling",
    "score_feebee": "labelbayes.optimal.feebee",
    "score_judges": "labelbayes.metrics.judge_scores",
    "simulate_ratings": "labelbayes.data.simulate_ratings",
    "simulate_scores": "labelbayes.data.simulate",
    "simulate_selection": "labelbayes.data.simulate_selection",
    "simulate_soft_labels": "labelbayes.data.simulate_soft_labels",
    "split_variation": "labelbayes.metrics.judge_scores",
    "stack": "labelbayes.results.estimates",
    "sweep_beta": "labelbayes.bounds.beta_sweep",
    "tipping_marginal_sensitivity": "labelbayes.bounds.marginal_sensitivity",
    "tipping_odds_ratio": "labelbayes.bounds.sensitivity",
    "tipping_tilt": "labelbayes.weighting.tipping",
    "update_tilt": "labelbayes.bounds.sensitivity",
}


class _Root(types.ModuleType):
    """The package: `lb.ladder` is the function, also after its module was imported."""

    def __setattr__(self, name: str, value: object) -> None:
        # The import system sets each imported submodule on its package, whatever the name means.
        if not (name in _MODULES and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Root


def __getattr__(name: str) -> object:
    value: object
    if name in _MODULES:
        value = getattr(importlib.import_module(_MODULES[name]), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"{__name__}.{name}")
    elif name == "__version__":
        from importlib.metadata import version

        value = version(__name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
