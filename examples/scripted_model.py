"""What the scripted models of the examples do, which stand in for a language model."""
# ruff: noqa: T201

import re
from collections.abc import Sequence
from typing import Any, NamedTuple


class ScriptedCall(NamedTuple):
    """A tool call of the model."""

    name: str
    arguments: dict[str, Any]


def answer_mail(prompt: str, offered: Sequence[str]) -> ScriptedCall:
    """Answer the likeliest mail of the prompt: the address is in its context, not in the request."""
    print("the model sees", ", ".join(offered))
    mail = re.search(r"<1 email>.*?from: (\S+)", prompt, re.DOTALL)
    if mail is None:
        raise SystemExit("no mail in the prompt")
    return ScriptedCall("send_email", {"to": mail[1], "text": "Thursday is fine."})
