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
# # Selective labels: some rows are labeled more often than others
#
# **Question.** Labels were seen where someone looked: high scores were checked more often than low
# ones. What are precision, recall and ROC-AUC for all rows?
#
# **Answer in one sentence.** Weights of 1 / P(labeled), an outcome model, or both together (AIPW)
# answer it as long as what decided on labels was measured; how far an unmeasured reason could move
# the answer can be stated, and what nobody could have labeled cannot be known at all.
#
# **Assumption.** Labels are missing at random given the features, until the section that drops it.
# Fifteen minutes to read.

# %%
import numpy as np
import pandas as pd

import labelbayes as lb

rng = np.random.default_rng(20261130)

# %% [markdown]
# ## A hundred rows, number by number
#
# Twenty rows of stratum A have a chance of 1/2 of a label: 8 were labeled, 5 of them right. Eighty
# rows of stratum B have a chance of 1/4: 24 were labeled, 20 right. A model predicts that 60% of A
# and 80% of B are right.

# %%
correct = [1] * 5 + [0] * 3 + [None] * 12 + [1] * 20 + [0] * 4 + [None] * 56
chance = np.repeat([0.5, 0.25], [20, 80])
predicted = np.repeat([0.6, 0.8], [20, 80])

seen = np.array([value for value in correct if value is not None])
by_hand = {
    "naive: 25 of 32": 25 / 32,
    "Horvitz-Thompson: (5 x 2 + 20 x 4) / 100": (5 * 2 + 20 * 4) / 100,
    "Hajek: (5 x 2 + 20 x 4) / (8 x 2 + 24 x 4)": (5 * 2 + 20 * 4) / (8 * 2 + 24 * 4),
    "outcome model: (20 x 0.6 + 80 x 0.8) / 100": (20 * 0.6 + 80 * 0.8) / 100,
    "AIPW: the model, plus weighted errors": (76 + 2 * (5 - 4.8) + 4 * (20 - 19.2)) / 100,
}
pd.Series(by_hand, name="accuracy").round(7)

# %% [markdown]
# `estimate_mean` gives the same numbers with their errors. Weights of 2 and 4 make 32 labels worth
# fewer labels of equal weight (the effective sample size). The error depends on what is meant: rows
# drawn like these (`"population"`), or these hundred rows (`"sample"`).

# %%
weighted = {
    "Horvitz-Thompson": lb.estimate_mean(correct, chance, method="horvitz_thompson"),
    "Hajek": lb.estimate_mean(correct, chance),
    "AIPW": lb.estimate_mean(correct, chance, predicted=predicted),
}
these_rows = lb.estimate_mean(correct, chance, predicted=predicted, target="sample")
lb.stack({**weighted, "AIPW, these rows": these_rows})[["mean", "sd", "target", "ess"]].round(4)

# %% [markdown]
# ## A classifier whose labels were chosen
#
# A simulation with a known answer: labels are seen more often where the score is high and where a
# second feature (call it age) is high, and age matters for the label too. The classifier's own
# score does not know age. Both nuisance models are cross-fitted: no row is predicted by a model
# that saw it.

# %%
made = lb.simulate_selection(3_000, floor=0.05, rng=rng)
features = pd.DataFrame(made.features, columns=["logit of the score", "age"])
propensity = lb.fit_propensity(features, made.evaluation, rng=1)
outcome = lb.fit_outcome(features, made.evaluation, rng=2)
made.evaluation

# %% [markdown]
# Before anything is estimated, look at the weights. How well the propensity model separates labeled
# from other rows is no evidence for it; what counts is overlap, whether as many labels were seen as
# expected in every segment, and whether weighted rows look like all rows.

# %%
version = np.where(np.arange(3_000) < 1_500, "policy 1", "policy 2")
check = lb.check_weights(
    made.evaluation, propensity, features=features, by={"age": features["age"], "policy": version}
)
check

# %%
ax = lb.plots.plot_overlap(check)
ax = lb.plots.plot_weights(check)

# %%
print(check.balance[["difference_before", "difference_after"]].round(3).to_string())
check.calibration.round(3)

# %% [markdown]
# The propensity model misses the floor of 5%, since a logistic curve has none: its smallest chances
# are too small, and the largest weights too large. The table of all estimators shows what that does
# to weights alone and what the outcome model repairs; the curve below it shows how much rests on
# the heaviest weights. Capping them trades noise for bias.

# %%
counts = made.complete.counts
truth = {
    "accuracy": (counts.tp + counts.tn) / made.complete.n,
    "precision": counts.tp / (counts.tp + counts.fp),
    "recall": counts.tp / (counts.tp + counts.fn),
}
print("all labels, hidden in practice:", {name: round(value, 3) for name, value in truth.items()})
metrics = ["accuracy", "precision", "recall", "roc_auc"]
table = lb.compare_weighting(made.evaluation, propensity, outcome=outcome, metrics=metrics)
table

# %%
curve = lb.clip_curve(made.evaluation, propensity, "recall", outcome=outcome)
ax = lb.plots.plot_clip_curve(curve)

# %% [markdown]
# ## One nuisance model wrong
#
# AIPW needs only one of the two. Here a wrong propensity says that every row had the same chance,
# and a wrong outcome model gives age the wrong sign.

# %%
wrong_p = np.full(3_000, made.evaluation.n_labeled / 3_000)
wrong_m = 1 / (1 + np.exp(-0.2 * (made.features @ np.array([1.0, -1.0]))))
pairs = {
    "both right": (made.propensity, made.outcome),
    "outcome model wrong": (made.propensity, wrong_m),
    "propensity wrong": (wrong_p, made.outcome),
    "both wrong": (wrong_p, wrong_m),
}
robust = lb.stack(
    {
        name: lb.estimate_aipw(made.evaluation, p, m, metrics=["recall"])
        for name, (p, m) in pairs.items()
    }
)
robust.droplevel("metric")[["mean", "sd", "low", "high"]].assign(truth=truth["recall"]).round(3)

