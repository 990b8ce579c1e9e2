"""Windows of counts."""

import numpy as np
import pytest

from labelbayes.results.integer_law import IntegerLaw

LAW = IntegerLaw(3, np.array([0.2, 0.5, 0.3]), 9, 4.1, 0.49, 1e-40, 1e-60)


def test_window_knows_its_counts_and_its_cdf() -> None:
    assert LAW.support.tolist() == [3, 4, 5]
    assert LAW.stop == 6
    assert LAW.cdf == pytest.approx([0.2, 0.7, 1.0])
    assert LAW.cdf[-1] == 1.0


def test_cdf_ends_at_1_whatever_round_off_left() -> None:
    law = IntegerLaw(0, np.array([0.1] * 10) * (1 - 1e-12), 9, 4.5, 8.25, 0.1, 0.1)
    assert law.cdf[-1] == 1.0
    assert (law.cdf <= 1.0).all()


def test_draws_follow_the_pmf() -> None:
    drawn = LAW.draws(20_000, np.random.default_rng(0))
    assert set(drawn.tolist()) == {3, 4, 5}
    share = np.array([(drawn <= k).mean() for k in LAW.support])
    limit = np.sqrt(np.log(2 / 1e-6) / (2 * 20_000))
    assert abs(share - LAW.cdf).max() < limit
    assert abs(share - np.array([0.25, 0.7, 1.0])).max() > limit
