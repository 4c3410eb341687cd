"""Embeddings from any server that speaks OpenAI's `/embeddings`: the texts leave this machine for it."""

from collections.abc import Sequence

import numpy as np

from contextune._internal.openai_client import open_endpoint
from contextune.embed.protocol import Matrix, unit_rows, whole_texts
from contextune.errors import EmbedderError

_BATCH = 128


class EndpointEmbedder:
    """Asks an OpenAI-compatible server for vectors, a batch at a time, with retries and a timeout."""

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
        self._client, self._server, self._errors = open_endpoint(
            "embedding", EmbedderError, base_url=base_url, api_key=api_key, timeout=timeout, retries=retries
        )
        self._model = model

    @property
    def name(self) -> str:
        """The server and the model, since servers differ in what they serve under one name."""
        return f"{self._server}#{self._model}"

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One unit row a text."""
        texts = whole_texts(texts)
        batches = [texts[i : i + _BATCH] for i in range(0, len(texts), _BATCH)]
        return (
            np.concatenate([self._ask(batch) for batch in batches])
            if batches
            else np.empty((0, 0), np.float32)
        )

    def _ask(self, texts: list[str]) -> Matrix:
        check = f"check the address, the key, the model {self._model!r} and how long a text it takes"
        try:
            reply = self._client.embeddings.create(model=self._model, input=texts, encoding_format="float")
            rows = {entry.index: entry.embedding for entry in reply.data}
            vectors = np.array([rows[i] for i in range(len(reply.data))], dtype=np.float32)
        except self._errors as error:
            # a server may echo the texts it refuses, so its own words are left out
            status = getattr(error, "status_code", None)
            reason = f"HTTP {status}" if status else str(error).rstrip(".")
            raise EmbedderError(f"{self._server} did not embed: {reason}; {check}") from None
        except (AttributeError, KeyError, TypeError, ValueError):
            raise EmbedderError(
                f"{self._server} did not reply with vectors of one length, numbered from 0; {check}"
            ) from None
        return unit_rows(vectors, texts=len(texts), source=self._server)
