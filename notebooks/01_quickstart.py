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
# # Quickstart: what can be said when evaluation labels are missing?
#
# **Question.** A classifier was scored on 569 patients, and 30% of the labels never came back.
# What are its precision, recall, F1 and accuracy on all 569?
#
# **Answer in one sentence.** Between two bounds that assume nothing, and more narrowly the more one
# is ready to assume about the missing labels; the assumption ladder shows every step.
#
# **Assumption.** Each rung has its own, printed beside its numbers. Ten minutes to read.

# %%
import numpy as np

import labelbayes as lb

# %% [markdown]
# ## The data
#
# scikit-learn's breast cancer data (malignant is positive), scored out of fold by a logistic
# regression, so that no row was used to train the model that scores it. All labels are known; we
# hide 30% of them **not at random**: among the hidden rows 19% are positive, among all rows 37%.
# In practice one has only `some`; the complete set serves as the answer key.

# %%
complete = lb.load_breast_cancer_scores()
some = lb.mask_mnar(complete, rate=0.3, positive_fraction=0.19, rng=0)
some

# %% [markdown]
# Everything below needs two facts about the missing labels only: how many positives are among the
# missing rows that are predicted positive (call it U), and how many among those predicted negative
# (V). Whatever the metric, nothing else enters.

# %% [markdown]
# ## The ladder
#
# From no assumption at all to a calibrated probability for each missing label.

# %%
steps = lb.ladder(some, truth=complete, rng=0)
steps

# %%
ax = lb.plots.plot_ladder(steps, metric="recall")
ax.figure.savefig("results/ladder.png", dpi=110, metadata={"Software": None})

# %% [markdown]
# What each step assumes:
#
# - **Worst case**: nothing. Every completion of the missing labels lies between the two ends, and
#   both ends are attained.
# - **Labeled rows only**: missing labels are like labeled ones of the same decision.
# - **Coin flips**: each missing label is an independent coin flip. That is far from ignorance: it
#   asserts that about half of the missing labels are positive.
# - **Shared unknown rate**: one rate per decision, any rate equally likely. This is ignorance.
# - **Prevalence**: missing labels are positive as often as labeled ones, whatever their score.
# - **Calibration**: missing labels are like labeled ones *with the same score*, first with the
#   calibration taken as exactly known, then with its uncertainty.
#
# The verdict says which part of each number is assumption, and which is noise in the data:

# %%
print(steps.verdict)

# %% [markdown]
# ## One belief, three ways to compute
#
# `impute` gives each missing label a probability, and refits its calibrator 50 times under
# Bayesian-bootstrap weights so that the calibration's own uncertainty is part of the result.

# %%
belief = lb.impute(some, rng=2)
belief

# %% [markdown]
# Given these probabilities U and V are two independent sums of unequal coin flips, and the law of
# any metric of the confusion matrix follows **exactly**. The published shortcuts are a matched
# normal law and sampling of completions.

# %%
methods = {
    method: lb.estimate_pemi(some, belief, method=method, rng=3)
    for method in ("exact", "gauss", "sampled")
}
lb.stack(methods)[["mean", "sd", "low", "high", "undefined_prob"]].round(3)

# %%
exact, gauss = methods["exact"]["recall"], methods["gauss"]["recall"]
ax = lb.plots.plot_law(
    exact,
    metric="recall",
    assumption="calibration with its uncertainty",
    truth=steps.truth["recall"],
)

# %%
grid = np.linspace(0.9, 1.0, 2001)
gap = np.abs(exact.cdf(grid) - gauss.cdf(grid)).max()
print(f"largest gap between the exact cdf of recall and the matched normal's: {gap:.3f}")
print(f"P(recall >= 0.95): exact {exact.prob_at_least(0.95):.3f}, ", end="")
print(f"normal {gauss.prob_at_least(0.95):.3f}")

# %% [markdown]
# The exact law costs no more than the shortcuts: a million missing labels take milliseconds, since
# the law of a sum needs only a few power sums of the probabilities.

# %% [markdown]
# ## Why a calibration must not be taken as known
#
# "Calibration taken as known" looks like the best rung: its intervals are the narrowest. A small
# simulation shows the price. We know the truth, hide 90% of 1,000 labels completely at random, and
# count how often the 95% interval contains the accuracy that the complete labels give.

# %%
n_sets = 80
refits = {"taken as known": 0, "with its uncertainty": 50}
covered = dict.fromkeys(refits, 0)
for seed in range(n_sets):
    whole = lb.simulate_scores(1000, intercept=-1.0, rng=seed)
    hidden = lb.mask_mcar(whole, 0.9, rng=seed)
    value = (whole.counts.tp + whole.counts.tn) / whole.n
    for name, n_refits in refits.items():
        p = lb.impute(hidden, n_refits=n_refits, rng=seed)
        law = lb.estimate_pemi(hidden, p, metrics=["accuracy"])["accuracy"]
        covered[name] += value in law.interval(0.95)

for name, count in covered.items():
    print(f"calibration {name}: {count} of {n_sets} intervals contain the truth")

# %% [markdown]
# With 100 labels for 900 missing ones the plug-in interval is far too narrow: for a plain rate
# theory puts its coverage at 2 Phi(1.96 sqrt(0.1)) - 1 = 46%, and a two-parameter calibration does
# little better. This is why refits are the default.

# %% [markdown]
# ## What no rung can tell
#
# Whether labels are missing at random given the score cannot be checked from labeled rows. Here we
# hid positives less often than negatives, so the calibrated rungs lean to one side; the answer key
# shows by how much. Without one, the ladder is the honest summary, and a random audit of missing
# rows the remedy.

# %%
table = steps.table()
table.loc[["worst case", "calibration with its uncertainty"], ["low", "high", "truth"]].round(3)

# %% [markdown]
# ## What we checked

# %% tags=["check"]
# The bounds hold for the truth, whatever was hidden.
worst = table.loc["worst case"]
assert ((worst["low"] <= worst["truth"]) & (worst["truth"] <= worst["high"])).all()

# Sampled completions agree with the exact law: the 99.9% Dvoretzky-Kiefer-Wolfowitz band.
sampled = methods["sampled"]["recall"]
assert np.abs(exact.cdf(grid) - sampled.cdf(grid)).max() < np.sqrt(np.log(2 / 0.001) / 20_000)

# The matched normal has the exact mean and spread to a thousandth, though not the exact shape.
assert abs(exact.mean - gauss.mean) < 1e-3
assert abs(exact.sd - gauss.sd) < 1e-3
assert gap > 0.01

# Coverage in standard errors: refits within three of 95%, the plug-in more than ten below.
assert 0.95 - 3 * 0.0244 <= covered["with its uncertainty"] / n_sets
assert covered["taken as known"] / n_sets < 0.95 - 10 * 0.0244

# With every label known all rungs agree with the complete set, to the last digit.
for result in lb.ladder(complete, rng=4).results.values():
    recall = result.summary().loc["recall"]
    assert recall["low"] == recall["high"] == steps.truth["recall"]
