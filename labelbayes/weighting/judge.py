"""estimate_pass_rate: how often answers pass in truth, when a judge with errors says so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from labelbayes._checks import CI_PROB, FloatArray, check_choice, listed
from labelbayes.data.answers import ERRORED, UNPARSEABLE
from labelbayes.data.columns import as_column, check_same_rows
from labelbayes.data.labels import as_binary, code_labels
from labelbayes.results.continuous import NormalLaw
from labelbayes.results.distribution import Law
from labelbayes.results.estimates import Estimates
from labelbayes.weighting.judge_laws import ScoreLaw, strata_law, truth_law
from labelbayes.weighting.score_law import EndLaw

METHODS = ("posterior", "rogan_gladen", "prediction_powered")
VALIDATIONS = ("random", "by_truth")


def estimate_pass_rate(
    y_judge: npt.ArrayLike,
    y_true: npt.ArrayLike,
    *,
    method: str = "posterior",
    validation: str = "random",
) -> Estimates:
    r"""Estimate how many answers pass in truth, from a judge's verdicts and some human labels.

    Parameters
    ----------
    y_judge : array_like, shape (n_rows,)
        The judge's verdicts: 1 passes, 0 does not; missing, "unparseable" and "errored" are no
        verdict.
    y_true : array_like, shape (n_rows,)
        Human labels: 1, 0, or missing.
    method : {"posterior", "rogan_gladen", "prediction_powered"}, default "posterior"
        "posterior": exact, by quadrature, with Jeffreys rates. "rogan_gladen": the corrected rate
        with a score interval. "prediction_powered": mean of the labels, moved by what the verdicts
        of the other rows say.
    validation : {"random", "by_truth"}, default "random"
        How rows came to be labeled. "random": the labeled rows are a random part of the rows.
        "by_truth": they were chosen by their truth, so many passes and so many failures, and are
        no part of the stream: they tell the judge's errors, and the target is the other rows.

    Returns
    -------
    Estimates
        ``pass_rate`` of the population that the rows come from. Every interval lies in [0, 1]; the
        mean of "rogan_gladen" is the raw value, outside where it comes out there, with a note.

    Raises
    ------
    ValueError
        If a verdict or label is neither 0, 1 nor missing, no row is labeled, the method lacks
        labels of a kind, or "prediction_powered" is asked for with validation="by_truth".

    See Also
    --------
    estimate_pemi : Any other metric of the judge, from the same two columns.

    Notes
    -----
    **Assumes** that rows are independent, and that the judge errs alike on labeled and on other
    rows of the same truth ("by_truth"), or that labeled rows are a random sample ("random").

    With :math:`a` the share of passes among verdicts, Se and Sp the judge's sensitivity and
    specificity,

    .. math::
       \hat\pi = \frac{a + \mathrm{Sp} - 1}{\mathrm{Se} + \mathrm{Sp} - 1}.

    A row without a verdict is not passed by the judge: it counts against its sensitivity as it
    counts in its apparent rate, so that a judge that breaks on hard rows gains nothing. The
    posterior for random validation treats such rows as a kind of their own.

    **Not identified** where Se + Sp = 1: the judge is then no better than chance,
    "rogan_gladen" is undefined, and the posterior by truth is its prior.

    References
    ----------
    .. [1] W. J. Rogan and B. Gladen, "Estimating prevalence from the results of a screening
       test", American Journal of Epidemiology 107(1), 71-76, 1978.
    .. [2] A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: Efficient prediction-powered
       inference", arXiv:2311.01453, 2023.

    Examples
    --------
    >>> y_judge = [1] * 96 + [0] * 4 + [1] * 11 + [0] * 89 + [1] * 23 + [0] * 127
    >>> y_true = [1] * 100 + [0] * 100 + [None] * 150
    >>> found = estimate_pass_rate(
    ...     y_judge, y_true, method="rogan_gladen", validation="by_truth"
    ... )
    >>> round(found["pass_rate"].mean, 4)
    0.051
    """
    check_choice("method", method, METHODS)
    check_choice("validation", validation, VALIDATIONS)
    table = _read(y_judge, y_true)
    if validation == "by_truth" and method == "prediction_powered":
        raise ValueError(
            "`method='prediction_powered'` needs labeled rows that are a random part of the rows; "
            "with validation='by_truth' use 'posterior' or 'rogan_gladen'."
        )
    if validation == "by_truth" and not table.n_unlabeled:
        raise ValueError(
            "`y_true` must be missing for the rows of the stream with validation='by_truth'; every "
            "row is labeled."
        )
    if method == "posterior":
        law, said = _posterior(table, validation)
    elif method == "rogan_gladen":
        law, said = _rogan_gladen(table, validation)
    else:
        law, said = _prediction_powered(table)
    assumes = (
        "labeled rows are a random part of the rows"
        if validation == "random"
        else "the judge errs alike on the rows chosen by their truth and on the stream, which they "
        "are no part of"
    )
    return Estimates(
        {"pass_rate": law},
        method=said,
        assumption=assumes,
        target="population",
        statement="credible" if method == "posterior" else "confidence",
        n_labeled=table.n_labeled,
        n_unlabeled=table.n_unlabeled,
        notes=_notes(table, law, method, validation),
        joint=partial(_draw, law),
    )


@dataclass(frozen=True, eq=False)
class _Table:
    """Rows by label (1, 0, missing) and verdict (1, 0, missing): shape (3, 3)."""

    rows: npt.NDArray[np.int64]

    @property
    def n_labeled(self) -> int:
        return int(self.rows[:2].sum())

    @property
    def n_unlabeled(self) -> int:
        return int(self.rows[2].sum())

    def passed(self, label: int) -> int:
        """Rows with this label (0 = positive, 1 = negative, 2 = missing) that the judge passed."""
        return int(self.rows[label, 0])

    def others(self, label: int) -> int:
        """Rows with this label that the judge did not pass."""
        return int(self.rows[label, 1:].sum())


def _read(y_judge: npt.ArrayLike, y_true: npt.ArrayLike) -> _Table:
    given = {"y_judge": y_judge, "y_true": y_true}
    columns = {name: as_column(name, values) for name, values in given.items()}
    check_same_rows(given, columns)
    kinds = []
    for name, words in (("y_true", ()), ("y_judge", (UNPARSEABLE, ERRORED))):
        coded = code_labels(name, columns[name], words)
        others = [label for label in coded.labels if label not in (0, 1)]
        if others:
            raise ValueError(
                f"`{name}` must hold 1 for a pass, 0 for none, or be missing; got "
                f"{listed(others)} {coded.first(others[0])}. Compare first, e.g. "
                f"`{name} == 'pass'`."
            )
        values = as_binary(coded, 1)
        kinds.append(np.where(np.isnan(values), 2, 1 - np.nan_to_num(values)).astype(np.int64))
    rows = np.bincount(3 * kinds[0] + kinds[1], minlength=9).reshape(3, 3)
    if not rows[:2].sum():
        raise ValueError(
            "`y_true` must hold some labels: without them nothing is known of the judge's errors."
        )
    return _Table(rows)


def _posterior(table: _Table, validation: str) -> tuple[Law, str]:
    if validation == "by_truth":
        law: Law = truth_law(
            table.passed(2),
            table.n_unlabeled,
            (table.passed(0), table.others(0)),
            (table.others(1), table.passed(1)),
        )
        return law, "posterior of the corrected pass rate, Jeffreys rates, by quadrature"
    totals = table.rows.sum(axis=0)
    used = [k for k in range(3) if totals[k] or k < 2]
    strata = [(int(totals[k]), int(table.rows[0, k]), int(table.rows[1, k])) for k in used]
    return strata_law(strata), "posterior of the pass rate by verdict, Jeffreys rates, on a lattice"


def _rogan_gladen(table: _Table, validation: str) -> tuple[Law, str]:
    said = "Rogan-Gladen, score interval"
    n_positive, n_negative = (int(table.rows[label].sum()) for label in (0, 1))
    if not (n_positive and n_negative):
        kind = "positive" if not n_positive else "negative"
        raise ValueError(
            f"`y_true` must hold labels of both kinds for method='rogan_gladen'; got no {kind} "
            "one. Use method='posterior'."
        )
    sensitivity, specificity = table.passed(0) / n_positive, table.others(1) / n_negative
    if not sensitivity + specificity > 1:
        reason = (
            f"sensitivity {sensitivity:.3f} and specificity {specificity:.3f} of the judge sum to "
            "no more than 1"
        )
        return NormalLaw(undefined_prob=1.0, undefined_reason=reason), said
    is_random = validation == "random"
    used = table.rows if is_random else table.rows[2:]
    n = int(used.sum())
    apparent = int(used[:, 0].sum()) / n
    law = ScoreLaw(apparent, sensitivity, specificity, n, n_positive, n_negative, is_random)
    return law, said


def _prediction_powered(table: _Table) -> tuple[Law, str]:
    said = "prediction-powered mean, tuned"
    n, m = table.n_labeled, table.n_unlabeled
    y, f = _unfold(table.rows[:2])
    weight = table.rows[:2].ravel() / n
    mean_y, mean_f = float(weight @ y), float(weight @ f)
    var_f = float(weight @ (f - mean_f) ** 2)
    factor, mean_other, var_other = 0.0, 0.0, 0.0
    if m and var_f > 0:
        mean_other = table.passed(2) / m
        var_other = mean_other * (1 - mean_other)
        factor = float(weight @ ((y - mean_y) * (f - mean_f))) / ((1 + n / m) * var_f)
    value = mean_y + factor * (mean_other - mean_f)
    residual = y - factor * f
    square = float(weight @ (residual - weight @ residual) ** 2) / max(1, n - 1)
    square += factor**2 * var_other / m if m else 0.0
    if mean_y in (0.0, 1.0):
        return EndLaw(mean_y, float(n)), said
    return NormalLaw(value, math.sqrt(square)), said


def _unfold(rows: npt.NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Return label and "the judge passed" of each cell."""
    y = np.repeat([1.0, 0.0], rows.shape[1])
    return y, np.tile([1.0, 0.0, 0.0], 2)


