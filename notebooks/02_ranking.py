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
# # Ranking, groups and comparisons
#
# **Question.** How well does a score rank the rows when some labels are missing, does it rank one
# group better than another, and is model A better than model B?
#
# **Answer in one sentence.** ROC-AUC has an exact mean and standard deviation at any number of
# rows, average precision an exact mean; differences of groups and of models have laws of their own,
# as long as the imputation knows what is compared.
#
# **Assumption.** Labels are missing at random given the score (and the group, and the other score,
# where these are compared). Fifteen minutes to read.

# %%
import time

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import labelbayes as lb

rng = np.random.default_rng(20261130)

# %% [markdown]
# ## Two models and three groups
#
# Breast cancer diagnoses. Model A sees all 30 features, model B the first four only; both are
# scored out of fold. Groups are thirds of the mean radius. Half of the labels are hidden at random.

# %%
features, target = load_breast_cancer(return_X_y=True)
malignant = 1 - target


def score(columns):
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    folds = StratifiedKFold(n_splits=5)
    return cross_val_predict(
        model, features[:, columns], malignant, cv=folds, method="predict_proba"
    )[:, 1]


score_a, score_b = score(slice(None)), score(slice(0, 4))
size = np.array(["small", "middle", "large"])[
    np.digitize(features[:, 0], np.quantile(features[:, 0], [1 / 3, 2 / 3]))
]
complete = lb.EvaluationSet(malignant, score_a, group=size)
some = lb.mask_mcar(complete, 0.5, rng=rng)
some

# %% [markdown]
# ## ROC-AUC and average precision
#
# Both depend on the labels through sums over the ranking, and missing labels are random in them.
# The column `method` says which law each metric has: exact where it can be listed, else drawn, with
# exact mean (and, for ROC-AUC, exact standard deviation) in any case.

# %%
belief = lb.impute(some, rng=1)
ranking = lb.estimate_pemi(some, belief, metrics=["roc_auc", "average_precision"], rng=2)
ranking.summary()[["mean", "sd", "low", "high", "method"]]

# %%
ax = lb.plots.plot_law(
    ranking,
    metric="roc_auc",
    assumption="calibration with its uncertainty",
    truth=roc_auc_score(malignant, score_a),
)

# %% [markdown]
# Few missing labels: the law is exact, one stem for each value that the area can take.

# %%
few = lb.mask_mcar(complete, 0.008, rng=3)
exact = lb.estimate_pemi(few, lb.impute(few, n_refits=0, rng=3), metrics=["roc_auc"])
print(exact.summary()["method"]["roc_auc"])
ax = lb.plots.plot_law(exact)

# %% [markdown]
# And whatever the missing labels are, the metrics lie between these ends. Those of ROC-AUC are
# attained.

# %%
lb.bound_worst_case(some, metrics=["roc_auc", "average_precision"])

# %% [markdown]
# ## A million rows
#
# The closed form with every pair of rows stops at about a hundred of them. Here it is a sort and a
# few sums.

# %%
large = lb.mask_mcar(lb.simulate_scores(1_000_000, rng=4), 0.9, rng=4)
known = lb.impute(large, n_refits=0, rng=4)
started = time.perf_counter()
law = lb.estimate_pemi(large, known, metrics=["roc_auc"], method="gauss")["roc_auc"]
seconds = time.perf_counter() - started

# %% tags=["mcmc"]
print(f"{law.mean:.6f} with sd {law.sd:.6f} in {seconds:.1f} s")

# %% [markdown]
# ## Curves
#
# Every draw of the missing labels has its own curve. The dark band holds each point with 95%, the
# light one the whole curve.

# %%
curves = lb.estimate_curves(some, belief, n_draws=500, rng=5)
ax = lb.plots.plot_roc(curves)

# %%
ax = lb.plots.plot_precision_recall(curves)

# %% [markdown]
# ## Groups
#
# p must know the group, or the groups are pulled together. With `features` it does.

# %%
by_group = lb.impute(some, features=pd.DataFrame({"size": size}), rng=6)
gaps = lb.compare_groups(some, by_group, metrics=["recall", "roc_auc"], n_draws=2000, rng=7)
gaps

# %%
parts = complete.groups()
truth = {name: part.counts.tp / (part.counts.tp + part.counts.fn) for name, part in parts.items()}
print({name: round(value, 3) for name, value in truth.items()}, "recall on all labels")
unaware = lb.compare_groups(some, belief, metrics=["recall"], n_draws=500, rng=7)
print(next(note for note in unaware.notes if "does not use" in note))

# %% [markdown]
# ## Two models
#
# The same rows, the same labels, two scores. An imputation that knows only A's score makes B look
# worse than it is with certainty, so it is refused.

# %%
other = lb.EvaluationSet(some.y_true, score_b)
try:
    lb.compare_models(some, other, belief, metrics=["roc_auc"])
except ValueError as reason:
    print(reason)

# %%
both = lb.impute(some, features=pd.DataFrame({"score of B": score_b}), rng=8)
difference = lb.compare_models(
    some, other, both, metrics=["accuracy", "f1", "roc_auc"], n_draws=3000, rng=9
)
for metric, one in difference.items():
    print(f"{metric}: A - B = {one.mean:.3f}, P(A beats B) = {1 - float(one.cdf(0.0)):.3f}")

# %%
ax = lb.plots.plot_differences(difference, metric="roc_auc", names=("A", "B"))

# %% [markdown]
# ## What we checked

# %% tags=["check"]
# The law of a few missing labels holds exactly the values that completions have.
hidden = np.flatnonzero(~few.is_labeled)
assert exact["roc_auc"].undefined_prob == 0
assert abs(exact["roc_auc"].mean - roc_auc_score(malignant, score_a)) < 6 * exact["roc_auc"].sd

# Nothing missing: scikit-learn's values, and no spread.
whole = lb.estimate_pemi(complete, lb.impute(complete), metrics=["roc_auc", "average_precision"])
assert abs(whole["roc_auc"].mean - roc_auc_score(malignant, score_a)) < 1e-12
assert abs(whole["average_precision"].mean - average_precision_score(malignant, score_a)) < 1e-12
assert whole["roc_auc"].sd == 0

# The truth lies in the laws and in the bounds; draws are joint.
bounds = lb.bound_worst_case(some, metrics=["roc_auc", "average_precision"])
for name, value in (
    ("roc_auc", roc_auc_score(malignant, score_a)),
    ("average_precision", average_precision_score(malignant, score_a)),
):
    assert bounds[name].low <= ranking[name].interval(0.999).low
    assert bounds[name].low <= value <= bounds[name].high
    assert value in ranking[name].interval(0.999)
drawn = ranking.draws(500, 0)
assert np.corrcoef(drawn["roc_auc"], drawn["average_precision"])[0, 1] > 0.5

# Two equal models: no difference, with certainty. An imputation without B's score is refused.
same = lb.compare_models(some, some, belief, metrics=["f1"])["f1"]
assert same.mean == 0
assert same.sd == 0
gap = roc_auc_score(malignant, score_a) - roc_auc_score(malignant, score_b)
assert gap in difference["roc_auc"].interval(0.999)
