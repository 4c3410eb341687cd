"""Context sets: users with items and requests that need some of them, from data nobody here wrote.

WorkBench is one office worker with mails, meetings, tasks and customers, and explicit requests. iKAT is many
users with statements about themselves, and turns of conversations that depend on some of these statements.
The data is not part of the package; the readers expect a folder with `items.jsonl` and `ctx_queries.jsonl`.

A `ContextUser` is a `Persona` without habits, so everything that takes personas takes context sets too.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from contextune.datasets import Gold, Persona, Query
from contextune.errors import InvalidDataError
from contextune.types import Contact, Item, Request, Turn, User
from contextune_lab.public_data.files import Entry, get_id, get_text, read_jsonl, require_list

Part = Literal["train", "test"]
TRAIN: Part = "train"
TEST: Part = "test"
WORKBENCH_NOW = datetime(2023, 11, 30, 16)
"""WorkBench stands at this day; the hour is the first after its last mail."""
IKAT_NOW = datetime(2023, 6, 1, 12)
"""The iKAT data has no times, so any moment will do."""
STATEMENTS = "Statements"
"""The application of iKAT's items, one that no model was trained on."""
NO_PLACE = ""
NEEDS_HISTORY, STANDALONE = "needs history", "stands alone"

_OWNER = "sam@atlas.com"
_COLLEAGUES = "@atlas.com"
_EVENT = re.compile(r"(?P<name>.*) with (?P<who>\S+) at (?P<start>\S+ \S+) for (?P<minutes>\d+) min")
_BY_DATE = "{natural_language_date}"


@dataclass(frozen=True, slots=True)
class ContextUser(Persona):
    """A user of a context set; requests carry their conversation history."""

    def request(self, query: Query) -> Request:
        """The query as an assistant receives it."""
        history = tuple(Turn(speaker, text) for speaker, text in query.more.get("history", ()))
        return Request(query.text, user=self.id, time=query.time, history=history)


@dataclass(frozen=True, slots=True)
class LabelledContext:
    """One request with the items it needs, its user, and the group of requests that are alike."""

    name: str
    user: ContextUser
    query: Query
    request: Request
    relevant: Mapping[str, int]
    group: str


@dataclass(frozen=True)
class ContextSet:
    """Users with items, and requests with the items they need."""

    name: str
    users: Sequence[ContextUser]

    def part(self, part: Part) -> "ContextSet":
        """The requests of one part, with all items; users without such requests are left out."""
        users = [
            replace(user, queries=tuple(query for query in user.queries if query.more["part"] == part))
            for user in self.users
        ]
        return ContextSet(self.name, [user for user in users if user.queries])

    def __iter__(self) -> Iterator[LabelledContext]:
        """Every request, user by user."""
        for user in self.users:
            for query in user.queries:
                group = str(query.more.get("template", user.id))
                relevant = query.gold.relevant or {}
                yield LabelledContext(user.name(query), user, query, user.request(query), relevant, group)

    def __len__(self) -> int:
        """Number of requests."""
        return sum(len(user.queries) for user in self.users)


def read_context_sets(folder: Path) -> list[ContextSet]:
    """WorkBench and iKAT from a folder that holds both."""
    return [read_workbench(folder / "workbench"), read_ikat(folder / "ikat")]


def read_workbench(folder: Path, *, contacts: bool = False) -> ContextSet:
    """WorkBench: 1,300 mails, meetings, tasks and customers of one user, and requests that name some of them.

    Requests are made from templates; half of the templates of each application are the train part, so that
    no wording of the test part was trained on. `contacts` adds the company's directory as an address book.

    WorkBench's clock stands at midnight, but its mailbox goes on until the afternoon. So the moment is after
    the last mail, and requests for a next meeting that is over by then are left out.
    """
    items = [_workbench_item(entry, where) for where, entry in read_jsonl(folder / "items.jsonl")]
    starts = {item.id: item.times.get("start") for item in items}
    entries = list(read_jsonl(folder / "ctx_queries.jsonl"))
    templates = {
        get_text(entry, "template", where): get_text(entry, "split", where) for where, entry in entries
    }
    parts = _split_templates(templates)
    queries: list[Query] = []
    for where, entry in entries:
        template = get_text(entry, "template", where)
        relevant = _relevant(entry, where, starts)
        over = any((start := starts[item]) and start < WORKBENCH_NOW for item in relevant)
        if over and _BY_DATE not in template:
            continue
        queries.append(
            Query(
                get_id(entry, "id", where),
                get_text(entry, "query", where),
                WORKBENCH_NOW,
                NO_PLACE,
                Gold(kind=get_text(entry, "split", where).replace("_", " "), relevant=relevant),
                {"part": parts[template], "template": template},
            )
        )
    directory = _directory(items) if contacts else ()
    return ContextSet("WorkBench", [_user(User("sam", contacts=directory), items, queries)])


