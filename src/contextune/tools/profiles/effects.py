"""What a tool does, judged by its own words: reads, changes, sends, deletes or pays.

A tool counts as reading only if every verb of its name and its description is a known reading verb. A verb
that is not known, and a language that is not English, leave the effect unknown: such a call is confirmed.
The verbs are data: `assets/tool_effects.toml`.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Literal

from contextune._internal.assets import asset
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Tool

Effect = Literal["reads", "changes", "sends", "deletes", "pays"]
"""`changes` creates or changes data of the user, `sends` reaches other people or systems."""
EFFECTS: tuple[Effect, ...] = ("reads", "changes", "sends", "deletes", "pays")
"""All effects, by how much harm a mistake does."""
_ONLY_READS: frozenset[Effect] = frozenset(["reads"])
_JOINS = frozenset(["and", "or", "then"])
"""After these words another verb may follow in a name: `get_or_create_user`."""
_TOKEN = re.compile(r"[^\W\d_][\w']*(?:-\w+)*|\d[\w.,]*|[^\w\s]")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|incl|approx)\.", re.IGNORECASE)
_SENTENCE_ENDS = frozenset(".!?;•*|")
_CLAUSE_ENDS = frozenset(':—–()[]{}"“”`')
_COMMA = frozenset(",/&+-")
_CLAUSE_JOINS = _JOINS | {"but", "plus", "while"}
_PREPOSITIONS = frozenset(
    [
        *("across", "against", "along", "among", "around", "beyond", "like", "matching", "since", "than"),
        *("to", "toward", "towards", "until", "upon", "via", "within"),
    ]
)
"""Prepositions beside those by which English is told."""
_LOOKED_AT = frozenset(
    [
        *(
            "album",
            "article",
            "attachment",
            "board",
            "book",
            "calendar",
            "canvas",
            "card",
            "channel",
            "chapter",
        ),
        *("chat", "conversation", "dashboard", "diagram", "document", "drawing", "email", "entry", "event"),
        *("file", "folder", "gallery", "image", "inbox", "issue", "list", "log", "mail", "map", "memo"),
        *("message", "note", "notebook", "page", "pdf", "photo", "picture", "playlist", "post", "preview"),
        *("profile", "recipe", "record", "reminder", "report", "result", "score", "sheet", "site", "song"),
        *("spreadsheet", "story", "tab", "task", "text", "thread", "ticket", "url", "video", "view", "web"),
        *("webpage", "website"),
    ]
)
"""What is opened to be read; a valve, a gate or an account is not."""
_SHORT = 2
"""Words of a sentence that names a thing and needs no verb: "Current song"."""
_ACRONYM = 3
_LIGHT_OBJECT = 4
"""Words behind a general verb among which its object is."""
_RELATIVE = 6
"""Words before a participle among which its relative clause begins."""
_MAX_DESCRIPTION = 20_000
"""Characters of a description that are judged; what is longer is not known."""


@dataclass(frozen=True, slots=True)
class ToolEffect:
    """What a tool's name and description say that it does."""

    kinds: frozenset[Effect]
    unknown: tuple[str, ...] = ()
    """Words that may be verbs of an unknown effect, or are of another language."""

    @property
    def only_reads(self) -> bool:
        """Whether every verb is a known reading verb, and there is one."""
        return bool(self.kinds) and self.kinds <= _ONLY_READS and not self.unknown


Form = Literal["present", "past", "ing"]


@dataclass(frozen=True, slots=True)
class _Verb:
    """One form of a verb; the effect is None if it does nothing."""

    effect: Effect | None
    form: Form
    base: str
    is_third: bool = False
    """Whether it is the third person: "sends"."""


def tool_effect(tool: Tool) -> ToolEffect:
    """What a tool does by its name and description; its annotations are not read."""
    return _effect(tool.name, tool.description)


def is_irreversible(tool: Tool) -> bool:
    """Whether a call cannot be called back: it sends, deletes, cancels, pays, blocks, books or publishes.

    The tool's own words say so. Its annotations can only add to them.
    """
    if tool.annotations.destructive is True:
        return True
    data: Mapping[str, str] = _data()["irreversible"]
    if not tool_effect(tool).kinds.isdisjoint(data["effects"].split()):
        return True
    words = [] if name_effect(tool.name) == "reads" else identifier_words(tool.name)
    return not _final_verbs().isdisjoint([*words, *tokenize(tool.description)[:1]])


