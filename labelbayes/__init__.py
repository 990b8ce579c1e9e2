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
    from labelbayes.bayes.imputation import build_imputation
    from labelbayes.bayes.model import LabelModel
    from labelbayes.bayes.posterior import Posterior
    from labelbayes.bayes.sampling import sample
    from labelbayes.bounds.worst_case import bound_worst_case
    from labelbayes.data.evaluation_set import Counts, EvaluationSet
    from labelbayes.data.examples import load_breast_cancer_scores
    from labelbayes.data.masking import mask_mar, mask_mcar, mask_mnar
    from labelbayes.data.read import read_evaluation
    from labelbayes.data.simulate import simulate_scores
    from labelbayes.imputation.belief import Imputation
    from labelbayes.imputation.impute import impute
    from labelbayes.ladder import ladder
    from labelbayes.laws.labeled import estimate_labeled, estimate_shared_rate
    from labelbayes.laws.pemi import estimate_pemi
    from labelbayes.metrics.confusion import fbeta
    from labelbayes.results.continuous import NormalLaw, RatioLaw
    from labelbayes.results.count_law import CountLaw
    from labelbayes.results.distribution import DiscreteLaw, DrawsLaw
    from labelbayes.results.estimates import Bounds, Estimates, stack
    from labelbayes.results.interval import Interval
    from labelbayes.results.ladder import Ladder
    from labelbayes.results.mixture import MixtureLaw
    from labelbayes.results.protocol import MetricDistribution

    __version__: str

__all__ = [
    "Bounds",
    "CountLaw",
    "Counts",
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
    "Posterior",
    "RatioLaw",
    "SamplingWarning",
    "bound_worst_case",
    "build_bins",
    "build_calibration",
    "build_groups",
    "build_imputation",
    "diagnostics",
    "estimate_labeled",
    "estimate_pemi",
    "estimate_shared_rate",
    "fbeta",
    "impute",
    "ladder",
    "load_breast_cancer_scores",
    "mask_mar",
    "mask_mcar",
    "mask_mnar",
    "plots",
    "read_evaluation",
    "report",
    "sample",
    "simulate_scores",
    "stack",
]

_ROOMS = ("diagnostics", "plots", "report")

_MODULES = {
    "Bounds": "labelbayes.results.estimates",
    "CountLaw": "labelbayes.results.count_law",
    "Counts": "labelbayes.data.evaluation_set",
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
    "Posterior": "labelbayes.bayes.posterior",
    "RatioLaw": "labelbayes.results.continuous",
    "SamplingWarning": "labelbayes.bayes.convergence",
    "bound_worst_case": "labelbayes.bounds.worst_case",
    "build_bins": "labelbayes.bayes.bins",
    "build_calibration": "labelbayes.bayes.calibration",
    "build_groups": "labelbayes.bayes.groups",
    "build_imputation": "labelbayes.bayes.imputation",
    "estimate_labeled": "labelbayes.laws.labeled",
    "estimate_pemi": "labelbayes.laws.pemi",
    "estimate_shared_rate": "labelbayes.laws.labeled",
    "fbeta": "labelbayes.metrics.confusion",
    "impute": "labelbayes.imputation.impute",
    "ladder": "labelbayes.ladder",
    "load_breast_cancer_scores": "labelbayes.data.examples",
    "mask_mar": "labelbayes.data.masking",
    "mask_mcar": "labelbayes.data.masking",
    "mask_mnar": "labelbayes.data.masking",
    "read_evaluation": "labelbayes.data.read",
    "sample": "labelbayes.bayes.sampling",
    "simulate_scores": "labelbayes.data.simulate",
    "stack": "labelbayes.results.estimates",
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
