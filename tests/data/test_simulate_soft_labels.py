"""Simulated soft labels have the optimum that they claim."""

import numpy as np
import pytest

from labelbayes.data.simulate_soft_labels import simulate_soft_labels

CASES = (
    # Oracle item08, two_gaussians_exact: prevalence, distance, error, BER, AUC.
    (0.2, 2 * np.sqrt(2), 0.0582904627937836, 0.0786496035251426, 0.977249868051821),
    (0.4, 2 * np.sqrt(2), 0.0765564608392389, 0.0786496035251426, 0.977249868051821),
    (0.5, 1.0, 0.308537538725987, 0.308537538725987, 0.760249938906523),
    (0.1, np.sqrt(0.75), 0.0995710656758287, 0.332502771051015, 0.72985431269629),
    (0.3, 0.0, 0.3, 0.5, 0.5),
    (0.01, 3.0, 0.00633018829013746, 0.0668072012688581, 0.983052573237655),
)


@pytest.mark.parametrize(("prevalence", "distance", "error", "ber", "roc_auc"), CASES)
def test_truths_equal_the_oracle(prevalence, distance, error, ber, roc_auc) -> None:
    found = simulate_soft_labels(5, prevalence=prevalence, distance=distance, rng=0)
    assert (found.error, found.ber, found.roc_auc) == pytest.approx(
        (error, ber, roc_auc), abs=1e-14
    )


def test_labels_follow_the_probabilities() -> None:
    found = simulate_soft_labels(40_000, rng=1)
    # Four standard errors of a mean of 40,000 labels.
    assert found.y_true.mean() == pytest.approx(0.2, abs=0.008)
    for low, high in ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.0)):
        inside = (found.eta >= low) & (found.eta < high)
        gap = found.y_true[inside].mean() - found.eta[inside].mean()
        assert abs(gap) < 4 * 0.5 / np.sqrt(inside.sum())
    # The mean of min(eta, 1 - eta) is the optimal error: sd about .13.
    assert np.minimum(found.eta, 1 - found.eta).mean() == pytest.approx(found.error, abs=0.003)


def test_distortion_keeps_the_order_and_noise_does_not() -> None:
    plain = simulate_soft_labels(500, slope=1, shift=0.5, rng=2)
    np.testing.assert_allclose(plain.soft_labels, plain.eta, rtol=1e-12)
    bent = simulate_soft_labels(500, rng=2)
    np.testing.assert_array_equal(np.argsort(bent.soft_labels), np.argsort(bent.eta))
    noisy = simulate_soft_labels(500, noise_sd=0.5, rng=2)
    assert (np.argsort(noisy.soft_labels) != np.argsort(noisy.eta)).any()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"prevalence": 1.0}, "strictly between 0 and 1; got 1.0"),
        ({"distance": -1}, "`distance` must not be negative; got -1"),
        ({"noise_sd": -0.1}, "`noise_sd` must not be negative"),
        ({"slope": 0}, "`slope` must be positive, to keep the order; got 0"),
        ({"shift": 1.5}, "`shift` must lie strictly between"),
    ],
)
def test_bad_options(options: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        simulate_soft_labels(10, **options)
