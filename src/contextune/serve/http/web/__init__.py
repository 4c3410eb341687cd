"""The inspector: one page that shows why, served beside the API. Its files lie here, as browsers get them.

There is nothing of anybody's in them: whoever opens the page shows a token first. What comes from mails and
notes is put in as text, and the policy below keeps a browser from running it should that ever fail.
"""

from collections.abc import Awaitable, Callable
from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "json": "application/json"}
_FILES = (
    "inspector.css", "inspector.js", "api.js", "benchmarks.js", "benchmarks.json", "dom.js", "keys.js",
    "map.js", "plan.js", "plot.js", "results.js", "situation.js",
)  # fmt: skip
_AT = {"/inspector/": "index.html"} | {f"/inspector/{name}": name for name in _FILES}
PATHS = frozenset({"/", "/inspector", *_AT})
"""Addresses that anybody may open; no name of a file is ever made from what a client sends."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def pages() -> APIRouter:
    """The routes of the page and its files; `/` leads to it."""
    routes = APIRouter(include_in_schema=False)
    for path in ("/", "/inspector"):
        routes.add_api_route(path, _to_the_page)
    for path, name in _AT.items():
        routes.add_api_route(path, _file(name))
    return routes


async def _to_the_page() -> Response:
    # relative, so that a proxy may put the service under a folder of its own
    return RedirectResponse("inspector/", headers=HEADERS)


def _file(name: str) -> Callable[[], Awaitable[Response]]:
    content = files(__name__).joinpath(name).read_bytes()
    kind = _TYPES[name.rpartition(".")[2]]

    async def send() -> Response:
        return Response(content, media_type=kind, headers=HEADERS)

    return send
