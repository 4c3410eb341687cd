"""The inspector in Chromium: start it, sign in, ask, and search for accessibility problems."""

import os
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from urllib.parse import urlencode

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("CONTEXTUNE_CHROMIUM") or next(filter(None, map(shutil.which, _BROWSERS)), None)
NEEDS_BROWSER = pytest.mark.skipif(
    not CHROMIUM,
    reason="Chromium is not installed: run 'make chromium' as root, or set CONTEXTUNE_CHROMIUM to its path",
)
_SWITCHES = [
    "--no-sandbox",  # unavailable to root; the page is trusted
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_TIMEOUT_MS = 120_000
"""Generous, for a busy machine."""
DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
REQUEST = {"text": "Poke me an hour before his jab.", "time": "2022-11-17T20:30", "place": "home"}


@contextmanager
def open_browser() -> Generator[Browser]:
    expect.set_options(timeout=_TIMEOUT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_SWITCHES, timeout=_TIMEOUT_MS)
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Browser, url: str) -> Generator[Page]:
    """A new tab; script errors and CSP violations fail the test."""
    problems: list[str] = []
    with browser.new_context(base_url=url, color_scheme="light") as context:
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console",
            lambda message: problems.append(message.text) if "Content Security" in message.text else None,
        )
        page.set_default_timeout(_TIMEOUT_MS)
        page.goto("/")
        yield page
    assert not problems


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.locator("#sign-in button.main").click()
    expect(page.locator("#a-profile")).not_to_be_empty()


def ask(page: Page, text: str, time: str, place: str) -> None:
    page.locator("#a-settings > summary").click()
    page.get_by_label("Time", exact=True).fill(time)
    page.get_by_label(place, exact=True).check()
    page.locator("#a-settings > summary").click()
    page.get_by_role("textbox", name="Request").fill(text)
    page.get_by_role("textbox", name="Request").press("Enter")
    expect(page.locator("#a-results")).to_be_visible()


def open_link(page: Page, token: str, request: Mapping[str, str]) -> None:
    """Open a link to a request, and sign in."""
    fields = {"q" if name == "text" else name: value for name, value in request.items()}
    page.goto("about:blank")
    page.goto(f"/inspector/#{urlencode(fields)}")
    if page.get_by_label("Token").is_visible():
        sign_in(page, token)
    expect(page.locator("#a-results")).to_be_visible()


_AXE = """part => axe.run(part, {
  resultTypes: ["violations"], preload: false, iframes: false, rules: {"target-size": {enabled: true}},
}).then(({violations}) => violations.flatMap(({id, nodes}) => nodes.map(({target}) => `${id}: ${target}`)))"""


def violations(page: Page, part: str = "html") -> list[str]:
    """What axe finds on a desktop in light and on a phone in dark colours, and sideways scrolling.

    Colours do not depend on the size, so that two runs find what four would.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    before = page.viewport_size or DESKTOP
    # "reduce": a colour in transition may lack contrast
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    problems = _problems(page, part, DESKTOP)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    problems += _problems(page, part, PHONE)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(before)
    return problems


def _problems(page: Page, part: str, size: ViewportSize) -> list[str]:
    page.set_viewport_size(size)
    too_wide = page.evaluate("document.documentElement.scrollWidth") > size["width"]
    return ["scrolls sideways"] * too_wide + page.evaluate(_AXE, part)
