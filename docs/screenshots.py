"""Write the pictures of the inspector in docs/figures: `make screenshots`. Needs Chromium (`make chromium`).

They show a bundled persona, in a service that runs in this process.
"""

import io
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import uvicorn
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from contextune import SQLiteStore
from contextune._internal.assets import asset
from contextune.datasets import load_persona, read_persona
from contextune.serve.http.app import create_app
from contextune.serve.http.run import UVICORN_OPTIONS
from contextune.serve.http.settings import ServiceSettings
from contextune.serve.http.tokens import TokenFile

FIGURES = Path(__file__).parent / "figures"
PERSONA = "a08"
MAX_BYTES = 100_000
COLOURS = 128
REMINDER = {"q": "Poke me an hour before his jab.", "time": "2022-11-17T20:30", "place": "home"}
FORWARD = {**REMINDER, "q": "My brother ought to see what the place is worth."}


class Picture(NamedTuple):
    """A request, or two beside each other, in a window."""

    name: str
    requests: list[dict[str, str]]
    width: int
    height: int
    theme: str


PICTURES = [
    Picture("inspector", [REMINDER], 1280, 640, "light"),
    Picture("inspector-phone", [FORWARD], 390, 844, "dark"),
    Picture("inspector-compare", [REMINDER, {**REMINDER, "method": "bm25"}], 1280, 860, "light"),
]


def main() -> None:
    """Take all pictures."""
    browsers = ("chromium", "chromium-browser", "google-chrome")
    program = os.environ.get("CONTEXTUNE_CHROMIUM") or next(filter(None, map(shutil.which, browsers)), None)
    if not program:
        sys.exit("screenshots: Chromium is not installed: run 'make chromium', or set CONTEXTUNE_CHROMIUM")
    with (
        tempfile.TemporaryDirectory() as folder,
        running_service(Path(folder)) as (url, token),
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=program, args=["--no-sandbox"]) as browser,
    ):
        for picture in PICTURES:
            content = take(browser, url, token, picture)
            if len(content) > MAX_BYTES:
                sys.exit(f"screenshots: {picture.name} has {len(content)} bytes, more than {MAX_BYTES}")
            (FIGURES / f"{picture.name}.png").write_bytes(content)
            sys.stdout.write(f"docs/figures/{picture.name}.png: {len(content) // 1000} kB\n")


@contextmanager
def running_service(folder: Path) -> Generator[tuple[str, str]]:
    """Serve the persona; yields the address and a token."""
    settings = ServiceSettings(folder / "store.db", folder / "tokens.json")
    with SQLiteStore(settings.store) as store:
        load_persona(store, read_persona(asset(f"personas/{PERSONA}.json")))
    token = TokenFile(settings.tokens).add(PERSONA)
    server = uvicorn.Server(
        uvicorn.Config(create_app(settings), port=0, log_level="critical", **UVICORN_OPTIONS)
    )
    thread = Thread(target=server.run)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.1)
        url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        prepare(url, token)
        yield url, token
    finally:
        server.should_exit = True
        thread.join()


def prepare(url: str, token: str) -> None:
    """Ask once, so that the pictures show the time of an answer and not that of embedding all items."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    body = json.dumps({"text": REMINDER["q"], "time": REMINDER["time"]}).encode()
    with urlopen(Request(f"{url}/v1/inspect", body, headers)) as reply:  # noqa: S310  # our own service
        reply.read()


def take(browser: Browser, url: str, token: str, picture: Picture) -> bytes:
    """Open the link to the requests, sign in, and return a picture of the answer."""
    fields = {
        f"{name}{number or ''}": value
        for number, request in zip((0, 2), picture.requests, strict=False)
        for name, value in request.items()
    }
    touch = picture.width < 500
    with browser.new_context(
        viewport={"width": picture.width, "height": picture.height},
        color_scheme="dark" if picture.theme == "dark" else "light",
        has_touch=touch,
        is_mobile=touch,
    ) as context:
        page = context.new_page()
        page.goto(f"{url}/inspector/#{urlencode(fields)}")
        page.get_by_label("Token").fill(token)
        page.get_by_label("Token").press("Enter")
        for side in "ab"[: len(picture.requests)]:
            page.locator(f"#{side}-results").wait_for(timeout=300_000)
        page.evaluate("document.activeElement.blur()")  # no caret in the picture
        page.mouse.move(0, 0)
        return compress(page.screenshot())


def compress(content: bytes) -> bytes:
    """The picture with a palette, which such a page needs no more than."""
    compressed = io.BytesIO()
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(compressed, "PNG", optimize=True)
    return compressed.getvalue()


if __name__ == "__main__":
    main()
