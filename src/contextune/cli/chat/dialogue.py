"""The lines of a chat: verdicts on the last answer, and requests, read after what was said."""

from dataclasses import replace

from rich.markup import escape

from contextune.answers import ExtractedAnswer, extract_answer, state_shown
from contextune.cli import answer_text, output
from contextune.cli.chat.verdicts import read_verdict
from contextune.plan import Steps
from contextune.tuner import Tuner
from contextune.types import Answer, Request, Turn, TurnState, User

_MAX_TURNS = 6
"""Turns that are kept; the search looks at no more."""


class Dialogue:
    """Prints the reply to one line after the other. A question stays open until it is answered or left."""

    def __init__(self, tuner: Tuner, owner: User, k: int) -> None:
        self._tuner = tuner
        self._owner = owner
        self._k = k
        self._state = TurnState()
        self._history: tuple[Turn, ...] = ()
        self._answer: Answer | None = None
        """To the last request of its own, which verdicts are about."""
        self._shown: tuple[Answer, Steps | None] | None = None
        self._is_settled = False
        """Whether the answer to the open question has been shown."""

    def reply(self, line: str, request: Request) -> None:
        """Print the reply to a line; `request` is the line as a request."""
        if line == "/why":
            if self._shown:
                self._print(*self._shown, why=True)
        elif self._answer and (verdict := read_verdict(line, self._answer)):
            verdict.give(self._tuner, self._answer)
            output.print_line(escape(verdict.text), style="dim")
        else:
            self._ask(replace(request, history=self._history, state=self._state))

    def _ask(self, request: Request) -> None:
        answer = self._tuner.answer(request, self._k)
        reply, plan = answer.reply, answer.plan
        if reply and reply.text:
            output.print_line(escape(reply.text))
            self._state = answer.state
            if reply.kind == "talk":
                self._remind()
            return
        if plan and plan.ready and reply and reply.kind == "chosen":
            answer_text.print_chosen(plan, [hit.item for hit in answer.context])
            self._state = answer.state
            return
        steps = self._tuner.steps(request, self._k, answer=answer)
        several = steps is not None and len(steps) > 1
        extracted = None if several else extract_answer(answer, self._tuner.store)
        self._print(answer, steps, why=False, extracted=extracted)
        self._shown = answer, steps
        self._state = state_shown(answer, steps, extracted)
        if not answer.reply:
            self._keep(answer)
        question = None if several or plan is None or plan.decision == "none" else plan.question
        if question:
            # where the answer is shown already, there is nothing to be reminded of
            self._is_settled = extracted is not None and len(question.options) < 2
        else:
            self._remind()

    def _keep(self, answer: Answer) -> None:
        """Keep a request of its own; replies are no turns of the history."""
        self._answer = answer
        items = {hit.item.id: hit.item for hit in answer.context}
        item = items.get(self._state.about or "") or next(iter(items.values()), None)
        turns = [Turn("user", self._state.text), *([Turn("assistant", item.title)] if item else [])]
        self._history = (*self._history, *turns)[-_MAX_TURNS:]

    def _remind(self) -> None:
        question = self._state.pending.question if self._state.pending else None
        if question and not self._is_settled:
            output.print_line(escape(f"Still open: {question.text} (“no” leaves it)"), style="dim")

    def _print(
        self, answer: Answer, steps: Steps | None, *, why: bool, extracted: ExtractedAnswer | None = None
    ) -> None:
        items = [hit.item for hit in answer.context]
        answer_text.print_answer(
            answer, steps, items, self._owner.zone, why=why, hint="/why", extracted=extracted
        )
        output.out.print()
