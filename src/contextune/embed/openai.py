"""Embedder for an OpenAI-compatible `/embeddings` endpoint. It sends the texts to that server."""

from collections.abc import Sequence

import numpy as np

from contextune._internal.openai_client import open_client
from contextune.embed.protocol import Matrix, normalize_rows, replace_surrogates
from contextune.errors import EmbedderError

_BATCH = 128


class EndpointEmbedder:
    """Embeds texts in batches on an OpenAI-compatible server, with retries and a timeout."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: int = 2,
    ) -> None:
        """`base_url` and `api_key` default to OPENAI_BASE_URL and OPENAI_API_KEY."""
        self._client, self._server, self._errors = open_client(
            "embedding", EmbedderError, base_url=base_url, api_key=api_key, timeout=timeout, retries=retries
        )
        self._model = model

    @property
    def name(self) -> str:
        """Server and model: servers may serve different models under the same name."""
        return f"{self._server}#{self._model}"

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One unit vector per text."""
        texts = replace_surrogates(texts)
        batches = [texts[i : i + _BATCH] for i in range(0, len(texts), _BATCH)]
        return (
            np.concatenate([self._request(batch) for batch in batches])
            if batches
            else np.empty((0, 0), np.float32)
        )

    def _request(self, texts: list[str]) -> Matrix:
        check = f"check the URL, the key, the model {self._model!r} and its maximum text length"
        try:
            reply = self._client.embeddings.create(model=self._model, input=texts, encoding_format="float")
            rows = {entry.index: entry.embedding for entry in reply.data}
            vectors = np.array([rows[i] for i in range(len(reply.data))], dtype=np.float32)
        except self._errors as error:
            # the server's message is left out: it may quote the texts
            status = getattr(error, "status_code", None)
            reason = f"HTTP {status}" if status else str(error).rstrip(".")
            raise EmbedderError(f"embedding by {self._server} failed: {reason}; {check}") from None
        except (AttributeError, KeyError, TypeError, ValueError):
            raise EmbedderError(
                f"{self._server} did not return one vector of the same length per text; {check}"
            ) from None
        return normalize_rows(vectors, texts=len(texts), source=self._server)
