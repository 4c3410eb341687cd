"""The page of the inspector, if a browser is installed."""

import re
from collections.abc import Iterator, Sequence

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.context.test_preparation import MANY
from tests.serve.conftest import LiveService, mail
from tests.serve.http.conftest import PreparingService
from tests.serve.http.inspector_browser import (
    DESKTOP,
    NEEDS_BROWSER,
    PHONE,
    REQUEST,
    ask,
    open_browser,
    open_link,
    open_page,
    sign_in,
    violations,
)

from contextune import SQLiteStore
from contextune.plan import PlanningInput, ReadingPlanner, Readings
from contextune.serve.http.tokens import TokenFile
from contextune.types import Argument, Plan, Source, ToolHit

pytestmark = pytest.mark.timeout(900)  # axe takes minutes on a busy machine
HTML = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
PIZZA = "Order me a pizza margherita."
REMINDER = {
    "title": Argument("Rauk booster", (Source("item", "c4", "event_name"),), 0.97),
    "due_time": Argument("2022-11-18T15:15", (Source("item", "c4", "start_time"),), 0.97),
}
PLANS = {
    REQUEST["text"]: Readings((Plan("Reminders/create_reminder", REMINDER, 0.97, name="create_reminder"),)),
    PIZZA: Readings((), 1.0),
}
"""What is planned for two requests, so that the page shows a call and a refusal whatever the model reads."""


@pytest.fixture(scope="module", autouse=True)
def known_plans() -> Iterator[None]:
    readings = ReadingPlanner.readings

    def known_readings(
        self: ReadingPlanner, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
    ) -> Readings:
        return PLANS.get(inputs.request.text) or readings(self, inputs, tools, fits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReadingPlanner, "readings", known_readings)
        yield


@pytest.fixture(scope="module")
def mallory(service: LiveService) -> Iterator[str]:
    """The token of a user whose data contains HTML in every text field."""
    with service.client("mallory") as client:
        client.put("/v1/me", json={"profile": {"name": HTML}, "places": {HTML: [1, 2], "home": [1.1, 2]}})
        client.put("/v1/items", json={"items": [mail(HTML, HTML, f"Kiln slots, Thursday is yours. {HTML}")]})
        yield client.headers["Authorization"].removeprefix("Bearer ")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, service: LiveService) -> Iterator[Page]:
    with open_page(browser, service.url) as page:
        yield page


@NEEDS_BROWSER
def test_place_is_chosen_on_the_map(page: Page, elin: str) -> None:
    sign_in(page, elin)
    expect(page.locator("#a-profile")).to_have_text(
        "Elin Sjölund, forest harvester operator, Lycksele · 33 items"
    )
    page.locator("#a-settings > summary").click()
    expect(page.locator("#a-map .mark")).to_have_count(4)
    page.locator("#a-map [data-place=rink] .reach").click()
    expect(page.get_by_label("rink", exact=True)).to_be_checked()
    page.locator("#a-settings > summary").click()
    ask(page, **REQUEST)
    expect(page.locator("#a-settings-summary")).to_have_text("Elin SjölundThu 17 Nov 2022 20:30home")


@NEEDS_BROWSER
def test_answer_shows_call_items_and_tools(page: Page, elin: str) -> None:
    sign_in(page, elin)
    ask(page, **REQUEST)
    answer = page.locator("#a-answer")
    expect(answer.locator("h2")).to_contain_text("Create a reminder “Rauk booster” on Friday 18 November")
    expect(answer.locator(".decision")).to_have_text(re.compile("Ready to call|Confirm first|Ask first"))
    expect(answer.locator(".sure").first).to_contain_text("% sure")
    expect(page.get_by_role("status").filter(has_text="Rauk booster")).to_contain_text("% sure.")
    first = page.locator("#a-item-0")
    expect(first.locator("summary")).to_contain_text("best match")
    assert not re.search(r"0\.\d", page.locator("#a-results").inner_text()), "scores are bars and words"
    first.locator("summary").click()
    expect(first.locator(".reasons")).to_contain_text("starts in 20 hours")
    expect(first.locator(".signals")).to_contain_text("raised it a lot")
    expect(page.locator("#a-tools > li, #a-more-tools > ol:first-of-type > li")).to_have_count(5)
    expect(page.locator("#a-alone > li")).to_have_count(5)


@NEEDS_BROWSER
def test_argument_leads_to_its_item(page: Page, elin: str) -> None:
    sign_in(page, elin)
    ask(page, **REQUEST)
    item = page.locator("#a-item-0")
    argument = page.locator("#a-answer .arguments > li", has_text="Rauk booster").first
    argument.hover()
    expect(item).to_have_class("row linked")
    page.mouse.move(0, 0)
    expect(item).to_have_class("row")
    argument.get_by_role("link", name="item 1: Rauk booster").click()
    expect(item.locator("summary")).to_be_focused()


