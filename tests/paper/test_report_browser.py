"""The report in a real browser: Debian's Chromium, headless."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from report_window import LAPTOP, PHONE, Browser

from gclbench.paper import report
from gclbench.paper.sources import Collection, collect
from gclbench.records import Record

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
HOSTILE = "<script>window.taken = 1</script><img src=x onerror='window.taken = 2'>"

NOT_RUN = ("age", "sdcn")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """On a report of the committed records, a hostile one among them."""
    pytest.importorskip("selenium", reason="pip install 'gclbench[browser]'")
    found = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in found:
        pytest.skip(
            "no chromium and chromedriver here (Debian: apt-get install chromium chromium-driver)"
        )
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    folder = tmp_path_factory.mktemp("report")
    options = ChromeOptions()
    options.binary_location = str(found[0])
    for argument in (*ARGUMENTS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    read = collect([str(ROOT / "results" / "records")])
    spoiled = [
        Record(**{**vars(item), "status": "failed", "reason": HOSTILE, "traceback": HOSTILE})
        for item in read.records[:1]
    ]
    # Whatever is run one day: two columns of these tables stay "not run".
    kept = [item for item in read.records[1:] if item.name("method") not in NOT_RUN]
    report.write(
        Collection((*spoiled, *kept), read.origin, read.stores, (HOSTILE,)), folder / "report.html"
    )
    driver = Chrome(options=options, service=ChromeService(found[1]))
    try:
        yield Browser(driver, (folder / "report.html").as_uri())
    finally:
        driver.quit()


@pytest.fixture
def opened(browser: Browser) -> Browser:
    browser.open()
    return browser


def test_no_error_no_request_and_no_script_of_a_record(browser: Browser) -> None:
    browser.open()  # and leave the page that a browser begins with
    browser.driver.get_log("browser")
    browser.driver.get_log("performance")
    browser.open()
    browser.choose("dataset", "cora")
    browser.click("section.table th button")
    browser.click("section.table td a")
    browser.wait("document.querySelector('article.shown') !== null")
    browser.driver.back()
    browser.wait("document.querySelector('article.shown') === null")
    messages = [
        json.loads(entry["message"])["message"] for entry in browser.driver.get_log("performance")
    ]
    asked = {
        item["params"]["request"]["url"]
        for item in messages
        if item["method"] == "Network.requestWillBeSent"
    }
    assert asked and all(
        url.partition("#")[0] in (browser.address, "about:blank") for url in asked
    ), asked
    assert browser.driver.get_log("browser") == []
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.run("return window.taken ?? null") is None
    assert "window.taken" in browser.run("return document.body.textContent"), (
        "the hostile record is in the report"
    )


def test_sorting_within_a_dataset(opened: Browser) -> None:
    before = opened.column("table-dmat-1", "cora", "acc")
    numbers = [value for _, value in before if value is not None]
    assert (
        len(numbers) >= 4
        and len(numbers) < len(before)
        and numbers != sorted(numbers, reverse=True)
    )
    button = "#table-dmat-1 th[data-metric=acc] button"
    state = (
        "return document.querySelector('#table-dmat-1"
        " th[data-metric=acc]').getAttribute('aria-sort')"
    )
    assert opened.run(state) is None
    for order, falling in (("descending", True), ("ascending", False)):
        opened.click(button)
        assert opened.run(state) == order
        values = [value for _, value in opened.column("table-dmat-1", "cora", "acc")]
        assert values[: len(numbers)] == sorted(numbers, reverse=falling)
        assert set(values[len(numbers) :]) == {None}, (
            "what was not run comes last in either direction"
        )
    opened.click(button)
    assert opened.run(state) is None and opened.column("table-dmat-1", "cora", "acc") == before


def test_lower_is_better_starts_with_the_lowest_and_text_with_a(opened: Browser) -> None:
    opened.click("#table-dmat-1 th[data-metric=conductance] button")
    values = [
        value
        for _, value in opened.column("table-dmat-1", "cora", "conductance")
        if value is not None
    ]
    assert values == sorted(values)
    opened.click("#table-dmat-1 thead th button")
    names = [name for name, _ in opened.column("table-dmat-1", "cora", "conductance")]
    assert names[0] == "agc" and names[-1] == "untrained encoder"
    sorts = (
        "return [...document.querySelectorAll('#table-dmat-1 [aria-sort]')].map((cell) =>"
        " cell.textContent)"
    )
    assert opened.run(sorts) == ["method"], "one column at a time"


def test_sorting_and_filtering_by_keyboard(opened: Browser) -> None:
    from selenium.webdriver import Keys

    opened.run("document.querySelector('#table-dmat-1 th[data-metric=acc] button').focus()")
    opened.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert (
        opened.run("return document.activeElement.closest('th').getAttribute('aria-sort')")
        == "descending"
    )
    opened.driver.switch_to.active_element.send_keys(Keys.TAB)
    assert opened.run("return document.activeElement.closest('th').dataset.metric") == "nmi"
    opened.run("document.querySelector('select[name=dataset]').focus()")
    opened.driver.switch_to.active_element.send_keys("cora")
    opened.wait("document.querySelector('select[name=dataset]').value === 'cora'")
    assert set(opened.visible("#table-dmat-1 .group")) == {"cora"}


def test_filtering(opened: Browser) -> None:
    everything = opened.visible("section.table td")
    said = "return document.querySelector('.filter output').textContent"
    total = int(opened.run(said).split()[0].replace(",", ""))
    assert total == len(everything) and opened.run(said).endswith(f"of {total:,} cells")
    opened.choose("dataset", "cora")
    assert opened.visible("#table-dmat-1 .group") == ["cora"]
    headings = opened.visible("#table-nml-1 thead th")
    assert len(headings) == 2 and headings[1].startswith("cora"), "columns of the others are gone"
    opened.choose("metric", "acc")
    assert [text.split()[0] for text in opened.visible("#table-dmat-1 thead th")] == [
        "method",
        "acc",
    ]
    assert not opened.visible("#table-nml-1"), "a table without a cell left is gone"
    assert not opened.visible(".contents a[href='#table-nml-1']")
    opened.choose("method", "dmat_i")
    methods = opened.visible("#table-dmat-1 tbody th[scope=row]")
    assert "dmat_i" in methods and "untrained encoder" in methods and "kmeans" not in methods
    shown = len(opened.visible("section.table td"))
    assert opened.run(said) == f"{shown} of {total:,} cells"
    opened.choose("metric", "pair_auc_n10")
    assert opened.run(said) == "no table has such a cell" and not opened.visible("section.table td")
    opened.click(".filter button")
    opened.wait(f"document.querySelector('.filter output').textContent.startsWith('{total:,} of')")
    assert opened.visible("section.table td") == everything
    opened.click(".filter input")
    rows = opened.visible("#table-dmat-1 tbody tr:not(.group) td:nth-child(2)")
    assert rows and all(not text.startswith("not run") for text in rows)


def test_the_page_of_a_cell_and_back(opened: Browser) -> None:
    opened.choose("dataset", "cora")
    assert not opened.visible("article.cell")
    link = "document.querySelector(`#table-dmat-1 td a[href='#cell-dmat-1-cora-dmat-i']`)"
    place = opened.run(
        f"{link}.scrollIntoView({{block: 'center'}}); const y = scrollY; {link}.click(); return y"
    )
    assert place > 500
    opened.wait("document.querySelector('article.shown') !== null")
    assert opened.visible("article.cell h3") == ["dmat_i on cora"]
    assert opened.driver.title == "dmat_i on cora · gclbench report"
    assert not opened.visible("section.table") and not opened.visible("#summary")
    assert (
        opened.run("return document.activeElement.textContent") == "dmat_i on cora"
        and opened.run("return scrollY") == 0
    )
    # There are more runs; a page shows twenty of them at first.
    assert len(opened.visible("article.shown table.sortable tbody tr")) == 20
    opened.driver.back()
    opened.wait("document.querySelector('article.shown') === null")
    assert opened.driver.title == "gclbench report"
    assert abs(opened.run("return scrollY") - place) < 5, "where the reader was"
    assert (
        opened.run("return document.activeElement.getAttribute('href')")
        == "#cell-dmat-1-cora-dmat-i"
    )
    assert opened.visible("#table-dmat-1 .group") == ["cora"], "what was filtered stays so"
    opened.driver.forward()
    opened.wait("document.querySelector('article.shown') !== null")


def test_a_table_is_found_again_where_it_was_left(browser: Browser) -> None:
    browser.open("table-dmat-1")
    link = "document.querySelector(`#table-dmat-1 td a[href='#cell-dmat-1-citeseer-dmat-i']`)"
    place = browser.run(
        f"{link}.scrollIntoView({{block: 'center'}}); const y = scrollY; {link}.click(); return y"
    )
    browser.wait("document.querySelector('article.shown') !== null")
    browser.click("article.shown .crumbs a")
    browser.wait("document.querySelector('article.shown') === null")
    assert abs(browser.run("return scrollY") - place) < 5


def test_a_link_to_a_page_opens_it_and_leads_to_its_table(browser: Browser) -> None:
    browser.open("cell-dmat-2-cora-dmat")
    assert browser.visible("article.cell h3") == ["dmat on cora"]
    browser.click("article.shown .crumbs a")
    browser.wait("document.querySelector('article.shown') === null")
    top = browser.run("return document.getElementById('table-dmat-2').getBoundingClientRect().top")
    assert 0 <= top < 200
    browser.open("no-such-place")
    assert browser.visible("#summary h2") == ["Summary"]
    browser.open("%E0%A4%A")
    assert browser.visible("#summary h2") == ["Summary"]


@pytest.mark.parametrize("size", [PHONE, (768, 1024), LAPTOP], ids=["phone", "tablet", "laptop"])
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_body_never_scrolls_sideways(
    browser: Browser, size: tuple[int, int], scripts: bool
) -> None:
    for place in ("", "cell-dmat-1-cora-dmat-i"):
        browser.open(place, size, scripts=scripts)
        assert browser.metrics()["cssContentSize"]["width"] <= size[0]
        # What is wider scrolls in a place of its own, which the keyboard reaches.
        wide = """return [...document.querySelectorAll('main *')]
                  .filter((e) => e.offsetParent && !e.closest('.scroll, svg, .bar'))
                  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
                  .map((e) => e.outerHTML.slice(0, 100))"""
        if scripts:
            assert browser.run(wide) == []


def test_without_scripts_everything_is_there(browser: Browser) -> None:
    browser.open(scripts=False)

    def laid_out() -> set[str]:
        tree = browser.driver.execute_cdp_cmd(
            "DOMSnapshot.captureSnapshot", {"computedStyles": ["display"]}
        )
        return {
            tree["strings"][place] for place in tree["documents"][0]["layout"]["text"] if place >= 0
        }

    browser.until(lambda: "Cells" in laid_out())
    shown = laid_out()
    assert {
        "Summary",
        "Figures",
        "dmat/1",
        "nml/2",
        "Cells",
        "dmat_i on cora",
        "gclbench report",
    } <= shown
    assert "with runs only" not in shown, "no controls that do nothing"
    assert any(text.startswith("73.") for text in shown)


CONTRAST = """
    const parse = (color) => (color.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
        .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (e) => {
        for (; e; e = e.parentElement) {
            const [r, g, b, a = 1] = parse(getComputedStyle(e).backgroundColor);
            if (a > 0) return [r, g, b];
        }
        return [255, 255, 255];
    };
    const found = {};
    let seen = 0;
    for (const e of document.querySelectorAll('body *')) {
        if (!e.offsetParent || e.closest('svg')) continue;
        if (![...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
        seen += 1;
        const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) found[e.tagName + '.' + e.className] = ratio;
    }
    return [seen, found];
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_has_contrast(browser: Browser, dark: bool) -> None:
    """At least 4.5 to 1 (WCAG 2.2, AA)."""
    for place in ("", "cell-dmat-1-cora-dmat-i"):
        browser.open(place, dark=dark)
        seen, faint = browser.run(CONTRAST)
        assert seen > 100 and faint == {}
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") != dark


def test_on_paper_it_is_dark_on_white_without_controls(browser: Browser) -> None:
    browser.open(dark=True, media="print")
    assert (
        browser.run("return getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert not browser.visible(".filter") and not browser.visible("nav")
    assert browser.visible("section.table caption")


def test_controls_have_names(opened: Browser) -> None:
    """What a screen reader says of them."""
    nodes = opened.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = (
        "button",
        "combobox",
        "checkbox",
        "link",
        "region",
        "table",
        "form",
        "search",
        "img",
        "image",
    )
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"]
    ]
    assert [role for role, name in named if role in roles and not name.strip()] == []
    assert {"dataset", "metric", "method"} <= {name for role, name in named if role == "combobox"}
    assert "equivalent to the paper" in {name for role, name in named if role in ("img", "image")}
    assert {"columnheader", "rowheader"} <= {role for role, _ in named}


def test_an_empty_report_has_no_errors(browser: Browser, tmp_path: Path) -> None:
    report.write(Collection(), tmp_path / "empty.html")
    browser.driver.get_log("browser")
    browser.open()
    browser.driver.get((tmp_path / "empty.html").as_uri())
    assert browser.visible(".note")[0].startswith("There is no record yet")
    browser.click(".filter input")
    assert browser.run("return document.querySelector('.filter output').textContent").endswith(
        "cells"
    )
    assert browser.driver.get_log("browser") == []
