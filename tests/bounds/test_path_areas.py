"""Average precision: outer bounds, sharper than one step of the path at a time, and its trap."""

import numpy as np
from sklearn.metrics import average_precision_score

from labelbayes.bounds.latent_paths import Limits, Span, attained_paths, snap
from labelbayes.bounds.path_areas import precision_sum
from labelbayes.bounds.positive_unlabeled import bound_positive_unlabeled
from labelbayes.bounds.score_blocks import make_blocks
from labelbayes.data.evaluation_set import EvaluationSet


def extreme_paths(case):
    blocks, limits = make_blocks(case.evaluation), Limits(case.low, case.high)
    return blocks, attained_paths(blocks, limits, limits, Span(case.n_latent, case.n_latent))


def test_the_extreme_path_is_not_the_extreme_of_average_precision(placements) -> None:
    """With ties the value of the least path can lie above the smallest one: a planted error."""
    n_wrong = 0
    for case in placements(4, 150, most=7):
        if not case.labelings:
            continue
        blocks, paths = extreme_paths(case)
        n_positive = blocks.n_known_positive + case.n_latent
        values = [average_precision_score(y, case.evaluation.y_score) for y in case.labelings]
        naive = precision_sum(blocks, paths.least) / n_positive
        outer = bound_positive_unlabeled(case.evaluation, case.beta, band=(case.low, case.high))
        n_wrong += naive > min(values) + 1e-12
        assert outer.average_precision().low <= min(values) + 1e-12
    assert n_wrong > 0


def test_bounds_are_never_looser_than_those_of_running_extremes(placements) -> None:
    """sum dM max_{k>=j} M_k/r_k and sum dm min_{k<=j} m_k/r_k, as the known outer bounds."""
    gains = []
    for case in placements(5, 80, most=7):
        if not case.labelings:
            continue
        blocks, paths = extreme_paths(case)
        rank, n_positive = blocks.rank[1:], blocks.n_known_positive + case.n_latent
        most, least = (blocks.known_positive + path for path in (paths.greatest, paths.least))
        ahead = np.maximum.accumulate((most[1:] / rank)[::-1])[::-1]
        behind = np.minimum.accumulate(least[1:] / rank)
        found = bound_positive_unlabeled(
            case.evaluation, case.beta, band=(case.low, case.high)
        ).average_precision()
        low, high = np.diff(least) @ behind / n_positive, np.diff(most) @ ahead / n_positive
        assert found.low >= low - 1e-12
        assert found.high <= high + 1e-12
        gains.append(found.low - low)
    assert np.mean(gains) > 0.1


def test_one_labeling_has_its_own_value(monkeypatch) -> None:
    rng = np.random.default_rng(2)
    score = rng.integers(0, 30, 200)
    y_true = np.where(rng.random(200) < 0.1, 1.0, np.nan)
    evaluation = EvaluationSet(y_true, score, pos_label=1)
    for few in (20_000, 0):
        monkeypatch.setattr("labelbayes.bounds.score_blocks.FEW_SCORES", few)
        for beta, labels in ((0.0, np.nan_to_num(y_true)), (1.0, np.ones(200))):
            found = bound_positive_unlabeled(
                evaluation, beta, scar_violation=1.0
            ).average_precision()
            expected = average_precision_score(labels, score)
            np.testing.assert_allclose([found.low, found.high], expected, atol=1e-12)


def test_products_are_snapped_before_they_are_rounded() -> None:
    # Oracles, item 07, case theta_rounding: T, P, ceil and floor of T P.
    for share, n, up, down in [
        (0.29, 100, 29, 29),
        (0.07, 100, 7, 7),
        (0.57, 100, 57, 57),
        (0.14, 100, 14, 14),
        (0.28, 25, 7, 7),
        (0.58, 50, 29, 29),
        (1 / 3, 3, 1, 1),
        (3 / 7, 7, 3, 3),
        (1 / 49, 49, 1, 1),
        (0.285, 100, 29, 28),
        (0.5, 11, 6, 5),
    ]:
        product = snap(np.array(share * n))
        assert (np.ceil(product), np.floor(product)) == (up, down)
