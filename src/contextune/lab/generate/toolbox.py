"""Invents a toolbox (A.3): the APIs of some applications, as many as wanted, none twice."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from contextune.errors import InvalidDataError
from contextune.lab.generate import json_schemas
from contextune.lab.generate.ask_until_valid import NoValidAnswerError, ValidJsonWriter
from contextune.lab.generate.deduplicate import NearDuplicates
from contextune.lab.generate.files import write_whole
from contextune.lab.generate.prompts import toolbox_messages
from contextune.lab.generate.quotas import APIS
from contextune.tools.toolbox import read_toolbox
from contextune.types import Progress, Tool

ROUNDS = 4
_TOGETHER = 0.8
"""Descriptions that share this much of their words are of one API."""
App = dict[str, Any]


def make_toolbox(
    scribe: ValidJsonWriter, file: Path, counts: Mapping[str, int] = APIS, *, progress: Progress | None = None
) -> list[Tool]:
    """A toolbox with so many APIs of each application, written application by application.

    Those that the file has already are kept, so that a run that was broken off goes on.
    """
    if bad := [app for app, count in counts.items() if count < 1 or not app.strip()]:
        raise InvalidDataError(f"{bad[0]!r} is to have {counts[bad[0]]} APIs: ask for 1 or more")
    apps = _held(file) if file.exists() else []
    done = {str(app["app"]): len(app["apis"]) for app in apps}
    if wrong := [app for app in done if done[app] != counts.get(app)]:
        raise InvalidDataError(
            f"{file}: has {done[wrong[0]]} APIs of {wrong[0]}, {counts.get(wrong[0], 0)} are asked for; "
            "name another file, or delete this one"
        )
    for number, (app, count) in enumerate(counts.items(), 1):
        if app not in done:
            apps.append({"app": app, "apis": _apis(scribe, app, count, apps)})
            write_whole(file, yaml.safe_dump(apps, sort_keys=False, allow_unicode=True, width=110))
        if progress:
            progress(number, len(counts))
    return read_toolbox(file)


def _held(file: Path) -> list[App]:
    read_toolbox(file)  # refuses what is no toolbox
    return yaml.safe_load(file.read_text(encoding="utf-8")) or []


def _apis(scribe: ValidJsonWriter, app: str, count: int, apps: Sequence[App]) -> list[dict[str, Any]]:
    """The APIs of one application: what is new is kept, and the rest asked for again."""
    names = {str(api["api"]) for other in apps for api in other["apis"]}
    told = NearDuplicates(alike=_TOGETHER)
    found: list[dict[str, Any]] = []
    for _ in range(ROUNDS):
        missing = count - len(found)
        held = [*sorted(names), *(api["api"] for api in found)]
        answer = scribe.write(
            f"toolbox/{app}", toolbox_messages(app, missing, held), json_schemas.APIS, check=_faults
        )
        for api in answer["apis"]:
            known = api["api"] in names or any(api["api"] == other["api"] for other in found)
            if len(found) < count and not known and told.add(api["description"]) is None:
                found.append(_written(api))
        if len(found) == count:
            return found
    scribe.forget(f"toolbox/{app}")
    raise NoValidAnswerError(
        f"toolbox/{app}",
        f"{len(found)} of {count} APIs came of {ROUNDS} rounds; run again, or try another model",
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


def _written(api: Mapping[str, Any]) -> dict[str, Any]:
    """As toolboxes have it: what is not so is not said."""
    arguments = {
        one["name"]: {
            "type": one["type"],
            **({"required": True} if one["required"] else {}),
            **({"free_text": True} if one["free_text"] else {}),
            "description": one["description"],
        }
        for one in api["arguments"]
    }
    return {"api": api["api"], "description": api["description"], "arguments": arguments}
