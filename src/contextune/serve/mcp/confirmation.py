"""Ask the user before a call: through the client if it can, else through its model.

A client that supports elicitation shows the question itself. To the model of any other client the question
is returned as an error, with a code that the second attempt must carry.
"""

import json
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import mcp_types as types
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from contextune.errors import PlanError
from contextune.plan.execution.call_text import call_text
from contextune.serve.mcp.tool import ClientRequest, InputRequiredError
from contextune.types import Tool

_KEY = "confirm"
"""Key of the question among those of a call."""
_MAX_CODES = 100
_NO_FIELDS: dict[str, Any] = {"type": "object", "properties": {}}


class ConfirmationCodes:
    """One-time codes of questions that a model was told to put to the user, each for one call."""

    def __init__(self) -> None:
        self._codes: OrderedDict[str, str] = OrderedDict()

    def issue(self, call: str) -> str:
        """A new code for a call."""
        code = secrets.token_hex(3)
        self._codes[code] = call
        while len(self._codes) > _MAX_CODES:
            self._codes.popitem(last=False)
        return code

    def redeem(self, code: str, call: str) -> bool:
        """Whether the code was issued for this call; it is void afterwards."""
        return bool(code) and self._codes.pop(code, None) == call


class UserConfirmation:
    """Puts one question to the user within the request of a client."""

    def __init__(
        self,
        client: ClientRequest,
        codes: ConfirmationCodes,
    ) -> None:
        self._context = client.context
        self._params = client.params
        self._codes = codes

    async def check(self, tool: Tool, arguments: Mapping[str, Any], code: str) -> None:
        """Return if the user agrees to the call, else raise: a refusal, or a request to ask first."""
        call = _digest(tool, arguments)
        question = f"Call {call_text(tool.id, arguments)}?"
        capability = types.ClientCapabilities(elicitation=types.ElicitationCapability())
        if not self._context.session.check_client_capability(capability):
            if self._codes.redeem(code, call):
                return
            raise PlanError(
                f"{tool.id!r} was not called: it may change, send or delete something."
                f" Ask the user: {question} Only if they agree, repeat the call with the same arguments and"
                f" confirmation={self._codes.issue(call)!r}."
            )
        answer = await self._elicit(question, call)
        if answer.action != "accept":
            raise PlanError(f"{tool.id!r} was not called: the user did not agree")

    async def _elicit(self, question: str, call: str) -> types.ElicitResult:
        session = self._context.session
        if session.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return await session.elicit_form(question, _NO_FIELDS, self._context.request_id)
        answer = (self._params.input_responses or {}).get(_KEY)
        if isinstance(answer, types.ElicitResult) and self._params.request_state == call:
            return answer
        form = types.ElicitRequestFormParams(message=question, requested_schema=_NO_FIELDS)
        requests: types.InputRequests = {_KEY: types.ElicitRequest(params=form)}
        raise InputRequiredError(types.InputRequiredResult(input_requests=requests, request_state=call))


def _digest(tool: Tool, arguments: Mapping[str, Any]) -> str:
    text = json.dumps([tool.id, arguments], sort_keys=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()
