"""The configuration file: defaults of options, below flags and environment variables.

A setting has the name of its environment variable, in lower case and without CONTEXTUNE_: the file's `store`
is the default of CONTEXTUNE_STORE, which is the default of `--store`.
"""

import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from contextune._internal.postgres_url import is_postgres
from contextune.errors import ContextuneError, InvalidDataError

PATH_VARIABLE = "CONTEXTUNE_CONFIG"
_PREFIX = "CONTEXTUNE_"


class Setting(NamedTuple):
    """A setting: what it is, and how to check its value."""

    help: str
    check: Callable[[str], object] = str
    is_path: bool = False


def _check_zone(value: str) -> None:
    from contextune.cli.imports.run import parse_zone

    parse_zone(value)


def _check_policy(value: str) -> None:
    from contextune.plan import Policy

    Policy.parse(value)


def _check_method(value: str) -> None:
    from contextune.cli.options import CONTEXT_METHODS

    if value not in CONTEXT_METHODS:
        raise InvalidDataError(f"unknown method {value!r}: choose one of {', '.join(CONTEXT_METHODS)}")


def _check_embedder(value: str) -> None:
    from contextune.cli.options import check_embedder

    check_embedder(value)


SETTINGS: Mapping[str, Setting] = {
    "store": Setting("file of the store, or postgresql://…", is_path=True),
    "user": Setting("whose data to use in a store of several users"),
    "zone": Setting("time zone of the user, as Europe/Lisbon", _check_zone),
    "place": Setting("place of requests: a name, or LATITUDE,LONGITUDE"),
    "catalog": Setting("catalogue of tools", is_path=True),
    "approvals": Setting("file of the approved tools of MCP servers", is_path=True),
    "tokens": Setting("file of the tokens of the service", is_path=True),
    "policy": Setting("when to act without asking, as act.read=0.5,trust=notes", _check_policy),
    "method": Setting("how to rank items", _check_method),
    "embedder": Setting("bundled, endpoint:MODEL or sentence-transformers:MODEL", _check_embedder),
    "llm_model": Setting("language model: local, or a model on an OpenAI-compatible server"),
    "threads": Setting("threads of the bundled embedder", int),
}


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return f"{_PREFIX}{name.upper()}"


def config_path() -> Path:
    """The configuration file: CONTEXTUNE_CONFIG, else config.toml in the configuration folder of the user."""
    if path := os.environ.get(PATH_VARIABLE):
        return Path(path)
    import platformdirs

    return platformdirs.user_config_path("contextune", appauthor=False) / "config.toml"


def read_settings(path: Path) -> dict[str, str]:
    """The settings of a file, none if it does not exist; relative paths start at its folder."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InvalidDataError(f"cannot read the configuration {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidDataError(f"the configuration {path} is not valid TOML: {error}") from error
    settings: dict[str, str] = {}
    for name, value in content.items():
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise InvalidDataError(
                f"the configuration {path} has no text or number for {name!r}: correct the file"
            )
        try:
            settings[name] = check_setting(name, str(value), path.parent)
        except ContextuneError as error:
            raise InvalidDataError(f"the configuration {path}: {error}") from None
    return settings


def check_setting(name: str, value: str, folder: Path) -> str:
    """The value of a setting after its check; a relative path is made absolute, from `folder`."""
    setting = SETTINGS.get(name)
    if setting is None:
        raise InvalidDataError(f"unknown setting {name!r}: choose one of {', '.join(SETTINGS)}")
    if not value.strip():
        raise InvalidDataError(f"the setting {name!r} is empty: 'contextune config unset {name}' removes it")
    try:
        setting.check(value)
    except ValueError:
        raise InvalidDataError(f"the setting {name!r} is not a number: {value!r}") from None
    if not setting.is_path or (name == "store" and is_postgres(value)):
        return value
    return str((folder / Path(value).expanduser()).absolute())


def apply_settings() -> None:
    """Set the environment variables of the settings in the file, except those that are set already."""
    path = config_path()
    if path.exists():  # parsing starts no library, but checks may
        for name, value in read_settings(path).items():
            os.environ.setdefault(variable(name), value)


def write_setting(name: str, value: str, folder: Path) -> str:
    """Write a setting to the file, which keeps its comments; a relative path starts at `folder`.

    Returns the value as written.
    """
    import tomlkit

    path = config_path()
    checked = check_setting(name, value, folder)
    read_settings(path)  # raises for a file that must be corrected first
    document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    document[name] = checked
    _write(path, tomlkit.dumps(document))  # pyright: ignore[reportUnknownMemberType]  # partly typed
    return checked


def remove_setting(name: str) -> None:
    """Remove a setting from the file."""
    import tomlkit

    path = config_path()
    if name not in SETTINGS:
        raise InvalidDataError(f"unknown setting {name!r}: choose one of {', '.join(SETTINGS)}")
    document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    if name not in document:
        raise InvalidDataError(f"the setting {name!r} is not in {path}: there is nothing to remove")
    del document[name]
    _write(path, tomlkit.dumps(document))  # pyright: ignore[reportUnknownMemberType]  # partly typed


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise InvalidDataError(f"cannot write the configuration {path}: {error.strerror}") from error
