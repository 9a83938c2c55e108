"""A browser's window on a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LAPTOP, PHONE = (1280, 800), (390, 844)
SCROLL_BAR = 20


class Browser:
    """A window with what the tests ask of it."""

    def __init__(self, driver: Any, address: str) -> None:
        self.driver = driver
        self.address = address

    def open(
        self,
        place: str = "",
        size: tuple[int, int] = LAPTOP,
        dark: bool = False,
        scripts: bool = True,
        media: str = "",
    ) -> None:
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": media, "features": [scheme]}
        )
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}#{place}" if place else self.address)
        # A phone's width is taken on when the document has said that it is made for it.
        self.until(
            lambda: (
                width - SCROLL_BAR <= self.metrics()["cssLayoutViewport"]["clientWidth"] <= width
            )
        )

    def metrics(self) -> dict[str, dict[str, float]]:
        return dict(self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {}))

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def click(self, selector: str) -> None:
        self.run(
            "const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center'});"
            " e.click()",
            selector,
        )

    def choose(self, kind: str, value: str) -> None:
        script = (
            "const s = document.querySelector(`select[name=${arguments[0]}]`); s.value ="
            " arguments[1];s.dispatchEvent(new Event('change', {bubbles: true})); return s.value"
        )
        assert self.run(script, kind, value) == value, f"no such {kind} to choose"

    def column(self, table: str, dataset: str, heading: str) -> list[tuple[str, float | None]]:
        """(method, value) of the rows of a dataset that are visible, from top to bottom."""
        script = """
            const table = document.querySelector(`#${arguments[0]} table`);
            const place = [...table.tHead.rows[0].cells]
                .findIndex((cell) => cell.textContent.trim().split(/\\s/)[0] === arguments[2]);
            const body = [...table.tBodies].find((body) => body.dataset.dataset === arguments[1]);
            return [...body.rows].filter((row) => row.cells.length > 1 && row.offsetParent)
                .map((row) =>
                    [row.cells[0].textContent, row.cells[place].dataset.value ?? null]);"""
        return [
            (name, None if value is None else float(value))
            for name, value in self.run(script, table, dataset, heading)
        ]

    def visible(self, selector: str) -> list[str]:
        """Texts of the elements that are shown."""
        script = (
            "return [...document.querySelectorAll(arguments[0])].filter((e) =>"
            " e.offsetParent).map((e) => e.textContent)"
        )
        return list(self.run(script, selector))

    def wait(self, condition: str) -> None:
        self.until(lambda: self.run(f"return {condition}"))

    def until(self, condition: Callable[[], object]) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, 60).until(lambda _: condition())
