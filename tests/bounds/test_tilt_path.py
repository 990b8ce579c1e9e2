"""A metric along a range of odds ratios: each point is what the single functions give."""

import numpy as np
import pytest

from labelbayes.bounds.sensitivity import bound_tilt
from labelbayes.bounds.tilt_path import follow_tilt
from labelbayes.data.masking import mask_mcar
from labelbayes.data.simulate import simulate_scores
from labelbayes.imputation.impute import impute
from labelbayes.laws.pemi import estimate_pemi
from labelbayes.metrics.confusion import COUNT_METRICS


@pytest.mark.parametrize("name", ["f1", "recall", "matthews_corrcoef"])
def test_path_is_made_of_laws_and_bounds(name: str) -> None:
    some = mask_mcar(simulate_scores(300, rng=0), 0.4, rng=1)
    belief = impute(some, n_refits=4, rng=2)
    path = follow_tilt(some, belief, COUNT_METRICS[name], 3.0, n_steps=3, ci_prob=0.9)
    np.testing.assert_allclose(path.odds_ratio, 3.0 ** (np.arange(-3, 4) / 3), rtol=1e-14)
    for i, odds_ratio in enumerate(path.odds_ratio.tolist()):
        law = estimate_pemi(some, belief.tilt(odds_ratio), metrics=[name])[name]
        span = law.interval(0.9)
        assert (path.mean[i], path.low[i], path.high[i]) == (law.mean, span.low, span.high)
        # The two ways round one factor may differ in its last bit.
        factor = max(odds_ratio, 1 / odds_ratio, 1.0)
        outer = bound_tilt(some, belief, factor, metrics=[name], ci_prob=0.9)[name]
        assert path.lowest[i] == pytest.approx(outer.low, abs=1e-12)
        assert path.highest[i] == pytest.approx(outer.high, abs=1e-12)
    # A planted error: the bounds of one factor are not those of the next.
    assert abs(path.lowest[0] - path.lowest[1]) > 1e-3
