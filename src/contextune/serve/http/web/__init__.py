"""Inspector page: static files and their routes.

The files contain no user data; the page asks for a token. Personal text is inserted as text nodes only, and
the Content-Security-Policy below prevents the browser from executing it should that ever fail.
"""

from collections.abc import Awaitable, Callable
from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

_MEDIA_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
_FILES = (
    "theme.css", "inspector.css", "inspector.js", "answer.js", "api.js", "compare.js", "dom.js", "items.js",
    "keys.js", "link.js", "map.js", "marks.js", "preparation.js", "settings.js", "side.js", "theme.js",
    "tools.js", "words.js",
)  # fmt: skip
_FILE_BY_PATH = {"/inspector/": "index.html"} | {f"/inspector/{name}": name for name in _FILES}
INSPECTOR_PATHS = frozenset({"/", "/inspector", *_FILE_BY_PATH})
"""Public paths. File names are never built from client input."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def inspector_routes() -> APIRouter:
    """Routes of the page and its files; `/` redirects to it."""
    routes = APIRouter(include_in_schema=False)
    for path in ("/", "/inspector"):
        routes.add_api_route(path, _redirect)
    for path, name in _FILE_BY_PATH.items():
        routes.add_api_route(path, _file_route(name))
    return routes


async def _redirect() -> Response:
    # relative, so that the service works behind a proxy under a path prefix
    return RedirectResponse("inspector/", headers=HEADERS)


def _file_route(name: str) -> Callable[[], Awaitable[Response]]:
    content = files(__name__).joinpath(name).read_bytes()
    media_type = _MEDIA_TYPES[name.rpartition(".")[2]]

    async def send_file() -> Response:
        return Response(content, media_type=media_type, headers=HEADERS)

    return send_file
