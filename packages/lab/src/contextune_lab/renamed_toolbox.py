"""The bundled tools under other names: server prefixes, spellings, verbs, parameters and descriptions.

What holds for the bundled names only is lost under these: the drop of a figure shows how much of it was
learned by heart. The variants are deterministic.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

import yaml

from contextune._internal.assets import lab_asset
from contextune.tools import bundled_toolbox
from contextune.types import Tool
from contextune_lab.worlds.catalogue import OriginalNames, ToolCatalogue

Spelling = Callable[[Sequence[str]], str]


def _snake(words: Sequence[str]) -> str:
    return "_".join(words)


def _kebab(words: Sequence[str]) -> str:
    return "-".join(words)


def _camel(words: Sequence[str]) -> str:
    return words[0] + "".join(word.capitalize() for word in words[1:])


@dataclass(frozen=True)
class RenamedVariant:
    """One way to name the bundled tools."""

    name: str
    servers: Mapping[str, str]
    """The server by application."""
    spell: Spelling
    spell_argument: Spelling
    choice: int
    """Which of the other words of `renamed_toolbox.yaml` is taken, from 0."""
    has_prefix: bool = True
    """Whether the name of a tool begins with that of its server."""
    noun_first: bool = False
    """Whether the object comes before the verb, as in `event-create`."""


_APPS = ("Music", "Google", "Notes", "Mail", "PhoneCall", "Calendar", "Reminders")
VARIANTS: tuple[RenamedVariant, ...] = (
    RenamedVariant(
        "google",
        {
            "Music": "spotify", "Google": "google", "Notes": "keep", "Mail": "gmail", "PhoneCall": "phone",
            "Calendar": "gcal", "Reminders": "gtasks",
        },
        _snake, _snake, 0,
    ),
    RenamedVariant(
        "ms365",
        dict.fromkeys(_APPS, "ms365"),
        _kebab, _camel, 1,
    ),
    RenamedVariant(
        "camel",
        {
            "Music": "jukebox", "Google": "web", "Notes": "notebook", "Mail": "mailbox",
            "PhoneCall": "dialer", "Calendar": "agenda", "Reminders": "todo",
        },
        _camel, _camel, 0, has_prefix=False,
    ),
    RenamedVariant(
        "object-first",
        dict.fromkeys(_APPS, "assistant"),
        _snake, _snake, 1, has_prefix=False, noun_first=True,
    ),
)  # fmt: skip
"""The variants, in the order in which requests are asked with them."""


@cache
def renamed_toolboxes() -> tuple[ToolCatalogue, ...]:
    """The bundled tools in every variant, with what their calls are in the original names."""
    return tuple(renamed_toolbox(variant) for variant in VARIANTS)


def renamed_toolbox(variant: RenamedVariant) -> ToolCatalogue:
    """The bundled tools in one variant."""
    words = _words()
    renamed = [_rename(tool, variant, words) for tool in bundled_toolbox()]
    originals = {tool.id: original for tool, original in renamed}
    return ToolCatalogue([tool for tool, _ in renamed], originals, variant.name)


def _rename(tool: Tool, variant: RenamedVariant, words: Mapping[str, Any]) -> tuple[Tool, OriginalNames]:
    entry = words["tools"][tool.name]
    verb, noun = (part.split() for part in entry["names"][variant.choice].split(":"))
    parts = [*noun, *verb] if variant.noun_first else [*verb, *noun]
    server = variant.servers[tool.app]
    name = variant.spell([server, *parts] if variant.has_prefix else parts)
    properties = cast("Mapping[str, Mapping[str, Any]]", tool.parameters["properties"])
    names: dict[str, str] = {}
    for argument in properties:
        other = entry.get("arguments", {}).get(argument) or words["arguments"][argument]
        names[argument] = variant.spell_argument(other[variant.choice].split())
    parameters = {
        **tool.parameters,
        "properties": {
            names[argument]: {
                **schema,
                "description": words["descriptions"].get(schema["description"], schema["description"]),
            }
            for argument, schema in properties.items()
        },
        "required": [names[argument] for argument in tool.parameters["required"]],
    }
    renamed = replace(
        tool,
        name=name,
        app=server,
        description=entry["descriptions"][variant.choice],
        parameters=parameters,
        examples=(),
    )
    return renamed, OriginalNames(tool.id, {new: old for old, new in names.items()})


@cache
def _words() -> Mapping[str, Any]:
    file = lab_asset("renamed_toolbox.yaml", "the renamed toolbox")
    return yaml.safe_load(file.read_text(encoding="utf-8"))