def _notes(table: _Table, law: Law, method: str, validation: str) -> tuple[str, ...]:
    said = []
    n, gone = int(table.rows.sum()), int(table.rows[:, 2].sum())
    passes = int(table.rows[:, 0].sum())
    if validation == "by_truth":
        n, gone, passes = table.n_unlabeled, int(table.rows[2, 2]), table.passed(2)
    said.append(
        f"{n:,} rows{' of the stream' if validation == 'by_truth' else ''}: {n - gone:,} scored by "
        f"the judge, {gone:,} without a verdict. The judge's own pass rate is {passes / n:.3f} "
        f"with these as failures (worst case) and {(passes + gone) / n:.3f} as passes (best case)."
    )
    if method == "rogan_gladen" and not law.is_undefined and not 0 <= law.mean <= 1:
        side = "fewer" if law.mean < 0 else "more"
        said.append(
            f"The raw estimate {law.mean:.4f} lies outside [0, 1]: the judge passed {side} rows "
            "than its errors alone would give. It is shown as it is; the interval stays inside."
        )
    prob = f"{CI_PROB:.0%}"
    if method == "posterior":
        said.append(f"{prob} credible interval: probability under the model and prior named.")
    else:
        said.append(f"{prob} confidence interval: in repeated samples of rows and labels.")
    return (*said, "Rows are taken as independent.")


def _draw(law: Law, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    return {"pass_rate": law.draws(n, rng)}
