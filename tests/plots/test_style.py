"""Colors: one per assumption, readable on both pages, apart for every kind of eye."""

import itertools

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from labelbayes.ladder import RUNGS
from labelbayes.plots.style import DARK, LIGHT, PALETTE, SPARE_COLORS, color_of, inks_on

#: The pages of the HTML report and of JupyterLab's two themes.
PAGES = ("#ffffff", "#161b21", "#111111")

#: What an eye without one kind of cone sees, on linear RGB (Machado, Oliveira and Fernandes,
#: "A physiologically-based model for simulation of color vision deficiency", IEEE TVCG 15(6),
#: 2009, severity 1.0).
EYES = {
    "all cones": np.eye(3),
    "no red": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "no green": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "no blue": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
) / np.array([[0.95047], [1.0], [1.08883]])


def _linear(color):
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    """Contrast ratio of WCAG 2."""
    dark, light = sorted(float(_linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (light + 0.05) / (dark + 0.05)


def distance(a, b, eye):
    """Distance of two colors in CIELAB, as one kind of eye sees them."""

    def lab(color):
        x = XYZ @ np.clip(EYES[eye] @ _linear(color), 0, 1)
        f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
        return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])

    return float(np.linalg.norm(lab(a) - lab(b)))


#: Rungs that make one assumption, and compute in different ways.
SHARED = [
    {
        "calibration with its uncertainty",
        "calibration (Bayes, Platt)",
        "calibration (Bayes, bins)",
    },
    {"calibration (Bayes, tilted)", "marginal sensitivity (odds ratio 2)"},
    {"Horvitz-Thompson", "Hajek"},
]
COLORS = sorted(set(PALETTE.values()))


def test_every_assumption_has_a_color_of_its_own() -> None:
    assert {rung.name for rung in RUNGS} == PALETTE.keys()
    for names in SHARED:
        assert len({PALETTE[name] for name in names}) == 1
    n_assumptions = len(PALETTE) - sum(len(names) - 1 for names in SHARED)
    assert len({*COLORS, *SPARE_COLORS}) == n_assumptions + len(SPARE_COLORS)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("color", [*COLORS, *SPARE_COLORS])
def test_colors_stand_out_from_every_page(color: str, page: str) -> None:
    assert contrast(color, page) >= 3.0


@pytest.mark.parametrize("eye", EYES)
def test_rungs_are_told_apart_by_every_eye(eye: str) -> None:
    assert min(distance(a, b, eye) for a, b in itertools.combinations(COLORS, 2)) > 15


def test_a_bad_palette_is_caught() -> None:
    # Matplotlib's default green and red, and a yellow.
    assert distance("#2ca02c", "#d62728", "all cones") > 100
    assert distance("#8c8c2c", "#a07f2d", "no green") < 15
    assert contrast("#ffd700", "#ffffff") < 3


def test_text_reads_on_its_page() -> None:
    for inks in (LIGHT, DARK):
        assert contrast(inks.text, inks.page) > 7
        assert contrast(inks.muted, inks.page) > 4.5


def test_a_rung_of_the_users_own_keeps_its_color() -> None:
    # Python's hash() of a text would differ between sessions; these were computed in another one.
    assert color_of("audit of March") == color_of("audit of March")
    assert [color_of(name) for name in ("my audit", "judge", "vendor")] == [
        "#c2405a",
        "#00868b",
        "#5f8a00",
    ]
    assert color_of("worst case") == PALETTE["worst case"]


def test_inks_follow_the_page() -> None:
    figure = Figure(facecolor="black")
    ax = figure.add_subplot()
    ax.set_facecolor("none")
    assert inks_on(ax) == DARK
    ax.set_facecolor("white")
    assert inks_on(ax) == LIGHT
    figure.set_facecolor("none")
    ax.set_facecolor("none")
    assert inks_on(ax) == LIGHT


def test_importing_changes_no_default() -> None:
    assert matplotlib.rcParams["axes.prop_cycle"] == matplotlib.rcParamsDefault["axes.prop_cycle"]
