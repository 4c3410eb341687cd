"""A client for any server that speaks OpenAI's HTTP: opened the same way for vectors and for words."""

from typing import TYPE_CHECKING, NamedTuple

from contextune.errors import ContextuneError, MissingExtraError

if TYPE_CHECKING:
    import openai


class OpenAIClient(NamedTuple):
    """The client, the address it asks, and the root of the errors it raises."""

    client: "openai.OpenAI"
    server: str
    """Without user and password, since it is filed and shown."""
    errors: "type[openai.OpenAIError]"


def open_endpoint(
    kind: str,
    refused: type[ContextuneError],
    *,
    base_url: str | None,
    api_key: str | None,
    timeout: float,
    retries: int,
) -> OpenAIClient:
    """`kind` is what the server gives, such as "chat"; `refused` is raised where it is not configured."""
    try:
        import openai
    except ModuleNotFoundError:
        article = "an" if kind[0] in "aeiou" else "a"
        raise MissingExtraError(f"{article} {kind} endpoint", "llm") from None
    try:
        client = openai.OpenAI(base_url=base_url, api_key=api_key, timeout=timeout, max_retries=retries)
    except Exception as error:  # a malformed address is not among the client's own errors
        raise refused(f"the {kind} endpoint is not configured: {error}") from error
    return OpenAIClient(client, str(client.base_url.copy_with(userinfo=b"")), openai.OpenAIError)
