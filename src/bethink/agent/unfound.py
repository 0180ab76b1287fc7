"""Notes what an owner asked of their memory and nothing was found. One of `agent/post_turn`'s jobs; no model.

A turn in which they only asked about their own life, whose answer says that it is not known, from no memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from anyio.to_thread import run_sync

from bethink.agent.claims import says_no
from bethink.conversations import MESSAGES
from bethink.memory.assertions import share_said
from bethink.recall.ranking import only_asks
from bethink.reflection.questions import MOST_CHARS, question_of
from bethink.subjects import OWNER, asked_subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.agent.extraction import LearningModels
    from bethink.agent.request import FinishedTurn
    from bethink.memory import Memory
    from bethink.reflection.questions import OpenQuestions

_NEAREST: Final = 5
_TOLD: Final = 0.6
"""An answer that has so much of a fact was given from it."""


@dataclass(slots=True)
class UnfoundQuestions:
    """Looks at finished turns."""

    models: LearningModels
    memory: Memory
    questions: OpenQuestions

    lasts = False

    @property
    def off(self) -> str | None:
        """Why nothing is noted: without a model nothing is answered."""
        return None if self.models.usual is not None else "Nothing is answered: no model is set."

    async def do(self, turns: Sequence[FinishedTurn]) -> None:
        """Note what turns asked and did not find.

        Raises:
            StorageError: the store cannot be used.
        """
        for turn in turns:
            await self._look(turn)

    async def _look(self, turn: FinishedTurn) -> None:
        store, owner = self.questions.store, turn.principal.owner
        said, answered = await store.get(MESSAGES, owner, (turn.said, turn.answered))
        if said is None or answered is None or answered.record.used or answered.record.untrusted:
            return
        text, answer = said.record.message.content.strip(), answered.record.message.content
        if not 0 < len(text) <= MOST_CHARS or not says_no(answer) or not await run_sync(_is_about_own, text):
            return
        near = await self.memory.search(turn.principal, text, k=_NEAREST)
        shares = [await run_sync(share_said, fact.content, answer) for fact, _ in near]
        if max(shares, default=0.0) < _TOLD:
            question = question_of(
                text, message=turn.said, conversation=said.record.conversation, at=said.record.at
            )
            await self.questions.note(turn.principal, question)


def _is_about_own(text: str) -> bool:
    """Whether a text only asks, and about its writer or somebody of theirs."""
    if not only_asks(text):
        return False
    asked = asked_subject(text, (OWNER,))
    return asked.owner or bool(asked.relations)
