"""The cost of a wrong call, from what the tool's name and description say it does.

A wrong search is a moment lost, a wrong note can be edited, but a mail cannot be called back. Servers
describe their own tools, so a claim in the annotations may only raise the cost, unless the server is trusted.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Annotations, Tool

Cost = Literal["read", "write", "send"]
"""`read` changes nothing that lasts, `write` creates or changes the user's own data, `send` reaches other
people, deletes or pays."""
COSTS: tuple[Cost, ...] = ("read", "write", "send")
"""All costs, cheapest first."""

_READ = frozenset(
    tokenize("""
    browse calculate check compare compute convert count describe detect display download explain extract
    fetch filter find forecast get give is list listen locate look lookup match measure monitor open parse
    pause peek play preview print query read recommend resume retrieve rewind scan search see select show
    skip sort speak stat status stop suggest summarise summarize tell track transcribe translate validate
    verify view watch
    """)
)
_WRITE = frozenset(
    tokenize("""
    add adjust append archive arrange assign attach change close complete compose configure copy create
    disable draft edit enable finish flag generate import insert label lock log make mark move mute new note
    organize pin put reassign record remind rename reopen replace reschedule save schedule set snooze start
    store tag tick toggle turn unmute unpin update upload upsert write
    """)
)
_SEND = frozenset(
    tokenize("""
    accept answer approve ban block book broadcast buy call cancel charge checkout clear comment commit
    confirm decline delete deploy destroy dial discard dispatch donate drop email erase execute forward
    grant hire invite invoice kick kill mail merge message notify order overwrite pay phone ping place post
    publish purchase purge push redial refund reject release remove rent reply reserve reset respond revoke
    ring rsvp sell send settle share shutdown sign submit subscribe terminate text transfer trash truncate
    tweet uninstall unlock unshare unsubscribe wipe withdraw
    """)
)
_NOUNS_TOO = frozenset(
    tokenize("book call comment email invoice mail message note order phone place post text transfer tweet")
)
"""Verbs that are also nouns: `call_contact`, but `order_list` and `email_search`."""
_BRINGING = frozenset(tokenize("create generate make new schedule start"))
_BROUGHT = frozenset(
    tokenize("""
    booking call checkout donation email invitation invite invoice mail message order payment post purchase
    refund reservation sms subscription transaction transfer tweet
    """)
)
"""General verbs, and things that they bring to others: `start_group_call`, `create_payment`."""
_JOINS = frozenset(["and", "or", "then"])
"""After these words another verb may follow: `get_or_create_user`."""


def call_cost(tool: Tool, *, trusted: bool = False) -> Cost:
    """The cost of calling a tool by mistake; `trusted` annotations may also lower it."""
    words = _cost_of_words(tool.name, tool.description)
    claimed = _claimed(tool.annotations)
    if claimed is None:
        return words
    return claimed if trusted else strictest(words, claimed)


def strictest(*costs: Cost) -> Cost:
    """The highest of the costs."""
    return COSTS[max(map(COSTS.index, costs))]


def is_verb(word: str) -> bool:
    """Whether a word is a known verb of tool names."""
    return _verb_cost(word) is not None


def _claimed(annotations: Annotations) -> Cost | None:
    """The cost that the annotations claim, if any."""
    if annotations.destructive is True:
        return "send"
    if annotations.read_only is None:
        return None
    return "read" if annotations.read_only else "write"


@lru_cache(maxsize=4096)
def _cost_of_words(name: str, description: str) -> Cost:
    by_name = _name_cost(identifier_words(name))
    words = tokenize(description)[:1]
    by_description = "read" if words in (["returns"], ["return"]) else _verb_cost(words[0]) if words else None
    if by_name is None:
        # nothing is known of a tool without a known verb, so it counts as changing something
        return by_description or "write"
    # "Starts a song" says less than the name; "Deletes …" behind a harmless name is a warning
    return "send" if by_description == "send" else by_name


def _name_cost(words: Sequence[str]) -> Cost | None:
    """The strictest cost of the verbs in a name; several verbs only count if they are joined by and, or."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word in _JOINS:
            parts.append([])
        else:
            parts[-1].append(word)
    costs: list[Cost] = [cost for part in parts if (cost := _part_cost(part)) is not None]
    return strictest(*costs) if costs else None


def _part_cost(words: Sequence[str]) -> Cost | None:
    verbs = [word for word in words if _verb_cost(word) is not None]
    verb = next((word for word in verbs if singular(word) not in _NOUNS_TOO), verbs[0] if verbs else None)
    is_general = verb is None or singular(verb) in _BRINGING
    if is_general and any(singular(word) in _BROUGHT for word in words):
        return "send"
    return None if verb is None else _verb_cost(verb)


def _verb_cost(word: str) -> Cost | None:
    """The cost of a verb in its base form or the third person: "delete", "deletes", "dispatches"."""
    for form in (word, word.removesuffix("s"), word.removesuffix("es"), f"{word.removesuffix('ies')}y"):
        if form in _SEND:
            return "send"
        if form in _READ:
            return "read"
        if form in _WRITE:
            return "write"
    return None


def singular(word: str) -> str:
    """A word of a tool's name without the s of plural or third person."""
    return word.removesuffix("s")
