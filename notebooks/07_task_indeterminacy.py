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
# # Raters and judges: when an item has several valid answers
#
# **Question.** A judge's verdicts are compared with what raters picked. Raters disagree, some items
# have several valid answers, some verdicts are missing. How often is the judge right, which of two
# judges is better, and what is the true pass rate?
#
# **Answer in one sentence.** Agreement with the raters' pick (M) is not the share of valid verdicts
# (M*): M falls while M* may rise, so M* is bounded or learned from elicited response sets, and a
# judge's pass rate is corrected for its errors.
#
# **Assumption.** Answers come from a fixed list of options (open-ended outputs are out of scope),
# and items are independent. Twenty minutes to read.

# %%
import numpy as np
import pandas as pd

import labelbayes as lb
from labelbayes.bounds import choice_models

# %% [markdown]
# ## Reading ratings
#
# A table has a row per rating. An answer is one option (a *forced choice*), a list of options (a
# *response set*: all that the rater holds valid), or nothing; a verdict that could not be read is
# `"unparseable"`, one that never came `"errored"`. Scored, unparseable, errored and missing are
# counted apart: a missing verdict is never a wrong one, nor a right one.

# %%
ratings = lb.read_ratings(
    "results/ratings.jsonl",
    item="question",
    rater_group="group",  # "rater", "answer" by default
)
ratings

# %%
lb.split_variation(ratings).round(3)

# %% [markdown]
# Most of the variation of the choices lies between items, twice its share by chance; rater groups
# do not differ on the same item by more than chance.
#
# ## M falls while M* rises
#
# A judge that picks a valid answer 70% of the time, and raters who pick one at random among the
# valid ones. The more items are indeterminate, the less often the two picks meet.

# %%
rows = {}
for rate in (0.0, 0.2, 0.5, 0.8):
    world = lb.simulate_ratings(
        20_000, n_options=4, n_ratings=1, indeterminate_rate=rate, rng=round(10 * rate)
    )
    match = lb.bound_response_sets(world.y_judge, world.ratings)["gold_match"]
    rows[rate] = {"M": match.low, "M*": world.valid_match}
sweep = pd.DataFrame.from_dict(rows, orient="index").rename_axis("share indeterminate")
sweep.round(3)

# %% [markdown]
# ## Bounds of M*
#
# On a determinate item the one valid answer is the gold label. On others a verdict that differs
# from it may be valid or not. Knowing only how many items are indeterminate gives the *prevalence*
# bound, marking which ones the tighter *partition* bound. Marks by disagreement miss items that
# look determinate by chance (three raters who choose evenly between two options agree in a quarter
# of the cases), so the partition bound always carries its miss allowance. The judge broke on ten
# items.

# %%
world = lb.simulate_ratings(400, n_options=4, n_ratings=5, n_audited=100, judge_accuracy=0.9, rng=1)
verdicts = world.y_judge.copy()
verdicts[:6], verdicts[6:10] = "unparseable", "errored"
n_several = int((world.ratings.response_sets.sum(axis=1) > 1).sum())
audit = lb.Audit(n_several, 100 - n_several)  # of 100 items whose response sets were elicited
found = {
    "how many are indeterminate (audit)": lb.bound_response_sets(
        verdicts, world.ratings, construction="prevalence", indeterminate_rate=audit
    ),
    "which ones, by disagreement": lb.bound_response_sets(verdicts, world.ratings),
}
ax = lb.plots.plot_response_sets(found)

# %%
print(*found["which ones, by disagreement"].notes, sep="\n")
wide = lb.bound_response_sets(verdicts, world.ratings, target="population")
print("Items drawn like these:", wide["valid_match"])

# %% [markdown]
# With two options any answer to an indeterminate item is valid, and the partition identifies M*.
#
# ## Raw bounds fail, adjusted ones hold
#
# How often do bounds contain the truth when raters err? "Raw" are the bare bounds of these items
# without miss allowance and rater error, against M* of these items; "adjusted" are the intervals of
# the population with both, against its M*.

