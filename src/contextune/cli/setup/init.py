"""`contextune init`: set up from nothing to the first question."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextune._internal.plural import pluralize
from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.cli.import_files import Email, Embed, Name, UserName, Zone
from contextune.cli.imports.run import embed_items, import_paths, parse_zone, put_user, summarize
from contextune.cli.options import DEFAULT_EMBEDDER, EmbedderName, StoreName, open_store, select_embedder
from contextune.cli.setup.settings import write_setting
from contextune.cli.setup.sources import KINDS, ImportSource, find_export, find_sources
from contextune.cli.setup.zones import machine_zone
from contextune.errors import ContextuneError, InvalidDataError, InvalidRequestError

if TYPE_CHECKING:
    from contextune.store import ServiceStore
    from contextune.tuner import Tuner
    from contextune.types import PlaceLocation, Request, User

_CONTEXT = 8
"""Items that are considered for an answer, as in `ask`."""
_MAX_LOCATIONS = 3
"""Frequent locations of the calendar that are offered as places."""


def init(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Files and folders to import besides what is found.", metavar="[PATH…]"),
    ] = None,
    name: Name = None,
    email: Email = None,
    zone: Zone = None,
    place: Annotated[
        list[str] | None,
        typer.Option("--place", help="A place, as home=41.15,-8.63 or with an address; may be repeated."),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", help=f"Import only these kinds: {', '.join(KINDS)}, none."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing: take the flags, and import all that is found.")
    ] = False,
    embed: Embed = True,
    embedder: EmbedderName = DEFAULT_EMBEDDER,
    user: UserName = None,
    store: StoreName = None,
) -> None:
    """Set up: your name, addresses and time zone; find your files, import them, try questions.

    Nothing leaves this machine. Run it again to change an answer or to import more.
    """
    places = dict(_parse_place(text) for text in place or ())
    kinds = _check_kinds(source)
    for path in paths or ():
        if not path.exists():
            raise InvalidDataError(f"{path}: no such file or folder")
    parse_zone(zone)
    with open_store(store, create=True) as opened:
        owner = opened.user(put_user(opened, user, None, None, None))
        owner = _ask_profile(owner, name, email, zone, yes=yes)
        opened.put_user(replace(owner, places={**owner.places, **places}))
        chosen = _choose_sources(kinds, yes=yes)
        further = [] if yes else _ask_further_paths()
        files = [*(paths or ()), *(path for one in chosen for path in one.paths), *further]
        if files:
            report = import_paths(opened, owner.id, files)
            output.print_line(f"{summarize(report)}.")
            for missing in report.missing_extras:
                output.print_error(missing)
            if report.items and embed:
                embed_items(opened, owner.id, embedder)
        if not yes:
            _ask_places(opened, owner.id)
        source_of_store = context.get_parameter_source("store")
        from_flag = source_of_store is not None and source_of_store.name == "COMMANDLINE"
        _keep_settings(opened, owner.id, store if from_flag else None)
        _print_next_steps(opened, owner.id, embedder, suggest=embed)


def _parse_place(text: str) -> "tuple[str, PlaceLocation]":
    """The name of a place with its coordinates or its address."""
    from contextune.types import parse_place

    name, equals, where = text.partition("=")
    place = parse_place(where.strip()) if equals and name.strip() else ""
    if isinstance(place, str) and not any(map(str.isalpha, place)):
        raise InvalidRequestError(
            f"not a place: {text!r} (write it as home=41.15,-8.63, or as home=4 Mill Lane)"
        )
    return name.strip(), place


def _check_kinds(source: Sequence[str] | None) -> tuple[str, ...]:
    if not source:
        return KINDS
    for kind in source:
        if kind not in (*KINDS, "none"):
            raise InvalidRequestError(f"unknown source {kind!r}: choose among {', '.join(KINDS)}, none")
    return tuple(source)


def _ask_profile(
    owner: "User", name: str | None, email: Sequence[str] | None, zone: str | None, *, yes: bool
) -> "User":
    """The user with the answers to three questions; flags and what is stored are the defaults."""
    known_name = name or str(owner.profile.get("name") or "")
    known_email = ", ".join(email or sorted(owner.addresses))
    known_zone = zone or (owner.zone.key if owner.zone else machine_zone()) or ""
    if not yes:
        output.print_line("Three questions. Your answers and files stay on this machine.")
        known_name = name or _prompt("Your name", known_name)
        known_email = known_email if email else _prompt("Your mail addresses, with commas", known_email)
        while not zone:
            reply = _prompt("Your time zone", known_zone)
            try:
                parse_zone(reply)
            except ContextuneError as error:
                output.print_error(str(error))
            else:
                known_zone = reply
                break
    addresses = [address.strip() for address in known_email.split(",") if address.strip()]
    given = {"name": known_name, "email": addresses}
    profile = {**owner.profile, **{key: value for key, value in given.items() if value}}
    return replace(owner, profile=profile, zone=parse_zone(known_zone))


def _prompt(text: str, default: str) -> str:
    return typer.prompt(text, default=default, show_default=bool(default)).strip()


def _choose_sources(kinds: Sequence[str], *, yes: bool) -> list[ImportSource]:
    """What is on this machine, of these kinds, and of that what the user picks."""
    with output.progress("Looking for mail, calendars, messages, notes and exports") as update:
        sources = [source for source in find_sources(progress=update) if source.kind in kinds]
    if not sources:
        output.print_line("Nothing to import was found in the usual places.")
        return []
    output.print_line("Found on this machine:")
    for number, source in enumerate(sources, 1):
        line = f"  {number}. {neutralize(source.name)} ({_amount(source)})"
        output.out.print(line, markup=False, highlight=False, soft_wrap=True)
    if yes:
        return sources
    while True:
        reply = _prompt("Import which? all, none, or numbers as 1,3", "all")
        if reply.casefold() in ("all", "none"):
            return sources if reply.casefold() == "all" else []
        numbers = [part.strip() for part in reply.split(",")]
        if all(part.isdigit() and 1 <= int(part) <= len(sources) for part in numbers):
            return [sources[int(part) - 1] for part in numbers]
        output.print_error(f"not a choice: {reply!r} (write all, none, or numbers up to {len(sources)})")


def _amount(source: ImportSource) -> str:
    """How much a source is: "68 files, 1.0 MB: keep 37, mbox 8"."""
    formats = ", ".join(f"{name} {count:,}" for name, count in source.formats.items())
    amount = f"{pluralize(source.files, 'file')}, {source.size / 2**20:,.1f} MB"
    return f"{amount}: {formats}" if formats else amount


def _ask_further_paths() -> list[Path]:
    """Files and folders that the user names besides what was found."""
    while reply := _prompt("Other files or folders to import, with commas; Enter for none", ""):
        paths = [Path(part.strip()).expanduser() for part in reply.split(",") if part.strip()]
        missing = [path for path in paths if not path.exists()]
        for path in missing:
            output.print_error(f"{path}: no such file or folder")
        if not missing:
            for source in (source for path in paths for source in find_export(path, str(path))):
                output.print_line(f"  {neutralize(source.name)} ({_amount(source)})")
            return paths
    return []


def _ask_places(store: "ServiceStore", user: str) -> None:
    """Ask where home, work and the most frequent locations of the calendar are."""
    owner = store.user(user)
    locations = Counter(
        str(item.fields["location"]) for item in store.items(user) if item.fields.get("location")
    )
    frequent = [location for location, _ in locations.most_common(_MAX_LOCATIONS)]
    names = [name for name in ("home", "work", *frequent) if name not in owner.places]
    if names:
        output.print_line("Places, as an address or as 41.15,-8.63, for distances; Enter skips one.")
    places: dict[str, PlaceLocation] = {}
    for name in names:
        count = f" ({pluralize(locations[name], 'event')})" if locations[name] else ""
        while reply := _prompt(f"  {neutralize(name)}{count}", ""):
            try:
                places |= dict([_parse_place(f"{name.replace('=', ' ')}={reply}")])
                break
            except ContextuneError as error:
                output.print_error(str(error))
    if places:
        store.put_user(replace(owner, places={**owner.places, **places}))


def _keep_settings(store: "ServiceStore", user: str, location: str | None) -> None:
    """Write a store other than the default, and the user among several, to the configuration file."""
    if location is not None:
        write_setting("store", location, Path.cwd())
    if len(store.users()) > 1:
        write_setting("user", user, Path.cwd())


def _print_next_steps(store: "ServiceStore", user: str, embedder: str, *, suggest: bool) -> None:
    from contextune.cli.setup.suggestions import suggest_questions
    from contextune.tools import bundled_toolbox
    from contextune.tuner import Tuner
    from contextune.types import Request

    owner = store.user(user)
    if not store.items_page(user, limit=1).entries:
        output.print_line("Import files with: contextune import PATH…")
        return
    questions: list[str] = []
    now = datetime.now().astimezone()
    tuner = Tuner(store, embedder=select_embedder(embedder), tools=bundled_toolbox())
    if suggest:
        with output.progress("Looking for questions to try") as update:
            questions = suggest_questions(tuner, owner, now, progress=update)
    output.print_line("Ready. Try:" if not questions else "Ready. The first answer:")
    if questions:
        _print_command(questions[0])
        _print_answer(tuner, owner, Request(questions[0], user, now))
        output.print_line("Try also:")
    for question in questions[1:]:
        _print_command(question)
    output.print_line("  contextune chat")


def _print_command(question: str) -> None:
    line = f"  contextune ask '{_quoted(question)}'"
    output.out.print(line, markup=False, highlight=False, soft_wrap=True)


def _print_answer(tuner: "Tuner", owner: "User", request: "Request") -> None:
    """Print the answer to a question as `ask` does."""
    from contextune.answers import extract_answer
    from contextune.cli.answer_text import print_answer

    answer = tuner.answer(request, _CONTEXT)
    items = [hit.item for hit in answer.context]
    extracted = extract_answer(answer, tuner.store)
    output.out.print()
    print_answer(answer, None, items, owner.zone, why=False, extracted=extracted)
    output.out.print()


def _quoted(question: str) -> str:
    """The question inside single quotes of a shell."""
    return question.replace("'", "’")
