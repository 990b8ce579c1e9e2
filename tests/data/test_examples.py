"""The breast cancer example: complete, out of fold, malignant positive."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from labelbayes.data.examples import load_breast_cancer_scores


def test_malignant_is_positive_and_the_scores_rank_it_high() -> None:
    evaluation = load_breast_cancer_scores()
    data = load_breast_cancer()
    assert data.target_names[0] == "malignant"
    np.testing.assert_array_equal(evaluation.y_true, data.target == 0)
    assert evaluation.n_unlabeled == 0
    assert evaluation.notes == ()
    # scikit-learn's own area; out-of-fold logistic regression is known to reach 0.99 here.
    assert roc_auc_score(evaluation.y_true, evaluation.y_score) > 0.99


def test_the_seed_draws_the_folds() -> None:
    default, one, same = (load_breast_cancer_scores(rng=rng) for rng in (None, 1, 1))
    np.testing.assert_array_equal(one.y_score, same.y_score)
    assert not np.array_equal(one.y_score, default.y_score)
