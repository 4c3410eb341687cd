"""`contextune feedback`: say what of an answer was right."""

from typing import Annotated

import typer
from rich.markup import escape

from contextune.cli import output
from contextune.cli.ask import Text, open_tuner, parse_request
from contextune.cli.options import (
    DEFAULT_EMBEDDER,
    EmbedderName,
    RequestPlace,
    RequestTime,
    StoreName,
    ToolCatalog,
    UserName,
    resolve_user,
)
from contextune.errors import InvalidRequestError


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
    from contextune.cli.chat.short_replies import read_verdict

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