# %% [markdown]
# ## A reason that nobody measured
#
# Now positives are missing more often than comparable negatives: among missing rows the odds of a
# positive are 2.5 times those of labeled rows with the same features. No check of labeled rows can
# see it: the propensity given the features is still right.

# %%
secret = lb.simulate_selection(3_000, floor=0.05, odds_ratio=2.5, rng=rng)
c = secret.complete.counts
secret_recall = c.tp / (c.tp + c.fn)
given = secret.evaluation, secret.propensity, secret.outcome
tilts = [0.4, 0.67, 1.0, 1.5, 2.5, 4.0]
rows = {
    f"{ratio:g}": lb.estimate_aipw(*given, odds_ratio=ratio, metrics=["recall"]) for ratio in tilts
}
shown = lb.stack(rows).droplevel("metric")[["mean", "low", "high"]].round(3)
print(f"recall on all labels: {secret_recall:.3f}")
shown.rename_axis("odds ratio of missing rows")

# %% [markdown]
# One odds ratio for all rows is a strong statement. The marginal sensitivity model lets it differ
# from row to row, up to a largest one; a very large one is the worst case. Which one is plausible
# is a statement of belief. What can be computed is the one from which a claim fails: say, that
# recall is at least 0.75.

# %%
bounds = {
    f"{ratio:g}": lb.bound_marginal_sensitivity(
        secret.evaluation,
        secret.outcome,
        ratio,
        propensity=secret.propensity,
        metrics=["recall", "roc_auc"],
        target="population",
    )
    for ratio in (1.0, 1.5, 2.5, 5.0)
}
lb.stack(bounds)[["low", "high", "ci_prob", "ci_kind", "statement"]].round(3)

# %%
claim = 0.75
tilt = lb.tipping_tilt(*given, "recall", claim)
largest = lb.tipping_marginal_sensitivity(
    secret.evaluation, secret.outcome, "recall", claim, propensity=secret.propensity
)
print(
    f"The claim 'recall >= {claim}' fails from one odds ratio of {tilt:.2f} for all missing rows,"
)
print(f"and from a largest odds ratio of {largest:.2f} that may differ from row to row.")

# %% [markdown]
# ## What an audit settles
#
# 400 missing rows, drawn at random and labeled, need no assumption at all. They convict an estimate
# whose assumption fails.

# %%
missing = np.flatnonzero(~secret.evaluation.is_labeled)
picked = rng.choice(missing, 400, replace=False)
audited = np.full(3_000, np.nan)
audited[picked] = secret.complete.y_true[picked]
audit = lb.compare_audit(
    secret.evaluation,
    audited,
    {
        "AIPW, missing at random": lb.estimate_aipw(*given, metrics=["recall"]),
        "AIPW, odds ratio 2.5": lb.estimate_aipw(*given, odds_ratio=2.5, metrics=["recall"]),
    },
)
audit.round(3)

# %% [markdown]
# ## A loan book: labels for accepted applicants only
#
# A lender accepts applicants whose score is above a cut; only they can repay or default. Refused
# applicants had **no chance** of a label, so no weight speaks for them, and their share is said.

# %%
applicants = lb.simulate_selection(2_000, rng=rng).complete
accepted = applicants.y_score >= 0.35
seen_loans = lb.EvaluationSet(
    np.where(accepted, applicants.y_true, np.nan), applicants.y_score, threshold=0.6
)
found = lb.estimate_ipw(seen_loans, accepted.astype(float), metrics=["precision", "recall"])
print(found.notes[1])
found

# %% [markdown]
# **What cannot be known here.** Recall above is that of accepted applicants. That of all applicants
# lies anywhere in the worst-case bounds, and no model of accepted applicants narrows them without
# an assumption about refused ones that no row can support. Worse, if refusal itself changes the
# outcome, the missing outcome does not exist, and asking for it is refused:

# %%
print(lb.bound_worst_case(seen_loans, metrics=["recall"])["recall"])
try:
    lb.estimate_ipw(seen_loans, accepted.astype(float), outcome_depends_on_decision=True)
except ValueError as refusal:
    print(refusal)

# %% [markdown]
# ## What we checked

# %% tags=["check"]
# The worked example, by hand and by the package.
assert np.allclose(
    [weighted[name]["mean"].mean for name in ("Horvitz-Thompson", "Hajek", "AIPW")],
    [0.9, 0.8035714285714286, 0.796],
)
assert abs(weighted["Hajek"].ess - 30.1538461538) < 1e-9

# AIPW holds the truth when one nuisance model is wrong, and not when both are.
ends = robust.droplevel("metric")
holds = (ends["low"] <= truth["recall"]) & (truth["recall"] <= ends["high"])
assert holds.to_dict() == {
    "both right": True,
    "outcome model wrong": True,
    "propensity wrong": True,
    "both wrong": False,
}

# Labeled rows alone are off, and the table names the pair that disagrees.
assert any(note.startswith("naive and AIPW have the same target") for note in table.notes)

# Under the unmeasured reason the right tilt and wide enough bounds hold the truth.
assert secret_recall in rows["2.5"]["recall"].interval(0.95)
assert secret_recall not in rows["1"]["recall"].interval(0.95)
assert secret_recall in bounds["2.5"]["recall"]
assert audit["is_apart"].tolist() == [True, False]

# The tipping points tip.
at = lb.estimate_aipw(*given, odds_ratio=tilt, metrics=["recall"])["recall"].mean
assert abs(at - claim) < 1e-9