def name_effect(name: str) -> Effect | None:
    """The strongest effect of the verbs in a tool's name; several verbs only count if they are joined."""
    parts: list[list[str]] = [[]]
    for word in identifier_words(name):
        if word in _JOINS:
            parts.append([])
        else:
            parts[-1].append(word)
    effects: list[Effect] = [effect for part in parts if (effect := _part_effect(part)) is not None]
    last = parts[-1][-1] if parts[-1] else ""  # "get_weather_pay"
    if last not in _list("nouns_too", "nouns_in_names") and last in _base_verbs():
        effects.append(_base_verbs()[last])
    return max(effects, key=lambda effect: EFFECTS.index(effect)) if effects else None


@cache
def function_words() -> frozenset[str]:
    """Words of several languages that say nothing by themselves."""
    return _list(
        "english", "foreign", "objects", "joins", "before_verbs", "negations", "particles", "relative"
    )


def first_effect(description: str) -> Effect | None:
    """The effect of the verb with which a description begins."""
    verb = _forms().get(next(iter(tokenize(description)), ""))
    return None if verb is None else verb.effect


def verb_effect(word: str) -> Effect | None:
    """The effect of a verb in its base form or the third person: "delete", "deletes", "dispatches"."""
    for form in (word, word.removesuffix("s"), word.removesuffix("es"), f"{word.removesuffix('ies')}y"):
        if (effect := _base_verbs().get(form)) is not None:
            return effect
    return None


@lru_cache(maxsize=4096)
def _effect(name: str, description: str) -> ToolEffect:
    kinds: set[Effect] = set()
    unknown: list[str] = []
    if len(description) > _MAX_DESCRIPTION:
        unknown.append("…")
    for effect, word in _described(description[:_MAX_DESCRIPTION]):
        if effect is None:
            unknown.append(word)
        else:
            kinds.add(effect)
    by_name, words = name_effect(name), identifier_words(name)
    if words[:1] == ["open"] and len(words) > 1 and "reads" not in kinds and not _are_looked_at(words):
        unknown.append("open")  # `open_valve`, unless the description says what is read
    if by_name is not None:
        kinds.add(by_name)
    return ToolEffect(frozenset(kinds), tuple(dict.fromkeys(unknown)))


def _part_effect(words: Sequence[str]) -> Effect | None:
    verbs = [word for word in words if verb_effect(word) is not None]
    verb = next((word for word in verbs if word.removesuffix("s") not in _list("nouns_in_names")), None)
    verb = verb or (verbs[0] if verbs else None)
    is_general = verb is None or verb.removesuffix("s") in _list("bringing")
    if is_general and any(word.removesuffix("s") in _list("brought") for word in words):
        return "sends"
    return None if verb is None else verb_effect(verb)


def _described(description: str) -> Iterator[tuple[Effect | None, str]]:
    """The effects of the verbs of a description; None for what is not known."""
    text = unicodedata.normalize("NFKC", description).replace("’", "'")
    text = "".join(character for character in text if unicodedata.category(character) != "Cf")
    for sentence in _split(_tokens(text), _SENTENCE_ENDS):
        words = [token.casefold() for token in sentence if token[0].isalpha()]
        yield from ((None, token) for token in sentence if _is_foreign(token, sentence))
        is_english = not _list("english", "objects").isdisjoint(words) or any(w in _forms() for w in words)
        if len(words) > _SHORT and not is_english:
            yield None, words[0]
        for clause in _split(sentence, _CLAUSE_ENDS):
            tokens = [token.casefold() for token in clause]
            yield from _clause_effects(tokens)
            yield from _named_deeds(tokens)


def _tokens(text: str) -> list[str]:
    lines = _ABBREVIATION.sub(" ", text).splitlines()
    tokens = [match.group() for line in lines for match in _TOKEN.finditer(f"{line} .")]
    # "weather_and_money" says what is done, "place_id" names an argument
    return [
        part
        for token in tokens
        for part in ([token] if _JOINS.isdisjoint(token.split("_")) else filter(None, token.split("_")))
    ]


