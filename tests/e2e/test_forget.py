"""After forgetting, nothing that somebody said or kept is left in the process, all of which is walked."""

import ast
import gc
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from typing import Any, cast

import pytest
from tests.counting_embedder import Counting
from tests.llm.chat_server import ChatServer, said
from tests.openai_server import Reply
from tests.serve.conftest import running

import contextune
from contextune.context.chain_of_thought import ChainOfThought
from contextune.embed import Embedder
from contextune.errors import StoreError, UnknownUserError
from contextune.importers.web.urls import search_in
from contextune.llm import CachedChat, EndpointChat
from contextune.llm.cache import FILE, AnswerCache
from contextune.plan import LanguagePlanner
from contextune.store import SQLiteStore
from contextune.tools import QueryGenerator
from contextune.tuner import Tuner
from contextune.types import Contact, Item, Request, Tool, UsageEvent, User

NOON = datetime(2024, 5, 16, 12)
_AT_ONCE = 10_000
TEXT = {"type": "string"}
TOOLS = [
    Tool("open_note", "Opens a note", "Notes", {"type": "object", "properties": {"title": TEXT}}),
    Tool(
        "send_message",
        "Sends something to somebody at a time",
        "Messages",
        {
            "type": "object",
            "properties": {"recipient": TEXT, "text": TEXT, "time": {**TEXT, "format": "date-time"}},
        },
    ),
]


@dataclass(frozen=True)
class Secret:
    """A word that stands nowhere else, kept in letters so that a search does not find itself."""

    letters: tuple[str, ...]

    @classmethod
    def new(cls) -> "Secret":
        return cls(tuple(f"Zaun{token_hex(6)}"))

    def __str__(self) -> str:
        return "".join(self.letters)

    def left(self) -> list[str | bytes]:
        """All texts with it that this process can still reach."""
        wanted = "".join(self.letters[4:])  # digits and small letters, which no folding changes
        written = wanted.encode()
        gc.collect()
        found: list[str | bytes] = []
        waiting: list[Any] = gc.get_objects()
        while waiting:
            held = gc.get_referents(*waiting[-_AT_ONCE:])
            del waiting[-_AT_ONCE:]
            for one in held:
                kind = cast("type[object]", type(one))
                if kind is str:
                    if wanted in one and one is not wanted:
                        found.append(one)
                elif kind is bytes:
                    if written in one and one is not written:
                        found.append(one)
                elif (kind is tuple or kind is dict) and not gc.is_tracked(one):
                    waiting.append(one)  # of plain values alone, which the collector does not list
        return found


def talkative(secret: Secret) -> ChatServer:
    """A model that repeats what it was told in all it says, as real ones do."""
    server = ChatServer()

    def answer(body: dict[str, Any]) -> Reply:
        if "JSON Schema" in body["messages"][-1]["content"]:
            return said(json.dumps({"api": "open_note", "arguments": {"title": str(secret)}}))
        return said(f"Look in Notes and Mail for {secret}.")

    server.answer = answer
    return server


@pytest.fixture
def secret() -> Secret:
    return Secret.new()


@pytest.fixture
def server(secret: Secret) -> Iterator[ChatServer]:
    with talkative(secret) as server:
        yield server


@pytest.fixture
def chat(server: ChatServer) -> EndpointChat:
    return EndpointChat("tiny", base_url=server.url, api_key="key", retries=0)


def keep(store: SQLiteStore, secret: Secret) -> None:
    person = Contact(f"{secret} Ortiz", f"{secret}@example.org", relation=f"{secret} tutor")
    store.put_user(User("ines", {"name": f"Ines {secret}"}, {f"at {secret}": (1.0, 2.0)}, (person,)))
    note = {"title": f"{secret}", "content": f"Kiln of {secret}, at nine", "modified": "2024-05-13T09:00"}
    mail = {"subject": f"Kiln slots {secret}", "content": "Thursday is yours.", "date": "2024-05-13T09:00"}
    store.put_items("ines", [Item("n1", "Notes", note), Item("m1", "Mail", mail)])
    store.put_items("ines", [Item("x1", f"App {secret}", {"title": f"of {secret}"})])
    store.put_uses("ines", [UsageEvent("n1", datetime(2024, 5, 15, 9), f"at {secret}")])


def use_all(tuner: Tuner, secret: Secret, chain: ChainOfThought | None = None) -> None:
    """Everything a tuner does, with a word that is nobody else's."""
    request = Request(f"Open {secret} and send it to {secret} at nine", "ines", NOON)
    tuner.prepare("ines")
    answer = tuner.answer(request)
    assert [reason for hit in (*answer.context, *answer.tools) for reason in hit.reasons]
    tuner.steps(request)
    tuner.signals(request)
    tuner.feedback(request, used=["n1"], rejected=["m1"], tool=answer.tools[0].tool.id)
    if chain:
        tuner.context(chain.augment(Request(f"Where is {secret}?", "ines", NOON)))
    tuner.answer(Request(f"And what of {secret}, tomorrow?", "ines", datetime(2024, 5, 17, 12)))


