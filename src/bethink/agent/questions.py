"""Questions of running calls to their owner: asked in the run, answered from any door, and never kept.

`agent/runs` owns them; a tool asks by `ToolContext.ask`. What is answered goes to who asked and no
further: the run's events only say that it was.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bethink.events import QuestionAnswered, QuestionAsked
from bethink.questions import CANCELLED, Answer, Question, checked, host_of

if TYPE_CHECKING:
    from bethink.clock import Clock, Ids
    from bethink.principal import Principal
    from bethink.questions import Action, GivenAnswer
    from bethink.tool import ToolContext

_DOORS: Final = frozenset({"web", "cli", "rest"})
"""Where somebody can answer while an answer is written."""
_MOST: Final = 20
"""Questions of one run: a server that asks on and on is told no."""


def can_be_asked(principal: Principal) -> bool:
    """Whether somebody at this door can answer."""
    return principal.door.partition(":")[0] in _DOORS


@dataclass(slots=True)
class _Open:
    question: Question
    answer: asyncio.Future[Answer]


@dataclass(slots=True)
class OpenQuestions:
    """The questions of this process's runs that wait for an answer."""

    new_id: Ids
    clock: Clock
    _open: dict[tuple[str, str, str], _Open] = field(
        default_factory=dict[tuple[str, str, str], _Open], repr=False
    )

    async def ask(self, context: ToolContext, question: Question) -> Answer:
        """Tell the run's readers of a question and wait for its answer, for as long as it may wait."""
        owner, run = context.principal.owner, context.run
        mine = [key for key in self._open if key[:2] == (owner, run)]
        if not can_be_asked(context.principal) or len(mine) >= _MOST:
            return CANCELLED
        id = self.new_id()
        waiting = _Open(question, asyncio.get_running_loop().create_future())
        self._open[owner, run, id] = waiting
        context.emit(
            QuestionAsked(
                call=context.call,
                question=id,
                source=question.source,
                mode=question.mode,
                text=question.text,
                fields=question.fields,
                url=question.url,
                host=host_of(question.url) if question.url else "",
                until=self.clock.now_us() + int(question.wait_s * 1_000_000),
            )
        )
        outcome: Action = "cancel"
        try:
            async with asyncio.timeout(question.wait_s):
                answer = await waiting.answer
            outcome = answer.action
        except TimeoutError:
            answer = CANCELLED
        finally:
            del self._open[owner, run, id]
            context.emit(QuestionAnswered(call=context.call, question=id, outcome=outcome))
        return answer

    def answer(self, owner: str, run: str, given: GivenAnswer) -> bool:
        """Hand in an answer; False if no such question waits here.

        Raises:
            BadInput: the values do not fit the form; the question goes on waiting.
        """
        waiting = self._open.get((owner, run, given.question))
        if waiting is None or waiting.answer.done():
            return False
        fit = checked(waiting.question.fields, given.values) if given.action == "accept" else {}
        waiting.answer.set_result(Answer(given.action, fit))
        return True
