"""The written page in a real browser: it opens, shows its figures, and follows the scheme."""

import functools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.report.build import Report, build_report
from labelbayes.report.write import write_report

pytestmark = pytest.mark.browser

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
]
WIDTHS = {"wide": 1280, "narrow": 400}


@functools.cache
def _report() -> Report:
    scores = [0.81, 0.35, 0.77, 0.22, 0.66, 0.71, 0.58, 0.31, 0.12, 0.44, 0.19, 0.05]
    known = [1, 0, None, 0, 1, None, 0, 1, None, None, 0, 0]
    truth = EvaluationSet([1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0], scores)
    return build_report(
        EvaluationSet(known, scores, group=["north", "south"] * 6),
        truth=truth,
        title="Twelve & more rows",
        rng=0,
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("there is no chromium on the PATH, and CI must have one")
        pytest.skip("there is no chromium on the PATH")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    place: Path = tmp_path_factory.mktemp("page") / "out"
    return write_report(_report(), place)["html"].as_uri()


def _open(browser: Browser, address: str, scheme: str, width: int) -> tuple[Page, list[str]]:
    context = browser.new_context(
        color_scheme=scheme,  # type: ignore[arg-type]
        viewport={"width": width, "height": 900},
    )
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(f"asked for {request.url}"))
    page.goto(address)
    return page, complaints


def _brightness(page: Page, element: str, what: str) -> float:
    color = page.eval_on_selector(element, f"e => getComputedStyle(e).{what}")
    red, green, blue = (int(part) for part in color.strip("rgb()").split(","))
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_opens_and_shows_everything(
    browser: Browser, address: str, scheme: str, width: str
) -> None:
    page, complaints = _open(browser, address, scheme, WIDTHS[width])
    report = _report()
    assert complaints == [f"asked for {address}"]
    assert page.title() == "Twelve & more rows"
    rows = page.locator("table").nth(1).locator("tbody tr")
    assert rows.count() == len(report.ladder.results) + 1
    assert page.locator("table").nth(1).is_visible()
    groups = page.locator("table").nth(2).locator("tbody tr")
    assert groups.count() == 2
    figures = page.locator("figure svg")
    assert figures.count() == 2 * len(report.ladder.metrics)
    for i in range(figures.count()):
        box = figures.nth(i).bounding_box()
        assert box is not None
        assert box["width"] > 250
        assert box["height"] > 120
        assert box["x"] + box["width"] <= WIDTHS[width]
    # Only the tables scroll sideways, never the page.
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width]
    is_dark = scheme == "dark"
    assert (_brightness(page, "body", "backgroundColor") < 0.5) == is_dark
    assert (_brightness(page, "body", "color") > 0.5) == is_dark
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_words_in_figures_stand_out_from_the_card(
    browser: Browser, address: str, scheme: str
) -> None:
    page, _ = _open(browser, address, scheme, 1280)
    fills = page.eval_on_selector_all(
        "figure svg g[style*='--ink']", "all => all.map(e => getComputedStyle(e).fill)"
    )
    assert fills
    card = _brightness(page, "figure", "backgroundColor")
    for fill in set(fills) - {"none"}:
        red, green, blue = (int(part) for part in fill.strip("rgb()").split(","))
        assert abs((0.299 * red + 0.587 * green + 0.114 * blue) / 255 - card) > 0.5
    page.context.close()


def test_a_page_with_faults_is_caught(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(
        "<title>x</title><body><img src='gone.png'><div style='width:900px'>wide</div>"
        "<script>undefinedName()</script>"
    )
    page, complaints = _open(browser, path.as_uri(), "light", 400)
    assert any("undefinedName" in text for text in complaints)
    assert any("gone.png" in text for text in complaints)
    assert page.evaluate("document.documentElement.scrollWidth") > 400
    page.context.close()
