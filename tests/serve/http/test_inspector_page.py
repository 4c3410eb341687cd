"""The inspector: served files and headers; and the page itself, if a browser is installed."""

import os
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from pydantic import TypeAdapter
from tests.paths import ROOT
from tests.serve.conftest import LiveService, client_with_token, mail

from contextune import SQLiteStore
from contextune._internal.assets import asset
from contextune.context.signals import FAMILIES
from contextune.datasets import load_persona, read_persona
from contextune.serve.http.inspector import InspectReply
from contextune.serve.http.tokens import TokenFile
from contextune.serve.http.web import INSPECTOR_PATHS

WEB = ROOT / "src/contextune/serve/http/web"
CHROMIUM = os.environ.get("CONTEXTUNE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
NEEDS_BROWSER = pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed")
SWITCHES = [
    "--no-sandbox",  # unavailable to root; the page is trusted
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TIMEOUT_MS = 300_000
"""Generous, for a busy machine."""
REQUEST = {"text": "Poke me an hour before his jab.", "time": "2022-11-17T20:30", "place": "home"}
HTML = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"


@pytest.fixture(scope="module")
def elin(service: LiveService) -> str:
    """The token of a user with many items."""
    with SQLiteStore(service.settings.store) as store:
        load_persona(store, read_persona(asset("personas/a08.json")))
    return TokenFile(service.settings.tokens).add("a08")


@pytest.fixture(scope="module")
def mallory(service: LiveService) -> Iterator[str]:
    """The token of a user whose data contains HTML in every text field."""
    with service.client("mallory") as client:
        client.put("/v1/me", json={"profile": {"name": HTML}, "places": {HTML: [1, 2], "home": [1.1, 2]}})
        client.put("/v1/items", json={"items": [mail(HTML, HTML, f"Kiln slots, Thursday is yours. {HTML}")]})
        yield client.headers["Authorization"].removeprefix("Bearer ")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES, timeout=TIMEOUT_MS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser, service: LiveService) -> Iterator[Page]:
    """A new tab; script errors and CSP violations fail the test."""
    problems: list[str] = []
    with browser.new_context(base_url=service.url, color_scheme="light") as context:
        tab = context.new_page()
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on(
            "console",
            lambda message: problems.append(message.text) if "Content Security" in message.text else None,
        )
        tab.set_default_timeout(TIMEOUT_MS)
        tab.goto("/")
        yield tab
    assert not problems


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.locator("#sign-in button.main").click()
    expect(page.locator("#who")).to_contain_text("item")


def ask(page: Page, text: str, time: str, place: str) -> None:
    page.get_by_label("Time", exact=True).fill(time)
    page.get_by_label(place, exact=True).check()
    page.get_by_label("Request").fill(text)
    page.get_by_label("Request").press("Enter")
    expect(page.locator("#results")).to_be_visible()


def test_page_is_public_with_a_strict_content_security_policy(service: LiveService) -> None:
    with service.anonymous_client() as client:
        for path in INSPECTOR_PATHS - {"/", "/inspector"}:
            response = client.get(path)
            assert response.status_code == 200
            policy = response.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert client.get("/", follow_redirects=True).headers["Content-Type"].startswith("text/html")
        assert client.get("/inspector/../__init__.py").status_code == 401
        page = client.get("/inspector/").text
    assert "<style" not in page
    assert "style=" not in page
    assert "http" not in page


def test_scripts_parse_no_html_and_load_nothing_external() -> None:
    for script in WEB.glob("*.js"):
        text = script.read_text(encoding="utf-8")
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "localStorage",
        ):
            assert word not in text, f"{word} in {script.name}"
        assert text.count("http") == text.count("http://www.w3.org/2000/svg"), script.name
    served = {path.rpartition("/")[2] for path in INSPECTOR_PATHS}
    assert {file.name for file in WEB.glob("*.[jc]s*")} <= served


def test_inspect_equals_the_answer_with_details(service: LiveService, elin: str) -> None:
    with client_with_token(service.url, elin) as client:
        reply = client.post("/v1/inspect", json=REQUEST)
        assert reply.headers["Cache-Control"] == "no-store"
        found: dict[str, Any] = reply.json()
        answer = client.post("/v1/ask", json=REQUEST).json()
        alone = client.post("/v1/tools", json={**REQUEST, "context": False}).json()
    TypeAdapter(InspectReply).validate_python(found, strict=True)
    parts = ("item", "score", "reasons")
    assert [{part: hit[part] for part in parts} for hit in found["context"]] == answer["context"]
    assert found["tools"] == answer["tools"]
    assert [hit["id"] for hit in found["alone"]["tools"]] == [hit["id"] for hit in alone["tools"]]
    assert {name: found["plans"][0][name] for name in answer["plan"]} == answer["plan"]
    assert {*found["plans"][0]["why"]} == {*answer["plan"]["arguments"]}
    signals = [hit["signals"] for hit in found["context"]]
    assert all({*weights} == {*FAMILIES} for weights in signals)
    # contributions are relative to the mean of these hits
    assert all(abs(sum(weights[family] for weights in signals)) < 1e-6 for family in FAMILIES)
    assert found["context"][0]["title"] == "Rauk booster"
    assert found["context"][0]["when"] == "2022-11-18T16:15:00"
    assert found["context"][0]["when_text"] == "Fri 18 Nov 16:15"


