"""Groups of labels that no fit can tell apart, and the weights drawn for them."""

import numpy as np

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.imputation.label_weights import weigh_labels


def make_rows(order=None):
    rng = np.random.default_rng(0)
    label = rng.choice([0.0, 1.0, np.nan], 60)
    score, count = rng.choice([0.1, 0.2, 0.3], 60), rng.integers(1, 4, 60)
    order = np.arange(60) if order is None else order
    return EvaluationSet(label[order], score[order], count=count[order])


def draw(rows, clusters=None, sample_weight=None):
    weights = weigh_labels(rows, sample_weight, clusters)
    pooled = weights.pool([rows.y_score[weights.row]])
    return pooled, pooled.draw(np.random.default_rng(3))


def test_groups_hold_all_labels_and_weights():
    rows = make_rows()
    pooled, _ = draw(rows)
    assert len(pooled.row) == 6
    assert pooled.count.sum() == rows.n_labeled
    for row, label, count in zip(pooled.row, pooled.label, pooled.count, strict=True):
        alike = (rows.y_true == label) & (rows.y_score == rows.y_score[row])
        assert count == rows.count[alike].sum()


def test_draws_depend_neither_on_order_nor_on_names_of_rows():
    order = np.random.default_rng(1).permutation(60)
    cluster = np.arange(60) % 7
    weight = np.where(np.arange(60) % 2, 0.5, 2.0)
    for options in ({}, {"clusters": cluster}, {"sample_weight": weight}):
        shuffled = {name: values[order] for name, values in options.items()}
        np.testing.assert_array_equal(
            draw(make_rows(), **options)[1], draw(make_rows(order), **shuffled)[1]
        )


def test_rows_of_a_cluster_share_one_draw():
    rows = make_rows()
    pooled, drawn = draw(rows, clusters=np.arange(60) % 7)
    per_label = drawn / pooled.weight
    assert len(np.unique(per_label.round(12))) == 7
    for cluster in range(7):
        assert np.ptp(per_label[pooled.cluster == cluster]) < 1e-12


def test_sample_weights_have_mean_one_over_the_labels():
    rows = make_rows()
    weights = weigh_labels(rows, np.arange(60), None)
    np.testing.assert_allclose(weights.weight.sum(), weights.count.sum(), rtol=1e-12)
    assert not (rows.y_true[weights.row] != weights.label).any()
    assert 0 not in weights.row  # its weight is 0
    assert not weights.is_plain
    assert weigh_labels(rows, np.full(60, 3.0), None).is_plain


def test_huge_and_tiny_weights_do_not_overflow():
    for unit in (1e308, 1e-308):
        weights = weigh_labels(make_rows(), np.full(60, unit), None)
        np.testing.assert_allclose(weights.scale, 1, rtol=1e-12)
