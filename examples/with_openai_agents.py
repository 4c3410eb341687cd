"""OpenAI Agents SDK: an assistant with context, tools and feedback, on a scripted model."""
# ruff: noqa: T201

import asyncio
from typing import Any, cast

from agents import Model, Runner, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.testing import assistant_message, function_call
from agents.usage import Usage
from desk import FUNCTIONS
from desk_user import REQUEST, learned, user_context
from scripted_model import answer_mail

from contextune.integrations.openai_agents import UserContextAgent


class ScriptedModel(Model):
    """Answers a mail and repeats the result."""

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: A002
        model_settings: Any,
        tools: Any,
        *_: Any,
        **__: Any,
    ) -> ModelResponse:
        """The next step of the model."""
        del system_instructions, model_settings
        if input[-1].get("type") == "function_call_output":
            output = assistant_message(input[-1]["output"])
        else:
            prompt = "\n".join(str(item["content"]) for item in input)
            call = answer_mail(prompt, [tool.name for tool in tools])
            output = function_call(call.name, call.arguments, call_id="1")
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Not used here."""
        raise NotImplementedError


async def main() -> None:
    """Run the agent once."""
    set_tracing_disabled(True)  # traces would go to a server
    context = user_context()
    tools = [cast("Any", function_tool)(function) for function in FUNCTIONS]
    agent = UserContextAgent[None](name="Desk", model=ScriptedModel(), tools=tools, user_context=context)
    print((await Runner.run(agent, REQUEST)).final_output)
    print("learned:", learned(context))

    context.correct(REQUEST, rejected=["taxi"])  # the user says which item was not meant
    print("learned:", learned(context))


asyncio.run(main())