@NEEDS_BROWSER
def test_feedback_on_items_and_tool_is_stored(page: Page, service: LiveService, elin: str) -> None:
    sign_in(page, elin)
    ask(page, **REQUEST)
    first, second = page.locator("#a-item-0"), page.locator("#a-item-1")
    expect(page.locator("#a-feedback")).to_be_hidden()
    assert opacity(second.locator(".marks")) == "0", "marks appear on use"
    second.hover()
    expect(second.locator(".marks")).to_have_css("opacity", "1")
    first.get_by_role("button", name="is right").click()
    second.get_by_role("button", name="is wrong").click()
    page.locator("#a-answer").get_by_role("button", name="create_reminder is right").click()
    expect(page.locator("#a-tools [data-tool='Reminders/create_reminder'] .right")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.get_by_role("button", name="Send feedback").click()
    expect(page.locator("#a-saved")).to_have_text(
        "Saved: 1 item right, 1 item wrong, Reminders/create_reminder right. Later answers use it."
    )
    with SQLiteStore(service.settings.store) as store:
        kept = store.feedback("a08")[-1]
        assert kept.used == ("c4",)
        assert len(kept.rejected) == 1
        assert (kept.tool, kept.ok, kept.request.place) == ("Reminders/create_reminder", True, "home")


@NEEDS_BROWSER
def test_token_survives_a_reload_until_sign_out(page: Page, elin: str) -> None:
    sign_in(page, elin)
    ask(page, **REQUEST)
    page.reload()
    expect(page.locator("#a-profile")).to_contain_text("Elin")
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="Sign out Elin").click()
    expect(page.get_by_label("Token")).to_be_focused()
    assert elin not in page.evaluate("JSON.stringify({...sessionStorage, ...localStorage})")


@NEEDS_BROWSER
def test_switching_users_and_invalid_token(page: Page, service: LiveService, elin: str) -> None:
    page.get_by_label("Token").fill("ctx_00_nobody")
    page.get_by_label("Token").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("missing or invalid token")
    assert violations(page) == []
    sign_in(page, elin)
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="Add user").click()
    page.get_by_label("Token").fill(TokenFile(service.tokens).add("nobody yet"))
    page.get_by_label("Token").press("Enter")
    expect(page.locator("#a-profile")).to_have_text("No data stored for this user.")
    page.locator("#a-settings > summary").click()
    expect(page.locator("#a-user option")).to_have_count(2)
    page.get_by_label("User").select_option(label="Elin Sjölund")
    expect(page.locator("#a-profile")).to_contain_text("Elin")