def read_ikat(folder: Path) -> ContextSet:
    """IKAT: turns of conversations that depend on statements of their user, with the turns before them.

    The parts are the published ones: the training topics of 2023, and the test topics of all years.
    """
    items: dict[str, list[Item]] = {}
    for where, entry in read_jsonl(folder / "items.jsonl"):
        item = Item(get_id(entry, "id", where), STATEMENTS, {"text": get_text(entry, "text", where)})
        items.setdefault(get_id(entry, "user", where), []).append(item)
    queries: dict[str, list[Query]] = {}
    for where, entry in read_jsonl(folder / "ctx_queries.jsonl"):
        user = get_id(entry, "user", where)
        relevant = _relevant(entry, where, {item.id for item in items.get(user, ())})
        if not relevant:
            continue
        text = get_text(entry, "query", where)
        alone = get_text(entry, "rewrite", where) == text
        query = Query(
            get_id(entry, "id", where),
            text,
            IKAT_NOW,
            NO_PLACE,
            Gold(kind=STANDALONE if alone else NEEDS_HISTORY, relevant=relevant),
            {
                "part": TRAIN if get_text(entry, "split", where) == "train" else TEST,
                "history": require_list(entry, "history", where),
            },
        )
        queries.setdefault(user, []).append(query)
    return ContextSet("iKAT", [_user(User(user), items[user], own) for user, own in queries.items()])


def _user(user: User, items: Sequence[Item], queries: Sequence[Query]) -> ContextUser:
    return ContextUser(user, tuple(items), {item.id: () for item in items}, tuple(queries))


def _relevant(entry: Entry, where: str, known: Mapping[str, object] | set[str]) -> dict[str, int]:
    ids = [str(item) for item in require_list(entry, "relevant", where)]
    if missing := next((item for item in ids if item not in known), None):
        raise InvalidDataError(f"{where}: {missing!r} is not an item of this user")
    return dict.fromkeys(ids, 1)


def _split_templates(templates: Mapping[str, str]) -> dict[str, Part]:
    """The part of each template: half of every application's, in an order that depends on the text alone."""
    by_app: dict[str, list[str]] = {}
    for template in sorted(templates, key=lambda text: hashlib.sha256(text.encode()).digest()):
        by_app.setdefault(templates[template], []).append(template)
    return {
        template: TRAIN if number < len(ordered) // 2 else TEST
        for ordered in by_app.values()
        for number, template in enumerate(ordered)
    }


def _workbench_item(entry: Entry, where: str) -> Item:
    name, source = get_id(entry, "id", where), get_text(entry, "source", where)
    if source not in _WORKBENCH_APPS:
        raise InvalidDataError(f"{where}: unknown source {source!r}")
    app, read = _WORKBENCH_APPS[source]
    try:
        return Item(name, app, read(entry, get_text(entry, "text", where)))
    except ValueError as error:
        raise InvalidDataError(f"{where}: not a text of {source!r}: {error}") from None


def _mail(entry: Entry, text: str) -> dict[str, object]:
    head, subject, body = text.split(" | ", 2)
    folder, address = head.split(" ", 1)
    author, recipient = (address, _OWNER) if folder == "inbox" else (_OWNER, address)
    return {
        "subject": subject,
        "content": body.replace("\\n", "\n"),
        "author": author,
        "recipients": [recipient],
        "folder": folder,
        "date": str(entry["timestamp"]).replace(" ", "T"),
    }


def _event(_: Entry, text: str) -> dict[str, object]:
    if not (match := _EVENT.fullmatch(text)):
        raise ValueError(repr(text))
    start = datetime.fromisoformat(match["start"])
    end = start + timedelta(minutes=int(match["minutes"]))
    return {
        "event_name": match["name"],
        "participants": [match["who"]],
        "start_time": start.isoformat(),
        "end_time": end.isoformat(),
    }


def _record(_: Entry, text: str) -> dict[str, object]:
    """Fields written as "name: value | name: value"; empty ones are left out."""
    pairs = (part.split(":", 1) for part in text.split(" | "))
    return {name.strip(): value.strip() for name, value in pairs if value.strip()}


_WORKBENCH_APPS: Mapping[str, tuple[str, Callable[[Entry, str], dict[str, object]]]] = {
    "mail": ("Mail", _mail),
    "calendar": ("Calendar", _event),
    "tasks": ("Tasks", _record),
    "crm": ("CRM", _record),
}


def _directory(items: Sequence[Item]) -> tuple[Contact, ...]:
    """The colleagues in the items; their addresses are "first.last@company"."""
    people = sorted({person for item in items for person in item.people})
    return tuple(
        Contact(person.removesuffix(_COLLEAGUES).replace(".", " ").title(), person)
        for person in people
        if person.endswith(_COLLEAGUES) and person != _OWNER
    )