# %%
TRUTH = 0.2 + 0.8 * 0.95  # three options: P(all valid) = 0.4 / 2, else the judge's accuracy
coverage = {}
for error in (0.0, 0.1, 0.2):
    inside = {"raw": 0, "adjusted": 0}
    for seed in range(60):
        some = lb.simulate_ratings(
            300, n_ratings=3, rater_error=error, judge_accuracy=0.95, rng=seed
        )
        judged = some.y_judge, some.ratings
        raw = lb.bound_response_sets(*judged, agreement=0.8, miss_allowance=0.0)
        full = lb.bound_response_sets(
            *judged, agreement=0.8, rater_error=error, target="population"
        )
        inside["raw"] += some.valid_match in raw["valid_match"]
        inside["adjusted"] += TRUTH in full["valid_match"]
    coverage[error] = {name: count / 60 for name, count in inside.items()}
pd.DataFrame.from_dict(coverage, orient="index").rename_axis("rater error").round(2)

# %% [markdown]
# ## From forced choices to response sets
#
# A law of forced choices O and a law of response sets theta are joined by O = F theta. Paired
# ratings (one rater gives a choice and a set) tell F and its reverse; without them one parameter
# says how often an option is valid though another was chosen.

# %%
_, reverse = choice_models.pool_choices(ratings)
shares = ratings.count_array.sum(axis=0) / ratings.count_array.sum()
table = {
    "chosen": shares,
    "valid, by paired ratings": choice_models.memberships_from_choices([shares], reverse)[0],
}
for beta in (0.0, 0.25, 0.5):
    one = choice_models.sensitive_reverse(3, ratings.options.index("wrong"), beta)
    table[f"valid, beta = {beta}"] = choice_models.memberships_from_choices([shares], one)[0]
pd.DataFrame(table, index=ratings.options).round(3)

# %% [markdown]
# ## Agreement on forced choices picks the wrong judge
#
# Is an answer unsafe? On many items both "unsafe" and "safe" are valid readings. People who hold
# both valid say "safe" nine times in ten. Judge A copies that habit but judges validity poorly,
# judge B judges validity well but says "unsafe" where both are valid.

# %%
rng = np.random.default_rng(5)
members = choice_models.membership(2)  # options: unsafe, safe
theta = rng.dirichlet([0.4, 0.4, 0.6], 200)
HABITS = {"safe": 0.1, "unsafe": 0.9}  # P(say "unsafe" | both are valid)


def answer(law, habit):
    """Return the law of the forced choice and P(option valid)."""
    choice = np.array([[1, 0, HABITS[habit]], [0, 1, 1 - HABITS[habit]]])
    return law @ choice.T, law @ members.T


noise = rng.dirichlet([0.4, 0.4, 0.6], 200)
human = answer(theta, "safe")
judges = {
    # A mixes up "unsafe only" and "both", which the habit hides in the forced choice.
    "judge A": answer(
        np.stack([theta[:, 0], theta[:, 1] + 0.9 * theta[:, 2], 0.1 * theta[:, 2]], 1), "safe"
    ),
    "judge B": answer(0.9 * theta + 0.1 * noise, "unsafe"),
}
scores = lb.score_judges(judges, human, decision_options=[0])
ax = lb.plots.plot_agreement(scores)

# %% [markdown]
# Every measure of forced choice prefers A; what matters downstream (is "unsafe" a valid reading?)
# prefers B.
#
# ## Which judge is better for certain?
#
# Pairs are compared item by item, over every valid set that fits the ratings.

# %%
world = lb.simulate_ratings(600, n_ratings=5, indeterminate_rate=0.2, judge_accuracy=0.95, rng=7)
letters = np.array(world.ratings.options, dtype=object)
careless = np.where(rng.random(600) < 0.5, letters[rng.integers(3, size=600)], world.y_judge)
near = np.where(rng.random(600) < 0.04, letters[rng.integers(3, size=600)], world.y_judge)
pairs = lb.rank_models(
    {"careful": world.y_judge, "near": near, "careless": careless}, world.ratings
)
pairs[["first", "second", "gold_difference", "low", "high", "order", "reason"]].round(3)

# %% [markdown]
# ## A rewritten instruction
#
# The same items under a vague and a clear instruction: how much of the gap M* - M goes away?

# %%
versions = {}
for name, rate in (("vague", 0.6), ("clear", 0.1)):
    some = lb.simulate_ratings(300, indeterminate_rate=rate, n_audited=300, rng=11)
    versions[name] = (some.y_judge, some.ratings)
gap = lb.compare_instructions(versions["vague"], versions["clear"], target="population")
gap.summary()[["low", "high", "ci_prob", "ci_kind"]].round(3)

