"""Known positives and unlabeled rows at one cutoff: beta, both rates, and the hidden positives."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from labelbayes._checks import FloatArray, IntArray, check_type
from labelbayes.bayes.cells import finish
from labelbayes.bayes.model import BayesTarget, Draws, LabelModel
from labelbayes.bayes.stack import pm
from labelbayes.bounds.beta_prior import Audit, BetaPrior
from labelbayes.data.evaluation_set import Counts, EvaluationSet
from labelbayes.laws.missing_counts import CountPair, WeightedP
from labelbayes.laws.population import Cells

#: Pseudo-counts of both rates.
JEFFREYS = 0.5
#: Cells of (draws, audited rows) held at a time.
BLOCK = 1_000_000
#: A prior with no more pseudo-counts than this of either kind says nothing of beta.
FLAT = 1.0


@dataclass(frozen=True, eq=False)
class HiddenPositives:
    """Completion of unlabeled rows, of which some were audited as a count.

    Parameters
    ----------
    known : tuple of Counts
        Labeled rows and unlabeled rows by decision; one entry.
    audit : Audit or None
        Rows drawn at random from the unlabeled ones and looked at.
    groups : tuple of str, default ()
        None here.
    """

    known: tuple[Counts, ...]
    audit: Audit | None
    groups: tuple[str, ...] = ()

    def _shares(self, draws: Draws) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return P(predicted positive), and P(positive) of rows by decision, shape (n_draws,)."""
        beta, tpr, fpr = (draws[name] for name in ("beta", "tpr", "fpr"))
        caught, lost = beta * tpr, beta * (1 - tpr)
        above = caught + (1 - beta) * fpr
        below = lost + (1 - beta) * (1 - fpr)
        return above, _ratio(caught, above), _ratio(lost, below)

    def tables(
        self, draws: Draws, target: BayesTarget, rng: np.random.Generator
    ) -> tuple[Cells, Cells]:
        """Return completed confusion matrices.

        Parameters
        ----------
        draws : mapping of str to ndarray, shape (n_draws,)
            ``beta``, ``tpr`` and ``fpr``.
        target : {"sample", "population", "rate"}
            Whose labels. For the rate audited rows count as the others.
        rng : numpy.random.Generator
            Where they come from.

        Returns
        -------
        tuple of Cells
            Counts that say where a metric is defined, and the cells that it is taken of.
        """
        counts = self.known[0]
        n_above = counts.unlabeled_predicted_positive
        n_below = counts.unlabeled_predicted_negative
        above, in_above, in_below = self._shares(draws)
        if target == "rate":
            found = np.array([n_above * in_above, n_below * in_below])
        elif self.audit is None:
            sides = [rng.binomial(n_above, in_above), rng.binomial(n_below, in_below)]
            found = np.array(sides, dtype=np.float64)
        else:
            sides = self._with_audit(draws, above, in_above, in_below, rng)
            found = np.array(sides, dtype=np.float64)
        return finish(self.known, found[0][:, None], found[1][:, None], target, rng)

    def _with_audit(
        self,
        draws: Draws,
        above: FloatArray,
        in_above: FloatArray,
        in_below: FloatArray,
        rng: np.random.Generator,
    ) -> list[IntArray]:
        """Draw the positives by decision, given how many audited rows are positive.

        The audited rows' decisions are drawn first, from their law given how many rows are
        predicted positive in all; the audited positives are then known, the rest are drawn.
        """
        assert self.audit is not None
        counts, audit = self.known[0], self.audit
        n_above = counts.unlabeled_predicted_positive
        rest = counts.n_unlabeled - audit.n
        size = max(1, BLOCK // (audit.n + 1))
        found = []
        for start in range(0, len(above), size):
            part = slice(start, start + size)
            found.append(
                _audited_above(
                    audit,
                    n_above,
                    rest,
                    draws["tpr"][part],
                    draws["fpr"][part],
                    above[part],
                    rng,
                )
            )
        positive, negative = np.concatenate(found, axis=1)
        rest_above = n_above - positive - negative
        u = positive + rng.binomial(rest_above, in_above)
        v = audit.n_positive - positive + rng.binomial(rest - rest_above, in_below)
        return [u, v]

    def pairs(self, draws: Draws, group: int) -> list[CountPair]:
        """Return the exact laws of the hidden positives by decision, a pair for each draw.

        Parameters
        ----------
        draws : mapping of str to ndarray, shape (n_draws,)
            ``beta``, ``tpr`` and ``fpr``.
        group : int
            0: there are no groups.

        Returns
        -------
        list of tuple of IntegerLaw
            Binomial laws.

        Raises
        ------
        ValueError
            If there is an audit: its rows tie the two counts together.
        """
        if self.audit is not None:
            raise ValueError(
                "`exact=True` needs a model without audit: audited rows tie the counts of both "
                "decisions together. Use exact=False."
            )
        _, in_above, in_below = self._shares(draws)
        counts = self.known[0]
        sides = [
            WeightedP(p[:, None], np.array([n]))
            for p, n in (
                (in_above, counts.unlabeled_predicted_positive),
                (in_below, counts.unlabeled_predicted_negative),
            )
        ]
        return list(zip(sides[0].laws(), sides[1].laws(), strict=True))


def build_positive_unlabeled(
    evaluation: EvaluationSet, beta: BetaPrior, *, audit: Audit | None = None
) -> LabelModel:
    r"""Model beta, the true and the false positive rate at one cutoff, from hidden positives.

    Known positives show the true positive rate; unlabeled rows show a mixture of both rates, in
    which beta is the share of positives; an audit of some unlabeled rows shows beta:

    .. math::
       h &\sim \mathrm{Binomial}(n_L, T), \quad
       u \sim \mathrm{Binomial}(n_U,\ \beta T + (1 - \beta) F), \quad
       k \sim \mathrm{Binomial}(m, \beta) \\
       \beta &\sim \mathrm{Beta}(a, b), \quad T, F \sim \mathrm{Beta}(1/2, 1/2)

    with h of :math:`n_L` known positives and u of :math:`n_U` unlabeled rows predicted positive,
    and k positives among m audited rows.

    Parameters
    ----------
    evaluation : EvaluationSet
        Known positives (1), unlabeled rows (nan) and, if there are any, known negatives (0), with
        their decisions.
    beta : BetaPrior
        Prior of the share of positives among unlabeled rows, **before** the audit.
    audit : Audit, optional
        Rows drawn at random from the unlabeled ones and looked at.

    Returns
    -------
    LabelModel
        Unsampled. ``beta``, ``tpr`` and ``fpr``, all in [0, 1], made from what is sampled:
        ``above``, the share of unlabeled rows predicted positive, ``positive_above`` and
        ``positive_below``, the shares of positives among these and among the others. Potentials
        make the priors those above.

    Raises
    ------
    ValueError
        If there is no known positive or no unlabeled row, or the audit has more rows.
    TypeError
        If an argument is of the wrong type.

    Warns
    -----
    UserWarning
        If the prior is flat and there is no audit: beta is then not identified.

    See Also
    --------
    bound_positive_unlabeled : Bounds under the same assumption.
    rank_bootstrap : Whole curves.

    Notes
    -----
    **Assumes** that known positives are a random sample of all positives (SCAR) and that rows are
    independent given the rates. Known negatives complete the table and inform no rate: nobody
    says that they are a random sample.

    **Not identified**: beta without an audit. The data only confine it to values at which F stays
    in [0, 1]; its posterior is then mostly the prior, and `Posterior.contraction` says so. Near
    that edge a draw or two diverge at the usual step: sample with ``target_accept=0.99``.

    The hidden positives are drawn after sampling: without an audit
    :math:`A \sim \mathrm{Binomial}(u, \beta T / (\beta T + (1 - \beta) F))` above the cutoff and
    B below; with one, audited rows are known positives or negatives whose decisions are drawn from
    their exact law, and only the rest is imputed. The likelihood takes u and k for independent,
    which wastes a little of what a very large audit says of the rates.

    **Oracle.** A grid over (beta, tpr, fpr); for the completion enumeration of all labelings.

    Shown in the notebook 12_bayes_beta.

    References
    ----------
    .. [1] M. Claesen, J. Davis, F. De Smet and B. De Moor, "Assessing binary classifiers using
       only positive and unlabeled data", arXiv:1504.06837, 2015.

    Examples
    --------
    >>> evaluation = EvaluationSet([1, 1, None, None, None], [0.9, 0.4, 0.8, 0.3, 0.2])
    >>> label_model = build_positive_unlabeled(evaluation, BetaPrior(2, 4))
    >>> sorted(variable.name for variable in label_model.model.free_RVs)
    ['above', 'positive_above', 'positive_below']
    """
    check_type("evaluation", evaluation, EvaluationSet)
    check_type("beta", beta, BetaPrior)
    if audit is not None:
        check_type("audit", audit, Audit)
    counts = evaluation.counts
    n_known = counts.tp + counts.fn
    for n, what in ((n_known, "a known positive"), (counts.n_unlabeled, "an unlabeled row")):
        if not n:
            raise ValueError(f"`evaluation` must hold {what}; there is none.")
    if audit is not None and audit.n > counts.n_unlabeled:
        raise ValueError(
            f"`audit` must be of unlabeled rows; got {audit.n:,} audited rows and "
            f"{counts.n_unlabeled:,} unlabeled. Put rows from elsewhere into `beta`."
        )
    notes = []
    if audit is None and max(beta.a, beta.b) <= FLAT:
        said = (
            "A flat prior without an audit: beta is not identified, and its posterior is mostly "
            "the prior."
        )
        warnings.warn(said, UserWarning, stacklevel=2)
        notes.append(said)
    with pm.Model() as model:
        # The data fix the share above the cutoff, and along beta and fpr they leave a narrow,
        # curved ridge. In the rates of positives above and below it is straight and wide.
        above = pm.Uniform("above", 0.0, 1.0)
        in_above = pm.Uniform("positive_above", 0.0, 1.0)
        in_below = pm.Uniform("positive_below", 0.0, 1.0)
        caught, lost = above * in_above, (1 - above) * in_below
        share = pm.Deterministic("beta", caught + lost)
        tpr = pm.Deterministic("tpr", caught / share)
        fpr = pm.Deterministic("fpr", above * (1 - in_above) / (1 - share))
        # The priors of beta, tpr and fpr, and what the change of variables adds.
        pm.Potential("prior_beta", pm.logp(pm.Beta.dist(beta.a, beta.b), share))
        for name, rate in (("tpr", tpr), ("fpr", fpr)):
            pm.Potential(f"prior_{name}", pm.logp(pm.Beta.dist(JEFFREYS, JEFFREYS), rate))
        change = above * (1 - above) / (share * (1 - share))
        pm.Potential("change_of_variables", pm.math.log(change))
        n_rows = pm.Data("n_rows", np.array([n_known, counts.n_unlabeled]))
        n_above = pm.Data("n_above", np.array([counts.tp, counts.unlabeled_predicted_positive]))
        pm.Binomial("predicted_positive", n=n_rows, p=pm.math.stack([tpr, above]), observed=n_above)
        if audit is not None:
            n_audited = pm.Data("n_audited", audit.n)
            n_found = pm.Data("n_audited_positive", audit.n_positive)
            pm.Binomial("audited_positive", n=n_audited, p=share, observed=n_found)
    rate_var = 1 / (4 * (2 * JEFFREYS + 1))
    looked = f" and an audit of {audit.n:,} rows" if audit is not None else ""
    return LabelModel(
        model,
        HiddenPositives((counts,), audit),
        method=f"positive-unlabeled model, beta ~ Beta({beta.a:g}, {beta.b:g}){looked}",
        assumption="known positives are a random sample of all positives (SCAR)",
        prior_var={"beta": beta.var, "tpr": rate_var, "fpr": rate_var},
        n_labeled=evaluation.n_labeled,
        n_unlabeled=evaluation.n_unlabeled,
        notes=tuple(notes),
    )


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Divide, 0 where the whole is 0; round-off above 1 is cut."""
    return np.minimum(part / np.where(whole > 0, whole, 1.0), 1.0)


def _audited_above(
    audit: Audit,
    n_above: int,
    rest: int,
    tpr: FloatArray,
    fpr: FloatArray,
    above: FloatArray,
    rng: np.random.Generator,
) -> IntArray:
    """Draw how many audited positives and negatives are predicted positive, given the total.

    The number of audited rows above is a sum of two binomials, weighed by the chance that the
    rest makes up the total; its law comes from a Fourier transform. Given it, the positives among
    them have a law of binomial products.
    """
    rows = np.arange(audit.n + 1)
    turn = np.exp(-2j * np.pi * rows / (audit.n + 1))
    wave = (1 - tpr[:, None] * (1 - turn)) ** audit.n_positive
    wave *= (1 - fpr[:, None] * (1 - turn)) ** audit.n_negative
    audited = np.maximum(np.fft.ifft(wave, axis=1).real, 0.0)
    remaining = _log_binomial(n_above - rows, rest, above[:, None])
    weight = audited * np.exp(remaining - remaining.max(axis=1, keepdims=True))
    total = _pick(weight, rng)
    positive = np.arange(audit.n_positive + 1)
    log_weight = _log_binomial(positive, audit.n_positive, tpr[:, None])
    log_weight += _log_binomial(total[:, None] - positive, audit.n_negative, fpr[:, None])
    found = _pick(np.exp(log_weight - log_weight.max(axis=1, keepdims=True)), rng)
    return np.array([found, total - found])


def _log_binomial(k: IntArray, n: int, p: FloatArray) -> FloatArray:
    """Return the log probability of k of n, -inf outside."""
    inside = (k >= 0) & (k <= n)
    k = np.clip(k, 0, n)
    log_ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.where(inside, log_ways + xlogy(k, p) + xlog1py(n - k, -p), -np.inf)


def _pick(weight: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw one column a row, in proportion to the weights."""
    total = np.cumsum(weight, axis=1)
    wanted = rng.random((len(weight), 1)) * total[:, -1:]
    return np.minimum((total <= wanted).sum(axis=1), weight.shape[1] - 1)
