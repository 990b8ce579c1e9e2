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
# # Bayesian calibration: bins, curves, groups and a tilt
#
# **Question.** How sure is a metric when the probability of each missing label has to be learned
# from the labels at hand?
#
# **Answer in one sentence.** A posterior of the calibration carries its uncertainty into every
# metric; where a closed form exists the draws reproduce it, and where the data are silent (the
# tilt) the posterior says that it is the prior.
#
# **Assumption.** Labels are missing at random given the score (and the group), except in the last
# model. Fifteen minutes to read; the first run compiles the models.

# %%
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

import labelbayes as lb
from labelbayes.laws.bins import estimate_bins

rng = np.random.default_rng(20261130)

# %% [markdown]
# ## The data
#
# Breast cancer diagnoses with out-of-fold scores. Groups are thirds of the mean radius: small,
# middle and large masses. Two thirds of the labels are hidden completely at random, so that the
# calibration rests on fewer than 200 labels.

# %%
scored = lb.load_breast_cancer_scores()
radius = load_breast_cancer().data[:, 0]
third = np.digitize(radius, np.quantile(radius, [1 / 3, 2 / 3]))
complete = lb.EvaluationSet(
    scored.y_true, scored.y_score, group=np.array(["small", "middle", "large"])[third]
)
some = lb.mask_mcar(complete, 2 / 3, rng=rng)
some

# %% [markdown]
# ## Bins
#
# Each bin of the score has its own rate with a Jeffreys prior. Bins are cut at the decision, so
# this model has an exact law: sums of beta-binomial counts. It is the oracle for the sampler.

# %%
jeffreys = lb.sample(lb.build_bins(some, prior="jeffreys"), cores=2, rng=1)
oracle = estimate_bins(some, prior=(0.5, 0.5))
check = lb.diagnostics.compare_laws(jeffreys, oracle)

# %% tags=["mcmc"]
check[["mean_z", "cdf_z", "ks_scaled", "ess", "passed"]].round(2)

# %%
ax = lb.plots.plot_comparison(jeffreys, oracle, metric="f1")

# %% [markdown]
# Independent bins forget that rates rise with the score. The line prior says so: log odds of the
# bins scatter around a rising line, and the data decide how much.

# %%
line = lb.sample(lb.build_bins(some, prior="line"), target_accept=0.98, cores=2, rng=2)

# %% [markdown]
# ## A curve
#
# Platt scaling has two coefficients for all rows. Given a draw of them the law of a metric is
# exact, so the posterior is a mixture of exact laws (Rao-Blackwell), free of the noise of drawn
# labels.

# %%
platt = lb.sample(lb.build_calibration(some), cores=2, rng=3)
mixed = platt.estimates(exact=True)

# %% tags=["mcmc"]
named = {
    "bins, Jeffreys": jeffreys.estimates(),
    "bins, line": line.estimates(),
    "Platt": platt.estimates(),
    "Platt, exact given the coefficients": mixed,
    "refits (no prior)": lb.estimate_pemi(some, lb.impute(some, rng=4)),
}
counts = complete.counts
print(f"recall on all labels: {counts.tp / (counts.tp + counts.fn):.3f}")
lb.stack(named).xs("recall", level="metric")[["mean", "sd", "low", "high"]].round(3)

# %% [markdown]
# The metrics are named variables of the posterior, so ArviZ opens them as they are.

# %% tags=["mcmc"]
platt.diagnostics

# %% [markdown]
# ## Groups
#
# Precision of small and of large masses, with an intercept for each group, drawn toward a common
# one as far as the data allow.

# %%
grouped = lb.sample(lb.build_groups(some), cores=2, rng=5)

# %% tags=["mcmc"]
grouped.estimates().summary()[["mean", "low", "high"]].round(3)

# %% [markdown]
# ## A tilt
#
# What if missing labels are *not* like labeled ones of the same score? Let their log odds differ by
# delta, normal around 0 with standard deviation 0.5: odds ratios from 0.38 to 2.7.

