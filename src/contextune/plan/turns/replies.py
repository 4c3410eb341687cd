"""Which requests may be replies, by their form alone: they are few and short."""

from collections.abc import Sequence

from contextune.plan.turns.choices import chosen_number, is_assent, is_question, is_refusal, small_talk
from contextune.plan.turns.referents import names_shown
from contextune.plan.turns.said_value import is_corrected
from contextune.types import Turn

_MAX_WORDS = 8
_MOST = 99


def may_reply(text: str, history: Sequence[Turn]) -> bool:
    """Whether a request may answer, choose or correct what was said before it."""
    words = len(text.split())
    if not words or words > _MAX_WORDS:
        return False
    if is_assent(text) or is_refusal(text) or chosen_number(text, _MOST) or small_talk(text):
        return True
    if is_corrected(text) or names_shown(text):
        return True
    asked = history[-1].speaker != "user" and history[-1].text.rstrip().endswith("?")
    return asked and not is_question(text)
