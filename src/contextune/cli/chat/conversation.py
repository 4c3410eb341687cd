"""A conversation: requests with their history, and "the one before" by the time of the last item.

Earlier turns complete a request (`contextune.context.history`), but words alone cannot find the mail before
the last one: it is the nearest in time among the items like it, and the call is the last one over that item.
"And the one from Rui?" is the last request with its person replaced.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from contextune.cli.chat.corrected_request import correct_time
from contextune.cli.chat.other_person import PeopleNames
from contextune.errors import InvalidRequestError
from contextune.plan import Steps
from contextune.tuner import Tuner
from contextune.types import Answer, Item, ItemHit, Request, Turn, User, local_time

_MAX_TURNS = 6
"""Turns that are kept; the search looks at no more."""
_BEFORE = r"before|previous|preceding|earlier"
_AFTER = r"after|next|following|later"
_SMALL = r"(?:and|then|what about|how about|what was|what is|show me|read me|ok|okay)?[\s,]*"
_NEIGHBOUR = re.compile(
    rf"\W*+{_SMALL}(?:(?:the|an?) )?"
    rf"(?:(?:one|ones|mail|email|event|note|song|call|message|appointment|meeting) "
    rf"(?:right |just )?(?P<behind>{_BEFORE}|{_AFTER})|(?P<front>{_BEFORE}|{_AFTER})"
    rf"(?: (?:one|mail|email|event|note|song|call|message|appointment|meeting))?)"
    rf"(?: (?:that|it|this)(?: one)?)?\W*",
    re.IGNORECASE,
)


class Conversation:
    """Answers one request after the other of one user."""

    def __init__(self, tuner: Tuner, user: User, k: int) -> None:
        self._tuner = tuner
        self._user = user
        self._k = k
        self._history: tuple[Turn, ...] = ()
        self._history_before: tuple[Turn, ...] = ()
        """The history without the turns of the last request."""
        self._last: Answer | None = None
        self._last_item: Item | None = None
        self._last_text = ""

    def ask(self, request: Request) -> tuple[Answer, Steps | None]:
        """The answer to a request after what was said before; its history is replaced."""
        now = local_time(request.time, self._user.zone)
        corrected = correct_time(self._last_text, request.text, now) if self._last_text else None
        # what is corrected stands for the last request, so its turn is none of the history
        history = self._history if corrected is None else self._history_before
        request = replace(request, text=corrected or self._complete(request.text), history=history)
        answer = self._answer_about_neighbour(request)
        if answer is None:
            answer = self._tuner.answer(request, self._k)
            steps = self._tuner.steps(request, self._k, answer=answer)
            self._last = answer
            self._last_text = request.text
        else:
            steps = Steps((answer.plan,), (request.text,)) if answer.plan else None
        self._last_item = _item_of(answer)
        reply = self._last_item.title if self._last_item else ""
        self._history_before = history
        turns = (*history, Turn("user", request.text), *([Turn("assistant", reply)] if reply else []))
        self._history = turns[-_MAX_TURNS:]
        return answer, steps

    def _complete(self, text: str) -> str:
        """The last request about another person, if that is what the text asks for; else the text."""
        if not self._last_text or _NEIGHBOUR.fullmatch(text):
            return text
        names = PeopleNames(self._user, self._tuner.store.items(self._user.id))
        return names.replace_person(self._last_text, text) or text

    def _answer_about_neighbour(self, request: Request) -> Answer | None:
        """The last call over the item before or after the last one, if the request asks for that."""
        match = _NEIGHBOUR.fullmatch(request.text)
        if not match or self._last is None or self._last_item is None:
            return None
        word = (match["behind"] or match["front"]).casefold()
        backwards = re.fullmatch(_BEFORE, word) is not None
        hits = self._tuner.context(self._last.request, None)
        item = self._neighbour([hit.item for hit in hits], self._last_item, backwards=backwards)
        if item is None:
            place = "before" if backwards else "after"
            raise InvalidRequestError(
                f"there is nothing in {self._last_item.app} {place} “{self._last_item.title}”"
            )
        reason = f"the one {'before' if backwards else 'after'} “{self._last_item.title}”"
        app = self._last_item.app
        context = [
            ItemHit(item, hits[0].score, (reason,)),
            *[hit for hit in hits if hit.item.app != app][: self._k - 1],
        ]
        matches = self._tuner.tools(self._last.request, context=context)
        plan = self._tuner.plan(self._last.request, matches.hits, context=context)
        return Answer(request, tuple(context), tuple(matches.hits), plan, fits=matches.fits)

    def _neighbour(self, items: Sequence[Item], last: Item, *, backwards: bool) -> Item | None:
        """The nearest in time of the items like `last`: of the same people, else of the same title."""
        moment = self._moment(last)
        others = [
            item
            for item in items
            if item.app == last.app
            and item.id != last.id
            and (self._moment(item) < moment if backwards else self._moment(item) > moment)
        ]
        people = self._people(last)
        same = [item for item in others if people & self._people(item)]
        same = same or [item for item in others if item.title.casefold() == last.title.casefold()]
        return (max if backwards else min)(same or others, key=self._moment, default=None)

    def _moment(self, item: Item) -> datetime:
        return local_time(item.time, self._user.zone) if item.time else datetime.min

    def _people(self, item: Item) -> set[str]:
        people = {person.casefold() for person in item.people}
        return {person for person in people if not any(own in person for own in self._user.addresses)}


def _item_of(answer: Answer) -> Item | None:
    """The item that the call takes its values from, else the first."""
    items = {hit.item.id: hit.item for hit in answer.context}
    arguments = answer.plan.arguments.values() if answer.plan else ()
    for source in (source for argument in arguments for source in argument.sources):
        if source.kind == "item" and source.item in items:
            return items[source.item]
    return answer.context[0].item if answer.context else None