def _split(tokens: Sequence[str], ends: frozenset[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for token in [*tokens, min(ends)]:
        if token not in ends:
            part.append(token)
        elif part:
            yield part
            part = []


def _clause_effects(words: Sequence[str]) -> Iterator[tuple[Effect | None, str]]:
    head = _forms().get(words[0])
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        if not word[0].isalpha() or before in _list("negations"):
            continue
        after = words[place + 1] if place + 1 < len(words) else ""
        if word in _list("deeds") and not _list("led_by_deeds").isdisjoint(words[max(0, place - 3) : place]):
            yield "sends", word
            continue
        verb = _forms().get(word)
        if verb is None:
            if _may_be_verb(word, before, after, head):
                yield None, word
            continue
        behind = words[place + 1 : place + 1 + _LIGHT_OBJECT]
        if verb.base == "open" and _opens_unknown(words[max(0, place - 3) : place + 1], behind, verb, head):
            yield None, word  # beside what its verb is otherwise
        if verb.form != "past" and verb.base in _list("light") and _may_be_verb_form(verb, before):
            if effect := _light_effect(verb, behind):
                yield effect, word
        elif verb.effect is None or (verb.form == "past" and _describes(words[:place], verb)):
            continue
        elif _is_verb(word, verb, before, after, head):
            yield verb.effect, word


def _named_deeds(words: Sequence[str]) -> Iterator[tuple[Effect | None, str]]:
    """Deeds as nouns that are done, not looked up: "payment is immediate", "money transfer", "check out"."""
    for place, (word, after) in enumerate(pairwise([*words, ""])):
        if f"{word} {after}" in _data()["phrasal"] and not _list("objects") & {*words[place + 2 : place + 3]}:
            yield "sends", word
    subject = 1 if len(words) > 1 and words[0] in _list("before_nouns") else 0
    after = next(iter(words[subject + 1 :]), "")
    is_done = after in _list("passive") or (after in _forms() and _forms()[after].is_third)
    if is_done and words[subject] in _list("deeds"):
        yield "sends", words[subject]
    other = _forms().keys() | _list("before_nouns")
    if words[-1] in _list("deeds") and not any(
        word in other and word not in _list("deeds") for word in words
    ):
        yield "sends", words[-1]


def _light_effect(verb: _Verb, following: Sequence[str]) -> Effect | None:
    """The effect of a general verb, which its object tells: "performs a search", "starts a payment"."""
    end = next((place for place, word in enumerate(following) if not word[0].isalpha()), len(following))
    objects = following[:end]
    if any(word in _list("deeds") or word.removesuffix("s") in _list("brought") for word in objects):
        return "sends"
    nouns = [_forms()[word].effect for word in objects if word in _forms()]
    return "reads" if verb.effect and "reads" in nouns else verb.effect


def _describes(before: Sequence[str], verb: _Verb) -> bool:
    """Whether a participle tells of what has been: "messages that were sent", "who is assigned"."""
    clause: list[str] = []
    for word in reversed(before[-_RELATIVE:]):
        if word in _COMMA or word in ("and", "then"):
            break
        clause.append(word)
    if not _list("passive").isdisjoint(before[-3:]) or not _list("perfect").isdisjoint(before[-3:]):
        is_relative = not _list("relative").isdisjoint(clause)
        return is_relative and (verb.effect == "changes" or not _list("perfect").isdisjoint(clause))
    return verb.effect == "changes"  # "the files attached to a mail"


def _opens_unknown(through: Sequence[str], behind: Sequence[str], verb: _Verb, head: _Verb | None) -> bool:
    """Whether something is opened that is not looked at: "opens the valve", but "open slots of a day"."""
    before, after = (through[-2] if len(through) > 1 else ""), next(iter(behind), "")
    if verb.form == "past" and not _list("perfect").isdisjoint(through[-4:-1]):
        return False  # "that have not been opened"
    if not before and not verb.is_third and verb.form == "present" and after not in _list("objects"):
        return False
    return _is_verb(through[-1], verb, before, after, head) and not _are_looked_at(behind)


def _are_looked_at(words: Sequence[str]) -> bool:
    return not _LOOKED_AT.isdisjoint([*words, *(word.removesuffix("s") for word in words)])


def _may_be_verb_form(verb: _Verb, before: str) -> bool:
    return before not in _list("before_nouns") or verb.base not in _list("nouns_too")


def _may_be_verb(word: str, before: str, after: str, head: _Verb | None) -> bool:
    """Whether a word that is not known stands where a verb stands: "and zaps the disk", "and zaps disks"."""
    if word.endswith("ly") or word in _list("objects", "before_nouns", "joins", "before_verbs", "english"):
        return False
    if after in _list("objects", "particles"):
        return not before or before in _COMMA or before in _list("before_verbs", "joins")
    if not word.endswith("s") or word.endswith(("ss", "'s")) or not after.isalpha() or _ends_phrase(after):
        return False
    follows_join = before in _COMMA or before in _CLAUSE_JOINS
    # "List names and owners present" has no verb in the third person to which another one is joined
    return not before or before in _list("before_verbs") or (follows_join and (not head or head.is_third))


def _ends_phrase(word: str) -> bool:
    """Whether a word that follows a noun shows that it is one: a preposition, a join or a verb."""
    if word in _PREPOSITIONS or word in _list("after_nouns", "before_verbs", "joins", "passive", "perfect"):
        return True
    if word in _list("english") and word not in _list("objects"):
        return True
    verb = _forms().get(word)
    return verb is not None and (verb.form != "present" or verb.base not in _list("nouns_too"))


def _is_verb(word: str, verb: _Verb, before: str, after: str, head: _Verb | None) -> bool:
    """Whether a form of a verb is one here: "sends it", but "the sent messages" and "all orders"."""
    takes_object = after in _list("objects")
    follows_join = before in _COMMA or before in _list("joins")
    is_noun_too = verb.base in _list("nouns_too")
    if verb.form == "ing":
        return follows_join or takes_object or not (is_noun_too or before in _list("before_nouns"))
    if verb.form == "past":
        # "sent messages" and "the deleted files", but "money is sent" and "deleted without asking"
        is_adjective = before in _list("before_nouns") or ((not before or follows_join) and after.isalpha())
        return takes_object or not is_adjective
    if not before:
        return not is_noun_too or (after.isalpha() and after not in _list("after_nouns"))
    if before in _list("before_verbs"):
        return not (is_noun_too and before in ("to", "that", "which", "who") and word != verb.base)
    if not is_noun_too:
        return verb.effect != "reads" or follows_join
    if before in _list("before_nouns"):
        return False
    if takes_object:
        return follows_join or word != verb.base
    return follows_join and _is_coordinated(word, verb, before, after, head)


def _is_coordinated(word: str, verb: _Verb, before: str, after: str, head: _Verb | None) -> bool:
    """Whether a word behind "and" is a verb like that of the clause: "Returns it and orders pizza"."""
    if before == "," or not after.isalpha() or after in _list("after_nouns"):
        return False
    following = _forms().get(after)
    if following is not None and following.form == "present" and following.base not in _list("nouns_too"):
        return False  # "whose title or notes contain it"
    return head is None or (word == verb.base) == (head.form == "present" and not head.is_third)


def _is_foreign(token: str, sentence: Sequence[str]) -> bool:
    """Whether a word is of a script or a language whose verbs are not known."""
    if token.isascii():
        is_acronym = len(token) <= _ACRONYM and token.isupper() and not "".join(sentence).isupper()
        return not is_acronym and token.casefold() in _list("foreign") - _own_words()
    letters = [character for character in token if character.isalpha()]
    if any("LATIN" not in unicodedata.name(character, "") for character in letters):
        return True
    return bool(letters) and letters[0].islower()  # names keep their accents in English


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(asset("tool_effects.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=32)
def _list(*names: str) -> frozenset[str]:
    """The words of lists of the data file."""
    return frozenset(word for name in names for word in _data()["words"][name].split())


@cache
def _own_words() -> frozenset[str]:
    lists = ("english", "objects", "before_nouns", "joins", "before_verbs", "negations")
    return _list(*lists) | _forms().keys()


@cache
def _final_verbs() -> frozenset[str]:
    verbs: list[str] = _data()["irreversible"]["verbs"].split()
    return frozenset(form for verb in verbs for form in (verb, *_third_person(verb)))


@cache
def _base_verbs() -> Mapping[str, Effect]:
    """The verbs of names, in their base form."""
    return {verb: effect for effect in EFFECTS for verb in _data()["verbs"][effect].split()}


@cache
def _forms() -> Mapping[str, _Verb]:
    """Every form of every verb in descriptions."""
    irregular: Mapping[str, str] = _data()["irregular"]
    data = _data()
    groups: list[tuple[Effect | None, list[str]]] = [
        (effect, f"{data['verbs'][effect]} {data['further'][effect]}".split()) for effect in EFFECTS
    ]
    groups.append((None, data["further"]["neutral"].split()))
    forms: dict[str, _Verb] = {}
    for effect, names in groups:
        for base in names:
            own = irregular.get(base, "").split()
            past = [form for form in own if not form.endswith("ing")] or _past_forms(base)
            forms |= {form: _Verb(effect, "past", base) for form in past}
            forms |= {form: _Verb(effect, "ing", base) for form in _ing_forms(base)}
            forms |= {form: _Verb(effect, "present", base, is_third=True) for form in _third_person(base)}
    for effect, names in groups:
        forms |= {base: _Verb(effect, "present", base) for base in names}
    return forms


def _third_person(base: str) -> Sequence[str]:
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return [f"{base[:-1]}ies"]
    return [f"{base}es" if base.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{base}s"]


def _past_forms(base: str) -> Sequence[str]:
    if base.endswith("e"):
        return [f"{base}d"]
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return [f"{base[:-1]}ied"]
    return [f"{base}ed", f"{base}{base[-1]}ed"]


def _ing_forms(base: str) -> Sequence[str]:
    if base.endswith("e") and not base.endswith("ee"):
        return [f"{base[:-1]}ing"]
    return [f"{base}ing", f"{base}{base[-1]}ing"]
