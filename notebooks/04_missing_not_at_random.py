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
# # Missing not at random
#
# **Question.** What if the rows without a label differ from labeled rows with the same score?
#
# **Answer in one sentence.** The data cannot say by how much; but they can say what each difference
# would do to a metric, at which difference a claim fails, and how much an audit of a few missing
# rows would help.
#
# **Assumption.** The difference is a factor on the odds of a positive. Ten minutes to read.

# %%
import numpy as np
import pandas as pd

import labelbayes as lb

rng = np.random.default_rng(20261130)

# %% [markdown]
# ## Hidden labels that are different
#
# Half of the labels are hidden, and among the hidden ones positives are rarer than among all rows.
# The calibrated law does not know that.

# %%
complete = lb.load_breast_cancer_scores()
share = float(complete.y_true.mean())
some = lb.mask_mnar(complete, 0.5, share / 2, rng=rng)
belief = lb.impute(some, n_refits=20, rng=1)
hidden = ~some.is_labeled
print(f"positives among hidden rows: {complete.y_true[hidden].mean():.3f}")
print(f"mean p of hidden rows:       {belief.p[hidden].mean():.3f}")

# %% [markdown]
# ## What a difference would do
#
# `imputation.tilt(odds_ratio)` multiplies the odds of every missing label. The band shows the law
# at each odds ratio; the dashed lines allow every row its own, up to that factor. They grow from
# the interval of the belief at 1 to the worst case.

# %%
ax = lb.plots.plot_sensitivity(some, belief, metric="f1", max_odds_ratio=8, claim=0.93)

# %%
rows = {
    f"odds within 1/{factor:g} to {factor:g}": lb.bound_tilt(some, belief, factor)
    for factor in (1, 2, 4, 8)
}
rows["worst case"] = lb.bound_worst_case(some)
lb.stack(rows)[["low", "high", "statement"]].round(3)

# %% [markdown]
# ## Where a claim fails
#
# The tipping point of "F1 is at least .93": the odds ratio nearest to 1 at which it is no longer
# more likely than not.

# %%
tips = {
    claim: lb.tipping_odds_ratio(some, belief, "f1", claim)
    for claim in (0.9, 0.92, 0.93, 0.94, 0.95)
}
pd.Series(tips, name="tipping odds ratio").rename_axis("f1 at least").round(3)

# %% [markdown]
# ## An audit
#
# Only labels of missing rows can tell. Sixty of the hidden rows are drawn at random and looked at;
# the posterior of the log odds ratio delta starts from N(0, 0.5).

# %%
looked_at = rng.choice(np.flatnonzero(hidden), 60, replace=False)
audited = np.full(some.n_rows, np.nan)
audited[looked_at] = complete.y_true[looked_at]
mean, sd = lb.update_tilt(belief, audited, delta_sd=0.5)
print(f"delta {mean:.2f} with sd {sd:.2f}: odds ratio {np.exp(mean):.2f}")

# %%
counts = complete.counts
print(f"recall on all labels: {counts.tp / (counts.tp + counts.fn):.3f}")
lb.stack(
    {
        "as if missing at random": lb.estimate_pemi(some, belief),
        "tilted by the audit": lb.estimate_pemi(some, belief.tilt(float(np.exp(mean)))),
    }
).xs("recall", level="metric")[["mean", "sd", "low", "high"]].round(3)

# %% [markdown]
# The audited labels themselves are known now, so in practice they also go into `y_true`; here they
# only update the tilt, to show what it does. `build_calibration(some, delta_sd=0.5, audited=...)`
# does both at once and carries the uncertainty of delta into the metric.

# %% [markdown]
# ## What we checked

# %% tags=["check"]
# Bounds grow with the factor and end at the worst case.
widths = [bounds["recall"].width for bounds in rows.values()]
assert widths == sorted(widths)
far = lb.bound_tilt(some, belief, 1e9)["recall"]
worst = lb.bound_worst_case(some)["recall"]
assert abs(far.low - worst.low) < 1e-6
assert abs(far.high - worst.high) < 1e-6

# At the tipping point the claim is as likely as not, give or take one value of F1.
tip = tips[0.93]
assert tip > 1
below = lb.estimate_pemi(some, belief.tilt(tip * (1 - 1e-6 * np.sign(np.log(tip)))))["f1"]
beyond = lb.estimate_pemi(some, belief.tilt(tip * (1 + 1e-6 * np.sign(np.log(tip)))))["f1"]
assert below.prob_at_least(0.93) >= 0.5 > beyond.prob_at_least(0.93)
# A claim that fails as it stands tips at 1.
assert tips[0.95] == 1

# The audit finds the direction of the difference, and is surer than the prior.
assert mean < 0
assert sd < 0.5
# An audit with its labels swapped would find the other direction.
assert lb.update_tilt(belief, 1 - audited)[0] > 0
