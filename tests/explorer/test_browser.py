"""The page in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import io
import math
import os
import shutil
from typing import Any

import pytest
from PIL import Image

CHROMIUM = shutil.which("chromium")
if CHROMIUM is None and not os.environ.get("CI"):
    pytest.skip("needs Debian's chromium: apt-get install chromium", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")


@pytest.fixture(scope="session")
def browser():
    assert CHROMIUM is not None, "chromium is missing where CI must have it"
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, headless=True)
        yield started, playwright.devices
        started.close()


@pytest.fixture
def visit(browser, address):
    """Opens the page; what it did wrong is looked at in the end."""
    started, devices = browser
    errors, contexts = [], []

    def open_page(device: str | None = None, **settings: Any) -> Any:
        size = devices[device] if device else {"viewport": {"width": 1280, "height": 800}}
        contexts.append(started.new_context(**{**size, **settings}))
        page = contexts[-1].new_page()
        page.on("console", lambda m: m.type in ("error", "warning") and errors.append(m.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda r: r.url.startswith(f"{address}/") or errors.append(r.url))
        page.goto(f"{address}/")
        page.wait_for_selector("#app:not([aria-busy])")
        return page

    open_page.errors = errors
    yield open_page
    for context in contexts:
        for page in context.pages:
            assert page.evaluate("window.pwned") is None, "text of the corpus became a script"
        context.close()
    assert errors == []


def search(page: Any, query: str) -> None:
    page.fill("#query", query)
    page.wait_for_function(
        "query => document.querySelector('#panel .row .text')?.textContent === query", arg=query
    )


def canvas(page: Any) -> Any:
    return page.locator("#maps .map canvas").nth(1)


def place_of(page: Any, row: int) -> tuple[float, float]:
    """Where a sentence lies on the screen, computed as the page does from what the server gives."""
    places = page.evaluate(
        """async () => Array.from(new Uint16Array(await (await fetch('api/map/0/pca')).arrayBuffer()))"""
    )
    points = [(places[i] / 65535, places[i + 1] / 65535) for i in range(0, len(places), 2)]

    def ends(axis: int) -> tuple[float, float]:
        values = sorted(point[axis] for point in points)
        edge = math.floor(len(values) * 0.005)
        return values[edge], values[len(values) - 1 - edge]

    (left, right), (top, bottom) = ends(0), ends(1)
    box = canvas(page).bounding_box()
    scale = 0.86 * min(box["width"] / (right - left), box["height"] / (bottom - top))
    x, y = points[row]
    return (
        box["x"] + (x - (left + right) / 2) * scale + box["width"] / 2,
        box["y"] + (y - (top + bottom) / 2) * scale + box["height"] / 2,
    )


def test_a_query_shows_results_of_both_models(visit, texts):
    page = visit()
    search(page, texts[5])
    columns = page.locator("#panel .columns section")
    assert columns.count() == 2
    for column in columns.all():
        assert column.locator(".row").count() == 20
        assert column.locator(".row .text").first.text_content() == texts[5]
    assert page.locator("#panel .row.gained").count() == page.locator("#panel .row.lost").count()


def test_a_point_is_hovered_and_clicked(visit, texts, explorer):
    page = visit()
    # A point that no other one hides.
    places = explorer.maps.points(0, "pca")
    distances = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    distances[range(len(places)), range(len(places))] = 9
    row = int(distances[:100].min(axis=1).argmax())
    x, y = place_of(page, row)
    page.mouse.move(x, y)
    page.wait_for_function(
        "text => document.querySelector('#tip').textContent.includes(text)", arg=texts[row]
    )
    page.mouse.click(x, y)
    page.wait_for_selector("#panel .sentence")
    assert page.locator("#panel .sentence p").text_content() == texts[row]
    kinds = [page.locator(f"#panel .row.{kind}").count() for kind in ("gained", "kept", "lost")]
    assert kinds[0] + kinds[1] == 10
    assert kinds[0] == kinds[2]
    page.mouse.click(*[edge + 2 for edge in list(canvas(page).bounding_box().values())[:2]])
    page.wait_for_selector("#tab-selected", state="hidden")


PICTURE = "document.querySelectorAll('#maps canvas')[0].toDataURL()"


def test_models_and_colors_are_switched(visit, explorer):
    page = visit(reduced_motion="reduce")
    first = page.evaluate(PICTURE)
    for group in ("models", "colors"):
        page.click(f"#{group} button:nth-child(2)")
        page.wait_for_function(f"before => {PICTURE} !== before", arg=first)
        page.click(f"#{group} button:nth-child(1)")
        page.wait_for_function(f"before => {PICTURE} === before", arg=first)
    page.click("#colors button:has-text('kind')")
    page.wait_for_function(f"before => {PICTURE} !== before", arg=first)
    assert page.locator("#legend").text_content().split() == ["even", "odd"]
    page.click("#models button:nth-child(3)")
    page.wait_for_function("() => document.querySelectorAll('#maps .map').length === 2")
    captions = [one.text_content() for one in page.locator("#maps .map p").all()]
    assert captions == ["max pooling", "mean pooling"]
    page.click("#tab-changed")
    page.wait_for_selector("#panel .histogram")
    shown = page.locator("#panel .row").first
    assert int(shown.get_attribute("data-id")) == explorer.change.order[0]
    shown.click()
    page.wait_for_selector("#panel .sentence")


def test_search_by_words_among_the_rows_with_a_value(visit, texts):
    page = visit()
    search(page, texts[5])
    page.select_option("#by", "words")
    page.select_option("#column", "kind")
    page.fill("#value", "even")
    page.wait_for_function(
        "() => [...document.querySelectorAll('#panel .row')].every(row => row.dataset.id % 2 === 0)"
    )
    assert page.locator("#panel .row .why").first.text_content()


def test_topics_open_and_the_lasso_selects(visit, explorer):
    page = visit()
    page.click("#tab-topics")
    assert page.locator("#panel [data-topic]").count() == len(explorer.topics.topics) + (
        explorer.topics.outliers > 0
    )
    page.click("#panel [data-topic='0']")
    assert page.locator("#panel .topics .parts .row").count() >= 5
    box = canvas(page).bounding_box()
    page.click("#lasso")
    corners = [(0.02, 0.1), (0.98, 0.1), (0.98, 0.98), (0.02, 0.98)]
    for n, (x, y) in enumerate([*corners, corners[0]]):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
        if n == 0:
            page.mouse.down()
    page.mouse.up()
    page.wait_for_selector("#panel .chips")
    assert int(page.locator("#panel h2").text_content().split()[0]) > 0.9 * len(explorer)
    assert page.locator("#lasso").get_attribute("aria-pressed") == "false"


def test_everything_can_be_done_by_keyboard(visit, texts):
    page = visit()
    press = page.keyboard.press
    press("/")
    page.keyboard.type(texts[9])
    page.wait_for_function(
        "text => document.querySelector('#panel .row .text')?.textContent === text", arg=texts[9]
    )
    press("ArrowDown")
    press("Enter")
    page.wait_for_selector("#panel .sentence")
    assert page.locator("#panel .sentence p").text_content() == texts[9]
    press("Escape")
    page.wait_for_selector("#tab-selected", state="hidden")
    page.focus("#tab-found")
    press("ArrowRight")
    page.wait_for_selector("#panel .topics")
    press("m")
    assert page.locator("#models [aria-pressed=true]").text_content() == "max pooling"
    press("m")
    press("m")
    press("c")
    assert page.locator("#colors [aria-pressed=true]").text_content() == "Change"
    press("v")
    page.wait_for_selector("#panel .chips")
    press("?")
    assert page.locator("#keys").is_visible()
    press("Escape")
    page.evaluate("document.getElementById('help').focus()")
    for _ in range(40):  # the map is reached with Tab, and left with it
        press("Shift+Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "application":
            break
    else:
        raise AssertionError("the map cannot be reached with Tab")
    for key in ["+", "ArrowRight", "ArrowDown", "-", "0"]:
        press(key)
    page.wait_for_selector("#pending", state="hidden")  # the points no longer move
    for turn, key in enumerate(["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"] * 6):
        for _ in range(2 + turn):  # a spiral, which comes by a point wherever they are
            if not page.locator("#tip").is_visible():
                press(key)
    assert page.locator("#tip").is_visible()
    press("Enter")
    page.wait_for_selector("#panel .sentence")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle !== 'none'"), (
        "what has the focus is not shown"
    )


def test_on_a_phone_nothing_is_cut_off_and_fingers_work(visit, texts):
    page = visit(device="Pixel 7")
    wide = "document.documentElement.scrollWidth <= window.innerWidth"
    assert page.evaluate(wide)
    map_box, side = canvas(page).bounding_box(), page.locator("#side").bounding_box()
    assert map_box["width"] == side["width"] == page.viewport_size["width"]
    assert map_box["height"] >= 230
    search(page, texts[2])
    page.locator("#panel .row").first.tap()
    page.wait_for_selector("#panel .sentence")
    assert page.evaluate(wide)
    page.touchscreen.tap(map_box["x"] + map_box["width"] / 2, map_box["y"] + map_box["height"] / 2)
    for button in page.locator("#tools button:visible").all():
        box = button.bounding_box()
        assert box["height"] >= 30
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= page.viewport_size["width"]


def paper(page: Any) -> int:
    """How light the corner of the map is."""
    box = canvas(page).bounding_box()
    corner = {"x": box["x"] + 4, "y": box["y"] + 4, "width": 2, "height": 2}
    return Image.open(io.BytesIO(page.screenshot(clip=corner))).convert("L").getpixel((0, 0))


def test_dark_and_light(visit):
    assert paper(visit(color_scheme="light")) > 200
    page = visit(color_scheme="dark")
    assert paper(page) < 60
    page.click("#theme")
    page.wait_for_function("() => document.documentElement.dataset.theme === 'light'")
    page.wait_for_timeout(100)
    assert paper(page) > 200
    page.reload()
    page.wait_for_selector("#app:not([aria-busy])")
    assert paper(page) > 200  # remembered


def test_hostile_and_foreign_text_is_shown_as_text(visit, texts):
    page = visit()
    assert page.title().startswith("<b>nasty</b>.txt")
    for row in range(120, len(texts)):
        page.evaluate("document.getElementById('status').textContent = ''")
        page.fill("#query", texts[row][:300].replace("\x07", "").replace("\x1b", ""))
        # A late answer would replace the sentence that is opened below.
        page.wait_for_function(
            "() => document.getElementById('status').textContent.endsWith('found')"
        )
        page.wait_for_selector(f"#panel .row[data-id='{row}']")
        shown = page.locator(f"#panel .row[data-id='{row}'] .text").first
        assert shown.text_content().removesuffix(" …") == texts[row][:400]
        shown.click()
        page.wait_for_selector("#panel .sentence")
        assert page.locator("#panel .sentence p").text_content() == texts[row]
        markup = "#panel script, #panel img, #panel svg, #panel b:not(.gained):not(.lost)"
        assert page.locator(markup).count() == 0
        side = "document.getElementById('side')"
        assert page.evaluate(f"{side}.scrollWidth <= {side}.clientWidth")
        page.click("#tab-found")


def test_a_server_that_has_gone_is_said_so(visit, texts):
    page = visit()
    page.route(
        "**/api/search", lambda route: route.fulfill(status=400, json={"error": "too much <b>"})
    )
    page.fill("#query", "anything")
    page.wait_for_function(
        "() => document.getElementById('panel').textContent.includes('went wrong: too much <b>')"
    )
    page.unroute("**/api/search")
    search(page, texts[1])
    assert len(visit.errors) == 1  # the browser's own word about the answer
    visit.errors.clear()
