"""Complete what a user wrote before it is searched and planned: courtesy, spelling, follow-ups, pronouns."""

from collections.abc import Callable
from dataclasses import replace

from contextune.plan.antecedents import name_antecedent
from contextune.plan.follow_ups import complete_follow_up
from contextune.plan.misspellings import respell
from contextune.plan.spelling import Knows
from contextune.search.language import foreign_language
from contextune.search.request_text import planned_request
from contextune.types import Request, User, local_time


def complete_request(
    request: Request, load_user: Callable[[str], User], words_of: Callable[[str], Knows] | None = None
) -> Request:
    """The request without courtesy and with its words spelt right.

    A question that only says another time is completed.
    An order about "it" names the thing that the last question was about.
    `load_user` returns the user with an id; most requests need none. `words_of` says for a
    user which words the items or the tools have; without it, only frequent words are spelt right.
    """
    if foreign_language(request.text):
        return request  # English spelling and courtesy are not its own
    plain = planned_request(request.text)
    if plain != request.text:
        request = replace(request, text=plain)
    known = words_of(request.user) if words_of else None
    if respell(request.text, knows=known) == request.text and not request.history:
        return request
    user = load_user(request.user)
    names = [contact.name for contact in user.contacts]
    text = respell(request.text, names, known)
    if text != request.text:
        request = replace(request, text=text)
    now = local_time(request.time, user.zone)
    question = complete_follow_up(request, now)
    if question is not None:
        return replace(request, text=question, history=())
    order = name_antecedent(request, now, names)
    return request if order is None else replace(request, text=order)
