"""Open a client for an OpenAI-compatible server, for embeddings and for chat."""

from typing import TYPE_CHECKING, NamedTuple

from contextune.errors import ContextuneError, MissingExtraError

if TYPE_CHECKING:
    import openai


class OpenAIClient(NamedTuple):
    """A client, its server's URL, and the base class of its errors."""

    client: "openai.OpenAI"
    server: str
    """Without user name and password: it is stored and shown."""
    errors: "type[openai.OpenAIError]"


def open_client(
    kind: str,
    error_type: type[ContextuneError],
    *,
    base_url: str | None,
    api_key: str | None,
    timeout: float,
    retries: int,
) -> OpenAIClient:
    """Raise `error_type` if the client cannot be configured; `kind` is what the server does, e.g. "chat"."""
    try:
        import openai
    except ModuleNotFoundError:
        article = "an" if kind[0] in "aeiou" else "a"
        raise MissingExtraError(f"{article} {kind} endpoint", "llm") from None
    try:
        client = openai.OpenAI(base_url=base_url, api_key=api_key, timeout=timeout, max_retries=retries)
    except Exception as error:  # a malformed URL raises none of the client's own errors
        raise error_type(f"the {kind} endpoint is not configured: {error}") from error
    return OpenAIClient(client, str(client.base_url.copy_with(userinfo=b"")), openai.OpenAIError)