# %%
tilted = lb.sample(lb.build_calibration(some, delta_sd=0.5), cores=2, rng=6)
learned = tilted.contraction()

# %% tags=["mcmc"]
learned[["prior_sd", "posterior_sd", "contraction"]].round(3)

# %% [markdown]
# The labels say nothing about delta: its posterior is its prior, and the sentence says so. The
# interval below is a statement of sensitivity, not of data.

# %%
print(learned.loc["delta", "sentence"].split(":")[0], "is mostly the prior")

# %% [markdown]
# ## Coverage
#
# The plug-in takes the calibration as known; the bins do not. Their closed form makes a small study
# cheap: 1,000 rows, 90% of the labels hidden, 150 data sets.

# %%
n_sets = 150
covered = {"calibration taken as known": 0, "bins, Jeffreys": 0}
for seed in range(n_sets):
    whole = lb.simulate_scores(1000, intercept=-1.0, rng=seed)
    hidden = lb.mask_mcar(whole, 0.9, rng=seed)
    known = lb.impute(hidden, n_refits=0, rng=seed)
    truth = whole.counts.tp / (whole.counts.tp + whole.counts.fn)
    laws = {
        "calibration taken as known": lb.estimate_pemi(hidden, known, metrics=["recall"]),
        "bins, Jeffreys": estimate_bins(hidden, n_bins=5, metrics=["recall"]),
    }
    for name, estimates in laws.items():
        covered[name] += truth in estimates["recall"].interval(0.95)
print({name: f"{count} of {n_sets}" for name, count in covered.items()})

# %% [markdown]
# ## Simulation-based calibration
#
# A last check of the sampler itself: parameters drawn from the prior, data drawn from them, and the
# rank of the truth among the posterior draws, 500 times. Ranks must be uniform. The result was made
# by `python -m tests.validation V15`.

# %%
ranks = pd.read_parquet("results/sbc.parquet")
uniform = {
    model: lb.diagnostics.sbc_uniformity(part)
    for model, part in ranks.groupby("model", observed=True)
}
pd.DataFrame(
    {
        model: {
            "replications": int(table["n"].max()),
            "quantities": len(table),
            "smallest adjusted p": round(table["p_adjusted"].min(), 3),
            "passed": bool(table["passed"].all()),
        }
        for model, table in uniform.items()
    }
).T

# %%
ax = lb.plots.plot_sbc(ranks[ranks["model"] == "bins, line"])

# %% [markdown]
# ## What we checked

# %% tags=["check"]
# The sampler reproduces the exact law of the bins, and rejects a law that is wrong.
assert check["passed"].all()
wrong = estimate_bins(some, prior=(5.0, 5.0))
assert not lb.diagnostics.compare_laws(jeffreys, wrong)["passed"].all()

# Simulation-based calibration: ranks are uniform for every quantity of every model.
assert all(table["passed"].all() for table in uniform.values())
assert all(table["n"].max() >= 500 for table in uniform.values())

# Every model converged.
for posterior in (jeffreys, line, platt, grouped, tilted):
    assert posterior.diagnostics.ok, posterior.diagnostics.problems

# Draws and the exact mixture over the same draws have one mean, within their noise.
drawn = platt.estimates()["recall"]
assert abs(drawn.mean - mixed["recall"].mean) < 5 * drawn.sd / np.sqrt(1000)

# Nothing was learned about delta; much was learned about the intercept.
assert abs(learned.loc["delta", "contraction"]) < 0.15
assert learned.loc["intercept", "contraction"] > 0.5

# Coverage in standard errors: bins within three of 95%, the plug-in more than ten below.
assert covered["bins, Jeffreys"] / n_sets >= 0.95 - 3 * 0.0178
assert covered["calibration taken as known"] / n_sets < 0.95 - 10 * 0.0178
