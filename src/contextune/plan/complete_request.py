"""Complete what a user wrote before it is searched and planned: spelling, and follow-up questions."""

from collections.abc import Callable
from dataclasses import replace

from contextune.plan.follow_ups import complete_follow_up
from contextune.plan.misspellings import respell
from contextune.types import Request, User, local_time


def complete_request(request: Request, load_user: Callable[[str], User]) -> Request:
    """The request with frequent words spelt right; a question that only says another time is completed.

    `load_user` returns the user with an id; most requests need none.
    """
    if respell(request.text) == request.text and not request.history:
        return request
    user = load_user(request.user)
    text = respell(request.text, [contact.name for contact in user.contacts])
    if text != request.text:
        request = replace(request, text=text)
    question = complete_follow_up(request, local_time(request.time, user.zone))
    return request if question is None else replace(request, text=question, history=())
