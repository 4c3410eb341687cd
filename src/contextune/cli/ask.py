"""`contextune search`, `ask` and `feedback`: answer one request, and say what of the answer was right."""

import json as json_module
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from contextune.cli import answer_text, output
from contextune.cli.options import (
    DEFAULT_EMBEDDER,
    DEFAULT_METHOD,
    EmbedderName,
    Method,
    MinFit,
    PolicySettings,
    RankerPath,
    RequestPlace,
    RequestTime,
    StoreName,
    ToolCatalog,
    UserName,
    open_store,
    resolve_user,
    select_embedder,
    tool_retriever,
)
from contextune.errors import InvalidRequestError

if TYPE_CHECKING:
    from contextune.context import ContextRanker
    from contextune.tuner import Tuner
    from contextune.types import Request

Text = Annotated[str, typer.Argument(help="A request or a question.")]
LanguageModel = Annotated[
    bool, typer.Option("--llm", help="Plan the call with the configured language model.")
]
Why = Annotated[
    bool, typer.Option("--why", help="Explain the answer: reasons for items, sources of values, other tools.")
]
PlannerName = Annotated[
    str,
    typer.Option(
        help="What plans: light, language (the configured language model) or cascade (the model where the "
        "light plan is in doubt)."
    ),
]


def search(
    text: Text,
    user: UserName = None,
    time: RequestTime = None,
    place: RequestPlace = None,
    method: Method = DEFAULT_METHOD,
    k: Annotated[int, typer.Option("-k", help="Number of items to print.")] = 10,
    why: Why = False,
    embedder: EmbedderName = DEFAULT_EMBEDDER,
    ranker: RankerPath = None,
    store: StoreName = None,
) -> None:
    """Print the items that are relevant to a request, best first."""
    from contextune.tuner import Tuner

    with open_store(store) as opened, output.progress("Embedding") as update:
        owner = opened.user(resolve_user(opened, user))
        request = parse_request(text, owner.id, time, place)
        tuner = Tuner(
            opened,
            embedder=select_embedder(embedder),
            method=method,
            ranker=_load_ranker(ranker),
            progress=update,
        )
        hits = tuner.context(request, k)
    if hits.words_only:
        answer_text.print_words_only()
    answer_text.print_items(hits, owner.zone, request.time, why=why)


def ask(
    text: Text,
    user: UserName = None,
    time: RequestTime = None,
    place: RequestPlace = None,
    k: Annotated[int, typer.Option("-k", help="Number of items to retrieve.")] = 8,
    llm: LanguageModel = False,
    planner: PlannerName = "light",
    policy: PolicySettings = "",
    min_fit: MinFit = None,
    why: Why = False,
    json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
    catalog: ToolCatalog = None,
    embedder: EmbedderName = DEFAULT_EMBEDDER,
    ranker: RankerPath = None,
    store: StoreName = None,
) -> None:
    """Answer a question from your items, or plan the call for a request.

    Prints the answer with its source, the call with its probability and the decision (make it, confirm it,
    ask or refuse), then the items. A request with several parts is planned in steps. Nothing is executed.
    """
    from contextune.answers import answer_json, extract_answer
    from contextune.plan.turns.choices import small_talk

    with open_tuner(
        store, catalog, embedder, policy, min_fit=min_fit, llm=llm, ranker=ranker, planner_name=planner
    ) as tuner:
        owner = tuner.store.user(resolve_user(tuner.store, user))
        request = parse_request(text, owner.id, time, place)
        if not json and (talk := small_talk(text)):
            output.print_line(talk)
            return
        answer = tuner.answer(request, k)
        steps = tuner.steps(request, k, answer=answer)
        several = steps is not None and len(steps) > 1
        items = tuner.store.items(owner.id) if several else [hit.item for hit in answer.context]
        extracted = None if several else extract_answer(answer, tuner.store)
    if json:
        from contextune.plan.plan_json import answer_to_json

        content = answer_to_json(answer, steps, owner.zone)
        content["unknown_words"] = list(answer.unknown_words)
        content["answer"] = answer_json(extracted) if extracted else None
        typer.echo(json_module.dumps(content, ensure_ascii=False, indent=2))
    else:
        answer_text.print_answer(answer, steps, items, owner.zone, why=why, extracted=extracted)


@contextmanager
def open_tuner(
    store: str | None,
    catalog: str | None,
    embedder: str,
    policy: str,
    *,
    min_fit: float | None = None,
    llm: bool = False,
    lazy: bool = False,
    ranker: Path | None = None,
    planner_name: str = "light",
) -> "Generator[Tuner]":
    """A tuner over the store and the catalogue that options select.

    Shows progress from the start, or, if `lazy`, while it embeds.
    """
    from contextune.plan import Policy
    from contextune.tuner import Tuner

    with ExitStack() as stack:
        opened = stack.enter_context(open_store(store))
        decisions = Policy.parse(policy)
        update = stack.enter_context(output.progress("Embedding", lazy=lazy))
        from contextune.plan.language_model.cascade import LANGUAGE, configured_planner

        planner = configured_planner(LANGUAGE if llm else planner_name, progress=update)
        model = select_embedder(embedder)
        tools = tool_retriever(stack, catalog, model)(update)
        yield Tuner(
            opened,
            embedder=model,
            ranker=_load_ranker(ranker),
            tools=tools,
            planner=planner,
            policy=decisions,
            min_fit=min_fit,
            progress=update,
        )


def _load_ranker(folder: Path | None) -> "ContextRanker | None":
    from contextune.context.ranker import load_ranker

    return load_ranker(folder) if folder else None


def parse_request(text: str, user: str, time: str | None, place: str | None) -> "Request":
    """The request that options describe."""
    from contextune.types import Request, parse_place, parse_time

    return Request(
        text,
        user=user,
        time=parse_time(time) if time else datetime.now().astimezone(),
        place=parse_place(place) if place else None,
    )


def feedback(
    text: Text,
    verdict: Annotated[str, typer.Argument(help="right, wrong, or “it was 2”, the second item shown.")],
    user: UserName = None,
    time: RequestTime = None,
    place: RequestPlace = None,
    k: Annotated[int, typer.Option("-k", help="Number of items to retrieve.")] = 8,
    catalog: ToolCatalog = None,
    embedder: EmbedderName = DEFAULT_EMBEDDER,
    store: StoreName = None,
) -> None:
    """Say whether the answer to a request was right; it counts when the same is asked again.

    The request is answered as `ask` answers it, and the verdict is about its items and its call.
    """
    from contextune.cli.chat.verdicts import read_verdict

    with open_tuner(store, catalog, embedder, "") as tuner:
        owner = tuner.store.user(resolve_user(tuner.store, user))
        answer = tuner.answer(parse_request(text, owner.id, time, place), k)
        spoken = read_verdict(verdict, answer)
        if spoken is None:
            raise InvalidRequestError(
                f"not a verdict: {verdict!r} (write right, wrong, or “it was 2” with the number of one of the"
                f" {len(answer.context)} items)"
            )
        spoken.give(tuner, answer)
    output.print_line(escape(spoken.text))