@NEEDS_BROWSER
def test_keyboard_only(page: Page, elin: str) -> None:
    page.get_by_label("Token").fill(elin)
    page.keyboard.press("Enter")
    expect(page.locator("#a-request")).to_be_focused()
    page.keyboard.type(REQUEST["text"])
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.locator("#a-settings > summary")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#a-request")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#a-results")).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#a-answer [data-walk=call]").first).to_be_focused()
    page.keyboard.press("ArrowRight")
    item = page.locator("#a-item-0")
    expect(item.locator("summary")).to_be_focused()
    expect(item.locator("summary")).to_have_css("outline-style", "solid")
    expect(item.locator(".marks")).to_have_css("opacity", "1")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("r")
    expect(page.locator("#a-item-1 .right")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    expect(item.get_by_role("button", name="is right")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#a-marked")).to_have_text("Marked: 2 items right.")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.get_by_label("Single keys are shortcuts").uncheck()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.locator("#a-item-0 summary").focus()
    page.keyboard.press("/")
    expect(page.locator("#a-item-0 summary")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#a-request")).to_be_focused()
    expect(page.locator("#a-request")).to_have_value(REQUEST["text"])


@NEEDS_BROWSER
def test_html_in_a_mail_stays_text(page: Page, mallory: str) -> None:
    sign_in(page, mallory)
    ask(page, "Did she ever get back to me about the kiln?", "2024-05-16T17:40", "home")
    expect(page.locator("#a-item-0")).to_contain_text(HTML)
    page.locator("#a-item-0 summary").click()
    expect(page.locator("#a-item-0 .fields")).to_contain_text(f"Thursday is yours. {HTML}")
    page.locator("#a-settings > summary").click()
    page.locator("#a-map .reach").first.click()
    expect(page.locator("#a-settings-summary")).to_contain_text(HTML)
    open_link(page, mallory, {"text": HTML, "place": HTML})
    expect(page.get_by_role("textbox", name="Request")).to_have_value(HTML)
    assert page.locator("main img, main script, header img, header script").count() == 0
    assert page.title() == "Contextune inspector"


@NEEDS_BROWSER
def test_answer_items_and_tools_are_on_one_screen(page: Page, elin: str) -> None:
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        open_link(page, elin, REQUEST)
        expect(page.locator("#a-items > li")).to_have_count(3)
        for part in ("#a-request", "#a-answer", "#a-item-2", "#a-tools > li:last-child"):
            box = page.locator(part).bounding_box()
            assert box
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= size["height"], f"{part} at {size}"
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


@NEEDS_BROWSER
def test_link_restores_a_request_that_no_server_sees(page: Page, elin: str) -> None:
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url.partition("#")[0]))
    sign_in(page, elin)
    ask(page, **REQUEST)
    assert "#" not in page.url, "requests do not get into the history of the browser"
    page.locator("#a-item-0 summary").focus()
    page.keyboard.press("l")
    address = page.get_by_label("Address").input_value()
    assert elin not in address
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    call = page.locator("#a-answer").inner_text()
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#a-results")).to_be_visible()
    expect(page.locator("#a-settings-summary")).to_have_text("Elin SjölundThu 17 Nov 2022 20:30home")
    assert page.locator("#a-answer").inner_text() == call
    assert page.url == address
    page.get_by_role("textbox", name="Request").fill("Anything else?")
    page.get_by_role("textbox", name="Request").press("Enter")
    expect(page).to_have_url(address.partition("#")[0])
    assert not [url for url in urls if "jab" in url]


@NEEDS_BROWSER
def test_two_methods_side_by_side(page: Page, elin: str) -> None:
    page.set_viewport_size(DESKTOP)
    open_link(page, elin, REQUEST)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("textbox", name="Request B")).to_have_value(REQUEST["text"])
    page.locator("#b-method").select_option("bm25")
    page.get_by_role("textbox", name="Request B").press("Enter")
    expect(page.locator("#difference")).to_contain_text("of the first 3 items shared")
    expect(page.locator("#a-item-0 .change")).to_have_text("not in B")
    a, b = page.locator("#a-side").bounding_box(), page.locator("#b-side").bounding_box()
    assert a
    assert b
    assert (a["y"], a["x"] < b["x"]) == (b["y"], True)
    page.locator("#b-settings > summary").click()
    assert violations(page) == []
    page.keyboard.press("l")
    address = page.get_by_label("Address").input_value()
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#difference")).to_contain_text("of the first 3 items shared")
    expect(page.locator("#b-settings-summary")).to_contain_text("bm25")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#b-side")).to_have_count(0)
    expect(page.locator("#a-item-0 .change")).to_be_empty()


@NEEDS_BROWSER
def test_answer_has_no_accessibility_violation(page: Page, elin: str) -> None:
    sign_in(page, elin)
    assert violations(page) == [], "before the first request"
    open_link(page, elin, REQUEST)
    for unfold in ("#a-settings > summary", "#a-item-0 summary", "#a-tools summary >> nth=0"):
        page.locator(unfold).click()
    page.locator("#a-item-0 .right").click()
    page.locator("#a-tools .wrong").first.click()
    page.locator("#a-more-tools > summary").click()
    assert violations(page) == []
    for opener, part in (("#show-menu", "header"), ("#show-link", "#link"), ("#show-keys", "#keys")):
        if opener == "#show-keys":
            page.locator("#show-menu").click()
        page.locator(opener).click()
        assert violations(page, part) == []
        page.keyboard.press("Escape")


@NEEDS_BROWSER
def test_questions_and_refusals_are_accessible(page: Page, elin: str) -> None:
    kinds = set[str]()
    for text in ("Sing", PIZZA, "Call Sten and remind me to buy milk at nine."):
        open_link(page, elin, {**REQUEST, "text": text})
        kinds |= {*page.locator("#a-answer .decision").all_inner_texts()}
        assert violations(page, "#a-answer") == []
    assert kinds >= {"Ask first", "No call"}
    expect(page.locator("#a-answer article")).to_have_count(2)


@NEEDS_BROWSER
def test_theme_and_reduced_motion(page: Page, elin: str) -> None:
    open_link(page, elin, REQUEST)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert page.evaluate("getComputedStyle(document.querySelector('.marks')).transitionDuration") == "0s"
    page.emulate_media(color_scheme="dark", reduced_motion="no-preference")
    assert page.evaluate("getComputedStyle(document.querySelector('.marks')).transitionDuration") != "0s"
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="Theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def opacity(element: Locator) -> str:
    return element.evaluate("element => getComputedStyle(element).opacity")


