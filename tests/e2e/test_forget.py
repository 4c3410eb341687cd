"""After `forget`, no text of the user is left in the process: every reachable object is searched."""

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
from tests.counting_embedder import CountingEmbedder
from tests.llm.chat_server import ChatServer, said
from tests.openai_server import Reply
from tests.serve.conftest import running

import contextune
from contextune.context.chain_of_thought import ChainOfThought
from contextune.embed import Embedder
from contextune.errors import StoreError, UnknownUserError
from contextune.importers.web.urls import parse_search
from contextune.llm import CachedChat, EndpointChat
from contextune.llm.cache import CACHE_FILE, AnswerCache
from contextune.plan import LanguagePlanner
from contextune.store import SQLiteStore
from contextune.tools import QueryGenerator
from contextune.tuner import Tuner
from contextune.types import Contact, Item, Request, Tool, UsageEvent, User

pytestmark = pytest.mark.usefixtures("models_run_each_time")
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
    """A unique word, stored as letters so that the search does not find itself."""

    letters: tuple[str, ...]

    @classmethod
    def new(cls) -> "Secret":
        return cls(tuple(f"Zaun{token_hex(6)}"))

    def __str__(self) -> str:
        return "".join(self.letters)

    def left(self) -> list[str | bytes]:
        """All texts with the secret that this process can still reach."""
        wanted = "".join(self.letters[4:])  # digits and lower-case letters, which case folding keeps
        encoded = wanted.encode()
        gc.collect()
        found: list[str | bytes] = []
        waiting: list[Any] = gc.get_objects()
        while waiting:
            held = gc.get_referents(*waiting[-_AT_ONCE:])
            del waiting[-_AT_ONCE:]
            for value in held:
                kind = cast("type[object]", type(value))
                if kind is str:
                    if wanted in value and value is not wanted:
                        found.append(value)
                elif kind is bytes:
                    if encoded in value and value is not encoded:
                        found.append(value)
                elif (kind is tuple or kind is dict) and not gc.is_tracked(value):
                    waiting.append(value)  # the collector does not list containers of plain values
        return found


def echo_server(secret: Secret) -> ChatServer:
    """A model that repeats its input in every answer, as real ones do."""
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
    with echo_server(secret) as server:
        yield server


@pytest.fixture
def chat(server: ChatServer) -> EndpointChat:
    return EndpointChat("tiny", base_url=server.url, api_key="key", retries=0)


def fill(store: SQLiteStore, secret: Secret) -> None:
    person = Contact(f"{secret} Ortiz", f"{secret}@example.org", relation=f"{secret} tutor")
    store.put_user(User("ines", {"name": f"Ines {secret}"}, {f"at {secret}": (1.0, 2.0)}, (person,)))
    note = {"title": f"{secret}", "content": f"Kiln of {secret}, at nine", "modified": "2024-05-13T09:00"}
    mail = {"subject": f"Kiln slots {secret}", "content": "Thursday is yours.", "date": "2024-05-13T09:00"}
    store.put_items("ines", [Item("n1", "Notes", note), Item("m1", "Mail", mail)])
    store.put_items("ines", [Item("x1", f"App {secret}", {"title": f"of {secret}"})])
    store.put_uses("ines", [UsageEvent("n1", datetime(2024, 5, 15, 9), f"at {secret}")])


def call_everything(tuner: Tuner, secret: Secret, chain: ChainOfThought | None = None) -> None:
    """Call everything a tuner offers, with the secret in every text."""
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


def test_forget_leaves_nothing_in_memory(
    store: SQLiteStore,
    server: ChatServer,
    chat: EndpointChat,
    word_embedder: Embedder,
    secret: Secret,
    tmp_path: Path,
) -> None:
    """With all optional parts of a tuner, each of which caches something."""
    cached = CachedChat(chat, folder=tmp_path / "plans")
    chain = ChainOfThought(chat, folder=tmp_path / "thoughts")
    tuner = Tuner(
        store,
        embedder=word_embedder,
        tools=TOOLS,
        querygen=QueryGenerator(chat),
        planner=LanguagePlanner(cached),
    )
    fill(store, secret)
    call_everything(tuner, secret, chain)
    parse_search(f"https://www.google.com/search?q={secret}")
    server.asked.clear()
    files = [tmp_path / "plans" / CACHE_FILE, tmp_path / "thoughts" / CACHE_FILE]
    assert secret.left()  # otherwise the search below proves nothing
    assert all(str(secret).encode() in file.read_bytes() for file in files)
    tuner.forget("ines")
    assert secret.left() == []
    assert not any(str(secret).encode() in file.read_bytes() for file in files)


def test_forget_over_http_leaves_nothing_in_memory(tmp_path: Path, secret: Secret) -> None:
    """The service runs in a thread of this process, so the search covers it."""
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


def test_forget_keeps_cached_answers_of_other_users(
    store: SQLiteStore, server: ChatServer, chat: EndpointChat, word_embedder: Embedder, tmp_path: Path
) -> None:
    planner = LanguagePlanner(CachedChat(chat, folder=tmp_path))
    tuner = Tuner(store, embedder=word_embedder, tools=TOOLS, planner=planner)
    for user in ("ines", "rui"):
        store.put_user(User(user))
        tuner.answer(Request("Open the note", user, NOON))
    asked = len(server.asked)
    assert asked >= 2  # answers are not shared between users
    tuner.forget("ines")
    tuner.answer(Request("Open the note", "rui", NOON))
    assert len(server.asked) == asked
    store.put_user(User("ines"))
    tuner.answer(Request("Open the note", "ines", NOON))
    assert len(server.asked) > asked


def test_forget_clears_caches_of_a_user_erased_elsewhere(store: SQLiteStore, word_embedder: Embedder) -> None:
    counting = CountingEmbedder(word_embedder)
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
    assert "the kiln" in counting.texts  # the cache was cleared


def test_broken_cache_does_not_stop_the_others(
    store: SQLiteStore, word_embedder: Embedder, tmp_path: Path
) -> None:
    caches = [AnswerCache(folder=tmp_path / name) for name in ("first", "broken", "last")]
    for cache in caches:
        cache.put("ines", "1", "an answer")
    (tmp_path / "broken" / CACHE_FILE).write_bytes(b"no database at all " * 400)
    store.put_user(User("ines"))
    with pytest.raises(StoreError, match=r"broken.*delete the file"):
        Tuner(store, embedder=word_embedder).forget("ines")
    assert store.users() == []
    assert [cache.get("ines", "1") for cache in caches] == [None, None, None]


def test_unbounded_caches_take_no_arguments() -> None:
    """`functools.cache` is never emptied, so a function with arguments would keep personal data."""
    unbounded: set[str] = set()
    root = Path(contextune.__file__).parent
    for file in root.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "cache" in text else ():
            if isinstance(node, ast.FunctionDef):
                decorated = {ast.unparse(decorator) for decorator in node.decorator_list}
                bare = {"cache", "functools.cache", "lru_cache(None)", "lru_cache(maxsize=None)"}
                if decorated & bare and (node.args.args or node.args.vararg):
                    unbounded.add(f"{file.relative_to(root)}: {node.name}")
    assert unbounded == set()
