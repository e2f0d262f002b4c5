"""Debian's chromium, headless. It records the requests of pages and the messages of their console."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, TimeoutException, WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
MISSING = f"chromium and its driver are not installed here ({CHROMIUM}, {DRIVER})"
SHOTS = os.environ.get("SHOTS_OF_PAGES")
"""A folder for pictures of every page; None if no pictures are made."""
LEFT = "does not belong to the document"
"""The message with which chromedriver sometimes reports an element of a page that was just left."""


def is_installed() -> bool:
    return shutil.which(CHROMIUM) is not None and shutil.which(DRIVER) is not None


@dataclass
class Browser:
    """A browser that shows the pages of one server."""

    driver: webdriver.Chrome
    url: str

    def open(self, path: str) -> None:
        self.driver.get(self.url + path)

    def all(self, css: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def one(self, css: str) -> WebElement:
        """Return the first matching element; wait until the page has one."""
        try:
            return self.until(lambda: self.all(css))[0]
        except TimeoutException:
            body = self.run("return document.body && document.body.innerText") or ""
            raise AssertionError(f"no {css} on {self.driver.current_url}:\n{body[:1500]}") from None

    def text(self, css: str = "main") -> str:
        return self.until(lambda: (self.one(css).text,))[0]

    def reads(self, words: str) -> bool:
        """Wait until the page contains these words, because a click may open another page a moment later."""
        try:
            return self.until(lambda: words in self.text())
        except TimeoutException:
            raise AssertionError(f"{words!r} is not on {self.driver.current_url}:\n{self.text()[:1500]}") from None

    def click(self, css: str) -> None:
        self.one(css).click()

    def press(self, words: str) -> None:
        """Click the button or link with this text."""
        matching = [one for one in self.all("main button, main a, main summary") if one.text.strip() == words]
        assert matching, f"nothing is called {words!r}: {[one.text for one in self.all('main button')]}"
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", matching[0])
        matching[0].click()

    def run(self, script: str, *args: Any) -> Any:
        return self.driver.execute_script(script, *args)

    def until(self, test: Any, seconds: float = 10) -> Any:
        """Wait until `test` returns a true value, and return it. It is called again if an element left the page."""

        def attempt(_: webdriver.Chrome) -> Any:
            try:
                return test()
            except WebDriverException as error:
                if isinstance(error, StaleElementReferenceException) or LEFT in str(error.msg):
                    return False
                raise

        return WebDriverWait(self.driver, seconds, 0.05).until(attempt)

    def size(self, width: int, height: int) -> None:
        """Set the size of the window as a page sees it. (A headless window is never narrower than 500 pixels.)"""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def scheme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def shot(self, name: str) -> None:
        if SHOTS is None:
            return
        height = min(6000, self.run("return document.documentElement.scrollHeight"))
        width = self.run("return innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        (Path(SHOTS) / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))

    # --- recorded requests and messages

    def complaints(self) -> list[str]:
        """Return the new messages of the console: errors of scripts, violations of the content policy."""
        logs = self.driver.get_log("browser")
        return [one["message"] for one in logs if one["level"] in ("SEVERE", "WARNING")]

    def hosts(self) -> set[str]:
        """Return the hosts that pages sent requests to since the last call."""
        events = (json.loads(one["message"])["message"] for one in self.driver.get_log("performance"))
        sent = (one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent")
        return {urlsplit(url).netloc for url in sent if not url.startswith(("data:", "chrome:", "about:"))}


@contextmanager
def browser(url: str, profile: Path, *, scripts: bool = True) -> Iterator[Browser]:
    options = Options()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
        "--disable-component-update", "--no-first-run", "--disable-sync", "--disable-extensions",
        "--force-color-profile=srgb",
        "--disable-features=OptimizationHints,MediaRouter", f"--user-data-dir={profile}", "--lang=en",
    ):  # fmt: skip
        options.add_argument(argument)
    if not scripts:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield Browser(driver, url)
    finally:
        driver.quit()