@NEEDS_BROWSER
def test_ranking_by_words_and_missing_vectors_are_shown(
    browser: Browser, preparing: PreparingService
) -> None:
    client, embedder = preparing.client, preparing.embedder
    with open_page(browser, preparing.service.url) as page:
        sign_in(page, client.headers["Authorization"].removeprefix("Bearer "))
        state, notice = page.locator("#a-preparation"), page.locator("#a-words-only")
        expect(state).to_contain_text(f"0 of {MANY} items have vectors.")
        ask(page, "Where was the glaze?", "2024-05-16T17:40", "unknown")
        # the first items may have vectors: tool search needs them
        expect(notice).to_have_text(re.compile(r"uses alone: \d+ items have no vector yet\.$"))
        expect(page.locator("#a-item-0")).to_contain_text("Glaze")
        embedder.go.set()
        expect(state).to_be_empty()
        page.get_by_role("textbox", name="Request").press("Enter")
        expect(notice).to_be_empty()


@NEEDS_BROWSER
def test_request_in_an_unreadable_script_is_ranked_by_words(page: Page, elin: str) -> None:
    sign_in(page, elin)
    ask(page, "Когда моя следующая встреча?", "2022-11-17T20:30", "home")
    expect(page.locator("#a-words-only")).to_contain_text("the embedder cannot read this text")
    assert violations(page, "#a-words-only") == []
    ask(page, **REQUEST)
    expect(page.locator("#a-words-only")).to_be_empty()


SMALL_PHONE = {"width": 360, "height": 740}


@NEEDS_BROWSER
def test_labels_of_an_item_do_not_overlap_on_phones(page: Page, elin: str) -> None:
    open_link(page, elin, {**REQUEST, "method": "learned"})
    overlaps = """rows => rows.flatMap(row => {
        const boxes = [...row.querySelectorAll(".meta > *, .match > span:not(.bar), .name")]
          .filter((part) => part.offsetParent).map((part) => part.getBoundingClientRect());
        return boxes.flatMap((a, n) => boxes.slice(n + 1).filter((b) =>
          a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1));
    }).length"""
    for size in (SMALL_PHONE, PHONE, DESKTOP):
        page.set_viewport_size({"width": size["width"], "height": size["height"]})
        rows = page.locator("#a-items .row summary")
        expect(rows).to_have_count(3)
        assert rows.evaluate_all(overlaps) == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


@NEEDS_BROWSER
def test_first_page_has_examples_and_says_where_tokens_come_from(page: Page, elin: str) -> None:
    expect(page.locator("#sign-in")).to_contain_text("contextune serve token add NAME")
    sign_in(page, elin)
    examples = page.locator("#a-examples button")
    expect(examples).to_have_count(3)
    text = examples.first.inner_text()
    examples.first.click()
    expect(page.locator("#a-results")).to_be_visible()
    expect(page.get_by_role("textbox", name="Request")).to_have_value(text)


@NEEDS_BROWSER
def test_answer_comes_first_and_a_conversation_goes_on(page: Page, ines: str) -> None:
    open_link(page, ines, {"text": "When does the glaze night begin?", "time": "2024-05-15T18:00"})
    said = page.locator("#a-answer > :first-child")
    expect(said.locator(".sentence")).to_contain_text("Thu 16 May, 19:00")
    expect(said.locator(".from")).to_contain_text("the calendar event “Glaze night”")
    page.locator("#a-follow").click()
    expect(page.locator("#a-turns li")).to_have_count(2)
    page.get_by_role("textbox", name="Request").fill("And the dentist?")
    page.get_by_role("textbox", name="Request").press("Enter")
    expect(page.locator("#a-turns li")).to_have_count(4)
    expect(page.locator("#a-turns li").last).to_contain_text("Tue 21 May")
    assert violations(page) == []
    page.locator("#a-end").click()
    expect(page.locator("#a-conversation")).to_be_hidden()


@pytest.fixture(scope="module")
def ines(service: LiveService) -> Iterator[str]:
    """The token of a user with two events."""
    with service.client("ines-events") as client:
        client.put("/v1/me", json={})
        events = [
            {
                "id": "c1",
                "app": "Calendar",
                "fields": {"event_name": "Glaze night", "start_time": "2024-05-16T19:00"},
            },
            {
                "id": "c2",
                "app": "Calendar",
                "fields": {"event_name": "Dentist", "start_time": "2024-05-21T09:00"},
            },
        ]
        client.put("/v1/items", json={"items": events})
        yield client.headers["Authorization"].removeprefix("Bearer ")
