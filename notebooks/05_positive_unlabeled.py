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
# # Positive-unlabeled evaluation: what a few known positives say
#
# **Question.** Some positives are known, every other row is unlabeled. What are the ROC curve, the
# precision-recall curve and the metrics at a cutoff?
#
# **Answer in one sentence.** Bounds: the known positives say how the hidden ones rank, beta says
# how many there are, and every labeling that fits both lies between two that attain the ends.
#
# **Assumption.** Known positives are a random sample of all positives (SCAR). Beta, the share of
# positives among unlabeled rows, comes from outside. Fifteen minutes to read.

# %%
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import labelbayes as lb

rng = np.random.default_rng(20261107)

# %% [markdown]
# ## The data
#
# Handwritten digits, even or odd, with out-of-fold scores from twelve of the 64 pixels, so that the
# model is far from perfect. All labels are known, 5% of the positives are kept as in the paper, and
# the others become unlabeled rows.

# %%
digits = load_digits()
is_even = digits.target % 2 == 0
model = make_pipeline(StandardScaler(), LogisticRegression())
pixels = digits.data[:, 18:42:2]
score = cross_val_predict(model, pixels, is_even, cv=5, method="predict_proba")[:, 1]
complete = lb.EvaluationSet(is_even, score)


def hide(share, rng):
    """Keep a share of the positives, and return the rows and the true beta."""
    known = rng.random(len(score)) < share
    y_true = np.where(is_even & known, 1.0, np.nan)
    return lb.EvaluationSet(y_true, score, pos_label=1), is_even[np.isnan(y_true)].mean()


some, beta = hide(0.05, rng)
some

# %% [markdown]
# ## Bounds at a known beta
#
# Each end is one labeling of the unlabeled rows (average precision has outer bounds). The column
# `point` takes hidden positives to rank exactly as the known ones, without sampling error.

# %%
bounds = lb.bound_positive_unlabeled(some, float(beta))
columns = ["low", "high", "point", "ci_prob", "statement"]
bounds.summary()[columns].round(3)

# %%
ax = lb.plots.plot_curves(bounds, truth=complete)

# %%
ax = lb.plots.plot_curves(bounds, curve="precision_recall", truth=complete)

# %% [markdown]
# ## Beta from an audit
#
# Nothing in the scores says what beta is. They say how large it can be at most, and a published
# estimator gives a number that is too high where negatives reach the top scores:

# %%
limit = lb.bound_beta(some)["beta"]
best_bin = lb.estimate_beta(some, n_resamples=100, rng=rng)["beta"]
print(f"true beta {beta:.3f}, upper limit {limit.high:.3f}, best bin {best_bin.mean:.3f}")

# %% [markdown]
# 300 unlabeled rows are drawn at random and looked at. They are rows of this set, so their
# positives are known and only the rest is uncertain. The joint level stays 95%,
# with 97.5% for each part.

# %%
looked = rng.choice(np.flatnonzero(~some.is_labeled), 300, replace=False)
audit = lb.Audit(int(is_even[looked].sum()), int((~is_even[looked]).sum()))
joint = lb.bound_positive_unlabeled(some, audit)
print(joint.notes[0])
joint.summary()[columns].round(3)

# %% [markdown]
# ## A range of beta is more than its ends
#
# The lower bound of the ROC area is not monotone in beta. Ten rows show it: from 4 to 7 hidden
# positives the smallest lower bound belongs to 6. Bounds for a range look at every number in it.

# %%
ten = lb.EvaluationSet([1, 1, *[None] * 8], [3, 4, 3, 3, 5, 3, 0, 4, 3, 4])
band = ([0.0, 0.3, 0.8, 0.8], [0.2, 0.7, 1.0, 1.0])
each = {n: lb.bound_positive_unlabeled(ten, n / 8, band=band).auc().low for n in (4, 5, 6, 7)}
whole = lb.bound_positive_unlabeled(ten, (4 / 8, 7 / 8), band=band).auc()
print({n: round(low, 3) for n, low in each.items()}, "range:", round(whole.low, 3))

# %% [markdown]
# ## Unlabeled is not negative
#
# Taking unlabeled rows for negatives is beta = 0. It is pessimistic where known positives rank
# better than the rows at large (Lemma 4), and here it misses the truth by far:

# %%
zero = lb.bound_positive_unlabeled(some, 0.0)
truth = lb.bound_positive_unlabeled(complete, 0.0)
rows = {"beta = 0": zero, "bounds": bounds, "truth": truth}
pd.DataFrame({name: {m: str(s) for m, s in r.bounds().items()} for name, r in rows.items()})

# %% [markdown]
# ## The paper's construction and its bootstrap band
#
# Theorem 1 works cutoff by cutoff and rounds outward: its area is a little wider. Its band is a
# bootstrap of the known positives, which needs no resampling: the count at the k-th known rank is
# binomial.

# %%
paper = {"construction": "paper", "band": "binomial"}
of_paper = lb.bound_positive_unlabeled(some, float(beta), **paper).auc()
with_ours = lb.bound_positive_unlabeled(some, float(beta), construction="paper").auc()
print("paper:", of_paper, "| Theorem 1, our band:", with_ours, "| attained:", bounds.auc())

# %% [markdown]
# That band is for the population. We ask how often each one holds the number of *hidden* positives
# above 0.5: known and hidden positives are dealt at random 300 times.