@NEEDS_BROWSER
def test_request_and_feedback(page: Page, service: LiveService, elin: str) -> None:
    sign_in(page, elin)
    expect(page.locator("#who")).to_contain_text("Elin Sjölund, forest harvester operator, Lycksele")
    expect(page.locator("#map .mark")).to_have_count(4)
    page.locator("#map [data-place=rink] .reach").click()
    expect(page.get_by_label("rink", exact=True)).to_be_checked()
    ask(page, **REQUEST)
    first = page.locator("#items > li").first
    expect(first).to_contain_text("Rauk booster")
    expect(first.locator(".reasons")).to_contain_text("starts in 20 hours")
    expect(first.get_by_role("img", name="raised it by").first).to_be_visible()
    expect(page.locator("#tools > li")).to_have_count(5)
    expect(page.locator("#alone > li")).to_have_count(5)
    expect(page.locator("#plans code").first).to_have_text("create_reminder")
    expect(page.locator("#plans .badge").first).to_have_text(
        re.compile("act: ready to call|confirm first|ask the user")
    )
    expect(page.locator("#plans .head").first).to_contain_text("% sure")
    argument = page.locator("#plans .arguments > li", has_text="item 1: Rauk booster").first
    argument.hover()
    expect(first).to_have_class("hit linked")
    page.mouse.move(0, 0)
    expect(first).to_have_class("hit")
    argument.get_by_role("link").click()
    expect(first).to_be_focused()
    first.get_by_role("button", name="is right").click()
    page.locator("#items > li").nth(1).get_by_role("button", name="is wrong").click()
    page.locator("#tools [data-tool='Reminders/create_reminder'] .right").click()
    page.get_by_role("button", name="Send feedback").click()
    expect(page.locator("#saved")).to_have_text(
        "Saved: 1 item right, 1 item wrong, Reminders/create_reminder right. Later answers use it."
    )
    with SQLiteStore(service.settings.store) as store:
        kept = store.feedback("a08")[-1]
        assert kept.used == ("c4",)
        assert len(kept.rejected) == 1
        assert (kept.tool, kept.ok, kept.request.place) == ("Reminders/create_reminder", True, "home")
    page.reload()
    expect(page.locator("#who")).to_contain_text("Elin")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_focused()
    assert elin not in page.evaluate("JSON.stringify({...sessionStorage, ...localStorage})")


@NEEDS_BROWSER
def test_switching_users_and_invalid_token(page: Page, service: LiveService, elin: str) -> None:
    page.get_by_label("Token").fill("ctx_00_nobody")
    page.get_by_label("Token").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("missing or invalid token")
    sign_in(page, elin)
    page.get_by_role("button", name="Add user").click()
    page.get_by_label("Token").fill(TokenFile(service.settings.tokens).add("nobody yet"))
    page.get_by_label("Token").press("Enter")
    expect(page.locator("#who")).to_have_text("No data stored for this user.")
    expect(page.locator("#users option")).to_have_count(2)
    page.locator("#users").select_option(label="Elin Sjölund")
    expect(page.locator("#who")).to_contain_text("Elin")


@NEEDS_BROWSER
def test_keyboard_only(page: Page, elin: str) -> None:
    page.get_by_label("Token").fill(elin)
    page.keyboard.press("Enter")
    expect(page.locator("#request")).to_be_focused()
    page.keyboard.type("Poke me an hour before his jab.")
    page.keyboard.press("Enter")
    expect(page.locator("#results")).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#item-0")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#item-1")).to_be_focused()
    page.keyboard.press("r")
    expect(page.locator("#item-1 .right")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-walk=plans], [data-walk=tools]").locator("nth=0")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.locator("#request")).to_be_focused()
    expect(page.locator("#request")).to_have_value("Poke me an hour before his jab.")


@NEEDS_BROWSER
def test_html_in_a_mail_stays_text(page: Page, mallory: str) -> None:
    sign_in(page, mallory)
    ask(page, "Did she ever get back to me about the kiln?", "2024-05-16T17:40", "home")
    expect(page.locator("#items > li").first).to_contain_text(HTML)
    page.locator("#items summary").first.click()
    page.locator("#map .reach").first.click()
    expect(page.locator("#users option")).to_have_text(HTML)
    assert page.locator("main img, main script, header img, header script").count() == 0
    assert page.title() == "Contextune inspector"


@NEEDS_BROWSER
def test_phone_layout_and_themes(page: Page, elin: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    sign_in(page, elin)
    ask(page, **REQUEST)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    with_items, alone = page.locator("#tools").bounding_box(), page.locator("#alone").bounding_box()
    assert with_items
    assert alone
    assert alone["y"] > with_items["y"] + with_items["height"] - 1, "one column"
    assert least_contrast(page) >= 4.5
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert least_contrast(page) >= 4.5
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert page.evaluate("getComputedStyle(document.querySelector('.hit')).transitionDuration") == "0s"
    page.get_by_role("button", name="Theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


CONTRAST = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  let least = 21;
  for (const e of document.querySelectorAll("body *")) {
    const says = [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!says || !e.checkVisibility() || e.closest("svg, :disabled")) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    least = Math.min(least, (a + 0.05) / (b + 0.05));
  }
  return least;
}"""


def least_contrast(page: Page) -> float:
    """The lowest WCAG contrast ratio of any visible text with its background."""
    return page.evaluate(CONTRAST)
