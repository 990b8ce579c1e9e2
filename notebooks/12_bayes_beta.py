# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Beta in a model: how many positives hide among the unlabeled rows
#
# **Question.** Known positives, unlabeled rows and a small audit: what is the posterior of
# precision, recall and the ROC curve?
#
# **Answer in one sentence.** The audit says what beta is, the known positives say what recall is,
# and without the audit the posterior of everything but recall is mostly the prior.
#
# **Assumption.** Known positives are a random sample of all positives (SCAR). Ten minutes to read.

# %%
import numpy as np

import labelbayes as lb

rng = np.random.default_rng(20261212)

# %% [markdown]
# ## The data
#
# 4,000 rows, 45% positive, scores N(1, 1) and N(0, 1). 5% of the positives are known, 300 unlabeled
# rows were drawn at random and looked at.

# %%
truth = np.arange(4_000) < 1_800
score = rng.normal(truth, 1.0)
complete = lb.EvaluationSet(truth, score)
y_true = np.where(truth & (rng.random(4_000) < 0.05), 1.0, np.nan)
some = lb.EvaluationSet(y_true, score, pos_label=1)
looked = rng.choice(np.flatnonzero(~some.is_labeled), 300, replace=False)
audit = lb.Audit(int(truth[looked].sum()), int((~truth[looked]).sum()))
beta = truth[~some.is_labeled].mean()
print(f"{some.n_labeled} known positives, true beta {beta:.3f}, audit {audit}")

# %% [markdown]
# ## The model
#
# $h \sim \mathrm{Binomial}(n_L, T)$ known positives and
# $u \sim \mathrm{Binomial}(n_U, \beta T + (1 - \beta) F)$ unlabeled rows lie above the cutoff, and
# $k \sim \mathrm{Binomial}(m, \beta)$ of the audited rows are positive. Hidden positives are drawn
# after sampling; audited rows are among them as what they are.

# %%
model = lb.build_positive_unlabeled(some, lb.BetaPrior(0.5, 0.5), audit=audit)
posterior = lb.sample(model, rng=1)
posterior.diagnostics.ok

# %% tags=["mcmc"]
posterior.estimates().summary()[["mean", "sd", "low", "high", "statement"]].round(3)

# %% [markdown]
# ## What the data said, and what the prior
#
# Contraction is 1 - posterior variance / prior variance.

# %% tags=["mcmc"]
posterior.contraction()[["prior_sd", "posterior_sd", "contraction"]].round(3)

# %% [markdown]
# The same model without the audit, with a prior of our own. Beta hardly moves: the data only forbid
# values that would put more positives above the cutoff than there are rows. (With a flat prior the
# builder warns; near that edge the sampler needs small steps.)

# %%
prior = lb.BetaPrior(4, 6)
blind = lb.sample(lb.build_positive_unlabeled(some, prior), target_accept=0.99, rng=2)

# %% tags=["mcmc"]
blind.contraction()[["prior_sd", "posterior_sd", "contraction"]].round(3)

# %% [markdown]
# ## Beside the bounds
#
# Bounds take the worst of band and beta together and hold at 95% jointly; the posterior takes both
# as they come. Recall depends on the known positives alone.

# %%
bounds = lb.bound_positive_unlabeled(some, audit)
at_cutoff = bounds.at()

# %% tags=["mcmc"]
results = {"posterior": posterior.estimates(), "bounds": at_cutoff}
lb.stack(results)[["mean", "low", "high", "statement"]].round(3)

# %% [markdown]
# This draw is an unlucky one, and it was kept: the audit happened to see few positives and the
# known positives a low recall. The bounds hold the truth; a 95% credible interval misses it once in
# 20 such data sets.

# %% tags=["mcmc"]
counts = complete.counts
for name, value in {
    "precision": counts.tp / (counts.tp + counts.fp),
    "recall": counts.tp / (counts.tp + counts.fn),
}.items():
    span = posterior.estimates()[name].interval()
    print(f"{name}: truth {value:.3f}, posterior {span}, bounds {at_cutoff[name]}")

# %% [markdown]
# ## Whole curves
#
# A Bayesian bootstrap gives known positives and unlabeled rows random weights, draws beta, and
# turns both into curves by the identities of SCAR. It is drawn over the bounds, with the truth.

# %%
from_audit = lb.BetaPrior.from_audit(audit.n_positive, audit.n_negative)
curves = lb.rank_bootstrap(some, from_audit, rng=3)
ax = lb.plots.plot_curves(bounds, posterior=curves, truth=complete)

# %%
ax = lb.plots.plot_curves(bounds, curve="precision_recall", posterior=curves, truth=complete)

# %% [markdown]
# How much of the variance of the ROC area is due to beta? The rest is due to the few known
# positives.

# %%
draws = curves.dataset["roc_auc"].values
fixed = lb.rank_bootstrap(
    some, lb.BetaPrior(1e6 * from_audit.mean, 1e6 * (1 - from_audit.mean)), rng=3
)
share = 1 - fixed.dataset["roc_auc"].values.var() / draws.var()
print(f"sd {draws.std():.3f}, of its variance {share:.0%} is due to beta")

# %% [markdown]
# ## What we checked

# %% tags=["check"]
assert posterior.diagnostics.ok
assert blind.diagnostics.ok

# With the audit beta is the data's, without it the prior's.
assert posterior.contraction().loc["beta", "contraction"] > 0.9
assert blind.contraction().loc["beta", "contraction"] < 0.7

# The truth lies in the bounds and within 3.5 posterior standard deviations.
true_values = {
    "precision": counts.tp / (counts.tp + counts.fp),
    "recall": counts.tp / (counts.tp + counts.fn),
}
for name, value in true_values.items():
    law = posterior.estimates()[name]
    assert abs(value - law.mean) < 3.5 * law.sd
    assert value in at_cutoff[name]
low, high = np.quantile(draws, [0.025, 0.975])
positives, negatives = np.sort(score[truth]), np.sort(score[~truth])
area = np.searchsorted(negatives, positives).mean() / len(negatives)
assert low <= area <= high
assert bounds.auc().low <= area <= bounds.auc().high

# The posterior of recall is that of the known positives: Beta(h + 1/2, n - h + 1/2), to 4 errors.
known = some.counts
mean = (known.tp + 0.5) / (known.tp + known.fn + 1)
tpr = posterior.dataset["tpr"].values
assert abs(tpr.mean() - mean) < 4 * tpr.std() / 20

# The mean of the bootstrapped area is the closed form, within 4 standard errors.
own = np.searchsorted(np.sort(score[~some.is_labeled]), score[some.is_labeled]).mean()
own = own / (~some.is_labeled).sum()
mix = rng.beta(from_audit.a, from_audit.b, 200_000)
assert abs(draws.mean() - ((own - mix / 2) / (1 - mix)).mean()) < 4 * draws.std() / draws.size**0.5