# %%
def coverage(share, n=300):
    """Return how often each band holds the hidden positives above 0.5."""
    held = {"ours": 0.0, "binomial": 0.0}
    above = score[is_even] >= 0.5
    for _ in range(n):
        known = rng.random(len(above)) < share
        hidden = (above & ~known).sum()
        rows = lb.EvaluationSet(np.where(known, 1.0, np.nan), score[is_even], pos_label=1)
        for name, band in (("ours", "predictive"), ("binomial", "binomial")):
            made = lb.bound_positive_unlabeled(rows, 1.0, band=band).band
            low, high = made.counts(int((above & known).sum()), known.sum(), (~known).sum())
            held[name] += (low - 1e-9 <= hidden <= high + 1e-9) / n
    return {name: round(value, 3) for name, value in held.items()}


coverages = {share: coverage(share) for share in (0.05, 0.5, 0.8)}
pd.DataFrame(coverages).rename_axis(columns="share of positives known")

# %% [markdown]
# ## How much must be known?
#
# Widths shrink with known positives, and at a fixed number of hidden positives also with known
# negatives.


# %%
def widths(result):
    """Return the width of each bound."""
    return {name: span.width for name, span in result.bounds().items()}


simulated = np.arange(10_000) < 5_000
simulated_score = rng.normal(simulated, 1.0)
by_known = {}
for n_known in (20, 50, 100, 200, 500, 1_000, 2_000):
    y_true = np.where(np.arange(10_000) < n_known, 1.0, np.nan)
    rows = lb.EvaluationSet(y_true, simulated_score, pos_label=1)
    by_known[n_known] = widths(
        lb.bound_positive_unlabeled(rows, (5_000 - n_known) / (10_000 - n_known))
    )
by_known = pd.DataFrame(by_known).T.rename_axis("known positives")
ax = lb.plots.plot_bound_widths(by_known)

# %%
by_negative = {}
for n_negative in (0, 500, 1_000, 2_000, 4_000):
    y_true = np.where(np.arange(10_000) < 200, 1.0, np.nan)
    y_true[5_000 : 5_000 + n_negative] = 0
    rows = lb.EvaluationSet(y_true, simulated_score, pos_label=1)
    by_negative[n_negative] = widths(
        lb.bound_positive_unlabeled(rows, 4_800 / (9_800 - n_negative))
    )
by_negative = pd.DataFrame(by_negative).T.rename_axis("known negatives")
by_negative.round(3)

# %% [markdown]
# ## Two models over beta
#
# A model with a low cutoff and one with a high one: which has the better accuracy depends on beta,
# and the flip is where two lines cross. The same scores, shifted, have the same ROC curve; the flip
# is one of cutoffs.

# %%
shifted = score - 0.3
worse = np.where(is_even, score - 0.1, score + 0.1)
models = {
    name: lb.EvaluationSet(some.y_true, s, pos_label=1)
    for name, s in {"low cutoff": score, "high cutoff": shifted, "worse": worse}.items()
}
sweep = lb.sweep_beta(models)
print("\n".join(sweep.verdicts))
ax = lb.plots.plot_beta_sweep(sweep, metric="accuracy")

# %% [markdown]
# ## A published data set
#
# 19,705 scores of a model trained on positive and unlabeled rows, with 5,250 positives and 262
# distinct scores (sensit, data of github.com/claesenm/semisup-metrics, BSD-2). The file is not part
# of this project. The numbers below were found there, with the true beta, as means over 20 draws of
# the known positives (`default_rng(0).choice(positives, round(share * 5250), replace=False)`), by
# `bound_positive_unlabeled(EvaluationSet(y_true, score), beta)`, for the paper with
# `construction="paper", band="binomial"`.

# %%
sensit = pd.DataFrame(
    {
        "5% known": [0.7019, 0.7716, 0.7206, 0.8206, 0.6640, 0.8548],
        "10% known": [0.7034, 0.7698, 0.7357, 0.8030, 0.6951, 0.8313],
    },
    [
        "beta = 0",
        "point under SCAR",
        "paper, low",
        "paper, high",
        "attained, low",
        "attained, high",
    ],
)
sensit_truth = 0.7696
print(f"ROC area with all labels {sensit_truth}; all 40 pairs of bounds held it")
sensit

# %% [markdown]
# The paper's bounds are narrower there because its band is pointwise; for a whole area only the
# simultaneous band has a level. In both settings the truth lies inside, and beta = 0 is far below.

# %% [markdown]
# ## What we checked

# %% tags=["check"]
values = truth.bounds()
# The truth lies inside the bounds, with beta known and with an audit.
for result in (bounds, joint):
    assert all(span.low <= values[m].low <= span.high for m, span in result.bounds().items())
assert limit.low <= beta <= limit.high

# With no label missing bounds are the metric; with beta = 0 here they are not the truth.
assert all(abs(span.width) < 1e-9 for span in values.values())
assert zero.auc().high < values["roc_auc"].low

# The ends of a range are not enough, and the paper's construction is no tighter than ours.
assert whole.low == min(each.values()) < min(each[4], each[7])
assert with_ours.low <= bounds.auc().low <= bounds.auc().high <= with_ours.high

# Our limits cover; the bootstrap does not where hidden rows are few. 3.3 standard errors of 300.
assert all(held["ours"] > 0.95 - 3.3 * (0.95 * 0.05 / 300) ** 0.5 for held in coverages.values())
assert coverages[0.8]["binomial"] < 0.85

# More known rows never widen (known negatives at a fixed number of hidden positives).
assert (by_known.loc[2_000] < 0.4 * by_known.loc[20]).all()
assert (by_negative.diff().dropna() <= 1e-12).all().all()

# The flip is where both models are equal.
assert len(sweep.flips.query("metric == 'accuracy' and series == 'point'")) > 0
assert any("no beta can flip them" in said for said in sweep.verdicts)
