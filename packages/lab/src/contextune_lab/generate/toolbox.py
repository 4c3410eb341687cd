"""Generate a toolbox (A.3): APIs of some applications, without duplicates."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from contextune.errors import InvalidDataError
from contextune.tools.toolbox import read_toolbox
from contextune.types import Progress, Tool
from contextune_lab.generate import json_schemas
from contextune_lab.generate.ask_until_valid import NoValidAnswerError, ValidJsonWriter
from contextune_lab.generate.deduplicate import NearDuplicates
from contextune_lab.generate.files import write_atomic
from contextune_lab.generate.prompts import toolbox_messages
from contextune_lab.generate.quotas import APIS

ROUNDS = 4
_SAME_API = 0.8
"""Similarity from which two descriptions count as the same API."""
App = dict[str, Any]


def make_toolbox(
    writer: ValidJsonWriter, file: Path, counts: Mapping[str, int] = APIS, *, progress: Progress | None = None
) -> list[Tool]:
    """Write a toolbox with `counts` APIs per application, one application at a time.

    Applications already in the file are kept, so that an interrupted run continues.
    """
    if invalid := [app for app, count in counts.items() if count < 1 or not app.strip()]:
        raise InvalidDataError(
            f"invalid number of APIs for {invalid[0]!r}: {counts[invalid[0]]}; must be 1 or more"
        )
    apps = _read_yaml(file) if file.exists() else []
    count_by_app = {str(app["app"]): len(app["apis"]) for app in apps}
    if mismatched := [app for app in count_by_app if count_by_app[app] != counts.get(app)]:
        raise InvalidDataError(
            f"{file}: has {count_by_app[mismatched[0]]} APIs of {mismatched[0]}, "
            f"not {counts.get(mismatched[0], 0)}; choose another file or delete this one"
        )
    for number, (app, count) in enumerate(counts.items(), 1):
        if app not in count_by_app:
            apps.append({"app": app, "apis": _apis(writer, app, count, apps)})
            write_atomic(file, yaml.safe_dump(apps, sort_keys=False, allow_unicode=True, width=110))
        if progress:
            progress(number, len(counts))
    return read_toolbox(file)


def _read_yaml(file: Path) -> list[App]:
    read_toolbox(file)  # validates
    return yaml.safe_load(file.read_text(encoding="utf-8")) or []


def _apis(writer: ValidJsonWriter, app: str, count: int, apps: Sequence[App]) -> list[dict[str, Any]]:
    """Generate the APIs of one application; duplicates are dropped and asked for again."""
    names = {str(api["api"]) for other in apps for api in other["apis"]}
    descriptions = NearDuplicates(min_similarity=_SAME_API)
    new_apis: list[dict[str, Any]] = []
    for _ in range(ROUNDS):
        missing = count - len(new_apis)
        existing_names = [*sorted(names), *(api["api"] for api in new_apis)]
        answer = writer.write(
            f"toolbox/{app}", toolbox_messages(app, missing, existing_names), json_schemas.APIS, check=_faults
        )
        for api in answer["apis"]:
            is_known = api["api"] in names or any(api["api"] == other["api"] for other in new_apis)
            if len(new_apis) < count and not is_known and descriptions.add(api["description"]) is None:
                new_apis.append(_toolbox_entry(api))
        if len(new_apis) == count:
            return new_apis
    writer.forget(f"toolbox/{app}")
    raise NoValidAnswerError(
        f"toolbox/{app}",
        f"{len(new_apis)} of {count} APIs after {ROUNDS} rounds; run again or try another model",
    )


def _faults(answer: Mapping[str, Any]) -> Iterator[object]:
    for api in answer["apis"]:
        if not api["description"].strip():
            yield f"{api['api']} is not described"
        names = [argument["name"] for argument in api["arguments"]]
        if len(set(names)) < len(names):
            yield f"{api['api']} has two arguments of one name"
        for argument in api["arguments"]:
            if argument["free_text"] and argument["type"] not in ("string", "list"):
                yield f"{api['api']}.{argument['name']}: free text is a string or a list"


def _toolbox_entry(api: Mapping[str, Any]) -> dict[str, Any]:
    """An API in the toolbox format, without default values."""
    arguments = {
        argument["name"]: {
            "type": argument["type"],
            **({"required": True} if argument["required"] else {}),
            **({"free_text": True} if argument["free_text"] else {}),
            "description": argument["description"],
        }
        for argument in api["arguments"]
    }
    return {"api": api["api"], "description": api["description"], "arguments": arguments}
