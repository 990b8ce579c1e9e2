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
# # Beta priors on the imputation probabilities: which doubt matters?
#
# **Question.** Each missing label is imputed with a probability p. If p is itself uncertain, does a
# Beta prior on every p widen the answer?
#
# **Answer in one sentence.** Doubt that is *independent* from row to row changes nothing about the
# metric of these rows (Theorem 4), doubt that is *shared* between rows changes almost everything.
#
# **Assumption.** Missing labels are independent draws given their probabilities. Ten minutes to
# read.

# %%
import numpy as np

import labelbayes as lb

rng = np.random.default_rng(20261130)

# %% [markdown]
# ## The data
#
# Breast cancer diagnoses with out-of-fold scores; 60% of the labels are hidden completely at
# random. The belief is a calibration taken as known: one probability for each missing label.

# %%
complete = lb.load_breast_cancer_scores()
some = lb.mask_mcar(complete, 0.6, rng=rng)
belief = lb.impute(some, n_refits=0, rng=rng)
belief

# %% [markdown]
# ## Independent doubt
#
# Put a Beta prior with mean p and concentration k on the probability of every row, independently:
# $P_i \sim \mathrm{Beta}(k p_i, k (1 - p_i))$ and $Y_i \mid P_i \sim \mathrm{Bernoulli}(P_i)$. A
# small k is much doubt. Averaged over its prior, each label is positive with probability p again,
# and the labels stay independent, so the law of every metric is the one without any doubt.

# %%
exact = lb.estimate_pemi(some, belief)
posteriors = {
    f"Beta priors, k = {k}": lb.sample(lb.build_imputation(some, belief, concentration=k), rng=k)
    for k in (1, 10, 1000)
}
results = {"exact law, no prior": exact}
results |= {name: posterior.estimates() for name, posterior in posteriors.items()}
recall = lb.stack(results).xs("recall", level="metric")

# %% tags=["mcmc"]
recall[["mean", "sd", "low", "high"]].round(3)

# %% [markdown]
# The rows agree to the noise of 4,000 draws, from k = 1 (p is almost unknown) to k = 1000. These
# draws come from PyMC forward: a model without data has nothing to be sampled by NUTS.
#
# ## The check, draw by draw
#
# `compare_laws` sets sampled draws against a closed form: means in Monte Carlo standard errors, the
# empirical cdf at nine quantiles, and the largest gap.

# %% tags=["mcmc"]
check = lb.diagnostics.compare_laws(posteriors["Beta priors, k = 10"], exact)
check[["mean_z", "cdf_z", "ks_scaled", "ess", "passed"]].round(2)

# %%
ax = lb.plots.plot_comparison(posteriors["Beta priors, k = 10"], exact)

# %% [markdown]
# The matched normal law has nearly the same moments, which is all that a normal law can promise:

# %% tags=["mcmc"]
gauss = lb.estimate_pemi(some, belief, method="gauss")
against_normal = lb.diagnostics.compare_laws(posteriors["Beta priors, k = 10"], gauss)
against_normal[["mean_z", "sd_z", "compared", "passed"]].round(2)

# %% [markdown]
# ## Where k does matter: the rate
#
# `target="rate"` asks another question: the metric with each missing label replaced by its
# probability, without the noise of labels. There the prior is all there is.

# %%
rates = {}
for k in (1, 10, 1000):
    model = lb.build_imputation(some, belief, concentration=k)
    draws = lb.sample(model, target="rate", rng=k)
    rates[k] = draws.estimates()["recall"].sd
print({k: round(sd, 3) for k, sd in rates.items()})

# %% [markdown]
# ## Shared doubt
#
# A calibrator is wrong for *all* rows with the same score at once. Suppose 200 missing labels share
# one probability with a Beta prior of mean 0.3 and concentration 8. The variance of their number of
# positives is then $m v + m (m - 1) v / (k + 1)$ instead of $m v$, with $v = p (1 - p)$.

# %%
m, p, k = 200, 0.3, 8
own = rng.binomial(1, rng.beta(k * p, k * (1 - p), size=(20_000, m))).sum(axis=1)
shared = rng.binomial(m, rng.beta(k * p, k * (1 - p), size=20_000))
v = p * (1 - p)
print(f"independent doubt: variance {own.var():.0f}, formula {m * v:.0f}")
print(f"shared doubt:      variance {shared.var():.0f}, ", end="")
print(f"formula {m * v + m * (m - 1) * v / (k + 1):.0f}")

# %% [markdown]
# This is why `impute` refits its calibrator: each refit moves the probabilities of all rows
# together, and the exact law becomes a mixture over refits.

# %%
refitted = lb.estimate_pemi(some, lb.impute(some, rng=1))
widths = {
    name: result["recall"].interval().width
    for name, result in {"as known": exact, "with its uncertainty": refitted}.items()
}
print({name: round(width, 3) for name, width in widths.items()})

# %% [markdown]
# ## What we checked

# %% tags=["check"]
# Theorem 4: whatever k, the sampled laws pass against the exact law.
for posterior in posteriors.values():
    assert lb.diagnostics.compare_laws(posterior, exact)["passed"].all()

# The moments of the matched normal agree too (its shape need not).
assert against_normal["passed"].all()

# The check can fail: it rejects the law that has the calibration's shared uncertainty.
assert not lb.diagnostics.compare_laws(posterior, refitted)["passed"].all()

# The rate narrows as k grows, and the metric of these rows does not.
assert rates[1] > 2 * rates[10] > 4 * rates[1000]

# Variances within five standard errors; a variance of 20,000 draws has one of about 1%.
assert abs(own.var() / (m * v) - 1) < 0.05
assert abs(shared.var() / (m * v + m * (m - 1) * v / (k + 1)) - 1) < 0.05
assert widths["with its uncertainty"] > 1.2 * widths["as known"]
