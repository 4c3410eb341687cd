"""A fake chat completions server: several drafts, JSON by schema, token counts."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.openai_server import OpenAIServer, Reply


def said(*texts: Any, finish: str = "stop", usage: Any = None) -> Reply:
    choices = [
        {"index": place, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
        for place, text in enumerate(texts)
    ]
    about = {"id": "1", "object": "chat.completion", "created": 1, "model": "tiny"}
    return 200, {**about, "choices": choices, **({"usage": usage} if usage else {})}


class ChatServer(OpenAIServer):
    """Draws from `texts` by the seed; `answer` may be replaced by that of a worse server."""

    texts: Sequence[str] = ("one", "two", "three", "four")
    answer: Callable[[dict[str, Any]], Reply] | None = None

    def reply(self, body: dict[str, Any]) -> Reply:
        return self.answer(body) if self.answer else self.well(body)

    def well(self, body: dict[str, Any]) -> Reply:
        first, drafts = body.get("seed", 0), body.get("n", 1)
        texts = [self.texts[(first + i) % len(self.texts)] for i in range(drafts)]
        if "response_format" in body:
            wanted = body["response_format"]["json_schema"]["schema"]
            texts = [json.dumps(dict.fromkeys(wanted["properties"], text)) for text in texts]
        return said(*texts, usage={"prompt_tokens": 11, "completion_tokens": drafts, "total_tokens": 0})
