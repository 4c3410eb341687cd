"""The API on one page, made from its OpenAPI document: no script, nothing loaded from anywhere."""

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font: 14px/1.45 ui-monospace, monospace; }
pre { overflow: auto; padding: .75rem; border: 1px solid #8886; border-radius: .4rem; }
summary { cursor: pointer; padding: .3rem 0; }
"""


def reference(document: Mapping[str, Any]) -> str:
    """A page of HTML."""
    about = document["info"]
    parts = "".join(_operations(document))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(about["title"])}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>{escape(about['title'])} {escape(about['version'])}</h1><p>{escape(about['description'])}</p>"
        f'<p>For programs: <a href="openapi.json">openapi.json</a>.</p>{parts}'
        f"<h2>Forms</h2>{''.join(_forms(document))}</html>"
    )


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    tag = ""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if (named := operation["tags"][0]) != tag:
                tag = named
                yield f"<h2>{escape(tag.capitalize())}</h2>"
            takes = _form(operation.get("requestBody"))
            gives = [_form(answer) for status, answer in operation["responses"].items() if status < "300"]
            asked = ", ".join(one["name"] for one in operation.get("parameters", ()))
            yield (
                f"<details><summary><code>{method.upper()} {escape(path)}</code> "
                f"{escape(operation['description'])}</summary>"
                f"<p>{f'Query: <code>{escape(asked)}</code>. ' if asked else ''}"
                f"{f'Takes {takes}. ' if takes else ''}Gives {''.join(gives) or 'nothing'}.</p></details>"
            )


def _form(body: Mapping[str, Any] | None) -> str:
    """A link to the form of a body."""
    content = (body or {}).get("content", {}).get("application/json", {})
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    return f'<a href="#{escape(name)}"><code>{escape(name)}</code></a>' if name else ""


def _forms(document: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in document["components"]["schemas"].items():
        said = escape(str(schema.get("description", "")))
        shown = escape(json.dumps(schema.get("properties", schema), indent=1, ensure_ascii=False))
        head = f"<summary><code>{escape(name)}</code> {said}</summary>"
        yield f'<details id="{escape(name)}">{head}<pre>{shown}</pre></details>'
