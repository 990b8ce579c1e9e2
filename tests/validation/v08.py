"""V8: positive-unlabeled bands cover the latent rows, at cutoffs, along curves and with an audit.

Known and latent positives are N(1, 1), negatives N(0, 1). The bootstrap band is in every table and
is to fail.
"""

import time

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from labelbayes.bounds.beta_prior import Audit
from labelbayes.bounds.positive_unlabeled import bound_positive_unlabeled
from labelbayes.bounds.rank_bands import Band
from labelbayes.data.evaluation_set import EvaluationSet

SEED = 20261108
LEVEL = 0.95
KNOWN = (30, 100, 300)
RATIOS = (0.25, 1.0, 4.0, 19.0)
CUTS = (0.005, 0.02, 0.2, 0.5)
#: (known, ratio, cut): one where the bootstrap is nearly right, two where it fails.
QUICK = ((100, 19.0, 0.5), (100, 0.25, 0.2), (100, 1.0, 0.005))
NAMES = ("predictive", "binomial")


def at_cutoff(known: int, ratio: float, cut: float, n: int, seed: int) -> dict[str, float]:
    """Return how often each band's limits hold the latent rows above a cutoff."""
    rng = np.random.default_rng(seed)
    latent = int(known * ratio)
    found = {"known": known, "ratio": ratio, "cut": cut, "n": n}
    above_known, above_latent = rng.binomial(known, cut, n), rng.binomial(latent, cut, n)
    for name in NAMES:
        band = Band(name, LEVEL, 0.0)
        limits = np.array([band.counts(k, known, latent) for k in range(known + 1)])[above_known]
        inside = (limits[:, 0] - 1e-9 <= above_latent) & (above_latent <= limits[:, 1] + 1e-9)
        found[name] = float(inside.mean())
    return found


def along_curve(known: int, ratio: float, n: int, seed: int) -> dict[str, float]:
    """Return how often each band holds the whole distribution of the latent rows."""
    rng = np.random.default_rng(seed)
    latent = int(known * ratio)
    found = {"known": known, "ratio": ratio, "n": n} | dict.fromkeys(NAMES, 0.0)
    for _ in range(n):
        is_known = rng.permutation(known + latent) < known
        counts, share = np.cumsum(is_known), np.cumsum(~is_known) / latent
        for name in NAMES:
            band = Band(name, LEVEL, 0.0).curve(counts, known, latent, smooth=False)
            inside = (band.low - 1e-12 <= share) & (share <= band.high + 1e-12)
            found[name] += bool(inside.all()) / n
    return found


def one_set(rng: np.random.Generator, known: int, n: int, beta: float) -> tuple[EvaluationSet, ...]:
    """Return unlabeled rows with known positives beside them, and the same with all labels."""
    truth = np.concatenate([np.ones(known), rng.random(n) < beta])
    score = rng.normal(truth, 1.0)
    y_true = truth.copy()
    y_true[known:] = np.nan
    threshold = float(norm.isf(0.5) + 1)
    return (
        EvaluationSet(y_true, score, pos_label=1, threshold=threshold),
        EvaluationSet(truth, score, threshold=threshold),
    )


def with_audit(known: int, n_rows: int, n_audited: int, n: int, seed: int) -> dict[str, float]:
    """Return how often joint bounds hold the truth, with an audit for beta."""
    rng = np.random.default_rng(seed)
    found = {"known": known, "rows": n_rows, "audited": n_audited, "n": n}
    found |= dict.fromkeys(("roc_auc", "precision", "recall", "all", "roc_auc_beta_wrong"), 0.0)
    for _ in range(n):
        some, complete = one_set(rng, known, n_rows, 0.45)
        positive = int(complete.y_true[rng.permutation(n_rows)[:n_audited] + known].sum())
        result = bound_positive_unlabeled(some, Audit(positive, n_audited - positive))
        counts = complete.counts
        truth = {
            "roc_auc": roc_auc_score(complete.y_true, complete.y_score),
            "precision": counts.tp / (counts.tp + counts.fp),
            "recall": counts.tp / (counts.tp + counts.fn),
        }
        bounds = result.bounds(list(truth))
        inside = {name: value in bounds[name] for name, value in truth.items()}
        for name, held in inside.items():
            found[name] += held / n
        found["all"] += all(inside.values()) / n
        # Planted error: all unlabeled rows taken for negatives.
        wrong = bound_positive_unlabeled(some, 0.0).auc()
        found["roc_auc_beta_wrong"] += (truth["roc_auc"] in wrong) / n
    return found


def gate(n: int) -> float:
    """Return the smallest share that 95% coverage leaves in n replications, at 3.3 SE."""
    return LEVEL - 3.3 * float(np.sqrt(LEVEL * (1 - LEVEL) / n))


def run(*, full: bool) -> dict[str, pd.DataFrame]:
    """Return the three tables, in full or with the cells that tell right from wrong."""
    cells = [(k, r, c) for k in KNOWN for r in RATIOS for c in CUTS] if full else QUICK
    n_cut, n_curve, n_audit = (4_000, 1_000, 1_000) if full else (400, 400, 60)
    curves = [(k, r) for k in KNOWN for r in RATIOS] if full else [(100, 1.0)]
    audits = [(100, 1_000, 300), (100, 500, 300), (300, 4_000, 300)] if full else [(100, 500, 300)]
    return {
        "cutoff": pd.DataFrame([at_cutoff(*cell, n_cut, SEED + i) for i, cell in enumerate(cells)]),
        "curve": pd.DataFrame(
            [along_curve(*cell, n_curve, SEED + i) for i, cell in enumerate(curves)]
        ),
        "audit": pd.DataFrame(
            [with_audit(*cell, n_audit, SEED + i) for i, cell in enumerate(audits)]
        ),
    }


def is_as_expected(tables: dict[str, pd.DataFrame]) -> bool:
    """Our bands hold, and the bootstrap fails where it must."""
    cutoff, curve, audit = (tables[name] for name in ("cutoff", "curve", "audit"))
    holds = all((table["predictive"] >= table["n"].map(gate)).all() for table in (cutoff, curve))
    holds &= bool(
        (audit[["roc_auc", "precision", "recall"]].ge(audit["n"].map(gate), axis=0)).all(axis=None)
    )
    # With hardly a latent row above the cutoff any limits hold.
    is_seen = cutoff["known"] * cutoff["ratio"] * cutoff["cut"] >= 0.5
    narrow = cutoff[is_seen & (cutoff["ratio"] <= 1.0)]["binomial"].max()
    fails = narrow < 0.93 and curve["binomial"].max() < 0.5
    return bool(holds and fails and audit["roc_auc_beta_wrong"].max() < 0.2)


def main() -> bool:
    """Run all cells and say whether every band did what it should."""
    start = time.perf_counter()
    tables = run(full=True)
    for name, table in tables.items():
        print(f"\n{name}\n{table.round(4).to_string(index=False)}", flush=True)
    is_fine = is_as_expected(tables)
    print(f"\n{time.perf_counter() - start:.0f} s; all as expected: {is_fine}")
    return is_fine