def test_nothing_is_left_in_memory(
    store: SQLiteStore,
    server: ChatServer,
    chat: EndpointChat,
    word_embedder: Embedder,
    secret: Secret,
    tmp_path: Path,
) -> None:
    """By a tuner with all its parts: each that remembers keeps something until it is told to forget."""
    cached = CachedChat(chat, folder=tmp_path / "plans")
    chain = ChainOfThought(chat, folder=tmp_path / "thoughts")
    tuner = Tuner(
        store,
        embedder=word_embedder,
        tools=TOOLS,
        querygen=QueryGenerator(chat),
        planner=LanguagePlanner(cached),
    )
    keep(store, secret)
    use_all(tuner, secret, chain)
    search_in(f"https://www.google.com/search?q={secret}")
    server.asked.clear()
    files = [tmp_path / "plans" / FILE, tmp_path / "thoughts" / FILE]
    assert secret.left()  # or the search below would prove nothing
    assert all(str(secret).encode() in file.read_bytes() for file in files)
    tuner.forget("ines")
    assert secret.left() == []
    assert not any(str(secret).encode() in file.read_bytes() for file in files)


def test_over_http(tmp_path: Path, secret: Secret) -> None:
    """The service in a thread of this process, so that it is walked as well."""
    note = {"title": f"Kiln {secret}", "content": f"of {secret}", "modified": "2024-05-13T09:00"}
    asked = {"text": f"Open {secret} and call {secret} at nine", "time": "2024-05-16T12:00"}
    with running(tmp_path) as service, service.client("ines") as ines:
        ines.put("/v1/me", json={"contacts": [{"name": f"{secret} Ortiz"}]}).raise_for_status()
        ines.put("/v1/items", json={"items": [{"id": "n1", "app": "Notes", "fields": note}]})
        assert ines.post("/v1/ask", json=asked).json()["context"]
        ines.post("/v1/inspect", json=asked).raise_for_status()
        ines.post("/v1/feedback", json={**asked, "used": ["n1"]}).raise_for_status()
        assert ines.delete("/v1/me").status_code == 204
        del note, asked
        assert secret.left() == []


def test_what_others_were_answered_stays(
    store: SQLiteStore, server: ChatServer, chat: EndpointChat, word_embedder: Embedder, tmp_path: Path
) -> None:
    planner = LanguagePlanner(CachedChat(chat, folder=tmp_path))
    tuner = Tuner(store, embedder=word_embedder, tools=TOOLS, planner=planner)
    for user in ("ines", "rui"):
        store.put_user(User(user))
        tuner.answer(Request("Open the note", user, NOON))
    asked = len(server.asked)
    assert asked >= 2  # what one was answered is not given to the other
    tuner.forget("ines")
    tuner.answer(Request("Open the note", "rui", NOON))
    assert len(server.asked) == asked
    store.put_user(User("ines"))
    tuner.answer(Request("Open the note", "ines", NOON))
    assert len(server.asked) > asked


def test_who_was_erased_elsewhere_is_forgotten_here(store: SQLiteStore, word_embedder: Embedder) -> None:
    counting = Counting(word_embedder)
    tuner = Tuner(store, embedder=counting)
    store.put_user(User("ines"))
    store.put_items("ines", [Item("n1", "Notes", {"title": "Kiln"})])
    tuner.context(Request("the kiln", "ines", NOON))
    store.forget("ines")
    with pytest.raises(UnknownUserError):
        tuner.forget("ines")
    store.put_user(User("rui"))
    store.put_items("rui", [Item("n1", "Notes", {"title": "Kiln"})])
    counting.texts.clear()
    tuner.context(Request("the kiln", "rui", NOON))
    assert "the kiln" in counting.texts  # nothing was left of it


def test_a_folder_that_fails_stops_no_other(
    store: SQLiteStore, word_embedder: Embedder, tmp_path: Path
) -> None:
    kept = [AnswerCache(folder=tmp_path / name) for name in ("first", "broken", "last")]
    for one in kept:
        one.put("ines", "1", "an answer")
    (tmp_path / "broken" / FILE).write_bytes(b"no database at all " * 400)
    store.put_user(User("ines"))
    with pytest.raises(StoreError, match=r"broken.*delete the file by hand"):
        Tuner(store, embedder=word_embedder).forget("ines")
    assert store.users() == []
    assert [one.get("ines", "1") for one in kept] == [None, None, None]


def test_what_is_kept_for_ever_is_nobodys() -> None:
    """`functools.cache` is not emptied, so whatever takes arguments has a bound, or is named here."""
    for_ever: set[str] = set()
    root = Path(contextune.__file__).parent
    for file in root.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for one in ast.walk(ast.parse(text)) if "cache" in text else ():
            if isinstance(one, ast.FunctionDef):
                decorated = {ast.unparse(decorator) for decorator in one.decorator_list}
                bare = {"cache", "functools.cache", "lru_cache(None)", "lru_cache(maxsize=None)"}
                if decorated & bare and (one.args.args or one.args.vararg):
                    for_ever.add(f"{file.relative_to(root)}: {one.name}")
    assert for_ever == set()