# %% [markdown]
# ## The judge as a classifier
#
# Human labels on some items, the judge's verdict on all: an `EvaluationSet` with missing labels,
# and every metric has its law. The pass rate itself is corrected for the judge's errors: the
# posterior, Rogan and Gladen's estimate, or the prediction-powered mean.

# %%
rng = np.random.default_rng(12)
passes = rng.random(2_000) < 0.6
verdict = np.where(passes, rng.random(2_000) < 0.9, rng.random(2_000) < 0.25).astype(int)
labels = np.where(np.arange(2_000) < 200, passes, np.nan)
judged = lb.EvaluationSet(labels, y_pred=verdict)
metrics = ["accuracy", "precision", "recall"]
lb.estimate_labeled(judged, metrics=metrics).summary()[["mean", "low", "high"]].round(3)

# %%
rates = {
    method: lb.estimate_pass_rate(verdict, labels, method=method)
    for method in ("posterior", "rogan_gladen", "prediction_powered")
}
print(f"the judge's own pass rate: {verdict.mean():.3f}; truth: {passes.mean():.3f}")
lb.stack(rates)[["mean", "low", "high", "statement"]].round(3)

# %% [markdown]
# ## A posterior of response sets
#
# For two options `build_rating_sets` learns the share of items with two valid answers, the rater
# error and M* at once. Repeated ratings or response sets identify them; one forced choice per item
# does not, and the model says so. For three options it refuses.

# %%
two = lb.simulate_ratings(
    200, n_options=2, n_ratings=5, rater_error=0.08, judge_accuracy=0.83, n_audited=40, rng=3
)
posterior = lb.sample(lb.build_rating_sets(two.ratings, two.y_judge), draws=500, tune=500, rng=1)
once = lb.simulate_ratings(200, n_options=2, n_ratings=1, rng=3)
print(lb.build_rating_sets(once.ratings, once.y_judge).notes[0])
try:
    lb.build_rating_sets(world.ratings, world.y_judge)
except ValueError as refusal:
    print(refusal)

# %% tags=["mcmc"]
print(posterior.estimates()["valid_match"], "truth", round(two.valid_match, 3))
posterior.contraction()[["prior_sd", "posterior_sd", "contraction"]].round(3)

# %% [markdown]
# ## What we checked

# %% tags=["check"]
# M and M* of the simulated process in closed form, within four standard errors.
closed = {0.0: (0.7, 0.7), 0.2: (0.6156, 0.72), 0.5: (0.4889, 0.75), 0.8: (0.3622, 0.78)}
for rate, (m, valid) in closed.items():
    assert abs(sweep.loc[rate, "M"] - m) < 4 * 0.5 / np.sqrt(20_000)
    assert abs(sweep.loc[rate, "M*"] - valid) < 4 * 0.5 / np.sqrt(20_000)
assert (sweep["M"].diff().dropna() < 0).all()
assert (sweep["M*"].diff().dropna() > 0).all()

# Missing verdicts widen M by their share, to both sides of nothing.
match = found["which ones, by disagreement"]["gold_match"]
assert np.isclose(match.width, 10 / 400)

# Adjusted bounds hold, raw ones fail, with and without rater error.
for share in coverage.values():
    assert share["adjusted"] >= 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / 60)
    assert share["raw"] < 0.8

# Forced choice prefers judge A, response sets and decisions judge B.
for measure in ("hit_rate", "cohen_kappa", "krippendorff_alpha"):
    assert scores[measure].idxmax() == "judge A"
assert scores["js_distance"].idxmin() == scores["kl_human_judge"].idxmin() == "judge A"
assert scores["mse"].idxmin() == scores["consistency"].idxmax() == "judge B"

# The careless judge is worse for certain; a near copy is left open.
order = pairs.set_index(["first", "second"])["order"]
assert order["careful", "careless"] == "careful"
assert order["careful", "near"] == "open"

# The clear instruction removes most of the gap.
assert gap["gap_difference"].low > 0

# Three corrected pass rates hold the truth; the judge's own does not.
for result in rates.values():
    assert passes.mean() in result["pass_rate"].interval(0.999)
assert abs(verdict.mean() - passes.mean()) > 0.03

# The posterior holds the truth, and passes its gate.
assert posterior.diagnostics.ok
assert two.valid_match in posterior.estimates()["valid_match"].interval(0.999)
