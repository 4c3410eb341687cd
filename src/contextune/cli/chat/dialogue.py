"""The lines of a chat: small talk, replies to the open question, verdicts, and requests."""

from rich.markup import escape

from contextune.answers import ExtractedAnswer, extract_answer
from contextune.cli import answer_text, output
from contextune.cli.chat.conversation import Conversation
from contextune.cli.chat.short_replies import (
    OpenQuestion,
    Reply,
    is_assent,
    is_refusal,
    read_verdict,
    small_talk,
)
from contextune.plan import Steps
from contextune.tuner import Tuner
from contextune.types import Answer, Request, User


class Dialogue:
    """Prints the reply to one line after the other. A question stays open until it is answered or left."""

    def __init__(self, conversation: Conversation, tuner: Tuner, owner: User) -> None:
        self._conversation = conversation
        self._tuner = tuner
        self._owner = owner
        self._answer: Answer | None = None
        self._steps: Steps | None = None
        self._open: OpenQuestion | None = None
        self._is_settled = False
        """Whether the answer to the open question has been shown."""

    def reply(self, line: str, request: Request) -> None:
        """Print the reply to a line; `request` is the line as a request."""
        if line == "/why":
            if self._answer:
                self._print(self._answer, why=True)
        elif self._open and (reply := self._open.read(line)):
            self._reply_to_question(self._open, reply, request)
        elif self._answer and (verdict := read_verdict(line, self._answer)):
            verdict.give(self._tuner, self._answer)
            output.print_line(escape(verdict.text), style="dim")
        elif talk := small_talk(line):
            output.print_line(talk)
            self._remind()
        elif is_assent(line) or is_refusal(line):
            output.print_line("No question is open. Ask something, or say “wrong” to have that remembered.")
        else:
            self._ask(request)

    def _reply_to_question(self, question: OpenQuestion, reply: Reply, request: Request) -> None:
        if reply.meaning == "repeat":
            output.print_line("Which one? Say its number or its name, or “no” to leave it.")
            return
        self._open = None
        if reply.meaning == "leave":
            output.print_line("Left. Nothing was done.")
        elif reply.meaning == "choose" and reply.plan:
            items = [hit.item for hit in question.answer.context]
            answer_text.print_chosen(reply.plan.accept(), items)
        else:
            self._ask(Request(reply.request, request.user, request.time, request.place))

    def _ask(self, request: Request) -> None:
        self._answer, self._steps = self._conversation.ask(request)
        extracted = self._extract(self._answer)
        self._print(self._answer, why=False, extracted=extracted)
        several = self._steps and len(self._steps) > 1
        asked = None if several else OpenQuestion.of(self._answer)
        if asked:
            self._open = asked
            # where the answer is shown already, there is nothing to be reminded of
            self._is_settled = extracted is not None and len(asked.question.options) < 2
        else:
            self._remind()

    def _remind(self) -> None:
        if self._open and not self._is_settled:
            output.print_line(escape(f"Still open: {self._open.question.text} (“no” leaves it)"), style="dim")

    def _print(self, answer: Answer, *, why: bool, extracted: ExtractedAnswer | None = None) -> None:
        items = [hit.item for hit in answer.context]
        answer_text.print_answer(
            answer, self._steps, items, self._owner.zone, why=why, hint="/why", extracted=extracted
        )
        output.out.print()

    def _extract(self, answer: Answer) -> ExtractedAnswer | None:
        several = self._steps and len(self._steps) > 1
        return None if several else extract_answer(answer, self._tuner.store)
